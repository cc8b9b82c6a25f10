import { stamp } from './times.ts';

/** One thing that a lookup found. */
interface Found {
  at: string;
  data?: unknown;
}

/** Gives the text of a key in the language of the answer; undefined where there is none. */
export type Say = (key: string, values?: Record<string, string>) => string | undefined;

/** The reason that an entry tells, if any. */
export function codeOf(e: { data?: unknown }): string | undefined {
  const d = e.data as { code?: unknown; reason?: unknown } | undefined;
  for (const v of [d?.code, d?.reason]) if (typeof v === 'string' && /^[A-Z][A-Z_]+$/.test(v)) return v;
  return undefined;
}

/** What support sends a buyer who asks: each moment with its reason, in the order of time, in one language. */
export function supportAnswer(q: string, items: Found[], zone: string, say: Say): string {
  const lines = items.flatMap((e) => {
    const code = codeOf(e);
    const why = code && say(`reason.${code}`);
    return why ? [`${stamp(e.at, zone, true)} ${code}: ${why}`] : [];
  });
  return [say(lines.length ? 'lookup.answer' : 'lookup.nothing', { q }) ?? q, ...lines].join('\n');
}
