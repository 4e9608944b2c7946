// The filter: a text, and buttons with live counts that change it. filter.js does the reading and writing.

import { el, svg, fill, count, figure } from './dom.js';
import { chosen, filtered, range, toggle, setRange, others, parse } from './filter.js';

const few = 10; // values of a group before "Show all"

// panel makes the filter. change(text) is called when the person changes it.
export function panel(app, change) {
  const input = el('textarea', {
    id: 'where',
    rows: 2,
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder: 'price < 30',
    'aria-describedby': 'where-problem',
  });
  const problem = el('p', { id: 'where-problem', class: 'problem', role: 'alert' });
  const matches = el('p', { class: 'muted matches', 'aria-live': 'polite' });
  const groups = el('div', { class: 'groups' });
  const open = new Set(); // names of the groups that show all their values
  let where = '',
    last = null,
    latest = 0;

  const apply = (text) => {
    if (text.trim() !== where) change(text.trim());
  };
  input.addEventListener('change', () => apply(input.value));
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      apply(input.value);
    }
  });
  const draw = () => {
    const at = document.activeElement?.dataset.key; // the button that was pressed is made anew
    fill(
      groups,
      group('label', 'Labels', last.labels),
      group('tag', 'Tags', last.tags),
      (last.attributes || []).map((a) => [
        isList(a) && group(a.name, a.name, a.values),
        (typeof a.min === 'number' || a.kind === 'date') && rangeOf(a),
      ]),
    );
    if (at) [...groups.querySelectorAll('[data-key]')].find((b) => b.dataset.key === at)?.focus();
  };

  const group = (name, title, values) => {
    if (!values?.length) return null;
    const on = chosen(where, name).map(String);
    const all = open.has(name) || values.length <= few + 2;
    const shown = all ? values : values.filter((v, i) => i < few || on.includes(String(v.value)));
    const most = Math.max(...values.map((v) => v.count));
    return el(
      'fieldset',
      { class: 'group' },
      el('legend', { dir: 'auto' }, title),
      el(
        'ul',
        {},
        shown.map((v) =>
          el(
            'li',
            {},
            el(
              'button',
              {
                type: 'button',
                class: 'value',
                'data-key': `${name}=${v.value}`,
                'aria-pressed': String(on.includes(String(v.value))),
                style: { '--share': v.count / most },
                onclick: () => change(toggle(where, name, v.value)),
              },
              el('span', { class: 'value-name', dir: 'auto' }, String(v.value)),
              ' ',
              el('span', { class: 'value-count number' }, count(v.count)),
            ),
          ),
        ),
      ),
      !all &&
        el(
          'button',
          {
            type: 'button',
            class: 'quiet more',
            onclick: () => {
              open.add(name);
              draw();
            },
          },
          `Show all ${values.length}`,
        ),
    );
  };

  // rangeOf makes the two ends of a number or a date. An empty field is an open end.
  const rangeOf = (a) => {
    const now = range(where, a.name),
      date = typeof a.min !== 'number';
    const set = (low, high) => change(setRange(where, a.name, low, high));
    const times = String(a.max).length > 10; // a day alone is its first moment
    const typed = (text, side) =>
      text === '' ? undefined : date ? text + (side === 'high' && times ? 'T23:59:59Z' : '') : Number(text);
    const field = (label, side) =>
      el(
        'label',
        { class: 'field' },
        label,
        el('input', {
          type: date ? 'date' : 'number',
          step: 'any',
          value: date ? String(now?.[side] ?? '').slice(0, 10) : (now?.[side] ?? ''),
          placeholder: date ? '' : figure(side === 'low' ? a.min : a.max),
          'data-key': `${a.name}:${side}`,
          onchange: (event) => {
            const ends = { low: now?.low, high: now?.high, [side]: typed(event.target.value, side) };
            const wrong = ends.low !== undefined && ends.high !== undefined && ends.low > ends.high;
            event.target.setCustomValidity(wrong ? 'The first value should be the smaller one.' : '');
            if (event.target.reportValidity()) set(ends.low, ends.high);
          },
        }),
      );
    return el(
      'fieldset',
      { class: 'group range' },
      el('legend', { dir: 'auto' }, a.name),
      a.histogram?.length > 0 && a.max > a.min && histogram(a, now, set),
      el('div', { class: date ? 'ends dates' : 'ends' }, field('from', 'low'), field('to', 'high')),
      now &&
        el(
          'button',
          { type: 'button', class: 'quiet more', 'data-key': `${a.name}:any`, onclick: () => set() },
          'Any',
        ),
    );
  };

  // set shows a filter and asks for its counts. It returns false when the server does not understand the filter.
  const set = async (text, signal) => {
    const mine = ++latest;
    where = text;
    input.value = text;
    problem.textContent = '';
    try {
      const answer = await facets(app, text, signal);
      if (mine !== latest) return true;
      last = answer;
      const example = answer.labels?.find((l) => l.value.length < 20);
      if (example && !text) input.placeholder = toggle('', 'label', example.value);
      matches.textContent = text
        ? `${count(answer.items)} of ${count(app.collection.items)} items match`
        : `${count(answer.items)} items`;
      draw();
      return true;
    } catch (trouble) {
      if (trouble.name === 'AbortError') return true;
      if (mine === latest) {
        problem.textContent = trouble.message;
        matches.textContent = '';
      }
      return false;
    }
  };
  const root = el(
    'div',
    { class: 'filter' },
    el('div', { class: 'filter-text' }, el('label', { for: 'where' }, 'Filter'), input, problem, matches),
    groups,
  );
  return { root, set };
}

// isList tells whether the values of an attribute are worth a list: dates have a range, and values that are all
// different say nothing.
function isList(a) {
  return a.values?.length > 0 && a.kind !== 'date' && (a.distinct <= few + 2 || a.values[0].count > 1);
}

// facets counts under the filter. The values of a name that the filter asks for are counted without that condition, so
// that the counts of the other values say what a click would bring; tags are all meant at once and need no such thing.
async function facets(app, where, signal) {
  const ask = (text) => app.api('GET', `facets?${filtered(text, { top: 200 })}`, null, { signal });
  const names = [
    ...new Set(
      parse(where)
        .map((c) => c.name)
        .filter((n) => n && n !== 'tag' && n !== 'id'),
    ),
  ];
  const [answer, ...free] = await Promise.all([ask(where), ...names.map((name) => ask(others(where, name)))]);
  names.forEach((name, i) => {
    if (name === 'label') answer.labels = free[i].labels;
    const wide = free[i].attributes?.find((a) => a.name === name);
    const at = answer.attributes?.findIndex((a) => a.name === name) ?? -1;
    if (wide && at >= 0) answer.attributes[at] = wide;
    else if (wide) (answer.attributes ||= []).push(wide);
  });
  return answer;
}

// histogram draws the counts of a number. Pressing on a bar, or across several, asks for their range; the two fields
// below do the same for the keyboard.
function histogram(a, now, set) {
  const most = Math.max(...a.histogram, 1),
    n = a.histogram.length,
    width = (a.max - a.min) / n;
  const whole = Number.isInteger(a.min) && Number.isInteger(a.max);
  const round = (x, up) => (whole ? Math[up ? 'ceil' : 'floor'](x) : Number(x.toPrecision(6)));
  const inside = (i) =>
    a.min + (i + 1) * width > (now?.low ?? -Infinity) && a.min + i * width <= (now?.high ?? Infinity);
  let from = null;
  const at = (event) => {
    const box = drawing.getBoundingClientRect();
    return Math.max(0, Math.min(n - 1, Math.floor(((event.clientX - box.left) / box.width) * n)));
  };
  const drawing = svg(
    'svg',
    { class: 'histogram', viewBox: `0 0 ${n * 10} 40`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    a.histogram.map((c, i) => {
      const height = c === 0 ? 0 : Math.max(2, (38 * c) / most);
      return svg('rect', { x: i * 10 + 1, y: 40 - height, width: 8, height, class: inside(i) ? 'in' : 'out' });
    }),
  );
  drawing.addEventListener('pointerdown', (event) => {
    from = at(event);
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener('pointerup', (event) => {
    if (from === null) return;
    const [low, high] = [Math.min(from, at(event)), Math.max(from, at(event))];
    from = null;
    set(
      low === 0 ? undefined : round(a.min + low * width, false),
      high === n - 1 ? undefined : round(a.min + (high + 1) * width, true),
    );
  });
  return drawing;
}
