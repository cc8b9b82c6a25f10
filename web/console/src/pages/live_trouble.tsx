import { memo, type RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { Link } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { stamp } from '../lib/times.ts';
import { checks, type Live } from '../lib/verdict.ts';
import { Act, Fault, Tag, Time, useCount } from '../ui/bits.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { useDanger } from '../ui/danger.tsx';
import { Found } from './found.tsx';
import { CountStep } from './live_count.tsx';

type Run = Schemas['RunAnswer'];

const repairCall = 'POST /v1/admin/reconcile';
const runbook = 'docs/runbooks/frozen-campaign.md';

/**
 * What a person needs who finds a frozen campaign: the evidence, the runbook, and what may be done, the harmless first.
 * It asks slowly, and is drawn again for its own answers, not for each look: `live` is read when the text is made.
 */
export const Trouble = memo(function Trouble(p: { id: string; title: string; live: RefObject<Live | undefined> }) {
  const { t } = useTranslation();
  const n = useCount();
  const runs = useData('GET /v1/admin/reconcile', { query: { campaign_id: p.id, limit: 1 } }, 'slow');
  const last = runs.data?.items[0];
  return (
    <section className="panel stack" data-trouble aria-label={t('trouble.title')}>
      <div className="row">
        <h2>{t('trouble.title')}</h2>
        {last && (
          <>
            <Tag tone={last.ok ? 'ok' : 'bad'}>{last.ok ? t('verdict.allWell') : t('verdict.wrong')}</Tag>
            <Time at={last.started_at} relative />
            <span className="num">
              {t('reconcile.differences')} {n(last.differences)} · {t('verdict.driftName')} {n(last.drift)}
            </span>
          </>
        )}
        <Link to={`/reconcile?campaign=${encodeURIComponent(p.id)}`}>{t('trouble.all')}</Link>
      </div>
      <Fault problem={runs.error} again={runs.again} />
      {last && <Found r={last} />}
      {runs.data && !last && <div className="muted">{t('empty.runs')}</div>}
      <div>
        {t('trouble.runbook')}{' '}
        <span className="mono" data-data>
          {runbook}
        </span>
      </div>
      <Steps title={p.title} id={p.id} live={p.live} last={last} />
    </section>
  );
});

/** What may be done, the harmless first: count, repair, hand over. */
function Steps(p: { id: string; title: string; live: RefObject<Live | undefined>; last: Run | undefined }) {
  const { t } = useTranslation();
  const danger = useDanger();
  const summary = useSummary();
  const repair = () =>
    danger({
      tier: 'c',
      typed: p.id,
      title: t('reconcile.title', { title: p.title }),
      verb: t('reconcile.verb'),
      body: t('reconcile.body'),
      act: (_, reason) => api(repairCall, { body: { campaign_id: p.id, reason } }),
      done: (r: Run) => t('reconcile.done', { found: r.found.length, drift: r.drift }),
    });
  return (
    <ol className="steps" data-next="trouble" aria-label={t('trouble.steps')}>
      <li>
        <div className="row">
          <CountStep id={p.id} />
        </div>
        <span className="muted small">{t('trouble.countHow')}</span>
      </li>
      <li>
        <div className="row">
          <Act size="small" call={repairCall} onClick={repair}>
            {t('reconcile.verb')}
          </Act>
        </div>
        <span className="muted small">{t('trouble.repairHow')}</span>
      </li>
      <li>
        <div className="row">
          <CopyButton size="small" text={() => p.live.current && summary({ ...p, live: p.live.current })}>
            {t('trouble.copy')}
          </CopyButton>
        </div>
        <span className="muted small">{t('trouble.handOver')}</span>
      </li>
    </ol>
  );
}

/** Gives the state of a campaign as plain text in the language of the page. */
function useSummary() {
  const { t } = useTranslation();
  const { lang, zone } = usePrefs();
  const n = useCount();
  return (p: { id: string; title: string; live: Live; last: Run | undefined }): string => {
    const { live, last } = p;
    const h = live.health;
    const signs = checks(live).map(
      (c) =>
        `${c.ok === undefined ? '–' : c.ok ? '✓' : '✗'} ${t(`verdict.${c.name}`, { n: c.value === undefined ? '—' : n(c.value) })}`,
    );
    const units = ['available', 'queued', 'held', 'sold'] as const;
    const lines = [
      [t('field.campaign'), `${p.title} (${p.id})`],
      [t('trouble.asOf'), stamp(live.as_of_ms, zone, true)],
      [t('trouble.state'), `${t(`state.${live.state}`)} · ${t(`phase.${live.phase}`)}`],
      [t('trouble.note'), live.note || '—'],
      [t('verdict.title'), signs.join(' · ')],
      [t('stock.title'), `${units.map((k) => `${t(`stock.${k}`)} ${n(live[k])}`).join(' + ')} = ${n(live.total)}`],
      [
        t('health.title'),
        [
          ...Object.entries(h.parts).map(([k, v]) => `${t(`part.${k}`)} ${v === 'up' ? '✓' : t(`partState.${v}`)}`),
          t('health.nodes', { n: h.in_force, of: h.alive }),
          t('health.skew', { ms: h.skew_ms }),
          t('health.letters', { n: h.dead_letters < 0 ? '—' : n(h.dead_letters) }),
        ].join(' · '),
      ],
      [
        t('trouble.title'),
        last
          ? `${stamp(last.started_at, zone)} · ${t('reconcile.differences')} ${n(last.differences)} · ${t('verdict.driftName')} ${n(last.drift)}`
          : t('empty.runs'),
      ],
    ].map(([k, v]) => `${k}${lang === 'zh' ? '：' : ': '}${v}`);
    if (last?.error) lines.push(`- ${last.error}`);
    for (const f of last?.found ?? [])
      lines.push(
        `- ${[t(`drift.${f.kind}`), f.claim_id, n(f.units), f.detail, f.repair && `→ ${f.repair}`].filter(Boolean).join(' · ')}`,
      );
    lines.push(`${t('trouble.runbook')} ${runbook}`);
    return lines.join('\n');
  };
}
