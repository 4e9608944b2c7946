// A picture of two codes: every bit is a cell with the bit of the query above that of the item. A filled square is 1
// and an empty one 0; the paler a square, the less sure the bit was. Bits that differ have a frame and the sign ≠. Bits of
// detail stand apart from those of the class, below them, and are round.

import { el } from './dom.js';

// parts is how many bits of a code of a collection tell the class, and how many, the last ones, keep detail.
export function parts({ bits, detail_bits: detailBits = 0 }) {
  return { classBits: bits - detailBits, detailBits };
}

// codeText writes a code in hexadecimal digits, the class and the detail as two words where they end between digits.
export function codeText(digits, collection) {
  const { classBits, detailBits } = parts(collection);
  const at = classBits / 4;
  if (!detailBits || !Number.isInteger(at)) return el('span', { class: 'muted mono code' }, digits);
  return el(
    'span',
    { class: 'muted mono code' },
    el('span', { class: 'code-class', title: `${classBits} bits of the class` }, digits.slice(0, at)),
    ' ',
    el('span', { class: 'code-detail', title: `${detailBits} bits of detail: the look` }, digits.slice(at)),
  );
}

// picture draws the bits. choose(bit) is called when a cell is pressed; the cells are one stop of the keyboard.
export function picture(bits, choose) {
  const most = (detail) => // margins of the two kinds have different units
    Math.max(
      ...bits
        .filter((b) => Boolean(b.detail) === detail)
        .flatMap((b) => [Math.abs(b.margin_query ?? 0), Math.abs(b.margin_item ?? 0)]),
      1e-12,
    );
  const greatest = { false: most(false), true: most(true) };
  const cells = bits.map((b, i) =>
    el(
      'button',
      {
        type: 'button',
        class: `cell${b.agree ? '' : ' differ'}${b.detail ? ' detail' : ''}`,
        'aria-label': describe(b),
        title: describe(b),
        'aria-pressed': 'false',
        tabindex: i === 0 ? 0 : -1,
        onclick: () => press(i),
      },
      square(b.query, b.margin_query, greatest[Boolean(b.detail)]),
      el('span', { class: 'sign', 'aria-hidden': 'true' }, b.agree ? '' : '≠'),
      square(b.item, b.margin_item, greatest[Boolean(b.detail)]),
    ),
  );
  const press = (i) => {
    cells.forEach((c, j) => {
      c.setAttribute('aria-pressed', String(i === j));
      c.tabIndex = i === j ? 0 : -1;
    });
    choose(bits[i]);
  };
  const detail = bits.filter((b) => b.detail).length;
  const group = (title, from, to) => [
    detail > 0 && el('h3', { class: 'code-part' }, title),
    el(
      'div',
      { class: 'code-picture', role: 'group', 'aria-label': `${title}, in both codes` },
      cells.slice(from, to),
    ),
  ];
  const classBits = bits.length - detail;
  const root = el(
    'div',
    {},
    group(detail > 0 ? `Class: ${classBits} bits` : `The ${classBits} bits`, 0, classBits),
    detail > 0 && group(`Look: ${detail} bits of detail`, classBits),
  );
  root.addEventListener('keydown', (event) => {
    const at = cells.indexOf(document.activeElement);
    const row = getComputedStyle(root.querySelector('.code-picture')).gridTemplateColumns.split(' ').length;
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
  return `${b.detail ? 'Detail bit' : 'Bit'} ${b.bit}: ${what}`;
}
