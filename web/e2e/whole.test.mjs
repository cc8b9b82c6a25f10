// A whole sale by clicking, on the built binary: an operator makes, rehearses and opens a campaign, twenty browsers buy,
// stock is raised, one lets it expire and the others are armed again, the sale is stopped and opened again, a coupon is
// claimed and redeemed, an order refunded, and the report says what a count of all rows says. And a server that is killed
// under open pages, with a claim in the queue.
import assert from 'node:assert/strict';
import test from 'node:test';
import { newContext, pageIn } from './lib/browser.mjs';
import { signIn } from './lib/buyer.mjs';
import { readable } from './lib/check.mjs';
import { press, state } from './lib/fake.mjs';
import { adminKey, startServer } from './lib/sluice.mjs';
import { startStores } from './lib/stores.mjs';

const crowd = 20;
const stock = 9;
const raised = 12;
const title = 'Autumn jacket 秋装';
const unpaid = 90; // s: long enough to click on Pay on a slow machine, short enough to wait for
const long = { timeout: 60_000 }; // on a machine that is busy with something else

/** "2026-06-18 20:00:00" of the zone that the operator's browser is in, which is UTC. */
const typed = (ms) => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** The operator's desk: one browser, signed in by key, with as many tabs as it takes. */
class Operator {
  constructor(server, context) {
    this.server = server;
    this.context = context;
  }

  static async signIn(t, server) {
    const context = await newContext(t, { timezoneId: 'UTC', locale: 'en-US', viewport: { width: 1440, height: 900 } });
    const o = new Operator(server, context);
    o.page = await o.tab('/');
    await o.page.locator('input[name=key]').fill(adminKey);
    await o.page.getByRole('button', { name: 'Sign in' }).click();
    await o.page.locator('#content h1').waitFor(long);
    return o;
  }

  async tab(path) {
    const page = await pageIn(this.context);
    page.setDefaultTimeout(long.timeout);
    await page.goto(this.server.adminUrl + path);
    return page;
  }

  /** Goes somewhere by the menu. */
  async menu(name) {
    await this.page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await this.page.locator('#content h1').waitFor();
  }

  async window(from, until) {
    const { page } = this;
    const inputs = page.locator('.ant-picker-range input');
    await inputs.nth(0).click();
    await inputs.nth(0).fill(typed(from));
    await page.keyboard.press('Enter');
    await inputs.nth(1).fill(typed(until));
    await page.keyboard.press('Enter');
    await page.locator('.ant-picker-dropdown:visible').waitFor({ state: 'detached' }).catch(() => {});
  }

  next() { return this.page.getByRole('button', { name: 'Next', exact: true }).click(); }

  /** The editor's four steps. `what` fills the first one; `when` the rest of the second. */
  async create({ title, id, what, from, until, when, total, sentence }) {
    const { page } = this;
    await this.menu('Campaigns');
    await page.getByRole('button', { name: 'Create a campaign' }).click();
    await page.getByLabel('Title').fill(title);
    await page.getByLabel('Id (empty').fill(id);
    await what(page);
    await this.next();
    await this.window(from, until);
    await when(page);
    await this.next();
    await page.getByLabel('Total').fill(String(total));
    await this.next();
    await page.getByText('no pass', { exact: true }).click();
    await page.waitForFunction((s) => document.querySelector('[data-sentence]').textContent.includes(s), sentence);
    await page.getByRole('button', { name: 'Schedule', exact: true }).click();
    await page.waitForURL(`**/campaigns/${id}`);
    await page.locator('#content h1', { hasText: title }).waitFor();
  }
}

/** Presses through a dialog of a dangerous act: what has to be typed, and the reason. */
async function guarded(page, verb, reason, what) {
  const dialog = page.locator('.ant-modal[role=dialog]');
  await dialog.waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel');
  await dialog.locator('input').nth(0).fill(reason);
  if (what) await dialog.locator('input').nth(1).fill(what);
  await dialog.getByRole('button', { name: verb, exact: true }).click();
  await dialog.getByRole('status').waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
}

/** Looks at every number that the live screen comes to show: the parts are the total each time. */
async function watch(page) {
  await page.locator('[data-part=total]').waitFor();
  await page.evaluate(() => {
    window.looks = { n: 0, wrong: [], seen: new Set() };
    const look = () => {
      const p = Object.fromEntries([...document.querySelectorAll('[data-part]')].map((e) => [e.dataset.part, Number(e.dataset.n)]));
      window.looks.n++;
      window.looks.seen.add(JSON.stringify(p));
      if (p.available + p.queued + p.held + p.sold !== p.total) window.looks.wrong.push(p);
    };
    look();
    const all = { subtree: true, childList: true, attributes: true, characterData: true };
    new MutationObserver(look).observe(document.querySelector('.stock'), all);
  });
}

const parts = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll('[data-part]')]
  .map((e) => [e.dataset.part, Number(e.dataset.n)])));

/** Waits until the live screen shows these parts. */
async function shows(page, want) {
  try {
    await page.waitForFunction((w) => Object.entries(w)
      .every(([k, n]) => document.querySelector(`[data-part=${k}]`)?.dataset.n === String(n)), want, long);
  } catch {
    throw new Error(`want ${JSON.stringify(want)}, the live screen shows ${JSON.stringify(await parts(page))}`);
  }
}

/** Somebody with a phone, signed in as anybody may in development. */
async function buyer(t, server, path, n) {
  const context = await newContext(t, { locale: n % 2 ? 'zh-CN' : 'en-US', viewport: { width: 360, height: 740 } });
  const page = await pageIn(context);
  page.user = `buyer-${n}`;
  // Nodes on one ledger share a secret that the shop knows, so the shop signs in: the token comes behind the #.
  await page.goto(server.url + path + (server.env ? `#token=${server.token(page.user)}` : ''));
  if (!server.env) await signIn(page, page.user, long.timeout);
  return page;
}

const stateOf = (page) => page.evaluate(() => document.body.dataset.state);

/** Those of the pages that are in a state, once so many are. */
async function those(pages, want, n) {
  for (const deadline = Date.now() + long.timeout; ;) {
    const are = await Promise.all(pages.map(stateOf));
    const found = pages.filter((_, i) => are[i] === want);
    if (found.length >= n) return found;
    if (Date.now() > deadline) throw new Error(`want ${n} pages ${want}, they are ${are}`);
    await pages[0].waitForTimeout(100);
  }
}

/** A coupon campaign by clicking: claimed on the sale page, redeemed on the console. */
async function coupons(o, server, buyer) {
  const { page } = o;
  await o.create({
    title: 'Ten off', id: 'ten-off', total: 5, sentence: '¥10.00 off',
    from: Date.now() - 1000, until: Date.now() + 3_600_000,
    what: async (p) => {
      await p.getByText('Coupon', { exact: true }).click();
      await p.getByLabel('Value', { exact: true }).fill('10');
      await p.getByLabel('Minimum spend').fill('50');
    },
    when: (p) => p.getByLabel('Valid for days').fill('7'),
  });
  await buyer.goto(server.url);
  const link = buyer.getByRole('link', { name: 'Ten off' });
  while (await link.count() === 0) { // what is new is in the list within a second
    await buyer.reload();
    await state(buyer, 'list', long.timeout);
  }
  await link.click();
  await state(buyer, 'armed', long.timeout);
  await press(buyer);
  await state(buyer, 'coupon', long.timeout);
  await press(buyer);
  await state(buyer, 'coupons', long.timeout);
  const code = await buyer.textContent('.code');

  await o.menu('Coupons');
  await page.getByLabel('Search', { exact: true }).fill(code);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: code }).click();
  await page.getByRole('button', { name: 'Redeem', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: /Redeem/ });
  await dialog.getByLabel('Merchant').fill('shop-1');
  await dialog.getByLabel('Reference').fill('till-7');
  await dialog.getByLabel('What the purchase costs').fill('88');
  await dialog.getByLabel('Reason').fill('the till is down');
  await dialog.getByRole('button', { name: 'Redeem', exact: true }).click();
  assert.match(await dialog.getByRole('status').innerText(), /¥10\.00/);
  await dialog.getByRole('button', { name: 'Close', exact: true }).click();
  const drawer = page.locator('.ant-drawer');
  await drawer.locator('.tag', { hasText: 'Redeemed' }).waitFor();
  await drawer.getByRole('button', { name: 'Close' }).click();
  await drawer.locator('.ant-drawer-mask').waitFor({ state: 'hidden' });
  await buyer.reload();
  await buyer.waitForFunction(() => document.querySelector('.word')?.textContent === 'Used', undefined, long);
  const [issued] = (await server.admin('GET', `/v1/admin/coupons?campaign=ten-off`)).items;
  assert.deepEqual([issued.state, issued.merchant_id, issued.reference, issued.discount_minor], ['redeemed', 'shop-1', 'till-7', 1000]);
  await buyer.goto(`${server.url}/c/autumn`);
}

/** The report's numbers, as they stand on its page. */
async function report(page) {
  const text = (name) => page.locator(`.facts dt:text-is("${name}") + dd`).first().innerText();
  const n = async (name) => Number(/[\d,]+/.exec(await text(name))[0].replaceAll(',', ''));
  const verdict = await page.locator('[data-verdict=ok]').innerText();
  const [available, queued, held, sold, total] = /(\d+) available \+ (\d+) queued \+ (\d+) held \+ (\d+) sold = (\d+)/.exec(verdict)
    .slice(1).map(Number);
  return { available, queued, held, sold, total, rows: [await n('sold'), await n('held')], paid: await n('paid'), refunded: await n('Refunded'),
    due: await n('Refund due'), claims: await n('Claims') };
}

test('a whole sale by clicking', { timeout: 400_000 }, async (t) => {
  const server = await startServer(t);
  await fetch(`${server.adminUrl}/metrics`); // as whoever raises the alarms does
  const started = Date.now();
  const lap = (what) => t.diagnostic(`${((Date.now() - started) / 1000).toFixed(1)} s: ${what}`);
  const o = await Operator.signIn(t, server);
  const { page } = o;

  // The opening is far enough for a rehearsal on a slow machine, and brought forward when all is ready.
  await o.create({
    title, id: 'autumn', total: stock, sentence: `${stock} units, 1 each`,
    from: Date.now() + 900_000, until: Date.now() + 3_600_000, // in the last ten minutes nothing of it is edited
    what: async (p) => {
      await p.getByLabel('SKU').fill('jacket-1');
      await p.getByLabel('Price').fill('99');
    },
    when: (p) => p.getByLabel('Time to pay').fill(String(unpaid)),
  });
  lap('created');

  await page.getByRole('tab', { name: 'Pre-flight' }).click();
  await page.getByRole('button', { name: 'Run the checks' }).click();
  await page.getByText('NO-GO').waitFor(); // nothing was rehearsed
  await page.getByRole('button', { name: 'Rehearse' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Buyers').fill('200');
  await dialog.getByLabel('Over how many seconds').fill('1');
  await dialog.getByRole('button', { name: 'Rehearse' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByText('all well').waitFor();
  await page.getByRole('button', { name: 'Check again' }).click();
  await page.getByText(/^✓?GO \d+\/\d+$/).waitFor();
  lap('rehearsed, GO');

  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await o.next();
  await o.window(Date.now() + 15_000, Date.now() + 3_600_000);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL('**/campaigns/autumn');
  const live = await o.tab('/live/autumn');
  await watch(live);
  await shows(live, { available: stock, queued: 0, held: 0, sold: 0, total: stock });
  const buyers = await Promise.all(Array.from({ length: crowd }, (_, n) => buyer(t, server, '/c/autumn', n)));
  lap(`${crowd} buyers are there`);

  await those(buyers, 'armed', crowd); // by the clock
  await Promise.all(buyers.map(press));
  const winners = await those(buyers, 'confirmed', stock);
  lap('sold out');
  const [late, ...payers] = winners;
  await Promise.all(payers.map(press)); // the button pays now
  await those(payers, 'paid', payers.length);
  await shows(live, { available: 0, held: 1, sold: stock - 1 });
  const losers = await those(buyers, 'mayreturn', crowd - stock);
  lap('paid, but for one');

  await page.getByRole('tab', { name: 'Stock' }).click();
  await page.getByRole('button', { name: 'Adjust stock' }).click();
  await dialog.getByRole('spinbutton').fill(String(raised - stock));
  await dialog.locator('input').last().fill('more arrived');
  await dialog.getByRole('button', { name: `Add ${raised - stock}` }).click();
  await dialog.getByRole('status').waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).click();
  await shows(live, { total: raised });
  await those(losers, 'armed', losers.length); // nobody touched them
  const more = losers.slice(0, raised - stock);
  const rest = losers.slice(raised - stock);
  await Promise.all(more.map(press));
  await those(more, 'confirmed', more.length);
  await Promise.all(more.map(press));
  await those(more, 'paid', more.length);
  await Promise.all(rest.map(press));
  await those(rest, 'mayreturn', rest.length);
  lap('stock is raised and sold');

  await coupons(o, server, payers.find((p) => Number(p.user.split('-')[1]) % 2 === 0));
  lap('a coupon is claimed and redeemed');

  await state(late, 'expired', 2 * long.timeout);
  assert.doesNotMatch(await late.textContent('#voice'), /2/, 'there never were two minutes to pay');
  await those(rest, 'armed', rest.length); // by themselves again
  await shows(live, { available: 1, held: 0, sold: raised - 1, total: raised });
  lap('one expired, and the others are armed again');

  await live.bringToFront();
  await live.locator('.headacts [data-stop]').focus();
  await live.keyboard.press('Enter');
  await live.waitForFunction(() => document.querySelector('[role=dialog]') && document.activeElement?.classList.contains('ant-btn-primary'), undefined, long);
  await live.keyboard.press('Enter');
  await live.locator('[data-inforce]').waitFor();
  await live.keyboard.press('Enter'); // the focus is on Close
  await live.waitForFunction(() => document.querySelector('[data-look]').dataset.look === 'stopped', undefined, long);
  const [lucky, ...others] = rest;
  await lucky.evaluate(() => document.getElementById('go').click()); // it comes too late, if the page has not heard yet
  await state(lucky, 'closed', long.timeout);
  assert.match(await lucky.textContent('#help'), /主办方已关闭|Closed by the organiser/);

  await page.bringToFront();
  await o.menu('Orders');
  await page.getByLabel('Search', { exact: true }).fill(more[0].user);
  await page.keyboard.press('Enter');
  await page.locator('td', { hasText: more[0].user }).first().waitFor();
  await page.locator('td .plainbutton').first().click();
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  await guarded(page, 'Refund', 'it was torn', new URL(page.url()).searchParams.get('open'));

  await those(others, 'closed', others.length); // who does not click hears of it, too
  lap('stopped, and one is refunded');
  await live.bringToFront();
  await live.getByRole('button', { name: 'Open again' }).first().click();
  await guarded(live, 'Open again', 'checked', 'autumn');
  await those(rest, 'armed', rest.length);
  await press(lucky);
  await state(lucky, 'confirmed', long.timeout);
  await press(lucky);
  await state(lucky, 'paid', long.timeout);
  await shows(live, { available: 0, held: 0, sold: raised, total: raised });
  const looks = await live.evaluate(() => ({ ...window.looks, seen: [...window.looks.seen] }));
  assert.deepEqual(looks.wrong, [], 'the parts are the total, each time');
  assert.ok(looks.seen.length > 5, `the numbers moved: ${looks.seen}`);
  lap('opened again, and the last one is sold');

  await live.goto(`${server.adminUrl}/campaigns/autumn/report`);
  await live.locator('[data-verdict=ok]').waitFor();
  const told = await report(live);
  const v = await server.admin('GET', '/v1/admin/campaigns/autumn/verify');
  assert.equal(v.ok, true);
  assert.deepEqual([told.available, told.queued, told.held, told.sold, told.total], [v.available, v.queued, v.held, v.sold, v.total]);
  assert.deepEqual(told.rows, [v.sold, v.held]);
  const orders = (await server.admin('GET', '/v1/admin/orders?campaign=autumn&limit=100')).items;
  const count = (s) => orders.filter((x) => x.state === s).length;
  assert.deepEqual([told.paid, told.refunded, told.due], [count('paid') + count('refunded'), count('refunded'), 0]);
  assert.deepEqual([v.sold, v.held, v.available, v.total, count('refunded')], [raised, 0, 0, raised, 1]);
  for (const p of [...buyers, page, live]) {
    assert.deepEqual(p.faults, []);
    await readable(p, p.url());
  }
});

test('killed under open pages: nothing shows 0, all recover by themselves, a queued buyer gets the true result', { timeout: 300_000 }, async (t) => {
  const stores = await startStores(t);
  const secrets = { SLUICE_JWT_SECRET: 'a-secret-that-the-nodes-share-0123456789', SLUICE_PAYMENT_SECRET: 'and-another-one-0123456789-0123456789' };
  const server = await startServer({ after: (f) => t.after(f), env: secrets }, ...stores, '--settle-workers', '0'); // claims wait
  const c = await server.campaign({ id: 'autumn', total: 7, protection: { pass: 'off' } });
  const o = await Operator.signIn(t, server);
  const [queued, armed, list, orders] = await Promise.all([
    buyer(t, server, '/c/autumn', 1), buyer(t, server, '/c/autumn', 2), buyer(t, server, '/', 3), buyer(t, server, '/orders', 4)]);
  await those([queued, armed], 'armed', 2);
  await press(queued);
  await state(queued, 'queued', long.timeout);

  const tabs = { live: await o.tab('/live/autumn'), stock: await o.tab('/campaigns/autumn?tab=stock'), overview: o.page, orders: await o.tab('/orders') };
  await shows(tabs.live, { available: 6, queued: 1, total: 7 });
  await Promise.all(Object.values(tabs).map((p) => p.locator('#content h1').waitFor()));
  await tabs.stock.locator('.facts').nth(1).waitFor();

  await server.kill();
  await tabs.live.waitForFunction(() => document.querySelector('.strip').dataset.stale === 'true', undefined, long);
  assert.match(await tabs.live.locator('.strip').innerText(), /No data for/);
  assert.deepEqual(await parts(tabs.live), { available: 6, queued: 1, held: 0, sold: 0, total: 7 });
  for (const [name, p] of Object.entries(tabs)) {
    if (name !== 'live') await p.getByText('The server does not answer').first().waitFor();
    await readable(p, `${name}, the server is down`);
  }
  assert.match(await tabs.stock.locator('.facts').first().innerText(), /Available\s+6/);
  await press(armed); // into the void
  await state(armed, ['sending', 'unknown']);
  await state(queued, ['queued', 'queuedLong', 'unknown']);
  await state(list, 'list');
  await state(orders, 'orders');
  for (const p of [queued, armed, list, orders]) await readable(p, 'the server is down');

  server.args = stores; // whoever starts it again lets it settle
  await server.start();
  await state(queued, 'confirmed', long.timeout);
  await state(armed, 'confirmed', long.timeout);
  await shows(tabs.live, { available: 5, queued: 0, held: 2, sold: 0, total: 7 });
  await tabs.live.waitForFunction(() => document.querySelector('.strip').dataset.stale === 'false', undefined, long);
  for (const p of [tabs.stock, tabs.overview, tabs.orders]) {
    await p.waitForFunction(() => !document.body.innerText.includes('The server does not answer'), undefined, long);
  }
  await tabs.stock.waitForFunction(() => /Available\s+5/.test(document.querySelector('.facts').innerText), undefined, long);
  await tabs.orders.locator('td .plainbutton').nth(1).waitFor();
  const v = await server.admin('GET', `/v1/admin/campaigns/${c.id}/verify`);
  assert.deepEqual([v.ok, v.held, v.available, v.queued], [true, 2, 5, 0]);
  for (const p of [queued, armed, list, orders, ...Object.values(tabs)]) assert.deepEqual(p.faults, []);
});
