// The sale page without colour: what a buyer has to tell apart differs by its words, and in a grey-scale picture.
import assert from 'node:assert/strict';
import test from 'node:test';
import { newContext, newPage } from './lib/browser.mjs';
import { differing } from './lib/check.mjs';
import { Fake, press, state } from './lib/fake.mjs';
import { sharedServer } from './lib/sluice.mjs';

const size = [360, 140];
const clip = { x: 0, y: 500, width: size[0], height: size[1] }; // the help and the button
const looks = {
  armed: {}, scheduled: { opensIn: 7_200_000 }, paused: { state: 'paused' }, closed: { state: 'closed' },
  soldout: { state: 'sold_out', available: 0 }, mayreturn: { state: 'sold_out', available: 0, may_return: 1200 }, ended: { state: 'ended' },
  failed: { trouble: true },
};

for (const [lang, colorScheme] of [['zh-CN', 'light'], ['en', 'dark']]) {
  test(`the states of the sale page are told apart in grey: ${lang}, ${colorScheme}`, async (t) => {
    const server = await sharedServer();
    const seen = [];
    for (const [name, { trouble, ...more }] of Object.entries(looks)) {
      const context = await newContext(t, { viewport: { width: 360, height: 640 }, colorScheme });
      const fake = new Fake({ lang, ...more });
      if (trouble) fake.claims = [{ status: 422, body: { status: 422, code: 'VALIDATION' } }];
      const page = await fake.open(context, server.url);
      if (trouble) {
        await state(page, 'armed');
        await press(page);
      }
      await state(page, name);
      await page.evaluate(() => {
        document.documentElement.style.filter = 'grayscale(1)';
        document.activeElement?.blur();
        document.getElementById('clock').style.visibility = 'hidden'; // what moves by itself is not what tells them apart
      });
      await page.mouse.move(0, 0);
      const png = (await page.screenshot({ clip })).toString('base64');
      const [word, off] = await page.evaluate(() => [document.getElementById('go').innerText, document.getElementById('go').getAttribute('aria-disabled')]);
      await page.evaluate(() => { for (const id of ['go', 'help']) document.getElementById(id).style.color = 'transparent'; });
      seen.push({ name, word, off, png, ground: (await page.screenshot({ clip })).toString('base64') });
      await context.close();
    }
    const paper = await newPage(t);
    for (const [i, a] of seen.entries()) {
      for (const b of seen.slice(0, i)) {
        const pair = `${a.name} and ${b.name}`;
        assert.notEqual(a.word, b.word, `the word on the button: ${pair}`);
        const n = await differing(paper, a.png, b.png, size);
        assert.ok(n > 300, `${pair} differ in ${n} pixels`);
        if (a.off === b.off) continue;
        const m = await differing(paper, a.ground, b.ground, size);
        assert.ok(m > 800, `${pair}: without its word, a button that does something is the other in all but ${m} pixels`);
      }
    }
  });
}
