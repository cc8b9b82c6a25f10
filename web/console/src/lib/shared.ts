import { address, Problem, type Schemas } from './api.ts';

/** Where the console shows a report to whoever has a link. */
export const sharedPath = '/shared/report';

const form = /^#(slr_[A-Za-z0-9_-]{43})$/;
const kept = 'sluice-shared';

/**
 * Takes the secret of a link out of the address bar, so that it is in no bookmark, picture or history entry. This tab
 * remembers it until it is closed, for when the page is loaded again; nothing else does.
 */
export function takeSecret(): string {
  const found = form.exec(location.hash)?.[1];
  if (location.href.includes('#')) history.replaceState(null, '', location.pathname + location.search);
  try {
    if (found) sessionStorage.setItem(kept, found);
    return found ?? sessionStorage.getItem(kept) ?? '';
  } catch {
    return found ?? '';
  }
}

/** Forgets the secret: it opens nothing any more. */
export function forgetSecret(): void {
  try {
    sessionStorage.removeItem(kept);
  } catch {
    // A browser without storage has nothing to forget.
  }
}

type SharedCall = 'GET /v1/admin/shared/report' | 'GET /v1/admin/shared/report.csv';

/** Asks with the secret of a link, never with a session, and gives the answer's text. */
async function ask(name: SharedCall, secret: string, lang: string, query: object, signal?: AbortSignal) {
  const limit = AbortSignal.timeout(30_000);
  let r: Response;
  let text: string;
  try {
    r = await fetch(address(name, {}, query), {
      headers: { Authorization: `Bearer ${secret}`, 'Accept-Language': lang },
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    text = await r.text();
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Problem(0, { code: 'UNAVAILABLE' }, '');
  }
  if (r.ok) return text;
  let body: Partial<Schemas['Problem']> = {};
  try {
    body = JSON.parse(text) as Partial<Schemas['Problem']>;
  } catch {
    // A proxy's page: the status says enough.
  }
  throw new Problem(r.status, body, r.headers.get('X-Request-Id') ?? '');
}

/** Reads the report of a link. */
export async function sharedReport(secret: string, lang: string, signal: AbortSignal) {
  return JSON.parse(await ask('GET /v1/admin/shared/report', secret, lang, {}, signal)) as Schemas['SharedReport'];
}

/** Reads the same for a spreadsheet. */
export function sharedCSV(secret: string, lang: string, part: 'summary' | 'seconds'): Promise<string> {
  return ask('GET /v1/admin/shared/report.csv', secret, lang, { part });
}
