#!/usr/bin/env python3
"""What one tenant waits while another sends, or is sent, JSON that is made to be dear to read.

    python3 tests/bench/neighbour.py --warderd build/release/supervisor/warderd [--seconds 10] [--large] [--only WORDS] [--smoke]

For each case a daemon of its own: the neighbour asks `ping` at a fixed rate and runs `pass` in warm jails, first while
nobody else is there (idle), then while the case goes on. A ping counts from the moment it was due, so that one long silence
is not one slow answer. A ratio is (p99 or p50 in the case) / (the same of that daemon's idle time); memory is the daemon's
peak in the case over what it held when idle. Beside it what the daemon says of itself: warder_loop_busy_seconds_max, and the
work that took most of that. Prints figures and judges none. As root only: others cannot be two users. Unix sockets only.
Bounded by its arguments; Ctrl-C ends everything.
"""
import argparse
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import select
import shutil
import socket
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[1:1] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
from daemon import META, Daemon  # noqa: E402
from harness import Policies  # noqa: E402

from latency import request  # noqa: E402
from load import connect_as, percentile  # noqa: E402

NEIGHBOUR, COSTLY = 23000, 23001  # users; nobody's
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
PING_EVERY, RUN_EVERY = 0.005, 0.03  # seconds
POOL = {"min_idle": 4, "max_idle": 8, "zygotes": True}
SERVER = pathlib.Path(__file__).resolve().parent / "costly_server.py"
PATIENCE = 120

# Past its interpreter, to the daemon itself: the same message, as often as it is taken.
FLOOD = """
import socket, threading, time
channel = socket.socket(fileno=3)
def hear():
    while channel.recv(1 << 16): pass
threading.Thread(target=hear, daemon=True).start()
whole = (%s).encode()
parts = [whole[at:at + 65534] for at in range(0, len(whole), 65534)]
until = time.monotonic() + %f
while time.monotonic() < until:
    for part in parts[:-1]: channel.send(b"M" + part)
    channel.send(b"F" + parts[-1])
"""
PRINTS = """
import os, time
until = time.monotonic() + %f
for _ in range(3): os.fork()
while time.monotonic() < until: os.write(1, b"x" * 4000)
"""
CALL = """'{"type":"call","id":1,"name":"%s","arguments":%s}'"""
LISTS = CALL % ("nobody", """' + '{"a":[' + ','.join(['[]'] * %d) + ']}' + '""")
TEXT = CALL % ("nobody", """{"a":"' + %s * %d + '"}""")
FROM_CODE = """
import warder
try: result = len(warder.call_tool("costly__values", count=%d))
except warder.CallError as error: result = error.code
"""


def flood(message):
    return lambda client, seconds: client.execute(FLOOD % (message, seconds), timeout_seconds=60)["outcome"]


def flood_of_lines(line, connections):
    """An agent's, as often as its connections take it; the answers are read and thrown away."""
    def send(client, seconds):
        until = time.monotonic() + seconds
        with contextlib.ExitStack() as stack:
            many = [stack.enter_context(connect_as(client.daemon, COSTLY)) for _ in range(connections)]
            rest = {one.socket: b"" for one in many}
            for one in rest:
                one.setblocking(False)
            while time.monotonic() < until:
                readable, writable, _ = select.select(rest, rest, [], 0.1)
                for one in readable:
                    if not one.recv(1 << 20):
                        return "ended"
                for one in writable:
                    text = rest[one] or line
                    rest[one] = text[one.send(text):]
        return "ok"
    return send


def asked_by_agent(count):
    def ask(client, _):
        answer = client.call("call_tool", {"name": "costly__values", "arguments": {"count": count}})
        return json.loads(answer["content"][0]["text"]).get("code", "ok")
    return ask


def asked_by_code(count):
    def ask(client, _):
        body = client.execute(FROM_CODE % count)
        return str(body.get("result", body["outcome"]))[:20]
    return ask


# What the costly tenant does again and again: a function of its connection and of the seconds that are left to it; it
# answers how that ended.
CASES = {
    "calls from code, 8 MiB of lists": flood(LISTS % 2_700_000),
    "... 8 MiB of text": flood(TEXT % ("'x'", 8_000_000)),
    "... 1 MiB of lists": flood(LISTS % 340_000),
    "... 1 MiB of text": flood(TEXT % ("'x'", 1_000_000)),
    "... 1 MiB of lone surrogates": flood(TEXT % (r"'\\ud800'", 170_000)),
    "... 60 KB of lists": flood(LISTS % 20_000),
    "... small ones": flood(CALL % ("search_tools", '{"query":"send a mail"}')),
    "code prints without end": lambda client, seconds: client.execute(PRINTS % seconds, timeout_seconds=60)["outcome"],
    "an agent's lines, 60 KB of lists, 60 connections": flood_of_lines(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b",".join([b"[]"] * 20_000) + b"]}}\n", 60),
    "... pings, 60 connections": flood_of_lines(PING * 100, 60),
    "a server's answer to an agent, 15 MB of lists": asked_by_agent(5_000_000),
    "... 48 MB of lists": asked_by_agent(16_000_000),
    "... to code, 15 MB of lists": asked_by_code(5_000_000),
    "... 48 MB of lists, to code": asked_by_code(16_000_000),
}

def agents(tool, **arguments):
    """A call with the largest that it may have; its line is made once."""
    params = {"name": tool, "arguments": arguments, "_meta": META}
    line = functools.cache(
        lambda: json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n")

    def ask(client, _):
        client.socket.sendall(line())
        answer = client.lines.readline()
        return "ok" if b'\\"success\\":true' in answer or b'\\"result\\":' in answer else answer[:200].decode()
    return ask


def written(client, size):
    client.call("write_workspace_file", {"filename": "large.txt", "content": "x" * size})
    return agents("read_workspace_file", filename="large.txt", limit=size)(client, 0)


# The largest of what a tenant may send and have, each by a call of an agent's.
LARGE = {
    "call_tool, 500,000 lists": agents("call_tool", name="costly__values", arguments={"count": 1, "a": [[]] * 500_000}),
    "call_tool, 1,300,000 numbers": agents("call_tool", name="costly__values", arguments={"count": 1, "a": [7] * 1_300_000}),
    "call_tool, 15 MB of text": agents("call_tool", name="costly__values", arguments={"count": 1, "a": "x" * 15_000_000}),
    "context_vars, 500,000 lists": agents("execute_code", code="1", context_vars={"a": [[]] * 500_000}),
    "context_vars, 1,300,000 numbers": agents("execute_code", code="1", context_vars={"a": [7] * 1_300_000}),
    "context_vars, 15 MB of text": agents("execute_code", code="1", context_vars={"a": "x" * 15_000_000}),
    "code, 15 MB": agents("execute_code", code="'" + "x" * 15_000_000 + "'\nresult = 1"),
    "a result of 1 MB, text": agents("execute_code", code="'x' * 1_000_000"),
    "a result of 1 MB, lists": agents("execute_code", code="[[]] * 260_000"),
    "write_workspace_file, 15 MB": agents("write_workspace_file", filename="a", content="x" * 15_000_000),
    "read_workspace_file, 4 MB": lambda client, _: written(client, 4 << 20),
    "an answer to an agent, 60 MB of text": agents("call_tool", name="costly__text", arguments={"count": 60_000_000}),
    "an answer to an agent, 900,000 lists": agents("call_tool", name="costly__values", arguments={"count": 900_000}),
    "an answer to code, 60 MB of text": agents("execute_code", memory_mb=2000,
                                               code="import warder; len(warder.call_tool('costly__text', count=60_000_000))"),
    "an answer to code, 900,000 lists": asked_by_code(900_000),
}
SMOKE = {
    "calls from code": flood(LISTS % 30_000),
    "a server's answer": asked_by_agent(30_000),
}


class Neighbour:
    """Asks in threads of its own while it is entered; then `pings` and `runs` are what its answers took, in seconds."""

    def __init__(self, daemon):
        self.daemon, self.enough = daemon, threading.Event()
        self.pings, self.runs, self.starts = [], [], collections.Counter()

    def __enter__(self):
        self.clients = [connect_as(self.daemon, NEIGHBOUR) for _ in range(2)]
        for client in self.clients:
            client.socket.settimeout(PATIENCE)
        self.threads = [threading.Thread(target=self.ping), threading.Thread(target=self.run)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        for thread in self.threads:
            thread.join()
        for client in self.clients:
            client.close()

    def ping(self):
        client = self.clients[0]
        client.request("server/discover")
        client.socket.sendall(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
                              b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n')
        client.lines.readline()
        due = time.perf_counter()
        while not self.enough.is_set():
            due += PING_EVERY
            time.sleep(max(0, due - time.perf_counter()))
            client.socket.sendall(PING)
            client.lines.readline()
            self.pings.append(time.perf_counter() - due)

    def run(self):
        client = self.clients[1]
        while not self.enough.is_set():
            line, sent = request(1, "pass"), time.perf_counter()
            client.socket.sendall(line)
            answer = json.loads(client.lines.readline())
            self.runs.append(time.perf_counter() - sent)
            self.starts[answer["result"]["_meta"]["org.warder/receipt"]["start"]] += 1
            time.sleep(RUN_EVERY)


class Costly:
    """Does the same again and again while it is entered; `ends` counts how that ended."""

    def __init__(self, daemon, act, seconds):
        self.daemon, self.act, self.seconds, self.enough = daemon, act, seconds, threading.Event()
        self.ends, self.begun = collections.Counter(), threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.go)
        self.thread.start()
        self.begun.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self.enough.set()
        self.thread.join()

    def go(self):
        client = connect_as(self.daemon, COSTLY)
        client.socket.settimeout(PATIENCE)
        client.daemon = self.daemon
        with client:
            while not self.enough.is_set():
                self.begun.set()
                try:
                    self.ends[self.act(client, self.seconds)] += 1
                except (RuntimeError, OSError) as error:  # refused, while what it had before is still being closed
                    self.ends[str(error)[:40]] += 1


def memory(daemon, name):
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)[1]) / 1024


def longest_turn(path):
    """Milliseconds, and the work."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b""
        while piece := connection.recv(1 << 16):
            text += piece
    work, seconds = re.search(rb'^warder_loop_busy_seconds_max\{work="([a-z_]+)"\} ([0-9.]+)$', text, re.MULTILINE).groups()
    return 1000 * float(seconds), work.decode()


def watched(daemon, seconds):
    with Neighbour(daemon) as neighbour:
        time.sleep(seconds)
    return neighbour


def measure(name, case, options, folder):
    config = folder / "config.json"
    config.write_text(json.dumps({"servers": {"costly": {
        "command": "/usr/bin/python3", "args": [str(folder / SERVER.name)], "jail": "none"}}}))
    with Policies(pool=POOL, calls={"per_execution": 1000}) as policies:
        daemon = Daemon(program=options.warderd, policies=policies, arguments=["--config", config])
        daemon.arguments += ["--metrics", str(daemon.directory / "metrics.sock")]
        with daemon:
            watched(daemon, options.seconds / 4)  # the pool fills, and the first of everything is over
            idle = watched(daemon, options.seconds)
            held = memory(daemon, "VmRSS")
            pathlib.Path(f"/proc/{daemon.process.pid}/clear_refs").write_text("5")  # the peak is counted anew
            with Costly(daemon, case, options.seconds) as costly:
                busy = watched(daemon, options.seconds)
                peak = memory(daemon, "VmHWM") - held
            turn, work = longest_turn(daemon.directory / "metrics.sock")
    ping, idle_ping = (1000 * percentile(one.pings, 0.99) for one in (busy, idle))
    run, idle_run = (1000 * percentile(one.runs, 0.5) for one in (busy, idle))
    ends = ", ".join(f"{count} {end}" for end, count in costly.ends.most_common(3))
    print(f"{name:46} {idle_ping:7.2f} {ping:9.2f} {ping / idle_ping:7.1f} {1000 * max(busy.pings):9.1f} "
          f"{idle_run:7.2f} {run:8.2f} {run / idle_run:6.2f} {peak:8.0f}   {turn:.1f} ms {work} ({ends})", flush=True)
    if busy.starts["cold"] > len(busy.runs) / 2:
        print("! most of its jails were built when they were asked for: these are not warm executions")
    return ping / idle_ping, run / idle_run, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--seconds", type=float, default=10, help="idle, and as many in each case")
    parser.add_argument("--only", default="", help="cases with these words in their names")
    parser.add_argument("--large", action="store_true", help="the largest of what is permitted, in the place of attacks")
    parser.add_argument("--smoke", action="store_true", help="two small cases, a second each: that every figure is produced")
    options = parser.parse_args()
    if os.geteuid() != 0:
        return print("not measured, for only root can be two users")
    if options.smoke:
        options.seconds = 1
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; ms\n"
          f"{'':46} {'ping p99':>25} {'':9} {'execution p50':>23} {'peak':>8}   longest turn of the loop\n"
          f"{'':46} {'idle':>7} {'':>9} {'ratio':>7} {'max':>9} {'idle':>7} {'':>8} {'ratio':>6} {'+ MiB':>8}   (what came of it)")
    worst = []
    with tempfile.TemporaryDirectory(prefix="warder-neighbour-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        shutil.copy(SERVER, folder)
        for case, act in (SMOKE if options.smoke else LARGE if options.large else CASES).items():
            if options.only in case:
                worst.append(measure(case, act, options, folder))
    ping, run, peak = map(max, zip(*worst))
    print(f"worst: ping p99 {ping:.1f} times idle, execution p50 {run:.2f} times, peak {peak:.0f} MiB more")
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
