"""JsonServer: a small HTTP server whose requests and answers are JSON. A connection has one request and one answer.
Connections, the bytes of a request and the time of a client to send it are bounded; errors of clients are answered with
a status, and are not logged. Requests are untrusted bytes (http_request.py)."""
import asyncio
import contextlib
import dataclasses
import http
import socket
from typing import Any, Protocol

from .http_request import MAX_HEAD_BYTES, Refused, Request, read_body, read_head
from .json_text import dump_json

MAX_UNREAD_BYTES = 4 << 20  # that are read after an answer, so that the client can read it
FINISH_SECONDS = 5  # for the answers to the last requests
REQUEST_SECONDS = 30  # for a client to send its request, and again to read the answer


@dataclasses.dataclass
class Reply:
    status: int
    body: dict[str, Any]
    headers: str = ""  # further fields, each with its \r\n


class Host(Protocol):
    def check(self, head: Request) -> None:
        """The head of a request was read, the body was not. Raises Refused."""

    async def respond(self, head: Request, body: bytes) -> Reply:
        """Cancelled if the client leaves. Raises Refused."""


def _bytes_of(reply: Reply) -> bytes:
    body = dump_json(reply.body).encode() + b"\n"
    return (f"HTTP/1.1 {reply.status} {http.HTTPStatus(reply.status).phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n{reply.headers}\r\n"
            ).encode() + body


class JsonServer:
    def __init__(self, host: Host, max_connections: int):
        self._host, self._max = host, max_connections
        self._connections: set[asyncio.Task[Any]] = set()
        self._reading: set[asyncio.Task[Any]] = set()  # connections without a whole request
        self._is_stopped = False

    async def open(self, listening: socket.socket) -> None:
        self._server = await asyncio.start_server(self._serve, sock=listening, limit=MAX_HEAD_BYTES)

    def stop(self) -> None:
        """Accepts no more clients. Requests that were read are answered: finish() waits for it."""
        self._is_stopped = True
        self._server.close()
        for connection in self._reading:
            connection.cancel()

    async def finish(self) -> None:
        """After stop(): waits until the clients have read their answers, at most FINISH_SECONDS."""
        if self._connections:
            await asyncio.wait(self._connections, timeout=FINISH_SECONDS)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _current_task()
        self._connections.add(connection)
        try:
            if len(self._connections) <= self._max and not self._is_stopped:  # a client beyond the bound is dropped
                with contextlib.suppress(OSError, EOFError, TimeoutError):
                    await self._answer(reader, writer)
        finally:
            self._connections.discard(connection)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, body = await self._read(reader, writer)
            reply = await self._respond(reader, head, body)
        except Refused as refused:
            reply = Reply(refused.status, {"error": refused.why}, refused.headers)
        if reply:
            async with asyncio.timeout(REQUEST_SECONDS):
                await _send(reader, writer, reply)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[Request, bytes]:
        connection = _current_task()
        self._reading.add(connection)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await read_head(reader)
                self._host.check(head)
                if head.expects_continue:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return head, await read_body(reader, head)
        finally:
            self._reading.discard(connection)

    async def _respond(self, reader: asyncio.StreamReader, head: Request, body: bytes) -> Reply | None:
        """None: the client has closed its connection, or its output."""
        work = asyncio.create_task(self._host.respond(head, body))
        hangup = asyncio.create_task(_read_to_end(reader))
        try:
            await asyncio.wait({work, hangup}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hangup.cancel()
            work.cancel()
            await asyncio.wait({work, hangup})
        return None if work.cancelled() else work.result()


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task
    return task


async def _read_to_end(reader: asyncio.StreamReader, max_bytes: float = float("inf")) -> None:
    """Drops bytes until the client closes its output."""
    with contextlib.suppress(OSError):
        while max_bytes > 0 and (dropped := await reader.read(65536)):
            max_bytes -= len(dropped)


async def _send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply) -> None:
    writer.write(_bytes_of(reply))
    await writer.drain()
    writer.write_eof()
    await _read_to_end(reader, MAX_UNREAD_BYTES)
