"""DaemonTools: the tools of warderd that the model sees, called over the daemon's Unix socket like by any client (MCP
2026-07-28, JSON lines). It is all that this program can do: the rights are those of the user's socket, and the policy
of the daemon decides about each call. Arguments come from the model, which is not trusted."""
import asyncio
import contextlib
import dataclasses
import socket
from typing import Any

from .conversation import ShownTool, ToolAnswer, ToolRequest
from .failure import Failure, Kind, os_failure
from .json_text import dump_json, list_member, member, parse_json, text_member
from .texts import cut, printable, utf8

EXECUTE = "execute_code"
SHOWN_TOOLS = (EXECUTE, "search_tools", "get_tool_definition")
# The session is this program's. The result of a background execution is a resource, which no shown tool reads.
OWN_ARGUMENTS = ("session", "background")
MAX_LINE_BYTES = 16 << 20
MAX_REPORTED_BYTES = 32 << 10  # of one answer, for the model
MAX_PRINTED_BYTES = 64 << 10  # of one program
MAX_DESCRIPTION_BYTES = 200
CLOSE_SECONDS = 5  # for the daemon to end the sessions


@dataclasses.dataclass(frozen=True)
class DaemonAddress:
    socket: str
    start_hint: str  # the remedy if no daemon listens there
    version: str  # of this program


@dataclasses.dataclass(frozen=True)
class Target:
    """What the calls of a run have in common."""
    session: str  # of Python; other languages have sessions of their own
    workspace: str  # empty: the user's own
    task: str  # describes the session in the daemon's log


@dataclasses.dataclass
class CallResult:
    answer: ToolAnswer
    printed: str = ""  # what the program printed; of execute_code


def report_text(text: str) -> str:
    """The beginning and the end of an overlong text."""
    data = utf8(text)
    if len(data) <= MAX_REPORTED_BYTES:
        return text
    begin, end_bytes = cut(text, MAX_REPORTED_BYTES * 3 // 4), MAX_REPORTED_BYTES // 4
    omitted = len(data) - len(begin.encode()) - end_bytes
    return (f"{begin}\n[... {omitted} bytes are left out here: print less, or write a file and read parts of it ...]\n"
            f"{data[-end_bytes:].decode(errors='replace')}")


def joined_content(result: Any) -> str:
    content = member(result, "content")
    if not isinstance(content, list):
        return dump_json(result)
    # The answer's text names the files of links, too.
    blocks = [block for block in content if text_member(block, "type") != "resource_link"]
    return "\n".join(text_member(block, "text") if text_member(block, "type") == "text" else
                     f"[{printable(text_member(block, 'type'), 32)} is not shown here]" for block in blocks)


def program_answer(result: Any) -> Any:
    """The answer of execute_code: the JSON of its first block; None: the block has no JSON."""
    with contextlib.suppress(Failure, IndexError):
        return parse_json(text_member(list_member(result, "content")[0], "text"))
    return None


def printed_lines(answer: Any) -> str:
    lines = [line + "\n" for line in list_member(answer, "output") if isinstance(line, str)]
    return cut("".join(lines), MAX_PRINTED_BYTES)


def failure_of_answer(error: Any) -> Failure:
    data = member(error, "data")
    kind = {"denied": Kind.OTHER, "unavailable": Kind.UNAVAILABLE}.get(text_member(data, "code"), Kind.INVALID)
    return Failure(kind, text_member(error, "message"), text_member(data, "remedy"))


class DaemonTools:
    def __init__(self, address: DaemonAddress, target: Target):
        self._address, self._target = address, target
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._last_id = 0
        self._running: int | None = None  # the request that waits for its answer
        self._names: list[str] = []  # of the tools that the daemon lists
        self._sessions: dict[str, str] = {}  # that calls have used: their languages by their names

    async def open(self) -> list[ShownTool]:
        """Connects. Returns the tools of SHOWN_TOOLS that the daemon lists. Raises Failure: unavailable: no daemon
        answers; other, invalid: the daemon's refusal, in its words, also of the workspace's name."""
        params = {"_meta": self._meta("")}
        listed = await self._request("tools/list", params)
        if self._target.workspace:  # one that the policy does not allow is refused here, not in each call of the model
            await self._request("resources/list", params)
        tools = [ShownTool(text_member(tool, "name"), text_member(tool, "description"), member(tool, "inputSchema"))
                 for tool in list_member(listed, "tools") if text_member(tool, "name") in SHOWN_TOOLS]
        self._names = [tool.name for tool in tools]
        if EXECUTE not in self._names:
            raise Failure(Kind.OTHER, "warderd does not list the tool execute_code",
                          "the policy of your user must allow it: warder policy explain --tool execute_code")
        for tool in tools:
            properties = member(tool.schema, "properties")
            if tool.name == EXECUTE and isinstance(properties, dict):
                for name in OWN_ARGUMENTS:
                    properties.pop(name, None)
        return tools

    async def call(self, request: ToolRequest, turn: int) -> CallResult:
        """Calls a tool. A call that cannot be made, or fails, is an answer with is_error. `turn`: for the session's
        log."""
        try:
            return await self._call(request, turn)
        except Failure as failure:
            text = failure.text + (f"; {failure.hint}" if failure.hint else "")
            return CallResult(ToolAnswer(request.id, request.name, text, True))

    async def close(self) -> list[str]:
        """Cancels the call that runs, and ends the run's sessions: a user has few, and each holds memory. Their logs
        stay. Returns ids of the proposals that the changes of staged sessions have become."""
        proposals: list[str] = []
        if not self._stream:
            return proposals  # the sessions are idle, and end later
        self._cancel_running()
        with contextlib.suppress(Failure, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for session, language in self._sessions.items():
                    arguments = {"code": "", "language": language, "session": session, "reset_session": True}
                    ended = await self._request("tools/call", {"name": EXECUTE, "arguments": arguments,
                                                               "_meta": self._meta("")})
                    if proposal := text_member(member(program_answer(ended), "proposal"), "id"):
                        proposals.append(proposal)
        if self._stream:
            self._stream[1].close()  # sends what is left first
        return proposals

    async def _call(self, request: ToolRequest, turn: int) -> CallResult:
        if request.name not in self._names:
            raise Failure(Kind.INVALID, f"there is no tool '{printable(request.name, 64)}'; the tools are "
                          f"{', '.join(self._names)}")
        try:
            arguments = parse_json(request.arguments or "{}")
        except Failure as failure:
            raise Failure(Kind.INVALID, f"the arguments are {failure.text}") from None
        if not isinstance(arguments, dict):
            raise Failure(Kind.INVALID, "the arguments are not a JSON object")
        if request.name == EXECUTE:
            self._set_session(arguments)
        result = await self._request("tools/call", {"name": request.name, "arguments": arguments,
                                                    "_meta": self._meta(f"turn {turn} of the agent")})
        printed = printed_lines(program_answer(result)) if request.name == EXECUTE else ""
        is_error = member(result, "isError") is True
        return CallResult(ToolAnswer(request.id, request.name, report_text(joined_content(result)), is_error), printed)

    def _set_session(self, arguments: dict[str, Any]) -> None:
        """All programs of a run are in its session, which keeps their variables and has their log. A session runs one
        language, and shell has none."""
        for name in OWN_ARGUMENTS:
            arguments.pop(name, None)
        language = text_member(arguments, "language") or "python"
        if language == "python":
            arguments["session"] = self._target.session
        elif "fork" not in arguments and language in ("javascript", "typescript"):
            arguments["session"] = self._target.session + ("-js" if language == "javascript" else "-ts")
        else:
            arguments.pop("reset_session", None)
        if "session" in arguments:
            self._sessions[arguments["session"]] = language

    def _meta(self, description: str) -> dict[str, Any]:
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "warder agent", "version": self._address.version}}
        if self._target.workspace:
            meta["org.warder/workspace"] = self._target.workspace
        if description:
            meta["org.warder/task"] = description
            meta["org.warder/session-description"] = cut(self._target.task, MAX_DESCRIPTION_BYTES)
        return meta

    async def _request(self, method: str, params: dict[str, Any]) -> Any:
        """The result. There is no limit of time: the run has one, and the daemon limits each execution."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        line = dump_json(message).encode() + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise Failure(Kind.INVALID, "the arguments are longer than 16 MiB")
        stream = self._stream = self._stream or await self._connect()
        self._running = self._last_id  # if this task is cancelled meanwhile, close() cancels the call
        try:
            answer = await self._answer_to(self._last_id, line, *stream)
        except Failure:
            stream[1].transport.abort()
            self._stream = self._running = None
            raise
        self._running = None
        if isinstance(error := member(answer, "error"), dict):
            raise failure_of_answer(error)
        return member(answer, "result")

    async def _answer_to(self, ident: int, line: bytes, reader: asyncio.StreamReader,
                         writer: asyncio.StreamWriter) -> Any:
        try:
            writer.write(line)
            await writer.drain()
            while True:
                message = parse_json((await reader.readuntil(b"\n")).decode(errors="replace"))
                answered = member(message, "id")
                is_refusal = answered is None and isinstance(member(message, "error"), dict)
                if is_refusal or (answered == ident and not isinstance(answered, bool)):
                    return message
        except asyncio.LimitOverrunError:
            raise Failure(Kind.OTHER, "the answer of warderd is longer than 16 MiB") from None
        except (OSError, EOFError):
            raise Failure(Kind.UNAVAILABLE, "warderd closed the connection before it answered; the call may have "
                          "run") from None
        except Failure as failure:
            raise failure.within("answer of warderd") from None

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        subject = f"connect to warderd at '{self._address.socket}'"
        if len(self._address.socket.encode(errors="surrogateescape")) > 107:
            raise Failure(Kind.INVALID, f"{subject}: the path is longer than 107 bytes",
                          "use a shorter path, for example under /run or /tmp")
        try:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as error:  # too many open files
            raise os_failure(error, subject, Kind.UNAVAILABLE) from None
        try:
            connection.connect(self._address.socket)
        except OSError as error:
            connection.close()
            hint = ("your user may not use this socket: ask to join the group that owns it (sudo usermod -aG warder "
                    "$USER, then log in again)" if isinstance(error, PermissionError) else self._address.start_hint)
            raise os_failure(error, subject, Kind.UNAVAILABLE, hint) from None
        return await asyncio.open_unix_connection(sock=connection, limit=MAX_LINE_BYTES)

    def _cancel_running(self) -> None:
        """The program of the call ends."""
        if self._running is not None and self._stream:
            params = {"requestId": self._running, "reason": "the agent's run has ended"}
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            self._stream[1].write(dump_json(message).encode() + b"\n")
        self._running = None
