// Adding, changing and deleting items by hand. Nothing is deleted before the page has said how many items would go.

import { el, fill, plural } from './dom.js';
import { read, base64 } from './query.js';

// editor makes the forms. changed() is called after every write.
export function editor(app, changed) {
  const done = async (text) => {
    await Promise.all([app.refresh(), changed()]);
    app.status(text);
  };
  const add = addForm(app, done),
    change = changeForm(app, done),
    remove = removeForm(app, done);
  const root = el(
    'section',
    { class: 'card' },
    el('h2', {}, 'Change items'),
    el('div', { class: 'split' }, add.root, el('div', { class: 'stack' }, change.root, remove.root)),
  );
  return {
    root,
    set: (params) => {
      if (params.item) change.open(params.item);
    },
  };
}

// trying runs what a button does and shows what went wrong beside it.
async function trying(problem, button, action) {
  problem.textContent = '';
  button.disabled = true;
  try {
    await action();
  } catch (trouble) {
    problem.textContent = trouble.message;
  }
  button.disabled = false;
}

const field = (title, input) => el('label', { class: 'field' }, title, input);
const alertLine = () => el('p', { class: 'problem', role: 'alert' });

// fields are label, tags and attributes, as texts of a form.
function fields() {
  const label = el('input', { name: 'label', autocomplete: 'off', dir: 'auto' });
  const tags = el('textarea', { name: 'tags', rows: 2, spellcheck: 'false', dir: 'auto' });
  const attributes = el('textarea', {
    name: 'attributes',
    rows: 3,
    spellcheck: 'false',
    dir: 'auto',
    placeholder: 'price = 19.5\ncolour = red',
  });
  return {
    nodes: [
      field('Label', label),
      field('Tags, one on each line', tags),
      field('Attributes, one on each line', attributes),
    ],
    set(item) {
      label.value = item.label ?? '';
      tags.value = (item.tags || []).join('\n');
      attributes.value = Object.entries(item.attributes || {})
        .map(([name, value]) => `${name} = ${text(value)}`)
        .join('\n');
    },
    get: () => ({
      label: label.value,
      tags: lines(tags.value),
      attributes: Object.fromEntries(lines(attributes.value).map(attribute)),
    }),
  };
}

const lines = (value) =>
  value
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line);

// A text that would be read as a number is written in quotes.
const text = (value) =>
  typeof value === 'string' && (isNumber(value) || /^".*"$/.test(value)) ? JSON.stringify(value) : String(value);
const isNumber = (value) => value.trim() !== '' && Number.isFinite(Number(value));

// attribute reads a line such as price = 19.5. Numbers are numbers unless they are in quotes.
function attribute(line) {
  const at = line.indexOf('=');
  if (at < 1) throw new Error(`Write attributes as name = value; this line is not: ${line}`);
  const name = line.slice(0, at).trim(),
    value = line.slice(at + 1).trim();
  if (/^".*"$/.test(value)) {
    try {
      return [name, JSON.parse(value)];
    } catch {
      return [name, value];
    }
  }
  return [name, isNumber(value) ? Number(value) : value];
}

function addForm(app, done) {
  const { takes, bits } = app.collection;
  const id = el('input', { name: 'id', required: true, autocomplete: 'off' });
  const kinds = { vectors: ['vector', 'code'], pictures: ['picture', 'code'], codes: ['code'] }[takes] || ['code'];
  const titles = {
    vector: `Vector of ${app.collection.dims} numbers`,
    code: `Code of ${2 * Math.ceil(bits / 8)} hex digits`,
    picture: 'Picture',
  };
  const inputs = {
    vector: el('textarea', { name: 'vector', rows: 2, spellcheck: 'false' }),
    code: el('input', { name: 'code', spellcheck: 'false', autocomplete: 'off' }),
    picture: el('input', { type: 'file', name: 'picture', accept: 'image/*' }),
  };
  const kind = el('select', { name: 'kind', onchange: () => place() }, kinds.map((k) => el('option', { value: k }, k)));
  const content = el('div', {});
  const place = () => fill(content, field(titles[kind.value], inputs[kind.value]));
  const more = fields(),
    problem = alertLine();
  const button = el('button', { type: 'submit', class: 'main' }, 'Add');
  const root = el(
    'form',
    {
      class: 'stack edit-add',
      onsubmit: (event) => {
        event.preventDefault();
        trying(problem, button, async () => {
          await app.api('PUT', `items/${encodeURIComponent(id.value.trim())}`, {
            ...(await body()),
            ...given(more.get()),
          });
          await done(`Item ${id.value} is in the collection.`);
        });
      },
    },
    el('h3', {}, 'Add an item'),
    field('Id', id),
    kinds.length > 1 && field('Its code comes from a', kind),
    content,
    more.nodes,
    problem,
    el('p', {}, button),
  );
  const body = async () => {
    if (kind.value === 'picture') {
      if (!inputs.picture.files[0]) throw new Error('Choose a picture first.');
      return { picture: await base64(inputs.picture.files[0]) };
    }
    if (kind.value === 'code') return { code: inputs.code.value.trim().replace(/^0x/, '') };
    const query = read(`[${inputs.vector.value.trim().replace(/^\[|\]$/g, '')}]`, app.collection);
    if (!query.vector) throw new Error('The vector should be numbers with commas or spaces between them.');
    return query;
  };
  place();
  return { root };
}

// given leaves out what is empty.
function given({ label, tags, attributes }) {
  return {
    label: label || undefined,
    tags: tags.length ? tags : undefined,
    attributes: Object.keys(attributes).length ? attributes : undefined,
  };
}

function changeForm(app, done) {
  const id = el('input', { name: 'id', required: true, autocomplete: 'off' });
  const more = fields(),
    problem = alertLine();
  const save = el('button', { type: 'submit', class: 'main' }, 'Save');
  const erase = el('button', { type: 'button', class: 'danger' }, 'Delete');
  const ask = el('div', {});
  let opened = '';
  const body = el(
    'form',
    {
      class: 'stack',
      hidden: true,
      onsubmit: (event) => {
        event.preventDefault();
        trying(problem, save, async () => {
          await app.api('PATCH', `items/${encodeURIComponent(opened)}`, { ...more.get(), replace: true });
          await done(`Item ${opened} has been changed.`);
        });
      },
    },
    more.nodes,
    el('p', { class: 'row' }, save, erase),
    ask,
  );
  erase.addEventListener('click', () =>
    trying(problem, erase, () =>
      confirmDelete(app, ask, { ids: [opened] }, async (text) => {
        body.hidden = true;
        await done(text);
      }),
    ),
  );
  const look = el('button', { type: 'submit' }, 'Open');
  const open = (which) =>
    trying(problem, look, async () => {
      body.hidden = true;
      fill(ask);
      id.value = which;
      const { item } = await app.api('GET', `items/${encodeURIComponent(which)}`);
      opened = String(item.id);
      more.set(item);
      body.hidden = false;
    });
  const root = el(
    'div',
    { class: 'stack edit-change' },
    el('h3', {}, 'Change or delete an item'),
    el(
      'form',
      {
        class: 'row',
        onsubmit: (event) => {
          event.preventDefault();
          open(id.value.trim());
        },
      },
      field('Id', id),
      look,
    ),
    problem,
    body,
  );
  return { root, open };
}

function removeForm(app, done) {
  const where = el('input', {
    name: 'where',
    required: true,
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder: 'label = "old"',
  });
  const problem = alertLine(),
    ask = el('div', {});
  const button = el('button', { type: 'submit', class: 'danger' }, 'Show what would go');
  const root = el(
    'form',
    {
      class: 'stack edit-remove',
      onsubmit: (event) => {
        event.preventDefault();
        trying(problem, button, () => confirmDelete(app, ask, { where: where.value }, done));
      },
    },
    el('h3', {}, 'Delete all that match'),
    field('Filter', where),
    el('p', {}, button),
    problem,
    ask,
  );
  return { root };
}

// confirmDelete counts what would be deleted and asks. which is {ids} or {where}.
async function confirmDelete(app, place, which, done) {
  const { deleted, ids } = await app.api('POST', 'delete', { ...which, dry_run: true });
  if (deleted === 0) {
    fill(place, el('p', {}, 'No item matches: there is nothing to delete.'));
    return;
  }
  const shown = (ids || []).slice(0, 10);
  const first = shown.join(', ') + (deleted > shown.length ? ` and ${plural(deleted - shown.length, 'other')}` : '');
  const problem = alertLine();
  const yes = el(
    'button',
    {
      type: 'button',
      class: 'danger',
      onclick: () =>
        trying(problem, yes, async () => {
          const answer = await app.api('POST', 'delete', { ...which, dry_run: false });
          fill(place);
          await done(`${plural(answer.deleted, 'item')} ${answer.deleted === 1 ? 'has' : 'have'} been deleted.`);
        }),
    },
    `Delete ${plural(deleted, 'item')}`,
  );
  fill(
    place,
    el(
      'div',
      { class: 'notice', role: 'group', 'aria-label': 'Delete?' },
      el('p', { dir: 'auto' }, `${plural(deleted, 'item')} would be deleted: ${first}. This cannot be undone.`),
      el('p', { class: 'row' }, yes, el('button', { type: 'button', onclick: () => fill(place) }, 'Keep')),
      problem,
    ),
  );
  yes.focus();
}
