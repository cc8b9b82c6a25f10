import { Button, Input, Modal, Select } from 'antd';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { allAreas, scopeText } from '../lib/rights.ts';
import { useSession } from '../session.tsx';
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
  const rotate = (k: Key) => {
    let grace = day;
    danger({
      tier: 'b',
      prefix: 'rot',
      title: t('keys.rotateTitle', { name: k.name }),
      verb: t('keys.rotate'),
      body: <Rotation of={k} choose={(s) => (grace = s)} />,
      act: (id, reason) =>
        api('POST /v1/admin/api-keys/{id}/rotate', {
          path: { id: k.id },
          body: { rotation_id: id, grace_s: grace, reason },
        }),
      done: (made: Key) => <Secret of={made} />,
    });
  };
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
          {
            title: t('field.role'),
            render: (_, k) => (
              <>
                {t(`role.${k.role}`)}
                {k.merchant_id && (
                  <div className="muted small" data-data>
                    {k.merchant_id}
                  </div>
                )}
              </>
            ),
          },
          {
            title: t('keys.scope'),
            render: (_, k) => (
              <div className="keyscope" data-scope>
                {scopeText(t, k)}
              </div>
            ),
          },
          { title: t('keys.prefix'), render: (_, k) => <Prefixes of={k} /> },
          {
            title: t('keys.lastUsed'),
            render: (_, k) => (
              <span data-used>
                {k.last_used_at ? <Time at={k.last_used_at} relative /> : t('keys.never')}
                {k.unused && (
                  <div>
                    <Tag tone="warn">{t('keys.unused')}</Tag>
                  </div>
                )}
              </span>
            ),
          },
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
                <span className="row nowrap">
                  <Act call="POST /v1/admin/api-keys/{id}/rotate" onClick={() => rotate(k)}>
                    {t('keys.rotate')}
                  </Act>
                  <Act call="DELETE /v1/admin/api-keys/{id}" danger onClick={() => revoke(k)}>
                    {t('keys.revoke')}
                  </Act>
                </span>
              ),
          },
        ]}
      />
      {need('GET /v1/admin/sessions') && <Sessions />}
      {add && <AddKey close={() => setAdd(false)} />}
    </div>
  );
}

const day = 86_400;

/** The graces that may be chosen, in seconds. */
const graces = [0, 3600, day, 3 * day, 7 * day];

/** What a rotation does, and how long the old secret stays good. */
function Rotation({ of, choose }: { of: Key; choose: (s: number) => void }) {
  const { t } = useTranslation();
  const [grace, setGrace] = useState(day);
  return (
    <div className="stack">
      <div>
        {t('keys.rotateBody')}{' '}
        <span className="mono" data-data>
          {of.prefix}…
        </span>
      </div>
      <div>
        <div id="key-grace">{t('keys.grace')}</div>
        <Select
          aria-labelledby="key-grace"
          value={grace}
          onChange={(s) => {
            setGrace(s);
            choose(s);
          }}
          style={{ width: '100%' }}
          options={graces.map((s) => ({ value: s, label: t(`keys.grace${s}`) }))}
        />
      </div>
      <div className="note warn">{t(grace === 0 ? 'keys.graceNone' : 'keys.graceSome')}</div>
      {of.old_until && (
        <div className="note warn" data-older>
          {t('keys.older')}{' '}
          <span className="mono" data-data>
            {of.old_prefix}…
          </span>
        </div>
      )}
    </div>
  );
}

/** A secret, shown this once, and until when the one before is good. */
function Secret({ of }: { of: Key }) {
  const { t } = useTranslation();
  return (
    <div className="stack" data-secret>
      <div>{t('keys.once')}</div>
      <Id id={of.key} />
      {of.rotated_at && (
        <div>
          {of.old_until ? (
            <>
              {t('keys.oldUntil')} <Time at={of.old_until} relative />
            </>
          ) : (
            t('keys.oldGone')
          )}
        </div>
      )}
    </div>
  );
}

/** How the secrets of a key begin that are good now. */
function Prefixes({ of }: { of: Key }) {
  const { t } = useTranslation();
  return (
    <>
      <span className="mono" data-data>
        {of.prefix}…
      </span>
      {of.old_until && (
        <div className="small muted" data-old>
          <span className="mono" data-data>
            {of.old_prefix}…
          </span>
          <br />
          {t('keys.until')} <Time at={of.old_until} />
        </div>
      )}
    </>
  );
}

function Check({ on, set, children }: { on: boolean; set: (on: boolean) => void; children: ReactNode }) {
  return (
    <label className="row">
      <input type="checkbox" className="box" checked={on} onChange={(e) => set(e.target.checked)} /> {children}
    </label>
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
  const { session } = useSession();
  const [areas, setAreas] = useState<string[]>(session.areas ?? []);
  const [readOnly, setReadOnly] = useState(false);
  const made = change.data;
  const body = () => ({
    name: name.trim(),
    role: role as Key['role'],
    ...(role === 'merchant'
      ? { merchant_id: merchant.trim(), ...(session.areas && { areas: ['coupons'] }) }
      : { ...(areas.length > 0 && { areas }), ...(readOnly && { read_only: true }) }),
  });
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
            onClick={() => change.mutate({ body: body() })}
          >
            {t('keys.add')}
          </Button>
        ),
      ]}
    >
      {made ? (
        <div className="note ok">
          <Secret of={made} />
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
          {role !== 'merchant' && (
            <fieldset className="areas">
              <legend>{t('keys.areas')}</legend>
              {(session.areas ?? allAreas).map((a) => (
                <Check
                  key={a}
                  on={areas.includes(a)}
                  set={(on) => setAreas(on ? [...areas, a] : areas.filter((x) => x !== a))}
                >
                  {t(`area.${a}`)}
                </Check>
              ))}
            </fieldset>
          )}
          {role !== 'merchant' && (
            <Check on={readOnly} set={setReadOnly}>
              {t('keys.readOnly')}
            </Check>
          )}
          <Fault problem={change.error ?? undefined} />
        </div>
      )}
    </Modal>
  );
}
