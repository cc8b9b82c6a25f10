import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';

/** The call without which there is no pre-flight. */
export const preflightCall = 'GET /v1/admin/campaigns/{id}/preflight';

/** Go or no-go before the sale. */
export function Preflight({ campaign }: { campaign: Schemas['AdminCampaign'] }) {
  const { t } = useTranslation();
  return <div className="panel">{t('tab.preflight')} {campaign.id}</div>;
}
