import { matrix } from "./matrix.js";
import { sha256 } from "./sha256.js";

/** @import { Matrix } from "./matrix.js" */

/**
 * Read a safetensors file: eight bytes with the length of the header, the header in JSON (for each tensor its dtype,
 * shape and place), the numbers. Those of 16 bits become 32; those of 8 bits are multiplied by their row's scale,
 * which is the tensor "NAME.scale".
 * @param {Uint8Array} bytes @param {string}[expected] its SHA-256
 * @returns {{metadata: Record<string, string>, tensors: Record<string, Matrix>}}
 */
export function readSafetensors(bytes, expected) {
  if (expected && sha256(bytes) !== expected) throw new Error("the file of weights is damaged: its checksum differs");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const { __metadata__: metadata = {}, ...places } = JSON.parse(
    new TextDecoder().decode(bytes.subarray(8, 8 + length)),
  );
  const numbers = ({ dtype, data_offsets: [from, to] }) =>
    READERS[dtype](bytes.slice(8 + length + from, 8 + length + to));
  const tensors = {};
  for (const [name, place] of Object.entries(places)) {
    const [rows, columns] = place.shape.length > 1 ? place.shape : [1, ...place.shape];
    const scale = places[`${name}.scale`];
    tensors[name] = matrix(rows, columns, scale ? scaled(numbers(place), numbers(scale)) : numbers(place));
  }
  return { metadata, tensors };
}

const READERS = {
  F32: (bytes) => new Float32Array(bytes.buffer),
  F16: (bytes) => Float32Array.from(new Uint16Array(bytes.buffer), halfToNumber),
  I8: (bytes) => Float32Array.from(new Int8Array(bytes.buffer)),
};

/** One sign bit, five of the exponent, ten of the fraction. @param {number} bits */
function halfToNumber(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * (1 + fraction / 1024) * 2 ** (exponent - 15) : sign * fraction * 2 ** -24;
}

/** Each row times its scale. */
function scaled(values, scales) {
  const columns = values.length / scales.length;
  return values.map((value, i) => value * scales[Math.floor(i / columns)]);
}
