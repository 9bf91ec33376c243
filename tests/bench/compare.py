#!/usr/bin/env python3
"""Two builds of warderd side by side: the time of each kind of request with the one over the time with the other.

    python3 tests/bench/compare.py OLD_WARDERD NEW_WARDERD [--rounds 60] [--tools 10000] [--only TEXT]
                                     [--smoke]

Both daemons serve at once, each with its own state. Every round runs every case on both, in an order shuffled anew; a
ratio is the median over the rounds of (median of the new / median of the old in that round): below 1 the new one is
sooner. CPU is what the daemon's process used in the case, all rounds together. Prints figures and judges none.
"""
import argparse
import json
import os
import pathlib
import random
import selectors
import shutil
import statistics
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Daemon  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
PII = " ".join(f"Write to person{n}@example.org or call +49 30 {n:07} about invoice {n}." for n in range(400))


def catalogue(folder, tools):
    """A folder of so many tool definitions, of a few hundred tools each."""
    verbs = ["send", "list", "search", "create", "delete", "update", "export", "convert", "schedule", "approve"]
    nouns = ["invoice", "message", "calendar", "ticket", "report", "customer", "image", "order", "contract", "account"]
    folder.mkdir()
    for begin in range(0, tools, 500):
        entries = [{"name": f"{verbs[n % 10]}_{nouns[n // 10 % 10]}_{n}", "server": f"server{n % 50}",
                    "description": f"{verbs[n % 10].title()} the {nouns[n // 10 % 10]} number {n} of department {n % 97}",
                    "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}}
                   for n in range(begin, min(begin + 500, tools))]
        (folder / f"tools{begin}.json").write_text(json.dumps({"tools": entries}))
    return folder


def line(method, **params):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}).encode() + b"\n"


def tool(name, **arguments):
    return line("tools/call", name=name, arguments=arguments)


# Name: (the request, how many of them in a round, seconds before each: what a waiting jail needs to be there again).
CASES = {
    "server/discover": (line("server/discover"), 50, 0),
    "tools/list": (line("tools/list"), 50, 0),
    "list_workspace_files": (tool("list_workspace_files"), 50, 0),
    "search_tools": (tool("search_tools", query="send an invoice to a customer"), 20, 0),
    "sanitize_pii, 30 kB": (tool("sanitize_pii", text=PII), 10, 0),
    "write_workspace_file, 1 MB": (tool("write_workspace_file", filename="large", content="x" * 1_000_000), 3, 0),
    "read_workspace_file, 1 MB": (tool("read_workspace_file", filename="large", limit=1_000_000), 3, 0),
    "execute_code `pass`, waiting jail": (tool("execute_code", code="pass"), 4, 0.05),
    "execute_code `pass`, one after the other": (tool("execute_code", code="pass"), 10, 0),
    "execute_code, 1 MB of output": (tool("execute_code", code="print('y' * 1_000_000)"), 2, 0.05),
    "execute_code, JavaScript": (tool("execute_code", code="0", language="javascript"), 3, 0.05),
    "execute_code `pass`, a loop of 4": (tool("execute_code", code="pass"), 1, 0.5),  # until both pools are full
}
LOOP = "execute_code `pass`, a loop of 4"  # so many at once, each client's next one when its last is answered
CLIENTS = 4
LOOP_CALLS = 300
UNCOUNTED_SECONDS = 13  # of rounds before the first one: a daemon loads its thesaurus ten seconds after its start


def started(program, tools):
    """A daemon with the policies of its own source tree: an older build does not know each key of today's."""
    own = [folder / "policies" for folder in pathlib.Path(program).resolve().parents if (folder / "policies/default.json").exists()]
    return Daemon(program, policies=own[0] if own else None, arguments=["--catalog", tools])


def check(answer):
    if b'"isError":true' in answer or b'"error":{' in answer[:200]:
        raise RuntimeError(answer[:500])


class Side:
    """One daemon, its connection, and what was measured with it."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.client = daemon.connect()
        self.loop = [daemon.connect() for _ in range(CLIENTS)]
        self.rounds = {name: [] for name in CASES}
        self.cpu = dict.fromkeys(CASES, 0.0)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def exchange(self, request):
        self.client.socket.sendall(request)
        check(self.client.lines.readline())

    def closed_loop(self, request, count):
        """So many executions in a loop."""
        begun, ended = 0, 0
        with selectors.DefaultSelector() as ready:
            for client in self.loop[:count]:
                ready.register(client.socket, selectors.EVENT_READ, client)
                client.socket.sendall(request)
                begun += 1
            while ended < count:
                for key, _ in ready.select():
                    check(key.data.lines.readline())
                    ended += 1
                    if begun < count:
                        key.fileobj.sendall(request)
                        begun += 1

    def measure(self, name, count, smoke=False):
        request, _, pause = CASES[name]
        calls = 1 if name != LOOP else CLIENTS if smoke else LOOP_CALLS
        took, before = [], self.cpu_seconds()
        for _ in range(count):
            time.sleep(pause)
            began = time.perf_counter()
            if name == LOOP:
                self.closed_loop(request, calls)
            else:
                self.exchange(request)
            took.append((time.perf_counter() - began) / calls)
        self.rounds[name].append(statistics.median(took))
        self.cpu[name] += self.cpu_seconds() - before


def compare(old, new, rounds, smoke, wanted):
    for name in [name for name in CASES if wanted not in name]:
        del CASES[name]
    counts_from = time.monotonic() + (0 if smoke else UNCOUNTED_SECONDS)
    is_first = True
    while is_first or time.monotonic() < counts_from:  # the interpreters' files are read, the pools follow the demand
        for side in (old, new):
            for name in CASES:
                side.measure(name, 1, smoke)
        is_first = False
    for side in (old, new):
        side.rounds = {name: [] for name in CASES}
        side.cpu = dict.fromkeys(CASES, 0.0)
    for _ in range(rounds):
        order = [(name, side) for name in CASES for side in (old, new)]
        random.shuffle(order)
        for name, side in order:
            side.measure(name, 1 if smoke else CASES[name][1], smoke)


def table(old, new):
    print("| case | old p50 | new p50 | ratio | ratio's quartiles | CPU of the daemon, new / old |\n|---|---|---|---|---|---|")
    for name in CASES:
        ratios = sorted(n / o for o, n in zip(old.rounds[name], new.rounds[name]))
        cpu = f"{new.cpu[name] / old.cpu[name]:.2f}" if old.cpu[name] else "-"
        print(f"| {name} | {statistics.median(old.rounds[name]) * 1e3:.3f} ms | "
              f"{statistics.median(new.rounds[name]) * 1e3:.3f} ms | {statistics.median(ratios):.2f} | "
              f"{ratios[len(ratios) // 4]:.2f} to {ratios[len(ratios) * 3 // 4]:.2f} | {cpu} |")


def main():
    parser = argparse.ArgumentParser(prog="compare")
    parser.add_argument("old"), parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--tools", type=int, default=10_000, help="tools of the catalogue (10,000)")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--smoke", action="store_true", help="one request of each kind: every figure is there")
    options = parser.parse_args()
    if options.smoke:
        options.rounds, options.tools = 1, 10
    folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-compare-"))
    try:
        folder.chmod(0o755)
        tools = catalogue(folder / "catalogue", options.tools)
        with started(options.old, tools) as old, started(options.new, tools) as new:
            sides = Side(old), Side(new)
            compare(*sides, options.rounds, options.smoke, options.only)
            table(*sides)
            print(f"\nload {os.getloadavg()[0]:.1f}, {options.rounds} rounds, {options.tools} tools, "
                  f"sizes {os.path.getsize(options.old)} and {os.path.getsize(options.new)} bytes")
    finally:
        shutil.rmtree(folder)


main()
