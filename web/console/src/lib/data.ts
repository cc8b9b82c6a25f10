import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useContext, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { SessionContext } from '../session.tsx';
import { type Answer, type Args, api, type Call, Problem, raw } from './api.ts';
import { lack, lackText } from './rights.ts';
import { usePrefs } from './store.ts';

/** Data is what a page knows of one call: the last good answer, since when, and what is wrong now. */
export interface Data<T> {
  data: T | undefined;
  at: number; // this machine's time of the last good answer; 0: none yet
  error: Problem | undefined;
  loading: boolean; // the first answer is awaited
  busy: boolean;
  again: () => void;
}

/** How often a page asks again: live every second at most, slow every five. */
export type Pace = 'live' | 'slow' | 'once';

/** Gives the ms between two looks; false for none. */
export function useEvery(pace: Pace): number | false {
  const { refresh } = usePrefs();
  if (refresh === 0 || pace === 'once') return false;
  return pace === 'live' ? refresh * 1000 : Math.max(5, refresh) * 1000;
}

function problemOf(e: unknown): Problem | undefined {
  if (!e) return undefined;
  return e instanceof Problem ? e : new Problem(0, { code: 'UNAVAILABLE', title: String(e) }, '');
}

/** What the scope of the key forbids is not asked for again and again: the answer is known. */
function useForbidden(name: string): Problem | undefined {
  const { t } = useTranslation();
  const session = useContext(SessionContext)?.session;
  return useMemo(() => {
    const l = session && lack(session, name);
    if (!l || l.of === 'role') return undefined;
    return new Problem(403, { code: 'OUT_OF_SCOPE', title: lackText(t, session, l) }, '');
  }, [t, session, name]);
}

/** Asks for data and asks again at its pace. The last good answer stays while a later one fails. */
export function useData<N extends Call>(
  name: N,
  args: Omit<Args<N>, 'signal'> = {},
  pace: Pace = 'slow',
  enabled = true,
): Data<Answer<N>> {
  const every = useEvery(pace);
  const forbidden = useForbidden(name);
  const q = useQuery<unknown>({
    queryKey: [name, args.path, args.query],
    queryFn: ({ signal }) => api(name, { ...args, signal } as Args<N>),
    refetchInterval: every,
    refetchOnWindowFocus: every !== false,
    enabled: enabled && !forbidden,
    placeholderData: (was: unknown) => (args.path ? undefined : was),
  });
  return {
    data: q.data as Answer<N> | undefined,
    at: q.dataUpdatedAt,
    error: forbidden ?? problemOf(q.error),
    loading: q.isLoading,
    busy: q.isFetching,
    again: () => void (forbidden || q.refetch()),
  };
}

/** As useData, for a call that this version's types may lack. */
export function useRaw<T>(
  name: string,
  args: { path?: Record<string, string>; query?: object },
  pace: Pace,
  enabled = true,
) {
  const every = useEvery(pace);
  const forbidden = useForbidden(name);
  const q = useQuery({
    queryKey: [name, args.path, args.query],
    queryFn: ({ signal }) => raw(name, { ...args, signal }) as Promise<T>,
    refetchInterval: every,
    refetchOnWindowFocus: every !== false,
    enabled: enabled && !forbidden,
  });
  const data: Data<T> = {
    data: q.data,
    at: q.dataUpdatedAt,
    error: forbidden ?? problemOf(q.error),
    loading: q.isLoading,
    busy: q.isFetching,
    again: () => void (forbidden || q.refetch()),
  };
  return data;
}

/** Makes all pages ask again, after something was changed. */
export function refreshAll(client: QueryClient): Promise<void> {
  return client.invalidateQueries();
}

/** A change by a form; afterwards every page asks again. */
export function useChange<N extends Call>(name: N) {
  const client = useQueryClient();
  return useMutation<Answer<N>, Problem, Args<N>>({
    mutationFn: (args) => api(name, args),
    onSettled: () => void refreshAll(client),
  });
}
