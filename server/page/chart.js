// Drawings of curves and histograms as SVG. Colours come from the style sheet, so that they follow the theme.

import { el, svg } from './dom.js';

const width = 460, height = 236;
const box = { left: 46, right: width - 22, top: 12, bottom: height - 40 };

// chart draws axes. ticks are [place from 0 to 1, text]; the drawing comes between axes and texts.
function chart({ title, x, y, xTicks, yTicks, legend }, ...drawing) {
  const at = (t) => box.left + t * (box.right - box.left), up = (t) => box.bottom - t * (box.bottom - box.top);
  const text = (attributes, words) => svg('text', attributes, words);
  return el('figure', { class: 'chart' },
    svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title },
      yTicks.map(([t]) => svg('line', { class: 'chart-grid', x1: box.left, x2: box.right, y1: up(t), y2: up(t) })),
      drawing,
      svg('line', { class: 'chart-axis', x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
      yTicks.map(([t, words]) => text({ class: 'chart-tick', x: box.left - 7, y: up(t) + 4, 'text-anchor': 'end' }, words)),
      xTicks.map(([t, words]) => text({ class: 'chart-tick', x: at(t), y: box.bottom + 16, 'text-anchor': 'middle' }, words)),
      text({ class: 'chart-name', x: (box.left + box.right) / 2, y: height - 4, 'text-anchor': 'middle' }, x)),
    el('figcaption', { class: 'chart-legend' }, el('span', { class: 'muted' }, y), legend));
}

const key = (className, name) => el('span', {}, svg('svg', { viewBox: '0 0 22 10', width: 22, height: 10, 'aria-hidden': 'true' },
  svg('path', { class: className, d: 'M1 5H21' })), ' ', name);

// curve draws shares over ranks, which grow by factors, and a level to compare them with.
export function curve({ points, level, levelName, x, y, title }) {
  const most = Math.max(2, points.at(-1)[0]);
  const at = (k) => box.left + Math.log(k) / Math.log(most) * (box.right - box.left);
  const up = (share) => box.bottom - share * (box.bottom - box.top);
  const xTicks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((k) => k <= most).map((k) => [Math.log(k) / Math.log(most), String(k)]);
  const yTicks = [0, 0.25, 0.5, 0.75, 1].map((s) => [s, `${100 * s} %`]);
  return chart({ title, x, y, xTicks, yTicks, legend: [key('chart-line', 'codes'), key('chart-level', levelName)] },
    svg('line', { class: 'chart-level', x1: box.left, x2: box.right, y1: up(level), y2: up(level) }),
    svg('path', { class: 'chart-line', d: points.map(([k, s], i) => `${i ? 'L' : 'M'}${at(k).toFixed(1)} ${up(s).toFixed(1)}`).join('') }),
    points.map(([k, s]) => svg('circle', { class: 'chart-dot', cx: at(k).toFixed(1), cy: up(s).toFixed(1), r: 3 })));
}

// histogram draws shares as steps, one above the other: the first filled, the second hatched by its line.
export function histogram({ series, x, y, title }) {
  const n = series[0].values.length, most = Math.max(...series.flatMap((s) => s.values), 1e-9);
  const at = (d) => box.left + d / n * (box.right - box.left), up = (share) => box.bottom - share / most * (box.bottom - box.top) * 0.95;
  const step = Math.max(1, Math.ceil(n / 8 / 4) * 4);
  const xTicks = Array.from({ length: Math.ceil(n / step) }, (_, i) => [(i * step + 0.5) / n, String(i * step)]);
  const yTicks = [0, 0.5, 1].map((t) => [t * 0.95, t === 0 ? '0 %' : `${(100 * t * most).toPrecision(2)} %`]);
  const hill = (values) => `M${box.left} ${box.bottom}${values.map((v, d) => `L${at(d).toFixed(1)} ${up(v).toFixed(1)}H${at(d + 1).toFixed(1)}`).join('')}V${box.bottom}Z`;
  return chart({ title, x, y, xTicks, yTicks, legend: series.map((s, i) => key(`chart-hill chart-hill-${i}`, s.name)) },
    series.map((s, i) => svg('path', { class: `chart-hill chart-hill-${i}`, d: hill(s.values) })));
}
