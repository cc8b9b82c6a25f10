// The console as a signed-in operator sees it, and what holds on each of its screens.
import assert from 'node:assert/strict';
import { newPage } from './browser.mjs';
import { accessible, narrow, oneLanguage, readable } from './check.mjs';
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

export const looks = [['en', 'light'], ['zh', 'light'], ['en', 'dark'], ['zh', 'dark']];

/** What a screen must be in one look: no fault of accessibility, one language, no sideways scroll, nothing left behind. */
export async function holds(page, where, lang, scheme) {
  const faults = [];
  for (const check of [() => accessible(page, where), () => readable(page, where), () => oneLanguage(page, lang, where),
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

/**
 * Shows one screen in both languages, light and dark, and checks each. `before` plays the API; `shown` brings the
 * screen to what is to be checked, and may assert on it.
 */
export async function everyLook(t, server, path, what, { before, shown } = {}) {
  const faults = [];
  for (const [lang, colorScheme] of looks) {
    const page = await signIn(t, server, path, { before, locale: lang === 'zh' ? 'zh-CN' : 'en-US', colorScheme });
    await settled(page);
    await shown?.(page, lang);
    faults.push(...await holds(page, `${what}, ${lang}, ${colorScheme}`, lang, colorScheme), ...page.faults);
    await page.context().close();
  }
  assert.deepEqual(faults, []);
}
