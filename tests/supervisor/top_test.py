"""warder top on a terminal of the test's own: what a person sees, and what the keys do. With a daemon on a private bus."""
import json
import os
import pwd
import signal
import subprocess
import unittest

from bus_harness import Bus, BusDaemon
from harness import HOLD, PATIENCE, Client, Policies, let_go, workspace_of
from screen import ScreenTerminal

WARDER = os.environ["WARDER"]
USER = pwd.getpwuid(os.getuid()).pw_name
DOWN, ENTER, ESCAPE = b"\x1bOB", b"\r", b"\x1b"
HOSTILE = r'print("\x1b]0;title\x07\x1b[31mred", "caf\u00e9", "\u202egpj.exe", flush=True)' + "\n"


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.policies = cls.enterClassContext(Policies())
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus, policies=cls.policies))

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))

    def tearDown(self):
        (workspace_of(self.daemon) / "go").unlink(missing_ok=True)

    def top(self, *words, **more):
        return self.enterContext(ScreenTerminal(WARDER, "top", "-d", "0.2", "--bus", self.bus.address, *words, **more))

    def begin(self, code=HOLD):
        request = self.client.begin_running(code, timeout_seconds=300)
        done = subprocess.run([WARDER, "ps", "--json", "--bus", self.bus.address], capture_output=True, text=True, timeout=PATIENCE)
        (one,) = [e for e in json.loads(done.stdout) if e["State"] == "running"]
        return request, one["Id"]

    def finish(self, request):
        let_go(self.daemon)
        return self.client.executed(request)["outcome"]

    def test_the_list_has_all_parts_and_the_tenant_by_its_user(self):
        request, identity = self.begin()
        top = self.top()
        text = top.wait_for(identity, "serving", "exec/s", "max", "RUN/MAX", "sorted by age", "h help")
        self.assertIn(f"{USER} (uid-{os.getuid()})", text)
        self.assertTrue(top.screen.alternate)
        top.press(b"m")
        top.wait_for("sorted by memory")
        top.press(b"q")
        self.assertEqual(top.end(), 0)
        self.assertFalse(top.screen.alternate, "the terminal is as it was")
        self.assertEqual(top.screen.unknown, [])
        self.assertEqual(self.finish(request), "ok")

    def test_killing_asks_and_only_y_kills(self):
        request, identity = self.begin()
        top = self.top()
        top.wait_for(identity)
        top.press(b"k")
        top.wait_for("choose an execution")
        top.press(DOWN)
        top.wait_until(lambda screen: any(line.startswith(identity) for line in screen.marked()), "a chosen line")
        top.press(b"k")
        top.wait_for(f"end {identity} now?")
        top.press(b"n")
        top.wait_for("not killed", identity)
        top.press(b"k")
        top.wait_for(f"end {identity} now?")
        top.press(b"y")
        top.wait_for(f"killed {identity}")
        self.assertEqual(self.client.executed(request)["outcome"], "cancelled")
        top.wait_for("no executions now")

    def test_enter_opens_an_execution_and_its_output_is_harmless(self):
        request, identity = self.begin(HOSTILE + HOLD)
        top = self.top()
        top.wait_for(identity)
        top.press(DOWN + ENTER)
        text = top.wait_for(f"execution {identity}", "stdout:", "café", "limits")
        self.assertIn(r"\x1b]0;title", text)
        self.assertIn(r"\u202egpj.exe", text)
        self.assertNotIn("\u202e", text)
        self.assertEqual(self.finish(request), "ok")
        top.press(b"\x1b[6~\x1b[6~")  # page down
        top.wait_for("receipt:")
        top.press(ESCAPE)
        top.wait_for("sorted by age")
        top.press(b"e")
        top.wait_for("with ended", identity)
        self.assertEqual(top.screen.unknown, [])

    def test_help_filter_and_tenant(self):
        request, identity = self.begin()
        top = self.top()
        top.wait_for(identity)
        top.press(b"h")
        top.wait_for("warder top: keys", "not known", without=[identity])
        top.press(b"?")
        top.wait_for(identity)
        top.press(b"/nobody")
        top.wait_for("filter: nobody_", "no execution fits")
        top.press(ENTER)
        top.wait_for("filter: nobody", "q quit")
        top.press(ESCAPE)
        top.wait_for(identity)
        top.press(DOWN + b"t")
        top.wait_for(f"only tenant uid-{os.getuid()}", identity)
        self.assertEqual(self.finish(request), "ok")

    def test_a_terminal_may_change_its_size_and_be_too_small(self):
        request, identity = self.begin()
        top = self.top()
        top.wait_for(identity, "exec/s", "h help")
        top.resize(9, 60)
        text = top.wait_for(identity[:10], "quit", without=["exec/s"])
        self.assertLessEqual(len(text.splitlines()), 9)
        top.resize(3, 20)
        top.wait_for("too small")
        top.resize(40, 160)
        top.wait_for(identity, "exec/s", "h help", "TASKS")
        self.assertEqual(self.finish(request), "ok")

    def test_colours_are_there_unless_they_are_switched_off(self):
        coloured = self.top()
        coloured.wait_for("serving")
        self.assertTrue(coloured.screen.colours)
        for more in ({"NO_COLOR": "1"}, {"TERM": "vt100"}):
            with self.subTest(more):
                plain = self.top(environment=more)
                plain.wait_for("serving")
                self.assertFalse(plain.screen.colours)
        # ncurses 6.4 keeps 1.6 KB of a screen that it refuses (new_prescr), which the leak sanitizer reports at the end.
        unknown = self.top(environment={"TERM": "no-such-terminal", "LSAN_OPTIONS": "detect_leaks=0"})
        unknown.wait_for("--batch")
        self.assertEqual(unknown.end(), 125)

    def test_a_daemon_that_goes_and_comes_is_said(self):
        top = self.top()
        top.wait_for("serving")
        self.daemon.stop()
        try:
            top.wait_for("no warderd")
        finally:
            self.daemon.start()
        top.wait_for("serving", without=["no warderd"])
        os.kill(top.pid, signal.SIGTERM)
        self.assertEqual(top.end(), 0)

    def test_batch_prints_plain_text_on_a_terminal(self):
        top = self.top("--batch")
        top.wait_for("serving", "sorted by age")
        self.assertEqual(top.end(), 0)
        self.assertFalse(top.screen.alternate)
        self.assertFalse(top.screen.colours)


if __name__ == "__main__":
    unittest.main()
