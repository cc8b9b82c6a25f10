import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { Link } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { useNow } from '../lib/store.ts';
import { countdown } from '../lib/times.ts';
import { Head, State, StockBar, Tag, Time, useCount } from '../ui/bits.tsx';

type Need = Schemas['NeedAnswer'];

/** What needs me now. */
export default function Overview() {
  const { t } = useTranslation();
  const n = useCount();
  const all = useData('GET /v1/admin/overview', {}, 'slow');
  const sum = useData('GET /v1/admin/summary', {}, 'slow');
  const log = useData('GET /v1/admin/audit-log', { query: { limit: 10 } }, 'slow');
  useNow();
  const now = serverNow();
  const needs = all.data?.needs ?? [];
  const running = all.data?.live ?? [];
  const next = all.data?.next;
  return (
    <div className="stack">
      <Head title={t('nav.overview')} data={all} />
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
            all.data && (
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
        {needs.length === 0 && all.data && (
          <div>
            <Tag tone="ok">{t('overview.allWell')}</Tag>
          </div>
        )}
        <ul className="feed">
          {needs.map((x) => (
            <NeedRow key={`${x.kind}/${x.campaign_id ?? ''}/${x.detail}`} x={x} />
          ))}
        </ul>
      </section>
      <section className="panel">
        <h2>{t('overview.running')}</h2>
        {all.data && running.length === 0 && <div className="muted">{t('overview.noRunning')}</div>}
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

const tones = { act: 'bad', look: 'warn' } as const;

/** Where a person goes for one kind of need. */
function placeOf(x: Need): string {
  const id = encodeURIComponent(x.campaign_id ?? '');
  switch (x.kind) {
    case 'dead_letters':
      return '/dead-letters';
    case 'refund_due':
      return '/orders?refund_due=true';
    case 'switch':
      return '/switches';
    case 'drift':
      return `/reconcile?campaign=${id}`;
    case 'coupons_ending':
      return `/campaigns/${id}`;
  }
  return id ? `/live/${id}` : '/system';
}

/** One thing that asks for a person: what, of which campaign, since when or until when, by whom. */
function NeedRow({ x }: { x: Need }) {
  const { t, i18n } = useTranslation();
  const n = useCount();
  const known = i18n.exists(`need.${x.kind}`);
  return (
    <li data-need={x.kind}>
      <Tag tone={tones[x.urgency]}>
        {known ? t(`need.${x.kind}`, { n: n(x.count) }) : <span data-data>{x.kind}</span>}
      </Tag>{' '}
      <Link to={placeOf(x)} data-data={x.title || x.campaign_id || x.kind === 'switch' ? '' : undefined}>
        {x.title || x.campaign_id || (x.kind === 'switch' ? x.detail : t('overview.open'))}
      </Link>
      {x.kind === 'switch' && x.campaign_id && <span data-data> {x.detail}</span>}
      {(x.kind === 'part_down' || x.kind === 'clock_skew' || x.kind === 'frozen' || !known) && (
        <span data-data> {x.detail}</span>
      )}
      {x.since_ms ? (
        <span className="muted small">
          {' '}
          · <Time at={x.since_ms} relative />
        </span>
      ) : null}
      {x.by && (
        <span className="muted small" data-data>
          {' '}
          · {x.by}
        </span>
      )}
    </li>
  );
}
