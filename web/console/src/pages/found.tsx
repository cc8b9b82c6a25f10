import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { Id, Tag, useCount } from '../ui/bits.tsx';

/** What one comparison of gate and ledger found. */
export function Found({ r }: { r: Schemas['RunAnswer'] }) {
  const { t } = useTranslation();
  const n = useCount();
  if (r.error) return <span data-data>{r.error}</span>;
  if (r.found.length === 0) return <Tag tone="ok">{t('reconcile.nothing')}</Tag>;
  return (
    <ul className="feed">
      {r.found.map((f, i) => (
        <li key={`${i}/${f.claim_id ?? ''}`} data-finding={f.kind}>
          <b>{t(`drift.${f.kind}`)}</b> {f.claim_id && <Id id={f.claim_id} />} <span className="num">{n(f.units)}</span>{' '}
          <span data-data>{f.detail}</span>{' '}
          {f.repair && (
            <Tag tone="info">
              <span data-data>{f.repair}</span>
            </Tag>
          )}
        </li>
      ))}
    </ul>
  );
}
