/**
 * ServerClock learns how far the server's clock is from this machine's. A Date header says the second in which the
 * answer was written; each answer narrows the offset down, since that moment lies between sending and receiving.
 */
export class ServerClock {
  private lo = Number.NEGATIVE_INFINITY;
  private hi = Number.POSITIVE_INFINITY;

  /** Takes one answer: when it was asked and received by this machine's clock, and its Date header, all in ms. */
  saw(sent: number, received: number, date: number): void {
    if (!Number.isFinite(date) || received < sent) return;
    const lo = date - received;
    const hi = date + 1000 - sent;
    const lower = Math.max(this.lo, lo);
    const upper = Math.min(this.hi, hi);
    // An empty range means that one of the clocks was set: begin anew.
    [this.lo, this.hi] = lower <= upper ? [lower, upper] : [lo, hi];
  }

  /** What to add to this machine's clock; 0 before the first answer. */
  get offset(): number {
    return Number.isFinite(this.lo) && Number.isFinite(this.hi) ? Math.round((this.lo + this.hi) / 2) : 0;
  }
}

export const serverClock = new ServerClock();

/** The server's time in UTC ms, as far as this page knows it. */
export function serverNow(): number {
  return Date.now() + serverClock.offset;
}
