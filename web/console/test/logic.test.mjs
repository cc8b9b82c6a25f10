// What the pages compute: money, times, the verdict, the funnel, staleness, files, the server's clock.
import assert from 'node:assert/strict';
import test from 'node:test';
import { load } from './load.mjs';

const { money, percent, count, minorDigits } = await load('lib/money.ts');
const { stamp, offsetName, offsetMinutes, nextZone, isZone, span, countdown } = await load('lib/times.ts');
const { age } = await load('lib/stale.ts');
const { funnel } = await load('lib/funnel.ts');
const { Series, rates, columns, keepMs } = await load('lib/buckets.ts');
const { checks, sums, sellsOutIn } = await load('lib/verdict.ts');
const { marks, markText } = await load('lib/marks.ts');
const { cell, csv } = await load('lib/csv.ts');
const { ServerClock } = await load('lib/serverclock.ts');

test('money is in minor units, and unknown is a dash', () => {
  assert.equal(money(9900, 'CNY', 'en'), '¥99.00');
  assert.equal(money(500, 'JPY', 'en'), '¥500');
  assert.equal(money(undefined, 'CNY', 'en'), '—');
  assert.equal(money(Number.NaN, 'CNY', 'zh'), '—');
  assert.equal(minorDigits('KWD'), 3);
  assert.equal(count(null, 'en'), '—');
  assert.equal(percent(1, 0, 'en'), '—');
  assert.equal(percent(3, 100, 'en'), '3%');
});

test("a time in the zone of the sales has that zone's offset of then, and one press goes round three zones", () => {
  assert.equal(stamp(Date.UTC(2026, 5, 18, 12), 'Asia/Shanghai'), '2026-06-18 20:00:00 UTC+8');
  assert.equal(stamp(Date.UTC(2026, 0, 18, 12), 'America/New_York'), '2026-01-18 07:00:00 UTC-5');
  assert.equal(stamp(Date.UTC(2026, 5, 18, 12), 'America/New_York'), '2026-06-18 08:00:00 UTC-4');
  assert.equal(stamp(Date.UTC(2026, 5, 18, 12), 'Asia/Kolkata'), '2026-06-18 17:30:00 UTC+5:30');
  assert.equal(offsetMinutes(Date.UTC(2026, 2, 8, 6, 59), 'America/New_York'), -300);
  assert.equal(offsetMinutes(Date.UTC(2026, 2, 8, 7), 'America/New_York'), -240, 'the hour that is left out');
  assert.equal(stamp(0.5, 'No/Where'), '1970-01-01 00:00:00 UTC');
  assert.equal(isZone('Asia/Shanghai'), true);
  for (const bad of ['No/Where', 'utc', 'viewer', '']) assert.equal(isZone(bad), false, bad);
  let zone = 'viewer';
  const seen = [1, 2, 3].map(() => (zone = nextZone(zone, 'Asia/Tokyo')));
  assert.deepEqual(seen, ['utc', 'Asia/Tokyo', 'viewer']);
});

test('every time has its offset', () => {
  process.env.TZ = 'Asia/Kolkata';
  const at = Date.UTC(2026, 5, 18, 12, 0, 0);
  assert.equal(stamp(at, 'utc'), '2026-06-18 12:00:00 UTC');
  assert.equal(stamp(at, 'viewer'), '2026-06-18 17:30:00 UTC+5:30');
  assert.equal(stamp(undefined, 'utc'), '—');
  assert.equal(stamp('nonsense', 'utc'), '—');
  assert.equal(offsetName(-210), 'UTC-3:30');
  const words = { d: 'd', h: 'h', m: 'min', s: 's' };
  assert.equal(span(31, words), '31 ms');
  assert.equal(span(9999, words), '9.9 s');
  assert.equal(span(276_000_000, words), '3 d 4 h');
  assert.equal(countdown(7_987_000), 'T−02:13:07');
  assert.equal(countdown(-7000), 'T+7.0 s');
});

test('data is stale past its bound, and where there is none', () => {
  assert.deepEqual(age(1000, 5900, 5000), { ms: 4900, stale: false });
  assert.deepEqual(age(1000, 6001, 5000), { ms: 5001, stale: true });
  assert.equal(age(0, 5000, 5000).stale, true);
});

test('the funnel adds up: entered = refused + admitted', () => {
  const f = funnel({ CONFIRMED: 3, QUEUED: 2, SOLD_OUT: 90, BUSY: 5, LOST: 1 }, { BUSY: 3, SOLD_OUT: 7 }, 5);
  assert.equal(f.entered, 100);
  assert.equal(f.admitted, 5);
  assert.equal(f.rows.filter((r) => r.reason !== 'LOST').reduce((n, r) => n + r.count, 0) + f.admitted, f.entered);
  const busy = f.rows.find((r) => r.reason === 'BUSY');
  assert.equal(busy.alarm, true); // 3 of 10
  assert.equal(f.rows.find((r) => r.reason === 'SOLD_OUT').alarm, false);
  assert.equal(funnel({}, {}, 5).entered, 0);
  for (const r of funnel({}, {}, 5).rows) assert.equal(r.width, 0);
});

const bucket = (start_ms, counts, width_ms = 1000) => ({ start_ms, width_ms, counts, p50_us: 1000, p99_us: 2000 });

test('a bucket that comes again replaces itself; old ones go', () => {
  const s = new Series();
  s.add([bucket(1000, { CONFIRMED: 1 }), bucket(2000, { CONFIRMED: 2 })]);
  s.add([bucket(2000, { CONFIRMED: 5 }), bucket(1500, { BUSY: 1 }, 100)]);
  assert.deepEqual(
    s.buckets.map((b) => b.start_ms),
    [1000, 1500, 2000],
  );
  assert.deepEqual(s.recent(3000, 2), { CONFIRMED: 6, BUSY: 1 });
  s.add([bucket(3000 + keepMs, {})]);
  assert.equal(s.buckets.length, 1);
});

test('charts show a gap where there was no data, never a 0', () => {
  const p = rates([bucket(1000, { CONFIRMED: 4 }), bucket(9000, { SOLD_OUT: 9 })]);
  assert.deepEqual(p[0], [1, 2, 9]);
  assert.deepEqual(p[1], [4, null, null]);
  assert.deepEqual(p[2], [null, null, 9]);
  const sample = (at) => ({ at, available: 5, held: 0, sold: 0, queued: 0, oldest: 0 });
  assert.deepEqual(columns([sample(1000), sample(8000)], [(s) => s.available]), [
    [1, 1.001, 8],
    [5, null, 5],
  ]);
});

const live = (more = {}) => ({
  total: 10,
  available: 4,
  queued: 1,
  held: 2,
  sold: 3,
  as_of_ms: 100_000,
  checks: { exact: true, exact_at_ms: 100_000, ok: true, oversold: 0, over_limit: 0, drift: 0, verified_at_ms: 99_000 },
  ...more,
});

test('the verdict is exact to the unit, and what nobody counted is not 0', () => {
  assert.equal(sums(live()), true);
  assert.equal(sums(live({ sold: 4 })), false);
  assert.deepEqual(
    checks(live()).map((c) => c.ok),
    [true, true, true, true],
  );
  assert.equal(checks(live({ sold: 4 }))[0].ok, false);
  const uncounted = live({ checks: { exact: true, ok: false, oversold: 0, over_limit: 0, drift: 0 } });
  assert.deepEqual(
    checks(uncounted)
      .slice(1)
      .map((c) => [c.ok, c.value]),
    [
      [undefined, undefined],
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
  const c = live().checks;
  assert.equal(checks(live({ checks: { ...c, oversold: 1 } }))[1].ok, false);
  assert.equal(checks(live({ checks: { ...c, exact: false, off: 3, exact_at_ms: 95_000 } }))[0].ok, true);
  assert.equal(checks(live({ checks: { ...c, exact: false, off: 3, exact_at_ms: 80_000 } }))[0].ok, false);
});

test('when it sells out is told from the last ten seconds', () => {
  assert.equal(
    sellsOutIn([
      { at: 0, available: 100 },
      { at: 2000, available: 50 },
    ]),
    2000,
  );
  assert.equal(
    sellsOutIn([
      { at: 0, available: 50 },
      { at: 2000, available: 50 },
    ]),
    undefined,
  );
  assert.equal(sellsOutIn([]), undefined);
});

test('a file runs nothing in a spreadsheet', () => {
  assert.equal(cell('=HYPERLINK("x")'), '"\'=HYPERLINK(""x"")"');
  assert.equal(cell('@sum'), "'@sum");
  assert.equal(cell(-5), '-5');
  assert.equal(cell('+1+1'), "'+1+1");
  for (const s of ['-2+3', '\t=1', '|calc', '%x', '  =1', '\u00a0=1', '\u3000＝1', '＝1', '＋1', '－1', '＠sum'])
    assert.equal(cell(s), `'${s}`, s);
  for (const s of ['\r=1', '\n=1']) assert.equal(cell(s), `"'${s}"`);
  assert.equal(cell({ note: '=1' }), '"{""note"":""=1""}"');
  assert.match(csv(['=a'], []), /^\ufeff'=a\r\n/);
  assert.equal(csv(['a', 'b'], [{ a: 1, b: 'x,y' }]), '\ufeffa,b\r\n1,"x,y"\r\n');
});

test("the server's clock is found from whole seconds", () => {
  const c = new ServerClock();
  assert.equal(c.offset, 0);
  const offset = 3_600_250;
  for (let at = 0; at < 20_000; at += 730) c.saw(at, at + 20, Math.floor((at + 10 + offset) / 1000) * 1000);
  assert.ok(Math.abs(c.offset - offset) < 100, String(c.offset));
  c.saw(30_000, 30_020, 30_000); // somebody set a clock
  assert.ok(Math.abs(c.offset) < 1100, String(c.offset));
});

test('adjustments are read from the log: the oldest first, a decrease as it was asked, what changed nothing not', () => {
  const list = marks([
    { at: '2026-06-18T12:00:03Z', after: { asked: -1200, applied: 0, total: 60 } },
    { at: '2026-06-18T12:00:02Z', before: { total: 60 }, after: { total: 60 } },
    { at: '2026-06-18T12:00:01Z', before: { total: 40 }, after: { total: 60 } },
    { at: 'never', before: { total: 40 }, after: { total: 60 } },
    { at: '2026-06-18T12:00:04Z' },
  ]);
  assert.deepEqual(
    list.map((m) => [m.at % 10_000, markText(m, String)]),
    [
      [1000, '+20'],
      [3000, '(−1200)'],
    ],
  );
});
