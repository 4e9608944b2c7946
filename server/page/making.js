// Small pictures are made when a service starts, which takes minutes for many photos. Meanwhile a line says how far it
// is, and the pictures that were not there yet are asked for again.

import { count, plural } from './dom.js';

const pause = 1500; // milliseconds between two looks

// making watches the current collection: call look whenever another one is shown. What is made before the second look
// is not worth a line.
export function making(app, line) {
  let timer = 0,
    before = '';
  function look() {
    clearTimeout(timer);
    const { name, pictures_made: made, items } = app.collection || {};
    line.hidden = made === undefined || name !== before;
    before = name;
    if (made === undefined) return;
    line.textContent = `Small pictures are being made: ${count(made)} so far, of ${plural(items, 'item')}.`;
    timer = setTimeout(async () => {
      await app.refresh().catch(() => {}); // the server may be back at the next look
      document.dispatchEvent(new Event('picturesmade'));
      look();
    }, pause);
  }
  return look;
}
