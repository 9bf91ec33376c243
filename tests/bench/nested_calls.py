#!/usr/bin/env python3
"""What a tool call from jailed code costs, over the direct call of the same server in the same run.

    python3 tests/bench/nested_calls.py --warderd build/release/supervisor/warderd [--rounds 40] [--smoke]

The server is tests/supervisor/upstream_server.py, once started by us and asked over its pipes, once by the daemon (outside of
jails: the same program under the same conditions). Every round runs every case in an order shuffled anew; a ratio is the
median over the rounds of (case / its baseline in that round). Prints figures and judges none. Bounded by its arguments.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Daemon  # noqa: E402

from bench_policies import policies_in  # noqa: E402
from load import percentile  # noqa: E402

PYTHON = "/usr/bin/python3"
SERVER = TOP / "tests/supervisor/upstream_server.py"
CALLS = 40  # one after the other, in a round
SIDE_BY_SIDE = 8
CODE = """
import time, warder
from concurrent.futures import ThreadPoolExecutor
def took(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
def echo(_=None): return warder.call_tool("near__echo", text="x" * 32)
echo()
"""
ONE_BY_ONE = CODE + f"result = [took(echo) for _ in range({CALLS})]"
PARALLEL = CODE + f"""
with ThreadPoolExecutor({SIDE_BY_SIDE}) as pool:
    list(pool.map(echo, range({SIDE_BY_SIDE})))  # its threads are there
    result = [took(lambda: list(pool.map(echo, range({SIDE_BY_SIDE})))) for _ in range(5)]
"""
LARGE = CODE + """
result = [took(lambda: len(warder.call_tool("near__rows", count=1, width=%d)))]
"""


class Direct:
    """The server as a client of ours asks it: a line there, a line back."""

    def __init__(self):
        self.process = subprocess.Popen([PYTHON, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "b", "version": "1"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)

    def send(self, method, **params):
        self.last += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")

    def receive(self):
        return json.loads(self.process.stdout.readline())["result"]

    def request(self, method, **params):
        self.send(method, **params)
        self.process.stdin.flush()
        return self.receive()

    def echoes(self, count):
        """Seconds until as many calls, asked at once, are answered."""
        began = time.perf_counter()
        for _ in range(count):
            self.send("tools/call", name="echo", arguments={"text": "x" * 32})
        self.process.stdin.flush()
        for _ in range(count):
            self.receive()
        return time.perf_counter() - began

    def large(self, width):
        began = time.perf_counter()
        rows = json.loads(self.request("tools/call", name="rows", arguments={"count": 1, "width": width})["content"][0]["text"])
        assert len(rows[0]["row"]) == width
        return time.perf_counter() - began


def executed(client, code):
    """The seconds that the code measured; its refusal where it was refused."""
    body = client.execute(code)
    if not body["success"]:
        raise RuntimeError(body["error"])
    return body["result"]


def agents_call(client):
    began = time.perf_counter()
    client.call("call_tool", {"name": "near__echo", "arguments": {"text": "x" * 32}})
    return time.perf_counter() - began


def calls(direct, client):
    """Name: (what gives seconds, its baseline's name)."""
    side_by_side = f"{SIDE_BY_SIDE} direct calls at once"
    return {
        "direct call": (lambda: [direct.echoes(1) for _ in range(CALLS)], None),
        "call from code": (lambda: executed(client, ONE_BY_ONE), "direct call"),
        "call_tool of an agent": (lambda: [agents_call(client) for _ in range(CALLS)], "direct call"),
        side_by_side: (lambda: [direct.echoes(SIDE_BY_SIDE) for _ in range(5)], None),
        f"{SIDE_BY_SIDE} calls from code at once": (lambda: executed(client, PARALLEL), side_by_side),
    }


def results(direct, client, megabytes):
    """The same for a result of this size, which code looks at and does not answer."""
    width = megabytes * 1_000_000
    return {
        f"{megabytes} MB, direct": (lambda: [direct.large(width)], None),
        f"{megabytes} MB, stays in the jail": (lambda: executed(client, LARGE % width), f"{megabytes} MB, direct"),
    }


def measure(cases, rounds):
    times = {name: [] for name in cases}
    refused = {}
    for _ in range(rounds):
        order = [name for name in cases if name not in refused]
        random.shuffle(order)
        for name in order:
            try:
                times[name].append(cases[name][0]())
            except RuntimeError as error:
                refused[name] = error
    print(f"{'ms':34} {'p10':>9} {'p50':>9} {'p99':>9} {'ratio':>7} {'n':>6}")
    for name, (_, baseline) in cases.items():
        if name in refused:
            print(f"{name:34} refused: {refused[name]}")
            continue
        values = [1000 * seconds for part in times[name] for seconds in part]
        ratio = ""
        if baseline:
            ratio = f"{statistics.median(statistics.median(a) / statistics.median(b) for a, b in zip(times[name], times[baseline])):.1f}"
        print(f"{name:34} {' '.join(f'{percentile(values, part):9.3f}' for part in (0.1, 0.5, 0.99))} {ratio:>7} {len(values):6}")
    return refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--smoke", action="store_true", help="one round, without the largest: that every figure is produced")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory(prefix="warder-nested-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        shutil.copy(SERVER, folder)
        config = folder / "config.json"
        config.write_text(json.dumps({"servers": {"near": {
            "command": PYTHON, "args": [str(folder / SERVER.name)], "jail": "none"}}}))
        # room for the largest of these calls
        policies = policies_in(folder, calls={"per_execution": 1000, "bytes": 1 << 30},
                               limits={"standard": {"memory_bytes": 2 << 30}})
        daemon = Daemon(program=options.warderd, policies=policies, arguments=["--config", config])
        with Direct() as direct, daemon, daemon.connect() as client:
            executed(client, CODE + "result = []")  # the server runs
            refused = measure({**calls(direct, client), **results(direct, client, 1)}, 1 if options.smoke else options.rounds)
            if not options.smoke:
                measure({**results(direct, client, 25), **results(direct, client, 50)}, max(1, options.rounds // 10))
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
