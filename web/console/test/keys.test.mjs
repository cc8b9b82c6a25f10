// Every key that the sources name is there in both languages, and both have the same keys and the same places to fill.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { load } from './load.mjs';

const en = (await load('i18n/en.ts')).default;
const zh = (await load('i18n/zh.ts')).default;
const root = new URL('../src/', import.meta.url);
const sources = ['', 'ui/', 'pages/', 'lib/'].flatMap((d) =>
  readdirSync(new URL(d, root))
    .filter((f) => /\.tsx?$/.test(f))
    .map((f) => [d + f, readFileSync(new URL(d + f, root), 'utf8')]),
);

test('both languages have the same keys', () => {
  assert.deepEqual(Object.keys(en).sort(), Object.keys(zh).sort());
});

test('both languages fill the same places', () => {
  const places = (s) => [...s.matchAll(/\{\{(\w+)\}\}/g)].map((m) => m[1]).sort();
  for (const k of Object.keys(en)) assert.deepEqual(places(zh[k]), places(en[k]), k);
});

test('English has no Chinese letter, and Chinese no English sentence', () => {
  for (const [k, v] of Object.entries(en)) assert.doesNotMatch(v, /\p{Script=Han}/u, k);
  for (const [k, v] of Object.entries(zh)) assert.doesNotMatch(v, /[a-z]{3,} [a-z]{2,} [a-z]{2,}/i, k);
});

test('every key that a source names is there', () => {
  for (const [file, text] of sources) {
    for (const [, key] of text.matchAll(/\bt\('([\w.]+)'/g)) assert.ok(key in en, `${key}, ${file}`);
    for (const [, a, b] of text.matchAll(/\bt\([^()]*\? '([\w.]+)' : '([\w.]+)'/g)) {
      assert.ok(a in en && b in en, `${a} or ${b}, ${file}`);
    }
    for (const [, stem] of text.matchAll(/\bt\(`([\w.]+)\$\{/g)) {
      assert.ok(
        Object.keys(en).some((k) => k.startsWith(stem)),
        `${stem}…, ${file}`,
      );
    }
  }
});
