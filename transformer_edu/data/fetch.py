"""Get a small file over HTTPS: whole and in time, or an error that says why not.

What urllib leaves open, and is settled here:

- Its timeout starts again with every byte that comes. A server that drips could hold a program for hours; here one
  deadline covers all of it, headers and redirects included.
- It follows redirects to plain HTTP. Here a redirect may only lead to HTTPS.
- It takes a body that is shorter than announced for a whole one. Here that is an error.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib import request as urllib_request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from transformer_edu.support.validation import check_number, check_positive_integer

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class DownloadError(OSError):
    """A file could not be downloaded. The message says which file and why; nothing was left behind."""


def fetch(url: str, max_bytes: int, timeout: float = 30.0, deadline: float = 300.0) -> bytes:
    """The file at `url`.

    Args:
        url: HTTPS; plain HTTP only to this machine itself (localhost, 127.0.0.1, ::1), where no one listens in.
        max_bytes: a longer file is refused.
        timeout: seconds without a byte after which the server counts as stalled.
        deadline: seconds for everything.

    Raises:
        DownloadError: for every failure of the network or of the server.
        ValueError: for an address that must not be fetched.
    """
    check_positive_integer("max_bytes", max_bytes)
    check_number("timeout", timeout)
    check_number("deadline", deadline)
    check_address(url)
    try:
        with _opener(url, timeout, deadline).open(url, timeout=min(timeout, deadline)) as response:
            return _body(response, max_bytes)
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: an address that a redirect gave
        if isinstance(error, HTTPError):
            error.close()  # it holds the connection
        raise DownloadError(f"{url} cannot be downloaded: {_reason(error, timeout, deadline)}") from error


def check_address(url: str) -> None:
    """Raise unless `url` is HTTPS, or plain HTTP to this machine itself."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(f"the address must be one that can be read, got {url!r}: {error}") from error
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)):
        raise ValueError(f"the address must begin with https:// (http:// only for {', '.join(LOOPBACK)}), got {url!r}")


def _reason(error: BaseException, timeout: float, deadline: float) -> str:
    if isinstance(error, HTTPError):
        return f"the server answered {error.code} {error.reason}"
    if isinstance(error, URLError) and isinstance(error.reason, BaseException):
        return _reason(error.reason, timeout, deadline)
    if isinstance(error, TimeoutError) and not isinstance(error, _DeadlineError):
        return (
            f"the server sent nothing for {timeout:g} seconds; try again later"
            if timeout < deadline
            else _late(deadline)
        )
    if isinstance(error, UnicodeError):
        return f"an address on the way cannot be written in ASCII: {error}"
    return str(error) or type(error).__name__


def _late(deadline: float) -> str:
    return f"it was not complete after {deadline:g} seconds; try again later"


def _body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    expected = response.length  # Content-Length, or None
    body = response.read(max_bytes + 1)
    if max(len(body), expected or 0) > max_bytes:
        raise DownloadError(f"it is longer than the {max_bytes:,} bytes that it may have")
    if expected is not None and len(body) != expected:
        raise DownloadError(f"it broke off after {len(body):,} of {expected:,} bytes; try again")
    return body


class _DeadlineError(TimeoutError):
    """All the time for a download is used up."""


class _TimedStream(io.RawIOBase):
    """The bytes of a connection; waiting for the next ones ends at the timeout or at the deadline."""

    def __init__(self, connection: socket.socket, stream: Any, timeout: float, deadline: float, ends: float) -> None:
        self.connection, self.stream = connection, stream
        self.timeout, self.deadline, self.ends = timeout, deadline, ends

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Fill `buffer` with what comes next."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise self._too_late()
        self.connection.settimeout(min(self.timeout, left))
        try:
            return self.stream.readinto(buffer)
        except TimeoutError:
            raise self._too_late() if left < self.timeout else TimeoutError() from None

    def _too_late(self) -> "_DeadlineError":
        return _DeadlineError(_late(self.deadline))

    def close(self) -> None:
        """Let go of the connection."""
        self.stream.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    """A response that is read through a _TimedStream, headers and body."""

    def __init__(self, sock: Any, *args: Any, limits: tuple[float, float, float], **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_TimedStream(sock, self.fp.detach(), *limits))


class _TimedHandler(urllib_request.HTTPHandler, urllib_request.HTTPSHandler):
    """Opens connections whose responses keep to the limits (timeout, deadline, moment at which the deadline ends)."""

    def __init__(self, limits: tuple[float, float, float]) -> None:
        super().__init__()
        self.limits = limits

    def http_open(self, req: urllib_request.Request) -> http.client.HTTPResponse:
        """Open http://."""
        return self.do_open(self._connecting(http.client.HTTPConnection), req)

    def https_open(self, req: urllib_request.Request) -> http.client.HTTPResponse:
        """Open https://, with the server's certificate checked."""
        return self.do_open(self._connecting(http.client.HTTPSConnection), req, context=ssl.create_default_context())

    def _connecting(self, kind: Callable[..., Any]) -> Any:
        def connect(host: str, **options: Any) -> Any:
            connection = kind(host, **options)
            connection.response_class = partial(_TimedResponse, limits=self.limits)
            return connection

        return connect


class _OnlyToHttps(urllib_request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme != "https":
            raise HTTPError(req.full_url, code, f"(a redirect to {newurl}, which is not HTTPS)", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(url: str, timeout: float, deadline: float) -> urllib_request.OpenerDirector:
    """With what is needed: nothing for file:, ftp:, data:. Proxies as the environment says, but none to ourselves."""
    local = urlsplit(url).hostname in LOOPBACK
    opener = urllib_request.OpenerDirector()
    for handler in (
        urllib_request.ProxyHandler({} if local else None),
        _TimedHandler((timeout, deadline, time.monotonic() + deadline)),
        _OnlyToHttps(),
        urllib_request.HTTPDefaultErrorHandler(),
        urllib_request.HTTPErrorProcessor(),
        urllib_request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener
