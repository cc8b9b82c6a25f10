// What operators do in the console, and the screens with data in them: undo, the blocklist with its preview and import,
// what needs a person, refunds, coupons, jobs, more than one page, trouble.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { everyLook, go, settled, signIn } from './lib/console.mjs';
import { startServer } from './lib/sluice.mjs';

const server = await startServer({ after });
await server.campaign({ id: 'spring', total: 40, protection: { pass: 'off' } });

/** A buyer's call with a claim; gives the claim's answer. */
async function claim(campaign, user) {
  const r = await fetch(`${server.url}/v1/campaigns/${campaign}/claims`, {
    method: 'POST', headers: { Authorization: `Bearer ${server.token(user)}`, 'Idempotency-Key': `r-${user}` },
  });
  return r.json();
}

const dialog = (page) => page.locator('[role=dialog]').last();
const focused = (page, text) => page.waitForFunction((x) => document.activeElement?.textContent === x, text);

test('a stop is offered to be undone for ten seconds, and undoing it opens the guarded dialog', async (t) => {
  const page = await signIn(t, server, '/live/spring');
  await page.clock.install();
  const stop = async () => {
    await page.locator('.headacts [data-stop]').click();
    await dialog(page).getByRole('button', { name: 'Stop the sale' }).click();
    await page.locator('[data-inforce]').waitFor();
    assert.equal(await page.locator('[data-toast]').count(), 0, 'not before the dialog is closed');
    await dialog(page).getByRole('button', { name: 'Close' }).click();
  };
  await stop();
  const toast = page.locator('[data-toast]');
  await toast.waitFor();
  assert.match(await toast.innerText(), /is stopped/);
  await page.locator('.headacts').getByRole('button', { name: 'Open again' }).waitFor(); // in the place of the stop
  await toast.getByRole('button', { name: 'Undo' }).click();
  await dialog(page).waitFor();
  assert.equal(await toast.count(), 0);
  await page.clock.runFor(500);
  await focused(page, 'Cancel');
  assert.equal(await dialog(page).locator('[data-tier]').getAttribute('data-tier'), 'c');
  await dialog(page).locator('input').nth(0).fill('a slip');
  await dialog(page).locator('input').nth(1).fill('spring');
  await dialog(page).getByRole('button', { name: 'Open again' }).click();
  await page.locator('[data-inforce]').waitFor();
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await page.clock.runFor(2000);
  await page.locator('.headacts [data-stop]').waitFor();
  assert.equal(await toast.count(), 0, 'opening is not offered to be undone by one key');
  await stop();
  await toast.waitFor();
  await page.clock.runFor(9500);
  assert.equal(await toast.count(), 1);
  await page.clock.runFor(600);
  assert.equal(await toast.count(), 0);
  await server.admin('DELETE', '/v1/admin/switches/closed?campaign_id=spring');
});
