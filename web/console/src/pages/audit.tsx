import { Button, DatePicker, Input } from 'antd';
import dayjs from 'dayjs';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { address, file, Problem, type Schemas } from '../lib/api.ts';
import { save } from '../lib/csv.ts';
import { useData } from '../lib/data.ts';
import { go, Link, useParam } from '../lib/router.tsx';
import { Code, Fault, Head, Id, Time, useCount } from '../ui/bits.tsx';
import { List } from '../ui/list.tsx';

type Entry = Schemas['AuditEntry'];

/** The audit log: read only. */
export default function Audit() {
  const { t } = useTranslation();
  const [actor, setActor] = useParam('actor');
  const [action, setAction] = useParam('action');
  const [object, setObject] = useParam('object');
  const [from, setFrom] = useParam('from');
  const [until, setUntil] = useParam('until');
  const n = useCount();
  const [saving, setSaving] = useState(false);
  const [cut, setCut] = useState(0);
  const [problem, setProblem] = useState<Problem>();
  const saveAll = async (form: 'csv' | 'json') => {
    setSaving(true);
    setCut(0);
    setProblem(undefined);
    try {
      const got = await file(address(`GET /v1/admin/audit-log.${form}`, {}, { actor, action, object, from, until }));
      save(`audit-log.${form}`, got.body);
      setCut(got.cut ?? 0);
    } catch (e) {
      setProblem(e instanceof Problem ? e : new Problem(0, {}, ''));
    } finally {
      setSaving(false);
    }
  };
  return (
    <>
      <Head title={t('nav.audit')}>
        <Button loading={saving} onClick={() => void saveAll('csv')} title={t('audit.csvHint')}>
          {t('audit.csv')}
        </Button>
        <Button loading={saving} onClick={() => void saveAll('json')} title={t('audit.csvHint')}>
          {t('audit.json')}
        </Button>
      </Head>
      <div role="status">
        {cut > 0 && (
          <div className="note warn" style={{ marginBottom: 12 }} data-cut={cut}>
            {t('audit.cut', { n: n(cut) })}
          </div>
        )}
      </div>
      <Fault problem={problem} />
      <div className="filters">
        <Input.Search
          allowClear
          defaultValue={actor}
          placeholder={t('field.actor')}
          aria-label={t('field.actor')}
          onSearch={(v) => setActor(v.trim(), 'cursor')}
          style={{ width: 180 }}
        />
        <Input.Search
          allowClear
          defaultValue={action}
          placeholder={t('field.action')}
          aria-label={t('field.action')}
          onSearch={(v) => setAction(v.trim(), 'cursor')}
          style={{ width: 180 }}
        />
        <Input.Search
          allowClear
          defaultValue={object}
          placeholder={t('field.object')}
          aria-label={t('field.object')}
          onSearch={(v) => setObject(v.trim(), 'cursor')}
          style={{ width: 220 }}
        />
        <DatePicker
          showTime
          placeholder={t('field.from')}
          aria-label={t('field.from')}
          value={from ? dayjs(from) : null}
          onChange={(v) => setFrom(v ? v.toISOString() : '', 'cursor')}
        />
        <DatePicker
          showTime
          placeholder={t('field.until')}
          aria-label={t('field.until')}
          value={until ? dayjs(until) : null}
          onChange={(v) => setUntil(v ? v.toISOString() : '', 'cursor')}
        />
      </div>
      <AuditTable
        actor={actor}
        action={action}
        object={object}
        from={from}
        until={until}
        name="audit-log"
        clear={() => go('/audit', true)}
      />
    </>
  );
}

/** The rows of the audit log that fit. */
export function AuditTable(p: {
  actor?: string;
  action?: string;
  object?: string;
  from?: string;
  until?: string;
  name: string;
  clear?: () => void;
}) {
  const { t } = useTranslation();
  const [cursor] = useParam('cursor');
  const list = useData('GET /v1/admin/audit-log', {
    query: {
      actor: p.actor || undefined,
      action: p.action || undefined,
      object: p.object || undefined,
      from: p.from || undefined,
      until: p.until || undefined,
      cursor: cursor || undefined,
      limit: 50,
    },
  });
  return (
    <>
      <Fault problem={list.error} again={list.again} />
      <List<Entry>
        name={p.name}
        data={list}
        rowKey={(r) => String(r.seq)}
        filtered={Boolean(p.clear && (p.actor || p.action || p.object || p.from || p.until))}
        clear={p.clear}
        nothing={t('empty.audit')}
        expand={(r) => (
          <div className="cols">
            <div>
              <h3>{t('field.before')}</h3>
              <Code value={r.before ?? '—'} />
            </div>
            <div>
              <h3>{t('field.after')}</h3>
              <Code value={r.after ?? '—'} />
            </div>
          </div>
        )}
        columns={[
          {
            title: '#',
            // entries only ever come before: this one is at the top of that page for good
            render: (_, r) => (
              <Link to={`/audit?cursor=${r.seq + 1}`} className="num" title={t('audit.link')} data-permalink={r.seq}>
                {r.seq}
              </Link>
            ),
          },
          { title: t('field.time'), render: (_, r) => <Time at={r.at} /> },
          {
            title: t('field.actor'),
            render: (_, r) => (
              <span data-data>
                {r.actor.name} <span className="muted">({r.actor.role})</span>
              </span>
            ),
          },
          {
            title: t('field.action'),
            render: (_, r) => (
              <b className="mono" data-data>
                {r.action}
              </b>
            ),
          },
          {
            title: t('field.object'),
            render: (_, r) => (
              <span className="mono" data-data>
                {r.object}
              </span>
            ),
          },
          { title: t('field.reason'), render: (_, r) => <span data-data>{r.reason || '—'}</span> },
          { title: t('field.request'), render: (_, r) => <Id id={r.request_id} /> },
          {
            title: t('field.addr'),
            render: (_, r) => (
              <span className="mono" data-data>
                {r.actor.addr ?? '—'}
              </span>
            ),
          },
        ]}
      />
    </>
  );
}
