/**
 * Buy at a Sluice sale. One click is one request id; an answer that was lost is asked for, never sent as a second claim;
 * nothing is a success before the state `confirmed`.
 */
import { deviceID, randomID, type Store } from "./ids.js";
import { signed } from "./sign.js";
import type { Campaign, CampaignPage, Challenge, Claim, Coupon, Order, Page, Pass, Problem } from "./types.js";

export type * from "./types.js";
export { deviceID, randomID, type Store } from "./ids.js";

/** The part of `fetch` that is used; a mini-program passes its own. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<{ status: number; headers: { get(name: string): string | null }; text(): Promise<string> }>;

export interface Options {
  /** Where the public listener is, without a slash at the end. Default: the page's own origin. */
  baseURL?: string;
  /** The buyer's token, or what gives it; asked at each call. Empty: nobody is signed in. */
  token?: string | (() => string | Promise<string>);
  /** Default: the global fetch. */
  fetch?: Fetch;
  /** Names the device; empty: none is sent. Default: a random id that `store` keeps. */
  device?: string;
  /** Where the device id and passes are kept. Default: localStorage, or memory where there is none. */
  store?: Store;
  /** BCP 47: the language of messages. Default: the browser's own. */
  language?: string;
  /**
   * Solves a challenge; what it gives is sent as the solution. `{ another: "pow" }` asks for one of that kind instead.
   * Without it a challenge is an error.
   */
  solve?: (challenge: Challenge, signal?: AbortSignal) => Promise<unknown>;
  /** A number in [0, 1). Default: Math.random. */
  random?: () => number;
  /** Resolves after so many milliseconds, or rejects when aborted. Default: setTimeout. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** A clock in milliseconds that never jumps. Default: performance.now. */
  mono?: () => number;
}

/** What a claim under way tells. */
export type Progress =
  | { step: "sending" | "checking" | "solving" }
  | { step: "retrying"; claim: Claim; wait_ms: number; retry: number }
  | { step: "slot"; wait_ms: number }
  | { step: "queued"; claim: Claim; since_ms: number };

export interface ClaimOptions {
  /** 1 to 128 bytes. The same id again is the same claim. Default: a random one. Keep it before you call, to resume. */
  requestID?: string;
  /** The id may have been sent before: ask first. */
  resume?: boolean;
  /** 1 to the campaign's limit; default 1. */
  quantity?: number;
  /** Give back a queued claim as it is. */
  noWait?: boolean;
  /** The campaign, where it is known: says whether a pass or a signature is needed. */
  campaign?: Campaign;
  signal?: AbortSignal;
  onProgress?: (p: Progress) => void;
}

/** A call that failed. `uncertain`: it may have been done all the same. `status` 0: there was no answer. */
export class SluiceError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: Partial<Problem>;
  readonly uncertain: boolean;
  readonly retryAfterMS: number;
  constructor(code: string, problem: Partial<Problem>, uncertain: boolean, retryAfterMS = 0) {
    super(problem.detail || problem.title || code);
    this.name = "SluiceError";
    this.code = code;
    this.status = problem.status ?? 0;
    this.problem = problem;
    this.uncertain = uncertain;
    this.retryAfterMS = retryAfterMS;
  }
}

const maxTries = 8; // of BUSY and TOO_FREQUENT, before a person is asked
const maxDoubts = 20; // questions about an outcome that is not known
const pollWait = 10_000;
const soon = 70_000; // a slot or an opening this near is waited for

const backoff = (n: number, first: number, most: number) => Math.min(most, first * 2 ** n);

export class Sluice {
  private readonly o: Required<Pick<Options, "baseURL" | "fetch" | "random" | "sleep" | "mono">> & Options;
  private readonly device: string;
  private readonly passes = new Map<string, Pass & { at: number }>();
  private offset?: number; // of the server's clock to mono
  private rtt = Infinity;

  constructor(options: Options = {}) {
    this.o = {
      ...options,
      baseURL: (options.baseURL ?? "").replace(/\/+$/, ""),
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      random: options.random ?? Math.random,
      sleep: options.sleep ?? sleep,
      mono: options.mono ?? (() => performance.now()),
    };
    this.device = options.device ?? deviceID(options.store);
  }

  /** The server's clock now, in UTC milliseconds; undefined until [[syncTime]] has succeeded once. */
  now(): number | undefined {
    return this.offset === undefined ? undefined : this.offset + this.o.mono();
  }

  /** How far off [[now]] may be, in milliseconds: half the shortest round trip so far. */
  get precision(): number {
    return this.rtt / 2;
  }

  /**
   * Compares clocks: `samples` calls of `GET /v1/time`; of all samples so far the one with the shortest round trip counts.
   * It fails only where every sample failed. After a sleep of the machine call it with `fresh`. A page that waits for a
   * campaign names it, once a minute: operators then see about how many wait.
   */
  async syncTime(samples = 5, fresh = false, signal?: AbortSignal, campaign?: string): Promise<void> {
    if (fresh) this.rtt = Infinity;
    let failed: unknown;
    let ok = false;
    for (let n = 0; n < samples; n++) {
      if (n > 0) await this.o.sleep(100 + this.o.random() * 300, signal);
      try {
        const sent = this.o.mono();
        const { server_time_ms } = await this.call<{ server_time_ms: number }>("GET", `/v1/time${campaign ? `?campaign=${encodeURIComponent(campaign)}` : ""}`, { signal });
        const rtt = this.o.mono() - sent;
        ok = true;
        if (rtt <= this.rtt) {
          this.rtt = rtt;
          this.offset = server_time_ms - (sent + rtt / 2);
        }
      } catch (e) {
        if (signal?.aborted) throw e;
        failed = e;
      }
    }
    if (!ok) throw failed;
  }

  /** The campaigns on show, or one of them. */
  campaigns(cursor = "", signal?: AbortSignal): Promise<CampaignPage> {
    return this.call("GET", `/v1/campaigns${cursor && `?cursor=${encodeURIComponent(cursor)}`}`, { signal });
  }
  campaign(id: string, signal?: AbortSignal): Promise<Campaign> {
    return this.call("GET", `/v1/campaigns/${encodeURIComponent(id)}`, { signal });
  }

  /** The buyer's own orders and coupons, newest first. */
  orders(cursor = "", signal?: AbortSignal): Promise<Page<Order>> {
    return this.call("GET", `/v1/me/orders${cursor && `?cursor=${encodeURIComponent(cursor)}`}`, { signal, mine: true });
  }
  coupons(cursor = "", signal?: AbortSignal): Promise<Page<Coupon>> {
    return this.call("GET", `/v1/me/coupons${cursor && `?cursor=${encodeURIComponent(cursor)}`}`, { signal, mine: true });
  }

  /** Pays an order where the server has the sandbox provider; a shop's own orders are paid at its `pay_url`. Idempotent. */
  pay(orderID: string): Promise<Order> {
    return this.call("POST", `/v1/orders/${encodeURIComponent(orderID)}/pay`, { mine: true });
  }
  /** Cancels an unpaid order: its units go back. Idempotent. */
  cancel(orderID: string): Promise<Order> {
    return this.call("POST", `/v1/orders/${encodeURIComponent(orderID)}/cancel`, { mine: true });
  }

  /** Development only: a token for any name, where the server offers it (`dev_sign_in`). */
  devToken(user: string): Promise<{ token: string; expires_at: string }> {
    return this.call("POST", "/v1/dev/token", { body: { user } });
  }

  /** The caller's claim under a request id; undefined where the server says that there is none. */
  async find(campaign: string, requestID: string, signal?: AbortSignal): Promise<Claim | undefined> {
    const path = `${claims(campaign)}?request_id=${encodeURIComponent(requestID)}`;
    const { items } = await this.call<Page<Claim>>("GET", path, { signal, mine: true });
    if (!Array.isArray(items)) throw new SluiceError("UNREADABLE", {}, true);
    return items[0];
  }

  /**
   * Claims, and waits for the outcome. Refusals are values: look at `code` and `state`. `BUSY`, `TOO_FREQUENT`, an opening
   * or a slot that is near, and answers that were lost are dealt with here, always under the same request id. It rejects
   * with a [[SluiceError]] where the request cannot be right, or (`uncertain`) where the outcome stayed open, and with the
   * signal's reason when aborted.
   */
  async claim(campaign: string, options: ClaimOptions = {}): Promise<Claim> {
    const requestID = options.requestID ?? randomID();
    const tell = options.onProgress ?? (() => {});
    const { signal } = options;
    let doubt = options.resume ?? false;
    let doubts = 0;
    let refused = 0;
    let passes = 0;
    for (;;) {
      try {
        if (doubt) {
          tell({ step: "checking" });
          const known = await this.find(campaign, requestID, signal);
          if (known) return await this.settled(known, options);
          doubt = false;
        }
        const claim = await this.post(campaign, requestID, options);
        if (claim.code === "PASS_REQUIRED" || claim.code === "PASS_INVALID" || claim.code === "SIGNATURE_INVALID") {
          if (passes++ >= 2 || !this.o.solve) return claim;
          tell({ step: "solving" });
          // A pass that came for nothing may not be enough for this buyer: the second one is earned.
          const earned = passes === 2 && claim.code === "PASS_REQUIRED";
          const kind = earned ? ((options.campaign?.protection.challenge as Challenge["type"]) ?? "pow") : undefined;
          await this.pass(campaign, { signal, renew: true, kind });
          continue;
        }
        const wait = this.again(claim, refused);
        if (wait === undefined || refused >= maxTries) return await this.settled(claim, options);
        if (claim.code === "NOT_STARTED") {
          tell({ step: "slot", wait_ms: wait });
        } else {
          refused++;
          tell({ step: "retrying", claim, wait_ms: wait, retry: refused });
        }
        await this.o.sleep(wait, signal);
      } catch (e) {
        if (signal?.aborted || !(e instanceof SluiceError) || !lost(e)) throw e;
        doubt ||= e.uncertain;
        if (++doubts > maxDoubts) throw new SluiceError(e.code, e.problem, doubt);
        tell({ step: "checking" });
        await this.o.sleep(Math.max(e.retryAfterMS, this.o.random() * backoff(doubts, 500, 8000)), signal);
      }
    }
  }

  /** Waits until a queued claim has its outcome, by long poll. Failures are asked about again, for as long as it takes. */
  async wait(claim: Claim, options: Pick<ClaimOptions, "signal" | "onProgress"> = {}): Promise<Claim> {
    const began = this.o.mono();
    for (let early = 0, failed = 0; claim.state === "queued"; ) {
      options.onProgress?.({ step: "queued", claim, since_ms: this.o.mono() - began });
      const asked = this.o.mono();
      try {
        const shown = claim.receipt ? `&receipt=${claim.receipt}` : "";
        const path = `/v1/claims/${encodeURIComponent(claim.claim_id!)}?wait_ms=${pollWait}${shown}`;
        claim = await this.call("GET", path, { signal: options.signal, mine: true, timeout: pollWait + 5000 });
        failed = 0;
      } catch (e) {
        if (options.signal?.aborted || !(e instanceof SluiceError) || !lost(e)) throw e;
        await this.o.sleep(Math.max(e.retryAfterMS, this.o.random() * backoff(failed++, 500, 8000)), options.signal);
        continue;
      }
      if (claim.state !== "queued") break;
      early = this.o.mono() - asked < 1000 ? early + 1 : 0; // something in between cuts long polls
      const pause = claim.retry_after_ms + this.o.random() * 250;
      await this.o.sleep(Math.max(pause, early && backoff(early - 1, 1000, 5000)), options.signal);
    }
    return claim;
  }

  /**
   * Gets a pass, which may be earned from ten minutes before the start, and keeps it for [[claim]]. A challenge goes to
   * `solve`. With `kind` another challenge is asked for: `pow` needs no eyes and no hands.
   */
  async pass(
    campaign: string,
    options: { kind?: Challenge["type"]; renew?: boolean; signal?: AbortSignal } = {},
  ): Promise<Pass> {
    const kept = this.passes.get(campaign);
    if (kept && !options.renew && kept.valid_until_ms > (this.now() ?? Date.now())) return kept;
    const path = `/v1/campaigns/${encodeURIComponent(campaign)}/passes`;
    let body: Record<string, unknown> = options.kind ? { challenge: options.kind } : {};
    for (let tries = 0; ; tries++) {
      let got: Partial<Pass> & { challenge?: Challenge };
      try {
        got = await this.call("POST", path, { body, signal: options.signal, mine: true });
      } catch (e) {
        if (!(e instanceof SluiceError) || tries >= maxTries || options.signal?.aborted) throw e;
        const again = e.code === "CHALLENGE_FAILED" || e.code === "CHALLENGE_GONE";
        if (!again && !lost(e)) throw e;
        if (again) body = options.kind ? { challenge: options.kind } : {};
        else await this.o.sleep(Math.max(e.retryAfterMS, this.o.random() * backoff(tries, 500, 8000)), options.signal);
        continue;
      }
      if (got.pass) {
        const pass = { ...(got as Pass), at: this.o.mono() };
        this.passes.set(campaign, pass);
        return pass;
      }
      if (!got.challenge || !this.o.solve) throw new SluiceError("PASS_REQUIRED", {}, false);
      const solution = await this.o.solve(got.challenge, options.signal);
      const another = (solution as { another?: Challenge["type"] } | null)?.another;
      body = another ? { challenge: another } : { challenge_id: got.challenge.id, solution };
    }
  }

  private async settled(claim: Claim, options: ClaimOptions): Promise<Claim> {
    return claim.state === "queued" && !options.noWait ? this.wait(claim, options) : claim;
  }

  /** The pause before the same claim is sent again; undefined where it is not. */
  private again(claim: Claim, n: number): number | undefined {
    if (claim.code === "BUSY" || claim.code === "TOO_FREQUENT") {
      return Math.max(claim.retry_after_ms, backoff(n, 250, 5000)) * (1 + this.o.random() / 2);
    }
    const left = claim.starts_in_ms ?? 0;
    if (claim.code === "NOT_STARTED" && left > 0 && left <= soon) return left + this.o.random() * 50;
    return undefined;
  }

  private async post(campaign: string, requestID: string, options: ClaimOptions): Promise<Claim> {
    options.onProgress?.({ step: "sending" });
    const held = this.passes.get(campaign);
    const body: Record<string, unknown> = { request_id: requestID };
    if (options.quantity) body.quantity = options.quantity;
    if (held) body.pass = held.pass;
    const key = options.campaign?.protection.signature === false ? undefined : held?.signing_key;
    const claim = await this.call<Claim>("POST", claims(campaign), {
      body, signal: options.signal, mine: true, key, decision: true,
    });
    if (claim.code === "UNAVAILABLE" || !claim.code) throw new SluiceError("UNAVAILABLE", { status: 503 }, true);
    return claim;
  }

  /** One call. Everything that is no answer of Sluice is a SluiceError. */
  private async call<T>(
    method: string,
    path: string,
    c: { body?: object; signal?: AbortSignal; mine?: boolean; key?: string; decision?: boolean; timeout?: number } = {},
  ): Promise<T> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (this.o.language) headers["Accept-Language"] = this.o.language;
    const token = c.mine && (typeof this.o.token === "function" ? await this.o.token() : this.o.token);
    if (token) headers.Authorization = `Bearer ${token}`;
    if (c.mine && this.device) headers["X-Device-Id"] = this.device;
    const body = c.body && JSON.stringify(c.body);
    if (body) headers["Content-Type"] = "application/json";
    if (c.key) {
      const at = Math.round(this.now() ?? Date.now());
      Object.assign(headers, await signed(c.key, method, path, body ?? "", at));
    }
    const { signal, done } = limit(c.signal, c.timeout ?? 8000);
    let status: number, text: string, type: string, after: number;
    try {
      const r = await this.o.fetch(this.o.baseURL + path, { method, headers, body, signal });
      status = r.status;
      type = r.headers.get("content-type") ?? "";
      after = Number(r.headers.get("retry-after")) * 1000 || 0;
      text = await r.text();
    } catch (e) {
      if (c.signal?.aborted) throw c.signal.reason ?? e;
      throw new SluiceError("NETWORK", { title: String(e) }, true);
    } finally {
      done();
    }
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      throw new SluiceError("UNREADABLE", { status }, status < 400 || status >= 500, after);
    }
    if (status < 300) return parsed as T;
    const p = parsed as Problem;
    after = p.retry_after_ms ?? after;
    // A server may be set to give refusals an HTTP status of their own.
    if (c.decision && status < 500 && /^application\/json/.test(type) && p.code) return parsed as T;
    throw new SluiceError(p.code || "HTTP_" + status, { ...p, status }, status >= 500 || status === 408, after);
  }
}

const claims = (campaign: string) => `/v1/campaigns/${encodeURIComponent(campaign)}/claims`;

/** Whether asking again may help: no answer, the server's trouble, or one that is nobody's of Sluice. */
function lost(e: SluiceError): boolean {
  return e.uncertain || e.status >= 500 || e.status === 429 || e.status === 408;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    if (signal?.aborted) return fail(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      fail(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A signal that follows `outer` and fires by itself after `ms`. */
function limit(outer: AbortSignal | undefined, ms: number): { signal?: AbortSignal; done: () => void } {
  if (typeof AbortController === "undefined") return { done: () => {} }; // some mini-programs
  const c = new AbortController();
  const stop = () => c.abort(outer!.reason);
  if (outer?.aborted) stop();
  outer?.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => c.abort(new Error("timed out")), ms);
  return {
    signal: c.signal,
    done: () => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", stop);
    },
  };
}
