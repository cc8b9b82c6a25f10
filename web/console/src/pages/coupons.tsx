import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { money } from '../lib/money.ts';
import { go, useParam } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { Act, Facts, Fault, Head, Id, State, Time } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { CampaignLink, Detail, Opens, SearchBar, UserLink, useSearched } from '../ui/searched.tsx';
import { RedeemDialog } from './redeem.tsx';
import { Timeline } from './timeline.tsx';

type Coupon = Schemas['IssuedCoupon'];
const by = ['code', 'user', 'claim', 'request', 'campaign'] as const;

/** Search coupons, revoke and unlock them. */
export default function Coupons() {
  const { t } = useTranslation();
  const search = useSearched(by, 'code');
  const [open, setOpen] = useParam('open');
  const list = useData('GET /v1/admin/coupons', { query: search.query as never });
  return (
    <>
      <Head title={t('nav.coupons')} data={list} />
      <SearchBar of={search} states={['issued', 'locked', 'redeemed', 'expired', 'revoked']} />
      <List<Coupon>
        name="coupons"
        data={list}
        rowKey={(c) => c.code}
        filtered={Boolean(search.active || search.state)}
        clear={() => go('/coupons', true)}
        nothing={t('empty.coupons')}
        columns={[
          { title: t('coupon.code'), render: (_, c) => <Opens id={c.code} open={setOpen} /> },
          { title: t('field.state'), render: (_, c) => <State of={c.state} /> },
          { title: t('field.user'), render: (_, c) => <UserLink id={c.user_id} /> },
          { title: t('field.campaign'), render: (_, c) => <CampaignLink id={c.campaign_id} /> },
          { title: t('field.time'), render: (_, c) => <Time at={c.created_at} /> },
          { title: t('coupon.valid'), render: (_, c) => <Time at={c.valid_until} /> },
          { title: t('field.reference'), render: (_, c) => <Id id={c.reference} /> },
        ]}
      />
      <Detail name={t('field.coupon')} id={open} close={() => setOpen('')}>
        <CouponDetail code={open} />
      </Detail>
    </>
  );
}

function CouponDetail({ code }: { code: string }) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const danger = useDanger();
  const [redeem, setRedeem] = useState(false);
  const data = useData('GET /v1/admin/coupons/{code}', { path: { code } });
  const c = data.data;
  const at = { path: { id: c?.campaign_id ?? '' } };
  const campaign = useData('GET /v1/admin/campaigns/{id}', at, 'once', c !== undefined);
  if (!c) return <Fault problem={data.error} again={data.again} />;
  const currency = campaign.data?.coupon?.currency;
  const revoke = () =>
    danger({
      tier: 'c',
      typed: code,
      title: t('revoke.title', { code }),
      verb: t('revoke.verb'),
      body: t('revoke.body', { user: c.user_id }),
      act: (_, reason) => api('POST /v1/admin/coupons/{code}/revoke', { path: { code }, body: { reason } }),
      done: () => t('revoke.done'),
    });
  const reverse = () =>
    danger({
      tier: 'b',
      title: t('reverse.title', { code }),
      verb: t('reverse.verb'),
      body: t('reverse.body', { who: c.merchant_id ?? '—', reference: c.reference ?? '—' }),
      act: (_, reason) =>
        api('POST /v1/admin/coupons/{code}/reverse', {
          path: { code },
          body: { merchant_id: c.merchant_id ?? '', reference: c.reference ?? '', reason },
        }),
      done: () => t('reverse.done'),
    });
  const unlock = () =>
    danger({
      tier: 'b',
      title: t('unlock.title', { code }),
      verb: t('unlock.verb'),
      body: t('unlock.body', { who: c.merchant_id ?? '—', reference: c.reference ?? '—' }),
      act: (_, reason) => api('POST /v1/admin/coupons/{code}/unlock', { path: { code }, body: { reason } }),
      done: () => t('unlock.done'),
    });
  return (
    <div className="stack">
      <div className="row">
        <State of={c.state} />
        <Act
          call="POST /v1/admin/coupons/{code}/redeem"
          onClick={() => setRedeem(true)}
          why={['revoked', 'redeemed', 'expired'].includes(c.state) ? t('why.couponOver') : undefined}
        >
          {t('redeem.verb')}
        </Act>
        <Act
          call="POST /v1/admin/coupons/{code}/reverse"
          onClick={reverse}
          why={c.state === 'redeemed' ? undefined : t('why.notRedeemed')}
        >
          {t('reverse.verb')}
        </Act>
        {redeem && <RedeemDialog coupon={c} close={() => setRedeem(false)} />}
        <Act
          call="POST /v1/admin/coupons/{code}/revoke"
          danger
          onClick={revoke}
          why={['revoked', 'redeemed', 'expired'].includes(c.state) ? t('why.couponOver') : undefined}
        >
          {t('revoke.verb')}
        </Act>
        <Act
          call="POST /v1/admin/coupons/{code}/unlock"
          onClick={unlock}
          why={c.state === 'locked' ? undefined : t('why.notLocked')}
        >
          {t('unlock.verb')}
        </Act>
      </div>
      <Facts
        rows={[
          [t('field.user'), <Id key="u" id={c.user_id} />],
          [t('field.claim'), <Id key="c" id={c.claim_id} />],
          [
            t('coupon.valid'),
            <span key="v">
              <Time at={c.valid_from} /> → <Time at={c.valid_until} />
            </span>,
          ],
          [t('field.merchant'), <Id key="m" id={c.merchant_id} />],
          [t('field.reference'), <Id key="r" id={c.reference} />],
          [t('coupon.lockedUntil'), <Time key="l" at={c.locked_until} relative />],
          [t('coupon.redeemedAt'), <Time key="d" at={c.redeemed_at} ms />],
          [t('redeem.amount'), c.redeemed_at ? money(c.amount_minor ?? 0, currency, lang) : '—'],
          [t('report.discount'), c.redeemed_at ? money(c.discount_minor ?? 0, currency, lang) : '—'],
        ]}
      />
      <h2>{t('timeline.title')}</h2>
      <Timeline q={code} />
    </div>
  );
}
