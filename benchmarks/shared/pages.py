"""The pages of the built book, and a server that hands them out as public servers do: compressed."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

PACKED = {".png", ".webp", ".woff2", ".woff", ".jpg"}  # compressed already


def built_pages(book: Path) -> list[Path]:
    """All chapters and other pages of a built book."""
    return sorted(path for part in ("book", "notebooks") for path in (book / part).glob("*.html"))


@cache
def packed(path: Path) -> bytes:
    """A file as it is sent."""
    body = path.read_bytes()
    return body if path.suffix in PACKED else gzip.compress(body, 6, mtime=0)


class Packing(BaseHTTPRequestHandler):
    """Hands out the files of a folder, and prints nothing."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args: object, folder: Path) -> None:
        self.folder = folder
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Send a file."""
        path = (self.folder / unquote(urlsplit(self.path).path).lstrip("/")).resolve()
        if not (path.is_file() and path.is_relative_to(self.folder)):
            self.send_error(404)
            return
        body = packed(path)
        self.send_response(200)
        self.send_header("Content-Type", guess_type(path.name)[0] or "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        if path.suffix not in PACKED:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which a folder is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Packing, folder=folder.resolve())) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
