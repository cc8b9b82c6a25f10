import { Progress } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { Act, Code, Fault, Head, State, Time, useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';

type Job = Schemas['JobAnswer'];

/** What takes longer than a call: bulk acts and rehearsals. */
export default function Jobs() {
  const { t, i18n } = useTranslation();
  const list = useData('GET /v1/admin/jobs', { query: { limit: 100 } }, 'live');
  const danger = useDanger();
  const cancel = (j: Job) =>
    danger({
      tier: 'b',
      title: t('jobs.cancelTitle', { id: j.id }),
      verb: t('jobs.cancel'),
      reason: 'optional',
      body: t('jobs.cancelBody'),
      act: (_, reason) => api('POST /v1/admin/jobs/{id}/cancel', { path: { id: j.id }, body: { reason } }),
      done: () => t('jobs.cancelled'),
    });
  return (
    <>
      <Head title={t('nav.jobs')} data={list} />
      <List<Job>
        name="jobs"
        data={list}
        rowKey={(j) => j.id}
        nothing={t('empty.jobs')}
        expand={(j) => (
          <>
            <JobFault j={j} />
            <Code value={{ ask: j.ask, result: j.result, fault_code: j.fault_code, fault: j.fault }} />
          </>
        )}
        columns={[
          { title: t('field.time'), render: (_, j) => <Time at={j.created_at} relative /> },
          {
            title: t('jobs.kind'),
            render: (_, j) => (i18n.exists(`job.${j.kind}`) ? t(`job.${j.kind}`) : <span data-data>{j.kind}</span>),
          },
          {
            title: t('field.object'),
            render: (_, j) => (
              <span className="mono" data-data>
                {j.object ?? '—'}
              </span>
            ),
          },
          { title: t('field.state'), render: (_, j) => <State of={j.state} /> },
          { title: t('jobs.why'), render: (_, j) => (j.fault ? <JobFault j={j} short /> : '—') },
          { title: t('jobs.progress'), width: 200, render: (_, j) => <JobBar j={j} /> },
          {
            title: t('field.actor'),
            render: (_, j) => (
              <span data-data>
                {j.author} {j.reason}
              </span>
            ),
          },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, j) =>
              j.state === 'running' && !j.cancelling ? (
                <Act call="POST /v1/admin/jobs/{id}/cancel" onClick={() => cancel(j)}>
                  {t('jobs.cancel')}
                </Act>
              ) : null,
          },
        ]}
      />
    </>
  );
}

/** How far a job is. */
export function JobBar({ j }: { j: Job }) {
  const { t } = useTranslation();
  const n = useCount();
  const share = j.total > 0 ? Math.floor((100 * (j.done + j.failed)) / j.total) : j.state === 'running' ? 0 : 100;
  return (
    <div className="num small">
      <Progress
        percent={share}
        showInfo={false}
        size="small"
        status={j.state === 'failed' ? 'exception' : 'normal'}
        aria-label={t('jobs.progress')}
      />
      {n(j.done)} / {j.total >= 0 ? n(j.total) : '—'}
      {j.failed > 0 && ` · ${t('jobs.failed', { n: n(j.failed) })}`}
    </div>
  );
}

/** Why a job failed or stopped, by its code; the server's own words beside it, or where there is no such code. */
export function JobFault({ j, short }: { j: Job; short?: boolean }) {
  const { t, i18n } = useTranslation();
  if (!j.fault) return null;
  const key = `jobFault.${j.fault_code}`;
  if (!j.fault_code || !i18n.exists(key)) return <span data-data>{j.fault}</span>;
  return (
    <div data-fault={j.fault_code}>
      {t(key)}{' '}
      {!short && (
        <span className="muted small" data-data>
          {j.fault}
        </span>
      )}
    </div>
  );
}

/** One job as it goes on. */
export function JobRow({ id }: { id: string }) {
  const job = useData('GET /v1/admin/jobs/{id}', { path: { id } }, 'live');
  const j = job.data;
  if (!j) return <Fault problem={job.error} again={job.again} />;
  return (
    <div className="stack" style={{ gap: 4 }}>
      <State of={j.state} />
      <JobBar j={j} />
      <JobFault j={j} />
    </div>
  );
}
