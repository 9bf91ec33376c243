"""The program of `warder agent`: its command line, its exit statuses, and what people read.

`warder` declares the flags, checks their form, and starts this program with each as one word, NAME=VALUE
(../cli/agent.cc). So no user needs to call it."""
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable

from .agent_run import AgentRun, Outcome, RunEnd
from .daemon_tools import DaemonAddress
from .failure import Failure, Kind, os_failure
from .files import read_complete
from .json_text import dump_json
from .settings import Arguments, Settings, read_settings
from .task_server import TaskServer
from .task_socket import UNIX_PREFIX, open_task_socket, read_task_token
from .texts import print_text
from .transcript import Transcript, new_session_name

MAX_TASK_BYTES = 1 << 20
STATUSES = {RunEnd.DONE: 0, RunEnd.FAILED: 1, RunEnd.TURNS: 120, RunEnd.TOKENS: 121, RunEnd.COST: 122,
            RunEnd.ERRORS: 123, RunEnd.TIME: 124, RunEnd.UNAVAILABLE: 125, RunEnd.CANCELLED: 130}
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def print_progress(line: str) -> None:
    print_text(sys.stderr, f"warder agent: {line}\n")


def print_failure(text: str, hint: str, more: str = "") -> None:
    print_text(sys.stderr, f"warder agent: {text}\n" + (f"  {hint}\n" if hint else "") + more)


def read_task(arguments: Arguments) -> str:
    """Empty: no task is given."""
    data = os.fsencode(arguments.task)
    if arguments.file:
        try:
            descriptor = os.dup(0) if arguments.file == "-" else os.open(arguments.file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise os_failure(error, f"--file: open '{arguments.file}'", Kind.INVALID) from None
        with open(descriptor, "rb", buffering=0) as file:
            data = read_complete(file, MAX_TASK_BYTES, "--file")
    if len(data) > MAX_TASK_BYTES:
        raise Failure(Kind.INVALID, "the task is longer than 1 MiB")
    return data.strip(b" \t\r\n").decode(errors="replace")


def open_transcript(arguments: Arguments, model: str) -> Transcript:
    task = read_task(arguments)
    if not arguments.resume:
        if not task:
            raise Failure(Kind.INVALID, "a TASK, or --file FILE, is missing", "see: warder agent run --help")
        return Transcript.begin(new_session_name(), arguments.workspace, model, task)
    transcript = Transcript.resume(arguments.resume)
    if arguments.workspace and arguments.workspace != transcript.workspace:
        raise Failure(Kind.INVALID, f"--workspace: the run has the workspace '{transcript.workspace}'",
                      "leave --workspace out")
    transcript.continue_with(task)
    return transcript


def print_outcome(outcome: Outcome, session: str, as_json: bool) -> None:
    if as_json:
        print_text(sys.stdout, dump_json(outcome.to_json(session)) + "\n")
    elif outcome.result:
        print_text(sys.stdout, outcome.result + ("" if outcome.result.endswith("\n") else "\n"))
    if outcome.end != RunEnd.DONE:
        print_failure(outcome.error, outcome.hint, f"  continue with: warder agent run --resume {session}\n")


def on_ending_signals(handler: Callable[[], None]) -> None:
    """A signal that this process ignores stays ignored: nohup(1)."""
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, handler)


async def run_task(arguments: Arguments, settings: Settings, daemon: DaemonAddress) -> int:
    transcript = open_transcript(arguments, settings.model)
    print_progress(f"session {transcript.session}")
    run = AgentRun(settings, daemon, transcript, print_progress)
    on_ending_signals(lambda: run.cancel("the run was interrupted by the user"))
    outcome = await run.run()
    print_outcome(outcome, transcript.session, bool(arguments.json))
    return STATUSES[outcome.end]


async def serve_tasks(arguments: Arguments, settings: Settings, daemon: DaemonAddress) -> int:
    """Until a signal comes; then it ends the tasks."""
    if not arguments.listen.startswith(UNIX_PREFIX) and not arguments.token_file:
        raise Failure(Kind.INVALID, "--listen: clients over TCP need a token",
                      "give --token-file FILE, or listen on unix:PATH")
    token = read_task_token(arguments.token_file) if arguments.token_file else ""
    ended = asyncio.Event()
    on_ending_signals(ended.set)
    listening, address = open_task_socket(arguments.listen)
    server = TaskServer(settings, daemon, address, token, print_progress)
    await server.open(listening)
    print_progress(f"listens on {arguments.listen}")
    await ended.wait()
    await server.finish()
    if arguments.listen.startswith(UNIX_PREFIX):
        with contextlib.suppress(OSError):
            os.unlink(arguments.listen.removeprefix(UNIX_PREFIX))
    return 0


async def run_program(arguments: Arguments) -> int:
    if arguments.command == "run" and arguments.listen:
        raise Failure(Kind.INVALID, "--listen: agent run does one task", "leave out --listen or run")
    if arguments.command != "run" and not arguments.listen:
        raise Failure(Kind.INVALID, "a command is missing: run, or --listen", "see: warder agent --help")
    settings = read_settings(arguments)
    daemon = DaemonAddress(arguments.socket, arguments.start_hint, arguments.version)
    return await (run_task if arguments.command == "run" else serve_tasks)(arguments, settings, daemon)


def read_arguments(words: list[str]) -> Arguments:
    try:
        return Arguments(**{name.replace("-", "_"): value for name, value in (word.split("=", 1) for word in words)})
    except (TypeError, ValueError):
        raise Failure(Kind.UNAVAILABLE, "warder and warder-agent are of different versions",
                      "install both packages of one version") from None


def main(words: list[str]) -> None:
    """Ends the process."""
    try:
        status = asyncio.new_event_loop().run_until_complete(run_program(read_arguments(words)))
    except Failure as failure:
        print_failure(failure.text, failure.hint)
        status = {Kind.INVALID: 2, Kind.UNAVAILABLE: 125}.get(failure.kind, 1)
    os._exit(status)  # a thread that looks a host up would delay the end
