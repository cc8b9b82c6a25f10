import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';

export const endCall = 'POST /v1/admin/campaigns/{id}/end';

/** Gives what ends a campaign for good, once its id is typed. */
export function useEnd(): (c: Schemas['AdminCampaign']) => void {
  const { t } = useTranslation();
  const n = useCount();
  const danger = useDanger();
  return (c) =>
    danger({
      tier: 'c',
      typed: c.id,
      title: t('end.title', { title: c.title }),
      verb: t('end.verb'),
      body: t('end.body', { available: n(c.available), held: n(c.held), sold: n(c.sold) }),
      act: (_, reason) => api(endCall, { path: { id: c.id }, body: { reason } }),
      done: () => t('end.done'),
    });
}
