import { Button, Input, Segmented } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { go, Link, useParam } from '../lib/router.tsx';
import { Act, Head, Id, State, StockBar, Tag, Time, useCount } from '../ui/bits.tsx';
import { List } from '../ui/list.tsx';
import { CloneDialog } from './clone.tsx';

type Campaign = Schemas['AdminCampaign'];
const states = ['', 'draft', 'scheduled', 'live', 'paused', 'frozen', 'sold_out', 'ended'] as const;

/** The list of campaigns. */
export default function Campaigns() {
  const { t } = useTranslation();
  const n = useCount();
  const [state, setState] = useParam('state');
  const [kind, setKind] = useParam('kind');
  const [whose, setWhose] = useParam('whose');
  const [q, setQ] = useParam('q');
  const [cursor] = useParam('cursor');
  const [clone, setClone] = useState<Campaign>();
  const list = useData('GET /v1/admin/campaigns', {
    query: {
      state: (state || undefined) as never,
      kind: (kind || undefined) as never,
      load_test: whose === 'rehearsals' ? 'true' : 'not_ended',
      cursor: cursor || undefined,
      limit: 100,
    },
  });
  const want = q.toLowerCase();
  const shown = list.data && {
    ...list.data,
    items: list.data.items.filter(
      (c) => !want || c.id.toLowerCase().includes(want) || c.title.toLowerCase().includes(want),
    ),
  };
  return (
    <>
      <Head title={t('nav.campaigns')} data={list}>
        <Act call="POST /v1/admin/campaigns" type="primary" onClick={() => go('/campaigns/new')}>
          {t('campaign.create')}
        </Act>
      </Head>
      <div className="filters">
        <div style={{ overflowX: 'auto', maxWidth: '100%' }}>
          <Segmented
            aria-label={t('campaign.state')}
            value={state}
            onChange={(v) => setState(v, 'cursor')}
            options={states.map((v) => ({ value: v, label: v ? t(`state.${v}`) : t('filter.all') }))}
          />
        </div>
        <Segmented
          aria-label={t('campaign.kind')}
          value={kind}
          onChange={(v) => setKind(v, 'cursor')}
          options={['', 'goods', 'coupon'].map((v) => ({ value: v, label: v ? t(`kind.${v}`) : t('filter.all') }))}
        />
        <Segmented
          aria-label={t('campaign.whose')}
          value={whose}
          onChange={(v) => setWhose(v, 'cursor')}
          options={[
            { value: '', label: t('campaign.sales') },
            { value: 'rehearsals', label: t('campaign.rehearsals') },
          ]}
        />
        <Input
          allowClear
          aria-label={t('campaign.find')}
          placeholder={t('campaign.find')}
          value={q}
          onChange={(e) => setQ(e.target.value)}
          style={{ width: 220 }}
        />
      </div>
      <List<Campaign>
        name="campaigns"
        data={{ ...list, data: shown }}
        rowKey={(c) => c.id}
        filtered={Boolean(state || kind || whose || q)}
        clear={() => go('/campaigns', true)}
        nothing={
          <>
            {t('empty.campaigns')} <Link to="/campaigns/new">{t('campaign.create')}</Link>
          </>
        }
        columns={[
          {
            title: t('campaign.title'),
            render: (_, c) => (
              <>
                <Link to={`/campaigns/${encodeURIComponent(c.id)}`} data-data>
                  <b>{c.title}</b>
                </Link>{' '}
                {c.load_test && <Tag tone="plain">{t('campaign.rehearsal')}</Tag>}
                <div>
                  <Id id={c.id} />
                </div>
              </>
            ),
          },
          { title: t('campaign.state'), render: (_, c) => <State of={c.state} /> },
          { title: t('campaign.kind'), render: (_, c) => t(`kind.${c.kind}`) },
          {
            title: t('campaign.window'),
            render: (_, c) => (
              <>
                <Time at={c.starts_at} relative />
                <br />
                <Time at={c.ends_at} />
              </>
            ),
          },
          {
            title: t('stock.title'),
            width: 190,
            render: (_, c) => (
              <>
                <StockBar c={c} />
                <span className="small num">
                  {n(c.sold)} + {n(c.held)} / {n(c.total)}
                </span>
              </>
            ),
          },
          {
            title: t('stock.available'),
            align: 'right',
            render: (_, c) => <span className="num">{n(c.available)}</span>,
          },
          { title: t('campaign.limit'), align: 'right', dataIndex: 'per_user_limit' },
          { title: t('campaign.revision'), align: 'right', dataIndex: 'revision' },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, c) => (
              <span className="row">
                <Button onClick={() => go(`/live/${encodeURIComponent(c.id)}`)}>{t('nav.live')}</Button>
                <Act call="POST /v1/admin/campaigns/{id}/clone" onClick={() => setClone(c)}>
                  {t('clone.verb')}
                </Act>
              </span>
            ),
          },
        ]}
      />
      {clone && <CloneDialog campaign={clone} close={() => setClone(undefined)} />}
    </>
  );
}
