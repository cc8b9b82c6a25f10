// Builds the sale page into internal/storefront/dist: one page, one script, what is loaded later each in a file of its
// own. Names of assets change with their content. Budgets are checked here, so that a page that is too large is no build.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, transform } from 'esbuild';

const out = process.env.OUT ?? join(import.meta.dirname, '../../internal/storefront/dist');
const src = (name) => join(import.meta.dirname, 'src', name);
rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'assets'), { recursive: true });
mkdirSync(join(out, 'sdk'));

const common = {
  bundle: true, minify: true, target: 'es2022', outdir: join(out, 'assets'), entryNames: '[name]-[hash]', metafile: true,
  external: ['/assets/*'], legalComments: 'none', charset: 'utf8', logLevel: 'warning',
};
const named = (result) => Object.keys(result.metafile.outputs).map((f) => f.slice(f.lastIndexOf('/') + 1))[0];
const part = async (name, more) => `/assets/${named(await build({ ...common, entryPoints: [src(name)], ...more }))}`;

// What is loaded later knows nothing of the main script: it is handed what it needs, so that nothing is shared.
const define = {
  __WORKER__: JSON.stringify(await part('worker.ts', { format: 'iife' })),
};
define.__CHALLENGE__ = JSON.stringify(await part('challenge.ts', { format: 'esm', define }));
define.__PAGES__ = JSON.stringify(await part('pages.ts', { format: 'esm' }));
const main = await part('main.ts', { format: 'esm', define });

// Both languages say the same things, with the same values in them. The words of a campaign's page stand in the page
// itself, as data: they are there before the script, and the script has room for what it does.
const holes = (t) => JSON.stringify([t].flat().map((x) => (x.match(/\{\w\}/g) ?? []).sort()));
async function texts(file, name) {
  const { code } = await transform(readFileSync(src(file), 'utf8'), { loader: 'ts', format: 'esm' });
  const all = (await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`))[name];
  const [zh, en] = [all['zh-CN'], all.en];
  for (const key of new Set([...Object.keys(zh), ...Object.keys(en)])) {
    if (!(key in zh) || !(key in en) || holes(zh[key]) !== holes(en[key])) throw new Error(`${file}: ${key} differs in its languages`);
  }
  return JSON.stringify(all).replaceAll('<', '\\u003c'); // no text ends the element that it stands in
}
const words = await texts('texts.ts', 'all');
await texts('texts-pages.ts', 'more');
await texts('texts-challenge.ts', 'more');

const css = (await transform(readFileSync(src('style.css'), 'utf8'), { loader: 'css', minify: true })).code.trim();
const html = readFileSync(src('index.html'), 'utf8').replace(/>\s+</g, '><')
  .replace('/*style*/', () => css).replace('/*texts*/', () => words).replace('/main.js', () => main);
writeFileSync(join(out, 'index.html'), html);

// The SDK under names that stay, for pages of the shop's own that copy the example.
const sdk = join(import.meta.dirname, '../sdk/src');
await build({
  ...common, entryNames: '[name]', outdir: join(out, 'sdk'), format: 'esm', metafile: false,
  entryPoints: { sluice: join(sdk, 'index.ts'), pow: join(sdk, 'pow.ts') },
});

const size = (f) => gzipSync(readFileSync(join(out, f)), { level: 9 }).length;
const assets = readdirSync(join(out, 'assets'));
const bytes = (prefix) => assets.filter((f) => f.startsWith(`${prefix}-`)).reduce((n, f) => n + size(`assets/${f}`), 0);
const budgets = [
  ['page, css and words', size('index.html'), 6 * 1024], ['main', bytes('main'), 12 * 1024],
  ['challenge + worker', bytes('challenge') + bytes('worker'), 8 * 1024], ['pages', bytes('pages'), 8 * 1024],
  ['sdk', size('sdk/sluice.js'), 5 * 1024],
];
for (const [what, got, most] of budgets) {
  console.log(`${what.padEnd(20)} ${String(got).padStart(6)} bytes gz of ${most}`);
  if (got > most) throw new Error(`${what} is too large`);
}
