import { Button, DatePicker, Form, Input, Modal, Select, Tabs, Upload } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, Problem, raw, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { newId } from '../lib/ids.ts';
import { go, useParam } from '../lib/router.tsx';
import { Act, Fault, Head, Id, Time, useCount } from '../ui/bits.tsx';
import { useDanger, useUndo } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { JobRow } from './jobs.tsx';

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
  const n = useCount();
  const danger = useDanger();
  const offer = useUndo();
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
          ...(which === 'blocklist'
            ? [
                {
                  title: (
                    <span title={t('list.hitsOf')}>
                      {t('list.hits')}
                      <span className="sr">, {t('list.hitsOf')}</span>
                    </span>
                  ),
                  align: 'right' as const,
                  render: (_: unknown, b: Block) => (
                    <span className="num" data-hits={b.hits_hour}>
                      {n(b.hits_hour)}
                    </span>
                  ),
                },
              ]
            : []),
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
      {add && (
        <AddForm
          which={which}
          close={() => setAdd(false)}
          done={(b) => {
            setAdd(false);
            offer({ says: t(`${which}.added`, { value: b.value }), back: () => lift(b) });
          }}
        />
      )}
    </>
  );
}

function AddForm({ which, close, done }: { which: Which; close: () => void; done: (b: Block) => void }) {
  const { t } = useTranslation();
  const change = useChange(`POST /v1/admin/${which}`);
  const [form] = Form.useForm<{ scope: string; value: string; expires?: Dayjs; reason: string }>();
  const scope = Form.useWatch('scope', form);
  const value = Form.useWatch('value', form);
  const submit = async (v: { scope: string; value: string; expires?: Dayjs; reason: string }) => {
    try {
      const made = await change.mutateAsync({
        body: { scope: v.scope, value: v.value.trim(), expires_at: v.expires?.toISOString(), reason: v.reason },
      });
      done(made);
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
        {which === 'blocklist' && <Preview scope={scope ?? 'user'} value={value ?? ''} />}
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

/** Whom the block would hit, as of now: asked once the person has stopped typing. */
function Preview({ scope, value }: { scope: string; value: string }) {
  const { t } = useTranslation();
  const n = useCount();
  const [asked, setAsked] = useState({ scope: '', value: '' });
  useEffect(() => {
    const timer = setTimeout(() => setAsked({ scope, value: value.trim() }), 300);
    return () => clearTimeout(timer);
  }, [scope, value]);
  const known = need('GET /v1/admin/blocklist/preview') !== undefined;
  const data = useData(
    'GET /v1/admin/blocklist/preview',
    { query: { scope: asked.scope as 'user', value: asked.value } },
    'slow',
    known && asked.value !== '',
  );
  if (!known || asked.value === '' || value.trim() === '') return null;
  const p = data.data;
  const current = p && !data.error && asked.scope === scope && asked.value === value.trim() && p.scope === scope;
  return (
    <div
      className={current && p.people > 0 ? 'note warn' : 'note'}
      role="status"
      style={{ marginBottom: 16 }}
      data-preview={current ? p.people : ''}
    >
      {!current ? (
        data.error ? (
          <span data-data>{data.error.errors[0]?.detail ?? data.error.detail}</span>
        ) : (
          t('age.loading')
        )
      ) : (
        <div className="stack num" style={{ gap: 4 }}>
          <div>
            {p.value !== asked.value && (
              <b className="mono" data-data>
                {p.value}:{' '}
              </b>
            )}
            {t('preview.hits', { n: n(p.people), known: n(p.known) })}
            {p.partial && ` ${t('preview.partial')}`}
          </div>
          {p.admitted > 0 && <div>{t('preview.admitted', { n: n(p.admitted) })}</div>}
          {p.block && (
            <div>
              {t('preview.there')} <Id id={p.block.id} />
            </div>
          )}
          <div className="muted small">
            {t('preview.since')} <Time at={p.since} />
          </div>
        </div>
      )}
    </div>
  );
}

const maxShown = 50;

/** One line of a diff: what comes, or what becomes of what is there. */
function Change({ c }: { c: Schemas['ListChangeAnswer'] }) {
  const e = c.entry;
  const until = (x: { expires_at?: string | null }) => x.expires_at ?? '∞';
  return (
    <li>
      <b>{c.before ? '±' : '+'}</b> {e.scope} {e.value}{' '}
      {c.before ? (
        <>
          “{c.before.reason}” {until(c.before)} → “{e.reason}” {until(e)}
        </>
      ) : (
        <>
          {e.reason && `“${e.reason}”`} {e.expires_at}
        </>
      )}
    </li>
  );
}

/** A file is shown as what it would change before it changes anything; then a job of the server does it. */
function Import({ which }: { which: Which }) {
  const { t } = useTranslation();
  const n = useCount();
  const [text, setText] = useState('');
  const [diff, setDiff] = useState<Schemas['ListImportAnswer']>();
  const [job, setJob] = useState('');
  const [id, setId] = useState('');
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const call = async (f: () => Promise<void>) => {
    setProblem(undefined);
    setBusy(true);
    try {
      await f();
    } catch (e) {
      setProblem(e instanceof Problem ? e : new Problem(0, {}, ''));
    }
    setBusy(false);
  };
  const look = (csv: string) =>
    call(async () => {
      const a = await raw(`POST /v1/admin/${which}/import`, { csv, query: { dry_run: true } });
      setDiff(a as Schemas['ListImportAnswer']);
    });
  // The id is the one that the dialog was opened with: who tries again after a lost answer begins nothing twice.
  const start = () =>
    call(async () => {
      const a = await raw(`POST /v1/admin/${which}/import-jobs`, { csv: text, query: { id } });
      setJob((a as Schemas['JobAnswer']).id);
    });
  const close = () => {
    setText('');
    setDiff(undefined);
    setProblem(undefined);
    setJob('');
  };
  return (
    <>
      <Upload
        accept=".csv,text/csv"
        showUploadList={false}
        beforeUpload={(file) => {
          void file.text().then((x) => {
            setText(x || ' ');
            setId(newId('job'));
            void look(x);
          });
          return false;
        }}
      >
        <Act call={`POST /v1/admin/${which}/import-jobs`}>{t('list.import')}</Act>
      </Upload>
      <Modal
        open={text !== ''}
        title={t('list.importTitle')}
        onCancel={close}
        closable={false}
        footer={[
          <Button key="n" onClick={close}>
            {job ? t('act.close') : t('act.cancel')}
          </Button>,
          diff && !job && (
            <Button
              key="y"
              type="primary"
              loading={busy}
              disabled={diff.faults > 0 || diff.added + diff.changed === 0}
              onClick={() => void start()}
            >
              {t('list.importGo', { n: n(diff.added + diff.changed) })}
            </Button>
          ),
        ]}
      >
        <Fault problem={problem} />
        {job && <JobRow id={job} />}
        {!diff && !problem && <div aria-busy="true">{t('age.loading')}</div>}
        {diff && (
          <div className="stack" data-diff>
            <div className="row num">
              {t('list.diff', {
                rows: n(diff.rows),
                added: n(diff.added),
                changed: n(diff.changed),
                same: n(diff.same),
              })}
            </div>
            {diff.faults > 0 && <div className="note bad">{t('list.faults', { n: n(diff.faults) })}</div>}
            {!job && (
              <ul className="feed mono" data-data>
                {diff.errors.slice(0, maxShown).map((e) => (
                  <li key={`${e.line}${e.field}`}>
                    ✗ {e.line}: {e.field} {e.detail}
                  </li>
                ))}
                {diff.changes.slice(0, maxShown).map((c) => (
                  <Change key={c.line} c={c} />
                ))}
              </ul>
            )}
            {!job && diff.added + diff.changed > maxShown && (
              <div className="muted small">{t('list.firstOf', { n: maxShown })}</div>
            )}
          </div>
        )}
      </Modal>
    </>
  );
}
