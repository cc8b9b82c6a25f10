import { useQueryClient } from '@tanstack/react-query';
import { Button, Input, InputNumber, Modal } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, Problem, type Schemas } from '../lib/api.ts';
import { refreshAll, useData } from '../lib/data.ts';
import { minorDigits, money } from '../lib/money.ts';
import { usePrefs } from '../lib/store.ts';
import { Fault } from '../ui/bits.tsx';

type Props = { coupon: Schemas['IssuedCoupon']; close: () => void };

/** Redeems a coupon in a merchant's name. It counts once under its reference, so trying again is harmless. */
export function RedeemDialog({ coupon: k, close }: Props) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const client = useQueryClient();
  const campaign = useData('GET /v1/admin/campaigns/{id}', { path: { id: k.campaign_id } }, 'once');
  const terms = campaign.data?.coupon;
  const currency = terms?.currency || 'CNY';
  const digits = minorDigits(currency);
  const only = terms?.merchant_ids?.length === 1 ? (terms.merchant_ids[0] ?? '') : '';
  const cancel = useRef<HTMLButtonElement>(null);
  const [typedMerchant, setMerchant] = useState<string>();
  const [reference, setReference] = useState('');
  const [amount, setAmount] = useState<number | null>(null);
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [answer, setAnswer] = useState<Schemas['RedemptionBody']>();
  const merchant = typedMerchant ?? k.merchant_id ?? only;
  const missing = !merchant.trim() || !reference.trim() || amount === null || !reason.trim();
  const run = async () => {
    if (missing || busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      setAnswer(
        await api('POST /v1/admin/coupons/{code}/redeem', {
          path: { code: k.code },
          body: {
            merchant_id: merchant.trim(),
            reference: reference.trim(),
            amount_minor: Math.round(amount * 10 ** digits),
            reason: reason.trim(),
          },
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
      open
      title={t('redeem.title', { code: k.code })}
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
            loading={busy}
            onClick={run}
            aria-disabled={missing}
            className={missing ? 'off' : undefined}
            title={missing ? t('redeem.missing') : undefined}
          >
            {problem ? t('danger.again', { verb: t('redeem.verb') }) : t('redeem.verb')}
          </Button>
        ),
      ]}
    >
      {answer ? (
        <div className="note ok" role="status">
          {t('redeem.done', { discount: money(answer.discount_minor, answer.currency, lang) })}
        </div>
      ) : (
        <div className="stack">
          <div>{t('redeem.body')}</div>
          <label>
            <div>{t('field.merchant')}</div>
            <Input value={merchant} maxLength={64} spellCheck={false} onChange={(e) => setMerchant(e.target.value)} />
          </label>
          <label>
            <div>{t('redeem.reference')}</div>
            <Input
              value={reference}
              maxLength={128}
              spellCheck={false}
              onChange={(e) => setReference(e.target.value)}
            />
          </label>
          <label>
            <div>
              {t('redeem.amount')} (<span data-data>{currency}</span>)
            </div>
            <InputNumber min={0} precision={digits} value={amount} onChange={setAmount} style={{ width: '100%' }} />
          </label>
          <label>
            <div>{t('danger.reason')}</div>
            <Input value={reason} maxLength={500} onChange={(e) => setReason(e.target.value)} />
          </label>
          <Fault problem={problem} />
        </div>
      )}
    </Modal>
  );
}
