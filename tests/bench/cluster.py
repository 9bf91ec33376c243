#!/usr/bin/env python3
"""What a cluster costs and what it holds, on this machine: three warderd, three warder-node, one nats-server.

    python3 tests/bench/cluster.py --build build/release [--rounds 400]
    python3 tests/bench/cluster.py --build build/release --rounds 0 --refusals 300
    python3 tests/bench/cluster.py --build build/release --rounds 0 --calls 10000 [--minutes 60] [--fault "hears nothing"]

First, in turns: `pass` in a waiting jail of a daemon without a cluster, of a home, of a home while NATS is down, and from
another node; beside it the round trip of a bare request over the same kind of server (bus-bench prints more of these).
With --refusals, stateless executions at a full node: some are refused by the second, which is full, too, and run on the third.
Then agents at all nodes work while processes are killed and stopped, and while the network between nodes and NATS is cut,
late, half open or reset (each node is behind a proxy then), until they have made --calls calls or --minutes are over: by
fault, how often a program started twice, was told done and is not there, or was told not to have run and ran; and the time
until a failure was told. Prints figures and judges none. Loopback and Unix sockets only.
"""
import argparse
import contextlib
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
from cluster_proxy import IN, OUT  # noqa: E402


def pass_ms(client):
    begun = time.perf_counter()
    result = client.call("execute_code", {"code": "pass"})
    spent = (time.perf_counter() - begun) * 1e3
    assert not result.get("isError"), result
    time.sleep(0.02)  # the pool builds the next jail
    return spent


def of(values, part):
    return statistics.quantiles(values, n=100)[part - 1]


@contextlib.contextmanager
def bus_requests(program):
    """A function that makes one request over NATS, and returns its milliseconds."""
    with subprocess.Popen([program, "--asked"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as bench:
        def request():
            bench.stdin.write("\n")
            spent = float(bench.stdout.readline()) / 1e3
            time.sleep(0.02)
            return spent
        yield request


def costs(rounds, rig, plain, clients, home, away, bus_request):
    spent = {"without a cluster": [], "at the home": [], "from another node": []}
    requests = []
    for _ in range(rounds):
        requests.append(bus_request())
        spent["without a cluster"].append(pass_ms(plain))
        spent["at the home"].append(pass_ms(clients[home]))
        spent["from another node"].append(pass_ms(clients[away]))
    rig.bus.stop(signal.SIGKILL)
    down = {"without a cluster, NATS down": [], "at the home, NATS down": []}
    until = time.monotonic() + 12  # the lease lasts 20 s
    while time.monotonic() < until:
        down["without a cluster, NATS down"].append(pass_ms(plain))
        down["at the home, NATS down"].append(pass_ms(clients[home]))
    rig.bus.start()
    bare, bare_down = of(spent["without a cluster"], 50), of(down["without a cluster, NATS down"], 50)
    for name, values in {**spent, **down}.items():
        print(f"{name}: p50 {of(values, 50):.2f} ms, p95 {of(values, 95):.2f} ms, "
              f"x{of(values, 50) / (bare_down if 'down' in name else bare):.3f}")
    more, request = of(spent["from another node"], 50) - of(spent["at the home"], 50), of(requests, 50)
    print(f"remote minus local: {more:.2f} ms, x{more / request:.1f} of a request over NATS, {request:.2f} ms, with the same pauses")


def refusals(wanted, rig, clients, home):
    """One node and the home are full, so stateless executions at that node go to the third: at once, or after the home refused."""
    from metrics_test import parse, read_unix
    full, free = [name for name in rig.names if name != home]
    sleep = "import time; print('running', flush=True); time.sleep(3600)"
    anywhere = {"_meta": {"org.warder/place": "any"}}

    def refused():
        _, samples = parse(read_unix(rig.daemons[full].socket.parent / "metrics.sock"))["warder_cluster_requests_sent"]
        return samples["_total", (("outcome", "busy"),)]

    with contextlib.ExitStack() as stack:
        def fill(node, count, **meta):
            for _ in range(count):
                busy = stack.enter_context(type(clients[node])(rig.daemons[node].socket))
                busy.begin("tools/call", "token", name="execute_code", arguments={"code": sleep, "timeout_seconds": 3600}, **meta)
                busy.await_progress("token", lambda p: p.get("message") == "running")
        fill(home, 3)             # of 2 slots: it refuses
        fill(full, 2, **anywhere)  # no slot is free
        time.sleep(2)             # the others have heard
        spent, seen = {0: [], 1: []}, refused()
        while len(spent[1]) < wanted and len(spent[0]) < 20 * wanted:
            begun = time.perf_counter()
            result = clients[full].request("tools/call", name="execute_code", arguments={"code": "pass"}, **anywhere)
            took = (time.perf_counter() - begun) * 1e3
            assert result["_meta"]["org.warder/node"] == free, result
            before, seen = seen, refused()
            spent[int(seen - before)].append(took)
            time.sleep(0.02)
    at_once, after = spent[0], spent[1]
    print(f"stateless, at once on another node: n {len(at_once)}, p50 {of(at_once, 50):.2f} ms, p99 {of(at_once, 99):.2f} ms; "
          f"after a refusal: n {len(after)}, p50 {of(after, 50):.2f} ms, p99 {of(after, 99):.2f} ms")
    print(f"a refusal adds p50 {of(after, 50) - of(at_once, 50):.2f} ms, p99 {of(after, 99) - of(at_once, 99):.2f} ms")


def faults_of(rig, home):
    others = [name for name in rig.names if name != home]

    def restart(process, number=signal.SIGKILL, pause=0.0):
        process.stop(number)
        time.sleep(pause)
        process.start()

    def pause(send, seconds=4):
        send(signal.SIGSTOP)
        time.sleep(seconds)
        send(signal.SIGCONT)

    def held(name, *directions):
        rig.proxies[name].hold(*directions)
        time.sleep(6)
        rig.proxies[name].heal()

    def late():
        for proxy in rig.proxies.values():
            proxy.delay(0.3)
        time.sleep(6)
        for proxy in rig.proxies.values():
            proxy.heal()

    def resets():
        for _ in range(2):
            for proxy in rig.proxies.values():
                proxy.reset()
            time.sleep(1)

    def kill_daemon(name):
        rig.daemons[name].kill()
        rig.daemons[name].start()
    return {
        "the home's warderd killed": lambda: kill_daemon(home),
        "another warderd killed": lambda: kill_daemon(others[0]),
        "the home's warder-node killed": lambda: restart(rig.nodes[home]),
        "another warder-node killed": lambda: restart(rig.nodes[others[1]]),
        "another warder-node stopped 4 s": lambda: pause(rig.nodes[others[0]].send),
        "the home's warderd stopped 4 s": lambda: pause(rig.daemons[home].process.send_signal),
        "NATS killed for 0.7 s": lambda: restart(rig.bus, pause=0.7),
        "NATS stopped 4 s": lambda: pause(rig.bus.send),
        "the home cut off for 6 s": lambda: held(home),
        "another node cut off for 6 s": lambda: held(others[0]),
        "the home hears nothing for 6 s": lambda: held(home, IN),
        "the home is not heard for 6 s": lambda: held(home, OUT),
        "all is 0.3 s late for 6 s": late,
        "all connections reset, twice": resets,
    }


def begin_work(rig, home, found):
    """What systemd does: a program that has ended is started again. The home works before the next fault."""
    from cluster_agents import Work
    until = time.monotonic() + 60
    while True:
        for name, node in rig.nodes.items():
            if node.process.poll() is not None:
                found.append(f"warder-node of {name} ended by itself: {node.log_text().strip().splitlines()[-1]}; "
                             f"{[line for line in rig.bus.log_text().splitlines() if 'ERR' in line][-3:]}")
                node.start()
        work = Work(rig, home)
        try:
            work.begin()
            return work
        except AssertionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def chaos(calls, minutes, wanted, rig, home, account):
    from cluster_agents import MAY_HAVE_RUN, NOT_RUN
    until, made, rows, found = time.monotonic() + 60 * minutes, 0, {}, []
    while made < calls and time.monotonic() < until:
        for name, fault in faults_of(rig, home).items():
            if wanted not in name:
                continue
            work = begin_work(rig, home, found)
            time.sleep(0.5)
            fault()
            time.sleep(8)
            work.end()
            told = list(work.told().values())
            made += len(told)
            row = rows.setdefault(name, {"calls": 0, "not run": 0, "may have run": 0, "failures": []})
            row["calls"] += len(told)
            row["not run"] += told.count(NOT_RUN)
            row["may have run"] += told.count(MAY_HAVE_RUN)
            row["failures"] += [one for agent in work.agents for one in agent.failures]
            for kind, texts in work.judge(account).items():
                row[kind] = row.get(kind, 0) + len(texts)
                found += [f"{name}: {text}" for text in texts]
            print(f"  {made} calls: {name}", file=sys.stderr, flush=True)
            if made >= calls or time.monotonic() > until:
                break
    kinds = ["started twice", "answers other than one", "done, not kept", "not run, but ran"]
    print("| fault | calls | told not run | told may have run | " + " | ".join(kinds) + " | failure told p50, p99, slowest |")
    print("|" + "---|" * (len(kinds) + 5))
    total = {"calls": 0, "not run": 0, "may have run": 0, "failures": []}
    for row in rows.values():
        for key, value in row.items():
            total[key] = total.get(key, 0 if key != "failures" else []) + value
    for name, row in [*rows.items(), ("all", total)]:
        failures = row["failures"]
        # Of few values, the 99th percentile would be a guess beyond the slowest.
        parts = [of(failures, 50), min(of(failures, 99), max(failures))] if len(failures) > 10 else sorted(failures)[-3:-1]
        times = ", ".join(f"{one:.2f} s" for one in [*parts, *([max(failures)] if failures else [])])
        print(f"| {name} | {row['calls']} | {row['not run']} | {row['may have run']} | "
              + " | ".join(str(row[kind]) for kind in kinds) + f" | {times} |")
    for one in found[:20]:
        print("  " + one)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--refusals", type=int, default=0)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--fault", default="", help="only faults whose name has this text")
    options = parser.parse_args()
    build = pathlib.Path(options.build).absolute()
    os.environ.update(WARDERD=str(build / "supervisor/warderd"), WARDER=str(build / "supervisor/programs/cli/warder"),
                      WARDER_NODE=str(build / "supervisor/cluster/node/warder-node"))
    from cluster_rig import NATS_SERVER, Rig
    from harness import Client, Daemon, Policies
    if options.calls and options.rounds:
        sys.exit("call it twice: costs are measured without the proxies of the faults: --rounds 0 --calls N")
    if NATS_SERVER is None:
        sys.exit("nats-server is missing: apt-get install nats-server")
    print(f"load {os.getloadavg()[0]:.1f}")
    pool = {"min_idle": 3, "max_idle": 6}
    account = f"uid-{os.geteuid()}"
    rules = {"home": "cluster", "spread": "stateless"}
    slots = {"slots": 2} if options.refusals else {}
    with Policies(pool=pool) as bare, Policies(cluster=rules, pool=pool) as shared, Daemon(policies=bare) as plain, \
            Rig(shared, "n1", "n2", "n3", is_proxied=bool(options.calls and not options.rounds), **slots) as rig:
        clients = {name: Client(rig.daemons[name].socket) for name in rig.names}
        result = clients["n1"].request("tools/call", name="execute_code", arguments={"code": "pass"})
        home = result["_meta"].get("org.warder/node", "n1")
        away = next(name for name in rig.names if name != home)
        if options.rounds:
            with Client(plain.socket) as unclustered, bus_requests(build / "tests/bench/bus-bench") as bus_request:
                for client in (unclustered, clients[home], clients[away]):
                    for _ in range(20):
                        pass_ms(client)
                costs(options.rounds, rig, unclustered, clients, home, away, bus_request)
        if options.refusals:
            refusals(options.refusals, rig, clients, home)
        for client in clients.values():
            client.close()
        if options.calls:
            time.sleep(10)
            chaos(options.calls, options.minutes, options.fault, rig, home, account)


main()
