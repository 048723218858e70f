/* SPDX-License-Identifier: MIT */
/* Where it begins: a file that holds its own figures, or the dashboard, which asks for them.
 *
 * The dashboard's state is the address's fragment: #/run?log=…, so that the back button, a
 * bookmark and a link in a chat do what one expects. docs/dashboard.md has what is asked for. */
import { el, learn, explain, table } from './dom.js';
import { ask, query } from './ask.js';
import { forget, redraw } from './charts.js';
import { lines } from './lines.js';
import { report, chip, params } from './report.js';
import { compare } from './compare.js';
import { live, unfollow } from './live.js';
import { supply } from './supply.js';

const main = document.querySelector('main');
const made = version => el('footer', {}, `AdmitPerf ${version}. Every figure is from the log's lines; how each is counted: docs/reading-a-report.md.`);

function whole(held) {
  learn(held.terms.terms);
  main.append(held.kind === 'report' ? report(held.data) : compare(held.data), made(held.version));
}

/* --- the dashboard */

/* One address for one log: what a search found begins with ./ */
const runLink = logs => '#/run?' + query(logs.map(l => ['log', l.replace(/^\.\//, '')]));

function experiment(one) {
  const notes = [], runs = one.policies.reduce((n, p) => n + p.runs.length, 0);
  if (!one.has_baseline && one.policies.some(p => p.policy)) notes.push('no baseline: nothing here can be compared');
  for (const policy of one.policies)
    for (const run of policy.runs)
      if (run.copy_of) notes.push(`${run.logs[0]} is a copy of ${run.copy_of}, not a repeat`);
  const rows = one.policies.map(p => [el('span', {}, p.policy || '(no decisions)', p.baseline ? ' (baseline)' : ''),
    params(p.params), p.repeats,
    el('span', {}, p.runs.map(r => el('span.one', {}, el('a', { href: runLink(r.logs) }, r.run || r.logs[0]), ' ', chip(r.verdict), ` ${r.offered} offered`)))]);
  const many = one.policies.filter(p => p.policy && !p.baseline).length;
  return el('section.card', { 'aria-label': one.experiment || 'unnamed' },
    el('div.head', {}, el('h2', {}, one.experiment || '(unnamed)', el('small', {}, ` ${runs} ${runs === 1 ? 'run' : 'runs'}`)),
      one.experiment && one.has_baseline && many ? el('a', { href: '#/compare?' + query({ experiment: one.experiment }) }, 'Compare with the baseline') : null),
    one.notes ? el('p.note', {}, one.notes) : null,
    table(`Policies of ${one.experiment || 'the unnamed'}`, ['policy', 'parameters', 'repeats', 'runs'], rows, { wide: true, text: true }),
    notes.length ? el('ul.caveats', {}, notes.map(n => el('li', {}, n + '.'))) : null);
}

async function experiments() {
  const data = await ask('api/experiments');
  const wrong = [...data.mixtures.map(m => `${m} is a mixture: it holds several runs, told apart by their lines`),
    ...data.not_counted.map(m => `${m} is not counted: it holds again what is there already`)];
  return ['Experiments', [el('h1', {}, 'Experiments'),
    wrong.length ? el('ul.caveats', {}, wrong.map(w => el('li', {}, w + '.'))) : null,
    data.experiments.length ? el('div.cards', {}, data.experiments.map(experiment)) : el('p', {}, 'No logs of decisions here yet. A first one: ', el('code', {}, 'admitperf demo'), '.')]];
}

async function run(at) {
  const data = await ask('api/report?' + query(at.getAll('log').map(l => ['log', l])));
  const page = report(data);
  if (!data.runs && data.arms.governed.offered && data.arms.ungoverned.offered)
    page.insertBefore(el('p', {}, el('a', { href: '#/compare?' + query(at.getAll('log').map(l => ['arms', l])) }, 'Compare its two arms')), page.children[1]);
  return [(data.policy || 'Report') + (data.run ? ' ' + data.run : ''), page];
}

async function comparison(at) {
  const [data, known] = await Promise.all([ask('api/compare?' + at.toString()), at.has('experiment') ? ask('api/experiments') : null]);
  const one = known && known.experiments.find(e => e.experiment === data.experiment);
  const logs = (side, repeat) => {
    const policy = one && one.policies.find(p => p.policy === side.policy && JSON.stringify(p.params) === JSON.stringify(side.params));
    const found = policy && policy.runs.find(r => r.run === repeat.run);
    return found ? runLink(found.logs) : null;
  };
  return [data.experiment ? `Compare ${data.experiment}` : 'Compare', compare(data, logs)];
}

let terms = [];
async function terminology(at) {
  const list = el('dl.terms'), count = el('p.note', { role: 'status' });
  const draw = wanted => {
    const found = terms.filter(t => (t.term + ' ' + t.meaning).toLowerCase().includes(wanted.toLowerCase()));
    list.replaceChildren(...found.map(t => el('div', {}, el('dt', {}, t.term, el('small', {}, ` ${t.group}${t.survey ? ' · the survey’s term' : ''}`)), el('dd', {}, t.meaning))));
    count.textContent = `${found.length} of ${terms.length} terms`;
  };
  const field = el('input', { type: 'search', 'aria-label': 'Filter the terms', placeholder: 'filter', value: at.get('q') || '',
    oninput: () => { draw(field.value); history.replaceState(null, '', '#/terms' + (field.value ? '?' + query({ q: field.value }) : '')); } });
  draw(field.value);
  return ['Terminology', [el('h1', {}, 'Terminology'), field, count, list]];
}

const pages = { '': experiments, experiments, run, compare: comparison, lines, live, signals: supply, terms: terminology };
let turn = 0;

async function show() {
  const mine = ++turn, [path, rest] = location.hash.replace(/^#\/?/, '').split('?');
  for (const link of document.querySelectorAll('nav a')) {
    const here = link.getAttribute('href') === '#/' + (path === 'experiments' ? '' : path);
    if (here) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  unfollow();
  main.setAttribute('aria-busy', 'true');
  const waiting = setTimeout(() => { if (mine === turn) main.replaceChildren(el('p.busy', { role: 'status' }, 'Reading the logs …')); }, 250);
  let title, content;
  try {
    if (!pages[path]) throw new Error(`there is no page "${path}"`);
    [title, content] = await pages[path](new URLSearchParams(rest || ''));
  } catch (error) {
    [title, content] = ['Not shown', [el('h1', {}, 'This cannot be shown'), el('p.wrong', { role: 'alert' }, error.message), el('p', {}, el('a', { href: '#/' }, 'All experiments'))]];
  }
  clearTimeout(waiting);
  if (mine !== turn) return;
  /* Charts of the page before are no longer in it. */
  forget(main);
  main.replaceChildren(...[content].flat(3).filter(Boolean));
  main.setAttribute('aria-busy', 'false');
  document.title = title + ' · AdmitPerf';
  scrollTo(0, 0);
}

async function dashboard() {
  const known = await ask('api/terms');
  terms = known.terms;
  learn(terms);
  addEventListener('hashchange', () => show().then(() => main.focus({ preventScroll: true })));
  document.querySelector('.skip').addEventListener('click', event => { event.preventDefault(); main.focus(); });
  await show();
}

explain();
redraw();
const held = document.getElementById('held');
if (held) whole(JSON.parse(held.textContent));
else dashboard();
