"""Jails that wait, where the kernel counts: what was built ahead is not charged to the execution, and its limits bind."""
import contextlib
import os
import pathlib
import time
import unittest

from suite.warder import META, CgroupDaemon, answer, jailed_processes, receipt, wait_until

MIB = 1 << 20
PAUSE = 0.5  # pools are filled while nobody asks; this processor is slow and the only one
POOL = {"min_idle": 1, "max_idle": 2, "zygotes": True}
NAMED = """
import ctypes, signal, warder
ctypes.CDLL(None).prctl(15, b"{}", 0, 0, 0)
"""
RUNS = NAMED.format("holder") + "signal.pause()"
# Goes on after its answer, where the runner would wait for its end.
SPINS = NAMED.format("spinner") + """
def spin():
    while True: pass
warder._channel.linger = spin
result = "answered"
"""


class Waiting(unittest.TestCase):
    """A daemon for each way to start: a tenant that has a zygote gets no other jails while that keeps up."""

    def setUp(self):
        self.daemons, self.clients = {}, {}
        for start in ("exec", "fork"):
            daemon = self.daemons[start] = self.enterContext(CgroupDaemon(pool={**POOL, "zygotes": start == "fork"}))
            self.clients[start] = self.enterContext(daemon.connect())

    def run_as(self, start, code, **arguments):
        def tried():
            result = self.clients[start].call("execute_code", {"code": code, **arguments})
            return result if receipt(result)["start"] == start else time.sleep(PAUSE)
        return wait_until(f"an execution that starts {start}", tried)

    def leaf_of(self, start):
        """The leaf of a jail that waits (not its zygote's), with all its processes."""
        return wait_until("a leaf of a waiting jail", lambda: [
            leaf for leaf in self.daemons[start].leaves()
            if leaf.name.startswith("w") and text_of(leaf / "cpu.weight") == "1\n"
            and len(text_of(leaf / "cgroup.procs").split()) == 2])[0]

    def test_a_waiting_jail_has_a_leaf_with_the_lowest_weight(self):
        for start in ("exec", "fork"):
            self.run_as(start, "pass")
            leaf = self.leaf_of(start)
            self.assertNotEqual((leaf / "memory.max").read_text(), "max\n")
            self.assertNotEqual((leaf / "pids.max").read_text(), "max\n")

    def test_memory_binds_as_asked_on_top_of_what_the_interpreter_holds(self):
        within = "held = bytearray(40 << 20)\nresult = len(held)"
        bomb = "held = []\nwhile True: held.append(bytearray(1 << 20))"
        for start in ("exec", "fork"):
            with self.subTest(start):
                found = answer(self.run_as(start, within, memory_mb=48))
                self.assertEqual(found["outcome"], "ok", found)
                self.assertGreaterEqual(found["usage"]["memory_peak_bytes"], 40 * MIB)
                self.assertLessEqual(found["usage"]["memory_peak_bytes"], 48 * MIB)
                found = answer(self.run_as(start, bomb, memory_mb=48))
                self.assertEqual(found["outcome"], "memory", found)
                self.assertLessEqual(found["usage"]["memory_peak_bytes"], 48 * MIB)

    def test_javascript_is_forked_and_its_memory_binds(self):
        bomb = "const held = []; for (;;) held.push(Buffer.alloc(1 << 20, 1))"
        found = answer(self.run_as("fork", "return [6 * 7, await new Promise((told) => setTimeout(told, 1, 'timer'))]",
                                   language="javascript"))
        self.assertEqual((found["outcome"], found["result"]), ("ok", [42, "timer"]), found)
        found = answer(self.run_as("fork", bomb, language="javascript", memory_mb=128))
        self.assertEqual(found["outcome"], "memory", found)
        self.assertLessEqual(found["usage"]["memory_peak_bytes"], 128 * MIB)

    def test_a_used_jail_is_frozen_and_ended_while_all_processors_are_busy(self):
        for start, daemon in self.daemons.items():
            with self.subTest(start):
                self.run_as(start, "pass")
                with contextlib.ExitStack() as connections:
                    for _ in range(os.cpu_count()):
                        connections.enter_context(daemon.connect()).send({
                            "jsonrpc": "2.0", "id": "runs", "method": "tools/call",
                            "params": {"name": "execute_code", "arguments": {"code": RUNS}, "_meta": META}})
                    wait_until("as many run", lambda: list(jailed_processes().values()).count("holder") == os.cpu_count())
                    wait_until("a used jail that is frozen", lambda: self.is_seen_frozen(start))
                wait_until("their end", lambda: "holder" not in jailed_processes().values())

    def is_seen_frozen(self, start):
        """One that spins after its answer; until its end."""
        body = answer(self.clients[start].call("execute_code", {"code": SPINS}))
        self.assertEqual(body["result"], "answered", body)
        seen = []
        wait_until("its end", lambda: seen.extend(
            leaf for leaf in self.daemons[start].leaves() if text_of(leaf / "cgroup.freeze") == "1\n")
            or "spinner" not in jailed_processes().values())
        return seen

    def test_a_killed_daemon_leaves_nothing_and_the_next_removes_the_leaves(self):
        daemon = self.daemons["fork"]
        self.run_as("fork", "pass")
        self.leaf_of("fork")
        before = {leaf.name for leaf in daemon.leaves()}
        daemon.kill()
        mine = lambda: {pid for pid in jailed_processes() if daemon.cgroup.name in text_of(pathlib.Path(f"/proc/{pid}/cgroup"))}
        wait_until("no process of a jail is left", lambda: not mine())
        daemon.start()
        self.assertFalse(before & {leaf.name for leaf in daemon.leaves()} - {"w0", "z0"})


def text_of(file):
    """Nothing when it is gone meanwhile."""
    try:
        return file.read_text()
    except OSError:
        return ""


class Rootless(unittest.TestCase):
    def test_a_users_daemon_has_them_too(self):
        with CgroupDaemon(user="ordinary", pool=POOL) as daemon, daemon.connect() as client:
            def tried():
                result = client.call("execute_code", {"code": "result = 6 * 7"})
                self.assertEqual(answer(result)["result"], 42)
                return receipt(result)["start"] == "fork" or time.sleep(PAUSE)
            wait_until("a fork of an unprivileged zygote", tried)
