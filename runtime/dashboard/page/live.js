/* SPDX-License-Identifier: MIT */
/* Live: how a sidecar stands now, or what an engine's page would tell a policy, as the dashboard's
 * server-sent events have it (docs/dashboard.md).
 *
 * What is stale is said to be, and what is absent is no number. */
import { el, number, percent, ratio, plural, rowsOf, section, table, term } from './dom.js';
import { ask, query } from './ask.js';
import { drawn, moving } from './charts.js';

const KEPT = 900;
let source = null, clock = null;

export function unfollow() {
  if (source) source.close();
  clearInterval(clock);
  source = clock = null;
}

const ago = s => s < 120 ? `${number(Math.round(s))} s` : s < 7200 ? `${number(Math.round(s / 60))} min` : `${number(Math.round(s / 3600))} h`;
const time = at => new Date(at * 1000).toISOString().slice(11, 19) + ' UTC';
const fill = (place, columns, rows, options) => place.querySelector('tbody').replaceChildren(...rowsOf(columns, rows, options));

/* What is known of whom is followed, and for how long nothing was heard. */
function standing() {
  return { page: null, down: null, lost: false, held: false, heard: 0, names: [], moments: [] };
}

function remember(state, at, moment) {
  for (const name of Object.keys(moment.signals)) if (!state.names.includes(name)) state.names.push(name);
  const last = state.moments[state.moments.length - 1];
  if (last && at <= last[0]) return;
  state.moments.push([at, moment.per_s, moment.refused_per_s, ...state.names.map(n => moment.signals[n] ?? null)]);
  if (state.moments.length > KEPT) state.moments.shift();
}

/* Seconds since the page that is shown was measured. */
function behind(state) {
  const since = (performance.now() - state.heard) / 1000;
  return state.down ? (state.down.for_s ?? 0) + since : since;
}
const isStale = state => state.lost || state.down !== null || (performance.now() - state.heard) / 1000 > 4;

function status(state, name) {
  const page = state.page;
  if (state.lost) return 'The dashboard does not answer; it is asked again each second.';
  if (state.down) return `No page: ${state.down.text}.`;
  if (!page) return `Asking ${name} …`;
  if (!page.sidecar) return 'Following an engine: it has no decisions to show. These are the signals that its page would supply.';
  return `Following AdmitPerf ${page.version || ''}, configuration ${page.config || '(not said)'}${page.generation === null ? '' : `, generation ${number(page.generation)}`}.`;
}

/* --- parts: each makes its elements once and returns them with what fills them */

function tilesNow() {
  const cells = {};
  const tile = (key, words) => el('div.tile', {}, el('dt', {}, words), el('dd', {}, cells[key] = el('span', {}), cells[key + '_note'] = el('small', {})));
  const place = el('dl.tiles', {}, tile('rate', 'decisions/s'), tile('share', term('refused')), tile('decisions', 'decisions'), tile('refused', 'refusals'), tile('faults', term('faults', 'faults')));
  const put = (key, shown, note) => { cells[key].textContent = shown; cells[key + '_note'].textContent = note || ''; };
  return [place, (page, stale) => {
    const last = stale ? null : page.last, over = last && `of the last ${number(last.s)} s`;
    put('rate', last ? number(last.decisions / last.s) : '--', last ? `${number(last.decisions)} in ${number(last.s)} s` : stale ? 'stale' : 'not known yet');
    put('share', last && last.decisions ? percent(ratio(last.refused, last.decisions)) : '--', last && last.decisions ? `${number(last.refused)} of ${number(last.decisions)}, ${over}` : last ? `no decision in ${number(last.s)} s` : stale ? 'stale' : 'not known yet');
    put('decisions', number(page.decisions), 'since it began');
    put('refused', number(page.refused), 'since it began, enforced');
    put('faults', number(page.faults), last && last.faults ? `${number(last.faults)} ${over}` : 'since it began');
    cells.faults.className = page.faults ? 'warn' : '';
  }];
}

function signalsNow() {
  const columns = [term('signal'), 'value', 'unit', 'age', 'note'];
  const place = table('Signals now', columns, [], { wide: true, text: true });
  return [place, (page, stale, late) => fill(place, columns, page.signals.map(s => s.value === null
    ? [s.name, '--', s.unit || '', '--', `absent: ${s.why || 'not said'}`]
    : [s.name, number(s.value), s.unit || '', s.age_s === null ? '--' : `${number(Number((s.age_s + late).toFixed(1)))} s`, stale ? 'stale' : '']), { wide: true, text: true })];
}

function verdicts() {
  const columns = ['policy', 'role', 'verdict', term('reason'), 'enforced', 'n'];
  const place = table('Verdicts since it began', columns, [], { wide: true, text: true });
  const order = r => `${r.role === 'governing' ? 0 : 1}${r.policy} ${r.verdict} ${r.reason} ${r.enforced}`;
  return [place, page => fill(place, columns, [...page.verdicts].sort((a, b) => order(a) < order(b) ? -1 : 1).map(r =>
    [r.policy, r.role, r.verdict, r.reason || '--', r.enforced === 'true' ? 'yes' : 'no', number(r.n)]), { wide: true, text: true })];
}

function targets() {
  const columns = ['engine', 'last page', 'age', 'pages', 'failures'];
  const place = table('Engines it asks', columns, [], { wide: true, text: true });
  const find = (rows, name) => rows.find(r => r.target === name);
  return [place, (page, stale, late) => fill(place, columns, page.scrape_up.map(up => {
    const age = find(page.scrape_age_s, up.target), pages = find(page.scrape_pages, up.target);
    const failures = page.scrape_failures.filter(f => f.target === up.target).map(f => `${f.why} ${number(f.n)}`).join(', ');
    return [up.target, up.n ? 'whole' : 'failed', age ? `${number(Number((age.n + late).toFixed(1)))} s` : 'none yet', pages ? number(pages.n) : '--', failures || 'none'];
  }), { wide: true, text: true })];
}

function counts() {
  const place = el('dl.counts'), grave = ['lost in the log', 'log write errors', 'pages not put in force', 'configurations refused', 'tickets lost'];
  return [place, page => {
    const fates = page.outcomes.map(o => [`outcomes: ${o.fate}`, o.n]), away = page.turned_away.filter(r => r.n).map(r => [`clients: ${r.why.replace('_', ' ')}`, r.n]);
    const rows = [['mean time to decide, µs', page.decided ? page.decide_s / page.decided * 1e6 : null], ['connections', page.connections], ...fates,
      ['log lines', page.log_lines], ['waiting for the log, bytes', page.log_queue_bytes], ['lost in the log', page.log_dropped], ['log write errors', page.log_write_errors],
      ['pages not put in force', page.publish_errors], ['configurations refused', page.reload_errors], ['tickets lost', page.tickets_lost], ['facts not readable', page.bad_facts], ...away];
    place.replaceChildren(...rows.map(([name, n]) => el('div', {}, el('dt', {}, name), el('dd', { class: n && grave.includes(name) ? 'warn' : null }, number(n)))));
  }];
}

/* Decisions, and signals as they are picked; drawn anew when another signal has come. */
function charts(state, at) {
  const place = el('div', {});
  let shown = null, drawnFor = '', boxes = [];
  const asked = at.getAll('show');
  const pick = (name, on) => {
    if (on) shown.add(name); else shown.delete(name);
    at.delete('show');
    for (const n of shown) at.append('show', n);
    history.replaceState(null, '', '#/live?' + at);
    drawnFor = '';
    draw();
  };
  const rows = () => state.moments;
  const draw = () => {
    const names = state.names, sidecar = state.page && state.page.sidecar;
    const want = [sidecar, ...names].join(' ');
    if (!drawn() || want === drawnFor) { for (const box of boxes) box.again(); return; }
    drawnFor = want;
    shown = shown || (names.length ? new Set(asked.length ? asked : names.slice(0, 3)) : null);
    const of = name => moving(`${name}, the last minutes; what it is now stands in the table`, 150, rows, [{ label: name, colour: 'c1', of: r => r[3 + names.indexOf(name)] }]);
    const rate = sidecar ? moving('Decisions and refusals per second, the last minutes', 170, rows, [{ label: 'decisions/s', colour: 'c1', of: r => r[1] }, { label: 'refused/s', colour: 'refused', dash: [6, 3], of: r => r[2] }]) : null;
    const picked = names.filter(n => shown && shown.has(n)).map(n => [n, of(n)]);
    boxes = [rate, ...picked.map(([, box]) => box)].filter(box => box && box.again);
    place.replaceChildren(...[rate ? [el('h3', {}, 'Decisions and refusals per second'), rate] : [], names.length > 1 ? [el('fieldset.pick', {}, el('legend', {}, 'Signals shown'),
      names.map(n => el('label', {}, el('input', { type: 'checkbox', checked: shown.has(n), onchange: e => pick(n, e.target.checked) }), ' ', n)))] : [],
    ...picked.map(([n, box]) => [el('h3', {}, n), box])].flat());
  };
  return [place, draw];
}

/* --- the page */

function listen(state, target, show) {
  source = new EventSource('api/live?' + query({ target }));
  const heard = change => event => {
    change(JSON.parse(event.data));
    state.lost = false;
    state.heard = performance.now();
    show();
  };
  source.addEventListener('past', heard(past => { state.names = past.signals; state.moments = past.moments; }));
  source.addEventListener('page', heard(page => { state.page = page; state.down = null; remember(state, page.at, page.moment); }));
  source.addEventListener('down', heard(down => { state.down = down; remember(state, down.at, down.moment); }));
  source.addEventListener('error', () => { state.lost = true; show(); });
}

function followed(at, target, name) {
  const state = standing(), said = el('p', { role: 'status' }), late = el('p.note'), body = el('div.live');
  const [tilesAt, putTiles] = tilesNow(), [signalsAt, putSignals] = signalsNow(), [verdictsAt, putVerdicts] = verdicts();
  const [targetsAt, putTargets] = targets(), [countsAt, putCounts] = counts(), [chartsAt, draw] = charts(state, at);
  const sidecar = [section('verdicts', 'Verdicts', verdictsAt), section('engines', 'Engines it asks', targetsAt), section('itself', 'The sidecar itself', countsAt)];
  body.append(tilesAt, section('now', 'Signals', signalsAt), section('minutes', 'The last minutes', el('p.note', {}, 'One point each second. Where no page came there is a gap.'), chartsAt), ...sidecar);
  const show = () => {
    const words = status(state, name), stale = isStale(state), page = state.page;
    if (said.textContent !== words) said.textContent = words;
    said.className = stale && (state.down || state.lost) ? 'wrong' : '';
    late.textContent = page ? `${stale ? 'Stale: as' : 'As'} of ${time(page.at)}${stale ? `, ${ago(behind(state))} ago` : ''}${page.bad_lines ? `; ${page.bad_lines} ${plural(page.bad_lines, 'line', 'lines')} of the page could not be read` : ''}.` : '';
    body.hidden = !page;
    body.classList.toggle('stale', stale);
    if (!page || state.held) return;
    for (const part of [tilesAt, ...sidecar]) part.hidden = !page.sidecar;
    putSignals(page, stale, stale ? behind(state) : 0);
    if (page.sidecar) { putTiles(page, stale); putVerdicts(page); putTargets(page, stale, stale ? behind(state) : 0); putCounts(page); }
    draw();
  };
  const hold = el('button', { type: 'button', 'aria-pressed': 'false', onclick: () => {
    state.held = !state.held;
    hold.setAttribute('aria-pressed', String(state.held));
    hold.textContent = state.held ? 'Go on' : 'Hold still';
    show();
  } }, 'Hold still');
  listen(state, target, show);
  clock = setInterval(show, 1000);
  return [said, el('div.ask', {}, late, hold), body];
}

export async function live(at) {
  const { targets } = await ask('api/targets');
  if (!targets.length)
    return ['Live', [el('h1', {}, 'Live'), el('p', {}, 'Nobody is followed. Start the dashboard with the address of a sidecar, or of an engine: ', el('code', {}, 'admitperf dashboard --live http://127.0.0.1:9400'), '.')]];
  const target = Number(at.get('target') || 0), name = targets[target];
  if (name === undefined) throw new Error('nobody of that number is followed');
  return [`Live ${name}`, [el('h1', {}, 'Live: ', name), targets.length > 1 ? el('nav.picks', { 'aria-label': 'Who is followed' }, targets.map((t, i) =>
    el('a', { href: '#/live?' + query({ target: i }), 'aria-current': i === target ? 'page' : null }, t))) : null, followed(at, target, name)]];
}
