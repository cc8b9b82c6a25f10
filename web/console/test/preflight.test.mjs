// What a check before a sale found, and what broke a rehearsal, has a text in both languages, filled with what the
// server sends.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { load } from './load.mjs';

const texts = { en: (await load('i18n/en.ts')).default, zh: (await load('i18n/zh.ts')).default };
const { told } = await load('lib/says.ts');
const root = new URL('../../../', import.meta.url);
const api = JSON.parse(readFileSync(new URL('api/openapi-admin.json', root), 'utf8'));
const codes = api.components.schemas.PreflightCheck.properties.code.enum;
const places = (s, open, close) => [...s.matchAll(new RegExp(`${open}(\\w+)${close}`, 'g'))].map((m) => m[1]);

test('every code of a check has a text, and every text a code', () => {
  assert.ok(codes.length > 30, `${codes.length} codes`);
  for (const [lang, all] of Object.entries(texts)) {
    const known = Object.keys(all).filter((k) => k.startsWith('check.says.'));
    assert.deepEqual(known.map((k) => k.slice('check.says.'.length)).sort(), [...codes].sort(), lang);
  }
});

test('a text is filled with nothing that its check does not send', () => {
  const server = readFileSync(new URL('preflight.go', root), 'utf8');
  for (const code of codes) {
    const [, detail] = server.match(new RegExp(`"${code}":\\s+"(.*)",`));
    const sent = places(detail, '{', '}');
    for (const all of Object.values(texts)) {
      for (const p of places(all[`check.says.${code}`], '{{', '}}')) assert.ok(sent.includes(p), `${code}: ${p}`);
    }
  }
});

test('every way in which a rehearsal breaks its word has a text', () => {
  const lab = readFileSync(new URL('internal/lab/text.go', root), 'utf8');
  const body = lab.slice(lab.indexOf('func (v Verdict) faults()'));
  const names = [...body.slice(0, body.indexOf('\n}\n')).matchAll(/\{"([\w ]+)", /g)].map((m) =>
    m[1].replace(' ', '_'),
  );
  assert.equal(names.length, 8);
  for (const all of Object.values(texts)) {
    for (const n of [...names, 'verify', 'kept']) assert.ok(all[`rehearse.says.${n}`], n);
  }
});

test('arguments are told in the language and by the clock of the page', () => {
  const args = { at: '2026-06-18T12:00:00Z', units: 12345, state: 'draft', part: 'redis', other: 'x' };
  assert.deepEqual(
    told(args, (k) => texts.zh[k], 'zh', 'utc'),
    { at: '2026-06-18 12:00:00 UTC', units: '12,345', state: '草稿', part: 'Redis', other: 'x' },
  );
});
