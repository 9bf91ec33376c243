"""Without cgroups, the code of each kind of start, and upstream servers, run at a lower priority than daemon, jailer and
zygote, and code cannot raise it again. With cgroups, cpu.weight shares the processors, and the priority stays as it is."""
import collections
import errno
import os
import pathlib
import platform
import unittest

from harness import ROOT, Client, body_of, descendants, eventually, jailer_of, parents
from pool_test import Case, receipt_of
from upstream_harness import SharedUpstreamTest
from upstream_test import SMALL

# The daemon looks every 50 ms: the code computes until its priority is lower.
AWAIT = """
import os
while os.getpriority(os.PRIO_PROCESS, 0) < 2: pass
"""
RAISE = AWAIT + """
def refused(action):
    try: action()
    except OSError: return True
    return False
result = {"nice": os.getpriority(os.PRIO_PROCESS, 0),
          "raised": [what for what, action in {
              "nice": lambda: os.setpriority(os.PRIO_PROCESS, 0, 0),
              "by one": lambda: os.nice(-1),
              "of its group": lambda: os.setpriority(os.PRIO_PGRP, 0, 0),
              "of its user": lambda: os.setpriority(os.PRIO_USER, 0, 0),
              "real time": lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)),
              "autogroup": lambda: open("/proc/self/autogroup", "w").write("0"),
          }.items() if not refused(action)]}
"""
# sched_getattr(2); sched_attr.sched_runtime of a usual policy is the slice.
SLICE = """
import ctypes, struct
def slice_of(pid):
    values = ctypes.create_string_buffer(56)
    return ctypes.CDLL(None).syscall(315, pid, values, 56, 0) == 0 and struct.unpack_from("IIQiIQ", values)[5]
def shorten():
    library = ctypes.CDLL(None, use_errno=True)
    values = struct.pack("IIQiIQQQII", 56, 0, 0, 0, 0, 100_000, 0, 0, 0, 0)
    return library.syscall(314, 0, ctypes.create_string_buffer(values, 56), 0), ctypes.get_errno()
"""
RAISE_IN_NODE = """
const os = require('os');
while (os.getPriority() < 2);
try { os.setPriority(0); return 'raised'; } catch (error) { return os.getPriority(); }
"""
RAISE_IN_SHELL = "while [ $(nice) -lt 2 ]; do :; done; renice -n 0 $$ >&2; nice"
# Processes of sessions of their own, one of which hides its files below /proc; and of more threads than one.
SESSIONS = """
import ctypes, os, threading
print("running", flush=True)
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        if number == 2: ctypes.CDLL(None).prctl(4, 0)
        while not os.path.exists("/workspace/go"): pass
        os._exit(0)
while not os.path.exists("/workspace/go"): pass
"""


def slice_of(pid):
    exec(SLICE, defined := {})
    return defined["slice_of"](pid)


def sliced():
    """Whether this kernel has slices for single processes; the numbers of the system calls are those of x86-64."""
    return platform.machine() == "x86_64" and tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 12)


def nice_of(pid):
    """None: the process has ended."""
    try:
        return os.getpriority(os.PRIO_PROCESS, pid)
    except ProcessLookupError:
        return None


def autogroup_of(pid):
    """The nice value of the process's autogroup; None where this kernel makes none, or the process has ended. The file
    is empty, and 0 is the value, if no process above this one has called setsid(2) since the machine started."""
    try:
        return int((pathlib.Path(f"/proc/{pid}/autogroup").read_text().split() or [0])[-1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


class CodePriority(Case):
    STARTS = ("cold", "exec", "fork")
    LANGUAGES = ["python", "javascript", "shell"]

    def check_own(self, start):
        """Daemon, jailer, inits and zygotes are as they began. A zygote has inits below it."""
        daemon = self.daemons[start].process.pid
        jailer = jailer_of(self.daemons[start])
        below, of = descendants(jailer), parents()
        inits = [pid for pid, name in below.items() if name == "warder-jail-ini"]
        zygotes = {of[pid][0] for pid in inits if pid in of} - {jailer}
        if start == "fork":
            self.assertTrue(zygotes & set(below), below)
        for pid in {daemon, jailer, *inits, *zygotes}:
            self.assertIn(nice_of(pid), (nice_of(os.getpid()), None), below.get(pid))
            self.assertIn(autogroup_of(pid), (0, None), below.get(pid))

    def test_code_is_lowered_and_cannot_raise_itself(self):
        for start in self.STARTS:
            for language, code, lowered in (("python", RAISE, {"nice": 2, "raised": []}),
                                            ("javascript", RAISE_IN_NODE, 2), ("shell", RAISE_IN_SHELL, None)):
                with self.subTest(start=start, language=language):
                    if start != "cold" and language == "shell":
                        continue  # shells have no zygote, and wait like any other
                    result = self.run_as(start, code, language=language, timeout_seconds=20)
                    if receipt_of(result)["cgroup"]:
                        self.skipTest("jails have cgroups here")
                    body = body_of(result)
                    self.assertEqual(body["outcome"], "ok", body)
                    if language == "shell":
                        self.assertEqual(body["output"][-1:], ["2"], body)
                    else:
                        self.assertEqual(body.get("result"), lowered, body)
                    self.check_own(start)

    def test_code_has_the_usual_slice_and_the_daemon_a_short_one(self):
        if not sliced():
            self.skipTest("this kernel has one slice for all")
        for start in self.STARTS:
            with self.subTest(start):
                daemon = self.daemons[start]
                for pid in (daemon.process.pid, jailer_of(daemon)):
                    self.assertEqual(slice_of(pid), 100_000, pid)
                body = body_of(self.run_as(start, SLICE + "result = [slice_of(0), *shorten(), slice_of(0)]"))
                usual = slice_of(0)
                self.assertEqual(body["result"], [usual, -1, errno.EPERM, usual], body)

    def test_a_session_is_lowered_after_a_program_that_was_over_at_once(self):
        client = self.clients["cold"]
        client.execute("1", session="s")
        body = client.execute(RAISE, session="s", timeout_seconds=20)
        self.assertEqual(body.get("result"), {"nice": 2, "raised": []}, body)

    @unittest.skipUnless(ROOT, "the kernel takes ten writes a second from ordinary users")
    def test_each_session_that_code_makes_is_lowered(self):
        if autogroup_of(os.getpid()) is None:
            self.skipTest("this kernel makes no autogroups")
        for start in self.STARTS:
            with self.subTest(start):
                client = self.clients[start]
                self.run_as(start, "1")
                request = client.begin_running(SESSIONS, timeout_seconds=50)
                jailer = jailer_of(self.daemons[start])

                def sessions():
                    """The autogroups of the program's processes. Other jails, with one process each, only wait."""
                    below, of, jails = descendants(jailer), parents(), collections.defaultdict(list)
                    for pid in (pid for pid, name in below.items() if name == "python3"):
                        above = pid
                        while above in of and below.get(above) != "warder-jail-ini":
                            above = of[above][0]
                        jails[above].append(str(autogroup_of(pid)))
                    return sorted(max(jails.values(), key=len, default=[]))
                eventually(lambda: sessions() == ["2", "2", "2", "2"], "sessions at their priority")
                self.check_own(start)
                folder = self.daemons[start].state / f"tenants/uid-{os.geteuid()}/workspace"
                (folder / "go").touch()
                self.assertEqual(body_of(client.answer(request)["result"])["outcome"], "ok")
                (folder / "go").unlink()


class ServerPriority(SharedUpstreamTest):
    @classmethod
    def servers(cls):
        return {"outside": cls.server(), "jailed": {"command": "/usr/bin/python3", "args": ["-c", SMALL]}}

    def test_a_server_outside_of_jails_is_lowered(self):
        def server():
            return [pid for pid in descendants(self.shared.process.pid) if b"upstream_server.py" in command_of(pid)]
        self.client.call("call_tool", {"name": "outside__add", "arguments": {"a": 1, "b": 2}})
        if sliced():
            self.assertEqual({slice_of(pid) for pid in server()}, {slice_of(0)})
        eventually(lambda: {(nice_of(pid), autogroup_of(pid)) for pid in server()} in ({(2, 2)}, {(2, None)}), "its priority")
        self.assertEqual(nice_of(self.shared.process.pid), nice_of(os.getpid()))

    def test_a_server_in_a_jail_is_lowered(self):
        if receipt_of(self.client.call("execute_code", {"code": "1"}))["cgroup"]:
            self.skipTest("jails have cgroups here")
        self.client.call("call_tool", {"name": "jailed__keep", "arguments": {}})
        (jailer,) = [pid for pid, name in descendants(self.shared.process.pid).items() if name == "warder-jailer"]
        eventually(lambda: [pid for pid, name in descendants(jailer).items()
                            if name == "python3" and (nice_of(pid), autogroup_of(pid)) in ((2, 2), (2, None))], "its priority")
        self.assertEqual(nice_of(jailer), nice_of(os.getpid()))


if __name__ == "__main__":
    unittest.main()
