import { Table } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { Fault, Tag, useCount } from '../ui/bits.tsx';

type Shard = Schemas['ShardAnswer'];

/** The gate of a campaign in Redis, shard by shard; nothing where stock is not taken there. */
export function Shards({ id }: { id: string }) {
  const { t } = useTranslation();
  const n = useCount();
  const data = useData('GET /v1/admin/campaigns/{id}/shards', { path: { id } }, 'slow');
  const items = data.data?.items ?? [];
  if (items.length === 0) return <Fault problem={data.error} again={data.again} />;
  const number = (title: string, of: (s: Shard) => number) => ({
    title,
    align: 'right' as const,
    render: (_: unknown, s: Shard) => (s.armed ? n(of(s)) : '—'),
  });
  return (
    <section data-shards>
      <h2>{t('shards.title')}</h2>
      <Fault problem={data.error} again={data.again} />
      {data.data?.error && (
        <div className="note warn" title={data.data.error}>
          {t('shards.missing')}
        </div>
      )}
      <Table<Shard>
        dataSource={items}
        rowKey={(s) => String(s.shard)}
        pagination={false}
        size="small"
        scroll={{ x: 'max-content' }}
        columns={[
          { title: t('shards.shard'), dataIndex: 'shard' },
          number(t('stock.available'), (s) => s.available),
          number(t('shards.live'), (s) => s.live),
          number(t('stock.queued'), (s) => s.queued),
          number(t('shards.out'), (s) => s.out),
          number(t('shards.backlog'), (s) => s.backlog),
          number(t('shards.epoch'), (s) => s.epoch),
          number(t('campaign.revision'), (s) => s.revision),
          {
            title: t('field.state'),
            render: (_, s) => (
              <Tag tone={s.open ? 'ok' : 'warn'}>
                {t(s.open ? 'shards.open' : s.armed ? 'shards.sealed' : 'shards.unarmed')}
              </Tag>
            ),
          },
        ]}
      />
    </section>
  );
}
