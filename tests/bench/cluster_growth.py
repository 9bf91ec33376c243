#!/usr/bin/env python3
"""What grows with a cluster: many homes, many signed rules, a move of a workspace of many files. Two nodes with real
processes and a nats-server.

    /usr/bin/python3 tests/bench/cluster_growth.py --build build/release [--homes 100000] [--rules 900] [--files 100000]

homes: a node that remembers them puts them on an empty bus; the memory of warder-node; its start; how long it takes to find a
home, also while homes come and the memory is written; all homes of a node, page by page. rules: signed on one node, until
they are in force on the other, and the other's start. move: the time, the memory of the four processes, and how long
requests of another tenant wait meanwhile. 0: leaves a part out. Prints figures and judges none. Call it as root, for the
users of two daemons on one bus. Loopback and Unix sockets only.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
PATIENCE_S = 900


def of(values, part):
    return statistics.quantiles(values, n=100)[part - 1]


def text_of(milliseconds):
    return f"p50 {of(milliseconds, 50):.2f} ms, p99 {of(milliseconds, 99):.2f} ms, longest {max(milliseconds):.1f} ms"


def wait(holds, what, pause=0.05):
    until = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > until:
            raise AssertionError(f"still not: {what}")
        time.sleep(pause)


def memory(pid, row="VmRSS"):
    """MiB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{row}:\s+(\d+)", text)[1]) / 1024


class Link:
    """A control connection to a warder-node, as a warderd has one."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")
        self.id = 0
        self.send({"hello": {"boot": "bench"}})

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def ask(self, kind, **question):
        """The answer, and its milliseconds."""
        self.id += 1
        begun = time.perf_counter()
        self.send({kind: {"id": self.id, **question}})
        while True:
            [(said, content)] = json.loads(self.lines.readline()).items()
            if content.get("id") == self.id:
                return said, content, (time.perf_counter() - begun) * 1e3

    def find(self, account):
        said, content, spent = self.ask("find", account=account, workspace="")
        return content if said == "found" else None, spent


class Pings:
    """Requests of another tenant that the daemon itself answers, each 5 ms, from begin to end."""

    def __init__(self, clients):
        self.clients, self.spent, self.is_over = clients, {name: [] for name in clients}, False
        self.threads = [threading.Thread(target=self.run, args=(name,), daemon=True) for name in clients]

    def run(self, name):
        while not self.is_over:
            begun = time.perf_counter()
            self.clients[name].request("server/discover")
            self.spent[name].append((time.perf_counter() - begun) * 1e3)
            time.sleep(0.005)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join(30)
        for name, spent in self.spent.items():
            print(f"  a request at {name} meanwhile: n {len(spent)}, {text_of(spent)}")


def homes(count, make_rig):
    print(f"homes: {count}")
    account = "acct{:06d}".format

    def remember(folder):
        state = folder / "n1/state"
        state.mkdir(exist_ok=True)
        records = {f"{account(number)}._": {"node": ("n1", "n2")[number % 2], "epoch": 1} for number in range(count)}
        (state / "homes.json").write_text(json.dumps(records, separators=(",", ":")))
    begun = time.monotonic()
    with make_rig(remember) as rig:
        wait(lambda: f"lost {count} homes" in rig.nodes["n1"].log_text(), "all homes are on the bus")
        print(f"  put on an empty bus by the node that remembers them: {time.monotonic() - begun:.1f} s")
        file = rig.folder / "n2/state/homes.json"
        wait(lambda: file.exists() and file.read_text().count('"epoch"') == count, "the other node remembers them", 0.5)
        print(f"  homes.json {file.stat().st_size / 2**20:.1f} MiB; warder-node: "
              + ", ".join(f"{name} {memory(node.process.pid):.0f} MiB" for name, node in rig.nodes.items()))
        rig.nodes["n2"].stop()
        (rig.folder / "n2/node.sock").unlink(missing_ok=True)
        rig.nodes["n2"].start()
        begun = time.monotonic()

        def answers():
            try:
                return Link(rig.folder / "n2/node.sock").find(account(0))[0]
            except (OSError, ValueError):
                return None
        wait(answers, "the node finds homes", 0.01)
        print(f"  start of warder-node until it finds homes: {time.monotonic() - begun:.2f} s, {memory(rig.nodes['n2'].process.pid):.0f} MiB")
        link = Link(rig.folder / "n2/node.sock")
        draw = random.Random(1)
        print("  a home that is known: " + text_of([link.find(account(draw.randrange(count)))[1] for _ in range(3000)]))
        wait(lambda: link.find(account(10 * count))[0], "the node may make homes: it has its lease", 0.05)
        fresh, known = [], []
        until, number = time.monotonic() + 8, count
        while time.monotonic() < until:
            found, spent = link.find(account(number))
            assert found, number
            number += 1
            fresh.append(spent)
            for _ in range(10):
                known.append(link.find(account(draw.randrange(count)))[1])
            time.sleep(0.01)
        print(f"  while homes come: a new one ({len(fresh)}): {text_of(fresh)}; a known one: {text_of(known)}")
        after, seen, spent = "", 0, []
        while after is not None:
            _, page, took = link.ask("list_homes", node="n1", after=after)
            spent.append(took)
            seen += len(page["homes"])
            after = page.get("next")
        print(f"  all {seen} homes of one node, in {len(spent)} pages: {sum(spent) / 1e3:.2f} s, a page {text_of(spent)}")


def longest_turn(daemon):
    """Of the daemon's loop in the last ten minutes: nothing else is answered meanwhile."""
    from metrics_test import parse, read_unix
    _, samples = parse(read_unix(daemon.socket.parent / "metrics.sock"))["warder_loop_busy_seconds_max"]
    [((_, labels), seconds)] = samples.items()
    return f"longest turn of its loop {seconds * 1e3:.0f} ms {dict(labels)}"


def rules(count, rig, clients):
    from cluster_rig import warder
    print(f"rules: {count}")
    daemon, node = rig.daemons["n2"], rig.nodes["n2"]
    before = memory(daemon.process.pid), memory(node.process.pid)

    def sign(number):
        file = rig.folder / f"r{number}.json"
        file.write_text(json.dumps({"extends": "default", "tools": ["execute_code"]}))
        warder("cluster", "sign", f"rule-{number:04d}", "--file", file, "--folder", rig.folder / "n1")
    begun = time.monotonic()
    with Pings(clients), concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(sign, range(count)))
        signed = time.monotonic() - begun
        folder = daemon.state / "cluster/policies"
        wait(lambda: folder.exists() and len(list(folder.iterdir())) == count, "all are in force at the other node", 0.2)
        print(f"  signed one by one in {signed:.1f} s; all in force at the other node {time.monotonic() - begun - signed:.1f} s later")
    print(f"  warderd {before[0]:.0f} to {memory(daemon.process.pid):.0f} MiB, warder-node {before[1]:.0f} to {memory(node.process.pid):.0f} MiB; "
          + longest_turn(daemon))
    clients.pop("n2").close()
    daemon.stop()
    begun = time.monotonic()
    daemon.start()
    print(f"  start of warderd with them: {time.monotonic() - begun:.2f} s; {longest_turn(daemon)}")


def move(count, rig, buses, clients):
    from harness import Client, body_of
    print(f"move of a workspace of {count} files")
    meta = {"_meta": {"org.warder/workspace": "team-large"}}
    code = ("import os\nfor folder in range({0} // 1000 + 1):\n  os.makedirs(f'd{{folder}}', exist_ok=True)\n"
            "for n in range({0}):\n  open(f'd{{n // 1000}}/{{n}}', 'w').write('x' * 100)\n").format(count)
    with Client(rig.daemons["n1"].socket, timeout=600) as client:
        made = client.request("tools/call", name="execute_code", arguments={"code": code, "timeout_seconds": 600}, **meta)
        assert body_of(made)["success"], made
        home = made["_meta"].get("org.warder/node", "n1")
    target = "n2" if home == "n1" else "n1"
    processes = {f"{kind} of {name}": pid for name in (home, target)
                 for kind, pid in (("warderd", rig.daemons[name].process.pid), ("warder-node", rig.nodes[name].process.pid))}
    before = {name: memory(pid) for name, pid in processes.items()}
    for pid in processes.values():
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak counts from now
    with Pings(clients):
        begun = time.monotonic()
        done = subprocess.run([os.environ["WARDER"], "nodes", "move", f"uid-{os.geteuid()}/team-large", target, "--bus",
                               buses[home].address], capture_output=True, text=True, timeout=PATIENCE_S)
        spent = time.monotonic() - begun
    assert done.returncode == 0, done
    print(f"  {spent:.1f} s; " + ", ".join(f"{name} {before[name]:.0f} to at most {memory(pid, 'VmHWM'):.0f} MiB"
                                          for name, pid in processes.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--homes", type=int, default=100_000)
    parser.add_argument("--rules", type=int, default=900)
    parser.add_argument("--files", type=int, default=100_000)
    options = parser.parse_args()
    build = pathlib.Path(options.build).absolute()
    os.environ.update(WARDERD=str(build / "supervisor/warderd"), WARDER=str(build / "supervisor/programs/cli/warder"),
                      WARDER_NODE=str(build / "supervisor/cluster/node/warder-node"))
    from bus_harness import Bus
    from cluster_rig import NATS_SERVER, Rig
    from harness import Client, Policies
    if NATS_SERVER is None:
        sys.exit("nats-server is missing: apt-get install nats-server")

    class RigWithFiles(Rig):
        def __init__(self, prepare, *words, **more):
            super().__init__(*words, **more)
            self.prepare = prepare

        def make_files(self):
            super().make_files()
            self.prepare(self.folder)
    print(f"load {os.getloadavg()[0]:.1f}")
    quota = {"workspace_bytes": 1 << 30, "workspace_files": 2 * options.files + 1000}
    with Policies(cluster={"home": "cluster"}, workspaces=["team-*"], quota=quota) as policies:
        if options.homes:
            homes(options.homes, lambda prepare: RigWithFiles(prepare, policies, "n1", "n2"))
        if options.files or options.rules:
            with Bus() as first, Bus() as second, Rig(policies, "n1", "n2", buses=[first, second]) as rig:
                clients = {name: Client(rig.daemons[name].socket) for name in rig.names}
                if options.files:
                    move(options.files, rig, {"n1": first, "n2": second}, clients)
                if options.rules:
                    rules(options.rules, rig, clients)
                for client in clients.values():
                    client.close()


main()
