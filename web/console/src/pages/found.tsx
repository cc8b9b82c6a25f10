import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { Act, Id, Tag, useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';

type Run = Schemas['RunAnswer'];
type Finding = Schemas['DriftAnswer'];
type Sides = Schemas['SidesAnswer'];

const repair = 'POST /v1/admin/reconcile/{id}/repair';
const runbook = 'docs/runbooks/drift.md';

/** What one comparison of gate and ledger found. */
export function Found({ r }: { r: Run }) {
  const { t } = useTranslation();
  if (r.error) return <span data-data>{r.error}</span>;
  if (r.found.length === 0) return <Tag tone="ok">{t('reconcile.nothing')}</Tag>;
  return (
    <ul className="feed">
      {r.found.map((f, i) => (
        <li key={`${i}/${f.claim_id ?? ''}`} data-finding={f.kind}>
          <One r={r} f={f} />
        </li>
      ))}
      {r.differences > r.found.length && (
        <li className="muted">{t('drift.more', { n: r.differences - r.found.length })}</li>
      )}
    </ul>
  );
}

/** One difference: what it is, what was done, what could be done, or why nothing can. */
function One({ r, f }: { r: Run; f: Finding }) {
  const { t } = useTranslation();
  const n = useCount();
  const danger = useDanger();
  const { before, after } = f;
  const ask = () =>
    danger({
      tier: 'c',
      typed: r.campaign_id,
      title: (
        <>
          {t('drift.repairTitle', { n: n(f.units) })} <span data-data>{f.claim_id}</span>
        </>
      ),
      verb: t('drift.repair'),
      body: (
        <div className="stack">
          <div>{t('drift.repairBody')}</div>
          {before && after && <BeforeAfter before={before} after={after} />}
          {f.remedy === 'settle' && <div className="muted">{t('drift.mayReject')}</div>}
        </div>
      ),
      act: (_, reason) =>
        api(repair, { path: { id: r.id }, body: { claim_id: f.claim_id ?? '', seen: f.seen ?? '', reason } }),
      done: (a: Schemas['RepairOutputBody']) => (
        <div className="stack" data-repaired={String(a.run.ok)}>
          <div>{a.run.ok ? t('drift.repaired', { run: a.run.id }) : t('drift.notRepaired', { run: a.run.id })}</div>
          {a.run.error && <div data-data>{a.run.error}</div>}
          <BeforeAfter before={a.before} after={a.after} />
        </div>
      ),
    });
  return (
    <>
      <b>{t(`drift.${f.kind}`)}</b> {f.claim_id && <Id id={f.claim_id} />} <span className="num">{n(f.units)}</span>{' '}
      <span data-data>{f.detail}</span>{' '}
      {f.repair && (
        <Tag tone="info">
          <span data-data>{f.repair}</span>
        </Tag>
      )}
      {!f.repair && before && after && <BeforeAfter before={before} after={after} />}
      {!f.repair && f.alone && (
        <Act call={repair} size="small" danger onClick={ask}>
          {t('drift.repair')}
        </Act>
      )}
      {!f.repair && !f.alone && (
        <div className="muted small" data-why={f.remedy ?? 'none'}>
          {f.remedy ? t('drift.whole') : t(`drift.why.${f.kind}`)} {t('drift.runbook')}{' '}
          <span className="mono" data-data>
            {runbook}
          </span>
        </div>
      )}
    </>
  );
}

/** Both sides of a claim, before and after a repair, and what that means for what is on sale. */
function BeforeAfter({ before, after }: { before: Sides; after: Sides }) {
  const { t } = useTranslation();
  const n = useCount();
  const cell = (s: Sides['gate']) =>
    s.state === 'absent' ? t('drift.side.absent') : `${t(`drift.side.${s.state}`)} · ${n(s.units)}`;
  const sale = before.gate.units - after.gate.units;
  return (
    <div className="scrollx">
      <table className="beforeafter num" data-beforeafter>
        <thead>
          <tr>
            <th scope="col">
              <span className="sr">{t('drift.side')}</span>
            </th>
            <th scope="col">{t('drift.before')}</th>
            <th scope="col">{t('drift.after')}</th>
          </tr>
        </thead>
        <tbody>
          {(['gate', 'ledger'] as const).map((side) => (
            <tr key={side} data-side={side}>
              <th scope="row">{t(`drift.side.${side}`)}</th>
              <td>{cell(before[side])}</td>
              <td>{cell(after[side])}</td>
            </tr>
          ))}
          {sale !== 0 && (
            <tr data-side="sale">
              <th scope="row">{t('drift.onSale')}</th>
              <td />
              <td>
                {sale > 0 ? '+' : '−'}
                {n(Math.abs(sale))}
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
