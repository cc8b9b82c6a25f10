// What holds on every page: no accessibility fault, no sideways scroll, no text that a program left behind, one
// language at a time.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'];

/** The rules that colours can break: all that is left to look at where a page was light before and is dark now. */
export const colours = ['color-contrast', 'link-in-text-block'];

/** No violation of WCAG 2.2 A and AA on the page as it is now; or of some rules only. */
export async function accessible(page, where, rules) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe); // past the page's own policy
  const found = await page.evaluate(async ([type, values]) => {
    // Half-way between two colours nothing has contrast; what goes on for ever (a skeleton) is not waited for.
    const ending = document.getAnimations().filter((a) => Number.isFinite(a.effect?.getComputedTiming().endTime));
    await Promise.all(ending.map((a) => a.finished.catch(() => {})));
    const r = await window.axe.run(document, { runOnly: { type, values }, resultTypes: ['violations'] });
    return r.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html} ${n.any[0]?.message ?? ''}`).join(' | ')}`);
  }, rules ? ['rule', rules] : ['tag', tags]);
  assert.deepEqual(found, [], `axe, ${where}`);
}

/** At a width of 360 px nothing makes the page scroll sideways, and what can be pressed is `least` px high. */
export async function narrow(page, where, least = 24) {
  const was = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const seen = await page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    small: [...document.querySelectorAll('button,[role=button],input,select')]
      .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect().height])
      .filter(([, h]) => h > 0),
  }));
  await page.setViewportSize(was);
  assert.equal(seen.width, 360, `scrollWidth, ${where}`);
  for (const [html, height] of seen.small) assert.ok(height >= least, `${height} px, ${html}, ${where}`);
}

/** In how many of their pixels two pictures (PNG, base64) of this size differ, as `paper`, any page, sees them. */
export function differing(paper, one, other, [width, height]) {
  return paper.evaluate(async ([x, y, w, h]) => {
    const pixels = async (png) => {
      const image = new Image();
      image.src = `data:image/png;base64,${png}`;
      await image.decode();
      const c = Object.assign(document.createElement('canvas'), { width: w, height: h }).getContext('2d', { willReadFrequently: true });
      c.drawImage(image, 0, 0);
      return c.getImageData(0, 0, w, h).data;
    };
    const [p, q] = [await pixels(x), await pixels(y)];
    let n = 0;
    for (let k = 0; k < p.length; k += 4) if (Math.abs(p[k] - q[k]) > 40) n++;
    return n;
  }, [one, other, width, height]);
}

/** The text has nothing that a program left behind. */
export async function readable(page, where) {
  const text = await page.evaluate(() => document.body.innerText);
  assert.doesNotMatch(text, /NaN|undefined|Invalid Date|\[object|\bnull\b/, where);
}

/** English shows no Han character, Chinese no English sentence; what is data stands in `[data-data]`. */
export async function oneLanguage(page, lang, where) {
  const text = await page.evaluate(() => {
    const copy = document.body.cloneNode(true);
    for (const e of copy.querySelectorAll('[data-data],[hidden],script,style,template')) e.remove();
    return [...copy.querySelectorAll('*')].flatMap((e) => [...e.childNodes]
      .filter((n) => n.nodeType === 3).map((n) => n.data)).join(' ');
  });
  if (lang === 'en') assert.doesNotMatch(text, /\p{Script=Han}/u, `Han, ${where}`);
  else assert.doesNotMatch(text, /[a-z]{3,} [a-z]{2,} [a-z]{2,}/i, `English, ${where}`);
}
