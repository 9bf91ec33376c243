"""A daemon that stood still for longer than a program may run (SIGSTOP, a debugger, a machine that swaps): what had
ended meanwhile is told as it ended."""
import os
import pathlib
import signal
import time
import unittest

from harness import Client, Daemon, Watch, eventually, jailed, workspace_of

LIMITS = (1.5, 6, 24)  # seconds that a program may run; the longer ones are for a machine that is slow or busy
WAIT_FOR_GO = "import os, time\nprint('running', flush=True)\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
DONE = "open('/workspace/done', 'w').close()"


def is_stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith("T")


class StoppedDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = self.enterContext(Daemon())
        self.client = self.enterContext(Client(self.daemon.socket))
        self.workspace = workspace_of(self.daemon)

    def stop_while(self, code, is_done, **arguments):
        """The answer of a program that ends while the daemon stands still, for longer than its limit."""
        for limit in LIMITS:
            in_time, body = self.stop_for(limit, code, is_done, **arguments)
            if in_time:
                return body
        self.fail(f"the program did not come to its end within {LIMITS[-1]} s")

    def stop_for(self, limit, code, is_done, **arguments):
        """Whether the program ended within its limit, as it was to, and its answer."""
        for name in ("go", "done"):
            self.workspace.joinpath(name).unlink(missing_ok=True)
        began = time.monotonic()
        request = self.client.begin_running(WAIT_FOR_GO + code, timeout_seconds=limit, **arguments)
        pid = self.daemon.process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            eventually(lambda: is_stopped(pid), "the daemon stands still")
            self.workspace.joinpath("go").touch()
            is_done()
            in_time = time.monotonic() - began < limit
            time.sleep(limit + 0.5)  # so that its time is over when the daemon goes on
        finally:
            os.kill(pid, signal.SIGCONT)
        return in_time, self.client.executed(request)

    def await_end(self):
        """The program and its jail are gone; the daemon, which stands still, has not heard of it."""
        with Watch(jailed(self.daemon)) as watch:
            self.assertEqual(watch.survivors(10), {})

    def await_last_line(self):
        eventually((self.workspace / "done").exists, "the program's last line")

    def test_a_result_that_waits_to_be_read_is_no_timeout(self):
        for last, result in (("result = 7", 7), ("result = 'x' * 900_000", "x" * 900_000)):
            with self.subTest(last):
                body = self.stop_while(f"{DONE}\n{last}", self.await_last_line)
                self.assertEqual((body["outcome"], body["success"]), ("ok", True), {**body, "result": "..."})
                self.assertEqual(body["result"], result)

    def test_a_status_that_waits_to_be_read_is_no_timeout(self):
        body = self.stop_while("print('done', flush=True); os._exit(3)", self.await_end)
        self.assertEqual((body["outcome"], body["exit_status"]), ("exit", 3), body)
        self.assertEqual(body["output"], ["running", "done"])

    def test_a_session_goes_on_after_it(self):
        body = self.stop_while(f"kept = 5\n{DONE}\nresult = 6", self.await_last_line, session="s")
        self.assertEqual((body["outcome"], body.get("result")), ("ok", 6), body)
        self.assertEqual(self.client.execute("kept + 1", session="s").get("result"), 6)

    def test_a_program_that_goes_on_is_still_ended(self):
        body = self.stop_while("print('on', flush=True)\nwhile True: time.sleep(0.01)", lambda: None)
        self.assertEqual(body["outcome"], "timeout", body)


if __name__ == "__main__":
    unittest.main(verbosity=2)
