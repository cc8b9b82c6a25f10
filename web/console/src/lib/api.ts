import type { components, paths } from '../gen/api.ts';
import { needs } from '../gen/needs.ts';
import { serverClock } from './serverclock.ts';

export type Schemas = components['schemas'];

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/** Call names one call of the API: "GET /v1/admin/campaigns/{id}". */
export type Call = {
  [P in keyof paths & string]: {
    [M in Method]: paths[P][M] extends { responses: unknown } ? `${Uppercase<M>} ${P}` : never;
  }[Method];
}[keyof paths & string];
type Operation<N> = N extends `${infer M} ${infer P}`
  ? P extends keyof paths
    ? Lowercase<M> extends keyof paths[P]
      ? paths[P][Lowercase<M> & keyof paths[P]]
      : never
    : never
  : never;
type Json<R, C extends number> = R extends Record<C, { content: { 'application/json': infer T } }> ? T : never;
/** Answer is what a call answers when it is done. */
export type Answer<N> =
  Operation<N> extends { responses: infer R } ? Json<R, 200> | Json<R, 201> | Json<R, 202> : unknown;
/** Query is what may stand behind the question mark. */
export type Query<N> = Operation<N> extends { parameters: { query?: infer Q } } ? Q : never;
/** Body is what the call takes. */
export type Body<N> =
  Operation<N> extends { requestBody?: { content: { 'application/json': infer B } } }
    ? B
    : Operation<N> extends { requestBody: { content: { 'application/json': infer B } } }
      ? B
      : unknown;

/** Args are the parts of a call. */
export interface Args<N> {
  path?: Record<string, string | number>;
  query?: Query<N>;
  body?: Body<N>;
  signal?: AbortSignal;
}

/** FieldFault is one fault of a form's field. */
export interface FieldFault {
  field: string;
  detail: string;
}

/** Problem is a refused call, or one whose outcome is not known: then `uncertain` is set. */
export class Problem extends Error {
  status: number;
  code: string;
  detail: string;
  requestId: string;
  errors: FieldFault[];
  uncertain: boolean;
  constructor(status: number, body: Partial<Schemas['Problem']>, requestId: string) {
    super(body.title ?? body.code ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code ?? 'UNAVAILABLE';
    this.detail = body.detail ?? '';
    this.requestId = body.request_id ?? requestId;
    this.errors = (body.errors ?? []) as FieldFault[];
    this.uncertain = status === 0 || status >= 500;
  }
}

let csrf = '';
let language = 'en';
let onExpired: () => void = () => {};

export const client = {
  setToken(token: string) {
    csrf = token;
  },
  setLanguage(lang: string) {
    language = lang;
  },
  /** What to do when the session has ended. */
  expired(f: () => void) {
    onExpired = f;
  },
};

const timeoutMs = 15_000;
const fileMs = 120_000;

/** Gives the address of a call. */
export function address(name: string, path: Record<string, string | number> = {}, query: object = {}): string {
  const at = name
    .slice(name.indexOf(' ') + 1)
    .replace(/\{(\w+)\}/g, (_, k: string) => encodeURIComponent(path[k] ?? ''));
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== '' && v !== null) q.set(k, String(v));
  const text = q.toString();
  return text ? `${at}?${text}` : at;
}

/** Makes one call. Throws a Problem where it is refused, status 0 where no answer came. */
export async function api<N extends Call>(name: N, args: Args<N> = {}): Promise<Answer<N>> {
  return (await raw(name, args as Parameters<typeof raw>[1])) as Answer<N>;
}

/** Makes a call that the types do not know, of a part that this version may lack. */
export async function raw(
  name: string,
  args: {
    path?: Record<string, string | number>;
    query?: object;
    body?: unknown;
    csv?: string;
    signal?: AbortSignal;
  } = {},
): Promise<unknown> {
  const method = name.slice(0, name.indexOf(' '));
  const headers: Record<string, string> = { Accept: 'application/json', 'Accept-Language': language };
  if (method !== 'GET') headers['X-CSRF-Token'] = csrf;
  if (args.body !== undefined) headers['Content-Type'] = 'application/json';
  if (args.csv !== undefined) headers['Content-Type'] = 'text/csv';
  const limit = AbortSignal.timeout(timeoutMs);
  const sent = Date.now();
  let r: Response;
  let text: string;
  try {
    r = await fetch(address(name, args.path, args.query), {
      method,
      headers,
      body: args.csv ?? (args.body === undefined ? undefined : JSON.stringify(args.body)),
      signal: args.signal ? AbortSignal.any([args.signal, limit]) : limit,
      credentials: 'same-origin',
      cache: 'no-store',
    });
    serverClock.saw(sent, Date.now(), Date.parse(r.headers.get('Date') ?? ''));
    text = await r.text();
  } catch (e) {
    if (args.signal?.aborted) throw e;
    throw new Problem(0, { code: 'UNAVAILABLE' }, '');
  }
  const requestId = r.headers.get('X-Request-Id') ?? '';
  let body: unknown;
  try {
    body = text ? JSON.parse(text) : undefined;
  } catch {
    throw new Problem(r.ok ? 0 : r.status, { code: 'UNAVAILABLE' }, requestId);
  }
  if (r.ok) return body;
  const problem = new Problem(r.status, (body ?? {}) as Partial<Schemas['Problem']>, requestId);
  if (r.status === 401 && !name.endsWith(' /v1/admin/sessions')) onExpired();
  throw problem;
}

/** Fetches a file. `cut` is how many rows it has where it has not all that matched. */
export async function file(at: string): Promise<{ body: Blob; cut?: number }> {
  let r: Response;
  let body: Blob;
  try {
    r = await fetch(at, { signal: AbortSignal.timeout(fileMs), credentials: 'same-origin', cache: 'no-store' });
    body = await r.blob();
  } catch {
    throw new Problem(0, { code: 'UNAVAILABLE' }, '');
  }
  if (!r.ok) {
    if (r.status === 401) onExpired();
    let says: Partial<Schemas['Problem']> = { code: 'UNAVAILABLE' };
    try {
      says = JSON.parse(await body.text());
    } catch {
      // what is between us and the server has answered
    }
    throw new Problem(r.status, says, r.headers.get('X-Request-Id') ?? '');
  }
  const cut = Number(r.headers.get('Sluice-Cut'));
  return cut > 0 ? { body, cut } : { body };
}

/** The role that a call needs; undefined where this version has no such call. */
export function need(name: string): string | undefined {
  return needs[name];
}
