import { lazy, Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { columns, keepMs, latencies, type Points, rates, type Series } from '../lib/buckets.ts';
import { useData } from '../lib/data.ts';
import { marks, markText } from '../lib/marks.ts';
import { may } from '../lib/rights.ts';
import { usePrefs } from '../lib/store.ts';
import { clock, type Zone } from '../lib/times.ts';
import type { Live } from '../lib/verdict.ts';
import { useSession } from '../session.tsx';
import { useCount } from '../ui/bits.tsx';
import { useDark } from '../ui/dark.ts';

const Chart = lazy(() => import('../ui/uplot.tsx'));

/** Colours and dashes of the lines, light and dark. */
export function palette(dark: boolean) {
  return dark
    ? { a: '#69b1ff', b: '#a3acb7', c: '#ff9c99', d: '#f2b65a' }
    : { a: '#0958d9', b: '#69727d', c: '#b8101e', d: '#8f4100' };
}

const logCall = 'GET /v1/admin/audit-log';
const dot = [2, 3];
const dash = [7, 4];

/** Four charts with one cursor. */
export function LiveCharts({ id, live, series }: { id: string; live: Live; series: Series }) {
  const { t } = useTranslation();
  const { zone } = usePrefs();
  const dark = useDark();
  const n = useCount();
  const c = palette(dark);
  const at = live.as_of_ms;
  // the series is changed in place; `at` says when
  const points = useMemo(
    () => ({
      rates: rates(series.buckets),
      latencies: latencies(series.buckets),
      stock: columns(series.samples, [(s) => s.available, (s) => s.held, (s) => s.sold]),
      queue: columns(series.samples, [(s) => s.queued, (s) => s.oldest / 1000]),
    }),
    [at, series],
  );
  const shared = { zone, dark, sync: 'live', span: 900 };
  return (
    <div className="charts">
      <Suspense fallback={<div className="chart" style={{ minHeight: 190 }} />}>
        <Chart
          {...shared}
          log
          title={t('chart.rates')}
          unit={t('chart.perSecond')}
          points={points.rates}
          lines={[
            { label: t('chart.admitted'), color: c.a },
            { label: 'SOLD_OUT', color: c.b, dash },
            { label: 'BUSY', color: c.c, dash: dot },
            { label: t('chart.otherRefusals'), color: c.d, dash: [10, 3, 2, 3] },
          ]}
          summary={t('chart.ratesSays', { now: n(live.rate.now), peak: n(live.rate.peak) })}
        />
        <StockChart id={id} live={live} points={points.stock} shared={shared} />
        <Chart
          {...shared}
          log
          title={t('chart.latency')}
          unit="ms"
          points={points.latencies}
          lines={[
            { label: 'p50', color: c.b },
            { label: 'p99', color: c.a, dash },
          ]}
          summary={t('chart.latencySays', {
            p50: (live.p50_us / 1000).toFixed(1),
            p99: (live.p99_us / 1000).toFixed(1),
          })}
        />
        <Chart
          {...shared}
          title={t('chart.queue')}
          points={points.queue}
          lines={[
            { label: t('chart.waiting'), color: c.a },
            { label: t('chart.oldest'), color: c.c, dash },
          ]}
          summary={t('chart.queueSays', { n: n(live.backlog.claims) })}
        />
      </Suspense>
    </div>
  );
}

type Shared = { zone: Zone; dark: boolean; sync: string; span: number };

/** The stock, with a mark where it was adjusted; the log of the adjustments is asked slowly. */
function StockChart({ id, live, points, shared }: { id: string; live: Live; points: Points; shared: Shared }) {
  const { t } = useTranslation();
  const { zone } = usePrefs();
  const n = useCount();
  const { session } = useSession();
  const c = palette(shared.dark);
  const query = { object: `campaign/${id}`, action: 'campaign.adjust', limit: 50 };
  const log = useData(logCall, { query }, 'slow', may(session, logCall));
  const entries = log.data?.items;
  const all = useMemo(() => marks(entries ?? []).map((m) => ({ x: m.at / 1000, text: markText(m, n) })), [entries]);
  const from = Math.max(points[0]?.[0] ?? 0, (live.as_of_ms - keepMs) / 1000);
  const told = all
    .filter((m) => m.x >= from)
    .map((m) => t('chart.markSays', { n: m.text, at: clock(m.x * 1000, zone) }));
  const stock = t('chart.stockSays', { available: n(live.available), held: n(live.held), sold: n(live.sold) });
  return (
    <Chart
      {...shared}
      title={t('chart.stock')}
      unit={t('chart.units')}
      points={points}
      marks={all}
      lines={[
        { label: t('stock.available'), color: c.b },
        { label: t('stock.held'), color: c.d, dash },
        { label: t('stock.sold'), color: c.a, dash: dot },
      ]}
      summary={told.length ? t('chart.marks', { stock, list: told.join(' · ') }) : stock}
    />
  );
}
