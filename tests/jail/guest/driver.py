"""Starts a guest runner without a jail, as its init would: guest socket on descriptor 3, environment from nothing.

WARDER_GUEST names the folder that holds python/, javascript/ and shell/ (the build's guest/).
"""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

GUEST = os.environ["WARDER_GUEST"]
BOUND = 30  # seconds after which a runner counts as hung
COMMANDS = {
    "python": ["/usr/bin/python3", "-I", "-S", "-B", "-u", f"{GUEST}/python/runner.py"],
    "javascript": ["/usr/bin/node", "--no-warnings", "--experimental-vm-modules", f"{GUEST}/javascript/runner.js"],
    "typescript": ["/usr/bin/node", "--no-warnings", "--experimental-vm-modules", f"{GUEST}/javascript/runner.js",
                   "typescript"],
    "shell": [f"{GUEST}/shell/warder-shell-runner"],
}
PART = 65535

# Descriptor 3 is kept taken in this process: subprocess would else put its own pipe there, and dup2() would close that.
while (_spare := os.open("/dev/null", os.O_RDONLY)) < 3:
    pass


def packets_of(message):
    """A message as the packets that carry it. Bytes are taken as they are."""
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    parts = [data[at:at + PART] for at in range(0, len(data), PART)] or [b""]
    return [b"M" + part for part in parts[:-1]] + [b"F" + parts[-1]]


class End:
    """How an execution ended: the result message (None if there was none), what it wrote, and its status."""

    def __init__(self, message, stdout, stderr, status, calls):
        self.message = message
        self.stdout = stdout.decode(errors="replace")
        self.stderr = stderr.decode(errors="replace")
        self.status = status
        self.calls = calls

    def __getattr__(self, name):
        if self.message is None:
            raise AssertionError(f"no result message; status {self.status}, stderr:\n{self.stderr}")
        return self.message.get(name)

    def __repr__(self):
        return f"End({self.message}, {self.stdout!r}, {self.stderr!r}, {self.status})"


class Runner:
    """One runner process and our end of its socket."""

    def __init__(self, language, environment=None, stdout=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(BOUND)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "TMPDIR": "/tmp",
               "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
        self.out = tempfile.TemporaryFile()  # files: a flood of output must not need a reader here
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            COMMANDS[language], stdin=subprocess.DEVNULL, stdout=stdout or self.out, stderr=self.err, env=env, cwd="/",
            pass_fds=(3,), preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        self.socket = ours

    def send(self, message):
        for packet in packets_of(message):
            self.socket.send(packet)

    def receive(self):
        """The next message; None at the end of the stream. Checks the framing on the way."""
        data = b""
        while True:
            try:
                packet = self.socket.recv(PART + 100)
            except ConnectionResetError:
                packet = b""
            if not packet:
                assert not data, "the stream ends within a message"
                return None
            assert len(packet) <= PART + 1 and packet[:1] in (b"F", b"M"), packet[:80]
            data += packet[1:]
            if packet[:1] == b"F":
                return json.loads(data.decode("utf-8"))

    def end(self, answer=None):
        """Reads until the runner ends; `answer(call)` makes the reply's fields for each of its calls."""
        message, calls, told = None, [], None
        while True:
            got = self.receive()
            if got is None:
                break
            if got["type"] == "call":
                calls.append(got)
                if answer is None and got["name"] == "layer_of":  # a failed import asks
                    self.send({"type": "reply", "id": got["id"], "result": {"layer": None, "offered": []}})
                if answer is not None:
                    for reply in answer(got):
                        self.send(reply)
                continue
            assert got["type"] == "result" and message is None, got
            told = got.pop("status", None)
            message = got
            self.socket.shutdown(socket.SHUT_WR)  # as the supervisor does: the runner may end
        status = self.process.wait(BOUND)
        assert told in (None, status), f"the result told status {told}, the process ended with {status}"
        self.out.seek(0)
        self.err.seek(0)
        return End(message, self.out.read(), self.err.read(), status, calls)

    def close(self):
        self.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(BOUND)
        self.out.close()
        self.err.close()


class GuestTest(unittest.TestCase):
    """A test with a workspace of its own; `run_code` is one whole execution."""

    language = None
    maxDiff = None

    def setUp(self):
        self.workspace = os.path.realpath(tempfile.mkdtemp(prefix="guest-test-"))
        self.addCleanup(shutil.rmtree, self.workspace, True)

    def start(self, **options):
        runner = Runner(self.language, **options)
        self.addCleanup(runner.close)
        return runner

    def order(self, code, **fields):
        return {"type": "run", "execution": "e1", "language": self.language, "code": code, "context_vars": {},
                "deadline_ms": 30000, "workspace": self.workspace, "max_message": 8 << 20, "tools": [], **fields}

    def run_code(self, code, answer=None, environment=None, **fields):
        runner = self.runner = self.start(environment=environment)
        ready = runner.receive()
        self.assertEqual(ready["type"], "ready")
        runner.send(self.order(code, **fields))
        end = runner.end(answer)
        self.addCleanup(runner.close)
        return end

    def value_of(self, code, **fields):
        end = self.run_code(code, **fields)
        self.assertIsNone(end.error, end)
        self.assertEqual(end.status, 0, end)
        return end.value

    def write(self, name, content):
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name):
        with open(os.path.join(self.workspace, name), encoding="utf-8") as file:
            return file.read()


class OrderTests:
    """What every runner does with what is no order: beside GuestTest in a class of each language's own."""

    # JSON.parse and nlohmann's parser call two texts no JSON, Python's scanner stops after the first.
    two_texts = "not JSON"

    def test_what_is_no_order_ends_the_runner_with_a_reason(self):
        for packets, words in (
                ([b"F{"], "not JSON"), ([b"Fnull"], "not one JSON object"), ([b"F[1]"], "not one JSON object"),
                ([b"F{} {}"], self.two_texts), ([b"F\xff\xfe"], "not JSON"), ([b"F" + b"[" * 60000], "not JSON"),
                ([b"X{}"], "neither F nor M"), ([b"F" + b" " * 70000], "too long"),
                ([b'F{"type":"other"}'], "expected 'run', got 'other'"), ([b'F{"type":5}'], "with a type"),
                ([b'F{"type":"run"}'], "without a proper 'code'"),
                (packets_of({"type": "run", "code": 5}), "without a proper 'code'")):
            with self.subTest(packets=[p[:20] for p in packets]):
                runner = self.start()
                runner.receive()
                for packet in packets:
                    runner.socket.send(packet)
                end = runner.end()
                self.assertEqual((end.message, end.status), (None, 76))
                self.assertIn(words, end.stderr)
                self.assertEqual(end.stderr.count("\n"), 1)

    def test_a_message_beyond_the_limit_ends_the_runner(self):
        runner = self.start()
        runner.receive()
        part = b"M" + b" " * PART
        with self.assertRaises(OSError):
            for _ in range(1100):
                runner.socket.send(part)
        self.assertIn("longer than 64 MiB", runner.end().stderr)

    def test_nobody_wanting_the_runner_ends_it_quietly(self):
        runner = self.start()
        runner.receive()
        runner.send({"type": "cancel"})
        end = runner.end()
        self.assertEqual((end.status, end.stderr, end.message), (0, "", None))
        runner = self.start()
        runner.receive()
        runner.socket.close()
        self.assertEqual(runner.process.wait(BOUND), 0)


def not_found(call):
    """What the supervisor says to a call whose name it does not know."""
    return [{"type": "reply", "id": call["id"],
             "error": {"code": "not_found", "message": f"there is no tool '{call['name']}'", "remedy": "search first"}}]


def echo(call):
    return [{"type": "reply", "id": call["id"], "result": call["arguments"]}]
