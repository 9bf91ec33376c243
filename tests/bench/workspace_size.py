#!/usr/bin/env python3
"""What an execution costs in a workspace of many files, beside one in an empty workspace in the same run.

    python3 tests/bench/workspace_size.py --warderd build/release/supervisor/warderd [--files 0,1000,20000,200000]
                                          [--rounds 200]

One daemon of its own; each number of files has a named workspace, filled by jailed code. Every round asks each workspace
once, in an order shuffled anew. Also: whether 10 changes in each are all told, and the daemon's memory for each file.
Prints figures and judges none. Unix sockets only. Bounded by its arguments.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Daemon  # noqa: E402

from bench_policies import policies_in  # noqa: E402

AT_ONCE = 20_000  # files that one execution makes: it has 30 s
FILL = """
import os
for number in range({first}, {end}):
    if number % 200 == 0:
        os.makedirs(f"/workspace/tree/{{number // 20000}}/{{number // 200}}", exist_ok=True)
    with open(f"/workspace/tree/{{number // 20000}}/{{number // 200}}/{{number}}.txt", "w") as file:
        file.write("x")
"""
CHANGE = """
import os
for number in range(4):
    open(f"/workspace/new-{number}", "w").close()
for number in range(3):
    open(f"/workspace/tree/0/{number}/{number * 200}.txt", "w").write("changed")
for number in range(3):
    os.remove(f"/workspace/tree/0/{number}/{number * 200 + 1}.txt")
"""


def policies_for_files(folder):
    return policies_in(folder, pool={"min_idle": 4, "max_idle": 8, "zygotes": True}, workspaces=["*"],
                       quota={"workspace_files": 1_000_000, "workspace_bytes": 4 << 30})


def memory_of(pid):
    """Private memory of a process, in bytes."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kib) * 1024 for kib in re.findall(r"^Private_\w+:\s+(\d+) kB", text, re.M))


class Bench:
    def __init__(self, daemon, files):
        self.daemon = daemon
        self.names = {count: f"files-{count}" for count in files}
        self.connect()

    def connect(self):
        self.client = self.daemon.connect()

    def execute(self, count, code, **more):
        """Seconds from the request to its answer, the answer, and the receipt."""
        began = time.perf_counter()
        result = self.client.request("tools/call", name="execute_code", arguments={"code": code, **more},
                                     _meta={"org.warder/workspace": self.names[count]})
        took = time.perf_counter() - began
        body = json.loads(result["content"][0]["text"])
        assert body["success"], body
        return took, body, result["_meta"]["org.warder/receipt"]

    def fill(self):
        for count in self.names:
            for first in range(0, count, AT_ONCE):
                self.execute(count, FILL.format(first=first, end=min(count, first + AT_ONCE)))

    def index_again(self):
        """A new daemon indexes each workspace at the first request; smaller ones first."""
        self.client.close()
        self.daemon.stop()
        self.daemon.start()
        self.connect()
        for count in sorted(self.names):
            before = memory_of(self.daemon.process.pid)
            took, _, _ = self.execute(count, "pass")
            each = (memory_of(self.daemon.process.pid) - before) / max(count, 1)
            print(f"{count:8} files: first answer {1000 * took:7.1f} ms; {each:6.0f} bytes of the daemon's memory for each file")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--warderd", type=pathlib.Path, required=True)
    parser.add_argument("--files", type=lambda text: [int(one) for one in text.split(",")], default=[0, 1000, 20_000, 200_000])
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warder-bench-") as folder, \
            Daemon(program=options.warderd, policies=policies_for_files(pathlib.Path(folder)), patience=60) as daemon:
        bench = Bench(daemon, options.files)
        bench.fill()
        bench.index_again()
        took, starts = collections.defaultdict(list), collections.Counter()
        for _ in range(options.rounds):
            for count in random.sample(options.files, len(options.files)):
                seconds, _, receipt = bench.execute(count, "pass")
                starts[receipt["start"]] += 1
                took[count].append(seconds)
                time.sleep(0.01)  # an agent that thinks: the next jail is built meanwhile
        print(f"starts: {dict(starts)}\n{'files':>8} {'p50 ms':>9} {'p99 ms':>9}   ratio to {options.files[0]} files")
        for count, values in took.items():
            values = sorted(values)
            ratio = statistics.median(one / other for one, other in zip(took[count], took[options.files[0]]))
            print(f"{count:8} {1000 * statistics.median(values):9.2f} {1000 * values[int(len(values) * 0.99)]:9.2f} {ratio:9.2f}")
        for count in options.files:
            if count >= 1000:
                _, body, _ = bench.execute(count, CHANGE)
                print(f"{count:8} files, 10 changes: {sum(len(paths) for paths in body['files'].values())} told")


if __name__ == "__main__":
    main()
