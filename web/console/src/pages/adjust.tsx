import { Input, InputNumber, Segmented } from 'antd';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { newId } from '../lib/ids.ts';
import { ActDialog } from '../ui/actdialog.tsx';
import { useCount } from '../ui/bits.tsx';

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
  const changeId = useRef(newId('chg'));
  const [mode, setMode] = useState<'delta' | 'total'>('delta');
  const [value, setValue] = useState<number | null>(null);
  const [reason, setReason] = useState('');
  const delta = value === null ? 0 : mode === 'delta' ? value : value - c.total;
  return (
    <ActDialog
      open={open}
      close={close}
      title={
        <>
          {t('adjust.title')} <span data-data>{c.title}</span>
        </>
      }
      verb={delta < 0 ? t('adjust.lower', { n: n(-delta) }) : t('adjust.raise', { n: n(delta) })}
      again={t('danger.again', { verb: t('adjust.verb') })}
      danger={delta < 0}
      missing={delta === 0 ? t('adjust.zero') : !reason.trim() ? t('danger.reasonMissing') : ''}
      act={() =>
        api('POST /v1/admin/campaigns/{id}/adjustments', {
          path: { id: c.id },
          body: { change_id: changeId.current, delta, reason: reason.trim() },
        })
      }
      done={(a) =>
        t('adjust.done', { asked: n(a.asked), applied: n(a.applied), total: n(a.total), revision: a.revision })
      }
      sameId
    >
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
    </ActDialog>
  );
}
