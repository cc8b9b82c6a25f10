import { Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { go, Link, useParam } from '../lib/router.tsx';
import { Act, Fault, Head, Tag, Time, useCount, useSpan } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { Found } from './found.tsx';
import { Verified } from './verified.tsx';

type Run = Schemas['RunAnswer'];

/** Comparisons of gate and ledger: prove it. */
export default function Reconcile() {
  const { t } = useTranslation();
  const n = useCount();
  const spell = useSpan();
  const danger = useDanger();
  const [campaign, setCampaign] = useParam('campaign');
  const [cursor] = useParam('cursor');
  const campaigns = useData('GET /v1/admin/campaigns', { query: { limit: 200 } });
  const list = useData('GET /v1/admin/reconcile', {
    query: { campaign_id: campaign || undefined, cursor: cursor || undefined, limit: 50 },
  });
  const dry = useChange('POST /v1/admin/reconcile');
  const title = campaigns.data?.items.find((c) => c.id === campaign)?.title ?? campaign;
  const run = () =>
    danger({
      tier: 'c',
      typed: campaign,
      title: t('reconcile.title', { title }),
      verb: t('reconcile.verb'),
      body: t('reconcile.body'),
      act: (_, reason) => api('POST /v1/admin/reconcile', { body: { campaign_id: campaign, reason } }),
      done: (r: Run) => t('reconcile.done', { found: r.found.length, drift: r.drift }),
    });
  return (
    <>
      <Head title={t('nav.reconcile')} data={list}>
        <Act
          call="POST /v1/admin/reconcile"
          onClick={() => dry.mutate({ body: { campaign_id: campaign, dry_run: true } })}
          loading={dry.isPending}
          title={t('reconcile.dryHint')}
          why={campaign ? undefined : t('reconcile.choose')}
        >
          {t('reconcile.dry')}
        </Act>
        <Act call="POST /v1/admin/reconcile" onClick={run} why={campaign ? undefined : t('reconcile.choose')}>
          {t('reconcile.verb')}
        </Act>
      </Head>
      <div className="filters">
        <Select
          aria-label={t('field.campaign')}
          value={campaign}
          onChange={(v) => setCampaign(v, 'cursor')}
          style={{ width: 300, maxWidth: '100%' }}
          options={[
            { value: '', label: t('filter.all') },
            ...(campaigns.data?.items ?? []).map((c) => ({ value: c.id, label: <span data-data>{c.title}</span> })),
          ]}
        />
      </div>
      {campaign && (
        <div style={{ marginBottom: 12 }}>
          <Verified id={campaign} />
        </div>
      )}
      <Fault problem={dry.error ?? undefined} />
      {dry.data && dry.data.campaign_id === campaign && (
        <section className="panel" style={{ marginBottom: 12 }} data-dryrun={dry.data.id}>
          <h2>
            {t('reconcile.dryDone')} <Time at={dry.data.started_at} />{' '}
            <span className="num">{t('reconcile.done', { found: dry.data.found.length, drift: dry.data.drift })}</span>
          </h2>
          <Found r={dry.data} />
        </section>
      )}
      <List<Run>
        name="reconcile"
        data={list}
        rowKey={(r) => `${r.campaign_id}${r.started_at}${r.id ?? ''}`}
        filtered={Boolean(campaign)}
        clear={() => go('/reconcile', true)}
        nothing={t('empty.runs')}
        expand={(r) => <Found r={r} />}
        columns={[
          { title: t('field.time'), render: (_, r) => <Time at={r.started_at} /> },
          {
            title: t('field.campaign'),
            render: (_, r) => (
              <Link to={`/campaigns/${encodeURIComponent(r.campaign_id)}`} className="mono" data-data>
                {r.campaign_id}
              </Link>
            ),
          },
          {
            title: t('reconcile.result'),
            render: (_, r) => <Tag tone={r.ok ? 'ok' : 'bad'}>{r.ok ? t('verdict.allWell') : t('verdict.wrong')}</Tag>,
          },
          {
            title: t('reconcile.mode'),
            render: (_, r) => t(`reconcile.mode.${r.mode}`),
          },
          { title: t('reconcile.checked'), align: 'right', render: (_, r) => n(r.claims) },
          { title: t('reconcile.differences'), align: 'right', render: (_, r) => n(r.differences) },
          { title: t('verdict.driftName'), align: 'right', render: (_, r) => n(r.drift) },
          { title: t('reconcile.took'), align: 'right', render: (_, r) => spell(r.took_ms) },
          {
            title: t('reconcile.sum'),
            render: (_, r) =>
              r.mode === 'one' ? (
                '—'
              ) : (
                <span className="num">
                  {n(r.available)} + {n(r.queued)} + {n(r.held)} + {n(r.sold)} = {n(r.total)}
                </span>
              ),
          },
        ]}
      />
    </>
  );
}
