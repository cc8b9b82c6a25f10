// What support sends a buyer, in the language of the buyer.
import assert from 'node:assert/strict';
import test from 'node:test';
import { load } from './load.mjs';

const { codeOf, supportAnswer } = await load('lib/support.ts');
const texts = { en: (await load('i18n/en.ts')).default, zh: (await load('i18n/zh.ts')).default };
const say =
  (lang) =>
  (key, values = {}) =>
    texts[lang][key]?.replace(/\{\{(\w+)\}\}/g, (_, k) => values[k]);

const items = [
  { at: '2026-06-18T12:00:00.031Z', data: { code: 'SOLD_OUT' } },
  { at: '2026-06-18T12:00:01Z', data: { action: 'campaign.pause', reason: 'a drill' } },
  { at: '2026-06-18T12:00:02Z', data: { reason: 'LIMIT_REACHED' } },
  { at: '2026-06-18T12:00:03Z', data: { code: 'UNHEARD_OF' } },
  { at: '2026-06-18T12:00:04Z' },
];

test('the answer for a buyer is whole in either language, whatever the page speaks', () => {
  for (const lang of ['en', 'zh']) {
    const lines = supportAnswer('ann', items, 'Asia/Shanghai', say(lang)).split('\n');
    assert.equal(lines.length, 3, 'what has no text of its own is left out');
    assert.match(lines[0], /ann/);
    assert.equal(lines[1], `2026-06-18 20:00:00.031 UTC+8 SOLD_OUT: ${texts[lang]['reason.SOLD_OUT']}`);
    assert.equal(lines[2], `2026-06-18 20:00:02.000 UTC+8 LIMIT_REACHED: ${texts[lang]['reason.LIMIT_REACHED']}`);
    assert.equal(/[\u4e00-\u9fff]/.test(lines.join('')), lang === 'zh');
  }
  assert.notEqual(supportAnswer('ann', [], 'utc', say('en')), supportAnswer('ann', [], 'utc', say('zh')));
  assert.match(supportAnswer('ann', [], 'utc', say('zh')), /ann/);
});

test('a reason that a person wrote is no code', () => {
  assert.equal(codeOf({ data: { reason: 'a drill' } }), undefined);
  assert.equal(codeOf({ data: { code: 7, reason: 'PAUSED' } }), 'PAUSED');
  assert.equal(codeOf({}), undefined);
});
