// The slider on the built binary: a drag and keys as people move them pass the server's look at the track.
import assert from 'node:assert/strict';
import test, { before, describe } from 'node:test';
import { challenged } from './lib/buyer.mjs';
import { state } from './lib/fake.mjs';
import { sharedServer } from './lib/sluice.mjs';

let server;
before(async () => { server = await sharedServer(); });

/** The page of a campaign whose claims need the slider, at its puzzle. */
async function atTheSlider(t, user) {
  const page = await challenged(t, server, 'slider', user, { viewport: { width: 1280, height: 1100 } }); // it lies above the button at the foot
  await page.waitForSelector('#slide');
  await page.waitForFunction(() => [...document.querySelectorAll('.puzzle img')].every((i) => i.naturalWidth > 0));
  return page;
}

/** Where the hole is: an edge in the form of the piece goes round it. It stands for eyes. */
const look = (page) => page.evaluate(() => {
  const [picture, piece] = [...document.querySelectorAll('.puzzle img')].map((img) => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [img.naturalWidth, img.naturalHeight];
    const ink = canvas.getContext('2d');
    ink.drawImage(img, 0, 0);
    return ink.getImageData(0, 0, canvas.width, canvas.height);
  });
  const scale = document.querySelector('.puzzle img').clientWidth / picture.width;
  const top = Math.round(parseFloat(document.querySelector('.piece').style.top) / scale);
  const belongs = (u, v) => piece.data[(v * piece.width + u) * 4 + 3] > 192;
  const light = (x, y) => { const i = (y * picture.width + x) * 4; return (picture.data[i] + picture.data[i + 1] + picture.data[i + 2]) / 3; };
  let best = 0, at = 0;
  for (let x = 0; x + piece.width <= picture.width; x++) {
    let sum = 0, n = 0;
    for (let v = 2; v < piece.height - 2; v++) for (let u = 2; u < piece.width - 2; u++) for (const [p, q] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      if (belongs(u, v) || !belongs(u + p, v + q)) continue;
      const step = light(x + u - p, top + v - q) - light(x + u + 3 * p, top + v + 3 * q);
      sum += Math.max(-20, Math.min(step, 20));
      n++;
    }
    if (Math.abs(sum / n) > best) [best, at] = [Math.abs(sum / n), x];
  }
  return at;
});

/** Where a hand presses (px): the middle of the thumb as it is, and where it has to come for the piece to lie at `want`. */
async function track(page, want, thumb = 16) {
  const box = await page.locator('#slide').boundingBox();
  const most = Number(await page.getAttribute('#slide', 'max'));
  const from = box.x + thumb / 2;
  return { from, to: from + (want / most) * (box.width - thumb), y: box.y + box.height / 2 };
}

const value = (page) => page.$eval('#slide', (s) => Number(s.value));

describe('the slider', { concurrency: 2 }, () => {
  test('is dragged by mouse: slowly, fast, and slowly again', async (t) => {
    const page = await atTheSlider(t, 'drags');
    const want = await look(page);
    const { from, to, y } = await track(page, want);
    await page.mouse.move(from, y);
    await page.mouse.down();
    for (let i = 1; i <= 40; i++) {
      const k = i / 40;
      await page.mouse.move(from + (to - from) * k * k * (3 - 2 * k), y + Math.sin(k * 9) * 2);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    }
    await page.mouse.up();
    assert.ok(Math.abs((await value(page)) - want) <= 5, `the drag ended at ${await value(page)}, the hole is at ${want}`);
    await page.click('#slide-go');
    await state(page, 'confirmed', 20_000);
    assert.deepEqual(page.faults, []);
  });

  test('is moved by keys alone', async (t) => {
    const page = await atTheSlider(t, 'keys');
    const want = await look(page);
    await page.focus('#slide');
    for (let i = 0; i < 400 && (await value(page)) < want; i++) await page.keyboard.press(want - (await value(page)) > 40 ? 'PageUp' : 'ArrowRight');
    while ((await value(page)) > want) await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await state(page, 'confirmed', 20_000);
    assert.deepEqual(page.faults, []);
  });

  test('is clicked where the piece belongs', async (t) => {
    const page = await atTheSlider(t, 'clicks');
    const want = await look(page);
    const { to, y } = await track(page, want);
    await page.mouse.click(to, y);
    assert.ok(Math.abs((await value(page)) - want) <= 5, `the click gave ${await value(page)}, the hole is at ${want}`);
    // A person takes longer than a few frames from one click to the next.
    for (let i = 0; i < 15; i++) await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    await page.click('#slide-go');
    await state(page, 'confirmed', 20_000);
  });
});
