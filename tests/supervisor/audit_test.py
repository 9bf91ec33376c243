#!/usr/bin/env python3
"""warder audit verify: on a chain that is whole, and on copies of it that somebody has changed."""
import json
import os
import shutil
import sqlite3
import subprocess
import unittest

from harness import PATIENCE, Client, Daemon

WARDER = os.environ["WARDER"]


class AuditVerify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        with Client(cls.daemon.socket) as client:
            for number in range(5):
                client.execute(str(number))
        cls.daemon.stop()
        cls.addClassCleanup(cls.daemon.start)
        cls.whole = cls.daemon.state / "journal/journal.db"

    def verify(self, file, status):
        done = subprocess.run([WARDER, "audit", "verify", file, "--json"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        plain = subprocess.run([WARDER, "audit", "verify", file], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(plain.returncode, status)
        return json.loads(done.stdout or "null"), plain.stdout + plain.stderr

    def tampered(self, sql, *values):
        copy = self.daemon.directory / "copy.db"
        copy.unlink(missing_ok=True)
        shutil.copy(self.whole, copy)
        with sqlite3.connect(copy) as database:
            self.assertEqual(database.execute(sql, values).rowcount, 1)
        database.close()
        return self.verify(copy, 1)

    def test_a_whole_chain_is_found_whole_and_stays_as_it_is(self):
        before = self.whole.read_bytes()
        for named in (self.whole, self.daemon.state, self.daemon.state / "journal"):
            told, plain = self.verify(named, 0)
            self.assertEqual((told["whole"], told["entries"]), (True, 5))
            self.assertRegex(told["head"], r"\A[0-9a-f]{64}\Z")
            self.assertEqual(plain, f"whole: 5 entries, head {told['head']}\n")
        self.assertEqual(self.whole.read_bytes(), before)

    def test_what_was_changed_is_named(self):
        told, plain = self.tampered("UPDATE audit SET shape='{}' WHERE number=3")
        self.assertEqual((told["whole"], told["entries"]), (False, 2))
        self.assertEqual(told["problem"], "entry 3 is not what was written, or does not follow entry 2")
        self.assertEqual(plain, f"BROKEN after 2 entries: {told['problem']}\n")

    def test_what_is_missing_is_named(self):
        self.assertEqual(self.tampered("DELETE FROM audit WHERE number=2")[0]["problem"], "entry 2 is missing")
        self.assertEqual(self.tampered("DELETE FROM audit WHERE number=1")[0]["problem"], "entry 1 is missing")
        self.assertIn("missing", self.tampered("DELETE FROM audit WHERE number=(SELECT max(number) FROM audit)")[0]["problem"])

    def test_what_was_added_is_named(self):
        told, _ = self.tampered("INSERT INTO audit SELECT number+1, at_ms, tenant, uid, pid, action, subject, shape, hash "
                                "FROM audit ORDER BY number DESC LIMIT 1")
        self.assertIn("is not what was written", told["problem"])

    def test_what_is_no_journal_is_no_verdict(self):
        self.assertIn("cannot be verified", self.verify(self.daemon.directory / "nothing.db", 125)[1])
        other = self.daemon.directory / "other.db"
        other.write_text("this is no database" * 100)
        self.assertIn("cannot be verified", self.verify(other, 125)[1])
        done = subprocess.run([WARDER, "audit", "erase"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)


class BesideADaemon(unittest.TestCase):
    def test_it_is_read_while_a_daemon_writes(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            client.execute("1")
            done = subprocess.run([WARDER, "audit", "verify", daemon.state, "--json"], capture_output=True, text=True,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(json.loads(done.stdout)["whole"])
            self.assertEqual(client.execute("2")["outcome"], "ok")


if __name__ == "__main__":
    unittest.main()
