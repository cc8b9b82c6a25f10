import { type AnchorHTMLAttributes, type MouseEvent, useCallback, useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
const changed = () => {
  for (const f of listeners) f();
};
window.addEventListener('popstate', changed);

/** Goes to a place of the console. */
export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, '', to);
  else {
    history.pushState(null, '', to);
    window.scrollTo(0, 0);
  }
  changed();
}

function subscribe(f: () => void) {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

export function useSearch(): string {
  return useSyncExternalStore(subscribe, () => location.search);
}

/** One value of the address, and how to change it. The empty string takes it away; `others` are taken away too. */
export function useParam(name: string, initial = ''): [string, (value: string, ...others: string[]) => void] {
  const value = new URLSearchParams(useSearch()).get(name) ?? initial;
  const set = useCallback(
    (v: string, ...others: string[]) => {
      const q = new URLSearchParams(location.search);
      if (v === initial) q.delete(name);
      else q.set(name, v);
      for (const o of others) q.delete(o);
      const text = q.toString();
      go(location.pathname + (text ? `?${text}` : ''), true);
    },
    [name, initial],
  );
  return [value, set];
}

/** Matches /campaigns/:id/stock; undefined where it does not. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const want = pattern.split('/');
  const have = path.replace(/\/+$/, '').split('/');
  if (want.length !== (have.length || 1)) return undefined;
  const out: Record<string, string> = {};
  for (const [i, w] of want.entries()) {
    const h = have[i] ?? '';
    if (w.startsWith(':')) {
      if (!h) return undefined;
      try {
        out[w.slice(1)] = decodeURIComponent(h);
      } catch {
        return undefined;
      }
    } else if (w !== h) return undefined;
  }
  return out;
}

/** A link inside the console. */
export function Link({ to, onClick, ...rest }: { to: string } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  const click = (e: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(e);
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go(to);
  };
  return <a href={to} onClick={click} {...rest} />;
}
