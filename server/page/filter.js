// The text of a filter and the buttons beside it say the same thing. The text is what counts: a button reads it,
// changes the conditions it knows and leaves the others as they were written. The language is that of package index.
//
// A filter is a list of conditions joined by and. The page understands these two kinds and keeps the rest as text:
//
//   {name: 'label', values: ['boots', 'shoes']}       label in ("boots", "shoes")
//   {name: 'price', low: 10, high: 30}                price between 10 and 30; with one of them, price >= 10

const tokens =
  /\s+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[(),]|==|<>|!=|<=|>=|[=<>]|[^\s"'`(),=<>!]+/gs;
const reserved = ['and', 'or', 'not', 'in', 'has'];

function quote(text, mark) {
  const escaped = text.replace(/[\n\t\r\\]/g, (c) => ({ '\n': '\\n', '\t': '\\t', '\r': '\\r', '\\': '\\\\' })[c]);
  return mark + escaped.replaceAll(mark, '\\' + mark) + mark;
}

function unquote(token) {
  return token.slice(1, -1).replace(/\\(.)/gs, (_, c) => ({ n: '\n', t: '\t', r: '\r' })[c] || c);
}

const isQuoted = (token) => token[0] === '"' || token[0] === "'";

// filtered returns the parameters of a request about the items that a filter lets through; without one, about all.
export const filtered = (where, more) => new URLSearchParams(where ? { where, ...more } : more);

// writeName writes the name of an attribute, in back quotes where it needs them.
export function writeName(name) {
  const plain = /^[A-Za-z_\u0080-\uffff][\w.\u0080-\uffff-]*$/.test(name) && !reserved.includes(name.toLowerCase());
  return plain ? name : quote(name, '`');
}

const writeValue = (v) => (typeof v === 'number' ? String(v) : quote(String(v), '"'));

function write(c) {
  if (c.text !== undefined) return c.text;
  if (c.values?.length === 1) return `${writeName(c.name)} = ${writeValue(c.values[0])}`;
  if (c.values) return `${writeName(c.name)} in (${c.values.map(writeValue).join(', ')})`;
  if (c.high === undefined) return `${writeName(c.name)} >= ${writeValue(c.low)}`;
  if (c.low === undefined) return `${writeName(c.name)} <= ${writeValue(c.high)}`;
  return `${writeName(c.name)} between ${writeValue(c.low)} and ${writeValue(c.high)}`;
}

// join writes conditions as a filter.
export const join = (conditions) => conditions.map(write).join(' and ');

// parse reads a filter as a list of conditions. What it does not understand, half-written text among it, is kept whole.
export function parse(text) {
  if (!text.trim()) return [];
  const found = text.match(tokens) || [];
  if (found.join('') !== text) return [{ text }];
  const parts = [[]];
  let depth = 0,
    between = false;
  for (const token of found) {
    const word = token.toLowerCase(),
      part = parts.at(-1);
    depth += (token === '(') - (token === ')');
    if (depth === 0 && word === 'or') return [{ text: `(${text.trim()})` }];
    if (word === 'between' && part.some((t) => t.trim() && t.toLowerCase() !== 'not')) between = true;
    if (depth === 0 && word === 'and' && !between) parts.push([]);
    else {
      if (word === 'and') between = false;
      part.push(token);
    }
  }
  return parts.map(condition);
}

function condition(part) {
  const text = part.join('').trim();
  const t = part.filter((token) => token.trim());
  const name = t[0]?.[0] === '`' ? unquote(t[0]) : t[0];
  const value = (token) => (isQuoted(token) ? unquote(token) : bare(name, token));
  const word = t[1]?.toLowerCase();
  if (t.length === 3 && (word === '=' || word === '==')) return { name, values: [value(t[2])] };
  if (word === 'in' && t[2] === '(' && t.at(-1) === ')' && t.length > 4) {
    const list = t.slice(3, -1),
      values = list.filter((_, i) => i % 2 === 0);
    if (list.length % 2 && list.every((token, i) => (token === ',') === (i % 2 === 1)))
      return { name, values: values.map(value) };
  }
  if (word === '>=' && t.length === 3) return { name, low: value(t[2]) };
  if (word === '<=' && t.length === 3) return { name, high: value(t[2]) };
  if (word === 'between' && t.length === 5) return { name, low: value(t[2]), high: value(t[4]) };
  return { text };
}

// bare is a value without quotes. Labels, tags and ids are texts, also when they look like numbers.
function bare(name, token) {
  const number = Number(token);
  return ['label', 'tag', 'id'].includes(name) || Number.isNaN(number) ? token : number;
}

// chosen returns the values of a name that the filter asks for.
export function chosen(text, name) {
  return parse(text).flatMap((c) => (c.name === name && c.values ? c.values : []));
}

const isRange = (c) => c.low !== undefined || c.high !== undefined;

// range returns the {low, high} that the filter asks of a name, or null.
export function range(text, name) {
  const found = parse(text).filter((c) => c.name === name && isRange(c));
  return found.length ? Object.assign({}, ...found) : null;
}

// toggle asks for one more value of a name, or no longer for it. An item has one label, so that
// several of them mean any; it has many tags, so that several mean all.
export function toggle(text, name, value) {
  const conditions = parse(text);
  const all = name === 'tag';
  const with_ = conditions.find((c) => c.name === name && c.values?.some((v) => String(v) === String(value)));
  if (with_) {
    with_.values = with_.values.filter((v) => String(v) !== String(value));
    return join(conditions.filter((c) => !c.values || c.values.length));
  }
  const there = !all && conditions.find((c) => c.name === name && c.values);
  if (there) there.values.push(value);
  else conditions.push({ name, values: [value] });
  return join(conditions);
}

// setRange asks for a range of a name; an end that is undefined is open, and without ends there is no range.
export function setRange(text, name, low, high) {
  const conditions = parse(text).filter((c) => c.name !== name || !isRange(c));
  if (low !== undefined || high !== undefined) conditions.push({ name, low, high });
  return join(conditions);
}

// others returns the filter without what it asks of a name: so the values are counted that could be added.
export const others = (text, name) => join(parse(text).filter((c) => c.name !== name));
