"""What `warderd --check` says of a configuration, beside what a start with it does: each row is checked and started."""
import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import unittest

from configuration_test import Configured
from harness import PATIENCE, ROOT, Client, Policies

SERVES, WITHOUT, COPY = "serves", "without", "copy"  # serves all; without a listener; with the last good copy

# Places the daemon at the default paths of its user, without --socket and --state: in a mount namespace of its own for
# root, by variables for others. Words: the folder, the program, --socket, PATH, --state, DIR, further flags.
PLACE_OF_ROOT = """
import ctypes, os, sys
folder, program, rest = sys.argv[1], sys.argv[2], sys.argv[7:]
libc = ctypes.CDLL(None, use_errno=True)
def call(done):
    if done != 0: sys.exit(os.strerror(ctypes.get_errno()))
os.unshare(0x20000) if hasattr(os, "unshare") else call(libc.unshare(0x20000))
call(libc.mount(b"none", b"/", None, 0x44000, None))
for name, place in (("lib", "/var/lib"), ("run", "/run")):
    call(libc.mount(f"{folder}/{name}".encode(), place.encode(), None, 0x1000, None))
os.execv(program, [program, *rest])
"""
PLACE_OF_USER = "import os, sys; os.execv(sys.argv[2], [sys.argv[2], *sys.argv[7:]])"


class AtDefaultPaths(Configured):
    """A daemon whose socket and state the configuration may name."""

    def __init__(self, **more):
        super().__init__(**more)
        for name in ("lib", "run"):
            (self.directory / name).mkdir(mode=0o755)
        self.launcher = [sys.executable, "-c", PLACE_OF_ROOT if ROOT else PLACE_OF_USER, str(self.directory)]
        if not ROOT:
            self.environment |= {"XDG_STATE_HOME": str(self.directory / "lib"), "XDG_RUNTIME_DIR": str(self.directory / "run")}
        self.state = self.directory / "lib/warder"
        self.socket = self.directory / "run/warder/mcp.sock"

    def begin_to_ask(self, *words):
        return subprocess.Popen([*self.launcher, self.program, "--socket", "-", "--state", "-", *words, *self.arguments,
                                 "--policies", str(self.policies)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**os.environ, **self.environment})


@contextlib.contextmanager
def taken_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def has_user(name):
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwnam(name))
    return False


def rows(folder, taken):
    """Name, what the start does, keys of the file (or its text), a word of the check's line."""
    file, missing = folder / "file", folder / "missing"
    file.write_text("")
    free = free_port()
    for_root = [
        ("unknown user", COPY, {"user": "wardr"}, "user: wardr: this machine does not have this user"),
        ("user root", COPY, {"user": "root"}, "the daemon must not run as root"),
        ("ids at the allowed end: another user, because there is no user warder", SERVES if has_user("warder") else COPY,
         {"id_range": {"first": 0x7ffe_ffff, "count": 1 << 16}}, "id_range: the daemon would be user 2147483646"),
        ("another user than that of the records", COPY, {"user": "nobody"}, "user: the daemon would be user 65534"),
        ("ids beyond 32 bits", COPY, {"id_range": {"first": 0x8000_0000, "count": 1 << 16}}, "id_range"),
        ("user of the cluster is unknown", WITHOUT, {"cluster": {"user": "wardr", "listen": str(folder / "n.sock")}},
         "cluster.user: wardr"),
    ]
    return (for_root if ROOT else []) + [
        ("nothing", SERVES, {}, None),
        ("relative state", COPY, {"state": "warder"}, "state: warder: not an absolute path"),
        ("state with ~", COPY, {"state": "~/warder"}, "state: ~/warder: ~ stands for no folder"),
        ("empty state", COPY, {"state": ""}, "state"),
        ("state below a file", COPY, {"state": f"{file}/state"}, f"{file} is not a folder"),
        ("state is a file", COPY, {"state": str(file)}, f"{file} is not a folder"),
        ("state in /proc", COPY, {"state": "/proc/warder"}, "/proc is a file system of the kernel"),
        ("state in /sys", COPY, {"state": "/sys/warder"}, "/sys"),
        ("socket is a folder", COPY, {"socket": str(folder)}, f"{folder} is a folder"),
        ("socket below a file", COPY, {"socket": f"{file}/s"}, f"{file} is not a folder"),
        ("socket with ~", COPY, {"socket": "~/s"}, "~ stands for no folder"),
        ("socket in /proc", COPY, {"socket": "/proc/s"}, "/proc is a file system of the kernel"),
        ("http on a free port", SERVES, {"http": {"listen": [f"127.0.0.1:{free}"]}}, None),
        ("http on a taken port", WITHOUT, {"http": {"listen": [f"127.0.0.1:{taken}"]}},
         f"http.listen[0]: another process listens on 127.0.0.1:{taken}"),
        ("one of two is taken", WITHOUT, {"http": {"listen": [f"127.0.0.1:{free}", f"127.0.0.1:{taken}"]}}, "http.listen[1]"),
        ("http elsewhere", WITHOUT, {"http": {"listen": [f"203.0.113.7:{free}"], "public": True}},
         f"this machine does not have the address of 203.0.113.7:{free}"),
        ("http twice", COPY, {"http": {"listen": [f"127.0.0.1:{free}", f"127.0.0.1:{free}"]}},
         "http.listen[1]: 127.0.0.1:"),
        ("http at each address, too", COPY, {"http": {"listen": [f"127.0.0.1:{free}", f"0.0.0.0:{free}"], "public": True}},
         "http.listen[0] has this port already"),
        ("http and metrics", COPY, {"http": {"listen": [f"127.0.0.1:{free}"]}, "metrics": f"127.0.0.1:{free}"},
         "metrics: 127.0.0.1:"),
        ("metrics on a free port", SERVES, {"metrics": f"127.0.0.1:{free}"}, None),
        ("metrics on a taken port", WITHOUT, {"metrics": f"127.0.0.1:{taken}"},
         f"metrics: another process listens on 127.0.0.1:{taken}"),
        ("metrics in a missing folder", SERVES, {"metrics": f"{missing}/m.sock"}, None),
        ("metrics below a file", WITHOUT, {"metrics": f"{file}/m.sock"}, f"metrics: {file} is not a folder"),
        ("metrics is a folder", WITHOUT, {"metrics": str(folder)}, f"metrics: {folder} is a folder"),
        ("metrics is the socket", COPY, {"metrics": "SOCKET"}, "is the path of another socket"),
        ("cluster below a file", WITHOUT, {"cluster": {"listen": f"{file}/n.sock", "user": "root" if ROOT else ""}},
         f"cluster.listen: {file} is not a folder"),
        ("a key twice", COPY, '{"log_level": "info",\n "log_level": "debug"}',
         'line 2, column 2: the key "log_level" is there twice, first in line 1'),
        ("not UTF-8", COPY, b'{"user": "caf\xe9"}', "line 1, column 14: the byte 0xe9 is not UTF-8"),
        ("a comment", COPY, "{\n // here\n}", "line 2, column 2: a comment (remove it: JSON has no comments)"),
    ]


class Table(unittest.TestCase):
    def setUp(self):
        self.policies = self.enterContext(Policies())
        self.daemon = AtDefaultPaths(policies=self.policies)
        self.addCleanup(self.daemon.remove)
        self.folder = self.daemon.directory / "mine"
        self.folder.mkdir(mode=0o755)
        self.daemon.start()
        self.daemon.stop()
        shutil.copytree(self.daemon.state / "last-good", self.daemon.directory / "copy")

    def test_the_check_says_what_a_start_does(self):
        with taken_port() as taken:
            for name, outcome, keys, word in rows(self.folder, taken):
                with self.subTest(name):
                    self.check_and_start(outcome, keys, word)

    def write(self, keys):
        if isinstance(keys, dict):
            # The path of the default socket as the daemon sees it.
            own = "/run/warder/mcp.sock" if ROOT else str(self.daemon.socket)
            keys = json.dumps(keys).replace("SOCKET", own)
        self.daemon.file.write_bytes(keys if isinstance(keys, bytes) else keys.encode())

    def check_and_start(self, outcome, keys, word):
        self.write(keys)
        copy = self.daemon.state / "last-good"
        shutil.rmtree(copy)
        shutil.copytree(self.daemon.directory / "copy", copy)
        before = sorted(map(str, self.daemon.directory.rglob("*")))
        checked = self.daemon.ask("--check")
        self.assertEqual(sorted(map(str, self.daemon.directory.rglob("*"))), before, "a check changes nothing")
        self.daemon.heard = []
        try:
            self.daemon.start()
        except BaseException:
            if self.daemon.process:
                self.daemon.process.kill()
                self.daemon.process.wait()
                self.daemon.process = None
            raise
        try:
            status = self.daemon.status()
            with Client(self.daemon.socket) as client:
                self.assertEqual(client.execute("result = 1")["outcome"], "ok", "whatever the file says")
        finally:
            self.daemon.stop()
        log = self.daemon.log_text()
        if outcome == SERVES:
            self.assertEqual((status, checked.returncode, checked.stderr), ("serving", 0, ""))
            return
        self.assertEqual((checked.returncode, checked.stdout), (1, ""), checked.stderr)
        self.assertIn(word, checked.stderr)
        self.assertIn(word, log)
        if outcome == WITHOUT:
            self.assertIn("a start does without it: ", checked.stderr)
            self.assertIn("serving; without ", status)
        else:
            self.assertIn("serving with the last good configuration, because of a mistake: ", status)
        self.assertIn(word, status)


class WithoutACopy(unittest.TestCase):
    def test_mistakes_of_the_start_deny_executions_and_leave_the_socket(self):
        policies = self.enterContext(Policies())
        for name, keys, word in (("state", {"state": "/proc/warder"}, "/proc/warder"),
                                 ("user", {"user": "wardr"} if ROOT else {"socket": "~/x"}, "wardr" if ROOT else "~/x")):
            with self.subTest(name), AtDefaultPaths(policies=policies) as daemon:
                daemon.stop()
                shutil.rmtree(daemon.state / "last-good")
                daemon.write(**keys)
                daemon.heard = []
                daemon.start()
                self.assertIn("serving, but no executions", daemon.status())
                with Client(daemon.socket) as client:
                    denied = client.execute("result = 1")
                    self.assertEqual(denied["outcome"], "denied")
                    self.assertIn(word, denied["error"])


class MissingListeners(unittest.TestCase):
    def setUp(self):
        self.policies = self.enterContext(Policies())

    def test_are_opened_by_a_reload_when_their_address_is_free(self):
        with taken_port() as port, taken_port() as other:
            daemon = Configured({"http": {"listen": [f"127.0.0.1:{port}"]}, "metrics": f"127.0.0.1:{other}"},
                                policies=self.policies)
            daemon.start()
            self.addCleanup(daemon.remove)
            self.addCleanup(daemon.stop)
            self.assertIn(f"; without {daemon.file}: ", daemon.status())
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.policies.change(languages=["shell"])  # other changes are not held up
            done = daemon.ask("--reload")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"http.listen[0]: another process listens on 127.0.0.1:{port}", done.stderr)
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 1", language="python")["outcome"], "denied")
        done = daemon.ask("--reload")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        daemon.hear("READY=1")
        daemon.hear("READY=1")
        self.assertEqual(daemon.status(), "serving")
        for number in (port, other):
            socket.create_connection(("127.0.0.1", number), PATIENCE).close()
        done = daemon.ask("--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""), "the daemon's own addresses are not taken")

    def test_of_a_changed_key_refuse_the_reload(self):
        with Configured(policies=self.policies) as daemon, taken_port() as port:
            daemon.write(http={"listen": [f"127.0.0.1:{port}"]}, log_level="debug")
            done = daemon.ask("--reload")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"another process listens on 127.0.0.1:{port}", done.stderr)
            daemon.write(user="wardr", log_level="debug")
            done = daemon.ask("--reload")
            if ROOT:
                self.assertEqual(done.returncode, 1)
                self.assertIn("user: wardr: this machine does not have this user", done.stderr)
            self.assertNotIn("reload: waiting jails", daemon.log_text(), "nothing was taken")


@unittest.skipUnless(ROOT, "only root makes a network namespace without a user namespace")
class Network(unittest.TestCase):
    def test_of_a_unit_without_one_the_check_names_the_socket_unit(self):
        with Policies() as policies:
            daemon = Configured({"http": {"listen": ["127.0.0.1:9470"]}}, policies=policies)
            self.addCleanup(daemon.remove)
            done = subprocess.run(["unshare", "--net", daemon.program, "--check", *daemon.arguments, "--state", str(daemon.state),
                                   "--policies", str(policies.folder)], capture_output=True, text=True, timeout=PATIENCE,
                                  env={**os.environ, "INVOCATION_ID": "0123456789abcdef0123456789abcdef"})
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("http.listen[0]: 127.0.0.1:9470 would be in the network of the unit", done.stderr)
            self.assertIn("systemctl enable warder-http.socket", done.stderr)


class Policy(unittest.TestCase):
    def test_that_no_tenant_has_and_that_is_wrong_is_a_warning(self):
        with Policies() as policies, Configured(policies=policies) as daemon:
            policies.write("own.json", '{"extends": "default", "limits": {"standard": {"tasks": 0}}}')
            checked = daemon.ask("--check")
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertRegex(checked.stderr, "warning: .*own.json: limits.standard.tasks: 0 .*no tenant has this policy")
            self.assertEqual(daemon.reload(), "serving")
            policies.write("tenants.json", json.dumps({"rules": [{"uid": 4242, "policy": "own"},
                                                                 {"default": True, "policy": "default"}]}))
            self.assertEqual(daemon.ask("--check").returncode, 1)

    def test_with_a_key_twice_is_refused_with_both_lines(self):
        with Policies() as policies, Configured(policies=policies) as daemon:
            policies.write("own.json", '{"extends": "default",\n"calls": {"rules": []},\n"calls": {"per_execution": 5}}')
            checked = daemon.ask("--check")
            self.assertEqual(checked.returncode, 1)
            self.assertIn('own.json: line 3, column 1: the key "calls" is there twice, first in line 2', checked.stderr)
            self.assertIn("failed", daemon.reload())


class KeyTwice(unittest.TestCase):
    """In a file beside the policies: it is refused by the check and by a reload, and nothing of it is in force."""

    FILES = {
        "tenants.json": ('{"rules": [{"default": true,\n"policy": "default",\n"policy": "strict"}]}',
                         'tenants.json: line 3, column 1: the key "policy" is there twice, first in line 2'),
        "seccomp/own.json": ('{"extends": "default",\n"allow": [],\n "allow": []}',
                             'seccomp/own.json: line 3, column 2: the key "allow" is there twice, first in line 2'),
        "50-server-one.json": ('{"servers": {"one": {"command": "/usr/bin/a",\n"jail": "default",\n"jail": "none"}}}',
                               '50-server-one.json: line 3, column 1: the key "jail" is there twice, first in line 2'),
        "50-token-ci.json": ('{"tokens": {"ci": {"tenant": "one",\n "tenant": "two"}}}',
                             '50-token-ci.json: line 2, column 2: the key "tenant" is there twice, first in line 1'),
    }

    def test_is_refused_with_both_lines(self):
        with Policies() as policies, Configured(policies=policies) as daemon:
            for name, (text, mistake) in self.FILES.items():
                with self.subTest(name):
                    if name[0] == "5":
                        file = daemon.write(name, text)
                    else:
                        file = policies.folder / name
                        policies.write(name, text)
                    checked = daemon.ask("--check")
                    self.assertEqual((checked.returncode, checked.stdout), (1, ""))
                    self.assertIn(mistake, checked.stderr)
                    self.assertIn("failed", daemon.reload())
                    self.assertIn(mistake, daemon.log_text())
                    with Client(daemon.socket) as client:
                        self.assertEqual(client.execute("result = 1")["outcome"], "ok")
                    file.unlink()
                    self.assertEqual(daemon.reload(), "serving")


if __name__ == "__main__":
    unittest.main()
