/** The reasons in the order of the gate's checks; the last are recorded later for a claim that was promised before. */
export const reasons = [
  'CLOSED',
  'UNKNOWN_CAMPAIGN',
  'BLOCKED',
  'UNAUTHENTICATED',
  'NOT_STARTED',
  'ENDED',
  'PAUSED',
  'NOT_ELIGIBLE',
  'SOLD_OUT',
  'TOO_FREQUENT',
  'PASS_REQUIRED',
  'PASS_INVALID',
  'SIGNATURE_INVALID',
  'BUSY',
  'LIMIT_REACHED',
  'QUEUED',
  'CONFIRMED',
  'REQUEST_ID_REUSED',
  'UNAVAILABLE',
  'DISCARDED',
  'LOST',
] as const;

const admittedReasons = new Set(['QUEUED', 'CONFIRMED']);
const afterwards = new Set(['DISCARDED', 'LOST']);

/** Counts are decisions by reason. */
export type Counts = Record<string, number>;

/** Row is one bar of the funnel. width is 0 to 1, on a logarithmic scale. */
export interface Row {
  reason: string;
  count: number;
  perSecond: number;
  width: number;
  alarm: boolean;
}

/** Funnel is what became of all who entered: entered = the rows + admitted. */
export interface Funnel {
  entered: number;
  admitted: number;
  refused: number;
  rows: Row[];
}

/** Sums counts. */
export function sum(counts: Counts): number {
  let n = 0;
  for (const v of Object.values(counts)) n += v;
  return n;
}

function logWidth(n: number, of: number): number {
  return n <= 0 || of <= 0 ? 0 : Math.max(0.01, Math.log10(n + 1) / Math.log10(of + 1));
}

/**
 * Builds the funnel of decisions. `recent` are those of the last `seconds` seconds: they give the pace of each row, and
 * say whether BUSY asks for an act (above a fifth of what came in). UNAVAILABLE always does.
 */
export function funnel(decisions: Counts, recent: Counts, seconds: number): Funnel {
  let entered = 0;
  let admitted = 0;
  const all = new Set<string>([...reasons, ...Object.keys(decisions)]);
  for (const r of all) {
    if (afterwards.has(r)) continue;
    entered += decisions[r] ?? 0;
    if (admittedReasons.has(r)) admitted += decisions[r] ?? 0;
  }
  const recentAll = sum(recent);
  const rows: Row[] = [];
  for (const reason of all) {
    const n = decisions[reason] ?? 0;
    if (admittedReasons.has(reason) || (n === 0 && !always.has(reason))) continue;
    const now = recent[reason] ?? 0;
    const alarm =
      (reason === 'UNAVAILABLE' && n > 0) ||
      (reason === 'BUSY' && recentAll > 0 && now / recentAll > 0.2) ||
      (afterwards.has(reason) && n > 0);
    rows.push({ reason, count: n, perSecond: seconds > 0 ? now / seconds : 0, width: logWidth(n, entered), alarm });
  }
  return { entered, admitted, refused: entered - admitted, rows };
}

/** Rows that stand there at 0 too, so that the picture does not jump in the first seconds. */
const always = new Set(['CLOSED', 'NOT_STARTED', 'SOLD_OUT', 'TOO_FREQUENT', 'BUSY', 'LIMIT_REACHED']);
