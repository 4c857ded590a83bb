"""What the shipped stories' numbers are worth: two compressors, and people, on the validation stories (chapter 18)."""

import gzip
import lzma
from pathlib import Path
from typing import Any

from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.language.task import read_texts

FOLDER = Path("tinystories")
TOKENS = 80  # from each story's beginning, as many as the model writes where its own are counted
RUN = 4


@experiment("story-baselines")
def record_story_baselines(folder: Path = FOLDER) -> dict[str, Any]:
    """Bits per byte of gzip and xz, and repeated runs of four tokens in stories by others. Reads `tinystories/`."""
    stories = read_texts([str(folder / "valid.txt.gz")])
    text = "\n".join(stories).encode()
    encode = pretrained.load_stories().tokenizer.encode
    begins = [ids for ids in (encode(story)[:TOKENS] for story in stories) if len(ids) == TOKENS]
    return {
        "stories": len(stories),
        "bytes": len(text),
        "bits_per_byte": {
            "gzip": round(8 * len(gzip.compress(text, 9, mtime=0)) / len(text), 3),
            "xz": round(8 * len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)) / len(text), 3),
        },
        "repeated": round(sum(map(repeated, begins)) / len(begins), 4),
        "counted": len(begins),
    }


def repeated(ids: list[int]) -> float:
    """The share of runs of RUN tokens that were there before."""
    runs = [tuple(ids[i : i + RUN]) for i in range(len(ids) - RUN + 1)]
    return 1 - len(set(runs)) / len(runs)
