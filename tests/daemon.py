"""A warderd of one test's own: its state and socket in a temporary folder, waited for, stopped, checked to end well.

    with Daemon() as daemon:
        answer = daemon.connect().call("execute_code", {"code": "result = 6 * 7"})

    python3 tests/daemon.py -- command ...     runs the command with WARDER_SOCKET set to such a daemon

The program is $WARDERD (CTest sets it). At the end the daemon gets SIGTERM; anything but exit status 0, a sanitizer's
report or a process left behind raises DaemonFailed with the log.
"""
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE_CATALOG = TOP / "catalog/example"  # definitions of tools that do not exist; no daemon reads them unless told to
# Of each request: the tests look at receipts.
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "org.warder/receipt": True}


class DaemonFailed(Exception):
    pass


class Connection:
    """A client's connection: JSON lines, modern requests. For tests of their own protocol: send() and receive()."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))  # blocking: with a time-out, a full backlog would be EAGAIN at once
        self.socket.settimeout(timeout)
        self.lines = self.socket.makefile("rb")
        self.last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.lines.close()
        self.socket.close()

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        """The next message; None at the end of the connection."""
        line = self.lines.readline()
        return json.loads(line) if line else None

    def request(self, method, **params):
        """The result of a request; notifications that come before it are dropped. A JSON-RPC error raises."""
        self.last_id += 1
        params["_meta"] = {**META, **params.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        while (message := self.receive()) is not None:
            if message.get("id") == self.last_id:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]
        raise EOFError(f"the daemon closed the connection during {method}")

    def call(self, tool, arguments=None):
        return self.request("tools/call", name=tool, arguments=arguments or {})

    def execute(self, code, **arguments):
        """The answer of execute_code, taken from its text block."""
        return json.loads(self.call("execute_code", {"code": code, **arguments})["content"][0]["text"])


class Daemon:
    def __init__(self, program=None, policies=None, arguments=(), environment=None, patience=60, launcher=(), bus="off"):
        self.program = program or os.environ.get("WARDERD") or sys.exit("WARDERD is not set")
        self.policies = pathlib.Path(policies or TOP / "policies")
        self.arguments = [str(word) for word in arguments]
        self.launcher = launcher  # words before the program: what places it (a cgroup, a user) and then execs it
        self.environment = environment or {}
        self.on_bus = bus  # what --bus is told
        self.patience = patience
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-"))
        self.directory.chmod(0o711)  # a daemon started as root becomes another user
        self.socket = self.directory / "mcp.sock"
        self.state = self.directory / "state"
        self.log = self.directory / "log"
        self.process = None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.remove()
            raise

    def __exit__(self, kind, *_):
        try:
            if self.process:
                self.stop()
        except DaemonFailed:
            if kind is None:  # else the test's own failure says more
                raise
        finally:
            if kind is not None:
                sys.stderr.write(f"--- log of warderd ---\n{self.log_text()[-4000:]}\n")
            self.remove()

    def start(self):
        """Starts it on the same socket and state and waits until it answers server/discover."""
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"warder-test-{os.getpid()}-{time.monotonic_ns()}"
        notify.bind(f"\0{name}")  # no file: the daemon, no longer root, might not reach it
        with notify:
            self.launch(NOTIFY_SOCKET=f"@{name}")
            ended = os.pidfd_open(self.process.pid)
            try:
                until = time.monotonic() + self.patience
                while True:
                    heard = select.select([notify, ended], [], [], max(0, until - time.monotonic()))[0]
                    if notify in heard and b"READY=1" in notify.recv(4096).split(b"\n"):
                        break
                    if not heard or ended in heard:
                        self.fail("ended before it was ready" if heard else f"was not ready after {self.patience} s")
            finally:
                os.close(ended)
        with self.connect() as client:
            client.request("server/discover")
        return self

    def launch(self, **environment):
        """Starts its process and waits for nothing."""
        command = [*self.launcher, self.program, "--socket", self.socket, "--state", self.state, "--policies", self.policies,
                   "--bus", self.on_bus, *self.arguments]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True,
                                            env={**os.environ, **self.environment, **environment})

    def connect(self, timeout=60):
        return Connection(self.socket, timeout)

    def stop(self):
        """SIGTERM, then everything that a good end consists of."""
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(self.patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.fail("did not end on SIGTERM")
        if status != 0:
            self.fail(f"ended with status {status}")
        if "ERROR: AddressSanitizer" in self.log_text() or "runtime error:" in self.log_text():
            self.fail("was reported by a sanitizer")
        self.expect_nothing_left(process.pid)

    def kill(self):
        """SIGKILL, as the out-of-memory killer or `kill -9` would; what it had started must end too."""
        process, self.process = self.process, None
        process.kill()
        process.wait()
        self.expect_nothing_left(process.pid)

    def expect_nothing_left(self, session):
        until = time.monotonic() + 5
        while left := processes_of(session):
            if time.monotonic() > until:
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                self.fail(f"left processes behind: {list(left.values())}")
            fd = pidfd_or_none(next(iter(left)))
            if fd is not None:
                select.select([fd], [], [], 0.2)
                os.close(fd)

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def fail(self, what):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        raise DaemonFailed(f"warderd {what}; its log ends:\n{self.log_text()[-4000:]}")

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)


def pidfd_or_none(pid):
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def processes_of(session):
    """Processes that were started under a daemon: its session, by pid, with their names. Zombies do not count."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, _, _, its_session = rest.split()[:4]
        if int(its_session) == session and state not in "ZX":
            found[int(entry.name)] = name
    return found


def main():
    if "--" not in sys.argv:
        sys.exit(__doc__)
    command = sys.argv[sys.argv.index("--") + 1:]
    with Daemon() as daemon:
        status = subprocess.run(command, env={**os.environ, "WARDER_SOCKET": str(daemon.socket)}).returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
