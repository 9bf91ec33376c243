#!/usr/bin/env python3
"""warder audit verify: on a chain that is whole, and on copies of it that somebody has changed."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from bus_harness import Bus, BusDaemon
from harness import PATIENCE, ROOT, Client, Daemon, as_user, eventually

WARDER = os.environ["WARDER"]


def audit_verify(daemon):
    return subprocess.run([WARDER, "audit", "verify", daemon.state, "--json"], capture_output=True, text=True,
                          timeout=PATIENCE)


class AuditVerify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        with Client(cls.daemon.socket) as client:
            for number in range(5):
                client.execute("1" * (number + 1))  # what is the same would be counted, not written
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
            self.assertEqual((told["whole"], told["entries"], told["calls"], told["unsealed"]), (True, 5, 5, 0))
            self.assertEqual(told["forgotten"], {"entries": 0, "calls": 0, "said_by": 0, "unproven": 0, "shares": []})
            self.assertRegex(told["head"], r"\A[0-9a-f]{64}\Z")
            self.assertEqual(plain, f"whole: 5 entries of 5 calls, head {told['head']}\n")
        self.assertEqual(self.whole.read_bytes(), before)

    def test_what_was_changed_is_named(self):
        told, plain = self.tampered("UPDATE audit SET shape='{}' WHERE number=3")
        self.assertEqual((told["whole"], told["entries"]), (False, 2))
        self.assertEqual(told["problem"], "entry 3 was changed, or does not follow entry 2")
        self.assertEqual(plain, f"BROKEN after 2 entries of 2 calls: {told['problem']}\n")

    def test_what_is_missing_is_named(self):
        self.assertEqual(self.tampered("DELETE FROM audit WHERE number=2")[0]["problem"], "entry 2 is missing")
        self.assertEqual(self.tampered("DELETE FROM audit WHERE number=1")[0]["problem"], "entry 1 is missing")
        self.assertIn("missing", self.tampered("DELETE FROM audit WHERE number=(SELECT max(number) FROM audit)")[0]["problem"])

    def test_a_removal_that_is_made_to_look_like_the_journals_own_is_found(self):
        copy = self.daemon.directory / "copy.db"
        copy.unlink(missing_ok=True)
        shutil.copy(self.whole, copy)
        with sqlite3.connect(copy) as database:
            database.execute("INSERT INTO audit_gaps SELECT 2, 2, hash FROM audit WHERE number=2")
            database.execute("DELETE FROM audit WHERE number=2")
        database.close()
        self.assertEqual(self.verify(copy, 1)[0]["problem"],
                         "1 entries are missing, and no entry records that they were forgotten")

    def test_what_was_added_is_named(self):
        columns = "at_ms, tenant, uid, pid, action, subject, shape, hash, version"
        told, _ = self.tampered(f"INSERT INTO audit(number, {columns}) SELECT number+1, {columns} FROM audit "
                                "ORDER BY number DESC LIMIT 1")
        self.assertIn("was changed, or does not follow", told["problem"])

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

    def test_a_file_that_was_deleted_or_replaced_under_a_daemon_is_not_called_whole(self):
        for replaced in (False, True):
            with self.subTest(replaced=replaced), Bus() as bus, BusDaemon(bus) as daemon:
                with Client(daemon.socket) as client:
                    client.execute("1")

                def judged():
                    done = subprocess.run([WARDER, "doctor", "--json", "--socket", daemon.socket, "--bus", bus.address],
                                          capture_output=True, text=True, timeout=PATIENCE)
                    (one,) = [one for one in json.loads(done.stdout)["findings"] if one["what"] == "journal"]
                    return one

                self.assertEqual(judged()["health"], "good")
                file = daemon.state / "journal/journal.db"
                copy = daemon.state / "journal/copy.db"
                shutil.copy(file, copy)
                if replaced:
                    copy.replace(file)  # at once: no sweep sees the name without a file
                else:
                    file.unlink()
                done = audit_verify(daemon)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                told = json.loads(done.stdout)
                self.assertFalse(told["whole"])
                problem = f"{file} was {'replaced' if replaced else 'removed'} while the daemon runs"
                self.assertTrue(told["problem"].startswith(problem), told["problem"])
                eventually(lambda: judged()["health"] == "bad", "the doctor says so")
                self.assertTrue(judged()["found"].startswith(problem))
                self.assertEqual(daemon.log_text().count(problem), 1)


@unittest.skipUnless(ROOT, "only root is several users")
class Flood(unittest.TestCase):
    """One tenant asks and runs far more than is kept; another has asked a little before."""

    def asked_by(self, daemon, uid):
        database = sqlite3.connect(f"file:{daemon.state}/journal/journal.db?mode=ro", uri=True)
        try:
            return (database.execute("SELECT count(*) FROM audit WHERE uid=?", (uid,)).fetchone()[0],
                    database.execute("SELECT count(*) FROM executions WHERE tenant=?", (f"uid-{uid}",)).fetchone()[0],
                    database.execute("SELECT count(*) FROM audit").fetchone()[0],
                    database.execute("SELECT count(*) FROM executions").fetchone()[0])
        finally:
            database.close()

    def test_a_flood_removes_nothing_of_another_tenant_and_is_bounded(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "warder.json")
            config.write_text(json.dumps({"journal": {"executions_kept": 100, "audit_kept": 200}}))
            with Daemon(arguments=("--config", config)) as daemon:
                with as_user(47011, lambda: Client(daemon.socket)) as quiet:
                    quiet.execute("1")
                    quiet.call("list_workspace_files")
                with as_user(47010, lambda: Client(daemon.socket)) as loud:
                    for number in range(1500):  # each of another shape
                        more = [{}, {"limit": 1}, {"offset": 0}, {"limit": 1, "offset": 0}][number % 4]
                        loud.call("read_workspace_file", {"filename": "x" * (1 + number // 4 % 200), **more})
                    for _ in range(120):
                        loud.execute("1")
                eventually(lambda: all(has <= most for has, most in zip(self.asked_by(daemon, 47010), (140, 99))),
                           "the sweep has come")
                of_audit, of_executions, audit, executions = self.asked_by(daemon, 47011)
                self.assertEqual((of_audit, of_executions), (2, 1))
                self.assertLess(audit, 200)
                self.assertEqual(executions, 100)
                done = audit_verify(daemon)
                told = json.loads(done.stdout)
                self.assertTrue(told["whole"], told)
                self.assertEqual([(one["tenant"], one["kind"]) for one in told["forgotten"]["shares"]],
                                 [("uid-47010", "calls")])
                self.assertEqual(told["calls"] + told["unsealed"] + told["forgotten"]["calls"], 2 + 1500 + 120)
                self.assertLess(told["forgotten"]["entries"], 1000)  # the rest was counted
                self.assertRegex(told["forgotten"]["since"], r"\A20..-..-..T..:..:..Z\Z")


if __name__ == "__main__":
    unittest.main()
