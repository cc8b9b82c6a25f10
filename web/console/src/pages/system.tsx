import { Table } from 'antd';
import { useTranslation } from 'react-i18next';
import { need, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { useNow } from '../lib/store.ts';
import { Facts, Fault, Head, Id, Tag, Time, useSpan } from '../ui/bits.tsx';
import { CopyButton } from '../ui/copy.tsx';

/** Nodes, what the server is made of, and the settings in force. */
export default function System() {
  const { t } = useTranslation();
  const spell = useSpan();
  const now = useNow();
  const nodes = useData('GET /v1/admin/nodes', {}, 'live');
  const cap = useData('GET /v1/admin/capabilities', {}, 'slow', need('GET /v1/admin/capabilities') !== undefined);
  const config = useData('GET /v1/admin/config', {}, 'once', need('GET /v1/admin/config') !== undefined);
  const c = cap.data;
  const diagnostics = () => JSON.stringify({ nodes: nodes.data, server: c, settings: config.data }, null, 2);
  return (
    <div className="stack">
      <Head title={t('nav.system')} data={nodes}>
        <CopyButton text={diagnostics}>{t('system.copy')}</CopyButton>
      </Head>
      <Table<Schemas['NodeAnswer']>
        dataSource={nodes.data?.items ?? []}
        rowKey="id"
        size="small"
        pagination={false}
        scroll={{ x: 'max-content' }}
        locale={{ emptyText: '—' }}
        columns={[
          {
            title: t('system.node'),
            render: (_, x) => (
              <>
                <b data-data>{x.name}</b> {x.self && <Tag tone="info">{t('system.self')}</Tag>}
              </>
            ),
          },
          {
            title: t('field.state'),
            render: (_, x) => (
              <Tag tone={x.alive ? 'ok' : 'bad'}>
                {x.alive ? t('system.alive') : t('system.gone', { span: spell(x.age_ms) })}
              </Tag>
            ),
          },
          {
            title: t('system.inForce'),
            render: (_, x) => <Tag tone={x.in_force ? 'ok' : 'warn'}>{x.in_force ? t('yes') : t('no')}</Tag>,
          },
          {
            title: t('system.epochs'),
            render: (_, x) => <Epochs node={x} all={nodes.data?.items ?? []} />,
          },
          {
            title: t('system.breaker'),
            render: (_, x) =>
              x.breaker ? (
                <Tag tone={x.breaker.open ? 'bad' : 'ok'}>
                  {x.breaker.open ? t('system.open', { n: x.breaker.campaigns.length }) : t('system.closed')}
                </Tag>
              ) : (
                '—'
              ),
          },
          { title: t('system.skew'), align: 'right', render: (_, x) => `${x.skew_ms} ms` },
          {
            title: t('field.version'),
            render: (_, x) => (
              <span className="mono" data-data>
                {x.version}
              </span>
            ),
          },
          { title: t('system.uptime'), render: (_, x) => spell(now - Date.parse(x.started_at)) },
          { title: t('field.addr'), render: (_, x) => <Id id={x.addr} /> },
        ]}
      />
      <div className="cols">
        {c && (
          <section className="panel">
            <h2>{t('system.made')}</h2>
            <Facts
              rows={[
                [
                  t('field.version'),
                  <span key="v" className="mono" data-data>
                    {c.version}
                  </span>,
                ],
                [
                  t('system.admission'),
                  <code key="a" data-data>
                    {c.admission}
                  </code>,
                ],
                [
                  t('part.ledger'),
                  <code key="l" data-data>
                    {c.ledger}
                  </code>,
                ],
                [
                  t('system.queue'),
                  <code key="q" data-data>
                    {c.queue ?? '—'}
                  </code>,
                ],
                [t('system.sandbox'), c.sandbox ? t('yes') : t('no')],
                [
                  t('system.page'),
                  c.public_url ? (
                    <a key="p" href={c.public_url} data-data>
                      {c.public_url}
                    </a>
                  ) : (
                    '—'
                  ),
                ],
              ]}
            />
          </section>
        )}
        <section className="panel">
          <h2>{t('system.links')}</h2>
          <div className="row">
            <a href="/metrics">/metrics</a> <a href="/docs">/docs</a> <a href="/openapi.json">/openapi.json</a>{' '}
            <a href="/readyz">/readyz</a>
          </div>
          <p className="muted small">
            {t('system.now')} <Time at={now} />
          </p>
        </section>
      </div>
      {config.data && (
        <section>
          <h2>{t('system.settings')}</h2>
          <Table
            dataSource={config.data.items ?? []}
            rowKey="key"
            size="small"
            pagination={false}
            scroll={{ x: 'max-content' }}
            columns={[
              { title: t('system.key'), render: (_, s) => <code data-data>{s.key}</code> },
              { title: t('switches.value'), render: (_, s) => <code data-data>{s.value || '—'}</code> },
              { title: t('field.source'), render: (_, s) => <span data-data>{s.source}</span> },
            ]}
          />
        </section>
      )}
      {config.error?.status !== 403 && <Fault problem={config.error} again={config.again} />}
    </div>
  );
}

/** The epochs in which a node admits; what another node has later stands out. */
function Epochs({ node, all }: { node: Schemas['NodeAnswer']; all: Schemas['NodeAnswer'][] }) {
  const own = Object.entries(node.epochs ?? {});
  if (own.length === 0) return <>—</>;
  return own.map(([id, epoch]) => {
    const last = Math.max(...all.map((x) => x.epochs?.[id] ?? 0));
    return (
      <div key={id} className="nowrap">
        {epoch < last && <span aria-hidden="true">! </span>}
        <span className="mono" data-data>
          {id}
        </span>{' '}
        <b className="num">{epoch}</b>
        {epoch < last && <span className="muted"> / {last}</span>}
      </div>
    );
  });
}
