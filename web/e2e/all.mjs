// Every browser test in one process, so that all of them share one Chromium; but for the whole sale, which mostly waits and
// runs beside them. `node --test` runs this file; one file alone runs with `node --test smoke.test.mjs`. With the name of a
// part (`E2E_ONLY=console`), only files that have it in their name are run.
import { readdirSync } from 'node:fs';

const only = process.env.E2E_ONLY ?? '';
for (const file of readdirSync(import.meta.dirname).sort()) {
  if (file.endsWith('.test.mjs') && file.includes(only) && (only || file !== 'whole.test.mjs')) await import(`./${file}`);
}
