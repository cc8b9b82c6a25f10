import { Button, InputNumber, Modal, Select, Table } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { useParam } from '../lib/router.tsx';
import { Act, Head, Tag, Time, useCount } from '../ui/bits.tsx';
import { InForce, useDanger } from '../ui/danger.tsx';

type Entry = Schemas['SwitchEntry'];
type Setting = Schemas['SwitchSetting'];
type Campaign = Schemas['AdminCampaign'];

const setCall = 'PUT /v1/admin/switches/{name}';
const clearCall = 'DELETE /v1/admin/switches/{name}';
/** Setting one of these makes it safer for the shop: fast. Taking it back opens: slow. */
const stops = new Set(['closed', 'paused', 'read_only', 'challenge_all']);

/** The fuses: global and of a campaign. */
export default function Switches() {
  const { t, i18n } = useTranslation();
  const [wanted] = useParam('name');
  const list = useData('GET /v1/admin/switches', {}, 'live');
  const campaigns = useData('GET /v1/admin/campaigns', { query: { limit: 200 } });
  const nodes = useData('GET /v1/admin/nodes', {}, 'live');
  const alive = nodes.data?.items.filter((n) => n.alive) ?? [];
  const titles = new Map((campaigns.data?.items ?? []).map((c) => [c.id, c.title]));
  const rows = (list.data?.items ?? []).flatMap((s): { s: Entry; x: Setting | undefined }[] =>
    s.settings.length ? s.settings.map((x) => ({ s, x })) : [{ s, x: undefined }],
  );
  const there = rows.length > 0;
  useEffect(() => {
    if (there && wanted) document.getElementById(`switch-${wanted}`)?.scrollIntoView({ block: 'center' });
  }, [there, wanted]);
  const says = (name: string, fallback: string) => (i18n.exists(`switch.${name}`) ? t(`switch.${name}`) : fallback);
  return (
    <>
      <Head title={t('nav.switches')} data={list}>
        <span className="num">{t('top.nodes', { n: alive.filter((n) => n.in_force).length, of: alive.length })}</span>
      </Head>
      <Table
        dataSource={rows}
        rowKey={({ s, x }) => `${s.name}/${x?.campaign_id ?? ''}`}
        rowClassName={({ s }) => (s.name === wanted ? 'row-on' : '')}
        onRow={({ s }) => ({ id: `switch-${s.name}` })}
        pagination={false}
        scroll={{ x: 'max-content' }}
        size="small"
        loading={false}
        columns={[
          {
            title: t('switches.name'),
            render: (_, { s }) => (
              <>
                <b className="mono" data-data>
                  {s.name}
                </b>
                <div className="muted small" style={{ maxWidth: 420, whiteSpace: 'normal' }}>
                  {says(s.name, s.means)}
                </div>
              </>
            ),
          },
          {
            title: t('switches.where'),
            render: (_, { x }) =>
              !x ? (
                '—'
              ) : x.campaign_id ? (
                <span data-data>{titles.get(x.campaign_id) ?? x.campaign_id}</span>
              ) : (
                t('switches.global')
              ),
          },
          { title: t('switches.value'), render: (_, { s, x }) => <Value s={s} x={x} /> },
          {
            title: t('switches.since'),
            render: (_, { x }) =>
              x ? (
                <>
                  <Time at={x.at} />
                  <div className="muted small" data-data>
                    {x.author} {x.reason}
                  </div>
                </>
              ) : (
                '—'
              ),
          },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, { s, x }) => <SwitchActs s={s} x={x} campaigns={campaigns.data?.items ?? []} titles={titles} />,
          },
        ]}
      />
    </>
  );
}

function Value({ s, x }: { s: Entry; x: Setting | undefined }) {
  const { t } = useTranslation();
  const n = useCount();
  if (!x) return <Tag tone="plain">{t('switches.unset')}</Tag>;
  if (s.kind === 'value') return <Tag tone="info">{n(x.value)}</Tag>;
  return x.value > 0 ? (
    <Tag tone={stops.has(s.name) || s.name === 'payments_down' || s.name === 'degraded' ? 'bad' : 'info'}>
      {t('switches.on')}
    </Tag>
  ) : (
    <Tag tone="plain">{t('switches.off')}</Tag>
  );
}

function SwitchActs({
  s,
  x,
  campaigns,
  titles,
}: {
  s: Entry;
  x: Setting | undefined;
  campaigns: Campaign[];
  titles: Map<string, string>;
}) {
  const { t } = useTranslation();
  const danger = useDanger();
  const [form, setForm] = useState(false);
  const on = x !== undefined && x.value > 0;
  const clear = (where = x?.campaign_id ?? '', was = on) => {
    const global = where === '';
    const opens = was && stops.has(s.name);
    danger({
      tier: opens ? 'c' : 'b',
      typed: opens ? (global ? s.name : where) : undefined,
      title: t('switches.clearTitle', {
        name: s.name,
        where: global ? t('switches.global') : (titles.get(where) ?? where),
      }),
      verb: t('switches.clear'),
      body: opens ? t('switches.opens') : t('switches.backToDefault'),
      act: (_, reason) =>
        api(clearCall, { path: { name: s.name }, query: { campaign_id: where || undefined, reason } }),
      done: (a: Schemas['SwitchOutputBody']) => <InForce answer={a} />,
    });
  };
  return (
    <span className="row">
      <Act call={setCall} danger={stops.has(s.name)} onClick={() => setForm(true)}>
        {s.kind === 'value' ? t('switches.set') : t('switches.turnOn')}
      </Act>
      {x && (
        <Act call={clearCall} onClick={() => clear()}>
          {t('switches.clear')}
        </Act>
      )}
      {form && <SetForm s={s} campaigns={campaigns} clear={clear} close={() => setForm(false)} />}
    </span>
  );
}

/** Where, and for a valued switch what; then the dialog that does it. */
function SetForm({
  s,
  campaigns,
  clear,
  close,
}: {
  s: Entry;
  campaigns: Campaign[];
  clear: (where: string, was: boolean) => void;
  close: () => void;
}) {
  const { t } = useTranslation();
  const danger = useDanger();
  const [where, setWhere] = useState(s.global ? '' : (campaigns[0]?.id ?? ''));
  const [value, setValue] = useState<number | null>(s.kind === 'value' ? null : 1);
  const live = useData('GET /v1/admin/campaigns', { query: { state: 'live', limit: 200 } });
  const running = live.data?.items ?? campaigns.filter((c) => c.state === 'live');
  const next = () => {
    close();
    const title = where ? (campaigns.find((c) => c.id === where)?.title ?? where) : t('switches.global');
    danger({
      tier: stops.has(s.name) ? 'a' : 'b',
      title: t('switches.setTitle', {
        name: s.name,
        where: title,
        value: s.kind === 'value' ? String(value) : t('switches.on'),
      }),
      verb: s.kind === 'value' ? t('switches.set') : t('switches.turnOn'),
      body: (
        <div className="stack">
          <div>{t(`switch.${s.name}`)}</div>
          {!where && stops.has(s.name) && (
            <div className="note warn">
              {t('switches.names', { n: running.length })}{' '}
              <span data-data>{running.map((c) => c.title).join(' · ')}</span>
            </div>
          )}
        </div>
      ),
      act: (_, reason) =>
        api(setCall, { path: { name: s.name }, body: { campaign_id: where || undefined, value: value ?? 0, reason } }),
      done: (a: Schemas['SwitchOutputBody']) => <InForce answer={a} />,
      undo: stops.has(s.name)
        ? { says: t('switches.undo', { name: s.name, where: title }), back: () => clear(where, true) }
        : undefined,
    });
  };
  return (
    <Modal
      open
      title={
        <>
          {t('switches.set')}{' '}
          <span className="mono" data-data>
            {s.name}
          </span>
        </>
      }
      onCancel={close}
      closable={false}
      footer={[
        <Button key="no" onClick={close}>
          {t('act.cancel')}
        </Button>,
        <Button key="yes" type="primary" disabled={value === null} onClick={next}>
          {t('act.next')}
        </Button>,
      ]}
    >
      <div className="stack">
        <div>
          <div id="switch-where">{t('switches.where')}</div>
          <Select
            aria-labelledby="switch-where"
            value={where}
            onChange={setWhere}
            style={{ width: '100%' }}
            options={[
              ...(s.global ? [{ value: '', label: t('switches.global') }] : []),
              ...(s.campaign
                ? campaigns
                    .filter((c) => c.state !== 'ended')
                    .map((c) => ({ value: c.id, label: <span data-data>{c.title}</span> }))
                : []),
            ]}
          />
        </div>
        {s.kind === 'value' && (
          <label>
            <div>
              {t('switches.value')} ({s.min}–{s.max})
            </div>
            <InputNumber min={s.min} max={s.max} value={value} onChange={setValue} style={{ width: '100%' }} />
          </label>
        )}
      </div>
    </Modal>
  );
}
