// Loads a TypeScript module of ../src: its types are taken off, nothing else.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

const src = fileURLToPath(new URL('../src/', import.meta.url));
const out = fileURLToPath(new URL('../node_modules/.test/', import.meta.url));

function write(name, seen) {
  if (seen.has(name)) return;
  seen.add(name);
  const text = readFileSync(src + name, 'utf8');
  const compilerOptions = { module: 'ESNext', target: 'ES2022', verbatimModuleSyntax: true, jsx: 'react-jsx' };
  const js = ts.transpileModule(text, { compilerOptions }).outputText;
  const dir = name.includes('/') ? name.slice(0, name.lastIndexOf('/') + 1) : '';
  const placed = js.replace(/from '(\.[^']+)\.ts'/g, (_, at) => {
    write(new URL(`${at}.ts`, `file:///${dir}`).pathname.slice(1), seen);
    return `from '${at}.mjs'`;
  });
  mkdirSync(out + dir, { recursive: true });
  writeFileSync(out + name.replace(/\.tsx?$/, '.mjs'), placed);
}

/** Imports src/<name>. */
export function load(name) {
  write(name, new Set());
  return import(pathToFileURL(out + name.replace(/\.tsx?$/, '.mjs')).href);
}
