import { useSyncExternalStore } from 'react';
import { usePrefs } from '../lib/store.ts';

const wanted = window.matchMedia('(prefers-color-scheme: dark)');

function subscribe(f: () => void) {
  wanted.addEventListener('change', f);
  return () => wanted.removeEventListener('change', f);
}

/** Whether the console is dark: as chosen, else as the system is. */
export function useDark(): boolean {
  const system = useSyncExternalStore(subscribe, () => wanted.matches);
  const { theme } = usePrefs();
  return theme === 'auto' ? system : theme === 'dark';
}
