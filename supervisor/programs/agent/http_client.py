"""A client of one HTTP/1.1 server: it follows no redirect, uses no proxy of the environment and no password file, and
checks certificates. Replies are bounded in bytes; only finding and connecting the host has a limit of time."""
import asyncio
import contextlib
import dataclasses
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator

from .failure import Failure, Kind
from .urls import Url

CONNECT_SECONDS = 10
MAX_HEAD_BYTES = 64 << 10
MAX_BODY_BYTES = 16 << 20
LOCAL_ADDRESSES = ("127.0.0.1", "::1")
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


def reason_of(error: Exception) -> str:
    """The sentence of an error of the network."""
    if isinstance(error, TimeoutError) and not error.args:
        return f"no connection within {CONNECT_SECONDS} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not valid: {error.verify_message}"
    if isinstance(error, asyncio.IncompleteReadError):
        return "the connection was closed before the end of the reply"
    if isinstance(error, OSError) and not isinstance(error, (ssl.SSLError, socket.gaierror)) and error.errno:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


@contextlib.contextmanager
def network_failures():
    """Errors of the network become a Failure: unavailable."""
    try:
        yield
    except asyncio.LimitOverrunError:
        raise Failure(Kind.OTHER, f"the reply has more than {MAX_HEAD_BYTES} bytes of headers") from None
    except (OSError, EOFError) as error:
        raise Failure(Kind.UNAVAILABLE, reason_of(error)) from None
    except UnicodeError:  # the codec "idna" refuses the name
        raise Failure(Kind.INVALID, "the name of the host is not valid", "each label has 1 to 63 characters") from None


@dataclasses.dataclass
class Reply:
    status: int
    headers: dict[str, str]  # names in lower case; the first of each name
    parts: AsyncIterator[bytes]  # of the body

    async def read(self) -> bytes:
        """The next part of the body; empty: the body has ended."""
        await asyncio.sleep(0)  # parts that have arrived already would stall the other tasks and the signals
        return await anext(self.parts, b"")

    @property
    def media_type(self) -> str:
        return re.split("[; ]", self.headers.get("content-type", ""))[0]


class HttpClient:
    """Sends one request at a time. A connection whose last reply was read to its end serves the next request, too."""

    def __init__(self, url: Url, tls: ssl.SSLContext | None = None):
        self._url, self._tls = url, tls
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._is_idle = False  # the stream can take a request

    async def post(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """`path` is appended to that of the URL. Raises Failure, as reading the body does: unavailable (not reached,
        broken off), other (too large)."""
        head = [f"POST {self._url.path}{path} HTTP/1.1", f"Host: {self._url.authority}",
                *(f"{name}: {value}" for name, value in headers.items()), f"Content-Length: {len(body)}", "", ""]
        request = "\r\n".join(head).encode("latin-1") + body
        with network_failures():
            if self._is_idle and await self._is_silent():  # the server may close it meanwhile
                with contextlib.suppress(OSError, EOFError):
                    return await self._exchange(request)
            self.close()
            async with asyncio.timeout(CONNECT_SECONDS):
                self._stream = await self._connect()
            return await self._exchange(request)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The name localhost is not looked up: a name server could answer with another machine, which would read the
        key."""
        host = self._url.host
        tls, name = (self._context(), host) if self._url.is_secure else (None, None)
        errors: list[OSError] = []
        for address in LOCAL_ADDRESSES if host == "localhost" else (host,):
            try:
                return await asyncio.open_connection(address, self._url.port, ssl=tls, server_hostname=name,
                                                     limit=MAX_HEAD_BYTES, happy_eyeballs_delay=0.2)
            except OSError as error:
                errors.append(error)
        raise errors[0]

    async def _is_silent(self) -> bool:
        """Whether the idle connection is open and has no bytes, which would be read as the next reply."""
        assert self._stream
        await asyncio.sleep(0)  # bytes that have arrived come into the reader
        try:
            async with asyncio.timeout(0) as wait:
                await self._stream[0].read(1)
        except OSError:
            return wait.expired()
        return False

    def close(self) -> None:
        if self._stream:
            self._stream[1].transport.abort()
        self._stream, self._is_idle = None, False

    def _context(self) -> ssl.SSLContext:
        if not self._tls:
            try:
                self._tls = ssl.create_default_context(cafile=AUTHORITIES)
            except FileNotFoundError:
                raise Failure(Kind.OTHER, f"there is no {AUTHORITIES}", "install ca-certificates") from None
            self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # of Python 3.13: many companies' authorities fail it
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    async def _exchange(self, request: bytes) -> Reply:
        self._is_idle = False
        assert self._stream
        reader, writer = self._stream
        writer.write(request)
        status = 100
        while 100 <= status < 200:  # interim replies
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            first = re.fullmatch(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: .*)?", lines[0])
            if not first:
                raise Failure(Kind.UNAVAILABLE, "the reply is not HTTP/1.1")
            status = int(first[2])
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers.setdefault(name.lower(), value.strip(" \t"))
        may_stay = first[1] == "1" and "close" not in headers.get("connection", "").lower()
        return Reply(status, headers, self._body(reader, status, headers, may_stay))

    async def _body(self, reader: asyncio.StreamReader, status: int, headers: dict[str, str],
                    may_stay: bool) -> AsyncIterator[bytes]:
        length = headers.get("content-length")
        if status in (204, 304):  # have no body, also if their fields name one
            parts = _exactly(reader, 0)
        elif "transfer-encoding" in headers:
            parts = _chunks(reader)
        elif length is None:
            parts, may_stay = _until_end(reader), False
        elif re.fullmatch("[0-9]{1,15}", length):
            parts = _exactly(reader, int(length))
        else:
            raise Failure(Kind.UNAVAILABLE, "the reply has no valid Content-Length")
        total = 0
        with network_failures():
            async for part in parts:
                total += len(part)
                if total > MAX_BODY_BYTES:
                    raise Failure(Kind.OTHER, f"the reply is larger than {MAX_BODY_BYTES} bytes")
                yield part
        self._is_idle = may_stay


async def _until_end(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while part := await reader.read(65536):
        yield part


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size > 0:
        part = await reader.read(min(size, 65536))
        if not part:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(part)
        yield part


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        digits = (await reader.readuntil(b"\n")).partition(b";")[0].strip()
        if not re.fullmatch(b"[0-9A-Fa-f]{1,15}", digits):
            raise Failure(Kind.UNAVAILABLE, "the chunks of the reply are not valid")
        if int(digits, 16) == 0:
            break
        async for part in _exactly(reader, int(digits, 16)):
            yield part
        await reader.readuntil(b"\n")
    while (await reader.readuntil(b"\n")).strip():  # trailer fields
        pass
