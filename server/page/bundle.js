// Several files become one upload: a folder of pictures a zip, tables with the same columns one table, and an npy file
// goes with the text file of its labels.

import { plural } from './dom.js';

const ends = (pattern) => (file) => pattern.test(file.name);
const isPicture = ends(/\.(png|jpe?g|gif|bmp|webp|tiff?)$/i);
const isTable = ends(/\.(csv|tsv|jsonl)$/i);
const isVectors = ends(/\.npy$/i);
const isText = ends(/\.txt$/i);

// bundle returns {file, name, labels}, where labels is a file of its own or undefined. Files are File, with the path
// below the folder that was chosen as webkitRelativePath or path. Errors say what does not belong together.
export async function bundle(files) {
  const seen = files.filter((file) => !/^\.|^thumbs\.db$/i.test(file.name)); // what systems hide in folders
  if (seen.length === 0) throw new Error('The folder has no files.');
  if (seen.length === 1) return { file: seen[0], name: seen[0].name };
  const pictures = seen.filter(isPicture);
  if (pictures.length > 0) return zipped(pictures);
  if (seen.every(isTable)) return joined(seen);
  const vectors = seen.filter(isVectors);
  const texts = seen.filter(isText);
  if (vectors.length === 1 && texts.length === 1 && seen.length === 2)
    return { file: vectors[0], name: vectors[0].name, labels: texts[0] };
  throw new Error(
    `${plural(seen.length, 'file')}: choose one, a folder of pictures, tables with the same columns, ` +
      'or an npy file and a text file with its labels.',
  );
}

const pathOf = (file) => file.path || file.webkitRelativePath || file.name;

// zipped packs pictures as they are, in the folders of their classes.
async function zipped(files) {
  const paths = files.map((file) => pathOf(file).split('/'));
  const depth = Math.min(...paths.map((path) => path.length));
  const folders = new Set(paths.map((path) => path.slice(0, -1).join('/')));
  if (depth < 2 || folders.size < 2)
    throw new Error('Pictures need a folder for each class: choose the folder that holds these folders.');
  const parts = [], list = [];
  let at = 0;
  for (const [i, file] of files.entries()) {
    const content = new Uint8Array(await file.arrayBuffer());
    const name = new TextEncoder().encode(pathOf(file));
    const fields = entry(content, name.length);
    const local = record(0x04034b50, fields, []);
    parts.push(local, name, content);
    list.push(record(0x02014b50, [[20, 2], ...fields], [[0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]), name);
    at += local.length + name.length + content.length;
    if (i % 100 === 99) await new Promise((done) => setTimeout(done)); // so that the page stays alive
  }
  const size = list.reduce((sum, part) => sum + part.length, 0);
  const count = files.length;
  if (count > 0xffff || at + size > 0xffffffff)
    throw new Error(`${plural(count, 'picture')} are too many for one zip.`);
  list.push(record(0x06054b50, [[0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [at, 4], [0, 2]], []));
  return { file: new Blob([...parts, ...list]), name: `${paths[0][0]}.zip` };
}

// entry lists the fields that both heads of a stored file have, as [value, bytes].
const entry = (content, nameLength) => [
  [20, 2], // the version that is needed
  [0x0800, 2], // names are UTF-8
  [0, 2], // stored as it is
  [0, 2],
  [0x21, 2], // the first day there is
  [checksum(content), 4],
  [content.length, 4],
  [content.length, 4],
  [nameLength, 2],
  [0, 2],
];

// record writes a mark and fields, least byte first.
function record(mark, fields, more) {
  const all = [[mark, 4], ...fields, ...more];
  const out = new Uint8Array(all.reduce((sum, [, bytes]) => sum + bytes, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const [value, bytes] of all) {
    if (bytes === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += bytes;
  }
  return out;
}

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

// checksum is CRC-32.
function checksum(content) {
  let sum = 0xffffffff;
  for (const byte of content) sum = table[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

// joined puts tables below each other; the columns are named once.
async function joined(files) {
  const end = (file) => file.name.split('.').pop().toLowerCase();
  const other = files.find((file) => end(file) !== end(files[0]));
  if (other) throw new Error(`${files[0].name} and ${other.name} are files of different kinds.`);
  const parts = [];
  let head = null;
  for (const file of files) {
    let text = (await file.text()).replace(/^\ufeff/, '');
    if (!text.endsWith('\n')) text += '\n';
    if (end(file) !== 'jsonl') {
      const line = text.slice(0, text.indexOf('\n') + 1);
      if (head === null) head = line.trimEnd();
      else if (line.trimEnd() !== head) throw new Error(`${file.name} has other columns than ${files[0].name}.`);
      else text = text.slice(line.length);
    }
    parts.push(text);
  }
  return { file: new Blob(parts), name: files[0].name };
}

// dropped lists the files of a drop, those in folders too.
export async function dropped(transfer) {
  const entries = [...(transfer.items || [])].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  const files = [];
  const walk = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((done, fail) => entry.file(done, fail));
      files.push(Object.assign(file, { path: entry.fullPath.replace(/^\//, '') }));
      return;
    }
    const reader = entry.createReader(); // it gives some at a time, and none at the end
    for (;;) {
      const some = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (some.length === 0) return;
      for (const one of some) await walk(one);
    }
  };
  for (const entry of entries) await walk(entry);
  return files;
}
