// What people take away from a search: which labels the results have, the results as a file, and the same search as
// a command or a program.

import { el, plural } from './dom.js';

// labelsOf counts the labels of hits, the most frequent first.
export function labelsOf(hits) {
  const counts = new Map();
  for (const { label } of hits) if (label !== undefined) counts.set(label, (counts.get(label) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

// labelSummary says which labels the results have: "17 ship, 5 automobile".
export function labelSummary(hits) {
  const labels = labelsOf(hits);
  if (labels.length === 0) return null;
  const shown = labels.slice(0, 5);
  const rest = labels.slice(5).reduce((sum, [, n]) => sum + n, 0);
  return el(
    'p',
    { class: 'labels-found' },
    shown.map(([label, n], i) => [i > 0 && ', ', el('strong', { class: 'number' }, String(n)), ' ', el('span', { dir: 'auto' }, label)]),
    rest > 0 && `, ${rest} of ${plural(labels.length - 5, 'other label')}`,
  );
}

// take offers the results as a file, and the search as a command.
export function take(app, request, answer) {
  const name = `${app.collection.name}-results`;
  return el(
    'div',
    { class: 'take' },
    el(
      'p',
      { class: 'row' },
      el('button', { type: 'button', class: 'quiet', onclick: () => save(`${name}.csv`, 'text/csv', table(answer.results[0].hits)) }, 'Download as CSV'),
      el('button', { type: 'button', class: 'quiet', onclick: () => save(`${name}.json`, 'application/json', JSON.stringify(answer, null, 2)) }, 'Download as JSON'),
    ),
    el(
      'details',
      { class: 'snippets' },
      el('summary', {}, 'The same search with curl, Python and Go'),
      Object.entries(snippets(app, request)).map(([title, text]) => snippet(title, text)),
    ),
  );
}

function snippet(title, text) {
  const said = el('span', { class: 'muted small', role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = 'Copied.';
    } catch {
      said.textContent = 'Select the text and copy it.';
    }
  };
  return el(
    'div',
    { class: 'snippet' },
    el('p', { class: 'row' }, el('strong', {}, title), el('button', { type: 'button', class: 'quiet', onclick: copy, 'aria-label': `Copy the text for ${title}` }, 'Copy'), said),
    el('pre', { tabindex: 0, role: 'region', 'aria-label': title }, text),
  );
}

// snippets are the search in other words. A token is never part of them.
export function snippets(app, request) {
  const body = JSON.stringify(request);
  const origin = location.origin;
  const collection = app.collection.name;
  const { id, vector, code, picture, ...options } = request;
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== '');
  const python = given.map(([name, value]) => `, ${name}=${JSON.stringify(value)}`).join('');
  const target = id !== undefined ? `ids=${JSON.stringify(id)}` : vector ? JSON.stringify(vector) : code ? `codes=np.frombuffer(bytes.fromhex("${code}"), "uint8")` : 'picture=open("picture.jpg", "rb").read()';
  const short = picture ? JSON.stringify({ ...request, picture: '(base64)' }) : body;
  return {
    curl: `curl -H 'Content-Type: application/json' -d '${short.replaceAll("'", `'\\''`)}' '${origin}/v1/collections/${collection}/search'`,
    Python: `from hashgrove import Client\nimport numpy as np\nc = Client("${origin}")\nfound = c.search("${collection}", ${target}${python})\nprint(found.ids, found.distances)`,
    Go: `c := &client.Client{URL: "${origin}"}\nvar r api.Request\nerr := json.Unmarshal([]byte(\`${short.replaceAll('`', '` + "`" + `')}\`), &r)\n// check(err)\nanswer, err := c.Collection("${collection}").Search(ctx, &r)`,
  };
}

// table writes hits as CSV. A text that a spreadsheet would take for a formula gets a quote before it.
export function table(hits) {
  const cell = (value) => {
    let text = value === undefined || value === null ? '' : String(value);
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const names = [...new Set(hits.flatMap((h) => Object.keys(h.attributes || {})))];
  const head = ['rank', 'id', 'distance', 'label', 'tags', ...names];
  const rows = hits.map((h, i) => [i + 1, h.id, h.distance, h.label, h.tags?.join(' '), ...names.map((n) => h.attributes?.[n])]);
  return [head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

// save gives the person a file.
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
