"""Write the chapters as Colab and other programs show them well, without the book's own markup (book/_ext/plain.py).

    python tools/plain_chapters.py FOLDER      # FOLDER/notebooks/NN-name.ipynb, and a README.md

Links between chapters lead to Colab where _config.yml has a repository, to the files beside them where it has none.
"""

import argparse
import sys
from pathlib import Path

import nbformat
import yaml

from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "book" / "_ext"))

from plain import colab_folder, plain  # noqa: E402

ABOUT = """# Chapters for Colab

Written by `tools/plain_chapters.py` from the chapters on the main branch, whenever that changes.
Nothing is edited here.
"""


def check_own(folder: Path) -> None:
    """Raise ValueError unless the folder is new, empty, or holds what this tool wrote (its README.md says so)."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"folder must be a folder, got {folder}, which is something else")
    readme = folder / "README.md"
    foreign = [path.name for path in folder.glob("*") if path.name != ".git"]
    if foreign and not (readme.is_file() and readme.read_bytes() == ABOUT.encode()):
        raise ValueError(f"folder must be new, empty, or one that this tool wrote, but {folder} holds {foreign[0]}")


def write_all(folder: Path, config: Path = ROOT / "_config.yml") -> int:
    """Write every chapter; return how many there are. ValueError, and nothing written, if the folder is another's."""
    check_own(folder)
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    colab = colab_folder(settings["launch_buttons"]["colab_url"], settings["repository"]["url"])
    chapters = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "README.md", ABOUT.encode())
    for path in chapters:
        chapter = plain(nbformat.read(path, 4), colab, settings["html"]["baseurl"])
        target = folder / "notebooks" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, (nbformat.writes(chapter) + "\n").encode())
    return len(chapters)


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    try:
        count = write_all(options.folder)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(f"{count} chapters in {options.folder}")


if __name__ == "__main__":
    main()
