import { useQueryClient } from '@tanstack/react-query';
import { Button, Modal } from 'antd';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '../lib/api.ts';
import { refreshAll } from '../lib/data.ts';
import { Fault } from './bits.tsx';

interface Props<A> {
  open: boolean;
  title: ReactNode;
  verb: string; // what the button says
  again: string; // what it says after a failure; trying again is harmless
  danger?: boolean;
  missing: string; // what has to be filled in before it can be sent; empty: nothing
  act: () => Promise<A>;
  done: (answer: A) => ReactNode;
  close: () => void;
  sameId?: boolean; // a retry sends the same id, and where an outcome is not known the person is told so
  children: ReactNode; // the form
}

/** The frame of a dialog that has a form of its own: it begins on Cancel, sends once, and says what came of it. */
export function ActDialog<A>(p: Props<A>) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const cancel = useRef<HTMLButtonElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [answer, setAnswer] = useState<A>();
  const run = async () => {
    if (p.missing || busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      setAnswer(await p.act());
    } catch (e) {
      setProblem(e instanceof Problem ? e : new Problem(0, {}, ''));
    } finally {
      setBusy(false);
      void refreshAll(client);
    }
  };
  return (
    <Modal
      open={p.open}
      title={p.title}
      closable={false}
      onCancel={busy ? undefined : p.close}
      mask={{ closable: false }}
      afterOpenChange={(shown) => shown && cancel.current?.focus()}
      footer={[
        <Button key="no" ref={cancel} onClick={p.close} disabled={busy}>
          {answer ? t('act.close') : t('act.cancel')}
        </Button>,
        !answer && (
          <Button
            key="yes"
            type="primary"
            danger={p.danger}
            loading={busy}
            onClick={run}
            aria-disabled={p.missing !== ''}
            className={p.missing ? 'off' : undefined}
            title={p.missing || undefined}
          >
            {problem ? p.again : p.verb}
          </Button>
        ),
      ]}
    >
      {answer ? (
        <div className="note ok" role="status">
          {p.done(answer)}
        </div>
      ) : (
        <div className="stack">
          {p.children}
          <Fault problem={problem} />
          {p.sameId && problem?.uncertain && <div className="small">{t('danger.sameId')}</div>}
        </div>
      )}
    </Modal>
  );
}
