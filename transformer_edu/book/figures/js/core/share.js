import { askKernel } from "../../../engine/js/kernel.js";
import { button } from "./controls.js";
import { div, h } from "./dom.js";

/**
 * What a reader can take along, folded: a link to the present state (on a published page), a picture of it.
 * @param {{root: HTMLElement, name: string, widget: any, announce: (text: string) => void}} figure
 */
export function shareMenu({ root, name, widget, announce }) {
  const told = h("p", { class: "te-note" });
  const say = (text) => {
    told.textContent = text;
    announce(text);
  };
  const trying = (action, failed) => async () => {
    try {
      say(await action());
    } catch (error) {
      say(`${failed} (${error.message}).`);
    }
  };
  const saved = (kind) => async () => {
    const make = await (widget.picture ?? pictureFromKernel)(widget);
    const link = h("a", { href: await make(root, kind), download: `${name}.${kind}` });
    link.click();
    return `${name}.${kind} is saved.`;
  };
  const taken = (kind) => button(kind.toUpperCase(), trying(saved(kind), "The picture could not be made"));
  const link =
    widget.address &&
    button(
      "Link",
      trying(() => copied(widget.address()), "The link could not be copied"),
    );
  const buttons = div("te-group", link || null, taken("png"), taken("svg"));
  const summary = h("summary", { "aria-label": "Share this figure as it stands" }, "Share");
  const menu = h("details", { class: "te-take" }, summary, div("te-take-menu", buttons, told));
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    menu.open = false;
    summary.focus();
  });
  menu.addEventListener("toggle", () => (told.textContent = ""));
  root.append(menu);
}

async function copied(address) {
  history.replaceState(null, "", address);
  await navigator.clipboard?.writeText(address);
  return navigator.clipboard ? "The link is copied." : "The link stands in the address bar.";
}

/** The module that makes pictures, sent by the kernel as text. @returns {Promise<(root: Element, kind: string) => any>} */
const pictureFromKernel = (widget) =>
  askKernel(widget, "picture", async ({ picture }) => {
    const address = URL.createObjectURL(new Blob([picture], { type: "text/javascript" }));
    return (await import(address)).default;
  });
