// Makes the pictures of the README from the real thing: `make build && node scripts/pictures.mjs`. It starts
// `sluice demo`, signs in, and looks at the console and the sale page with Chromium. Needs `npm ci` in web/e2e.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { chromium } = createRequire(join(root, 'web/e2e/package.json'))('playwright-core');
const out = join(root, 'docs/pictures');
mkdirSync(out, { recursive: true });

/** Starts the demo and waits until its evening sale is on. */
function startDemo() {
  const demo = spawn(process.env.SLUICE ?? join(root, 'bin/sluice'), ['demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let text = '';
    demo.on('exit', (code) => reject(new Error(`the demo ended with ${code}:\n${text}`)));
    demo.stdout.on('data', (piece) => {
      text += piece;
      const find = (word) => text.match(new RegExp(`^ *${word} +(\\S+)`, 'm'))?.[1];
      if (text.includes('Ctrl-C')) {
        resolve({ demo, text, shop: find('sale page'), console: find('console'), key: find('key'), watch: find('watch it') });
      }
    });
  });
}

const settled = (page, ms) => page.waitForTimeout(ms); // pictures are of a sale that has gone on for a while
const small = { type: 'png', animations: 'disabled' };

async function consolePictures(browser, d) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB' });
  const page = await context.newPage();
  await page.goto(`${d.console}/`);
  const signedIn = await page.evaluate(async (key) => {
    const r = await fetch('/v1/admin/sessions', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ key }),
    });
    return r.status;
  }, d.key);
  if (signedIn !== 201) throw new Error(`signing in answered ${signedIn}`);
  await page.goto(d.watch);
  await settled(page, 45_000);
  await page.screenshot({ path: join(out, 'live.png'), ...small });
  await page.goto(`${d.console}/live/spring-sale`);
  await settled(page, 4_000);
  await page.screenshot({ path: join(out, 'live-sold-out.png'), ...small });
  await page.goto(`${d.console}/`);
  await settled(page, 4_000);
  await page.screenshot({ path: join(out, 'overview.png'), ...small });
  await context.close();
}

async function shopPictures(browser, d) {
  for (const [locale, name, path] of [
    ['en-GB', 'sale-open', '/c/evening-sale'], ['zh-CN', 'sale-may-return', '/c/spring-sale'],
  ]) {
    const context = await browser.newContext({ viewport: { width: 390, height: 760 }, locale });
    const page = await context.newPage();
    await page.goto(d.shop + path);
    await settled(page, 2_500);
    await page.screenshot({ path: join(out, `${name}.png`), ...small });
    await context.close();
  }
}

const d = await startDemo();
try {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  await shopPictures(browser, d);
  await consolePictures(browser, d);
  await browser.close();
} finally {
  d.demo.removeAllListeners('exit');
  d.demo.kill('SIGINT');
}
