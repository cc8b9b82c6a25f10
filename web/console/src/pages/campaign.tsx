import { Alert, Button, Form, Input, InputNumber, Tabs } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { newId } from '../lib/ids.ts';
import { money } from '../lib/money.ts';
import { go, Link, useParam } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { usePrefs } from '../lib/store.ts';
import { isArmed } from '../lib/verdict.ts';
import { Act, Facts, Fault, Head, Id, State, StockBar, Tag, Time, useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { AdjustDialog } from './adjust.tsx';
import { AuditTable } from './audit.tsx';
import { CloneDialog } from './clone.tsx';
import { endCall, useEnd } from './end.tsx';
import { Preflight, preflightCall } from './preflight.tsx';
import { Sentence } from './sentence.tsx';
import { Shards } from './shards.tsx';
import { Verified } from './verified.tsx';

type Campaign = Schemas['AdminCampaign'];

/** One campaign, all of it. */
export default function CampaignPage({ params }: { params: Record<string, string> }) {
  const { t } = useTranslation();
  const id = params.id ?? '';
  const [tab, setTab] = useParam('tab', 'summary');
  const data = useData('GET /v1/admin/campaigns/{id}', { path: { id } }, 'live');
  const c = data.data;
  const tabs = [
    { key: 'summary', label: t('tab.summary'), children: c && <Summary c={c} /> },
    { key: 'stock', label: t('tab.stock'), children: c && <Stock c={c} /> },
    ...(need(preflightCall)
      ? [{ key: 'preflight', label: t('tab.preflight'), children: c && <Preflight campaign={c} /> }]
      : []),
    { key: 'grants', label: t('tab.grants'), children: c && <Grants c={c} /> },
    { key: 'claims', label: t('tab.claims'), children: <Claims id={id} /> },
    {
      key: 'activity',
      label: t('tab.activity'),
      children: <AuditTable object={`campaign/${id}`} name={`activity-${id}`} />,
    },
  ];
  return (
    <>
      <Head title={c ? <span data-data>{c.title}</span> : t('nav.campaigns')} data={data}>
        {c && <Acts c={c} />}
      </Head>
      {c && (
        <div className="row" style={{ marginBottom: 6 }}>
          <State of={c.state} /> <Id id={c.id} /> <span>{t(`kind.${c.kind}`)}</span>{' '}
          {c.load_test && <Tag tone="plain">{t('campaign.loadTest')}</Tag>}
        </div>
      )}
      {c?.state_note && (
        <Alert
          type={c.state === 'frozen' ? 'error' : 'warning'}
          title={<span data-data>{c.state_note}</span>}
          style={{ marginBottom: 8 }}
        />
      )}
      <Tabs activeKey={tab} onChange={(v) => setTab(v, 'cursor')} items={tabs} destroyOnHidden />
    </>
  );
}

function Acts({ c }: { c: Campaign }) {
  const { t } = useTranslation();
  const danger = useDanger();
  const [clone, setClone] = useState(false);
  const id = c.id;
  const at = encodeURIComponent(id);
  const end = useEnd();
  const publish = () =>
    danger({
      tier: 'b',
      title: t('publish.title', { title: c.title }),
      verb: t('publish.verb'),
      body: <Sentence c={c} />,
      act: (_, reason) => api('POST /v1/admin/campaigns/{id}/publish', { path: { id }, body: { reason } }),
      done: () => t('publish.done'),
    });
  return (
    <>
      <Button type="primary" onClick={() => go(`/live/${at}`)}>
        {t('nav.live')}
      </Button>
      <Button onClick={() => go(`/campaigns/${at}/report`)}>{t('tab.report')}</Button>
      <Act
        call="PATCH /v1/admin/campaigns/{id}"
        onClick={() => go(`/campaigns/${at}/edit`)}
        why={c.state === 'ended' ? t('why.over') : isArmed(c, serverNow()) ? t('why.armed') : undefined}
      >
        {t('act.edit')}
      </Act>
      {c.state === 'draft' && (
        <Act call="POST /v1/admin/campaigns/{id}/publish" onClick={publish}>
          {t('publish.verb')}
        </Act>
      )}
      <Act call="POST /v1/admin/campaigns/{id}/clone" onClick={() => setClone(true)}>
        {t('clone.verb')}
      </Act>
      <Act call={endCall} danger onClick={() => end(c)} why={c.state === 'ended' ? t('why.over') : undefined}>
        {t('end.verb')}
      </Act>
      {clone && <CloneDialog campaign={c} close={() => setClone(false)} />}
    </>
  );
}

function Summary({ c }: { c: Campaign }) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const n = useCount();
  const p = c.protection;
  const rows: [string, React.ReactNode][] = [
    [
      t('campaign.window'),
      <span key="w">
        <Time at={c.starts_at} relative /> → <Time at={c.ends_at} />
      </span>,
    ],
    [
      t('campaign.total'),
      <span key="t" className="num">
        {n(c.total)} <span className="muted">({t('campaign.created', { n: n(c.created_total) })})</span>
      </span>,
    ],
    [t('campaign.limit'), c.per_user_limit],
  ];
  if (c.goods) {
    rows.push(
      [
        t('goods.sku'),
        <span key="s" className="mono" data-data>
          {c.goods.sku}
        </span>,
      ],
      [t('goods.price'), money(c.goods.price_minor, c.goods.currency, lang)],
      [t('goods.unpaid'), t('unit.seconds', { n: c.goods.unpaid_window_s })],
      [t('goods.limitBack'), c.goods.limit_back_on_close ? t('yes') : t('no')],
    );
  }
  if (c.coupon) {
    const k = c.coupon;
    rows.push(
      [t('coupon.type'), t(`couponType.${k.type}`)],
      [t('coupon.value'), k.type === 'percent_off' ? `${k.value} %` : money(k.value, k.currency, lang)],
      [t('coupon.minSpend'), money(k.min_spend_minor, k.currency, lang)],
      [
        t('coupon.valid'),
        k.valid_days ? (
          t('unit.days', { n: k.valid_days })
        ) : (
          <span key="v">
            <Time at={k.valid_from} /> → <Time at={k.valid_until} />
          </span>
        ),
      ],
      [
        t('coupon.merchants'),
        k.merchant_ids?.length ? (
          <span key="m" data-data>
            {k.merchant_ids.join(', ')}
          </span>
        ) : (
          t('coupon.everywhere')
        ),
      ],
    );
  }
  rows.push(
    [t('protection.pass'), `${t(`pass.${p.pass}`)}${p.challenge ? ` · ${t(`challenge.${p.challenge}`)}` : ''}`],
    [
      t('protection.rates'),
      t('protection.ratesAre', {
        user: p.per_user_rate || '—',
        all: p.max_rate ? n(p.max_rate) : t('protection.noBound'),
      }),
    ],
    [t('protection.signature'), p.signature ? t('yes') : t('no')],
    [t('protection.spread'), p.spread_s ? t('unit.seconds', { n: p.spread_s }) : t('no')],
    [t('campaign.revision'), c.revision],
    [t('campaign.updated'), <Time key="u" at={c.updated_at} />],
  );
  return (
    <div className="stack">
      <div className="panel sentence">
        <Sentence c={c} />
      </div>
      <div className="cols">
        <div className="panel">
          <Facts rows={rows} />
        </div>
        <div className="panel stack num" style={{ alignContent: 'start' }}>
          <h2>{t('stock.title')}</h2>
          <StockBar c={c} />
          <Facts
            rows={[
              [t('stock.sold'), n(c.sold)],
              [t('stock.held'), n(c.held)],
              [t('stock.queued'), n(c.queued)],
              [t('stock.available'), n(c.available)],
              [
                t('stock.sum'),
                `${n(c.sold + c.held + c.queued + c.available)} ${c.sold + c.held + c.queued + c.available === c.total ? '✓' : `≠ ${n(c.total)}`}`,
              ],
            ]}
          />
          {c.sold_out_at && (
            <div>
              {t('campaign.soldOutAt')} <Time at={c.sold_out_at} ms />
            </div>
          )}
        </div>
      </div>
    </div>
  );
}

function Stock({ c }: { c: Campaign }) {
  const { t } = useTranslation();
  const n = useCount();
  const [open, setOpen] = useState(false);
  const nodes = useData('GET /v1/admin/nodes', {}, 'live');
  const alive = nodes.data?.items.filter((x) => x.alive) ?? [];
  return (
    <div className="stack">
      <div className="row">
        <Act
          call="POST /v1/admin/campaigns/{id}/adjustments"
          type="primary"
          onClick={() => setOpen(true)}
          why={c.state === 'ended' ? t('why.over') : undefined}
        >
          {t('adjust.verb')}
        </Act>
        <span>
          {t('campaign.revision')} <b className="num">{c.revision}</b> ·{' '}
          {t('top.nodes', { n: alive.filter((x) => x.in_force).length, of: alive.length })}
        </span>
      </div>
      <AdjustDialog campaign={c} open={open} close={() => setOpen(false)} />
      <div className="cols">
        <div className="panel num">
          <h2>{t('stock.permit')}</h2>
          <Facts
            rows={[
              [t('stock.available'), n(c.available)],
              [t('stock.queued'), n(c.queued)],
              [t('stock.held'), n(c.held)],
              [t('stock.sold'), n(c.sold)],
              [t('campaign.total'), n(c.total)],
              [t('campaign.shards'), c.shards],
            ]}
          />
        </div>
        <Verified id={c.id} apart />
      </div>
      <Shards id={c.id} />
      <h2 style={{ marginTop: 6 }}>{t('adjust.history')}</h2>
      <AuditTable object={`campaign/${c.id}`} action="campaign.adjust" name={`adjustments-${c.id}`} />
    </div>
  );
}

function Grants({ c }: { c: Campaign }) {
  const { t } = useTranslation();
  const [id, setId] = useState(() => newId('grant'));
  const change = useChange('POST /v1/admin/campaigns/{id}/grants');
  const [form] = Form.useForm<{ user_id: string; quantity: number; reason: string }>();
  const a = change.data;
  const submit = async (v: { user_id: string; quantity: number; reason: string }) => {
    try {
      await change.mutateAsync({ path: { id: c.id }, body: { grant_id: id, ...v } });
      setId(newId('grant'));
      form.resetFields();
    } catch {
      // Shown below; sending again sends the same id.
    }
  };
  return (
    <div className="cols">
      <div className="panel">
        <h2>{t('grant.title')}</h2>
        <p className="muted">{t('grant.note')}</p>
        <Form form={form} layout="vertical" onFinish={submit} initialValues={{ quantity: 1 }} requiredMark={false}>
          <Form.Item name="user_id" label={t('field.user')} rules={[{ required: true, message: t('form.required') }]}>
            <Input maxLength={64} />
          </Form.Item>
          <Form.Item
            name="quantity"
            label={t('field.quantity')}
            rules={[{ required: true, message: t('form.required') }]}
          >
            <InputNumber min={1} precision={0} />
          </Form.Item>
          <Form.Item
            name="reason"
            label={t('danger.reason')}
            rules={[{ required: true, message: t('danger.reasonMissing') }]}
          >
            <Input maxLength={500} />
          </Form.Item>
          <Act call="POST /v1/admin/campaigns/{id}/grants" type="primary" htmlType="submit" loading={change.isPending}>
            {change.error ? t('danger.again', { verb: t('grant.verb') }) : t('grant.verb')}
          </Act>
        </Form>
        <div style={{ marginTop: 12 }}>
          <Fault problem={change.error ?? undefined} />
        </div>
      </div>
      {a && (
        <div className="panel" role="status">
          <h2>{t('grant.answer')}</h2>
          <Facts
            rows={[
              [
                t('field.code'),
                <b key="c" data-data>
                  {a.code}
                </b>,
              ],
              [t('field.user'), <Id key="u" id={a.user_id} />],
              [t('field.claim'), <Id key="i" id={a.claim_id} />],
              [t('field.order'), <Id key="o" id={a.order_id} />],
              [t('field.coupon'), <Id key="p" id={a.coupon_code} />],
              [t('field.replayed'), a.replayed ? t('yes') : t('no')],
            ]}
          />
        </div>
      )}
    </div>
  );
}

function Claims({ id }: { id: string }) {
  const { t } = useTranslation();
  const [user, setUser] = useParam('user');
  const [cursor] = useParam('cursor');
  const list = useData('GET /v1/admin/claims', {
    query: { campaign_id: id, user_id: user || undefined, cursor: cursor || undefined, limit: 50 },
  });
  return (
    <>
      <div className="filters">
        <Input.Search
          allowClear
          defaultValue={user}
          placeholder={t('field.user')}
          aria-label={t('field.user')}
          onSearch={(v) => setUser(v.trim(), 'cursor')}
          style={{ width: 260 }}
        />
      </div>
      <Fault problem={list.error} again={list.again} />
      <List<Schemas['AdminClaim']>
        name={`claims-${id}`}
        data={list}
        rowKey={(r) => r.claim_id}
        filtered={Boolean(user)}
        clear={() => setUser('', 'cursor')}
        nothing={t('empty.claims')}
        columns={[
          { title: t('field.time'), render: (_, r) => <Time at={r.created_at} ms /> },
          {
            title: t('field.user'),
            render: (_, r) => (
              <Link to={`/lookup?q=${encodeURIComponent(r.user_id)}`} className="mono" data-data>
                {r.user_id}
              </Link>
            ),
          },
          { title: t('field.state'), render: (_, r) => <State of={r.state} /> },
          {
            title: t('field.code'),
            render: (_, r) => (
              <span className="mono" data-data>
                {r.code}
              </span>
            ),
          },
          { title: t('field.quantity'), align: 'right', dataIndex: 'quantity' },
          { title: t('field.source'), render: (_, r) => t(`source.${r.source}`) },
          { title: t('field.claim'), render: (_, r) => <Id id={r.claim_id} /> },
          {
            title: t('field.order'),
            render: (_, r) =>
              r.order_id ? (
                <>
                  <Link to={`/orders?order=${encodeURIComponent(r.order_id)}`} className="mono" data-data>
                    {r.order_id}
                  </Link>{' '}
                  <State of={r.order_state} />
                </>
              ) : r.coupon_code ? (
                <Id id={r.coupon_code} />
              ) : (
                '—'
              ),
          },
        ]}
      />
    </>
  );
}
