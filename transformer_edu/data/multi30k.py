"""Multi30k, task 1: captions of photographs in German and English (Elliott et al., 2016), the published raw text.

The package ships no text. It reads the published files, `train.de.gz` and so on, as they came or unpacked, from a
folder that you name, or downloads them once into a cache. Every text is compared with the one that was published,
so that a score means the same everywhere.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from transformer_edu.data.fetch import DownloadError, fetch
from transformer_edu.data.parallel import TextPair, decode_lines, pair_lines, read_lines, unpack
from transformer_edu.support.files import write_atomically
from transformer_edu.support.validation import check_choice

HOME = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
FOLDER_VARIABLE = "TRANSFORMER_EDU_DATA"
LANGUAGES = ("de", "en")
SPLITS = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}
"""Lines of each split, which are its pairs."""

SHA256 = {
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
}
"""Of the text, not of the `.gz`: packed again, or with other line ends, it stays the same (see `digest`)."""

MAX_PACKED, MAX_TEXT = 2 << 20, 8 << 20  # bytes; the largest file has 0.6 MB, its text 2.1 MB


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
        DownloadError: the download failed (an OSError).
    """
    check_choice("split", split, tuple(SPLITS))
    check_choice("source", source, LANGUAGES)
    check_choice("target", target, LANGUAGES)
    if source == target:
        raise ValueError(f"source and target must be two languages, got {source!r} for both")
    named = os.environ.get(FOLDER_VARIABLE) or None if folder is None else folder
    read, place = (_cached, cache_folder()) if named is None else (_published, _home_folder(named))
    return pair_lines(read(split, source, place), read(split, target, place), f"{split}.{source}", f"{split}.{target}")


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/transformer_edu/multi30k, or ~/.cache/transformer_edu/multi30k."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else _home_folder("~/.cache")) / "transformer_edu" / "multi30k"


def _home_folder(path: str | Path) -> Path:
    """`~` and `~name` as folders of people; kept as they are where nobody has that name."""
    return Path(os.path.expanduser(path))


def download(
    split: str,
    language: str,
    folder: str | Path | None = None,
    home: str = HOME,
    timeout: float = 30.0,
    deadline: float = 300.0,
) -> Path:
    """Download one file into `folder` (None: the cache) and return its path.

    It is compared with the published text first and takes its name last: on an error nothing is left behind, and
    what was there before stays. Several processes may do this at once.

    Args:
        split: one of `SPLITS`.
        language: "de" or "en".
        folder: made if missing.
        home: an HTTPS address (plain HTTP only to this machine itself), followed by `/train.de.gz` and so on.
        timeout: seconds without a byte after which the server counts as stalled.
        deadline: seconds for the whole file.

    Raises:
        DownloadError: the network, the server, the content or the disk was at fault. Another try may succeed.
    """
    check_choice("split", split, tuple(SPLITS))
    check_choice("language", language, LANGUAGES)
    url = f"{home.rstrip('/')}/{split}.{language}.gz"
    path = (cache_folder() if folder is None else _home_folder(folder)) / f"{split}.{language}.gz"
    content = fetch(url, MAX_PACKED, timeout, deadline)
    try:
        check_published(decode_lines(unpack(content, url, MAX_TEXT), url), split, language, url)
    except ValueError as error:
        raise DownloadError(f"what came from {url} was thrown away: {error}") from error
    try:
        write_atomically(path, content)
    except OSError as error:
        raise DownloadError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def digest(lines: Sequence[str]) -> str:
    """SHA-256 of the lines as UTF-8, each ended by a line feed: what `zcat train.de.gz | sha256sum` prints."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def check_published(lines: Sequence[str], split: str, language: str, name: str) -> None:
    """Raise ValueError unless `lines` are the published text; `name` is what the error calls them."""
    if len(lines) != SPLITS[split]:
        raise ValueError(f"{name} must have {SPLITS[split]:,} lines, got {len(lines):,}: it is cut off or another file")
    expected, found = SHA256[f"{split}.{language}"], digest(lines)
    if found != expected:
        raise ValueError(f"{name} is not the published text: its SHA-256 must be {expected}, got {found}")


def _find(split: str, language: str, folder: Path) -> Path | None:
    packed, unpacked = folder / f"{split}.{language}.gz", folder / f"{split}.{language}"
    return next((path for path in (packed, unpacked) if path.is_file()), None)


def _published(split: str, language: str, folder: Path) -> list[str]:
    """The lines from a folder that the user named."""
    path = _find(split, language, folder)
    if path is None:
        raise FileNotFoundError(
            f"the folder {folder} must hold {split}.{language}.gz (or {split}.{language}), but does not. To get it: "
            f"transformer_edu.data.multi30k.download({split!r}, {language!r}, {str(folder)!r}), "
            f"or by hand from {HOME}/{split}.{language}.gz"
        )
    lines = read_lines(path)
    check_published(lines, split, language, str(path))
    return lines


def _cached(split: str, language: str, folder: Path) -> list[str]:
    """The lines from the cache, downloaded when they are not there, or damaged."""
    try:
        return _published(split, language, folder)
    except (FileNotFoundError, ValueError):
        pass
    try:
        download(split, language, folder)
    except DownloadError as error:
        raise DownloadError(f"{error}. Or name a folder that has the files: folder=, or {FOLDER_VARIABLE}") from error
    return _published(split, language, folder)
