/* SPDX-License-Identifier: MIT */
/* The comparison: the facts of the text page in its order, from what `compare --json` says. */
import { el, number, percent, share, plural, table, section, caveats, term } from './dom.js';
import { latencies, dots } from './charts.js';
import { absentees, chip, params } from './report.js';

function sidesOf(data) {
  const name = (side, i) => data.arms ? (i ? 'governed' : 'ungoverned') : side.policy || '(no policy named)';
  return [data.baseline, ...data.candidates].map((side, i) => ({ ...side, colour: i % 6,
    name: i && data.candidates.length > 1 ? `${i} ${name(side, i)}` : name(side, i) }));
}

const full = side => side.name + (Object.keys(side.params).length ? ` (${params(side.params)})` : '') + `, ${side.runs} ${plural(side.runs, 'repeat', 'repeats')}`;

function checks(side) {
  const mark = { true: 'ok', false: 'NO', null: '--' };
  return el('div', {}, el('h3', {}, full(side)), el('ul.checks', {}, side.grounds.map(g => el('li', { class: 'c-' + g.holds },
    el('span.mark', {}, mark[g.holds]), el('span.title', {}, g.title), el('span.fact', {}, g.fact)))));
}

function bought(side) {
  const standing = side.grounds.filter(g => g.holds !== true).sort((a, b) => (a.holds === null) - (b.holds === null));
  const said = side.words.filter(w => !w[1].startsWith('NOT A RESULT'));
  return el('div', {}, el('h3', {}, full(side)),
    standing.length ? el('div.standing', {}, el('p', {}, el('strong', {}, standing.some(g => g.holds === false) ? 'NOT A RESULT' : 'NOT A RESULT YET')),
      el('ul.plain', {}, standing.map(g => el('li', {}, `${g.holds === false ? 'NO' : '--'} ${g.title}: ${g.follows}.`)))) : null,
    el('dl.words', {}, said.map(([label, text]) => el('div', {}, el('dt', {}, label ? term(label) : ''), el('dd', {}, text)))));
}

/* `where`: where a repeat's own report is, or null. */
export function compare(data, where = () => null) {
  const link = (side, repeat, name) => {
    const href = where(side, repeat);
    return href ? el('a', { href }, name) : name;
  };
  const sides = sidesOf(data), candidates = sides.slice(1), of = key => sides.map(s => ({ name: s.name, colour: s.colour, values: s.repeats.map(r => r[key]) }));
  const every = [...new Set(sides.flatMap(s => Object.keys(s.greatest)))];
  const signals = every.filter(n => sides.some(s => typeof s.greatest[n] === 'number'));
  const slo = sides.every(s => s.slo_ttft_ms === sides[0].slo_ttft_ms) ? sides[0].slo_ttft_ms : null;
  const curves = sides.flatMap(s => s.repeats.map(r => ({ name: `${s.name} ${r.run || ''}`.trim(), within: r.ttft_within, colour: s.colour })));
  return el('article', {},
    el('h1', {}, data.arms ? `The two arms of ${data.baseline.policy || '(no policy named)'}` : data.experiment ? `Experiment ${data.experiment}` : 'Comparison'),
    el('p', {}, term('baseline', 'Baseline'), ': ', full(sides[0]), '.'),
    section('checks', 'Can it be compared', candidates.map(checks)),
    data.caveats.length ? section('weak', 'What weakens this page', caveats(data.caveats)) : null,
    section('bought', 'What it bought', candidates.map(bought)),
    section('repeats', 'Repeat by repeat',
      el('div.pair', {}, dots('p95 TTFT of served requests, ms', of('p95_ttft_ms'), number), dots('goodput', of('goodput'), share)),
      table('Every repeat', ['run', 'finding', term('offered'), term('refused'), 'p50 ms', 'p95 ms', term('goodput')],
        sides.flatMap(s => s.repeats.map(r => [link(s, r, `${s.name} ${r.run || '(unnamed)'}`), chip(r.verdict), r.offered, percent(r.refused_share), number(r.p50_ttft_ms), number(r.p95_ttft_ms), share(r.goodput)])))),
    curves.some(c => c.within.length) ? section('ttft', 'TTFT by share of served requests', latencies(curves, slo),
      el('p.note', {}, 'One line for each repeat, a colour and a dash for each policy. How long the share on the axis took at most.')) : null,
    section('medians', 'Medians over repeats', table('Medians over repeats', ['policy', 'runs', term('offered'), term('refused'), 'p50 ms', 'p95 ms', term('goodput')],
      sides.map(s => [s.name, s.runs, number(s.offered), percent(s.refused_share), number(s.p50_ttft_ms), number(s.p95_ttft_ms.median), share(s.goodput.median)]))),
    every.length ? section('highest', 'How high each signal went', table('Greatest reading over repeats', [term('signal'), ...sides.map(s => s.name)],
      signals.map(name => [name, ...sides.map(s => number(s.greatest[name] ?? null))])),
      absentees(Object.fromEntries(every.filter(n => !signals.includes(n)).map(n => [n, ''])))) : null);
}
