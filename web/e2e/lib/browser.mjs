// One Chromium for all tests of the process. Each test takes a context of its own: no cookies, no storage, no cache.
import { after } from 'node:test';
import { chromium } from 'playwright-core';

const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
let starting;

/** The shared browser; it is closed after the last test. */
export function browser() {
  starting ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });
  return starting;
}

after(async () => { if (starting) await (await starting).close(); });

/**
 * A page in a context of its own. `options` are Playwright's (locale, timezoneId, colorScheme, viewport …). Errors of
 * the page and its console fail the test through `page.faults`, which a test reads at its end with `noFaults`.
 */
export async function newPage(t, options = {}) {
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  t.after(() => context.close());
  return pageIn(context);
}

/** One more page (a tab) of a context. */
export async function pageIn(context) {
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (e) => page.faults.push(`error: ${e.message}`));
  page.on('console', (m) => {
    if (m.type() === 'error' && /Content Security Policy|Refused to/.test(m.text())) page.faults.push(m.text());
  });
  return page;
}
