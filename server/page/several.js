// Several queries at once: pictures, npy files, or files with a vector on each line. Each has its own list of results; this is the
// list of them, with the labels that each one found.

import { el, fill, plural } from './dom.js';
import { vectorsOfNpy } from './npy.js';
import { base64 } from './query.js';
import { labelSummary, save } from './share.js';

const most = 50; // queries that are searched at once

// vectorsOf reads a text with the numbers of a vector on each line. A first line without numbers is a header; any other
// line that is no vector of the right length is named.
export function vectorsOf(name, text, dims) {
  const lines = text.split(/\r?\n/).map((line, at) => ({ line: line.trim(), at: at + 1 }));
  const filled = lines.filter(({ line }) => line);
  const fields = ({ line }) => line.replace(/^\[|\]$/g, '').split(/\s*[,;\t]\s*|\s+/);
  const isNumber = (field) => field !== '' && Number.isFinite(Number(field));
  if (filled.length > 1 && !fields(filled[0]).some(isNumber)) filled.shift();
  if (filled.length === 0) return [{ name, problem: 'holds no vector' }];
  return filled.map((row) => {
    const list = fields(row), title = lines.length > 1 ? `${name}, line ${row.at}` : name;
    const wrong = list.findIndex((field) => !isNumber(field));
    if (wrong >= 0) return { name: title, problem: `value ${wrong + 1} is no number` };
    if (list.length !== dims)
      return { name: title, problem: `has ${plural(list.length, 'number')}, the model takes ${dims}` };
    return { name: title, query: { vector: list.map(Number) } };
  });
}

// queriesOf reads files: [{name, query, url}] or [{name, problem}].
async function queriesOf(files, { takes, dims }, limit) {
  const all = [];
  for (const file of files) {
    if (file.size > limit) all.push({ name: file.name, problem: 'is larger than the server takes' });
    else if (takes === 'vectors' && /\.npy$/i.test(file.name))
      all.push(...vectorsOfNpy(file.name, await file.arrayBuffer(), dims));
    else if (takes === 'vectors') all.push(...vectorsOf(file.name, await file.text(), dims));
    else all.push({ name: file.name, query: { picture: await base64(file) }, url: URL.createObjectURL(file) });
  }
  return all;
}

// several makes the list. options() are those of the search, choose(code, origin) shows the results of one query.
export function several(app, { options, choose }) {
  const root = el('section', { class: 'several', 'aria-label': 'Your files', hidden: true });
  let entries = [], left = 0, asked = '', turn = 0, current = {};

  async function ask(files) {
    for (const { url } of entries) if (url) URL.revokeObjectURL(url);
    const all = await queriesOf(files, app.collection, app.server.limits.body_bytes);
    entries = all.slice(0, most);
    left = all.length - entries.length;
    const first = await search();
    if (first) await show(first);
    else draw();
  }

  // search asks for the results of all queries, one by one, so that a broken one spoils no other.
  async function search() {
    const now = ++turn;
    asked = JSON.stringify(options());
    let first = null;
    for (const entry of entries) {
      if (!entry.query) continue;
      try {
        const answer = await app.api('POST', 'search', { ...entry.query, ...options() });
        if (now !== turn) return null; // others have been asked for meanwhile
        [entry.result] = answer.results;
        entry.code ||= entry.result.code;
        entry.problem = undefined;
        first ||= entry;
      } catch (trouble) {
        entry.problem = trouble.message;
      }
    }
    return first;
  }

  const show = (entry) => {
    current = entry;
    return choose(entry.code, { ...entry.query, url: entry.url });
  };

  function draw() {
    const good = entries.filter((e) => e.result).length;
    root.hidden = entries.length === 0;
    fill(
      root,
      el('h2', {}, `Your files: ${plural(good, 'search', 'searches')}`),
      left > 0 &&
        el('p', { class: 'problem' }, `The first ${most} are searched, ${plural(left, 'more is', 'more are')} not.`),
      el('ol', { class: 'several-list', tabindex: 0, 'aria-label': 'Searches' }, entries.map(row)),
      good > 0 && el('button', { type: 'button', class: 'quiet', onclick: download }, 'Download all results as JSON'),
    );
  }

  const row = (entry) =>
    el(
      'li',
      {},
      entry.url && entry.result && el('img', { src: entry.url, alt: '', class: 'thumb', width: 48, height: 48 }),
      el(
        'div',
        {},
        entry.result && !entry.problem
          ? el(
              'button',
              { type: 'button', dir: 'auto', 'aria-pressed': String(entry === current), onclick: () => show(entry) },
              entry.name,
            )
          : el('strong', { dir: 'auto' }, entry.name),
        entry.problem
          ? el('p', { class: 'problem' }, entry.problem)
          : entry.result &&
            (labelSummary(entry.result.hits) || el('p', {}, plural(entry.result.hits.length, 'result'))),
      ),
    );

  function download() {
    const results = entries.map(({ name, problem, result }) => ({ name, problem, ...result }));
    save(`${app.collection.name}-results.json`, 'application/json', JSON.stringify({ results }, null, 2));
  }

  return {
    root,
    ask,
    // set follows the address: the list is there while one of its queries is.
    async set({ code }) {
      if (code === undefined || !entries.some((e) => e.code === code)) {
        root.hidden = true;
        return;
      }
      if (current.code !== code) current = entries.find((e) => e.code === code);
      draw();
      if (asked === JSON.stringify(options())) return;
      await search();
      if (!root.hidden) draw();
    },
  };
}
