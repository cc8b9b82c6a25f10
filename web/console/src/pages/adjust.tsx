import { useQueryClient } from '@tanstack/react-query';
import { Button, Input, InputNumber, Modal, Segmented } from 'antd';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, Problem, type Schemas } from '../lib/api.ts';
import { refreshAll } from '../lib/data.ts';
import { newId } from '../lib/ids.ts';
import { Fault, useCount } from '../ui/bits.tsx';

type Props = { campaign: Schemas['AdminCampaign']; open: boolean; close: () => void };

/** Changes the total. The change id is made when the dialog opens; a retry sends it again, so it counts once. */
export function AdjustDialog(p: Props) {
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (p.open) setRound((n) => n + 1);
  }, [p.open]);
  return <Dialog key={round} {...p} />;
}

function Dialog({ campaign: c, open, close }: Props) {
  const { t } = useTranslation();
  const n = useCount();
  const client = useQueryClient();
  const changeId = useRef(newId('chg'));
  const cancel = useRef<HTMLButtonElement>(null);
  const [mode, setMode] = useState<'delta' | 'total'>('delta');
  const [value, setValue] = useState<number | null>(null);
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [answer, setAnswer] = useState<Schemas['AdjustmentAnswer']>();
  const delta = value === null ? 0 : mode === 'delta' ? value : value - c.total;
  const missing = delta === 0 ? t('adjust.zero') : !reason.trim() ? t('danger.reasonMissing') : '';
  const run = async () => {
    if (missing || busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      setAnswer(
        await api('POST /v1/admin/campaigns/{id}/adjustments', {
          path: { id: c.id },
          body: { change_id: changeId.current, delta, reason: reason.trim() },
        }),
      );
    } catch (e) {
      setProblem(e instanceof Problem ? e : new Problem(0, {}, ''));
    } finally {
      setBusy(false);
      void refreshAll(client);
    }
  };
  return (
    <Modal
      open={open}
      title={
        <>
          {t('adjust.title')} <span data-data>{c.title}</span>
        </>
      }
      closable={false}
      onCancel={busy ? undefined : close}
      mask={{ closable: false }}
      afterOpenChange={(shown) => shown && cancel.current?.focus()}
      footer={[
        <Button key="no" ref={cancel} onClick={close} disabled={busy}>
          {answer ? t('act.close') : t('act.cancel')}
        </Button>,
        !answer && (
          <Button
            key="yes"
            type="primary"
            danger={delta < 0}
            loading={busy}
            onClick={run}
            aria-disabled={missing !== ''}
            className={missing ? 'off' : undefined}
            title={missing || undefined}
          >
            {problem
              ? t('danger.again', { verb: t('adjust.verb') })
              : delta < 0
                ? t('adjust.lower', { n: n(-delta) })
                : t('adjust.raise', { n: n(delta) })}
          </Button>
        ),
      ]}
    >
      {answer ? (
        <div className="note ok" role="status">
          {t('adjust.done', {
            asked: n(answer.asked),
            applied: n(answer.applied),
            total: n(answer.total),
            revision: answer.revision,
          })}
        </div>
      ) : (
        <div className="stack">
          <Segmented
            value={mode}
            onChange={(v) => {
              setMode(v as 'delta' | 'total');
              setValue(null);
            }}
            options={[
              { value: 'delta', label: t('adjust.byDelta') },
              { value: 'total', label: t('adjust.byTotal') },
            ]}
          />
          <label>
            <div>{mode === 'delta' ? t('adjust.delta') : t('adjust.total')}</div>
            <InputNumber
              value={value}
              onChange={setValue}
              precision={0}
              min={mode === 'total' ? 0 : undefined}
              style={{ width: '100%' }}
            />
          </label>
          <div className="note num" data-preview>
            {t('adjust.preview', { before: n(c.total), after: n(c.total + delta), available: n(c.available + delta) })}
          </div>
          {delta < 0 && c.available + delta < 0 && (
            <div className="note warn">{t('adjust.less', { n: n(c.available) })}</div>
          )}
          <label>
            <div>{t('danger.reason')}</div>
            <Input value={reason} maxLength={500} onChange={(e) => setReason(e.target.value)} />
          </label>
          <Fault problem={problem} />
          {problem?.uncertain && <div className="small">{t('danger.sameId')}</div>}
        </div>
      )}
    </Modal>
  );
}
