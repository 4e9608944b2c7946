// The map: all distinct codes as points in the plane, near ones close to each other. A click searches.

import { el, svg, fill, count, plural, seconds } from './dom.js';

const none = 0xffff; // the label of points without one
const listed = 100; // labels of the legend

export function mount(root, app) {
  const stage = el('div', { class: 'map-stage' });
  root.append(stage);
  let shown = null, visible = false;
  return {
    async show(params) {
      visible = true;
      const wanted = params.id ?? '';
      // The server makes a new map when more than a hundredth of the items has changed.
      if (shown && Math.abs(shown.items - app.collection.items) <= app.collection.items / 100) return shown.show(wanted);
      shown?.hide();
      fill(stage, el('p', { class: 'notice' }, 'One moment …'));
      try {
        const map = await app.api('GET', 'map');
        if (!visible) return;
        if (map.points === 0) return fill(stage, el('p', { class: 'notice' }, 'This collection has no items yet, so there is nothing to draw.'));
        shown = draw(stage, app, map);
        shown.show(wanted);
      } catch (trouble) {
        fill(stage, el('p', { class: 'problem', role: 'alert' }, trouble.message));
      }
    },
    hide() {
      visible = false;
      shown?.hide();
    },
  };
}

// points decodes the answer of the server: x and y from 0 to 1, the label and the number of items of each point.
function points(answer) {
  const data = (text, Kind) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const xy = Float32Array.from(data(answer.xy, Uint16Array), (v, i) => (i % 2 ? 1 - v / 0xffff : v / 0xffff));
  return { n: answer.points, xy, label: data(answer.label, Uint16Array), count: data(answer.count, Uint32Array),
    ids: answer.ids, labels: answer.labels };
}

const short = (text, length) => (text.length > length ? text.slice(0, length - 1) + '…' : text);
const nameOf = (p, label) => (label === none ? 'no label' : p.labels[label]);

// A label has one of twelve colours and one of three shapes, so that colour alone does not decide.
const colorOf = (label) => (label === none ? '--strong-line' : `--c${label % 12}`);
const shapeOf = (label) => (label === none ? 0 : (label + Math.floor(label / 12)) % 3);

// trace adds a mark to a path: a disc, a square or a triangle.
function trace(path, shape, x, y, r) {
  if (shape === 0) {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
  } else if (shape === 1) path.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
  else {
    path.moveTo(x, y - 1.2 * r);
    path.lineTo(x + 1.15 * r, y + 0.8 * r);
    path.lineTo(x - 1.15 * r, y + 0.8 * r);
    path.closePath();
  }
}

const outlines = ['M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12Z', 'M3 3h10v10H3Z', 'M8 1 15 13H1Z'];
const swatch = (label) => svg('svg', { viewBox: '0 0 16 16', width: 14, height: 14, 'aria-hidden': 'true', class: 'swatch' },
  svg('path', { d: outlines[shapeOf(label)], fill: `var(${colorOf(label)})` }));

function draw(stage, app, answer) {
  const p = points(answer), state = { bright: null, chosen: -1 };
  const canvas = el('canvas', { class: 'map-canvas', tabindex: 0, role: 'application', 'aria-describedby': 'map-help',
    'aria-label': `Map of ${plural(p.n, 'code')}` });
  const card = el('div', { class: 'map-card', hidden: true, 'aria-live': 'polite' });
  const view = plane(canvas, p, state, app.color);
  const button = (text, title, action) => el('button', { type: 'button', title, 'aria-label': title, onclick: action }, text);
  fill(stage,
    el('p', { class: 'map-about' },
      `${plural(answer.items, 'item')} with ${plural(p.n, 'different code')}${answer.sampled ? ', a sample of all' : ''}. `,
      'Points that lie close together have codes that differ in few bits; a larger mark stands for more items. ',
      el('span', { class: 'muted' }, `Distances across empty space mean little. Made in ${seconds(answer.seconds)}.`)),
    el('div', { class: 'map-columns' },
      el('div', { class: 'map-frame' }, canvas, card,
        el('div', { class: 'map-buttons', role: 'group', 'aria-label': 'Zoom' }, button('+', 'Zoom in', () => view.zoom(1.6)),
          button('−', 'Zoom out', () => view.zoom(1 / 1.6)), button('⤢', 'Show everything', view.reset))),
      legend(p, state, view.redraw)),
    el('p', { class: 'muted small', id: 'map-help' }, 'Drag to move, turn the wheel or pinch to zoom, click a point to search with it. ',
      'With the keyboard: arrow keys move, + and − zoom, 0 shows everything, Enter searches with the point in the middle.'));
  handle(canvas, card, { app, p, state, view });
  new ResizeObserver(view.redraw).observe(canvas);
  return {
    items: answer.items,
    show(id) {
      document.addEventListener('themechange', view.redraw);
      const at = id === '' ? -1 : p.ids.findIndex((other) => String(other) === id);
      if (at >= 0) {
        state.chosen = at;
        view.centre(at);
      }
      view.redraw();
    },
    hide: () => document.removeEventListener('themechange', view.redraw),
  };
}

// legend lists the labels; pressing one highlights it.
function legend(p, state, changed) {
  const items = new Map();
  p.label.forEach((label, i) => items.set(label, (items.get(label) || 0) + p.count[i]));
  const sums = [...items].sort((a, b) => (a[0] === none) - (b[0] === none) || b[1] - a[1]);
  const rows = sums.slice(0, listed).map(([label, n]) => {
    const row = el('button', { type: 'button', class: 'legend-name', 'aria-pressed': 'false', onclick: () => {
      state.bright = state.bright === label ? null : label;
      rows.forEach((r) => r.setAttribute('aria-pressed', r === row && state.bright !== null));
      changed();
    } }, swatch(label), el('span', { class: 'legend-text', dir: 'auto' }, nameOf(p, label)), ' ',
    el('span', { class: 'number muted' }, count(n)));
    return row;
  });
  return el('section', { class: 'map-legend', 'aria-label': 'Labels' }, el('h2', {}, 'Labels'),
    el('p', { class: 'muted small' }, 'Choose one to highlight it. A code of several labels counts for the most frequent.'),
    el('ul', { class: 'legend-list' }, rows.map((row) => el('li', {}, row))),
    sums.length > listed && el('p', { class: 'muted small' }, `and ${plural(sums.length - listed, 'more label')}`));
}

// plane draws the points. Its methods move the view, in pixels.
function plane(canvas, p, state, color) {
  const context = canvas.getContext('2d', { alpha: false });
  const base = Math.min(4.2, Math.max(1.1, 95 / p.n ** 0.45)); // radius of a mark of one item, in pixels
  let x = 0.5, y = 0.5, zoom = 1, asked = 0; // the place in the middle
  let width = 1, height = 1;
  const span = (axis) => { // the points lie around the middle
    let far = 0.1;
    for (let i = axis; i < 2 * p.n; i += 2) far = Math.max(far, Math.abs(p.xy[i] - 0.5));
    return 2 * far;
  };
  const wide = span(0), high = span(1);
  const scale = () => 0.92 * zoom * Math.min(width / wide, height / high);
  const radius = (i) => Math.min(14, base * zoom ** 0.35 * p.count[i] ** 0.15);
  const screen = (i) => [width / 2 + (p.xy[2 * i] - x) * scale(), height / 2 + (p.xy[2 * i + 1] - y) * scale()];
  const redraw = () => { asked ||= requestAnimationFrame(frame); };

  function frame() {
    asked = 0;
    [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const ratio = Math.min(2, devicePixelRatio || 1);
    if (width === 0) return;
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
    context.scale(ratio, ratio);
    context.fillStyle = color('--ground');
    context.fillRect(0, 0, width, height);
    const paths = new Map(); // by label
    for (let i = 0; i < p.n; i++) {
      const [px, py] = screen(i);
      if (px < -14 || py < -14 || px > width + 14 || py > height + 14) continue;
      const label = p.label[i];
      if (!paths.has(label)) paths.set(label, new Path2D());
      trace(paths.get(label), shapeOf(label), px, py, radius(i));
    }
    const order = [...paths.keys()].sort((a, b) => (a === state.bright) - (b === state.bright) || b - a);
    for (const label of order) {
      context.fillStyle = color(state.bright === null || label === state.bright ? colorOf(label) : '--line');
      context.fill(paths.get(label));
    }
    if (state.chosen < 0) return;
    context.strokeStyle = color('--text');
    context.lineWidth = 2;
    context.beginPath();
    context.arc(...screen(state.chosen), radius(state.chosen) + 4, 0, 2 * Math.PI);
    context.stroke();
  }

  return {
    redraw, screen,
    reset() { [x, y, zoom] = [0.5, 0.5, 1]; redraw(); },
    centre(i) { [x, y, zoom] = [p.xy[2 * i], p.xy[2 * i + 1], Math.max(4, zoom)]; redraw(); },
    pan(dx, dy) {
      x = Math.min(1.1, Math.max(-0.1, x - dx / scale()));
      y = Math.min(1.1, Math.max(-0.1, y - dy / scale()));
      redraw();
    },
    // zoom keeps the place under a pixel where it is.
    zoom(factor, px = width / 2, py = height / 2) {
      const dx = px - width / 2, dy = py - height / 2, before = scale();
      zoom = Math.min(400, Math.max(0.5, factor * zoom));
      x += dx / before - dx / scale();
      y += dy / before - dy / scale();
      redraw();
    },
    // at returns the nearest point within some pixels, or -1.
    at(px, py, within = 14) {
      let best = -1;
      for (let i = 0; i < p.n; i++) {
        if (state.bright !== null && p.label[i] !== state.bright) continue;
        const [qx, qy] = screen(i), d = Math.hypot(px - qx, py - qy);
        if (d <= within) [best, within] = [i, d];
      }
      return best;
    },
    middle() { return this.at(width / 2, height / 2, Math.max(width, height)); },
  };
}

// handle lets people move, zoom and choose.
function handle(canvas, card, { app, p, state, view }) {
  const fingers = new Map(); // places of the pointers that are down, by id
  let travelled = 0;
  const place = (event) => [event.offsetX, event.offsetY];
  const search = (i) => app.go('search', { id: p.ids[i] });

  // choose shows what a point is, in a card beside it.
  function choose(i) {
    if (i === state.chosen && card.hidden === i < 0) return;
    state.chosen = i;
    card.hidden = i < 0;
    view.redraw();
    if (i < 0) return;
    fill(card, app.thumb(p.ids[i], 64), el('div', {},
      el('strong', { dir: 'auto' }, swatch(p.label[i]), ' ', short(nameOf(p, p.label[i]), 60)),
      el('div', { dir: 'auto' }, `item ${short(String(p.ids[i]), 40)}`),
      p.count[i] > 1 && el('div', { class: 'muted' }, `and ${plural(p.count[i] - 1, 'more item')} with the same code`),
      el('a', { href: app.link('search', { id: p.ids[i] }), class: 'map-card-link' }, 'Search with it')));
    const [x, y] = view.screen(i), clamp = (v, most) => Math.max(4, Math.min(v, most - 4));
    const left = x + 18 + card.offsetWidth > canvas.clientWidth ? x - 18 - card.offsetWidth : x + 18;
    card.style.transform = `translate(${clamp(left, canvas.clientWidth - card.offsetWidth)}px, ${clamp(y - 20, canvas.clientHeight - card.offsetHeight)}px)`;
  }

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    if (fingers.size === 1) travelled = 0;
  });
  canvas.addEventListener('pointermove', (event) => {
    const [x, y] = place(event), before = fingers.get(event.pointerId);
    if (!before) return event.pointerType === 'mouse' ? choose(view.at(x, y)) : undefined;
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    const [dx, dy] = [x - before[0], y - before[1]];
    travelled += Math.hypot(dx, dy) + (other ? 10 : 0);
    if (other) { // two fingers: their distance zooms
      const length = (a) => Math.max(1, Math.hypot(a[0] - other[0], a[1] - other[1]));
      view.zoom(length([x, y]) / length(before), (x + other[0]) / 2, (y + other[1]) / 2);
    }
    if (travelled > 4) {
      view.pan(other ? dx / 2 : dx, other ? dy / 2 : dy);
      choose(-1);
    }
    fingers.set(event.pointerId, [x, y]);
  });
  const up = (event) => {
    if (!fingers.delete(event.pointerId) || event.type !== 'pointerup' || travelled > 4) return;
    const mouse = event.pointerType === 'mouse', i = view.at(...place(event), mouse ? 14 : 24);
    if (i >= 0 && mouse) search(i);
    else choose(i); // a finger hides what is under it: the card has a link
  };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    view.zoom(Math.exp(-Math.max(-300, Math.min(300, event.deltaY)) / 400), ...place(event));
    choose(-1);
  }, { passive: false });
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = { ArrowLeft: () => view.pan(60, 0), ArrowRight: () => view.pan(-60, 0), ArrowUp: () => view.pan(0, 60),
      ArrowDown: () => view.pan(0, -60), '+': () => view.zoom(1.4), '=': () => view.zoom(1.4), '-': () => view.zoom(1 / 1.4),
      0: view.reset, Enter: () => state.chosen >= 0 && search(state.chosen) };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
    if (event.key !== 'Enter') choose(view.middle());
  });
}
