// Every state of the sale page, in both languages, light and dark: no accessibility fault, no sideways scroll at 360 px,
// nothing that a program left behind, one language at a time; and in each the button says what it would do.
import assert from 'node:assert/strict';
import test, { before, describe } from 'node:test';
import { newContext } from './lib/browser.mjs';
import { accessible, colours, narrow, oneLanguage, readable } from './lib/check.mjs';
import { cut, Fake, hang, press, state } from './lib/fake.mjs';
import { sharedServer } from './lib/sluice.mjs';

let server;
before(async () => { server = await sharedServer(); });

const png = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const slider = { challenge: { id: 'c1', type: 'slider', data: { image: png, piece: png, y: 40, width: 300, height: 150, piece_width: 44, piece_height: 44 } } };
const image = { challenge: { id: 'c2', type: 'image', data: { image: png } } };
const live = (more) => new Fake(more);
const clicked = (answer, more) => {
  const f = live(more);
  f.claims = [answer(f)];
  return f;
};
const orders = (o) => (f) => { f.orders = [o(f)]; };
const bought = (o) => {
  const f = clicked((x) => x.claim('confirmed', { order_id: 'ord_1' }));
  orders(o)(f);
  return f;
};
const later = (ms) => new Date(Date.now() + ms).toISOString();

// name → [the API, does the buyer press, what else has to happen]
const states = {
  loading: [() => Object.assign(live(), { view: hang })],
  scheduled: [() => live({ opensIn: 7_200_000 })],
  login: [() => live({ user: '' })],
  presolve: [() => live({ opensIn: 300_000, protection: { pass: 'always', challenge: 'slider' } })],
  ready: [() => live({ opensIn: 45_000 })],
  armed: [() => live()],
  sending: [() => clicked(() => hang), press],
  queued: [() => clicked((f) => f.claim('queued', { typical_ms: 2400 })), press],
  queuedLong: [() => {
    const f = clicked((x) => x.claim('queued'));
    f.results = [f.claim('queued')];
    f.clock = true;
    return f;
  }, press, async (page) => {
    await state(page, 'queued');
    for (let n = 0; n < 40 && (await page.evaluate(() => document.body.dataset.state)) !== 'queuedLong'; n++) {
      await page.clock.fastForward(3000);
      await new Promise((f) => { setTimeout(f, 50); });
    }
  }],
  unsure: [() => Object.assign(clicked(() => cut), { found: [cut], clock: true }), press, async (page) => {
    for (let n = 0; n < 120 && (await page.evaluate(() => document.body.dataset.state)) !== 'unsure'; n++) {
      await page.clock.fastForward(9000);
      await new Promise((f) => { setTimeout(f, 50); });
    }
  }],
  slot: [() => clicked((f) => f.answer('NOT_STARTED', { starts_in_ms: 40_000 })), press],
  confirmed: [() => bought((f) => f.order('unpaid')), press],
  coupon: [() => clicked((f) => f.claim('confirmed', { coupon_code: '2TGR-7Q4X-M9PB-C0KD' }), {
    kind: 'coupon', goods: undefined, coupon: { type: 'amount_off', value: 1000, min_spend_minor: 5000, currency: 'CNY' },
  }), press],
  rejected: [() => clicked((f) => f.answer('SOLD_OUT', { state: 'rejected', claim_id: 'clm_1' })), press],
  limit: [() => clicked((f) => f.answer('LIMIT_REACHED', { claims: ['clm_0'] })), press],
  soldout: [() => clicked((f) => () => {
    Object.assign(f.campaign, { sold_out_at: later(-2000), state: 'sold_out', available: 0 });
    return f.answer('SOLD_OUT');
  }), press],
  mayreturn: [() => live({ state: 'sold_out', available: 0, may_return: 1200, next_release_at: later(600_000) })],
  busy: [() => clicked((f) => f.answer('BUSY', { retry_after_ms: 20_000 })), press],
  busyStop: [() => clicked((f) => f.answer('BUSY', { retry_after_ms: 20_000 })), press, async (page) => {
    await state(page, 'busy');
    await page.click('#stop');
  }],
  freq: [() => clicked((f) => f.answer('TOO_FREQUENT', { retry_after_ms: 20_000 })), press],
  pass: [() => Object.assign(clicked((f) => f.answer('PASS_REQUIRED')), { passes: [slider] }), press, (page) => page.waitForSelector('#slide')],
  passbad: [() => clicked((f) => f.answer('PASS_INVALID')), press],
  paused: [() => live({ state: 'paused' })],
  closed: [() => clicked((f) => () => {
    f.campaign.state = 'closed';
    return f.answer('CLOSED');
  }), press],
  ended: [() => live({ state: 'ended' })],
  unknown: [() => Object.assign(clicked(() => cut), { found: [hang] }), press],
  offline: [() => live(), null, (page) => page.context().setOffline(true)],
  blocked: [() => clicked((f) => f.answer('BLOCKED', { reference: '7F3A-22' })), press],
  noteligible: [() => clicked((f) => f.answer('NOT_ELIGIBLE')), press],
  paying: [() => Object.assign(bought((f) => f.order('unpaid')), { paid: hang }), press, async (page) => {
    await state(page, 'confirmed');
    await press(page);
  }],
  paid: [() => bought((f) => f.order('paid')), press],
  expired: [() => bought((f) => f.order('closed', { close_reason: 'expired' })), press],
  cancelled: [() => bought((f) => f.order('closed', { close_reason: 'cancelled' })), press],
  refund: [() => bought((f) => f.order('closed', { close_reason: 'expired', refund_due: true })), press],
  refunded: [() => bought((f) => f.order('refunded')), press],
  failed: [() => clicked(() => ({ status: 422, body: { status: 422, code: 'VALIDATION' } })), press],
  notfound: [() => Object.assign(live(), { view: { status: 404, body: { status: 404, code: 'UNKNOWN_CAMPAIGN' } } })],
};
const otherPages = {
  list: ['/', () => live()],
  orders: ['/orders', () => Object.assign(live(), { setup: (f) => { f.orders = ['unpaid', 'paid', 'closed', 'refunded'].map((s, i) => f.order(s, { id: `ord_${i}`, close_reason: 'expired' })); } })],
  coupons: ['/coupons', () => Object.assign(live(), { setup: (f) => { f.coupons = ['issued', 'locked', 'redeemed', 'expired', 'revoked'].map((s, i) => f.coupon({ state: s, code: `2TGR-7Q4X-M9PB-C0K${i}` })); } })],
};

async function everywhere(page, name) {
  for (const lang of ['zh-CN', 'en']) {
    if ((await page.getAttribute('html', 'lang')) !== lang) await page.click('#lang');
    const where = `${name}, ${lang}`;
    assert.equal(await page.evaluate(() => document.body.dataset.state), name, where);
    await accessible(page, `${where}, light`);
    await page.emulateMedia({ colorScheme: 'dark' }); // nothing but colours differs
    await accessible(page, `${where}, dark`, colours);
    await page.emulateMedia({ colorScheme: 'light' });
    await narrow(page, where, 44);
    await readable(page, where);
    await oneLanguage(page, lang, where);
  }
  assert.deepEqual(page.faults, [], name);
}

describe('the sale page', { concurrency: 3 }, () => {
  for (const [name, [make, act, more]] of Object.entries(states)) {
    test(`state ${name}`, async (t) => {
      const context = await newContext(t);
      const fake = make();
      const page = await fake.open(context, server.url, '/c/spring', (p) => fake.clock && p.clock.install());
      if (act) {
        await state(page, 'armed');
        await act(page);
      } else if (name !== 'loading' && name !== 'notfound') {
        await page.waitForSelector('h1:not(:empty)');
      }
      if (more) await more(page);
      await state(page, name);
      await everywhere(page, name);
      assert.equal(await page.locator('h1 b, h1 img').count(), 0, 'the title is text');
      assert.doesNotMatch(await page.textContent('#help'), /^[^\p{L}\p{N}①]/u, 'a line of help begins with what it says');
      // The button stands at the foot in every state: whoever presses twice presses nothing else.
      const [go, foot] = await page.evaluate(() => ['#go', 'footer'].map((x) => document.querySelector(x).getBoundingClientRect().bottom));
      assert.ok(foot - go <= 13, `the button is ${foot - go} px above the foot`);
      assert.deepEqual(await page.evaluate(() => (({ fontSize, fontWeight }) => [fontSize, fontWeight])(getComputedStyle(document.getElementById('go')))), ['18px', '700']);
    });
  }

  for (const [name, [path, make]] of Object.entries(otherPages)) {
    test(`page ${name}`, async (t) => {
      const context = await newContext(t);
      const fake = make();
      fake.setup?.(fake);
      const page = await fake.open(context, server.url, path);
      await state(page, name);
      await everywhere(page, name);
    });
  }

  test('the challenges: slider, picture, sign-in', async (t) => {
    const context = await newContext(t);
    const fake = live({ opensIn: 300_000, protection: { pass: 'always', challenge: 'image' } });
    fake.passes = [image];
    const page = await fake.open(context, server.url);
    await state(page, 'presolve');
    await press(page);
    await page.waitForSelector('#letters');
    await everywhere(page, 'solving');
    const login = live({ user: '' });
    const other = await login.open(context, server.url, '/orders', (p) => p.addInitScript(() => sessionStorage.clear()));
    await state(other, 'login');
    await other.click('#go');
    await other.waitForSelector('dialog input');
    await accessible(other, 'sign-in');
  });
});
