/** @import { Matrix } from "./math.js" */

/** The true minus sign, U+2212: as wide as a plus sign, and read aloud as "minus". */
export const MINUS = "\u2212";

/**
 * Fixed decimals, a true minus sign, never −0.00.
 * @param {number} value @param {number}[decimals]
 */
export function format(value, decimals = 2) {
  if (value === -Infinity) return `${MINUS}∞`;
  if (value === Infinity) return "∞";
  if (Number.isNaN(value)) return "not a number";
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** What none of these numbers is above, rounded up, in words. @param {number[]} values @param {number} decimals */
export function bound(values, decimals) {
  const unit = 10 ** -decimals;
  return format(unit * Math.max(1, ...values.map((value) => Math.ceil(value / unit))), decimals);
}

const isWhole = (value) => !Number.isFinite(value) || Math.abs(value - Math.round(value)) < 1e-9;

/** A number that stands alone: decimals only if it is not whole. @param {number} value @param {number}[decimals] */
export const short = (value, decimals = 2) => format(value, isWhole(value) ? 0 : decimals);

/**
 * 0 when every entry is a whole number, otherwise `decimals`: one choice for a whole matrix keeps its columns aligned.
 * @param {Matrix} matrix @param {number}[decimals]
 */
export function decimalsFor(matrix, decimals = 2) {
  return matrix.flat().every(isWhole) ? 0 : decimals;
}

/**
 * As `format`, with brackets around a negative number, for sums written out.
 * @param {number} value
 * @param {number}[decimals]
 */
export function inBrackets(value, decimals = 2) {
  const text = format(value, decimals);
  return text.startsWith(MINUS) ? `(${text})` : text;
}

const thousands = new Intl.NumberFormat("en-US"); // made once: toLocaleString is ten times as slow

/** 12,345. @param {number} value */
export const whole = (value) => thousands.format(value);

/** "3 rows". @param {number} count @param {string} noun @param {string}[space] */
export const plural = (count, noun, space = " ") =>
  `${whole(count)}${space}${noun}${count === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;

/** A number as a person types it: comma or point, any minus sign; null when it is not one. @param {string} text */
export function parseNumber(text) {
  const plain = text
    .trim()
    .replace(/[\u2212\u2013]/g, "-")
    .replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

const MARKERS = { "<bos>": "start", "<eos>": "end" };

/** A token as it is shown: the markers of begin and end by their names. @param {string} word */
export const readable = (word) => MARKERS[word] ?? word;

/** The class of such a marker, with a space before it. @param {string} word */
export const special = (word) => (word in MARKERS ? " te-special" : "");

/** Weights below this print as 0.00: no line, no number, no mention. */
export const VISIBLE = 0.005;

/**
 * A piece of a sentence: text; a token, as it is shown or exactly as it is; a number with its whole value, and of what it
 * is the measure; in bold or italics; an index or exponent; or pieces that stay on one line. `kind`: more classes of a token.
 * @typedef {string | {token?: string, exact?: string, bold?: string, italic?: string, sub?: string, sup?: string,
 *   number?: number, text?: string, measure?: string, kind?: string} | Piece[]} Piece
 */

/** @param {Piece} piece */
function textOf(piece) {
  if (typeof piece === "string") return piece;
  if (Array.isArray(piece)) return plain(piece);
  return piece.text ?? piece.bold ?? piece.italic ?? piece.sub ?? piece.sup ?? piece.exact ?? readable(piece.token);
}

/** "a, b and c", of lists of pieces, or of nodes and text. @param {any[][]} items */
export const listed = (items) =>
  items.flatMap((item, i) => [i ? (i === items.length - 1 ? " and " : ", ") : "", ...item]);

/** A sentence without its marks. @param {Piece[]} pieces */
export const plain = (pieces) => pieces.map(textOf).join("");
