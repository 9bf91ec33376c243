#!/usr/bin/env python3
"""What a request over HTTP costs, beside the same request as a line of JSON on the same Unix socket in the same run.

    python3 tests/bench/http.py --warderd build/release/supervisor/warderd [--rounds 500] [--streams 1000]

One daemon of its own. Rounds alternate between lines and HTTP. Also: the time from a hang-up to the end of the program
that the client waited for, the daemon's memory with and without --http, and the memory of idle event streams.
Prints figures and judges none. Unix sockets and loopback only. Bounded by its arguments.
"""
import argparse
import json
import os
import pathlib
import re
import socket
import statistics
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import META, Daemon  # noqa: E402

from bench_policies import policies_in  # noqa: E402

BEATS = """
import time
while True:
    open('/workspace/beat', 'w').close()
    time.sleep(0.001)
"""


def connect(path):
    one = socket.socket(socket.AF_UNIX)
    one.connect(str(path))
    one.settimeout(120)
    return one


def message(method, params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": {**META, **params.get("_meta", {})}}})


def post(method, params):
    body = message(method, params)
    name = f"Mcp-Name: {params['name']}\r\n" if "name" in params else ""
    return (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}Content-Length: {len(body)}\r\n\r\n{body}").encode()


def line_exchange(one, request):
    one.sendall(request)
    parts = []
    while not parts or not parts[-1].endswith(b"\n"):
        parts.append(one.recv(1 << 20))
    return sum(map(len, parts))


def http_exchange(one, request):
    one.sendall(request)
    answer = one.recv(1 << 20)
    while b"\r\n\r\n" not in answer:
        answer += one.recv(1 << 20)
    end = answer.index(b"\r\n\r\n") + 4
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json"), answer[:300]
    left = int(re.search(rb"Content-Length: (\d+)", answer[:end])[1]) - (len(answer) - end)
    while left > 0:
        left -= len(one.recv(1 << 20))


def compare(daemon, name, method, params, rounds):
    lines, web = connect(daemon.socket), connect(daemon.socket)
    line, request = message(method, params).encode() + b"\n", post(method, params)
    taken = {"lines": [], "http": []}
    for _ in range(rounds):
        for kind, exchange, one, text in ("lines", line_exchange, lines, line), ("http", http_exchange, web, request):
            began = time.perf_counter()
            exchange(one, text)
            taken[kind].append((time.perf_counter() - began) * 1e6)
    lines.close()
    web.close()
    of = {kind: (statistics.median(all_), sorted(all_)[int(len(all_) * 0.99)]) for kind, all_ in taken.items()}
    print(f"{name}: p50 lines {of['lines'][0]:.0f} us, HTTP {of['http'][0]:.0f} us, ratio {of['http'][0] / of['lines'][0]:.2f}; "
          f"p99 {of['lines'][1]:.0f} and {of['http'][1]:.0f} us, ratio {of['http'][1] / of['lines'][1]:.2f}")


def hang_ups(daemon, rounds):
    beat = None
    taken = []
    for _ in range(rounds):
        one = connect(daemon.socket)
        one.sendall(post("tools/call", {"name": "execute_code", "arguments": {"code": BEATS}}))
        began = time.time()
        while beat is None or not beat.exists() or beat.stat().st_mtime < began:
            beat = next(daemon.state.glob("tenants/*/workspace/beat"), None)
            time.sleep(0.005)
        time.sleep(0.05)
        closed = time.time()
        one.close()
        time.sleep(0.4)
        taken.append((beat.stat().st_mtime - closed) * 1e3)
    print(f"hang-up to the program's last write: p50 {statistics.median(taken):.1f} ms, most {max(taken):.1f} ms")


def memory_kib(daemon):
    """Resident memory of the daemon itself."""
    text = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1])


def streams(daemon, count):
    before = memory_kib(daemon)
    request = post("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    all_ = []
    for _ in range(count):
        one = connect(daemon.socket)
        one.sendall(request)
        all_.append(one)
    for one in all_:
        text = b""
        while b"acknowledged" not in text:
            part = one.recv(65536)
            assert part, text  # refused
            text += part
    time.sleep(0.5)
    print(f"{count} idle event streams: {(memory_kib(daemon) - before) / count:.1f} KiB each")
    compare(daemon, "tools/list beside them", "tools/list", {}, 100)
    for one in all_:
        one.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--warderd", default=os.environ.get("WARDERD"))
    arguments.add_argument("--rounds", type=int, default=500)
    arguments.add_argument("--streams", type=int, default=1000)
    arguments.add_argument("--smoke", action="store_true")
    given = arguments.parse_args()
    rounds, count = (3, 5) if given.smoke else (given.rounds, given.streams)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Daemon(program=given.warderd) as daemon:
        time.sleep(1)
        plain = memory_kib(daemon)
    with tempfile.TemporaryDirectory() as folder, \
            Daemon(program=given.warderd, policies=policies_in(folder, admission={"connections": count + 64}),
                   arguments=["--http", f"127.0.0.1:{port}"]) as daemon:
        time.sleep(1)
        print(f"resident memory at rest: {plain} KiB, with --http {memory_kib(daemon)} KiB")
        libraries = pathlib.Path(f"/proc/{daemon.process.pid}/maps").read_text()
        print(f"libcurl loaded: {'libcurl' in libraries}")
        with daemon.connect() as client:
            client.call("write_workspace_file", {"filename": "small", "content": "x" * 32})
            client.call("execute_code", {"code": "open('/workspace/large', 'w').write('y' * (1 << 20))"})
        compare(daemon, "server/discover", "server/discover", {}, rounds)
        compare(daemon, "read of 32 bytes", "tools/call", {"name": "read_workspace_file", "arguments": {"filename": "small"}}, rounds)
        compare(daemon, "read of 1 MiB", "tools/call", {"name": "read_workspace_file", "arguments": {"filename": "large", "limit": 1 << 20}}, max(3, rounds // 10))
        compare(daemon, "execute_code: pass", "tools/call", {"name": "execute_code", "arguments": {"code": "pass"}}, max(3, rounds // 5))
        hang_ups(daemon, 2 if given.smoke else 20)
        streams(daemon, count)


if __name__ == "__main__":
    main()
