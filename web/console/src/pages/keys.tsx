import { Button, Input, Modal, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { Act, Fault, Head, Id, Tag, Time } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';

type Key = Schemas['KeyAnswer'];
type Session = Schemas['SessionAnswer'];

/** API keys and who is signed in. */
export default function Keys() {
  const { t } = useTranslation();
  const danger = useDanger();
  const [add, setAdd] = useState(false);
  const list = useData('GET /v1/admin/api-keys');
  const revoke = (k: Key) =>
    danger({
      tier: 'c',
      typed: k.name || k.id,
      title: t('keys.revokeTitle', { name: k.name }),
      verb: t('keys.revoke'),
      body: t('keys.revokeBody'),
      act: (_, reason) => api('DELETE /v1/admin/api-keys/{id}', { path: { id: k.id }, query: { reason } }),
      done: () => t('keys.revoked'),
    });
  return (
    <div className="stack">
      <Head title={t('nav.keys')} data={list}>
        <Act call="POST /v1/admin/api-keys" type="primary" onClick={() => setAdd(true)}>
          {t('keys.add')}
        </Act>
      </Head>
      <List<Key>
        name="api-keys"
        data={list}
        rowKey={(k) => k.id}
        nothing={t('empty.keys')}
        columns={[
          { title: t('field.name'), render: (_, k) => <b data-data>{k.name}</b> },
          { title: t('field.role'), render: (_, k) => t(`role.${k.role}`) },
          {
            title: t('keys.prefix'),
            render: (_, k) => (
              <span className="mono" data-data>
                {k.prefix}…
              </span>
            ),
          },
          { title: t('field.merchant'), render: (_, k) => <span data-data>{k.merchant_id ?? '—'}</span> },
          { title: t('field.time'), render: (_, k) => <Time at={k.created_at} /> },
          {
            title: t('field.state'),
            render: (_, k) =>
              k.revoked_at ? <Tag tone="bad">{t('state.revoked')}</Tag> : <Tag tone="ok">{t('keys.valid')}</Tag>,
          },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, k) =>
              k.revoked_at ? null : (
                <Act call="DELETE /v1/admin/api-keys/{id}" danger onClick={() => revoke(k)}>
                  {t('keys.revoke')}
                </Act>
              ),
          },
        ]}
      />
      {need('GET /v1/admin/sessions') && <Sessions />}
      {add && <AddKey close={() => setAdd(false)} />}
    </div>
  );
}

function Sessions() {
  const { t } = useTranslation();
  const danger = useDanger();
  const list = useData('GET /v1/admin/sessions');
  const end = (s: Session) =>
    danger({
      tier: 'b',
      title: t('sessions.endTitle', { name: s.name }),
      verb: t('sessions.end'),
      body: t('sessions.endBody'),
      act: (_, reason) => api('DELETE /v1/admin/sessions/{id}', { path: { id: s.id }, query: { reason } as never }),
      done: () => t('sessions.ended'),
    });
  return (
    <section>
      <h2>{t('sessions.title')}</h2>
      <Fault problem={list.error} again={list.again} />
      <List<Session>
        name="sessions"
        data={list}
        rowKey={(s) => s.id}
        nothing="—"
        columns={[
          {
            title: t('field.name'),
            render: (_, s) => (
              <span data-data>
                {s.name} {s.current && <Tag tone="info">{t('sessions.this')}</Tag>}
              </span>
            ),
          },
          { title: t('field.role'), render: (_, s) => t(`role.${s.role}`) },
          {
            title: t('field.addr'),
            render: (_, s) => (
              <span className="mono" data-data>
                {s.addr ?? '—'}
              </span>
            ),
          },
          { title: t('field.time'), render: (_, s) => <Time at={s.created_at} /> },
          { title: t('field.expires'), render: (_, s) => <Time at={s.expires_at} relative /> },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, s) =>
              s.current ? null : (
                <Act call="DELETE /v1/admin/sessions/{id}" onClick={() => end(s)}>
                  {t('sessions.end')}
                </Act>
              ),
          },
        ]}
      />
    </section>
  );
}

function AddKey({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const change = useChange('POST /v1/admin/api-keys');
  const [name, setName] = useState('');
  const [role, setRole] = useState('viewer');
  const [merchant, setMerchant] = useState('');
  const made = change.data;
  return (
    <Modal
      open
      title={t('keys.add')}
      onCancel={close}
      closable={false}
      mask={{ closable: false }}
      footer={[
        <Button key="n" onClick={close}>
          {made ? t('act.close') : t('act.cancel')}
        </Button>,
        !made && (
          <Button
            key="y"
            type="primary"
            disabled={!name.trim()}
            loading={change.isPending}
            onClick={() =>
              change.mutate({
                body: { name: name.trim(), role, merchant_id: role === 'merchant' ? merchant.trim() : undefined },
              })
            }
          >
            {t('keys.add')}
          </Button>
        ),
      ]}
    >
      {made ? (
        <div className="stack">
          <div className="note warn">{t('keys.once')}</div>
          <Id id={made.key} />
        </div>
      ) : (
        <div className="stack">
          <label>
            <div>{t('field.name')}</div>
            <Input value={name} maxLength={100} onChange={(e) => setName(e.target.value)} />
          </label>
          <div>
            <div id="key-role">{t('field.role')}</div>
            <Select
              aria-labelledby="key-role"
              value={role}
              onChange={setRole}
              style={{ width: '100%' }}
              options={['viewer', 'support', 'operator', 'admin', 'merchant'].map((v) => ({
                value: v,
                label: t(`role.${v}`),
              }))}
            />
          </div>
          {role === 'merchant' && (
            <label>
              <div>{t('field.merchant')}</div>
              <Input value={merchant} maxLength={64} onChange={(e) => setMerchant(e.target.value)} />
            </label>
          )}
          <Fault problem={change.error ?? undefined} />
        </div>
      )}
    </Modal>
  );
}
