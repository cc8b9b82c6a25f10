import type { Dayjs } from 'dayjs';
import dayjs from 'dayjs';
import type { Schemas } from '../lib/api.ts';
import { minorDigits } from '../lib/money.ts';

/** Values are what the form holds: money in whole units, the window as two moments. */
export interface Values {
  kind: 'goods' | 'coupon';
  title: string;
  id: string;
  image_url: string;
  currency: string;
  sku: string;
  price: number | null;
  limit_back: boolean;
  type: 'amount_off' | 'percent_off' | 'exchange';
  value: number | null;
  min_spend: number | null;
  merchants: string[];
  window: [Dayjs, Dayjs] | null;
  unpaid_window_s: number | null;
  valid_days: number | null;
  total: number | null;
  per_user_limit: number | null;
  limit_group: string;
  pass: 'off' | 'adaptive' | 'always';
  challenge: string;
  per_user_rate: number | null;
  max_rate: number | null;
  spread_s: number | null;
  signature: boolean;
}

/** Gives what the form begins with: a campaign's own values, or those of a new one. */
export function toValues(c: Schemas['AdminCampaign'] | undefined, now: Dayjs): Values {
  const currency = c?.goods?.currency ?? c?.coupon?.currency ?? 'CNY';
  const unit = 10 ** minorDigits(currency);
  const start = now.add(1, 'hour').startOf('hour');
  const k = c?.coupon;
  return {
    kind: c?.kind ?? 'goods',
    title: c?.title ?? '',
    id: '',
    image_url: c?.image_url ?? '',
    currency,
    sku: c?.goods?.sku ?? '',
    price: c?.goods ? c.goods.price_minor / unit : null,
    limit_back: c?.goods?.limit_back_on_close ?? true,
    type: k?.type ?? 'amount_off',
    value: k ? (k.type === 'percent_off' ? k.value : k.value / unit) : null,
    min_spend: k ? k.min_spend_minor / unit : null,
    merchants: (k?.merchant_ids ?? []) as string[],
    window: c ? [dayjs(c.starts_at), dayjs(c.ends_at)] : [start, start.add(2, 'hour')],
    unpaid_window_s: c?.goods?.unpaid_window_s ?? 900,
    valid_days: k?.valid_days ?? 7,
    total: c?.total ?? null,
    per_user_limit: c?.per_user_limit ?? 1,
    limit_group: c?.limit_group ?? '',
    pass: c?.protection.pass ?? 'adaptive',
    challenge: c?.protection.challenge ?? '',
    per_user_rate: c?.protection.per_user_rate ?? null,
    max_rate: c?.protection.max_rate ?? null,
    spread_s: c?.protection.spread_s ?? null,
    signature: c?.protection.signature ?? false,
  };
}

/** Gives the call's body. For a campaign that is there, only what differs from it. */
export function toBody(
  v: Values,
  have: Schemas['AdminCampaign'] | undefined,
): Schemas['CampaignBody'] | Schemas['CampaignPatchBody'] {
  const unit = 10 ** minorDigits(v.currency);
  const minor = (n: number | null) => (n === null ? undefined : Math.round(n * unit));
  const body: Schemas['CampaignBody'] = {
    kind: v.kind,
    title: v.title.trim(),
    total: v.total ?? undefined,
    per_user_limit: v.per_user_limit ?? undefined,
    starts_at: v.window?.[0]?.toISOString(),
    ends_at: v.window?.[1]?.toISOString(),
    image_url: v.image_url.trim() || undefined,
    protection: {
      pass: v.pass,
      challenge: v.pass !== 'off' && v.challenge ? v.challenge : undefined,
      per_user_rate: v.per_user_rate ?? undefined,
      max_rate: v.max_rate ?? undefined,
      spread_s: v.spread_s ?? undefined,
      signature: v.signature || undefined,
    },
  };
  if (v.kind === 'goods') {
    body.goods = {
      sku: v.sku.trim(),
      price_minor: minor(v.price),
      currency: v.currency,
      unpaid_window_s: v.unpaid_window_s ?? undefined,
      limit_back_on_close: v.limit_back,
    };
  } else {
    const value = v.type === 'exchange' ? 0 : v.type === 'percent_off' ? (v.value ?? undefined) : minor(v.value);
    body.coupon = {
      type: v.type,
      value,
      min_spend_minor: minor(v.min_spend),
      currency: v.currency,
      valid_days: v.valid_days ?? undefined,
      merchant_ids: v.merchants.length ? v.merchants : undefined,
    };
  }
  if (!have) return { ...body, id: v.id.trim() || undefined, limit_group: v.limit_group.trim() || undefined };
  return changed(body, toBody(toValues(have, dayjs()), undefined) as Schemas['CampaignBody']);
}

/** The fields of `now` that are not as they were. */
function changed(now: Schemas['CampaignBody'], was: Schemas['CampaignBody']): Schemas['CampaignPatchBody'] {
  const out: Record<string, unknown> = {};
  for (const [k, v] of Object.entries(now)) {
    if (k !== 'kind' && JSON.stringify(v) !== JSON.stringify(was[k as keyof typeof was])) out[k] = v;
  }
  return out as Schemas['CampaignPatchBody'];
}

const names: Record<string, string> = {
  starts_at: 'window',
  ends_at: 'window',
  price_minor: 'price',
  min_spend_minor: 'min_spend',
  merchant_ids: 'merchants',
  limit_back_on_close: 'limit_back',
};

/** Gives the form's field that a fault of the server is about: goods.price_minor is the price. */
export function fieldOf(at: string): string {
  const last =
    at
      .replace(/^body\./, '')
      .split(/[.[]/)
      .filter((p) => !/^\d+\]?$/.test(p))
      .at(-1) ?? '';
  return names[last] ?? last;
}
