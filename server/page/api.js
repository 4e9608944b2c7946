// The way to the server: JSON in and out, the token, and errors with the server's own words.

const tokenKey = 'hashgrove-token';
let asking = null; // the one dialog that is open, as a promise

export function token() {
  try {
    return sessionStorage.getItem(tokenKey) || '';
  } catch {
    return '';
  }
}

// request sends one request. body: an object becomes JSON; a Blob, File or buffer goes as it is, of the type
// options.type or its own. options: signal, headers, type, and raw for the response as it is. The answer is the parsed
// JSON. Errors are Error with message and status (0 when the server cannot be reached).
export async function request(method, path, body, options = {}) {
  for (let tries = 0; ; tries++) {
    const response = await send(method, path, body, options);
    if (response.status === 401) {
      await askForToken(token() !== '');
      continue;
    }
    const wait = Number(response.headers.get('Retry-After'));
    if ((response.status === 429 || response.status === 503) && tries < 2 && wait <= 5) {
      await new Promise((done) => setTimeout(done, 1000 * (wait || 1)));
      continue;
    }
    if (options.raw && response.ok) return response;
    const answer = await read(response);
    if (!response.ok) throw failure(response.status, answer);
    return answer;
  }
}

async function send(method, path, body, options) {
  const headers = new Headers(options.headers);
  if (token()) headers.set('Authorization', `Bearer ${token()}`);
  if (body !== undefined && body !== null) {
    const plain = !(
      body instanceof Blob ||
      body instanceof ArrayBuffer ||
      ArrayBuffer.isView(body) ||
      typeof body === 'string'
    );
    headers.set(
      'Content-Type',
      options.type || (plain ? 'application/json' : body.type || 'application/octet-stream'),
    );
    if (plain) body = JSON.stringify(body);
  }
  try {
    return await fetch(path, { method, headers, body, signal: options.signal });
  } catch (problem) {
    if (problem.name === 'AbortError') throw problem;
    throw Object.assign(new Error('The server cannot be reached. Is it still running?'), { status: 0 });
  }
}

async function read(response) {
  const text = await response.text();
  try {
    return JSON.parse(text, longNumber.test(text) ? exact : undefined);
  } catch {
    return text;
  }
}

// Ids of more than 2^53 are no numbers of JavaScript: they stay texts, which the server takes as well.
const longNumber = /[[,:]\s*-?\d{16,}\s*[\],}]/;
function exact(_, value, context) {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source || '')
    ? context.source
    : value;
}

function failure(status, answer) {
  const message =
    answer?.error?.message || (typeof answer === 'string' && answer.trim()) || `The server answered ${status}.`;
  return Object.assign(new Error(message), { status, code: answer?.error?.code });
}

// askForToken opens the dialog and waits for a token. Requests that wait for the same thing share it.
function askForToken(refused) {
  asking ||= new Promise((done) => {
    const dialog = document.getElementById('token'),
      value = document.getElementById('token-value');
    document.getElementById('token-problem').textContent = refused ? 'The server did not accept this token.' : '';
    value.value = '';
    dialog.addEventListener('cancel', (event) => event.preventDefault());
    dialog.addEventListener(
      'close',
      () => {
        try {
          sessionStorage.setItem(tokenKey, value.value.trim());
        } catch {
          /* it lasts for this request alone */
        }
        asking = null;
        done();
      },
      { once: true },
    );
    dialog.showModal();
    value.focus();
  });
  return asking;
}

// picture returns an <img> of a path of the server. Browsers send no token for pictures, so that with one the page
// fetches the picture itself.
export function picture(path, attributes) {
  const img = document.createElement('img');
  for (const [name, value] of Object.entries(attributes)) img.setAttribute(name, value);
  const load = () => {
    img.classList.remove('missing');
    if (token()) fetchPicture(img, path);
    else img.src = path;
  };
  img.addEventListener('error', () => {
    if (img.classList.contains('missing')) return;
    img.classList.add('missing');
    img.src = '/assets/blank.svg'; // instead of the browser's mark of a broken picture
    document.addEventListener('picturesmade', () => img.isConnected && load(), { once: true });
  });
  load();
  return img;
}

function fetchPicture(img, path) {
  request('GET', path, null, { raw: true })
    .then((r) => r.blob())
    .then((blob) => {
      img.src = URL.createObjectURL(blob);
      img.addEventListener('load', () => URL.revokeObjectURL(img.src), { once: true });
    })
    .catch(() => img.dispatchEvent(new Event('error')));
}
