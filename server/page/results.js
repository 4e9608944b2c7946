// Items on the page: thumbnails where the collection has pictures, else cards with what is known of them.

import { el, figure, plural, seconds } from './dom.js';

const averageBit = 16; // what a bit of average certainty counts in a ranking by margins
const size = 112; // of a thumbnail, in pixels

// What a card has a place for; whatever else a hit says is written beside its distance.
const shown = new Set(['id', 'distance', 'margin_distance', 'score', 'label', 'tags', 'attributes']);

// card shows an item. options: href (a click goes there), distance, bits, same (it has the label of the query), why (an
// address), self (it is the query).
export function card(app, item, options) {
  const picture = app.thumb(item.id, size);
  picture?.addEventListener('load', () => {
    if (picture.naturalWidth < size / 2) picture.classList.add('pixels'); // tiny pictures stay sharp
  });
  const name = item.label ?? String(item.id);
  const title =
    options.distance === undefined ? `Search with item ${item.id}` : `Search with this result, item ${item.id}`;
  return el(
    'li',
    { class: picture ? 'hit with-picture' : 'hit', 'data-id': item.id },
    el(
      'a',
      { class: 'hit-main', href: options.href, title },
      picture,
      el(
        'span',
        { class: 'hit-name', dir: 'auto' },
        name,
        options.same &&
          el(
            'span',
            { class: 'same', title: 'the label of the query' },
            el('span', { 'aria-hidden': 'true' }, ' ✓'),
            el('span', { class: 'hidden' }, ' same label'),
          ),
      ),
      options.self && el('span', { class: 'muted small' }, 'the query itself'),
    ),
    el(
      'p',
      { class: 'hit-meta muted' },
      item.label !== undefined && el('span', { class: 'hit-id', title: item.id }, `id ${tail(item.id)}`),
      options.distance !== undefined &&
        el(
          'span',
          { class: 'distance number', title: `${options.distance} of ${options.bits} bits differ` },
          distanceText(item, options),
        ),
    ),
    details(item),
    options.why &&
      el('a', { class: 'hit-why', href: options.why, 'aria-label': `Why is item ${item.id} a result?` }, 'Why?'),
  );
}

// tail is the end of a long id: ids that are names of files differ there.
function tail(id) {
  const characters = [...String(id)];
  return characters.length > 16 ? `…${characters.slice(-14).join('')}` : String(id);
}

function distanceText(item, options) {
  const parts = [plural(options.distance, 'bit')];
  if (item.margin_distance !== undefined) parts.push(`${figure(item.margin_distance / averageBit)} weighted`);
  if (item.score !== undefined) parts.push(`score ${figure(item.score)}`);
  for (const [name, value] of Object.entries(item)) {
    if (!shown.has(name)) parts.push(`${name} ${value}`);
  }
  return parts.join(' · ');
}

// details lists tags and attributes.
export function details(item) {
  const attributes = Object.entries(item.attributes || {});
  return [
    item.tags?.length > 0 &&
      el(
        'ul',
        { class: 'tags', 'aria-label': 'Tags' },
        item.tags.map((tag) => el('li', { class: 'tag', dir: 'auto' }, tag)),
      ),
    attributes.length > 0 &&
      el(
        'dl',
        { class: 'attributes' },
        attributes
          .slice(0, 6)
          .map(([name, value]) =>
            el('div', {}, el('dt', { dir: 'auto' }, name), el('dd', { dir: 'auto' }, String(value))),
          ),
      ),
  ];
}

// summary says in a sentence or two what was found.
export function summary(answer, result, { radius, rank, rerank }) {
  const { hits } = result;
  const time = `${seconds(answer.seconds)} of search among ${plural(answer.items, 'item')}`;
  if (hits.length === 0) return `Nothing was found${radius ? ` within ${plural(radius, 'bit')}` : ''}, in ${time}.`;
  let text = `${plural(hits.length, 'result')} in ${time}.`;
  const last = hits.at(-1).distance;
  if (rank || rerank || !result.tied) return text; // the order is not that of the bits
  if (result.tied > result.tied_hits) {
    const other = last === 0 ? 'have exactly the same code' : `are tied at ${plural(last, 'bit')}`;
    const are = result.tied_hits === 1 ? 'is' : 'are';
    text += ` ${plural(result.tied, 'item')} ${other}; ${result.tied_hits} of them ${are} shown.`;
  } else if (result.tied > 1) {
    text += ` The last ${result.tied} are tied at ${plural(last, 'bit')}.`;
  }
  return text;
}

// placeholders keep the place of results that are on their way.
export const placeholders = (n) =>
  Array.from({ length: n }, () => el('li', { class: 'hit waiting', 'aria-hidden': 'true' }));
