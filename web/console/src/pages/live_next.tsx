import { lazy, memo, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, type Schemas } from '../lib/api.ts';
import { Link } from '../lib/router.tsx';
import type { Look } from '../lib/verdict.ts';
import { Act } from '../ui/bits.tsx';
import { InForce, useDanger } from '../ui/danger.tsx';
import { AdjustDialog } from './adjust.tsx';

const CloneDialog = lazy(() => import('./clone.tsx').then((m) => ({ default: m.CloneDialog })));
const setCall = 'PUT /v1/admin/switches/{name}';
const payments = 'payments_down';

interface Props {
  look: Look;
  campaign: Schemas['AdminCampaign'];
  clockStands: boolean; // payments are marked down already
}

/**
 * What a person may want to do next in this state of the sale. It is drawn again for a new state, not for each look. A
 * dialog stays when the state goes on under it: what it did is told.
 */
export const NextActs = memo(function NextActs(p: Props) {
  const [dialog, setDialog] = useState('');
  const close = () => setDialog('');
  return (
    <>
      <Offered {...p} open={setDialog} />
      <AdjustDialog campaign={p.campaign} open={dialog === 'adjust'} close={close} />
      {dialog === 'clone' && (
        <Suspense fallback={null}>
          <CloneDialog campaign={p.campaign} close={close} />
        </Suspense>
      )}
    </>
  );
});

function Offered({ look, campaign, clockStands, open }: Props & { open: (dialog: string) => void }) {
  const { t } = useTranslation();
  const danger = useDanger();
  const at = `/campaigns/${encodeURIComponent(campaign.id)}`;
  const markDown = () =>
    danger({
      tier: 'a',
      title: t('switches.setTitle', { name: payments, where: t('switches.global'), value: t('switches.on') }),
      verb: t('switches.turnOn'),
      initialReason: t('next.paymentsReason'),
      body: t(`switch.${payments}`),
      act: (_, reason) => api(setCall, { path: { name: payments }, body: { value: 1, reason } }),
      done: (a: Schemas['SwitchOutputBody']) => <InForce answer={a} />,
    });
  switch (look) {
    case 'before':
      return (
        <span className="row" data-next={look}>
          {need('GET /v1/admin/campaigns/{id}/preflight') && (
            <Link to={`${at}?tab=preflight`}>{t('next.preflight')}</Link>
          )}
          <Link to={`${at}/edit?step=when`}>{t('next.postpone')}</Link>
        </span>
      );
    case 'sold_out':
      return (
        <span className="row" data-next={look}>
          <Act size="small" call="POST /v1/admin/campaigns/{id}/adjustments" onClick={() => open('adjust')}>
            {t('next.addStock')}
          </Act>
        </span>
      );
    case 'settling':
      return (
        <span className="row" data-next={look}>
          <Act size="small" call={setCall} onClick={markDown} why={clockStands ? t('next.standsAlready') : undefined}>
            {t('next.payments')}
          </Act>
        </span>
      );
    case 'settled':
      return (
        <span className="row" data-next={look}>
          <Link to={`${at}/report`}>{t('tab.report')}</Link>
          <Act size="small" call="POST /v1/admin/campaigns/{id}/clone" onClick={() => open('clone')}>
            {t('clone.verb')}
          </Act>
        </span>
      );
    case 'degraded':
      return (
        <span className="row" data-next={look}>
          <Link to="/switches?name=degraded">{t('next.degraded')}</Link>
        </span>
      );
    default:
      return null;
  }
}
