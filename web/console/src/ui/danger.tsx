import { useQueryClient } from '@tanstack/react-query';
import { Button, Input, type InputRef, Modal } from 'antd';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '../lib/api.ts';
import { refreshAll } from '../lib/data.ts';
import { newId } from '../lib/ids.ts';
import { Fault } from './bits.tsx';

/**
 * Danger describes one act. Tier a stops something: Enter does it. Tiers b and c begin on Cancel; c is typed. The id is
 * made when the dialog opens, and a retry sends it again.
 */
export interface Danger {
  tier: 'a' | 'b' | 'c';
  title: ReactNode; // verb, object, number
  body?: ReactNode; // the effect, with numbers
  verb: string; // what the button says
  reason?: 'required' | 'optional' | 'none';
  initialReason?: string;
  typed?: string; // what has to be typed, for c
  prefix?: string; // of the id
  act: (id: string, reason: string) => Promise<unknown>;
  done?: (answer: never) => ReactNode; // what came of it
  undo?: Undo; // offered for ten seconds once the dialog is closed
}

/** Undo is what a toast says was done, and what takes it back: it asks first where that opens a sale. */
export interface Undo {
  says: ReactNode;
  back: () => void;
}

const Context = createContext<(d: Danger) => void>(() => {});
const ToastContext = createContext<(u: Undo) => void>(() => {});

/** Gives the function that offers an undo for ten seconds. */
export function useUndo(): (u: Undo) => void {
  return useContext(ToastContext);
}

/** Gives the function that opens the dialog. */
export function useDanger(): (d: Danger) => void {
  return useContext(Context);
}

type Phase = { at: 'ask' } | { at: 'sending' } | { at: 'failed'; problem: Problem } | { at: 'done'; says: ReactNode };

export function DangerProvider({ children }: { children: ReactNode }) {
  const [danger, setDanger] = useState<Danger & { id: string }>();
  const [open, setOpen] = useState(false);
  const [toast, setToast] = useState<Undo & { n: number }>();
  const offer = useCallback((u: Undo) => setToast((was) => ({ ...u, n: (was?.n ?? 0) + 1 })), []);
  const ask = useCallback((d: Danger) => {
    setToast(undefined);
    setDanger({ ...d, id: newId(d.prefix ?? 'act') });
    setOpen(true);
  }, []);
  return (
    <Context.Provider value={ask}>
      <ToastContext.Provider value={offer}>{children}</ToastContext.Provider>
      {danger && (
        <Dialog
          key={danger.id}
          danger={danger}
          open={open}
          gone={() => setDanger((d) => (d?.id === danger.id ? undefined : d))}
          close={(done) => {
            setOpen(false);
            if (done && danger.undo) offer(danger.undo);
          }}
        />
      )}
      {toast && <Toast key={toast.n} undo={toast} gone={() => setToast(undefined)} />}
    </Context.Provider>
  );
}

/** How long an undo is offered. The same act stays where the stop was, so nothing is lost when it goes. */
const toastMs = 10_000;

function Toast({ undo, gone }: { undo: Undo; gone: () => void }) {
  const { t } = useTranslation();
  const [held, setHeld] = useState(false); // who is about to press it is not raced
  const leave = useRef(gone);
  leave.current = gone;
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => leave.current(), toastMs);
    return () => clearTimeout(timer);
  }, [held]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: pointing at it only keeps it there
    <div
      className="toast"
      data-toast
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span role="status">{undo.says}</span>
      <Button
        onClick={() => {
          gone();
          undo.back();
        }}
      >
        {t('act.undo')}
      </Button>
      <Button onClick={gone} aria-label={t('act.close')}>
        ✕
      </Button>
    </div>
  );
}

function Dialog({
  danger,
  open,
  gone,
  close,
}: {
  danger: Danger & { id: string };
  open: boolean;
  gone: () => void; // it is out of sight: what it showed stays nowhere, a secret above all
  close: (done: boolean) => void;
}) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [phase, setPhase] = useState<Phase>({ at: 'ask' });
  const [reason, setReason] = useState(danger.initialReason ?? '');
  const [typed, setTyped] = useState('');
  const confirm = useRef<HTMLButtonElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  const reasonBox = useRef<InputRef>(null);
  const wants = danger.reason ?? (danger.tier === 'a' ? 'optional' : 'required');
  const missing = useMemo(() => {
    if (wants === 'required' && !reason.trim()) return t('danger.reasonMissing');
    if (danger.typed && typed.trim() !== danger.typed) return t('danger.typedMissing', { what: danger.typed });
    return '';
  }, [wants, reason, typed, danger.typed, t]);

  const run = async () => {
    if (missing || phase.at === 'sending') return;
    setPhase({ at: 'sending' });
    try {
      const answer = await danger.act(danger.id, reason.trim());
      setPhase({ at: 'done', says: danger.done?.(answer as never) ?? t('danger.done') });
    } catch (e) {
      setPhase({ at: 'failed', problem: e instanceof Problem ? e : new Problem(0, { title: String(e) }, '') });
    }
    void refreshAll(client);
  };
  const finished = phase.at === 'done';
  useLayoutEffect(() => {
    if (finished) cancel.current?.focus();
  }, [finished]);
  return (
    <Modal
      open={open}
      title={danger.title}
      onCancel={phase.at === 'sending' ? undefined : () => close(finished)}
      closable={false}
      mask={{ closable: false }}
      width={540}
      afterOpenChange={(shown) => {
        if (!shown) gone();
        else (danger.tier === 'a' ? confirm : cancel).current?.focus();
      }}
      footer={[
        <Button key="no" ref={cancel} onClick={() => close(finished)} disabled={phase.at === 'sending'}>
          {finished ? t('act.close') : t('act.cancel')}
        </Button>,
        !finished && (
          <Button
            key="yes"
            ref={confirm}
            type="primary"
            danger
            onClick={run}
            loading={phase.at === 'sending'}
            aria-disabled={missing !== ''}
            className={missing ? 'off' : undefined}
            title={missing || undefined}
          >
            {phase.at === 'failed' ? t('danger.again', { verb: danger.verb }) : danger.verb}
          </Button>
        ),
      ]}
    >
      <div className="stack" data-tier={danger.tier}>
        {danger.body && !finished && <div>{danger.body}</div>}
        {!finished && wants !== 'none' && (
          <label>
            <div>{wants === 'required' ? t('danger.reason') : t('danger.reasonOptional')}</div>
            <Input
              ref={reasonBox}
              value={reason}
              maxLength={500}
              onChange={(e) => setReason(e.target.value)}
              onPressEnter={danger.tier === 'a' ? run : undefined}
            />
          </label>
        )}
        {!finished && danger.typed && (
          <label>
            <div>
              {t('danger.type')}{' '}
              <b className="mono" data-data>
                {danger.typed}
              </b>
            </div>
            <Input value={typed} onChange={(e) => setTyped(e.target.value)} autoComplete="off" spellCheck={false} />
          </label>
        )}
        {!finished && danger.tier === 'c' && <div className="note warn">{t('danger.final')}</div>}
        {missing && phase.at === 'ask' && <div className="muted small">{missing}</div>}
        {phase.at === 'failed' && (
          <>
            <Fault problem={phase.problem} />
            {phase.problem.uncertain && <div className="small">{t('danger.sameId')}</div>}
          </>
        )}
        {finished && (
          <div className="note ok" role="status">
            {phase.says}
          </div>
        )}
      </div>
    </Modal>
  );
}

/** Says on how many nodes a switch is in force, and after how long. */
export function InForce({ answer }: { answer: { in_force: number; nodes: number; took_ms: number } }) {
  const { t } = useTranslation();
  const all = answer.in_force >= answer.nodes;
  return (
    <span data-inforce>
      {all ? '✓ ' : '! '}
      {t('danger.inForce', { n: answer.in_force, of: answer.nodes, s: (answer.took_ms / 1000).toFixed(1) })}
    </span>
  );
}
