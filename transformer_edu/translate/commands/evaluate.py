"""`transformer-edu evaluate`: BLEU and chrF on a test text, and a JSON from which the run can be repeated."""

import argparse
import hashlib
import json
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformer_edu.data.multi30k import SPLITS, multi30k_pairs
from transformer_edu.data.parallel import TextPair
from transformer_edu.support.files import check_writable, write_atomically
from transformer_edu.support.output import PROGRAM, reader_may_leave
from transformer_edu.support.provenance import provenance
from transformer_edu.training.evaluate import corpus_scores
from transformer_edu.translate.commands.options import add_search_options, checked_search, open_model
from transformer_edu.translate.task import read_pairs
from transformer_edu.translate.translator import Translator


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("evaluate", help="score a model with sacrebleu")
    add_search_options(parser)
    parser.add_argument("--split", default="test_2016_flickr", choices=list(SPLITS), help="which text of Multi30k")
    parser.add_argument("--data-dir", help="folder of the Multi30k files; else TRANSFORMER_EDU_DATA, or downloaded")
    parser.add_argument("--text", nargs="+", metavar="FILE", help="another text: two line-aligned files or one TSV")
    parser.add_argument("--out", type=Path, help="write the result, with every translation, to this JSON file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Translate, score, write, print. What can fail without the work is tried before it."""
    if options.out:
        check_writable(options.out)
    elif sys.stdout is None:
        raise ValueError("standard output is closed: name a file with --out, or there is nowhere for the scores to go")
    translator = open_model(options.model)
    search = checked_search(options, translator)
    pairs = _read_pairs(options, translator.card.get("languages", ["de", "en"]))
    _check_sources(translator, pairs, options.text[0] if options.text else options.split)
    origin = provenance(shlex.join([PROGRAM, *sys.argv[1:]]))
    result = {**origin, "text": options.text or options.split, **evaluate(translator, pairs, search)}
    if options.out:
        write_atomically(options.out, as_json(result))
    with reader_may_leave():
        for name in ("bleu_lowercase", "bleu", "chrf"):
            print(f"{name:15} {result['scores'][name]['score']:6.2f}   {result['scores'][name]['signature']}")
        print(f"{result['sentences']:,} sentences in {result['seconds']:.1f} s, search: {result['search']}")


def _read_pairs(options: argparse.Namespace, languages: Sequence[str]) -> list[TextPair]:
    if options.text is None and not languages:
        raise ValueError("--text must name a text: this model was trained on a text of its own, not on Multi30k")
    if options.text is None:
        return multi30k_pairs(options.split, options.data_dir, *languages)
    if len(options.text) > 2:
        raise ValueError(f"--text must be two line-aligned files or one TSV, got {len(options.text)}: {options.text}")
    return read_pairs(options.text)


def _check_sources(translator: Translator, pairs: Sequence[TextPair], name: str) -> None:
    """Raise ValueError for the first sentence that the model cannot read, with its line."""
    for number, (source, _) in enumerate(pairs, start=1):
        try:
            translator.check_text(source)
        except ValueError as error:
            raise ValueError(f"line {number} of {name}: {error}") from error


def as_json(result: dict[str, Any]) -> bytes:
    """UTF-8 that every JSON reader takes; a byte of a file's name that is no text stays as an escape."""
    return (json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(
        "utf-8", "backslashreplace"
    )


def evaluate(translator: Translator, pairs: list[TextPair], search: dict[str, Any]) -> dict[str, Any]:
    """Scores, the settings and checksums that repeat them, and the translations themselves."""
    start = time.perf_counter()
    answers = [best[0].text for best in translator.translate_all([source for source, _ in pairs], **search)]
    seconds = time.perf_counter() - start
    references = [target for _, target in pairs]
    return {
        "sentences": len(pairs),
        "seconds": round(seconds, 1),
        "search": {**translator.search, **search},
        "scores": corpus_scores(answers, references),
        "model": {key: translator.card.get(key) for key in ("name", "command", "weights_sha256", "tokenizer_sha256")},
        "text_sha256": hashlib.sha256("\n".join(f"{s}\t{t}" for s, t in pairs).encode()).hexdigest(),
        "translations": answers,
    }
