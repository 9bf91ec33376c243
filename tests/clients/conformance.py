"""The official conformance suite of one protocol revision: python3 conformance.py 2025-11-25

The suite speaks HTTP to $FIXTURE_SERVER, which offers the suite's fixtures on Warder's protocol library, over TCP and,
by a program that copies bytes, over its Unix socket. Every scenario that the revision requires must pass on both, but
those listed in conformance/REVISION.yml, each with its reason; one that is listed and passes fails the run, so the list
stays true. So must the scenarios of UNSCORED, which the suite does not require.
"""
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from conformance_suite import SUITE, excused, required, results, wrong
from harness import CLIENTS, NODE

HERE = pathlib.Path(__file__).resolve().parent
# Scenarios that the suite runs and does not score, and that apply to the fixtures.
UNSCORED = {"2025-11-25": {"server-session-lifecycle", "json-schema-2020-12", "server-sse-polling"},
            "2026-07-28": {"json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"}}

# Scenarios of the extension io.modelcontextprotocol/tasks: run one by one. The suite has no check yet for one of them.
TASKS = {"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal",
         "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error",
         "tasks-mrtr-composition", "tasks-status-notifications"}
UNCHECKED = {"tasks-status-notifications"}


class Forwarder:
    """A TCP port of 127.0.0.1 whose connections are copied, byte by byte, to a Unix socket."""

    def __init__(self, path):
        self.path = str(path)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/mcp"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listening.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.path)
            for source, sink in (client, server), (server, client):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            while part := source.recv(65536):
                sink.sendall(part)
        except OSError:  # the other direction has ended
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def run_suite(revision, url, output):
    """The suite's exit status against a server, and the checks of its scenarios."""
    shutil.rmtree(output, ignore_errors=True)
    baseline = HERE / "conformance" / f"{revision}.yml"
    status = subprocess.run([NODE, SUITE, "server", "--url", url, "--requirements", revision, "--expected-failures",
                             baseline, "-o", output]).returncode
    return status, results(output, "server-")


def run_tasks(url, output):
    """What is wrong with each scenario of tasks."""
    shutil.rmtree(output, ignore_errors=True)
    for name in sorted(TASKS):
        subprocess.run([NODE, SUITE, "server", "--url", url, "--scenario", name, "-o", output], stdout=subprocess.DEVNULL)
    checks = results(output, "server-")
    return {name: what for name in TASKS
            if (what := wrong(name, checks.get(name, []), {})) and not (name in UNCHECKED and name in checks)}


def main():
    revision = sys.argv[1]
    excuses, needed = excused(HERE / "conformance" / f"{revision}.yml"), required(revision, "Server")
    failed = False
    with tempfile.TemporaryDirectory(prefix="warder-conformance-") as folder:
        path = pathlib.Path(folder) / "fixture.sock"
        fixture = subprocess.Popen([os.environ["FIXTURE_SERVER"], path], stdout=subprocess.PIPE, text=True)
        url = fixture.stdout.readline().strip() if select.select([fixture.stdout], [], [], 30)[0] else ""
        if not url:
            fixture.kill()
            sys.exit("the fixture server does not listen")
        try:
            for transport, where in ("tcp", url), ("unix", Forwarder(path).url):
                status, checks = run_suite(revision, where, CLIENTS / f"conformance-{revision}-{transport}")
                problems = {name: what for name in needed | UNSCORED[revision]
                            if (what := wrong(name, checks.get(name, []), excuses))}
                print(f"{revision} over {transport}: {len(needed - excuses.keys() - problems.keys())} of {len(needed)} required "
                      f"scenarios pass, {len(UNSCORED[revision] - problems.keys())} of {len(UNSCORED[revision])} others, "
                      f"{len(excuses)} are listed as not there yet")
                if revision == "2026-07-28":
                    tasks = run_tasks(where, CLIENTS / f"conformance-tasks-{transport}")
                    print(f"  tasks: {len(TASKS) - len(tasks)} of {len(TASKS)} scenarios pass")
                    problems |= tasks
                for name, what in sorted(problems.items()):
                    print(f"  {name}: {', '.join(what)}")
                failed = failed or status != 0 or bool(problems)
        finally:
            fixture.send_signal(signal.SIGTERM)
            ended = fixture.wait(30)
    if ended not in (0, -signal.SIGTERM):
        print(f"  fixture server: ended with {ended}")
    return 1 if failed or ended not in (0, -signal.SIGTERM) else 0


if __name__ == "__main__":
    sys.exit(main())
