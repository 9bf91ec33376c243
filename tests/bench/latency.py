#!/usr/bin/env python3
"""How soon a jailed program answers, beside what this machine's own programs take in the same run.

    python3 tests/bench/latency.py --warderd build/release/supervisor/warderd [--rounds 40] [--sustained 10] [--row 1000]
                                   [--code-runner FOLDER]  # where `npm install mcp-server-code-runner` was run

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
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import META, Daemon  # noqa: E402

import load  # noqa: E402
from load import percentile  # noqa: E402

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
    "cold": {"min_idle": 0, "max_idle": 0, "zygotes": False},
    "exec": {"min_idle": 4, "max_idle": 8, "zygotes": False},
    "fork on demand": {"min_idle": 0, "max_idle": 0, "zygotes": True},
    "fork": {"min_idle": 4, "max_idle": 8, "zygotes": True},
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


def request(number, code, language="python", **more):
    params = {"name": "execute_code", "arguments": {"code": code, "language": language, **more}, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode() + b"\n"


class CodeRunner:
    """An MCP server of others that starts an interpreter for each call, with no jail: asked over its pipes."""

    def __init__(self, folder):
        program = pathlib.Path(folder, "node_modules/mcp-server-code-runner/dist/cli.js")
        if not program.is_file():
            sys.exit(f"--code-runner: no {program}; run `npm install mcp-server-code-runner` in that folder")
        # Its words for Python are "python -u"; Debian calls it python3.
        self.folder = tempfile.TemporaryDirectory(prefix="warder-code-runner-")
        os.symlink("/usr/bin/python3", os.path.join(self.folder.name, "python"))
        self.process = subprocess.Popen(["/usr/bin/node", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL,
                                        env={**os.environ, "PATH": self.folder.name + ":" + os.environ["PATH"]})
        self.last = 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "b", "version": "1"})
        self.send(method="notifications/initialized")
        assert self.run("print(6 * 7)")[1] == "42"

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.last += 1
        self.send(id=self.last, method=method, params=params)
        for line in self.process.stdout:
            if line.startswith(b"{") and (answer := json.loads(line)).get("id") == self.last:  # it greets in plain words
                return answer["result"]
        raise RuntimeError("mcp-server-code-runner has ended")

    def run(self, code):
        """Seconds, and what it printed."""
        began = time.perf_counter()
        result = self.ask("tools/call", name="run-code", arguments={"code": code, "languageId": "python"})
        return time.perf_counter() - began, result["content"][0]["text"].strip()

    def close(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        self.folder.cleanup()


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

    def execute(self, name, code, language="python", case=None, **more):
        """Seconds from the request to its answer."""
        client = self.clients[name]
        client.last_id += 1
        line = request(client.last_id, code, language, **more)
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


def row(name, values, rounds=None, bare=None):
    ms = [f"{1000 * percentile(values, part):9.2f}" for part in (0.1, 0.5, 0.99)]
    ratio = ""
    if rounds:
        value = statistics.median(statistics.median(a) / statistics.median(b) for a, b in zip(rounds, bare) if a and b)
        ratio = f"1/{1 / value:.1f}" if value < 1 else f"{value:.2f}"
    print(f"{name:38} {' '.join(ms)} {ratio:>9} {len(values):6}")


def sleep(seconds):
    """As an agent that is silent: the processors sleep, and their caches are somebody else's, when the request comes."""
    time.sleep(seconds)


def busy(seconds):
    """As an agent at work: its processor is awake; the others have time to build jails."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def interleaved(bench, code_runner, rounds, between, gap):
    cases = {name: (lambda words=words: spawn(words)) for name, words in PROGRAMS.items() if os.access(words[0], os.X_OK)}
    for name in POOLS:
        cases[f"jailed pass, {name}"] = lambda name=name: bench.execute(name, "pass")
    if code_runner:
        cases["mcp-server-code-runner, pass"] = lambda: code_runner.run("pass")[0]
    cases["jailed pass, session"] = lambda: bench.execute("exec", "pass", case="session", session="bench")
    for name in ("exec", "fork"):
        cases[f"jailed 5 MB of JSON, {name}"] = lambda name=name: bench.execute(name, SUMMARY, case=f"JSON {name}")
    for name in ("exec", "fork"):
        cases[f"jailed JavaScript 0, {name}"] = lambda name=name: bench.execute(name, "0", "javascript", f"javascript {name}")
    cases["jailed shell :, exec"] = lambda: bench.execute("exec", ":", "shell", "shell")
    times = {name: [] for name in cases}
    title = f"{1000 * gap:.0f} ms {between.__name__} before each, ms"
    for _ in range(rounds):
        order = list(cases)
        random.shuffle(order)
        for name in order:
            between(gap)
            times[name].append([cases[name]() for _ in range(1 if name.startswith("jailed") else 2)])
    print(f"\n{title:38} {'p10':>9} {'p50':>9} {'p99':>9} {'ratio':>9} {'n':>6}")
    for name, per_round in times.items():
        row(name, [t for part in per_round for t in part], per_round, times[BARE])
    if "bare node -e 0" in times:
        for name in ("exec", "fork"):
            case = times[f"jailed JavaScript 0, {name}"]
            row(f"jailed JavaScript, {name}, to bare node", [t for p in case for t in p], case, times["bare node -e 0"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--gap", type=float, default=0.03, help="seconds before each of them")
    parser.add_argument("--sustained", type=float, default=5, help="seconds of each closed loop")
    parser.add_argument("--code-runner", help="folder in which npm has installed that server, to compare with")
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
        bench.settle("fork", "fork", "javascript")
        bench.settle("exec", "exec", "shell")
        bench.starts.clear()
        bench.steps.clear()
        code_runner = CodeRunner(options.code_runner) if options.code_runner else None
        for between in (busy, sleep):
            interleaved(bench, code_runner, options.rounds, between, options.gap)
        if code_runner:
            code_runner.close()
        print("\nhow they started: " + "; ".join(f"{name}: {dict(starts)}" for name, starts in bench.starts.items()))
        names = sorted({name for name, _ in bench.steps})
        for name in names:
            parts = [f"{step} {percentile(us, 0.5):.0f}" for (case, step), us in bench.steps.items() if case == name]
            print(f"p50 us of the path, {name}: " + ", ".join(parts))
        load.print_memory(bench.daemons["exec"], bench.daemons["fork"])
        load.print_row(bench.daemons["fork"], request(1, "pass"), options.row)
        load.print_rates(bench.daemons, PROGRAMS[BARE], PROGRAMS["bubblewrap + python3 -c pass"], request(1, "pass"),
                         options.sustained)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
