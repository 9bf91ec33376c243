#!/usr/bin/env python3
"""How fast sanitize_pii is over MCP: MB/s of text, beside what else the same bytes cost in the same run.

    python3 tests/bench/sanitize.py --warderd build/release/supervisor/warderd [--rounds 5] [--source FOLDER] [--smoke]

One daemon, one connection. Texts with little personal data (one every 20,000 bytes), with much (every 200) and source code
(FOLDER's files, the standard library of this Python). A figure is from the first byte of the request to the newline of
the answer; the client neither builds nor parses JSON meanwhile. Beside it, also in MB/s of the same text:
    loop   the processor time of the daemon's loop for that answer: others on a busy machine are not in it
    ping   the same text as a parameter of ping: the socket and the daemon's reading alone
    json   Python's json.loads of the request and json.dumps of the answer: what any client pays
The best of the rounds. Prints figures and judges none. Unix sockets only.
"""
import argparse
import json
import os
import pathlib
import random
import sys
import sysconfig
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(1, str(TOP / "tests"))
from daemon import META, Daemon  # noqa: E402

DATA = ["ada@lovelace.org", "(555) 234-5678", "+44 20 7946 0958", "078-05-1120", "4111 1111 1111 1111", "192.168.10.44",
        "DE89 3704 0044 0532 0130 00", "AKIAIOSFODNN7ABCDEFG", "password=Tr0ub4dor&3x"]
WORDS = """the request was answered after 12 ms by server-3; status 200, 2026-11-21 12:34:56 see issue #4711: std::vector<int>
total 1,024.50 of customers in v1.2.3 order https://example.org/a/b?c=d Monday (again) was late and nobody""".split() + ["noticed.\n"]


def made(size, every):
    """Words as in reports and logs, with a datum every so many bytes."""
    chance, parts, length, due = random.Random(7), [], 0, every
    while length < size:
        word = chance.choice(WORDS if length < due else DATA)
        due += every if length >= due else 0
        parts.append(word)
        length += len(word) + 1
    return " ".join(parts)[:size]


def source(size, folder):
    text = ""
    for file in sorted(pathlib.Path(folder).rglob("*.py")):
        text += file.read_text(errors="replace")
        if len(text.encode()) >= size:
            break
    return text.encode()[:size].decode(errors="ignore")


class Client:
    def __init__(self, daemon):
        self.socket = daemon.connect(300).socket
        self.usage = pathlib.Path(f"/proc/{daemon.process.pid}/schedstat")

    def loop_seconds(self):
        return int(self.usage.read_text().split()[0]) / 1e9

    def exchange(self, line):
        """Seconds from the first byte of `line` to the newline of its answer, and the answer."""
        parts, begun = [], time.perf_counter()
        self.socket.sendall(line)
        while not parts or not parts[-1].endswith(b"\n"):
            parts.append(self.socket.recv(1 << 20))
            if not parts[-1]:
                raise EOFError("the daemon closed the connection")
        return time.perf_counter() - begun, b"".join(parts)


def line(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}},
                      ensure_ascii=False).encode() + b"\n"


def measure(client, text, rounds):
    """Seconds of each column, the best of the rounds; what was found, or why it was refused."""
    order, ping = line("tools/call", name="sanitize_pii", arguments={"text": text}), line("ping", text=text)
    best = {}
    for _ in range(rounds):
        before = client.loop_seconds()
        took, answer = client.exchange(order)
        loop = client.loop_seconds() - before
        begun = time.perf_counter()
        json.loads(order), json.dumps(said := json.loads(answer)["result"], ensure_ascii=False)
        times = {"sanitize_pii": took, "loop": loop, "ping": client.exchange(ping)[0], "json": time.perf_counter() - begun}
        best = {name: min(seconds, best.get(name, seconds)) for name, seconds in times.items()}
    if said.get("isError"):
        return best, said["content"][0]["text"][:100]
    return best, f"{said['structuredContent']['pii_found']} found"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--source", default=sysconfig.get_path("stdlib"))
    parser.add_argument("--smoke", action="store_true", help="small texts, once")
    options = parser.parse_args()
    sizes = [100_000] if options.smoke else [1_000_000, 3_500_000, 15_000_000]
    rounds = 1 if options.smoke else options.rounds
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; MB/s of text, the best of {rounds}\n")
    print(f"{'text':24}{'sanitize_pii':>14}{'loop':>10}{'ping':>10}{'json':>10}")
    with Daemon(options.warderd) as daemon:
        client = Client(daemon)
        for size in sizes:
            for name, text in (("sparse", made(size, 20_000)), ("dense", made(size, 200)), ("source code", source(size, options.source))):
                best, said = measure(client, text, rounds)
                speeds = [len(text.encode()) / 1e6 / best[column] for column in ("sanitize_pii", "loop", "ping", "json")]
                print(f"{name + f', {size / 1e6:g} MB':24}{speeds[0]:14.1f}{speeds[1]:10.1f}{speeds[2]:10.1f}{speeds[3]:10.1f}   {said}")


if __name__ == "__main__":
    main()
