"""Tell the book where its repository is, and where it is published.

    python tools/set_repository.py https://HOST/OWNER/NAME [--branch main] [--site https://...]
    python tools/set_repository.py ""        # take it out again

Without --site it is where GitHub Pages publishes a repository of github.com. What follows from both addresses:

- _config.yml: the buttons (Colab, download, the repository, edit, report an error), and the site's address, from which
  the build writes the canonical links, the social preview and the sitemap (book/_ext/addresses.py);
- `REPOSITORY = "..."` in every chapter's first code cell, which its mark leaves out: nothing has to run again;
- CITATION.cff;
- README.md: where to read the book, and where Colab opens its first chapter.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from plain_chapters import colab_folder

from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
COLAB = "https://colab.research.google.com"
ADDRESSES = re.compile(r"(<!-- addresses:[^>]*-->).*?(<!-- /addresses -->)", re.DOTALL)
FIRST = "01-the-whole-machine.ipynb"
SETTING = re.compile(r'^REPOSITORY = (["\']).*?\1', re.MULTILINE)
HOST, PATH = r"[A-Za-z0-9.-]+(?::[0-9]+)?", r"[A-Za-z0-9._~-]+"  # nothing that YAML, Python or a shell reads as more


def checked(url: str) -> str:
    """Return the address without a closing slash; raise ValueError unless it is empty or a full https address."""
    if url and not re.fullmatch(rf"https://{HOST}/{PATH}/{PATH}/?", url):
        raise ValueError(f"url must be like https://HOST/OWNER/NAME, or empty, got {_hidden(url)!r}")
    return url.rstrip("/").removesuffix(".git")


def checked_site(site: str) -> str:
    """Return the site's address with a closing slash; raise ValueError unless it is empty or a full https address."""
    if site and not re.fullmatch(rf"https://{HOST}(?:/{PATH})*/?", site):
        raise ValueError(f"site must be like https://HOST/PATH/, or empty, got {_hidden(site)!r}")
    return site.rstrip("/") + "/" if site else ""


def checked_branch(branch: str) -> str:
    """Return the branch's name; raise ValueError unless it is made of letters, digits and . _ / -."""
    if not re.fullmatch(rf"{PATH}(?:/{PATH})*", branch):
        raise ValueError(f"branch must be made of letters, digits and . _ / -, got {branch!r}")
    return branch


def _hidden(url: str) -> str:
    """An address without the password that somebody may have typed into it."""
    return re.sub(r"//[^/@]*@", "//…@", url)


def argument(check: Callable[[str], str]) -> Callable[[str], str]:
    """A check as argparse calls it: its words are what the user reads."""

    def read(text: str) -> str:
        try:
            return check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def published_at(url: str) -> str:
    """Return where GitHub Pages publishes a repository: https://OWNER.github.io/NAME/; "" for any other host."""
    parts = urlsplit(url)
    if parts.netloc != "github.com":
        return ""
    owner, name = parts.path.strip("/").split("/")
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def set_in_config(text: str, url: str, branch: str, site: str = "") -> str:
    """Return _config.yml's text with the addresses of repository and site, and all buttons on or off."""
    switch = str(bool(url)).lower()
    settings = {
        "url": f'"{url}"',
        "branch": branch,
        "colab_url": f'"{COLAB if url else ""}"',
        "baseurl": f'"{site}"',
        "use_issues_button": switch,
        "use_repository_button": switch,
        "use_edit_page_button": switch,
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


def set_in_citation(text: str, url: str, site: str) -> str:
    """Return CITATION.cff's text with both addresses, or without the lines of those that are empty."""
    text = re.sub(r"^(?:repository-code|url): .*\n", "", text, flags=re.MULTILINE)
    lines = {"repository-code": url, "url": site}
    return text + "".join(f'{key}: "{value}"\n' for key, value in lines.items() if value)


def set_in_readme(text: str, url: str, site: str) -> str:
    """Return README.md's text with the lines that say where the book is, or without any."""
    lines = [f"Read it at [{site}]({site})."] if site else []
    if url:
        lines.append(f"[Open the first chapter in Colab]({colab_folder(COLAB, url)}{FIRST}).")
    said = f"\n{' '.join(lines)}\n" if lines else ""
    text, found = ADDRESSES.subn(lambda marks: f"{marks[1]}{said}{marks[2]}", text)
    if found != 1:
        raise ValueError(f"README.md must have one place <!-- addresses: ... --><!-- /addresses -->, found {found}")
    return text


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", type=argument(checked))
    parser.add_argument("--branch", default="main", type=argument(checked_branch))
    site_help = "where the book is published, if not on GitHub Pages"
    parser.add_argument("--site", type=argument(checked_site), help=site_help)
    options = parser.parse_args()
    url = options.url
    site = published_at(url) if options.site is None else options.site
    config, citation, readme = ROOT / "_config.yml", ROOT / "CITATION.cff", ROOT / "README.md"
    text = set_in_config(config.read_text(encoding="utf-8"), url, options.branch, site)
    write_atomically(config, text.encode())
    write_atomically(citation, set_in_citation(citation.read_text(encoding="utf-8"), url, site).encode())
    write_atomically(readme, set_in_readme(readme.read_text(encoding="utf-8"), url, site).encode())
    chapters = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    source = url if not url or options.branch == "main" else f"{url}@{options.branch}"  # as pip reads it
    changed = sum(set_in_notebook(path, source) for path in chapters)
    for path in (ROOT / "assignments").glob("set-*.ipynb"):
        set_in_notebook(path, source)
    print(f"{changed} of {len(chapters)} chapters and the other files now say {url or 'no repository'}")
    print(f"published at {site or 'no address: no sitemap, no social preview'}")


if __name__ == "__main__":
    main()
