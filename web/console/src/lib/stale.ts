/** After how long a live figure counts as old, and any other one. */
export const liveStaleMs = 5_000;
export const otherStaleMs = 60_000;

/** Age is how old the data is, and whether to grey it. */
export interface Age {
  ms: number | undefined;
  stale: boolean;
}

/** Tells the age of data that came at `at` (0: never). */
export function age(at: number, now: number, limit: number): Age {
  if (!at) return { ms: undefined, stale: true };
  const ms = Math.max(0, now - at);
  return { ms, stale: ms > limit };
}
