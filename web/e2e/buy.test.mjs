// The whole way on the built binary: sign in, wait, buy, pay; let it expire; coupons; a pass; a server that is killed.
import assert from 'node:assert/strict';
import test, { before, describe } from 'node:test';
import { buyer, challenged } from './lib/buyer.mjs';
import { readable } from './lib/check.mjs';
import { press, state } from './lib/fake.mjs';
import { sharedServer, startServer } from './lib/sluice.mjs';

let server;
before(async () => { server = await sharedServer(); });

describe('from click to paid', { concurrency: 2 }, () => {
  test('sign in, wait for the opening, buy, pay, and the wallet has it', async (t) => {
    const c = await server.campaign({ title: '<img src=x onerror=alert(1)> & 秒杀' }, 4000);
    const page = await buyer(t, server, `/c/${c.id}`, '张三');
    await state(page, ['ready', 'armed']);
    await state(page, 'armed');
    await press(page);
    await state(page, 'confirmed');
    await page.waitForFunction(() => /1[45]:\d\d/.test(document.getElementById('help').textContent));
    assert.match(await page.textContent('#go'), /99\.00/);
    await press(page);
    await state(page, 'paid');
    await press(page);
    await state(page, 'orders');
    await page.waitForSelector('.word.good');
    assert.equal(await page.locator('article').count(), 1);
    assert.match(await page.textContent('h2'), /<img src=x/);
    assert.equal(page.sent.filter((r) => r.method() === 'POST' && r.url().endsWith('/claims')).length, 1);
    assert.ok(page.sent.every((r) => !/token|eyJ/.test(new URL(r.url()).search)), 'a token in an address');
    assert.ok(page.sent.every((r) => new URL(r.url()).origin === server.url || r.url().startsWith('data:')), 'another origin');
    assert.deepEqual(page.faults, []);
    const v = await server.admin('GET', `/v1/admin/campaigns/${c.id}/verify`);
    assert.deepEqual([v.ok, v.sold, v.available, v.total], [true, 1, 99, 100]);
  });

  test('one lets it expire: the unit comes back and the waiting page is armed again', async (t) => {
    const c = await server.campaign({
      total: 1, goods: { sku: 's', price_minor: 100, currency: 'CNY', unpaid_window_s: 12, limit_back_on_close: true },
    });
    const two = await buyer(t, server, `/c/${c.id}`, 'second');
    const one = await buyer(t, server, `/c/${c.id}`, 'first');
    await Promise.all([state(one, 'armed'), state(two, 'armed')]);
    await press(one);
    await state(one, 'confirmed');
    await press(two);
    await state(two, 'mayreturn');
    assert.match(await two.textContent('#help'), /有 1 件待付款/);
    await state(one, 'expired', 30_000);
    await state(two, 'armed', 30_000);
    await press(two);
    await state(two, 'confirmed');
    await press(one); // back to the sale, as it was half a second ago; then as it is
    await state(one, 'mayreturn', 20_000);
    const v = await server.admin('GET', `/v1/admin/campaigns/${c.id}/verify`);
    assert.deepEqual([v.ok, v.held, v.available], [true, 1, 0]);
  });

  test('a coupon is claimed, shown with its code, and redeemed', async (t) => {
    const c = await server.campaign({
      kind: 'coupon', title: '满减券', goods: undefined,
      coupon: { type: 'amount_off', value: 1000, min_spend_minor: 5000, currency: 'CNY', valid_days: 7 },
    });
    const page = await buyer(t, server, `/c/${c.id}`, 'coupons');
    await state(page, 'armed');
    await press(page);
    await state(page, 'coupon');
    await press(page);
    await state(page, 'coupons');
    const code = await page.textContent('.code');
    assert.match(code, /^[0-9A-Z]{4}(-[0-9A-Z]{4})+$/);
    assert.equal(await page.locator('svg.qr').count(), 1);
    const key = await server.admin('POST', '/v1/admin/api-keys', { role: 'merchant', name: 'shop', merchant_id: 'm1' });
    const used = await fetch(`${server.url}/v1/coupons/${code}/redeem`, {
      method: 'POST', headers: { Authorization: `Bearer ${key.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ reference: 'r1', amount_minor: 8800 }),
    });
    assert.equal(used.status, 200);
    await page.reload();
    await state(page, 'coupons');
    await page.waitForFunction(() => document.querySelector('.word')?.textContent === '已使用');
  });

  test('a pass is earned before the opening: proof of work, and a signed claim', async (t) => {
    const c = await server.campaign({ protection: { pass: 'always', challenge: 'pow', signature: true } }, 6000);
    const page = await buyer(t, server, `/c/${c.id}`, 'solver');
    await state(page, ['presolve', 'solving', 'ready']);
    if ((await page.evaluate(() => document.body.dataset.state)) === 'presolve') await press(page);
    await state(page, ['ready', 'armed']);
    await state(page, 'armed');
    await press(page);
    await state(page, 'confirmed');
    const post = page.sent.filter((r) => r.method() === 'POST' && r.url().endsWith('/claims'));
    assert.equal(post.length, 1, 'the first claim was enough');
    assert.match((await post[0].allHeaders())['sluice-request-signature'], /^[0-9a-f]{64}$/);
  });

  test('a slider may be answered by the other way', async (t) => {
    const page = await challenged(t, server, 'slider', 'other-way');
    await page.waitForSelector('#slide');
    await page.waitForFunction(() => document.querySelector('.puzzle img').naturalWidth > 100);
    await page.click('#another');
    await state(page, 'confirmed', 20_000);
    assert.deepEqual(page.faults, []);
  });

  test('an opening that is spread: one click, and the claim goes out in its own slot', async (t) => {
    const c = await server.campaign({ protection: { pass: 'always', spread_s: 4 } }, 3500);
    const page = await buyer(t, server, `/c/${c.id}`, 'patient');
    await state(page, 'armed');
    await press(page);
    await state(page, 'confirmed', 15_000);
  });
});

test('the server is killed under open pages and comes back: they recover by themselves, and the result is true', async (t) => {
  const own = await startServer(t);
  const c = await own.campaign();
  const [one, two] = await Promise.all([buyer(t, own, `/c/${c.id}`, 'one'), buyer(t, own, `/c/${c.id}`, 'two')]);
  await Promise.all([state(one, 'armed'), state(two, 'armed')]);
  await press(one);
  await state(one, 'confirmed');
  await own.kill();
  await press(two); // into the void
  await state(two, ['unknown', 'sending']);
  await readable(two, 'the server is down');
  await readable(one, 'the server is down');
  assert.match(await one.textContent('#go'), /1\.00|99\.00/);
  await own.start();
  await state(two, 'confirmed', 30_000);
  const ids = new Set(two.sent.filter((r) => r.method() === 'POST' && r.url().endsWith('/claims')).map((r) => r.postDataJSON().request_id));
  assert.equal(ids.size, 1);
  await press(one);
  await state(one, 'paid', 20_000);
  const v = await own.admin('GET', `/v1/admin/campaigns/${c.id}/verify`);
  assert.deepEqual([v.ok, v.sold, v.held, v.available], [true, 1, 1, 98]);
});
