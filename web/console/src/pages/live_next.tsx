import { lazy, memo, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { otherNodes } from '../lib/othernodes.ts';
import { Link } from '../lib/router.tsx';
import type { Look } from '../lib/verdict.ts';
import { Act } from '../ui/bits.tsx';
import { InForce, useDanger } from '../ui/danger.tsx';
import { AdjustDialog } from './adjust.tsx';
import { endCall, useEnd } from './end.tsx';

const CloneDialog = lazy(() => import('./clone.tsx').then((m) => ({ default: m.CloneDialog })));
const setCall = 'PUT /v1/admin/switches/{name}';
const clearCall = 'DELETE /v1/admin/switches/{name}';
const adjustCall = 'POST /v1/admin/campaigns/{id}/adjustments';
const payments = 'payments_down';
const degraded = 'degraded';

interface Props {
  look: Look;
  campaign: Schemas['AdminCampaign'];
  clockStands: boolean; // payments are marked down already
  forced: boolean; // stock is taken in the ledger because a switch says so
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

function Offered({ look, campaign, clockStands, forced, open }: Props & { open: (dialog: string) => void }) {
  const { t } = useTranslation();
  const danger = useDanger();
  const end = useEnd();
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
  const endSale = (
    <Act
      size="small"
      danger
      call={endCall}
      onClick={() => end(campaign)}
      why={campaign.state === 'ended' ? t('next.ended') : undefined}
    >
      {t('end.verb')}
    </Act>
  );
  switch (look) {
    case 'before':
      return (
        <span className="row" data-next={look}>
          {need('GET /v1/admin/campaigns/{id}/preflight') && (
            <Link to={`${at}?tab=preflight`}>{t('next.preflight')}</Link>
          )}
          <Act size="small" call={adjustCall} onClick={() => open('adjust')}>
            {t('adjust.verb')}
          </Act>
          <Link to={`${at}/edit?step=when`}>{t('next.postpone')}</Link>
        </span>
      );
    case 'sold_out':
      return (
        <span className="row" data-next={look}>
          <Act size="small" call={adjustCall} onClick={() => open('adjust')}>
            {t('next.addStock')}
          </Act>
          {endSale}
        </span>
      );
    case 'settling':
      return (
        <span className="row" data-next={look}>
          <Act size="small" call={setCall} onClick={markDown} why={clockStands ? t('next.standsAlready') : undefined}>
            {t('next.payments')}
          </Act>
          {endSale}
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
      return <Policy forced={forced} />;
    case 'stale':
      return <OtherNodes path={`/live/${encodeURIComponent(campaign.id)}`} />;
    default:
      return null;
  }
}

/**
 * Where stock is taken is for the whole server to say: to stay in the ledger, also when Redis is back, or to go back to
 * Redis as soon as it answers.
 */
function Policy({ forced }: { forced: boolean }) {
  const { t } = useTranslation();
  const danger = useDanger();
  const where = t('switches.global');
  const stay = () =>
    danger({
      tier: 'b',
      title: t('switches.setTitle', { name: degraded, where, value: t('switches.on') }),
      verb: t('next.stayInLedger'),
      body: t('next.stayBody'),
      act: (_, reason) => api(setCall, { path: { name: degraded }, body: { value: 1, reason } }),
      done: (a: Schemas['SwitchOutputBody']) => <InForce answer={a} />,
    });
  const back = () =>
    danger({
      tier: 'b',
      title: t('switches.clearTitle', { name: degraded, where }),
      verb: t('next.backToRedis'),
      body: t('next.backBody'),
      act: (_, reason) => api(clearCall, { path: { name: degraded }, query: { reason } }),
      done: (a: Schemas['SwitchOutputBody']) => <InForce answer={a} />,
    });
  return (
    <span className="row" data-next="degraded">
      {forced ? (
        <Act size="small" call={clearCall} onClick={back}>
          {t('next.backToRedis')}
        </Act>
      ) : (
        <Act size="small" call={setCall} onClick={stay}>
          {t('next.stayInLedger')}
        </Act>
      )}
      <Link to="/switches?name=degraded">{t('next.degraded')}</Link>
    </span>
  );
}

/** Where else to look while this node does not answer: the nodes that it told of last. */
function OtherNodes({ path }: { path: string }) {
  const { t } = useTranslation();
  const nodes = useData('GET /v1/admin/nodes', {}, 'slow');
  if (!nodes.data) return null;
  const others = otherNodes(nodes.data.items, location, path);
  return (
    <span className="row small" data-next="stale">
      {others.length === 0 && t('next.noOther')}
      {others.map((x) =>
        x.url ? (
          <a key={x.name + x.port} href={x.url}>
            {t('next.openFrom')} <span data-data>{x.name}</span>
          </a>
        ) : (
          <span key={x.name + x.port}>
            {t('next.openFrom')}{' '}
            <span className="mono" data-data>
              {x.name}:{x.port}
            </span>{' '}
            {t('next.byName')}
          </span>
        ),
      )}
    </span>
  );
}
