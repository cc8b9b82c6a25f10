import { Drawer, Input, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { money } from '../lib/money.ts';
import { go, Link, useParam } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { Act, Facts, Fault, Head, Id, State, Time } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { RedeemDialog } from './redeem.tsx';
import { Timeline } from './timeline.tsx';

type Coupon = Schemas['IssuedCoupon'];
const by = ['code', 'user', 'claim', 'request', 'campaign'] as const;

/** Search coupons, revoke and unlock them. */
export default function Coupons() {
  const { t } = useTranslation();
  const [what, setWhat] = useState<string>('code');
  const [state, setState] = useParam('state');
  const [cursor] = useParam('cursor');
  const [open, setOpen] = useParam('open');
  const values = {
    code: useParam('code'),
    user: useParam('user'),
    claim: useParam('claim'),
    request: useParam('request'),
    campaign: useParam('campaign'),
  };
  const active = by.find((b) => values[b][0]);
  const query: Record<string, string | undefined> = {
    state: state || undefined,
    cursor: cursor || undefined,
    limit: '50',
  };
  for (const b of by) query[b] = values[b][0] || undefined;
  const list = useData('GET /v1/admin/coupons', { query: query as never });
  return (
    <>
      <Head title={t('nav.coupons')} data={list} />
      <div className="filters">
        <Select
          aria-label={t('order.by')}
          value={active ?? what}
          onChange={setWhat}
          style={{ width: 140 }}
          options={by.map((b) => ({ value: b, label: t(`orderBy.${b}`) }))}
        />
        <Input.Search
          key={active}
          allowClear
          defaultValue={active ? values[active][0] : ''}
          aria-label={t('top.search')}
          style={{ width: 280 }}
          onSearch={(v) => values[(active ?? what) as (typeof by)[number]][1](v.trim(), 'cursor')}
        />
        <Select
          aria-label={t('field.state')}
          value={state}
          onChange={(v) => setState(v, 'cursor')}
          style={{ width: 130 }}
          options={['', 'issued', 'locked', 'redeemed', 'expired', 'revoked'].map((v) => ({
            value: v,
            label: v ? t(`state.${v}`) : t('filter.all'),
          }))}
        />
      </div>
      <List<Coupon>
        name="coupons"
        data={list}
        rowKey={(c) => c.code}
        filtered={Boolean(active || state)}
        clear={() => go('/coupons', true)}
        nothing={t('empty.coupons')}
        columns={[
          {
            title: t('coupon.code'),
            render: (_, c) => (
              <button type="button" className="plainbutton mono" onClick={() => setOpen(c.code)} data-data>
                {c.code}
              </button>
            ),
          },
          { title: t('field.state'), render: (_, c) => <State of={c.state} /> },
          {
            title: t('field.user'),
            render: (_, c) => (
              <Link to={`/lookup?q=${encodeURIComponent(c.user_id)}`} className="mono" data-data>
                {c.user_id}
              </Link>
            ),
          },
          {
            title: t('field.campaign'),
            render: (_, c) => (
              <Link to={`/campaigns/${encodeURIComponent(c.campaign_id)}`} className="mono" data-data>
                {c.campaign_id}
              </Link>
            ),
          },
          { title: t('field.time'), render: (_, c) => <Time at={c.created_at} /> },
          { title: t('coupon.valid'), render: (_, c) => <Time at={c.valid_until} /> },
          { title: t('field.reference'), render: (_, c) => <Id id={c.reference} /> },
        ]}
      />
      <Drawer
        open={open !== ''}
        onClose={() => setOpen('')}
        size="large"
        title={
          <>
            {t('field.coupon')}{' '}
            <span className="mono" data-data>
              {open}
            </span>
          </>
        }
        closable={{ 'aria-label': t('act.close') }}
      >
        {open && <CouponDetail code={open} />}
      </Drawer>
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
