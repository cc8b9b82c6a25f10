import { Input, InputNumber } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { minorDigits, money } from '../lib/money.ts';
import { usePrefs } from '../lib/store.ts';
import { ActDialog } from '../ui/actdialog.tsx';

type Props = { coupon: Schemas['IssuedCoupon']; close: () => void };

/** Redeems a coupon in a merchant's name. It counts once under its reference, so trying again is harmless. */
export function RedeemDialog({ coupon: k, close }: Props) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const campaign = useData('GET /v1/admin/campaigns/{id}', { path: { id: k.campaign_id } }, 'once');
  const terms = campaign.data?.coupon;
  const currency = terms?.currency || 'CNY';
  const digits = minorDigits(currency);
  const only = terms?.merchant_ids?.length === 1 ? (terms.merchant_ids[0] ?? '') : '';
  const [typedMerchant, setMerchant] = useState<string>();
  const [reference, setReference] = useState('');
  const [amount, setAmount] = useState<number | null>(null);
  const [reason, setReason] = useState('');
  const merchant = typedMerchant ?? k.merchant_id ?? only;
  const missing = !merchant.trim() || !reference.trim() || amount === null || !reason.trim();
  return (
    <ActDialog
      open
      close={close}
      title={t('redeem.title', { code: k.code })}
      verb={t('redeem.verb')}
      again={t('danger.again', { verb: t('redeem.verb') })}
      missing={missing ? t('redeem.missing') : ''}
      act={() =>
        api('POST /v1/admin/coupons/{code}/redeem', {
          path: { code: k.code },
          body: {
            merchant_id: merchant.trim(),
            reference: reference.trim(),
            amount_minor: Math.round((amount ?? 0) * 10 ** digits),
            reason: reason.trim(),
          },
        })
      }
      done={(a) => t('redeem.done', { discount: money(a.discount_minor, a.currency, lang) })}
    >
      <div>{t('redeem.body')}</div>
      <label>
        <div>{t('field.merchant')}</div>
        <Input value={merchant} maxLength={64} spellCheck={false} onChange={(e) => setMerchant(e.target.value)} />
      </label>
      <label>
        <div>{t('redeem.reference')}</div>
        <Input value={reference} maxLength={128} spellCheck={false} onChange={(e) => setReference(e.target.value)} />
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
    </ActDialog>
  );
}
