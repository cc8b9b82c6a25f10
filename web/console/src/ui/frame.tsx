import { Button, Drawer, Dropdown, Select } from 'antd';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { need, type Schemas } from '../lib/api.ts';
import { type Data, useData } from '../lib/data.ts';
import { scopeText } from '../lib/rights.ts';
import { go, Link, usePath } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { type Prefs, setPrefs, useNow, usePrefs } from '../lib/store.ts';
import { clock, nextZone, offsetMinutes, offsetName } from '../lib/times.ts';
import { navigation, routes } from '../routes.tsx';
import { useSession } from '../session.tsx';
import { DataAge, Time } from './bits.tsx';
import { Choices } from './choices.tsx';
import { Search } from './search.tsx';

/** What every page stands in: navigation, top bar, the red bar, search and keys. */
export function Frame({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const path = usePath();
  const [menu, setMenu] = useState(false);
  const [search, setSearch] = useState(false);
  const nodes = useData('GET /v1/admin/nodes', {}, 'slow');
  const letters = useData('GET /v1/admin/dead-letters', { query: { state: 'kept', limit: 100 } }, 'slow');
  const main = useRef<HTMLElement>(null);
  useKeys(() => setSearch(true));
  // a new place closes the menu
  useEffect(() => {
    setMenu(false);
    const name = routes.find((r) => r.path === path)?.name;
    if (name) document.title = `${t(`nav.${name}`)} – ${location.host}`;
  }, [path]);
  const badges: Record<string, number> = { '/dead-letters': letters.data?.items.length ?? 0 };
  return (
    <div className="frame">
      <a
        className="skip"
        href="#content"
        onClick={(e) => {
          e.preventDefault();
          main.current?.focus();
        }}
      >
        {t('top.skip')}
      </a>
      <nav className="side" aria-label={t('top.nav')}>
        <Brand />
        <Nav path={path} badges={badges} />
      </nav>
      <Drawer
        open={menu}
        onClose={() => setMenu(false)}
        placement="left"
        size={260}
        title={null}
        closable={false}
        aria-label={t('top.nav')}
      >
        <nav className="navdrawer" aria-label={t('top.nav')}>
          <Brand />
          <Nav path={path} badges={badges} />
        </nav>
      </Drawer>
      <div className="main">
        <header className="top">
          <Button className="only-phone" onClick={() => setMenu(true)} aria-label={t('top.menu')}>
            ☰
          </Button>
          <Environment />
          <ServerClock />
          <Nodes nodes={nodes} />
          <span className="grow" />
          <Button onClick={() => setSearch(true)}>
            {t('top.search')}{' '}
            <kbd className="hide-phone" style={{ marginInlineStart: 6 }}>
              ⌘K
            </kbd>
          </Button>
          <Refresh />
          <Account />
        </header>
        <RedBar />
        <main className="content" id="content" ref={main} tabIndex={-1}>
          {children}
        </main>
      </div>
      <Search open={search} close={() => setSearch(false)} />
    </div>
  );
}

function Brand() {
  return (
    <div className="brand">
      <img src="/icon.svg" alt="" /> Sluice
    </div>
  );
}

function Nav({ path, badges }: { path: string; badges: Record<string, number> }) {
  const { t } = useTranslation();
  return (
    <>
      {navigation.map(([group, paths]) => {
        const shown = paths.map((p) => routes.find((r) => r.path === p)).filter((r) => r !== undefined);
        if (shown.length === 0) return null;
        return (
          <div key={group}>
            <div className="navgroup">{t(`nav.${group}`)}</div>
            <ul>
              {shown.map((r) => {
                const here = r.path === '' ? path === '/' : path === r.path || path.startsWith(`${r.path}/`);
                const badge = badges[r.path];
                return (
                  <li key={r.path}>
                    <Link to={r.path || '/'} className="navlink" aria-current={here ? 'page' : undefined}>
                      {t(`nav.${r.name}`)}
                      {badge ? <span className="pill">{badge >= 100 ? '99+' : badge}</span> : null}
                    </Link>
                  </li>
                );
              })}
            </ul>
          </div>
        );
      })}
    </>
  );
}

/** What operators call this installation, and its address. */
function Environment() {
  const cap = useData('GET /v1/admin/capabilities', {}, 'once', need('GET /v1/admin/capabilities') !== undefined);
  const name = cap.data?.environment || location.host;
  return (
    <span className={/^prod/i.test(name) ? 'env prod' : 'env'} data-data title={location.host}>
      {name}
    </span>
  );
}

function ServerClock() {
  const { t } = useTranslation();
  const { zone, saleZone } = usePrefs();
  useNow();
  const now = serverNow();
  return (
    <button
      type="button"
      className="plainbutton num"
      title={t('top.zone', { zone: saleZone })}
      data-zone={zone}
      onClick={() => setPrefs({ zone: nextZone(zone, saleZone) })}
    >
      {clock(now, zone)} {offsetName(offsetMinutes(now, zone))}{' '}
      <span className="muted small">
        {zone === 'viewer' ? t('zone.viewer') : zone === 'utc' ? '' : <span data-data>{zone}</span>}
      </span>
    </button>
  );
}

const zones = Intl.supportedValuesOf('timeZone');

/** The zone that the sales' times are meant in: campaigns have none of their own. */
function SaleZone() {
  const { t } = useTranslation();
  const { zone, saleZone } = usePrefs();
  return (
    <label className="row">
      {t('zone.sales')}{' '}
      <select
        className="zonepick"
        value={saleZone}
        data-data
        onChange={(e) =>
          setPrefs({ saleZone: e.target.value, zone: zone === 'viewer' || zone === 'utc' ? zone : e.target.value })
        }
      >
        {[...new Set([saleZone, ...zones])].map((z) => (
          <option key={z}>{z}</option>
        ))}
      </select>
    </label>
  );
}

function Nodes({ nodes }: { nodes: Data<Schemas['NodeListOutputBody']> }) {
  const { t } = useTranslation();
  const { refresh } = usePrefs();
  const all = nodes.data?.items.filter((n) => n.alive) ?? [];
  const good = all.filter((n) => n.in_force).length;
  const limit = refresh === 0 ? 60_000 : 15_000;
  return (
    <span className="small num" data-nodes>
      {nodes.data ? t('top.nodes', { n: good, of: all.length }) : '—'}{' '}
      <span className="hide-phone">
        <DataAge at={nodes.at} limit={limit} />
      </span>
    </span>
  );
}

function Refresh() {
  const { t } = useTranslation();
  const { refresh } = usePrefs();
  return (
    <Select
      aria-label={t('top.refresh')}
      value={refresh}
      onChange={(v: Prefs['refresh']) => setPrefs({ refresh: v })}
      style={{ width: 128 }}
      options={[
        { value: 1, label: t('top.every', { s: 1 }) },
        { value: 5, label: t('top.every', { s: 5 }) },
        { value: 0, label: `❚❚ ${t('top.paused')}` },
      ]}
    />
  );
}

function Account() {
  const { t } = useTranslation();
  const { session, signOut } = useSession();
  const { keys } = usePrefs();
  const [open, setOpen] = useState(false);
  return (
    <Dropdown
      open={open}
      onOpenChange={setOpen}
      trigger={['click']}
      popupRender={() => (
        <div className="panel stack" style={{ boxShadow: '0 6px 24px rgba(0,0,0,.25)' }}>
          <div>
            <b data-data>{session.name}</b> · {t(`role.${session.role}`)}
            <div className="muted small">
              {t('top.until')} <Time at={session.expires_at} />
            </div>
            {(session.areas || session.read_only) && (
              <div className="small" data-scope>
                {t('scope.own', { scope: scopeText(t, session) })}
              </div>
            )}
          </div>
          <div className="row">
            <Choices />
          </div>
          <SaleZone />
          <label className="row">
            <input
              type="checkbox"
              style={{ width: 24, height: 24 }}
              checked={keys}
              onChange={(e) => setPrefs({ keys: e.target.checked })}
            />{' '}
            {t('top.keys')}
          </label>
          <Button onClick={signOut}>{t('signin.out')}</Button>
        </div>
      )}
    >
      <Button aria-expanded={open}>{t(`role.${session.role}`)} ▾</Button>
    </Dropdown>
  );
}

/** The bar across every page while something is switched off. */
function RedBar() {
  const { t } = useTranslation();
  const switches = useData('GET /v1/admin/switches', {}, 'slow');
  const frozen = useData('GET /v1/admin/campaigns', { query: { state: 'frozen', limit: 20 } }, 'slow');
  const off = (switches.data?.items ?? [])
    .filter((s) => ['closed', 'paused', 'read_only', 'payments_down', 'degraded'].includes(s.name))
    .flatMap((s) => s.settings.filter((x) => x.value > 0).map((x) => ({ name: s.name, ...x })));
  const bad = frozen.data?.items ?? [];
  if (off.length === 0 && bad.length === 0) return null;
  return (
    <div className="redbar" role="region" aria-label={t('redbar.title')} data-redbar>
      {off.slice(0, 5).map((s) => (
        <span key={`${s.name}${s.campaign_id ?? ''}`}>
          ■ {t(`redbar.${s.name}`)}{' '}
          {s.campaign_id ? (
            <Link to={`/live/${encodeURIComponent(s.campaign_id)}`} data-data>
              {s.campaign_id}
            </Link>
          ) : (
            t('redbar.all')
          )}
          {' · '}
          <Time at={s.at} />
          {s.author && (
            <>
              {' '}
              · <span data-data>{s.author}</span>
            </>
          )}
          {s.reason && (
            <>
              {' '}
              · <span data-data>{s.reason}</span>
            </>
          )}{' '}
          <Link to="/switches">{t('redbar.open')}</Link>
        </span>
      ))}
      {off.length > 5 && <Link to="/switches">+{off.length - 5}</Link>}
      {bad.map((c) => (
        <span key={c.id}>
          ✗ {t('redbar.frozen')}{' '}
          <Link to={`/live/${encodeURIComponent(c.id)}`} data-data>
            {c.title}
          </Link>{' '}
          <span data-data>{c.state_note}</span>
        </span>
      ))}
    </div>
  );
}

const places: Record<string, string> = { l: '/live', c: '/campaigns', o: '/orders', d: '/dead-letters' };

/** ⌘K and the single-letter keys, which can be switched off. No dangerous act is on one. */
function useKeys(search: () => void) {
  const { keys } = usePrefs();
  useEffect(() => {
    let g = 0;
    const down = (e: KeyboardEvent) => {
      if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === 'k') {
        e.preventDefault();
        search();
        return;
      }
      const at = e.target as HTMLElement;
      if (
        !keys ||
        e.metaKey ||
        e.ctrlKey ||
        e.altKey ||
        at.closest('input,textarea,select,[role=dialog],[contenteditable=true]')
      )
        return;
      if (e.key === '?') search();
      else if (e.key === 'g') g = Date.now();
      else if (Date.now() - g < 1500 && places[e.key]) {
        g = 0;
        go(places[e.key] as string);
      } else if (e.key === 'j' || e.key === 'k') moveRow(e.key === 'j' ? 1 : -1);
      else if (e.key === 'Enter' && at === document.body)
        document.querySelector<HTMLElement>('.row-on a, .row-on button')?.click();
    };
    window.addEventListener('keydown', down);
    return () => window.removeEventListener('keydown', down);
  }, [keys, search]);
}

function moveRow(step: number) {
  const rows = [...document.querySelectorAll<HTMLElement>('.ant-table-row')];
  if (rows.length === 0) return;
  const at = rows.findIndex((r) => r.classList.contains('row-on'));
  rows[at]?.classList.remove('row-on');
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  next?.classList.add('row-on');
  next?.scrollIntoView({ block: 'nearest' });
}
