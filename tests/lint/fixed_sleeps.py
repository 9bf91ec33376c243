#!/usr/bin/env python3
"""Tests wait for events: no test sleeps for a fixed time of 0.2 s or more, and none for a time that is not written there.

A loop that looks again after a shorter time is no fixed sleep. Programs that tests send to a jail are texts here, and may
sleep. Benchmarks (tests/bench/) are free: time is what they measure.
"""
import ast
import re

import lint

LONGEST = 0.2  # seconds between two looks
# File: each sleep that may stand there, as it is written, and why no event can take its place.
LENGTH = "the length of a fault or a pause, which the test is about"
ABSENCE = "a proof of absence: something does not happen within this time"
ALLOWED = {
    "tests/supervisor/busy_loop_test.py": {"time.sleep(STOPPED)": LENGTH},
    "tests/supervisor/cluster_agents.py": {"time.sleep(0.5)": ABSENCE},
    "tests/supervisor/cluster_faults_test.py": {
        "time.sleep(seconds)": LENGTH,
        "time.sleep(max(0, begun + ENDED_S + 3 - boot_time()))": LENGTH,
        "time.sleep(FENCED_S + 1)": ABSENCE},
    "tests/supervisor/cluster_nodes_test.py": {"time.sleep(STOPPED_S)": LENGTH, "time.sleep(0.7)": LENGTH},
    "tests/supervisor/cluster_test.py": {"time.sleep(2.6)": LENGTH, "time.sleep(1.3)": LENGTH},
    "tests/supervisor/journal_test.py": {  # any moment for a kill, of at most 0.15 s
        "time.sleep(chance.uniform(0, 0.15))": LENGTH, "time.sleep(chance.uniform(0, 0.05))": LENGTH},
    "tests/supervisor/large_calls_test.py": {"time.sleep(pause)": LENGTH},
    "tests/supervisor/pool_test.py": {"time.sleep(0.2)": LENGTH},  # the pause between calls is their rate
    "tests/supervisor/resumed_workflows_test.py": {"time.sleep(chance.random() * 0.005)": LENGTH},
    "tests/supervisor/stopped_daemon_test.py": {"time.sleep(limit + 0.5)": LENGTH},
    # Doubles of servers: the time that an answer takes.
    "tests/supervisor/protocol/mcp/fixture_questions.cc": {
        "sleep_for(context.loop, std::chrono::milliseconds(300))": LENGTH},
    "tests/supervisor/protocol/mcp/fixture_tasks.cc": {"sleep_for(context.loop, 1s)": LENGTH},
    # Each of these waits is cancelled.
    "tests/jail/real_cancel_test.cc": {"sleep_for(loop, std::chrono::seconds(60))": LENGTH},
    "tests/jail/real_channel_test.cc": {"sleep_for(jails().loop(), std::chrono::seconds(60))": LENGTH},
    # The guest's shell goes from printf to read, and says so to no process outside.
    "tests/system/rig/engines.py": {"time.sleep(0.3)": LENGTH},
    # The pause between two looks in a guest with one slow processor.
    "tests/system/suite/pool.py": {"time.sleep(PAUSE)": LENGTH},
    "tests/system/suite/staging.py": {"time.sleep(PAUSE)": LENGTH},
}
CPP = re.compile(r"\b(?:sleep_for|usleep|sleep)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
DURATION = re.compile(r"\b(\d+)(ms|s)\b|\b(milliseconds|seconds)\((\d+)\)|\busleep\((\d+)\)|(?<![\w.])sleep\((\d+)\)")


def python_sleeps(text):
    """(line, call) of each call of sleep that is no short constant."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "sleep" and node.args:
            [length] = node.args
            branches = [length.body, length.orelse] if isinstance(length, ast.IfExp) else [length]
            if not all(isinstance(one, ast.Constant) and one.value < LONGEST for one in branches):
                yield node.lineno, ast.get_source_segment(text, node)


def seconds_of(call):
    found = DURATION.search(call)
    if not found:
        return 0  # a variable: the time is a parameter of the double or of the test's table
    number, unit, name, amount, micro, whole = found.groups()
    if micro:
        return int(micro) / 1e6
    return int(number or amount or whole) / (1000 if unit == "ms" or name == "milliseconds" else 1)


def cpp_sleeps(text):
    for number, line in lint.code_lines(text):
        for call in CPP.findall(line):
            if seconds_of(call) >= LONGEST:
                yield number, call


def check(root):
    findings = []
    for path in lint.files(root, ".py", ".cc", ".h", below=("tests",)):
        name = path.relative_to(root).as_posix()
        if name.startswith("tests/bench/"):
            continue
        for number, call in sorted((python_sleeps if path.suffix == ".py" else cpp_sleeps)(path.read_text())):
            if call not in ALLOWED.get(name, ()):
                findings.append(f"{name}:{number}: {call}: a fixed time; wait for the event (`eventually`, `await_still`)")
    return findings


PLANTS = [
    lint.Plant("a fixed time", {
        "tests/supervisor/a_test.py": "import time\nfrom time import sleep\ntime.sleep(1)\nsleep(0.2)\ntime.sleep(0.19)\n"},
               ["tests/supervisor/a_test.py:3: time.sleep(1)", "tests/supervisor/a_test.py:4: sleep(0.2)"]),
    lint.Plant("a time that another line gives", {"tests/a.py": "import time\ntime.sleep(pause)\ntime.sleep(2 * 0.1)\n"},
               ["tests/a.py:2: time.sleep(pause)", "tests/a.py:3: time.sleep(2 * 0.1)"]),
    lint.Plant("a wait inside of an expression", {"tests/a.py": "import time\nwait(lambda: (time.sleep(0.3), look())[1])\n"},
               ["tests/a.py:2: time.sleep(0.3)"]),
    lint.Plant("in C++", {
        "tests/jail/a_test.cc": "std::this_thread::sleep_for(250ms);\nco_await sleep_for(loop, std::chrono::seconds(2));\n"
                                "::usleep(300000);\n::sleep(1);\nstd::this_thread::sleep_for(5ms);\n"},
               ["a_test.cc:1: sleep_for(250ms)", "a_test.cc:2: sleep_for(loop, std::chrono::seconds(2))",
                "a_test.cc:3: usleep(300000)", "a_test.cc:4: sleep(1)"]),
    lint.Plant("an allowed sleep, in another file and of another length", {
        "tests/supervisor/pool_test.py": "import time\ntime.sleep(0.2)\ntime.sleep(0.3)\n",
        "tests/supervisor/queue_test.py": "import time\ntime.sleep(0.2)\n"},
               ["pool_test.py:3: time.sleep(0.3)", "queue_test.py:2: time.sleep(0.2)"]),
    lint.Plant("looks again and again, programs of jails, benchmarks, comments", {
        "tests/supervisor/a_test.py": "import time\nwhile not seen(): time.sleep(0.05)\nrun('import time; time.sleep(60)')\n"
                                      "time.sleep(0.005 if busy else 0.02)\n",
        "tests/bench/a.py": "import time\ntime.sleep(10)\n",
        "tests/jail/a_test.cc": "// sleep_for(10s) is what we avoid\nrun(\"sleep(5)\");\nco_await sleep_for(loop, limit);\n"}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
