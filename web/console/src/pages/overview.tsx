import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { Link } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { useNow } from '../lib/store.ts';
import { countdown } from '../lib/times.ts';
import { Head, State, StockBar, Tag, Time, type Tone, useCount } from '../ui/bits.tsx';

type Campaign = Schemas['AdminCampaign'];

/** What needs me now. */
export default function Overview() {
  const { t } = useTranslation();
  const n = useCount();
  const list = useData('GET /v1/admin/campaigns', { query: { limit: 200 } }, 'slow');
  const sum = useData('GET /v1/admin/summary', {}, 'slow');
  const log = useData('GET /v1/admin/audit-log', { query: { limit: 10 } }, 'slow');
  const needs = useNeeds(list.data?.items ?? []);
  useNow();
  const now = serverNow();
  const items = list.data?.items ?? [];
  const running = items.filter((c) => ['live', 'sold_out', 'paused', 'frozen'].includes(c.state));
  const next = items
    .filter((c) => c.state === 'scheduled' && Date.parse(c.starts_at) > now)
    .sort((a, b) => a.starts_at.localeCompare(b.starts_at))[0];
  return (
    <div className="stack">
      <Head title={t('nav.overview')} data={list} />
      <div className="cols">
        <section className="panel num">
          <h2>{t('overview.next')}</h2>
          {next ? (
            <>
              <div style={{ fontSize: 26, fontWeight: 650 }}>{countdown(Date.parse(next.starts_at) - now)}</div>
              <Link to={`/campaigns/${encodeURIComponent(next.id)}`}>
                <b data-data>{next.title}</b>
              </Link>
              <div className="muted small">
                <Time at={next.starts_at} />
              </div>
            </>
          ) : (
            list.data && (
              <div className="muted">
                {t('overview.noNext')} <Link to="/campaigns/new">{t('campaign.create')}</Link>
              </div>
            )
          )}
        </section>
        <section className="panel num">
          <h2>{t('overview.all')}</h2>
          <div className="row" style={{ gap: 24 }}>
            <div>
              <div style={{ fontSize: 26, fontWeight: 650 }}>{n(sum.data?.campaigns)}</div>
              <span className="muted small">{t('nav.campaigns')}</span>
            </div>
            <div>
              <div style={{ fontSize: 26, fontWeight: 650 }}>{n(sum.data?.sold)}</div>
              <span className="muted small">{t('stock.sold')}</span>
            </div>
            <div>
              <div style={{ fontSize: 26, fontWeight: 650 }}>{n(sum.data?.held)}</div>
              <span className="muted small">{t('stock.held')}</span>
            </div>
          </div>
        </section>
      </div>
      <section className="panel">
        <h2>{t('overview.attention')}</h2>
        {needs.length === 0 && list.data && (
          <div>
            <Tag tone="ok">{t('overview.allWell')}</Tag>
          </div>
        )}
        <ul className="feed">
          {needs.map((x) => (
            <li key={x.key}>
              <Tag tone={x.tone}>{x.what}</Tag>{' '}
              <Link to={x.to} data-data>
                {x.name}
              </Link>
            </li>
          ))}
        </ul>
      </section>
      <section className="panel">
        <h2>{t('overview.running')}</h2>
        {list.data && running.length === 0 && <div className="muted">{t('overview.noRunning')}</div>}
        <div className="cols">
          {running.map((c) => (
            <div key={c.id} className="stack num" style={{ gap: 6 }}>
              <div className="row">
                <State of={c.state} />{' '}
                <Link to={`/live/${encodeURIComponent(c.id)}`}>
                  <b data-data>{c.title}</b>
                </Link>
              </div>
              <StockBar c={c} />
              <div className="muted small">{t('overview.left', { available: n(c.available), total: n(c.total) })}</div>
            </div>
          ))}
        </div>
      </section>
      <section className="panel">
        <h2>{t('overview.last')}</h2>
        <ul className="feed num">
          {(log.data?.items ?? []).map((r) => (
            <li key={r.seq}>
              <Time at={r.at} />{' '}
              <span data-data>
                <b>{r.action}</b> {r.object}{' '}
                <span className="muted">
                  {r.actor.name} {r.reason}
                </span>
              </span>
            </li>
          ))}
        </ul>
        <Link to="/audit">{t('nav.audit')}</Link>
      </section>
    </div>
  );
}

interface Need {
  key: string;
  tone: Tone;
  what: string;
  to: string;
  name: string;
}

/** What asks for a person: frozen, dead letters, money due, low stock, ending soon. */
function useNeeds(items: Campaign[]): Need[] {
  const { t } = useTranslation();
  const n = useCount();
  const letters = useData('GET /v1/admin/dead-letters', { query: { state: 'kept', limit: 100 } }, 'slow');
  const due = useData('GET /v1/admin/orders', { query: { refund_due: true, limit: 100 } as never }, 'slow');
  const out: Need[] = [];
  for (const c of items) {
    const to = `/live/${encodeURIComponent(c.id)}`;
    if (c.state === 'frozen') out.push({ key: `f${c.id}`, tone: 'bad', what: t('state.frozen'), to, name: c.title });
    if (c.state === 'paused') out.push({ key: `p${c.id}`, tone: 'warn', what: t('state.paused'), to, name: c.title });
    if (c.state === 'live' && c.available > 0 && c.available < c.total / 10)
      out.push({ key: `l${c.id}`, tone: 'warn', what: t('overview.low', { n: n(c.available) }), to, name: c.title });
    const left = Date.parse(c.ends_at) - serverNow();
    if (c.state === 'live' && left > 0 && left < 3_600_000)
      out.push({ key: `e${c.id}`, tone: 'info', what: t('overview.ending'), to, name: c.title });
  }
  const dead = letters.data?.items.length ?? 0;
  if (dead)
    out.push({
      key: 'letters',
      tone: 'bad',
      what: t('nav.letters'),
      to: '/dead-letters',
      name: dead >= 100 ? '100+' : String(dead),
    });
  const refunds = due.data?.items.length ?? 0;
  if (refunds)
    out.push({
      key: 'due',
      tone: 'bad',
      what: t('order.refundDue'),
      to: '/orders?refund_due=true',
      name: refunds >= 100 ? '100+' : String(refunds),
    });
  return out;
}
