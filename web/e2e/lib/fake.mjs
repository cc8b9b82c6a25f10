// The real page with an API that a test plays: what it answers, when, and what it was asked.
import { pageIn } from './browser.mjs';

export const token = (user) => `e30.${Buffer.from(JSON.stringify({ sub: user })).toString('base64url')}.x`;
export const hang = Symbol('no answer for now');
export const cut = Symbol('the connection breaks');
const iso = (at) => new Date(at).toISOString();

export class Fake {
  /** `over` replaces fields of the campaign; times are in ms from now. */
  constructor({ opensIn = -5000, endsIn = Math.max(opensIn, 0) + 3_600_000, skew = 0, user = 'alice', lang = 'zh-CN', ...over } = {}) {
    this.skew = skew; // of the server's clock to this process's
    this.user = user;
    this.lang = lang;
    const now = this.now();
    this.campaign = {
      id: 'spring', kind: 'goods', title: '春季 <b>秒杀</b><img src=x onerror=alert(1)>', state: opensIn > 0 ? 'scheduled' : 'live',
      total: 10000, available: 8123, per_user_limit: 1, starts_at: iso(now + opensIn), ends_at: iso(now + endsIn),
      goods: { sku: 's', price_minor: 9900, currency: 'CNY', unpaid_window_s: 900 }, protection: { pass: 'off' },
      may_return: 0, sandbox: true, dev_sign_in: true, ...over,
    };
    this.claims = []; // what POST claims answers, in order; the last one again and again
    this.found = []; // what GET claims?request_id= answers
    this.results = [hang]; // what GET claims/{id} answers
    this.passes = [{ pass: 'p1.x', valid_until_ms: now + 900_000 }];
    this.orders = [];
    this.coupons = [];
    this.log = []; // of calls: method, path, body, at
  }

  now() { return Date.now() + this.skew; }

  answer(code, more = {}) {
    return { code, message: '', campaign_id: 'spring', replayed: false, retry_after_ms: 0, typical_ms: 0, server_time_ms: this.now(), ...more };
  }

  claim(state, more = {}) {
    return this.answer(state.toUpperCase(), { state, claim_id: 'clm_1', quantity: 1, ...more });
  }

  order(state, more = {}) {
    return { id: 'ord_1', claim_id: 'clm_1', campaign_id: 'spring', quantity: 1, amount_minor: 9900, currency: 'CNY', state,
      refund_due: false, expires_at: iso(this.now() + 898_000), created_at: iso(this.now()), ...more };
  }

  coupon(more = {}) {
    return { code: '2TGR-7Q4X-M9PB-C0KD', claim_id: 'clm_1', campaign_id: 'spring', state: 'issued', valid_from: iso(this.now()),
      valid_until: iso(this.now() + 604_800_000), created_at: iso(this.now()), ...more };
  }

  posts() { return this.log.filter((x) => x.method === 'POST' && x.path.endsWith('/claims')); }

  pick(list) { return list.length > 1 ? list.shift() : list[0]; }

  async handle(route) {
    const q = route.request();
    const url = new URL(q.url());
    const entry = { method: q.method(), path: url.pathname, query: url.search, body: q.postDataJSON?.(), at: Date.now(), headers: q.headers() };
    this.log.push(entry);
    let x = this.reply(entry);
    if (typeof x === 'function') x = await x(entry);
    if (x === hang) return undefined;
    if (x === cut || x === undefined) return route.abort('connectionreset').catch(() => {});
    const status = x.status ?? (x.problem ? 404 : 200);
    return route.fulfill({
      status, contentType: status >= 400 ? 'application/problem+json' : 'application/json', body: JSON.stringify(x.body ?? x),
    }).catch(() => {});
  }

  reply({ method, path }) {
    if (path === '/v1/time') return this.time ?? { server_time_ms: this.now() };
    if (path === '/v1/campaigns') return { items: [this.campaign], sandbox: true, dev_sign_in: true };
    if (path === '/v1/campaigns/spring') return this.view ?? this.campaign;
    if (path.endsWith('/passes')) return this.pick(this.passes);
    if (path.endsWith('/claims')) return method === 'POST' ? this.pick(this.claims) : this.foundNow();
    if (path.startsWith('/v1/claims/')) return this.pick(this.results);
    if (path === '/v1/me/orders') return this.wallet ?? { items: this.orders };
    if (path === '/v1/me/coupons') return this.wallet ?? { items: this.coupons };
    if (path.endsWith('/pay')) return this.paid ?? this.order('paid');
    if (path.endsWith('/cancel')) return this.order('closed', { close_reason: 'cancelled' });
    if (path === '/v1/dev/token') return { token: token('bob'), expires_at: iso(Date.now() + 1e6) };
    return { status: 404, body: { status: 404, code: 'NOT_FOUND' } };
  }

  foundNow() {
    const x = this.pick(this.found);
    return x === undefined ? { items: [] } : x === cut || x === hang ? x : { items: [x] };
  }

  /** A tab of `context` that shows `path`, with this API behind it. */
  async open(context, base, path = '/c/spring', before) {
    const page = await pageIn(context);
    // The server's own clock where a test measures: what is played takes a detour through this process.
    await page.route(this.realTime ? /\/v1\/(?!time)/ : '**/v1/**', (r) => this.handle(r));
    await page.addInitScript(([t, lang]) => {
      try {
        if (t && !sessionStorage.getItem('sluice.token')) sessionStorage.setItem('sluice.token', t);
        if (lang && !localStorage.getItem('sluice.lang')) localStorage.setItem('sluice.lang', lang);
      } catch { /* about:blank */ }
    }, [this.user && token(this.user), this.lang]);
    if (before) await before(page);
    await page.goto(base + path, { waitUntil: 'domcontentloaded' });
    return page;
  }
}

/** Waits until the page is in a state; says what it was in where it never comes to be. */
export async function state(page, want, timeout = 10_000) {
  const any = Array.isArray(want) ? want : [want];
  try {
    await page.waitForFunction((w) => w.includes(document.body.dataset.state), any, { timeout, polling: 25 });
  } catch {
    const is = await page.evaluate(() => [document.body.dataset.state, document.body.innerText]);
    throw new Error(`want ${any}, the page is in ${is[0]}: ${is[1]} ${page.faults}`);
  }
}

export const press = (page) => page.click('#go');
