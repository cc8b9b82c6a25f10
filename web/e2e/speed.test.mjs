// How soon the real page of a real campaign with a picture is there, on Slow 4G (150 ms, 1.6 Mbit/s) and a processor
// that is four times slower, from a cold cache.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import { browser, pageIn } from './lib/browser.mjs';
import { state } from './lib/fake.mjs';
import { startServer } from './lib/sluice.mjs';

/** A picture of 640×360 with as much in it as 60 KB of WebP hold. */
async function picture() {
  const context = await (await browser()).newContext();
  const page = await context.newPage();
  const b64 = await page.evaluate(async () => {
    const c = Object.assign(document.createElement('canvas'), { width: 640, height: 360 });
    const ink = c.getContext('2d');
    for (let i = 0; i < 4000; i++) {
      ink.fillStyle = `hsl(${(i * 47) % 360} 60% ${20 + ((i * 31) % 60)}%)`;
      ink.fillRect((i * 97) % 640, (i * 61) % 360, 6 + (i % 17), 6 + (i % 11));
    }
    for (let q = 0.95; q > 0.1; q -= 0.05) {
      const blob = await new Promise((f) => { c.toBlob(f, 'image/webp', q); });
      if (blob.size > 60 * 1024) continue;
      const bytes = new Uint8Array(await blob.arrayBuffer());
      return btoa(Array.from(bytes, (x) => String.fromCharCode(x)).join(''));
    }
  });
  await context.close();
  return Buffer.from(b64, 'base64');
}

test('the largest paint is there within 2.5 s on a slow line and a slow machine, and nothing shifts', async (t) => {
  const image = await picture();
  assert.ok(image.length > 20 * 1024, `${image.length} bytes are no picture`);
  const cdn = createServer((q, r) => r.setHeader('Content-Type', 'image/webp').setHeader('Timing-Allow-Origin', '*').end(image)).listen(0, '127.0.0.1');
  await once(cdn, 'listening');
  t.after(() => { cdn.closeAllConnections(); cdn.close(); });
  const origin = `http://127.0.0.1:${cdn.address().port}`;
  const server = await startServer(t, '--storefront-images', origin);
  const { id } = await server.campaign({ image_url: `${origin}/hero.webp`, title: '春季秒杀：一把能泡两杯的茶壶' });

  let best = Infinity; // how soon may be the machine's fault: one of three has to be in time; a shift is wrong every time
  for (let n = 0; n < 3 && best > 2500; n++) best = Math.min(best, await loading());
  assert.ok(best <= 2500, `LCP ${best} ms`);

  async function loading() {
    const context = await (await browser()).newContext({ viewport: { width: 360, height: 740 } });
    const page = await pageIn(context);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.enable');
    await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 });
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await page.addInitScript(() => {
      window.shift = 0;
      const see = (type, f) => new PerformanceObserver((l) => l.getEntries().forEach(f)).observe({ type, buffered: true });
      window.moved = [];
      see('layout-shift', (e) => {
        window.shift += e.value;
        for (const { node, previousRect: a, currentRect: b } of e.sources) {
          window.moved.push(`${node?.nodeName} ${node?.id ?? ''}: ${a.y}+${a.height} to ${b.y}+${b.height}, ${Math.round(e.startTime)} ms`);
        }
      });
      see('largest-contentful-paint', (e) => { window.largest = { at: e.startTime, what: e.element?.className ?? e.element?.tagName, size: e.size }; });
    });
    await page.goto(`${server.url}/c/${id}`, { waitUntil: 'domcontentloaded' });
    await state(page, 'login', 30_000);
    await page.waitForFunction(() => document.querySelector('img.hero')?.complete && window.largest?.what === 'hero', undefined, { timeout: 30_000 });
    await page.evaluate(() => new Promise((f) => { requestAnimationFrame(() => requestAnimationFrame(f)); }));
    const { largest, shift, moved } = await page.evaluate(() => ({ largest: window.largest, shift: window.shift, moved: window.moved }));
    t.diagnostic(`LCP ${Math.round(largest.at)} ms (${largest.what}, ${image.length} bytes), CLS ${shift.toFixed(4)}`);
    assert.ok(shift <= 0.05, `CLS ${shift}: ${moved.join('; ')}`);
    assert.deepEqual(page.faults, []);
    await context.close();
    return largest.at;
  }
});
