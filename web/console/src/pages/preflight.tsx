import { Button, InputNumber, Modal } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { newId } from '../lib/ids.ts';
import { told } from '../lib/says.ts';
import { usePrefs } from '../lib/store.ts';
import { stamp, type Zone } from '../lib/times.ts';
import { Act, Fault, State, Tag, Time, type Tone, useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { JobBar } from './jobs.tsx';

/** The call without which there is no pre-flight. */
export const preflightCall = 'GET /v1/admin/campaigns/{id}/preflight';

/** The server's words, with the moments in them by the clock that the page shows. */
function inZone(text: string, zone: Zone): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => stamp(at, zone));
}

const tones: Record<string, Tone> = { go: 'ok', no_go: 'bad', unknown: 'warn', absent: 'plain' };

/** Go or no-go before the sale, the sign-off, and rehearsals on a clone. */
export function Preflight({ campaign: c }: { campaign: Schemas['AdminCampaign'] }) {
  const { t, i18n } = useTranslation();
  const danger = useDanger();
  const last = useData('GET /v1/admin/campaigns/{id}/preflight', { path: { id: c.id } });
  const run = useChange('POST /v1/admin/campaigns/{id}/preflight');
  const p = last.data;
  const none = last.error?.status === 404;
  const sign = () =>
    p &&
    danger({
      tier: 'b',
      title: t(p.ok ? 'preflight.signTitle' : 'preflight.signAnyway', { title: c.title }),
      verb: t('preflight.sign'),
      reason: p.ok ? 'optional' : 'required',
      body: t('preflight.signBody', { go: p.go, of: p.of }),
      act: (_, reason) =>
        api('POST /v1/admin/campaigns/{id}/preflight/sign-off', { path: { id: c.id }, body: { run: p.run, reason } }),
      done: () => t('preflight.signed'),
    });
  return (
    <div className="stack">
      <div className="row">
        <Act
          call="POST /v1/admin/campaigns/{id}/preflight"
          type="primary"
          loading={run.isPending}
          onClick={() => run.mutate({ path: { id: c.id } })}
        >
          {p ? t('preflight.again') : t('preflight.run')}
        </Act>
        {p && (
          <Act
            call="POST /v1/admin/campaigns/{id}/preflight/sign-off"
            onClick={sign}
            why={p.signed_at ? t('preflight.signed') : undefined}
          >
            {t('preflight.sign')}
          </Act>
        )}
        <Rehearse c={c} />
        {p && (
          <b style={{ fontSize: 17 }}>
            <Tag tone={p.ok ? 'ok' : 'bad'}>
              {p.ok ? t('preflight.go') : t('preflight.noGo')} {p.go}/{p.of}
            </Tag>
          </b>
        )}
      </div>
      {!none && <Fault problem={last.error} again={last.again} />}
      <Fault problem={run.error ?? undefined} />
      {none && <div className="panel empty">{t('preflight.none')}</div>}
      {p && (
        <div className="panel">
          <div className="muted small">
            <Time at={p.at} relative /> · <span data-data>{p.author}</span>
            {p.signed_at && (
              <>
                {' '}
                · {t('preflight.signedBy')}{' '}
                <span data-data>
                  {p.signed_by} {p.reason}
                </span>{' '}
                <Time at={p.signed_at} />
              </>
            )}
          </div>
          <ul className="feed">
            {p.checks.map((x) => (
              <li key={x.name} className="row">
                <Tag tone={tones[x.state] ?? 'plain'}>{t(`check.${x.state}`)}</Tag>{' '}
                <b>{i18n.exists(`check.of.${x.name}`) ? t(`check.of.${x.name}`) : <span data-data>{x.name}</span>}</b>{' '}
                <Says check={x} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {need('GET /v1/admin/jobs') && <Rehearsals c={c} />}
    </div>
  );
}

/** What a check found, in the page's language; what a server of old found, in its own words. */
function Says({ check: x }: { check: Schemas['PreflightCheck'] }) {
  const { t, i18n } = useTranslation();
  const { zone, lang } = usePrefs();
  const key = `check.says.${x.code}`;
  if (!x.code || !i18n.exists(key)) {
    return (
      <span className="muted" data-data>
        {inZone(x.detail, zone)}
      </span>
    );
  }
  const args = told(x.args ?? {}, (k) => (i18n.exists(k) ? t(k) : undefined), lang, zone);
  return <span className="muted">{t(key, args)}</span>;
}

const rehearseCall = 'POST /v1/admin/campaigns/{id}/rehearsals';

function Rehearse({ c }: { c: Schemas['AdminCampaign'] }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const [id, setId] = useState(() => newId('job'));
  const [buyers, setBuyers] = useState<number | null>(2000);
  const [seconds, setSeconds] = useState<number | null>(5);
  const start = useChange(rehearseCall);
  const begin = async () => {
    try {
      await start.mutateAsync({
        path: { id: c.id },
        body: { id, buyers: buyers ?? undefined, seconds: seconds ?? undefined },
      });
      setOpen(false);
    } catch {
      // Shown in the dialog; trying again sends the same id.
    }
  };
  return (
    <>
      <Act
        call={rehearseCall}
        onClick={() => {
          setId(newId('job'));
          start.reset();
          setOpen(true);
        }}
      >
        {t('rehearse.verb')}
      </Act>
      <Modal
        open={open}
        onCancel={() => setOpen(false)}
        closable={false}
        title={t('rehearse.title')}
        footer={[
          <Button key="n" onClick={() => setOpen(false)}>
            {t('act.cancel')}
          </Button>,
          <Button key="y" type="primary" loading={start.isPending} onClick={begin}>
            {t('rehearse.verb')}
          </Button>,
        ]}
      >
        <div className="stack">
          <div>{t('rehearse.body')}</div>
          <label>
            <div>{t('rehearse.buyers')}</div>
            <InputNumber min={1} max={20000} precision={0} value={buyers} onChange={setBuyers} />
          </label>
          <label>
            <div>{t('rehearse.seconds')}</div>
            <InputNumber min={0.1} max={60} value={seconds} onChange={setSeconds} />
          </label>
          <Fault problem={start.error ?? undefined} />
        </div>
      </Modal>
    </>
  );
}

function Rehearsals({ c }: { c: Schemas['AdminCampaign'] }) {
  const { t } = useTranslation();
  const list = useData(
    'GET /v1/admin/jobs',
    { query: { kind: 'rehearsal', object: `campaign/${c.id}`, limit: 20 } },
    'live',
  );
  return (
    <div>
      <h2>{t('rehearse.list')}</h2>
      <List<Schemas['JobAnswer']>
        name={`rehearsals-${c.id}`}
        data={list}
        rowKey={(j) => j.id}
        nothing={t('rehearse.none')}
        columns={[
          { title: t('field.time'), render: (_, j) => <Time at={j.created_at} /> },
          { title: t('field.state'), render: (_, j) => <State of={j.state} /> },
          { title: t('jobs.progress'), width: 200, render: (_, j) => <JobBar j={j} /> },
          { title: t('reconcile.result'), render: (_, j) => <Outcome j={j} /> },
        ]}
      />
    </div>
  );
}

/** A rehearsal's result as the job keeps it. */
interface Result {
  ok?: boolean;
  verdict?: string;
  units_taken?: number;
  units_total?: number;
  faults?: Record<string, number>;
  claims_per_s?: number;
  p99_ms?: number;
}

function Outcome({ j }: { j: Schemas['JobAnswer'] }) {
  const { t } = useTranslation();
  const n = useCount();
  const r = j.result as Result | undefined;
  if (j.fault) return <span data-data>{j.fault}</span>;
  if (!r) return <span>—</span>;
  return (
    <div className="row" style={{ whiteSpace: 'normal', minWidth: 180, maxWidth: 460 }}>
      <Tag tone={r.ok ? 'ok' : 'bad'}>{r.ok ? t('verdict.allWell') : t('verdict.wrong')}</Tag> <Verdict r={r} />{' '}
      <span className="num">
        {t('rehearse.figures', { rate: n(Math.round(r.claims_per_s ?? 0)), p99: n(Math.round(r.p99_ms ?? 0)) })}
      </span>
    </div>
  );
}

function Verdict({ r }: { r: Result }) {
  const { t, i18n } = useTranslation();
  const n = useCount();
  if (r.ok && r.units_total !== undefined) {
    return <span>{t('rehearse.says.kept', { taken: n(r.units_taken), of: n(r.units_total) })}</span>;
  }
  const faults = Object.entries(r.faults ?? {});
  if (!faults.length || !faults.every(([code]) => i18n.exists(`rehearse.says.${code}`))) {
    return <span data-data>{r.verdict}</span>;
  }
  return <span>{faults.map(([code, of]) => t(`rehearse.says.${code}`, { n: n(of) })).join(' · ')}</span>;
}
