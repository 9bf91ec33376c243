"""Reads one HTTP/1.1 request, strictly: what another reader could split or understand differently is refused. The same
rules as in supervisor/protocol/http/request_parser.h."""
import asyncio
import dataclasses
import re

MAX_HEAD_BYTES = 32 << 10
MAX_FIELDS = 100
MAX_BODY_BYTES = 2 << 20
MAX_CHUNKS = 4096
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"


class Refused(Exception):
    """The connection must end after this answer."""

    def __init__(self, status: int, why: str, headers: str = ""):
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers


@dataclasses.dataclass
class Request:
    method: str
    target: str  # begins with a slash; not decoded
    is_http_1_0: bool
    fields: list[tuple[str, str]]  # names in lower case

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def field(self, name: str) -> str | None:
        """The value of a field that occurs once; None: it is absent, or repeated."""
        values = [value for key, value in self.fields if key == name]
        return values[0] if len(values) == 1 else None

    def count(self, name: str) -> int:
        return sum(key == name for key, _ in self.fields)

    @property
    def expects_continue(self) -> bool:
        return not self.is_http_1_0 and (self.field("expect") or "").lower() == "100-continue"


async def read_head(reader: asyncio.StreamReader) -> Request:
    """Raises Refused, and EOFError: the client has left."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):  # line by line, so that bytes that are no request are refused at once
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise Refused(431, "the head of the request is too long") from None
        head += line
        if len(head) > MAX_HEAD_BYTES:
            raise Refused(431, "the head of the request is too long")
        if re.search(rb"[^\r]\n$|\r[^\n]|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|^[ \t]", line) or line == b"\n":
            raise Refused(400, "the head of the request has a control character, a folded field, or a line end that is "
                          "not CR LF")
    return _parse_head(head.decode("latin-1"))


def _parse_head(head: str) -> Request:
    lines = head[:-4].split("\r\n")
    first = re.fullmatch(rf"({_TOKEN}) (\S+) HTTP/1\.([01])", lines[0])
    if not first:
        raise Refused(400, "this is not an HTTP/1.1 request")
    if len(lines) > MAX_FIELDS + 1:
        raise Refused(431, "the request has too many fields")
    fields = []
    for line in lines[1:]:
        name, colon, rest = line.partition(":")
        if not colon or not re.fullmatch(_TOKEN, name):
            raise Refused(400, "this is not an HTTP/1.1 request")
        name, value = name.lower(), rest.strip(" \t")
        if name in ("content-length", "transfer-encoding") and rest not in (value, f" {value}"):
            raise Refused(400, "the length of the request has space around it")
        fields.append((name, value))
    request = Request(first[1], first[2], first[3] == "0", fields)
    _check(request)
    _check_framing(request)
    return request


def _check(request: Request) -> None:
    if request.method not in _METHODS:
        raise Refused(501, "this method is not known")
    if not re.fullmatch('[!"$-~]*', request.target):
        raise Refused(400, "the target of the request has a forbidden character")
    if not request.target.startswith("/"):
        raise Refused(400, "the target of the request must be a path")
    hosts = request.count("host")
    if hosts > 1 or (hosts == 0 and not request.is_http_1_0):
        raise Refused(400, "the request must have one Host field")
    if not re.fullmatch(r"[A-Za-z0-9._:\[\]-]{0,255}", request.field("host") or ""):
        raise Refused(400, "the Host field is not a host")
    if request.count("expect") > 1:
        raise Refused(400, "the request has several Expect fields")
    if request.count("expect") == 1 and not request.expects_continue:
        raise Refused(417, "the only supported expectation is 100-continue")


def _check_framing(request: Request) -> None:
    """The length of the body must be certain."""
    length, encoding = request.field("content-length"), request.field("transfer-encoding")
    if request.count("content-length") + request.count("transfer-encoding") > 1:
        raise Refused(400, "the length of the request is given twice")
    if length is not None and not re.fullmatch("[0-9]{1,15}", length):
        raise Refused(400, "the Content-Length is not a number")
    if length is not None and int(length) > MAX_BODY_BYTES:
        raise Refused(413, "the body of the request is too long")
    if encoding is not None and request.is_http_1_0:
        raise Refused(400, "HTTP/1.0 has no Transfer-Encoding")
    if encoding is not None and encoding.lower() != "chunked":
        raise Refused(501, "the only supported Transfer-Encoding is chunked")


async def read_body(reader: asyncio.StreamReader, request: Request) -> bytes:
    """Raises as read_head()."""
    if request.count("transfer-encoding") == 0:
        return await reader.readexactly(int(request.field("content-length") or 0))
    body, chunks = bytearray(), 0
    while size := await _chunk_size(reader):
        chunks += 1
        if chunks > MAX_CHUNKS:
            raise Refused(413, "the body of the request has too many chunks")
        if size > MAX_BODY_BYTES - len(body):
            raise Refused(413, "the body of the request is too long")
        body += await reader.readexactly(size)
        await _expect_line_end(reader, "the chunks of the request are not valid")
    await _expect_line_end(reader, "trailer fields are not supported")
    return bytes(body)


async def _chunk_size(reader: asyncio.StreamReader) -> int:
    """Without extensions (RFC 9112, section 7.1)."""
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        line = b""
    if not re.fullmatch(b"[0-9A-Fa-f]{1,15}\r\n", line):
        raise Refused(400, "chunk extensions are not supported" if b";" in line else
                      "the chunks of the request are not valid")
    return int(line, 16)


async def _expect_line_end(reader: asyncio.StreamReader, why: str) -> None:
    if await reader.readexactly(1) != b"\r" or await reader.readexactly(1) != b"\n":
        raise Refused(400, why)
