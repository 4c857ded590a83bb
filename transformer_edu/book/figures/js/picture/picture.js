// A picture of a figure as it stands, for slides and worksheets: a module of its own, loaded when a reader asks for one.
import { domToForeignObjectSvg, domToPng } from "modern-screenshot";

const LEFT_OUT = ".te-invite, .te-controls, .te-challenge, .te-details, .te-take, [aria-live]"; // they do nothing on paper
const SCALE = 2; // pixels of a PNG for each of the page

/**
 * @param {HTMLElement} root the figure @param {"svg" | "png"} kind @returns {Promise<string>} a data URL
 */
export default async function picture(root, kind) {
  const filter = (node) => !(node instanceof Element && node.matches(LEFT_OUT));
  const { backgroundColor } = getComputedStyle(root);
  const height = [...root.children].reduce((all, one) => (filter(one) ? Math.max(all, bottomOf(one)) : all), 0);
  const own = { filter, backgroundColor, font: /** @type {false} */ (false), scale: SCALE };
  const size = { width: root.offsetWidth, height: Math.ceil(height - root.getBoundingClientRect().top + PADDING) };
  if (kind === "png") return domToPng(root, { ...own, ...size });
  const drawing = new XMLSerializer().serializeToString(await domToForeignObjectSvg(root, { ...own, ...size }));
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
}

const PADDING = 16; // below what is last, as above what is first
const bottomOf = (node) => node.getBoundingClientRect().bottom;
