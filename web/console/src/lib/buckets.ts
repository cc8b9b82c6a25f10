import type { Counts } from './funnel.ts';

/** Bucket is a slice of time of the live answer. */
export interface Bucket {
  start_ms: number;
  width_ms: number;
  counts: Counts;
  p50_us: number;
  p99_us: number;
}

/** Sample is what the stock was at one look. */
export interface Sample {
  at: number;
  available: number;
  held: number;
  sold: number;
  queued: number;
  oldest: number;
}

/** How long buckets and samples are kept. */
export const keepMs = 15 * 60_000;

/** Series keeps a quarter of an hour of buckets and samples, oldest first. A bucket may come again, with more in it. */
export class Series {
  buckets: Bucket[] = [];
  samples: Sample[] = [];

  /** Takes the buckets of one look. */
  add(more: Bucket[]): void {
    for (const b of more) {
      let i = this.buckets.length;
      while (i > 0 && (this.buckets[i - 1] as Bucket).start_ms > b.start_ms) i--;
      const before = this.buckets[i - 1];
      if (before && before.start_ms === b.start_ms) this.buckets[i - 1] = b;
      else this.buckets.splice(i, 0, b);
    }
    const last = this.buckets.at(-1);
    if (last) this.buckets = cut(this.buckets, (b) => b.start_ms < last.start_ms - keepMs);
  }

  /** Takes the stock of one look. */
  sample(s: Sample): void {
    const last = this.samples.at(-1);
    if (last && s.at <= last.at) return;
    this.samples.push(s);
    this.samples = cut(this.samples, (x) => x.at < s.at - keepMs);
  }

  /** Sums the decisions of the whole seconds before `at`. */
  recent(at: number, seconds: number): Counts {
    const out: Counts = {};
    const from = at - seconds * 1000;
    for (let i = this.buckets.length - 1; i >= 0; i--) {
      const b = this.buckets[i] as Bucket;
      if (b.start_ms < from) break;
      if (b.start_ms + b.width_ms > at) continue;
      for (const [k, n] of Object.entries(b.counts)) out[k] = (out[k] ?? 0) + n;
    }
    return out;
  }
}

function cut<T>(list: T[], old: (x: T) => boolean): T[] {
  let n = 0;
  while (n < list.length && old(list[n] as T)) n++;
  return n ? list.slice(n) : list;
}

/** Points are columns for a chart: seconds since 1970, then one column a line; null is a gap. */
export type Points = (number | null)[][];

const groups: Record<string, string[]> = {
  admitted: ['QUEUED', 'CONFIRMED'],
  soldOut: ['SOLD_OUT'],
  busy: ['BUSY', 'UNAVAILABLE'],
};

/** Claims a second by outcome: admitted, sold out, busy or failed, other refusals. */
export function rates(buckets: Bucket[]): Points {
  const out: Points = [[], [], [], [], []];
  let end = 0;
  for (const b of buckets) {
    if (end && b.start_ms > end + 2000) gap(out, end);
    end = b.start_ms + b.width_ms;
    const scale = 1000 / b.width_ms;
    const part = (names: string[]) => names.reduce((n, r) => n + (b.counts[r] ?? 0), 0) * scale;
    const all = Object.values(b.counts).reduce((n, x) => n + x, 0) * scale;
    const shown = [part(groups.admitted as string[]), part(groups.soldOut as string[]), part(groups.busy as string[])];
    out[0]?.push(b.start_ms / 1000);
    for (const [i, v] of [...shown, all - shown.reduce((n, x) => n + x, 0)].entries())
      out[i + 1]?.push(v > 0.0001 ? v : null);
  }
  return out;
}

/** The median and the 99th percentile of the answer in ms. */
export function latencies(buckets: Bucket[]): Points {
  const out: Points = [[], [], []];
  let end = 0;
  for (const b of buckets) {
    if (end && b.start_ms > end + 2000) gap(out, end);
    end = b.start_ms + b.width_ms;
    out[0]?.push(b.start_ms / 1000);
    out[1]?.push(b.p50_us ? b.p50_us / 1000 : null);
    out[2]?.push(b.p99_us ? b.p99_us / 1000 : null);
  }
  return out;
}

/** Columns of the samples; a pause of more than 4 s between two is a gap. */
export function columns(samples: Sample[], pick: ((s: Sample) => number)[]): Points {
  const out: Points = [[], ...pick.map(() => [])];
  let before = 0;
  for (const s of samples) {
    if (before && s.at - before > 4000) gap(out, before + 1);
    before = s.at;
    out[0]?.push(s.at / 1000);
    for (const [i, f] of pick.entries()) out[i + 1]?.push(f(s));
  }
  return out;
}

function gap(out: Points, at: number) {
  out[0]?.push(at / 1000);
  for (const column of out.slice(1)) column.push(null);
}
