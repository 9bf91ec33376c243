"""A home is restored on another node from its parked file, after its machine is lost with its disk: files, skills and the
personal data behind tokens are as they were. Three real nodes; the first one's state folder is deleted.
"""
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

from bus_harness import Bus
from cluster_rig import NATS_SERVER, Rig
from harness import Client, Policies, body_of, eventually

ACCOUNT = f"uid-{os.geteuid()}"
NODES = ("n1", "n2", "n3")
EMAIL = "ada.lovelace@example.org"
if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: restoring a home of a lost machine, because nats-server is missing: apt-get install nats-server ***\n")


def with_label(file, change):
    """A copy of a parked file whose label is changed."""
    made = file.with_name("changed.warder-home")
    plain = subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True).stdout
    target = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(plain)) as old, tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as new:
        for entry in old:
            data = old.extractfile(entry).read() if entry.isreg() else None
            if entry.name == "label.json":
                label = json.loads(data)
                change(label)
                data = json.dumps(label).encode()
                entry.size = len(data)
            new.addfile(entry, io.BytesIO(data) if data is not None else None)
    made.write_bytes(subprocess.run(["zstd", "-q"], input=target.getvalue(), check=True, capture_output=True).stdout)
    made.chmod(0o644)
    return made


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class LostMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.buses = {name: cls.enterClassContext(Bus()) for name in NODES}
        cls.policies = cls.enterClassContext(Policies(cluster={"home": "cluster"}, workspaces=["team-*"], pii={"restore": "agents"}))
        cls.rig = cls.enterClassContext(Rig(cls.policies, *NODES, buses=cls.buses.values(), test_lease_divisor=4))

    def nodes(self, node, *words, status=0):
        done = subprocess.run([os.environ["WARDER"], "nodes", *words, "--bus", self.buses[node].address],
                              capture_output=True, text=True, timeout=90)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def ask(self, client, tool, arguments):
        result = client.request("tools/call", name=tool, arguments=arguments)
        self.assertFalse(result.get("isError"), result)
        return body_of(result), result.get("_meta", {}).get("org.warder/node")

    def restored_text(self, node, token):
        with Client(self.rig.daemons[node].socket, timeout=60) as client:
            return self.ask(client, "restore_pii", {"text": token})[0]["restored_text"]

    def lose(self, node):
        self.rig.daemons[node].kill()
        self.rig.nodes[node].stop(signal.SIGKILL)
        shutil.rmtree(self.rig.daemons[node].state)
        shutil.rmtree(self.rig.folder / node / "state")
        other = next(name for name in NODES if name != node)
        eventually(lambda: re.search(rf"^{node}\s+silent", self.nodes(other), re.M), f"{node} is silent")

    def test_what_was_parked_is_whole_on_another_node(self):
        with Client(self.rig.daemons["n1"].socket, timeout=60) as client:
            _, home = self.ask(client, "execute_code", {"code": "open('kept', 'w').write('parked')"})
            home = home or "n1"
            token = self.ask(client, "sanitize_pii", {"text": EMAIL})[0]["sanitized_text"]
            self.assertNotIn(EMAIL, token)
        other, third = [name for name in NODES if name != home]
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o777)
        told = json.loads(self.nodes(home, "drain", "--park", folder, "--json"))
        [parked] = [pathlib.Path(one["File"]) for one in told["Homes"] if one["Workspace"] == ACCOUNT]
        parked.chmod(0o644)
        label = json.loads(subprocess.run(f"zstd -dcq {parked} | tar -xOf - label.json", shell=True, check=True,
                                          capture_output=True).stdout)
        self.assertEqual(set(label["vault_keys"]), set(NODES))
        self.lose(home)

        with self.subTest("a file whose vault this node cannot read is refused as a whole"):
            for change in (lambda one: one.pop("vault_keys"),
                           lambda one: one["vault_keys"].update({other: one["vault_keys"][third]}),
                           lambda one: one["vault_keys"].update({other: "AAAA"})):
                changed = with_label(parked, change)
                self.assertIn("sealed with a key that this node cannot read", self.nodes(other, "restore", changed, status=1))
            other_tenant = with_label(parked, lambda one: one.update(workspace="team-other"))
            self.assertIn("cannot read", self.nodes(other, "restore", other_tenant, status=1))
            eventually(lambda: not list((self.rig.daemons[other].state / "tenants/.moves").glob("arriving*")), "nothing is left")

        with self.subTest("without the vault it is taken"):
            changed = with_label(parked, lambda one: one.pop("vault_keys"))
            bare = folder / "bare.warder-home"
            subprocess.run(f"zstd -dcq {changed} > {folder}/t.tar && tar --delete -f {folder}/t.tar folder/vault"
                           f" && zstd -qo {bare} {folder}/t.tar", shell=True, check=True)
            bare.chmod(0o644)
            self.assertIn("is here, as it was at", self.nodes(other, "restore", bare))
            with Client(self.rig.daemons[other].socket, timeout=60) as client:
                answer, _ = self.ask(client, "execute_code", {"code": "import os\nresult = open('kept').read(); os.remove('kept')"})
                self.assertEqual(answer["result"], "parked")
            self.assertEqual(self.restored_text(other, token), token)

        with self.subTest("with the key for this node the tokens are as they were"):
            self.assertIn("is here, as it was at", self.nodes(other, "restore", parked))
            self.assertEqual(self.restored_text(other, token), EMAIL)
            self.assertEqual(self.restored_text(third, token), EMAIL)
            with Client(self.rig.daemons[third].socket, timeout=60) as client:
                answer, node = self.ask(client, "execute_code", {"code": "result = open('kept').read()"})
            self.assertEqual((answer["result"], node), ("parked", other))

        with self.subTest("and they are sealed with the key of the new home"):
            daemon = self.rig.daemons[other]
            daemon.stop()
            before = len(daemon.log_text())
            daemon.start()
            eventually(lambda: "acts as a home" in daemon.log_text()[before:], "the home is back")
            self.assertEqual(self.restored_text(other, token), EMAIL)


if __name__ == "__main__":
    unittest.main()
