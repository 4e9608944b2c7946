// The bar where people say what to look for: an id, a vector, a code, or a picture.

import { el, fill } from './dom.js';

// read understands what was typed: {id}, {vector} or {code}. A list of numbers is a vector if it is written as JSON or
// has as many numbers as the model takes; 0x and the right number of digits are a code; all else is an id.
export function read(text, collection) {
  text = text.trim();
  const hex = /^0x([0-9a-f\s]+)$/i.exec(text)?.[1].replace(/\s/g, ''); // the page writes codes in two parts
  if (hex?.length === 2 * Math.ceil(collection.bits / 8)) return { code: hex.toLowerCase() };
  if (collection.takes === 'vectors') {
    const list = /^\[.*\]$/s.test(text);
    const numbers = text
      .replace(/^\[|\]$/g, '')
      .split(/[\s,;]+/)
      .filter((t) => t);
    const whole = numbers.length > 0 && numbers.every((t) => Number.isFinite(Number(t)));
    if (whole && (list || (numbers.length > 1 && numbers.length === collection.dims)))
      return { vector: numbers.map(Number) };
    if (whole && numbers.length > 3) {
      throw new Error(
        `This looks like a vector of ${numbers.length} numbers, but the model takes ${collection.dims}.`,
      );
    }
  }
  return { id: text };
}

// write is what the bar shows for a query of the address.
export function write(params) {
  if (params.id !== undefined) return params.id;
  if (params.vector !== undefined) return `[${params.vector}]`;
  return params.code ? `0x${params.code}` : '';
}

// base64 reads a picture as the server takes it in JSON.
export function base64(file) {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => fail(new Error('The picture cannot be read.'));
    reader.readAsDataURL(file);
  });
}

// bar makes the form. ask(query) and askPicture(file) are called for what the person gives.
export function bar(app, { ask, askPicture, clear }) {
  const { takes, dims } = app.collection;
  const hints = {
    vectors: `An id, or ${dims} numbers`, // short enough for a phone
    pictures: 'The id of an item',
    codes: 'An id, or 0x and a code',
  };
  const input = el('textarea', {
    id: 'query',
    rows: 1,
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder: hints[takes],
    'aria-describedby': 'query-problem',
  });
  const problem = el('p', { id: 'query-problem', class: 'problem', role: 'alert' });
  const form = el(
    'form',
    { class: 'query', role: 'search' },
    el('label', { for: 'query', class: 'hidden' }, 'What to look for'),
    input,
    el('button', { type: 'submit', class: 'main' }, 'Search'),
    takes === 'pictures' && picker(askPicture),
    el('button', { type: 'button', class: 'quiet', id: 'clear', onclick: clear }, 'Browse'),
  );

  const submit = (event) => {
    event.preventDefault();
    problem.textContent = '';
    if (!input.value.trim()) return clear();
    try {
      ask(read(input.value, app.collection));
    } catch (trouble) {
      problem.textContent = trouble.message;
    }
  };
  form.addEventListener('submit', submit);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey) submit(event);
  });
  const root = el(
    'div',
    { class: 'query-bar' },
    form,
    takes === 'pictures' &&
      el('p', { class: 'muted small' }, 'You can also drop a picture anywhere on this page, or paste one.'),
    problem,
  );
  return {
    root,
    set: (params) => {
      input.value = write(params);
      problem.textContent = '';
    },
    fail: (text) => fill(problem, text),
  };
}

function picker(askPicture) {
  const file = el('input', {
    type: 'file',
    id: 'picture',
    accept: 'image/*',
    class: 'hidden',
    'aria-label': 'Picture to look for',
    onchange: () => {
      const [picture] = file.files;
      file.value = '';
      if (picture) askPicture(picture);
    },
  });
  return [file, el('label', { for: 'picture', class: 'button' }, 'Choose a picture')];
}

// catchPictures takes a picture that is dropped on or pasted into the page, while active() says so.
export function catchPictures(app, active, askPicture) {
  const wanted = () => active() && app.collection.takes === 'pictures';
  document.addEventListener('dragover', (event) => wanted() && event.preventDefault());
  const take = (event, list) => {
    const picture = wanted() && [...(list || [])].find((file) => file.type.startsWith('image/'));
    if (!picture) return;
    event.preventDefault();
    askPicture(picture);
  };
  document.addEventListener('drop', (event) => take(event, event.dataTransfer?.files));
  document.addEventListener('paste', (event) => take(event, event.clipboardData?.files));
}
