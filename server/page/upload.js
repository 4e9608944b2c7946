// The first two steps of trying data: which file, and which of its columns mean what.

import { bundle, dropped } from './bundle.js';
import { el, fill, bytes, count, plural } from './dom.js';

// chooser asks for files: by choosing, by dropping, or one of the samples.
export function chooser(app, { upload, sample, problem }) {
  const input = el('input', {
    type: 'file',
    id: 'try-file',
    class: 'hidden',
    multiple: true,
    accept: '.csv,.tsv,.txt,.jsonl,.npy,.zip',
    onchange: () => take([...input.files]),
  });
  const folder = el('input', {
    type: 'file',
    id: 'try-folder',
    class: 'hidden',
    webkitdirectory: '',
    onchange: () => take([...folder.files]),
  });
  const say = el('p', { class: 'problem', role: 'alert' }, problem);
  const most = app.server.limits?.try_bytes;
  async function take(files) {
    if (files.length === 0) return;
    say.textContent = '';
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (most && size > most) {
      const what = files.length === 1 ? `${files[0].name} has` : `${plural(files.length, 'file')} have`;
      say.textContent = `${what} ${bytes(size)}, and ${bytes(most)} are allowed.`;
      return;
    }
    try {
      const { file, name, labels } = await bundle(files);
      await upload(file, name, labels);
    } catch (trouble) {
      say.textContent = trouble.message;
    }
  }
  const zone = el(
    'section',
    {
      class: 'card drop',
      'aria-labelledby': 'try-choose',
      ondragover: (event) => {
        event.preventDefault();
        zone.classList.add('over');
      },
      ondragleave: () => zone.classList.remove('over'),
      ondrop: (event) => {
        event.preventDefault();
        zone.classList.remove('over');
        dropped(event.dataTransfer).then(take);
      },
    },
    el('h2', { id: 'try-choose' }, 'Choose files, or drop them here'),
    el(
      'p',
      { class: 'row' },
      input,
      el('label', { for: 'try-file', class: 'button main' }, 'Choose files'),
      folder,
      el('label', { for: 'try-folder', class: 'button' }, 'Choose a folder of pictures'),
    ),
    say,
    el(
      'dl',
      { class: 'pairs' },
      [
        ['a table', 'CSV, TSV or JSON lines: columns of numbers, and one that holds the class of each row; several with the same columns are joined'],
        ['vectors', 'an npy file with a row for each item, and a text file with a label on each line'],
        ['pictures', 'a folder, or a zip, with a folder for each class'],
      ].map(([what, how]) => el('div', {}, el('dt', {}, what), el('dd', {}, how))),
    ),
    most &&
      el(
        'p',
        { class: 'muted small' },
        `Up to ${bytes(most)}. The last three uploads are kept until the server stops.`,
      ),
  );
  return [
    zone,
    el(
      'section',
      { class: 'card' },
      el('h2', {}, 'No file at hand?'),
      el(
        'p',
        { class: 'row' },
        el('button', { type: 'button', onclick: () => sample('clothes.zip') }, 'Try 1,000 pictures of clothes'),
        el('button', { type: 'button', onclick: () => sample('leaves.csv') }, 'Try a table of leaves'),
      ),
    ),
  ];
}

const kinds = { number: 'numbers', text: 'texts', list: 'lists of numbers' };

// choices shows what is in an upload and asks how to learn from it.
export function choices(app, job, { train, labels, remove }) {
  const table = job.columns?.length > 0;
  const say = el('p', { class: 'problem', role: 'alert' }, job.state === 'failed' && job.message);
  const left = new Set(); // columns of numbers that are not learned from
  const label = el(
    'select',
    { id: 'try-label', onchange: () => columns() },
    !job.label && el('option', { value: '' }, 'choose a column'),
    (job.columns || [])
      .filter((c) => c.kind !== 'list')
      .map((c) =>
        el(
          'option',
          { value: c.name, selected: c.name === job.label },
          `${c.name} (${c.more ? 'very many' : count(c.distinct)} different values)`,
        ),
      ),
  );
  const sizes = [...new Set([8, 16, 32, 64, 128, job.bits])].sort((a, b) => a - b);
  const bits = el(
    'select',
    { id: 'try-bits' },
    sizes.map((n) =>
      el('option', { value: n, selected: n === job.bits }, `${n} bits (${plural(Math.ceil(n / 8), 'byte')} an item)`),
    ),
  );
  const skip = el('input', { type: 'checkbox', id: 'try-skip' });
  const features = el(
    'select',
    { id: 'try-features' },
    el('option', { value: 'gist320' }, 'shapes and textures (GIST), for photos'),
    el('option', { value: 'pixels' }, 'pixels, for drawings of one size'),
  );
  const list = el('div', {});
  const begin = el(
    'button',
    { type: 'submit', class: 'main', disabled: job.labels_needed || false },
    'Train and compare',
  );
  const form = el(
    'form',
    {
      class: 'stack',
      onsubmit: async (event) => {
        event.preventDefault();
        say.textContent = '';
        begin.disabled = true; // reading a large file takes a moment
        begin.textContent = 'Reading the data …';
        await train({
          ...(table && { label: label.value, ignore: [...left].filter((name) => name !== label.value) }),
          bits: Number(bits.value),
          skip_bad: skip.checked,
          ...(job.format === 'pictures' && { features: features.value }),
        });
        begin.disabled = false;
        begin.textContent = 'Train and compare';
      },
    },
    el(
      'div',
      { class: 'row' },
      table && el('label', { class: 'field grow' }, 'Which column says what belongs together?', label),
      el('label', { class: 'field grow' }, 'How long may a code be?', bits),
      job.format === 'pictures' && el('label', { class: 'field grow' }, 'What to learn from?', features),
    ),
    el(
      'label',
      {},
      skip,
      job.format === 'pictures' ? ' Leave out broken pictures' : ' Leave out rows with missing or broken values',
    ),
    say,
    el(
      'p',
      { class: 'row' },
      begin,
      el('button', { type: 'button', class: 'danger', onclick: remove }, 'Remove the upload'),
    ),
  );

  // columns says which columns are learned from; the person may leave some out.
  function columns() {
    const learned = job.columns.filter((c) => c.name !== label.value && c.suggest !== 'id' && c.kind !== 'text');
    const many = learned.length > 60;
    fill(
      meaning,
      sample.columns.map((c) => el('td', {}, `${kinds[c.kind]}, ${role(c)}`)),
    );
    fill(
      list,
      el(
        'fieldset',
        {},
        el('legend', {}, 'Learn from'),
        many
          ? el('p', {}, `${plural(learned.length, 'column')} of numbers.`)
          : el(
              'div',
              { class: 'row' },
              learned.map((c) =>
                el(
                  'label',
                  { class: 'chip', dir: 'auto' },
                  el('input', {
                    type: 'checkbox',
                    checked: !left.has(c.name),
                    onchange: (event) => choose(c.name, event.target.checked),
                  }),
                  c.name,
                ),
              ),
            ),
      ),
    );
  }
  function choose(name, yes) {
    if (yes) left.delete(name);
    else left.add(name);
    fill(
      meaning,
      sample.columns.map((c) => el('td', {}, `${kinds[c.kind]}, ${role(c)}`)),
    );
  }
  // role is what a column is taken for, with the choices of now.
  const role = (c) =>
    c.name === label.value
      ? 'label'
      : c.suggest === 'id'
        ? 'id'
        : c.kind === 'text' || left.has(c.name)
          ? 'shown only'
          : 'learned from';
  const meaning = el('tr', { class: 'muted' });
  const sample = table && sampleOf(job, meaning);
  if (table) columns();

  return el(
    'section',
    { class: 'card stack' },
    el('div', {}, el('h2', { dir: 'auto', tabindex: -1 }, job.name), el('p', {}, what(job))),
    job.classes && classes(job),
    sample?.root,
    table && list,
    job.labels_needed && needLabels(labels, job),
    form,
  );
}

function what(job) {
  if (job.format === 'pictures')
    return `${plural(job.rows, 'picture')} in ${plural(job.classes.length, 'class', 'classes')}.`;
  if (job.format === 'npy') return `${plural(job.rows, 'row')} of ${plural(job.dims, 'number')}.`;
  return `${plural(job.rows, 'row')} and ${plural(job.columns.length, 'column')}.`;
}

function classes(job) {
  const shown = job.classes.slice(0, 40);
  return el(
    'ul',
    { class: 'chips', 'aria-label': 'Classes' },
    shown.map((c) =>
      el('li', { class: 'chip', dir: 'auto' }, c.label, el('span', { class: 'muted number' }, count(c.count))),
    ),
    job.classes.length > shown.length &&
      el('li', { class: 'muted' }, `and ${count(job.classes.length - shown.length)} more`),
  );
}

// sampleOf is the first columns with their first rows, and a row that says what they mean.
function sampleOf(job, meaning) {
  const columns = job.columns.slice(0, job.sample?.[0]?.length || 12);
  const root = el(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The first rows' },
    el(
      'table',
      { class: 'unbroken' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          columns.map((c) => el('th', { scope: 'col', dir: 'auto' }, c.name)),
        ),
      ),
      el(
        'tbody',
        {},
        meaning,
        (job.sample || []).map((row) =>
          el(
            'tr',
            {},
            row.map((v) => el('td', { dir: 'auto' }, v)),
          ),
        ),
      ),
    ),
    job.columns.length > columns.length &&
      el(
        'p',
        { class: 'muted small' },
        `and ${plural(job.columns.length - columns.length, 'more column', 'more columns')}`,
      ),
  );
  return { root, columns };
}

function needLabels(labels, job) {
  const input = el('input', {
    type: 'file',
    id: 'try-labels',
    class: 'hidden',
    accept: '.txt,.csv,.npy',
    onchange: () => input.files[0] && labels(input.files[0]),
  });
  return el(
    'div',
    {},
    el('p', {}, `Now the labels: a text file with ${plural(job.rows, 'line')}, the class of each row.`),
    el('p', {}, input, el('label', { for: 'try-labels', class: 'button main' }, 'Choose the labels')),
  );
}
