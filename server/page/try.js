// Try your own: upload a file, see what is in it, choose the labels, train, search. The address holds the upload that
// is shown, so that a reload and the back button come back to it.

import { bundle, dropped } from './bundle.js';
import { el, fill, bytes, count, plural } from './dom.js';

const pathOf = (id, verb) => `/v1/try/${encodeURIComponent(id)}${verb ? `/${verb}` : ''}`;
const alertLine = (text) => el('p', { class: 'problem', role: 'alert' }, text);

export function mount(root, app) {
  const place = el('div', { class: 'stack' });
  let job = null, timer = 0, shown = false;
  if (app.server.access !== 'write' || app.server.read_only) {
    root.append(el('p', { class: 'notice' },
      'To try data of your own, the server has to allow changes, and you need the token that makes them.'));
    return { show() {}, hide() {} };
  }
  root.append(el('div', { class: 'stack try' },
    el('div', {}, el('h2', {}, 'Try your own data'),
      el('p', {}, 'Upload rows or pictures with labels. Codes are learned from them, and all of them can be searched here. ',
        'Nothing leaves the computer that this server runs on.')),
    place));

  async function upload(file, name) {
    fill(place, el('section', { class: 'card', 'aria-busy': 'true' }, el('h2', { dir: 'auto' }, name),
      el('p', {}, 'Uploading, and looking at what is in it …'), el('progress', { 'aria-label': 'Upload' })));
    try {
      const path = `/v1/try?name=${encodeURIComponent(name)}`;
      const made = await app.api('POST', path, file, { type: 'application/octet-stream' });
      app.status(`${name} is uploaded: ${plural(made.rows, made.format === 'pictures' ? 'picture' : 'row')}.`);
      await app.go('try', { job: made.id });
    } catch (trouble) {
      start(trouble.message);
    }
  }

  async function sample() {
    try {
      const answer = await app.api('GET', '/v1/try/samples/clothes.zip', null, { raw: true });
      await upload(await answer.blob(), 'clothes.zip');
    } catch (trouble) {
      start(trouble.message);
    }
  }

  function start(trouble) {
    job = null;
    fill(place, chooser(app, { upload, sample, trouble }));
    if (trouble) app.status(trouble);
  }

  // draw shows a job as it is now.
  function draw(next) {
    const before = job;
    job = next;
    clearTimeout(timer);
    if (job.state === 'training') {
      if (before?.id !== job.id || before.state !== 'training') fill(place, progress());
      place.querySelector('progress').value = job.progress;
      place.querySelector('.stage').textContent = job.stage;
      if (shown) timer = setTimeout(poll, 400);
    } else if (job.state === 'done') {
      fill(place, done(app, job, { again: () => draw({ ...job, state: 'uploaded' }), remove }));
      if (before?.state === 'training') {
        app.status(`${job.name} is ready to be searched.`);
        place.querySelector('h2').focus();
      }
    } else {
      fill(place, choices(job, { train, labels, remove }));
      if (job.state === 'cancelled' && before?.state === 'training')
        app.status('The training was cancelled. The upload is still here.');
    }
  }

  const progress = () => el('section', { class: 'card working' },
    el('h2', { dir: 'auto' }, job.name), el('p', { class: 'stage' }), el('progress', { max: 1, 'aria-label': 'Training' }),
    alertLine(), el('p', { class: 'row' }, el('button', { type: 'button', onclick: cancel }, 'Cancel')));

  async function poll() {
    try {
      const now = await app.api('GET', pathOf(job.id));
      if (!shown || now.id !== job?.id) return;
      if (now.state === 'done') await app.refresh();
      draw(now);
    } catch (trouble) {
      if (trouble.status === 404) return start(trouble.message);
      if (shown) timer = setTimeout(poll, 2000);
    }
  }

  // act does something that a button asked for and shows what is wrong beside it.
  async function act(work) {
    try {
      await work();
    } catch (trouble) {
      const say = place.querySelector('.problem');
      if (say) say.textContent = trouble.message;
      app.status(trouble.message);
    }
  }
  const post = (verb, body, options) => act(async () => draw(await app.api('POST', pathOf(job.id, verb), body, options)));
  const train = (choice) => post('train', choice);
  const labels = (file) => post('labels', file, { type: 'text/plain' });
  const cancel = () => post('cancel');
  const remove = () => act(async () => {
    await app.api('DELETE', pathOf(job.id));
    app.status(`${job.name} is removed.`);
    job = null;
    await app.refresh();
    app.go('try', {});
  });

  return {
    async show(params) {
      shown = true;
      if (!params.job) {
        return start();
      }
      if (job?.id !== params.job) job = null;
      try {
        const now = await app.api('GET', pathOf(params.job));
        if (job?.state !== now.state || now.state === 'training') draw(now); // else it is on the page as it was left
      } catch (trouble) {
        start(trouble.message);
      }
    },
    hide() {
      shown = false;
      clearTimeout(timer);
    },
  };
}

// chooser asks for a file: by choosing, by dropping, or the sample.
function chooser(app, { upload, sample, trouble }) {
  const say = alertLine(trouble), most = app.server.limits?.try_bytes;
  async function take(files) {
    files = files.filter((file) => !/^\.|^thumbs\.db$/i.test(file.name)); // what systems hide in folders
    if (files.length === 0) return;
    say.textContent = '';
    const size = files.reduce((sum, file) => sum + file.size, 0);
    try {
      if (most && size > most) throw new Error(`That is ${bytes(size)}, and ${bytes(most)} are allowed.`);
      const { file, name } = await bundle(files);
      await upload(file, name);
    } catch (wrong) {
      say.textContent = wrong.message;
    }
  }
  const input = (id, more) => {
    const e = el('input', { type: 'file', id, class: 'hidden', onchange: () => take([...e.files]), ...more });
    return e;
  };
  const zone = el('section', {
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
    el('h2', { id: 'try-choose' }, 'Choose a file, or drop it here'),
    el('p', { class: 'row' },
      input('try-file', { accept: '.csv,.tsv,.txt,.jsonl,.npy,.zip' }), el('label', { for: 'try-file', class: 'button main' }, 'Choose a file'),
      input('try-folder', { webkitdirectory: '' }), el('label', { for: 'try-folder', class: 'button' }, 'Choose a folder of pictures')),
    say,
    el('dl', { class: 'pairs' }, [
      ['a table', 'CSV, TSV or JSON lines: columns of numbers, and one that holds the class of each row'],
      ['vectors', 'an npy file with a row for each item, and then a text file with a label on each line'],
      ['pictures', 'a folder, or a zip, with a folder for each class'],
    ].map(([what, how]) => el('div', {}, el('dt', {}, what), el('dd', {}, how)))),
    el('p', {}, 'No file at hand? ', el('button', { type: 'button', onclick: sample }, 'Try 1,000 pictures of clothes')),
    most && el('p', { class: 'muted small' }, `Up to ${bytes(most)}. The next upload takes its place.`));
  return zone;
}

// choices shows what is in an upload and asks how to learn from it.
function choices(job, { train, labels, remove }) {
  const columns = (job.columns || []).filter((c) => c.kind !== 'list');
  const label = el('select', { id: 'try-label' },
    !job.label && el('option', { value: '' }, 'choose a column'),
    columns.map((c) => el('option', { value: c.name, selected: c.name === job.label }, `${c.name} (${count(c.distinct)} different values)`)));
  const sizes = [...new Set([8, 16, 32, 64, 128, job.bits])].sort((a, b) => a - b);
  const bits = el('select', { id: 'try-bits' },
    sizes.map((n) => el('option', { value: n, selected: n === job.bits }, `${n} bits (${plural(Math.ceil(n / 8), 'byte')} an item)`)));
  const form = el('form', {
    class: 'stack',
    onsubmit: (event) => {
      event.preventDefault();
      train({ label: job.columns ? label.value : undefined, bits: Number(bits.value) });
    },
  },
    el('div', { class: 'row' },
      job.columns && el('label', { class: 'field grow' }, 'Which column says what belongs together?', label),
      el('label', { class: 'field grow' }, 'How long may a code be?', bits)),
    alertLine(job.state === 'failed' && job.message),
    el('p', { class: 'row' },
      el('button', { type: 'submit', class: 'main', disabled: job.labels_needed || false }, 'Train'),
      el('button', { type: 'button', class: 'danger', onclick: remove }, 'Remove the upload')));
  return el('section', { class: 'card stack' },
    el('div', {}, el('h2', { dir: 'auto', tabindex: -1 }, job.name), el('p', {}, what(job))),
    job.sample && sampleOf(job), job.labels_needed && needLabels(labels, job), form);
}

function what(job) {
  if (job.format === 'pictures') return `${plural(job.rows, 'picture')} in ${plural(job.classes, 'class', 'classes')}.`;
  if (job.format === 'npy') return `${plural(job.rows, 'row')} of ${plural(job.dims, 'number')}.`;
  return `${plural(job.rows, 'row')} and ${plural(job.columns.length, 'column')}.`;
}

// sampleOf is the first columns with their first rows.
function sampleOf(job) {
  const shown = job.columns.slice(0, job.sample[0]?.length), more = job.columns.length - shown.length;
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The first rows' },
    el('table', { class: 'unbroken' },
      el('thead', {}, el('tr', {}, shown.map((c) => el('th', { scope: 'col', dir: 'auto' }, c.name)))),
      el('tbody', {}, job.sample.map((row) => el('tr', {}, row.map((v) => el('td', { dir: 'auto' }, v)))))),
    more > 0 && el('p', { class: 'muted small' }, `and ${plural(more, 'more column', 'more columns')}`));
}

function needLabels(labels, job) {
  const input = el('input', { type: 'file', id: 'try-labels', class: 'hidden', accept: '.txt,.csv',
    onchange: () => input.files[0] && labels(input.files[0]) });
  return el('div', {}, el('p', {}, `Now the labels: a text file with ${plural(job.rows, 'line')}, the class of each row.`),
    el('p', {}, input, el('label', { for: 'try-labels', class: 'button main' }, 'Choose the labels')));
}

// done leads to what was made.
function done(app, job, { again, remove }) {
  const link = (tab, text, kind) => el('a', { class: kind, href: app.link(tab, { c: job.collection }) }, text);
  return el('section', { class: 'card stack' },
    el('h2', { dir: 'auto', tabindex: -1 }, `${job.name} can be searched`),
    el('p', {}, `${plural(job.rows, 'item')} with codes of ${job.bits} bits are the collection ${job.collection}. `,
      link('collection', 'What training measured')),
    job.message && el('p', { class: 'notice', dir: 'auto' }, job.message), alertLine(),
    el('p', { class: 'row' }, link('search', 'Search it', 'button main'),
      el('button', { type: 'button', onclick: again }, 'Train again'),
      el('button', { type: 'button', class: 'danger', onclick: remove }, 'Remove the upload')));
}
