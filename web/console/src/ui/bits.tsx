import { Button, type ButtonProps, Tooltip } from 'antd';
import type { ReactNode } from 'react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { need, type Problem } from '../lib/api.ts';
import { selectAll } from '../lib/copy.ts';
import type { Data } from '../lib/data.ts';
import { count } from '../lib/money.ts';
import { lack, lackText } from '../lib/rights.ts';
import { age, otherStaleMs } from '../lib/stale.ts';
import { useNow, usePrefs } from '../lib/store.ts';
import { millis, span, stamp } from '../lib/times.ts';
import { useSession } from '../session.tsx';
import { useCopy } from './copy.tsx';

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'plain';

/** The words that lengths of time are told in. */
export function useSpan(): (ms: number | undefined) => string {
  const { t } = useTranslation();
  return (ms) => span(ms, { d: t('unit.d'), h: t('unit.h'), m: t('unit.m'), s: t('unit.s') });
}

/** Gives numbers as people of this language read them. */
export function useCount(): (n: number | undefined | null) => string {
  const { lang } = usePrefs();
  return (n) => count(n, lang);
}

/** Tag is a state: colour, sign and word, so that it reads in grey too. */
export function Tag({ tone, children }: { tone: Tone; children: ReactNode }) {
  const sign = { ok: '✓', warn: '!', bad: '✗', info: '●', plain: '○' }[tone];
  return (
    <span className={`tag ${tone}`}>
      <span aria-hidden="true">{sign}</span>
      {children}
    </span>
  );
}

/** A moment with its offset; relative beside it where asked for. */
export function Time({
  at,
  relative,
  ms,
}: {
  at: string | number | undefined | null;
  relative?: boolean;
  ms?: boolean;
}) {
  const { zone } = usePrefs();
  const { t } = useTranslation();
  const spell = useSpan();
  const now = useNow(relative ?? false);
  const m = millis(at);
  if (m === undefined) return <span>—</span>;
  const d = m - now;
  return (
    <span className="nowrap">
      <time dateTime={new Date(m).toISOString()}>{stamp(m, zone, ms)}</time>
      {relative && (
        <span className="muted">
          {' '}
          · {d > 0 ? t('time.in', { span: spell(d) }) : t('time.ago', { span: spell(-d) })}
        </span>
      )}
    </span>
  );
}

/** An id in monospace, copied by one click. It is data, in no language. */
export function Id({ id, children }: { id: string | undefined; children?: ReactNode }) {
  const { t } = useTranslation();
  const [copied, copy] = useCopy();
  const text = useRef<HTMLSpanElement>(null);
  if (!id) return <span>—</span>;
  const press = async () => {
    if ((await copy(id)) === 'byHand') selectAll(text.current);
  };
  return (
    <span className="nowrap">
      <span className="mono" data-data ref={text}>
        {children ?? id}
      </span>
      <button type="button" className="copy" onClick={press} aria-label={t('act.copyOf', { what: id })} data-copy>
        {copied === 'done' ? (
          '✓'
        ) : (
          <svg
            width="13"
            height="13"
            viewBox="0 0 16 16"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.6"
            aria-hidden="true"
          >
            <rect x="5.5" y="5.5" width="9" height="9" rx="1.5" />
            <path d="M10.5 3V2.5a1 1 0 0 0-1-1h-7a1 1 0 0 0-1 1v7a1 1 0 0 0 1 1H3" />
          </svg>
        )}
      </button>
      {copied && (
        <span role="status" className={copied === 'done' ? 'sr' : 'small'} data-copied={copied}>
          {copied === 'done' ? t('copy.done') : t('copy.selected')}
        </span>
      )}
    </span>
  );
}

/** Says how old data is, and greys it when it is too old. */
export function DataAge({ at, limit = otherStaleMs }: { at: number; limit?: number }) {
  const { t } = useTranslation();
  const spell = useSpan();
  const a = age(at, Math.max(useNow(), at), limit);
  return (
    <span className="muted small num" data-stale={a.stale}>
      {a.ms === undefined ? t('age.none') : t(a.stale ? 'age.old' : 'age.fresh', { span: spell(a.ms) })}
    </span>
  );
}

/** What failed, in the server's words, with the request id and a way to try again. */
export function Fault({ problem, again }: { problem: Problem | undefined; again?: () => void }) {
  const { t } = useTranslation();
  if (!problem) return null;
  return (
    <div className="note bad" role="alert">
      <b>{problem.status === 0 ? t('fault.noAnswer') : <span data-data>{problem.message}</span>}</b>
      {problem.detail && <div data-data>{problem.detail}</div>}
      {problem.errors.map((e) => (
        <div key={e.field} data-data>
          <code>{e.field}</code>: {e.detail}
        </div>
      ))}
      <div className="row small">
        {problem.requestId && (
          <span>
            {t('fault.request')} <Id id={problem.requestId} />
          </span>
        )}
        {again && (
          <button type="button" className="plainbutton" onClick={again}>
            {t('act.retry')}
          </button>
        )}
      </div>
    </div>
  );
}

/** A thin bar while a later answer is awaited; never a spinner over the page. */
export function Busy({ on }: { on: boolean }) {
  return <div className={on ? 'busy on' : 'busy'} aria-hidden="true" />;
}

/** A page's head: title, age of the data, what can be done. */
export function Head({ title, data, children }: { title: ReactNode; data?: Data<unknown>; children?: ReactNode }) {
  return (
    <>
      <div className="head">
        <h1>{title}</h1>
        {data && <DataAge at={data.at} />}
        {children && <div className="acts">{children}</div>}
      </div>
      {data && <Busy on={data.busy && !data.loading} />}
      {data?.error && (
        <div style={{ marginBottom: 12 }}>
          <Fault problem={data.error} again={data.again} />
        </div>
      )}
    </>
  );
}

/** A button for a call: visible to everybody, and where role or scope lack the right disabled with the reason. */
export function Act({ call, why, ...rest }: { call: string; why?: string } & ButtonProps) {
  const { t } = useTranslation();
  const { session } = useSession();
  if (need(call) === undefined) return null; // this version has no such call
  const l = lack(session, call);
  const reason = l ? lackText(t, session, l) : why;
  if (!reason) return <Button {...rest} />;
  return (
    <Tooltip title={reason}>
      <Button {...rest} onClick={undefined} aria-disabled="true" className="off" data-why={reason}>
        {rest.children}
        <span className="sr">, {reason}</span>
      </Button>
    </Tooltip>
  );
}

/** What there is to say of one thing. */
export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return <dl className="facts">{rows.map(([k, v]) => [<dt key={`t${k}`}>{k}</dt>, <dd key={`d${k}`}>{v}</dd>])}</dl>;
}

/** A stack bar of a campaign's units. */
export function StockBar({
  c,
}: {
  c: { total: number; sold: number; held: number; queued: number; available: number };
}) {
  const { t } = useTranslation();
  const n = useCount();
  const w = (x: number) => ({ width: `${c.total ? (100 * x) / c.total : 0}%` });
  const says = `${t('stock.sold')} ${n(c.sold)}, ${t('stock.held')} ${n(c.held)}, ${t('stock.queued')} ${n(c.queued)}, ${t('stock.available')} ${n(c.available)}`;
  return (
    <div className="bar" role="img" aria-label={says} title={says}>
      <i className="s" style={w(c.sold)} />
      <i className="h" style={w(c.held)} />
      <i className="q" style={w(c.queued)} />
    </div>
  );
}

/** JSON as a person reads it. */
export function Code({ value }: { value: unknown }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to take the keyboard
    <pre className="code" data-data tabIndex={0}>
      {typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
    </pre>
  );
}

const stateTones: Record<string, Tone> = {
  draft: 'plain',
  scheduled: 'info',
  live: 'ok',
  paused: 'warn',
  frozen: 'bad',
  sold_out: 'info',
  ended: 'plain',
  unpaid: 'warn',
  paid: 'ok',
  closed: 'plain',
  refunded: 'info',
  issued: 'ok',
  locked: 'warn',
  redeemed: 'info',
  expired: 'plain',
  revoked: 'bad',
  queued: 'warn',
  confirmed: 'ok',
  rejected: 'bad',
  released: 'plain',
  kept: 'warn',
  replayed: 'ok',
  discarded: 'bad',
  applied: 'ok',
  refund_due: 'bad',
  ignored: 'plain',
  mismatch: 'bad',
  unknown_order: 'bad',
  waiting: 'info',
  running: 'info',
  done: 'ok',
  failed: 'bad',
  cancelled: 'plain',
};

/** The state of a campaign, an order, a coupon … */
export function State({ of }: { of: string | undefined }) {
  const { t } = useTranslation();
  if (!of) return <span>—</span>;
  return <Tag tone={stateTones[of] ?? 'plain'}>{t(`state.${of}`)}</Tag>;
}
