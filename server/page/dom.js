// Elements and the spelling of numbers. Text from the server only ever becomes a text node or an attribute.

// el makes an element. Attributes: on… are listeners, class, data-…, aria-… and the like are attributes, true and false
// switch one on and off, and names of properties such as value and checked are set as such. style is an object of
// custom properties or CSS properties. Children are nodes, texts, numbers, lists of them, or nothing.
export function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [p, v] of Object.entries(value)) e.style.setProperty(p, v);
    else if (['value', 'checked', 'selected', 'disabled', 'open', 'hidden'].includes(name)) e[name] = value;
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...flat(children));
  return e;
}

// svg makes an element of a drawing, with attributes only.
export function svg(tag, attributes, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...flat(children));
  return e;
}

const flat = (children) => children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false);

// fill puts children in the place of what an element holds.
export function fill(e, ...children) {
  e.replaceChildren(...flat(children));
  return e;
}

const spaced = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// count writes a whole number: 12,345.
export const count = (n) => spaced.format(n);

// plural writes a number of things: 1 item, 12,345 items.
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + 's'}`;

// figure writes a measured number with about four digits.
export function figure(x) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (x === 0 || (Number.isInteger(x) && Math.abs(x) < 1e6)) return String(x);
  return String(Number(x.toPrecision(4)));
}

// percent writes a share: 0.483 as 48.3 %.
export const percent = (x) => `${(100 * x).toFixed(1)} %`;

// bytes writes a size: 1.5 MB.
export function bytes(n) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${i === 0 ? n : n.toPrecision(3)} ${units[i]}`;
}

// seconds writes a time: 350 µs, 12 ms, 3.2 s, 4 min 10 s.
export function seconds(s) {
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${Number((s * 1000).toPrecision(2))} ms`;
  if (s < 60) return `${Number(s.toPrecision(2))} s`;
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}
