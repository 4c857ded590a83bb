"""Multi30k, task 1: captions of photographs in German and English (Elliott et al., 2016), the published raw text.

The package ships no text. It reads the published files, `train.de.gz` and so on, as they came or unpacked, from a
folder that you name, or downloads them once into a cache. Every text is compared with the one that was published,
so that a score means the same everywhere.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from transformer_edu.data.parallel import TextPair, pair_lines, read_lines
from transformer_edu.support.validation import check_choice

HOME = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
FOLDER_VARIABLE = "TRANSFORMER_EDU_DATA"
LANGUAGES = ("de", "en")
SPLITS = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}
"""Lines of each split, which are its pairs."""

PACKED_SHA256 = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
}
"""Of the files as they are downloaded."""

TEXT_SHA256 = {
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
}
"""Of the text: packed again, or with other line ends, it stays the same (see `digest`)."""


def multi30k_pairs(
    split: str, folder: str | Path | None = None, source: str = "de", target: str = "en"
) -> list[TextPair]:
    """The sentence pairs of one split: "train" (29,000), "val" (1,014) or "test_2016_flickr" (1,000).

    Args:
        split: which one.
        folder: where the files are, packed or unpacked. None: the folder that the environment variable
            TRANSFORMER_EDU_DATA names; without it a cache (see `cache_folder`), where what is missing, or damaged,
            is downloaded. Nothing is ever downloaded into a folder that you named.
        source: "de" or "en".
        target: the other one.

    Raises:
        FileNotFoundError: the folder that you named lacks a file.
        ValueError: a file in it is not the published text: cut off, altered, or not UTF-8.
        OSError: the download failed.
    """
    check_choice("split", split, tuple(SPLITS))
    check_choice("source", source, LANGUAGES)
    check_choice("target", target, LANGUAGES)
    if source == target:
        raise ValueError(f"source and target must be two languages, got {source!r} for both")
    named = os.environ.get(FOLDER_VARIABLE) or None if folder is None else folder
    sources, targets = (_lines(split, language, named) for language in (source, target))
    return pair_lines(sources, targets, f"{split}.{source}", f"{split}.{target}")


def cache_folder() -> Path:
    """Where the system keeps what programs download: ~/.cache/transformer_edu/multi30k on Linux."""
    import pooch  # here, so that importing the package stays light

    return Path(pooch.os_cache("transformer_edu")) / "multi30k"


def download(split: str, language: str, folder: str | Path | None = None) -> Path:
    """Download one file into `folder` (None: the cache), unless it is there and right, and return its path.

    Its checksum is compared first, and it takes its name last: on an error nothing is left behind, and what was
    there before stays. Several processes may do this at once.

    Raises:
        OSError: the network, the server, the content or the disk was at fault, three times. Another try may succeed.
    """
    import pooch

    check_choice("split", split, tuple(SPLITS))
    check_choice("language", language, LANGUAGES)
    name, place = f"{split}.{language}.gz", cache_folder() if folder is None else Path(os.path.expanduser(folder))
    files = pooch.create(place, HOME, registry=PACKED_SHA256, retry_if_failed=2)
    try:
        return Path(files.fetch(name, downloader=pooch.HTTPDownloader(timeout=30, stream=False)))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors, a wrong checksum is a ValueError
        raise OSError(
            f"{HOME}{name} cannot be downloaded to {place}: {error}. "
            f"Or name a folder that has the files: folder= (--data-dir), or {FOLDER_VARIABLE}"
        ) from error


def digest(lines: Sequence[str]) -> str:
    """SHA-256 of the lines as UTF-8, each ended by a line feed: what `zcat train.de.gz | sha256sum` prints."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def _lines(split: str, language: str, folder: str | Path | None) -> list[str]:
    """The published lines, from the cache or from the folder that the user named."""
    path = download(split, language) if folder is None else _find(split, language, Path(os.path.expanduser(folder)))
    lines = read_lines(path)
    _check_published(lines, split, language, path)
    return lines


def _find(split: str, language: str, folder: Path) -> Path:
    name = f"{split}.{language}"
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"the folder {folder} must hold {name}.gz (or {name}), but does not. To get it: "
        f"transformer_edu.data.multi30k.download({split!r}, {language!r}, {str(folder)!r}), "
        f"or by hand from {HOME}{name}.gz"
    )


def _check_published(lines: Sequence[str], split: str, language: str, path: Path) -> None:
    if len(lines) != SPLITS[split]:
        raise ValueError(f"{path} must have {SPLITS[split]:,} lines, got {len(lines):,}: it is cut off or another file")
    expected, found = TEXT_SHA256[f"{split}.{language}"], digest(lines)
    if found != expected:
        raise ValueError(f"{path} is not the published text: its SHA-256 must be {expected}, got {found}")
