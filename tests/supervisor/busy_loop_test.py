#!/usr/bin/env python3
"""A daemon that does not answer for a while says so afterwards: how long, in which work, for whom, and what helps.

It is stopped for a moment while it has work to do, by a signal: what a machine without processors does to it.
"""
import os
import re
import signal
import subprocess
import threading
import time
import unittest

from bus_harness import Admin, Bus, BusDaemon
from harness import EXAMPLE_CATALOG, PATIENCE, Client, eventually

WARDER = os.environ["WARDER"]
STOPPED = 0.15  # seconds; a tenth is what the doctor notes
SAMPLE = re.compile(r'^warder_loop_busy_seconds_max\{work="([a-z_]+)"\} ([0-9.]+)$', re.MULTILINE)


class Flood:
    """Requests as fast as they are answered, so that the daemon is hardly ever idle."""

    def __init__(self, daemon):
        self.client, self.enough = Client(daemon.socket), threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def __exit__(self, *_):
        self.enough.set()
        self.thread.join()
        self.client.close()

    def ask(self):
        while not self.enough.is_set():
            asked = [self.client.begin("tools/call", name="search_tools", arguments={"query": "send a mail"})
                     for _ in range(50)]
            for request in asked:
                self.client.answer(request)


class BusyLoop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.daemon = BusDaemon(cls.bus)
        cls.path = cls.daemon.socket.parent / "metrics.sock"
        cls.daemon.arguments += ["--metrics", cls.path, "--catalog", EXAMPLE_CATALOG]
        cls.enterClassContext(cls.daemon)

    def longest(self):
        text = subprocess.run([WARDER, "metrics", "--from", self.path], capture_output=True, text=True, check=True,
                              timeout=PATIENCE).stdout
        self.assertRegex(text, r"# HELP warder_loop_busy_seconds_max .*last 10 minutes")
        (work, seconds), = SAMPLE.findall(text)
        return work, float(seconds)

    def finding(self):
        with Admin(self.bus) as admin:
            return {str(one[0]): tuple(map(str, one[1:])) for one in admin.call("RunDoctor")}["loop"]

    def stand_still(self):
        pid = self.daemon.process.pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.kill(pid, signal.SIGCONT)
        return self.longest()[1] >= STOPPED

    def test_a_turn_that_took_long_is_in_the_metrics_and_the_doctor_says_what_it_was(self):
        self.assertGreater(self.longest()[1], 0)
        with Flood(self.daemon):
            eventually(self.stand_still, "a stop in the middle of a turn")
        work, seconds = self.longest()
        self.assertGreaterEqual(seconds, STOPPED)
        health, found, remedy = self.finding()
        self.assertEqual(health, "note")
        milliseconds = int(re.search(r"no client was answered for (\d+) ms", found)[1])
        self.assertGreaterEqual(milliseconds, 1000 * STOPPED)
        self.assertRegex(found, r"at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ")
        self.assertRegex(found, r"\d+ ms of that went into [a-z]")
        if work in ("client_message", "answer"):
            self.assertIn(f"for user {os.geteuid()}", found)
        self.assertIn("the last 10 minutes", remedy)


if __name__ == "__main__":
    unittest.main()
