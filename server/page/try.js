// Try your own: upload a file, see what is in it, choose, train, compare, search. The address holds the upload that is
// shown, so that a reload and the back button come back to it. upload.js asks for the file and the choices,
// comparison.js shows how it went.

import { el, fill, plural, seconds } from './dom.js';
import { chooser, choices } from './upload.js';
import { comparison } from './comparison.js';

const working = ['training', 'comparing', 'indexing'];

export function mount(root, app) {
  const earlier = el('div', { class: 'row' });
  const place = el('div', { class: 'stack' });
  let job = null; // the one that is shown
  let timer = 0,
    shown = false;
  if (app.server.access !== 'write' || app.server.read_only) {
    root.append(
      el(
        'p',
        { class: 'notice' },
        'To try data of your own, the server has to allow changes, and you need the token that makes them.',
      ),
    );
    return { show() {}, hide() {} };
  }
  root.append(
    el(
      'div',
      { class: 'stack try' },
      el(
        'div',
        {},
        el('h2', {}, 'Try your own data'),
        el(
          'p',
          {},
          'Upload rows or pictures with labels. Codes are learned from most of them, tried on the rest, and compared ',
          'with other ways to search. Then all of them can be searched here. ',
          'Nothing leaves the computer that this server runs on.',
        ),
      ),
      earlier,
      place,
    ),
  );

  const pathOf = (id, verb) => `/v1/try/${encodeURIComponent(id)}${verb ? `/${verb}` : ''}`;

  async function upload(file, name, labelFile) {
    fill(
      place,
      el(
        'section',
        { class: 'card', 'aria-busy': 'true' },
        el('h2', { dir: 'auto' }, name),
        el('p', {}, 'Uploading, and looking at what is in it …'),
        el('progress', { 'aria-label': 'Upload' }),
      ),
    );
    try {
      const made = await app.api('POST', `/v1/try?name=${encodeURIComponent(name)}`, file, {
        type: 'application/octet-stream',
      });
      const labelled = labelFile && app.api('POST', pathOf(made.id, 'labels'), labelFile, { type: 'text/plain' });
      await labelled?.catch((problem) => app.api('DELETE', pathOf(made.id)).then(() => Promise.reject(problem)));
      app.status(`${name} is uploaded: ${plural(made.rows, made.format === 'pictures' ? 'picture' : 'row')}.`);
      await app.go('try', { job: made.id });
    } catch (problem) {
      start(problem.message);
    }
  }

  async function sample(name) {
    fill(
      place,
      el(
        'section',
        { class: 'card', 'aria-busy': 'true' },
        el('p', {}, 'Making the sample …'),
        el('progress', { 'aria-label': 'Sample' }),
      ),
    );
    try {
      const answer = await app.api('GET', `/v1/try/samples/${name}`, null, { raw: true });
      await upload(await answer.blob(), name);
    } catch (problem) {
      start(problem.message);
    }
  }

  function start(problem) {
    job = null;
    fill(place, chooser(app, { upload, sample, problem }));
    if (problem) app.status(problem);
  }

  // draw shows a job as it is now.
  function draw(next) {
    const before = job;
    job = next;
    if (working.includes(job.state)) {
      if (before?.id !== job.id || !working.includes(before.state) || !place.querySelector('.working'))
        fill(place, progress());
      update();
      wait();
    } else if (job.state === 'done') {
      fill(place, comparison(app, job, {
        again: () => draw({ ...job, state: 'uploaded' }),
        remove,
        use: (method) => train({ label: job.label, bits: job.bits, method }),
      }));
      if (before && working.includes(before.state)) {
        app.status(`${job.name} is ready to be searched.`);
        place.querySelector('h2')?.focus();
      }
    } else {
      fill(place, choices(app, job, { train, labels, remove }));
      if (job.state === 'cancelled' && before && working.includes(before.state))
        app.status('The training was cancelled. The upload is still here.');
    }
    list();
  }

  // progress is the card of a training; update changes what it says, so that nothing moves and screen readers stay
  // calm.
  let bar, stage, left;
  function progress() {
    bar = el('progress', { max: 1, value: 0, 'aria-label': 'Training' });
    stage = el('p', { class: 'number' });
    left = el('p', { class: 'muted number' });
    return el(
      'section',
      { class: 'card working' },
      el('h2', { dir: 'auto' }, job.name),
      stage,
      bar,
      left,
      el('p', { class: 'row' }, el('button', { type: 'button', onclick: cancel }, 'Cancel')),
    );
  }
  function update() {
    bar.value = job.progress;
    stage.textContent = job.stage || 'Starting';
    left.textContent =
      job.seconds_left === null
        ? 'Estimating the time …'
        : `About ${seconds(Math.max(1, Math.round(job.seconds_left)))} left`;
  }

  async function poll() {
    try {
      const now = await app.api('GET', pathOf(job.id));
      if (!shown || now.id !== job?.id) return;
      if (now.state === 'done') await app.refresh();
      draw(now);
    } catch (problem) {
      if (problem.status === 404) return start(problem.message);
      if (left) left.textContent = problem.message;
      wait();
    }
  }
  function wait() {
    clearTimeout(timer);
    if (shown) timer = setTimeout(poll, 400);
  }

  // act does something that a button asked for and shows what is wrong beside it.
  async function act(work) {
    try {
      await work();
    } catch (problem) {
      const say = place.querySelector('.problem');
      if (say) say.textContent = problem.message;
      app.status(problem.message);
    }
  }
  const train = (choice) => act(async () => draw(await app.api('POST', pathOf(job.id, 'train'), choice)));
  const labels = (file) =>
    act(async () => draw(await app.api('POST', pathOf(job.id, 'labels'), file, { type: 'text/plain' })));
  const cancel = () =>
    act(async () => {
      clearTimeout(timer);
      draw(await app.api('POST', pathOf(job.id, 'cancel')));
    });
  const remove = () =>
    act(async () => {
      await app.api('DELETE', pathOf(job.id));
      app.status(`${job.name} is removed.`);
      job = null;
      await app.refresh();
      app.go('try', {});
    });

  // list shows the uploads that are there, to return to one.
  async function list() {
    const { jobs } = await app.api('GET', '/v1/try');
    fill(
      earlier,
      jobs.length > 0 && [
        el('span', { class: 'muted' }, 'Uploads:'),
        jobs.map((j) =>
          el(
            'a',
            {
              class: 'chip',
              dir: 'auto',
              href: app.link('try', { job: j.id }),
              'aria-current': j.id === job?.id ? 'true' : null,
              onclick: (event) => {
                event.preventDefault();
                app.go('try', { job: j.id });
              },
            },
            j.name,
          ),
        ),
        job &&
          el(
            'a',
            {
              class: 'chip',
              href: app.link('try', {}),
              onclick: (event) => {
                event.preventDefault();
                app.go('try', {});
              },
            },
            '+ another file',
          ),
      ],
    );
  }

  return {
    async show(params) {
      shown = true;
      if (!params.job) {
        start();
        return list();
      }
      if (job?.id !== params.job) job = null;
      try {
        const now = await app.api('GET', pathOf(params.job));
        if (job?.state !== now.state || working.includes(now.state)) draw(now); // else it is on the page as it was left
      } catch (problem) {
        start(problem.message);
        return list();
      }
    },
    hide() {
      shown = false;
      clearTimeout(timer);
    },
  };
}
