import type { Schemas } from './api.ts';

/** Mark is one adjustment of the stock: when, by how many units; `asked` where the log knows only what was asked. */
export interface Mark {
  at: number; // ms since 1970
  delta: number;
  asked: boolean;
}

type Entry = Pick<Schemas['AuditEntry'], 'at' | 'before' | 'after'>;

const total = (x: unknown) => (x as { total?: number } | null | undefined)?.total;

/** Reads adjustments from the entries of the audit log, oldest first: two totals, or what a decrease asked for. */
export function marks(entries: Entry[]): Mark[] {
  const out: Mark[] = [];
  for (const e of entries) {
    const at = Date.parse(e.at);
    const [was, is] = [total(e.before), total(e.after)];
    const asked = (e.after as { asked?: number } | null | undefined)?.asked;
    const delta = was !== undefined && is !== undefined ? is - was : asked;
    if (Number.isFinite(at) && delta) out.push({ at, delta, asked: was === undefined });
  }
  return out.sort((a, b) => a.at - b.at);
}

/** What stands beside a mark: +20, −5; in parentheses where fewer may have been taken off. */
export function markText(m: Mark, n: (x: number) => string): string {
  const text = `${m.delta < 0 ? '−' : '+'}${n(Math.abs(m.delta))}`;
  return m.asked ? `(${text})` : text;
}
