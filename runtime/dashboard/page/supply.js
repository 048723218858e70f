/* SPDX-License-Identifier: MIT */
/* Signals: the dictionary, and what a page of metrics supplies of it. */
import { el, exact, number, plural, section, table } from './dom.js';
import { ask, query } from './ask.js';

/* Why, and the way out: the words of `admitperf signals`. */
function absent(s) {
  return `absent: ${s.why}${s.wants ? `; ${s.wants} would feed it` : s.why === 'first_sample' ? '; it needs a second page' : ''}`;
}
const skipped = s => Object.entries(s.skipped_by).map(([why, n]) => `${n} ${why}`).join(', ');

function account(of) {
  const columns = ['signal', 'value', 'unit', 'from', 'taken', 'left out', 'age'];
  const rows = Object.entries(of.signals).map(([name, s]) => [name, s.value === null ? '--' : number(s.value), s.unit, s.value === null ? absent(s) : el('code', {}, s.source),
    s.value === null ? '--' : s.series, skipped(s) || (s.value === null ? '--' : '0'), s.age_s === null ? '--' : `${number(Number(s.age_s.toFixed(1)))} s`]);
  const n = Object.values(of.signals).filter(s => s.value !== null).length;
  return [el('h3', {}, of.page), el('p', { role: 'status' }, `${n} of ${rows.length} signals. Taken and left out are series.`),
    table('What it supplies', columns, rows, { wide: true, text: true }),
    of.unused.length ? el('details', {}, el('summary', {}, `${of.unused.length} ${plural(of.unused.length, 'metric', 'metrics')} on it that no signal uses`), el('ul.sources', {}, of.unused.map(m => el('li', {}, el('code', {}, m))))) : null];
}

async function supplied(at) {
  const asked = at.has('page') ? { page: at.get('page') } : at.has('target') ? { target: at.get('target') } : null;
  if (!asked) return null;
  try { return account(await ask('api/supply?' + query(asked))); } catch (error) { return el('p.wrong', { role: 'alert' }, error.message); }
}

export async function supply(at) {
  const [{ version, signals }, { targets }, found] = await Promise.all([ask('api/signals'), ask('api/targets'), supplied(at)]);
  const range = s => `${s.low === null ? 'any' : exact(s.low)} to ${s.high === null ? 'any' : exact(s.high)}`;
  const field = el('input', { type: 'text', name: 'page', required: true, value: at.get('page'), placeholder: 'pages/vllm.txt', autocomplete: 'off' });
  const form = el('form.ask', { onsubmit: event => { event.preventDefault(); location.hash = '#/signals?' + query({ page: field.value }); } },
    el('label', {}, 'A page of metrics below the folder: ', field), el('button', { type: 'submit' }, 'Show'));
  return ['Signals', [el('h1', {}, 'Signals'),
    section('supply', 'What a page supplies', targets.length ? el('nav.picks', { 'aria-label': 'Pages of who is followed' }, targets.map((t, i) =>
      el('a', { href: '#/signals?' + query({ target: i }), 'aria-current': at.get('target') === String(i) ? 'page' : null }, t))) : null,
    form, found, found ? null : el('p.note', {}, 'On the command line: ', el('code', {}, 'admitperf signals URL'), '.')),
    section('dictionary', 'The dictionary', el('p.note', {}, `Version ${version}. Sources are tried in this order, a configuration's own before them; the first that yields a sane value wins.`),
      el('dl.terms', {}, signals.map(s => el('div', {}, el('dt', {}, s.name, el('small', {}, ` ${s.unit}, ${range(s)}; ${s.aggregate} of several series; ${exact(s.max_age_s)} s old at most`)),
        el('dd', {}, s.about, el('details', {}, el('summary', {}, `${s.sources.length} sources`), el('ol.sources', {}, s.sources.map(m => el('li', {}, el('code', {}, m))))))))))]];
}
