"""A machine as a node of a cluster, as it is installed: the package warder-cluster, its units under systemd, and one nats-server
on the guest's loopback. Nodes among each other: tests/supervisor/cluster*_test.py."""
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import unittest

from suite.package import dpkg
from suite.service import POLICIES, InstalledService, connect, show, systemctl
from suite.warder import wait_until

PACKAGE = pathlib.Path("/packages/warder-cluster.deb")
UNITS = ("warder-node.service", "warder-node.socket", "warder-cluster.socket")
EXPOSURE = 20  # tenths
CONFIGURATION, CLUSTER = pathlib.Path("/etc/warder/warderd.json"), pathlib.Path("/etc/warder/cluster")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def setUpModule():
    if not PACKAGE.exists() or not shutil.which("nats-server"):
        raise unittest.SkipTest("*** NOT TESTED: the units of a node: no package warder-cluster beside that of warder, or no nats-server ***")
    dpkg("--install", str(PACKAGE))
    unittest.addModuleCleanup(dpkg, "--purge", "warder-cluster")


class InstalledUnits(unittest.TestCase):
    def test_the_exposure_is_small(self):
        run("systemd-analyze", "security", f"--threshold={EXPOSURE}", "--no-pager", "warder-node.service")

    def test_the_units_have_nothing_to_be_complained_about(self):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *UNITS], capture_output=True, text=True)
        self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "warder" in line]), (0, []))

    def test_the_installation_starts_nothing(self):
        for unit in UNITS:
            self.assertEqual((systemctl("is-enabled", unit, check=False), show("ActiveState", unit)), ("disabled", "inactive"), unit)


class UsedNode(InstalledService):
    def setUp(self):
        super().setUp()
        self.addCleanup(shutil.rmtree, CLUSTER, ignore_errors=True)
        self.addCleanup(CONFIGURATION.unlink, missing_ok=True)
        self.addCleanup(systemctl, "disable", "--now", *UNITS, check=False)
        (POLICIES / "shared.json").write_text(json.dumps({"extends": "default", "cluster": {"home": "cluster"}}))
        (POLICIES / "tenants.json").write_text(json.dumps({"rules": [
            {"user": "ordinary", "tenant": "ada", "policy": "shared"}, {"default": True, "policy": "default"}]}))
        run("warder", "cluster", "init", "--name", "main", "--node", "n1", "--server", "nats://127.0.0.1:4222")
        node = json.loads((CLUSTER / "node.json").read_text())
        (CLUSTER / "node.json").write_text(json.dumps({**node, "ca": ""}))  # no TLS on the loopback
        CONFIGURATION.write_text(json.dumps({"cluster": {}}))
        self.nats = self.start_nats()
        systemctl("start", "warder.service")  # as on a machine that becomes a node: units/cluster.md has the next two lines
        systemctl("enable", "warder-cluster.socket", "warder-node.service")
        systemctl("stop", "warder.service")
        systemctl("start", "warder-cluster.socket", "warder-node.service", "warder.service")

    def start_nats(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "server.conf").write_text(
            f'listen: "127.0.0.1:4222"\nserver_name: n1\njetstream {{ store_dir: "{folder}/jetstream" }}\n'
            f'accounts {{ WARDER {{ jetstream: enabled, include "nats-nodes.conf" }} }}\n')
        shutil.copy(CLUSTER / "nats-nodes.conf", folder)
        server = subprocess.Popen(["nats-server", "-c", folder / "server.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def listens():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", 4222), 1):
                return True
            return False
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_until("nats-server listens", listens)
        return server

    def nodes(self):
        done = subprocess.run(["warder", "nodes", "--json"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def wait_for_lease(self):
        return wait_until("the node has its lease", lambda: (lambda told: told.get("State") == "member" and told)(self.nodes()))

    def execute(self, user, code):
        os.seteuid(pwd.getpwnam(user).pw_uid)
        try:
            client = connect()
        finally:
            os.seteuid(0)
        with contextlib.closing(client):
            answer = client.execute(code)
        self.assertTrue(answer["success"], answer)
        return answer["result"]

    def test_a_node_is_the_home_of_its_workspaces_over_restarts_and_without_nats(self):
        told = self.wait_for_lease()
        self.assertEqual((told["Self"], [one["Name"] for one in told["Nodes"]]), ("n1", ["n1"]))
        status = dict(line.split(":\t", 1) for line in pathlib.Path(
            f"/proc/{show('MainPID', 'warder-node.service')}/status").read_text().splitlines() if ":\t" in line)
        self.assertEqual(status["Uid"].split(), [str(pwd.getpwnam("warder-node").pw_uid)] * 4)
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)

        self.assertEqual(self.execute("ordinary", "open('kept', 'w').write('kept'); result = 1"), 1)
        wait_until("the workspace's home is this node", lambda: self.nodes()["Nodes"][0]["Homes"] == 1)
        systemctl("restart", "warder.service")
        self.wait_for_lease()
        self.assertEqual(self.execute("ordinary", "result = open('kept').read()"), "kept")

        self.nats.terminate()
        self.nats.wait()
        self.assertEqual(self.execute("root", "result = 2"), 2)
        systemctl("stop", "warder-node.service", "warder-node.socket")
        self.assertEqual(self.execute("root", "result = 3"), 3)


if __name__ == "__main__":
    unittest.main()
