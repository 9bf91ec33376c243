#!/usr/bin/env python3
"""What a staged execution costs beside a direct one, and what a commit costs beside `cp -a` of the same files.

    python3 tests/bench/staged.py --warderd build/release/supervisor/warderd [--rounds 300] [--files 1000]

One daemon of its own. Every round asks each case once, in an order shuffled anew; discarding and committing is not part of
an execution's time. Prints figures and judges none. Unix sockets only. Bounded by its arguments.
"""
import argparse
import collections
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Daemon  # noqa: E402
from workspace_size import policies_for_files  # noqa: E402

PROGRAMS = {"pass": "pass", "one file": "open('/workspace/file', 'w').write('x')"}
FILL = "for number in range({files} // 2):\n    open(f'/workspace/f{{number}}', 'w').write('old' * 1000)"
CHANGE = ("for number in range({files} // 2):\n    open(f'/workspace/f{{number}}', 'w').write('new' * 1000)\n"
          "    open(f'/workspace/g{{number}}', 'w').write('new' * 1000)")


class Bench:
    def __init__(self, daemon):
        self.client = daemon.connect()
        self.proposals = []

    def tool(self, name, **arguments):
        began = time.perf_counter()
        result = self.client.request("tools/call", name=name, arguments=arguments)
        took = time.perf_counter() - began
        body = json.loads(result["content"][0]["text"])
        assert body["success"], body
        return took, body, result.get("_meta", {}).get("org.warder/receipt", {})

    def execute(self, code, access):
        took, body, receipt = self.tool("execute_code", code=code, workspace=access)
        if "proposal" in body:
            self.proposals.append(body["proposal"]["id"])
        return took, receipt

    def discard_all(self):
        while self.proposals:
            self.tool("commit_workspace", proposal=self.proposals.pop(), action="discard")


def executions(bench, rounds):
    cases = [(name, access) for name in PROGRAMS for access in ("direct", "staged")]
    took, starts = collections.defaultdict(list), collections.Counter()
    for case in cases * 30:  # the pool learns what is asked
        bench.execute(PROGRAMS[case[0]], case[1])
        bench.discard_all()
        time.sleep(0.01)
    for _ in range(rounds):
        for case in random.sample(cases, len(cases)):
            seconds, receipt = bench.execute(PROGRAMS[case[0]], case[1])
            took[case].append(seconds)
            starts[case[1], receipt["start"]] += 1
            bench.discard_all()
            time.sleep(0.02)  # an agent that thinks: the next jail is built meanwhile
    print(f"starts: {dict(starts)}\n{'program':>10} {'direct p50':>11} {'staged p50':>11} {'staged p99':>11}   ratio")
    for name in PROGRAMS:
        direct, staged = took[name, "direct"], sorted(took[name, "staged"])
        ratio = statistics.median(staged) / statistics.median(direct)
        print(f"{name:>10} {1000 * statistics.median(direct):8.2f} ms {1000 * statistics.median(staged):8.2f} ms "
              f"{1000 * staged[int(len(staged) * 0.99)]:8.2f} ms {ratio:7.2f}")


def commits(bench, folder, files, rounds=5):
    """Half of the files are changed, half are new."""
    bench.tool("execute_code", code=FILL.format(files=files))
    took = collections.defaultdict(list)
    for number in range(rounds):
        source, target = folder / f"source-{number}", folder / f"target-{number}"
        source.mkdir()
        for file in range(files):
            (source / f"f{file}").write_text("new" * 1000)
        began = time.perf_counter()
        subprocess.run(["cp", "-a", source, target], check=True)
        subprocess.run(["sync", "-f", target], check=True)  # a commit is on the disk when it is answered
        took["cp -a and sync -f"].append(time.perf_counter() - began)
        bench.execute(CHANGE.format(files=files), "staged")
        proposal = bench.proposals.pop()
        took["commit"].append(bench.tool("commit_workspace", proposal=proposal)[0])
        took["undo"].append(bench.tool("commit_workspace", proposal=proposal, action="undo")[0])
    copied = statistics.median(took["cp -a and sync -f"])
    for name, values in took.items():
        print(f"{name:>18} of {files} files: {1000 * statistics.median(values):8.1f} ms, "
              f"{statistics.median(values) / copied:.2f} of cp -a")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--warderd", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--files", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warder-bench-", dir="/var/tmp") as name:
        folder = pathlib.Path(name)
        with Daemon(program=options.warderd, policies=policies_for_files(folder), patience=60) as daemon:
            bench = Bench(daemon)
            executions(bench, options.rounds)
            commits(bench, folder, options.files)


if __name__ == "__main__":
    main()
