#!/usr/bin/env python3
"""`warder cluster`: keys, requests and trust records in folders of two machines; nats-server takes what they are for."""
import base64
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import stat
import subprocess
import tempfile
import unittest

from harness import PATIENCE
from ports import free_port

WARDER = os.environ["WARDER"]
NATS = shutil.which("nats-server", path="/usr/sbin:/usr/bin:/usr/local/bin")
KEY = r"ed25519:[A-Za-z0-9+/]{43}="
INFO_LINE = 4096  # bytes


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.said = []
        self.addCleanup(self.expect_no_secret_said)

    def warder(self, *words, machine="one", status=0):
        done = subprocess.run([WARDER, "cluster", *words, "--folder", self.root / machine],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.said.append(done.stdout + done.stderr)
        return done

    def refused(self, *words, machine="one", status=2):
        """The error text; nothing was changed."""
        before = self.files(machine)
        error = self.warder(*words, machine=machine, status=status).stderr
        self.assertEqual(self.files(machine), before)
        return error

    def files(self, machine="one"):
        folder = self.root / machine
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} if folder.is_dir() else {}

    def expect_no_secret_said(self):
        text = "".join(self.said)
        for path in self.root.glob("*/*"):
            if path.name.startswith(("authority.key", "node.key", "nats.seed")):
                secret = path.read_text().strip().removeprefix("warder-ed25519-seed:")
                self.assertGreater(len(secret), 40)
                self.assertNotIn(secret, text)
        self.assertNotRegex(text, r"warder-ed25519-seed:[A-Za-z0-9+/]|\bSU[A-Z2-7]{56}")

    def init(self, *words):
        return self.warder("init", "--name", "main", "--node", "n1", *words)

    def join(self, node="n2", machine="two"):
        return self.warder("join", "--cluster", "main", "--node", node, machine=machine).stdout.strip()

    def show(self, machine="one"):
        return json.loads(self.warder("show", "--json", machine=machine).stdout)

    def copy_record(self, machine="two"):
        shutil.copy(self.root / "one/trust.record", self.root / machine)


class Setup(ClusterTest):
    def test_init_makes_a_cluster_and_replaces_nothing(self):
        said = self.init("--server", "tls://nats1.example:4222", "--server", "tls://nats2.example:4222", "--label", "zone=a").stdout
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (self.root / "one").iterdir()}
        secret = {"authority.key": 0o600, "node.key": 0o600, "nats.seed": 0o600}
        self.assertEqual(modes, secret | dict.fromkeys(("trust.record", "node.json", "nats.conf", "nats-nodes.conf"), 0o644))
        for name in modes:
            self.assertIn(name, said)
        node = json.loads((self.root / "one/node.json").read_text())
        self.assertEqual((node["node"], node["cluster"], node["labels"]), ("n1", "main", {"zone": "a"}))
        self.assertEqual(node["servers"], ["tls://nats1.example:4222", "tls://nats2.example:4222"])
        for key in ("node_key", "nats_seed", "trust"):
            self.assertTrue(pathlib.Path(node[key]).is_file(), key)
        told = self.show()
        self.assertEqual((told["cluster"], told["serial"], told["this_node"], told["state"], told["has_authority_key"]),
                         ("main", 1, "n1", "in the record", True))
        self.assertRegex(told["nodes"][0]["key"], KEY)
        self.assertEqual(told["nodes"][0]["may_act_for"], "all")
        self.assertIn("exists already", self.refused("init", "--name", "main", "--node", "n1"))
        self.assertIn("this machine is the node 'n1'", self.refused("join", "--cluster", "main", "--node", "n2"))

    def test_errors_name_the_flag_and_the_remedy(self):
        for words, named in (
                (("init", "--node", "n1"), "--name is missing"),
                (("init", "--name", "Main", "--node", "n1"), "--name: 'Main'"),
                (("init", "--name", "main", "--node", "n_1"), "--node: 'n_1'"),
                (("init", "--name", "main", "--node", "n1", "--server", "nats://far.example:4222"), "--server"),
                (("init", "--name", "main", "--node", "n1", "--server", "tls://x:99999"), "--server"),
                (("init", "--name", "main", "--node", "n1", "--server", "tls://x\n:4222"), "--server"),
                (("init", "--name", "main", "--node", "n1", "--label", "zone"), "--label"),
                (("join", "--cluster", "main"), "--node is missing"),
                (("add", "x"), "warder-join:"),
                (("rotate", "all"), "'all' is neither node nor authority")):
            with self.subTest(words=words):
                error = self.refused(*words)
                self.assertIn(named, error)
                self.assertEqual(len(error.splitlines()), 2, error)  # the remedy is the second line
        self.assertEqual(self.files(), {})
        self.assertIn("warder cluster init", self.refused("show", machine="none", status=1))
        self.assertIn("warder cluster init", self.refused("remove", "n1", status=1))

    def test_a_folder_that_others_can_write_is_refused(self):
        self.init()
        (self.root / "one").chmod(0o777)
        self.assertIn("another user can write this folder", self.refused("show", status=1))
        (self.root / "one").chmod(0o755)
        (self.root / "link").symlink_to(self.root / "one")
        self.assertIn("symbolic link", self.refused("show", machine="link", status=1))
        key = self.root / "one/authority.key"
        key.chmod(0o640)
        request = self.join()
        self.assertIn("chmod 600", self.refused("add", request, status=1))
        key.chmod(0o600)
        record = self.root / "one/trust.record"
        record.write_text(record.read_text().replace('"all"', '["acme"]'))
        self.assertIn("trust.record: ", self.refused("add", request))


class Nodes(ClusterTest):
    def test_a_node_joins_by_a_request_that_a_person_carries(self):
        self.init()
        request = self.join()
        self.assertEqual(self.join(), request)  # called again: the same keys
        self.assertEqual(json.loads(self.warder("join", "--cluster", "main", "--node", "n2", "--json", machine="two").stdout)["request"], request)
        self.assertIn("'n2' of the cluster 'main'", self.refused("join", "--cluster", "main", "--node", "n3", machine="two"))
        self.assertEqual(set(self.files("two")), {"node.key", "nats.seed", "node.json"})
        said = self.warder("add", request, "--accounts", "web,acme").stdout
        self.assertIn("in place of record 1", said)
        self.copy_record()
        told = self.show("two")
        self.assertEqual((told["serial"], told["this_node"], told["state"], told["has_authority_key"]), (2, "n2", "in the record", False))
        self.assertEqual([(node["name"], node["may_act_for"]) for node in told["nodes"]], [("n1", "all"), ("n2", ["acme", "web"])])
        self.assertRegex(self.warder("show", machine="two").stdout, rf"n2 +{re.escape(told['nodes'][1]['key'])} +acme,web")
        self.assertIn("already", self.refused("add", request))
        self.assertIn("authority's key is not on this machine", self.refused("remove", "n1", machine="two", status=1))
        users = (self.root / "one/nats-nodes.conf").read_text()
        for node in told["nodes"]:
            self.assertIn("nkey: " + node["nats"], users)

        self.warder("remove", "n2")
        self.assertEqual([node["name"] for node in self.show()["nodes"]], ["n1"])
        self.assertNotIn(told["nodes"][1]["nats"], (self.root / "one/nats-nodes.conf").read_text())
        self.assertIn("no node 'n2'", self.refused("remove", "n2", status=1))
        self.copy_record()
        self.assertEqual(self.show("two")["state"], "not in the record")

    def test_hostile_requests_are_refused(self):
        self.init()
        request = self.join()
        body, signature = request.removeprefix("warder-join:").split(".")
        other = self.warder("join", "--cluster", "else", "--node", "n2", machine="three").stdout.strip()
        self.assertIn("'else'", self.refused("add", other))
        forged = base64.b64encode(base64.b64decode(body).replace(b'"n2"', b'"n3"')).decode()
        self.assertIn("not signed", self.refused("add", f"warder-join:{forged}.{signature}", status=1))
        for line in (request[:-3], f"warder-join:{body}", f"{request}.{signature}", "warder-join:" + "A" * 5000):
            self.refused("add", line)
        for accounts in ("", "acme,", "acme,../x", "*"):
            self.assertIn("--accounts", self.refused("add", request, "--accounts", accounts))
        self.warder("add", request)
        again = self.join(machine="four")  # another machine says that it is n2
        self.assertIn("there is a node 'n2' already", self.refused("add", again))


class Rotation(ClusterTest):
    def test_a_node_changes_its_keys(self):
        self.init()
        self.warder("add", self.join(), "--accounts", "acme")
        self.copy_record()
        old = self.show()["nodes"][1]
        before = self.files("two")
        request = self.warder("rotate", "node", machine="two").stdout.strip()
        self.assertEqual(self.warder("rotate", "node", machine="two").stdout.strip(), request)
        self.assertEqual(before.items() - self.files("two").items(), set())  # the old keys are in force
        self.assertIn("being changed", self.show("two")["state"])
        self.warder("add", request)
        new = self.show()["nodes"][1]
        self.assertEqual(new["may_act_for"], ["acme"])
        for member in ("key", "nats"):
            self.assertNotEqual(new[member], old[member])
        self.copy_record()
        self.assertIn("old ones are removed", self.warder("rotate", "node", machine="two").stdout)
        self.assertEqual(set(self.files("two")), set(before) | {"trust.record"})
        self.assertNotEqual(self.files("two")["node.key"], before["node.key"])
        self.assertEqual(self.show("two")["state"], "in the record")
        # A request that was used, or is of keys that are gone.
        self.assertIn("already", self.refused("add", request))
        self.warder("remove", "n2")
        self.assertIn("does not have the old key", self.refused("add", request, status=1))

    def test_the_authority_changes_its_key_and_old_keys_count_no_more(self):
        elsewhere = self.root / "authority.key"
        self.init("--authority", elsewhere)
        self.assertFalse((self.root / "one/authority.key").exists())
        request = self.join()
        self.assertIn("--authority FILE", self.refused("add", request, status=1))
        former = elsewhere.read_text()
        old = self.show()["authorities"]
        self.warder("rotate", "authority", "--authority", elsewhere)
        told = self.show()
        self.assertEqual(told["serial"], 2)
        self.assertNotEqual(told["authorities"], old)
        self.assertNotEqual(elsewhere.read_text(), former)
        self.assertFalse(pathlib.Path(f"{elsewhere}.next").exists())
        self.warder("add", request, "--authority", elsewhere)
        stolen = self.root / "stolen.key"
        stolen.write_text(former)
        stolen.chmod(0o600)
        self.assertIn("names another key for the authority", self.refused("remove", "n2", "--authority", stolen, status=1))
        # Interrupted between the record and the key's place: the next call finishes it.
        shutil.copy(elsewhere, f"{elsewhere}.next")
        elsewhere.write_text(former)
        self.warder("remove", "n2", "--authority", elsewhere)
        self.warder("rotate", "authority", "--authority", elsewhere)
        self.assertEqual(self.show()["serial"], 5)
        stolen.unlink()


class Signing(ClusterTest):
    def test_policies_are_signed_with_serials_that_grow(self):
        self.init()
        policy = self.root / "strict.json"
        policy.write_text('{"extends": "default"}')
        rule = self.root / "one/policy-strict.rule"

        def sign(*words):
            told = json.loads(self.warder("sign", "strict", *words, "--json").stdout)
            header, signature, content = rule.read_text().split("\n", 2)
            header = json.loads(header)
            self.assertEqual((header["kind"], header["cluster"], header["name"], header["by"]),
                             ("policy", "main", "strict", self.show()["authorities"][0]))
            self.assertEqual((told["file"], told["serial"], header["bytes"]), (str(rule), header["serial"], len(content)))
            self.assertEqual(len(base64.b64decode(signature, validate=True)), 64)
            return header["serial"], content

        self.assertEqual(sign("--file", policy), (1, policy.read_text()))
        self.assertEqual(sign("--file", policy), (2, policy.read_text()))
        self.assertEqual(sign("--withdraw"), (3, ""))
        self.assertEqual(sign("--file", policy, "--serial", "9"), (9, policy.read_text()))
        self.assertIn("a number above 9", self.refused("sign", "strict", "--file", policy, "--serial", "9"))
        self.assertIn("--withdraw", self.refused("sign", "strict"))
        for name, why in (("../strict", "no name"), ("a..b", "no name"), ("a.", "no name"), ("tenants", "no name of a policy")):
            self.assertIn(why, self.refused("sign", name, "--file", policy))
        self.assertIn("does not exist", self.refused("sign", "strict", "--file", self.root / "none", status=1))
        policy.write_text("[]")
        self.assertIn("not a JSON object", self.refused("sign", "strict", "--file", policy))
        policy.write_text('{"description": "a",\n "description": "b"}')
        self.assertIn('line 2, column 2: the key "description" is there twice, first in line 1',
                      self.refused("sign", "strict", "--file", policy))
        rule.write_text(rule.read_text().replace("default", "nothing"))
        self.assertIn("policy-strict.rule", self.refused("sign", "strict", "--withdraw"))

    def test_definitions_of_tools_are_signed(self):
        self.init()
        definitions = self.root / "tools.json"
        definitions.write_text('{"tools": []}')
        told = json.loads(self.warder("sign", "fleet", "--catalog", "--file", definitions, "--json").stdout)
        self.assertEqual((told["catalog"], told["file"]), ("fleet", str(self.root / "one/catalog-fleet.rule")))
        self.assertEqual(json.loads((self.root / "one/catalog-fleet.rule").read_text().split("\n")[0])["kind"], "catalog")

    def test_a_skill_is_signed(self):
        self.init()
        folder = self.root / "fleet-report"
        (folder / "scripts").mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\nname: fleet-report\ndescription: What the fleet did\n---\n")
        (folder / "scripts/fleet_report.py").write_text("def fleet_report():\n    return 7\n")
        rule = self.root / "one/skill-fleet-report.rule"
        told = json.loads(self.warder("sign", "fleet-report", "--skill", "--file", folder, "--json").stdout)
        self.assertEqual((told["skill"], told["file"]), ("fleet-report", str(rule)))
        header, _, content = rule.read_text().split("\n", 2)
        self.assertEqual(json.loads(header)["kind"], "skill")
        self.assertEqual(set(json.loads(content)["files"]), {"SKILL.md", "scripts/fleet_report.py"})
        for words, why in ((("fleet_report", "--skill", "--file", folder), "single hyphens"),
                           (("other", "--skill", "--file", folder), "not the name of its folder"),
                           (("fleet-report", "--skill", "--file", folder / "SKILL.md"), "the folder of the skill"),
                           (("fleet-report", "--skill", "--catalog", "--file", folder), "not both")):
            self.assertIn(why, self.refused("sign", *words))
        (folder / "link").symlink_to("SKILL.md")
        self.assertIn("is a link", self.refused("sign", "fleet-report", "--skill", "--file", folder, status=1))
        (folder / "link").unlink()
        (folder / "large.txt").write_text("x" * (256 << 10))
        self.assertIn("at most 262144 bytes", self.refused("sign", "fleet-report", "--skill", "--file", folder, status=1))
        self.warder("sign", "fleet-report", "--skill", "--withdraw")


@unittest.skipUnless(NATS, "SKIPPED: the package nats-server is missing, so no configuration of it was checked")
class NatsServer(ClusterTest):
    def make_certificate(self):
        tls = self.root / "one/tls"
        tls.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", tls / "server.key", "-out", tls / "server.pem"],
                       check=True, capture_output=True, timeout=PATIENCE)
        shutil.copy(tls / "server.pem", tls / "ca.pem")

    def start_server(self):
        """Starts nats-server with the configuration as it was made, but for the port and the store."""
        port = free_port()
        made = self.root / "one/nats.conf"
        text = made.read_text()
        for old, new in (("0.0.0.0:4222", f"127.0.0.1:{port}"), ("/var/lib/nats/jetstream", str(self.root / "jetstream"))):
            self.assertIn(old, text)
            text = text.replace(old, new)
        made.write_text(text)
        server = subprocess.Popen([NATS, "-c", made], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait, PATIENCE)
        self.addCleanup(server.kill)
        for line in server.stderr:
            if "Server is ready" in line:
                return port
        self.fail("nats-server ended")

    def sign(self, seed, nonce):
        """Ed25519 by openssl: a key of PKCS #8 with the 32 bytes of the seed's text."""
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))[2:34]
        key, message = self.root / "key.der", self.root / "nonce"
        key.write_bytes(bytes.fromhex("302e020100300506032b657004220420") + raw)
        message.write_bytes(nonce.encode())
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-keyform", "DER", "-in", message],
                              check=True, capture_output=True, timeout=PATIENCE).stdout

    def talk(self, port, machine, *lines):
        """Connects as that machine's node, and returns what the server answers to these lines."""
        raw = self.enterContext(socket.create_connection(("127.0.0.1", port), PATIENCE))
        info = json.loads(raw.recv(INFO_LINE).decode().removeprefix("INFO "))
        secure = ssl.create_default_context(cafile=self.root / "one/tls/ca.pem").wrap_socket(raw, server_hostname="localhost")
        self.addCleanup(secure.close)
        seed = (self.root / machine / "nats.seed").read_text()
        names = {node["name"]: node["nats"] for node in self.show(machine)["nodes"]}
        signature = base64.urlsafe_b64encode(self.sign(seed, info["nonce"])).decode().rstrip("=")
        user = {"nkey": names[json.loads((self.root / machine / "node.json").read_text())["node"]], "sig": signature, "verbose": False}
        secure.sendall(f"CONNECT {json.dumps(user)}\r\n{''.join(line + chr(13) + chr(10) for line in lines)}PING\r\n".encode())
        answer = b""
        while not answer.endswith(b"PONG\r\n"):
            part = secure.recv(INFO_LINE)
            if not part:
                break
            answer += part
        return answer.decode()

    def test_the_configuration_is_good_and_each_node_has_its_own_subjects(self):
        self.init("--server", "tls://localhost:4222")
        self.warder("add", self.join())
        self.copy_record()
        self.make_certificate()
        checked = subprocess.run([NATS, "-c", self.root / "one/nats.conf", "-t"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        port = self.start_server()
        self.assertEqual(self.talk(port, "two", "SUB w1.node.n2.> 1", "SUB _INBOX.n2.> 2", "SUB w1.load.* 3", "PUB w1.load.n2 0", "",
                                   "PUB w1.node.n1.order 0", "", "PUB $KV.leases.n2 0", ""),
                         "MSG w1.load.n2 3 0\r\n\r\nPONG\r\n")
        for line, kind in (("SUB w1.node.n1.> 1", "Subscription"), ("SUB _INBOX.> 1", "Subscription"), ("SUB > 1", "Subscription"),
                           ("SUB $KV.> 1", "Subscription"), ("PUB w1.load.n1 0\r\n", "Publish"), ("PUB $KV.leases.n1 0\r\n", "Publish"),
                           ("PUB $JS.API.STREAM.DELETE.KV_trust 0\r\n", "Publish"), ("PUB $SYS.REQ.SERVER.PING 0\r\n", "Publish")):
            with self.subTest(line=line):
                self.assertIn(f"Permissions Violation for {kind}", self.talk(port, "two", line))
        # Another key of the same form.
        self.join("n3", "three")
        shutil.copy(self.root / "three/nats.seed", self.root / "two/nats.seed")
        self.assertIn("Authorization Violation", self.talk(port, "two"))


if __name__ == "__main__":
    unittest.main()
