/* SPDX-License-Identifier: MIT */
/* The report: the facts of the text page in its order, from what `report --json` says. Nothing is
 * computed here but shares of two numbers that are both on the page. */
import { el, number, exact, percent, share, plural, ratio, table, section, caveats, term, when } from './dom.js';
import { served } from './ask.js';
import { around, counted } from './lines.js';
import { arrivals, signal, latencies, bars, drawn } from './charts.js';

export const chip = verdict => el('span.chip.' + verdict.toLowerCase(), {}, verdict);
export const params = of => Object.entries(of).map(([k, v]) => `${k}=${exact(v)}`).join(', ');

/* "LIVE: …": the word is the chip's. */
function finding(run) {
  const rest = run.finding.replace(/^(LIVE|INERT|UNKNOWN): /, '');
  return el('p.finding', {}, el('span.chip.' + run.verdict.toLowerCase(), {}, term(run.verdict)), ' ', rest);
}

function who(run) {
  const row = (name, value) => value === null || value === '' ? null
    : el('div', {}, el('dt', {}, name), el('dd', {}, value));
  const given = Object.entries(run.params).map(([name, value]) => el('span.param', {},
    `${name}=${exact(value)}`, run.provenance[name] ? el('small', {}, ' ', run.provenance[name]) : null));
  return el('dl.who', {}, row('experiment', run.experiment),
    row('policy', run.policy && run.policy + (run.baseline ? ' (baseline)' : '') + (run.shadow || run.watched ? ' (shadow)' : '')),
    given.length ? row('parameters', el('span', {}, given)) : null, row('run', run.run),
    row('notes', run.notes), row('log', run.logs.join(', ')));
}

function tiles(run) {
  const tile = (word, value, note) => el('div.tile', {}, el('dt', {}, term(word)), el('dd', {}, value, note ? el('small', {}, note) : null));
  if (run.watched)
    return el('dl.tiles', {}, tile('samples', counted(number(run.samples), run, { of: 'decisions' })), tile('would have refused', counted(number(run.not_enforced), run, { of: 'not_enforced' }), percent(ratio(run.not_enforced, run.samples))));
  return el('dl.tiles', {}, tile('offered', counted(number(run.offered), run, { of: 'decisions' }), run.rate === null ? null : `${number(run.rate)}/s`),
    tile('admitted', counted(number(run.admitted), run, { of: 'admitted' }), percent(ratio(run.admitted, run.offered))),
    tile('refused', counted(number(run.refused), run, { of: 'refused' }), percent(ratio(run.refused, run.offered))),
    tile('goodput', share(run.goodput), run.goodput === null ? run.cost.no_goodput : `${run.cost.met} met the SLO`),
    tile('p95', run.ttft_ms.p95 === null ? '--' : counted(number(run.ttft_ms.p95) + ' ms', run, { of: 'outcomes' }), 'TTFT of served'));
}

function rules(run) {
  return run.rules.flatMap(rule => {
    const gates = run.gates.filter(g => g.rule === rule.rule).length, words = [];
    if (gates > 1) words.push(`Rule ${rule.rule} needs all of its ${gates} gates at once: they held together on ${rule.held} of ${run.decisions} ${plural(run.decisions, 'decision', 'decisions')}.`);
    const { decisions, seconds } = rule.longest;
    if (decisions) words.push(`Rule ${rule.rule} held longest on ${decisions} ${plural(decisions, 'decision', 'decisions in a row')}${seconds === null ? '' : `, for ${number(seconds)} s`}.`);
    return words;
  });
}

function would(run, gate) {
  const up = gate.op === '>=' || gate.op === '>', strict = gate.op === '>' || gate.op === '<';
  const alone = run.gates.every(g => g === gate || g.rule !== gate.rule);
  if (gate.would === null) return `No threshold on ${gate.signal} would have fired rule ${gate.rule}: its other gates never held.`;
  return `The ${up ? 'highest' : 'lowest'} threshold on ${gate.signal} that would have fired${alone ? '' : ', its other gates as they were,'} is ${strict ? `anything ${up ? 'below' : 'above'} ` : ''}${exact(gate.would)}.`;
}

function liveness(run, id) {
  if (!run.decisions || (run.baseline && run.verdict === 'UNKNOWN')) return null;
  const words = rules(run), margin = run.margin;
  if (margin) words.push(`Its margin, which is at or above 0 when it fires, lay between ${number(margin.min)} and ${number(margin.max)}; at or above 0 on ${margin.firing} of ${margin.n} ${plural(margin.n, 'decision', 'decisions')}.`);
  if (!run.gates.length) words.push('The log names no gates.');
  for (const gate of run.gates) if (gate.out_of_reach) words.push(gate.out_of_reach + '.');
  if (run.verdict === 'INERT') {
    for (const gate of run.gates) if (gate.read && gate.signal) words.push(would(run, gate));
    const moved = run.most_moved && run.signals[run.most_moved];
    words.push(moved ? `The signal that moved most is ${run.most_moved}: from ${number(moved.min)} to ${number(moved.max)}, ${number(moved.moved)} times its mean.` : 'No signal moved.');
    words.push('What this run shows is what happens without the policy: its latencies and goodput are no evidence about it.');
  }
  return section(id + 'live', 'Could it have fired',
    run.gates.length ? table('Rules and gates', [el('span', {}, term('rule'), ' and ', term('gate')), term('closest'), term('distance'), term('held'), 'share'],
      run.gates.map(g => [`${g.rule}  ${g.signal || '?'} ${g.op || '?'} ${g.threshold === null ? '(not fixed)' : exact(g.threshold)}`,
        number(g.closest), g.distance === null ? '--' : (g.distance >= 0 ? '+' : '') + number(g.distance),
        `${g.held} of ${run.decisions}`, percent(ratio(g.held, run.decisions))])) : null,
    el('ul.plain', {}, words.map(w => el('li', {}, w))));
}

/* Those without a reading need no row each: who has a reason says it, the rest are named together. */
export function absentees(absent) {
  const told = Object.entries(absent).filter(([, why]) => why), rest = Object.keys(absent).filter(n => !absent[n]);
  return [told.map(([n, why]) => el('p.note', {}, `${n}: absent${why.includes(' ') ? '' : ' throughout'}: ${why}.`)),
    rest.length ? el('p.note', {}, 'Never supplied: ', rest.join(', '), '.') : null];
}

function signals(run, id) {
  const names = Object.keys(run.signals).filter(n => run.signals[n]);
  if (!names.length && !Object.keys(run.absent).length) return null;
  return section(id + 'signals', 'Which signals moved',
    names.length ? table('Signals', [term('signal'), 'min', term('p50'), term('p95'), 'max', 'n', term('absent')],
      names.map(name => {
        const s = run.signals[name];
        return [name, number(s.min), number(s.p50), number(s.p95), number(s.max), s.n, percent(s.absent)];
      })) : null, absentees(run.absent));
}

function groups(title, key, list) {
  if (!list.length) return null;
  const shown = list.slice(0, 20);
  return [table(title, [term(key), term('offered'), term('refused'), 'of its own', 'not enforced'],
    shown.map(g => [g[key] === null ? '(not said)' : g[key], g.offered, g.refused, percent(ratio(g.refused, g.offered)), g.not_enforced])),
  list.length > 20 ? el('p.note', {}, `and ${list.length - 20} more`) : null];
}

function arms(run) {
  const { governed, ungoverned } = run.arms;
  if (!governed.offered || !ungoverned.offered) return null;
  const row = (name, arm) => [name, arm.offered, percent(ratio(arm.refusals, arm.offered)), number(arm.ttft_ms.p50), number(arm.ttft_ms.p95), share(arm.goodput)];
  return [table('Arms', [term('arm'), term('offered'), 'said refuse', 'p50 ms', 'p95 ms', term('goodput')], [row('governed', governed), row('ungoverned', ungoverned)]),
    el('p.note', {}, 'Both arms share one engine: what the policy refuses in the one frees capacity for the other, so the difference between them is less than governing all would make.')];
}

/* Of a watch: there is no request behind a sample. */
function wouldDo(run, id) {
  const words = Object.keys(run.by_reason_not_enforced);
  return section(id + 'did', 'What it would have done',
    el('p', {}, `Would have refused at ${run.not_enforced} of ${run.samples} ${plural(run.samples, 'sample', 'samples')} (${percent(ratio(run.not_enforced, run.samples))}).`),
    bars(words.map(word => ({ name: word || '(no reason given)', n: run.by_reason_not_enforced[word] })), run.samples),
    el('p.note', {}, 'A watch sees no request: what this would have cost or bought cannot be said.'));
}

function did(run, id) {
  if (!run.decisions && !run.offered) return null;
  if (run.watched) return wouldDo(run, id);
  const of = n => percent(ratio(n, run.offered));
  const words = [...new Set([...Object.keys(run.by_reason), ...Object.keys(run.by_reason_not_enforced)])];
  return section(id + 'did', 'What it did',
    el('p', {}, `Admitted ${of(run.admitted)}, rejected ${of(run.refused - run.deferred)}, deferred ${of(run.deferred)} of ${run.offered} offered.`),
    words.length ? el('h3', {}, 'Refusals by ', term('reason')) : null,
    words.length ? bars(words.flatMap(word => [
      run.by_reason[word] ? { name: word || '(no reason given)', n: run.by_reason[word], kind: 'refused', link: n => counted(n, run, { of: 'refused', reason: word }) } : null,
      run.by_reason_not_enforced[word] ? { name: `${word || '(no reason given)'}, not enforced`, n: run.by_reason_not_enforced[word], link: n => counted(n, run, { of: 'not_enforced', reason: word }) } : null,
    ].filter(Boolean)), run.offered) : el('p.note', {}, 'It refused nothing.'),
    run.deferred ? el('p.note', {}, `${run.deferred} of the refused ${plural(run.deferred, 'was', 'were')} deferred: told to come back.`) : null,
    groups('Tenants', 'tenant', run.tenants), groups('Priorities', 'priority', run.priorities), arms(run));
}

function cost(run, id) {
  const c = run.cost, t = run.ttft_ms;
  if (run.watched || (!run.decisions && !run.offered)) return null;
  return section(id + 'cost', 'What it cost', caveats(c.caveats),
    el('ul.plain', {},
      run.refused_by_fault ? el('li', {}, `Refused by a fault ${run.refused_by_fault}.`) : null,
      c.cancelled || c.failed ? el('li', {}, `${c.answered} of ${run.admitted} served have an outcome; of these ${c.cancelled} cancelled, ${c.failed} failed.`) : null,
      el('li', {}, term('TTFT'), t.n ? ` of served requests: p50 ${number(t.p50)} ms, p95 ${number(t.p95)} ms (${t.n} ${plural(t.n, 'request', 'requests')}).` : ' of served requests: not recorded.'),
      el('li', {}, term('goodput'), run.goodput === null ? `: not known; ${c.no_goodput}.`
        : ` ${share(run.goodput)}: ${c.met} of ${run.offered} offered met the SLO (the host's ok${c.slo_ttft_ms === null ? '' : `, or else TTFT within ${exact(c.slo_ttft_ms)} ms`}).`)),
    t.within.length ? [el('h3', {}, 'TTFT by share of served requests'),
      latencies([{ name: run.policy || 'served', within: t.within }], c.slo_ttft_ms),
      el('details', {}, el('summary', {}, 'The figures'), table('TTFT by share', ['share served', 'within ms'],
        t.within.map(([s, ms]) => [percent(s), number(ms)])))] : null);
}

/* Signals that gates read come first; those that stood still can be asked for. */
function overTime(run, id) {
  const over = run.over_time;
  if (over.bins.length < 2 || !run.decisions) return null;
  const gated = run.gates.map(g => g.signal).filter(Boolean);
  const names = [...new Set([...gated, ...Object.keys(run.signals)])].filter(n => over.bins.some(b => b.signals[n]));
  const address = new URLSearchParams(location.hash.split('?')[1] || ''), asks = address.getAll('show');
  const figures = el('details', {}, el('summary', {}, 'The figures'));
  figures.addEventListener('toggle', () => {
    if (figures.open && figures.children.length === 1)
      figures.append(table('Over time', ['from, s', 'decisions', 'refusals', ...names.map(n => `${n}, mean`)],
        over.bins.map(b => [served() ? el('a', { href: '#/lines?' + new URLSearchParams([...run.logs.map(l => ['log', l]), ['at', b.at]]) }, number(b.at - begin)) : number(b.at - begin), b.decisions, b.refusals, ...names.map(n => b.signals[n] ? number(b.signals[n].mean) : '--')])));
  });
  const own = served() && id === 'r', begin = over.bins[0].at;
  /* What the page shows is in its address: pairs of a key and its values. */
  const say = (...pairs) => {
    if (!own || !location.hash.startsWith('#/run')) return;
    for (const [key, values] of pairs) {
      address.delete(key);
      for (const v of values) address.append(key, v);
    }
    history.replaceState(null, '', '#/run?' + address);
  };
  const time = at => Number(at.toFixed(3));
  const [place, show] = served() ? around(run, begin, at => say(['at', [time(at)]])) : [null, null];
  const [from, to] = own ? ['from', 'to'].map(k => parseFloat(address.get(k))) : [];
  const view = { pick: served() ? x => show(begin + x) : null, zoom: from < to ? [from - begin, to - begin] : null,
    zoomed(min, max) {
      const all = min === null;
      if (all && !view.zoom) return;
      view.zoom = all ? null : [min, max];
      say(['from', all ? [] : [time(begin + min)]], ['to', all ? [] : [time(begin + max)]]);
    } };
  if (own && address.has('at')) show(Number(address.get('at')));
  const box = el('div.plots'), shown = new Set(asks.length ? names.filter(n => asks.includes(n)) : names.slice(0, Math.max(3, new Set(gated).size)));
  const pick = (name, on) => {
    if (on) shown.add(name); else shown.delete(name);
    draw();
    say(['show', [...shown]]);
  };
  const draw = () => {
    box.replaceChildren(el('h3', {}, 'Decisions and refusals'), arrivals(over, view), ...names.filter(n => shown.has(n)).flatMap(n => {
      const gates = run.gates.filter(g => g.signal === n && g.threshold !== null);
      return [el('h3', {}, n), signal(over, n, gates, view)];
    }));
  };
  if (drawn()) draw();
  return section(id + 'time', 'Over time',
    el('p.note', {}, `Each point is ${number(over.bin_s)} s, from ${when(over.bins[0].at)} on. Refused is the policy's verdict, enforced or not: marked at the foot of each signal, the more the taller. The band is from the least reading to the greatest. Drag to zoom, double-click for all${served() ? ', click for the lines around that moment' : ''}.`),
    drawn() && names.length > 1 ? el('fieldset.pick', {}, el('legend', {}, 'Signals shown'), names.map(n => el('label', {},
      el('input', { type: 'checkbox', checked: shown.has(n), onchange: e => pick(n, e.target.checked) }), ' ', n))) : null,
    drawn() ? box : el('p.note', {}, 'This build has no chart library.'), place, figures);
}

const asked = ['Capacity-relative load: the offered rate over what the engine can serve.', 'Calibrated deadlines: the SLO over the latency of an unloaded engine.',
  'Signal liveness: did the quantity reach the threshold?', 'Repeats and spread: how many runs, and how far apart.', 'Parameter provenance: where each value comes from.',
  'Metric definition: what goodput is divided by.', 'Configuration disclosure: model, engine version, hardware, workload, offered load, SLO, and which baseline was run.'];
const marks = { evidenced: '✓', failed: '✗', not_recorded: '—' };
function items(run, id) {
  if (!run.items.length) return null;
  const n = kind => run.items.filter(i => i.evidence === kind).length;
  return section(id + 'items', 'The seven items',
    el('ol.items', {}, run.items.map(item => el('li', { class: item.evidence },
      el('details', {}, el('summary', {}, el('span.mark', { 'aria-hidden': 'true' }, marks[item.evidence]), el('span.title', {}, `${item.item} ${item.title}`),
        el('span.unseen', {}, item.evidence.replace('_', ' ')), el('span.fact', {}, item.fact)),
        el('p.note', {}, asked[item.item - 1]),
        item.facts.length ? el('ul.plain', {}, item.facts.map(f => el('li', {}, `${f.recorded ? '✓' : '—'} ${f.name}: ${f.fact}`))) : null)))),
    el('p.note', {}, `${n('evidenced')} evidenced, ${n('failed')} failed, ${n('not_recorded')} not recorded.`));
}

function instrument(run, id) {
  const i = run.instrument;
  const kinds = { decisions: 'decisions', outcomes: 'outcomes', 'state samples': 'states', 'lost, recorded': 'losses', 'corrupt lines': 'corrupt', faults: 'faults', 'scrape errors': 'scrape_errors' };
  const rows = [['decisions', i.decisions], ['outcomes', i.outcomes], ['state samples', i.states], ['writers', i.writers],
    ['lost, recorded', i.dropped - i.dropped_unrecorded], ['lost, unrecorded', i.dropped_unrecorded], ['corrupt lines', i.corrupt_lines],
    ['faults', i.faults], ['scrape errors', i.scrape_errors], ['orphan outcomes', i.orphan_outcomes], ['duplicate outcomes', i.duplicate_outcomes],
    ['outcomes of refused', i.refused_outcomes], ['TTFT out of range', i.ttft_out_of_range], ['metrics omitted', i.metrics_omitted]];
  return section(id + 'instrument', 'The instrument',
    el('dl.counts', {}, rows.map(([name, n]) => el('div', {}, el('dt', {}, term(name)), el('dd', { class: n && !['decisions', 'outcomes', 'state samples', 'writers'].includes(name) ? 'warn' : null }, n && kinds[name] ? counted(n, run, { of: kinds[name] }) : n)))));
}

function runPage(run, id) {
  const weak = (run.not_read || []).map(u => `not read: ${u.log}: ${u.why}`).concat(run.caveats);
  return [finding(run), who(run),
    weak.length ? section(id + 'weak', 'What weakens this page', caveats(weak)) : null,
    tiles(run), liveness(run, id), signals(run, id), did(run, id), cost(run, id), overTime(run, id), items(run, id), instrument(run, id)];
}

const nameOf = run => [run.policy || 'log', params(run.params) && `(${params(run.params)})`, run.run].filter(Boolean).join(' ');

/* What `report --json` gave. Several runs are folded up; each is drawn when it is opened. */
export function report(data) {
  if (!data.runs) return el('article', {}, el('h1', {}, 'Report: ', nameOf(data)), runPage(data, 'r'));
  const unread = data.not_read.map(u => `not read: ${u.log}: ${u.why}`);
  return el('article', {}, el('h1', {}, `Report: ${data.runs.length} runs`),
    el('p.note', {}, 'Told apart by what their lines say.'), caveats(unread),
    data.runs.map((run, i) => {
      const details = el('details.run', { id: 'run-' + i }, el('summary', {}, el('h2', {}, chip(run.verdict), ' ', nameOf(run)),
        el('span', {}, run.watched ? ` would have refused at ${run.not_enforced} of ${run.samples} samples`
          : ` ${run.offered} offered, ${percent(ratio(run.refused, run.offered))} refused, goodput ${share(run.goodput)}`)));
      details.addEventListener('toggle', () => {
        if (details.open && details.children.length === 1) details.append(...[runPage(run, `r${i}-`)].flat().filter(Boolean));
      });
      if (i === 0) details.open = true;
      return details;
    }));
}
