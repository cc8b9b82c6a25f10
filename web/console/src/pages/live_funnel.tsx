import { useTranslation } from 'react-i18next';
import type { Series } from '../lib/buckets.ts';
import { funnel } from '../lib/funnel.ts';
import { percent } from '../lib/money.ts';
import { usePrefs } from '../lib/store.ts';
import type { Live } from '../lib/verdict.ts';
import { useCount } from '../ui/bits.tsx';

const seconds = 5;

/** The funnel in the order of the gate's checks, as bars of HTML: exact numbers, readable by a screen reader. */
export function FunnelTable({ live, series, stale }: { live: Live; series: Series; stale: boolean }) {
  const recent = series.recent(live.as_of_ms, seconds);
  return (
    <Funnel
      decisions={live.decisions}
      recent={recent}
      seconds={seconds}
      sold={live.sold}
      held={live.held}
      stale={stale}
    />
  );
}

/** The funnel of some decisions. */
export function Funnel(p: {
  decisions: Record<string, number>;
  recent: Record<string, number>;
  seconds: number;
  sold?: number;
  held?: number;
  stale?: boolean;
}) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const n = useCount();
  const f = funnel(p.decisions, p.recent, p.seconds);
  const pace = (x: number) => (x >= 1 ? n(Math.round(x)) : x > 0 ? '<1' : '');
  const line = (
    key: string,
    name: string,
    means: string,
    count: number,
    width: number,
    kind: string,
    perSecond = 0,
  ) => (
    <tr key={key} className={kind} title={means}>
      <th scope="row">
        {kind === 'alarm' && <span aria-hidden="true">! </span>}
        {name}
      </th>
      <td className="n" data-count={key}>
        {n(count)}
      </td>
      <td className="n">{percent(count, f.entered, lang)}</td>
      <td className="fill">
        <div style={{ width: `${100 * width}%` }} />
      </td>
      <td className="n muted">{pace(perSecond)}</td>
    </tr>
  );
  return (
    <section className="panel funnel num" data-stale={p.stale ?? false} aria-label={t('funnel.title')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('funnel.title')}</th>
            <th scope="col" style={{ textAlign: 'right' }}>
              {t('funnel.claims')}
            </th>
            <th scope="col" style={{ textAlign: 'right' }}>
              %
            </th>
            <th scope="col">
              <span className="sr">{t('funnel.bar')}</span>
            </th>
            <th scope="col" style={{ textAlign: 'right' }}>
              {p.seconds > 0 ? '/s' : ''}
            </th>
          </tr>
        </thead>
        <tbody>
          {line('entered', t('funnel.entered'), t('funnel.enteredMeans'), f.entered, f.entered ? 1 : 0, 'sum')}
          {f.rows.map((r) =>
            line(r.reason, r.reason, t(`reason.${r.reason}`), r.count, r.width, r.alarm ? 'alarm' : '', r.perSecond),
          )}
          {line(
            'admitted',
            `→ ${t('funnel.admitted')}`,
            t('funnel.admittedMeans'),
            f.admitted,
            logOf(f.admitted, f.entered),
            'sum good',
          )}
        </tbody>
      </table>
    </section>
  );
}

function logOf(n: number, of: number): number {
  return n > 0 ? Math.log10(n + 1) / Math.log10(of + 1) : 0;
}
