/** @import { Words } from "./frame.js" */

/**
 * The model of a figure, which comes when a reader first touches the figure. How far it is stands on the figure's root,
 * as `data-engine`: idle (asked, if it waits for that), loading, ready or failed.
 * @param {HTMLElement} root
 * @param {() => Promise<any>} load  brings it; called again at the next touch if it failed
 * @param {() => void} onChange  it is there, or cannot be loaded
 * @param {boolean}[asked]  it comes only when `wake` is called: it is too large to come with a touch
 */
export function modelOf(root, load, onChange, asked = false) {
  let loading = false;
  let later = null;
  const own = {
    /** @type {any} null until it is there */
    model: null,
    trouble: "",
    wake,
    /** Do something now, or as soon as the model is there. @param {() => void} action */
    whenReady(action) {
      if (own.model) return action();
      later = action;
      wake();
    },
    /**
     * What to say in place of the sentence on the present state, or null.
     * @param {Words | null} wrong  with what the reader typed @param {boolean} waits  for the model
     */
    instead(wrong, waits) {
      if (own.trouble) return [`The model could not be loaded (${own.trouble}). Everything else stays as it is.`];
      return wrong ?? (waits && !own.model ? ["The model is being loaded …"] : null);
    },
  };

  async function wake() {
    if (own.model || loading) return;
    loading = true;
    root.dataset.engine = "loading";
    try {
      own.model = await load();
      own.trouble = "";
    } catch (error) {
      own.trouble = error.message;
    }
    loading = false;
    root.dataset.engine = own.model ? "ready" : "failed";
    onChange();
    if (own.model) later?.();
    later = null;
  }
  root.dataset.engine = asked ? "asked" : "idle";
  if (asked) return own;
  root.addEventListener("focusin", wake);
  root.addEventListener("pointerdown", wake);
  return own;
}
