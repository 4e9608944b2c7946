// Vectors of an npy file, the format of NumPy: a mark, the version, the length of a header, the header, the numbers.

import { plural } from './dom.js';

const kinds = {
  '<f4': Float32Array,
  '<f8': Float64Array,
  '|u1': Uint8Array,
  '|i1': Int8Array,
  '<u2': Uint16Array,
  '<i2': Int16Array,
  '<u4': Uint32Array,
  '<i4': Int32Array,
  '<i8': BigInt64Array,
};

// vectorsOfNpy returns a query for each row, as vectorsOf in several.js does for each line: [{name, query}] or
// [{name, problem}].
export function vectorsOfNpy(name, buffer, dims) {
  const wrong = (problem) => [{ name, problem }];
  const head = new DataView(buffer);
  if (buffer.byteLength < 12 || new TextDecoder('latin1').decode(buffer.slice(1, 6)) !== 'NUMPY')
    return wrong('is no npy file');
  const old = head.getUint8(6) === 1;
  const start = old ? 10 : 12;
  const end = start + (old ? head.getUint16(8, true) : head.getUint32(8, true));
  const text = new TextDecoder().decode(buffer.slice(start, end));
  const descr = /'descr':\s*'([^']*)'/.exec(text)?.[1];
  const shape = (/'shape':\s*\(([^)]*)\)/.exec(text)?.[1] || '').match(/\d+/g)?.map(Number) || [];
  const Kind = kinds[descr];
  if (!Kind) return wrong(`holds numbers of the kind ${descr || 'unknown'}: save it as float32`);
  if (shape.length < 1 || shape.length > 2) return wrong('holds no rows of numbers');
  const [rows, columns] = shape.length === 2 ? shape : [1, shape[0]];
  if (columns !== dims) return wrong(`has rows of ${plural(columns, 'number')}, the model takes ${dims}`);
  if (buffer.byteLength !== end + rows * columns * Kind.BYTES_PER_ELEMENT)
    return wrong('is cut off, or longer than it says');
  const numbers = new Kind(buffer.slice(end));
  const byColumn = /'fortran_order':\s*True/.test(text);
  return Array.from({ length: rows }, (_, i) => {
    const at = (j) => (byColumn ? j * rows + i : i * columns + j);
    const vector = Array.from({ length: columns }, (_, j) => Number(numbers[at(j)]));
    const title = rows > 1 ? `${name}, row ${i}` : name;
    const bad = vector.findIndex((v) => !Number.isFinite(v));
    if (bad >= 0) return { name: title, problem: `value ${bad + 1} is no number` };
    return { name: title, query: { vector } };
  });
}
