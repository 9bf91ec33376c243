#!/usr/bin/env python3
"""What it costs executions that a daemon is watched: 1,000 D-Bus property reads a second, a monitor, `warder top` and a
scrape of the metrics every second, all at once.

    python3 tests/bench/watching.py --warderd build/release/supervisor/warderd [--blocks 20] [--smoke]

Blocks of warm executions, in turn with the watchers and without, one daemon on a bus of its own; a ratio is the median
over neighbouring blocks of (p50 watched / p50 alone). Prints figures and judges none. Unix sockets only. Bounded by its
arguments; Ctrl-C ends everything.
"""
import argparse
import contextlib
import ctypes
import json
import multiprocessing
import os
import pathlib
import pty
import socket
import statistics
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[1:1] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
from bus_harness import MANAGER, NAME, PATH, Bus, BusDaemon  # noqa: E402
from harness import Policies  # noqa: E402
from latency import request, sleep  # noqa: E402
from load import percentile  # noqa: E402

READS, READERS = 1000, 4  # a second; of all readers together
PROPERTIES = ("State", "Running", "WaitingJails", "Executions", "Outcomes", "AnswerUSec", "Ledger", "Pool")
POOL = {"min_idle": 4, "max_idle": 8, "zygotes": True}
LATE = 0.1  # seconds of reads that are made up for, at most
GAP = 0.02  # seconds before each execution: as an agent that thinks, and time for the pool


def read_properties(address, reads, ready, enough):
    """As often as told, one after the other, by libsystemd as busctl and its like do."""
    library = ctypes.CDLL("libsystemd.so.0")
    bus, answer = ctypes.c_void_p(), ctypes.c_void_p()

    def check(status):
        assert status >= 0, os.strerror(-status)

    check(library.sd_bus_new(ctypes.byref(bus)))
    check(library.sd_bus_set_address(bus, address.encode()))
    check(library.sd_bus_set_bus_client(bus, 1))
    check(library.sd_bus_start(bus))
    names = [name.encode() for name in PROPERTIES]
    place = NAME.encode(), PATH.encode(), b"org.freedesktop.DBus.Properties", b"Get"
    due = time.perf_counter()
    while not enough.is_set():
        check(library.sd_bus_call_method(bus, *place, None, ctypes.byref(answer), b"ss", MANAGER.encode(),
                                         names[reads.value % len(names)]))
        library.sd_bus_message_unref(answer)
        reads.value += 1
        ready.set()
        due = max(due + READERS / READS, time.perf_counter() - LATE)
        time.sleep(max(0, due - time.perf_counter()))


def scrape(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: warder\r\nConnection: close\r\n\r\n")
        text = b""
        while piece := connection.recv(1 << 16):
            text += piece
    assert text.endswith(b"# EOF\n"), text[-100:]


def drain(terminal):
    with contextlib.suppress(OSError):  # nobody has it open any more
        while os.read(terminal, 1 << 16):
            pass


class Watchers:
    """All of them, while this is entered."""

    def __init__(self, bus, daemon, warder):
        self.bus, self.daemon, self.warder = bus, daemon, warder
        self.reads, self.scrapes = [multiprocessing.Value("Q", 0, lock=False) for _ in range(READERS)], 0

    def __enter__(self):
        self.began = time.perf_counter()
        ready, self.enough = multiprocessing.Event(), multiprocessing.Event()
        self.asking = [multiprocessing.Process(target=read_properties, args=(self.bus.address, reads, ready, self.enough))
                       for reads in self.reads]
        for reader in self.asking:
            reader.start()
        self.monitor = subprocess.Popen(["busctl", f"--address={self.bus.address}", "monitor", NAME], bufsize=0,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.monitor.stdout.readline()  # it monitors
        terminal, inside = pty.openpty()
        self.top = subprocess.Popen([self.warder, "top", "--bus", self.bus.address], stdin=inside, stdout=inside,
                                    stderr=inside, env={**os.environ, "TERM": "xterm"})
        os.close(inside)
        os.read(terminal, 1)  # it shows something
        self.drains = [threading.Thread(target=drain, args=(fd,)) for fd in (terminal, self.monitor.stdout.fileno())]
        self.scraper = threading.Thread(target=self.scrape_each_second)
        for thread in (*self.drains, self.scraper):
            thread.start()
        self.terminal = terminal
        ready.wait(60)
        return self

    def scrape_each_second(self):
        while not self.enough.is_set():
            scrape(self.daemon.directory / "metrics.sock")
            self.scrapes += 1
            self.enough.wait(1)

    def __exit__(self, *_):
        self.enough.set()
        took = time.perf_counter() - self.began
        for process in (self.monitor, self.top):
            process.terminate()
            process.wait(60)
        for thread in (*self.asking, *self.drains, self.scraper):
            thread.join(60)
        os.close(self.terminal)
        self.monitor.stdout.close()
        self.rate = sum(reads.value for reads in self.reads) / took
        assert not any(reader.exitcode for reader in self.asking) and self.scrapes > 0


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Block:
    """The answers of some executions, in seconds, and what the daemon and the bus used of a processor meanwhile."""

    def __init__(self, client, daemon, bus, count):
        pids = daemon.process.pid, bus.process.pid
        before, began = [cpu_seconds(pid) for pid in pids], time.perf_counter()
        self.answers = []
        for number in range(count):
            sleep(GAP)
            line = request(number, "pass")
            sent = time.perf_counter()
            client.socket.sendall(line)
            answer = json.loads(client.lines.readline())["result"]
            self.answers.append(time.perf_counter() - sent)
            self.start = answer["_meta"]["org.warder/receipt"]["start"]
        took = time.perf_counter() - began
        self.daemon, self.bus = [(cpu_seconds(pid) - used) / took for pid, used in zip(pids, before)]


def fill_pool(client, daemon, bus):
    """Until executions find jails that wait: bounded, and said when they do not."""
    for _ in range(40):
        if Block(client, daemon, bus, 5).start != "cold":
            return
    print("! every jail is built when it is asked for: these are not warm executions")


def show(name, blocks):
    answers = [1000 * seconds for block in blocks for seconds in block.answers]
    times = " ".join(f"{percentile(answers, part):9.2f}" for part in (0.1, 0.5, 0.99))
    print(f"{name:12} {times} {100 * statistics.mean(b.daemon for b in blocks):9.1f}% "
          f"{100 * statistics.mean(b.bus for b in blocks):9.1f}% {len(answers):7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--warder", default=os.environ.get("WARDER"), help="else beside it, as the build has them")
    parser.add_argument("--blocks", type=int, default=20, help="of each kind")
    parser.add_argument("--executions", type=int, default=60, help="in a block")
    parser.add_argument("--smoke", action="store_true", help="one small block of each: that every figure is produced")
    options = parser.parse_args()
    if options.smoke:
        options.blocks, options.executions = 1, 5
    warder = options.warder or pathlib.Path(options.warderd).parent / "programs/cli/warder"
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    alone, watched, rates = [], [], []
    with Bus() as bus, Policies(pool=POOL) as policies:
        daemon = BusDaemon(bus, program=options.warderd, policies=policies)
        daemon.arguments += ["--metrics", str(daemon.directory / "metrics.sock")]
        with daemon, daemon.connect() as client:
            fill_pool(client, daemon, bus)
            for n in range(2 * options.blocks):
                if n % 4 in (0, 3):  # either is first in every other pair
                    alone.append(Block(client, daemon, bus, options.executions))
                    continue
                with Watchers(bus, daemon, warder) as watchers:
                    watched.append(Block(client, daemon, bus, options.executions))
                rates.append(watchers.rate)
    print(f"\n{'ms':12} {'p10':>9} {'p50':>9} {'p99':>9} {'daemon':>10} {'bus':>10} {'n':>7}")
    show("alone", alone)
    show("watched", watched)
    ratios = [statistics.median(b.answers) / statistics.median(a.answers) for a, b in zip(alone, watched)]
    print(f"\np50 watched / alone: {statistics.median(ratios):.2f} (of single blocks {min(ratios):.2f} to {max(ratios):.2f})")
    print(f"{statistics.median(rates):.0f} reads a second; jails started as {sorted({b.start for b in alone + watched})}")
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
