#!/usr/bin/env python3
"""The wait of a quiet tenant for `ping` and for a write of 100 kB, beside the attacks of another tenant.

    python3 tests/bench/beside_attacks.py WARDERD [--seconds 10] [--only WORDS] [--smoke]

Each attack has a daemon of its own. The quiet tenant sends a ping every 5 ms and writes a file of 100 kB every 50 ms,
first alone (idle), then beside the attack. A ping counts from the moment when it was due. The attack runs in another
process, by another user, and has as many open requests as its row of ATTACKS says. A ratio is (time beside the attack)
/ (idle time of the same daemon). The last column counts the answers to the attack: served, refused with an error, and
executions by their outcome. Prints figures and judges them by no limit. busy_processes.py has busy processes. As root
only: others cannot be two users. Unix sockets only; Ctrl-C ends the run.
"""
import argparse
import collections
import contextlib
import json
import multiprocessing
import os
import pathlib
import re
import select
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[1:1] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
from daemon import META, Daemon  # noqa: E402
from foreign_work_harness import FREE, SERVER, alternatives, many_expressions  # noqa: E402
from harness import Policies  # noqa: E402

from load import connect_as, percentile  # noqa: E402

QUIET, ATTACKER = 23000, 23001  # users without files or processes
PING_EVERY, PINGS_PER_WRITE = 0.005, 10
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
PATIENCE = 120
TEXT = "y" * 100_000
WORDS = [f"word{number}" for number in range(400)]

# After each 20th call the server has another list of tools, and sends a notification.
CHANGING_SERVER = SERVER.replace("for line in sys.stdin:", """
calls, original = 0, pages[0]
for line in sys.stdin:
    calls += '"tools/call"' in line
    if '"tools/call"' in line and calls % 20 == 0:
        pages[0] = original.replace('"inputSchema"', '"description":"%d","inputSchema"' % calls, 1)
        print('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
""", 1)
# Bytes that no name shows: files of O_TMPFILE, where the jail has them, and unlinked files. They are written until the
# quota, the file system or the supervisor refuses.
HIDDEN = """
import os
files, result = [], []
for number in range(40):
    try:
        if number % 2:
            files.append(os.open(".", os.O_TMPFILE | os.O_RDWR))
        else:
            files.append(os.open(f"u{number}", os.O_CREAT | os.O_RDWR))
            os.unlink(f"u{number}")
        for _ in range(16): os.write(files[-1], b"x" * (1 << 20))
    except OSError as error:
        result.append(error.errno)
"""
QUOTA = {"workspace_bytes": 64 << 20, "workspace_files": 5000}


def call(name, arguments, **more):
    return "tools/call", {"name": "call_tool", "arguments": {"name": name, "arguments": arguments, **more}}


def tool(name, **arguments):
    return "tools/call", {"name": name, "arguments": arguments}


class Attack:
    """`request(number)` is one request: method and parameters. `open_at_once`: requests without an answer."""

    def __init__(self, request, open_at_once, pages=None, server=SERVER, items=10, catalog_tools=0, policy=None):
        self.request, self.open_at_once, self.pages, self.server = request, open_at_once, pages, server
        self.items, self.catalog_tools, self.policy = items, catalog_tools, policy or {}

    def configure(self, folder):
        """Writes the configuration of the daemon, and returns its path."""
        catalog = folder / "catalog"
        catalog.mkdir()
        (catalog / "large.json").write_text(json.dumps({"tools": [
            {"name": f"tool{number}", "description": " ".join(WORDS[(number + 7 * word) % 400] for word in range(30)),
             "inputSchema": {"type": "object"}} for number in range(self.catalog_tools)]}))
        (folder / "server.py").write_text(self.server)
        (folder / "pages").write_text("\n".join(self.pages() if self.pages else []))
        arguments = [str(folder / "server.py"), str(folder / "pages"), str(self.items)]
        server = {"command": "/usr/bin/python3", "args": arguments, "jail": "none"}
        config = folder / "config.json"
        config.write_text(json.dumps({"servers": {"hostile": server} if self.pages else {}, "catalog": str(catalog)}))
        return config

    def run(self, daemon, results, begun, enough):
        """The main function of the attacking process."""
        os.setsid()
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        ends = collections.Counter()
        with connect_as(daemon, ATTACKER) as client:
            client.socket.settimeout(PATIENCE)
            number = 0

            def send():
                nonlocal number
                method, params = self.request(number)
                client.send({"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": META}})
                number += 1

            client.request("server/discover")
            for _ in range(self.open_at_once):
                send()
            begun.set()
            while not enough.is_set():
                message = client.receive()
                if message is None:
                    ends["disconnected"] += 1
                    break
                if "method" not in message:
                    ends[end_of(message)] += 1
                    send()
        results.put(ends)


def end_of(message):
    """"served", "refused", or the outcome of an execution."""
    if "error" in message or message["result"].get("isError"):
        return "refused"
    text = message["result"]["content"][0].get("text", "") if message["result"].get("content") else ""
    outcome = re.search(r'"outcome":"(\w+)"', text[:5000])
    return outcome[1] if outcome else "served"


def page_of(*tools):
    return lambda: [json.dumps(tools)]


PATHS = [f"items.{name}" for name in ("a", *(f"absent{number}" for number in range(63)))]
ATTACKS = {
    "a server's 2,000 tools with 500 expressions each": Attack(
        lambda number: call(f"hostile__t{number % 2000}", {"p": 1}), 4, pages=many_expressions, server=CHANGING_SERVER),
    "select: 64 paths of 60,000 items": Attack(
        lambda number: call("hostile__free", {}, select=PATHS), 4, pages=page_of(FREE), items=60_000),
    "a schema of 3,000 alternatives in 3,000": Attack(
        lambda number: call("hostile__nested", {"value": [{"a": "x"}] * 5000}), 4, pages=page_of(alternatives(3000))),
    "searches of 160 words in 20,000 tools": Attack(
        lambda number: tool("search_tools", query=" ".join(WORDS[(number + word) % 400] for word in range(160))), 16,
        catalog_tools=20_000),
    "texts with 20,000 addresses to hide": Attack(
        lambda number: tool("sanitize_pii", text=" ".join(f"a{number}b{one}@mail.org" for one in range(20_000))), 4),
    "files without names, beyond the quota": Attack(
        lambda number: tool("execute_code", code=HIDDEN, timeout_seconds=30), 4, policy={"quota": QUOTA}),
}
SMOKE = {
    "select": Attack(lambda number: call("hostile__free", {}, select=PATHS), 2, pages=page_of(FREE), items=100),
    "searches": Attack(lambda number: tool("search_tools", query="word1"), 2, catalog_tools=10),
}


class Quiet:
    """The quiet tenant, with one connection for pings, which are of the older protocol, and one for writes.

    Times are milliseconds.
    """

    def __init__(self, pinging, writing):
        self.pinging, self.writing = pinging, writing
        for client in (pinging, writing):
            client.socket.settimeout(PATIENCE)
        pinging.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}})
        pinging.receive()

    def write(self):
        sent = time.perf_counter()
        answer = self.writing.call("write_workspace_file", {"filename": "file", "content": TEXT})
        took = 1000 * (time.perf_counter() - sent)
        assert not answer.get("isError"), answer
        return took

    def read_notifications(self, due):
        """Returns at the time `due`. The daemon tells of changed tools meanwhile."""
        while (wait := due - time.perf_counter()) > 0:
            if select.select([self.pinging.socket], [], [], wait)[0] and not self.pinging.lines.readline():
                raise RuntimeError("the daemon has ended")

    def measure(self, seconds):
        """Returns the times of pings and those of writes."""
        pings, writes, until = [], [], time.perf_counter() + seconds
        while time.perf_counter() < until or not writes:
            due = time.perf_counter()
            for _ in range(PINGS_PER_WRITE):
                due += PING_EVERY
                self.read_notifications(due)
                self.pinging.socket.sendall(PING)
                while b'"result"' not in (line := self.pinging.lines.readline()):
                    if not line:
                        raise RuntimeError("the daemon has ended")
                pings.append(1000 * (time.perf_counter() - due))
            writes.append(self.write())
        return pings, writes


@contextlib.contextmanager
def favoured():
    """While entered, this process gets a processor at once: its own waits are no part of the daemon's answer times."""
    def set_nice(value):
        with contextlib.suppress(OSError):  # a container; a kernel without autogroups
            os.setpriority(os.PRIO_PROCESS, 0, value)
            pathlib.Path("/proc/self/autogroup").write_text(str(value))
    set_nice(-10)
    try:
        yield
    finally:
        set_nice(0)


@contextlib.contextmanager
def attacking(attack, daemon, ends):
    """While entered, another process attacks the daemon. Afterwards `ends` has the number of answers of each kind."""
    results, begun, enough = multiprocessing.SimpleQueue(), multiprocessing.Event(), multiprocessing.Event()
    process = multiprocessing.Process(target=attack.run, args=(daemon, results, begun, enough))
    process.start()
    try:
        if not begun.wait(PATIENCE):
            raise RuntimeError("the attack did not begin")
        yield
        enough.set()
        process.join(PATIENCE)
        ends.update({} if process.is_alive() or results.empty() else results.get())
    finally:
        process.kill()
        process.join()


def measure(name, attack, options):
    with tempfile.TemporaryDirectory(prefix="warder-attack-") as path, Policies(**attack.policy) as policies:
        folder = pathlib.Path(path)
        config = attack.configure(folder)
        for entry in (folder, *folder.rglob("*")):
            entry.chmod(0o755 if entry.is_dir() else 0o644)
        with Daemon(options.warderd, policies=policies, arguments=["--config", config]) as daemon:
            with favoured(), connect_as(daemon, QUIET) as pinging, connect_as(daemon, QUIET) as writing:
                quiet, ends = Quiet(pinging, writing), collections.Counter()
                if attack.pages:  # until the tools of the server are known
                    writing.call("call_tool", {"name": "hostile__none", "arguments": {}})
                quiet.measure(options.seconds / 4)
                idle_pings, idle_writes = quiet.measure(options.seconds)
                with attacking(attack, daemon, ends):
                    pings, writes = quiet.measure(options.seconds)
    figures = [percentile(idle_pings, 0.99), percentile(pings, 0.99), max(pings)]
    for part in (0.5, 0.99):
        idle, beside = percentile(idle_writes, part), percentile(writes, part)
        figures += [idle, beside, beside / idle]
    print(f"{name:50}" + "".join(f"{figure:8.2f}" for figure in figures)
          + "   " + (", ".join(f"{count} {end}" for end, count in ends.most_common(4)) or "no answer"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warderd")
    parser.add_argument("--seconds", type=float, default=10, help="idle, and as many beside each attack")
    parser.add_argument("--only", default="", help="attacks with these words in their names")
    parser.add_argument("--smoke", action="store_true", help="two small attacks: that every figure is produced")
    options = parser.parse_args()
    if os.geteuid() != 0:
        return print("not measured, for only root can be two users")
    if options.smoke:
        options.seconds = 1
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; ms\n"
          f"{'':50}{'ping p99':>16}{'':8}{'write p50':>16}{'':8}{'write p99':>16}\n"
          f"{'':50}{'idle':>8}{'beside':>8}{'max':>8}" + 2 * f"{'idle':>8}{'beside':>8}{'ratio':>8}"
          + "   answers to the attack")
    for name, attack in (SMOKE if options.smoke else ATTACKS).items():
        if options.only in name:
            measure(name, attack, options)
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
