"""A file over HTTPS: whole and in time, or an error."""

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from tests.unit.file_server import Handler, Server, drip, redirect_to, running_server, stall_at_once, stall_in_the_body
from transformer_edu.data.fetch import DownloadError, fetch


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


def test_a_slow_but_steady_server_may_take_longer_than_the_timeout(server):
    def answer(handler: Handler) -> None:
        handler.say(b"", announced=75)
        drip(handler, bytes(75))

    server.answer = answer
    started = time.monotonic()
    assert fetch(server.home, max_bytes=75, timeout=1.0, deadline=30.0) == bytes(75)
    assert time.monotonic() - started > 1.0


@pytest.mark.parametrize("answer", [stall_at_once, stall_in_the_body])
def test_a_stalled_server_is_given_up_after_the_timeout_not_after_the_deadline(server, answer):
    server.answer = answer
    started = time.monotonic()
    with pytest.raises(DownloadError, match=r"the server sent nothing for 0\.3 seconds"):
        fetch(server.home, max_bytes=1_000, timeout=0.3, deadline=15.0)
    assert time.monotonic() - started < 8


def test_a_body_without_announced_length_is_read_to_its_end(server):
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(bytes(100_000))

    server.answer = answer
    assert fetch(server.home, max_bytes=100_000) == bytes(100_000)
    with pytest.raises(DownloadError, match="longer than the 99,999 bytes"):
        fetch(server.home, max_bytes=99_999)


def test_an_endless_body_is_given_up_as_soon_as_it_is_too_long(server):
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not handler.server.over.wait(0.001):
            handler.wfile.write(bytes(1_000))

    server.answer = answer
    started = time.monotonic()
    with pytest.raises(DownloadError, match="longer than the 5,000 bytes"):
        fetch(server.home, max_bytes=5_000, deadline=15.0)
    assert time.monotonic() - started < 8


def test_a_chunked_body_is_read_to_its_end_and_a_cut_off_one_is_not_taken(server):
    def chunks(*parts: bytes) -> Callable[[Handler], None]:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        return lambda handler: handler.wfile.write(head + b"".join(parts)) and None

    server.answer = chunks(b"3\r\nabc\r\n", b"2\r\nde\r\n", b"0\r\n\r\n")
    assert fetch(server.home, max_bytes=10) == b"abcde"
    server.answer = chunks(b"3\r\nabc\r\n", b"9\r\nde")
    with pytest.raises(DownloadError, match="IncompleteRead"):
        fetch(server.home, max_bytes=10)


def test_a_refused_connection_is_a_clear_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        home = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(DownloadError, match=r"cannot be downloaded: .*refused"):
            fetch(home, max_bytes=10)


def test_https_is_spoken_and_a_redirect_to_it_is_followed(server):
    """The server speaks no TLS, so both attempts end in the handshake, not before."""
    secure = server.home.replace("http:", "https:")
    with pytest.raises(DownloadError, match=r"(?i)ssl|tls"):
        fetch(secure, max_bytes=10)
    server.answer = redirect_to(secure)
    with pytest.raises(DownloadError, match=r"(?i)ssl|tls"):
        fetch(server.home, max_bytes=10)


@pytest.mark.parametrize(
    "home", ["http://example.org/raw", "ftp://127.0.0.1/raw", "file:///etc", "data:,x", "raw", "https:///raw", ""]
)
def test_only_https_is_an_address_except_on_this_machine(home):
    with pytest.raises(ValueError, match="must begin with https://"):
        fetch(home, max_bytes=10)


def test_a_proxy_in_the_environment_is_not_asked_for_this_machine(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    server.answer = lambda handler: handler.say(b"here")
    assert fetch(server.home, max_bytes=10) == b"here"


def test_a_proxy_in_the_environment_is_asked_for_other_machines(server, monkeypatch):
    """The local server stands in for the proxy, which refuses: it is asked for a tunnel, and nothing else goes out."""
    monkeypatch.setenv("https_proxy", server.home)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(DownloadError, match="Tunnel connection failed: 501"):
        fetch("https://example.org/val.de.gz", max_bytes=10)


@pytest.mark.parametrize("limits", [{"max_bytes": 0}, {"timeout": 0.0}, {"deadline": -1.0}, {"timeout": float("nan")}])
def test_limits_must_be_positive(limits):
    with pytest.raises(ValueError, match=next(iter(limits))):
        fetch("https://127.0.0.1", **{"max_bytes": 10, **limits})
