// The console as a signed-in operator sees it, and what holds on each of its screens.
import assert from 'node:assert/strict';
import { close, newPage } from './browser.mjs';
import { accessible, colours, narrow, oneLanguage, readable } from './check.mjs';
import { adminKey } from './sluice.mjs';

/** Signs in to a server's console and goes to a place. `before` sees the page first, to play what the API answers. */
export async function signIn(t, server, path, { before, key = adminKey, ...options } = {}) {
  const page = await newPage(t, { timezoneId: 'Asia/Shanghai', ...options });
  await before?.(page);
  await page.goto(server.adminUrl + path);
  await page.locator('input[name=key]').fill(key);
  await page.keyboard.press('Enter');
  await page.locator('#content, .kiosk').first().waitFor();
  return page;
}

/** Waits until what is in the page is there, and nothing is on its way. */
export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true], .ant-skeleton') && document.querySelector('h1, h2, .strip'));
  await page.waitForTimeout(150); // fonts, charts, transitions
}

/** Goes to another place without a load. */
export async function go(page, path) {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await settled(page);
}

/** Makes the page light or dark, without a load. */
export async function turn(page, colorScheme) {
  await page.emulateMedia({ colorScheme });
  await page.waitForFunction((x) => document.documentElement.dataset.theme === x, colorScheme);
}

/** Calls to a place: the first is done and its answer is lost, the others go through. Gives the requests, as they come. */
export async function losesFirst(page, url) {
  const asked = [];
  await page.route(url, async (r) => {
    asked.push(r.request());
    if (asked.length > 1) return r.continue();
    await r.fetch();
    return r.abort();
  });
  return asked;
}

/**
 * What a screen must be in one look: no fault of accessibility, one language, no sideways scroll, nothing left behind.
 * Dark comes after light on the same page, where nothing but colours differs.
 */
async function holds(page, where, lang, scheme) {
  const faults = [];
  for (const check of [() => accessible(page, where, scheme === 'dark' ? colours : undefined), () => readable(page, where), () => oneLanguage(page, lang, where),
    () => scheme === 'light' && narrow(page, where)]) {
    try {
      await check();
    } catch (e) {
      faults.push(`${where}: ${e.message}`);
    }
  }
  const raw = await page.evaluate(() => /\b(nav|state|field|act|danger|verdict|fig|look|need|job|preview|list)\.[a-z]+[A-Za-z]*\b/.exec(document.body.innerText)?.[0]);
  if (raw) faults.push(`${where}: the key ${raw}`);
  if (process.env.E2E_PICTURES) {
    const name = where.replace(/[^a-z0-9]+/gi, '-');
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(500); // drawers take their new width by and by
      await page.screenshot({ path: `${process.env.E2E_PICTURES}/${name}-${width}.png`, fullPage: width === 1440 });
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  return faults;
}

/** The faults of a screen as it is, light and then dark; it is left light. */
export async function bothSchemes(page, what, lang) {
  const faults = [];
  for (const scheme of ['light', 'dark']) {
    await turn(page, scheme);
    faults.push(...await holds(page, `${what}, ${lang}, ${scheme}`, lang, scheme));
  }
  await turn(page, 'light');
  return faults;
}

export const locales = { en: 'en-US', zh: 'zh-CN' };

/**
 * Shows one screen in both languages, light and dark, and checks each. `before` plays the API; `shown` brings the
 * screen to what is to be checked, and may assert on it.
 */
export async function everyLook(t, server, path, what, { before, shown } = {}) {
  const faults = [];
  for (const [lang, locale] of Object.entries(locales)) {
    const page = await signIn(t, server, path, { before, locale });
    await settled(page);
    await shown?.(page, lang);
    faults.push(...await bothSchemes(page, what, lang), ...page.faults);
    await close(page.context());
  }
  assert.deepEqual(faults, []);
}
