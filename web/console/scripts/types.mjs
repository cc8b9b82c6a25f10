// Writes src/gen from the operators' OpenAPI document: the types of every call, and the role that each call needs.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const at = new URL('../../../api/openapi-admin.json', import.meta.url);
const document = JSON.parse(readFileSync(process.argv[2] ?? at, 'utf8'));
const head = '// Made from api/openapi-admin.json by `npm run types`. Do not edit.\n';
writeFileSync(new URL('../src/gen/api.ts', import.meta.url), head + astToString(await openapiTS(document)));

const needs = {};
for (const [path, calls] of Object.entries(document.paths)) {
  for (const [method, call] of Object.entries(calls)) {
    const role = /role (\w+) or above/.exec(call.description ?? '');
    needs[`${method.toUpperCase()} ${path}`] = role ? role[1] : 'anybody';
  }
}
const rows = Object.entries(needs).map(([k, v]) => `  '${k}': '${v}',`);
writeFileSync(
  new URL('../src/gen/needs.ts', import.meta.url),
  `${head}/** The role that each call of the API needs. */\nexport const needs: Record<string, string> = {\n${rows.join('\n')}\n};\n`,
);
