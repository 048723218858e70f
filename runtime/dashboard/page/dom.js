/* SPDX-License-Identifier: MIT */
/* Elements, numbers as the text pages print them, and words that explain themselves.
 *
 * Nothing from a log ever becomes markup: text goes in as text nodes, and only here. */

/* el('p.note', {id: 'x'}, 'text', [children]…); null children are left out. */
export function el(what, attributes, ...children) {
  const [tag, ...classes] = what.split('.');
  const node = document.createElement(tag || 'div');
  if (classes.length) node.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value);
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child instanceof Node) node.appendChild(child);
    else if (child !== null && child !== undefined && child !== false)
      node.appendChild(document.createTextNode(String(child)));
  }
}

const SVG = 'http://www.w3.org/2000/svg';
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  append(node, children);
  return node;
}

/* A reading: whole numbers whole, others to three digits (page.c has the same rule). */
export function number(value) {
  if (value === null || value === undefined) return '--';
  const size = Math.abs(value);
  if (size < 1e7 && (Number.isInteger(value) || size >= 1000)) return value.toFixed(0);
  return String(Number(value.toPrecision(3)));
}
/* A threshold or parameter: the digits that were written. */
export function exact(value) {
  if (value === null || value === undefined) return '--';
  return typeof value === 'number' ? String(Number(value.toPrecision(10))) : JSON.stringify(value);
}
export function percent(share) {
  return share === null || share === undefined || Number.isNaN(share)
    ? '--' : (100 * share).toFixed(1) + '%';
}
export function share(value) {
  return value === null || value === undefined ? '--' : value.toFixed(3);
}
export function plural(n, one, many) {
  return n === 1 ? one : many;
}
export function ratio(n, of) {
  return of ? n / of : null;
}

/* A clock of its own, like a simulation's, begins near 0. */
export const when = (at, digits) => Math.abs(at) < 1e8 ? `${digits ? Number(at.toFixed(digits)) : number(at)} s` : new Date(at * 1000).toISOString().replace('T', ' ').replace('Z', ' UTC');

/* --- tables */

/* rows: arrays of cells; columns: headings. The first column names its row. Wide ones scroll in
 * a box of their own, which the keyboard reaches. */
export function table(caption, columns, rows, options = {}) {
  return el('div.scroll', { tabindex: 0, role: 'region', 'aria-label': caption },
    el('table', { class: options.wide ? 'wide' : null },
      el('caption.unseen', {}, caption),
      el('thead', {}, el('tr', {}, columns.map((c, i) =>
        el('th', { scope: 'col', class: i && !options.text ? 'n' : null }, c)))),
      el('tbody', {}, rowsOf(columns, rows, options))));
}
export function rowsOf(columns, rows, options = {}) {
  return rows.map(row => el('tr', {}, row.map((cell, i) => i === 0
    ? el('th', { scope: 'row' }, cell)
    : el('td', { class: options.text ? null : 'n', 'data-of': options.wide && typeof columns[i] === 'string' ? columns[i] : null }, cell))));
}

export function section(id, heading, ...children) {
  return el('section', { id, 'aria-labelledby': id + '-h' },
    el('h2', { id: id + '-h' }, heading), ...children);
}

export function caveats(sentences) {
  return sentences.length
    ? el('ul.caveats', {}, sentences.map(s => el('li', {}, s + '.'))) : null;
}

/* --- words that explain themselves */

const meanings = new Map();
const plain = word => word.toLowerCase().replace(/[-_]/g, ' ');

export function learn(terms) {
  for (const term of terms) meanings.set(plain(term.term), term);
}

/* The word, explained on hover, focus and touch if the terminology has it. */
export function term(word, shown) {
  const known = meanings.get(plain(word));
  if (!known) return document.createTextNode(shown || word);
  return el('button.term', { type: 'button', 'data-meaning': known.meaning }, shown || word);
}

let tip;
function place(button) {
  if (!tip) tip = document.body.appendChild(el('div.tip', { role: 'tooltip', id: 'tip' }));
  tip.textContent = button.dataset.meaning;
  tip.hidden = false;
  button.setAttribute('aria-describedby', 'tip');
  const at = button.getBoundingClientRect();
  const width = Math.min(340, document.documentElement.clientWidth - 16);
  tip.style.width = width + 'px';
  const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8));
  tip.style.left = left + window.scrollX + 'px';
  const below = at.bottom + tip.offsetHeight + 8 < window.innerHeight;
  tip.style.top = (below ? at.bottom + 6 : at.top - tip.offsetHeight - 6) + window.scrollY + 'px';
}
function unplace(button) {
  if (tip) tip.hidden = true;
  if (button) button.removeAttribute('aria-describedby');
}
export function explain() {
  const of = event => event.target instanceof Element && event.target.closest('.term');
  for (const name of ['mouseover', 'focusin', 'click'])
    document.addEventListener(name, event => { const b = of(event); if (b) place(b); });
  for (const name of ['mouseout', 'focusout'])
    document.addEventListener(name, event => { const b = of(event); if (b) unplace(b); });
  document.addEventListener('keydown', event => { if (event.key === 'Escape') unplace(of(event)); });
}
