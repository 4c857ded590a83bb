/** The parts that are taken away once this one's switch is turned. */
export const takenWith = ({ parts, taken }, part) =>
  parts.map((one) => one.part).filter((one) => taken.includes(one) !== (one === part));
