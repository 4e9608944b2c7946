// A folder of pictures becomes one upload: a zip that holds them as they are, in the folders of their classes.

import { plural } from './dom.js';

const pathOf = (file) => file.path || file.webkitRelativePath || file.name;

// bundle returns {file, name} of what was chosen: one file, or the pictures of a folder. Files are File, with the path
// below the folder as webkitRelativePath or path.
export async function bundle(files) {
  if (files.length === 1) return { file: files[0], name: files[0].name };
  const pictures = files.filter((file) => /\.(png|jpe?g|gif|bmp|webp|tiff?)$/i.test(file.name));
  const paths = pictures.map((file) => pathOf(file).split('/'));
  if (!paths.length || paths.some((path) => path.length < 2))
    throw new Error('Choose one file, or a folder of pictures with a folder for each class.');
  if (pictures.length > 0xffff) throw new Error(`${plural(pictures.length, 'picture')} are too many for one zip.`);
  const parts = [], list = [];
  let at = 0;
  for (const file of pictures) {
    const content = new Uint8Array(await file.arrayBuffer());
    const name = new TextEncoder().encode(pathOf(file));
    // version, UTF-8 names, stored, time, the first day, checksum, sizes, lengths
    const fields = [[20, 2], [0x0800, 2], [0, 2], [0, 2], [0x21, 2], [checksum(content), 4], [content.length, 4],
      [content.length, 4], [name.length, 2], [0, 2]];
    const local = record([[0x04034b50, 4], ...fields]);
    parts.push(local, name, content);
    list.push(record([[0x02014b50, 4], [20, 2], ...fields, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]), name);
    at += local.length + name.length + content.length;
  }
  const size = list.reduce((sum, part) => sum + part.length, 0), n = pictures.length;
  list.push(record([[0x06054b50, 4], [0, 2], [0, 2], [n, 2], [n, 2], [size, 4], [at, 4], [0, 2]]));
  return { file: new Blob([...parts, ...list]), name: `${paths[0][0]}.zip` };
}

// record writes fields of [value, bytes], least byte first.
function record(fields) {
  const out = [];
  for (const [value, bytes] of fields) for (let i = 0; i < bytes; i++) out.push((value >>> (8 * i)) & 255);
  return Uint8Array.from(out);
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

// dropped lists the files of a drop, those in folders too.
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry);
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
