#!/usr/bin/env python3
"""Event streams that are cut at random places and resumed by Last-Event-ID: is each event there once, and in its order?

    python3 tests/bench/cut_streams.py --warderd build/release/supervisor/warderd [--cuts 1000] [--seed 1]

One daemon of its own, and clients of 2025-11-25 on its Unix socket, side by side. Each calls a program that reports
progress, reads a random number of bytes of the reply, closes the connection (by a reset in half of the cases), and
resumes after its last whole event, until it has the answer. Also replies that have ended are cut and resumed.
Prints counts, and exits with status 1 if an event is missing, there twice, or out of order without a word from the
daemon. Bounded by its arguments.
"""
import argparse
import json
import os
import pathlib
import random
import re
import socket
import struct
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Daemon  # noqa: E402

from bench_policies import policies_in  # noqa: E402

CLIENTS = 16
LINES = 6
CODE = f"import time\nfor i in range({LINES}):\n    print('line', i, flush=True)\n    time.sleep(0.26)\nresult = 'done'"
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}}


class Cut(Exception):
    """This end has closed the connection."""


class Reply:
    """The reply to one request, as far as the budget of bytes goes."""

    def __init__(self, path, method, headers, body=b""):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.settimeout(60)
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.socket.sendall(f"{method} /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}{length}\r\n".encode() + body)
        self.read, self.budget = b"", None  # no budget: not to be cut
        self.head = self.until(b"\r\n\r\n").decode()
        self.status = int(self.head.split(" ", 2)[1])

    def field(self, name):
        found = re.search(rf"^{name}: *(.*?)\r$", self.head + "\r\n", re.IGNORECASE | re.MULTILINE)
        return found and found[1]

    def more(self):
        if self.budget is not None and self.budget <= 0:
            raise Cut
        part = self.socket.recv(65536 if self.budget is None else min(self.budget, 4096))
        if not part:
            raise EOFError("the daemon closed the connection")
        if self.budget is not None:
            self.budget -= len(part)
        self.read += part

    def until(self, mark):
        while mark not in self.read:
            self.more()
        found, _, self.read = self.read.partition(mark)
        return found

    def exactly(self, count):
        while len(self.read) < count:
            self.more()
        found, self.read = self.read[:count], self.read[count:]
        return found

    def body(self):
        return self.exactly(int(self.field("Content-Length") or 0))

    def events(self):
        """The whole events, as (id, data)."""
        text = b""
        while size := int(self.until(b"\r\n"), 16):
            text += self.exactly(size)
            self.until(b"\r\n")
            while b"\n\n" in text:
                event, _, text = text.partition(b"\n\n")
                fields = dict(line.partition(": ")[::2] for line in event.decode().split("\n") if not line.startswith(":"))
                if fields:
                    yield fields.get("id"), fields.get("data", "")

    def close(self, reset):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Counts:
    def __init__(self, cuts):
        self.lock = threading.Lock()
        self.left = cuts
        self.calls = self.cuts = self.events = self.missing = self.twice = self.disordered = self.told_lost = 0
        self.wrong_answers = 0

    def take_cut(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0


def call_with_cuts(path, session, number, counts, choose):
    """One call, from its request to its answer."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **session}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": "execute_code", "arguments": {"code": CODE}, "_meta": {"progressToken": number}}}
    reply = Reply(path, "POST", headers, json.dumps(request).encode())
    assert reply.field("Content-Type") == "text/event-stream", reply.head
    last, got, answer, cuts = None, [], None, 0
    while True:
        try:
            for event, data in reply.events():
                last = event
                if data:
                    got.append(int(event.rsplit("-", 1)[1]))
                    message = json.loads(data)
                    answer = message if "id" in message else answer
                if reply.budget is None and counts.take_cut():  # after an event, so that there is one to go on from
                    reply.budget = choose.randrange(0, 700)
                    cuts += 1
            reply.close(reset=False)
            if answer is None or choose.random() < 0.6 or not counts.take_cut():
                break
            cuts += 1  # the reply is whole: a part of it is asked for again
            last = last.rsplit("-", 1)[0] + f"-{choose.randrange(0, got[-1] + 1)}"
            got = [number for number in got if number <= int(last.rsplit("-", 1)[1])]
        except Cut:
            reply.close(reset=choose.random() < 0.5)
        reply = Reply(path, "GET", {"Accept": "text/event-stream", "Last-Event-ID": last, **session})
        if reply.status != 200:
            reply.close(reset=False)
            with counts.lock:
                counts.told_lost += 1
            break
    with counts.lock:
        counts.calls += 1
        counts.cuts += cuts
        counts.events += len(got)
        counts.twice += len(got) - len(set(got))
        counts.missing += len(set(range(1, max(got, default=0) + 1)) - set(got))
        counts.disordered += got != sorted(got)
        text = (answer or {}).get("result", {}).get("content", [{}])[0].get("text", "{}")
        counts.wrong_answers += json.loads(text).get("result") != "done"


def client(path, counts, seed, failures):
    try:
        choose = random.Random(seed)
        hello = Reply(path, "POST", {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
                      json.dumps(HELLO).encode())
        hello.body()
        session = {"Mcp-Session-Id": hello.field("Mcp-Session-Id"), "MCP-Protocol-Version": "2025-11-25"}
        number = 0
        while counts.left > 0:
            number += 1
            call_with_cuts(path, session, number, counts, choose)
    except Exception as problem:  # a thread's exception would only be printed
        failures.append(repr(problem))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--warderd", default=os.environ.get("WARDERD"))
    arguments.add_argument("--cuts", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--smoke", action="store_true")
    given = arguments.parse_args()
    counts, failures = Counts(24 if given.smoke else given.cuts), []
    with tempfile.TemporaryDirectory() as folder, \
            Daemon(program=given.warderd,
                   policies=policies_in(folder, admission={"connections": 4 * CLIENTS, "concurrent_executions": CLIENTS})) as daemon:
        threads = [threading.Thread(target=client, args=(daemon.socket, counts, f"{given.seed}-{n}", failures))
                   for n in range(4 if given.smoke else CLIENTS)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    print(f"{counts.cuts} cuts of the replies to {counts.calls} calls, {counts.events} events: {counts.missing} missing, "
          f"{counts.twice} twice, {counts.disordered} calls out of order, {counts.wrong_answers} without their answer; "
          f"{counts.told_lost} said to be lost")
    for problem in failures:
        print(f"a client ended: {problem}")
    silent = counts.missing + counts.twice + counts.disordered + max(0, counts.wrong_answers - counts.told_lost)
    return 1 if silent or failures or counts.cuts == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
