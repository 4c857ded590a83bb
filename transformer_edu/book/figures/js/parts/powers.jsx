// A slider over powers of two.
import { whole } from "../core/format.js";
import { Slider } from "../core/view.jsx";

/**
 * From 2 to the power `from` to 2 to the power `to`.
 * @param {{label: any, from: number, to: number, value: number, show?: (value: number) => string,
 *   onInput: (value: number) => void}} props
 */
export const Powers = ({ label, from, to, value, show = whole, onInput }) => (
  <Slider
    {...{ label, min: from, max: to, value: Math.log2(value), show: (power) => show(2 ** power) }}
    onInput={(power) => onInput(2 ** power)}
  />
);
