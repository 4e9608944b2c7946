// The search. The address says what is asked for: id, vector or code; where, k, radius and rank. Nothing else counts,
// so that a link shows the same thing to everyone and the back button works. Pictures and long vectors do not fit in an
// address: their code stands for them there, and this page remembers what it came from.

import { el, fill, plural } from './dom.js';
import { bar, base64, catchPictures } from './query.js';
import { panel } from './facets.js';
import { filtered } from './filter.js';
import { codeText, parts } from './code.js';
import { card, download, labelSummary, placeholders, summary } from './results.js';

const longest = 1500; // characters of a vector in an address
const defaults = { k: 24 };
const remembered = new Map(); // what a code of the address came from: {vector} or {picture, url}

// queryOf returns the query of an address as the server takes it, or null.
export function queryOf(params) {
  if (params.id !== undefined) return { id: params.id };
  if (params.vector !== undefined) return { vector: params.vector.split(',').map(Number) };
  if (params.code === undefined) return null;
  const { vector, picture } = remembered.get(params.code) || {};
  return vector ? { vector } : picture ? { picture } : { code: params.code };
}

// ordersOf lists how the results of a query can be ordered. Margins and distances of vectors need the vector of the query.
function ordersOf(params, collection) {
  const known =
    params.vector !== undefined || remembered.has(params.code) || (params.id !== undefined && collection.vectors);
  const can = collection.rankings || [];
  const orders = [['', 'auto: what suits the model']];
  if (can.length > 0) orders.push(['hamming', 'Hamming distance']);
  if (known && can.includes('margins')) orders.push(['margins', 'margins: sure bits first']);
  if (can.includes('expected')) orders.push(['expected', 'expected code']);
  if (known && collection.vectors) orders.push(['euclidean', 'vectors of the nearest codes'], ['cosine', 'angles of the nearest codes']);
  return orders;
}

// tiesOf is what orders items at the same distance: their vectors, where both sides have them.
const tiesOf = (params, collection) =>
  collection.vectors && (params.vector !== undefined || params.id !== undefined || remembered.has(params.code))
    ? 'vectors'
    : undefined;

// pictureOf returns the picture that a code of the address came from, if this page knows it.
export const pictureOf = (params) => remembered.get(params.code)?.url;

export function mount(root, app) {
  let params = {},
    request = null,
    visible = false;
  const { model } = app.collection;
  let known = true; // whether the query has a vector, as far as is known
  const bits = app.collection.bits - (app.collection.detail_bits || 0); // of the class

  const go = (changes, options) => app.go('search', { ...params, ...changes }, options);
  const askFor = (query, changes = {}) => go({ id: '', vector: '', code: '', all: '', ...query, ...changes });

  // ask takes what was typed. A long vector goes into the address as its code.
  const ask = async (query) => {
    if (!query.vector) return askFor(query);
    const text = query.vector.join(',');
    if (text.length <= longest) return askFor({ vector: text });
    await askByCode({ vectors: [query.vector] }, { vector: query.vector });
  };
  const askPicture = async (file) => {
    query.fail('');
    const picture = await base64(file);
    await askByCode({ pictures: [picture] }, { picture, url: URL.createObjectURL(file) });
  };
  const askByCode = async (body, origin) => {
    try {
      const code = (await app.api('POST', 'encode', body)).codes[0];
      remembered.set(code, origin);
      await askFor({ code });
    } catch (trouble) {
      query.fail(trouble.message);
    }
  };

  const query = bar(app, { ask, askPicture, clear: () => askFor({}) });
  const filter = panel(app, (where) => go({ where }));
  const k = slider('How many results', 1, 100, (value) =>
    go({ k: value === defaults.k ? '' : value }, { replace: true }),
  );
  const radius = slider(
    'Bits that may differ',
    0,
    bits,
    (value) => go({ radius: value === bits ? '' : value }, { replace: true }),
    (value) => (value === bits ? 'any' : String(value)),
  );
  const rank = el('select', { id: 'rank', onchange: () => go({ rank: rank.value }) });
  const order = el('label', { class: 'field' }, 'Rank by', rank);
  const about = el('div', { class: 'about-query' });
  const headline = el('h2', { class: 'found', tabindex: -1 });
  const said = el('p', { class: 'muted said', role: 'status' });
  const labels = el('div', {}); // among the results
  const list = el('ol', { class: 'hits' });
  const more = el('div', { class: 'more' });
  const side = el(
    'details',
    { class: 'side' },
    el('summary', {}, 'Filter and options'),
    el('div', { class: 'side-body' }, el('div', { class: 'options' }, k.root, radius.root, order), filter.root),
  );
  side.open = matchMedia('(min-width: 60rem)').matches;
  root.append(
    query.root,
    el(
      'div',
      { class: 'search-columns' },
      side,
      el('div', { class: 'found-column' }, about, headline, said, labels, list, more),
    ),
  );
  catchPictures(app, () => visible && root.isConnected, askPicture);

  const options = () => ({
    k: within(params.k, 1, app.server.limits.k) ?? defaults.k,
    radius: within(params.radius, 0, bits),
    where: params.where,
    rank: ['hamming', 'margins', 'expected'].includes(params.rank) ? params.rank : undefined,
    ...(['euclidean', 'cosine'].includes(params.rank)
      ? { rerank: params.rank }
      : { ties: known && tiesOf(params, app.collection) }),
  });

  async function show(next) {
    params = next;
    visible = true;
    request?.abort();
    request = new AbortController();
    const { signal } = request;
    query.set(params);
    k.set(options().k);
    radius.set(options().radius ?? bits);
    const orders = ordersOf(params, app.collection);
    order.hidden = orders.length < 2;
    fill(
      rank,
      orders.map(([value, text]) => el('option', { value }, text)),
    );
    rank.value = orders.some(([value]) => value === params.rank) ? params.rank : '';
    root.classList.toggle('browsing', !queryOf(params));
    root.setAttribute('aria-busy', 'true');
    const counted = filter.set(params.where || '', signal);
    try {
      await (queryOf(params) ? find(signal) : browse(signal));
      await counted;
    } catch (trouble) {
      if (trouble.name === 'AbortError') return;
      fill(list);
      fill(more);
      fill(about); // of the query before
      fill(labels);
      if (trouble.status === 404 && params.id !== undefined && (await alike(params.id, signal))) return;
      if (queryOf(params)) headline.textContent = 'Nothing to show';
      said.textContent = (await counted) ? trouble.message : 'The filter is not understood.';
    }
    if (!signal.aborted) root.removeAttribute('aria-busy');
  }

  // searchNow searches; where the item of the query turns out to have no vector, ties go by id.
  async function searchNow(signal) {
    known = true;
    try {
      return await app.api('POST', 'search', { ...queryOf(params), ...options() }, { signal });
    } catch (trouble) {
      if (!options().ties || trouble.code !== 'no_vector') throw trouble;
      known = false;
      return app.api('POST', 'search', { ...queryOf(params), ...options() }, { signal });
    }
  }

  async function find(signal) {
    if (list.children.length === 0) fill(list, placeholders(options().k));
    const answer = await searchNow(signal);
    const result = answer.results[0];
    fill(labels, labelSummary(result.hits));
    describeQuery(result);
    headline.textContent = params.id !== undefined ? `Nearest to item ${params.id}` : 'Nearest items';
    said.textContent = summary(answer, result, options());
    const { id, vector, code, ...rest } = params;
    fill(
      list,
      result.hits.map((hit) =>
        card(app, hit, {
          distance: hit.distance,
          parts: parts(app.collection),
          scored: options().rerank !== undefined,
          weighted: options().rank !== undefined && options().rank !== 'hamming',
          self: id !== undefined && String(hit.id) === id,
          same: result.label !== undefined && hit.label === result.label,
          href: app.link('search', { ...rest, id: hit.id }),
          why: model && app.link('why', { id, vector, code, item: hit.id }),
        }),
      ),
    );
    fill(more, el('button', { type: 'button', class: 'quiet', onclick: () => download(app, answer) }, 'Download as JSON'));
  }

  function describeQuery(result) {
    const url = pictureOf(params);
    const picture =
      params.id !== undefined
        ? app.thumb(params.id, 96)
        : url && el('img', { src: url, alt: 'Your picture', class: 'thumb', width: 96, height: 96 });
    fill(
      about,
      picture,
      el(
        'p',
        {},
        result.label !== undefined && el('strong', { dir: 'auto' }, result.label, ' '),
        codeText(result.code, app.collection),
      ),
    );
  }

  // alike shows the items with what was typed in their id, label, tag or attribute, if there are any.
  async function alike(text, signal) {
    const page = new URLSearchParams({ contains: text, limit: 48 });
    const answer = await app.api('GET', `items?${page}`, null, { signal }).catch(() => ({ total: 0 }));
    if (answer.total === 0 || signal.aborted) return false;
    headline.textContent = `No item has the id ${text}`;
    const shown = answer.total > answer.items.length ? ` The first ${answer.items.length} are shown.` : '';
    said.textContent = `${plural(answer.total, 'item has', 'items have')} it in the id, label, a tag or an attribute.${shown}`;
    fill(list, answer.items.map((item) => card(app, item, { href: app.link('search', { ...params, id: item.id }) })));
    root.removeAttribute('aria-busy');
    return true;
  }

  // sample shows items spread over the collection, for people who do not know yet what to ask, and proposes one.
  async function sample(signal) {
    if (list.children.length === 0) fill(list, placeholders(48));
    const page = filtered(params.where, { limit: 48, sample: true });
    const answer = await app.api('GET', `items?${page}`, null, { signal });
    const items = answer.items.map((_, i) => answer.items[(i * 29) % answer.items.length]); // 29 has no factor of 48
    const mixed = answer.items.length === 48 ? items : answer.items;
    fill(about);
    fill(labels);
    headline.textContent = 'Pick an item to find others like it';
    const first = mixed[0];
    fill(
      said,
      first ? `${plural(answer.total, 'item')}, of which ${plural(mixed.length, 'item is', 'items are')} shown. ` : 'No item matches.',
      first && el('a', { class: 'suggested', href: app.link('search', { ...params, id: first.id }) }, `Try ${first.label ?? 'item'} ${first.id}`),
    );
    fill(list, mixed.map((item) => card(app, item, { href: app.link('search', { ...params, id: item.id }) })));
    fill(
      more,
      answer.total > mixed.length &&
        el('button', { type: 'button', id: 'show-all', onclick: () => go({ all: 1 }) }, 'Show all, in the order of their ids'),
    );
  }

  // browse shows items in the order of their ids.
  async function browse(signal, after) {
    if (params.all === undefined) return sample(signal);
    const page = filtered(params.where, { limit: 48 });
    if (after !== undefined) page.set('after', after);
    else if (list.children.length === 0) fill(list, placeholders(48));
    const answer = await app.api('GET', `items?${page}`, null, { signal });
    fill(about);
    fill(labels);
    headline.textContent = 'Pick an item to find others like it';
    said.textContent =
      answer.total === 0 ? 'No item matches.' : `${plural(answer.total, 'item')}, in the order of their ids.`;
    const cards = answer.items.map((item) =>
      card(app, item, { href: app.link('search', { ...params, id: item.id }) }),
    );
    if (after === undefined) fill(list, cards);
    else list.append(...cards);
    fill(
      more,
      answer.next !== undefined &&
        el(
          'button',
          {
            type: 'button',
            onclick: async (event) => {
              event.target.disabled = true;
              await browse(signal, answer.next).catch((trouble) => app.status(trouble.message));
              cards.at(-1)?.nextElementSibling?.querySelector('a')?.focus();
            },
          },
          'Show more',
        ),
    );
  }

  return {
    show,
    hide: () => {
      visible = false;
      request?.abort();
      root.removeAttribute('aria-busy'); // the aborted request leaves it
    },
  };
}

// within reads a whole number of the address, or undefined where it is none or out of range.
function within(text, low, high) {
  const n = Number(text ?? NaN);
  return Number.isInteger(n) && n >= low && n <= high ? n : undefined;
}

// slider makes a range with its value beside it. It asks for an answer a moment after the last movement.
function slider(title, min, max, change, text = String) {
  const output = el('output', { class: 'number' });
  let timer = 0;
  const input = el('input', {
    type: 'range',
    min,
    max,
    step: 1,
    oninput: () => {
      output.textContent = text(Number(input.value));
      clearTimeout(timer);
      timer = setTimeout(() => change(Number(input.value)), 150);
    },
  });
  const set = (value) => {
    if (document.activeElement !== input) input.value = value;
    output.textContent = text(Number(value));
    input.setAttribute('aria-valuetext', text(Number(value)));
  };
  return {
    root: el('label', { class: 'field slider' }, el('span', { class: 'slider-title' }, title, ' ', output), input),
    set,
  };
}
