import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Points } from '../lib/buckets.ts';
import { clock, type Zone } from '../lib/times.ts';

/** Line is one line of a chart: its name, its colour and its dashes (so that it reads in grey). */
export interface Line {
  label: string;
  color: string;
  dash?: number[];
}

/** At is a moment of the x axis, in seconds since 1970, and what is written beside its line. */
export interface At {
  x: number;
  text: string;
}

interface Props {
  title: string;
  lines: Line[];
  points: Points;
  zone: Zone;
  unit?: string;
  log?: boolean;
  dark: boolean;
  sync?: string;
  height?: number;
  summary: string; // what a screen reader says
  span?: number; // seconds shown, up to the last point
  marks?: At[]; // dashed vertical lines
}

/** One chart. New points are drawn in place; only a change of look builds it anew. */
export default function Chart(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const points = useRef(p.points);
  points.current = p.points;
  const marks = useRef(p.marks);
  marks.current = p.marks;
  const look = JSON.stringify([p.title, p.lines, p.zone, p.unit, p.log, p.dark, p.sync, p.height]);
  // `look` stands for all that shapes the chart
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    const text = p.dark ? '#a3acb7' : '#555d66';
    const grid = { stroke: p.dark ? '#2c323a' : '#e3e7ec', width: 1 };
    const axis = { stroke: text, grid, ticks: grid, font: '11px system-ui' };
    const height = p.height ?? 132;
    const u = new uPlot(
      {
        width: Math.max(200, at.clientWidth),
        height,
        padding: [8, 6, 0, 0],
        cursor: { sync: p.sync ? { key: p.sync } : undefined, points: { size: 5 }, drag: { x: false, y: false } },
        legend: { show: true, live: false },
        scales: {
          x: { time: true, range: (_u, min, max) => (p.span ? [Math.max(min, max - p.span), max] : [min, max]) },
          y: p.log
            ? { distr: 3, log: 10, range: (_u, _min, max) => [0.8, Math.max(10, max * 1.5)] }
            : { range: (_u, _min, max) => [0, Math.max(1, max * 1.08)] },
        },
        axes: [
          { ...axis, size: 26, space: 70, values: (_u, list) => moments(list, p.zone) },
          {
            ...axis,
            size: 52,
            filter: p.log ? (_u, list) => list.map((v) => (Number.isInteger(Math.log10(v)) ? v : null)) : undefined,
            grid: p.log ? { ...grid, show: false } : grid,
            ticks: { ...grid, show: !p.log },
            values: (_u, list) => list.map((v) => (v === null || v === undefined ? '' : short(v))),
          },
        ],
        hooks: { draw: [(u) => drawMarks(u, marks.current ?? [], p.dark)] },
        series: [
          {},
          ...p.lines.map((l) => ({
            label: l.label,
            stroke: l.color,
            dash: l.dash,
            width: 1.6,
            points: { show: false },
            spanGaps: false,
          })),
        ],
      },
      points.current as uPlot.AlignedData,
      at,
    );
    plot.current = u;
    const watch = new ResizeObserver(() => u.setSize({ width: Math.max(200, at.clientWidth), height }));
    watch.observe(at);
    return () => {
      watch.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [look]);
  // a chart that nobody sees is drawn when it comes into view
  const seen = useRef(true);
  const late = useRef(false);
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    const watch = new IntersectionObserver(([e]) => {
      seen.current = e?.isIntersecting ?? true;
      if (seen.current && late.current) plot.current?.setData(points.current as uPlot.AlignedData);
      if (seen.current) late.current = false;
    });
    watch.observe(at);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (seen.current) plot.current?.setData(p.points as uPlot.AlignedData);
    else late.current = true;
  }, [p.points, p.marks]);
  return (
    <figure className="chart" aria-label={`${p.title}. ${p.summary}`}>
      <figcaption>
        <b>{p.title}</b> {p.unit && <span className="muted small">{p.unit}</span>}
      </figcaption>
      <div ref={box} aria-hidden="true" />
      <span className="sr">{p.summary}</span>
    </figure>
  );
}

/** Draws what is in view of the marks; a text that would stand out of the chart stands on the other side. */
function drawMarks(u: uPlot, marks: At[], dark: boolean) {
  const { ctx, bbox, scales } = u;
  const seen = marks.filter((m) => m.x >= (scales.x?.min ?? 0) && m.x <= (scales.x?.max ?? 0));
  if (seen.length === 0) return;
  const px = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = dark ? '#e6e9ed' : '#1c2127';
  ctx.lineWidth = px;
  ctx.setLineDash([4 * px, 3 * px]);
  ctx.font = `${11 * px}px system-ui`;
  ctx.textBaseline = 'top';
  for (const m of seen) {
    const x = Math.round(u.valToPos(m.x, 'x', true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const left = x + 4 * px + ctx.measureText(m.text).width > bbox.left + bbox.width;
    ctx.textAlign = left ? 'right' : 'left';
    ctx.fillText(m.text, left ? x - 4 * px : x + 4 * px, bbox.top + 2 * px);
  }
  ctx.restore();
}

/** Times of day along an axis; closer than a second apart, minutes and tenths of a second. */
function moments(list: number[], zone: Zone): string[] {
  const fine = (list[1] ?? 0) - (list[0] ?? 0) < 1 && list.length > 1;
  return list.map((v) => (fine ? clock(v * 1000, zone, true).slice(3, -2) : clock(v * 1000, zone)));
}

function short(v: number): string {
  if (v >= 1e6) return `${v / 1e6}M`;
  if (v >= 1e3) return `${v / 1e3}k`;
  return String(v);
}
