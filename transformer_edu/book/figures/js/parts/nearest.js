/**
 * What gives of some words the nearest sentence of the book's grammar, told by the kinds of its words; a sentence's own
 * is itself. Null where the words have no such kinds, as with a model of one's own.
 * @param {Record<string, string[]>} kinds  what Python's `kinds_of` gives
 * @returns {((words: string[]) => string[]) | null}
 */
export function nearestOf(kinds) {
  if (!kinds.noun) return null;
  const LETTERS = { determiner: "d", adjective: "a", noun: "n", nouns: "N", verb: "v", verbs: "V", negation: "x" };
  const all = Object.values(kinds).flat();
  const letterOf = (word) => LETTERS[Object.keys(kinds).find((kind) => kinds[kind].includes(word))] ?? "?";
  const hasOneMore = (long, short) =>
    long.length === short.length + 1 && [...long].some((_, i) => long.slice(0, i) + long.slice(i + 1) === short);
  /** A word that it knows, or the one of which a letter was forgotten or typed twice, or "". */
  const known = (word) =>
    all.find((one) => one === word) ?? all.find((one) => hasOneMore(one, word) || hasOneMore(word, one)) ?? "";

  function phrase(words, otherwise) {
    const one = (letters) => words.find((word) => letters.includes(letterOf(word)));
    const noun = one("nN") ?? otherwise;
    const plural = letterOf(noun) === "N";
    const determiner = one("d") ?? "the";
    const agrees = plural ? !["a", "this"].includes(determiner) : determiner !== "these";
    const adjectives = words.filter((word) => letterOf(word) === "a");
    return { plural, noun, words: [agrees ? determiner : plural ? "these" : "this", ...adjectives, noun] };
  }

  return (words) => {
    const kept = words.map(known);
    const letters = kept.map(letterOf).join("");
    const verb = letters.search(/[vV]/);
    const end = verb >= 0 ? verb : letters.search(/[nN]/) + 1 || kept.length;
    const rest = kept.slice(verb >= 0 ? end + 1 : end);
    const subject = phrase(kept.slice(0, end), "cat");
    const object = rest.some((word) => "danN".includes(letterOf(word)))
      ? phrase(rest, subject.noun === "cat" ? "dog" : "cat").words
      : [];
    const said = verb >= 0 ? kept[verb] : object.length ? "see" : "sleep";
    const place = Math.max(kinds.verb.indexOf(said), kinds.verbs.indexOf(said));
    const acts = kept.includes("not")
      ? [subject.plural ? "do" : "does", "not", kinds.verbs[place]]
      : [kinds[subject.plural ? "verbs" : "verb"][place]];
    return [...subject.words, ...acts, ...object];
  };
}
