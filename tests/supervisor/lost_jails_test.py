"""Jails and the jailer ended from outside: the answer says in the agent's words what happened, whether the program may
have run, and what to do."""
import os
import pathlib
import signal
import unittest

from harness import (
    BUSY,
    HOLD,
    Client,
    Daemon,
    Service,
    Watch,
    body_of,
    descendants,
    eventually,
    jailer_of,
    parents,
    wait_for_status,
)

# What only somebody who has read the source understands.
OURS = ("attach_workspace", "jail step", "sendmsg", "No such process", "pid")


def children_of(pid):
    return [child for child, (parent, _) in parents().items() if parent == pid]


def is_stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith("T")


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: is_stopped(pid), "a process that stands still")


class LostJails(unittest.TestCase):
    def expect(self, answer, may_have_run, *words):
        self.assertTrue(answer["result"]["isError"])
        body = body_of(answer["result"])
        self.assertEqual((body["success"], body["outcome"]), (False, "internal"), body)
        self.assertEqual(body.get("may_have_run"), may_have_run, body)
        self.assertIn("call again", body["remedy"])
        for word in words:
            self.assertIn(word, body["error"])
        for word in OURS:
            self.assertNotIn(word, body["error"])
        return body

    def test_a_jail_that_is_killed_while_its_program_runs(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            request = client.begin_running(BUSY, timeout_seconds=300)
            (init,) = children_of(jailer_of(daemon))
            os.kill(init, signal.SIGKILL)
            body = self.expect(client.answer(request), True, "ended from outside")
            self.assertIn("check its effects in the workspace", body["remedy"])
            self.assertEqual(client.execute("result = 6")["result"], 6)

    def test_a_jail_that_is_killed_before_its_program_begins(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            jailer, pid = jailer_of(daemon), daemon.process.pid
            stop(jailer)
            request = client.begin_execute("open('/workspace/ran', 'w')", "token")
            client.await_progress("token")  # the order for a jail has been sent
            stop(pid)
            os.kill(jailer, signal.SIGCONT)
            (init,) = eventually(lambda: children_of(jailer), "a jail's init")
            eventually(lambda: children_of(init), "its runner: the jail is built")
            os.kill(init, signal.SIGKILL)
            with Watch({init: "init"}) as watch:
                self.assertEqual(watch.survivors(10), {})
            os.kill(pid, signal.SIGCONT)
            self.expect(client.answer(request), False, "ended from outside before the program began", "did not run")
            self.assertEqual(client.execute("import os; result = os.listdir('/workspace')")["result"], [])

    def test_a_jailer_that_is_killed_while_programs_run(self):
        with Service() as daemon, Client(daemon.socket) as client:
            running = [client.begin_running(BUSY, timeout_seconds=300), client.begin_running(HOLD)]
            with Watch(descendants(daemon.process.pid)) as watch:
                os.kill(jailer_of(daemon), signal.SIGKILL)
                for request in running:
                    body = self.expect(client.answer(request), True, "jailer", "fault of the daemon", "restarts")
                    self.assertIn("check its effects in the workspace", body["remedy"])
                self.assertEqual(wait_for_status(daemon.process), 1)
                self.assertEqual(watch.survivors(10), {})
            (line,) = [line for line in daemon.log_text().split("\n") if "the jailer process ended" in line]
            self.assertIn("signal 9", line)
            self.assertIn("systemd", line)

    def test_a_jailer_that_is_killed_with_orders_for_it_under_way(self):
        with Service() as daemon, Client(daemon.socket) as client:
            jailer = jailer_of(daemon)
            stop(jailer)
            request = client.begin_execute("open('/workspace/ran', 'w')", "token")
            client.await_progress("token")
            os.kill(jailer, signal.SIGKILL)
            body = self.expect(client.answer(request), False, "jailer", "fault of the daemon", "did not run")
            self.assertIn("systemctl restart warder", body["remedy"])
            self.assertEqual(client.answer(request)["result"]["_meta"]["org.warder/not-run"], "draining",
                             "`warder mcp` sends it to the next daemon")
            self.assertEqual(wait_for_status(daemon.process), 1)
            self.assertFalse((daemon.state / "tenants" / f"uid-{os.geteuid()}" / "workspace" / "ran").exists())

    def test_calls_that_come_after_the_jailer_is_gone(self):
        with Service() as daemon, Client(daemon.socket) as client:
            jailer, pid = jailer_of(daemon), daemon.process.pid
            client.request("server/discover")
            stop(pid)
            with Watch({jailer: "jailer"}) as watch:
                os.kill(jailer, signal.SIGKILL)
                self.assertEqual(watch.survivors(10), {})
            request = client.begin_execute("result = 1")
            os.kill(pid, signal.SIGCONT)
            result = client.answer(request)["result"]
            self.assertIn("did not run", body_of(result)["error"])
            self.assertEqual(result["_meta"]["org.warder/not-run"], "draining")
            self.assertEqual(wait_for_status(daemon.process), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
