/* SPDX-License-Identifier: MIT */
/* Charts. Lines are uPlot's (global, absent in a build without it: then the page says so and the
 * figures stand in tables); bars and dots are drawn here.
 *
 * Every chart has a text beside it for those who do not see it. Colours come from the style
 * sheet and follow the scheme; what is told by colour is told by shape or place as well. */
import { el, svg, number, percent, plural } from './dom.js';

export const drawn = () => typeof uPlot !== 'undefined';
const charted = new Set();
const colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const series = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'];
const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [], [6, 3]];

function without() {
  return el('p.note', {}, 'This build has no chart library: see the figures in the tables.');
}

/* A place for a plot; make(width) gives [options, data]. Drawn once it is in the page, again when
 * its width or the scheme changes. */
function plot(label, height, make) {
  if (!drawn()) return without();
  const box = el('div.plot', { role: 'img', 'aria-label': label });
  const own = { box, width: 0, chart: null, draw() {
    if (own.chart) own.chart.destroy();
    own.width = box.clientWidth;
    const [options, data] = make();
    own.chart = new uPlot({ width: own.width, height, ...options }, data, box);
  } };
  new ResizeObserver(() => {
    if (box.clientWidth && box.clientWidth !== own.width) own.draw();
  }).observe(box);
  charted.add(own);
  /* What make gives has grown: draws that. */
  box.again = () => { if (own.chart) own.chart.setData(make()[1]); };
  return box;
}

export function redraw() {
  const again = () => {
    for (const own of charted) {
      if (!own.box.isConnected) { if (own.chart) own.chart.destroy(); charted.delete(own); }
      else if (own.chart) own.draw();
    }
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  addEventListener('beforeprint', again);
}
/* Charts of the page that is about to go. */
export function forget(page) {
  for (const own of charted) if (page.contains(own.box)) { if (own.chart) own.chart.destroy(); charted.delete(own); }
}

const font = '12px system-ui, sans-serif';
function axis(more = {}) {
  return { stroke: colour('soft'), font, grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1, size: 4 }, gap: 4, ...more };
}
const valueAxis = (more = {}) => axis({ size: 54, values: (u, ticks) => ticks.map(v => v === null ? '' : number(v)), ...more });
function seconds(value) {
  if (value === null || value === undefined) return '--';
  if (value < 120) return number(value) + ' s';
  return value < 7200 ? number(value / 60) + ' min' : number(value / 3600) + ' h';
}

/* A line across the plot at y, with its words. */
function across(u, y, words, name) {
  if (y === null || y < u.scales.y.min || y > u.scales.y.max) return;
  const at = Math.round(u.valToPos(y, 'y', true)), c = u.ctx, r = devicePixelRatio || 1;
  c.save();
  c.strokeStyle = c.fillStyle = colour(name);
  c.lineWidth = 1.5 * r;
  c.setLineDash([7 * r, 4 * r]);
  c.beginPath();
  c.moveTo(u.bbox.left, at);
  c.lineTo(u.bbox.left + u.bbox.width, at);
  c.stroke();
  c.font = `600 ${11 * r}px system-ui, sans-serif`;
  c.textAlign = 'right';
  c.fillText(words, u.bbox.left + u.bbox.width - 4 * r, at < u.bbox.top + 16 * r ? at + 13 * r : at - 4 * r);
  c.restore();
}

/* Ticks at the foot of the plot where the policy refused: the more, the taller. */
function refusals(u, bins, step) {
  const c = u.ctx, r = devicePixelRatio || 1;
  c.save();
  c.fillStyle = colour('refused');
  bins.forEach((bin, i) => {
    if (!bin.refusals) return;
    const x = u.valToPos(u.data[0][i] - step / 2, 'x', true), w = Math.max(1.5 * r,
      u.valToPos(u.data[0][i] + step / 2, 'x', true) - x - r);
    const h = (4 + 8 * bin.refusals / bin.decisions) * r;
    if (x >= u.bbox.left && x <= u.bbox.left + u.bbox.width)
      c.fillRect(x, u.bbox.top + u.bbox.height - h, w, h);
  });
  c.restore();
}

const sync = { key: 'time', setSeries: false };

/* Calls pick with the time under the pointer when it is clicked, and not dragged nor clicked
 * twice, which zoom. */
function picking(u, pick) {
  let soon;
  u.over.addEventListener('click', () => {
    const at = u.posToVal(u.cursor.left, 'x');
    clearTimeout(soon);
    soon = setTimeout(() => pick(at), 300);
  });
  u.over.addEventListener('dblclick', () => clearTimeout(soon));
}

/* Shows what was zoomed to before, and says what is zoomed to now: view.zoomed(from, to), nulls
 * for all of it. */
function zooming(view) {
  let ready = false;
  return {
    /* A scale that is set while uPlot draws is not drawn. */
    ready: [u => queueMicrotask(() => {
      ready = true;
      if (view.zoom) u.setScale('x', { min: view.zoom[0], max: view.zoom[1] });
    })],
    setScale: [(u, key) => {
      const { min, max } = u.scales.x, x = u.data[0];
      if (!ready || key !== 'x' || min === null) return;
      if (min <= x[0] && max >= x[x.length - 1]) view.zoomed(null, null); else view.zoomed(min, max);
    }],
  };
}

/* more.view: what is done with the plot, {pick, zoom, zoomed}; of all plots of one time. */
function timeOptions(more) {
  const view = more.view, zoom = zooming(view);
  return { cursor: { sync, drag: { x: true, y: false } }, legend: { live: true },
    padding: [10, 24, 0, 0],
    scales: { x: { time: false }, y: more.y || {} },
    axes: [axis({ values: (u, ticks) => ticks.map(seconds), space: 70, size: 32 }), valueAxis()],
    series: [{ label: 'since the first', value: (u, v) => seconds(v) }, ...more.series],
    bands: more.bands, hooks: { ...more.hooks, ...zoom, ready: [...zoom.ready, u => view.pick && picking(u, view.pick)] } };
}

/* Bins put together two by two until one holds a handful of decisions: a rate of single ones is
 * a comb. */
function grouped(over) {
  const all = over.bins.reduce((sum, b) => sum + b.decisions, 0);
  let step = over.bin_s, bins = over.bins.map(b => ({ at: b.at, decisions: b.decisions, refusals: b.refusals }));
  while (bins.length > 32 && all / bins.length < 8) {
    const pairs = new Map();
    step *= 2;
    for (const bin of bins) {
      const at = Math.floor(bin.at / step + 1e-9) * step, pair = pairs.get(at);
      if (pair) { pair.decisions += bin.decisions; pair.refusals += bin.refusals; } else pairs.set(at, { ...bin, at });
    }
    bins = [...pairs.values()];
  }
  return [step, bins];
}

/* Decisions and refusals per second. */
export function arrivals(over, view) {
  const [step, bins] = grouped(over), first = over.bins[0].at;
  const x = bins.map(b => b.at - first + step / 2);
  const rate = bins.map(b => b.decisions / step), refused = bins.map(b => b.refusals / step);
  const n = over.bins.reduce((sum, b) => sum + b.refusals, 0);
  return plot(`Decisions per second over time, up to ${number(Math.max(...rate))}, and refusals per second; ${n} ${plural(n, 'decision', 'decisions')} refused in all`,
    190, () => [timeOptions({ view, y: { range: (u, lo, hi) => [0, hi * 1.08 || 1] }, series: [
      { label: 'decisions/s', stroke: colour('c1'), width: 1.5, fill: colour('c1') + '22', points: { show: x.length < 3 }, value: (u, v) => number(v) },
      { label: 'refused/s', stroke: colour('refused'), width: 1.5, fill: colour('refused') + '55', points: { show: x.length < 3 }, value: (u, v) => number(v) },
    ] }), [x, rate, refused]]);
}

/* For each bin: does an empty one lie in a gap? Readings come at their own pace, often less than
 * once a bin; a gap is five times as long as they are usually apart, and three bins. */
function gaps(over, name) {
  const full = over.bins.flatMap((b, i) => b.signals[name] ? [i] : []);
  const apart = full.slice(1).map((k, i) => k - full[i]).sort((a, b) => a - b);
  const usual = apart.length ? apart[apart.length >> 1] : 1, most = Math.max(3, 5 * usual);
  const empty = over.bins.map(() => true);
  for (let i = 1; i < full.length; i++)
    if (full[i] - full[i - 1] <= most) for (let k = full[i - 1]; k <= full[i]; k++) empty[k] = false;
  return empty;
}

/* One signal: its mean, the band from its least to its greatest, the thresholds it is held
 * against, and where the policy refused. Bins without a reading are gaps. */
export function signal(over, name, thresholds, view) {
  const step = over.bin_s, first = over.bins[0].at;
  const x = over.bins.map(b => b.at - first + step / 2);
  /* null breaks the line, undefined does not. */
  const gap = gaps(over, name);
  const of = key => over.bins.map((b, i) => b.signals[name] ? b.signals[name][key] : gap[i] ? null : undefined);
  const mean = of('mean'), low = of('min'), high = of('max');
  const known = v => v !== null && v !== undefined, there = high.filter(known);
  if (!there.length) return null;
  const top = Math.max(...there), bottom = Math.min(...low.filter(known));
  const told = thresholds.map(t => `${t.op} ${number(t.threshold)}`).join(' and ');
  return plot(`${name} over time, from ${number(bottom)} to ${number(top)}${told ? '; the policy needs ' + told : ''}`,
    170, () => [timeOptions({
      view, y: { range: (u, lo, hi) => {
        const all = [top, bottom, ...thresholds.map(t => t.threshold)];
        const most = Math.max(...all), least = Math.min(0, ...all);
        return [least, most + (most - least) * 0.08 || 1];
      } },
      series: [
        { label: 'mean', stroke: colour('c1'), width: 1.75, value: (u, v) => number(v) },
        { label: 'greatest', stroke: colour('c1') + '66', width: 1, points: { show: false }, value: (u, v) => number(v) },
        { label: 'least', stroke: colour('c1') + '66', width: 1, points: { show: false }, value: (u, v) => number(v) },
      ],
      bands: [{ series: [2, 3], fill: colour('c1') + '2a' }],
      hooks: { draw: [u => {
        refusals(u, over.bins, step);
        for (const t of thresholds) across(u, t.threshold, `${t.op} ${number(t.threshold)}`, 'threshold');
      }] } }), [x, mean, high, low]]);
}

/* Round numbers on a scale of powers: 1, 2, 5, or only 1 where there are many. */
function round(low, high) {
  const leads = high / low > 1000 ? [1] : high / low > 8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7], ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    for (const lead of leads) if (lead * power >= low && lead * power <= high) ticks.push(lead * power);
  return ticks;
}

/* TTFT: how long the share on the x axis took at most. sides: [{name, within}], SLO in ms. */
export function latencies(sides, slo) {
  const known = sides.filter(s => s.within.length);
  if (!known.length) return null;
  const x = known[0].within.map(p => p[0] * 100), at = (s, share) => number(s.within.find(p => p[0] === share)[1]);
  const ys = known.map(s => s.within.map(p => p[1] > 0 ? p[1] : null));
  const all = ys.flat().filter(v => v !== null);
  if (!all.length) return null;
  if (slo) all.push(slo);
  const low = Math.min(...all) * 0.85, high = Math.max(...all) * 1.15;
  return plot('Time to first token by share of served requests: ' + known.map(s =>
    `${s.name}: half within ${at(s, 0.5)} ms, 95% within ${at(s, 0.95)} ms`).join('; '),
    270, () => [{ padding: [10, 24, 0, 0], legend: { live: true },
      scales: { x: { time: false }, y: { distr: 3, log: 10, range: () => [low, high] } },
      axes: [axis({ values: (u, t) => t.map(v => v + '%'), size: 32 }),
        valueAxis({ splits: () => round(low, high), filter: (u, ticks) => ticks })],
      series: [{ label: 'share served', value: (u, v) => v === null ? '--' : number(v) + '%' },
        ...known.map((s, i) => ({ label: s.name, stroke: colour(series[s.colour ?? i % series.length]),
          dash: dashes[(s.colour ?? i) % dashes.length], width: 1.75,
          value: (u, v) => v === null ? '--' : number(v) + ' ms' }))],
      hooks: { draw: [u => slo && across(u, slo, `SLO ${number(slo)} ms`, 'threshold')] } },
    [x, ...ys]]);
}

/* Bars: rows [{name, n, kind, link}] of `of`; kind: a class of the style sheet, or none; link: what
 * the number is shown as, or none. */
export function bars(rows, of) {
  return el('ul.bars', {}, rows.map(row => {
    const bar = el('span.bar' + (row.kind ? '.' + row.kind : ''), { 'aria-hidden': 'true' });
    bar.style.width = Math.max(0.4, 100 * row.n / (of || 1)) + '%';
    return el('li', {}, el('span.name', {}, row.name), el('span.track', {}, bar),
      el('span.value', {}, row.link ? row.link(row.n) : row.n, ` (${percent(of ? row.n / of : null)})`));
  }));
}

/* Dots from 0 on, one for each repeat, the range they span and their median; sides:
 * [{name, colour, values}]. */
export function dots(title, sides, digits) {
  const all = sides.flatMap(s => s.values).filter(v => v !== null);
  if (!all.length) return null;
  const high = Math.max(...all) || 1, row = 34, width = 560, pad = 14, height = sides.length * (row + 16) + 26;
  const at = v => pad + v / high * (width - 2 * pad);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'dots',
    'aria-label': title + ': ' + sides.map(s => `${s.name} ${s.values.map(digits).join(', ')}`).join('; ') });
  sides.forEach((side, i) => {
    const y = i * (row + 16) + 32, values = side.values.filter(v => v !== null).sort((a, b) => a - b);
    const mid = values.length % 2 ? values[(values.length - 1) / 2]
      : values.length ? (values[values.length / 2 - 1] + values[values.length / 2]) / 2 : null;
    picture.append(svg('text', { x: pad, y: y - 14, class: 'who' }, side.name),
      svg('line', { x1: pad, x2: width - pad, y1: y, y2: y, class: 'rail' }));
    if (!values.length) {
      picture.append(svg('text', { x: width - pad, y: y - 14, class: 'end' }, 'not known'));
      return;
    }
    picture.append(svg('line', { x1: at(values[0]), x2: at(values[values.length - 1]), y1: y, y2: y, class: 'range s' + side.colour }),
      svg('line', { x1: at(mid), x2: at(mid), y1: y - 9, y2: y + 9, class: 'mid s' + side.colour }),
      ...values.map(v => svg('circle', { cx: at(v), cy: y, r: 4.5, class: 'dot s' + side.colour })),
      svg('text', { x: width - pad, y: y - 14, class: 'end' }, 'median ' + digits(mid)));
  });
  picture.append(svg('text', { x: pad, y: height - 2, class: 'tick' }, digits(0)),
    svg('text', { x: width - pad, y: height - 2, class: 'tick end' }, digits(high)));
  return el('figure', {}, el('figcaption', {}, title), picture);
}

/* --- what moves */

/* The last minutes, up to now: rows() are [seconds since the epoch, …]; lines: [{label, colour, of:
 * row => value}]. Nulls are gaps. `box.again()` draws what has come since. */
export function moving(label, height, rows, lines) {
  const clock = at => at === null || at === undefined ? '--' : new Date(at * 1000).toISOString().slice(11, 19);
  return plot(label, height, () => {
    const now = rows();
    return [{ cursor: { sync: { key: 'now', setSeries: false }, drag: { x: false, y: false } }, legend: { live: true }, padding: [10, 24, 0, 0],
      scales: { x: { time: false }, y: { range: (u, lo, hi) => [Math.min(0, lo || 0), (hi || 0) * 1.08 || 1] } },
      axes: [axis({ values: (u, ticks) => ticks.map(clock), space: 80, size: 32, incrs: [1, 2, 5, 10, 30, 60, 120, 300] }), valueAxis()],
      series: [{ label: 'UTC', value: (u, v) => clock(v) }, ...lines.map(l => ({ label: l.label, stroke: colour(l.colour), width: 1.75, dash: l.dash, points: { show: now.length < 3 }, value: (u, v) => number(v) }))] },
    [now.map(r => r[0]), ...lines.map(l => now.map(r => l.of(r) ?? null))]];
  });
}
