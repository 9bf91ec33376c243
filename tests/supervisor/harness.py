"""What the end-to-end tests of the daemon share: a client that takes answers in any order, processes watched to their
end, policies of a test's own.

CTest sets WARDERD. Waiting is always for an event (a line, a message of the service manager's socket, the end of a
process) and never for longer than PATIENCE.
"""
import contextlib
import json
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
import daemon  # noqa: E402
from daemon import EXAMPLE_CATALOG, META, TOP, Connection, DaemonFailed, pidfd_or_none  # noqa: E402,F401

PATIENCE = 60
ROOT = os.geteuid() == 0
ORDINARY_USER = 65534

# Waits in a jail until the test makes a file in the workspace; the line is how the test knows that it runs.
HOLD = """
import os, time
print("running", flush=True)
while not os.path.exists("/workspace/go"): time.sleep(0.01)
result = "went on"
"""
BUSY = """
print("running", flush=True)
while True: pass
"""


class Client(Connection):
    """Requests that are under way side by side. `answer` gives the message with an id, whenever it came."""

    def __init__(self, path, timeout=PATIENCE):
        super().__init__(path, timeout)
        self.answers = {}
        self.notifications = []  # in the order they came
        self.order = []  # ids of answers, in the order they came

    def request(self, method, **params):
        """As of Connection, but the answers to other requests that come before it are not lost."""
        self.last_id += 1
        number = self.last_id
        params["_meta"] = {**META, **params.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (message := self.receive()) is not None:
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]
            if "method" not in message:
                self.answers[message.get("id")] = message
                self.order.append(message.get("id"))
        raise EOFError(f"the daemon closed the connection during {method}")

    def begin(self, method, token=None, **params):
        self.last_id += 1
        params["_meta"] = {**META, **params.get("_meta", {})}
        if token is not None:
            params["_meta"]["progressToken"] = token
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def begin_execute(self, code, token=None, **arguments):
        return self.begin("tools/call", token, name="execute_code", arguments={"code": code, **arguments})

    def begin_running(self, code, **arguments):
        """Sends the code and returns when it has printed something: it runs in its jail."""
        token = f"token-{self.last_id + 1}"
        request = self.begin_execute(code, token, **arguments)
        self.await_progress(token, lambda p: p.get("message") == "running")
        return request

    def take(self):
        message = self.receive()
        if message is None:
            raise EOFError("the daemon closed the connection")
        if "method" in message:
            self.notifications.append(message)
        else:
            self.answers[message.get("id")] = message
            self.order.append(message.get("id"))
        return message

    def await_progress(self, token, fits=lambda _: True):
        for message in list(self.notifications):
            if message["params"]["progressToken"] == token and fits(message["params"]):
                return message["params"]
        while True:
            message = self.take()
            if message.get("method") == "notifications/progress" and message["params"]["progressToken"] == token:
                if fits(message["params"]):
                    return message["params"]
            elif "method" not in message and f"token-{message.get('id')}" == token:
                raise AssertionError(f"answered before it was seen running: {message}")

    def answer(self, request):
        while request not in self.answers:
            self.take()
        return self.answers[request]

    def executed(self, request):
        return body_of(self.answer(request)["result"])

    def cancel(self, request):
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})

    def write_file(self, name, text="", **more):
        """Returns the result if the file is written."""
        result = self.call("write_workspace_file", {"filename": name, "content": text, **more})
        if result.get("isError"):
            raise AssertionError(f"{name} is not written: {result}")
        return result


def body_of(result):
    """The JSON of execute_code's text block."""
    return json.loads(result["content"][0]["text"])


NO_POOL = {"min_idle": 0, "max_idle": 0, "zygotes": False}


class Daemon(daemon.Daemon):
    """Under the standard policy no jails wait here: these tests count what there is. With policies given, as they say."""

    def __init__(self, policies=None, **more):
        self.standard = None if policies else Policies()
        super().__init__(policies=policies or self.standard, **more)

    def remove(self):
        super().remove()
        if self.standard:
            self.standard.__exit__()


class Service(Daemon):
    """A daemon whose service manager is the test: it hears every message of NOTIFY_SOCKET, and passes sockets."""

    def __init__(self, sockets=(), **more):
        super().__init__(**more)
        self.sockets = sockets
        self.heard = []
        self.notify = None

    def start(self):
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"warder-test-{os.getpid()}-{time.monotonic_ns()}"
        self.notify.bind(f"\0{name}")
        program = [
            *self.launcher,
            self.program,
            "--socket",
            self.socket,
            "--state",
            self.state,
            "--policies",
            self.policies,
            *self.arguments,
        ]
        if self.sockets:
            # LISTEN_PID is the daemon's own pid: set by what becomes the daemon.
            place = (
                "import fcntl, os, sys; n = int(sys.argv[1]); fds = [int(a) for a in sys.argv[2:2 + n]]\n"
                "fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds]\n"
                "for i, fd in enumerate(fds): os.dup2(fd, 3 + i, inheritable=True)\n"
                "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(n))\n"
                "os.execv(sys.argv[2 + n], sys.argv[2 + n:])"
            )
            program = [sys.executable, "-c", place, len(self.sockets), *[s.fileno() for s in self.sockets], *program]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(word) for word in program],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[s.fileno() for s in self.sockets],
                env={**os.environ, **self.environment, "NOTIFY_SOCKET": f"@{name}"},
            )
        self.hear("READY=1")
        return self

    def receive(self):
        return self.notify.recv(4096).decode()

    def hear(self, line):
        """Waits for a message that has this line; returns the whole message."""
        until = time.monotonic() + PATIENCE
        ended = os.pidfd_open(self.process.pid)
        try:
            while True:
                ready = select.select([self.notify, ended], [], [], max(0, until - time.monotonic()))[0]
                if self.notify not in ready:
                    self.fail(f"{'ended' if ready else 'lived'} without saying {line}; it said {self.heard}")
                message = self.receive()
                self.heard.append(message)
                if line in message.split("\n"):
                    return message
        finally:
            os.close(ended)

    def stop(self):
        if self.process.poll() is None:
            return super().stop()
        # Ended already, as its test wanted and checked.
        ended, self.process = self.process, None
        self.expect_nothing_left(ended.pid)

    def remove(self):
        if self.notify:
            self.notify.close()
        super().remove()


def eventually(holds, what, after=0):
    """Waits for something that nobody announces; looks again a few times a second. `after`: the seconds after which the
    daemon does it."""
    until = time.monotonic() + after + PATIENCE
    while not (found := holds()):
        if time.monotonic() > until:
            raise AssertionError(f"still not after {after + PATIENCE} s: {what}")
        time.sleep(0.05)
    return found


def await_still(read, seconds, what, within=PATIENCE):
    """Waits until `read` gave the same value for so many seconds. No event says that a program beats no more: `seconds` are
    some of its beats."""
    until = time.monotonic() + within
    value, since = read(), time.monotonic()
    while time.monotonic() < since + seconds:
        if time.monotonic() > until:
            raise AssertionError(f"still not after {within} s: {what}")
        time.sleep(0.02)
        if (now := read()) != value:
            value, since = now, time.monotonic()


def as_user(uid, action):
    """Does something with that user's rights, as the kernel tells others of them."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        return action()
    finally:
        os.seteuid(0)
        os.setegid(0)


def wait_for_status(process):
    """The exit status of a process that is about to end."""
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"process {process.pid} still runs after {PATIENCE} s") from None


def parents():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                name, rest = pathlib.Path("/proc", entry, "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
                state, parent = rest.split()[:2]
                if state not in "ZX":
                    found[int(entry)] = (int(parent), name)
    return found


def descendants(pid):
    """All living processes below `pid`, with their names."""
    all_of_them, found = parents(), {}
    frontier = {pid}
    while frontier:
        frontier = {p for p, (parent, _) in all_of_them.items() if parent in frontier and p not in found}
        found.update({p: all_of_them[p][1] for p in frontier})
    return found


def jailer_of(daemon):
    (jailer,) = [p for p, (parent, _) in parents().items() if parent == daemon.process.pid]
    return jailer


def jailed(daemon):
    """Every process of every jail of the daemon: what is below its jailer."""
    return descendants(jailer_of(daemon))


class Watch:
    """Processes, held by pidfd, so that none is taken for another that got its number."""

    def __init__(self, processes):
        self.names = dict(processes)
        self.fds = {pid: fd for pid in self.names if (fd := pidfd_or_none(pid)) is not None}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in self.fds.values():
            os.close(fd)

    def survivors(self, seconds):
        """Those that have not ended when this time is over; returns as soon as all have."""
        until = time.monotonic() + seconds
        left = dict(self.fds)
        while left:
            ended = select.select(list(left.values()), [], [], max(0, until - time.monotonic()))[0]
            if not ended:
                break
            left = {pid: fd for pid, fd in left.items() if fd not in ended}
        return {pid: self.names[pid] for pid in left}


def merge(into, changes):
    for key, value in changes.items():
        if isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
    return into


class Policies:
    """The standard policy in a folder of the test's own, with what the test changes in it.

    No jails that wait unless they are asked for: most tests count what there is.
    """

    def __init__(self, **changes):
        changes.setdefault("pool", NO_POOL)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-policies-"))
        self.folder.chmod(0o755)
        shutil.copytree(TOP / "policies/seccomp", self.folder / "seccomp")
        shutil.copy(TOP / "policies/default.json", self.folder)
        self.change(**changes)

    def __fspath__(self):
        return str(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def change(self, **changes):
        """Merges into the policy that everybody has."""
        file = self.folder / "default.json"
        self.write("default.json", json.dumps(merge(json.loads(file.read_text()), changes)))

    def forbid_answers(self):
        """A filter under which nothing in a jail can say anything."""
        filters = json.loads((self.folder / "seccomp/default.json").read_text())
        for rule in filters["allow"]:
            rule["calls"] = [call for call in rule["calls"] if call not in ("write", "writev", "sendmsg", "sendto")]
        filters["allow"] = [rule for rule in filters["allow"] if rule["calls"]]
        self.write("seccomp/default.json", json.dumps(filters))

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o644)


class SharedDaemon(unittest.TestCase):
    """Tests that share one daemon under `policy`, each with a client of its own."""

    policy = {}

    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(Policies(**cls.policy))
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies))

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))


def workspace_of(daemon, uid=None):
    return daemon.state / f"tenants/uid-{os.geteuid() if uid is None else uid}/workspace"


def let_go(daemon):
    """Ends what HOLD waits for; from outside, because a daemon that drains takes no calls."""
    (workspace_of(daemon) / "go").touch()


@contextlib.contextmanager
def installed_copy():
    """The daemon and what it needs where every user may run it: a build tree may be closed to them."""
    with tempfile.TemporaryDirectory(prefix="warder-test-install-") as folder:
        top = pathlib.Path(folder)
        top.chmod(0o755)
        built = pathlib.Path(os.environ["WARDERD"]).resolve().parent.parent
        for place in ("sbin", "lib/warder"):
            (top / place).mkdir(parents=True)
        shutil.copy(built / "supervisor/warderd", top / "sbin")
        for program in ("jail/init/warder-jail-init", "jail/jailer/warder-jailer"):
            shutil.copy(built / program, top / "lib/warder")
        shutil.copytree(built / "guest", top / "lib/warder/guest")
        shutil.copytree(TOP / "policies", top / "policies")
        for path in [top, *top.rglob("*")]:
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) and path.suffix != ".json" else 0o644)
        yield top
