// How a training went: what the codes are worth beside sign codes and float search.

import { request } from './api.js';
import { el, bytes, figure, percent, plural, seconds } from './dom.js';

const width = (n) => (n < 1000 ? plural(n, 'byte') : bytes(n));

export function comparison(app, job, { again, remove, use }) {
  const r = job.result;
  const main = r.rows.filter((row) => row.main);
  return [
    el(
      'section',
      { class: 'card stack' },
      el(
        'div',
        {},
        el('h2', { dir: 'auto', tabindex: -1 }, `${job.name} is ready`),
        el('p', { class: 'verdict' }, r.summary),
        job.message && el('p', { class: 'notice' }, job.message),
      ),
      el(
        'p',
        { class: 'row' },
        el(
          'button',
          { type: 'button', class: 'main', onclick: () => app.go('search', { c: job.collection, job: '' }) },
          'Search it',
        ),
        el('button', { type: 'button', onclick: again }, 'Train it differently'),
        el('button', { type: 'button', onclick: () => keep(app, job) }, 'Download index and model'),
        el('button', { type: 'button', onclick: () => keepModel(app, job) }, 'Download model'),
        el('a', { href: `/v1/collections/${job.collection}/report`, target: '_blank', rel: 'noopener' }, 'Report'),
        el('button', { type: 'button', class: 'danger', onclick: remove }, 'Remove it'),
      ),
      el('p', { class: 'problem', role: 'alert' }),
      bars(main, r),
    ),
    el('section', { class: 'card' }, el('h2', {}, 'In numbers'), table(r, use)),
    el(
      'section',
      { class: 'card' },
      el('h2', {}, 'Advice'),
      el(
        'ul',
        {},
        r.advice.map((text) => el('li', {}, text)),
      ),
      r.warnings.length > 0 &&
        el(
          'details',
          {},
          el('summary', {}, plural(r.warnings.length, 'doubt about the data', 'doubts about the data')),
          el(
            'ul',
            {},
            r.warnings.map((text) => el('li', {}, text)),
          ),
        ),
    ),
  ];
}

// keep saves the index, which holds the model, so that "hashgrove serve FILE" goes on with it.
async function keep(app, job) {
  try {
    await saveAs(`/v1/collections/${job.collection}/backup`, `${job.name.replace(/\.[^.]*$/, '')}.hgi`);
    app.status('Saved. "hashgrove serve FILE" searches it, and "hashgrove info FILE" tells about its model.');
  } catch (trouble) {
    app.status(trouble.message);
  }
}

// keepModel saves the model alone, for encoding and for indexes of other data.
async function keepModel(app, job) {
  try {
    await saveAs(`/v1/try/${job.id}/files/model.hgm`, `${job.name.replace(/\.[^.]*$/, '')}.hgm`);
    app.status('Saved. "hashgrove encode" and "hashgrove index build" take it as -m FILE.');
  } catch (trouble) {
    app.status(trouble.message);
  }
}

async function saveAs(path, name) {
  const answer = await request('GET', path, null, { raw: true });
  const url = URL.createObjectURL(await answer.blob());
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// bars draws the share of right answers: in items that nothing was learned from, and below it in those that were.
function bars(rows, r) {
  const bar = (kind, share, row) =>
    el(
      'span',
      { class: `share ${kind}`, style: { '--share': share } },
      el('span', { class: 'hidden' }, `${row.method}, ${kind === 'new' ? 'new items' : 'learned items'}: `),
      el('span', { class: 'number' }, percent(share)),
    );
  return el(
    'figure',
    { class: 'compared' },
    el('figcaption', {}, `Right answers among the first ${r.data.depth}`),
    el(
      'ul',
      {},
      rows.map((row) =>
        el(
          'li',
          {},
          el('span', { class: 'share-name' }, row.method, el('span', { class: 'muted' }, ` ${width(row.bytes)}`)),
          bar('new', row.precision, row),
          bar('learned', row.learned_precision, row),
        ),
      ),
    ),
    el(
      'p',
      { class: 'legend muted small', 'aria-hidden': 'true' },
      el(
        'span',
        {},
        el('span', { class: 'key new' }),
        `in ${plural(r.data.new, 'new item')}, which nothing was learned from`,
      ),
      el('span', {}, el('span', { class: 'key learned' }), `in ${plural(r.data.learned, 'learned item')}`),
    ),
  );
}

function table(r, use) {
  const head = [
    'Method',
    'Bits',
    'An item takes',
    'Right, new',
    'MAP, new',
    'Right, learned',
    'MAP, learned',
    'Training',
    'Encoding',
    'A search',
  ];
  const time = (s) => (s >= 1e-6 ? seconds(s) : s > 0 ? '< 1 µs' : '–');
  const cells = (row) => [
    row.bits,
    width(row.bytes),
    percent(row.precision),
    figure(Number(row.map.toFixed(3))),
    percent(row.learned_precision),
    figure(Number(row.learned_map.toFixed(3))),
    time(row.train_seconds),
    time(row.encode_microseconds / 1e6),
    time(row.search_microseconds / 1e6),
  ];
  return [
    el(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The comparison in numbers' },
      el(
        'table',
        { class: 'unbroken' },
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            head.map((h, i) => el('th', { scope: 'col', class: i ? 'right' : '' }, h)),
          ),
        ),
        el(
          'tbody',
          {},
          r.rows.map((row) =>
            el(
              'tr',
              { class: row.main ? 'main-row' : '' },
              el(
                'th',
                { scope: 'row' },
                row.method,
                row.searched && el('small', { class: 'muted' }, ' searched'),
                row.name &&
                  !row.searched &&
                  el('button', { type: 'button', class: 'quiet small', onclick: () => use(row.name), 'aria-label': `Search these codes of ${row.method}` }, 'Search these'),
              ),
              cells(row).map((c) => el('td', { class: 'right' }, c)),
            ),
          ),
        ),
      ),
    ),
    el(
      'p',
      { class: 'muted small' },
      `${plural(r.data.queries, 'query', 'queries')} that nothing was learned from searched in `,
      `${plural(r.data.new, 'new item')}, and for comparison in the ${plural(r.data.learned, 'item')} that the `,
      'methods learned from. An answer is right if it has the class of the query; counted are the first ',
      `${r.data.depth}, or as many as there are right ones. MAP looks at the whole ranking; 1 is perfect. `,
      'The new items tell what to expect of items that come later.',
    ),
  ];
}
