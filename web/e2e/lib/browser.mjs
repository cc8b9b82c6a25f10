// One Chromium for all tests of a file, which is a process. Each test takes a context of its own: no cookies, no storage, no cache.
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

/** A context (cookies, storage, tabs) that is closed when the test ends. `options` are Playwright's (locale, viewport …). */
export async function newContext(t, options) {
  const context = await (await browser()).newContext(options);
  t.after(() => close(context));
  return context;
}

/** Closes a context before its test ends. An answer that a test is just about to play is nobody's then. */
export async function close(context) {
  await Promise.all(context.pages().map((p) => p.unrouteAll({ behavior: 'ignoreErrors' })));
  await context.close();
}

/** A page in a context of its own. Its errors and those of its policy are in `page.faults`, which a test reads at its end. */
export async function newPage(t, options = {}) {
  return pageIn(await newContext(t, { viewport: { width: 1280, height: 800 }, ...options }));
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
