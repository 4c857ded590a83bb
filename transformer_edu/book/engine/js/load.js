import { askKernel } from "./kernel.js";
import { readModel } from "./transformer.js";

/** @import { Model } from "./transformer.js" */

/**
 * The model of a figure, asked for when a reader first touches it: of the page it stands on, or of the kernel.
 * @param {any} widget the figure's anywidget model, or what stands in for it on a published page (`weights`)
 * @param {{sha256: string}} file
 * @returns {Promise<Model>}
 */
export const loadModel = async (widget, file) => readModel(await loadBytes(widget, file), file.sha256);

/** Its file. @param {(share: number) => void}[progress] of what there is to load @returns {Promise<Uint8Array>} */
export const loadBytes = (widget, file, progress = () => {}) =>
  widget.weights ? widget.weights(file, progress) : askKernel(widget, "weights", bytesOf);

const bytesOf = (_, buffer) => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
