const PATIENCE = 20_000; // milliseconds for a kernel to answer

/**
 * What a figure asks of the kernel in a live notebook, for what is too large for its state.
 * @template T
 * @param {any} widget the figure's anywidget model @param {string} what  "weights", "picture"
 * @param {(content: any, buffer?: DataView) => T | Promise<T>} read  of the answer, a message that has `what`
 * @returns {Promise<T>}
 */
export function askKernel(widget, what, read) {
  return new Promise((resolve, reject) => {
    const done = (settle) => {
      clearTimeout(timer);
      widget.off("msg:custom", heard);
      settle();
    };
    const heard = (content, [buffer] = []) => content[what] && done(() => resolve(read(content, buffer)));
    const timer = setTimeout(() => done(() => reject(new Error("the kernel does not answer: run the cell"))), PATIENCE);
    widget.on("msg:custom", heard);
    widget.send({ ask: what });
  });
}
