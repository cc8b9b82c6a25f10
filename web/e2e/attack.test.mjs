// The page as an attacker finds it: markup where a name stands, addresses that are scripts, frames, redirects, tokens that leak.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { before, describe } from 'node:test';
import { newContext, pageIn } from './lib/browser.mjs';
import { Fake, press, state, token } from './lib/fake.mjs';
import { sharedServer, startServer } from './lib/sluice.mjs';

let server;
before(async () => { server = await sharedServer(); });

const markup = `"'><img src=x onerror="window.pwned=1"><script>window.pwned=1</script><svg onload=window.pwned=1>`;
const tab = (t) => newContext(t, { locale: 'en-GB' });

/** Nothing ran, and nothing of the markup became an element. */
async function harmless(page, where) {
  const found = await page.evaluate(() => [window.pwned, document.querySelectorAll('[onerror],[onload],main script,nav script,nav img').length]);
  assert.deepEqual(found, [undefined, 0], where);
}

/** A call as no browser normalises it. */
function raw(path, headers = {}) {
  const { hostname, port } = new URL(server.url);
  return new Promise((done, fail) => {
    request({ hostname, port, path, headers }, (r) => { r.resume(); r.on('end', () => done(r)); }).on('error', fail).end();
  });
}

describe('an attacker', { concurrency: 2 }, () => {
  test('writes markup into titles, names, codes, orders and references: it is shown as text', async (t) => {
    const context = await tab(t);
    const fake = new Fake({ title: markup, user: markup, lang: 'en' });
    fake.claims = [fake.answer('BLOCKED', { reference: markup })];
    const page = await fake.open(context, server.url);
    await state(page, 'armed');
    assert.equal(await page.textContent('h1'), markup);
    assert.ok((await page.textContent('#out')).includes(markup));
    await press(page);
    await state(page, 'blocked');
    assert.ok((await page.textContent('#help')).includes(markup));
    await harmless(page, 'the sale');
    fake.orders = [fake.order('unpaid', { id: markup, campaign_id: markup })];
    fake.coupons = [fake.coupon({ code: 'AAAA', campaign_id: markup }), fake.coupon({ code: markup, state: 'redeemed' })];
    for (const path of ['/', '/orders', '/coupons']) {
      await page.goto(server.url + path);
      await state(page, path === '/' ? 'list' : path.slice(1));
      await harmless(page, path);
    }
  });

  test('has a picture that is a script, or a page', async (t) => {
    for (const image_url of ['javascript:window.pwned=1', 'data:text/html,<script>parent.pwned=1</script>',
      'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="parent.pwned=1"/>', 'https://evil.example/x.png']) {
      const fake = new Fake({ image_url });
      const page = await fake.open(await tab(t), server.url);
      const out = [];
      page.on('response', (r) => out.push(r.url()));
      await state(page, 'armed');
      await page.waitForSelector('img.hero');
      await harmless(page, image_url);
      assert.ok(!out.some((u) => u.startsWith('https://evil')), 'a picture of a stranger');
    }
    for (const image_url of ['javascript:alert(1)', 'data:image/png;base64,AA']) {
      await assert.rejects(server.campaign({ image_url }), /422/);
    }
  });

  test('has a hand in the words of the shop', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-words-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(join(dir, 'texts.json'), JSON.stringify({ en: { armed: [markup, `</script>${markup}`], orders: markup } }));
    const own = await startServer(t, '--storefront-theme', dir);
    const fake = new Fake({ lang: 'en' });
    const page = await fake.open(await tab(t), own.url);
    await state(page, 'armed');
    assert.equal(await page.textContent('#go'), markup);
    await harmless(page, 'words');
  });

  test('sends the browser elsewhere: no path is a redirect', async () => {
    for (const path of ['//evil.example/', '/\\evil.example', '/c//evil.example', '/c/%2f%2fevil.example', '/c/..%2f..%2f', '/%0d%0aLocation:%20x',
      '/c/x?return=https://evil.example', '/orders?next=//evil.example', '/c/%', '/c/%zz']) {
      const r = await raw(path);
      assert.ok(r.statusCode < 300 || r.statusCode >= 400, `${path}: ${r.statusCode}`);
      assert.equal(r.headers.location, undefined, path);
    }
  });

  test('has an address that is no good: it is told, not a blank page', async (t) => {
    const page = await pageIn(await tab(t));
    await page.goto(`${server.url}/c/%zz`).catch(() => {});
    await state(page, 'notfound');
    assert.deepEqual(page.faults, []);
  });

  test('puts the page into a frame', async (t) => {
    for (const path of ['/', '/c/x', '/orders', '/coupons']) {
      const { headers } = await raw(path);
      assert.equal(headers['x-frame-options'], 'DENY', path);
      assert.match(headers['content-security-policy'], /frame-ancestors 'none'/, path);
    }
    const evil = createServer((q, r) => r.setHeader('Content-Type', 'text/html').end(`<iframe id="f" src="${server.url}/c/x"></iframe>`)).listen(0, '127.0.0.1');
    await once(evil, 'listening');
    t.after(() => { evil.closeAllConnections(); evil.close(); });
    const page = await pageIn(await tab(t));
    await page.goto(`http://localhost:${evil.address().port}/`, { waitUntil: 'load' });
    const frame = page.frames().find((f) => f.parentFrame());
    assert.equal(await frame.locator('#go').count(), 0, 'the page is in a frame');
  });

  test('points a name at this machine: nobody is signed in by it', async () => {
    const { port } = new URL(server.url);
    const ask = (host) => new Promise((done, fail) => {
      const q = request({ hostname: '127.0.0.1', port, path: '/v1/dev/token', method: 'POST', headers: { Host: host, 'Content-Type': 'application/json' } },
        (r) => { r.resume(); done(r.statusCode); });
      q.on('error', fail);
      q.end('{"user":"mallory"}');
    });
    assert.deepEqual([await ask('evil.example'), await ask(`evil.example:${port}`), await ask(`0.0.0.0:${port}`)], [404, 404, 404]);
    assert.deepEqual([await ask(`localhost:${port}`), await ask(`127.0.0.1:${port}`)], [200, 200]);
  });

  test('waits for a token in an address, in a referrer, or in another origin\'s hands', async (t) => {
    const stranger = [];
    const shop = createServer((q, r) => { stranger.push([q.url, q.headers.referer]); r.end('shop'); }).listen(0, '127.0.0.1');
    await once(shop, 'listening');
    t.after(() => { shop.closeAllConnections(); shop.close(); });
    const fake = new Fake({ user: '', lang: 'en', login_url: `http://127.0.0.1:${shop.address().port}/login`, dev_sign_in: false });
    const secret = token('carol');
    const page = await fake.open(await tab(t), server.url, `/c/spring#token=${secret}`);
    const sent = [];
    page.on('request', (r) => sent.push(r.url()));
    await state(page, 'armed');
    assert.equal(page.url(), `${server.url}/c/spring`);
    await page.reload();
    await state(page, 'armed');
    await page.click('#out');
    await state(page, 'login');
    await press(page);
    await page.waitForURL(/login\?return=/);
    assert.equal(new URL(page.url()).searchParams.get('return'), `${server.url}/c/spring`);
    assert.deepEqual(stranger.filter(([url]) => url.startsWith('/login')).map(([, from]) => from), [undefined]);
    assert.ok([...sent, ...stranger.map(([u]) => u), ...fake.log.map((x) => x.query)].every((x) => !x.includes(secret)), 'the token is in an address');
    await page.goBack();
    assert.ok(!page.url().includes('token'), 'the token is in the history');
  });
});

test('the page of the SDK\'s README sells, as it is copied', async (t) => {
  const text = readFileSync(join(import.meta.dirname, '../sdk/example/page.html'), 'utf8');
  const { id } = await server.campaign({ title: 'Spring tea' }, 3000);
  const page = await pageIn(await tab(t));
  const failed = [];
  page.on('pageerror', (e) => failed.push(e.message));
  await page.route(`${server.url}/my/page.html*`, (r) => r.fulfill({ contentType: 'text/html', body: text }));
  await page.route(`${server.url}/my/sluice.js`, async (r) => r.fulfill({ response: await r.fetch({ url: `${server.url}/sdk/sluice.js` }) }));
  await page.addInitScript((x) => sessionStorage.setItem('token', x), server.token('copied'));
  await page.goto(`${server.url}/my/page.html?sale=${id}`);
  await page.waitForFunction(() => document.getElementById('buy').textContent === 'Buy now');
  assert.equal(await page.textContent('#title'), 'Spring tea');
  await page.click('#buy');
  await page.waitForFunction(() => /You got it: ord_/.test(document.getElementById('say').textContent));
  await page.reload(); // the same request id: the same claim
  await page.waitForFunction(() => document.getElementById('buy').textContent === 'Buy now');
  await page.click('#buy');
  await page.waitForFunction(() => /You got it: ord_/.test(document.getElementById('say').textContent));
  assert.deepEqual(failed, []);
  const v = await server.admin('GET', `/v1/admin/campaigns/${id}/verify`);
  assert.deepEqual([v.ok, v.held], [true, 1]);
});
