import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { money } from '../lib/money.ts';
import { usePrefs } from '../lib/store.ts';
import { stamp } from '../lib/times.ts';
import { useCount } from '../ui/bits.tsx';

/** The parts of a campaign that the sentence reads back. */
export type Told = Partial<
  Pick<
    Schemas['AdminCampaign'],
    'kind' | 'total' | 'per_user_limit' | 'starts_at' | 'ends_at' | 'goods' | 'coupon' | 'protection'
  >
>;

/** Reads a campaign back as one plain sentence. */
export function Sentence({ c }: { c: Told }) {
  const { t } = useTranslation();
  const { lang, zone } = usePrefs();
  const n = useCount();
  const parts = [
    t(c.kind === 'coupon' ? 'sentence.coupons' : 'sentence.goods', { n: n(c.total), limit: c.per_user_limit ?? '—' }),
    t('sentence.opens', { at: stamp(c.starts_at, zone) }),
    t('sentence.ends', { at: stamp(c.ends_at, zone) }),
  ];
  if (c.goods && c.kind === 'goods') {
    parts.push(
      c.goods.price_minor === 0
        ? t('sentence.free')
        : t('sentence.price', {
            price: money(c.goods.price_minor, c.goods.currency, lang),
            minutes: Math.round(c.goods.unpaid_window_s / 6) / 10,
          }),
    );
  }
  if (c.coupon && c.kind === 'coupon') {
    const k = c.coupon;
    const what =
      k.type === 'exchange'
        ? t('sentence.exchange')
        : k.type === 'percent_off'
          ? t('sentence.percent', { n: k.value })
          : t('sentence.amount', { n: money(k.value, k.currency, lang) });
    parts.push(
      what,
      k.valid_days
        ? t('sentence.validDays', { n: k.valid_days })
        : t('sentence.validUntil', { at: stamp(k.valid_until, zone) }),
    );
  }
  if (c.protection?.pass === 'always') parts.push(t('sentence.pass'));
  return (
    <span data-sentence>
      {parts.join(t('sentence.comma'))}
      {t('sentence.stop')}
    </span>
  );
}
