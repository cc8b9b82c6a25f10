// The exported page on an origin of its own, as a CDN serves it, with a shop's colours and words.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import test from 'node:test';
import { newPage } from './lib/browser.mjs';
import { accessible } from './lib/check.mjs';
import { press, state } from './lib/fake.mjs';
import { binary, startServer } from './lib/sluice.mjs';

const kinds = { '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.html': 'text/html' };

test('the page on a CDN buys from the public listener', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-export-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const cdn = createServer((q, r) => {
    const path = new URL(q.url, 'http://x').pathname;
    let file = join(dir, 'out', path);
    let body;
    try { body = readFileSync(path.endsWith('/') ? join(file, 'index.html') : file); } catch { file = join(dir, 'out/404.html'); }
    body ??= readFileSync(file);
    r.setHeader('Content-Type', kinds[extname(file)] ?? 'text/html');
    r.end(body);
  }).listen(0, '127.0.0.1');
  await once(cdn, 'listening');
  t.after(() => { cdn.closeAllConnections(); cdn.close(); });
  const origin = `http://127.0.0.1:${cdn.address().port}`;
  const server = await startServer(t, '--cors-origins', origin);
  mkdirSync(join(dir, 'theme'));
  writeFileSync(join(dir, 'theme/theme.css'), ':root { --brand: #00474f }');
  writeFileSync(join(dir, 'theme/texts.json'), JSON.stringify({ en: { armed: ['Grab it', 'Limit {l}'], sales: 'Deals' } }));
  execFileSync(binary, ['storefront', 'export', '--out', join(dir, 'out'), '--api', server.url, '--theme', join(dir, 'theme')]);

  const { id } = await server.campaign();
  const page = await newPage(t, { locale: 'en-GB' });
  await page.goto(`${origin}/c/${id}`);
  await state(page, 'login');
  assert.match(await page.textContent('#nav'), /Deals/);
  await press(page);
  await page.fill('#who', 'far-away');
  await page.click('#enter');
  await state(page, 'armed');
  assert.equal(await page.textContent('#go'), 'Grab it');
  assert.equal(await page.$eval('#go', (e) => getComputedStyle(e).backgroundColor), 'rgb(0, 71, 79)');
  await accessible(page, 'with a theme');
  await press(page);
  await state(page, 'confirmed');
  assert.deepEqual(page.faults, []);
  // The list, and a page of the list, are files of their own.
  await page.goto(`${origin}/`);
  await state(page, 'list');
  await page.goto(`${origin}/orders/`);
  await state(page, 'orders');
});
