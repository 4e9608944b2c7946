// Small pictures are made when a service starts, which takes minutes for many photos. Meanwhile a line says how far it
// is, and the pictures that were not there yet are asked for again.

import { count, plural } from './dom.js';

const pause = 1500; // milliseconds between two looks

// watchThumbnails returns a function to call whenever another collection is shown. What is made before its second look
// is not worth a line.
export function watchThumbnails(app, line) {
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
