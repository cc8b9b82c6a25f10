import { Slider } from 'antd';
import { lazy, Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { type Bucket, latencies, rates } from '../lib/buckets.ts';
import { money, percent } from '../lib/money.ts';
import { usePrefs } from '../lib/store.ts';
import { clock, span } from '../lib/times.ts';
import { Facts, State, Tag, Time, useCount, useSpan } from '../ui/bits.tsx';
import { useDark } from '../ui/dark.ts';
import { palette } from './live_charts.tsx';
import { Funnel } from './live_funnel.tsx';
import './live.css';

const Chart = lazy(() => import('../ui/uplot.tsx'));

/** Figures are what a report shows, whoever looks: what whoever has a link may see. */
export type Figures = Omit<Schemas['SharedReport'], 'expires_at' | '$schema'>;

/** The figures of a report and its replay. It needs no session. */
export function Figured({ r }: { r: Figures }) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const n = useCount();
  const spell = useSpan();
  const c = r.campaign;
  const v = r.verification;
  const m = r.money;
  const entered = Object.values(r.decisions).reduce((a, b) => a + b, 0);
  const admitted = (r.decisions.QUEUED ?? 0) + (r.decisions.CONFIRMED ?? 0);
  return (
    <>
      <div className={v.ok ? 'strip' : 'strip bad'} data-verdict={v.ok ? 'ok' : 'wrong'}>
        {v.ok ? '✓' : '✗'}{' '}
        {t('report.verdict', {
          available: n(v.available),
          queued: n(v.queued),
          held: n(v.held),
          sold: n(v.sold),
          total: n(v.total),
        })}
        <span>{t('verdict.oversold', { n: v.units_over_total })}</span>
        <span>{t('verdict.overLimit', { n: v.users_over_limit })}</span>
        <span>{t('verdict.drift', { n: v.drift })}</span>
        <span className="age">
          {t('verdict.at')} <Time at={v.checked_at} />
        </span>
      </div>
      <div className="cols">
        <section className="panel num">
          <h2>
            {t('report.sale')} <State of={c.state} /> {r.load_test && <Tag tone="plain">{t('campaign.loadTest')}</Tag>}
          </h2>
          <Facts
            rows={[
              [
                t('campaign.window'),
                <span key="w">
                  <Time at={c.starts_at} /> → <Time at={c.ends_at} />
                </span>,
              ],
              [t('report.soldOutIn'), r.sell_out_ms ? <b key="s">{spell(r.sell_out_ms)}</b> : '—'],
              [t('report.first'), <Time key="f" at={r.rows.first_unit_at} ms />],
              [t('report.last'), <Time key="l" at={r.rows.last_unit_at} ms />],
              [t('funnel.entered'), n(entered)],
              [t('funnel.admitted'), `${n(admitted)} (${percent(admitted, entered, lang)})`],
              [t('report.replayed'), n(r.replayed)],
              [t('fig.latency'), `${(r.p50_us / 1000).toFixed(1)} / ${(r.p99_us / 1000).toFixed(1)} ms`],
            ]}
          />
        </section>
        <section className="panel num">
          <h2>{t('report.rows')}</h2>
          <Facts
            rows={[
              [t('stock.sold'), n(r.rows.sold)],
              [t('stock.held'), n(r.rows.held)],
              [t('report.claims'), n(r.rows.claims)],
              [t('tab.grants'), n(r.rows.grants)],
              [t('state.rejected'), n(r.rows.rejected)],
              ...(c.kind === 'goods'
                ? ([
                    [
                      t('unpaid.paid'),
                      `${n(m.paid)} (${percent(m.paid_share, 1, lang)}) · ${money(m.paid_minor, m.currency, lang)}`,
                    ],
                    [t('state.refunded'), `${n(m.refunded)} · ${money(m.refunded_minor, m.currency, lang)}`],
                    [t('order.refundDue'), `${n(m.refund_due)} · ${money(m.refund_due_minor, m.currency, lang)}`],
                  ] as [string, string][])
                : ([
                    [t('state.redeemed'), n(r.rows.coupons?.redeemed ?? 0)],
                    [t('report.discount'), money(m.discount_minor ?? 0, m.currency, lang)],
                  ] as [string, string][])),
            ]}
          />
        </section>
      </div>
      <Replay r={r} />
    </>
  );
}

/** The sale second by second: the slider says up to when. */
function Replay({ r }: { r: Figures }) {
  const { t } = useTranslation();
  const { zone } = usePrefs();
  const dark = useDark();
  const buckets = r.buckets as Bucket[];
  const [at, setAt] = useState<number>();
  const last = buckets.length;
  const upTo = Math.min(at ?? last, last);
  const seen = useMemo(() => {
    const out: Record<string, number> = {};
    for (const b of buckets.slice(0, upTo)) for (const [k, n] of Object.entries(b.counts)) out[k] = (out[k] ?? 0) + n;
    return out;
  }, [buckets, upTo]);
  const shown = useMemo(
    () => ({ rates: rates(buckets.slice(0, upTo)), latencies: latencies(buckets.slice(0, upTo)) }),
    [buckets, upTo],
  );
  const c = palette(dark);
  if (last === 0) return <div className="panel empty">{t('report.noBuckets')}</div>;
  const b = buckets[upTo - 1];
  const start = Date.parse(r.campaign.starts_at);
  const label = b
    ? `${clock(b.start_ms + b.width_ms, zone, true)} · T${b.start_ms >= start ? '+' : '−'}${span(Math.abs(b.start_ms + b.width_ms - start), { d: 'd', h: 'h', m: 'min', s: 's' })}`
    : '—';
  return (
    <>
      <section className="panel noprint">
        <h2>
          {t('report.replay')}{' '}
          <span className="num" style={{ fontWeight: 400 }}>
            {label}
          </span>
        </h2>
        <Slider
          min={1}
          max={last}
          value={upTo}
          onChange={setAt}
          tooltip={{ open: false }}
          ariaLabelForHandle={t('report.replay')}
          ariaValueTextFormatterForHandle={() => label}
        />
      </section>
      <div className="split">
        <Funnel
          decisions={at === undefined ? r.decisions : seen}
          recent={b?.counts ?? {}}
          seconds={b ? b.width_ms / 1000 : 0}
        />
        <div className="stack" style={{ alignContent: 'start' }}>
          <Suspense fallback={<div className="chart" style={{ minHeight: 190 }} />}>
            <Chart
              title={t('chart.rates')}
              unit={t('chart.perSecond')}
              points={shown.rates}
              zone={zone}
              dark={dark}
              log
              sync="report"
              lines={[
                { label: t('chart.admitted'), color: c.a },
                { label: 'SOLD_OUT', color: c.b, dash: [7, 4] },
                { label: 'BUSY', color: c.c, dash: [2, 3] },
                { label: t('chart.otherRefusals'), color: c.d, dash: [10, 3, 2, 3] },
              ]}
              summary={label}
            />
            <Chart
              title={t('chart.latency')}
              unit="ms"
              points={shown.latencies}
              zone={zone}
              dark={dark}
              log
              sync="report"
              lines={[
                { label: 'p50', color: c.b },
                { label: 'p99', color: c.a, dash: [7, 4] },
              ]}
              summary={label}
            />
          </Suspense>
        </div>
      </div>
    </>
  );
}
