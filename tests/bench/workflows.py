#!/usr/bin/env python3
"""What the steps of a workflow cost, and what a later run of them costs.

    python3 tests/bench/workflows.py --warderd build/release/supervisor/warderd [--rounds 20] [--kills 1000]

One daemon of its own. In the same run: 100 steps whose work takes 10 ms each, the same program again with all of them
recorded; the time of one step without work beside one call of the daemon from a session (checkpoint), ten of each in turn.
10,000 steps: the first ones, the last ones, and a later run of all.
--kills: so many kill -9 of the daemon at random moments of a workflow; then which steps ran how often. A step whose value
the program had got and that ran again, or a value that was lost, ends the benchmark with an error.
Prints figures and judges no time. Bounded by its arguments.
"""
import argparse
import json
import pathlib
import random
import statistics
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import META, Daemon, DaemonFailed  # noqa: E402

from bench_policies import policies_in  # noqa: E402

RUN = """
import time, warder
wf = warder.workflow("hundred")
began = time.perf_counter()
for i in range(100): wf.step("work", lambda: time.sleep(0.01))
result = time.perf_counter() - began
"""
STEPS = """
import time, warder
wf = warder.workflow("cost")
def us(work):
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e6
result = [[], []]
for _ in range(20):
    result[0] += [us(lambda: wf.step("nothing", lambda: None)) for _ in range(10)]
    result[1] += [us(lambda: warder.checkpoint(1)) for _ in range(10)]
"""
MANY = """
import time, warder
wf = warder.workflow("many")
took = []
began = time.perf_counter()
for i in range(10_000):
    wf.step("s", lambda: i)
    if i + 1 in (1_000, 9_000, 10_000): took.append(time.perf_counter() - began)
result = took
"""
SURVIVING = """
import os, time, warder
wf = warder.workflow("kills-%(number)d")
log = os.open("/workspace/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for i in range(%(steps)d):
    ran = []
    def work():
        ran.append(os.write(log, b"ran %%d\\n" %% i))
        time.sleep(0.001)
        return i * i
    value = wf.step("work", work)
    if value != i * i: raise SystemExit(f"step {i} returned {value}")
    if ran: os.write(log, b"got %%d\\n" %% i)
result = "done"
"""


def executed(client, code, **more):
    answer = json.loads(client.call("execute_code", {"code": code, "timeout_seconds": 300, **more})["content"][0]["text"])
    if not answer["success"]:
        sys.exit(f"a program failed: {answer}")
    return answer["result"]


def quantile(values, part):
    return sorted(values)[int(part * (len(values) - 1))]


def measure(daemon, rounds):
    first, later = [], []
    with daemon.connect() as client:
        for _ in range(rounds):
            client.call("delete_workspace_file", {"filename": "workflow:///hundred"})
            first.append(executed(client, RUN))
            later.append(executed(client, RUN))
        print(f"100 steps of 10 ms: first run {statistics.median(first) * 1e3:.0f} ms, later run "
              f"{statistics.median(later) * 1e3:.1f} ms, 1/{statistics.median(first) / statistics.median(later):.0f}")
        step, checkpoint = [], []
        for _ in range(rounds):
            client.call("delete_workspace_file", {"filename": "workflow:///cost"})
            steps, checkpoints = executed(client, STEPS, session="bench")
            step += steps
            checkpoint += checkpoints
        for part in (0.5, 0.99):
            one, two = quantile(step, part), quantile(checkpoint, part)
            print(f"p{part * 100:.0f}: a step {one:.0f} us, a checkpoint {two:.0f} us, ratio {one / two:.2f}")
        for what in ("first", "later"):
            to_1000, to_9000, to_all = executed(client, MANY)
            print(f"10,000 steps, {what} run: {to_all:.2f} s; the first 1,000 {to_1000:.3f} s, the last 1,000 {to_all - to_9000:.3f} s")


def log_of(daemon):
    return next((daemon.state / "tenants").glob("*/workspace/log"), None)


def size_of(daemon):
    file = log_of(daemon)
    return file.stat().st_size if file else 0


def judge(lines, steps):
    """How many runs the steps had. A step may have run without a line "got": the kill came between. That no value is lost
    the last program has checked."""
    finished, ran, runs = set(), set(), 0
    for line in lines:
        what, number = line.split()
        if what == "got":
            finished.add(number)
            continue
        runs += 1
        ran.add(number)
        if number in finished:
            sys.exit(f"step {number} was finished, and ran again")
    if len(ran) != steps:
        sys.exit(f"{steps - len(ran)} steps never ran")
    return runs


def kill_often(daemon, kills):
    """A workflow for each hundred kills: a life skips the steps of the former ones, and then runs some dozens."""
    chance, steps, runs = random.Random(kills), 0, 0
    for number in range((kills + 99) // 100):
        some = min(100, kills - number * 100)
        program = SURVIVING % {"number": number, "steps": some * 40}
        if log_of(daemon):
            log_of(daemon).unlink()
        for _ in range(some):
            client = daemon.connect()
            client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "execute_code", "arguments": {"code": program, "timeout_seconds": 300}, "_meta": META}})
            seen, until = size_of(daemon), time.monotonic() + 60
            while size_of(daemon) <= seen and time.monotonic() < until:  # until a step of this life runs
                time.sleep(0.001)
            time.sleep(chance.random() * 0.03)
            daemon.kill()
            client.close()
            daemon.start()
        with daemon.connect() as client:
            executed(client, program)
        steps += some * 40
        runs += judge(log_of(daemon).read_text().splitlines(), some * 40)
        print(f"{number * 100 + some} kill -9: {steps} steps, {runs} runs of them; no finished step ran again, none is lost", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warderd", default=TOP / "build/release/supervisor/warderd")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kills", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        policies = policies_in(folder, workflows={"bytes": 1 << 30}, limits={"maximum": {"wall_ms": 600_000}})
        with Daemon(program=given.warderd, policies=policies) as daemon:
            if given.kills:
                kill_often(daemon, given.kills)
            else:
                measure(daemon, given.rounds)


try:
    main()
except DaemonFailed as e:
    sys.exit(str(e))
