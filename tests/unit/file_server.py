"""A server on this machine for tests of downloads, with a small text in the place of Multi30k, and bad answers."""

import contextlib
import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from transformer_edu.data import multi30k

TEXTS = {
    "de": ["Ein Hund läuft.", "Zwei Mädchen lachen. ", "Äpfel"],
    "en": ["A dog runs.", "Two girls laugh.", "Apples"],
}
PATIENCE = 3_600.0  # seconds, where a test does not ask for a limit: more than the busiest machine needs
PATIENT = {"timeout": PATIENCE, "deadline": PATIENCE}
PAIRS = list(zip(TEXTS["de"], TEXTS["en"], strict=True))


def packed(language: str, end: str = "\n", encoding: str = "utf-8") -> bytes:
    return gzip.compress("".join(line + end for line in TEXTS[language]).encode(encoding), mtime=0)


def use_small_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let TEXTS be the published validation split."""
    monkeypatch.setitem(multi30k.SPLITS, "val", 3)
    for language, lines in TEXTS.items():
        monkeypatch.setitem(multi30k.SHA256, f"val.{language}", multi30k.digest(lines))


class Server(ThreadingHTTPServer):
    """Answers with `answer(handler)` where a test sets one, else as the home of the corpus does."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer: Callable[[Handler], None] = good
        self.requests: list[str] = []
        self.over = threading.Event()
        self.home = f"http://127.0.0.1:{self.server_address[1]}/raw"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        with contextlib.suppress(ConnectionError):  # a client that has heard enough
            self.server.answer(self)

    def log_message(self, *_: object) -> None:
        pass

    def say(self, body: bytes, announced: int | None = None, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        self.wfile.write(body)


def good(handler: Handler) -> None:
    language = handler.path.removesuffix(".gz")[-2:]
    handler.say(packed(language) if handler.path == f"/raw/val.{language}.gz" else b"", status=200)


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """A server that runs until the block ends."""
    with Server() as running:  # its end waits for the threads of all requests
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


def drip(handler: Handler, content: bytes) -> None:
    for byte in content:
        if handler.server.over.wait(0.02):
            return
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()


def drip_body(handler: Handler) -> None:
    handler.say(b"", announced=5_000)
    drip(handler, bytes(5_000))


def drip_headers(handler: Handler) -> None:
    drip(handler, b"HTTP/1.0 200 OK\r\n" + b"X: " + b"x" * 5_000)


def stall_at_once(handler: Handler) -> None:
    handler.server.over.wait(PATIENCE)


def stall_in_the_body(handler: Handler) -> None:
    handler.say(packed("de")[:40], announced=len(packed("de")))
    handler.server.over.wait(PATIENCE)


def redirect_to(address: str) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", address)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


BOMB = gzip.compress(bytes(20 << 20))
BAD_ANSWERS = {
    "altered": (
        lambda h: h.say(gzip.compress("Ein Hund\nläuft\nheute\n".encode())),
        "is not the published text",
    ),
    "another file": (lambda h: h.say(packed("en")), "is not the published text"),
    "a bit flipped": (lambda h: h.say(packed("de")[:-6] + b"!" + packed("de")[-5:]), "is damaged or no gzip file"),
    "fewer lines": (lambda h: h.say(gzip.compress(b"eins\nzwei\n")), "must have 3 lines, got 2: it is cut off"),
    "cut off, honestly": (lambda h: h.say(packed("de")[:-20]), "is cut off: its compressed data ends in line"),
    "cut off, announced whole": (
        lambda h: h.say(packed("de")[:-20], len(packed("de"))),
        r"broke off after \d+ of",
    ),
    "nothing": (lambda h: h.say(b""), "is empty"),
    "Latin-1": (lambda h: h.say(packed("de", encoding="latin-1")), r"must be UTF-8, but line 1 is not"),
    "a page instead": (lambda h: h.say(b"<html>Log in to this network</html>"), "no gzip file"),
    "too long": (lambda h: h.say(bytes(3 << 20)), "longer than the 2,097,152 bytes"),
    "announced too long": (lambda h: h.say(b"", announced=10**12), "longer than the 2,097,152 bytes"),
    "a bomb": (lambda h: h.say(BOMB), "must hold at most 8,388,608 bytes of text"),
    "404": (lambda h: h.say(b"no such file", status=404), "answered 404 Not Found"),
    "500": (lambda h: h.say(b"", status=500), "answered 500 Internal Server Error"),
    "hangs up": (lambda h: None, "closed connection without response"),
    "no HTTP": (lambda h: h.wfile.write(b"220 mail server\r\n"), "220 mail server"),
    "stalls at once": (stall_at_once, "sent nothing for 0.5 seconds"),
    "stalls in the body": (stall_in_the_body, "sent nothing for 0.5 seconds"),
    "drips": (drip_body, "not complete after 1 seconds"),
    "drips headers": (drip_headers, "not complete after 1 seconds"),
    "to plain http": (
        redirect_to("http://127.0.0.1:9/val.de.gz"),
        "a redirect to http://127.0.0.1:9/.*not HTTPS",
    ),
    "to itself": (redirect_to("/raw/val.de.gz"), "which is not HTTPS"),
    "to a file": (redirect_to("file:///etc/hostname"), "answered 302 .*not allowed"),
    "to ftp": (redirect_to("ftp://127.0.0.1/val.de.gz"), "which is not HTTPS"),
}
LIMITS = {  # where time decides: a limit that has to be reached, and that no machine is too slow for
    "stalls at once": {"timeout": 0.5},
    "stalls in the body": {"timeout": 0.5},
    "drips": {"deadline": 1.0},
    "drips headers": {"deadline": 1.0},
}
