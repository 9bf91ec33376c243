#!/usr/bin/env python3
"""What an execution costs beside the floor (floor.cc) and beside this machine's own programs, in the same run.

    cmake --build --preset release --target warderd warder-floor
    python3 tests/bench/cost.py --warderd build/release/supervisor/warderd --floor build/release/tests/bench
                                [--rounds 10] [--seconds 2] [--sustained 30]

As root. Every round runs every case in an order shuffled anew. A ratio is the median over the rounds of (case / baseline
in the same round). Times: lower is better; executions a second: higher is better. The processor time of the whole
machine is counted, so nothing else may run. Prints figures and judges none. Unix sockets only.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Daemon  # noqa: E402

import load  # noqa: E402
from bench_policies import policies_in  # noqa: E402
from floor import Floor  # noqa: E402
from latency import request, spawn  # noqa: E402
from load import crowd, percentile  # noqa: E402

PYTHON = ["/usr/bin/python3", "-c", "pass"]
NODE = ["/usr/bin/node", "-e", "0"]
GAP = 0.02  # seconds before each single call: jails are built ahead in that time
LOOPS = (1, 4, 8)
FLOOR_LINE = b"pass\n"


class Usage:
    """Processor time and page faults: of the machine, and of the processes that lived through the measured time."""

    def __init__(self):
        self.machine = self._machine()
        self.faults = next(int(line.split()[1]) for line in open("/proc/vmstat") if line.startswith("pgfault "))
        self.processes = dict(self._processes())

    @staticmethod
    def _machine():
        """With interrupts and what they put off, which belong to nobody."""
        words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return sum(int(words[1 + i]) for i in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _processes():
        """pid -> (name, parent, seconds)."""
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
                except OSError:
                    continue
                name, _, rest = stat.partition("(")[2].rpartition(")")
                words = rest.split()
                yield int(entry), (name, int(words[1]), (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"))

    def since(self, before, executions, daemon_pid, names):
        """Milliseconds an execution, by role: `names(pid, name, parent)` gives the role of a process, or None."""
        spent = collections.Counter()
        for pid, (name, parent, seconds) in self.processes.items():
            used = seconds - before.processes.get(pid, (name, parent, seconds))[2]
            role = "client" if pid == os.getpid() else "kernel" if parent == 2 else names(pid, name, parent)
            if role:
                spent[role] += 1000 * used / executions
        spent["all"] = 1000 * (self.machine - before.machine) / executions
        spent["jails"] = spent["all"] - sum(value for role, value in spent.items() if role != "all")
        spent["faults"] = (self.faults - before.faults) / executions
        return spent


def floor_names(floor):
    def names(pid, _, parent):
        return "daemon" if pid == floor.process.pid else "zygote" if parent == floor.process.pid else None
    return names


def product_names(daemon):
    """The jailer is the daemon's first child; a zygote is the child of a home's init, and the parent of many inits."""
    zygotes = set()

    def names(pid, name, parent):
        if pid == daemon.process.pid:
            return "daemon"
        if parent == daemon.process.pid and name == "warder-jailer":
            return "jailer"
        if name != "warder-jail-ini" and _is_zygote(pid):
            zygotes.add(pid)
        return "zygote" if pid in zygotes else None
    return names


def _is_zygote(pid):
    try:
        spaces = next(line for line in open(f"/proc/{pid}/status") if line.startswith("NSpid:")).split()
        return len(spaces) == 3 and b"zygote." in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, StopIteration):
        return False


class Product:
    """Two daemons: one with jails that wait, one that forks on demand."""

    def __init__(self, warderd, folder):
        self.daemons = {}
        for name, idle in (("waiting", (4, 8)), ("on demand", (0, 0))):
            place = folder / name.replace(" ", "-")
            place.mkdir()
            folder.chmod(0o755)
            policies = policies_in(place, pool={"min_idle": idle[0], "max_idle": idle[1], "zygotes": True}, admission={
                "concurrent_executions": 8, "queued_executions": 1000, "requests_in_flight": 1000, "connections": 1000})
            self.daemons[name] = Daemon(program=warderd, policies=policies, patience=60)
        self.clients = {}

    def __enter__(self):
        for name, daemon in self.daemons.items():
            daemon.__enter__()
            self.clients[name] = daemon.connect()
            languages = ["python"] + (["javascript"] if name == "waiting" and os.access(NODE[0], os.X_OK) else [])
            for language in languages:
                self._settle(name, language)
        return self

    def __exit__(self, *what):
        for client in self.clients.values():
            client.close()
        for daemon in self.daemons.values():
            if daemon.process:
                daemon.__exit__(*what)

    def _settle(self, name, language):
        for _ in range(200):
            if self.ask(name, "0" if language == "javascript" else "pass", language)[1] != "cold":
                return
            time.sleep(0.05)
        print(f"! {name}, {language}: only cold starts")

    def ask(self, name, code, language="python"):
        """Seconds, and how it started."""
        client = self.clients[name]
        client.last_id += 1
        line = request(client.last_id, code, language)
        began = time.perf_counter()
        client.socket.sendall(line)
        answer = client.lines.readline()
        took = time.perf_counter() - began
        result = json.loads(answer)["result"]
        assert json.loads(result["content"][0]["text"])["success"], answer
        return took, result["_meta"]["org.warder/receipt"]["start"]


class Table:
    def __init__(self):
        self.values = collections.defaultdict(list)  # case -> one value a round

    def add(self, case, value):
        self.values[case].append(value)

    def middle(self, case):
        return statistics.median(self.values[case])

    def ratio(self, case, baseline):
        return statistics.median(a / b for a, b in zip(self.values[case], self.values[baseline]))


def in_a_row(ask, count):
    """Median of single calls with a pause before each."""
    took = []
    for _ in range(count):
        time.sleep(GAP)
        took.append(ask())
    return statistics.median(took)


def loop(server, clients, seconds, line, names):
    """Executions a second, the median time, and what they used."""
    before, began = Usage(), time.perf_counter()
    took = crowd(server, clients, line, lambda _: time.perf_counter() - began > seconds)
    rate = len(took) / (time.perf_counter() - began)
    return rate, percentile(took, 0.5), Usage().since(before, len(took), server.process.pid, names)


def burst(server, line):
    time.sleep(0.7)  # the pool is full again
    began = time.perf_counter()
    crowd(server, 100, line, lambda done: True)
    return time.perf_counter() - began


def bare_burst():
    return 100 / load.bare_parallel(1, PYTHON)


def measure(options, floors, product):
    table, used = Table(), collections.defaultdict(list)
    pair = {"floor": (floors["waiting"], FLOOR_LINE, floor_names(floors["waiting"])),
            "product": (product.daemons["waiting"], request(1, "pass"), product_names(product.daemons["waiting"]))}
    asks = {name: floor.connect() for name, floor in floors.items()}

    def ask_floor(name):
        began = time.perf_counter()
        asks[name].ask(FLOOR_LINE)
        return time.perf_counter() - began

    cases = {"bare": lambda: table.add("bare", in_a_row(lambda: spawn(PYTHON), 10))}
    for name in ("waiting", "on demand"):
        cases[f"floor, {name}"] = lambda name=name: table.add(f"floor, {name}", in_a_row(lambda: ask_floor(name), 10))
        cases[f"product, {name}"] = lambda name=name: table.add(
            f"product, {name}", in_a_row(lambda: product.ask(name, "pass")[0], 10))
    if os.access(NODE[0], os.X_OK):
        cases["bare node"] = lambda: table.add("bare node", in_a_row(lambda: spawn(NODE), 5))
        cases["javascript"] = lambda: table.add("javascript", in_a_row(lambda: product.ask("waiting", "0", "javascript")[0], 5))
    for who, (server, line, names) in pair.items():
        for clients in LOOPS:
            def run(who=who, server=server, line=line, names=names, clients=clients):
                rate, middle, spent = loop(server, clients, options.seconds, line, names)
                table.add(f"{who}, loop of {clients}", rate)
                table.add(f"{who}, loop of {clients}, time", middle)
                table.add(f"{who}, loop of {clients}, processor", spent["all"])
                used[who, clients].append(spent)
            cases[f"{who}, loop of {clients}"] = run
        cases[f"{who}, burst"] = lambda who=who, server=server, line=line: table.add(f"{who}, burst", burst(server, line))
    cases["bare, burst"] = lambda: table.add("bare, burst", bare_burst())
    for _ in range(options.rounds):
        order = list(cases)
        random.shuffle(order)
        for name in order:
            cases[name]()
    for client in asks.values():
        client.close()
    return table, used


def print_table(table, used):
    def row(name, case, baseline, unit=1000.0):
        print(f"{name:44} {unit * table.middle(case):9.2f} {unit * table.middle(baseline):9.2f} {table.ratio(case, baseline):7.3f}")

    print(f"{'times in ms, rates in executions a second':44} {'product':>9} {'baseline':>9} {'ratio':>7}")
    print(f"bare python3 -c pass {1000 * table.middle('bare'):.2f} ms")
    row("warm pass, to floor", "product, waiting", "floor, waiting")
    row("on demand, to floor", "product, on demand", "floor, on demand")
    for clients in LOOPS:
        row(f"loop of {clients}, executions a second, to floor", f"product, loop of {clients}", f"floor, loop of {clients}", 1)
        row(f"loop of {clients}, processor ms, to floor", f"product, loop of {clients}, processor",
            f"floor, loop of {clients}, processor", 1)
    row("loop of 1, time, to bare", "product, loop of 1, time", "bare")
    row("warm pass, to bare", "product, waiting", "bare")
    row("burst of 100, to floor", "product, burst", "floor, burst")
    row("burst of 100, to bare", "product, burst", "bare, burst")
    if "javascript" in table.values:
        row("JavaScript 0, warm, to bare node -e 0", "javascript", "bare node")
    roles = ("all", "client", "daemon", "jailer", "zygote", "jails", "kernel", "faults")
    print(f"\n{'processor ms an execution, and page faults':44} " + " ".join(f"{role:>8}" for role in roles))
    for (who, clients), rounds in sorted(used.items()):
        values = {role: statistics.median(spent[role] for spent in rounds) for role in roles}
        print(f"{f'{who}, loop of {clients}':44} " + " ".join(f"{values[role]:8.2f}" for role in roles))


def print_tenants(product, seconds):
    bare = load.bare_parallel(seconds, PYTHON)
    load.print_tenants(product.daemons["waiting"], request(1, "pass"), seconds, bare)


def print_sustained(product, seconds):
    began = time.perf_counter()
    took = crowd(product.daemons["waiting"], 4, request(1, "pass"), lambda _: time.perf_counter() - began > seconds)
    half, last = percentile(took, 0.5), percentile(took, 0.99)
    print(f"{seconds} s sustained, loop of 4: {len(took)} executions, p50 {1000 * half:.2f} ms, p99 {1000 * last:.2f} ms: "
          f"{last / half:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--floor", required=True, help="folder of _warder_floor.abi3.so")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2, help="of each closed loop")
    parser.add_argument("--sustained", type=float, default=30, help="seconds")
    parser.add_argument("--smoke", action="store_true", help="every figure once, in seconds")
    options = parser.parse_args()
    if os.geteuid() != 0:
        return print("cost.py: not run, because the floor makes its namespaces as root")
    if options.smoke:
        options.rounds, options.seconds, options.sustained = 1, 0.2, 0.5
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory(prefix="warder-cost-") as folder, \
            Floor(options.floor, 32) as waiting, Floor(options.floor, 0) as on_demand, \
            Product(options.warderd, pathlib.Path(folder)) as product:
        table, used = measure(options, {"waiting": waiting, "on demand": on_demand}, product)
        print_table(table, used)
        print_tenants(product, options.seconds)
        print_sustained(product, options.sustained)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
