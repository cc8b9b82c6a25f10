import { useTranslation } from 'react-i18next';
import { useData } from '../lib/data.ts';
import { percent } from '../lib/money.ts';
import { Link } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { usePrefs } from '../lib/store.ts';
import { clock } from '../lib/times.ts';
import type { Live } from '../lib/verdict.ts';
import { Tag, useCount, useSpan } from '../ui/bits.tsx';

/** The unpaid orders, and when their units come back. */
export function Unpaid({ live, stale }: { live: Live; stale: boolean }) {
  const { t } = useTranslation();
  const { lang, zone } = usePrefs();
  const n = useCount();
  const spell = useSpan();
  const u = live.unpaid;
  if (!u) return null;
  const waves = (u.waves ?? []).filter((w) => w !== null);
  const most = Math.max(1, ...waves.map((w) => w[1] ?? 0));
  return (
    <section className="panel num" data-stale={stale} data-figure="unpaid">
      <h2>{t('unpaid.title')}</h2>
      <div className="row">
        <span>
          {t('unpaid.orders')} <b>{n(u.orders)}</b>
        </span>
        <span>
          {t('unpaid.minute')} <b>{n(u.in_60s)}</b>
        </span>
        <span>
          {t('unpaid.paid')} <b>{n(live.sold)}</b>{' '}
          <span className="muted">({percent(live.sold, live.sold + live.held, lang)})</span>
        </span>
      </div>
      <div className="muted small">
        {u.stopped
          ? t('unpaid.stopped')
          : u.next_at_ms
            ? t('unpaid.next', { at: clock(u.next_at_ms, zone), span: spell(u.next_at_ms - serverNow()) })
            : t('unpaid.none')}
      </div>
      {waves.length > 0 && (
        <div
          className="waves"
          role="img"
          aria-label={waves.map((w) => `${clock(w[0] ?? 0, zone)}: ${w[1]}`).join(', ')}
        >
          {waves.map((w) => (
            <i
              key={w[0]}
              style={{ height: `${(100 * (w[1] ?? 0)) / most}%` }}
              title={`${clock(w[0] ?? 0, zone)}: ${w[1]}`}
            />
          ))}
        </div>
      )}
    </section>
  );
}

/** The parts the server stands on, the nodes and the dead letters. */
export function Health({ live, stale }: { live: Live; stale: boolean }) {
  const { t } = useTranslation();
  const n = useCount();
  const h = live.health;
  return (
    <section className="panel" data-stale={stale} data-figure="health">
      <h2>{t('health.title')}</h2>
      <div className="row">
        {Object.entries(h.parts).map(([part, state]) => (
          <Tag key={part} tone={state === 'up' ? 'ok' : state === 'down' ? 'bad' : 'warn'}>
            {t(`part.${part}`)} {state !== 'up' && t(`partState.${state}`)}
          </Tag>
        ))}
        <Tag tone={h.dead > 0 || h.in_force < h.alive ? 'warn' : 'ok'}>
          {t('health.nodes', { n: h.in_force, of: h.alive })}
        </Tag>
        <Tag tone={h.skew_ms > 50 ? 'warn' : 'ok'}>{t('health.skew', { ms: h.skew_ms })}</Tag>
        <Tag tone={h.dead_letters > 0 ? 'bad' : h.dead_letters < 0 ? 'plain' : 'ok'}>
          {h.dead_letters > 0 ? (
            <Link to="/dead-letters">{t('health.letters', { n: n(h.dead_letters) })}</Link>
          ) : (
            t('health.letters', { n: h.dead_letters < 0 ? '—' : 0 })
          )}
        </Tag>
      </div>
    </section>
  );
}

/** What was done to this campaign last. */
export function Activity({ id }: { id: string }) {
  const { t } = useTranslation();
  const { zone } = usePrefs();
  const log = useData('GET /v1/admin/audit-log', { query: { object: `campaign/${id}`, limit: 6 } }, 'slow');
  const rows = log.data?.items ?? [];
  return (
    <section className="panel">
      <h2>{t('activity.title')}</h2>
      {log.data && rows.length === 0 && <div className="muted">{t('activity.none')}</div>}
      <ul className="feed num">
        {rows.map((r) => (
          <li key={r.seq} data-data>
            <span className="mono">{clock(Date.parse(r.at), zone)}</span> {r.action}{' '}
            <span className="muted">{r.actor.name}</span> {r.reason}
          </li>
        ))}
      </ul>
    </section>
  );
}
