/** What the server answers. Times are RFC 3339 unless the name ends in `_ms` (UTC milliseconds, or a duration in them). */

/** The code of a decision: `CONFIRMED`, `QUEUED`, or the reason of a refusal such as `SOLD_OUT`. */
export type Code = string;

/** A claim, or why there is none. */
export interface Claim {
  code: Code;
  message: string;
  campaign_id: string;
  /** Absent where no claim came to be. */
  claim_id?: string;
  state?: "queued" | "confirmed" | "rejected" | "released";
  close_reason?: "expired" | "cancelled";
  quantity?: number;
  order_id?: string;
  coupon_code?: string;
  coupon_codes?: string[];
  /** With `QUEUED`: shown when asking, so that a claim which is lost is told so. */
  receipt?: string;
  replayed: boolean;
  retry_after_ms: number;
  /** With `QUEUED`: what others wait at present; 0 where that is not known. */
  typical_ms: number;
  /** With `NOT_STARTED`: until the opening, or until the buyer's own slot. */
  starts_in_ms?: number;
  /** With `BLOCKED`: what support can look up. */
  reference?: string;
  server_time_ms: number;
  /** With `LIMIT_REACHED`: the claims that take up the limit. */
  claims?: string[];
}

/** A campaign as buyers see it. */
export interface Campaign {
  id: string;
  kind: "goods" | "coupon";
  title: string;
  image_url?: string;
  state: "scheduled" | "live" | "paused" | "closed" | "sold_out" | "ended";
  total: number;
  available: number;
  per_user_limit: number;
  starts_at: string;
  ends_at: string;
  goods?: { sku: string; price_minor: number; currency: string; unpaid_window_s: number };
  coupon?: {
    type: "amount_off" | "percent_off" | "exchange";
    value: number;
    min_spend_minor: number;
    currency?: string;
    max_discount_minor?: number;
    valid_days?: number;
    valid_from?: string;
    valid_until?: string;
  };
  protection: {
    pass: "off" | "adaptive" | "always";
    challenge?: string;
    signature?: boolean;
    spread_s?: number;
    /** SHA-256 of the seed of all slots, in hex, before the opening. */
    spread_seed_hash?: string;
    /** The seed itself, once nobody's slot is still to come. */
    spread_seed?: string;
  };
  sold_out_at?: string;
  may_return: number;
  next_release_at?: string;
  login_url?: string;
  pay_url?: string;
  /** Orders are paid by asking: no money moves. */
  sandbox?: boolean;
  /** Development: any name signs in. */
  dev_sign_in?: boolean;
}

/** An order in the wallet. Amounts are in minor units of the currency. */
export interface Order {
  id: string;
  claim_id: string;
  campaign_id: string;
  quantity: number;
  amount_minor: number;
  currency: string;
  state: "unpaid" | "paid" | "closed" | "refunded";
  close_reason?: "expired" | "cancelled";
  refund_due: boolean;
  refunded_at?: string;
  expires_at: string;
  created_at: string;
}

/** A coupon in the wallet. */
export interface Coupon {
  code: string;
  claim_id: string;
  campaign_id: string;
  state: "issued" | "locked" | "redeemed" | "expired" | "revoked";
  valid_from: string;
  valid_until: string;
  created_at: string;
}

/** A page of a list; ask again with `next_cursor` where it is there. */
export interface Page<T> {
  items: T[];
  next_cursor?: string;
}

/** A page of campaigns, and what the shop has set. */
export interface CampaignPage extends Page<Campaign>, Pick<Campaign, "login_url" | "pay_url" | "sandbox" | "dev_sign_in"> {}

/** Something to be solved before a pass is given. */
export interface Challenge {
  id: string;
  type: "pow" | "slider" | "image" | "siteverify";
  data: Record<string, unknown>;
  expires_at_ms?: number;
}

/** A permission to claim. It serves one buyer, on one device, for one campaign. */
export interface Pass {
  pass: string;
  valid_until_ms: number;
  /** The buyer's own slot, from now. */
  starts_in_ms?: number;
  signing_key?: string;
}

/** The body of a problem (RFC 9457). */
export interface Problem {
  status: number;
  code: string;
  title?: string;
  detail?: string;
  errors?: { field: string; detail: string }[];
  request_id?: string;
  retry_after_ms?: number;
}
