/** Zone is whose clock a time is shown by: the person's own, UTC, or an IANA zone such as Asia/Shanghai. */
export type Zone = 'viewer' | 'utc' | (string & {});

const pad = (n: number, width = 2) => String(Math.abs(n)).padStart(width, '0');

/** Offsets of named zones by the quarter of an hour: to format each moment would cost too much once a second. */
const offsets = new Map<string, number>();
const quarter = 900_000;

function namedOffset(at: number, zone: string): number {
  const key = `${zone} ${Math.floor(at / quarter)}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  let minutes = 0;
  try {
    const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(at);
    const m = /([+-])(\d+):(\d+)/.exec(parts.find((p) => p.type === 'timeZoneName')?.value ?? '');
    if (m) minutes = (m[1] === '-' ? -1 : 1) * (Number(m[2]) * 60 + Number(m[3]));
  } catch {
    // No such zone here: UTC, and it says so.
  }
  if (offsets.size > 2000) offsets.clear();
  offsets.set(key, minutes);
  return minutes;
}

/** Says whether this browser knows a zone of that name. */
export function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return name.includes('/');
  } catch {
    return false;
  }
}

/** Gives the offset of a zone at a moment in minutes east of Greenwich. */
export function offsetMinutes(at: number, zone: Zone): number {
  if (zone === 'utc') return 0;
  return zone === 'viewer' ? -new Date(at).getTimezoneOffset() : namedOffset(at, zone);
}

/** Gives the zone that one press on the clock goes to: the person's own, UTC, the sales', and round again. */
export function nextZone(zone: Zone, sales: string): Zone {
  return zone === 'viewer' ? 'utc' : zone === 'utc' ? sales : 'viewer';
}

/** Gives "UTC+8", "UTC-3:30" or "UTC". */
export function offsetName(minutes: number): string {
  if (minutes === 0) return 'UTC';
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? '-' : '+'}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${pad(rest)}` : ''}`;
}

/** Reads RFC 3339 or milliseconds; undefined where it is neither. */
export function millis(at: string | number | undefined | null): number | undefined {
  if (at === undefined || at === null || at === '' || at === 0) return undefined;
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return Number.isFinite(ms) ? ms : undefined;
}

/** Gives "2026-06-18 20:00:00 UTC+8", always with the offset; with ms the milliseconds too. "—" for no time. */
export function stamp(at: string | number | undefined | null, zone: Zone, withMs = false): string {
  const ms = millis(at);
  if (ms === undefined) return '—';
  return `${day(ms, zone)} ${clock(ms, zone, withMs)} ${offsetName(offsetMinutes(ms, zone))}`;
}

function shifted(ms: number, zone: Zone): Date {
  return new Date(ms + offsetMinutes(ms, zone) * 60_000);
}

/** Gives the date alone, "2026-06-18". */
export function day(ms: number, zone: Zone): string {
  const d = shifted(ms, zone);
  return `${d.getUTCFullYear()}-${pad(d.getUTCMonth() + 1)}-${pad(d.getUTCDate())}`;
}

/** Gives the time of day alone, "20:00:07" or "20:00:07.312". */
export function clock(ms: number, zone: Zone, withMs = false): string {
  const d = shifted(ms, zone);
  const base = `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}`;
  return withMs ? `${base}.${pad(d.getUTCMilliseconds(), 3)}` : base;
}

/** Gives a length of time in its two largest parts: "3 d 4 h", "14:58", "9.4 s", "31 ms". */
export function span(ms: number | undefined, words: { d: string; h: string; m: string; s: string }): string {
  if (ms === undefined || !Number.isFinite(ms)) return '—';
  const n = Math.max(0, ms);
  if (n < 1000) return `${Math.round(n)} ms`;
  if (n < 60_000) return `${n < 10_000 ? (Math.floor(n / 100) / 10).toFixed(1) : Math.floor(n / 1000)} ${words.s}`;
  const s = Math.floor(n / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} ${words.m} ${s % 60} ${words.s}`;
  if (s < 86_400) return `${Math.floor(s / 3600)} ${words.h} ${Math.floor((s % 3600) / 60)} ${words.m}`;
  return `${Math.floor(s / 86_400)} ${words.d} ${Math.floor((s % 86_400) / 3600)} ${words.h}`;
}

/** Gives a countdown, "T−02:13:07" or "T+7 s". */
export function countdown(ms: number): string {
  if (ms <= 0) return `T+${span(-ms, { d: 'd', h: 'h', m: 'min', s: 's' })}`;
  const s = Math.ceil(ms / 1000);
  const days = Math.floor(s / 86_400);
  const rest = `${pad(Math.floor((s % 86_400) / 3600))}:${pad(Math.floor((s % 3600) / 60))}:${pad(s % 60)}`;
  return `T−${days ? `${days} d ` : ''}${rest}`;
}
