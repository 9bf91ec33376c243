"""How executions end from outside: at their deadline, cancelled, with their client, with their daemon. Nothing stays."""
import contextlib
import os
import pathlib
import signal
import unittest

from suite.warder import META, CgroupDaemon, DaemonTest, jailed_processes, wait_until


def mounts():
    return len(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def descriptors(daemon):
    """Open descriptors of the daemon and its jailer."""
    pids = (daemon.cgroup / "supervisor/cgroup.procs").read_text().split()
    return {int(pid): len(os.listdir(f"/proc/{pid}/fd")) for pid in pids}


class Deadline(DaemonTest):
    def test_the_deadline_ends_64_processes_that_ignore_sigterm(self):
        found = self.expect("timeout", """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(60):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
print("started", flush=True)
time.sleep(600)
""", timeout_seconds=30)
        self.assertEqual(found["output"], ["started"])
        self.daemon.expect_no_jails()

    def test_a_program_that_stopped_itself_is_ended(self):
        self.expect("timeout", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", timeout_seconds=3)

    def test_a_program_with_stopped_children_is_ended(self):
        self.expect("timeout", "import os, signal\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\n"
                               "os.wait()", timeout_seconds=3)


class Orphans(DaemonTest):
    def test_a_grandchild_that_holds_stdout_open_delays_nothing(self):
        found = self.expect("ok", """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
result = "done"
""", timeout_seconds=60)
        self.assertEqual(found["result"], "done")
        self.assertLess(found["usage"]["wall_ms"], 30000)
        self.daemon.expect_no_jails()


class Cancelled(DaemonTest):
    def start_sleeping(self, client):
        client.send({"jsonrpc": "2.0", "id": "sleeper", "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": "import time; time.sleep(600)", "timeout_seconds": 200},
            "_meta": META}})
        leaf = self.daemon.wait_for_leaf()
        wait_until("the program runs", lambda: (leaf / "cgroup.procs").read_text().count("\n") >= 2)

    def test_a_cancelled_request_ends_its_jail(self):
        self.start_sleeping(self.client)
        self.client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "sleeper"}})
        wait_until("the jail is gone", lambda: not self.daemon.leaves())

    def test_a_client_that_vanishes_takes_its_jail_along(self):
        client = self.daemon.connect()
        self.start_sleeping(client)
        client.close()
        wait_until("the jail is gone", lambda: not self.daemon.leaves())


class NothingLeft(DaemonTest):
    def test_twenty_executions_leave_no_mount_descriptor_or_cgroup(self):
        self.expect("ok", "result = 1")
        self.daemon.expect_no_jails()
        before = mounts(), descriptors(self.daemon)
        for number in range(20):
            self.expect("ok" if number % 2 else "error", "result = 1" if number % 2 else "1 / 0")
        self.daemon.expect_no_jails()
        # What is opened once, as the journal's files, may be so after the first answer. What an outcome left behind each
        # time would be ten by now.
        wait_until("no descriptor more for each execution", lambda: all(
            count < before[1].get(pid, 0) + 10 for pid, count in descriptors(self.daemon).items()))
        self.assertEqual(mounts(), before[0])


class DeadDaemon(unittest.TestCase):
    def test_a_killed_daemon_takes_its_jails_along_and_its_successor_cleans_up(self):
        daemon = CgroupDaemon()
        with daemon:
            with contextlib.closing(daemon.connect()) as client:
                client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                    "name": "execute_code", "_meta": META,
                    "arguments": {"code": "import os, time\nos.fork()\ntime.sleep(600)", "timeout_seconds": 200}}})
                leaf = daemon.wait_for_leaf()
                wait_until("the program runs", lambda: (leaf / "cgroup.procs").read_text().count("\n") >= 3)
                os.kill(daemon.process.pid, signal.SIGSTOP)  # so that it can clean nothing up
                daemon.kill()
            wait_until("no process of a jail is left", lambda: not jailed_processes(), 5)
            daemon.start()
            self.assertFalse(leaf.exists(), "what the first left behind is gone before the second serves")
            daemon.expect_no_jails()  # nor does its own start-up jail stay
            with contextlib.closing(daemon.connect()) as client:
                self.assertEqual(client.execute("result = 1")["outcome"], "ok")
