#!/usr/bin/env python3
"""The journal under a load, killed at any moment, two hundred times over: what was acknowledged is there, what ran is
interrupted, the audit chain is whole, and nothing lies about afterwards."""
import os
import pathlib
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["JOURNAL_LOAD"]
KILLS = 200
PATIENCE = 60


class Killed(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-journal-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.random = random.Random(20261121)

    def run_and_kill(self, how):
        """The lines that one life of the program printed."""
        process = subprocess.Popen([PROGRAM, self.folder, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out = b""
            until = time.monotonic() + PATIENCE
            end = None  # some moment after it has begun
            while end is None or time.monotonic() < end:
                wait = (end or until) - time.monotonic()
                if wait <= 0:
                    break
                if select.select([process.stdout], [], [], wait)[0]:
                    part = os.read(process.stdout.fileno(), 1 << 16)
                    self.assertTrue(part, lambda: process.stderr.read())
                    out += part
                    if end is None:
                        end = time.monotonic() + self.random.uniform(0, 0.03)
            self.assertIsNotNone(end, "it printed nothing")
        finally:
            process.send_signal(signal.SIGKILL)
            rest, said = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL, said)
        lines = (out + rest).decode().split("\n")
        return lines[:-1]  # what comes after the last newline was not said

    def ask(self, question, *values):
        database = sqlite3.connect(f"file:{self.folder}/journal.db?mode=ro", uri=True)
        try:
            return database.execute(question, values).fetchall()
        finally:
            database.close()

    def rows(self, where=""):
        return dict(self.ask(f"SELECT id, coalesce(outcome, 'running') FROM executions {where}"))

    def verify(self):
        ended = subprocess.run([PROGRAM, self.folder, "verify"], stdout=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 0, ended.stdout)

    def start(self):
        """The next life: how many executions it found interrupted."""
        ended = subprocess.run([PROGRAM, self.folder, "start"], stdout=subprocess.PIPE, timeout=PATIENCE, text=True)
        self.assertEqual(ended.returncode, 0)
        return int(ended.stdout.removeprefix("interrupted "))

    def check(self, how, kills):
        acknowledged = {}
        for kill in range(kills):
            first, *lines = self.run_and_kill(how)
            self.assertEqual(first, "interrupted 0")
            said = dict(line.split(" ") for line in lines)
            acknowledged.update(said)
            self.assertGreaterEqual(self.start(), 1 if said else 0, f"kill {kill}: the one without an end")
            written = self.rows("ORDER BY number DESC LIMIT 5000")
            self.assertEqual({name: written.get(name) for name in said}, said, f"kill {kill}")
            self.assertNotIn("running", written.values())
            if kill % 50 == 0:
                self.verify()
        self.verify()
        rows = self.rows()
        lost = {name for name, outcome in acknowledged.items() if rows.get(name) != outcome}
        self.assertEqual(lost, set())
        # Of each call that was answered the audit tells, in an entry of its own or in the count of a flood.
        ((calls,),) = self.ask("SELECT (SELECT sum(count) FROM audit WHERE kind=0) + "
                               "(SELECT coalesce(sum(count), 0) FROM audit_repeats)")
        self.assertGreaterEqual(calls, len(acknowledged))
        self.assertGreater(len(acknowledged), kills)  # it was under load
        self.assertGreater(list(rows.values()).count("interrupted"), kills // 2)  # and was met at work
        self.assertLessEqual({file.name for file in self.folder.iterdir()},
                             {"journal.db", "journal.db-wal", "journal.db-shm", "spool", "in-use"})

    def test_buffered(self):
        self.check("buffered", KILLS)

    def test_durable(self):
        self.check("durable", KILLS // 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
