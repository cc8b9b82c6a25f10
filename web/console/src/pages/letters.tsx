import { Button, Drawer, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, need, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { go, Link, useParam } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { stamp } from '../lib/times.ts';
import { Act, Code, Facts, Fault, Head, Id, State, Time, useCount } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';
import { JobRow } from './jobs.tsx';

type Letter = Schemas['DeadLetterAnswer'];
type Which = { ids?: number[]; as_of?: string; campaign_id?: string; user_id?: string };

const call = { replay: 'POST /v1/admin/dead-letters/replay', discard: 'POST /v1/admin/dead-letters/discard' } as const;
const jobCall = 'POST /v1/admin/jobs';

/** Messages that failed their tries: by cause, by row, by selection, or all as of a moment. */
export default function Letters() {
  const { t } = useTranslation();
  const [state, setState] = useParam('state', 'kept');
  const [campaign, setCampaign] = useParam('campaign');
  const [cursor] = useParam('cursor');
  const [open, setOpen] = useParam('open');
  const [chosen, setChosen] = useState<number[]>([]);
  const list = useData('GET /v1/admin/dead-letters', {
    query: {
      state: (state || undefined) as never,
      campaign_id: campaign || undefined,
      cursor: cursor || undefined,
      limit: 100,
    },
  });
  const act = useLetterActs();
  const items = list.data?.items ?? [];
  const more = list.data?.next_cursor !== undefined;
  const asOf = list.data?.as_of;
  const all: Which = { as_of: asOf, campaign_id: campaign || undefined };
  const count = more ? undefined : items.length;
  return (
    <>
      <Head title={t('nav.letters')} data={list}>
        {chosen.length > 0 ? (
          <>
            <Act call={call.replay} onClick={() => act('replay', { ids: chosen }, chosen.length, () => setChosen([]))}>
              {t('letters.replaySome', { n: chosen.length })}
            </Act>
            <Act
              call={call.discard}
              danger
              onClick={() => act('discard', { ids: chosen }, chosen.length, () => setChosen([]))}
            >
              {t('letters.discardSome', { n: chosen.length })}
            </Act>
          </>
        ) : (
          state === 'kept' &&
          items.length > 0 &&
          asOf && (
            <>
              <Act call={call.replay} onClick={() => act('replay', all, count)} data-replayall>
                {t('letters.replayAll')}
              </Act>
              <Act call={call.discard} danger onClick={() => act('discard', all, count)} data-discardall>
                {t('letters.discardAll')}
              </Act>
            </>
          )
        )}
      </Head>
      <div className="filters">
        <Select
          aria-label={t('field.state')}
          value={state}
          onChange={(v) => setState(v, 'cursor')}
          style={{ width: 140 }}
          options={['kept', 'replayed', 'discarded'].map((v) => ({ value: v, label: t(`state.${v}`) }))}
        />
        {campaign && (
          <Button onClick={() => setCampaign('', 'cursor')}>
            <span data-data>{campaign}</span> ✕
          </Button>
        )}
      </div>
      <Causes items={items} />
      <List<Letter>
        name="dead-letters"
        data={list}
        rowKey={(r) => String(r.id)}
        filtered={state !== 'kept' || Boolean(campaign)}
        clear={() => go('/dead-letters', true)}
        nothing={t('empty.letters')}
        good
        select={
          state === 'kept'
            ? {
                selectedRowKeys: chosen.map(String),
                onChange: (keys) => setChosen(keys.map(Number)),
                getCheckboxProps: (r) => ({ 'aria-label': t('letters.choose', { id: r.id }) }),
                getTitleCheckboxProps: () => ({ 'aria-label': t('letters.choosePage') }),
              }
            : undefined
        }
        columns={[
          { title: t('field.time'), render: (_, r) => <Time at={r.last_at} relative /> },
          { title: t('field.state'), render: (_, r) => <State of={r.state} /> },
          {
            title: t('letters.error'),
            render: (_, r) => (
              <button
                type="button"
                className="plainbutton"
                style={{ maxWidth: 420, textAlign: 'start', whiteSpace: 'normal' }}
                onClick={() => setOpen(String(r.id))}
                data-data
              >
                {r.error}
              </button>
            ),
          },
          { title: t('letters.tries'), align: 'right', dataIndex: 'tries' },
          {
            title: t('field.campaign'),
            render: (_, r) => (
              <button
                type="button"
                className="plainbutton mono"
                onClick={() => setCampaign(r.campaign_id ?? '', 'cursor')}
                data-data
              >
                {r.campaign_id ?? '—'}
              </button>
            ),
          },
          {
            title: t('field.user'),
            render: (_, r) =>
              r.user_id ? (
                <Link to={`/lookup?q=${encodeURIComponent(r.user_id)}`} className="mono" data-data>
                  {r.user_id}
                </Link>
              ) : (
                '—'
              ),
          },
          { title: t('field.quantity'), align: 'right', render: (_, r) => r.quantity ?? '—' },
        ]}
      />
      <Drawer
        open={open !== ''}
        onClose={() => setOpen('')}
        size="large"
        title={
          <>
            {t('nav.letters')}{' '}
            <span className="mono" data-data>
              {open}
            </span>
          </>
        }
        closable={{ 'aria-label': t('act.close') }}
      >
        {open && <Detail id={open} />}
      </Drawer>
    </>
  );
}

/** Gives what asks and then replays or discards. Without rows named, what came later is left alone. */
function useLetterActs() {
  const { t } = useTranslation();
  const n = useCount();
  const { zone } = usePrefs();
  const danger = useDanger();
  return (what: 'replay' | 'discard', which: Which, count: number | undefined, after?: () => void) => {
    const many = count === undefined ? t('letters.allOfThem') : n(count);
    const asOf = which.as_of ? stamp(which.as_of, zone) : '';
    danger({
      tier: what === 'discard' && !which.ids ? 'c' : 'b',
      typed: what === 'discard' && !which.ids ? (count === undefined ? 'discard' : String(count)) : undefined,
      prefix: 'job',
      title: t(`letters.${what}Title`, { n: many }),
      verb: t(`letters.${what}`),
      body: (
        <div className="stack">
          <div>{t(`letters.${what}Body`)}</div>
          {asOf && <div className="note info">{t('letters.asOf', { at: asOf })}</div>}
        </div>
      ),
      act: async (id, reason) => {
        const a =
          need(jobCall) && !which.ids
            ? {
                job: await api('POST /v1/admin/jobs', { body: { id, kind: `dead_letters.${what}`, ...which, reason } }),
              }
            : { run: await api(call[what], { body: { ...which, reason } }) };
        after?.();
        return a;
      },
      done: (a: { job?: Schemas['JobAnswer']; run?: Schemas['DeadLetterRun'] }) =>
        a.job ? (
          <JobRow id={a.job.id} />
        ) : (
          <>
            {t('letters.ran', { done: n(a.run?.done), failed: n(a.run?.failed) })}
            {a.run?.more && ` ${t('letters.more')}`}
          </>
        ),
    });
  };
}

/** The rows of this page by what went wrong. */
function Causes({ items }: { items: Letter[] }) {
  const { t } = useTranslation();
  const n = useCount();
  const groups = new Map<string, { count: number; first: string; last: string }>();
  for (const r of items) {
    const cause = r.error.replace(/\b(clm|ord|req)_\w+|\d+/g, '…');
    const g = groups.get(cause) ?? { count: 0, first: r.first_at, last: r.last_at };
    groups.set(cause, {
      count: g.count + 1,
      first: r.first_at < g.first ? r.first_at : g.first,
      last: r.last_at > g.last ? r.last_at : g.last,
    });
  }
  if (groups.size === 0) return null;
  return (
    <div className="panel" style={{ marginBottom: 12 }}>
      <h2>{t('letters.causes')}</h2>
      <ul className="feed num">
        {[...groups]
          .sort((a, b) => b[1].count - a[1].count)
          .map(([cause, g]) => (
            <li key={cause}>
              <b>{n(g.count)}×</b> <span data-data>{cause}</span>{' '}
              <span className="muted small">
                <Time at={g.first} /> → <Time at={g.last} />
              </span>
            </li>
          ))}
      </ul>
    </div>
  );
}

function Detail({ id }: { id: string }) {
  const { t } = useTranslation();
  const act = useLetterActs();
  const data = useData('GET /v1/admin/dead-letters/{id}', { path: { id } });
  const r = data.data;
  if (!r) return <Fault problem={data.error} again={data.again} />;
  let raw: unknown = r.raw;
  try {
    raw = r.raw ? JSON.parse(r.raw) : undefined;
  } catch {
    // It is shown as it came.
  }
  return (
    <div className="stack">
      <div className="row">
        <State of={r.state} />
        {r.state === 'kept' && (
          <Act call={call.replay} onClick={() => act('replay', { ids: [r.id] }, 1)}>
            {t('letters.replay')}
          </Act>
        )}
        {r.state === 'kept' && (
          <Act call={call.discard} danger onClick={() => act('discard', { ids: [r.id] }, 1)}>
            {t('letters.discard')}
          </Act>
        )}
      </div>
      <div className="note bad" data-data>
        {r.error}
      </div>
      <Facts
        rows={[
          [t('letters.tries'), r.tries],
          [t('letters.first'), <Time key="f" at={r.first_at} ms />],
          [t('letters.last'), <Time key="l" at={r.last_at} ms />],
          [t('field.user'), <Id key="u" id={r.user_id} />],
          [t('field.claim'), <Id key="c" id={r.claim_id} />],
          [t('field.request'), <Id key="r" id={r.request_id} />],
        ]}
      />
      <h2>{t('letters.message')}</h2>
      <Code value={raw ?? '—'} />
    </div>
  );
}
