// Writes src/gen from the operators' OpenAPI document: the types of every call, the role that each call needs, and the
// areas that it is of.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const at = new URL('../../../api/openapi-admin.json', import.meta.url);
const document = JSON.parse(readFileSync(process.argv[2] ?? at, 'utf8'));
const head = '// Made from api/openapi-admin.json by `npm run types`. Do not edit.\n';
writeFileSync(new URL('../src/gen/api.ts', import.meta.url), head + astToString(await openapiTS(document)));

const needs = {};
const areas = {};
for (const [path, calls] of Object.entries(document.paths)) {
  for (const [method, call] of Object.entries(calls)) {
    const role = /role (\w+) or above/.exec(call.description ?? '');
    const name = `${method.toUpperCase()} ${path}`;
    needs[name] = role ? role[1] : 'anybody';
    if (!call['x-any-scope']) areas[name] = call.tags.map((tag) => tag.toLowerCase().replaceAll(' ', '-'));
  }
}
const rows = Object.entries(needs).map(([k, v]) => `  '${k}': '${v}',`);
const tags = Object.entries(areas).map(([k, v]) => `  '${k}': [${v.map((a) => `'${a}'`).join(', ')}],`);
writeFileSync(
  new URL('../src/gen/needs.ts', import.meta.url),
  `${head}/** The role that each call of the API needs. */\nexport const needs: Record<string, string> = {\n${rows.join('\n')}\n};\n
/** The areas that each call is of; a call that is of none is outside of all scopes. */
export const areas: Record<string, string[]> = {\n${tags.join('\n')}\n};\n`,
);
