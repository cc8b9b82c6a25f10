import { Button } from 'antd';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { go } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { useNow, usePrefs } from '../lib/store.ts';
import { clock, stamp } from '../lib/times.ts';
import { checks, type Live, lookOf } from '../lib/verdict.ts';
import { useCount, useSpan } from '../ui/bits.tsx';
import { Count } from './live_count.tsx';
import { NextActs } from './live_next.tsx';

interface Props {
  live: Live;
  stale: boolean;
  at: number;
  id: string;
  again: () => void;
  kiosk: boolean;
  campaign: Schemas['AdminCampaign'] | undefined;
}

/** The verdict: four checks with their age, or one sentence that says what is wrong. */
export function Strip({ live, stale, at, id, again, kiosk, campaign }: Props) {
  const { t } = useTranslation();
  const spell = useSpan();
  const now = useNow(stale);
  const sentence = useSentence(live, stale, stale && at ? Math.max(0, now - at) : undefined);
  const all = checks(live);
  const wrong = all.some((c) => c.ok === false);
  const look = lookOf(live, stale);
  const tone =
    look === 'stale'
      ? 'stale'
      : wrong || look === 'trouble' || look === 'stopped'
        ? 'bad'
        : ['paused', 'degraded'].includes(look)
          ? 'warn'
          : ['before', 'armed', 'settling', 'draining'].includes(look)
            ? 'info'
            : '';
  const verified = live.checks.verified_at_ms;
  const counted = verified
    ? t('verdict.counted', { span: spell(Math.max(0, serverNow() - verified)) })
    : t('verdict.notCounted');
  return (
    <section
      className={`strip ${tone}`}
      aria-label={t('verdict.title')}
      data-verdict={wrong ? 'wrong' : 'ok'}
      data-stale={stale}
    >
      {sentence && (
        <span data-sentence>
          {sentence.split(mark).map((part, i) => (
            // every other part is what somebody wrote, in no language of ours
            <span key={i} data-data={i % 2 ? '' : undefined}>
              {part}
            </span>
          ))}
        </span>
      )}
      {!sentence?.startsWith('✗') &&
        all.map((c) => (
          <span key={c.name} className="nowrap" data-check={c.name} data-ok={String(c.ok)}>
            {c.ok === undefined ? '–' : c.ok ? '✓' : '✗'} {t(`verdict.${c.name}`, { n: c.value ?? '—' })}
          </span>
        ))}
      <span className="age">
        {counted} {!kiosk && <Count id={id} />}
      </span>
      {stale && !kiosk && (
        <Button size="small" onClick={again}>
          {t('act.retry')}
        </Button>
      )}
      {look === 'trouble' && !kiosk && (
        <Button size="small" onClick={() => go(`/reconcile?campaign=${encodeURIComponent(id)}`)}>
          {t('verdict.evidence')}
        </Button>
      )}
      {campaign && !kiosk && (
        <NextActs
          look={look}
          campaign={campaign}
          clockStands={live.unpaid?.stopped ?? false}
          forced={live.switches?.some((s) => s.name === 'degraded' && s.value > 0) ?? false}
        />
      )}
      <Announce look={look} />
    </section>
  );
}

/** Stands on both sides of what a person or the server wrote. */
const mark = '\u0001';
const quote = (s: string | undefined) => mark + (s || '—') + mark;

/** What the state of the screen is in one sentence; undefined where the checks say it all. */
function useSentence(live: Live, stale: boolean, ageMs: number | undefined): string | undefined {
  const { t } = useTranslation();
  const { zone } = usePrefs();
  const n = useCount();
  const spell = useSpan();
  const look = lookOf(live, stale);
  switch (look) {
    case 'stale':
      return `◌ ${t('look.stale', { span: spell(ageMs) })}`;
    case 'trouble':
      return `✗ ${t('look.trouble', { why: live.note ? quote(live.note) : t('look.troubleUnknown') })}`;
    case 'stopped':
    case 'paused': {
      const s = live.switches?.find((x) => x.name === (look === 'stopped' ? 'closed' : 'paused') && x.value > 0);
      const who = s
        ? t('look.by', { by: quote(s.by), at: stamp(s.since_ms, zone), why: quote(s.reason) })
        : live.note
          ? quote(live.note)
          : '';
      return `${look === 'stopped' ? '■' : '❚❚'} ${t(`look.${look}`)} ${who}`;
    }
    case 'degraded': {
      const down = Object.entries(live.health.parts)
        .filter(([, v]) => v === 'down')
        .map(([k]) => k);
      return `! ${t('look.degraded', { parts: down.join(', ') || '—' })}`;
    }
    case 'before':
      return `○ ${t('look.before')}`;
    case 'armed':
      return `◔ ${t('look.armed')}`;
    case 'draining':
      return `⧗ ${t('look.draining', { n: n(live.backlog.claims), span: live.backlog.drain_ms ? spell(live.backlog.drain_ms) : '—' })}`;
    case 'sold_out':
      return live.sold_out_at_ms
        ? `● ${t('look.soldOut', { at: clock(live.sold_out_at_ms, zone, true) })}`
        : `● ${t('state.sold_out')}`;
    case 'settling': {
      const at = live.unpaid?.next_at_ms;
      return `◷ ${t('look.settling', { at: at ? clock(at, zone) : '—', n: n(live.unpaid?.units) })}`;
    }
    case 'settled':
      return `☑ ${t('look.settled', { sold: n(live.sold), back: n(live.available), total: n(live.total) })}`;
    default:
      return undefined;
  }
}

/** Tells a screen reader of a new state, once; the numbers are not told. */
function Announce({ look }: { look: string }) {
  const { t } = useTranslation();
  const before = useRef(look);
  const [says, setSays] = useState('');
  useEffect(() => {
    if (before.current === look) return;
    before.current = look;
    setSays(t(`phase.${look}`));
  }, [look, t]);
  return (
    <span className="sr" role="status" aria-live="polite">
      {says}
    </span>
  );
}
