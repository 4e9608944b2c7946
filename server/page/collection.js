// What a collection holds and costs, and how its codes are used. edit.js changes items by hand.

import { el, fill, bytes, count, figure, percent, plural, seconds } from './dom.js';
import { editor } from './edit.js';
import { layer } from './heat.js';
import { rankings } from './results.js';

export function mount(root, app) {
  const about = el('div', { class: 'stack' });
  const writable = app.server.access === 'write' && !app.server.read_only && !app.collection.read_only;
  const edit = writable ? editor(app, () => show()) : null;
  root.append(
    el(
      'div',
      { class: 'stack' },
      about,
      edit?.root,
      !writable &&
        el(
          'p',
          { class: 'muted' },
          app.collection.read_only || app.server.read_only
            ? 'Items cannot be changed here: this collection is read-only.'
            : 'Items cannot be changed with this token: it only reads.',
        ),
    ),
  );

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
      el(
        'div',
        { class: 'split' },
        el('div', { class: 'stack' }, buckets(c), space(c)),
        el('div', { class: 'stack' }, bitStates(c), writes(c)),
      ),
      m && model(m, c, app),
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

function buckets(c) {
  const b = c.buckets;
  if (!b || !c.items) return null;
  return card(
    'Codes and buckets',
    el(
      'p',
      {},
      `Items with the same code share a bucket and cannot be told apart by distance. `,
      `A bucket holds ${figure(Number(b.mean.toPrecision(3)))} items on average and ${count(b.largest)} at most; `,
      `${plural(b.single, 'item')} (${percent(b.single / c.items)}) `,
      b.single === 1 ? 'has a code of its own.' : 'have codes of their own.',
    ),
  );
}

function space(c) {
  const m = c.memory,
    f = c.file;
  return card(
    'Disk and memory',
    rows([
      f && ['file', `${bytes(f.bytes)}${f.free_bytes ? `, of which ${bytes(f.free_bytes)} can be used again` : ''}`],
      f && ['writes since the file was made', count(f.writes)],
      f?.created && ['made', when(f.created)],
      f?.note && ['note', f.note],
      m && ['codes in memory', bytes(m.codes_bytes)],
      m && ['tables for search', bytes(m.tables_bytes)],
      m && ['ids', bytes(m.ids_bytes)],
      m && ['labels, tags and attributes', bytes(m.columns_bytes + m.postings_bytes)],
      c.items > 0 && m && ['memory of one item', bytes(Math.round(m.total_bytes / c.items))],
      c.attributes?.length > 0 && ['attributes', c.attributes.map((a) => `${a.name} (${a.kind})`).join(', ')],
    ]),
  );
}

// bitStates draws how many items have a 1 in each bit: a good bit is near the middle.
function bitStates(c) {
  const bits = c.bits_state || [];
  if (!bits.length || !c.items) return null;
  const bad = bits.filter((b) => b.state !== 'ok');
  const detail = (b) => b.bit >= c.bits - (c.detail_bits || 0);
  const say = (b) =>
    b.state === 'dead'
      ? `bit ${b.bit} is dead: ${percent(b.share)} of the items have 1`
      : `bit ${b.bit} is redundant: it says the same as bit ${b.like}`;
  return card(
    'Bits',
    el(
      'p',
      {},
      bad.length === 0
        ? 'Every bit does its work: none is dead, none repeats another.'
        : `${plural(bad.length, 'bit')} of ${bits.length} could be left out.`,
    ),
    el(
      'ol',
      { class: 'bit-shares', 'aria-label': 'Share of items with 1 in each bit' },
      bits.map((b) =>
        el(
          'li',
          {
            class: `bit-share ${b.state}${detail(b) ? ' detail' : ''}`,
            style: { '--share': b.share },
            title: b.state === 'ok' ? `bit ${b.bit}: ${percent(b.share)} of the items have 1` : say(b),
          },
          el('span', { class: 'hidden' }, `bit ${b.bit}: ${percent(b.share)}`),
          b.state !== 'ok' &&
            el('span', { class: 'bit-mark', 'aria-hidden': 'true' }, b.state === 'dead' ? '✕' : '='),
        ),
      ),
    ),
    el(
      'p',
      { class: 'muted small' },
      'The height is the share of items that have 1 in the bit; the line is one half.',
      c.detail_bits > 0 && ` The last ${c.detail_bits}, hatched, are bits of detail, which keep the look of an item.`,
    ),
    bad.length > 0 &&
      el(
        'ul',
        {},
        bad.slice(0, 20).map((b) => el('li', {}, say(b))),
      ),
  );
}

function model(m, c, app) {
  const info = m.info || {},
    run = info.runs?.at(-1) || {};
  const options = Object.entries(run.options || {}).filter(([, v]) => v === null || typeof v !== 'object');
  const words = (key) =>
    key
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .replaceAll('_', ' ')
      .toLowerCase();
  const important = (m.importance || []).slice(0, 15);
  const most = Math.max(...important.map((f) => f.share), 1e-12);
  const shares = [
    el('p', { class: 'muted' }, 'Share of all tests of the trees that ask for a feature.'),
    el(
      'ol',
      { class: 'bars' },
      important.map((f) =>
        el(
          'li',
          { style: { '--share': f.share / most } },
          el('span', { class: 'bar-name', dir: 'auto' }, f.name || `column ${f.column}`),
          ' ',
          el('span', { class: 'number muted' }, percent(f.share)),
        ),
      ),
    ),
  ];
  return el(
    'div',
    { class: 'split' },
    card(
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
        el(
          'details',
          {},
          el('summary', {}, 'Options of the training'),
          rows(options.map(([k, v]) => [words(k), String(v)])),
        ),
    ),
    important.length > 0 &&
      card(
        'What the model looks at',
        m.heat && heatOf(m, app),
        m.heat ? el('details', {}, el('summary', {}, 'The most important ones'), shares) : shares,
      ),
  );
}

// heatOf draws how often the trees test each pixel.
function heatOf({ heat, picture: { width, height } }, app) {
  const tested = heat.filter((h) => h > 0).length;
  const at = heat.indexOf(Math.max(...heat));
  const most = `${at % width}, ${Math.floor(at / width)}`;
  const where = el('div', { class: 'heat-picture', style: { 'aspect-ratio': `${width} / ${height}` } });
  const draw = () => fill(where, layer(heat, width, height, app.color('--heat')));
  draw();
  document.addEventListener('themechange', function again() {
    if (where.isConnected) draw();
    else document.removeEventListener('themechange', again);
  });
  return el(
    'figure',
    { class: 'model-heat' },
    where,
    el(
      'figcaption',
      { class: 'muted small' },
      `A picture of ${width} × ${height} pixels: the stronger the colour, the more tests ask for the pixel. `,
      `${plural(tested, 'pixel')} of ${count(heat.length)} ${tested === 1 ? 'is' : 'are'} tested, `,
      `most of all the one at ${most}, counted from the top left.`,
    ),
  );
}

const when = (text) => {
  const time = new Date(text);
  return Number.isNaN(time.getTime())
    ? String(text)
    : time.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
};

function writes(c) {
  const list = c.recent_writes || [];
  return card(
    'Recent writes',
    list.length === 0
      ? el('p', { class: 'muted' }, 'None since the server started.')
      : el(
          'div',
          { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Recent writes' },
          el(
            'table',
            {},
            el(
              'thead',
              {},
              el(
                'tr',
                {},
                ['Time', 'What', 'Items', 'Took'].map((h, i) =>
                  el('th', { scope: 'col', class: i > 1 ? 'right' : '' }, h),
                ),
              ),
            ),
            el(
              'tbody',
              {},
              list
                .slice(0, 20)
                .map((w) =>
                  el(
                    'tr',
                    {},
                    el('td', {}, when(w.time)),
                    el('td', {}, w.kind),
                    el('td', { class: 'right' }, count(w.items)),
                    el('td', { class: 'right' }, seconds(w.seconds)),
                  ),
                ),
            ),
          ),
        ),
  );
}
