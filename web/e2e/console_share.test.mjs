// A report for somebody without a key, by a link that ends; and the repair of one difference with its before and after.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { newPage } from './lib/browser.mjs';
import { bothSchemes, everyLook, locales, settled, signIn } from './lib/console.mjs';
import { startServer } from './lib/sluice.mjs';

const server = await startServer({ after });
await server.campaign({ id: 'spring', title: 'Spring 春季', total: 40, protection: { pass: 'off' } });
for (const user of ['ann-4711', 'bob-4712']) {
  const r = await fetch(`${server.url}/v1/campaigns/spring/claims`, {
    method: 'POST', headers: { Authorization: `Bearer ${server.token(user)}`, 'Idempotency-Key': `r-${user}` },
  });
  assert.equal((await r.json()).code, 'CONFIRMED');
}
const links = '/v1/admin/campaigns/spring/report/links';
const made = async (body = {}) => server.adminUrl + (await server.admin('POST', links, body)).path;
const dialog = (page) => page.locator('[role=dialog]').last();

/** Opens an address in a browser that knows nothing; `page.asked` is all that it asks for. */
async function stranger(t, url, options) {
  const page = await newPage(t, options);
  page.asked = [];
  page.on('request', (r) => page.asked.push(r));
  await page.goto(url);
  await page.locator('[data-shared=open], [data-shared=ended]').waitFor();
  return page;
}

test('a link that is made by clicking shows the report to a browser without a session, until it is taken back', async (t) => {
  const page = await signIn(t, server, '/campaigns/spring/report');
  await page.getByRole('button', { name: 'Share a read-only link' }).click();
  await dialog(page).getByLabel('For whom').fill('the board');
  await dialog(page).getByRole('button', { name: 'Share a read-only link' }).click();
  const url = (await dialog(page).locator('[data-link]').innerText()).trim();
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/shared\/report#slr_[\w-]{43}$/);
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  const row = page.locator('[data-links] .ant-table-row');
  await row.waitFor();
  assert.match(await row.innerText(), /the board[\s\S]*bootstrap[\s\S]*in 6 d 23 h|the board[\s\S]*bootstrap[\s\S]*in 7 d/);
  const secret = url.slice(url.indexOf('#') + 1);

  const guest = await stranger(t, url, { acceptDownloads: true });
  assert.match(await guest.locator('h1').innerText(), /Spring 春季/);
  assert.match(await guest.locator('[data-verdict=ok]').innerText(), /= 40/);
  const body = await guest.locator('body').innerText();
  for (const never of ['ann-4711', 'bob-4712', 'bootstrap', 'the board', secret]) assert.ok(!body.includes(never), never);
  assert.equal(await guest.locator('nav, .side, header.top, a').count(), 0, 'there is somewhere to go');
  assert.equal(guest.url(), `${server.adminUrl}/shared/report`);
  assert.deepEqual(await guest.context().cookies(), []);
  // Where the secret goes: into one header of one call, and into no address.
  for (const r of guest.asked) {
    const headers = await r.allHeaders();
    assert.ok(!r.url().split('#')[0].includes(secret), r.url());
    assert.ok(!(headers.referer ?? '').includes('slr_'), headers.referer);
    assert.equal('authorization' in headers, r.url().includes('/v1/admin/shared/'), r.url());
  }
  assert.deepEqual([...new Set(guest.asked.filter((r) => r.url().includes('/v1/')).map((r) => new URL(r.url()).pathname))], ['/v1/admin/shared/report']);
  const slider = guest.getByRole('slider', { name: /replay/i });
  await slider.focus();
  await guest.keyboard.press('Home');
  assert.ok(await slider.getAttribute('aria-valuetext'));
  const [d] = await Promise.all([guest.waitForEvent('download'), guest.getByRole('button', { name: 'CSV by time' }).click()]);
  const chunks = [];
  for await (const c of await d.createReadStream()) chunks.push(c);
  assert.match(Buffer.concat(chunks).toString('utf8'), /^\ufeffstart,width_ms/);
  await guest.emulateMedia({ media: 'print' });
  assert.equal(await guest.locator('.acts').isVisible(), false);
  assert.equal((await guest.pdf()).subarray(0, 5).toString(), '%PDF-');
  await guest.emulateMedia({ media: 'screen' });
  await guest.reload(); // this tab knows it still
  await guest.locator('[data-shared=open]').waitFor();

  await row.getByRole('button', { name: 'Take back' }).click();
  await dialog(page).locator('input').first().fill('it went too far');
  await dialog(page).getByRole('button', { name: 'Take back' }).click();
  await dialog(page).locator('[role=status]').waitFor();
  await guest.evaluate(() => document.dispatchEvent(new Event('visibilitychange'))); // somebody looks at it again
  await guest.locator('[data-shared=ended]').waitFor();
  assert.match(await guest.locator('[role=alert]').innerText(), /does not work, or no longer/);
  assert.equal(await guest.locator('[data-verdict]').count(), 0, 'what was read stays on the page');
  const log = await server.admin('GET', '/v1/admin/audit-log?action=report_link.*');
  assert.deepEqual(log.items.map((x) => [x.action, x.reason ?? '']), [['report_link.delete', 'it went too far'], ['report_link.create', '']]);
  assert.deepEqual([page.faults, guest.faults], [[], []]);
});

test('a wrong link, a part of one and none say the same; another link in the same tab is taken', async (t) => {
  const says = [];
  for (const end of ['', '#', `#slr_${'A'.repeat(43)}`, '#slr_short', '?key=slr_x']) {
    const page = await stranger(t, `${server.adminUrl}/shared/report${end}`);
    says.push(await page.locator('main').innerText());
    assert.ok(!page.url().includes('#'), page.url());
  }
  assert.equal(new Set(says).size, 1, says.join('\n---\n'));
  const page = await stranger(t, `${server.adminUrl}/shared/report`);
  const url = await made();
  await page.evaluate((hash) => { location.hash = hash; }, url.slice(url.indexOf('#')));
  await page.locator('[data-shared=open]').waitFor();
  assert.ok(!page.url().includes('#'), page.url());
});

test('the page for whoever has a link, in every look', async (t) => {
  const url = await made();
  const faults = [];
  for (const [lang, locale] of Object.entries(locales)) {
    for (const [what, at] of [['a shared report', url], ['a link that has ended', `${server.adminUrl}/shared/report#slr_${'B'.repeat(43)}`]]) {
      const page = await stranger(t, at, { locale, timezoneId: 'Asia/Shanghai' });
      await settled(page);
      faults.push(...await bothSchemes(page, what, lang), ...page.faults);
      await page.context().close();
    }
  }
  assert.deepEqual(faults, []);
});

test('the dialog that makes a link and the list of links, in every look', async (t) => {
  await made({ note: '财务 the books' });
  await everyLook(t, server, '/campaigns/spring/report', 'links to a report', {
    shown: async (page, lang) => {
      await page.locator('[data-links] .ant-table-row').first().waitFor();
      await page.getByRole('button', { name: lang === 'en' ? 'Share a read-only link' : '分享只读链接' }).click();
      await dialog(page).locator('.ant-select').waitFor();
      await page.waitForTimeout(400); // the dialog opens by and by
    },
  });
});

const claim = (n) => `clm_${String(n).repeat(26)}`;
const side = (state, units) => ({ state, units, limit_units: units });
const finding = (n, more) => ({ kind: 'missing_claim', claim_id: claim(n), units: 2, detail: 'the ledger has it, the gate does not', alone: true, seen: String(n).repeat(32),
  remedy: 'take', before: { gate: side('absent', 0), ledger: side('live', 2) }, after: { gate: side('live', 2), ledger: side('live', 2) }, ...more });
const runOf = (id, found, more) => ({ id, mode: 'dry_run', campaign_id: 'spring', epoch: 2, started_at: new Date().toISOString(), took_ms: 2400, ok: false, total: 40, available: 36,
  in_transfer: 0, queued: 0, held: 4, sold: 0, claims: 4, drift: 4, differences: found.length, found, ...more });
const four = [finding(1), finding(2), finding(3, { kind: 'unknown_claim', alone: false, remedy: undefined, after: undefined, detail: 'settled for the gate, unknown to the ledger' }),
  finding(4, { kind: 'quantity', alone: false, remedy: 'rearm', detail: '2 units in the gate, 1 in the ledger' })];

/** Plays a campaign whose gate and ledger differ over four claims; what is repaired is in `page.repairs`. */
async function differing(page) {
  page.repairs = [];
  await page.route('**/v1/admin/reconcile?*', (r) => r.fulfill({ json: { items: [runOf(7, four), runOf(6, [{ ...finding(5), repair: 'taken from the permit', alone: true }], { mode: 'one', ok: true })] } }));
  await page.route('**/v1/admin/reconcile', (r) => (r.request().method() === 'POST' ? r.fulfill({ json: runOf(7, four) }) : r.continue()));
  await page.route('**/v1/admin/reconcile/7/repair', (r) => {
    const body = r.request().postDataJSON();
    page.repairs.push(body);
    if (body.claim_id === claim(2)) return r.fulfill({ status: 409, json: { status: 409, code: 'DRIFT_CHANGED', title: 'It is not what was seen any more; nothing was repaired', detail: 'compare again', request_id: 'q1' } });
    return r.fulfill({ json: { run: runOf(8, [{ ...finding(1), repair: 'taken from the permit' }], { mode: 'one', ok: true }), before: finding(1).before, after: finding(1).after } });
  });
}

test('one difference is repaired by typing, with before and after; what has moved is refused in the server\'s words', async (t) => {
  const page = await signIn(t, server, '/reconcile?campaign=spring', { before: differing });
  await page.getByRole('button', { name: 'Dry run' }).click();
  const found = page.locator('[data-dryrun="7"]');
  await found.waitFor();
  assert.equal(await found.locator('[data-finding]').count(), 4);
  assert.equal(await found.getByRole('button', { name: 'Repair this one' }).count(), 2, 'only what has a repair of its own');
  assert.deepEqual(await found.locator('[data-why]').evaluateAll((all) => all.map((x) => x.dataset.why)), ['none', 'rearm']);
  assert.match(await found.locator('[data-why=none]').innerText(), /may be the only one that remembers[\s\S]*docs\/runbooks\/drift\.md/);
  await found.getByRole('button', { name: 'Repair this one' }).first().click();
  const cells = () => dialog(page).locator('[data-beforeafter] tr').allInnerTexts();
  assert.deepEqual((await cells()).map((x) => x.replace(/\s+/g, ' ').trim()), ['Side Before After', 'Gate nothing live · 2', 'Ledger live · 2 live · 2', 'On sale −2']);
  const go = dialog(page).getByRole('button', { name: 'Repair this one' });
  await dialog(page).locator('input').nth(0).fill('seen in the dry run');
  await go.dispatchEvent('click');
  assert.deepEqual(page.repairs, [], 'it was not typed yet');
  await dialog(page).locator('input').nth(1).fill('spring');
  await go.click();
  await dialog(page).locator('[data-repaired=true]').waitFor();
  assert.match(await dialog(page).locator('[role=status]').innerText(), /run 8[\s\S]*Gate[\s\S]*live · 2/);
  assert.deepEqual(page.repairs, [{ claim_id: claim(1), seen: '1'.repeat(32), reason: 'seen in the dry run' }]);
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await found.getByRole('button', { name: 'Repair this one' }).nth(1).click();
  await dialog(page).locator('input').nth(0).fill('and this');
  await dialog(page).locator('input').nth(1).fill('spring');
  await dialog(page).getByRole('button', { name: 'Repair this one' }).click();
  await dialog(page).locator('[role=alert]', { hasText: 'not what was seen any more' }).waitFor();
  assert.deepEqual(page.faults, []);
});

test('a dry run on the real server is on record as one and changes nothing; a viewer may not make it', async (t) => {
  const page = await signIn(t, server, '/reconcile?campaign=spring');
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.locator('[data-dryrun]', { hasText: 'Nothing differs' }).waitFor();
  await page.locator('.ant-table-row', { hasText: 'dry run' }).first().waitFor();
  const [run] = (await server.admin('GET', '/v1/admin/reconcile?campaign_id=spring')).items;
  assert.deepEqual([run.mode, run.ok, run.differences], ['dry_run', true, 0]);
  const { key } = await server.admin('POST', '/v1/admin/api-keys', { name: 'looks on', role: 'viewer' });
  const viewer = await signIn(t, server, '/reconcile?campaign=spring', { key, before: differing });
  assert.match(await viewer.getByRole('button', { name: 'Dry run' }).getAttribute('data-why'), /operator/i);
  await viewer.goto(`${server.adminUrl}/campaigns/spring/report`);
  assert.match(await viewer.getByRole('button', { name: 'Share a read-only link' }).getAttribute('data-why'), /operator/i);
});

test('a comparison with its differences, in every look', async (t) => {
  await everyLook(t, server, '/reconcile?campaign=spring', 'differences one by one', {
    before: differing,
    shown: async (page, lang) => {
      await page.getByRole('button', { name: lang === 'en' ? 'Dry run' : '试运行' }).first().click();
      await page.locator('[data-dryrun="7"] [data-beforeafter]').first().waitFor();
      await page.mouse.move(0, 0);
      await page.waitForTimeout(400); // the button is itself again by and by
    },
  });
});
