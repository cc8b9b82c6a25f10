import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import type { Live } from '../lib/verdict.ts';
import { Act, useCount } from '../ui/bits.tsx';
import { InForce, useDanger } from '../ui/danger.tsx';
import { AdjustDialog } from './adjust.tsx';

type Campaign = Schemas['AdminCampaign'];

const closedCall = 'PUT /v1/admin/switches/{name}';

/** Pause, adjust and stop: fast to stop, slow to open. */
export function LiveActs({ live, campaign, short }: { live: Live; campaign: Campaign; short?: boolean }) {
  const { t } = useTranslation();
  const n = useCount();
  const danger = useDanger();
  const [adjust, setAdjust] = useState(false);
  const id = campaign.id;
  const title = campaign.title;
  const closed = live.switches?.find((s) => s.name === 'closed' && s.value > 0);
  const over = live.state === 'ended' || live.state === 'draft';
  const numbers = t('danger.numbers', {
    rate: n(live.rate.now),
    sold: n(live.sold),
    held: n(live.held),
    available: n(live.available),
  });
  const set = (value: number) => (_: string, reason: string) =>
    api(closedCall, { path: { name: 'closed' }, body: { campaign_id: id, value, reason } });

  // What an undo asks ten seconds later is asked with the numbers of then.
  const back = useRef({ reopen: () => {}, resume: () => {} });
  const stop = () =>
    danger({
      tier: 'a',
      title: t('stop.title', { title }),
      verb: t('stop.verb'),
      initialReason: t('stop.reason'),
      body: <Effect numbers={numbers} sees="CLOSED" />,
      act: set(1),
      done: (a: Schemas['SwitchOutputBody']) => <InForce answer={a} />,
      undo: { says: t('stop.undo', { title }), back: () => back.current.reopen() },
    });
  const reopen = () =>
    danger({
      tier: 'c',
      title: t('open.title', { title }),
      verb: t('open.verb'),
      typed: id,
      reason: 'required',
      body: t('open.body', { available: n(live.available) }),
      act: set(0),
      done: (a: Schemas['SwitchOutputBody']) => <InForce answer={a} />,
    });
  const pause = () =>
    danger({
      tier: 'a',
      title: t('pause.title', { title }),
      verb: t('pause.verb'),
      initialReason: t('pause.reason'),
      body: <Effect numbers={numbers} sees="PAUSED" />,
      act: (_: string, reason: string) =>
        api('POST /v1/admin/campaigns/{id}/pause', { path: { id }, body: { reason } }),
      done: () => t('pause.done'),
      undo: { says: t('pause.undo', { title }), back: () => back.current.resume() },
    });
  const resume = () =>
    danger({
      tier: live.state === 'frozen' ? 'c' : 'b',
      title: t('resume.title', { title }),
      verb: t('resume.verb'),
      typed: live.state === 'frozen' ? id : undefined,
      body: t(live.state === 'frozen' ? 'resume.frozen' : 'resume.body', { available: n(live.available) }),
      act: (_: string, reason: string) =>
        api('POST /v1/admin/campaigns/{id}/resume', { path: { id }, body: { reason } }),
      done: () => t('resume.done'),
    });
  back.current = { reopen, resume };
  const stopped = live.state === 'paused' || live.state === 'frozen';
  return (
    <>
      {stopped ? (
        <Act call="POST /v1/admin/campaigns/{id}/resume" onClick={resume}>
          {t('resume.verb')}
        </Act>
      ) : (
        <Act call="POST /v1/admin/campaigns/{id}/pause" onClick={pause} why={over ? t('why.over') : undefined}>
          {t('pause.verb')}
        </Act>
      )}
      {!short && (
        <Act
          call="POST /v1/admin/campaigns/{id}/adjustments"
          onClick={() => setAdjust(true)}
          why={over ? t('why.over') : undefined}
        >
          {t('adjust.verb')}
        </Act>
      )}
      {closed && (closed.campaign || live.phase === 'stopped') ? (
        <Act call={closedCall} onClick={reopen} why={closed.campaign ? undefined : t('why.global')}>
          {t('open.verb')}
        </Act>
      ) : (
        <Act call={closedCall} type="primary" danger onClick={stop} why={over ? t('why.over') : undefined} data-stop>
          ■ {t('stop.verb')}
        </Act>
      )}
      <AdjustDialog campaign={campaign} open={adjust} close={() => setAdjust(false)} />
    </>
  );
}

/** The live numbers, and exactly what buyers will see. */
function Effect({ numbers, sees }: { numbers: string; sees: string }) {
  const { t } = useTranslation();
  return (
    <div className="stack">
      <div className="num">{numbers}</div>
      <div className="note">
        {t('danger.buyersSee')} <b>{sees}</b>: “{t(`buyer.${sees}`)}”
      </div>
    </div>
  );
}
