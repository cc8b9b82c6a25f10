// The tools themselves: the built binary starts, and Chromium runs a page.
import assert from 'node:assert/strict';
import test from 'node:test';
import { newPage } from './lib/browser.mjs';
import { accessible } from './lib/check.mjs';
import { startServer } from './lib/sluice.mjs';

test('a server, a page and axe', async (t) => {
  const server = await startServer(t);
  const { id } = await server.campaign();
  const page = await newPage(t);
  const answer = await page.goto(`${server.url}/v1/campaigns/${id}`);
  assert.equal(answer.status(), 200);
  await page.setContent('<html lang="en"><title>t</title><main><img src="/x.png"></main>');
  await assert.rejects(accessible(page, 'a picture without a text'), /image-alt/);
});
