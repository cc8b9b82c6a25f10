import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { api, Problem } from './api.ts';
import { type Bucket, Series } from './buckets.ts';
import { useEvery } from './data.ts';
import type { Live } from './verdict.ts';

/** What the first look asks for: all buckets of a quarter of an hour, the fine ones of the opening too. */
const firstBuckets = 1200;
const maxRounds = 10;

/** LiveData is the newest look at a campaign, and what was seen before. */
export interface LiveData {
  live: Live | undefined;
  series: Series;
  at: number; // this machine's time of the last good look
  error: Problem | undefined;
  again: () => void;
}

/** Looks at a campaign once a second, or as often as the person wants. */
export function useLive(id: string): LiveData {
  const kept = useRef({ id: '', series: new Series(), since: 0 });
  if (kept.current.id !== id) kept.current = { id, series: new Series(), since: 0 };
  const every = useEvery('live');
  const q = useQuery({
    queryKey: ['live', id],
    queryFn: async ({ signal }) => {
      const k = kept.current;
      let live: Live | undefined;
      for (let i = 0; i < maxRounds; i++) {
        const query = k.since ? { since: k.since } : { limit: firstBuckets };
        live = await api('GET /v1/admin/campaigns/{id}/live', { path: { id }, query, signal });
        k.series.add(live.buckets as Bucket[]);
        k.since = live.next_since_ms;
        if (!live.more) break;
      }
      if (live) {
        const { as_of_ms: at, available, held, sold, queued } = live;
        k.series.sample({ at, available, held, sold, queued, oldest: live.backlog.oldest_ms ?? 0 });
      }
      return live as Live;
    },
    refetchInterval: every,
    refetchOnWindowFocus: every !== false,
    structuralSharing: false,
  });
  const e = q.error;
  return {
    live: q.data,
    series: kept.current.series,
    at: q.dataUpdatedAt,
    error: e ? (e instanceof Problem ? e : new Problem(0, { title: String(e) }, '')) : undefined,
    again: () => void q.refetch(),
  };
}
