"""Jails that wait: what is built ahead is as good as what is built cold, and no execution finds a trace of another.

Each program here would notice: it leaves something, compares something, or damages what it was given.
"""
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import secrets
import signal
import socket
import time
import unittest

from harness import (HOLD, PATIENCE, ROOT, ORDINARY_USER, Client, Daemon, Policies, Watch, body_of, descendants,
                     eventually, jailer_of, let_go)

# Everything that must be different, or must be the same, in every jail.
LOOK = """
import ctypes, glob, os, random, signal, socket, sys, tempfile, uuid
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
libc.getauxval.argtypes = [ctypes.c_ulong]
maps = open("/proc/self/maps").read().splitlines()
start_of = lambda name: next((line.split("-")[0] for line in maps if line.endswith(name)), None)
try:
    import ssl
    tls = ssl.RAND_bytes(8).hex()
except ImportError:
    tls = None
result = {
    "random": random.random(), "uuid4": str(uuid.uuid4()), "uuid1": str(uuid.uuid1()), "urandom": os.urandom(8).hex(),
    "name": tempfile.mktemp(), "tls": tls,
    "hash": hash("warder"), "canary": ctypes.string_at(libc.getauxval(25), 16).hex(),
    "stack": start_of("[stack]"), "libc": next(line.split("-")[0] for line in maps if "libc.so" in line),
    "files": sorted(os.listdir("/tmp") + os.listdir("/home/agent") + os.listdir("/dev/shm")),
    "ipc": len(open("/proc/self/mountinfo").read()) > 0 and libc.shmget(0x5741, 0, 0),
    "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:4],
    "environment": sorted(os.environ), "pid": os.getpid(), "processes": sum(e.isdigit() for e in os.listdir("/proc")),
    "timer": signal.getitimer(signal.ITIMER_REAL), "cwd": os.getcwd(), "umask": os.umask(0o22),
    "left": getattr(sys, "left_behind", None), "path": sys.path, "main": sorted(globals()),
    "limits": open("/proc/self/limits").read(), "status": [line for line in open("/proc/self/status")
        if line.startswith(("Cap", "NoNewPrivs", "Seccomp:", "Groups", "Uid", "Gid", "SigIgn", "SigCgt", "SigBlk", "Threads"))],
    "session": os.getsid(0) == os.getpid(), "memory": os.access("/proc/self/mem", os.R_OK),
}
"""
# Leaves what it can, wherever it can, and breaks its interpreter.
LEAVE = """
import builtins, ctypes, os, signal, socket, sys
for place in ("/tmp", "/home/agent", "/dev/shm"):
    open(place + "/left", "w").write("left")
ctypes.CDLL(None).shmget(0x5741, 4096, 0o1600)
os.environ["LEFT"] = "left"
sys.left_behind = True
sys.path.insert(0, "/left")
builtins.len = None
signal.setitimer(signal.ITIMER_REAL, 1000)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    signal.pause()
"""
# Finds a text in the readable memory of its own process. The code holds it in two halves, and never joins them.
SEARCH = """
first, second = b"{0}", b"{1}"
result = 0
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps").read().splitlines():
        span, rights = line.split()[:2]
        if "r" not in rights or line.endswith(("[vvar]", "[vvar_vclock]", "[vsyscall]")):
            continue
        low, high = (int(n, 16) for n in span.split("-"))
        memory.seek(low)
        data = memory.read(high - low)
        at = data.find(second)
        while at >= 0:
            result += data[at - len(first):at] == first
            at = data.find(second, at + 1)
        del data
"""
KINDS = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")  # of namespaces, as below /proc/PID/ns
RANDOM = ("random", "uuid4", "uuid1", "urandom", "name", "tls")


def receipt_of(result):
    return result["_meta"]["org.warder/receipt"]


def names_below(daemon):
    return descendants(jailer_of(daemon))


def is_at_rest(pid):
    """Stopped, dead or gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "TZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill_all(pids, signal_number):
    """Until the signal has done its work: one that is on its way lets an order that comes at that moment be read."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # a jail ends with its zygote
            os.kill(pid, signal_number)
    eventually(lambda: all(map(is_at_rest, pids)), "the end, or the halt, of what was sent a signal")


class Case(unittest.TestCase):
    """A daemon for each way to start: a tenant that has a zygote gets no other jails while that keeps up."""
    STARTS = ("exec", "fork")
    POOL = {}
    LANGUAGES = ["python"]
    ADMISSION = {}
    LIMITS = {}
    canary = secrets.token_hex(8)

    def setUp(self):
        self.daemons, self.clients = {}, {}
        for start in self.STARTS:
            self.policies = self.enterContext(Policies(
                pool={"min_idle": 0 if start == "cold" else 1, "max_idle": 0 if start == "cold" else 2, "zygotes": start == "fork",
                      **self.POOL},
                languages=self.LANGUAGES, admission=self.ADMISSION, limits=self.LIMITS))
            self.daemon = self.daemons[start] = self.enterContext(
                Daemon(policies=self.policies, environment={"CANARY": "canary-" + self.canary}))
            self.client = self.clients[start] = self.enterContext(Client(self.daemon.socket))

    def run_as(self, start, code, client=None, **arguments):
        """The answer of an execution that began like this: "cold", "exec" or "fork"."""
        def tried():
            result = (client or self.clients[start]).call("execute_code", {"code": code, **arguments})
            return result if receipt_of(result)["start"] == start else None
        return eventually(tried, f"an execution that starts {start}")

    def look(self, start, client=None):
        body = body_of(self.run_as(start, LOOK, client))
        self.assertEqual(body["outcome"], "ok", body)
        return body["result"]

    def waiting(self):
        """Runners of jails that wait, and zygotes, by pid."""
        return {pid: name for pid, name in names_below(self.daemon).items() if name.startswith("python3")}


KERNELS = ("/proc/mounts", "/proc/net", "/proc/uptime", "/proc/version")  # held open by process 1 of a jail: they stay visible


class Warm(Case):
    STARTS = ("cold", "exec", "fork")

    def test_kinds_of_start(self):
        eventually(self.waiting, "a jail that waits after the first connection, before any call")
        first = receipt_of(self.run_as("exec", "result = 1"))
        self.assertGreater(first["waited_ms"], 0)
        forked = receipt_of(self.run_as("fork", "result = 1"))
        self.assertGreater(forked["zygote_age_ms"], 0)
        cold = receipt_of(self.run_as("cold", "result = 1"))
        self.assertEqual(len(cold["namespaces"]), 7)
        for same in ("namespaces", "capabilities", "seccomp", "landlock", "root", "network", "workspace", "weaker"):
            self.assertEqual(first[same], cold[same])
            self.assertEqual(forked[same], cold[same])

    def test_a_tenant_with_a_zygote_gets_no_exec_jail(self):
        self.run_as("fork", "pass")
        starts = [receipt_of(self.client.call("execute_code", {"code": "pass"}))["start"] for _ in range(40)]
        self.assertEqual(set(starts), {"fork"})

    @unittest.skipUnless(ROOT, "looks into processes of other users")
    def test_process_1_of_a_fork_is_that_of_any_jail(self):
        def kept(pid):
            process = pathlib.Path("/proc", str(pid))
            status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
            descriptors = sorted(re.sub(r"\d+", "N", os.readlink(fd)) for fd in (process / "fd").iterdir())
            return [descriptors, *(status[key].strip() for key in ("SigCgt", "Seccomp", "CapEff", "Threads"))]

        def inits(start):
            """What all processes 1 keep. That of a fork first uses the interpreter's memory and descriptors."""
            found = [pid for pid, name in names_below(self.daemons[start]).items() if name == "warder-jail-ini"]
            try:
                return [[pathlib.Path(os.readlink(f"/proc/{pid}/exe")).name, *kept(pid)] for pid in found]
            except (FileNotFoundError, ProcessLookupError):
                return []  # one of them has ended meanwhile: looked at again

        def the_same(all, as_those=None):
            """What all of them keep, when that is the same: while one is built, it has more."""
            return all[0] if all and all == [as_those or all[0]] * len(all) else None

        for start in ("exec", "fork"):
            self.run_as(start, "result = 1")
        expected = eventually(lambda: the_same(inits("exec")), "built jails")
        program, descriptors, *rights = expected
        home = [program, [name for name in descriptors if name not in KERNELS], *rights]  # of the zygote: a whole /proc
        forks = lambda: [one for one in inits("fork") if one != home]
        eventually(lambda: the_same(forks(), expected), f"forks whose process 1 has {expected}")

    @unittest.skipUnless(ROOT, "looks into processes of other users")
    def test_no_two_processes_1_share_a_namespace(self):
        """A fork's process 1 does not read its numbers: its steps are the evidence. Here they are read."""
        def namespaces():
            found = [pid for pid, name in names_below(daemon).items() if name == "warder-jail-ini"]
            try:
                return [{kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in KINDS} for pid in (jailer_of(daemon), *found)]
            except (FileNotFoundError, ProcessLookupError):
                return []  # one of them has ended meanwhile: looked at again

        for start, least in (("exec", 2), ("fork", 3)):  # the jailer, a jail, and the zygote's home
            daemon = self.daemons[start]
            receipt = receipt_of(self.run_as(start, "pass"))
            self.assertEqual(receipt["namespaces"], ["user", "pid", "mount", "net", "ipc", "uts", "cgroup"])
            found = eventually(lambda: [n for n in [namespaces()] if len(n) >= least], f"jails of the start {start}")[0]
            for kind in KINDS:
                numbers = [one[kind] for one in found]
                self.assertEqual(len(set(numbers)), len(numbers), (start, kind, numbers))

    def test_jails_are_the_same_however_they_start(self):
        cold = self.look("cold")
        for start in ("exec", "fork"):
            with self.subTest(start):
                seen = self.look(start)
                for same in ("files", "ipc", "descriptors", "environment", "timer", "cwd", "umask", "left", "path", "main",
                             "limits", "status", "session", "memory", "processes", "pid"):
                    self.assertEqual(seen[same], cold[same], same)

    def test_nothing_that_must_be_random_repeats(self):
        looks = [self.look("exec")] + [self.look("fork") for _ in range(6)]
        for what in RANDOM:
            values = [look[what] for look in looks if look[what] is not None]
            self.assertEqual(len(set(values)), len(values), f"{what}: {values}")

    def test_no_trace_of_another_execution(self):
        for start in ("exec", "exec", "fork", "fork", "fork"):
            with self.subTest(start):
                self.run_as(start, LEAVE)
                seen = self.look(start)
                self.assertEqual(seen["files"], [])
                self.assertEqual(seen["ipc"], -1)
                self.assertEqual(seen["timer"], [0, 0])
                self.assertIsNone(seen["left"])
                self.assertNotIn("LEFT", seen["environment"])
                self.assertNotIn("/left", seen["path"])
                self.assertEqual(seen["processes"], 1)  # /proc hides init

    def test_no_secret_of_the_daemon_in_memory(self):
        half = len(self.canary) // 2
        search = SEARCH.format(self.canary[:half], self.canary[half:])
        # The search itself must work: what the program holds is found.
        held = body_of(self.run_as("fork", f"kept = '{self.canary}'\n" + search))
        self.assertGreater(held.get("result", 0), 0, held)
        for start in ("exec", "fork"):
            body = body_of(self.run_as(start, search))
            self.assertEqual(body.get("result"), 0, (start, body))

    def test_clocks_are_the_executions_own_or_the_machines(self):
        code = """
import resource, time
children = resource.getrusage(resource.RUSAGE_CHILDREN)
result = {"cpu": time.process_time(), "thread": time.thread_time(), "children": children.ru_utime + children.ru_stime,
          "monotonic": time.monotonic(), "boot": time.clock_gettime(time.CLOCK_BOOTTIME), "time": time.time()}
"""
        machine = {"monotonic": time.monotonic, "time": time.time,
                   "boot": lambda: time.clock_gettime(time.CLOCK_BOOTTIME)}
        for start in self.STARTS:
            with self.subTest(start):
                before = {name: clock() for name, clock in machine.items()}
                seen = body_of(self.run_as(start, code))["result"]
                for name, clock in machine.items():
                    self.assertTrue(before[name] <= seen[name] <= clock(), (name, before[name], seen[name]))
                self.assertEqual(seen["children"], 0)
                if start == "fork":  # no time of the zygote's
                    self.assertLess(max(seen["cpu"], seen["thread"]), 1)

    def test_usage_is_the_executions_own(self):
        busy = "import time\nuntil = time.process_time() + 0.2\nwhile time.process_time() < until: pass"

        def least(start):
            """Milliseconds: an interruption adds to a measurement, and takes nothing away."""
            return min(body_of(self.run_as(start, "pass"))["usage"]["cpu_ms"] for _ in range(5))

        starting = "import time\nresult = time.process_time() * 1000"  # what the interpreter used, its start included
        with_its_start = body_of(self.run_as("exec", starting))["result"]
        for start in ("exec", "fork"):
            with self.subTest(start):
                self.assertGreater(body_of(self.run_as(start, busy))["usage"]["cpu_ms"], 190)
                self.assertLess(least(start), with_its_start / 2, "the start of the interpreter is not this execution's")

    def test_errors_read_as_cold_ones(self):
        programs = ["x = (", "def f():\n    return 1 / 0\nf()", "import absent_module", "raise SystemExit(3)"]
        expected = [self.clients["cold"].execute(code) for code in programs]
        for start in ("exec", "fork"):
            for code, want in zip(programs, expected):
                with self.subTest(start, code=code):
                    got = body_of(self.run_as(start, code))
                    for key in ("outcome", "error", "traceback", "exit_status"):
                        self.assertEqual(got.get(key), want.get(key), key)


class Mishaps(Case):
    STARTS = ("fork",)

    def test_a_waiting_jail_that_is_killed_is_replaced(self):
        for signal_number in (signal.SIGKILL, signal.SIGSEGV):
            killed = eventually(self.waiting, "a jail that waits")
            kill_all(killed, signal_number)
            self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")
            eventually(lambda: set(self.waiting()) - set(killed), "another jail that waits")

    def test_a_waiting_jail_that_is_stopped_is_replaced(self):
        kill_all(eventually(self.waiting, "a jail that waits"), signal.SIGSTOP)
        body = self.client.execute("result = 'ran once'")
        self.assertEqual((body["outcome"], body["result"]), ("ok", "ran once"))

    def test_a_zygote_that_is_killed_or_stopped_is_replaced(self):
        for signal_number in (signal.SIGKILL, signal.SIGSTOP):
            self.run_as("fork", "pass")
            kill_all(self.waiting(), signal_number)
            self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")
        self.run_as("fork", "pass")

    def test_an_execution_survives_or_is_told_when_its_zygote_dies(self):
        self.run_as("fork", "pass")
        before = set(self.waiting())
        request = self.client.begin_running(HOLD)
        kill_all(before & set(self.waiting()), signal.SIGKILL)
        let_go(self.daemon)
        body = self.client.executed(request)
        self.assertIn(body["outcome"], ("ok", "internal", "signal"), body)
        self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")

    def test_a_killed_daemon_leaves_no_waiting_jail(self):
        self.run_as("fork", "pass")
        eventually(lambda: len(self.waiting()) >= 3, "a zygote, a fork and an interpreter that wait")
        self.daemon.kill()
        self.daemon.start()

    def test_reloaded_policies_end_what_waits(self):
        self.run_as("fork", "pass")
        before = eventually(self.waiting, "jails that wait")
        with Watch(before) as watch:
            self.policies.change(environment={"NEW": "yes"})
            self.daemon.process.send_signal(signal.SIGHUP)
            self.assertEqual(watch.survivors(PATIENCE), {})
        eventually(lambda: set(self.waiting()) - set(before), "another jail that waits, before any call")
        self.assertEqual(body_of(self.run_as("fork", "import os; result = os.environ['NEW']"))["result"], "yes")

    def test_a_program_that_wrecks_its_interpreter_wrecks_only_that(self):
        wreck = "import ctypes; ctypes.memset(id(None), 0, 1 << 20)"
        for _ in range(3):
            self.assertEqual(body_of(self.run_as("fork", wreck))["outcome"], "signal")
        self.assertEqual(self.look("fork")["files"], [])


@unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not installed")
class Preloaded(Case):
    POOL = {"preload": ["numpy", "absent_module"]}

    def test_a_package_that_is_loaded_ahead_is_there_and_its_random_numbers_are_new(self):
        code = """
import sys
loaded = "numpy" in sys.modules
import numpy
result = [loaded, float(numpy.random.random()), int(numpy.random.randint(1 << 62)), float(numpy.random.default_rng().random())]
"""
        seen = [body_of(self.run_as(start, code))["result"] for start in ("exec", "fork", "fork", "fork")]
        self.assertEqual({loaded for loaded, *_ in seen}, {True})
        for numbers in list(zip(*seen))[1:]:
            self.assertEqual(len(set(numbers)), len(seen), numbers)


class NoIdleProcessor(unittest.TestCase):
    def test_a_tenant_that_comes_again_and_again_gets_a_zygote(self):
        policies = self.enterContext(Policies(pool={"min_idle": 0, "max_idle": 1, "zygotes": True}, languages=["python"],
                                              admission={"concurrent_executions": 4}))
        one = ("taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))
        daemon = self.enterContext(Daemon(policies=policies, launcher=one))
        client, other = (self.enterContext(Client(daemon.socket)) for _ in range(2))
        request = other.begin_running(HOLD)  # so the pool has no time

        def start():
            time.sleep(0.2)  # at most five a second, a rate that alone is not worth a zygote
            return receipt_of(client.call("execute_code", {"code": "pass"}))["start"]

        self.assertNotIn("fork", [start() for _ in range(5)])
        eventually(lambda: start() == "fork", "a zygote that was started beside the execution")
        let_go(daemon)
        self.assertEqual(other.executed(request)["outcome"], "ok")


class NoZygotes(Case):
    STARTS = ("exec",)

    def test_every_jail_has_an_interpreter_of_its_own(self):
        looks = [self.look("exec") for _ in range(3)]
        for what in (*RANDOM, "hash", "canary", "stack", "libc"):
            values = [look[what] for look in looks if look[what] is not None]
            self.assertEqual(len(set(values)), len(values), f"{what}: {values}")


@unittest.skipUnless(ROOT, "two tenants take two users")
class TwoTenants(Case):
    STARTS = ("fork",)

    def other(self):
        os.seteuid(ORDINARY_USER)  # SO_PEERCRED is of the moment of connect()
        try:
            return self.enterContext(Client(self.daemon.socket))
        finally:
            os.seteuid(0)

    def test_no_two_tenants_share_a_zygote(self):
        other = self.other()
        mine, theirs = self.look("fork"), self.look("fork", other)
        for what in (*RANDOM, "hash", "canary", "stack", "libc"):
            self.assertNotEqual(mine[what], theirs[what], what)
        ids = [receipt_of(self.run_as("fork", "pass", client))["identity"]["runner"] for client in (self.client, other)]
        self.assertNotEqual(*ids)

    def test_forks_of_two_tenants_share_no_folder_that_could_be_locked(self):
        code = ("import os\nresult = [os.stat(path).st_dev for path in ('/', '/dev', '/usr', '/proc/sys/kernel/random/uuid', "
                "'/proc/sys', '/proc/cpuinfo', '/proc/stat', '/proc/loadavg', '/proc/meminfo')]")
        mine, theirs = (body_of(self.run_as("fork", code, client))["result"] for client in (self.client, self.other()))
        for one, other in zip(mine, theirs, strict=True):
            self.assertNotEqual(one, other, (mine, theirs))

    def test_one_tenant_cannot_take_all_jails_from_another(self):
        other = self.other()
        requests = [self.client.begin_execute("result = 1") for _ in range(24)]
        self.assertEqual(other.execute("result = 2")["outcome"], "ok")
        for request in requests:
            self.assertEqual(self.client.executed(request)["outcome"], "ok")


class OtherLanguages(unittest.TestCase):
    def test_they_wait_too(self):
        programs = {"javascript": "return 6 * 7", "shell": "echo $((6 * 7))"}
        with (Policies(pool={"min_idle": 1, "max_idle": 1, "zygotes": False}, languages=list(programs)) as policies, Daemon(policies=policies) as daemon,
              Client(daemon.socket) as client):
            for language, code in programs.items():
                def tried():
                    result = client.call("execute_code", {"code": code, "language": language})
                    self.assertIn("42", json.dumps(body_of(result)))
                    return receipt_of(result)["start"] == "exec"
                eventually(tried, f"a waiting jail for {language}")


    def test_the_first_typescript_finds_a_jail_of_javascript_and_later_ones_their_own(self):
        code = "const list: number[] = [6, 7]\nlist.reduce((a: number, b: number): number => a * b)"
        policies = self.enterContext(Policies(pool={"min_idle": 1, "max_idle": 1, "zygotes": False}, languages=["javascript", "typescript"]))
        daemon = Daemon(policies=policies)
        daemon.arguments += ["--metrics", daemon.socket.parent / "metrics.sock"]
        with daemon, Client(daemon.socket) as client:
            def waiting(language):
                with socket.socket(socket.AF_UNIX) as metrics:
                    metrics.connect(str(daemon.socket.parent / "metrics.sock"))
                    metrics.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    text = metrics.makefile().read()
                return f'warder_pool_jails{{language="{language}",state="waiting"}} 1\n' in text

            def run():
                result = client.call("execute_code", {"code": code, "language": "typescript"})
                self.assertEqual(body_of(result).get("result"), 42, result)
                return receipt_of(result)["start"]

            eventually(lambda: waiting("javascript"), "a waiting jail of JavaScript")
            self.assertFalse(waiting("typescript"))
            self.assertEqual(run(), "exec")
            eventually(lambda: waiting("typescript"), "a waiting jail of TypeScript")
            self.assertEqual(run(), "exec")


if __name__ == "__main__":
    unittest.main()
