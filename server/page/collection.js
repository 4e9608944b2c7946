// What a collection holds and costs, and what training measured. edit.js changes items by hand.

import { el, fill, bytes, count, percent, plural, seconds } from './dom.js';
import { editor } from './edit.js';
import { rankings } from './results.js';

export function mount(root, app) {
  const about = el('div', { class: 'stack' });
  const fixed = app.server.read_only || app.collection.read_only;
  const edit = !fixed && app.server.access === 'write' ? editor(app, () => show()) : null;
  const why = fixed ? 'here: this collection is read-only.' : 'with this token: it only reads.';
  root.append(el('div', { class: 'stack' }, about, edit?.root || el('p', { class: 'muted' }, `Items cannot be changed ${why}`)));

  async function show(params) {
    root.setAttribute('aria-busy', 'true');
    if (params) edit?.set(params);
    if (!about.firstChild) fill(about, el('p', { class: 'muted' }, 'One moment …'));
    const [c, m] = await Promise.all([
      app.api('GET', `/v1/collections/${encodeURIComponent(app.collection.name)}`),
      app.collection.model ? app.api('GET', 'model') : null,
    ]);
    fill(
      about,
      el('h2', { dir: 'auto' }, c.name),
      c.health !== 'ok' && el('p', { class: 'problem', role: 'alert' }, c.health),
      overview(c),
      el('div', { class: 'split' }, space(c), writes(c)),
      m && el('div', { class: 'split' }, model(m, c), importance(m)),
      m && trained(m.info, c),
    );
    root.removeAttribute('aria-busy');
  }
  return { show, hide() {} };
}

const tile = (name, value) => el('div', {}, el('dt', {}, name), el('dd', {}, value));

function overview(c) {
  return el(
    'dl',
    { class: 'tiles' },
    tile('items', count(c.items)),
    tile('distinct codes', count(c.distinct_codes)),
    tile('bits', c.bits - (c.detail_bits || 0)),
    c.detail_bits > 0 && tile('bits of detail', c.detail_bits),
    c.dims > 0 && tile(c.takes === 'pictures' ? 'features' : 'dimensions', count(c.dims)),
    c.file && tile('on disk', bytes(c.file.bytes)),
    c.memory && tile('in memory', bytes(c.memory.total_bytes)),
  );
}

const card = (title, ...children) => el('section', { class: 'card' }, el('h2', {}, title), children);

const rows = (pairs) =>
  el(
    'dl',
    { class: 'pairs' },
    pairs
      .filter((p) => p && p[1] !== undefined && p[1] !== '')
      .map(([name, value]) => el('div', {}, el('dt', { dir: 'auto' }, name), el('dd', { dir: 'auto' }, value))),
  );

// table has its words in the first columns and its figures, on the right, from column right on.
const table = (title, right, head, body) => {
  const side = (i) => ({ class: i >= right ? 'right' : '' });
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title }, el('table', {},
    el('thead', {}, el('tr', {}, head.map((h, i) => el('th', { scope: 'col', ...side(i) }, h)))),
    el('tbody', {}, body.map((cells) => el('tr', {}, cells.map((c, i) => el('td', side(i), c)))))));
};

function space(c) {
  const m = c.memory, f = c.file;
  return card('Disk and memory', rows([
    ['file', `${bytes(f.bytes)}${f.free_bytes ? `, of which ${bytes(f.free_bytes)} can be used again` : ''}`],
    ['writes since the file was made', count(f.writes)],
    ['made', when(f.created)],
    ['note', f.note],
    ['codes in memory', bytes(m.codes_bytes)],
    ['tables for search', bytes(m.tables_bytes)],
    ['ids', bytes(m.ids_bytes)],
    ['labels, tags and attributes', bytes(m.columns_bytes + m.postings_bytes)],
    c.items > 0 && ['memory of one item', bytes(Math.round(m.total_bytes / c.items))],
    ['attributes', c.attributes.map((a) => `${a.name} (${a.kind})`).join(', ')],
  ]));
}

function model(m, c) {
  const info = m.info || {}, run = info.runs?.at(-1) || {};
  const options = Object.entries(run.options || {}).filter(([, v]) => v === null || typeof v !== 'object');
  const words = (key) => key.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ').toLowerCase();
  return card(
    'Model',
    rows([
      ['method', info.method || m.kind],
      ['takes', m.pictures ? 'pictures' : `vectors of ${plural(m.dims, 'number')}`],
      ['bits', c.detail_bits ? `${m.bits - c.detail_bits} of the class, ${c.detail_bits} of detail` : m.bits],
      ['ranks by', c.rankings?.[0] && rankings[c.rankings[0]]],
      ['trained on', run.rows ? plural(run.rows, 'row') : ''],
      ['seed', run.seed],
      ['classes', info.classes?.length ? count(info.classes.length) : ''],
      ['scaling', info.scale],
      ['added columns', info.linear],
      ['version', info.version],
      ['fingerprint', m.fingerprint],
    ]),
    options.length > 0 &&
      el('details', {}, el('summary', {}, 'Options of the training'), rows(options.map(([k, v]) => [words(k), String(v)]))),
  );
}

function importance(m) {
  const first = (m.importance || []).slice(0, 15);
  if (first.length === 0) return null;
  return card(
    'What the model looks at',
    el('p', { class: 'muted' }, 'Share of all tests of the trees that ask for a feature.'),
    el('ol', { class: 'bars' }, first.map((f) =>
      el('li', { style: { '--share': f.share / first[0].share } },
        el('span', { class: 'bar-name', dir: 'auto' }, f.name || `column ${f.column}`), ' ',
        el('span', { class: 'number muted' }, percent(f.share))))),
  );
}

// trained shows what training measured with rows that it had put aside, on new and on learned items.
function trained({ new_items: fresh, learned_items: learned }, c) {
  const three = (x) => (x ?? null) === null ? '–' : x.toFixed(3);
  const figures = [
    ['mean average precision', (f) => three(f.map)],
    ['the same, ranked by margins', (f) => three(f.margins?.map)],
    ['the same, ranked by the expected code', (f) => three(f.expected?.map)],
    ['the same, of random codes', (f) => three(f.chance)],
    ['right among the first 100', (f) => three(f.precision)],
    ['distinct codes', (f) => `${count(f.distinct_codes)} of ${count(f.rows)}`],
  ];
  const report = `/v1/collections/${encodeURIComponent(c.name)}/report`;
  return card(
    'What training measured',
    fresh || learned
      ? [
          el('p', {}, 'Rows that training had put aside look for others like them. Expect the figures of new items.'),
          table('What training measured', 1, ['', 'New items', 'Learned items'],
            figures.map(([name, of]) => [name, ...[fresh, learned].map((f) => (f ? of(f) : '–'))])),
        ]
      : el('p', {}, 'Nothing: the model was learned from all rows.'),
    c.report && el('p', {}, el('a', { href: report, target: '_blank', rel: 'noopener' }, 'Open the report'),
      ' that compares this model with others.'),
  );
}

const when = (text) => new Date(text).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

function writes(c) {
  const list = c.recent_writes || [];
  if (list.length === 0) return card('Recent writes', el('p', { class: 'muted' }, 'None since the server started.'));
  return card('Recent writes', table('Recent writes', 2, ['Time', 'What', 'Items', 'Took'],
    list.map((w) => [when(w.time), w.kind, count(w.items), seconds(w.seconds)])));
}
