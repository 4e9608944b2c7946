// The filter: a text, and buttons with live counts that change it. filter.js does the reading and writing.

import { el, svg, fill, count, figure } from './dom.js';
import { chosen, range, toggle, setRange, others, parse } from './filter.js';

const few = 10; // values of a group before "Show all"

// panel makes the filter. change(text) is called when the person changes it.
export function panel(app, change) {
  const input = el('textarea', { id: 'where', rows: 2, spellcheck: 'false', autocomplete: 'off',
    placeholder: 'label = "boots" and price < 30', 'aria-describedby': 'where-problem' });
  const problem = el('p', { id: 'where-problem', class: 'problem', role: 'alert' });
  const matches = el('p', { class: 'muted matches', 'aria-live': 'polite' });
  const groups = el('div', { class: 'groups' });
  const open = new Set(); // names of the groups that show all their values
  let where = '', last = null, latest = 0;

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
    fill(groups, group('label', 'Labels', last.labels), group('tag', 'Tags', last.tags),
      (last.attributes || []).map((a) => [a.values?.length > 0 && group(a.name, a.name, a.values), a.min !== undefined && rangeOf(a)]));
    if (at) [...groups.querySelectorAll('[data-key]')].find((b) => b.dataset.key === at)?.focus();
  };

  const group = (name, title, values) => {
    if (!values?.length) return null;
    const on = chosen(where, name).map(String);
    const all = open.has(name) || values.length <= few + 2;
    const shown = all ? values : values.filter((v, i) => i < few || on.includes(String(v.value)));
    const most = Math.max(...values.map((v) => v.count));
    return el('fieldset', { class: 'group' }, el('legend', { dir: 'auto' }, title),
      el('ul', {}, shown.map((v) => el('li', {}, el('button', { type: 'button', class: 'value', 'data-key': `${name}=${v.value}`,
        'aria-pressed': String(on.includes(String(v.value))), style: { '--share': v.count / most }, onclick: () =>
          change(toggle(where, name, v.value)) }, el('span', { class: 'value-name', dir: 'auto' }, String(v.value)), ' ',
        el('span', { class: 'value-count number' }, count(v.count)))))),
      !all && el('button', { type: 'button', class: 'quiet more', onclick: () => { open.add(name); draw(); } },
        `Show all ${values.length}`));
  };

  const rangeOf = (a) => {
    const now = range(where, a.name), date = typeof a.min !== 'number';
    const set = (low, high) => change(setRange(where, a.name, low, high));
    const field = (label, value, side) => el('label', { class: 'field' }, label,
      el('input', { type: date ? 'date' : 'number', step: 'any', value, 'data-key': `${a.name}:${side}`, onchange: (event) => {
        const typed = event.target.value;
        const ends = { low: now?.low ?? a.min, high: now?.high ?? a.max };
        if (typed === '') return set(null);
        ends[side] = date ? typed + (side === 'high' && String(a.max).length > 10 ? 'T23:59:59Z' : '') : Number(typed);
        if (ends.low <= ends.high) set(ends.low, ends.high);
        else event.target.setCustomValidity('the smaller value comes first');
        event.target.reportValidity();
      } }));
    const show = (v) => (date ? String(v).slice(0, 10) : figure(v));
    return el('fieldset', { class: 'group range' }, el('legend', { dir: 'auto' }, a.name),
      !date && a.histogram && histogram(a, now, set),
      el('div', { class: 'ends' }, field('from', show(now?.low ?? a.min), 'low'), field('to', show(now?.high ?? a.max), 'high')),
      now && el('button', { type: 'button', class: 'quiet more', 'data-key': `${a.name}:any`, onclick: () => set(null) }, 'Any'));
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
      matches.textContent = text ? `${count(answer.items)} of ${count(app.collection.items)} items match` : `${count(answer.items)} items`;
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
  const root = el('div', { class: 'filter' }, el('div', { class: 'filter-text' }, el('label', { for: 'where' }, 'Filter'), input, problem,
    matches), groups);
  return { root, set };
}

// facets counts under the filter. The values of a name that the filter asks for are counted without that condition, so
// that the counts of the other values say what a click would bring; tags are all meant at once and need no such thing.
async function facets(app, where, signal) {
  const ask = (text) => app.api('GET', `facets?${new URLSearchParams({ where: text, top: 200 })}`, null, { signal });
  const names = [...new Set(parse(where).map((c) => c.name).filter((n) => n && n !== 'tag' && n !== 'id'))];
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
  const most = Math.max(...a.histogram, 1), n = a.histogram.length, width = (a.max - a.min) / n;
  const whole = Number.isInteger(a.min) && Number.isInteger(a.max);
  const round = (x, up) => (whole ? Math[up ? 'ceil' : 'floor'](x) : Number(x.toPrecision(6)));
  const inside = (i) => !now || a.min + (i + 1) * width > now.low && a.min + i * width <= now.high;
  let from = null;
  const at = (event) => {
    const box = drawing.getBoundingClientRect();
    return Math.max(0, Math.min(n - 1, Math.floor((event.clientX - box.left) / box.width * n)));
  };
  const drawing = svg('svg', { class: 'histogram', viewBox: `0 0 ${n * 10} 40`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    a.histogram.map((c, i) => {
      const height = c === 0 ? 0 : Math.max(2, 38 * c / most);
      return svg('rect', { x: i * 10 + 1, y: 40 - height, width: 8, height, class: inside(i) ? 'in' : 'out' });
    }));
  drawing.addEventListener('pointerdown', (event) => {
    from = at(event);
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener('pointerup', (event) => {
    if (from === null) return;
    const [low, high] = [Math.min(from, at(event)), Math.max(from, at(event))];
    from = null;
    set(low === 0 ? a.min : round(a.min + low * width, false), high === n - 1 ? a.max : round(a.min + (high + 1) * width, true));
  });
  return drawing;
}
