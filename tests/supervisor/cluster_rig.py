"""A cluster on this machine: a real nats-server with the users that `warder cluster` writes, and for each node a
warder-node and a warderd. All on loopback and Unix sockets, in a temporary folder; all processes end with the scope.
"""
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from cluster_proxy import Proxy
from harness import PATIENCE, Daemon
from node_double import id_range
from ports import free_port

NATS_SERVER = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/sbin")


def warder(*words):
    done = subprocess.run([os.environ["WARDER"], *map(str, words)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"warder {words} failed: {done.stderr}")
    return done.stdout


class Process:
    """A program that writes its log into a file."""

    def __init__(self, log, *command):
        self.log, self.command, self.process = log, [str(word) for word in command], None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        process, self.process = self.process, None
        try:
            return process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"{self.command[0]} did not end:\n{self.log_text()[-3000:]}") from None

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Rig:
    def __init__(self, policies, *names, bus=None, buses=(), is_proxied=False, has_small_disks=False, **node_settings):
        """`bus`: a bus_harness.Bus on which the daemon of the first node is. `buses`: one for each node. With is_proxied, each node reaches nats-server
        through a proxy of its own (cluster_proxy.py). With has_small_disks, the states of a node are on disks of some MiB,
        in mount namespaces of their programs."""
        self.has_small_disks = has_small_disks
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-cluster-"))
        self.folder.chmod(0o755)
        self.names, self.policies, self.port, self.bus = names, policies, free_port(), None
        self.buses = dict(zip(names, buses or [bus] * bool(bus)))
        self.nodes, self.daemons, self.node_settings = {}, {}, node_settings
        self.proxies = {name: Proxy(self.port) for name in names} if is_proxied else {}

    def __enter__(self):
        try:
            self.make_files()
            self.bus = Process(self.folder / "nats.log", NATS_SERVER, "-c", self.folder / "n1/server.conf")
            self.bus.start()
            self.wait(lambda: self.is_listening(), "nats-server listens")
            for name in self.names:
                folder = self.folder / name
                self.nodes[name] = Process(folder / "node.log", os.environ["WARDER_NODE"], "--config", folder / "node.json",
                                           "--daemon-user", (folder / "user").read_text())
                on_bus = {"bus": self.buses[name].address} if name in self.buses else {}
                self.daemons[name] = Daemon(policies=self.policies, arguments=("--config", folder / "warderd.json"), **on_bus)
                self.daemons[name].arguments += ("--metrics", self.daemons[name].socket.parent / "metrics.sock")
                if self.has_small_disks:
                    self.put_on_small_disks(name)
                self.nodes[name].start()
                self.daemons[name].__enter__()
            for name in self.names:
                self.wait(lambda name=name: "acts as a home" in self.daemons[name].log_text(), f"{name} has its lease")
            return self
        except BaseException:
            print(self.logs())
            self.end()
            raise

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.logs())
        self.end(kind is None)

    def logs(self):
        """The last lines of each program's log, for a failed test."""
        programs = {"nats-server": self.bus} if self.bus else {}
        programs.update({f"warder-node of {name}": node for name, node in self.nodes.items()})
        programs.update({f"warderd of {name}": daemon for name, daemon in self.daemons.items()})
        return "".join(f"--- {name}\n{program.log_text()[-2000:]}\n" for name, program in programs.items())

    def put_on_small_disks(self, name):
        def launcher(state):
            mount = 'mount -t tmpfs -o size=24m,mode=711 tmpfs "$0" && exec "$@"'
            return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, str(state)]
        node, daemon = self.nodes[name], self.daemons[name]
        node.command = [*launcher(self.folder / name / "state"), *node.command]
        daemon.state.mkdir()
        daemon.launcher = launcher(daemon.state)

    def disks(self, name):
        """The folders of the states of warderd and warder-node on their small disks."""
        node, daemon = self.nodes[name], self.daemons[name]
        return (pathlib.Path(f"/proc/{daemon.process.pid}/root{daemon.state}"),
                pathlib.Path(f"/proc/{node.process.pid}/root{self.folder / name / 'state'}"))

    def end(self, is_good=False):
        failures = []
        for daemon in self.daemons.values():
            try:
                daemon.__exit__(None, None, None)
            except Exception as e:  # noqa: BLE001, told below
                failures.append(e)
        for name, node in self.nodes.items():
            status = node.stop()
            if status != 0 or "ERROR: AddressSanitizer" in node.log_text() or "runtime error:" in node.log_text():
                failures.append(AssertionError(f"warder-node of {name} ended with {status}:\n{node.log_text()[-4000:]}"))
        if self.bus:
            self.bus.stop()
        for proxy in self.proxies.values():
            proxy.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if is_good and failures:
            raise failures[0]

    @staticmethod
    def wait(holds, what):
        until = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > until:
                raise AssertionError(f"still not after {PATIENCE} s: {what}")
            time.sleep(0.05)

    def is_listening(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def make_files(self):
        first, server = self.folder / self.names[0], f"nats://127.0.0.1:{self.port}"
        for number, name in enumerate(self.names):
            folder = self.folder / name
            if number == 0:
                warder("cluster", "init", "--name", "test", "--node", name, "--server", server, "--folder", folder)
            else:
                request = warder("cluster", "join", "--cluster", "test", "--node", name, "--server", server,
                                 "--folder", folder).strip()
                warder("cluster", "add", request, "--folder", first)
            (folder / "state").mkdir()
            self.change(folder / "node.json", state=str(folder / "state"), socket=str(folder / "node.sock"),
                        warderd=str(folder / "in.sock"), ca="", **self.node_settings)
            if name in self.proxies:
                self.change(folder / "node.json", servers=[f"nats://127.0.0.1:{self.proxies[name].port}"])
            ids = {"id_range": id_range(number)} if id_range(number) else {}
            # Without a user "warder", a daemon of root becomes the last id of its range.
            last = ids["id_range"]["first"] + ids["id_range"]["count"] - 1 if ids else os.geteuid()
            if name in self.buses and ids:  # a bus takes nobody who is not in /etc/passwd
                ids["user"] = ("daemon", "bin", "sys")[number]
                last = pwd.getpwnam(ids["user"]).pw_uid
            (folder / "user").write_text(str(last))
            (folder / "warderd.json").write_text(json.dumps(
                {"cluster": {"socket": str(folder / "node.sock"), "listen": str(folder / "in.sock"),
                             "trust": str(folder / "trust.record")}, **ids}))
        for name in self.names[1:]:
            shutil.copy(first / "trust.record", self.folder / name)
        (first / "server.conf").write_text(
            f'listen: "127.0.0.1:{self.port}"\nserver_name: test\njetstream {{ store_dir: "{self.folder}/jetstream" }}\n'
            'accounts { WARDER { jetstream: enabled, include "nats-nodes.conf" } }\n')
        for path in [self.folder, *self.folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)

    @staticmethod
    def change(file, **values):
        file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
