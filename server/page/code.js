// A picture of two codes: every bit is a cell with the bit of the query above that of the item. A filled square is 1
// and an empty one 0; the paler a square, the less sure the bit was. Bits that differ have a frame and the sign ≠.

import { el } from './dom.js';

// picture draws the bits. choose(bit) is called when a cell is pressed; the cells are one stop of the keyboard.
export function picture(bits, choose) {
  const most = Math.max(...bits.flatMap((b) => [Math.abs(b.margin_query ?? 0), Math.abs(b.margin_item ?? 0)]), 1e-12);
  const cells = bits.map((b, i) =>
    el(
      'button',
      {
        type: 'button',
        class: b.agree ? 'cell' : 'cell differ',
        'aria-label': describe(b),
        title: describe(b),
        'aria-pressed': 'false',
        tabindex: i === 0 ? 0 : -1,
        onclick: () => press(i),
      },
      square(b.query, b.margin_query, most),
      el('span', { class: 'sign', 'aria-hidden': 'true' }, b.agree ? '' : '≠'),
      square(b.item, b.margin_item, most),
    ),
  );
  const press = (i) => {
    cells.forEach((c, j) => {
      c.setAttribute('aria-pressed', String(i === j));
      c.tabIndex = i === j ? 0 : -1;
    });
    choose(bits[i]);
  };
  const root = el(
    'div',
    { class: 'code-picture', role: 'group', 'aria-label': `The ${bits.length} bits of both codes` },
    cells,
  );
  root.addEventListener('keydown', (event) => {
    const at = cells.indexOf(document.activeElement);
    const row = getComputedStyle(root).gridTemplateColumns.split(' ').length;
    const to = at + ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row }[event.key] ?? NaN);
    if (at < 0 || !cells[to]) return;
    event.preventDefault();
    cells[at].tabIndex = -1;
    cells[to].tabIndex = 0;
    cells[to].focus();
  });
  return { root, press };
}

function square(bit, margin, most) {
  const sure = margin === null || margin === undefined ? 1 : 0.25 + 0.75 * Math.sqrt(Math.abs(margin) / most);
  return el('span', { class: bit ? 'square one' : 'square zero', style: { '--sure': sure.toFixed(3) } });
}

function describe(b) {
  const what = b.agree ? `both ${b.query}` : `query ${b.query}, item ${b.item}: they differ`;
  return `Bit ${b.bit}: ${what}`;
}
