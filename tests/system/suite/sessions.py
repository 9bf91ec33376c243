"""Sessions where the kernel counts: frozen between calls, killed while frozen, held to their limits, charged call by call."""
import contextlib
import os
import signal
import unittest

from suite.warder import CgroupDaemon, DaemonTest, jailed_processes, receipt, wait_until

MIB = 1 << 20
SPIN = """
import threading
count = 0
def spin():
    global count
    while True: count += 1
threading.Thread(target=spin, daemon=True).start()
"""


def leaf_of(daemon):
    """The session's cgroup, once those of executions before it are gone."""
    return wait_until("one cgroup", lambda: leaves if len(leaves := daemon.leaves()) == 1 else None)[0]


class Frozen(DaemonTest):
    def leaf(self):
        return leaf_of(self.daemon)

    def is_frozen(self):
        return "frozen 1" in (self.leaf() / "cgroup.events").read_text().splitlines()

    def tearDown(self):
        self.execute("", session="s", reset_session=True)
        super().tearDown()

    def test_what_computes_between_calls_is_stopped_and_goes_on_with_the_next_call(self):
        result = self.client.call("execute_code", {"code": SPIN, "session": "s"})
        self.assertEqual(receipt(result)["session"], {"call": 1, "between_calls": "frozen"})
        self.assertFalse(any("between calls" in line for line in receipt(result)["weaker"]))
        wait_until("its cgroup is frozen", self.is_frozen)
        used = lambda: int((self.leaf() / "cpu.stat").read_text().split()[1])
        before = used()
        self.assertEqual(self.execute("sum(range(2_000_000))")["outcome"], "ok")  # time passes
        self.assertEqual(used(), before, "a frozen session computes nothing")
        found = self.execute("import time\nbefore = count\ntime.sleep(0.3)\ncount > before", session="s")
        self.assertIs(found["result"], True, found)
        (session,) = self.client.call("get_execution_stats")["structuredContent"]["sessions"]
        self.assertEqual((session["name"], session["calls"], session["state"]), ("s", 2, "frozen"))

    def test_a_frozen_session_is_ended_whole(self):
        self.expect("ok", "import os, time\nfor _ in range(4):\n  if os.fork() == 0: time.sleep(600)", session="s")
        wait_until("its cgroup is frozen", self.is_frozen)
        self.assertGreaterEqual(len(jailed_processes()), 6)
        self.expect("ok", "", session="s", reset_session=True)
        self.daemon.expect_no_jails()

    def test_an_interpreter_killed_while_frozen_is_noticed(self):
        self.expect("ok", "x = 1", session="s")
        wait_until("its cgroup is frozen", self.is_frozen)
        runner = max(map(int, (self.leaf() / "cgroup.procs").read_text().split()))
        os.kill(runner, signal.SIGKILL)
        left = lambda: str(runner) not in (self.leaf() / "cgroup.procs").read_text().split()
        wait_until("the kernel has ended it", left)  # told earlier, the call would begin and be ended by the signal
        found = self.expect("denied", "x", session="s")
        self.assertEqual(found["code"], "not_found", found)
        self.assertIs(self.execute("'x' in globals()", session="s")["result"], False)

    def test_each_call_is_charged_its_own(self):
        first = self.expect("ok", "held = bytearray(40 << 20)\nused = sum(i * i for i in range(5_000_000))", session="s")
        self.assertGreater(first["usage"]["memory_peak_bytes"], 40 * MIB)
        second = self.expect("ok", "more = bytearray(20 << 20)\nmore[::4096] = b'x' * len(more[::4096])", session="s")
        self.assertLess(second["usage"]["memory_peak_bytes"], 40 * MIB, second)
        self.assertGreater(second["usage"]["memory_peak_bytes"], 16 * MIB, second)
        self.assertLess(second["usage"]["cpu_ms"], first["usage"]["cpu_ms"])
        third = self.expect("ok", "1", session="s")
        self.assertLess(third["usage"]["memory_peak_bytes"], 16 * MIB, third)

    def test_the_limit_of_memory_is_for_all_calls_together_and_ends_the_session(self):
        self.expect("ok", "held = bytearray(40 << 20)", session="s", memory_mb=64)
        found = self.expect("memory", "more = []\nwhile True: more.append(bytearray(1 << 20))", session="s")
        self.assertIs(found["session"]["ended"], True)
        self.assertIn("variables are lost", found["session"]["remedy"])
        self.daemon.expect_no_jails()
        found = self.expect("error", "held", session="s")  # the answer above has said it: this one begins anew
        self.assertEqual(found["session"]["call"], 1)

    def test_refused_processes_of_one_call_are_not_held_against_the_next(self):
        self.expect("ok", "import os, time\nchildren = []\ntry:\n  while True:\n    pid = os.fork()\n"
                          "    if pid == 0: time.sleep(600)\n    children.append(pid)\nexcept OSError: pass\n"
                          "for pid in children: os.kill(pid, 9); os.waitpid(pid, 0)", session="s")
        found = self.expect("error", "1 / 0", session="s")
        self.assertIn("ZeroDivisionError", found["error"])


class DeadDaemon(unittest.TestCase):
    def test_a_killed_daemon_takes_its_frozen_sessions_along(self):
        daemon = CgroupDaemon()
        with daemon:
            with contextlib.closing(daemon.connect()) as client:
                self.assertEqual(client.execute("x = 1", session="s")["outcome"], "ok")
                leaf = leaf_of(daemon)
                wait_until("its cgroup is frozen", lambda: "frozen 1" in (leaf / "cgroup.events").read_text())
                daemon.kill()
            wait_until("no process of a jail is left", lambda: not jailed_processes(), 5)
            daemon.start()
            self.assertFalse(leaf.exists())
            daemon.expect_no_jails()


class Rootless(unittest.TestCase):
    def test_a_users_daemon_freezes_its_sessions_too(self):
        with CgroupDaemon(user="ordinary") as daemon, daemon.connect() as client:
            self.assertEqual(client.execute("x = 1", session="s")["outcome"], "ok")
            leaf = leaf_of(daemon)
            wait_until("its cgroup is frozen", lambda: "frozen 1" in (leaf / "cgroup.events").read_text())
            self.assertEqual(client.execute("x", session="s")["result"], 1)
