/* SPDX-License-Identifier: MIT */
/* Lines of logs as they stand: where a figure leads to. */
import { el, number, plural, when } from './dom.js';
import { ask, query, served } from './ask.js';

const logsOf = logs => logs.map(log => ['log', log]);

/* A figure that leads to the lines of a kind, where there is somebody to ask for them. `of` may
 * have what narrows it: { of: 'refused', policy: … }. */
export function counted(shown, run, of, words) {
  if (!served() || !run.logs.length || run.logs.length > 16) return shown;
  const narrow = of.of === 'corrupt' || of.of === 'outcomes' || of.of === 'losses' || of.of === 'states' || of.of === 'scrape_errors' ? {} : { policy: run.policy || '', run: run.run || '' };
  return el('a.figure', { href: '#/lines?' + query([...logsOf(run.logs), ...Object.entries({ ...of, ...narrow })]), title: words || 'the lines behind it' }, shown);
}

/* What is worth saying of a line before it is opened. */
function gist(line) {
  let said = {};
  try { said = JSON.parse(line.text); } catch { return line.text.slice(0, 120); }
  const word = v => v === undefined || v === null ? null : String(v);
  if (line.kind === 'decision') return [said.policy, said.fault ? 'fault' : null, said.verdict, said.reason, said.enforced === false ? 'not enforced' : null, said.request_id].map(word).filter(Boolean).join(' · ');
  if (line.kind === 'outcome') return [said.request_id, said.outcome && said.outcome.ttft_ms !== undefined ? `TTFT ${said.outcome.ttft_ms} ms` : null, said.outcome && said.outcome.end].map(word).filter(Boolean).join(' · ');
  if (line.kind === 'scrape_error') return word(said.scrape_error);
  return line.kind === 'loss' ? JSON.stringify(said.dropped) : Object.entries(said.signals || {}).filter(([, v]) => v !== null).map(([n, v]) => `${n} ${number(v)}`).join(' · ');
}

function one(line, here, log) {
  return el('li', { class: here === line.line ? 'here' : null }, el('details', { open: here === line.line },
    el('summary', {}, el('span.number', {}, `line ${line.line}`), el('span.kind', {}, line.why ? `${line.kind}: ${line.why}` : line.kind),
      el('span.time', {}, line.at === null ? '' : when(line.at, 3)), el('span.gist', {}, gist(line))),
    el('pre', { tabindex: 0, 'aria-label': `line ${line.line}` }, line.text, line.cut ? ' …' : ''),
    el('p.note', {}, line.cut ? 'Only its beginning is shown. ' : null, el('a', { href: '#/lines?' + query([['log', log], ['line', line.line]]) }, 'What stands around it'))));
}

function ends(part, log) {
  const link = (line, words) => el('a', { href: '#/lines?' + query([['log', log], ['line', line]]) }, words);
  const first = part.lines[0], last = part.lines[part.lines.length - 1];
  return el('p.note', {}, first.line > 1 ? [link(first.line, 'Earlier'), ' · '] : null, link(last.line, 'Later'));
}

/* What api/lines gave for one log. */
function excerpt(part, asked) {
  const words = part.of.replace('_', ' '), listed = part.n !== undefined;
  const next = part.next && el('p.note', {}, el('a', { href: '#/lines?' + query([...asked.filter(([k]) => k !== 'line'), ['line', part.next]]) }, 'The next ones'));
  return el('section.excerpt', { 'aria-label': part.log }, el('h3', {}, part.log),
    listed ? el('p.note', {}, `${part.n} ${plural(part.n, 'line', 'lines')} of it: ${words}.`) : null,
    part.lines.length ? el('ol.lines', {}, part.lines.map(l => one(l, part.here, part.log))) : el('p.note', {}, 'None.'),
    part.lines.length && !listed ? ends(part, part.log) : null, next || null);
}

async function excerpts(asked) {
  const { logs } = await ask('api/lines?' + query(asked));
  return logs.map(part => excerpt(part, asked));
}

/* The page: the lines that the address asks for. */
export async function lines(at) {
  const asked = [...at.entries()], of = at.get('of');
  const named = asked.filter(([k, v]) => v && ['policy', 'run', 'reason'].includes(k)).map(([k, v]) => `${k} ${v}`).join(', ');
  const title = of ? `Lines: ${of.replace('_', ' ')}` : at.has('at') ? `Lines around ${when(Number(at.get('at')), 3)}` : `Lines around line ${at.get('line')}`;
  return [title, [el('h1', {}, title), named ? el('p', {}, `Of ${named}.`) : null,
    of && of !== 'corrupt' ? el('p.note', {}, 'Lines, as they stand. A request may have several, and its last verdict counts: docs/reading-a-report.md says how each number is made of them.') : null,
    await excerpts(asked), el('p', {}, el('a', { href: '#/run?' + query(at.getAll('log').map(l => ['log', l])) }, 'The report of it'))]];
}

/* Lines around a moment, in the page of a run: `begin` is when its first bin began. Returns the
 * place and what shows a moment there. */
export function around(run, begin, picked) {
  const place = el('div', { 'aria-live': 'polite' });
  const seconds = el('input', { type: 'number', step: 'any', min: 0, required: true, 'aria-label': 'Seconds since the first' });
  let turn = 0;
  const show = async at => {
    const mine = ++turn;
    seconds.value = Number((at - begin).toFixed(3));
    const waiting = setTimeout(() => { if (mine === turn) place.replaceChildren(el('p.busy', {}, 'Reading the lines …')); }, 250);
    let content;
    try { content = await excerpts([...logsOf(run.logs.slice(0, 16)), ['at', at], ['most', 13]]); } catch (error) { content = [el('p.wrong', { role: 'alert' }, error.message)]; }
    clearTimeout(waiting);
    if (mine !== turn) return;
    place.replaceChildren(el('h3', {}, `Lines around ${when(at, 3)}`), ...content);
    picked(at);
  };
  const form = el('form.ask', { onsubmit: event => { event.preventDefault(); show(begin + Number(seconds.value)); } },
    el('label', {}, 'The lines around second ', seconds), el('button', { type: 'submit' }, 'Show'));
  return [el('div', {}, form, place), show];
}
