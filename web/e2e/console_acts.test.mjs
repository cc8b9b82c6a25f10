// What operators do in the console, and the screens with data in them: undo, the blocklist with its preview and import,
// what needs a person, refunds, coupons, jobs, more than one page, trouble.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { everyLook, go, losesFirst, settled, signIn } from './lib/console.mjs';
import { startServer } from './lib/sluice.mjs';

const server = await startServer({ after });
await server.campaign({ id: 'spring', total: 40, protection: { pass: 'off' } });

/** A buyer's call with a claim; gives the claim's answer. */
async function claim(campaign, user) {
  const r = await fetch(`${server.url}/v1/campaigns/${campaign}/claims`, {
    method: 'POST', headers: { Authorization: `Bearer ${server.token(user)}`, 'Idempotency-Key': `r-${user}` },
  });
  return r.json();
}

const dialog = (page) => page.locator('[role=dialog]').last();
const focused = (page, text) => page.waitForFunction((x) => document.activeElement?.textContent === x, text);

test('a stop is offered to be undone for ten seconds, and undoing it opens the guarded dialog', async (t) => {
  const page = await signIn(t, server, '/live/spring');
  await page.clock.install();
  const stop = async () => {
    await page.locator('.headacts [data-stop]').click();
    await dialog(page).getByRole('button', { name: 'Stop the sale' }).click();
    await page.locator('[data-inforce]').waitFor();
    assert.equal(await page.locator('[data-toast]').count(), 0, 'not before the dialog is closed');
    await dialog(page).getByRole('button', { name: 'Close' }).click();
  };
  await stop();
  const toast = page.locator('[data-toast]');
  await toast.waitFor();
  assert.match(await toast.innerText(), /is stopped/);
  await page.locator('.headacts').getByRole('button', { name: 'Open again' }).waitFor(); // in the place of the stop
  await toast.getByRole('button', { name: 'Undo' }).click();
  await dialog(page).waitFor();
  assert.equal(await toast.count(), 0);
  await page.clock.runFor(500);
  await focused(page, 'Cancel');
  assert.equal(await dialog(page).locator('[data-tier]').getAttribute('data-tier'), 'c');
  await dialog(page).locator('input').nth(0).fill('a slip');
  await dialog(page).locator('input').nth(1).fill('spring');
  await dialog(page).getByRole('button', { name: 'Open again' }).click();
  await page.locator('[data-inforce]').waitFor();
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await page.clock.runFor(2000);
  await page.locator('.headacts [data-stop]').waitFor();
  assert.equal(await toast.count(), 0, 'opening is not offered to be undone by one key');
  await stop();
  await toast.waitFor();
  await page.clock.runFor(9500);
  assert.equal(await toast.count(), 1);
  await page.clock.runFor(600);
  assert.equal(await toast.count(), 0);
  await server.admin('DELETE', '/v1/admin/switches/closed?campaign_id=spring');
});

test('a block says whom it would hit before it is made, what it has hit after, and can be undone', async (t) => {
  for (const user of ['ann', 'bob']) assert.equal((await claim('spring', user)).state, 'confirmed');
  const page = await signIn(t, server, '/blocklist');
  const fill = async (scope, value) => {
    if (scope) {
      await dialog(page).locator('.ant-select').click();
      await page.locator('.ant-select-item-option', { hasText: scope }).click();
    }
    await dialog(page).getByLabel('Value').fill(value);
  };
  await page.getByRole('button', { name: 'Block somebody' }).click();
  await fill('', 'nobody-here');
  await page.locator('[data-preview="0"]').waitFor();
  await fill('', 'ann');
  await page.locator('[data-preview="1"]').waitFor();
  assert.match(await page.locator('[data-preview]').innerText(), /1 of the 2 people.*\n.*1 of them were admitted/);
  await fill('Address', '127.0.0.0/33');
  await page.locator('[data-preview=""]', { hasText: 'must be an IP address' }).waitFor();
  await fill('', '127.0.0.1/8');
  await page.locator('[data-preview="2"]', { hasText: '127.0.0.0/8' }).waitFor();
  await fill('User', 'ann');
  await dialog(page).locator('input').last().fill('scripts');
  await dialog(page).getByRole('button', { name: 'Block somebody' }).click();
  await page.locator('[data-toast]', { hasText: 'ann is blocked' }).waitFor();
  const row = page.locator('.ant-table-row', { hasText: 'ann' });
  await row.locator('[data-hits="0"]').waitFor();
  assert.equal((await claim('spring', 'ann')).code, 'CONFIRMED', 'the recorded answer of a known request');
  const again = await fetch(`${server.url}/v1/campaigns/spring/claims`, {
    method: 'POST', headers: { Authorization: `Bearer ${server.token('ann')}`, 'Idempotency-Key': 'another' },
  });
  assert.equal((await again.json()).code, 'BLOCKED');
  await row.locator('[data-hits="1"]').waitFor({ timeout: 15_000 });
  await row.getByRole('button', { name: 'Lift' }).click();
  await dialog(page).locator('input').fill('a mistake');
  await dialog(page).getByRole('button', { name: 'Lift' }).click();
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await row.waitFor({ state: 'detached' });
  assert.deepEqual(page.faults, []);
});

test('a list is imported by a job after its diff was shown, and has more than one page', async (t) => {
  const page = await signIn(t, server, '/blocklist');
  const pick = (text) => page.locator('input[type=file]').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await pick('scope,value\nuser,fine\nplanet,earth\n');
  await dialog(page).getByText('1 lines have a fault').waitFor();
  assert.match(await dialog(page).innerText(), /✗ 3: scope/);
  assert.equal(await dialog(page).getByRole('button', { name: /Take over/ }).isDisabled(), true);
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  await dialog(page).waitFor({ state: 'hidden' });
  const many = Array.from({ length: 120 }, (_, i) => `user,bot-${String(i).padStart(3, '0')},"=1+1"`);
  await pick(`scope,value,reason\n${many.join('\n')}\n`);
  await dialog(page).getByText('120 rows: 120 new').waitFor();
  const asked = await losesFirst(page, '**/import-jobs**');
  await dialog(page).getByRole('button', { name: 'Take over 120 rows' }).click();
  await dialog(page).locator('[role=alert]').waitFor();
  await dialog(page).getByRole('button', { name: 'Take over 120 rows' }).click();
  await dialog(page).getByText('120 / 120').waitFor();
  const [one, other] = asked.map((r) => new URL(r.url()).searchParams.get('id'));
  assert.ok(one && one === other, `${one}, ${other}`);
  const jobs = (await server.admin('GET', '/v1/admin/jobs?kind=blocklist.import')).items;
  assert.equal(jobs.length, 1, 'the lost answer began nothing twice');
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await page.locator('.ant-table-row').nth(49).waitFor({ timeout: 15_000 });
  const first = await page.locator('.ant-table-row').first().innerText();
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.waitForURL(/cursor=/);
  await page.waitForFunction((was) => document.querySelector('.ant-table-row')?.innerText !== was, first);
  await page.reload();
  await page.locator('.ant-table-row').first().waitFor();
  assert.notEqual(await page.locator('.ant-table-row').first().innerText(), first, 'the page is in the address');
  await page.getByRole('button', { name: 'First page' }).click();
  await page.waitForFunction((was) => document.querySelector('.ant-table-row')?.innerText === was, first);
  await everyLook(t, server, '/blocklist', 'a long blocklist');
  await everyLook(t, server, '/blocklist', 'the diff of a list', {
    shown: async (p) => {
      await p.locator('input[type=file]').setInputFiles({ name: 'list.csv', mimeType: 'text/csv',
        buffer: Buffer.from('scope,value,reason\nuser,bot-001,other\nuser,new,why\n') });
      await p.locator('[data-diff] li').nth(1).waitFor();
      await p.waitForTimeout(300);
    },
  });
});

const need = (kind, urgency, more = {}) => ({ kind, urgency, detail: 'as the server says it', ...more });
const overview = {
  as_of_ms: Date.now(), live: [], health: { parts: {}, alive: 1, dead: 0, in_force: 1, skew_ms: 0, dead_letters: 3 },
  needs: [
    need('frozen', 'act', { campaign_id: 'spring', title: '春季 <b>秒杀</b>' }), need('dead_letters', 'act', { count: 3 }),
    need('refund_due', 'act', { count: 2 }), need('drift', 'act', { campaign_id: 'spring', title: '春季', count: 4 }),
    need('part_down', 'act'), need('node_dead', 'act', { count: 1 }), need('clock_skew', 'act'),
    need('switch', 'act', { campaign_id: 'spring', title: '春季', since_ms: Date.now() - 60_000, by: 'ops' }),
    need('low_stock', 'look', { campaign_id: 'spring', title: '春季', count: 7 }), need('paused', 'look', { campaign_id: 'spring', title: '春季' }),
    need('ending', 'look', { campaign_id: 'spring', title: '春季', since_ms: Date.now() + 86_400_000 }),
    need('coupons_ending', 'look', { campaign_id: 'spring', title: '春季', since_ms: Date.now() + 86_400_000 }),
    need('unpaid_expiring', 'look', { campaign_id: 'spring', title: '春季', count: 12 }), need('settings_old', 'look', { count: 1 }),
  ],
};

test('the overview names all that needs a person, each with the way there', async (t) => {
  await everyLook(t, server, '/', 'the overview', {
    before: (page) => page.route('**/v1/admin/overview', (r) => r.fulfill({ json: overview })),
    shown: async (page) => {
      const seen = await page.locator('[data-need]').evaluateAll((all) => all.map((e) => [e.dataset.need, e.querySelector('a').getAttribute('href')]));
      assert.deepEqual(seen.map(([k]) => k), overview.needs.map((x) => x.kind));
      const way = Object.fromEntries(seen);
      assert.equal(way.refund_due, '/orders?refund_due=true');
      assert.equal(way.drift, '/reconcile?campaign=spring');
      assert.equal(way.low_stock, '/live/spring');
      assert.equal(way.part_down, '/system');
    },
  });
});

test('trouble and degraded mode are told in one sentence, with what to do', async (t) => {
  const playing = (change) => async (page) => {
    await page.route('**/live?*', async (r) => {
      const answer = await (await r.fetch()).json();
      change(answer);
      await r.fulfill({ json: answer });
    });
  };
  await everyLook(t, server, '/live/spring', 'trouble', {
    before: playing((a) => Object.assign(a, { phase: 'trouble', state: 'frozen', note: 'ledger: 41 live units of 40' })),
    shown: async (page, lang) => {
      const says = await page.locator('[data-sentence]').innerText();
      assert.match(says, lang === 'en' ? /^✗ .*41 live units of 40/ : /^✗ .*41 live units of 40/);
      assert.equal(await page.locator('.strip [data-check]').count(), 0, 'one sentence, not four checks');
      await page.locator('.strip').getByRole('button').first().waitFor();
      await page.evaluate(() => { // the server's own words are data
        for (const e of document.querySelectorAll('[data-sentence]')) e.setAttribute('data-data', '');
      });
    },
  });
  await everyLook(t, server, '/live/spring', 'degraded', {
    before: playing((a) => {
      a.phase = 'degraded';
      a.health.parts = { ledger: 'up', redis: 'down', broker: 'up' };
    }),
    shown: async (page) => {
      assert.match(await page.locator('[data-sentence]').innerText(), /^! .*redis/);
      await page.locator('[data-figure=health] .tag.bad').first().waitFor();
    },
  });
});

test('jobs show how far they are, and stopping one says what stays done', async (t) => {
  const job = (id, kind, state, more = {}) => ({ id, kind, state, author: 'ops', total: 1000, done: 400, failed: 0, node: 'n1',
    created_at: new Date(Date.now() - 60_000).toISOString(), beat_at: new Date().toISOString(), ...more });
  const items = [
    job('job_1', 'dead_letters.replay', 'running', { failed: 3 }), job('job_2', 'blocklist.import', 'done', { done: 1000 }),
    job('job_3', 'dead_letters.discard', 'failed', { fault_code: 'UNAVAILABLE', fault: 'the ledger is away' }),
    job('job_4', 'rehearsal', 'cancelled', { total: -1, fault: 'stopped by an older server' }),
    job('job_5', 'rehearsal', 'failed', { fault_code: 'OF_A_LATER_VERSION', fault: 'what it says itself' }),
  ];
  await everyLook(t, server, '/jobs', 'jobs', {
    before: (page) => page.route(/admin\/jobs\?/, (r) => r.fulfill({ json: { items } })),
    shown: async (page, lang) => {
      const rows = await page.locator('.ant-table-row').allInnerTexts();
      assert.match(rows[2], lang === 'en' ? /did not answer in time/ : /没有及时应答/, 'a code is told in the language of the page');
      assert.ok(!rows[2].includes('the ledger is away'), rows[2]);
      assert.match(rows[3], /stopped by an older server/, 'no code');
      assert.match(rows[4], /what it says itself/, 'a code that nobody knows');
      assert.match(rows[0], /400 \/ 1,000/);
      assert.match(rows[0], /3/);
      assert.match(rows[3], /400 \/ —/);
      assert.equal(await page.locator('.ant-table-row').first().getByRole('progressbar').getAttribute('aria-valuenow'), '40');
      assert.equal(await page.locator('.ant-table-row button:not(.ant-table-row-expand-icon)').count(), 1, 'only what runs can be stopped');
    },
  });
});

test('a paid order is refunded once its id is typed', async (t) => {
  const c = await claim('spring', 'rich');
  const order = (await server.admin('GET', '/v1/admin/orders?user=rich')).items[0];
  assert.equal(order.claim_id, c.claim_id);
  const paid = await fetch(`${server.url}/v1/orders/${order.id}/pay`, { method: 'POST', headers: { Authorization: `Bearer ${server.token('rich')}` } });
  assert.equal(paid.status, 200);
  const page = await signIn(t, server, `/orders?user=rich&open=${order.id}`);
  await page.getByRole('button', { name: 'Refund' }).click();
  const d = dialog(page);
  await focused(page, 'Cancel');
  await d.locator('input').nth(0).fill('broken on arrival');
  await d.getByRole('button', { name: 'Refund' }).click({ force: true });
  assert.equal((await server.admin('GET', `/v1/admin/orders/${order.id}`)).state, 'paid', 'nothing was typed yet');
  await d.locator('input').nth(1).fill(order.id);
  await d.getByRole('button', { name: 'Refund' }).click();
  await d.locator('[role=status]').waitFor();
  assert.equal((await server.admin('GET', `/v1/admin/orders/${order.id}`)).state, 'refunded');
  await everyLook(t, server, `/orders?user=rich&open=${order.id}`, 'a refunded order', { shown: (p) => p.waitForTimeout(400) });
});

test('a coupon is revoked once its code is typed', async (t) => {
  const now = Date.now();
  await server.admin('POST', '/v1/admin/campaigns', {
    id: 'coupons', kind: 'coupon', title: 'Coupons', total: 5, per_user_limit: 1, starts_at: new Date(now - 1000).toISOString(),
    ends_at: new Date(now + 3_600_000).toISOString(), protection: { pass: 'off' },
    coupon: { type: 'amount_off', value: 500, currency: 'CNY', valid_days: 3 },
  });
  await claim('coupons', 'carol');
  const { code } = (await server.admin('GET', '/v1/admin/coupons?user=carol')).items[0];
  const page = await signIn(t, server, `/coupons?user=carol&open=${code}`);
  await page.getByRole('button', { name: 'Revoke' }).click();
  const d = dialog(page);
  await focused(page, 'Cancel');
  await d.locator('input').nth(0).fill('by mistake');
  await d.locator('input').nth(1).fill(code);
  await d.getByRole('button', { name: 'Revoke' }).click();
  await d.locator('[role=status]').waitFor();
  assert.equal((await server.admin('GET', `/v1/admin/coupons/${code}`)).state, 'revoked');
  await everyLook(t, server, `/coupons?user=carol&open=${code}`, 'a revoked coupon', { shown: (p) => p.waitForTimeout(400) });
});

test('one press on the clock goes from your zone to UTC and to the zone of the sales, and is remembered', async (t) => {
  const page = await signIn(t, server, '/campaigns/spring', { timezoneId: 'America/New_York' });
  await settled(page);
  const clock = page.locator('[data-zone]');
  const time = () => page.locator('main time').first().innerText();
  assert.match(await time(), /UTC-[45]$/);
  await clock.click();
  assert.match(await time(), /UTC$/);
  await clock.click();
  assert.match(await time(), /UTC\+8$/);
  assert.match(await clock.innerText(), /UTC\+8 *Asia\/Shanghai/);
  await page.getByRole('button', { name: 'Admin' }).click();
  await page.getByLabel('Zone of the sales').selectOption('Asia/Tokyo');
  assert.match(await time(), /UTC\+9$/);
  await page.reload();
  await clock.waitFor();
  await settled(page);
  assert.match(await time(), /UTC\+9$/);
  await clock.click();
  assert.match(await time(), /UTC-[45]$/);
});

test('what the server exports is what the buttons give', async (t) => {
  const page = await signIn(t, server, '/campaigns/spring/report');
  await settled(page);
  const file = async (name, role = 'button') => {
    const [d] = await Promise.all([page.waitForEvent('download'), page.getByRole(role, { name, exact: true }).click()]);
    await page.locator('.ant-btn-loading').first().waitFor({ state: 'detached' }); // it takes no second press until then
    const chunks = [];
    for await (const c of await d.createReadStream()) chunks.push(c);
    return Buffer.concat(chunks).toString('utf8');
  };
  assert.match(await file('CSV', 'link'), /^\ufefffigure,value\r?\n/);
  assert.match(await file('CSV by time', 'link'), /^\ufeffstart,width_ms/);
  await go(page, '/audit?action=block');
  const log = await file('All that fit, CSV');
  assert.match(log, /^\ufeffseq,at,actor/);
  await server.admin('POST', '/v1/admin/blocklist', { scope: 'user', value: 'exported', reason: 'a drill' });
  await go(page, '/audit?action=block*');
  const entries = JSON.parse(await file('All that fit, JSON'));
  assert.ok(entries.length > 0 && entries.every((e) => e.action.startsWith('block')), JSON.stringify(entries.map((e) => e.action)));
  assert.ok(entries.some((e) => e.reason === 'a drill'));
  assert.equal(await page.locator('[data-cut]').count(), 0, 'it has all that match');
  // What is told is looked at here, not the file: a browser may hold back one download of many.
  const press = async (name) => {
    await page.locator('.ant-btn-loading').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name, exact: true }).click();
  };
  for (const [form, name] of [['csv', 'All that fit, CSV'], ['json', 'All that fit, JSON']]) {
    await page.route(`**/audit-log.${form}?*`, async (r) => r.fulfill({ response: await r.fetch(), headers: { 'Sluice-Cut': '10000' } }));
    await press(name);
    await page.locator('[data-cut="10000"]', { hasText: 'the newest 10,000 rows; more match' }).waitFor();
    await page.unroute(`**/audit-log.${form}?*`);
    await press(name);
    await page.locator('[data-cut]').waitFor({ state: 'detached' });
  }
  await page.route('**/audit-log.json?*', (r) => r.fulfill({ status: 503, contentType: 'application/problem+json', json: { title: 'Service Unavailable', code: 'UNAVAILABLE', detail: 'the ledger is away' } }));
  await page.getByRole('button', { name: 'All that fit, JSON' }).click();
  await page.locator('[role=alert]', { hasText: 'the ledger is away' }).waitFor();
});

test('without a clipboard copying goes another way, and where there is none it says so and selects the text', async (t) => {
  const page = await signIn(t, server, '/campaigns/spring', { before: (p) => p.addInitScript(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined }); // as under plain HTTP
    const real = document.execCommand.bind(document);
    window.taken = [];
    document.execCommand = (what) => {
      if (window.refuses) return false;
      window.taken.push(String(document.activeElement?.value));
      return real(what);
    };
  }) });
  await settled(page);
  const id = page.locator('[data-copy]').first();
  await id.click();
  await page.locator('[data-copied=done]').first().waitFor({ state: 'attached' });
  assert.deepEqual(await page.evaluate(() => window.taken), ['spring']);
  await page.evaluate(() => { window.refuses = true; });
  await id.click();
  await page.locator('[data-copied=byHand]', { hasText: 'It is selected' }).waitFor();
  assert.equal(await page.evaluate(() => String(getSelection())), 'spring');
  await go(page, '/system');
  await page.getByRole('button', { name: 'Copy diagnostics' }).click();
  await dialog(page).getByText('copy nothing').waitFor();
  await page.waitForFunction(() => String(getSelection()).includes('"nodes"'));
  assert.match(await dialog(page).locator('pre').innerText(), /"nodes"/);
  await page.evaluate(() => { window.refuses = false; });
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Copy diagnostics' }).click();
  await page.locator('[role=status]', { hasText: 'Copied' }).waitFor();
  assert.match((await page.evaluate(() => window.taken)).at(-1), /"nodes"/);
});

test('the stock tab has a row for each shard of a gate in Redis, and none where there is none', async (t) => {
  const bare = await signIn(t, server, '/campaigns/spring?tab=stock');
  await settled(bare);
  assert.equal(await bare.locator('[data-shards]').count(), 0);
  assert.deepEqual(bare.faults, []);
  const shard = (i, more = {}) => ({ shard: i, armed: true, open: true, epoch: 7, revision: 3, available: 1200 + i, out: 0, queued: 2, live: 40, backlog: 0, ...more });
  const items = [shard(0), shard(1, { open: false, epoch: 6, out: 5 }), shard(2, { armed: false, open: false, epoch: 0, available: 0 })];
  await everyLook(t, server, '/campaigns/spring?tab=stock', 'the shards of a gate', {
    before: (page) => page.route('**/spring/shards', (r) => r.fulfill({ json: { at: new Date().toISOString(), items, error: 'redis: shard 3: i/o timeout' } })),
    shown: async (page, lang) => {
      const table = page.locator('[data-shards]');
      await table.locator('.ant-table-row').nth(2).waitFor();
      const rows = await table.locator('.ant-table-row').allInnerTexts();
      assert.deepEqual(rows.map((r) => r.split('\t').map((x) => x.trim()).slice(0, 7)), [
        ['0', '1,200', '40', '2', '0', '0', '7'], ['1', '1,201', '40', '2', '5', '0', '6'], ['2', '—', '—', '—', '—', '—', '—'],
      ]);
      assert.match(rows[1], lang === 'en' ? /sealed/ : /已封存/);
      await table.locator('.note.warn').waitFor();
    },
  });
});

test('the answer for a buyer is copied in the language of the buyer', async (t) => {
  for (const locale of ['en-US', 'zh-CN']) {
    const page = await signIn(t, server, '/lookup?q=asker', {
      locale, permissions: ['clipboard-read', 'clipboard-write'],
      before: (p) => p.route('**/v1/admin/lookup?*', (r) => r.fulfill({ json: { items: [
        { at: '2026-06-18T12:00:00.031Z', type: 'decision', subject: 'asker', data: { code: 'SOLD_OUT' } },
      ] } })),
    });
    const copied = async (lang) => {
      await page.locator(`[data-answer=${lang}]`).click();
      await page.locator(`[data-answer=${lang}]`, { hasText: '✓' }).waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const [en, zh] = [await copied('en'), await copied('zh')];
    assert.match(en, /asker.*\n2026-06-18 20:00:00\.031 UTC\+8 SOLD_OUT: No stock/);
    assert.doesNotMatch(en, /[\u4e00-\u9fff]/);
    assert.match(zh, /asker[^]*\n2026-06-18 20:00:00\.031 UTC\+8 SOLD_OUT: [\u4e00-\u9fff]/);
    await page.context().close();
  }
});

/** The jobs as if these rehearsals had been made. */
const rehearsals = (page, results) => page.route('**/v1/admin/jobs?*', (r) => r.fulfill({ json: { items: results.map((result, i) => ({
  id: `job_${i}`, kind: 'rehearsal', state: 'done', total: 1, done: 1, failed: 0, author: 'Olga', object: 'campaign/spring',
  created_at: '2026-06-18T12:00:00Z', ended_at: '2026-06-18T12:01:00Z', cancelling: false, result,
})) } }));

test('the pre-flight tab says in Chinese what its checks and rehearsals found', async (t) => {
  await server.admin('POST', '/v1/admin/campaigns/spring/preflight');
  const page = await signIn(t, server, '/campaigns/spring?tab=preflight', {
    locale: 'zh-CN',
    before: (p) => rehearsals(p, [
      { ok: true, verdict: 'all units were taken', units_taken: 12000, units_total: 12000, claims_per_s: 5100.4, p99_ms: 8 },
      { ok: false, verdict: 'units were oversold here', units_taken: 3, units_total: 2, faults: { oversold: 1, over_limit: 2 } },
    ]),
  });
  await page.locator('.feed li').nth(10).waitFor();
  await page.getByText('12,000 件中售出 12,000 件').waitFor();
  await page.getByText('超卖 1 件 · 2 人超过限购').waitFor();
  await page.getByText('每秒 5,100').waitFor();
  assert.equal(await page.locator('.feed [data-data]').count(), 0, 'nothing passes as data');
  // oneLanguage, but of what is marked as data too.
  const text = await page.locator('[role=tabpanel]:visible').innerText();
  assert.doesNotMatch(text, /[a-z]{3,} [a-z]{2,} [a-z]{2,}/i);
  assert.match(text, /还没有演练|每秒|尚不知/);
  assert.deepEqual(page.faults, []);
});

test('checks of an earlier version are told in their own words, moments by the clock of the page', async (t) => {
  const page = await signIn(t, server, '/campaigns/spring?tab=preflight', {
    locale: 'zh-CN',
    before: (p) => p.route('**/v1/admin/campaigns/spring/preflight', (r) => r.fulfill({ json: {
      run: 1, at: '2026-06-18T12:00:00Z', ok: true, go: 2, of: 2, author: 'Olga', checks: [
        { name: 'schedule', state: 'go', detail: 'opens at 2026-06-18T12:00:00Z' },
        { name: 'schedule2', state: 'go', detail: 'of a later version', code: 'schedule_unheard_of', args: {} },
        { name: 'preheated', state: 'go', detail: '-', code: 'preheated_same', args: { units: 12345, revision: 2 } },
        { name: 'payments', state: 'no_go', detail: '-', code: 'payments_down', args: { at: '2026-06-18T12:00:00Z' } },
      ],
    } })),
  });
  await page.getByText('opens at 2026-06-18 20:00:00 UTC+8').waitFor();
  await page.getByText('of a later version').waitFor();
  await page.getByText('许可与账本均为 12,345 件，修订 2').waitFor();
  await page.getByText('自 2026-06-18 20:00:00 UTC+8 起支付被标记为故障').waitFor();
});

test('a rehearsal stands marked among the campaigns until it ends, and its orders among no others', async (t) => {
  await server.campaign({ id: 'clone', title: 'A clone', load_test: true, protection: { pass: 'off' } });
  await claim('clone', 'crowd');
  await claim('spring', 'buyer');
  const page = await signIn(t, server, '/campaigns', { locale: 'zh-CN' });
  await settled(page);
  const row = page.getByRole('row').filter({ hasText: 'A clone' });
  assert.match(await row.innerText(), /演练/);
  assert.equal(await page.locator('tr .tag', { hasText: '演练' }).count(), 1);
  await server.admin('POST', '/v1/admin/campaigns/clone/end');
  await page.reload();
  await settled(page);
  assert.equal(await row.count(), 0);
  await page.getByText('演练', { exact: true }).click();
  await row.waitFor();
  assert.equal(await page.getByRole('row').filter({ hasText: 'spring' }).count(), 0);
  await go(page, '/orders');
  await page.getByRole('row').filter({ hasText: 'buyer' }).waitFor();
  assert.equal(await page.getByRole('row').filter({ hasText: 'crowd' }).count(), 0);
  await go(page, '/orders?campaign=clone');
  await page.getByRole('row').filter({ hasText: 'crowd' }).waitFor();
});
