#!/usr/bin/env python3
"""What the egress proxy costs: an execution with a network by name, a large answer through a tunnel, short requests.

    python3 tests/bench/egress.py [--build build/release] [--rounds 100] [--megabytes 1024] [--requests 10000]

In one run, interleaved:
- a warm `pass` of a tenant without egress, and of one with it (two daemons);
- so many megabytes from a host through a tunnel of warder-egress, beside socat between two TCP sockets;
- so many short requests through warder-egress, one connection each, beside tinyproxy.
Peers that are not installed are left out, and the output says so. All on loopback. Prints figures and judges no time.
"""
import sys

HERE = sys.path.pop(0)  # this folder has an http.py, too
import argparse  # noqa: E402
import contextlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import shutil  # noqa: E402
import socket  # noqa: E402
import ssl  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
sys.path.insert(0, str(TOP / "tests/supervisor"))
from daemon import Daemon, DaemonFailed  # noqa: E402
from egress_harness import EgressClient, EgressProcess, NameServer, Web, ask  # noqa: E402

sys.path.append(HERE)
from bench_policies import policies_in  # noqa: E402

HOST = "api.example.test"
BUDGETS = {"connections": 256, "bytes_up": 1 << 40, "bytes_down": 1 << 40, "seconds": 3600}


def hello():
    """The first message of TLS for the host; the bytes after it can be anything."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=HOST).do_handshake()
    return outgoing.read()


class Source:
    """Sends so many bytes to each client that has sent a byte."""

    def __init__(self, size):
        self.size, self.listener = size, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        block = memoryview(bytes(1 << 20))
        while True:
            client, _ = self.listener.accept()
            with client, contextlib.suppress(OSError):
                client.recv(1 << 16)
                for at in range(0, self.size, len(block)):
                    client.sendall(block[:min(len(block), self.size - at)])


def read_all(sock, size):
    began, left, buffer = time.perf_counter(), size, bytearray(1 << 20)
    while left > 0:
        got = sock.recv_into(buffer)
        if not got:
            sys.exit("a transfer was cut")
        left -= got
    return time.perf_counter() - began


def through_tunnel(proxy, source, size):
    with socket.create_connection(("127.0.0.1", proxy)) as sock:
        sock.sendall(f"CONNECT {HOST}:{source.port} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        if not sock.recv(4096).startswith(b"HTTP/1.1 200 "):
            sys.exit("the tunnel was refused")
        sock.sendall(hello())
        return read_all(sock, size)


def through_socat(source, size):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    relay = subprocess.Popen(["socat", "-b", "262144", f"TCP-LISTEN:{port},reuseaddr,bind=127.0.0.1", f"TCP:127.0.0.1:{source.port}"])
    try:
        for _ in range(200):
            with contextlib.suppress(ConnectionRefusedError):
                sock = socket.create_connection(("127.0.0.1", port))
                break
            time.sleep(0.01)
        with sock:
            sock.sendall(hello())
            return read_all(sock, size)
    finally:
        relay.kill()
        relay.wait()


def tunnels(proxy, size):
    source = Source(size)
    ours, peer = [], []
    for _ in range(3):
        ours.append(through_tunnel(proxy(source.port), source, size))
        if shutil.which("socat"):
            peer.append(through_socat(source, size))
    rate = size / 1e6 / statistics.median(ours)
    if not peer:
        return print(f"{size >> 20} MiB through a tunnel: {rate:.0f} MB/s; socat is not installed")
    other = size / 1e6 / statistics.median(peer)
    print(f"{size >> 20} MiB through a tunnel: {rate:.0f} MB/s, socat {other:.0f} MB/s, ratio {rate / other:.2f}")


def timed_requests(port, url, count):
    request = f"GET {url} HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode()
    began = time.perf_counter()
    for _ in range(count):
        reply = ask(port, request)
        if b" 200 " not in reply[:20]:
            sys.exit(f"a request failed: {reply[:200]}")
    return time.perf_counter() - began


def short_requests(proxy, count):
    web = Web()
    port = proxy(web.port)
    url = f"http://{HOST}:{web.port}/"
    peer_url = f"http://127.0.0.1:{web.port}/"
    with tempfile.TemporaryDirectory() as folder:
        relay, peer_port = None, 0
        if shutil.which("tinyproxy"):
            with socket.create_server(("127.0.0.1", 0)) as free:
                peer_port = free.getsockname()[1]
            file = pathlib.Path(folder) / "tinyproxy.conf"
            file.write_text(f"Port {peer_port}\nListen 127.0.0.1\nAllow 127.0.0.1\nTimeout 60\nMaxClients 200\nLogLevel Critical\nDisableViaHeader Yes\n")
            relay = subprocess.Popen(["tinyproxy", "-d", "-c", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
        ours, peer = 0.0, 0.0
        try:
            for _ in range(10):
                ours += timed_requests(port, url, count // 10)
                if relay:
                    peer += timed_requests(peer_port, peer_url, count // 10)
        finally:
            if relay:
                relay.kill()
                relay.wait()
    told = f"{count} requests, a connection each: {1e6 * ours / count:.0f} us each"
    print(f"{told}, tinyproxy {1e6 * peer / count:.0f} us, ratio {ours / peer:.2f}" if peer else f"{told}; tinyproxy is not installed")


def executions(given, egress, rounds):
    """Warm programs, with and without egress."""
    with contextlib.ExitStack() as stack:
        clients = []
        for rules in ([], [{"host": HOST, "loopback": True}]):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            os.chmod(folder, 0o755)
            config = pathlib.Path(folder) / "warderd.json"
            config.write_text(json.dumps({"egress_socket": egress.socket}))
            changes = {"egress": {"rules": rules, **BUDGETS}} if rules else {}
            daemon = stack.enter_context(Daemon(program=given.build / "supervisor/warderd", policies=policies_in(folder, **changes),
                                                arguments=("--config", config)))
            clients.append(stack.enter_context(daemon.connect()))
        took = [[], []]
        for number in range(rounds + 10):
            for which, client in enumerate(clients):
                time.sleep(0.03)
                began = time.perf_counter()
                client.call("execute_code", {"code": "pass"})
                if number >= 10:
                    took[which].append(time.perf_counter() - began)
    without, with_it = (1e3 * statistics.median(column) for column in took)
    print(f"warm `pass`, p50: without egress {without:.2f} ms, with {with_it:.2f} ms, ratio {with_it / without:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build/release")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--requests", type=int, default=10_000)
    given = parser.parse_args()
    os.environ["WARDER_EGRESS"] = str(given.build / "supervisor/egress/warder-egress")
    names = NameServer()
    names.answers = {HOST: ["127.0.0.1"]}
    egress = EgressProcess("--name-servers", names.address)
    egress.open_to_all()
    try:
        client = EgressClient(egress.socket)
        threading.Thread(target=lambda: [None for _ in iter(lambda: client.socket.recv(1 << 18), b"")], daemon=True).start()

        def proxy(port):
            return client.open([{"loopback": True, "host": HOST, "ports": [port]}], **BUDGETS)
        client.socket.settimeout(None)
        executions(given, egress, given.rounds)
        tunnels(proxy, given.megabytes << 20)
        short_requests(proxy, given.requests)
    finally:
        egress.stop()


try:
    main()
except DaemonFailed as e:
    sys.exit(str(e))
