// Where in a picture the features lie that decided most: a layer of colour over the picture, the stronger the more.

import { el } from './dom.js';

// layer draws numbers from 0 to 1 as a transparent picture of the given width and height.
export function layer(heat, width, height, color) {
  const canvas = el('canvas', { class: 'heat', width, height, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  const pixels = context.createImageData(width, height);
  const [r, g, b] = channels(color);
  heat.forEach((h, i) => pixels.data.set([r, g, b, Math.round(235 * Math.min(1, Math.max(0, h)) ** 0.6)], 4 * i));
  context.putImageData(pixels, 0, 0);
  return canvas;
}

// grey draws a vector of pixels as a picture, scaled from its smallest to its largest value.
export function grey(vector, { width, height, channels: n }) {
  const canvas = el('canvas', { class: 'vector-picture', width, height, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  const pixels = context.createImageData(width, height);
  let low = Infinity,
    high = -Infinity;
  for (const v of vector) [low, high] = [Math.min(low, v), Math.max(high, v)];
  const level = (v) => (255 * (v - low)) / (high - low || 1);
  for (let i = 0; i < width * height; i++) {
    const c = [0, 1, 2].map((k) => level(vector[i * n + Math.min(k, n - 1)]));
    pixels.data.set([...c, 255], 4 * i);
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

// channels reads a colour such as #ff6e3a.
function channels(color) {
  const n = parseInt(color.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}
