#!/usr/bin/env python3
"""warder history, show, audit list, export and tail: past executions and calls, with a daemon and without."""
import json
import os
import select
import sqlite3
import subprocess
import unittest

import dbus
from bus_harness import NAME, Admin, Bus, BusDaemon, Polkit
from harness import ORDINARY_USER, PATIENCE, ROOT, Client, Policies, as_user

WARDER = os.environ["WARDER"]
OTHER_USER = 2  # bin: somebody whom /etc/passwd knows
KEYS = {"number", "hash", "version", "time", "last_time", "tenant", "principal", "uid", "pid", "kind", "action", "subject", "count",
        "details"}


def run(*words, status=0, **more):
    done = subprocess.run([WARDER, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, **more)
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class LookingBack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.policies = cls.enterClassContext(Policies())
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus, system=True, policies=cls.policies))
        cls.enterClassContext(Client(cls.daemon.socket)).execute("first = 1")

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))

    def warder(self, *words, **more):
        return run(*words, "--bus", self.bus.address, **more)

    def history(self, *words, **more):
        return [json.loads(line) for line in self.warder("history", "--json", *words, **more).stdout.splitlines()]

    def show(self, identity, *words):
        return json.loads(self.warder("show", identity, "--json", *words).stdout)

    def test_history_is_newest_first_and_has_what_was_answered_just_now(self):
        ids = [self.client.execute(f"result = {n}")["execution_id"] for n in range(3)]
        rows = self.history("--limit", "3")
        self.assertEqual([row["Id"] for row in rows], ids[::-1])
        self.assertEqual({row["Outcome"] for row in rows}, {"ok"})
        self.assertEqual({row["UID"] for row in rows}, {os.getuid()})
        title, *lines = self.warder("history", "-n", "2").stdout.splitlines()
        self.assertEqual(title.split(), ["ID", "TENANT", "LANGUAGE", "OUTCOME", "STARTED", "WALL", "CPU", "MEMORY"])
        self.assertEqual([line.split()[0] for line in lines], ids[:0:-1])

    def test_filters_leave_what_fits(self):
        self.client.execute("1/0")
        self.client.execute("exit 3", language="shell")
        self.assertEqual({row["Outcome"] for row in self.history("--outcome", "error")}, {"error"})
        self.assertEqual({row["Language"] for row in self.history("--language", "shell")}, {"shell"})
        tenant = self.history("--limit", "1")[0]["Tenant"]
        self.assertTrue(self.history("--tenant", tenant, "--since", "1h"))
        self.assertEqual(self.history("--tenant", "nobody-there"), [])
        self.assertEqual(self.history("--until", "1h"), [])
        self.assertEqual(self.history("--user", "4000000000"), [])
        self.assertTrue(self.history("--user", str(os.getuid())))

    def test_what_cannot_be_a_filter_is_named(self):
        for words, said in ((["--since", "yesterday"], "--since: 'yesterday' is not a time"),
                            (["--limit", "0"], "--limit"), (["--user", "no such user"], "--user"),
                            (["--tenant", "../etc"], "Tenant")):
            self.assertIn(said, self.warder("history", *words, status=2).stderr)

    def test_show_has_receipt_usage_files_and_output(self):
        code = "open('/workspace/made.txt', 'w').write('x'); print('printed')"
        identity = self.client.execute(code)["execution_id"]
        told = self.show(identity)
        self.assertEqual((told["Id"], told["Outcome"], told["CodeBytes"]), (identity, "ok", len(code)))
        self.assertEqual(told["Files"], {"created": ["made.txt"]})
        self.assertEqual(told["Receipt"]["no_new_privileges"], True)
        self.assertEqual(told["Start"], told["Receipt"]["start"])
        self.assertGreater(told["WallUSec"], 0)
        self.assertEqual((told["OutputStored"], told["StdoutBytes"]), (True, len("printed\n")))
        self.assertEqual(told["Calls"], [])
        text = self.warder("show", identity[:10]).stdout
        for piece in (identity, "created made.txt", "namespaces: ", f"see: warder logs {identity}"):
            self.assertIn(piece, text)

    def test_what_a_program_named_cannot_drive_the_terminal(self):
        code = r"open('/workspace/\x1b[2J\u202egpj', 'w')"
        identity = self.client.execute(code)["execution_id"]
        text = self.warder("show", identity).stdout
        self.assertIn("created ?[2J", text)
        self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in text), text)

    def test_an_id_that_is_unknown_or_too_short_is_refused(self):
        self.assertIn("no stored execution", self.warder("show", "e00000000", status=1).stderr)
        self.assertIn("too short", self.warder("show", "e", status=2).stderr)
        self.assertIn("not an execution id", self.warder("show", "../../x", status=2).stderr)

    def test_pages_follow_each_other_over_d_bus(self):
        for n in range(4):
            self.client.execute(f"result = {n}")
        with Admin(self.bus) as admin:
            seen, after = [], ""
            for _ in range(3):
                asked = dbus.Dictionary({"After": after} if after else {}, signature="sv")
                rows, after = admin.call("ListHistory", "a{sv}u", asked, 1)
                seen += [str(row["Id"]) for row in rows]
            self.assertEqual(seen, [row["Id"] for row in self.history("--limit", "3")])
            for bad in ({"After": "x"}, {"Tenant": 1}, {"Nothing": "x"}, {"Tenant": "a/b"}, {"UID": dbus.UInt64(1 << 40)}):
                name, _ = admin.error("ListHistory", "a{sv}u", dbus.Dictionary(bad, signature="sv"), 1)
                self.assertEqual(name, "Invalid", bad)

    @unittest.skipUnless(ROOT, "needs root, to be somebody else")
    def test_a_user_sees_what_its_own_tenant_did_and_nothing_else(self):
        with as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)) as other:
            mine = other.execute("result = 'mine'")["execution_id"]
        theirs = self.client.execute("result = 'theirs'")["execution_id"]
        user = {"user": ORDINARY_USER, "group": ORDINARY_USER, "extra_groups": []}
        self.assertEqual([row["Id"] for row in self.history(**user)], [mine])
        self.assertEqual(len({row["Tenant"] for row in self.history()}), 2)
        self.assertIn(mine, self.warder("show", mine, **user).stdout)
        for words in (["history", "--all"], ["history", "--tenant", f"uid-{os.getuid()}"]):
            self.assertIn("only root may do this", self.warder(*words, status=1, **user).stderr)
        unknown = self.warder("show", "e00000000", status=1, **user).stderr
        self.assertEqual(self.warder("show", theirs, status=1, **user).stderr, unknown.replace("e00000000", theirs))

    @unittest.skipUnless(ROOT, "needs root, to be somebody else")
    def test_who_sees_all_tenants_looks_back_at_all(self):
        with as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)) as other:
            mine = other.execute("result = 'mine'")["execution_id"]
        theirs = self.client.execute("result = 'theirs'")["execution_id"]
        own, root = f"uid-{ORDINARY_USER}", f"uid-{os.getuid()}"

        def tenants(user):
            lines = self.warder("tenants", "--json", user=user, group=user, extra_groups=[]).stdout.splitlines()
            return {json.loads(line)["Name"] for line in lines}
        self.assertEqual(tenants(ORDINARY_USER), {own})
        with Polkit(self.bus, f"{NAME}.see-all"):
            for user in (ORDINARY_USER, OTHER_USER):  # one with a tenant that has executions, one without
                words = {"user": user, "group": user, "extra_groups": []}
                self.assertLessEqual({mine, theirs}, {row["Id"] for row in self.history(**words)})
                self.assertEqual(self.history("--tenant", root, "--limit", "1", **words)[0]["Id"], theirs)
                self.assertIn(theirs, self.warder("show", theirs, **words).stdout)
                self.assertLessEqual({own, root}, tenants(user))
                self.assertEqual(self.warder("logs", theirs, status=1, **words).stdout, "")  # reading output is more
        self.assertEqual(tenants(ORDINARY_USER), {own})

    def test_the_audit_is_listed_exported_and_filtered(self):
        self.client.execute("result = 'listed'")
        state = self.daemon.state
        lines = [json.loads(line) for line in run("audit", "export", state).stdout.splitlines()]
        self.assertEqual([line["number"] for line in lines], list(range(1, len(lines) + 1)))
        for line in lines:
            self.assertEqual(set(line), KEYS)
            self.assertRegex(line["hash"], r"\A[0-9a-f]{64}\Z")
        newest = [json.loads(line) for line in run("audit", "list", state, "--json", "-n", "1").stdout.splitlines()]
        self.assertEqual(newest, [lines[-1]])
        tenant = lines[-1]["tenant"]
        self.assertEqual(len(run("audit", "list", state, "--tenant", tenant, "-n", "1000000").stdout.splitlines()),
                         sum(line["tenant"] == tenant for line in lines))
        self.assertEqual(run("audit", "list", state, "--kind", "approval").stdout, "")
        self.assertEqual(run("audit", "list", state, "--tenant", tenant, "--kind", "approval").stdout, "")
        self.assertEqual(run("audit", "list", state, "--until", "1h").stdout, "")
        self.assertIn("--kind", run("audit", "list", state, "--kind", "all", status=2).stderr)
        self.assertIn("--format", run("audit", "export", state, "--format", "csv", status=2).stderr)
        head = json.loads(run("audit", "verify", state, "--json").stdout)["head"]
        self.assertEqual(json.loads(run("audit", "export", state).stdout.splitlines()[-1])["hash"], head)

    def test_tail_follows_the_audit(self):
        state = self.daemon.state
        last = json.loads(run("audit", "list", state, "--json", "-n", "1").stdout)["number"]
        with subprocess.Popen([WARDER, "audit", "tail", state, "-n", "1", "-f", "--json"], stdout=subprocess.PIPE,
                              text=True) as teller:
            self.assertEqual(json.loads(teller.stdout.readline())["number"], last)
            self.client.execute("x" * (last + 1000) + " = 1")  # a shape that no earlier call had
            self.assertTrue(select.select([teller.stdout], [], [], PATIENCE)[0])
            line = json.loads(teller.stdout.readline())
            self.assertEqual((line["number"], line["subject"]), (last + 1, "execute_code"))
            teller.terminate()


class WithoutDaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus))
        with Client(cls.daemon.socket) as client:
            cls.ids = [client.execute(f"result = {n}")["execution_id"] for n in range(3)]
        cls.daemon.stop()

    def test_the_journal_is_read_and_stays_as_it_is(self):
        file = self.daemon.state / "journal/journal.db"
        before = file.read_bytes()
        for named in (file, self.daemon.state):
            rows = [json.loads(line) for line in run("history", "--journal", named, "--json").stdout.splitlines()]
            self.assertEqual([row["Id"] for row in rows], self.ids[::-1])
        text = run("show", "--journal", file, self.ids[0][:12]).stdout
        self.assertIn(self.ids[0], text)
        self.assertIn("namespaces: ", text)
        self.assertIn("no stored execution", run("show", "--journal", file, "e00000000", status=1).stderr)
        self.assertEqual(file.read_bytes(), before)

    def test_a_file_that_is_no_journal_is_refused(self):
        other = self.daemon.directory / "other.db"
        other.write_bytes(b"no database at all" * 100)
        link = self.daemon.directory / "link.db"
        link.symlink_to(self.daemon.state / "journal/journal.db")
        for file in (other, link, self.daemon.directory / "missing"):
            self.assertIn("cannot be read", run("history", "--journal", file, status=125).stderr)

    def test_a_hostile_journal_cannot_drive_the_terminal(self):
        copy = self.daemon.directory / "hostile.db"
        copy.write_bytes((self.daemon.state / "journal/journal.db").read_bytes())
        hostile = "\x1b[2J\u202e\n\x9b"
        with sqlite3.connect(copy) as database:
            database.execute("UPDATE executions SET language=?, policy=?, outcome=?", (hostile, hostile, hostile))
            database.execute("UPDATE execution_details SET message=?, receipt=?, files=?", (hostile, hostile, hostile))
            database.execute("UPDATE audit SET subject=?, action=?, shape=?", (hostile, hostile, hostile))
        database.close()
        for words in (["history", "--journal", copy], ["show", self.ids[0], "--journal", copy], ["audit", "list", copy],
                      ["audit", "export", copy], ["history", "--json", "--journal", copy]):
            text = run(*words).stdout
            self.assertTrue(text)
            self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in text), text)


if __name__ == "__main__":
    unittest.main()
