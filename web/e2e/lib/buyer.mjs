// Somebody who buys on the built binary, signed in as anybody may be in development.
import { newContext, pageIn } from './browser.mjs';
import { press, state } from './fake.mjs';

/** Signs in on the page as it is. */
export async function signIn(page, user, timeout) {
  await state(page, 'login', timeout);
  await press(page);
  await page.fill('#who', user);
  await page.click('#enter');
}

/** A buyer on a page of `server`; what the page sends is in `page.sent`. `before` sees the page first. */
export async function buyer(t, server, path, user, { before, ...options } = {}) {
  const page = await pageIn(await newContext(t, { locale: 'zh-CN', ...options }));
  page.sent = [];
  page.on('request', (r) => page.sent.push(r));
  await before?.(page);
  await page.goto(server.url + path);
  await signIn(page, user);
  return page;
}

/** A buyer who has pressed the button of an open campaign that asks for this challenge; `page.campaign` is its id. */
export async function challenged(t, server, challenge, user, options) {
  const c = await server.campaign({ protection: { pass: 'always', challenge, per_user_rate: 100 } });
  const page = await buyer(t, server, `/c/${c.id}`, user, options);
  page.campaign = c.id;
  await state(page, 'armed');
  await press(page);
  return page;
}
