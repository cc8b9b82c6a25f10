// The console by its keys, what the big screen leaves out, secrets that are shown once, links that last, and acts whose
// answer is lost.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test, { after } from 'node:test';
import { go, losesFirst, settled, signIn } from './lib/console.mjs';
import { startServer } from './lib/sluice.mjs';

const paymentSecret = 'a-payment-secret-of-the-tests-0123456789';
const server = await startServer({ after, env: { SLUICE_PAYMENT_SECRET: paymentSecret } });
await server.campaign({ id: 'spring', title: 'Spring tea', total: 40, protection: { pass: 'off' } });
await server.campaign({ id: 'summer', title: 'Summer hats', total: 40, protection: { pass: 'off' } });
await server.campaign({ id: 'later', title: 'Later on', ends_at: new Date(Date.now() + 9_000_000).toISOString() }, 3_600_000);

const dialog = (page) => page.locator('[role=dialog]').last();
const path = (page) => page.evaluate(() => location.pathname);

test('keys: search, places, Esc; none while typing, none when they are off', async (t) => {
  const page = await signIn(t, server, '/');
  await settled(page);
  for (const [letter, place] of [['l', '/live'], ['c', '/campaigns'], ['o', '/orders'], ['d', '/dead-letters']]) {
    await page.keyboard.press('g');
    await page.keyboard.press(letter);
    await page.waitForFunction((want) => location.pathname === want, place);
  }
  for (const key of ['Control+k', 'Meta+k', '?']) {
    await page.keyboard.press(key);
    await dialog(page).waitFor();
    await page.waitForFunction(() => document.activeElement?.matches('[role=dialog] input'));
    assert.match(await dialog(page).innerText(), /g then l, c, o, d/, 'it tells the keys');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'hidden' });
  }
  await page.keyboard.press('Control+k');
  await page.waitForFunction(() => document.activeElement?.matches('[role=dialog] input'));
  await page.keyboard.type('gospring tea');
  assert.equal(await path(page), '/dead-letters', 'what is typed goes nowhere');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('Spring tea');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.pathname === '/campaigns/spring');
  await page.getByRole('button', { name: /▾/ }).click();
  await page.getByRole('checkbox').uncheck();
  await page.keyboard.press('Escape');
  await page.evaluate(() => document.activeElement.blur());
  for (const key of ['g', 'o', '?']) await page.keyboard.press(key);
  await page.keyboard.press('Control+k'); // the one that is no letter goes on working
  await dialog(page).waitFor();
  assert.equal(await path(page), '/campaigns/spring');
  assert.equal(await page.locator('[role=dialog]').count(), 1);
});

test('j and k move over the rows of a table, Enter opens the one; none of it while typing, or when keys are off', async (t) => {
  const page = await signIn(t, server, '/campaigns');
  await page.locator('.ant-table-row').nth(2).waitFor();
  await settled(page);
  const on = () => page.evaluate(() => [...document.querySelectorAll('.ant-table-row')].flatMap((r, i) => (r.classList.contains('row-on') ? [i] : [])));
  const rows = await page.locator('.ant-table-row').count();
  const press = async (keys) => { for (const k of keys) await page.keyboard.press(k); };
  assert.deepEqual(await on(), []);
  await press('k');
  assert.deepEqual(await on(), [0], 'the first one, from nowhere');
  await press('jj');
  assert.deepEqual(await on(), [2]);
  await press('j'.repeat(rows + 2));
  assert.deepEqual(await on(), [rows - 1], 'not past the last one');
  await press('k'.repeat(rows + 2));
  assert.deepEqual(await on(), [0], 'not past the first one');
  await page.locator('input[type=search], .filters input').first().focus();
  await press('jj');
  assert.deepEqual(await on(), [0], 'not while typing');
  await page.evaluate(() => document.activeElement.blur());
  await press('j');
  const to = await page.locator('.row-on a').first().getAttribute('href');
  await press(['Enter']);
  await page.waitForFunction((want) => location.pathname === want, to);
  await go(page, '/campaigns');
  await page.locator('.ant-table-row').first().waitFor();
  await page.getByRole('button', { name: /▾/ }).click();
  await page.getByRole('checkbox').uncheck();
  await page.keyboard.press('Escape');
  await page.evaluate(() => document.activeElement.blur());
  await press('jj');
  assert.deepEqual(await on(), [], 'they are off');
  assert.equal(await path(page), '/campaigns');
});

test('no dangerous act is on a letter, and the big screen has nothing to press', async (t) => {
  const page = await signIn(t, server, '/live/spring');
  await page.locator('.headacts [data-stop]').waitFor();
  for (const key of 'abcdefghijklmnopqrstuvwxyz0123456789'.replace('g', '')) await page.keyboard.press(key);
  assert.equal(await page.locator('[role=dialog]').count(), 0);
  const changes = [];
  page.on('request', (r) => { if (r.method() !== 'GET') changes.push(r.url()); });
  await go(page, '/live/spring?kiosk=1');
  await page.locator('.kiosk [data-figure=rate]').waitFor();
  const pressable = () => page.locator('button, a, input, select, textarea, [role=button], [tabindex="0"]').count();
  assert.equal(await pressable(), 0);
  await page.route('**/live?*', (r) => r.abort());
  await page.waitForFunction(() => document.querySelector('.strip').dataset.stale === 'true', undefined, { timeout: 12_000 });
  assert.equal(await pressable(), 0, 'old data offers nothing either');
  await page.unroute('**/live?*');
  await page.waitForFunction(() => document.querySelector('.strip').dataset.stale === 'false', undefined, { timeout: 12_000 });
  assert.deepEqual(changes, []);
});

test('a key is shown once, and no secret stays in the browser', async (t) => {
  const page = await signIn(t, server, '/keys');
  await page.getByRole('button', { name: 'Make a key' }).click();
  await dialog(page).locator('input').first().fill('the till');
  await dialog(page).locator('.ant-btn-primary').click();
  await page.waitForFunction(() => /slk_[\w-]{20,}/.test(document.querySelector('[role=dialog]')?.innerText ?? ''));
  const key = /slk_[\w-]+/.exec(await dialog(page).innerText())[0];
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await page.locator('.ant-table-row', { hasText: 'the till' }).waitFor();
  await page.reload();
  await page.locator('.ant-table-row', { hasText: 'the till' }).waitFor();
  const left = await page.evaluate(async () => JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage },
    await indexedDB.databases(), document.cookie, location.href]));
  for (const secret of [key, 'browser-tests-operator-key', 'sluice_session']) assert.ok(!left.includes(secret), secret);
  const answers = JSON.stringify(await server.admin('GET', '/v1/admin/api-keys'));
  assert.ok(!answers.includes(key));
});

test('a key with a scope: shown once, used, rotated, the old secret good in its grace, revoked', async (t) => {
  const ask = async (key, path, method = 'GET', body = undefined) => {
    const r = await fetch(server.adminUrl + path, { method, body, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } });
    return r.ok ? r.status : `${r.status} ${(await r.json()).code}`;
  };
  const page = await signIn(t, server, '/keys');
  const row = page.locator('.ant-table-row', { hasText: 'the shelf' });
  const secretOf = async () => {
    await dialog(page).locator('[data-secret]').waitFor();
    const secret = /slk_[\w-]{43}/.exec(await dialog(page).innerText())[0];
    await dialog(page).getByRole('button', { name: 'Close' }).click();
    await page.waitForFunction((s) => !document.documentElement.outerHTML.includes(s), secret); // not hidden: gone
    return secret;
  };
  await page.getByRole('button', { name: 'Make a key' }).click();
  await dialog(page).locator('input').first().fill('the shelf');
  await dialog(page).locator('#key-role + *').click();
  await page.locator('.ant-select-item-option', { hasText: 'Operator' }).click();
  for (const area of ['Campaigns', 'API keys']) await dialog(page).getByLabel(area, { exact: true }).check();
  await dialog(page).locator('.ant-btn-primary').click();
  const old = await secretOf();
  assert.equal(await row.locator('[data-scope]').innerText(), 'API keys, Campaigns');
  assert.equal(await row.locator('[data-used]').innerText(), 'Never');

  assert.equal(await ask(old, '/v1/admin/campaigns'), 200);
  assert.equal(await ask(old, '/v1/admin/orders'), '403 OUT_OF_SCOPE');
  await page.waitForFunction(() => /\d ?\S+ ago/.test([...document.querySelectorAll('.ant-table-row')].find((r) => r.innerText.includes('the shelf')).querySelector('[data-used]').innerText));

  const tab = await signIn(t, server, '/campaigns/spring', { key: old });
  const end = tab.getByRole('button', { name: 'End the sale' });
  await end.waitFor();
  assert.equal(await end.getAttribute('aria-disabled'), null, 'what is in its scope');
  const asked = [];
  tab.on('request', (r) => asked.push(new URL(r.url()).pathname));
  await go(tab, '/switches');
  await tab.locator('[role=alert]', { hasText: 'Outside of your scope: Switches is not in it. Yours is: API keys, Campaigns' }).waitFor();
  assert.ok(!asked.includes('/v1/admin/switches'), 'what is known to be refused is not asked for');
  await go(tab, '/keys');
  await tab.locator('[role=alert]').first().waitFor(); // an operator sees no keys
  const make = tab.getByRole('button', { name: 'Make a key' });
  assert.match(await make.getAttribute('data-why'), /Needs the role/);

  await row.getByRole('button', { name: 'Rotate' }).click();
  const d = dialog(page);
  await d.locator('[data-tier=b]').waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel');
  const button = d.getByRole('button', { name: 'Rotate', exact: true });
  await button.click({ force: true });
  assert.equal(await button.getAttribute('aria-disabled'), 'true', 'no reason');
  assert.match(await d.innerText(), /Rotate the key “the shelf”[\s\S]*dies by itself on every node/);
  await d.locator('label input').first().fill('every quarter');
  const sent = [];
  await page.route('**/rotate', async (route) => {
    sent.push(route.request().postDataJSON());
    if (sent.length > 1) return route.continue();
    await route.fetch(); // it is done, and its answer is lost
    return route.abort();
  });
  await button.click();
  await d.locator('[role=alert]').waitFor();
  await d.getByRole('button', { name: /try again/ }).click();
  const fresh = await secretOf();
  assert.equal(sent[0].rotation_id, sent[1].rotation_id, 'asked again under the same id');
  assert.equal(sent[1].grace_s, 86_400);
  assert.notEqual(fresh, old);
  assert.equal(await ask(old, '/v1/admin/campaigns'), 200, 'the old secret, in its grace, though an answer was lost');
  assert.equal(await ask(fresh, '/v1/admin/campaigns'), 200, 'the new one');
  assert.equal(await ask(fresh, '/v1/admin/orders'), '403 OUT_OF_SCOPE', 'it has the scope of the key');
  await row.locator('[data-old]', { hasText: old.slice(0, 12) }).waitFor();
  assert.equal(await noted('api_key.rotate'), 'every quarter');

  await row.getByRole('button', { name: 'Revoke' }).click();
  await typed(page, { verb: 'Revoke', id: 'the shelf', call: /^DELETE .*\/api-keys\// });
  for (const secret of [old, fresh]) assert.equal(await ask(secret, '/v1/admin/campaigns'), '401 UNAUTHENTICATED');
  const told = JSON.stringify([await server.admin('GET', '/v1/admin/api-keys'), await server.admin('GET', '/v1/admin/audit-log?action=api_key.*')]) + server.log;
  for (const secret of [old, fresh]) assert.ok(!told.includes(secret.slice(12)), 'a secret is told again');
});

test('an entry of the audit log has a link that shows it at the top, whatever comes later', async (t) => {
  const page = await signIn(t, server, '/audit');
  const first = page.locator('[data-permalink]').first();
  await first.waitFor();
  const seq = await first.getAttribute('data-permalink');
  const link = await first.getAttribute('href');
  await server.admin('POST', '/v1/admin/blocklist', { scope: 'user', value: 'mallory', reason: 'came later' });
  await page.goto(server.adminUrl + link);
  await first.waitFor();
  assert.equal(await first.getAttribute('data-permalink'), seq);
});

test('a global stop names every live sale, and none other', async (t) => {
  const page = await signIn(t, server, '/switches');
  const row = page.locator('.ant-table-row', { has: page.locator('b', { hasText: /^closed$/ }) });
  await row.getByRole('button', { name: 'Turn on' }).click();
  await dialog(page).getByRole('button', { name: 'Next' }).click();
  await page.locator('[role=dialog] [data-tier=a]').waitFor();
  const text = await page.locator('[role=dialog] .note.warn').innerText();
  assert.match(text, /Live sales \(2\)/);
  assert.ok(text.includes('Spring tea') && text.includes('Summer hats') && !text.includes('Later on'), text);
});

test('money that came twice: a refund whose answer is lost is tried again, and the order itself is left alone', async (t) => {
  const r = await fetch(`${server.url}/v1/campaigns/spring/claims`, { method: 'POST', headers: { Authorization: `Bearer ${server.token('twice')}`, 'Idempotency-Key': 'r-twice' } });
  assert.equal(r.status, 200);
  const order = (await server.admin('GET', '/v1/admin/orders?user=twice')).items[0];
  for (const reference of ['p-1', 'p-2']) {
    const body = JSON.stringify({ reference, order_id: order.id, amount_minor: 9900, currency: 'CNY', status: 'succeeded' });
    const at = Math.floor(Date.now() / 1000);
    const v1 = createHmac('sha256', paymentSecret).update(`${at}.${body}`).digest('hex');
    const told = await fetch(`${server.url}/v1/payments/notifications`, { method: 'POST', body, headers: { 'Content-Type': 'application/json', 'Sluice-Signature': `t=${at},v1=${v1}` } });
    assert.equal(told.status, 200, await told.text());
  }
  assert.equal((await server.admin('GET', `/v1/admin/orders/${order.id}`)).refund_due, true);
  const page = await signIn(t, server, `/orders?user=twice&open=${order.id}`);
  await page.getByRole('button', { name: 'Refund' }).click();
  const d = dialog(page);
  await d.locator('input').nth(0).fill('paid twice');
  await d.locator('input').nth(1).fill(order.id);
  const asked = await losesFirst(page, '**/refund');
  await d.getByRole('button', { name: 'Refund' }).click();
  await d.locator('[role=alert]').waitFor();
  await d.getByRole('button', { name: /try again/ }).click();
  await d.locator('[role=status]').waitFor();
  const now = await server.admin('GET', `/v1/admin/orders/${order.id}`);
  assert.deepEqual([asked.length, now.state, now.refund_due], [2, 'paid', false]);
});

/**
 * Goes through a typed dialog that `press` has opened: Cancel has the focus, the button does nothing until the reason
 * and the id are there, and then the call is sent once, with the reason. Gives the calls.
 */
async function typed(page, { verb, id, call }) {
  const sent = [];
  page.on('request', (r) => { if (r.method() !== 'GET' && call.test(`${r.method()} ${new URL(r.url()).pathname}`)) sent.push(r); });
  const d = dialog(page);
  await d.locator('[data-tier=c]').waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel');
  const button = d.getByRole('button', { name: verb, exact: true });
  const [reason, box] = [d.locator('input').nth(0), d.locator('input').nth(1)];
  const dead = async (why) => {
    assert.equal(await button.getAttribute('aria-disabled'), 'true', why);
    await button.click({ force: true });
    await box.press('Enter');
  };
  await dead('nothing is filled in');
  await reason.fill('a drill');
  await dead('no id');
  await box.fill(`${id}x`);
  await dead('another id');
  await reason.fill(' ');
  await box.fill(id);
  await dead('no reason');
  assert.equal(sent.length, 0);
  await reason.fill('a drill');
  assert.equal(await button.getAttribute('aria-disabled'), 'false');
  await button.dblclick({ force: true });
  await d.locator('[role=status]').waitFor();
  assert.equal(sent.length, 1, 'sent once');
  const [r] = sent;
  assert.equal(r.postDataJSON()?.reason ?? new URL(r.url()).searchParams.get('reason'), 'a drill');
  return { request: r, says: await d.locator('[role=status]').innerText() };
}

/** The reason that the newest entry of an action has. */
const noted = async (action) => (await server.admin('GET', `/v1/admin/audit-log?action=${action}`)).items[0]?.reason;

test('a sale is ended for good once its id is typed', async (t) => {
  await server.campaign({ id: 'ending', title: 'The end' });
  const page = await signIn(t, server, '/campaigns/ending');
  await page.getByRole('button', { name: 'End the sale' }).click();
  await typed(page, { verb: 'End the sale', id: 'ending', call: /^POST .*\/ending\/end$/ });
  assert.equal((await server.admin('GET', '/v1/admin/campaigns/ending')).state, 'ended');
  assert.equal(await noted('campaign.end'), 'a drill');
});

test('a campaign is compared and repaired once its id is typed', async (t) => {
  const page = await signIn(t, server, '/reconcile?campaign=summer');
  await page.getByRole('button', { name: 'Compare and repair' }).click();
  const { says } = await typed(page, { verb: 'Compare and repair', id: 'summer', call: /^POST .*\/reconcile$/ });
  assert.match(says, /^0 differences, drift 0$/);
  assert.equal((await server.admin('GET', '/v1/admin/reconcile?campaign_id=summer')).items.length, 1);
  assert.equal(await noted('campaign.reconcile'), 'a drill');
});

test('a global stop is taken back once the name of the switch is typed', async (t) => {
  t.after(() => server.admin('DELETE', '/v1/admin/switches/closed').catch(() => {}));
  await server.admin('PUT', '/v1/admin/switches/closed', { value: 1, reason: 'all of them' });
  const page = await signIn(t, server, '/switches');
  const row = page.locator('.ant-table-row', { has: page.locator('b', { hasText: /^closed$/ }) });
  await row.getByRole('button', { name: 'Clear' }).click();
  const { request } = await typed(page, { verb: 'Clear', id: 'closed', call: /^DELETE .*\/switches\/closed$/ });
  assert.equal(new URL(request.url()).searchParams.get('campaign_id'), null, 'for every campaign');
  assert.match(await page.locator('[data-inforce]').innerText(), /1\/1 nodes/);
  const now = (await server.admin('GET', '/v1/admin/switches')).items.find((s) => s.name === 'closed');
  assert.deepEqual(now.settings, []);
  assert.equal(await noted('switch.*'), 'a drill');
});

test('a key is revoked once its name is typed, and opens nothing after', async (t) => {
  const { key, id } = await server.admin('POST', '/v1/admin/api-keys', { name: 'old till', role: 'viewer' });
  const status = async () => (await fetch(`${server.adminUrl}/v1/admin/campaigns`, { headers: { Authorization: `Bearer ${key}` } })).status;
  assert.equal(await status(), 200);
  const page = await signIn(t, server, '/keys');
  await page.locator('.ant-table-row', { hasText: 'old till' }).getByRole('button', { name: 'Revoke' }).click();
  const { request } = await typed(page, { verb: 'Revoke', id: 'old till', call: /^DELETE .*\/api-keys\// });
  assert.ok(request.url().includes(encodeURIComponent(id)));
  assert.equal(await status(), 401);
  assert.equal(await noted('api_key.revoke'), 'a drill');
});

test('publishing wants a reason', async (t) => {
  await server.campaign({ id: 'draft', title: 'A draft', draft: true });
  const page = await signIn(t, server, '/campaigns/draft');
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel');
  await dialog(page).getByRole('button', { name: 'Publish' }).click({ force: true });
  assert.equal((await server.admin('GET', '/v1/admin/campaigns/draft')).state, 'draft');
  await dialog(page).locator('input').fill('the goods are here');
  await dialog(page).getByRole('button', { name: 'Publish' }).click();
  await dialog(page).locator('[role=status]').waitFor();
  assert.notEqual((await server.admin('GET', '/v1/admin/campaigns/draft')).state, 'draft');
  const log = await server.admin('GET', '/v1/admin/audit-log?action=campaign.publish');
  assert.equal(log.items[0].reason, 'the goods are here');
});

test('the count of all rows is made when it is asked for, and its age is the strip\'s', async (t) => {
  const page = await signIn(t, server, '/live/spring');
  await page.locator('.strip .age button').waitFor();
  const asked = page.waitForResponse((r) => r.url().endsWith('/verify'));
  const from = Date.now();
  await page.getByRole('button', { name: 'Count all rows now' }).click();
  const counted = await (await asked).json();
  assert.ok(counted.ok && Date.parse(counted.checked_at) >= from - 1000, JSON.stringify(counted));
  await page.waitForResponse(async (r) => r.url().includes('/live?') && (await r.json()).checks.verified_at_ms >= Date.parse(counted.checked_at));
  await page.waitForFunction(() => document.querySelectorAll('[data-check][data-ok=true]').length === 4);
});

test('the report is replayed by its slider, saved as JSON, and printed without what is to be pressed', async (t) => {
  const claim = async (user) => {
    const r = await fetch(`${server.url}/v1/campaigns/summer/claims`, { method: 'POST', headers: { Authorization: `Bearer ${server.token(user)}`, 'Idempotency-Key': `r-${user}` } });
    assert.equal((await r.json()).code, 'CONFIRMED');
  };
  const buckets = async () => (await server.admin('GET', '/v1/admin/campaigns/summer/report')).buckets.length;
  await claim('early');
  for (let n = 0; (await buckets()) < 2; n++) { // each of them in a bucket of its own
    assert.ok(n < 400, 'there is one bucket only');
    await claim(`later-${n}`).catch(() => {});
  }
  const page = await signIn(t, server, '/campaigns/summer/report');
  const entered = () => page.locator('[data-count=entered]').innerText().then(Number);
  const slider = page.getByRole('slider', { name: /replay/i });
  await slider.focus();
  await page.keyboard.press('End');
  const all = await entered();
  const end = await slider.getAttribute('aria-valuetext');
  await page.keyboard.press('Home');
  assert.ok((await entered()) >= 1 && (await entered()) < all, `${await entered()} of ${all}`);
  assert.notEqual(await slider.getAttribute('aria-valuetext'), end);
  const [d] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'JSON' }).click()]);
  const chunks = [];
  for await (const c of await d.createReadStream()) chunks.push(c);
  const saved = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  assert.deepEqual([d.suggestedFilename(), saved.campaign.id, saved.verification.ok], ['report-summer.json', 'summer', true]);
  await page.emulateMedia({ media: 'print' });
  for (const gone of ['nav.side', 'header.top', '.noprint']) assert.equal(await page.locator(gone).first().isVisible(), false, gone);
  assert.ok(await page.locator('[data-verdict]').isVisible());
  const pdf = await page.pdf();
  assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
});
