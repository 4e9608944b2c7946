// Marks of the map, drawn into pixels. A label has a colour and a shape, so that colour alone never decides; a mark is a
// list of pixels with how much of each it covers, made once for each shape and size.

// The order pairs like colours (0 and 6, 1 and 7, …) with unlike shapes: marks are small.
export const shapes = [
  'disc', 'square', 'triangle', 'diamond', 'cross', 'ring', 'saltire', 'down', 'post', 'bar', 'hourglass', 'frame',
];
const colors = 12;

// styleOf is the colour and the shape of a label by its number: 144 pairs. The first twelve differ in both, and like
// colours share no shape among the first 72.
export const styleOf = (label) => ({ color: label % colors, shape: (label + Math.floor(label / colors)) % shapes.length });

// inside tells whether a place of a mark of radius 1 belongs to its shape. All shapes have about the same area.
const inside = {
  disc: (x, y) => x * x + y * y <= 1,
  square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.89,
  triangle: (x, y) => y <= 0.75 && y >= -1.05 && Math.abs(x) <= (y + 1.05) * 0.66,
  diamond: (x, y) => Math.abs(x) + Math.abs(y) <= 1.25,
  cross: (x, y) => Math.min(Math.abs(x), Math.abs(y)) <= 0.42 && Math.max(Math.abs(x), Math.abs(y)) <= 1.15,
  ring: (x, y) => x * x + y * y <= 1.25 && x * x + y * y >= 0.3,
  saltire: (x, y) => inside.cross((x + y) * Math.SQRT1_2, (x - y) * Math.SQRT1_2),
  down: (x, y) => inside.triangle(x, -y),
  post: (x, y) => inside.bar(y, x),
  bar: (x, y) => Math.abs(x) <= 1.25 && Math.abs(y) <= 0.6,
  hourglass: (x, y) => Math.abs(y) <= 1.15 && Math.abs(x) <= Math.max(0.15, Math.abs(y) * 0.95),
  frame: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 1 && Math.max(Math.abs(x), Math.abs(y)) >= 0.5,
};

// outline is the shape as a path of a drawing of 16 x 16, for the legend.
export const outline = {
  disc: 'M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12Z', square: 'M2.7 2.7h10.6v10.6H2.7Z', triangle: 'M8 1.7 15.1 12.5H.9Z', diamond: 'M8 .5 15.5 8 8 15.5.5 8Z',
  cross: 'M5.5 1h5v4.5H15v5h-4.5V15h-5v-4.5H1v-5h4.5Z', ring: 'M8 1.3a6.7 6.7 0 1 1 0 13.4a6.7 6.7 0 1 1 0-13.4Zm0 3.4a3.3 3.3 0 1 0 0 6.6a3.3 3.3 0 1 0 0-6.6Z',
  saltire: 'M8 4.4 11.1 1.3 14.7 4.9 11.6 8 14.7 11.1 11.1 14.7 8 11.6 4.9 14.7 1.3 11.1 4.4 8 1.3 4.9 4.9 1.3Z',
  down: 'M8 14.3 15.1 3.5H.9Z', post: 'M4.4.5h7.2v15H4.4Z', bar: 'M.5 4.4h15v7.2H.5Z',
  hourglass: 'M1.4 1.1h13.2L8.9 7v2l5.7 5.9H1.4L7.1 9V7Z', frame: 'M2 2h12v12H2Zm3 3v6h6V5Z',
};

const known = []; // by shape and size
const step = 0.5; // of sizes, in pixels
export const largest = 28; // radius in pixels

// mark returns the pixels around the middle of a mark: dx, dy and how much of each it covers, up to 256. Those that it
// covers for the most part come first; there are solid of them.
function mark(shape, radius) {
  const size = Math.max(1, Math.round(Math.min(radius, largest) / step));
  return known[shape * 100 + size] ||= makeMark(inside[shapes[shape]], size * step);
}

function makeMark(covers, radius) {
  const reach = Math.ceil(radius * 1.3), fine = 4, list = [];
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      let hits = 0;
      for (let i = 0; i < fine * fine; i++) {
        hits += covers((x + (i % fine + 0.5) / fine - 0.5) / radius, (y + (Math.floor(i / fine) + 0.5) / fine - 0.5) / radius);
      }
      if (hits > 0) list.push({ x, y, cover: Math.round(hits * 256 / (fine * fine) * 0.9) }); // what lies below shows a little
    }
  }
  list.sort((a, b) => (b.cover > 115) - (a.cover > 115) || a.y - b.y || a.x - b.x);
  return { reach, solid: Math.max(1, list.filter((p) => p.cover > 115).length), dx: Int16Array.from(list, (p) => p.x),
    dy: Int16Array.from(list, (p) => p.y), cover: Uint16Array.from(list, (p) => p.cover), width: 0, offset: new Int32Array(list.length) };
}

// offsets are the pixels of a mark in a picture of some width, relative to its middle.
function offsets(m, width) {
  if (m.width !== width) {
    for (let i = 0; i < m.offset.length; i++) m.offset[i] = m.dy[i] * width + m.dx[i];
    m.width = width;
  }
  return m.offset;
}

// blend lays a colour over a pixel.
const blend = (old, color, cover) => 0xff000000 |
  (Math.imul(old & 0xff00ff, 256 - cover) + Math.imul(color & 0xff00ff, cover) >>> 8 & 0xff00ff) |
  (Math.imul(old & 0xff00, 256 - cover) + Math.imul(color & 0xff00, cover) >>> 8 & 0xff00);

// stamp draws a mark into a picture {pixels, width, height, quick} of 32-bit pixels. Quickly means without soft edges.
export function stamp(picture, shape, radius, x, y, color) {
  const { pixels, width, height } = picture;
  const m = mark(shape, radius), px = Math.round(x), py = Math.round(y);
  if (px >= m.reach && py >= m.reach && px < width - m.reach && py < height - m.reach) {
    const at = py * width + px, offset = offsets(m, width), { cover, solid } = m;
    if (picture.quick) {
      for (let i = 0; i < solid; i++) pixels[at + offset[i]] = color;
      return;
    }
    for (let i = 0; i < cover.length; i++) pixels[at + offset[i]] = blend(pixels[at + offset[i]], color, cover[i]);
    return;
  }
  for (let i = 0; i < m.cover.length; i++) { // at the edge
    const qx = px + m.dx[i], qy = py + m.dy[i];
    if (qx < 0 || qy < 0 || qx >= width || qy >= height) continue;
    const p = qy * width + qx;
    pixels[p] = blend(pixels[p], color, m.cover[i]);
  }
}

// pixel turns a colour such as #ff6e3a into a pixel.
export function pixel(color) {
  const n = parseInt(color.slice(1).replace(/^(.)(.)(.)$/, '$1$1$2$2$3$3'), 16);
  return (0xff000000 | (n & 255) << 16 | n & 0xff00 | n >> 16) >>> 0;
}
