// SHA-256 (FIPS 180-4). Browsers have it too, but not on a page that came over plain http.

const PRIMES = Array.from({ length: 312 }, (_, n) => n).filter((n) => n > 1 && divides(n));
/** The first 32 bits behind the point of a root of a prime. */
const bitsOf = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0;
const ROUNDS = Uint32Array.from(PRIMES.slice(0, 64), (prime) => bitsOf(Math.cbrt(prime)));
const START = Uint32Array.from(PRIMES.slice(0, 8), (prime) => bitsOf(Math.sqrt(prime)));
const turned = (word, by) => (word >>> by) | (word << (32 - by));

function divides(n) {
  for (let i = 2; i * i <= n; i += 1) if (n % i === 0) return false;
  return true;
}

/** The checksum of some bytes, as 64 hexadecimal digits. @param {Uint8Array} bytes */
export function sha256(bytes) {
  const blocks = new DataView(new ArrayBuffer(64 * Math.ceil((bytes.length + 9) / 64)));
  new Uint8Array(blocks.buffer).set(bytes);
  blocks.setUint8(bytes.length, 0x80);
  blocks.setUint32(blocks.byteLength - 8, Math.floor(bytes.length / 2 ** 29));
  blocks.setUint32(blocks.byteLength - 4, (bytes.length * 8) >>> 0);
  const [hash, words] = [START.slice(), new Uint32Array(64)];
  for (let start = 0; start < blocks.byteLength; start += 64) mix(hash, words, blocks, start);
  return [...hash].map((word) => word.toString(16).padStart(8, "0")).join("");
}

function mix(hash, w, blocks, start) {
  for (let i = 0; i < 16; i += 1) w[i] = blocks.getUint32(start + 4 * i);
  for (let i = 16; i < 64; i += 1) {
    const near = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >>> 3);
    const late = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >>> 10);
    w[i] = w[i - 16] + near + w[i - 7] + late;
  }
  let [a, b, c, d, e, f, g, h] = hash;
  for (let i = 0; i < 64; i += 1) {
    const right = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const left = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const one = (h + right + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
    const two = (left + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] += word));
}
