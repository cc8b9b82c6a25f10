import { Checkbox, Drawer, Input, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { money } from '../lib/money.ts';
import { go, Link, useParam } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { Act, Facts, Fault, Head, Id, State, Tag, Time } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { Timeline } from './timeline.tsx';

type Order = Schemas['AdminOrder'];
const by = ['order', 'user', 'claim', 'request', 'payment', 'campaign'] as const;

/** Search orders, refund and close them. */
export default function Orders() {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const [what, setWhat] = useState<string>('user');
  const [state, setState] = useParam('state');
  const [due, setDue] = useParam('refund_due');
  const [cursor] = useParam('cursor');
  const [open, setOpen] = useParam('open');
  const values = {
    order: useParam('order'),
    user: useParam('user'),
    claim: useParam('claim'),
    request: useParam('request'),
    payment: useParam('payment'),
    campaign: useParam('campaign'),
  };
  const active = by.find((b) => values[b][0]);
  const query: Record<string, string | undefined> = {
    state: state || undefined,
    refund_due: due || undefined,
    cursor: cursor || undefined,
    limit: '50',
  };
  for (const b of by) query[b] = values[b][0] || undefined;
  const list = useData('GET /v1/admin/orders', { query: query as never });
  const clear = () => go('/orders', true);
  return (
    <>
      <Head title={t('nav.orders')} data={list} />
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
          options={['', 'unpaid', 'paid', 'closed', 'refunded'].map((v) => ({
            value: v,
            label: v ? t(`state.${v}`) : t('filter.all'),
          }))}
        />
        <Checkbox checked={due === 'true'} onChange={(e) => setDue(e.target.checked ? 'true' : '', 'cursor')}>
          {t('order.refundDue')}
        </Checkbox>
      </div>
      <List<Order>
        name="orders"
        data={list}
        rowKey={(o) => o.id}
        filtered={Boolean(active || state || due)}
        clear={clear}
        nothing={t('empty.orders')}
        columns={[
          {
            title: t('field.order'),
            render: (_, o) => (
              <button type="button" className="plainbutton mono" onClick={() => setOpen(o.id)} data-data>
                {o.id}
              </button>
            ),
          },
          { title: t('field.state'), render: (_, o) => <OrderState o={o} /> },
          {
            title: t('field.amount'),
            align: 'right',
            render: (_, o) => <span className="num">{money(o.amount_minor, o.currency, lang)}</span>,
          },
          {
            title: t('field.user'),
            render: (_, o) => (
              <Link to={`/lookup?q=${encodeURIComponent(o.user_id)}`} className="mono" data-data>
                {o.user_id}
              </Link>
            ),
          },
          {
            title: t('field.campaign'),
            render: (_, o) => (
              <Link to={`/campaigns/${encodeURIComponent(o.campaign_id)}`} className="mono" data-data>
                {o.campaign_id}
              </Link>
            ),
          },
          { title: t('field.time'), render: (_, o) => <Time at={o.created_at} /> },
          {
            title: t('order.payBy'),
            render: (_, o) => (o.state === 'unpaid' ? <Time at={o.expires_at} relative /> : '—'),
          },
        ]}
      />
      <Drawer
        open={open !== ''}
        onClose={() => setOpen('')}
        size="large"
        title={
          <>
            {t('field.order')}{' '}
            <span className="mono" data-data>
              {open}
            </span>
          </>
        }
        closable={{ 'aria-label': t('act.close') }}
      >
        {open && <OrderDetail id={open} />}
      </Drawer>
    </>
  );
}

function OrderState({ o }: { o: Order }) {
  const { t } = useTranslation();
  return (
    <span className="row" style={{ gap: 4 }}>
      <State of={o.state} />
      {o.close_reason && <span className="muted small">{t(`close.${o.close_reason}`)}</span>}
      {o.refund_due && <Tag tone="bad">{t('order.refundDue')}</Tag>}
    </span>
  );
}

function OrderDetail({ id }: { id: string }) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const danger = useDanger();
  const data = useData('GET /v1/admin/orders/{id}', { path: { id } });
  const o = data.data;
  if (!o) return <Fault problem={data.error} again={data.again} />;
  const amount = money(o.amount_minor, o.currency, lang);
  const refund = () =>
    danger({
      tier: 'c',
      typed: o.id,
      title: t('refund.title', { id: o.id, amount }),
      verb: t('refund.verb'),
      body: (
        <div className="stack">
          <div>{t('refund.body', { user: o.user_id })}</div>
          <div className="muted">{t('refund.final')}</div>
        </div>
      ),
      act: (_, reason) => api('POST /v1/admin/orders/{id}/refund', { path: { id }, body: { reason } }),
      done: () => t('refund.done'),
    });
  const close = () =>
    danger({
      tier: 'b',
      title: t('closeOrder.title', { id: o.id }),
      verb: t('closeOrder.verb'),
      body: t('closeOrder.body', { n: o.quantity }),
      act: (_, reason) => api('POST /v1/admin/orders/{id}/cancel', { path: { id }, body: { reason } }),
      done: () => t('closeOrder.done'),
    });
  return (
    <div className="stack">
      <div className="row">
        <OrderState o={o} />
        <Act
          call="POST /v1/admin/orders/{id}/refund"
          danger
          onClick={refund}
          why={o.state === 'paid' || o.refund_due ? undefined : t('why.noMoney')}
        >
          {t('refund.verb')}
        </Act>
        <Act
          call="POST /v1/admin/orders/{id}/cancel"
          onClick={close}
          why={o.state === 'unpaid' ? undefined : t('why.notUnpaid')}
        >
          {t('closeOrder.verb')}
        </Act>
      </div>
      <Facts
        rows={[
          [t('field.amount'), amount],
          [t('field.quantity'), o.quantity],
          [t('field.user'), <Id key="u" id={o.user_id} />],
          [t('field.claim'), <Id key="c" id={o.claim_id} />],
          [t('field.request'), <Id key="r" id={o.request_id} />],
          [t('field.time'), <Time key="t" at={o.created_at} ms />],
          [t('order.payBy'), <Time key="e" at={o.expires_at} relative={o.state === 'unpaid'} />],
          [t('order.paidAt'), <Time key="p" at={o.paid_at} ms />],
          [t('order.closedAt'), <Time key="x" at={o.closed_at} ms />],
          [t('order.refundedAt'), <Time key="f" at={o.refunded_at} ms />],
        ]}
      />
      <h2>{t('timeline.title')}</h2>
      <Timeline q={o.id} />
    </div>
  );
}
