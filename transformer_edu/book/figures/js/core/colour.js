/** @typedef {[number, number, number]} RGB  each 0 … 255 */

/** @param {string} hex @returns {RGB} */
const fromHex = (hex) => /** @type {RGB} */ ([1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
const CIVIDIS = [
  "#00224e",
  "#083370",
  "#35456c",
  "#4f576c",
  "#666970",
  "#7d7c78",
  "#948e77",
  "#aea371",
  "#c8b866",
  "#e5cf52",
  "#fee838",
].map(fromHex);
const BLUE_ORANGE = ["#1d4e89", "#5b8fc4", "#aecbe6", "#f4f3f0", "#f6c896", "#e08e3c", "#a8560b"].map(fromHex);

/** @param {RGB[]} stops @param {number} t 0 … 1 @returns {RGB} */
function along(stops, t) {
  const place = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const left = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [stops[left], stops[left + 1]];
  return /** @type {RGB} */ (from.map((channel, i) => Math.round(channel + (to[i] - channel) * (place - left))));
}

/** For magnitudes: dark blue at 0, yellow at 1, readable without colour vision. @param {number} t @returns {RGB} */
export function cividis(t) {
  return along(CIVIDIS, t);
}

/** For signed values: blue at −1, near white at 0, orange at 1. Print the sign too. @param {number} t @returns {RGB} */
export function diverging(t) {
  return along(BLUE_ORANGE, (t + 1) / 2);
}

/** @param {RGB} rgb */
export function css(rgb) {
  return `rgb(${rgb.join(" ")})`;
}

/** WCAG relative luminance. @param {RGB} rgb */
function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever stands out more on `rgb`: always at least 4.58 : 1. @param {RGB} rgb */
export function inkOn(rgb) {
  const light = luminance(rgb);
  return (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) ? "#000" : "#fff";
}
