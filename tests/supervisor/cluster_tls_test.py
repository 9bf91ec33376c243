"""Three servers of NATS with TLS and three nodes, made as units/cluster.md says, without systemd: the names n1.example to
n3.example are loopback addresses, and the ports are free ones. The leader of the servers is killed while agents work.
"""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest

from cluster_agents import DONE, Work
from cluster_rig import NATS_SERVER, Process, Rig, warder
from ports import free_port
from harness import PATIENCE, Client, Daemon, Policies, eventually
from node_double import id_range

ACCOUNT = f"uid-{os.geteuid()}"
if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: three servers of NATS, because nats-server is missing: apt-get install nats-server ***\n")


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=PATIENCE)


class ThreeServers(Rig):
    """The servers of NATS are `servers`, by node; each is at its own loopback address."""

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.end)
            self.port, self.route_port, self.monitor_port = free_port(), free_port(), free_port()
            self.address = {name: f"127.0.0.{number + 2}" for number, name in enumerate(self.names)}
            self.make_certificates()
            self.follow_the_page()
            self.servers = {}
            for name in self.names:
                self.servers[name] = Process(self.folder / name / "nats.log", NATS_SERVER, "-c", self.folder / name / "nats.conf")
                self.servers[name].start()
            for name in self.names:
                self.nodes[name] = Process(self.folder / name / "node.log", os.environ["WARDER_NODE"], "--config",
                                           self.folder / name / "node.json", "--daemon-user", (self.folder / name / "user").read_text())
                self.daemons[name] = Daemon(policies=self.policies, arguments=("--config", self.folder / name / "warderd.json"))
                self.nodes[name].start()
                self.daemons[name].__enter__()
            for name in self.names:
                self.wait(lambda name=name: "acts as a home" in self.daemons[name].log_text(), f"{name} has its lease")
            undo.pop_all()
        return self

    def end(self, is_good=False):
        for server in getattr(self, "servers", {}).values():
            with contextlib.suppress(AssertionError):
                server.stop()
        super().end(is_good)

    def make_certificates(self):
        """An authority, and for each server a certificate that is good for a server and for a client (routes)."""
        authority = self.folder / "authority"
        authority.mkdir(mode=0o755)
        openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-days", 2, "-subj", "/CN=warder test",
                "-keyout", authority / "ca.key", "-out", authority / "ca.pem")
        for name in self.names:
            tls = self.folder / name / "tls"
            tls.mkdir(parents=True)
            names = authority / f"{name}.ext"
            names.write_text(f"subjectAltName=IP:{self.address[name]}\nextendedKeyUsage=serverAuth,clientAuth\n")
            openssl("req", "-newkey", "ed25519", "-nodes", "-subj", f"/CN={name}", "-keyout", tls / "server.key", "-out", authority / "csr")
            openssl("x509", "-req", "-in", authority / "csr", "-CA", authority / "ca.pem", "-CAkey", authority / "ca.key", "-CAcreateserial",
                    "-days", 2, "-extfile", names, "-out", tls / "server.pem")
            shutil.copy(authority / "ca.pem", tls)

    def follow_the_page(self):
        servers = [word for name in self.names for word in ("--server", f"tls://{self.address[name]}:{self.port}")]
        first, *others = self.names
        warder("cluster", "init", "--name", "main", "--node", first, *servers, "--folder", self.folder / first)
        for name in others:
            line = warder("cluster", "join", "--cluster", "main", "--node", name, *servers, "--folder", self.folder / name).strip()
            warder("cluster", "add", line, "--folder", self.folder / first)
        for number, name in enumerate(self.names):
            folder = self.folder / name
            if name != first:
                for file in ("trust.record", "nats-nodes.conf"):
                    shutil.copy(self.folder / first / file, folder)
            self.set_places(number, name)

    def set_places(self, number, name):
        """What one machine for all needs: ports, folders and sockets."""
        folder = self.folder / name
        conf = (folder / "nats.conf").read_text()
        for old, new in (("0.0.0.0:4222", f"{self.address[name]}:{self.port}"), ("0.0.0.0:6222", f"{self.address[name]}:{self.route_port}"),
                         (":6222", f":{self.route_port}"), ("/var/lib/nats/jetstream", f"{folder}/jetstream")):
            assert old in conf, old
            conf = conf.replace(old, new)
        (folder / "nats.conf").write_text(f'http: "{self.address[name]}:{self.monitor_port}"\n{conf}')
        (folder / "state").mkdir()
        self.change(folder / "node.json", state=f"{folder}/state", socket=f"{folder}/node.sock", warderd=f"{folder}/in.sock")
        ids = {"id_range": id_range(number)} if id_range(number) else {}
        (folder / "user").write_text(str(ids["id_range"]["first"] + ids["id_range"]["count"] - 1 if ids else os.geteuid()))
        (folder / "warderd.json").write_text(json.dumps({"cluster": {"socket": f"{folder}/node.sock", "listen": f"{folder}/in.sock"}, **ids}))
        folder.chmod(0o755)

    def monitor(self, name, path):
        with socket.create_connection((self.address[name], self.monitor_port), 5) as asking:
            asking.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            return json.loads(asking.makefile().read().split("\r\n\r\n", 1)[-1].split("\n\n", 1)[-1])

    def leader(self):
        for name in self.names:
            with contextlib.suppress(OSError, ValueError, KeyError):
                said = self.monitor(name, "/jsz")["meta_cluster"].get("leader", "")
                if said:
                    return said.removeprefix("main-")
        return None


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class Tls(unittest.TestCase):
    def test_work_goes_on_when_the_leader_of_nats_is_killed(self):
        policies = self.enterContext(Policies(cluster={"home": "cluster"}, pool={"min_idle": 1, "max_idle": 2}))
        rig = self.enterContext(ThreeServers(policies, "n1", "n2", "n3"))
        for name in rig.names:
            self.assertEqual(json.loads((rig.folder / name / "node.json").read_text())["replicas"], 3)
        with Client(rig.daemons["n2"].socket) as agent:
            def wrote():
                result = agent.request("tools/call", name="execute_code", arguments={"code": "open('a', 'w').write('from n2')"})
                return None if result.get("isError") else result
            result = eventually(wrote, "the nodes have heard of each other")
            home = result["_meta"].get("org.warder/node", "n2")
        self.assertEqual((rig.daemons[home].state / "tenants" / ACCOUNT / "workspace/a").read_text(), "from n2")
        leader = eventually(rig.leader, "the servers have a leader")
        work = Work(rig, home)
        work.begin()
        work.await_answers(4)
        rig.servers[leader].stop(signal.SIGKILL)
        eventually(lambda: rig.leader() not in (None, leader), "another leader is elected")
        for name in rig.names:
            agents = [agent for agent in work.agents if agent.node == name]
            before = [len(agent.told) for agent in agents]
            eventually(lambda: any(DONE in list(agent.told.values())[count:]  # noqa: B023
                                   for agent, count in zip(agents, before)), f"agents of {name} work again")  # noqa: B023
        work.end()
        self.assertEqual(work.faults(ACCOUNT), [])
        for name in rig.names:
            self.assertNotIn("cannot renew its lease", rig.daemons[name].log_text())


if __name__ == "__main__":
    unittest.main()
