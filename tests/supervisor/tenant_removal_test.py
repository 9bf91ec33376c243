#!/usr/bin/env python3
"""warder tenants, tenant remove and tenant export: all that is stored of a tenant goes or is written out, nothing else."""
import json
import os
import sqlite3
import subprocess
import tarfile
import unittest

from bus_harness import Bus, BusDaemon
from harness import HOLD, ORDINARY_USER, PATIENCE, ROOT, Client, Policies, as_user, eventually

WARDER = os.environ["WARDER"]


def rows(daemon, sql, *values):
    with sqlite3.connect(f"file:{daemon.state}/journal/journal.db?mode=ro", uri=True) as database:
        found = database.execute(sql, values).fetchall()
    database.close()
    return found


class TenantRemoval(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(Bus())
        self.policies = self.enterContext(Policies(workspaces=["customer-*"]))
        self.daemon = BusDaemon(self.bus, system=True, policies=self.policies)
        self.metrics = self.daemon.socket.parent / "metrics.sock"
        self.daemon.arguments += ["--metrics", self.metrics]
        self.enterContext(self.daemon)
        self.client = self.enterContext(Client(self.daemon.socket))
        self.tenants = self.daemon.state / "tenants"

    def warder(self, *words, status=0, **more):
        done = subprocess.run([WARDER, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL, **more)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def on_bus(self, *words, **more):
        return self.warder(*words, "--bus", self.bus.address, **more)

    def told(self):
        return {one["Name"]: one for one in map(json.loads, self.on_bus("tenants", "--json").stdout.splitlines())}

    def fill(self):
        """The client's tenant with something of each kind: its name."""
        self.client.execute("open('/workspace/kept.txt', 'w').write('x'); print('printed')")
        named = self.client.begin("tools/call", name="execute_code", _meta={"org.warder/workspace": "customer-a"},
                                  arguments={"code": "open('/workspace/other.txt', 'w').write('x')"})
        self.client.executed(named)
        (name,) = self.told()
        return name

    def left_of(self, name):
        return [path.name for path in self.tenants.iterdir() if path.name.startswith(".") and name in path.name]

    def test_a_removed_tenant_is_no_label_of_the_metrics(self):
        name = self.fill()
        label = f'tenant="{name}"'
        read = ["metrics", "--from", self.metrics]
        self.assertIn(label, self.warder(*read).stdout)
        self.on_bus("tenant", "remove", name, "--yes")
        left = self.warder(*read).stdout
        self.assertIn('tenant="other"', left)
        self.assertNotIn(label, left)

    def test_tenants_are_listed_with_what_they_have(self):
        name = self.fill()
        one = self.told()[name]
        self.assertEqual((one["Executions"], one["Sessions"], one["Connected"], one["UID"]), (2, 0, 1, os.getuid()))
        title, line = self.on_bus("tenants").stdout.splitlines()
        self.assertEqual(title.split()[0], "TENANT")
        self.assertEqual(line.split()[:3], [name, f"uid:{os.getuid()}", "2"])
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.told()[name]["Executions"], 2)

    def test_a_removed_tenant_leaves_its_audit_alone(self):
        name = self.fill()
        before = rows(self.daemon, "SELECT count(*) FROM audit WHERE tenant=?", name)[0][0]
        self.on_bus("tenant", "remove", name, "--yes")
        eventually(lambda: not self.left_of(name), "the files are deleted")
        self.assertFalse((self.tenants / name).exists())
        for table in ("executions", "totals"):
            self.assertEqual(rows(self.daemon, f"SELECT * FROM {table} WHERE tenant LIKE ?", name + "%"), [])
        self.assertEqual(rows(self.daemon, "SELECT * FROM execution_details"), [])
        eventually(lambda: rows(self.daemon, "SELECT * FROM audit WHERE action='tenant removed'"), "it is in the audit")
        ((subject, uid, shape),) = rows(self.daemon, "SELECT subject, uid, shape FROM audit WHERE action='tenant removed'")
        self.assertEqual((subject, uid), (name, os.getuid()))
        self.assertEqual(json.loads(shape), {"executions": 2, "forced": False, "workspaces": 2})
        self.assertGreaterEqual(rows(self.daemon, "SELECT count(*) FROM audit WHERE tenant=?", name)[0][0], before)
        self.warder("audit", "verify", self.daemon.state)
        self.assertNotIn(name, self.told())
        with Client(self.daemon.socket) as again:  # a new tenant of that name is empty
            self.assertEqual(again.execute("import os; result = os.listdir('/workspace')")["result"], [])
        self.assertEqual(self.told()[name]["Executions"], 1)

    def test_one_that_is_in_use_is_refused_unless_forced(self):
        name = self.fill()
        self.client.begin_running(HOLD, timeout_seconds=300)
        said = self.on_bus("tenant", "remove", name, "--yes", status=1).stderr
        self.assertIn("has 1 executions and 0 sessions now", said)
        self.assertIn(name, self.told())
        self.on_bus("tenant", "remove", name, "--yes", "--force")
        eventually(lambda: not self.left_of(name), "the files are deleted")
        self.assertEqual(rows(self.daemon, "SELECT * FROM executions"), [])

    def test_a_session_is_a_use_too(self):
        name = self.fill()
        self.client.execute("a = 1", session="s")
        self.assertEqual(self.told()[name]["Sessions"], 1)
        self.assertIn("0 executions and 1 sessions", self.on_bus("tenant", "remove", name, "--yes", status=1).stderr)
        self.on_bus("tenant", "remove", name, "--yes", "--force")
        eventually(lambda: not self.left_of(name), "the files are deleted")

    def test_nothing_is_removed_without_a_yes_or_a_name(self):
        name = self.fill()
        self.assertIn("add --yes", self.on_bus("tenant", "remove", name, status=2).stderr)
        self.assertIn("there is no tenant", self.on_bus("tenant", "remove", "nobody", "--yes", status=1).stderr)
        for bad in ("../x", ".removing-a.1", ""):
            self.on_bus("tenant", "remove", bad, "--yes", status=2)
        self.assertIn(name, self.told())

    @unittest.skipUnless(ROOT, "needs root, to be somebody else")
    def test_only_an_administrator_removes(self):
        with as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)) as other:
            other.execute("result = 1")
        name = f"uid-{ORDINARY_USER}"
        user = {"user": ORDINARY_USER, "group": ORDINARY_USER, "extra_groups": []}
        self.assertIn("only root may do this", self.on_bus("tenant", "remove", name, "--yes", status=1, **user).stderr)
        own = [json.loads(line)["Name"] for line in self.on_bus("tenants", "--json", **user).stdout.splitlines()]
        self.assertEqual(own, [name])

    def test_an_interrupted_removal_is_completed_at_the_next_start(self):
        name = self.fill()
        self.daemon.kill()
        (self.tenants / name).rename(self.tenants / f".removing-{name}.0-99999999")  # as it is killed after this step
        half = self.tenants / ".deleting-old.5"
        half.mkdir()
        (half / "file").write_text("x")
        owner = self.tenants.stat()
        for made in (half, half / "file"):
            os.chown(made, owner.st_uid, owner.st_gid)
        for strange in (".removing-.5", ".removing-a.b", ".removing-a"):  # none of ours
            (self.tenants / strange).mkdir()
        self.daemon.start()
        self.assertEqual(rows(self.daemon, "SELECT * FROM executions"), [])
        eventually(lambda: not self.left_of(name) and not half.exists(), "the files are deleted")
        self.assertEqual(len(list(self.tenants.glob(".removing-*"))), 3)

    def test_an_export_has_all_of_a_tenant_and_follows_no_link(self):
        name = self.fill()
        secret = self.daemon.directory / "secret"
        secret.write_text("secret of another")
        self.client.execute(
            "import os\n"
            f"os.symlink({str(secret)!r}, '/workspace/link'); os.symlink('/etc', '/workspace/folder')\n"
            "os.mkfifo('/workspace/fifo'); os.link('/workspace/kept.txt', '/workspace/second.txt')\n"
            "f = open('/workspace/sparse', 'wb'); f.seek(30_000_000); f.write(b'end'); f.close()")
        file = self.daemon.directory / "export.tar"
        ended = "SELECT id FROM executions WHERE outcome IS NOT NULL"
        eventually(lambda: len(rows(self.daemon, ended)) == 3, "the ends of the executions are in the file")
        self.warder("tenant", "export", name, file, "--state", self.daemon.state)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertLess(file.stat().st_size, 5_000_000)
        with tarfile.open(file) as archive:
            members = {one.name: one for one in archive.getmembers()}
            read = lambda path: archive.extractfile(path).read()
            self.assertEqual(members["workspace/link"].linkname, str(secret))
            self.assertTrue(members["workspace/folder"].issym())
            self.assertNotIn(b"secret of another", file.read_bytes())
            self.assertEqual(read("workspaces/customer-a/workspace/other.txt"), b"x")
            self.assertEqual(len(read("workspace/sparse")), 30_000_003)
            self.assertEqual({members[f"workspace/{one}.txt"].islnk() for one in ("kept", "second")}, {True, False})
            records = [json.loads(line) for line in read("records/executions.jsonl").splitlines()]
            self.assertEqual(len(records), 3)
            self.assertEqual(records[-1]["Files"], {"created": ["kept.txt"]})
            printed = [one for one in members if one.startswith("executions/") and one.endswith("/stdout")]
            self.assertTrue(printed)
            self.assertTrue(read("records/audit.jsonl"))
        self.assertFalse([one for one in members if "vault" in one or "unfinished" in one])
        self.assertIn("exists already", self.warder("tenant", "export", name, file, "--state", self.daemon.state, status=2).stderr)
        other = self.daemon.directory / "none.tar"
        self.warder("tenant", "export", "nobody", other, "--state", self.daemon.state, status=1)
        self.assertFalse(other.exists())


if __name__ == "__main__":
    unittest.main()
