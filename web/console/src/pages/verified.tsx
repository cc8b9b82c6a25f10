import { useTranslation } from 'react-i18next';
import { useData } from '../lib/data.ts';
import { Facts, Fault, Tag, Time, useCount } from '../ui/bits.tsx';

/** What a count of all rows of a campaign finds; with `apart` the figures one by one, else as a sum. */
export function Verified({ id, apart }: { id: string; apart?: boolean }) {
  const { t } = useTranslation();
  const n = useCount();
  const verify = useData('GET /v1/admin/campaigns/{id}/verify', { path: { id } }, 'slow');
  const v = verify.data;
  return (
    <div className="panel num">
      <h2>
        {t('stock.verified')}{' '}
        {v && <Tag tone={v.ok ? 'ok' : 'bad'}>{v.ok ? t('verdict.allWell') : t('verdict.wrong')}</Tag>}
      </h2>
      <Fault problem={verify.error} again={verify.again} />
      {v && (
        <Facts
          rows={[
            ...(apart
              ? ([
                  [t('stock.available'), n(v.available)],
                  [t('stock.queued'), n(v.queued)],
                  [t('stock.held'), n(v.held)],
                  [t('stock.sold'), n(v.sold)],
                  [t('campaign.total'), n(v.total)],
                ] as [string, string][])
              : ([
                  [t('stock.sum'), `${n(v.available)} + ${n(v.queued)} + ${n(v.held)} + ${n(v.sold)} = ${n(v.total)}`],
                ] as [string, string][])),
            [t('verdict.oversoldName'), n(v.units_over_total)],
            [t('verdict.overLimitName'), n(v.users_over_limit)],
            [t('verdict.driftName'), n(v.drift)],
            [t('verdict.at'), <Time key="a" at={v.checked_at} />],
          ]}
        />
      )}
    </div>
  );
}
