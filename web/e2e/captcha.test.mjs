// A campaign that asks for siteverify, on the built binary: a stand-in for the provider's service, and for the script of
// its widget, which the browser gets under the provider's own address, so that the page's real policy counts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test, { after, before, describe } from 'node:test';
import { challenged } from './lib/buyer.mjs';
import { accessible, narrow, oneLanguage } from './lib/check.mjs';
import { state } from './lib/fake.mjs';
import { startServer } from './lib/sluice.mjs';

// What the provider's script does for the page: a place with something to press, and a token for it.
const widget = `window.turnstile = { render(into, o) {
  window.rendered = (window.rendered ?? 0) + 1;
  const b = document.createElement('button');
  Object.assign(b, { id: 'human', type: 'button', textContent: '✓', title: o.sitekey, onclick: () => o.callback(window.nextToken) });
  b.style.minHeight = '44px'; b.style.minWidth = '44px';
  into.append(b);
} };`;

let server;
const asked = [], end = [];
before(async () => {
  const service = createServer(async (q, r) => {
    let body = '';
    for await (const piece of q) body += piece;
    const form = new URLSearchParams(body);
    asked.push(form);
    r.setHeader('Content-Type', 'application/json');
    if (form.get('response') === 'down') r.statusCode = 500;
    r.end(JSON.stringify({ success: form.get('response').startsWith('good'), challenge_ts: new Date().toISOString(),
      hostname: '127.0.0.1', 'error-codes': form.get('response').startsWith('good') ? [] : ['invalid-input-response'] }));
  }).listen(0, '127.0.0.1');
  await once(service, 'listening');
  const ends = { after: (f) => { end.push(f); }, env: { SLUICE_CHALLENGE_SITEVERIFY_SECRET: 'the-services-secret' } };
  const url = `http://127.0.0.1:${service.address().port}/siteverify`;
  server = await startServer(ends, '--challenge-siteverify-provider', 'turnstile', '--challenge-siteverify-site-key', '0xsite',
    '--challenge-siteverify-url', url, '--challenge-siteverify-hostnames', '127.0.0.1');
  end.push(() => { service.closeAllConnections(); service.close(); });
});
after(async () => { for (const f of end) await f(); });

/** A buyer at the widget; `script` is what the provider's address gives, null where nobody is there. */
const atTheWidget = (t, user, script = widget) => challenged(t, server, 'siteverify', user, {
  before: (p) => p.route('https://challenges.cloudflare.com/**', (r) => (script === null ? r.abort() : r.fulfill({ contentType: 'text/javascript', body: script }))),
});

describe('a captcha of a third party', { concurrency: 2 }, () => {
  test('its widget is shown in place, a wrong token is another try, a right one goes on with the same claim', async (t) => {
    const page = await atTheWidget(t, 'human');
    await page.waitForSelector('#human');
    assert.equal(await page.getAttribute('#human', 'title'), '0xsite');
    await accessible(page, 'siteverify');
    await narrow(page, 'siteverify', 44);
    await oneLanguage(page, 'zh-CN', 'siteverify');
    await page.click('#lang'); // and back: the widget is put in again, not lost
    await page.waitForSelector('#human');
    await oneLanguage(page, 'en', 'siteverify');
    await page.evaluate(() => { window.nextToken = 'wrong'; });
    await page.click('#human');
    await page.waitForSelector('#puzzle [role=alert]');
    assert.equal(asked.filter((f) => f.get('response') === 'wrong').length, 1);
    assert.equal(asked.at(-1).get('secret'), 'the-services-secret');
    await page.evaluate(() => { window.nextToken = 'good-1'; });
    await page.click('#human');
    await state(page, 'confirmed', 20_000);
    assert.ok(page.sent.every((r) => !/secret|good-1|wrong/.test(r.url())), 'a token in an address');
    assert.deepEqual(page.faults, []);
    const v = await server.admin('GET', `/v1/admin/campaigns/${page.campaign}/verify`);
    assert.deepEqual([v.ok, v.held], [true, 1]);
  });

  test('a token counts once: the next buyer who has it is asked again', async (t) => {
    const one = await atTheWidget(t, 'first');
    await one.evaluate(() => { window.nextToken = 'good-twice'; });
    await one.click('#human');
    await state(one, 'confirmed', 20_000);
    const two = await atTheWidget(t, 'second');
    await two.evaluate(() => { window.nextToken = 'good-twice'; });
    await two.click('#human');
    await two.waitForSelector('#puzzle [role=alert]');
  });

  test('where the provider cannot be reached, proof of work lets the buyer in', async (t) => {
    const page = await atTheWidget(t, 'cut-off', null);
    await state(page, 'confirmed', 20_000);
  });

  test('where its script comes and is none of its own, there is the other way', async (t) => {
    const page = await atTheWidget(t, 'odd', 'window.somethingElse = 1;');
    await state(page, 'confirmed', 20_000);
  });

  test('the page lets in this provider and no other', async (t) => {
    const page = await atTheWidget(t, 'policy');
    await page.waitForSelector('#human');
    await page.route('https://js.hcaptcha.com/**', (r) => r.fulfill({ contentType: 'text/javascript', body: 'window.stranger = 1' }));
    const refused = await page.evaluate(() => new Promise((done) => {
      document.addEventListener('securitypolicyviolation', (e) => done(e.blockedURI), { once: true });
      const s = document.createElement('script');
      s.src = 'https://js.hcaptcha.com/1/api.js';
      document.head.append(s);
    }));
    assert.match(refused, /hcaptcha/);
    assert.equal(await page.evaluate(() => window.stranger), undefined);
  });
});
