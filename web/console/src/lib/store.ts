import { useSyncExternalStore } from 'react';
import { age } from './stale.ts';
import { isZone, type Zone } from './times.ts';

/** Prefs are what a person has chosen for this browser. */
export interface Prefs {
  lang: 'zh' | 'en';
  theme: 'auto' | 'light' | 'dark';
  zone: Zone;
  saleZone: string; // where the sales are: what a campaign's times are meant in
  refresh: 1 | 5 | 0; // seconds; 0 is paused
  keys: boolean; // single-letter keys
}

const at = 'sluice-console';

function load(): Prefs {
  const prefs: Prefs = {
    lang: navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en',
    theme: 'auto',
    zone: 'viewer',
    saleZone: 'Asia/Shanghai',
    refresh: 1,
    keys: true,
  };
  try {
    const was = JSON.parse(localStorage.getItem(at) ?? '{}') as Partial<Prefs>;
    if (was.lang === 'zh' || was.lang === 'en') prefs.lang = was.lang;
    if (was.theme === 'light' || was.theme === 'dark') prefs.theme = was.theme;
    if (was.saleZone && isZone(was.saleZone)) prefs.saleZone = was.saleZone;
    if (was.zone === 'utc' || was.zone === prefs.saleZone) prefs.zone = was.zone;
    if (was.refresh === 5 || was.refresh === 0) prefs.refresh = was.refresh;
    if (was.keys === false) prefs.keys = false;
  } catch {
    // A browser without storage keeps nothing.
  }
  return prefs;
}

let prefs = load();
const listeners = new Set<() => void>();

/** Changes some of the prefs and keeps them. */
export function setPrefs(change: Partial<Prefs>): void {
  prefs = { ...prefs, ...change };
  try {
    localStorage.setItem(at, JSON.stringify(prefs));
  } catch {
    // As above.
  }
  for (const f of listeners) f();
}

export function getPrefs(): Prefs {
  return prefs;
}

function subscribe(f: () => void) {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function usePrefs(): Prefs {
  return useSyncExternalStore(subscribe, getPrefs);
}

/** A clock that ticks once a second while the page is seen, one for all. */
const watchers = new Set<() => void>();
let ticked = Date.now();
setInterval(() => {
  if (document.hidden) return;
  ticked = Date.now();
  for (const f of watchers) f();
}, 1000);

function watch(f: () => void) {
  watchers.add(f);
  return () => watchers.delete(f);
}

/** This machine's time, renewed each second; 0, and nothing is drawn again for it, while it is not wanted. */
export function useNow(wanted = true): number {
  return useSyncExternalStore(watch, () => (wanted ? ticked : 0));
}

/** Whether data of `at` is older than `limit` ms; drawn again only when that changes. */
export function useOld(at: number, limit: number): boolean {
  return useSyncExternalStore(watch, () => age(at, Math.max(ticked, at), limit).stale);
}
