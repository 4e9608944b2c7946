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

// suitable are the files that a collection can be searched with.
const suitable = (list, takes) =>
  [...(list || [])].filter((file) =>
    takes === 'pictures'
      ? file.type.startsWith('image/')
      : takes === 'vectors' && /\.(csv|tsv|txt|jsonl?|npy)$/i.test(file.name),
  );

// bar makes the form. ask(text) and askFiles(files) are called for what the person gives.
export function bar(app, { ask, askFiles, clear }) {
  const { takes, dims } = app.collection;
  const hints = {
    vectors: `An item's id, or a vector of ${dims} numbers`,
    pictures: "An item's id",
    codes: "An item's id, or 0x and a code",
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
    takes !== 'codes' && picker(takes, askFiles),
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
      el('p', { class: 'muted small' }, 'You can also drop pictures anywhere on this page, or paste one.'),
    takes === 'vectors' &&
      el('p', { class: 'muted small' }, 'You can also choose or drop npy files, or text files with a vector on each line.'),
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

function picker(takes, askFiles) {
  const pictures = takes === 'pictures';
  const file = el('input', {
    type: 'file',
    id: 'picture',
    accept: pictures ? 'image/*' : '.csv,.tsv,.txt,.json,.jsonl,.npy',
    multiple: true,
    class: 'hidden',
    'aria-label': pictures ? 'Pictures to look for' : 'Files with vectors to look for',
    onchange: () => {
      const files = [...file.files];
      file.value = '';
      if (files.length > 0) askFiles(files);
    },
  });
  return [file, el('label', { for: 'picture', class: 'button' }, pictures ? 'Choose pictures' : 'Choose files')];
}

// catchFiles takes files that are dropped on or pasted into the page, while active() says so.
export function catchFiles(app, active, askFiles) {
  document.addEventListener('dragover', (event) => {
    if (active() && app.collection.takes !== 'codes') event.preventDefault();
  });
  const take = (event, list) => {
    const files = active() ? suitable(list, app.collection.takes) : [];
    if (files.length === 0) return;
    event.preventDefault();
    askFiles(files);
  };
  document.addEventListener('drop', (event) => take(event, event.dataTransfer?.files));
  document.addEventListener('paste', (event) => take(event, event.clipboardData?.files));
}
