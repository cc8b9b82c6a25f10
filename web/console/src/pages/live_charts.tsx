import { lazy, Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { columns, latencies, rates, type Series } from '../lib/buckets.ts';
import { usePrefs } from '../lib/store.ts';
import type { Live } from '../lib/verdict.ts';
import { useCount } from '../ui/bits.tsx';
import { useDark } from '../ui/dark.ts';

const Chart = lazy(() => import('../ui/uplot.tsx'));

/** Colours and dashes of the lines, light and dark. */
export function palette(dark: boolean) {
  return dark
    ? { a: '#69b1ff', b: '#a3acb7', c: '#ff9c99', d: '#f2b65a' }
    : { a: '#0958d9', b: '#69727d', c: '#b8101e', d: '#8f4100' };
}

const dot = [2, 3];
const dash = [7, 4];

/** Four charts with one cursor. */
export function LiveCharts({ live, series }: { live: Live; series: Series }) {
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
        <Chart
          {...shared}
          title={t('chart.stock')}
          unit={t('chart.units')}
          points={points.stock}
          lines={[
            { label: t('stock.available'), color: c.b },
            { label: t('stock.held'), color: c.d, dash },
            { label: t('stock.sold'), color: c.a, dash: dot },
          ]}
          summary={t('chart.stockSays', { available: n(live.available), held: n(live.held), sold: n(live.sold) })}
        />
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
