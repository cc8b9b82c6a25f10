// What the sale page promises beyond its looks: one click is one claim, the server's clock counts, nothing is asked for at
// the opening, and what was lost is asked about.
import assert from 'node:assert/strict';
import { availableParallelism, loadavg } from 'node:os';
import test, { before, describe } from 'node:test';
import { newContext } from './lib/browser.mjs';
import { cut, Fake, hang, press, state } from './lib/fake.mjs';
import { sharedServer } from './lib/sluice.mjs';

let server;
before(async () => { server = await sharedServer(); });

const pause = (ms) => new Promise((f) => { setTimeout(f, ms); });

/** A page of an open sale, armed; `answers` are what its claims are answered with. */
async function armed(t, answers = () => []) {
  const fake = new Fake();
  fake.claims = answers(fake);
  const page = await fake.open(await newContext(t), server.url);
  await state(page, 'armed');
  return { fake, page };
}

/** Presses the button; gives the states that the page goes through, until it is in the last of them. */
async function through(page, last) {
  await page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => window.seen.push(document.body.dataset.state)).observe(document.body, { attributes: true });
  });
  await press(page);
  await state(page, last);
  return page.evaluate(() => window.seen);
}

describe('one click', { concurrency: 2 }, () => {
  test('ten clicks in a tick are one claim', async (t) => {
    const { fake, page } = await armed(t, () => [hang]);
    await page.evaluate(() => { for (let i = 0; i < 10; i++) document.getElementById('go').click(); });
    await state(page, 'sending');
    for (let i = 0; i < 5; i++) await page.click('#go', { force: true });
    assert.equal(fake.posts().length, 1);
    assert.match(fake.posts()[0].body.request_id, /^[\w-]{16,}$/);
  });

  test('ten clicks of a mouse within 500 ms are one claim, and so is the key', async (t) => {
    const { fake, page } = await armed(t, () => [hang]);
    const { x, y, width, height } = await page.locator('#go').boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    const began = Date.now();
    for (let i = 0; i < 10; i++) {
      await page.mouse.down();
      await page.mouse.up();
      await pause(Math.max(0, 45 * (i + 1) - (Date.now() - began)));
    }
    await page.focus('#go');
    for (const key of ['Enter', 'Space']) await page.keyboard.press(key);
    await state(page, 'sending');
    await pause(300);
    assert.equal(fake.posts().length, 1);
  });

  test('a reload while queued asks for the same claim and sends none', async (t) => {
    const fake = new Fake();
    fake.claims = [fake.claim('queued')];
    fake.found = [fake.claim('queued')];
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'armed');
    await press(page);
    await state(page, 'queued');
    await page.reload();
    await state(page, 'queued');
    assert.equal(fake.posts().length, 1);
    const asked = fake.log.find((x) => x.query.includes('request_id='));
    assert.equal(new URLSearchParams(asked.query).get('request_id'), fake.posts()[0].body.request_id);
    fake.results = [fake.claim('confirmed', { order_id: 'ord_1' })];
    fake.orders = [fake.order('unpaid')];
    await page.reload();
    await state(page, 'confirmed');
    assert.equal(fake.posts().length, 1);
  });

  test('a reply that is cut is asked about: the claim is there', async (t) => {
    const fake = new Fake();
    fake.claims = [cut];
    fake.found = [fake.claim('confirmed', { order_id: 'ord_1' })];
    fake.orders = [fake.order('unpaid')];
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'armed');
    assert.ok((await through(page, 'confirmed')).includes('unknown'));
    assert.equal(fake.posts().length, 1);
    assert.match(await page.textContent('#go'), /99\.00/);
  });

  test('a reply that is cut and no claim: the same id goes out again', async (t) => {
    const { fake, page } = await armed(t, (f) => [cut, f.claim('queued')]);
    await press(page);
    await state(page, 'queued');
    const ids = new Set(fake.posts().map((x) => x.body.request_id));
    assert.deepEqual([fake.posts().length, ids.size], [2, 1]);
  });

  test('busy three times: four posts of one id', async (t) => {
    const fake = new Fake();
    fake.claims = [0, 0, 0].map(() => fake.answer('BUSY', { retry_after_ms: 50 }));
    fake.claims.push(fake.claim('queued'));
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'armed');
    await press(page);
    await state(page, 'queued');
    assert.deepEqual([fake.posts().length, new Set(fake.posts().map((x) => x.body.request_id)).size], [4, 1]);
  });

  test('two tabs agree', async (t) => {
    const fake = new Fake();
    const context = await newContext(t);
    fake.claims = [fake.claim('queued')];
    fake.found = [fake.claim('queued')];
    const one = await fake.open(context, server.url);
    const two = await fake.open(context, server.url);
    await Promise.all([state(one, 'armed'), state(two, 'armed')]);
    await press(one);
    await state(one, 'queued');
    await state(two, 'queued');
    assert.equal(fake.posts().length, 1);
    // The outcome is the same in both, and neither has sent another claim for it.
    fake.found = [fake.claim('confirmed', { order_id: 'ord_1' })];
    fake.results = [fake.claim('confirmed', { order_id: 'ord_1' })];
    fake.orders = [fake.order('unpaid')];
    await Promise.all([one.reload(), two.reload()]);
    await Promise.all([state(one, 'confirmed'), state(two, 'confirmed')]);
    assert.equal(fake.posts().length, 1);
  });

  test('clicks in two tabs, one after the other, are one claim of one id', async (t) => {
    const fake = new Fake();
    const context = await newContext(t);
    let first; // who comes with the same id again gets the same claim
    fake.claims = [(entry) => { first ??= entry.body.request_id; return fake.claim('queued'); }];
    fake.found = [fake.claim('queued')];
    const one = await fake.open(context, server.url);
    const two = await fake.open(context, server.url);
    await Promise.all([state(one, 'armed'), state(two, 'armed')]);
    await one.evaluate(() => document.getElementById('go').click());
    await pause(100); // a hand is not faster from one tab to the other
    await two.evaluate(() => document.getElementById('go').click());
    await Promise.all([state(one, 'queued'), state(two, 'queued')]);
    assert.deepEqual([...new Set(fake.posts().map((x) => x.body.request_id))], [first]);
  });

  test('clicks in two tabs in the same instant are one claim of one id', async (t) => {
    for (let round = 0; round < 4; round++) {
      const fake = new Fake();
      const context = await newContext(t);
      fake.claims = [fake.claim('queued')];
      fake.found = [undefined, undefined, fake.claim('queued')]; // nobody has it yet when the second tab asks
      const one = await fake.open(context, server.url);
      const two = await fake.open(context, server.url);
      await Promise.all([state(one, 'armed'), state(two, 'armed')]);
      const at = Date.now() + 300;
      const click = (page) => page.evaluate((when) => new Promise((f) => {
        setTimeout(() => {
          while (Date.now() < when); // both at the same millisecond
          document.getElementById('go').click();
          f();
        }, when - 20 - Date.now());
      }), at);
      await Promise.all([click(one), click(two)]);
      await Promise.all([state(one, 'queued'), state(two, 'queued')]);
      assert.equal(new Set(fake.posts().map((x) => x.body.request_id)).size, 1, `round ${round}`);
      await context.close();
    }
  });

  test('a reply that is cut and a true result that is a refusal', async (t) => {
    const fake = new Fake();
    fake.claims = [cut, () => {
      Object.assign(fake.campaign, { state: 'sold_out', available: 0, sold_out_at: new Date().toISOString() });
      return fake.answer('SOLD_OUT');
    }];
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'armed');
    const seen = await through(page, 'soldout');
    assert.ok(seen.includes('unknown') && !seen.includes('confirmed'), JSON.stringify(seen));
    assert.equal(new Set(fake.posts().map((x) => x.body.request_id)).size, 1);
  });

  test('an id that was used for something else: a new one, once', async (t) => {
    const { fake, page } = await armed(t, (f) => [{ status: 409, body: { status: 409, code: 'REQUEST_ID_REUSED' } }]);
    await press(page);
    await state(page, 'failed');
    assert.deepEqual([fake.posts().length, new Set(fake.posts().map((x) => x.body.request_id)).size], [2, 2]);
  });

  test('sold out for now comes back by itself and says so', async (t) => {
    const fake = new Fake({ state: 'sold_out', available: 0, may_return: 5 });
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'mayreturn');
    Object.assign(fake.campaign, { state: 'live', available: 1, may_return: 4 });
    await state(page, 'armed', 15_000);
    assert.match(await page.textContent('#voice'), /有库存/);
  });

  test('paused and back', async (t) => {
    const fake = new Fake({ state: 'paused' });
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'paused');
    fake.campaign.state = 'live';
    await state(page, 'armed', 15_000);
  });

  test('stopped and back: nobody has to click to hear of it', async (t) => {
    const fake = new Fake();
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'armed');
    fake.campaign.state = 'closed';
    await state(page, 'closed', 30_000);
    fake.campaign.state = 'live';
    await state(page, 'armed', 20_000);
    assert.equal(fake.posts().length, 0);
  });

  test('a pass: the slider by keys, then the same request goes on by itself', async (t) => {
    const png = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const fake = new Fake();
    fake.claims = [fake.answer('PASS_REQUIRED'), fake.claim('queued')];
    fake.passes = [
      { challenge: { id: 'c1', type: 'slider', data: { image: png, piece: png, y: 4, width: 300, height: 150, piece_width: 44 } } },
      { pass: 'p1.y', valid_until_ms: Date.now() + 900_000 },
    ];
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'armed');
    await press(page);
    await page.waitForSelector('#slide:focus');
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
    await page.click('#step-right');
    await page.keyboard.press('Tab');
    await page.click('#slide-go');
    await state(page, 'queued');
    const solved = fake.log.filter((x) => x.path.endsWith('/passes')).at(-1).body;
    assert.equal(solved.challenge_id, 'c1');
    assert.deepEqual([solved.solution.x, solved.solution.by], [8, 'keys']);
    assert.ok(solved.solution.track.length >= 6 && solved.solution.track.every((p) => p.length === 3));
    const posts = fake.posts().map((x) => x.body);
    assert.deepEqual([posts.length, posts[0].request_id === posts[1].request_id, posts[1].pass], [2, true, 'p1.y']);
  });

  test('another way: proof of work in a worker, without a hand', async (t) => {
    const { createHash } = await import('node:crypto');
    const salt = 'abc.123';
    const challenge = createHash('sha256').update(`${salt}4321`).digest('hex');
    const pow = { algorithm: 'SHA-256', challenge, salt, maxnumber: 50_000, signature: 's' };
    const fake = new Fake({ opensIn: 300_000, protection: { pass: 'always', challenge: 'image' } });
    fake.passes = [{ challenge: { id: 'c1', type: 'image', data: { image: 'data:,' } } }, { challenge: { id: 'c2', type: 'pow', data: pow } },
      { pass: 'p1.z', valid_until_ms: Date.now() + 900_000 }];
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'presolve');
    await press(page);
    await page.click('#another');
    await state(page, 'scheduled');
    const asked = fake.log.filter((x) => x.path.endsWith('/passes')).map((x) => x.body);
    assert.deepEqual(asked.slice(0, 2), [{}, { challenge: 'pow' }]);
    assert.equal(JSON.parse(Buffer.from(asked[2].solution, 'base64')).number, 4321);
    assert.deepEqual(page.faults, []);
  });
});

describe('the clock', { concurrency: 2 }, () => {
  for (const [name, shift, options] of [
    ['an hour fast', 3_600_000, {}], ['an hour slow', -3_600_000, {}],
    ['in Kolkata', 0, { timezoneId: 'Asia/Kolkata' }], ['on a slow machine', 0, { slow: true }],
    ['hidden for six minutes', 0, { hidden: true }], ['hidden for six minutes, the machine asleep', 0, { hidden: true, asleep: true }],
    ['an hour fast, in Kolkata, on a slow machine, hidden for six minutes', 3_600_000, { timezoneId: 'Asia/Kolkata', slow: true, hidden: true }],
    ['an hour slow, in Kolkata, on a slow machine, asleep for six minutes', -3_600_000,
      { timezoneId: 'Asia/Kolkata', slow: true, hidden: true, asleep: true }],
  ]) {
    test(`arms at the server's start, never before: ${name}`, async (t) => {
      // Early is wrong every time; late may be the machine's fault: one of three has to be in time.
      let late;
      for (let n = 0; n < 3 && !(late <= 0); n++) late = await arming(t, shift, options);
      assert.ok(late <= 0, `${late} ms later than allowed`);
    });
  }

  /** Opens a sale in a page and gives by how much it armed too late; above 100 ms is. */
  async function arming(t, shift, { slow, hidden, asleep, ...rest }) {
    const context = await newContext(t, rest);
    const fake = new Fake({ opensIn: 60_000 });
    // Six minutes are not waited for: the server's clock leaps, and with it the page's own, unless its machine sleeps.
    fake.realTime = !hidden;
    const leap = hidden ? 360_000 : 0;
    let start; // counted from when the page is there, however long that took
    fake.view = () => {
      start ??= Date.now() + 4000 + leap;
      return { ...fake.campaign, starts_at: new Date(start + fake.skew).toISOString() };
    };
    const page = await fake.open(context, server.url, '/c/spring', async (p) => {
      await p.addInitScript((by) => {
        const real = Date.now;
        Date.now = () => real() + by;
        const at = performance.timeOrigin;
        const mono = performance.now.bind(performance);
        let leapt = 0;
        performance.now = () => mono() + leapt;
        Object.defineProperty(document, 'hidden', { get: () => window.away ?? false });
        window.turn = (away, leap) => {
          window.away = away;
          leapt += leap;
          document.dispatchEvent(new Event('visibilitychange'));
        };
        const frames = [];
        const frame = (t) => { if (frames.push(t) > 600) frames.shift(); requestAnimationFrame(frame); };
        requestAnimationFrame(frame);
        // How long the machine let this page wait lately, and how long a question about the time took at best.
        window.starved = () => Math.max(0, ...frames.slice(-120).map((t, i, all) => (i ? t - all[i - 1] : 0)));
        window.asked = () => Math.min(...performance.getEntriesByType('resource').filter((e) => e.name.includes('/v1/time')).map((e) => e.duration));
        window.armed = new Promise((done) => {
          let last = Infinity;
          const look = () => {
            const text = document.getElementById('clock')?.textContent;
            if (text) {
              const s = text.split(':').reduce((n, x) => n * 60 + Number(x), 0);
              if (s > last) window.up = `${s} after ${last}`;
              last = s;
            }
            if (document.body?.dataset.state === 'armed') done(at + mono());
          };
          new MutationObserver(look).observe(document, { subtree: true, attributes: true, childList: true, characterData: true });
        });
      }, shift);
      if (slow) await (await context.newCDPSession(p)).send('Emulation.setCPUThrottlingRate', { rate: 4 });
    });
    if (hidden) {
      await state(page, 'scheduled');
      await page.waitForFunction(() => /^0[56]:/.test(document.getElementById('clock').textContent));
      // No question about the time is on its way when the clocks leap: they cannot leap at one moment.
      await page.waitForFunction(() => performance.getEntriesByType('resource').filter((e) => e.name.includes('/v1/time')).length >= 5);
      await page.evaluate(() => window.turn(true, 0));
      fake.skew = leap;
      start -= leap; // as this machine's clock has it
      await page.evaluate((by) => window.turn(false, by), asleep ? 0 : leap);
    }
    const at = await page.evaluate(() => window.armed);
    const [starved, asked] = await page.evaluate(() => [window.starved(), window.asked()]);
    t.diagnostic(`${Math.round(at - start)} ms after the start; the machine kept the page waiting for up to ${Math.round(starved)} ms`);
    assert.ok(at >= start - 2, `${start - at} ms early`); // 2 ms: two readings of the machine's clock
    assert.equal(await page.evaluate(() => window.up), undefined, 'the countdown went up');
    await page.close();
    return at - start - 100 - starved - asked / 2;
  }

  test('hidden for six minutes: the tab wakes with the right time', async (t) => {
    const fake = new Fake({ opensIn: 366_000 });
    const page = await fake.open(await newContext(t), server.url, '/c/spring', (p) => p.addInitScript(() => {
      Object.defineProperty(document, 'hidden', { get: () => window.away ?? false });
    }));
    await state(page, 'scheduled');
    await page.waitForFunction(() => /0[56]:/.test(document.getElementById('clock').textContent));
    await page.evaluate(() => { window.away = true; document.dispatchEvent(new Event('visibilitychange')); });
    fake.skew = 354_000; // the machine slept: its own clock stood still
    await page.evaluate(() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')); });
    await page.waitForFunction(() => /^00:[01]\d$/.test(document.getElementById('clock').textContent));
    fake.campaign.state = 'live';
    await state(page, 'armed', 20_000);
  });

  test('nothing is asked for at the opening without a click', async (t) => {
    const fake = new Fake({ opensIn: 5000 });
    const start = Date.parse(fake.campaign.starts_at);
    const page = await fake.open(await newContext(t), server.url);
    await state(page, 'armed', 8000);
    await pause(2500);
    const around = fake.log.filter((x) => x.at > start - 1000).map((x) => x.path);
    assert.deepEqual(around, []);
  });

  test('a click that came early waits for the opening', async (t) => {
    const { fake, page } = await armed(t, (f) => [f.answer('NOT_STARTED', { starts_in_ms: 700 }), f.claim('queued')]);
    await press(page);
    await state(page, 'queued');
    const [a, b] = fake.posts();
    assert.ok(b.at - a.at >= 690, `${b.at - a.at} ms`);
    assert.equal(a.body.request_id, b.body.request_id);
  });

  test('a countdown of an hour is told at most eight times', async (t) => {
    const fake = new Fake({ opensIn: 3_700_000 });
    const base = Date.now();
    const page = await fake.open(await newContext(t), server.url, '/c/spring', async (p) => {
      await p.clock.install({ time: base });
      await p.addInitScript(() => {
        window.said = [];
        addEventListener('DOMContentLoaded', () => {
          new MutationObserver(() => window.said.push(document.getElementById('voice').textContent))
            .observe(document.getElementById('voice'), { childList: true, characterData: true, subtree: true });
        });
      });
    });
    await state(page, 'scheduled');
    const steps = [...Array(60).fill(60_000), ...Array(120).fill(1000)];
    for (const ms of steps) {
      fake.skew += ms;
      await page.clock.fastForward(ms);
    }
    fake.campaign.state = 'live';
    await state(page, 'armed');
    const said = (await page.evaluate(() => window.said)).filter(Boolean);
    assert.ok(said.length >= 4 && said.length <= 8, JSON.stringify(said));
    assert.equal(said.at(-1), '已开抢，可以点击了');
  });
});

describe('bytes and the wallet', { concurrency: 2 }, () => {
  test('few bytes, few requests, one origin, the same for everybody', async (t) => {
    // How soon it is painted may be the machine's fault: one of three has to be in time.
    let lcp = Infinity;
    for (let n = 0; n < 3 && lcp > 2500; n++) lcp = await loading(t);
    assert.ok(lcp <= 2500, `LCP ${lcp}`);
    const one = await (await fetch(`${server.url}/c/spring`, { headers: { authorization: 'Bearer a' } })).text();
    const two = await (await fetch(`${server.url}/c/other`, { headers: { cookie: 'a=b' } })).text();
    assert.equal(one, two);
  });

  /** Loads the page on a slow line and a slow machine; gives its largest paint, ms. */
  async function loading(t) {
    const context = await newContext(t);
    const fake = new Fake();
    const seen = [];
    const page = await fake.open(context, server.url, '/c/spring', async (p) => {
      p.on('response', (r) => seen.push(r));
      const cdp = await context.newCDPSession(p);
      // Four times slower than a machine of its own; where others use this one, it is that slow already.
      if (loadavg()[0] < 2 * availableParallelism()) await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 });
      await cdp.send('Network.enable');
      await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 });
      await p.addInitScript(() => {
        window.shift = 0;
        new PerformanceObserver((l) => { for (const e of l.getEntries()) window.shift += e.value; }).observe({ type: 'layout-shift', buffered: true });
        new PerformanceObserver((l) => { window.lcp = l.getEntries().at(-1).startTime; }).observe({ type: 'largest-contentful-paint', buffered: true });
      });
    });
    await state(page, 'armed');
    await pause(2000);
    const files = seen.filter((r) => !new URL(r.url()).pathname.startsWith('/v1/') && r.url().startsWith('http'));
    let bytes = 0;
    for (const r of files) bytes += (await r.request().sizes()).responseBodySize;
    assert.ok(bytes <= 20 * 1024, `${bytes} bytes`);
    assert.ok(seen.length <= 8, `${seen.length} requests: ${seen.map((r) => r.url())}`);
    assert.deepEqual([...new Set(seen.filter((r) => r.url().startsWith('http')).map((r) => new URL(r.url()).origin))], [server.url]);
    for (const r of files) assert.equal(await r.headerValue('set-cookie'), null);
    const { shift, lcp } = await page.evaluate(() => ({ shift: window.shift, lcp: window.lcp }));
    t.diagnostic(`${bytes} bytes, ${seen.length} requests, CLS ${shift.toFixed(4)}, LCP ${Math.round(lcp)} ms`);
    assert.ok(shift <= 0.05, `CLS ${shift}`);
    await page.close();
    return lcp;
  }

  test('the token comes behind the # and is gone from the address', async (t) => {
    const { token } = await import('./lib/fake.mjs');
    const fake = new Fake({ user: '' });
    const page = await fake.open(await newContext(t), server.url, `/c/spring#token=${token('carol')}`);
    await state(page, 'armed');
    assert.equal(page.url(), `${server.url}/c/spring`);
    fake.claims = [fake.claim('queued')];
    await press(page);
    await state(page, 'queued');
    assert.equal(fake.posts()[0].headers.authorization, `Bearer ${token('carol')}`);
    assert.ok(fake.log.every((x) => !x.query.includes('token')));
  });

  test('coupons are there without a network, and the QR code can be read', async (t) => {
    const fake = new Fake();
    fake.coupons = [fake.coupon()];
    const page = await fake.open(await newContext(t), server.url, '/coupons');
    await state(page, 'coupons');
    const shot = await page.locator('svg.qr').screenshot();
    const pixels = await page.evaluate(async (b64) => {
      const img = new Image();
      img.src = `data:image/png;base64,${b64}`;
      await img.decode();
      const c = new OffscreenCanvas(img.width, img.height).getContext('2d');
      c.drawImage(img, 0, 0);
      const d = c.getImageData(0, 0, img.width, img.height);
      return { data: [...d.data], width: d.width, height: d.height };
    }, shot.toString('base64'));
    const { default: jsQR } = await import('jsqr');
    const read = jsQR(Uint8ClampedArray.from(pixels.data), pixels.width, pixels.height);
    assert.equal(read?.data, fake.coupons[0].code.replaceAll('-', ''));
    fake.wallet = cut;
    await page.reload();
    await state(page, 'coupons');
    assert.match(await page.textContent('main'), /离线副本/);
    assert.match(await page.textContent('.code'), /2TGR-7Q4X/);
  });
});
