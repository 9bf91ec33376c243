#!/usr/bin/env python3
"""What a neighbour's start takes beside the busy processes of another tenant.

    python3 tests/bench/busy_processes.py WARDERD [WARDERD ...] [--seconds 10] [--rounds 1] [--sessions] [--smoke]

Each build of warderd has a daemon of its own. The neighbour runs `pass` again and again, first alone, then while eight
programs of the other tenant hold 60 processes each that compute without end. With --sessions, each of these processes
calls setsid(2) first, which gives it a scheduling group of its own where the kernel makes autogroups (sched(7)). The
builds are measured in turn, in every round, so that other work on the machine meets all of them. Prints figures and
judges them by no limit. As root only: others cannot be two users. Unix sockets only; Ctrl-C ends everything.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[1:1] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
from daemon import META, Daemon  # noqa: E402

from latency import request  # noqa: E402
from load import connect_as, percentile  # noqa: E402

NEIGHBOUR, BUSY = 23000, 23001  # users without files or processes
TICK = os.sysconf("SC_CLK_TCK")
CODE = """
import os
for _ in range(%d):
    if os.fork() == 0:
        if %r: os.setsid()
        while True: pass
print("busy", flush=True)
while True: pass
"""


def policies_of(program):
    """The policies of a program's own source tree: an older build does not know each key of today's."""
    own = [folder / "policies" for folder in pathlib.Path(program).resolve().parents if (folder / "policies/default.json").exists()]
    return own[0] if own else None


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def starts(client, seconds, patience):
    """Milliseconds of each start, and of the wait for a ping before it."""
    took, pings, until = [], [], time.monotonic() + seconds
    while time.monotonic() < until or len(took) < 3:
        sent = time.perf_counter()
        client.request("server/discover")
        pings.append(1000 * (time.perf_counter() - sent))
        sent = time.perf_counter()
        client.socket.sendall(request(1, "pass"))
        answer = json.loads(client.lines.readline())
        took.append(1000 * (time.perf_counter() - sent))
        assert '"success":true' in answer["result"]["content"][0]["text"], answer
        if time.monotonic() > until + patience:
            break
    return took, pings


def await_word(client, word):
    """Waits until the client's program has printed that word."""
    while client.receive().get("params", {}).get("message") != word:
        pass


def processes_below(pid):
    """The number of processes that descend from this one."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below and child not in below}:
        below |= more
    return len(below) - 1


def measure(program, options):
    with Daemon(program, policies=policies_of(program)) as daemon:
        with contextlib.ExitStack() as stack:
            neighbour = stack.enter_context(connect_as(daemon, NEIGHBOUR))
            neighbour.socket.settimeout(120)
            starts(neighbour, 1.5, 5)  # the pool fills
            idle, idle_pings = starts(neighbour, options.seconds, 60)
            before = processes_below(daemon.process.pid)
            busy = [stack.enter_context(connect_as(daemon, BUSY)) for _ in range(options.programs)]
            for client in busy:
                client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                    "name": "execute_code", "_meta": {**META, "progressToken": "busy"}, "arguments": {
                        "code": CODE % (options.processes, options.sessions), "language": "python", "timeout_seconds": 60}}})
            for client in busy:
                await_word(client, "busy")
            print("processes:", processes_below(daemon.process.pid) - before)
            cpu, at = cpu_seconds(daemon.process.pid), time.monotonic()
            beside, pings = starts(neighbour, options.seconds, 60)
            cpu = (cpu_seconds(daemon.process.pid) - cpu) / (time.monotonic() - at)
            for client in busy:
                client.socket.shutdown(2)
    return idle, idle_pings, beside, pings, cpu


def line_of(idle, idle_pings, beside, pings, cpu):
    return (f"{statistics.mean(idle):8.1f} {percentile(idle, 0.5):8.1f} {max(idle):8.1f} {len(beside):6} "
            f"{statistics.mean(beside):9.1f} {percentile(beside, 0.5):8.1f} {max(beside):8.1f} "
            f"{statistics.mean(beside) / statistics.mean(idle):7.1f} {percentile(beside, 0.5) / percentile(idle, 0.5):7.1f} "
            f"{statistics.mean(idle_pings):6.1f} {statistics.mean(pings):7.1f} {max(pings):7.1f} {100 * cpu:6.0f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warderd", nargs="+")
    parser.add_argument("--seconds", type=float, default=10, help="of each half, alone and beside the processes")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--processes", type=int, default=60, help="of each program")
    parser.add_argument("--sessions", action="store_true", help="each process makes a session")
    parser.add_argument("--smoke", action="store_true", help="few processes, a second: that every figure is produced")
    options = parser.parse_args()
    if os.geteuid() != 0:
        return print("not measured, for only root can be two users")
    if options.smoke:
        options.seconds, options.programs, options.processes = 1, 2, 4
    autogroups = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; autogroups: "
          f"{autogroups.read_text().strip() if autogroups.exists() else 'no'}; ms\n"
          f"{'idle mean':>8} {'p50':>8} {'max':>8} {'starts':>6} {'busy mean':>9} {'p50':>8} {'max':>8} {'ratio':>7} "
          f"{'of p50':>7} {'ping':>6} {'busy':>7} {'max':>7} {'daemon':>8}")
    sums = {program: [[], [], [], [], []] for program in options.warderd}
    for _ in range(options.rounds):
        for program in options.warderd:
            figures = measure(program, options)
            print(line_of(*figures), program, flush=True)
            for total, part in zip(sums[program], figures):
                total.extend(part if isinstance(part, list) else [part])
    if options.rounds > 1:
        for program, (*lists, cpu) in sums.items():
            print(line_of(*lists, statistics.mean(cpu)), f"all rounds, {program}")
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
