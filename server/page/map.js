// The map: all distinct codes as points in the plane, near ones close to each other. A click searches.

import { el, svg, fill, count, percent, plural, seconds } from './dom.js';
import { styleOf, shapes, outline } from './marks.js';
import { none, plane, points, surroundings, short } from './plane.js';

const listed = 100; // labels of the legend
const tabled = 50; // labels of the table

export function mount(root, app) {
  const stage = el('div', { class: 'map-stage' });
  root.append(stage);
  let shown = null, timer = 0, visible = false, wanted = '';

  // load asks for the map until it is made.
  async function load() {
    clearTimeout(timer);
    const answer = await app.api('GET', 'map', null, { full: true });
    if (!visible) return;
    if (answer.status === 202) {
      waiting(answer.body.progress);
      timer = setTimeout(() => load().catch(fail), 700);
      return;
    }
    if (answer.body.points === 0) {
      fill(stage, el('p', { class: 'notice' }, 'This collection has no items yet, so there is nothing to draw.'));
      return;
    }
    shown = draw(stage, app, answer.body);
    shown.show(wanted);
  }

  function waiting(progress) {
    const bar = stage.querySelector('progress');
    if (bar) {
      bar.value = progress;
      return;
    }
    fill(stage, el('div', { class: 'map-waiting' }, el('p', {}, 'Drawing the map. This is done once, and takes a few seconds for many items.'),
      el('progress', { 'aria-label': 'Drawing the map', max: 1, value: progress })));
  }

  function fail(problem) {
    fill(stage, el('p', { class: 'problem', role: 'alert' }, problem.message));
  }

  return {
    async show(params) {
      visible = true;
      wanted = params.id ?? '';
      // The server makes a new map when more than a hundredth of the items has changed.
      if (shown && Math.abs(shown.items - app.collection.items) <= app.collection.items / 100) return shown.show(wanted);
      shown?.hide();
      shown = null;
      waiting(0);
      await load().catch(fail);
    },
    hide() {
      visible = false;
      clearTimeout(timer);
      shown?.hide();
    },
  };
}

// nameOf is the label of a point in words.
const nameOf = (p, i) => (p.label[i] === none ? 'no label' : p.labels[p.label[i]]);

function draw(stage, app, answer) {
  const p = points(answer);
  const state = { hidden: new Set(), bright: null, chosen: -1, names: true, cross: false };
  const canvas = el('canvas', { class: 'map-canvas', tabindex: 0, role: 'application', 'aria-describedby': 'map-help',
    'aria-label': `Map of ${plural(p.n, 'code')}` });
  const drawing = plane(canvas, p, state, app.color);
  const card = el('div', { class: 'map-card', hidden: true });
  const frame = el('div', { class: 'map-frame' }, canvas, card, buttons(drawing));
  const legend = legendOf(p, state, () => drawing.redraw());
  const said = el('p', { class: 'hidden', 'aria-live': 'polite' });
  fill(stage, el('p', { class: 'map-about' }, about(answer, p)),
    el('div', { class: 'map-columns' }, frame, legend), said,
    el('p', { class: 'muted small', id: 'map-help' }, 'Drag to move, turn the wheel or pinch to zoom, click a point to search with it. ',
      'With the keyboard: arrow keys move, + and − zoom, 0 shows everything, Enter searches with the point at the cross.'),
    asTable(p));
  handle(canvas, card, said, { app, p, state, drawing });
  const sized = new ResizeObserver(() => drawing.resize());
  sized.observe(canvas);
  const recolour = () => drawing.colors();
  return {
    items: answer.items,
    show(id) {
      document.addEventListener('themechange', recolour);
      drawing.resize();
      recolour();
      const at = id === '' ? -1 : p.ids.findIndex((other) => String(other) === id);
      if (at >= 0) {
        state.chosen = at;
        drawing.centre(at, Math.max(4, drawing.zoom()));
      }
    },
    hide() {
      document.removeEventListener('themechange', recolour);
      drawing.stop();
    },
  };
}

function about(answer, p) {
  const text = `${plural(answer.items, 'item')} with ${plural(p.n, 'different code')}${answer.sampled ? ', a sample of all' : ''}. `;
  return [text, 'Points that lie close together have codes that differ in few bits; a larger mark stands for more items with the same code. ',
    el('span', { class: 'muted' }, `Directions and distances across empty space mean little. Made in ${seconds(answer.seconds)}.`)];
}

function buttons(drawing) {
  const button = (text, title, action) => el('button', { type: 'button', title, 'aria-label': title, onclick: action }, text);
  return el('div', { class: 'map-buttons', role: 'group', 'aria-label': 'Zoom' }, button('+', 'Zoom in', () => drawing.zoomBy(1.6)),
    button('−', 'Zoom out', () => drawing.zoomBy(1 / 1.6)), button('⤢', 'Show everything', () => drawing.reset()));
}

// swatch draws the mark of a label.
function swatch(label) {
  const style = label === none ? null : styleOf(label);
  return svg('svg', { viewBox: '0 0 16 16', width: 14, height: 14, 'aria-hidden': 'true', class: `swatch swatch-${style ? style.color : 'none'}` },
    svg('path', { d: outline[style ? shapes[style.shape] : 'disc'], 'fill-rule': 'evenodd' }));
}

// itemsOf counts items and points by label, the label of most items first.
function itemsOf(p) {
  const sums = new Map();
  for (let i = 0; i < p.n; i++) {
    const sum = sums.get(p.label[i]) || { label: p.label[i], items: 0, points: 0 };
    sum.items += p.count[i];
    sum.points++;
    sums.set(p.label[i], sum);
  }
  return [...sums.values()].sort((a, b) => (a.label === none) - (b.label === none) || b.items - a.items || a.label - b.label);
}

function legendOf(p, state, changed) {
  const sums = itemsOf(p);
  const name = (label) => (label === none ? 'no label' : p.labels[label]);
  const brights = [];
  const rows = sums.slice(0, listed).map(({ label, items }) => {
    const bright = el('button', { type: 'button', class: 'legend-name', 'aria-pressed': 'false', title: `Highlight ${name(label)}`, onclick: () => {
      state.bright = state.bright === label ? null : label;
      show.checked = true;
      state.hidden.delete(label);
      update();
    } }, swatch(label), el('span', { class: 'legend-text', dir: 'auto' }, name(label)), ' ', el('span', { class: 'number muted' }, count(items)));
    const show = el('input', { type: 'checkbox', checked: true, 'aria-label': `Show ${name(label)}`, onchange: () => {
      if (show.checked) state.hidden.delete(label);
      else state.hidden.add(label);
      if (!show.checked && state.bright === label) state.bright = null;
      update();
    } });
    brights.push([label, bright, show]);
    return el('li', {}, show, bright);
  });
  const update = () => {
    for (const [label, bright] of brights) bright.setAttribute('aria-pressed', state.bright === label);
    all.disabled = state.bright === null && state.hidden.size === 0;
    changed();
  };
  const all = el('button', { type: 'button', disabled: true, onclick: () => {
    state.bright = null;
    state.hidden.clear();
    for (const [, , show] of brights) show.checked = true;
    update();
  } }, 'Show all');
  const names = el('label', { class: 'legend-names' }, el('input', { type: 'checkbox', checked: true, onchange: (event) => {
    state.names = event.target.checked;
    changed();
  } }), ' Names on the map');
  return el('section', { class: 'map-legend', 'aria-label': 'Labels' }, el('h2', {}, 'Labels'),
    el('p', { class: 'muted small' }, 'Choose one to highlight it; untick one to hide it. A code that several labels share counts for the most frequent of them.'),
    el('ul', { class: 'legend-list', tabindex: 0, 'aria-label': 'Labels and their items' }, rows),
    sums.length > listed && el('p', { class: 'muted small' }, `and ${plural(sums.length - listed, 'more label', 'more labels')}`),
    el('div', { class: 'row' }, all, names));
}

// handle lets people move, zoom and choose.
function handle(canvas, card, said, { app, p, state, drawing }) {
  const fingers = new Map(); // pointers that are down, by id
  let travelled = 0, reading = 0;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const search = (i) => app.go('search', { id: p.ids[i] });

  // choose shows what a point is; aloud also for screen readers.
  function choose(i, aloud = false) {
    if (i !== state.chosen) {
      state.chosen = i;
      drawing.redraw();
      describe(i);
    }
    if (i >= 0) position(i);
    clearTimeout(reading);
    if (aloud && i >= 0) reading = setTimeout(() => { said.textContent = `${nameOf(p, i)}, item ${p.ids[i]}, ${plural(p.count[i], 'item')} with this code`; }, 250);
  }

  function describe(i) {
    card.hidden = i < 0;
    if (i < 0) return;
    fill(card, app.thumb(p.ids[i], 64), el('div', {}, el('strong', { dir: 'auto' }, swatch(p.label[i]), ' ', short(nameOf(p, i), 60)),
      el('div', { dir: 'auto' }, `item ${short(String(p.ids[i]), 40)}`),
      p.count[i] > 1 && el('div', { class: 'muted' }, `and ${plural(p.count[i] - 1, 'more item')} with the same code`),
      el('a', { href: app.link('search', { id: p.ids[i] }), class: 'map-card-link' }, 'Search with it')));
  }

  // position puts the card beside the point, or below or above it where there is no room.
  function position(i) {
    const [x, y] = drawing.screen(i), box = canvas.getBoundingClientRect(), gap = drawing.radius(i) + 10;
    const w = card.offsetWidth, h = card.offsetHeight, clamp = (v, most) => Math.round(Math.max(4, Math.min(v, most - 4)));
    let left = x + gap, top = y - 20;
    if (left + w > box.width) left = x - gap - w;
    if (left < 0) [left, top] = [x - w / 2, y + gap + h < box.height ? y + gap : y - gap - h];
    card.style.transform = `translate(${clamp(left, box.width - w)}px, ${clamp(top, box.height - h)}px)`;
  }

  const quiet = () => { state.cross = false; };
  const moved = () => {
    choose(state.cross ? drawing.middle() : -1, state.cross);
    drawing.redraw();
  };

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button > 0) return;
    quiet();
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    if (fingers.size === 1) travelled = 0;
  });
  canvas.addEventListener('pointermove', (event) => {
    const now = place(event), before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === 'mouse') choose(drawing.at(...now));
      return;
    }
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    if (others.length > 0) { // two fingers: the place between them moves with them, and their distance zooms
      const [other] = others, length = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
      drawing.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      drawing.zoomBy(length(now) / Math.max(1, length(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else {
      travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (travelled > 4) drawing.pan(now[0] - before[0], now[1] - before[1]);
    }
    if (travelled > 4 || others.length > 0) choose(-1);
    if (others.length > 0) travelled += 10;
    fingers.set(event.pointerId, now);
  });
  const up = (event) => {
    if (!fingers.delete(event.pointerId) || event.type !== 'pointerup' || travelled > 4) return;
    const i = drawing.at(...place(event), event.pointerType === 'mouse' ? 14 : 24);
    if (i >= 0 && event.pointerType === 'mouse') search(i);
    else choose(i); // a finger hides what is under it: the card has a link
  };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse' && !card.matches(':hover') && !card.contains(event.relatedTarget) && !state.cross) choose(-1);
  });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    quiet();
    const lines = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 300 : 1;
    drawing.zoomBy(Math.exp(-Math.max(-300, Math.min(300, event.deltaY * lines)) / 400), ...place(event));
    choose(-1);
  }, { passive: false });
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? 20 : 60;
    const actions = { ArrowLeft: () => drawing.pan(step, 0), ArrowRight: () => drawing.pan(-step, 0), ArrowUp: () => drawing.pan(0, step),
      ArrowDown: () => drawing.pan(0, -step), '+': () => drawing.zoomBy(1.4), '=': () => drawing.zoomBy(1.4), '-': () => drawing.zoomBy(1 / 1.4),
      0: () => drawing.reset(), Enter: () => state.chosen >= 0 && search(state.chosen), Escape: quiet };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    state.cross = event.key !== 'Escape';
    action();
    moved();
  });
  canvas.addEventListener('focus', () => {
    if (!canvas.matches(':focus-visible')) return;
    state.cross = true;
    moved();
  });
  canvas.addEventListener('blur', () => {
    quiet();
    drawing.redraw();
  });
}

// asTable says what the map shows: which labels there are, and which lie among each other.
function asTable(p) {
  const table = el('div', {});
  const details = el('details', { class: 'map-table', ontoggle: () => details.open && !table.firstChild && fill(table, tableOf(p)) },
    el('summary', {}, 'The map as a table'), table);
  return details;
}

function tableOf(p) {
  const of = new Map(); // some points of each label
  for (let at = 0; at < p.n; at++) {
    const i = (at * 7919) % p.n; // spread over all points; 7919 is a prime
    const list = of.get(p.label[i]) || [];
    if (list.length < 200) of.set(p.label[i], [...list, i]);
  }
  const name = (label) => (label === none ? 'no label' : p.labels[label]);
  const rows = itemsOf(p).slice(0, tabled).map(({ label, items, points }) => {
    const found = new Map();
    let all = 0;
    for (const i of of.get(label) || []) {
      for (const j of surroundings(p, i, 8)) {
        found.set(p.label[j], (found.get(p.label[j]) || 0) + 1);
        all++;
      }
    }
    const own = found.get(label) || 0;
    const others = [...found].filter(([other]) => other !== label).sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 3);
    return el('tr', {}, el('th', { scope: 'row', dir: 'auto' }, swatch(label), ' ', short(name(label), 60)), el('td', { class: 'right' }, count(items)),
      el('td', { class: 'right' }, count(points)), el('td', { class: 'right' }, all ? percent(own / all) : '–'),
      el('td', { dir: 'auto' }, others.map(([other, n]) => `${short(name(other), 40)} ${percent(n / all)}`).join(', ') || 'none'));
  });
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The map as a table' }, el('table', {},
    el('caption', {}, 'Labels of most items first. Neighbours are the eight points nearest to each of up to 200 points of a label on the map.'),
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Label'), el('th', { scope: 'col', class: 'right' }, 'Items'),
      el('th', { scope: 'col', class: 'right' }, 'Codes'), el('th', { scope: 'col', class: 'right' }, 'Neighbours with this label'),
      el('th', { scope: 'col' }, 'Other neighbours'))), el('tbody', {}, rows)));
}
