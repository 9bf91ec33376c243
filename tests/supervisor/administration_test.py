"""warder ps, top, logs, kill and stats, as people and scripts use them, with a daemon on a bus of the test's own."""
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from bus_harness import Admin, Bus, BusDaemon
from harness import BUSY, HOLD, PATIENCE, Client, Policies, eventually, let_go, workspace_of

WARDER = os.environ["WARDER"]
# What a program may print to drive the terminal of whoever looks, or to deceive who reads: colours, a title, C1, another
# direction of writing, nothing to be seen.
HOSTILE = r'print("\x1b]0;title\x07\x1b[31mred", "caf\u00e9", "\x9b2J", "\u202egpj.exe", "a\u200bb")'


def printable(text):
    return all(c == "\n" or " " <= c <= "~" for c in text)


class Terminal:
    """A program on a terminal of 80 columns; what it showed so far, and keys for it."""

    def __init__(self, *command):
        self.shown = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 80, 0, 0))
            os.execv(command[0], command)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.master)
        if self.pid:
            self.end()

    def read(self, until):
        if not select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
            raise AssertionError(f"not within {PATIENCE} s; shown: {self.shown[-2000:]}")
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # EIO: the program has closed it
            return False
        self.shown += piece
        return bool(piece)

    def await_text(self, text):
        """Waits until it shows `text`; forgets what came before."""
        until = time.monotonic() + PATIENCE
        while text.encode() not in self.shown:
            if not self.read(until):
                raise AssertionError(f"it ended without {text!r}: {self.shown[-2000:]}")
        seen, self.shown = self.shown, b""
        return seen

    def press(self, keys):
        os.write(self.master, keys)

    def end(self):
        """All that it shows until it ends, and its exit status."""
        until = time.monotonic() + PATIENCE
        try:
            while self.read(until):
                pass
        except OSError:
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = None
        return self.shown, status


class Administration(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.policies = cls.enterClassContext(Policies())
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus, policies=cls.policies))

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))

    def tearDown(self):
        (workspace_of(self.daemon) / "go").unlink(missing_ok=True)

    def warder(self, *words, status=0, text=True):
        done = subprocess.run([WARDER, *words, "--bus", self.bus.address], capture_output=True, text=text,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def told(self, *words, **more):
        return json.loads(self.warder(*words, "--json", **more).stdout)

    def begin(self, code=HOLD, **arguments):
        request = self.client.begin_running(code, timeout_seconds=300, **arguments)
        (one,) = [e for e in self.told("ps") if e["State"] == "running"]
        return request, one["Id"]

    def test_ps_lists_what_runs_and_with_all_what_ended(self):
        request, identity = self.begin()
        title, *lines = self.warder("ps").stdout.splitlines()
        self.assertEqual(title.split(), ["ID", "TENANT", "LANGUAGE", "WORKSPACE", "STATE", "AGE", "WALL", "CPU", "MEMORY"])
        (line,) = [line for line in lines if line.startswith(identity[:6])]
        self.assertEqual(line.split()[0], identity[:6])
        self.assertIn(identity, self.warder("ps", "--full-ids").stdout)
        self.assertIn("python", line)
        self.assertIn("running", line)
        self.assertLessEqual(len(line), 80)
        let_go(self.daemon)
        self.client.executed(request)
        self.assertNotIn(identity[:6], self.warder("ps").stdout)
        self.assertIn("ok", next(o for o in self.warder("ps", "-a").stdout.splitlines() if identity[:6] in o))
        (one,) = [e for e in self.told("ps", "--all") if e["Id"] == identity]
        self.assertEqual((one["State"], one["Outcome"]), ("ended", "ok"))

    def test_kill_ends_those_that_are_named_and_says_which_it_could_not(self):
        request, identity = self.begin()
        done = self.warder("kill", identity, "e00000000", status=1)
        self.assertIn("e00000000", done.stderr)
        self.assertNotIn(identity, done.stderr)
        self.assertEqual(self.client.executed(request)["outcome"], "cancelled")
        (refused,) = self.told("kill", "e\x1b[2J00", status=1)
        self.assertEqual(refused["killed"], False)
        self.warder("kill", status=2)

    def test_ps_shows_only_what_the_filters_let_through(self):
        request, identity = self.begin()
        (one,) = self.told("ps")
        for words in (["--tenant", one["Tenant"]], ["--state", "running"], ["--language", "python"],
                      ["--state", "waiting", "--state", "running"]):
            self.assertEqual([e["Id"] for e in self.told("ps", *words)], [identity], words)
        for words in (["--tenant", "nobody"], ["--state", "ended", "--language", "shell"], ["--language", "shell"]):
            self.assertEqual(self.told("ps", *words), [], words)
        self.assertIn("is not a state", self.warder("ps", "--state", "asleep", status=2).stderr)
        let_go(self.daemon)
        self.client.executed(request)
        self.assertIn(identity, [e["Id"] for e in self.told("ps", "--state", "ended")])

    def test_the_beginning_of_an_id_is_enough_if_only_one_id_begins_so(self):
        request, identity = self.begin()
        other = self.client.begin_running(BUSY, timeout_seconds=300)
        (other_identity,) = [e["Id"] for e in self.told("ps") if e["Id"] != identity]
        done = self.warder("kill", "e", status=1)
        for candidate in (identity, other_identity):
            self.assertIn(candidate, done.stderr)
        self.assertIn("more characters", done.stderr)
        self.assertIn(f"{other_identity} is ended", self.warder("kill", other_identity[:9]).stdout)
        self.assertEqual(self.client.executed(other)["outcome"], "cancelled")
        self.assertIn("running", self.warder("logs", identity[:9]).stdout)
        let_go(self.daemon)
        self.client.executed(request)

    def test_kill_by_tenant_asks_first(self):
        request, identity = self.begin()
        (one,) = self.told("ps")
        done = self.warder("kill", "--tenant", one["Tenant"], status=1)
        self.assertIn("1 executions of tenant", done.stderr)
        self.assertIn("--yes", done.stderr)
        self.assertEqual(len(self.told("ps")), 1)
        self.warder("kill", "--tenant", one["Tenant"], identity, status=2)
        self.assertEqual(self.warder("kill", "--tenant", "nobody").stdout, "")
        self.assertIn(identity, self.warder("kill", "--tenant", one["Tenant"], "--yes").stdout)
        self.assertEqual(self.client.executed(request)["outcome"], "cancelled")

    def test_limits_of_a_running_execution_are_changed(self):
        request, identity = self.begin()
        done = self.warder("limit", identity[:9], "--timeout", "200.5")
        self.assertEqual(done.stdout, f"{identity} is limited to: wall time 3m20s\n")
        (one,) = self.told("ps")
        self.assertEqual(one["Limits"]["WallUSec"], 200_500_000)
        self.assertIn("no limit is given", self.warder("limit", identity, status=2).stderr)
        for flag, value, wanted in (("--memory", "abc", "'abc' is not a number of MB from 16 to 1048576"),
                                    ("--cpus", "0", "'0' is not a number of CPUs from 0.01 to 4096"),
                                    ("--tasks", "0x10", "'0x10' is not a number of processes and threads from 4"),
                                    ("--timeout", "nan", "'nan' is not a number of seconds")):
            said = self.warder("limit", identity, flag, value, status=2).stderr
            self.assertIn(f"warder limit: {flag}: {wanted}", said)
            self.assertIn("for example", said)
        self.warder("limit", "e00000000", "--timeout", "5", status=1)
        let_go(self.daemon)
        self.client.executed(request)

    def test_freeze_and_thaw_say_what_was_done_or_why_not(self):
        request, identity = self.begin()
        done = subprocess.run([WARDER, "freeze", identity[:9], "--bus", self.bus.address], capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode == 0:  # with cgroups
            self.assertIn(f"{identity} is frozen", done.stdout)
            self.assertEqual([e["State"] for e in self.told("ps")], ["frozen"])
            self.assertIn(f"{identity} runs again", self.warder("thaw", identity).stdout)
        else:
            self.assertIn(f"warder freeze: {identity[:9]}: no cgroup holds this execution", done.stderr)
            (told,) = self.told("freeze", identity, status=1)
            self.assertEqual((told["id"], told["frozen"]), (identity, False))
        self.warder("thaw", "e00000000", status=1)
        let_go(self.daemon)
        self.client.executed(request)

    def test_reload_tells_what_changed_or_each_problem(self):
        said = self.warder("reload").stdout
        self.assertTrue(said.startswith("reloaded; policies: "), said)
        self.policies.write("another.json", json.dumps({"extends": "default"}))
        self.assertIn("new: another\n", self.warder("reload").stdout)
        self.policies.write("tenants.json", json.dumps({"rules": [{"uid": 4242, "policy": "another"},
                                                                  {"default": True, "policy": "default"}]}))
        self.policies.write("another.json", json.dumps({"extends": "default", "colour": 1, "languages": ["cobol"]}))
        done = self.warder("reload", status=1)
        lines = done.stderr.splitlines()
        self.assertEqual(sum(line.startswith("warder reload: ") for line in lines), len(lines) - 1, lines)
        self.assertGreaterEqual(len(lines), 3, lines)
        for word in ("colour", "cobol"):
            self.assertEqual(sum(word in line for line in lines), 1, (word, lines))
        self.assertIn("nothing was changed", lines[-1])
        told = self.told("reload", status=1)
        self.assertEqual((told["reloaded"], len(told["problems"])), (False, len(lines) - 1))
        (self.policies.folder / "tenants.json").unlink()
        (self.policies.folder / "another.json").unlink()
        self.assertIn("removed: another; where a file is still there, warder config check says why\n", self.warder("reload").stdout)

    def test_reload_waits_for_a_daemon_that_stands_still(self):
        self.policies.write("third.json", json.dumps({"extends": "default"}))
        daemon = self.daemon.process.pid
        os.kill(daemon, signal.SIGSTOP)
        try:
            command = subprocess.Popen([WARDER, "reload", "--bus", self.bus.address], stdout=subprocess.PIPE, text=True)
            waits = lambda: "poll" in pathlib.Path(f"/proc/{command.pid}/wchan").read_text()
            eventually(waits, "it waits for an answer")
        finally:
            os.kill(daemon, signal.SIGCONT)
        said = command.communicate(timeout=PATIENCE)[0]
        self.assertEqual(command.returncode, 0, said)
        self.assertIn("new: third\n", said)
        (self.policies.folder / "third.json").unlink()
        self.warder("reload")

    def test_the_log_level_is_told_and_changed(self):
        before = self.warder("log-level").stdout.strip()
        self.assertIn("the log level is debug", self.warder("log-level", "debug").stdout)
        self.assertEqual(self.told("log-level"), {"level": "debug", "before": "debug"})
        self.warder("log-level", before)
        self.assertIn("is not a log level", self.warder("log-level", "loud", status=2).stderr)

    def test_messages_name_the_value_and_what_is_expected(self):
        def said(*words, program=WARDER):
            done = subprocess.run([program, *words], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            for word in ("words", "COMMAND", "REQUIRED", "0000000000"):
                self.assertNotIn(word, done.stderr)
            return done.stderr
        self.assertIn("warder freeze: EXECUTION is missing", said("freeze"))
        self.assertIn("see: warder freeze --help", said("freeze"))
        self.assertIn("warder approve: APPROVAL is missing", said("approve"))
        self.assertIn("warder ps: '--colour' is not a flag of this command", said("ps", "--colour"))
        self.assertIn("warder ps: --bus needs a value", said("ps", "--bus"))
        self.assertIn("warder ps: 'more' is not expected", said("ps", "more"))
        self.assertIn("warder policy: a command is missing: check, import, show or explain", said("policy"))
        self.assertIn("no command is called 'pss'", said("pss"))
        self.assertIn("warder run: --memory: 'abc' is not a number of MB from 1 to 1048576",
                      said("run", "-c", "1", "--memory", "abc"))
        self.assertIn("for example: --memory 256", said("run", "-c", "1", "--memory", "-5"))
        self.assertIn("warder run: --timeout: '0' is not a number of seconds", said("run", "-c", "1", "--timeout", "0"))

    def test_errors_of_the_daemon_have_no_words_of_d_bus(self):
        said = self.warder("kill", "e0123456789abcdef", status=1).stderr
        self.assertIn("warder ps --all", said)
        self.assertNotIn("ListExecutions", said)

    def test_what_is_not_known_is_a_dash(self):
        request, identity = self.begin()
        (one,) = self.told("ps")
        (line,) = [line for line in self.warder("ps").stdout.splitlines() if line.startswith(identity[:6])]
        if one["CPUUSec"] == 2**64 - 1:  # no cgroup counts it
            self.assertEqual(line.split()[7], "-")
            self.assertRegex(self.warder("stats").stdout, r"[1-9]\d* executions not counted")
        else:
            self.assertNotEqual(line.split()[7], "-")
        let_go(self.daemon)
        self.client.executed(request)

    def test_logs_print_what_an_execution_wrote(self):
        code = 'import sys; print("to stdout"); print("to stderr", file=sys.stderr); ' + HOSTILE
        identity = self.client.execute(code)["execution_id"]
        done = self.warder("logs", identity, text=False)
        self.assertTrue(done.stdout.startswith(b"to stdout\n\x1b]0;title"))  # into a pipe as it is
        self.assertEqual(done.stderr, b"to stderr\n")
        self.assertEqual(self.warder("logs", "--stderr", identity).stdout, "to stderr\n")
        plain = self.warder("logs", identity, "--json").stdout
        self.assertTrue(printable(plain), plain)
        pieces = [json.loads(line) for line in plain.splitlines()]
        self.assertEqual(pieces[-1], {"id": identity, "ended": True})
        texts = {name: "".join(p["text"] for p in pieces if p.get("stream") == name) for name in ("stdout", "stderr")}
        self.assertEqual(texts["stderr"], "to stderr\n")
        self.assertIn("café", texts["stdout"])
        self.warder("logs", "e00000000", status=1)
        self.warder("logs", status=2)
        with Terminal(WARDER, "logs", identity, "--bus", self.bus.address) as terminal:
            shown, status = terminal.end()
        self.assertEqual(status, 0)
        self.assertIn("café".encode(), shown)
        self.assertIn(b"\\x1b[31mred", shown)
        self.assertIn(rb"\u202egpj.exe a\u200bb", shown)
        for raw in (b"\x1b", b"\x07", b"\xc2\x9b", "\u202e".encode(), "\u200b".encode()):
            self.assertNotIn(raw, shown)

    def test_logs_follow_an_execution_to_its_end(self):
        request, identity = self.begin(HOLD.replace("result =", 'print("last")\nresult ='))
        follower = self.enterContext(subprocess.Popen([WARDER, "logs", "-f", identity, "--bus", self.bus.address],
                                                      stdout=subprocess.PIPE, text=True))
        self.assertEqual(follower.stdout.readline(), "running\n")
        let_go(self.daemon)
        self.client.executed(request)
        self.assertEqual(follower.stdout.read(), "last\n")
        self.assertEqual(follower.wait(PATIENCE), 0)

    def test_logs_without_an_execution_tell_of_all(self):
        with Admin(self.bus) as admin, subprocess.Popen(
                [WARDER, "logs", "-f", "--json", "--bus", self.bus.address], stdout=subprocess.PIPE,
                text=True) as teller:
            # Nothing says when it has subscribed: executions until it tells of one.
            until = time.monotonic() + PATIENCE
            while not select.select([teller.stdout], [], [], 0)[0]:
                self.assertLess(time.monotonic(), until, "it tells nothing")
                self.client.execute("result = 1")
            event = json.loads(teller.stdout.readline())
            self.assertIn(event["event"], ("ExecutionStarted", "ExecutionFinished"))
            self.assertTrue(event["id"].startswith("e"))
            self.assertTrue(admin.call("ListExecutions"))
            teller.terminate()

    def test_stats_are_the_numbers_of_the_daemon(self):
        before = self.told("stats")
        self.client.execute("result = 1")
        after = self.told("stats")
        self.assertEqual(after["Executions"] - before["Executions"], 1)
        text = self.warder("stats").stdout
        self.assertRegex(text, r"(?m)^executions +\d+: .*ok \d+")
        self.assertRegex(text, r"(?m)^python +\d+ executions, p50 ")
        self.assertTrue(printable(text), text)

    def test_top_without_a_terminal_prints_one_picture(self):
        request, identity = self.begin()
        text = self.warder("top").stdout
        self.assertEqual(text.count("warderd "), 1)
        self.assertIn(identity, text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)
        picture = self.told("top")
        self.assertEqual([e["Id"] for e in picture["executions"]], [identity])
        self.assertEqual(picture["daemon"]["State"], "serving")
        self.assertEqual(self.warder("top", "-n", "2", "-d", "0.1").stdout.count("warderd "), 2)
        for words in (["-s", "colour"], ["-d", "0"], ["-d", "1x"], ["-n", "-1"], ["--colour"]):
            self.warder("top", *words, status=2)
        let_go(self.daemon)
        self.client.executed(request)

    def test_stats_of_a_daemon_without_executions_have_no_times(self):
        with Bus() as bus, BusDaemon(bus):
            done = subprocess.run([WARDER, "stats", "--bus", bus.address], capture_output=True, text=True,
                                  timeout=PATIENCE)
            self.assertRegex(done.stdout, r"(?m)^answers +p50 -, p90 -, p99 -, max - \(of the newest 0\)$")
            self.assertRegex(done.stdout, r"(?m)^CPU, memory +-, ")

    def test_drain_waits_for_the_running_calls(self):
        with Bus() as bus, BusDaemon(bus) as daemon, Client(daemon.socket) as client:
            request = client.begin_running(HOLD, timeout_seconds=300)
            with subprocess.Popen([WARDER, "drain", "--wait", "--bus", bus.address], stdout=subprocess.PIPE,
                                  text=True) as drain:
                self.assertIn("1 executions", drain.stdout.readline())
                let_go(daemon)
                client.executed(request)
                self.assertEqual(drain.stdout.read(), "warderd has ended\n")
                self.assertEqual(drain.wait(PATIENCE), 0)
            self.assertEqual(daemon.process.wait(PATIENCE), 0)

    def test_nobody_on_the_bus_is_said_with_the_remedy(self):
        with Bus() as empty:
            for words in (["ps"], ["stats"], ["top"], ["kill", "e1"], ["logs", "e1"], ["logs", "-f"]):
                done = subprocess.run([WARDER, *words, "--bus", empty.address], capture_output=True, text=True,
                                      timeout=PATIENCE)
                self.assertEqual(done.returncode, 125, (words, done.stderr))
                self.assertIn("no warderd is on this bus", done.stderr)
        done = subprocess.run([WARDER, "ps", "--bus", "unix:path=/nowhere"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn("--bus", done.stderr)


class SilentDaemon:
    """Plays a warderd whose Reload gets no answer: the errors by which the bus, or the client itself, says so."""

    PROGRAM = """
import sys, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
def silent(member):
    if member in sys.argv[2].split(","):
        raise dbus.DBusException("nothing came", name="org.freedesktop.DBus.Error." + sys.argv[3])
class Manager(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        silent("GetAll")
        return dbus.Dictionary({}, signature="sv")
    @dbus.service.method("org.warder.Warder1.Manager")
    def Reload(self):
        silent("Reload")
bus = dbus.bus.BusConnection(sys.argv[1])
name = dbus.service.BusName("org.warder.Warder1", bus)
manager = Manager(bus, "/org/warder/Warder1")
print("ready", flush=True)
GLib.MainLoop().run()
"""

    def __init__(self, bus, member, error):
        self.command = [sys.executable, "-c", self.PROGRAM, bus.address, member, error]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the played daemon did not start")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class WithoutAnswer(unittest.TestCase):
    def test_reload_says_what_became_of_the_request(self):
        for member, error, expected in (
                ("Reload", "Timeout", "warderd does not answer; it has the request, and reloads when it goes on"),
                ("Reload", "NoReply", "warderd ended before it answered"),
                ("GetAll", "Timeout", "warderd does not answer, so it was not asked to reload")):
            with self.subTest(member=member, error=error), Bus() as bus, SilentDaemon(bus, member, error):
                done = subprocess.run([WARDER, "reload", "--bus", bus.address], capture_output=True, text=True,
                                      timeout=PATIENCE)
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn(expected, done.stderr)
                self.assertIn("journalctl -u warder", done.stderr)
                self.assertNotIn("nothing was changed", done.stderr)


if __name__ == "__main__":
    unittest.main()
