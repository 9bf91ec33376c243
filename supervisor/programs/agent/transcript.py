"""Transcript: the messages of a run, in a file of JSON lines from which the run can continue:
$XDG_STATE_HOME/warder/agent/SESSION.jsonl, or ~/.local/state/... . It is for its user alone (0600), and locked while a
run writes it. The kinds of lines: begin, user, model, tools, end. Raises Failure: other: the transcript does not exist;
unavailable: another run uses it, or the file cannot be written; invalid: the name is not a session's, or a line is
broken."""
import dataclasses
import fcntl
import os
import re
import secrets
import time
from typing import Any

from .conversation import Message, ModelMessage, ToolAnswer, ToolRequest, ToolsMessage, UserMessage
from .failure import Failure, Kind, os_failure
from .files import read_complete
from .json_text import dump_json, list_member, member, parse_json, text_member
from .texts import iso_time_now

MAX_TRANSCRIPT_BYTES = 64 << 20
INTERRUPTED = "the run was interrupted while this call ran; it may have had effects"
RESUMED = "\n(Some time has passed. Files in /workspace are still there, variables of earlier programs may be gone.)"


def new_session_name() -> str:
    """For example agent-20261127-1a2b3c4d5e6f."""
    return f"agent-{time.strftime('%Y%m%d', time.gmtime())}-{secrets.token_hex(6)}"


def _folder() -> str:
    """Makes the folder of transcripts, for its user alone."""
    state, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
    if not state.startswith("/"):
        if not home.startswith("/"):
            raise Failure(Kind.INVALID, "there is no folder for transcripts", "set XDG_STATE_HOME or HOME to a path")
        state = f"{home}/.local/state"
    folder = f"{state}/warder/agent"
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise os_failure(error, f"make the folder '{folder}'", Kind.UNAVAILABLE) from None
    return folder


def _open(session: str, flags: int) -> int:
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", session):
        raise Failure(Kind.INVALID, f"'{session[:64]}' is not the name of a run's session",
                      "each run prints its session when it begins")
    folder = _folder()
    path = f"{folder}/{session}.jsonl"
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
    except FileNotFoundError:
        raise Failure(Kind.OTHER, f"there is no transcript '{path}'",
                      f"ls {folder} shows the runs of this user") from None
    except OSError as error:
        raise os_failure(error, f"open '{path}'", Kind.UNAVAILABLE) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise Failure(Kind.UNAVAILABLE, f"another run uses the session {session}", "wait for its end") from None
    return file


class Transcript:
    def __init__(self, session: str, flags: int):
        """begin() and resume() make one."""
        self.session, self.workspace, self.task = session, "", ""  # task: the first one
        self.messages: list[Message] = []
        self._file = os.fdopen(_open(session, flags), "r+b", buffering=0)

    def close(self) -> None:
        self._file.close()

    @classmethod
    def begin(cls, session: str, workspace: str, model: str, task: str) -> "Transcript":
        """A new run. `session`: a name that no other run has."""
        transcript = cls(session, os.O_CREAT | os.O_EXCL)
        transcript.workspace, transcript.task = workspace, task
        transcript._write({"kind": "begin", "session": session, "workspace": workspace, "model": model, "task": task})
        transcript.add(UserMessage(task))
        return transcript

    @classmethod
    def resume(cls, session: str) -> "Transcript":
        """An earlier run. continue_with() must follow."""
        transcript = cls(session, 0)
        try:
            transcript._read_lines()
        except Failure:
            transcript.close()
            raise
        return transcript

    def continue_with(self, further: str) -> None:
        """Adds the user's next request, which may be empty if the run has not ended with an answer. Calls without an
        answer get one that says so: the run was killed while they ran. The model learns that variables may be gone."""
        last = self.messages[-1]
        if isinstance(last, ModelMessage):
            if not last.requests and not further:
                raise Failure(Kind.INVALID, f"the run {self.session} has ended with an answer",
                              "give a further TASK, to continue the conversation")
            if last.requests:
                self.add(ToolsMessage([ToolAnswer(request.id, request.name, INTERRUPTED, True)
                                       for request in last.requests]))
        self.add(UserMessage((further or "Continue with the task.") + RESUMED))

    def add(self, message: Message) -> None:
        """Adds a message, and writes it."""
        if isinstance(message, UserMessage):
            line: dict[str, Any] = {"kind": "user", "text": message.text}
        elif isinstance(message, ModelMessage):
            line = {"kind": "model", "text": message.text, "requests": list(map(dataclasses.asdict, message.requests))}
        else:
            line = {"kind": "tools", "answers": list(map(dataclasses.asdict, message.answers))}
        self._write(line)
        self.messages.append(message)

    def end(self, how: str, error: str) -> None:
        """Writes how the run ended."""
        self._write({"kind": "end", "how": how, "error": error})

    def _write(self, line: dict[str, Any]) -> None:
        self._append(dump_json({**line, "at": iso_time_now()}).encode() + b"\n")

    def _append(self, data: bytes) -> None:
        try:
            while data:
                data = data[self._file.write(data):]
        except OSError as error:
            raise os_failure(error, f"transcript of {self.session}: write") from None

    def _read_lines(self) -> None:
        name = f"transcript of {self.session}"
        text = read_complete(self._file, MAX_TRANSCRIPT_BYTES, name)
        *lines, last = text.split(b"\n")
        if last and _is_json(last):
            lines.append(last)
            self._append(b"\n")
        elif last:  # the run was killed while it wrote this line
            os.ftruncate(self._file.fileno(), len(text) - len(last))
        for number, line in enumerate(lines, 1):
            try:
                self._read_line(parse_json(line.decode(errors="replace")))
            except Failure as failure:
                raise failure.within(f"{name}, line {number}") from None
        if not self.messages:
            raise Failure(Kind.INVALID, f"the {name} is empty")

    def _read_line(self, line: Any) -> None:
        kind, text = text_member(line, "kind"), text_member(line, "text")
        if kind == "begin":
            self.workspace, self.task = text_member(line, "workspace"), text_member(line, "task")
        elif kind == "user":
            self.messages.append(UserMessage(text))
        elif kind == "model":
            self.messages.append(ModelMessage(text, [
                ToolRequest(text_member(item, "id"), text_member(item, "name"), text_member(item, "arguments"))
                for item in list_member(line, "requests")]))
        elif kind == "tools":
            self.messages.append(ToolsMessage([
                ToolAnswer(text_member(item, "id"), text_member(item, "name"), text_member(item, "text"),
                           member(item, "is_error") is True) for item in list_member(line, "answers")]))
        elif kind != "end":
            raise Failure(Kind.INVALID, f"no kind of line is called '{kind[:32]}'")


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line.decode(errors="replace"))
    except Failure:
        return False
    return True
