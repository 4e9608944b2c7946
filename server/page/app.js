// The shell: which tab of which collection is shown. The address holds both and the parameters of the tab, as in
//
//   #/search?c=shop&id=17&k=20
//
// so that a link can be shared and the back button works. A tab is a module with mount(root, app), which fills the
// element root and returns {show(params), hide()}. It is mounted once for each collection, show is called for every
// new address, and hide when another tab takes over. params are texts, without c.

import { request, picture } from './api.js';
import { el, fill, plural } from './dom.js';
import { watchThumbnails } from './thumbnails.js';

const tabs = [
  { name: 'search', title: 'Search' },
  { name: 'why', title: 'Why' },
  { name: 'map', title: 'Map' },
  { name: 'collection', title: 'Collection' },
  { name: 'try', title: 'Try your own' },
];
const $ = (id) => document.getElementById(id);
let current = null; // the tab that is shown
let fading = 0; // the timer of the status
let routes = 0; // addresses so far: an answer for an old one is dropped

const app = {
  el,
  server: null, // what /v1/server says
  collections: [], // their summaries
  collection: null, // the summary of the current one
  colors: Array.from({ length: 12 }, (_, i) => `var(--c${i})`),

  // color returns the value of a custom property of the style sheet in the current theme, for canvases. The event
  // themechange of the document says when to draw again.
  color: (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim(),

  // api asks the server. A path without a leading slash is one of the current collection: api('GET', 'facets').
  api(method, path, body, options) {
    const base = path.startsWith('/') ? '' : `/v1/collections/${encodeURIComponent(app.collection.name)}/`;
    return request(method, base + path, body, options);
  },

  // link returns the address of a tab, for href. Parameters that are undefined, null or "" are left out, and c is
  // another collection.
  link(tab, params = {}) {
    const query = new URLSearchParams({ c: app.collection?.name || '' });
    for (const [name, value] of Object.entries(params)) {
      if (value === undefined || value === null || value === '') query.delete(name);
      else query.set(name, value);
    }
    return `#/${tab}?${query}`;
  },

  // go shows a tab. With replace the back button does not return to the address that was.
  go(tab, params, { replace = false } = {}) {
    const address = app.link(tab, params);
    if (address === location.hash) return;
    history[replace ? 'replaceState' : 'pushState'](null, '', address);
    return route();
  },

  // thumb returns the picture of an item, or null when the collection has none. Its place is reserved at once.
  thumb(id, size = 96) {
    if (!app.collection?.pictures) return null;
    const base = `/v1/collections/${encodeURIComponent(app.collection.name)}`;
    const path = `${base}/pictures/${encodeURIComponent(id)}?size=${size}`;
    return picture(path, { alt: '', width: size, height: size, loading: 'lazy', decoding: 'async', class: 'thumb' });
  },

  // status tells people, screen readers among them, what happened.
  status(text) {
    clearTimeout(fading);
    $('status').textContent = text;
    fading = setTimeout(() => {
      $('status').textContent = '';
    }, 6000);
  },

  // refresh reads the collections again, after writes or when one has come or gone.
  async refresh() {
    app.collections = (await request('GET', '/v1/collections')).collections;
    const name = app.collection?.name;
    app.collection = app.collections.find((c) => c.name === name) || app.collections[0] || null;
    listCollections();
  },
};

const watchPictures = watchThumbnails(app, $('thumbnail-progress'));
let watched = ''; // the collection whose pictures are watched

function listCollections() {
  const name = app.collection?.name;
  const options = app.collections.map((c) =>
    el('option', { value: c.name, selected: c.name === name }, `${c.name} (${plural(c.items, 'item')})`),
  );
  fill($('collections'), options);
}

// parse reads an address. Whatever it does not know leads to the search.
function parse() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const params = Object.fromEntries(new URLSearchParams(query));
  const name = params.c;
  delete params.c;
  return { tab: tabs.find((t) => t.name === path && !t.missing) || tabs[0], name, params };
}

async function route() {
  const mine = ++routes;
  const { tab, name, params } = parse();
  if (name && !app.collections.some((c) => c.name === name)) await app.refresh();
  const chosen = app.collections.find((c) => c.name === name) || app.collection || app.collections[0];
  await tab.ready;
  if (mine !== routes) return;
  if (!chosen && tab.name !== 'try') {
    if (app.server.try) return app.go('try', {}, { replace: true });
    return notice('This server has no collection yet.');
  }
  if (chosen !== app.collection) {
    app.collection = chosen;
    listCollections();
  }
  if (tab.missing) return app.go('search', {}, { replace: true });
  if (chosen?.name !== watched) watchPictures();
  watched = chosen?.name;
  display(tab, params);
  if (name && chosen && chosen.name !== name) app.status(`There is no collection ${name}: this is ${chosen.name}.`);
}

// display shows a tab, and makes it when it is new or was made for another collection.
function display(tab, params) {
  if (current && current !== tab) current.view?.hide?.();
  current = tab;
  for (const t of tabs) {
    t.button.setAttribute('aria-selected', t === tab);
    t.button.tabIndex = t === tab ? 0 : -1;
    t.panel.hidden = t !== tab;
  }
  tab.button.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  document.title = `${tab.title} · ${app.collection?.name || 'Hashgrove'} · Hashgrove`;
  if (!tab.view || tab.collection !== app.collection?.name) {
    tab.view?.hide?.();
    fill(tab.panel);
    tab.collection = app.collection?.name;
    tab.view = tab.module.mount(tab.panel, app);
  }
  tab.params = params;
  app.status('');
  Promise.resolve(tab.view.show(params)).catch((problem) => app.status(problem.message));
}

// load fetches the module of a tab. A tab that this server does not have is not shown.
async function load(tab) {
  try {
    if (tab.name === 'try' && !app.server.try) throw new Error('this server trains nothing');
    tab.module = await import(`./${tab.name}.js`);
  } catch {
    tab.missing = true;
    tab.button.hidden = true;
  }
}

function makeTabs() {
  for (const tab of tabs) {
    tab.button = el(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: `tab-${tab.name}`,
        'aria-selected': 'false',
        'aria-controls': `panel-${tab.name}`,
        tabindex: -1,
        onclick: () => reopen(tab),
      },
      tab.title,
    );
    tab.panel = el('section', {
      role: 'tabpanel',
      id: `panel-${tab.name}`,
      'aria-labelledby': `tab-${tab.name}`,
      class: `panel panel-${tab.name}`,
      hidden: true,
    });
    $('tabs').append(tab.button);
    $('main').append(tab.panel);
    tab.ready = load(tab);
  }
  $('tabs').addEventListener('keydown', (event) => {
    const shown = tabs.filter((t) => !t.missing);
    const at = shown.findIndex((t) => t.button === document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + shown.length, Home: 0, End: shown.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    shown[to % shown.length].button.focus();
  });
}

// reopen shows a tab as it was left.
function reopen(tab) {
  app.go(tab.name, tab.collection === app.collection?.name ? tab.params : {});
}

function notice(text) {
  fill($('main'), el('p', { class: 'notice' }, text));
}

function switchTheme() {
  const dark = document.documentElement.dataset.theme !== 'dark';
  try {
    localStorage.setItem('hashgrove-theme', dark ? 'dark' : 'light');
  } catch {
    /* it lasts for this page alone */
  }
  document.dispatchEvent(new Event('themechoice'));
}

function showTheme() {
  $('theme').setAttribute('aria-pressed', document.documentElement.dataset.theme === 'dark');
}

async function start() {
  $('theme').addEventListener('click', switchTheme);
  document.addEventListener('themechange', showTheme);
  showTheme();
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault(); // the address belongs to the tabs
    $('main').focus();
  });
  $('collections').addEventListener('change', (event) => app.go(current.name, { c: event.target.value }));
  try {
    app.server = await request('GET', '/v1/server');
    await app.refresh();
  } catch (problem) {
    return notice(problem.message);
  }
  $('version').textContent = `Hashgrove ${app.server.version}`;
  makeTabs();
  addEventListener('popstate', route);
  await route();
}

start();
