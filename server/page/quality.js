// The quality of the codes: what training measured on items that it had kept aside, and what the labels of the items say
// now. chart.js draws the curves.

import { el, fill, count, figure, percent, plural } from './dom.js';
import { join } from './filter.js';
import { histogram, curve } from './chart.js';
import { short } from './plane.js';

const first = 15; // classes that are shown at once
const enough = 10; // queries of a class that say something

export function mount(root, app) {
  const body = el('div', { class: 'stack' });
  root.append(body);
  let timer = 0, visible = false;

  async function load() {
    clearTimeout(timer);
    const answer = await app.api('GET', 'quality', null, { full: true });
    if (!visible) return;
    if (answer.status === 202) {
      waiting(answer.body.progress);
      timer = setTimeout(() => load().catch(fail), 700);
      return;
    }
    const q = answer.body;
    fill(body, trained(q), q.live ? live(q.live, app) : card('Measured on the items now', el('p', {}, q.live_reason)), report(q, app));
  }

  function waiting(progress) {
    const bar = body.querySelector('progress');
    if (bar) bar.value = progress;
    else if (!body.querySelector('.card')) {
      fill(body, el('div', { class: 'map-waiting' }, el('p', {}, 'Measuring how well items find others with their label …'),
        el('progress', { 'aria-label': 'Measuring', max: 1, value: progress })));
    }
  }

  const fail = (problem) => fill(body, el('p', { class: 'problem', role: 'alert' }, problem.message));

  return {
    async show() {
      visible = true;
      waiting(0);
      await load().catch(fail);
    },
    hide() {
      visible = false;
      clearTimeout(timer);
    },
  };
}

const card = (title, ...children) => el('section', { class: 'card' }, el('h2', {}, title), children);
const tile = (name, value) => el('div', {}, el('dt', {}, name), el('dd', {}, value));
const three = (x) => (x === undefined || x === null ? '–' : x.toFixed(3));

// trained shows new and learned items side by side.
function trained(q) {
  const { new_items: fresh, learned_items: learned } = q.validation;
  if (!fresh && !learned) {
    return card('Measured by training', el('p', {}, 'Nothing is known from training: the model was learned from all rows, or the collection holds no model.'));
  }
  const rows = [
    ['Mean average precision', (f) => three(f.map), 'how far right items come before wrong ones in the whole order; 1 is perfect'],
    ['Mean average precision by margins', (f) => (f.margins ? three(f.margins.map) : '–'), 'the same when bits of which the query is not sure count little'],
    ['Mean average precision by the expected code', (f) => (f.expected ? three(f.expected.map) : '–'), 'the same when items are compared with the code that the query most likely has'],
    ['Precision of the first 100', (f) => three(f.precision), 'share of right ones among the first 100, or among as many as there are right ones'],
    ['Area under precision and recall', (f) => three(f.pr_area), 'over all distances and queries; 1 is perfect'],
    ['Different codes', (f) => `${count(f.distinct_codes)} of ${count(f.rows)}`, 'few codes for many items mean many ties'],
  ];
  return card('Measured by training', el('p', {}, 'Before it learned, training put some rows aside. They ask as queries; the columns say what they find: ',
    'items that are as new as they are, or items that the model was learned from. An index gets new items, so ', el('strong', {}, 'expect the figures of new items.')),
  fresh && el('dl', { class: 'tiles new-items' }, tile('mean average precision for new items', three(Math.max(fresh.map, fresh.margins?.map ?? 0, fresh.expected?.map ?? 0))), tile('right among the first 100, new items', three(fresh.precision))),
  el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Measured by training' }, el('table', { class: 'quality-table' },
    el('thead', {}, el('tr', {}, el('td', {}), el('th', { scope: 'col', class: 'right' }, 'New items'), el('th', { scope: 'col', class: 'right' }, 'Learned items'))),
    el('tbody', {}, rows.map(([name, value, means]) => el('tr', {}, el('th', { scope: 'row' }, name, el('small', { class: 'muted' }, means)),
      [fresh, learned].map((f, i) => el('td', { class: `right ${i === 0 ? 'strong' : ''}` }, f ? value(f) : '–'))))))));
}

function live(q, app) {
  const right = (x) => `${Math.round(x * q.k * 10) / 10} of ${q.k}`;
  return el('div', { class: 'stack' },
    card('Measured on the items now', el('p', {}, `${plural(q.queries, 'item')} of ${count(q.items)} with a label asked for the items nearest to them, and never found themselves. `,
      `An answer is right when it has the label of the item that asked. Among the first ${q.k} answers, ${right(q.precision)} were right; `,
      `drawn blindly it would be ${right(q.chance)}.`),
    el('dl', { class: 'tiles plain-tiles' }, tile(`right among the first ${q.k}`, percent(q.precision)), tile('mean average precision', three(q.map)),
      tile('right if drawn blindly', percent(q.chance))),
    el('p', { class: 'notice quality-note' }, q.note)),
    el('div', { class: 'split' }, precision(q), distances(q)),
    el('div', { class: 'split' }, classes(q, app), confusions(q, app)));
}

function precision(q) {
  const points = q.precision_at.map((p) => [p.k, p.precision]);
  return card('How many answers are right', el('p', {}, 'Share of right items among the first k answers. A curve that stays high means that one can look far down the list.'),
    curve({ points, level: q.chance, levelName: 'drawn blindly', x: 'k, the number of answers', y: 'share of right answers',
      title: `Share of right answers among the first k: ${points.map(([k, p]) => `${percent(p)} at ${k}`).join(', ')}` }),
    numbers(['k', 'Right'], points.map(([k, p]) => [count(k), percent(p)])));
}

function distances(q) {
  const { same, other } = q.distances;
  const sum = (list) => list.reduce((a, b) => a + b, 0) || 1;
  const mean = (list) => list.reduce((a, n, d) => a + n * d, 0) / sum(list);
  const shares = (list) => list.map((n) => n / sum(list));
  return card('How far apart items are', el('p', {}, `Two items with the same label differ in ${figure(Number(mean(same).toPrecision(3)))} bits on average, two with different labels in `,
    `${figure(Number(mean(other).toPrecision(3)))}. The less the two hills overlap, the better the codes tell labels apart.`),
  histogram({ series: [{ name: 'same label', values: shares(same), color: 0 }, { name: 'different labels', values: shares(other), color: 1 }],
    x: 'bits that differ', y: 'share of pairs', title: `Distances of pairs with the same label, ${figure(Number(mean(same).toPrecision(3)))} bits on average, and with different labels, ${figure(Number(mean(other).toPrecision(3)))} bits` }),
  numbers(['Bits', 'Same label', 'Different labels'], same.map((n, d) => [d, count(n), count(other[d])])));
}

// numbers has the figures of a drawing as a table.
function numbers(heads, rows) {
  return el('details', {}, el('summary', {}, 'As numbers'), el('div', { class: 'scroll quality-numbers', tabindex: 0, role: 'region', 'aria-label': 'As numbers' },
    el('table', {}, el('thead', {}, el('tr', {}, heads.map((h) => el('th', { scope: 'col', class: 'right' }, h)))),
      el('tbody', {}, rows.map((row) => el('tr', {}, row.map((v) => el('td', { class: 'right' }, v))))))));
}

// named links to the items of a label.
const named = (label, app) => el('a', { href: app.link('search', where(label)), dir: 'auto', title: label.length > 60 ? label : null }, short(label, 60));

const where = (label) => ({ where: join([{ name: 'label', values: [label] }]) });

function classes(q, app) {
  const row = (c) => el('tr', {}, el('th', { scope: 'row' }, named(c.label, app)),
    el('td', { class: 'right' }, count(c.items)), el('td', { class: 'right share-cell', style: { '--share': c.precision } }, percent(c.precision)));
  const table = (list, name) => el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': name }, el('table', { class: 'quality-table' }, el('thead', {}, el('tr', {},
    el('th', { scope: 'col' }, 'Label'), el('th', { scope: 'col', class: 'right' }, 'Items'), el('th', { scope: 'col', class: 'right' }, `Right among the first ${q.k}`))),
  el('tbody', {}, list.map(row))));
  const sure = q.classes.filter((c) => c.queries >= enough), few = q.classes.filter((c) => c.queries < enough);
  const shown = (sure.length > 0 ? sure : few).slice(0, first), rest = (sure.length > 0 ? sure : few).slice(first);
  return card('Label by label', el('p', {}, 'The weakest first. A label can be weak because it looks like another, or because few items have it.'),
    table(shown, 'Label by label'), rest.length > 0 && el('details', {}, el('summary', {}, plural(rest.length, 'more label')), table(rest, 'More labels')),
    sure.length > 0 && few.length > 0 && el('details', {}, el('summary', {}, `${plural(few.length, 'label')} with fewer than ${enough} items that asked: too few to tell`),
      table(few, 'Labels with few queries')));
}

function confusions(q, app) {
  const shown = q.confusions.filter((c) => c.share >= 0.0005);
  if (shown.length === 0) return card('What is taken for what', el('p', {}, 'Nothing: (nearly) every answer was right.'));
  const most = shown[0].share;
  return card('What is taken for what', el('p', {}, `Labels among the first ${q.k} answers to items of another label.`),
    el('ol', { class: 'bars' }, shown.map((c) => el('li', { style: { '--share': c.share / most } },
      el('span', { class: 'bar-name' }, named(c.label, app), ' finds ', named(c.found, app)), ' ', el('span', { class: 'number muted' }, percent(c.share))))));
}

function report(q, app) {
  if (!q.report) {
    return el('p', { class: 'muted' }, 'A report that compares this model with others can be shown here: make one with ', el('code', {}, 'hashgrove compare'),
      ' and start the server with it.');
  }
  return el('p', {}, el('a', { href: `/v1/collections/${encodeURIComponent(app.collection.name)}/report`, target: '_blank', rel: 'noopener' }, 'Open the report'),
    ' that compares this model with others.');
}
