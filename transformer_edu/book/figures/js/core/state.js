/**
 * The figure's state, bound both ways to the widget model: a Python kernel in a live notebook, the host script's
 * stand-in on a published page. `onChange` is called once for every change, whoever made it.
 *
 * const state = store(model, ["tokens", "step"], draw);   state.step;   state.set({ step: 3 });   return state.dispose;
 *
 * @template {string} N
 * @param {{get: Function, set: Function, on: Function, off?: Function, save_changes?: Function,
 *   refuse?: (error: Error) => void}} model
 * @param {readonly N[]} names @param {() => void} onChange
 */
export function store(model, names, onChange) {
  let own = false;
  let queued = false;
  const fromOutside = () => {
    if (own || queued) return;
    queued = true;
    queueMicrotask(() => {
      queued = false;
      try {
        onChange();
      } catch (error) {
        if (!model.refuse) throw error;
        model.refuse(error); // the host takes the change back
      }
    });
  };
  const state = {
    /** Change some values, tell the kernel, draw. @param {Record<string, any>} changes */
    set(changes) {
      own = true;
      try {
        Object.entries(changes).forEach(([name, value]) => model.set(name, value));
        save(model);
      } finally {
        own = false;
      }
      onChange();
    },
    dispose: () => names.forEach((name) => quietly(() => model.off(`change:${name}`, fromOutside))),
  };
  for (const name of names) {
    Object.defineProperty(state, name, { get: () => model.get(name), enumerable: true });
    model.on(`change:${name}`, fromOutside);
  }
  return /** @type {typeof state & Record<N, any>} */ (state);
}

/**
 * Copies of some values as they are now, to go back to.
 * @template {string} N
 * @param {Record<N, any>} state @param {readonly N[]} names @returns {Record<N, any>}
 */
export const snapshot = (state, names) =>
  structuredClone(/** @type {any} */ (Object.fromEntries(names.map((name) => [name, state[name]]))));

/** Some hosts lack these methods, or throw when the kernel is gone; the figure goes on without it. */
function quietly(/** @type {() => void} */ action) {
  try {
    action();
  } catch (error) {
    console.info("figure: the kernel was not told", error);
  }
}

function save(model) {
  quietly(() => model.save_changes?.());
}
