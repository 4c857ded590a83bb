"""Tell the book where its repository is: the Colab buttons, and what a chapter's first cell installs there.

    python tools/set_repository.py https://HOST/OWNER/NAME [--branch main]
    python tools/set_repository.py ""        # take it out again

It writes `repository` and `launch_buttons` in _config.yml, switches the page's links to the repository and to a report
of an error on or off, and writes `REPOSITORY = "..."` in every chapter's first code cell,
which the chapter's fingerprint leaves out: nothing has to run again.
"""

import argparse
import re
from pathlib import Path
from urllib.parse import urlsplit

import nbformat

from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
COLAB = "https://colab.research.google.com"
SETTING = re.compile(r'^REPOSITORY = (["\']).*?\1', re.MULTILINE)


def checked(url: str) -> str:
    """Return the address without a closing slash; raise ValueError unless it is empty or a full https address."""
    parts = urlsplit(url)
    if url and (parts.scheme != "https" or not parts.netloc or len(parts.path.strip("/").split("/")) != 2):
        raise ValueError(f"url must be like https://HOST/OWNER/NAME, or empty, got {url!r}")
    return url.rstrip("/").removesuffix(".git")


def set_in_config(text: str, url: str, branch: str) -> str:
    """Return _config.yml's text with the repository's address and branch, and Colab's on or off."""
    settings = {
        "url": f'"{url}"',
        "branch": branch,
        "colab_url": f'"{COLAB if url else ""}"',
        "use_issues_button": str(bool(url)).lower(),
        "use_repository_button": str(bool(url)).lower(),
    }
    for key, value in settings.items():
        text, found = re.subn(rf"^  {key}: .*$", f"  {key}: {value}", text, flags=re.MULTILINE)
        if found != 1:
            raise ValueError(f"_config.yml must have one line '  {key}: ...', found {found}")
    return text


def set_in_notebook(path: Path, url: str) -> bool:
    """Set REPOSITORY in the first code cell of a chapter; tell whether the cell has such a line."""
    notebook = nbformat.read(path, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cell.source, found = SETTING.subn(f'REPOSITORY = "{url}"', cell.source)
    if found:
        text = nbformat.writes(notebook, indent=1, sort_keys=True).rstrip("\n") + "\n"
        write_atomically(path, text.encode())
    return bool(found)


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", type=checked)
    parser.add_argument("--branch", default="main")
    options = parser.parse_args()
    config = ROOT / "_config.yml"
    text = set_in_config(config.read_text(encoding="utf-8"), options.url, options.branch)
    write_atomically(config, text.encode())
    chapters = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    changed = sum(set_in_notebook(path, options.url) for path in chapters)
    print(f"_config.yml and {changed} of {len(chapters)} chapters now say {options.url or 'no repository'}")


if __name__ == "__main__":
    main()
