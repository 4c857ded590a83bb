"""A file over HTTPS: whole and in time, or an error."""

import io
import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tests.unit.file_server import (
    PATIENCE,
    PATIENT,
    Handler,
    Server,
    redirect_to,
    running_server,
    stall_at_once,
    stall_in_the_body,
)
from transformer_edu.data.fetch import DownloadError, _TimedStream, fetch

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


class Wire:
    """A connection that needs `pace` seconds for each byte, of a clock that only it moves."""

    def __init__(self, pace: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pace, self.now, self.patience = pace, 0.0, 0.0
        monkeypatch.setattr("transformer_edu.data.fetch.time", SimpleNamespace(monotonic=lambda: self.now))

    def settimeout(self, seconds: float) -> None:
        self.patience = seconds

    def readinto(self, buffer: memoryview) -> int:
        self.now += min(self.pace, self.patience)
        if self.pace > self.patience:
            raise TimeoutError
        buffer[0] = 7
        return 1

    def close(self) -> None:
        pass

    def read(self, count: int, timeout: float, deadline: float) -> bytes:
        return io.BufferedReader(_TimedStream(self, self, timeout, deadline, ends=deadline)).read(count)


def test_a_slow_but_steady_server_may_take_longer_than_the_timeout(monkeypatch):
    wire = Wire(0.9, monkeypatch)
    assert wire.read(50, timeout=1.0, deadline=60.0) == bytes([7] * 50)
    assert wire.now == pytest.approx(45)


def test_a_slow_but_steady_server_is_given_up_at_the_deadline_and_not_later(monkeypatch):
    wire = Wire(0.9, monkeypatch)
    with pytest.raises(TimeoutError, match="not complete after 10 seconds"):
        wire.read(50, timeout=1.0, deadline=10.0)
    assert wire.now == pytest.approx(10)


@pytest.mark.parametrize("answer", [stall_at_once, stall_in_the_body])
def test_a_stalled_server_is_given_up_after_the_timeout_not_after_the_deadline(server, answer):
    server.answer = answer
    with pytest.raises(DownloadError, match=r"the server sent nothing for 0\.3 seconds"):
        fetch(server.home, max_bytes=1_000, timeout=0.3, deadline=PATIENCE)


def test_a_body_without_announced_length_is_read_to_its_end(server):
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(bytes(100_000))

    server.answer = answer
    assert fetch(server.home, max_bytes=100_000, **PATIENT) == bytes(100_000)
    with pytest.raises(DownloadError, match="longer than the 99,999 bytes"):
        fetch(server.home, max_bytes=99_999, **PATIENT)


def test_a_body_is_given_up_as_soon_as_it_is_too_long():
    whole = []

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(bytes(1 << 20))  # more than the system holds back for us
        whole.append(True)

    with running_server() as server:
        server.answer = answer
        with pytest.raises(DownloadError, match="longer than the 5,000 bytes"):
            fetch(server.home, max_bytes=5_000, **PATIENT)
    assert not whole


def test_a_chunked_body_is_read_to_its_end_and_a_cut_off_one_is_not_taken(server):
    def chunks(*parts: bytes) -> Callable[[Handler], None]:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        return lambda handler: handler.wfile.write(head + b"".join(parts)) and None

    server.answer = chunks(b"3\r\nabc\r\n", b"2\r\nde\r\n", b"0\r\n\r\n")
    assert fetch(server.home, max_bytes=10, **PATIENT) == b"abcde"
    server.answer = chunks(b"3\r\nabc\r\n", b"9\r\nde")
    with pytest.raises(DownloadError, match="IncompleteRead"):
        fetch(server.home, max_bytes=10, **PATIENT)


def test_a_refused_connection_is_a_clear_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        home = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(DownloadError, match=r"cannot be downloaded: .*refused"):
            fetch(home, max_bytes=10, **PATIENT)


def test_https_is_spoken_and_a_redirect_to_it_is_followed(server):
    """The server speaks no TLS, so both attempts end in the handshake, not before."""
    secure = server.home.replace("http:", "https:")
    with pytest.raises(DownloadError, match=r"(?i)ssl|tls"):
        fetch(secure, max_bytes=10, **PATIENT)
    server.answer = redirect_to(secure)
    with pytest.raises(DownloadError, match=r"(?i)ssl|tls"):
        fetch(server.home, max_bytes=10, **PATIENT)


BAD_REDIRECTS = {
    "https://[::1": "Invalid IPv6 URL",
    "https://[1]/": "does not appear to be an IPv4 or IPv6 address",
    "https://a..b/": "cannot be written in ASCII",
    f"https://{'a' * 70}.example/": "cannot be written in ASCII",
    "https://\xe9.example/": "cannot be written in ASCII",
    "https://.": "cannot be written in ASCII",
    "https://127.0.0.1:port/": "nonnumeric port",
    "https://": "no host given",
    "\0": "not HTTPS",
}


@pytest.mark.parametrize("address", BAD_REDIRECTS, ids=ascii)
def test_a_redirect_to_what_is_no_address_is_a_failed_download(server, address):
    server.answer = redirect_to(address)
    with pytest.raises(DownloadError, match=BAD_REDIRECTS[address]):
        fetch(server.home, max_bytes=10, **PATIENT)


@pytest.mark.parametrize("url", ["https://[::1", "https://[", "https://\u24d4.invalid\u2100/"])
def test_what_is_no_address_is_named(url):
    with pytest.raises(ValueError, match=r"the address must be one that can be read, got 'https://"):
        fetch(url, max_bytes=10)


@pytest.mark.parametrize(
    "home", ["http://example.org/raw", "ftp://127.0.0.1/raw", "file:///etc", "data:,x", "raw", "https:///raw", ""]
)
def test_only_https_is_an_address_except_on_this_machine(home):
    with pytest.raises(ValueError, match="must begin with https://"):
        fetch(home, max_bytes=10, **PATIENT)


def test_a_proxy_in_the_environment_is_not_asked_for_this_machine(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    server.answer = lambda handler: handler.say(b"here")
    assert fetch(server.home, max_bytes=10, **PATIENT) == b"here"


def test_a_proxy_in_the_environment_is_asked_for_other_machines(server, monkeypatch):
    """The local server stands in for the proxy, which refuses: it is asked for a tunnel, and nothing else goes out."""
    monkeypatch.setenv("https_proxy", server.home)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(DownloadError, match="Tunnel connection failed: 501"):
        fetch("https://example.org/val.de.gz", max_bytes=10, **PATIENT)


@pytest.mark.parametrize("limits", [{"max_bytes": 0}, {"timeout": 0.0}, {"deadline": -1.0}, {"timeout": float("nan")}])
def test_limits_must_be_positive(limits):
    with pytest.raises(ValueError, match=next(iter(limits))):
        fetch("https://127.0.0.1", **{"max_bytes": 10, **limits})
