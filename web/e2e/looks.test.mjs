// Every look of the live screen, as the server's answer would bring it about: readable, accessible, in one language, and
// told apart in a grey-scale picture.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { newPage } from './lib/browser.mjs';
import { accessible, differing, narrow, oneLanguage, readable } from './lib/check.mjs';
import { locales, signIn } from './lib/console.mjs';
import { startServer } from './lib/sluice.mjs';

const server = await startServer({ after });
await server.campaign({ id: 'spring', total: 40, protection: { pass: 'off' } });

const at = Date.parse('2026-06-18T12:00:07.300Z');
const switched = (name) => [{ name, campaign: true, value: 1, since_ms: at - 60_000, by: 'li', reason: 'wrong price' }];

/** The answer's fields of each look. */
const looks = {
  before: { state: 'scheduled', waiting: { pages: 4321 }, passes: { issued: 0, per_s: 0 } },
  armed: { state: 'scheduled', waiting: { pages: 54_321 }, passes: { issued: 12_345, per_s: 678 } },
  live: { state: 'live' },
  paused: { state: 'paused', note: 'the shop is down', switches: switched('paused') },
  stopped: { state: 'live', switches: switched('closed') },
  degraded: { state: 'live', health: { parts: { ledger: 'up', redis: 'down', payments: 'marked_down' }, alive: 2, dead: 1, in_force: 2, skew_ms: 12, dead_letters: 3 } },
  trouble: { state: 'frozen', note: 'the ledger has 10,001 live units' },
  draining: { state: 'sold_out', backlog: { claims: 212, oldest_ms: 400, per_s: 353, drain_ms: 600 } },
  sold_out: { state: 'sold_out', sold_out_at_ms: at },
  settling: { state: 'ended', unpaid: { orders: 12, units: 12, next_at_ms: at + 900_000, in_60s: 0, waves: [[at, 3], [at + 10_000, 9]] } },
  settled: { state: 'ended', sold: 30, held: 0, queued: 0, available: 10 },
};

/** The live screen; `before` sees the page first. */
const live = (t, options, before) => signIn(t, server, '/live/spring', { before, ...options });

/** Opens the live screen in one look after the other; `see` is told of each. */
async function through(t, options, see) {
  let look = 'live';
  const page = await live(t, options, (p) => p.route('**/live?*', async (r) => {
    const answer = await (await r.fetch()).json();
    const checks = { exact: true, exact_at_ms: at, ok: true, oversold: 0, over_limit: 0, drift: 0, verified_at_ms: at };
    await r.fulfill({ json: { ...answer, checks, available: 18, queued: 0, held: 12, sold: 10, total: 40, ...looks[look], phase: look } });
  }));
  for (look of Object.keys(looks)) {
    await page.waitForFunction((want) => document.querySelector('[data-look]')?.dataset.look === want, look);
    await page.waitForFunction(() => document.getAnimations().every((a) => a.playState !== 'running'));
    await see(page, look);
  }
  assert.deepEqual(page.faults, []);
}

for (const [lang, colorScheme] of [['en', 'light'], ['zh', 'dark']]) {
  test(`every look of the live screen: ${lang}, ${colorScheme}`, async (t) => {
    await through(t, { locale: locales[lang], colorScheme }, async (page, look) => {
      const where = `${look}, ${lang}`;
      await readable(page, where);
      await oneLanguage(page, lang, where);
      await accessible(page, where);
      await narrow(page, where);
      const p = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll('[data-part]')].map((e) => [e.dataset.part, Number(e.dataset.n)])));
      assert.equal(p.available + p.held + p.sold + p.queued, p.total, where);
      const waiting = page.locator('[data-figure=waiting]');
      assert.equal(await waiting.count(), Number(look === 'before' || look === 'armed'), where);
      if (look === 'armed') assert.match(await waiting.innerText(), lang === 'en' ? /about 54,321/ : /约 54,321/, 'it is told as an estimate');
    });
  });
}

test('the looks are told apart without colour: by sign, by word, and in a grey-scale picture', async (t) => {
  const seen = [];
  await through(t, { locale: 'en-US', viewport: { width: 1280, height: 800 } }, async (page, look) => {
    await page.evaluate(() => {
      document.documentElement.style.filter = 'grayscale(1)';
      // what moves by itself is not what tells them apart
      for (const e of document.querySelectorAll('.head .num, .strip .age')) e.style.visibility = 'hidden';
    });
    const said = await page.evaluate(() => ({
      state: document.querySelector('.live .head .tag').innerText,
      strip: document.querySelector('.strip').innerText.replace(document.querySelector('.strip .age').innerText, '').trim(),
    }));
    const strip = await page.locator('.strip').boundingBox();
    const clip = { x: strip.x, y: strip.y, width: 600, height: Math.floor(strip.height) };
    seen.push({ look, ...said, height: clip.height, png: (await page.screenshot({ clip })).toString('base64') });
  });
  const paper = await newPage(t);
  for (const [i, a] of seen.entries()) {
    for (const b of seen.slice(0, i)) {
      const pair = `${a.look} and ${b.look}`;
      assert.notEqual(a.state + a.strip, b.state + b.strip, pair);
      if (a.look !== 'live' && b.look !== 'live') assert.notEqual([...a.strip][0], [...b.strip][0], `the sign of ${pair}`);
      const n = await differing(paper, a.png, b.png, [600, Math.min(a.height, b.height)]);
      assert.ok(n > 300, `${pair} differ in ${n} pixels`);
    }
  }
});

test('a chart that nobody sees is not drawn, and has the newest points when it is seen', async (t) => {
  const page = await live(t, { viewport: { width: 1280, height: 420 } }, (p) => p.addInitScript(() => {
    window.drawn = new Map();
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    CanvasRenderingContext2D.prototype.clearRect = function (...of) {
      window.drawn.set(this.canvas, (window.drawn.get(this.canvas) ?? 0) + 1);
      return clear.apply(this, of);
    };
  }));
  await page.locator('.chart canvas').nth(3).waitFor({ state: 'attached' });
  const counts = () => page.evaluate(() => [...document.querySelectorAll('.chart canvas')].map((c) => window.drawn.get(c) ?? 0));
  const looked = async (n) => {
    for (; n > 0; n--) {
      const was = await page.locator('.live').getAttribute('data-asof');
      await page.waitForFunction((x) => document.querySelector('.live').dataset.asof !== x, was);
    }
  };
  await page.evaluate(() => scrollTo(0, 0));
  await looked(2);
  const before = await counts();
  await looked(3);
  const after = await counts();
  assert.equal(after[3], before[3], 'the last chart, below the fold, was drawn');
  await page.locator('.chart').nth(3).scrollIntoViewIfNeeded();
  await page.waitForFunction((was) => [...document.querySelectorAll('.chart canvas')].map((c) => window.drawn.get(c) ?? 0)[3] > was, after[3]);
});

for (const [lang, colorScheme] of [['en', 'light'], ['zh', 'dark']]) {
  test(`an adjustment is a dashed line in the chart of the stock and told in its summary: ${lang}`, async (t) => {
    let asked = 0;
    const looks = [];
    const entry = (s, before, after) => ({ seq: s, at: new Date(Date.now() + s * 1000).toISOString(), actor: { name: 'li', role: 'operator' }, action: 'campaign.adjust', object: 'campaign/spring', before, after });
    const page = await live(t, { locale: locales[lang], colorScheme }, async (p) => {
      p.on('response', (r) => { if (/\/live\?/.test(r.url())) looks.push(r.url()); });
      await p.addInitScript(() => {
        window.written = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
          if (/^\(?[+−]/.test(text)) window.written.push([text, this.getLineDash().length, document.getElementsByClassName('chart')[1]?.contains(this.canvas)]);
          return write.call(this, text, ...at);
        };
      });
      await p.route('**/audit-log?*', async (r) => {
        if (!r.request().url().includes('campaign.adjust')) return r.continue();
        asked++;
        // before the first point, within the chart, and of a decrease only what was asked
        return r.fulfill({ json: { items: [entry(2, undefined, { asked: -7, applied: 0, total: 60 }), entry(1, { total: 40 }, { total: 60 }), entry(-800, { total: 39 }, { total: 40 })] } });
      });
    });
    await page.waitForFunction(() => ['+20', '(−7)'].every((x) => window.written.some(([text]) => text === x)));
    const written = await page.evaluate(() => window.written);
    for (const [text, dashes, stock] of written) {
      assert.ok(dashes > 0 && stock, `${text} beside a dashed line in the chart of the stock`);
      assert.notEqual(text, '+1', 'an adjustment before the first point is out of view');
    }
    const figure = page.locator('.chart').nth(1);
    const says = await figure.getAttribute('aria-label');
    assert.match(says, lang === 'zh' ? /库存调整：\d\d:\d\d:\d\d \+20 · \d\d:\d\d:\d\d \(−7\)$/ : /Adjusted: \+20 at \d\d:\d\d:\d\d · \(−7\) at \d\d:\d\d:\d\d$/);
    assert.ok(asked < looks.length || asked === 1, `the log was asked ${asked} times in ${looks.length} looks`);
    await oneLanguage(page, lang, 'marks');
    assert.deepEqual(page.faults, []);
  });
}

for (const [lang, colorScheme] of [['en', 'dark'], ['zh', 'light']]) {
  test(`trouble shows what the last comparison found, the runbook, and a summary to hand over: ${lang}`, async (t) => {
    const run = { id: 7, campaign_id: 'spring', started_at: new Date(at).toISOString(), took_ms: 12, ok: false, claims: 10_001, differences: 2, drift: 3, epoch: 1,
      available: 0, in_transfer: 0, queued: 0, held: 0, sold: 0, total: 40, found: [
        { kind: 'unknown_claim', claim_id: 'c_lost', units: 1, detail: 'admitted 40 s ago', repair: 'given back' }, { kind: 'total', units: 2, detail: 'gate 42, ledger 40' }] };
    const page = await live(t, { locale: locales[lang], colorScheme, permissions: ['clipboard-read', 'clipboard-write'] }, async (p) => {
      await p.route('**/admin/reconcile?*', (r) => {
        const q = new URL(r.request().url()).searchParams;
        return r.fulfill({ json: { items: q.get('campaign_id') === 'spring' ? [run] : [] } });
      });
      await p.route('**/live?*', async (r) => {
        const answer = await (await r.fetch()).json();
        const checks = { exact: true, exact_at_ms: answer.as_of_ms, ok: false, oversold: 1, over_limit: 0, drift: 3, verified_at_ms: answer.as_of_ms };
        await r.fulfill({ json: { ...answer, ...looks.degraded, ...looks.trouble, checks, available: 18, queued: 0, held: 12, sold: 10, total: 40, phase: 'trouble' } });
      });
    });
    const box = page.locator('[data-trouble]');
    await box.locator('[data-finding]').nth(1).waitFor();
    assert.match(await box.innerText(), /c_lost[\s\S]*admitted 40 s ago[\s\S]*given back[\s\S]*gate 42, ledger 40[\s\S]*docs\/runbooks\/frozen-campaign\.md/);
    for (const check of [readable, accessible, narrow]) await check(page, `trouble, ${lang}`);
    await oneLanguage(page, lang, `trouble, ${lang}`);
    // the steps, the harmless first: count, repair, hand over
    const steps = box.locator('[data-next=trouble] > li');
    const words = lang === 'zh' ? ['立即全量核对', '核对并修复', '复制摘要'] : ['Count all rows now', 'Compare and repair', 'Copy summary'];
    assert.equal(await steps.count(), 3);
    for (const [i, name] of words.entries()) assert.ok((await steps.nth(i).innerText()).includes(name), `step ${i} is ${await steps.nth(i).innerText()}`);
    await page.route('**/spring/verify', async (r) => {
      const answer = await (await r.fetch()).json();
      await r.fulfill({ json: { ...answer, ok: false, units_over_total: 1, drift: 3 } });
    });
    await steps.nth(0).getByRole('button').click();
    await steps.nth(0).locator('[data-counted=false]', { hasText: lang === 'zh' ? /漂移 3|偏差 3|3/ : 'oversold 1 · over limit 0 · drift 3' }).waitFor();
    const repairs = [];
    page.on('request', (r) => { if (r.method() === 'POST' && r.url().endsWith('/admin/reconcile')) repairs.push(r.postDataJSON()); });
    await steps.nth(1).getByRole('button').click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('[data-tier=c]').waitFor();
    await dialog.locator('.ant-btn-primary').click({ force: true });
    assert.equal(repairs.length, 0, 'nothing was typed');
    await dialog.locator('input').nth(0).fill('a drill');
    await dialog.locator('input').nth(1).fill('spring');
    await dialog.locator('.ant-btn-primary').click();
    await dialog.locator('[role=status]').waitFor();
    assert.deepEqual(repairs, [{ campaign_id: 'spring', reason: 'a drill' }]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    const button = steps.nth(2).getByRole('button');
    await button.click();
    await page.waitForFunction((x) => document.querySelector('[data-trouble] [data-copied]').textContent === x, lang === 'zh' ? '已复制' : 'Copied');
    const text = await page.evaluate(() => navigator.clipboard.readText());
    for (const part of [/\(spring\)$/m, /\d\d:\d\d:\d\d\.\d+ UTC/, /the ledger has 10,001 live units$/m, /✓ .*✗ .* 1 · ✓ .* 0 · ✗ .* 3$/m, /18 \+ .*12 \+ .*10 = 40$/m, / 2\/2 · .*12 .* 3$/m,
      /^- .*c_lost · 1 · admitted 40 s ago · → given back$/m, /^- .* · 2 · gate 42, ledger 40$/m, /docs\/runbooks\/frozen-campaign\.md$/,
      ...(lang === 'zh' ? [/^状态：已冻结/m, /Redis 故障/] : [/^State: Frozen/m, /Redis down/])]) assert.match(text, part);
    assert.doesNotMatch(text, /undefined|NaN|\[object/);
    // without a clipboard the same text is shown
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('no'));
      document.execCommand = () => false;
    });
    await button.click();
    await dialog.locator('pre').waitFor();
    assert.match(await dialog.locator('pre').innerText(), /c_lost · 1/);
    assert.deepEqual(page.faults, []);
  });
}

const acts = {
  before: ['Run pre-flight', 'Adjust stock', 'Postpone'], sold_out: ['Add stock', 'End the sale'], settling: ['Mark payments down', 'End the sale'],
  settled: ['Report', 'Duplicate'], degraded: ['Stay in the ledger', 'The switch for this'],
};
const chinese = {
  before: ['运行开场检查', '调整库存', '推迟'], sold_out: ['增加库存', '结束活动'], settling: ['标记支付停用', '结束活动'], settled: ['报告', '复制'],
  degraded: ['留在账本', '相关开关'],
};
const leads = {
  before: [/\/campaigns\/spring\?tab=preflight$/, /\/campaigns\/spring\/edit\?step=when$/], settled: [/\/campaigns\/spring\/report$/], degraded: [/\/switches\?name=degraded$/],
};
/** In which looks the head's acts can be pressed: the second is Pause or Resume. */
const heads = { stop: ['before', 'armed', 'live', 'paused', 'trouble', 'degraded', 'draining', 'sold_out'] };

for (const lang of ['en', 'zh']) {
  test(`each state offers what may be done next, and each of it leads there: ${lang}`, async (t) => {
    await through(t, { locale: lang === 'zh' ? 'zh-CN' : 'en-US' }, async (page, look) => {
      const dialog = page.getByRole('dialog');
      if (look === 'settling') { // it was opened in the state before: what somebody does goes on when the state does
        assert.equal(await dialog.isVisible(), true, 'the dialog of the state before');
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'hidden' });
      }
      const next = page.locator('.strip [data-next]');
      const want = (lang === 'zh' ? chinese : acts)[look] ?? [];
      const have = await next.locator('a, button').allTextContents();
      assert.deepEqual(have.map((x) => x.replace(/\s/g, '')), want.map((x) => x.replace(/\s/g, '')), `${look}, ${lang}`);
      const links = await next.locator('a').evaluateAll((list) => list.map((a) => a.href));
      assert.equal(links.length, leads[look]?.length ?? 0, look);
      for (const [i, to] of (leads[look] ?? []).entries()) assert.match(links[i], to);
      const stop = page.locator('.headacts [data-stop]:not(.off)');
      if (look !== 'stopped') assert.equal(await stop.count(), Number(heads.stop.includes(look)), `stop in ${look}`);
      const press = async (n) => {
        await next.locator('button').nth(n).click();
        await dialog.waitFor();
      };
      const close = async () => {
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'hidden' });
      };
      const sent = (method, end) => page.waitForRequest((r) => r.method() === method && new URL(r.url()).pathname.endsWith(end));
      if (look === 'before') {
        await press(0);
        await dialog.locator('[data-preview]').waitFor();
        await close();
      } else if (look === 'armed') {
        await stop.click();
        await dialog.locator('[data-tier=a]').waitFor();
        await close();
      } else if (look === 'sold_out') { // ending is for good: its id is typed
        await press(1);
        await dialog.locator('[data-tier=c]').waitFor();
        await dialog.locator('.ant-btn-primary').click({ force: true });
        await dialog.locator('input').nth(0).fill('a drill');
        await dialog.locator('input').nth(1).fill('spring');
        await page.route('**/spring/end', (r) => r.fulfill({ json: {} }));
        const said = sent('POST', '/spring/end');
        await dialog.locator('.ant-btn-primary').click();
        assert.equal((await said).postDataJSON().reason, 'a drill');
        await dialog.locator('[role=status]').waitFor();
        await close();
        await press(0);
      } else if (look === 'settling') { // fast to stop: one press, and the clock of the unpaid stands
        await press(0);
        await oneLanguage(page, lang, `dialog of ${look}`);
        const said = sent('PUT', '/switches/payments_down');
        await page.keyboard.press('Enter');
        const { value, reason, campaign_id: where } = (await said).postDataJSON();
        assert.deepEqual([value, Boolean(reason), where], [1, true, undefined]);
        await dialog.getByText(/nodes|节点/).first().waitFor();
        await close();
      } else if (look === 'settled') {
        await press(0);
        await close();
      } else if (look === 'degraded') { // the policy is changed in place, for all sales, with a reason
        await page.route('**/switches/degraded*', (r) => r.fulfill({ json: { in_force: 2, nodes: 2, took_ms: 40 } }));
        await press(0);
        await dialog.locator('[data-tier=b]').waitFor();
        await oneLanguage(page, lang, `dialog of ${look}`);
        await dialog.locator('input').fill('Redis flaps');
        const set = sent('PUT', '/switches/degraded');
        await dialog.locator('.ant-btn-primary').click();
        assert.deepEqual((await set).postDataJSON(), { value: 1, reason: 'Redis flaps' });
        await dialog.locator('[data-inforce]').waitFor();
        await close();
        looks.degraded.switches = [{ name: 'degraded', value: 1, since_ms: at }];
        await next.locator('button', { hasText: lang === 'zh' ? '回到 Redis' : 'Back to Redis' }).waitFor();
        await press(0);
        await dialog.locator('input').fill('it holds');
        const cleared = sent('DELETE', '/switches/degraded');
        await dialog.locator('.ant-btn-primary').click();
        assert.equal(new URL((await cleared).url()).searchParams.get('reason'), 'it holds');
        await dialog.locator('[data-inforce]').waitFor();
        await close();
        delete looks.degraded.switches;
      }
    });
  });
}

test('old data offers to look from the nodes that were there last', async (t) => {
  for (const lang of ['en', 'zh']) {
    const node = (name, addr, more) => ({ id: name, name, addr, self: false, alive: true, age_ms: 100, version: '1', started_at: new Date(at).toISOString(), settings: 1, in_force: true, skew_ms: 0, ...more });
    let items = [node('n1', '127.0.0.1:1', { self: true }), node('n2', '10.0.0.2:8081'), node('n3', '[::]:8082'), node('n4', '10.0.0.4:8081', { alive: false })];
    const page = await signIn(t, server, '/live/spring', {
      locale: locales[lang], before: (p) => p.route('**/admin/nodes', (r) => r.fulfill({ json: { items, alive: 3 } })),
    });
    await page.locator('.live[data-look]').waitFor();
    await page.waitForFunction(() => /3/.test(document.querySelector('[data-nodes]')?.textContent ?? ''));
    await page.route('**/live?*', (r) => r.abort());
    const offer = page.locator('[data-next=stale]');
    await offer.waitFor({ timeout: 15_000 });
    assert.deepEqual(await offer.locator('a').evaluateAll((all) => all.map((a) => a.href)), ['http://10.0.0.2:8081/live/spring']);
    const says = await offer.innerText();
    assert.ok(says.includes('n3:8082') && !says.includes('n4') && !says.includes('n1'), says);
    await oneLanguage(page, lang, 'old data');
    items = [items[0]];
    await page.waitForFunction(() => document.querySelector('[data-next=stale]')?.children.length === 0, undefined, { timeout: 15_000 });
    assert.match(await offer.innerText(), lang === 'zh' ? /没有其他节点/ : /no other node/);
    await page.context().close();
  }
});

test('the switch that a link names is shown at once', async (t) => {
  const page = await signIn(t, server, '/switches?name=degraded', { viewport: { width: 1280, height: 420 } });
  await page.waitForFunction(() => { const r = document.querySelector('tr.row-on')?.getBoundingClientRect(); return r && r.top > 0 && r.bottom < innerHeight; });
  assert.match(await page.locator('tr.row-on').innerText(), /^degraded/);
});
