// The plane of the map: points with places, labels and numbers of items; which part of it is seen; drawing it, and
// finding the point under the pointer. The drawing goes into pixels of our own (marks.js): 100,000 marks take a few
// milliseconds, so that every frame of a movement is drawn anew and no picture is ever stretched.

import { stamp, styleOf, pixel, largest } from './marks.js';

export const none = 65535; // the label of points without one
const cells = 256; // of the grid for finding points, along each side
const sharpest = 20000; // points above which a movement is drawn with hard edges, and not in finer pixels than others have

// points reads the answer of the server. x and y run from 0 to 1.
export function points(answer) {
  const n = answer.points;
  const xy = new Uint16Array(decode(answer.xy).buffer), label = new Uint16Array(decode(answer.label).buffer);
  const count = new Uint32Array(decode(answer.count).buffer);
  const x = new Float32Array(n), y = new Float32Array(n);
  for (let i = 0; i < n; i++) [x[i], y[i]] = [xy[2 * i] / 65535, 1 - xy[2 * i + 1] / 65535];
  // Large marks are drawn first, so that they hide no small ones.
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => count[b] - count[a] || a - b);
  return { n, x, y, label, count, order, ids: answer.ids, labels: answer.labels, grid: gridOf(x, y) };
}

function decode(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const cell = (v) => Math.min(cells - 1, Math.max(0, Math.floor(v * cells)));

// spans is how far points reach from left to right and from top to bottom.
function spans(p) {
  const span = (v) => v.reduce((a, b) => Math.max(a, b), 0) - v.reduce((a, b) => Math.min(a, b), 1);
  return [Math.max(span(p.x), 0.2), Math.max(span(p.y), 0.2)];
}

// gridOf sorts points into cells: those of cell c are list[start[c]] up to list[start[c + 1]].
function gridOf(x, y) {
  const start = new Uint32Array(cells * cells + 1), list = new Uint32Array(x.length);
  for (let i = 0; i < x.length; i++) start[cell(y[i]) * cells + cell(x[i]) + 1]++;
  for (let c = 0; c < cells * cells; c++) start[c + 1] += start[c];
  const next = start.slice();
  for (let i = 0; i < x.length; i++) list[next[cell(y[i]) * cells + cell(x[i])]++] = i;
  return { start, list };
}

// nearest returns the point nearest to a place within a distance, among those that seen allows, or -1.
export function nearest(p, x, y, within, seen) {
  let best = -1, least = within * within;
  for (let row = cell(y - within); row <= cell(y + within); row++) {
    const from = p.grid.start[row * cells + cell(x - within)], to = p.grid.start[row * cells + cell(x + within) + 1];
    for (let at = from; at < to; at++) {
      const i = p.grid.list[at], d = (p.x[i] - x) ** 2 + (p.y[i] - y) ** 2;
      if (d < least && seen(i)) [best, least] = [i, d];
    }
  }
  return best;
}

// surroundings returns the k points nearest to point i, roughly: those of the cells around it until there are enough.
export function surroundings(p, i, k) {
  for (let within = 1 / cells; ; within *= 2) {
    const found = [];
    for (let row = cell(p.y[i] - within); row <= cell(p.y[i] + within); row++) {
      const from = p.grid.start[row * cells + cell(p.x[i] - within)], to = p.grid.start[row * cells + cell(p.x[i] + within) + 1];
      for (let at = from; at < to; at++) if (p.grid.list[at] !== i) found.push(p.grid.list[at]);
    }
    if (found.length >= k || within > 1) {
      const d = (j) => (p.x[j] - p.x[i]) ** 2 + (p.y[j] - p.y[i]) ** 2;
      return found.sort((a, b) => d(a) - d(b)).slice(0, k);
    }
  }
}

// peaks returns for each of the first labels the place where most of its items lie, for its name. Where few points are
// there the name would hide them, and is written above.
export function peaks(p, labels) {
  const side = 48, sums = new Map();
  for (let i = 0; i < p.n; i++) {
    if (p.label[i] >= labels) continue;
    if (!sums.has(p.label[i])) sums.set(p.label[i], new Float32Array(side * side));
    const at = Math.min(side - 1, Math.floor(p.y[i] * side)) * side + Math.min(side - 1, Math.floor(p.x[i] * side));
    sums.get(p.label[i])[at] += Math.sqrt(p.count[i]);
  }
  return [...sums].sort(([a], [b]) => a - b).map(([label, sum]) => {
    const at = sum.indexOf(Math.max(...sum));
    let x = 0, y = 0, n = 0;
    for (let i = 0; i < p.n; i++) { // the middle of the fullest cell and those around it
      if (p.label[i] !== label || Math.abs(p.x[i] * side - 0.5 - at % side) > 1.5 || Math.abs(p.y[i] * side - 0.5 - Math.floor(at / side)) > 1.5) continue;
      [x, y, n] = [x + p.x[i], y + p.y[i], n + 1];
    }
    return { label, x: x / n, y: y / n, few: n < 25 };
  });
}

// plane draws points on a canvas. state says how: {hidden: set of labels, bright: label or null, chosen: point or -1,
// names: whether to write them, cross: whether to mark the middle}. color(name) returns a colour of the style sheet.
export function plane(canvas, p, state, color) {
  const context = canvas.getContext('2d', { alpha: false });
  const view = { x: 0.5, y: 0.5, scale: 1 }; // the place in the middle, and pixels per unit
  const middles = peaks(p, 40);
  const base = Math.min(4.2, Math.max(1.1, 95 / p.n ** 0.45)); // radius of a mark of one item, in pixels
  const pictures = new Map(); // by size
  const styles = p.labels.map((_, i) => styleOf(i));
  let width = 1, height = 1, palette = null, asked = 0, calm = 0, moved = 0;
  const [wide, high] = spans(p);
  const fit = () => 0.92 * Math.min(width / wide, height / high); // pixels per unit that show everything
  const zoom = () => view.scale / fit();

  function colors() {
    palette = { marks: Array.from({ length: 12 }, (_, i) => pixel(color(`--c${i}`))), ground: pixel(color('--ground')), dim: pixel(color('--line')),
      none: pixel(color('--strong-line')), text: color('--text'), groundText: color('--ground'), accent: color('--accent') };
    redraw();
  }

  function resize() {
    const box = canvas.getBoundingClientRect();
    if (box.width === 0) return;
    const first = width === 1, seen = zoom();
    [width, height] = [Math.round(box.width), Math.round(box.height)];
    view.scale = first ? fit() : seen * fit();
    pictures.clear();
    redraw();
  }

  // redraw asks for a frame. A movement is drawn quickly, and sharply once it rests.
  function redraw(moving = false) {
    moved = moving ? performance.now() : moved;
    clearTimeout(calm);
    if (moving) calm = setTimeout(redraw, 160);
    asked ||= requestAnimationFrame(draw);
  }

  const radius = (i) => Math.min(largest / 2, base * zoom() ** 0.35 * p.count[i] ** 0.15);
  const screen = (i) => [width / 2 + (p.x[i] - view.x) * view.scale, height / 2 + (p.y[i] - view.y) * view.scale];

  function draw() {
    asked = 0;
    if (!palette || width === 1) return;
    const fast = performance.now() - moved < 150 && p.n > sharpest;
    const ratio = fast ? 1 : Math.min(2, devicePixelRatio || 1);
    const w = Math.round(width * ratio), h = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const picture = pictureOf(w, h);
    picture.quick = fast;
    picture.pixels.fill(palette.ground);
    if (state.bright !== null) marks(picture, ratio, (label) => label !== state.bright, true);
    marks(picture, ratio, (label) => state.bright === null || label === state.bright, false);
    context.putImageData(picture.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (state.names) names();
    if (state.cross) cross();
    if (state.chosen >= 0) ring();
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  function pictureOf(w, h) {
    const key = `${w} ${h}`;
    if (!pictures.has(key)) {
      const image = context.createImageData(w, h);
      pictures.set(key, { image, pixels: new Uint32Array(image.data.buffer), width: w, height: h });
    }
    return pictures.get(key);
  }

  function marks(picture, ratio, drawn, dim) {
    const { x, y, label, count, order } = p, { hidden } = state;
    const s = view.scale * ratio, left = picture.width / 2 - view.x * s, top = picture.height / 2 - view.y * s;
    const size = base * zoom() ** 0.35 * ratio, edge = largest * ratio;
    const all = hidden.size === 0;
    for (let at = 0; at < order.length; at++) {
      const i = order[at], l = label[i];
      const px = left + x[i] * s, py = top + y[i] * s;
      if (px < -edge || py < -edge || px > picture.width + edge || py > picture.height + edge) continue;
      if (!all && hidden.has(l) || !drawn(l)) continue;
      const r = count[i] === 1 ? size : Math.min(edge / 2, size * count[i] ** 0.15);
      const style = styles[l];
      stamp(picture, style ? style.shape : 0, r, px, py, dim ? palette.dim : style ? palette.marks[style.color] : palette.none);
    }
  }

  // names writes the names of labels where most of their items lie, as far as they do not cover each other.
  function names() {
    const taken = [];
    context.font = '600 13px system-ui, "DejaVu Sans", sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.lineJoin = 'round';
    for (const { label, x, y, few } of middles) {
      if (state.hidden.has(label) || state.bright !== null && state.bright !== label) continue;
      const text = short(p.labels[label]), half = context.measureText(text).width / 2 + 4;
      let px = width / 2 + (x - view.x) * view.scale, py = height / 2 + (y - view.y) * view.scale;
      if (px < 0 || py < 0 || px > width || py > height) continue;
      px = Math.min(Math.max(px, half), width - half);
      py = Math.min(Math.max(py - (few ? 3 * base * zoom() ** 0.35 + 10 : 0), 10), height - 10);
      if (taken.some((t) => Math.abs(t.px - px) < t.half + half && Math.abs(t.py - py) < 19)) continue;
      taken.push({ px, py, half });
      context.lineWidth = 4;
      context.strokeStyle = palette.groundText;
      context.strokeText(text, px, py);
      context.fillStyle = palette.text;
      context.fillText(text, px, py);
    }
  }

  function cross() {
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(width / 2 + 6 * dx, height / 2 + 6 * dy);
      context.lineTo(width / 2 + 16 * dx, height / 2 + 16 * dy);
    }
    context.stroke();
  }

  function ring() {
    const [px, py] = screen(state.chosen);
    for (const [style, line] of [[palette.groundText, 5], [palette.text, 2]]) {
      context.strokeStyle = style;
      context.lineWidth = line;
      context.beginPath();
      context.arc(px, py, radius(state.chosen) + 4, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  // keep holds the view where there is something to see.
  function keep() {
    view.scale = Math.min(400, Math.max(0.5, zoom())) * fit();
    view.x = Math.min(1.1, Math.max(-0.1, view.x));
    view.y = Math.min(1.1, Math.max(-0.1, view.y));
    redraw(true);
  }

  return {
    resize, colors, redraw, screen, radius,
    zoom,
    reset() { Object.assign(view, { x: 0.5, y: 0.5, scale: fit() }); keep(); },
    centre(i, times = zoom()) { Object.assign(view, { x: p.x[i], y: p.y[i], scale: times * fit() }); keep(); },
    pan(dx, dy) { view.x -= dx / view.scale; view.y -= dy / view.scale; keep(); },
    // zoomBy zooms so that the place under a pixel stays there.
    zoomBy(factor, px = width / 2, py = height / 2) {
      const x = view.x + (px - width / 2) / view.scale, y = view.y + (py - height / 2) / view.scale;
      view.scale = Math.min(400, Math.max(0.5, factor * zoom())) * fit();
      view.x = x - (px - width / 2) / view.scale;
      view.y = y - (py - height / 2) / view.scale;
      keep();
    },
    // at returns the point at a pixel, or within some pixels of it; -1 for none.
    at(px, py, within = 14) {
      return nearest(p, view.x + (px - width / 2) / view.scale, view.y + (py - height / 2) / view.scale, within / view.scale,
        (i) => !state.hidden.has(p.label[i]) && (state.bright === null || p.label[i] === state.bright));
    },
    middle() { return this.at(width / 2, height / 2, Math.max(width, height)); },
    stop() { cancelAnimationFrame(asked); clearTimeout(calm); asked = 0; },
  };
}

export const short = (text, length = 28) => (text.length > length ? text.slice(0, length - 1) + '…' : text);
