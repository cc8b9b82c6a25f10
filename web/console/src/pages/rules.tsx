import { Button, Form, Input, Modal, Select, Tabs } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { useParam } from '../lib/router.tsx';
import { Act, Fault, Head, Id, Tag, Time, type Tone, useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';

type Rule = Schemas['RiskRuleAnswer'];
type Fired = Schemas['RiskFiredAnswer'];
const tones: Record<string, Tone> = { on: 'ok', dry_run: 'info', off: 'plain' };

/** Risk rules: what they are, what they did, and how to undo it. */
export default function Rules() {
  const { t } = useTranslation();
  const [tab, setTab] = useParam('tab', 'rules');
  return (
    <>
      <Head title={t('nav.rules')} />
      <Tabs
        activeKey={tab}
        onChange={(v) => setTab(v, 'cursor')}
        destroyOnHidden
        items={[
          { key: 'rules', label: t('rules.list'), children: <RuleList /> },
          { key: 'fired', label: t('rules.fired'), children: <FiredList /> },
        ]}
      />
    </>
  );
}

function RuleList() {
  const { t } = useTranslation();
  const danger = useDanger();
  const [edit, setEdit] = useState<Partial<Rule>>();
  const list = useData('GET /v1/admin/rules');
  const remove = (r: Rule) =>
    danger({
      tier: 'b',
      title: t('rules.removeTitle', { id: r.id }),
      verb: t('rules.remove'),
      body: <code data-data>{r.rule}</code>,
      act: (_, reason) => api('DELETE /v1/admin/rules/{id}', { path: { id: r.id }, query: { reason } }),
      done: () => t('rules.removed'),
    });
  return (
    <>
      <div className="filters">
        <Act call="PUT /v1/admin/rules/{id}" type="primary" onClick={() => setEdit({})}>
          {t('rules.add')}
        </Act>
      </div>
      <Fault problem={list.error} again={list.again} />
      <List<Rule>
        name="rules"
        data={list}
        rowKey={(r) => r.id}
        nothing={t('empty.rules')}
        columns={[
          {
            title: t('field.name'),
            render: (_, r) => (
              <b className="mono" data-data>
                {r.id}
              </b>
            ),
          },
          { title: t('rules.rule'), render: (_, r) => <code data-data>{r.rule}</code> },
          {
            title: t('rules.mode'),
            render: (_, r) => <Tag tone={tones[r.mode] ?? 'plain'}>{t(`ruleMode.${r.mode}`)}</Tag>,
          },
          {
            title: t('switches.where'),
            render: (_, r) =>
              r.campaign_id ? (
                <span className="mono" data-data>
                  {r.campaign_id}
                </span>
              ) : (
                t('switches.global')
              ),
          },
          { title: t('field.source'), render: (_, r) => t(`ruleSource.${r.source}`) },
          {
            title: t('campaign.updated'),
            render: (_, r) => (
              <>
                <Time at={r.updated_at} />{' '}
                <span className="muted" data-data>
                  {r.author}
                </span>
              </>
            ),
          },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, r) => (
              <span className="row">
                <Act
                  call="PUT /v1/admin/rules/{id}"
                  onClick={() => setEdit(r)}
                  why={r.source === 'file' ? t('rules.fromFile') : undefined}
                >
                  {t('act.edit')}
                </Act>
                <Act
                  call="DELETE /v1/admin/rules/{id}"
                  danger
                  onClick={() => remove(r)}
                  why={r.source === 'file' ? t('rules.fromFile') : undefined}
                >
                  {t('rules.remove')}
                </Act>
              </span>
            ),
          },
        ]}
      />
      {edit && <RuleForm have={edit} close={() => setEdit(undefined)} />}
    </>
  );
}

function RuleForm({ have, close }: { have: Partial<Rule>; close: () => void }) {
  const { t } = useTranslation();
  const change = useChange('PUT /v1/admin/rules/{id}');
  const [form] = Form.useForm<{ id: string; rule: string; mode: string; note?: string; campaign_id?: string }>();
  const submit = async (v: { id: string; rule: string; mode: string; note?: string; campaign_id?: string }) => {
    try {
      await change.mutateAsync({
        path: { id: v.id.trim() },
        body: {
          rule: v.rule.trim(),
          mode: v.mode,
          note: v.note || undefined,
          campaign_id: v.campaign_id?.trim() || undefined,
          revision: have.revision,
        },
      });
      close();
    } catch {
      // Shown below, in the server's words.
    }
  };
  return (
    <Modal
      open
      title={
        have.id ? (
          <>
            {t('act.edit')}{' '}
            <span className="mono" data-data>
              {have.id}
            </span>
          </>
        ) : (
          t('rules.add')
        )
      }
      onCancel={close}
      closable={false}
      width={620}
      footer={[
        <Button key="n" onClick={close}>
          {t('act.cancel')}
        </Button>,
        <Button key="y" type="primary" loading={change.isPending} onClick={() => form.submit()}>
          {t('editor.save')}
        </Button>,
      ]}
    >
      <Form
        form={form}
        layout="vertical"
        onFinish={submit}
        requiredMark={false}
        initialValues={{
          id: have.id ?? '',
          rule: have.rule ?? '',
          mode: have.mode ?? 'dry_run',
          note: have.note,
          campaign_id: have.campaign_id,
        }}
      >
        <Form.Item name="id" label={t('field.name')} rules={[{ required: true, message: t('form.required') }]}>
          <Input disabled={Boolean(have.id)} maxLength={64} spellCheck={false} />
        </Form.Item>
        <Form.Item
          name="rule"
          label={t('rules.rule')}
          rules={[{ required: true, message: t('form.required') }]}
          extra={<code data-data>accounts per device &gt; 5 in 10m -&gt; block 15m</code>}
        >
          <Input.TextArea autoSize spellCheck={false} style={{ fontFamily: 'var(--mono)' }} />
        </Form.Item>
        <Form.Item name="mode" label={t('rules.mode')}>
          <Select options={['dry_run', 'on', 'off'].map((v) => ({ value: v, label: t(`ruleMode.${v}`) }))} />
        </Form.Item>
        <Form.Item name="campaign_id" label={t('rules.campaign')}>
          <Input maxLength={64} spellCheck={false} />
        </Form.Item>
        <Form.Item name="note" label={t('rules.note')}>
          <Input maxLength={500} />
        </Form.Item>
      </Form>
      <Fault problem={change.error ?? undefined} />
    </Modal>
  );
}

function FiredList() {
  const { t } = useTranslation();
  const n = useCount();
  const danger = useDanger();
  const [cursor] = useParam('cursor');
  const list = useData('GET /v1/admin/rules/fired', { query: { cursor: cursor || undefined, limit: 50 } });
  const lift = (f: Fired) =>
    danger({
      tier: 'b',
      title: t('rules.liftTitle', { value: f.value }),
      verb: t('rules.lift'),
      body: <span data-data>{f.saw}</span>,
      act: (_, reason) => api('POST /v1/admin/rules/fired/{id}/lift', { path: { id: f.id }, query: { reason } }),
      done: () => t('list.lifted'),
    });
  return (
    <>
      <Fault problem={list.error} again={list.again} />
      <List<Fired>
        name="rules-fired"
        data={list}
        rowKey={(f) => `${f.id}${f.node}`}
        nothing={t('empty.fired')}
        good
        columns={[
          { title: t('field.time'), render: (_, f) => <Time at={f.at} /> },
          {
            title: t('rules.rule'),
            render: (_, f) => (
              <span className="mono" data-data>
                {f.rule}
              </span>
            ),
          },
          {
            title: t('rules.mode'),
            render: (_, f) => <Tag tone={tones[f.mode] ?? 'plain'}>{t(`ruleMode.${f.mode}`)}</Tag>,
          },
          {
            title: t('list.value'),
            render: (_, f) => (
              <>
                {t(`scope.${f.scope}`)} <Id id={f.value} />
              </>
            ),
          },
          { title: t('field.action'), render: (_, f) => <span data-data>{f.action}</span> },
          { title: t('rules.saw'), render: (_, f) => <span data-data>{f.saw}</span> },
          { title: t('rules.count'), align: 'right', render: (_, f) => n(f.count) },
          {
            title: t('field.until'),
            render: (_, f) =>
              f.lifted_at ? (
                <>
                  {t('list.lifted')} <span data-data>{f.lifted_by}</span>
                </>
              ) : (
                <Time at={f.until} relative />
              ),
          },
          { title: t('field.reference'), render: (_, f) => <Id id={f.id} /> },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, f) =>
              f.lifted_at ? null : (
                <Act call="POST /v1/admin/rules/fired/{id}/lift" onClick={() => lift(f)}>
                  {t('rules.lift')}
                </Act>
              ),
          },
        ]}
      />
    </>
  );
}
