import type { Schemas } from './api.ts';

/** Live is the answer of the live view. */
export type Live = Schemas['LiveAnswer'];

/** Check is one of the strip's four: true, false, or not known yet. */
export interface Check {
  name: 'sum' | 'oversold' | 'overLimit' | 'drift';
  ok: boolean | undefined;
  value: number | undefined;
}

/** For how long the parts may fail to add up by themselves while units are on their way. */
export const onTheWayMs = 10_000;

/** What a person calls the state of the screen. */
export type Look = Live['phase'] | 'stale';

/** How long before its start a campaign is armed: what buyers were told stands from then on. */
const armedMs = 600_000;

/** Whether a campaign opens within ten minutes. Then the console changes its stock alone; passes are out already. */
export function isArmed(c: { state: string; starts_at: string }, now: number): boolean {
  const left = Date.parse(c.starts_at) - now;
  return c.state === 'scheduled' && left > 0 && left <= armedMs;
}

/** Whether the parts on the screen are the total, to the unit. */
export function sums(l: Pick<Live, 'available' | 'queued' | 'held' | 'sold' | 'total'>): boolean {
  return l.available + l.queued + l.held + l.sold === l.total;
}

/** Gives the strip's checks. What no count has told yet is undefined, never 0. */
export function checks(l: Live): Check[] {
  const c = l.checks;
  const counted = Boolean(c.verified_at_ms);
  const drifting = !c.exact && l.as_of_ms - (c.exact_at_ms ?? 0) > onTheWayMs && (c.off ?? 0) !== 0;
  const known = (n: number) => (counted ? n : undefined);
  return [
    { name: 'sum', ok: sums(l) && !drifting, value: l.total },
    { name: 'oversold', ok: counted ? c.oversold === 0 : undefined, value: known(c.oversold) },
    { name: 'overLimit', ok: counted ? c.over_limit === 0 : undefined, value: known(c.over_limit) },
    { name: 'drift', ok: counted ? c.drift === 0 : undefined, value: known(c.drift) },
  ];
}

/** Gives the look of the screen: old data before everything else. */
export function lookOf(l: Live, stale: boolean): Look {
  return stale ? 'stale' : l.phase;
}

/** In how many ms it sells out at the pace of the last samples; undefined where it does not. */
export function sellsOutIn(samples: { at: number; available: number }[]): number | undefined {
  const last = samples.at(-1);
  if (!last || last.available <= 0) return undefined;
  const first = samples.find((s) => s.at >= last.at - 10_000);
  if (!first || last.at - first.at < 1500) return undefined;
  const pace = (first.available - last.available) / (last.at - first.at);
  return pace > 0 ? last.available / pace : undefined;
}
