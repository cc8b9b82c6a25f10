import { Button } from 'antd';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useData } from '../lib/data.ts';
import { useLive } from '../lib/live.ts';
import { percent } from '../lib/money.ts';
import { Link, useParam } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { liveStaleMs } from '../lib/stale.ts';
import { useNow, useOld, usePrefs } from '../lib/store.ts';
import { clock, countdown, offsetMinutes, offsetName } from '../lib/times.ts';
import { type Live, lookOf } from '../lib/verdict.ts';
import { Fault, State, useCount, useSpan } from '../ui/bits.tsx';
import { LiveActs } from './live_acts.tsx';
import { LiveCharts } from './live_charts.tsx';
import { Activity, Health, Unpaid } from './live_foot.tsx';
import { FunnelTable } from './live_funnel.tsx';
import { Strip } from './live_strip.tsx';
import { Trouble } from './live_trouble.tsx';
import './live.css';

/** The live screen: is it right, is it fast, is it moving, do I have to act? */
export default function LivePage({ id }: { id: string }) {
  const { t } = useTranslation();
  const [kiosk] = useParam('kiosk');
  const { refresh } = usePrefs();
  const { live, series, at, error, again } = useLive(id);
  const campaign = useData('GET /v1/admin/campaigns/{id}', { path: { id } }, 'slow');
  // the page is drawn again for new data, not for each tick: only what tells an age is
  const stale = useOld(at, error ? liveStaleMs : Math.max(liveStaleMs, refresh * 1000 + 2500));
  const c = campaign.data;
  const newest = useRef(live);
  newest.current = live;
  useTitle(live, c?.title);
  if (!live) {
    return (
      <div className="live" aria-busy={!error}>
        <h1>{t('nav.live')}</h1>
        {error ? <Fault problem={error} again={again} /> : <div className="panel empty">{t('age.loading')}</div>}
      </div>
    );
  }
  const big = kiosk === '1';
  const look = lookOf(live, stale);
  return (
    <div className={big ? 'live kiosk' : 'live'} data-look={look} data-asof={live.as_of_ms}>
      <div className="head" style={{ marginBottom: 0 }}>
        <State of={live.state} />
        <h1 data-data>{c?.title ?? id}</h1>
        <Clock starts={c?.starts_at} ends={c?.ends_at} />
        <Age at={at} stale={stale} />
        {!big && (
          <div className="acts headacts">
            <Link to={`/campaigns/${encodeURIComponent(id)}`}>{t('live.campaign')}</Link>
            <Link to={`/live/${encodeURIComponent(id)}?kiosk=1`}>{t('live.kiosk')}</Link>
            {c && <LiveActs live={live} campaign={c} />}
          </div>
        )}
      </div>
      <Strip live={live} stale={stale} at={at} id={id} again={again} kiosk={big} campaign={c} />
      {look === 'trouble' && !big && <Trouble id={id} title={c?.title ?? id} live={newest} />}
      <Stock live={live} series={series} stale={stale} />
      <Figures live={live} stale={stale} />
      <div className="split">
        <FunnelTable live={live} series={series} stale={stale} />
        <LiveCharts id={id} live={live} series={series} />
      </div>
      <div className="foot">
        {live.unpaid && <Unpaid live={live} stale={stale} />}
        <Health live={live} stale={stale} />
        {!big && <Activity id={id} />}
      </div>
      {!big && c && (
        <div className="stickyacts">
          <LiveActs live={live} campaign={c} short />
        </div>
      )}
    </div>
  );
}

function useTitle(live: Live | undefined, title: string | undefined) {
  const { t } = useTranslation();
  const state = live?.state;
  useEffect(() => {
    if (state)
      document.title = `${state === 'live' ? '● ' : ''}${t(`state.${state}`)} ${title ?? ''} – ${location.host}`;
  }, [state, title, t]);
}

function Age({ at, stale }: { at: number; stale: boolean }) {
  const { t } = useTranslation();
  const now = useNow();
  return (
    <span className="muted small num" data-stale={stale}>
      {t('live.data', { s: (Math.max(0, now - at) / 1000).toFixed(1) })}
    </span>
  );
}

function Clock({ starts, ends }: { starts: string | undefined; ends: string | undefined }) {
  const { zone } = usePrefs();
  useNow();
  const now = serverNow();
  const s = starts ? Date.parse(starts) : undefined;
  return (
    <span className="num nowrap">
      {clock(now, zone)} {offsetName(offsetMinutes(now, zone))}
      {s !== undefined && (ends === undefined || now < Date.parse(ends)) && <b> · {countdown(s - now)}</b>}
    </span>
  );
}

function Stock({ live, series, stale }: { live: Live; series: import('../lib/buckets.ts').Series; stale: boolean }) {
  const { t } = useTranslation();
  const n = useCount();
  const spell = useSpan();
  const out = series.samples.length > 1 ? sellsOut(series.samples) : undefined;
  const w = (x: number) => ({ width: `${live.total ? (100 * x) / live.total : 0}%` });
  const parts: [string, string, number][] = [
    ['s', 'sold', live.sold],
    ['h', 'held', live.held],
    ['q', 'queued', live.queued],
    ['a', 'available', live.available],
  ];
  return (
    <section className="stock num" data-stale={stale} aria-label={t('stock.title')} data-sum>
      <div className="big" aria-hidden="true">
        {parts.slice(0, 3).map(([k, , v]) => (
          <i key={k} className={k} style={w(v)} />
        ))}
      </div>
      <div className="legend">
        {parts.map(([k, name, v]) => (
          <span className="k" key={k}>
            <i className={k} aria-hidden="true" /> {t(`stock.${name}`)}{' '}
            <b data-part={name} data-n={v}>
              {n(v)}
            </b>
          </span>
        ))}
        <span>
          ={' '}
          <b data-part="total" data-n={live.total}>
            {n(live.total)}
          </b>{' '}
          ✓
        </span>
        {live.state === 'live' && out !== undefined && (
          <span className="muted">{t('live.sellsOut', { span: spell(out) })}</span>
        )}
      </div>
    </section>
  );
}

function sellsOut(samples: { at: number; available: number }[]): number | undefined {
  const last = samples.at(-1);
  const first = samples.find((s) => last && s.at >= last.at - 10_000);
  if (!last || !first || last.available <= 0 || last.at - first.at < 1500) return undefined;
  const pace = (first.available - last.available) / (last.at - first.at);
  return pace > 0 ? last.available / pace : undefined;
}

function Figures({ live, stale }: { live: Live; stale: boolean }) {
  const { t } = useTranslation();
  const { lang, zone } = usePrefs();
  const n = useCount();
  const spell = useSpan();
  const ms = (us: number) => (us >= 10_000 ? String(Math.round(us / 1000)) : (us / 1000).toFixed(1));
  const answered = live.p99_us > 0;
  const b = live.backlog;
  return (
    <section className="figs num" aria-label={t('live.figures')}>
      <Figure
        name="rate"
        label={t('fig.rate')}
        stale={stale}
        value={n(live.rate.now)}
        note={t('fig.peak', {
          n: n(live.rate.peak),
          at: live.rate.peak_at_ms ? clock(live.rate.peak_at_ms, zone) : '—',
        })}
      />
      <Figure
        name="admitted"
        label={t('fig.admitted')}
        stale={stale}
        value={percent(live.admitted, live.entered, lang)}
        note={t('fig.of', { n: n(live.admitted), of: n(live.entered) })}
      />
      {live.waiting && ['before', 'armed'].includes(live.phase) && (
        <Figure
          name="waiting"
          label={t('fig.waiting')}
          stale={stale}
          value={t('fig.about', { n: n(live.waiting.pages) })}
          note={t('fig.waitingHow')}
        />
      )}
      {live.passes && ['before', 'armed'].includes(live.phase) && (
        <Figure
          name="passes"
          label={t('fig.passes')}
          stale={stale}
          value={n(live.passes.issued)}
          note={t('fig.passRate', { n: n(live.passes.per_s) })}
        />
      )}
      <Figure
        name="latency"
        label={t('fig.latency')}
        stale={stale}
        value={answered ? `${ms(live.p50_us)} / ${ms(live.p99_us)} ms` : '—'}
        note={answered ? t('fig.last5') : t('fig.noAnswers')}
      />
      <Figure
        name="errors"
        label={t('fig.errors')}
        stale={stale}
        value={n(live.failing)}
        alarm={live.failing > 0}
        note={t('fig.errorsAll', { n: n(live.decisions.UNAVAILABLE ?? 0) })}
      />
      <Figure
        name="backlog"
        label={t('fig.backlog')}
        stale={stale}
        value={n(b.claims)}
        alarm={(b.oldest_ms ?? 0) > 5000}
        note={
          b.claims === 0
            ? t('fig.noBacklog')
            : t('fig.oldest', { age: spell(b.oldest_ms), drain: b.drain_ms ? spell(b.drain_ms) : '—' })
        }
      />
    </section>
  );
}

function Figure(p: { name: string; label: string; value: string; note: string; stale: boolean; alarm?: boolean }) {
  return (
    <div className={p.alarm ? 'fig alarm' : 'fig'} data-stale={p.stale} data-figure={p.name}>
      <div className="l">{p.label}</div>
      <b>
        {p.alarm && <span aria-hidden="true">! </span>}
        {p.value}
      </b>
      <div className="d">{p.note}</div>
    </div>
  );
}

/** Live without a campaign: the one that runs, or the list of those that may be watched. */
export function LiveList() {
  const { t } = useTranslation();
  const n = useCount();
  const list = useData('GET /v1/admin/campaigns', { query: { limit: 200 } }, 'slow');
  const box = useRef<HTMLDivElement>(null);
  const order = ['live', 'frozen', 'paused', 'sold_out', 'scheduled', 'ended', 'draft'];
  const items = [...(list.data?.items ?? [])].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return (
    <div className="stack" ref={box}>
      <h1>{t('live.choose')}</h1>
      {list.error && <Fault problem={list.error} again={list.again} />}
      {items.map((c) => (
        <div className="panel row" key={c.id}>
          <State of={c.state} />
          <Link to={`/live/${encodeURIComponent(c.id)}`}>
            <b data-data>{c.title}</b>
          </Link>
          <span className="muted num">
            {n(c.sold + c.held)} / {n(c.total)}
          </span>
        </div>
      ))}
      {list.data && items.length === 0 && (
        <div className="panel empty">
          {t('empty.campaigns')}{' '}
          <Button type="link" href="/campaigns/new">
            {t('campaign.create')}
          </Button>
        </div>
      )}
    </div>
  );
}
