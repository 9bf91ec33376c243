#!/usr/bin/env python3
"""How soon a jailed program answers, beside what this machine's own programs take in the same run.

    python3 tests/bench/latency.py --warderd build/release/supervisor/warderd [--rounds 40] [--sustained 10] [--row 1000]

Daemons of its own, one for each way to start, on sockets in a temporary folder. Every round runs every case once or a few
times, in an order shuffled anew; a ratio is the median over the rounds of (case / bare python3 -c pass in that round).
Prints figures and judges none. Unix sockets only. Bounded by its arguments; Ctrl-C ends everything.
"""
import argparse
import collections
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
from daemon import META, Daemon  # noqa: E402

BWRAP = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
         "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--tmpfs", "/tmp", "--proc", "/proc", "--dev",
         "/dev", "--chdir", "/"]
BARE = "bare python3 -c pass"
PROGRAMS = {
    BARE: ["/usr/bin/python3", "-c", "pass"],
    "bare python3 -I -S -c pass": ["/usr/bin/python3", "-I", "-S", "-c", "pass"],
    "bubblewrap + python3 -c pass": [*BWRAP, "/usr/bin/python3", "-c", "pass"],
    "bare node -e 0": ["/usr/bin/node", "-e", "0"],
}
POOLS = {
    "cold": {"least": 0, "most": 0, "zygotes": False},
    "exec": {"least": 4, "most": 8, "zygotes": False},
    "fork on demand": {"least": 0, "most": 0, "zygotes": True},
    "fork": {"least": 4, "most": 8, "zygotes": True},
}
NOTHING = {"python": "pass", "javascript": "0", "shell": ":"}
DATA = "orders.json"
SUMMARY = """
import json
total = {}
for order in json.load(open("/workspace/orders.json")):
    if order["amount"] > 500:
        total[order["region"]] = total.get(order["region"], 0) + order["amount"]
result = total
"""


def spawn(words):
    """Seconds from the start of a program to its end."""
    began = time.perf_counter()
    pid = os.posix_spawn(words[0], words, os.environ)
    _, status = os.waitpid(pid, 0)
    assert status == 0, words
    return time.perf_counter() - began


def request(number, code, language="python"):
    params = {"name": "execute_code", "arguments": {"code": code, "language": language}, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode() + b"\n"


class Bench:
    def __init__(self, warderd, folder):
        self.daemons = {}
        for name, pool in POOLS.items():
            policies = folder / name.replace(" ", "-")
            shutil.copytree(TOP / "policies", policies)
            policy = json.loads((policies / "default.json").read_text())
            policy["pool"].update(pool)
            policy["admission"].update(concurrent_executions=8, queued_executions=1000, requests_in_flight=1000,
                                       connections=1000)
            (policies / "default.json").write_text(json.dumps(policy))
            for path in [folder, policies, *policies.rglob("*")]:
                path.chmod(0o755 if path.is_dir() else 0o644)
            self.daemons[name] = Daemon(program=warderd, policies=policies, patience=60)
        self.clients = {}
        self.starts = collections.defaultdict(collections.Counter)
        self.steps = collections.defaultdict(list)

    def __enter__(self):
        for name, daemon in self.daemons.items():
            daemon.__enter__()
            self.clients[name] = daemon.connect()
        return self

    def __exit__(self, *what):
        for client in self.clients.values():
            client.close()
        for daemon in self.daemons.values():
            if daemon.process:
                daemon.__exit__(*what)

    def execute(self, name, code, language="python", case=None):
        """Seconds from the request to its answer."""
        client = self.clients[name]
        client.last_id += 1
        line = request(client.last_id, code, language)
        began = time.perf_counter()
        client.socket.sendall(line)
        answer = client.lines.readline()
        took = time.perf_counter() - began
        result = json.loads(answer)["result"]
        body = json.loads(result["content"][0]["text"])
        assert body["success"], body
        receipt = result["_meta"]["org.warder/receipt"]
        self.starts[case or name][receipt["start"]] += 1
        for step, us in receipt.get("path_us", {}).items():
            self.steps[case or name, step].append(us)
        return took

    def settle(self, name, start, language="python"):
        """Until the daemon has such a jail waiting, or a zygote: bounded, and said when it does not come."""
        for _ in range(200):
            self.execute(name, NOTHING[language], language, "settling")
            if start in self.starts.pop("settling"):
                return
            time.sleep(0.05)
        print(f"! {name}: no {start} start came")

    def crowd(self, name, clients, until, code="pass"):
        """A closed loop of so many connections. `until(done)` ends it. Seconds of each answer, in the order they came."""
        selector = selectors.DefaultSelector()
        took, sent = [], {}
        line = request(1, code)
        for _ in range(clients):
            connection = self.daemons[name].connect()
            selector.register(connection.socket, selectors.EVENT_READ, [connection, b""])
            sent[connection] = time.perf_counter()
            connection.socket.sendall(line)
        open_requests = clients
        while open_requests:
            for key, _ in selector.select(60):
                connection, text = key.data
                text += connection.socket.recv(1 << 16)
                if not text.endswith(b"\n"):
                    key.data[1] = text
                    continue
                key.data[1] = b""
                assert b'\\"success\\":true' in text, text[:500]
                now = time.perf_counter()
                took.append(now - sent[connection])
                open_requests -= 1
                if not until(len(took)):
                    open_requests += 1
                    sent[connection] = time.perf_counter()
                    connection.socket.sendall(line)
        for key in list(selector.get_map().values()):
            key.data[0].close()
        return took


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def row(name, values, rounds=None, bare=None):
    ms = [f"{1000 * percentile(values, part):9.2f}" for part in (0.1, 0.5, 0.99)]
    ratio = ""
    if rounds:
        value = statistics.median(statistics.median(a) / statistics.median(b) for a, b in zip(rounds, bare) if a and b)
        ratio = f"1/{1 / value:.1f}" if value < 1 else f"{value:.2f}"
    print(f"{name:38} {' '.join(ms)} {ratio:>9} {len(values):6}")


def interleaved(bench, rounds, gap):
    cases = {name: (lambda words=words: spawn(words)) for name, words in PROGRAMS.items() if os.access(words[0], os.X_OK)}
    for name in POOLS:
        cases[f"jailed pass, {name}"] = lambda name=name: bench.execute(name, "pass")
    for name in ("exec", "fork"):
        cases[f"jailed 5 MB of JSON, {name}"] = lambda name=name: bench.execute(name, SUMMARY, case=f"JSON {name}")
    cases["jailed JavaScript 0, exec"] = lambda: bench.execute("exec", "0", "javascript", "javascript")
    cases["jailed shell :, exec"] = lambda: bench.execute("exec", ":", "shell", "shell")
    times = {name: [] for name in cases}
    for _ in range(rounds):
        order = list(cases)
        random.shuffle(order)
        for name in order:
            time.sleep(gap)
            times[name].append([cases[name]() for _ in range(1 if name.startswith("jailed") else 2)])
    print(f"\n{'one at a time, ms':38} {'p10':>9} {'p50':>9} {'p99':>9} {'ratio':>9} {'n':>6}")
    for name, per_round in times.items():
        row(name, [t for part in per_round for t in part], per_round, times[BARE])
    if "bare node -e 0" in times:
        row("jailed JavaScript, to bare node", [t for p in times["jailed JavaScript 0, exec"] for t in p],
            times["jailed JavaScript 0, exec"], times["bare node -e 0"])


def bare_parallel(seconds, words):
    """Starts a second, on every processor at once."""
    end, done, running = time.perf_counter() + seconds, 0, 0
    while running or time.perf_counter() < end:
        while running < os.cpu_count() and time.perf_counter() < end:
            os.posix_spawn(words[0], words, os.environ)
            running += 1
        os.wait()
        running, done = running - 1, done + 1
    return done / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--gap", type=float, default=0.05, help="seconds between executions one at a time")
    parser.add_argument("--sustained", type=float, default=5, help="seconds of each closed loop")
    parser.add_argument("--row", type=int, default=1000, help="executions in a row, for drift")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory(prefix="warder-latency-") as folder, Bench(options.warderd, pathlib.Path(folder)) as bench:
        data = json.dumps([{"region": f"r{i % 7}", "amount": i * 37 % 1000, "note": "x" * 60} for i in range(48000)])
        for name, client in bench.clients.items():
            client.call("write_workspace_file", {"filename": DATA, "content": data})
        for name, start in (("exec", "exec"), ("fork", "fork"), ("fork on demand", "fork")):
            bench.settle(name, start)
        bench.settle("exec", "exec", "javascript")
        bench.settle("exec", "exec", "shell")
        bench.starts.clear()
        bench.steps.clear()
        interleaved(bench, options.rounds, options.gap)
        print("\nhow they started: " + "; ".join(f"{name}: {dict(starts)}" for name, starts in bench.starts.items()))
        names = sorted({name for name, _ in bench.steps})
        for name in names:
            parts = [f"{step} {percentile(us, 0.5):.0f}" for (case, step), us in bench.steps.items() if case == name]
            print(f"p50 us of the path, {name}: " + ", ".join(parts))

        bare = bare_parallel(options.sustained, PROGRAMS[BARE])
        wrapped = bare_parallel(options.sustained, PROGRAMS["bubblewrap + python3 -c pass"]) if os.access(BWRAP[0], os.X_OK) else 0
        print(f"\non all processors: bare python3 {bare:.0f}/s, bubblewrap + python3 {wrapped:.0f}/s")
        for clients in (1, 2, 4, 8, 100):
            began = time.perf_counter()
            took = bench.crowd("fork", clients, lambda _: time.perf_counter() - began > options.sustained)
            rate = len(took) / (time.perf_counter() - began)
            print(f"one tenant, closed loop of {clients:3}: {rate:6.0f}/s, {rate / bare:4.1f} x bare; "
                  f"p50 {1000 * percentile(took, 0.5):.2f} ms, p99 {1000 * percentile(took, 0.99):.2f} ms")
        for name in ("exec", "cold"):
            began = time.perf_counter()
            took = bench.crowd(name, 2, lambda _: time.perf_counter() - began > options.sustained)
            rate = len(took) / (time.perf_counter() - began)
            print(f"without zygotes ({name}), closed loop of 2: {rate:6.0f}/s, {rate / bare:4.1f} x bare")
        time.sleep(2)
        began = time.perf_counter()
        bench.crowd("fork", 100, lambda done: True)
        last = time.perf_counter() - began
        print(f"burst of 100: last answer after {1000 * last:.0f} ms; 100 bare starts on all processors take "
              f"{100_000 / bare:.0f} ms: {last * bare / 100:.2f} of that")
        took = bench.crowd("fork", 1, lambda done: done >= options.row)
        tenth = max(1, len(took) // 10)
        print(f"{len(took)} in a row: p50 of the first tenth {1000 * percentile(took[:tenth], .5):.2f} ms, "
              f"of the last {1000 * percentile(took[-tenth:], .5):.2f} ms")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
