"""TaskServer: tasks of other programs over HTTP: POST /task, GET /task/ID, GET /health. Each task is an AgentRun in the
named workspace that its `userId` names; the daemon's policy decides whether it may. Requests come from programs of this
machine, which have the token (TCP) or may open the socket (Unix)."""
import asyncio
import dataclasses
import hmac
import re
import secrets
import socket
from typing import Any

from .agent_run import AgentRun, Outcome, RunEnd
from .daemon_tools import DaemonAddress
from .failure import Failure
from .http_request import Refused, Request
from .json_server import JsonServer, Reply
from .json_text import dump_json, parse_json
from .model_client import Reporter
from .settings import Settings
from .texts import iso_time_now, printable, utf8
from .transcript import Transcript, new_session_name
from .urls import is_own_host, is_own_origin

MAX_TASK_BYTES = 1 << 20
MAX_USER_BYTES = 128
MAX_ENDED_TASKS = 64  # background tasks whose end is known
ENDING = "the server of tasks has ended"
FREE_CONNECTIONS = 32  # beside those that wait for a task


@dataclasses.dataclass
class TaskOrder:
    user: str
    text: str
    is_background: bool


def read_order(text: str) -> TaskOrder:
    """Raises Refused."""
    try:
        body = parse_json(text)
    except Failure as failure:
        raise Refused(400, f"the body: {failure.text}") from None
    if not isinstance(body, dict):
        raise Refused(400, "the body is not an object")
    values: dict[str, Any] = {key: value for key, value in body.items() if value is not None}
    for key, max_bytes in (("userId", MAX_USER_BYTES), ("task", MAX_TASK_BYTES)):
        value = values.get(key)
        if value is None:
            raise Refused(400, f"{key}: missing")
        if not isinstance(value, str):
            raise Refused(400, f"{key}: {printable(dump_json(value), 60)} is not a string")
        if len(utf8(value)) > max_bytes:
            raise Refused(400, f"{key}: {len(utf8(value))} bytes are more than {max_bytes}")
        if not value.strip(" \t\r\n") if key == "task" else not value:
            raise Refused(400, f"{key}: is empty")
    is_background = values.get("background", False)
    if not isinstance(is_background, bool):
        raise Refused(400, f"background: {printable(dump_json(is_background), 60)} is not true or false")
    for key in body:
        if key not in ("background", "task", "userId"):
            raise Refused(400, f"{printable(key, 64)}: unknown key; known keys: background, task, userId")
    return TaskOrder(values["userId"], values["task"], is_background)


def status_of(outcome: Outcome) -> int:
    """A run that has begun is an answer, however it ended. Otherwise this program has failed, or the daemon has refused
    the run, or does not answer."""
    if outcome.is_started:
        return 200
    if outcome.is_bug:
        return 500
    return 403 if outcome.end == RunEnd.FAILED else 503


class ServedTask:
    def __init__(self, ident: str, session: str):
        self.id, self.session = ident, session
        self.outcome: Outcome | None = None  # after its end
        self.over = asyncio.Event()


class TaskServer:
    def __init__(self, settings: Settings, daemon: DaemonAddress, address: str, token: str, report: Reporter):
        """`address`: of a TCP socket. `token`: empty for a Unix socket."""
        self._settings, self._daemon, self._report = settings, daemon, report
        self._address, self._token = address, token
        self._running: dict[str, AgentRun] = {}  # by the ids of their tasks; a run holds its whole conversation
        self._background: dict[str, ServedTask] = {}  # the oldest first
        self._drivers: set[asyncio.Task[None]] = set()
        self._is_ending = False
        self._server = JsonServer(self, settings.tasks + FREE_CONNECTIONS)

    async def open(self, listening: socket.socket) -> None:
        await self._server.open(listening)

    async def finish(self) -> None:
        """Accepts no more requests, cancels the tasks that run, and waits for their end and for the answers to the
        clients that wait for one."""
        self._server.stop()
        self._is_ending = True
        for run in self._running.values():
            run.cancel(ENDING)
        if self._drivers:
            await asyncio.wait(self._drivers)
        await self._server.finish()

    def check(self, head: Request) -> None:
        host = head.field("host")
        if host is None or not is_own_host(host, self._address):
            raise Refused(403, "the Host field does not name this server")
        origin = head.field("origin")
        if head.count("origin") > 0 and (origin is None or not is_own_origin(origin, host, self._address)):
            raise Refused(403, "pages of this Origin may not use this server")
        is_post = head.path == "/task"
        if not is_post and head.path != "/health" and not head.path.startswith("/task/"):
            raise Refused(404, "the paths are POST /task, GET /task/ID and GET /health")
        if self._token and head.path != "/health" and not self._has_token(head):
            raise Refused(401, "a token is needed: Authorization: Bearer TOKEN", "WWW-Authenticate: Bearer\r\n")
        method = "POST" if is_post else "GET"
        if head.method != method:
            raise Refused(405, f"use {method}", f"Allow: {method}\r\n")
        if is_post and re.split("[; ]", head.field("content-type") or "")[0] != "application/json":
            raise Refused(415, "the Content-Type must be application/json")

    async def respond(self, head: Request, body: bytes) -> Reply:
        if head.path == "/task":
            return await self._post_task(body.decode(errors="replace"))
        if head.path == "/health":
            return Reply(200, {"status": "ok", "timestamp": iso_time_now()})
        return self._get_task(head.path.removeprefix("/task/"))

    def _has_token(self, head: Request) -> bool:
        scheme, _, token = (head.field("authorization") or "").partition(" ")
        return scheme == "Bearer" and hmac.compare_digest(token.encode(), self._token.encode())

    async def _post_task(self, body: str) -> Reply:
        if self._is_ending:
            raise Refused(503, ENDING)
        order = read_order(body)
        if len(self._running) >= self._settings.tasks:
            raise Refused(503, f"{len(self._running)} tasks run already", "Retry-After: 5\r\n")
        try:
            task = self._begin(order)
        except Failure as failure:
            raise Refused(503, failure.text) from None
        if order.is_background:
            self._keep(task)
            return Reply(202, {"id": task.id, "state": "running", "session": task.session},
                         f"Location: /task/{task.id}\r\n")
        run = self._running[task.id]
        try:
            await task.over.wait()
        finally:
            run.cancel("the client has left")  # a client that leaves ends its task, which costs money
        outcome = task.outcome
        assert outcome
        return Reply(status_of(outcome), outcome.to_json(task.session))

    def _get_task(self, ident: str) -> Reply:
        task = self._background.get(ident)
        if not task:
            raise Refused(404, "there is no background task with this id")
        if not task.outcome:
            return Reply(200, {"id": ident, "state": "running", "session": task.session})
        return Reply(200, {"id": ident, "state": "ended", **task.outcome.to_json(task.session)})

    def _begin(self, order: TaskOrder) -> ServedTask:
        ident = secrets.token_hex(16)
        transcript = Transcript.begin(new_session_name(), order.user, self._settings.model, order.text)

        def report(line: str) -> None:
            self._report(f"task {ident[:8]}: {line}")
        report(f"user {printable(order.user, 64)}, session {transcript.session}")
        task = ServedTask(ident, transcript.session)
        run = self._running[ident] = AgentRun(self._settings, self._daemon, transcript, report)
        driver = asyncio.create_task(self._drive(task, run))
        self._drivers.add(driver)
        driver.add_done_callback(self._drivers.discard)
        return task

    async def _drive(self, task: ServedTask, run: AgentRun) -> None:
        try:
            task.outcome = await run.run()
        finally:  # also after a bug
            task.outcome = task.outcome or Outcome(error="the run has failed", is_bug=True)
            self._report(f"task {task.id[:8]}: ended: {task.outcome.end.value}")
            del self._running[task.id]
            task.over.set()

    def _keep(self, task: ServedTask) -> None:
        """The oldest of the ended ones is forgotten."""
        self._background[task.id] = task
        if len(self._background) > MAX_ENDED_TASKS:
            oldest = next((ident for ident, entry in self._background.items() if entry.outcome), None)
            self._background.pop(oldest or "", None)
