// Why an item was found: which bits agree with the query, which features and thresholds decided them and how sure they
// were. The address holds the query as the search does, and the item.

import { el, fill, figure, percent, plural } from './dom.js';
import { picture } from './code.js';
import { queryOf, pictureOf } from './search.js';

const side = 224; // pixels of the two pictures

export function mount(root, app) {
  let latest = 0;
  const first = el('input', { id: 'why-query', required: true, autocomplete: 'off' });
  const second = el('input', { id: 'why-item', required: true, autocomplete: 'off' });
  const form = el(
    'form',
    {
      class: 'row why-form',
      onsubmit: (event) => {
        event.preventDefault();
        app.go('why', { id: first.value.trim(), item: second.value.trim() });
      },
    },
    el('label', { class: 'field' }, 'Item', first),
    el('label', { class: 'field' }, 'and item', second),
    el('button', { type: 'submit' }, 'Compare'),
  );
  const body = el('div', { class: 'stack' });
  root.append(form, body);

  async function show(params) {
    const mine = ++latest;
    first.value = params.id ?? '';
    second.value = params.item ?? '';
    const query = queryOf(params);
    if (!query || params.item === undefined) return empty();
    fill(body, el('p', { class: 'muted' }, 'One moment …'));
    try {
      const why = await app.api('POST', 'explain', { query, id: params.item });
      const sides = [look(params.id, pictureOf(params)), look(params.item)];
      const labels = await Promise.all([labelOf(params.id), labelOf(params.item)]);
      if (mine === latest) draw(params, why, sides, labels);
    } catch (trouble) {
      if (mine === latest) fill(body, el('p', { class: 'problem', role: 'alert' }, trouble.message));
    }
  }

  const labelOf = (id) =>
    id === undefined
      ? ''
      : app
          .api('GET', `items/${encodeURIComponent(id)}`)
          .then((answer) => answer.item.label)
          .catch(() => '');

  const empty = () => fill(body, el('p', { class: 'notice' },
    'Press “Why?” at a result of a search, or compare two items here. ',
    'You will see which bits of their codes agree, and what decided them.'));

  // look returns the picture of one side, or null.
  function look(id, url) {
    const shown = url
      ? el('img', { src: url, alt: '', class: 'thumb', width: side, height: side })
      : id !== undefined && app.thumb(id, side);
    return shown ? el('div', { class: 'look' }, shown) : null;
  }

  function draw(params, why, [left, right], labels) {
    const reasons = el('div', { class: 'reasons', 'aria-live': 'polite' });
    const code = picture(why.bits, (bit) => fill(reasons, bitReasons(bit, why.bits)));
    const { item, ...query } = params;
    fill(body,
      el('div', { class: 'split' },
        el('div', { class: 'card' },
          el('h2', {}, headline(why)),
          el('div', { class: 'pair' }, one('Query', query.id ?? '', labels[0], left), one('Item', why.id, labels[1], right)),
          el('p', { class: 'row' },
            el('a', { href: app.link('search', query) }, 'To the results'),
            el('a', { href: app.link('search', { id: item }) }, `Search with item ${item}`))),
        columns(why)),
      el('div', { class: 'card' },
        el('h2', {}, 'The codes, bit by bit'),
        el('p', { class: 'muted' },
          'Above: the query. Below: the item. A filled square is 1, an empty one 0; the paler, the less sure. ',
          'A frame and ≠ mark the bits that differ. Press a bit to see what decided it.',
          why.bits.some((b) => b.detail) &&
            ' Bits of the class tell what it is; bits of detail, which are round and weigh less, what it looks like.'),
        code.root, reasons));
    const start = why.bits.findIndex((b) => !b.agree && b.reasons?.length);
    code.press(Math.max(0, start >= 0 ? start : why.bits.findIndex((b) => b.reasons?.length)));
  }

  return {
    show,
    hide() {
      latest++;
    },
  };
}

function headline(why) {
  const detail = why.bits.filter((b) => b.detail).length;
  const look = why.detail_distance ?? 0;
  const differ = why.distance + look;
  if (differ === 0) return 'No bit differs';
  const verb = differ === 1 ? 'differs' : 'differ';
  const one = `${plural(why.distance, 'bit')} of ${why.bits.length - detail}`;
  return detail ? `${one} of the class and ${look} of ${detail} of the look ${verb}` : `${one} ${verb}`;
}

const one = (title, id, label, picture) => el('figure', {}, picture,
  el('figcaption', {}, `${title} `, el('strong', { dir: 'auto' }, String(id)),
    label && el('span', { class: 'caption-label', dir: 'auto' }, label)));

// sureness says how sure two bits were, beside the surest bit of their codes: margins have no unit of their own.
function sureness(bit, bits) {
  const alike = bits.filter((b) => Boolean(b.detail) === Boolean(bit.detail)); // the two kinds have different units
  const share = (key) => Math.abs(bit[key]) / Math.max(...alike.map((b) => Math.abs(b[key])), 1e-12);
  const sides = [['query', 'margin_query'], ['item', 'margin_item']]
    .filter(([, key]) => bit[key] !== undefined && bit[key] !== null)
    .map(([name, key]) => `${percent(share(key))} in the ${name}`);
  return sides.length ? `Sure to ${sides.join(' and ')}, where the surest bit is 100 %.` : '';
}

// bitReasons says what decided one bit.
function bitReasons(bit, bits) {
  const name = `${bit.detail ? 'Detail bit' : 'Bit'} ${bit.bit}`;
  const what = bit.agree
    ? `${name}: both are ${bit.query}`
    : `${name}: the query has ${bit.query}, the item ${bit.item}`;
  const margins = [sureness(bit, bits)];
  if (bit.weight !== null && bit.weight !== undefined)
    margins.push(`In the ranking it counts as ${(bit.weight / 16).toFixed(1)} of an average bit of the class.`);
  if (bit.detail) {
    margins.push('It says on which side of a plane through all items the vector lies, so every feature has a part in it.');
    return [el('h3', {}, what), el('p', { class: 'muted' }, margins.join(' '))];
  }
  const sums = bit.rest_query !== undefined; // as for scores of classes, all parts of which are known
  if (!bit.reasons?.length && !sums) {
    return [
      el('h3', {}, what),
      el('p', { class: 'muted' }, margins.join(' '), ' What decided this bit is not known: that needs the vectors.'),
    ];
  }
  return [
    el('h3', {}, what),
    el('p', { class: 'muted' }, margins.join(' ')),
    el(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'What decided the bit' },
      sums ? partsTable(bit, bits) : thresholdTable(bit),
    ),
  ];
}

const reasonTable = (head, rows) =>
  el(
    'table',
    {},
    el('thead', {}, el('tr', {}, head.map((h, i) => el('th', { scope: 'col', class: i ? 'right' : '' }, h)))),
    el('tbody', {}, rows),
  );

// thresholdTable says which thresholds separate the query from the item, and which do not.
function thresholdTable(bit) {
  return reasonTable(
    ['Feature', 'Threshold', 'Query', 'Item', 'Share'],
    bit.reasons.map((r) => {
      const split = r.query !== undefined && r.item !== undefined && r.query > r.threshold !== r.item > r.threshold;
      return el(
        'tr',
        { class: split ? 'split-apart' : '' },
        el('th', { scope: 'row', dir: 'auto' }, r.name),
        td(r.threshold),
        td(r.query, r.threshold),
        td(r.item, r.threshold),
        el('td', { class: 'right' }, percent(r.weight)),
      );
    }),
  );
}

// partsTable takes a sum apart: what each feature adds to it, in the unit of sureness, so that all parts of a side
// make up how sure it is, with a minus for a bit that is 0.
function partsTable(bit, bits) {
  const greatest = (key) => Math.max(...bits.filter((b) => !b.detail).map((b) => Math.abs(b[key])), 1e-12);
  const query = greatest('margin_query');
  const item = greatest('margin_item');
  const part = (value, all) => el('td', { class: 'right' }, `${value > 0 ? '+' : ''}${percent(value / all)}`);
  const row = (name, ...cells) => el('tr', {}, el('th', { scope: 'row', dir: 'auto' }, name), cells);
  return reasonTable(
    ['Feature', 'Query', 'Item', 'Adds for the query', 'Adds for the item'],
    [
      (bit.reasons ?? []).map((r) =>
        row(r.name, td(r.query), td(r.item), part(r.part_query, query), part(r.part_item, item)),
      ),
      row('all others', td(), td(), part(bit.rest_query, query), part(bit.rest_item, item)),
    ].flat(),
  );
}

// td writes a number, and beside a threshold on which side of it the number is.
function td(value, threshold) {
  const side =
    threshold === undefined || value === undefined || value === null ? '' : value > threshold ? ' ▲' : ' ▽';
  return el(
    'td',
    { class: 'right' },
    figure(value),
    side && el('span', { class: 'muted', title: value > threshold ? 'above' : 'not above' }, side),
  );
}

// columns lists the features that decided most, over all bits.
function columns(why) {
  if (!why.columns?.length) return null;
  const most = Math.max(...why.columns.map((c) => c.weight));
  return el('div', { class: 'card' },
    el('h2', {}, 'The features that decided most'),
    el('ol', { class: 'bars' }, why.columns.slice(0, 10).map((c) =>
      el('li', { style: { '--share': c.weight / most } },
        el('span', { class: 'bar-name', dir: 'auto' }, c.name), ' ',
        el('span', { class: 'number muted' }, c.weight.toFixed(2))))));
}
