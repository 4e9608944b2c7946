// Items on the page: thumbnails where the collection has pictures, else cards with what is known of them.

import { el, figure, plural, seconds } from './dom.js';

const averageBit = 16; // what a bit of average certainty counts in a ranking by margins
const size = 112; // of a thumbnail, in pixels

// What a card has a place for; whatever else a hit says is written beside its distance.
const shown = new Set(['id', 'distance', 'detail_distance', 'margin_distance', 'score', 'label', 'tags', 'attributes']);

// card shows an item. options: href (a click goes there), distance, parts (bits of class and of detail in a code),
// weighted (the weights of the bits were asked for), scored (the vectors decided), same (it has the label of the query), why (an address), self (it
// is the query).
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
          { class: 'distance number', title: distanceTitle(item, options.parts) },
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

// distanceTitle says in words what a distance counts.
function distanceTitle(item, { classBits, detailBits }) {
  if (item.detail_distance === undefined) return `${item.distance} of ${classBits} bits differ`;
  const look = `${item.detail_distance} of ${detailBits} bits of detail (look)`;
  return `${item.distance} of ${classBits} bits of the class and ${look} differ`;
}

// distanceText is short: "2 bits, look 7" are bits of the class and bits of detail.
function distanceText(item, options) {
  const look = item.detail_distance === undefined ? '' : `, look ${item.detail_distance}`;
  const parts = [plural(options.distance, 'bit') + look];
  if (options.weighted && item.margin_distance !== undefined) parts.push(`${figure(item.margin_distance / averageBit)} weighted`);
  if (options.scored && item.score !== undefined) parts.push(`score ${figure(item.score)}`);
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

// rankings are the names of the rankings, as a sentence uses them.
export const rankings = { hamming: 'Hamming distance', margins: 'margins', expected: 'the expected code' };

// summary says in a sentence or two what was found, and what ranked it.
export function summary(answer, result, { radius, rerank }) {
  const { hits } = result;
  const time = `${seconds(answer.seconds)} of search among ${plural(answer.items, 'item')}`;
  if (hits.length === 0) return `Nothing was found${radius ? ` within ${plural(radius, 'bit')}` : ''}, in ${time}.`;
  const by = rerank ? '' : `, ranked by ${rankings[answer.rank] ?? answer.rank}`;
  return `${plural(hits.length, 'result')} in ${time}${by}.${rerank ? '' : ties(result)}`;
}

// ties says how many items are as near as the last result. Where bits have weights, as bits of detail do, that is no
// number of bits.
function ties({ hits, tied, tied_hits: shownOnes }) {
  const last = hits.at(-1);
  const weighted = last.margin_distance !== undefined;
  if (tied > shownOnes) {
    if (weighted) return ` ${plural(tied, 'item')} are tied for the last place.`;
    const other = last.distance === 0 ? 'have exactly the same code' : `are tied at ${plural(last.distance, 'bit')}`;
    const by = last.score === undefined ? '' : ', the nearest by their vectors,';
    return ` ${plural(tied, 'item')} ${other}; ${shownOnes} of them${by} ${shownOnes === 1 ? 'is' : 'are'} shown.`;
  }
  return tied > 1 && !weighted ? ` The last ${tied} are tied at ${plural(last.distance, 'bit')}.` : '';
}

// placeholders keep the place of results that are on their way.
export const placeholders = (n) =>
  Array.from({ length: n }, () => el('li', { class: 'hit waiting', 'aria-hidden': 'true' }));

// labelSummary says which labels the results have, the most frequent first: "17 ship, 5 automobile".
export function labelSummary(hits) {
  const counts = new Map();
  for (const { label } of hits) if (label !== undefined) counts.set(label, (counts.get(label) || 0) + 1);
  const labels = [...counts].sort((a, b) => b[1] - a[1]);
  if (labels.length === 0) return null;
  const rest = labels.slice(5).reduce((sum, [, n]) => sum + n, 0);
  return el('p', { class: 'labels-found' },
    labels.slice(0, 5).map(([label, n], i) =>
      [i > 0 && ', ', el('strong', { class: 'number' }, String(n)), ' ', el('span', { dir: 'auto' }, label)]),
    rest > 0 && `, ${rest} of ${plural(labels.length - 5, 'other label')}`);
}

// download gives the person an answer as a file.
export function download(app, answer) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(answer, null, 2)], { type: 'application/json' }));
  el('a', { href: url, download: `${app.collection.name}-results.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
