import { Checkbox } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { money } from '../lib/money.ts';
import { go, useParam } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { Act, Facts, Fault, Head, Id, State, Tag, Time } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { CampaignLink, Detail, Opens, SearchBar, UserLink, useSearched } from '../ui/searched.tsx';
import { Timeline } from './timeline.tsx';

type Order = Schemas['AdminOrder'];
const by = ['order', 'user', 'claim', 'request', 'payment', 'campaign'] as const;

/** Search orders, refund and close them. */
export default function Orders() {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const search = useSearched(by, 'user');
  const [due, setDue] = useParam('refund_due');
  const [open, setOpen] = useParam('open');
  const list = useData('GET /v1/admin/orders', { query: { ...search.query, refund_due: due || undefined } as never });
  const clear = () => go('/orders', true);
  return (
    <>
      <Head title={t('nav.orders')} data={list} />
      <SearchBar of={search} states={['unpaid', 'paid', 'closed', 'refunded']}>
        <Checkbox checked={due === 'true'} onChange={(e) => setDue(e.target.checked ? 'true' : '', 'cursor')}>
          {t('order.refundDue')}
        </Checkbox>
      </SearchBar>
      <List<Order>
        name="orders"
        data={list}
        rowKey={(o) => o.id}
        filtered={Boolean(search.active || search.state || due)}
        clear={clear}
        nothing={t('empty.orders')}
        columns={[
          { title: t('field.order'), render: (_, o) => <Opens id={o.id} open={setOpen} /> },
          { title: t('field.state'), render: (_, o) => <OrderState o={o} /> },
          {
            title: t('field.amount'),
            align: 'right',
            render: (_, o) => <span className="num">{money(o.amount_minor, o.currency, lang)}</span>,
          },
          { title: t('field.user'), render: (_, o) => <UserLink id={o.user_id} /> },
          { title: t('field.campaign'), render: (_, o) => <CampaignLink id={o.campaign_id} /> },
          { title: t('field.time'), render: (_, o) => <Time at={o.created_at} /> },
          {
            title: t('order.payBy'),
            render: (_, o) => (o.state === 'unpaid' ? <Time at={o.expires_at} relative /> : '—'),
          },
        ]}
      />
      <Detail name={t('field.order')} id={open} close={() => setOpen('')}>
        <OrderDetail id={open} />
      </Detail>
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
      // Money that came twice is asked for by name: a second try after a lost answer never takes the order itself.
      act: (_, reason) =>
        api('POST /v1/admin/orders/{id}/refund', { path: { id }, body: { reason, extra_only: o.refund_due } }),
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
