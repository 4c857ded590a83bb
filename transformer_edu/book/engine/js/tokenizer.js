const SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"];
export const [PAD, BOS, EOS, UNK] = SPECIALS.keys();

/**
 * @typedef {object} Tokenizer
 * @property {(text: string) => number[]} encode   ids, without begin and end
 * @property {(ids: number[]) => string} decode    up to the end token, without the special ones
 * @property {(id: number) => string} token        one token as people read it
 * @property {number} size
 */

/** The tokenizers from what Python wrote of them. @returns {{source: Tokenizer, target: Tokenizer}} */
export function readTokenizers({ source_words: source, target_words: target, tokenizer }) {
  if (!tokenizer) return { source: wordTokenizer(source), target: wordTokenizer(target) };
  const both = bytePairTokenizer(tokenizer.model);
  return { source: both, target: both };
}

/** What stands between blanks, in small letters, without a full stop at the end. @param {string} text */
export const wordsOf = (text) => text.toLowerCase().trim().replace(/\.$/, "").split(/\s+/).filter(Boolean);

/** A word is a token. */
export function wordTokenizer(words) {
  const all = [...SPECIALS, ...words];
  const ids = new Map(all.map((word, id) => [word, id]));
  return {
    size: all.length,
    encode: (text) => wordsOf(text).map((word) => (SPECIALS.includes(word) ? UNK : (ids.get(word) ?? UNK))),
    decode: (written) =>
      untilEnd(written)
        .map((id) => all[id])
        .join(" "),
    token: (id) => all[id],
  };
}

/** The ids up to the end token, without begin and padding. */
function untilEnd(ids) {
  const end = ids.indexOf(EOS);
  return (end < 0 ? ids : ids.slice(0, end)).filter((id) => id !== BOS && id !== PAD);
}

// What may stand in one piece, before the merges: GPT-2's cut into words, numbers, signs and blanks.
const WORD = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** GPT-2's printable character for each byte: its own where it has one, else one from 256 on. */
function byteCharacters() {
  const own = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(own(byte) ? byte : next++));
}

/**
 * Byte-pair encoding: a word begins as its bytes; of all pairs of neighbours, the one that was learnt first is merged,
 * again and again.
 * @param {{vocab: Record<string, number>, merges: [string, string][]}} bpe tokens with their ids; merges, the first
 *   learnt first: as the tokenizers library saves them
 */
export function bytePairTokenizer({ vocab, merges }) {
  const tokens = Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b]);
  const rank = new Map(merges.map((pair, i) => [pair.join(" "), i]));
  const characters = byteCharacters();
  const bytes = new Map(characters.map((character, byte) => [character, byte]));
  const known = new Map(); // words that were cut before

  function cut(word) {
    let pieces = [...new TextEncoder().encode(word)].map((byte) => characters[byte]);
    for (;;) {
      const pairs = pieces.slice(1).map((piece, i) => rank.get(`${pieces[i]} ${piece}`) ?? Infinity);
      const first = pairs.reduce((least, one) => Math.min(least, one), Infinity);
      if (first === Infinity) return pieces.map((piece) => vocab[piece]);
      const merged = [];
      for (let i = 0; i < pieces.length; i += 1) {
        if (rank.get(`${pieces[i]} ${pieces[i + 1]}`) === first) merged.push(pieces[i] + pieces[++i]);
        else merged.push(pieces[i]);
      }
      pieces = merged;
    }
  }
  const bytesOf = (written) => Uint8Array.from(written.flatMap((id) => [...tokens[id]].map((one) => bytes.get(one))));
  const isText = (raw) => !new TextDecoder().decode(raw).includes("\ufffd");
  return {
    size: tokens.length,
    encode(text) {
      if (!text) return [];
      return ` ${text}`.match(WORD).flatMap((word) => {
        if (!known.has(word)) known.set(word, cut(word));
        return known.get(word);
      });
    },
    decode: (written) =>
      new TextDecoder("utf-8", { ignoreBOM: true })
        .decode(bytesOf(untilEnd(written).filter((id) => id >= SPECIALS.length)))
        .replace(/^ /, ""),
    token(id) {
      if (id < SPECIALS.length) return SPECIALS[id];
      const raw = bytesOf([id]);
      if (isText(raw)) return new TextDecoder().decode(raw).replaceAll(" ", "·");
      return [...raw].map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`).join("");
    },
  };
}
