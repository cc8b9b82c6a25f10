// Every browser test. Each file is a process with a Chromium and servers of its own; they wait more than they work, so one
// more runs at once than there are cores, and the longest begin. `node smoke.test.mjs` runs one file; with a part of a
// name (`E2E_ONLY=console`), only files that have it are run.
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const longest = ['whole', 'console', 'console_acts', 'looks', 'sale', 'console_keys', 'states'];
const only = process.env.E2E_ONLY ?? '';
const names = readdirSync(import.meta.dirname).filter((f) => f.endsWith('.test.mjs')).map((f) => f.slice(0, -'.test.mjs'.length));
const gone = longest.filter((x) => !names.includes(x));
if (gone.length) throw new Error(`no such files: ${gone}`);
const files = [...new Set([...longest, ...names.sort()])].filter((x) => x.includes(only)).map((x) => join(import.meta.dirname, `${x}.test.mjs`));
if (!files.length) throw new Error(`no file has ${only} in its name`);

run({ files, concurrency: availableParallelism() + 1 })
  .on('test:fail', () => { process.exitCode = 1; })
  .compose(new spec())
  .pipe(process.stdout);
