import { useQueryClient } from '@tanstack/react-query';
import { Button, DatePicker, Form, Input, Modal, Select, Tabs, Upload } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, Problem, raw, type Schemas } from '../lib/api.ts';
import { refreshAll, useChange, useData } from '../lib/data.ts';
import { go, useParam } from '../lib/router.tsx';
import { Act, Fault, Head, Id, Tag, Time, useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';

type Block = Schemas['BlockAnswer'];
type Which = 'blocklist' | 'allowlist';
const scopes = ['address', 'user', 'device'];

/** Who is kept out, and who is never suspected. */
export default function Blocklist() {
  const { t } = useTranslation();
  const [tab, setTab] = useParam('list', 'blocklist');
  const both = need('GET /v1/admin/allowlist') !== undefined;
  return (
    <>
      <Head title={t('nav.blocklist')} />
      {both ? (
        <Tabs
          activeKey={tab}
          onChange={(v) => setTab(v, 'cursor', 'scope', 'value')}
          destroyOnHidden
          items={[
            { key: 'blocklist', label: t('list.block'), children: <Names which="blocklist" /> },
            { key: 'allowlist', label: t('list.allow'), children: <Names which="allowlist" /> },
          ]}
        />
      ) : (
        <Names which="blocklist" />
      )}
    </>
  );
}

function Names({ which }: { which: Which }) {
  const { t } = useTranslation();
  const danger = useDanger();
  const [scope, setScope] = useParam('scope');
  const [value, setValue] = useParam('value');
  const [cursor] = useParam('cursor');
  const [add, setAdd] = useState(false);
  const list = useData(`GET /v1/admin/${which}`, {
    query: { scope: (scope || undefined) as never, value: value || undefined, cursor: cursor || undefined, limit: 50 },
  });
  const lift = (b: Block) =>
    danger({
      tier: 'b',
      title: t(`${which}.liftTitle`, { value: b.value }),
      verb: t(`${which}.lift`),
      body: t(`${which}.liftBody`),
      act: (_, reason) => api(`DELETE /v1/admin/${which}/{id}`, { path: { id: b.id }, query: { reason } }),
      done: () => t('list.lifted'),
    });
  return (
    <>
      <div className="filters">
        <Select
          aria-label={t('list.scope')}
          value={scope}
          onChange={(v) => setScope(v, 'cursor')}
          style={{ width: 140 }}
          options={['', ...scopes].map((v) => ({ value: v, label: v ? t(`scope.${v}`) : t('filter.all') }))}
        />
        <Input.Search
          allowClear
          defaultValue={value}
          aria-label={t('list.value')}
          placeholder={t('list.value')}
          onSearch={(v) => setValue(v.trim(), 'cursor')}
          style={{ width: 240 }}
        />
        <span style={{ flex: 1 }} />
        <Act
          call={`POST /v1/admin/${which}`}
          type="primary"
          danger={which === 'blocklist'}
          onClick={() => setAdd(true)}
        >
          {t(`${which}.add`)}
        </Act>
        {need(`POST /v1/admin/${which}/import`) && <Import which={which} />}
        {need(`GET /v1/admin/${which}/export`) && (
          <Button href={`/v1/admin/${which}/export`} download={`${which}.csv`}>
            {t('list.export')}
          </Button>
        )}
      </div>
      <Fault problem={list.error} again={list.again} />
      <List<Block>
        name={which}
        data={list}
        rowKey={(b) => b.id}
        filtered={Boolean(scope || value)}
        clear={() => go(`/blocklist${which === 'allowlist' ? '?list=allowlist' : ''}`, true)}
        nothing={t(which === 'blocklist' ? 'empty.blocks' : 'empty.allows')}
        columns={[
          { title: t('list.scope'), render: (_, b) => t(`scope.${b.scope}`) },
          { title: t('list.value'), render: (_, b) => <Id id={b.value} /> },
          { title: t('field.reason'), render: (_, b) => <span data-data>{b.reason || '—'}</span> },
          {
            title: t('field.expires'),
            render: (_, b) => (b.expires_at ? <Time at={b.expires_at} relative /> : t('list.never')),
          },
          { title: t('field.actor'), render: (_, b) => <span data-data>{b.author ?? '—'}</span> },
          { title: t('field.time'), render: (_, b) => <Time at={b.created_at} /> },
          { title: t('field.reference'), render: (_, b) => <Id id={b.id} /> },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, b) => (
              <Act call={`DELETE /v1/admin/${which}/{id}`} onClick={() => lift(b)}>
                {t(`${which}.lift`)}
              </Act>
            ),
          },
        ]}
      />
      {add && <AddForm which={which} close={() => setAdd(false)} />}
    </>
  );
}

function AddForm({ which, close }: { which: Which; close: () => void }) {
  const { t } = useTranslation();
  const change = useChange(`POST /v1/admin/${which}`);
  const [form] = Form.useForm<{ scope: string; value: string; expires?: Dayjs; reason: string }>();
  const submit = async (v: { scope: string; value: string; expires?: Dayjs; reason: string }) => {
    try {
      await change.mutateAsync({
        body: { scope: v.scope, value: v.value.trim(), expires_at: v.expires?.toISOString(), reason: v.reason },
      });
      close();
    } catch {
      // Shown below.
    }
  };
  return (
    <Modal
      open
      title={t(`${which}.add`)}
      onCancel={close}
      closable={false}
      footer={[
        <Button key="n" onClick={close}>
          {t('act.cancel')}
        </Button>,
        <Button
          key="y"
          type="primary"
          danger={which === 'blocklist'}
          loading={change.isPending}
          onClick={() => form.submit()}
        >
          {t(`${which}.add`)}
        </Button>,
      ]}
    >
      <Form form={form} layout="vertical" initialValues={{ scope: 'user' }} onFinish={submit} requiredMark={false}>
        <Form.Item name="scope" label={t('list.scope')}>
          <Select options={scopes.map((v) => ({ value: v, label: t(`scope.${v}`) }))} />
        </Form.Item>
        <Form.Item name="value" label={t('list.value')} rules={[{ required: true, message: t('form.required') }]}>
          <Input maxLength={128} spellCheck={false} />
        </Form.Item>
        <Form.Item name="expires" label={t('list.until')}>
          <DatePicker showTime minDate={dayjs()} style={{ width: '100%' }} />
        </Form.Item>
        <Form.Item
          name="reason"
          label={t('danger.reason')}
          rules={[{ required: true, message: t('danger.reasonMissing') }]}
        >
          <Input maxLength={500} />
        </Form.Item>
      </Form>
      <Fault problem={change.error ?? undefined} />
    </Modal>
  );
}

const maxShown = 50;

/** A file is shown as what it would change before it changes anything. */
function Import({ which }: { which: Which }) {
  const { t } = useTranslation();
  const n = useCount();
  const client = useQueryClient();
  const [text, setText] = useState('');
  const [diff, setDiff] = useState<Schemas['ListImportAnswer']>();
  const [problem, setProblem] = useState<Problem>();
  const send = async (csv: string, dry: boolean) => {
    setProblem(undefined);
    try {
      const a = (await raw(`POST /v1/admin/${which}/import`, {
        csv,
        query: { dry_run: dry },
      })) as Schemas['ListImportAnswer'];
      setDiff(a);
      if (a.applied) void refreshAll(client);
    } catch (e) {
      setProblem(e instanceof Problem ? e : new Problem(0, {}, ''));
    }
  };
  const close = () => {
    setText('');
    setDiff(undefined);
    setProblem(undefined);
  };
  return (
    <>
      <Upload
        accept=".csv,text/csv"
        showUploadList={false}
        beforeUpload={(file) => {
          void file.text().then((x) => {
            setText(x);
            void send(x, true);
          });
          return false;
        }}
      >
        <Act call={`POST /v1/admin/${which}/import`}>{t('list.import')}</Act>
      </Upload>
      <Modal
        open={text !== ''}
        title={t('list.importTitle')}
        onCancel={close}
        closable={false}
        footer={[
          <Button key="n" onClick={close}>
            {diff?.applied ? t('act.close') : t('act.cancel')}
          </Button>,
          diff && !diff.applied && (
            <Button
              key="y"
              type="primary"
              disabled={diff.faults > 0 || diff.added + diff.changed === 0}
              onClick={() => void send(text, false)}
            >
              {t('list.importGo', { n: n(diff.added + diff.changed) })}
            </Button>
          ),
        ]}
      >
        <Fault problem={problem} />
        {diff && (
          <div className="stack">
            <div className="row">
              {diff.applied && <Tag tone="ok">{t('list.imported')}</Tag>}{' '}
              {t('list.diff', {
                rows: n(diff.rows),
                added: n(diff.added),
                changed: n(diff.changed),
                same: n(diff.same),
              })}
            </div>
            {diff.faults > 0 && <div className="note bad">{t('list.faults', { n: n(diff.faults) })}</div>}
            <ul className="feed mono" data-data>
              {(diff.errors ?? []).slice(0, maxShown).map((e) => (
                <li key={JSON.stringify(e)}>✗ {Object.values(e ?? {}).join(' ')}</li>
              ))}
              {(diff.changes ?? []).slice(0, maxShown).map((e) => (
                <li key={JSON.stringify(e)}>
                  {Object.values(e ?? {})
                    .map((v) => (typeof v === 'object' ? JSON.stringify(v) : String(v)))
                    .join(' ')}
                </li>
              ))}
            </ul>
          </div>
        )}
      </Modal>
    </>
  );
}
