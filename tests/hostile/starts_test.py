"""Every kind of start holds: each hostile program, and each attack on the channel to the daemon, in a jail that was built
when it was asked for (cold), that waited with a started interpreter (exec), that a zygote forked (fork), and in a session.

`hostile_test.cc` says what the programs are; here they go through the daemon as an agent's code does.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "supervisor"))

from harness import Client, Daemon, Policies, body_of, eventually  # noqa: E402

ENDED_THERE = {"i386_calls", "load_bpf", "x32_calls"}  # the filter ends the program
PAIRS = ("_hold", "_find", "_touch")  # of two jails that run at once
PROGRAMS = {file.stem: file.read_text() for file in sorted((HERE / "programs").glob("*.py"))
            if not file.stem.endswith(PAIRS)}
ATTACK = (HERE / "attack.py").read_text()

# Past its interpreter, to the daemon itself.
CHANNEL = """
import socket, threading
channel = socket.socket(fileno=3)
def put(text):
    data, size = text if isinstance(text, bytes) else text.encode(), 65534
    for at in range(0, len(data), size):
        channel.send((b"F" if at + size >= len(data) else b"M") + data[at:at + size])
def drain():
    while channel.recv(65536): pass
def flood(text, times):
    threading.Thread(target=drain, daemon=True).start()
    for _ in range(times): put(text)
"""
VALUES = "','.join(['[]'] * 300_000)"
STAYS = "\nimport time; time.sleep(600)"  # until it is ended
CHANNEL_ATTACKS = {  # code: outcomes that hold
    "channel.send(b'')": {"protocol"},
    "put(b'\\xff\\xfe')": {"protocol"},
    "put('{')": {"protocol"},
    "channel.send(b'Xunknown')": {"protocol"},
    "put('{\"type\":\"result\",\"status\":0,\"value\":' + '[' * 5000 + ']' * 5000 + '}')": {"protocol"},
    "put('{\"type\":\"result\",\"status\":0,\"value\":\"' + 'x' * 1_200_000 + '\"}')": {"protocol"},
    "put('{\"type\":\"result\",\"status\":0,\"value\":[' + ','.join(['[]'] * 600_000) + ']}')": {"protocol"},
    "flood('{\"type\":\"call\",\"id\":1,\"name\":\"n\",\"arguments\":[' + " + VALUES + " + ']}', 50)": {"ok", "protocol"},
    "flood('{\"type\":\"call\",\"id\":1,\"name\":\"n\",\"arguments\":{}}', 1000)": {"ok", "protocol"},
    "while True: put('{\"type\":\"call\",\"id\":1,\"name\":\"n\",\"arguments\":{}}')": {"protocol"},
    "import os; channel.sendmsg([b'F{}'], [(1, 1, os.dup(1).to_bytes(4, 'little'))])": {"protocol"},
}

MEMORY = 500 << 20  # of a jail, in bytes
ENVIRONMENT = {"WARDER_HOSTILE_SECRET": "the daemon's"}


class EveryStart:
    """What is done for each start."""

    pool, start = {"min_idle": 0, "max_idle": 0, "zygotes": False}, None

    @classmethod
    def make_daemon(cls, **policy):
        """In a guest: tests/system/suite/hostile.py."""
        return Daemon(policies=cls.enterClassContext(Policies(**policy)), environment=ENVIRONMENT)

    @classmethod
    def setUpClass(cls):
        limits = {"standard": {"tmp_bytes": 32 << 20, "memory_bytes": MEMORY}}
        cls.daemon = cls.enterClassContext(cls.make_daemon(pool=cls.pool, limits=limits))
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))
        receipt = cls.client.call("execute_code", {"code": ""})["_meta"]["org.warder/receipt"]
        cls.counted = bool(receipt["cgroup"])
        cls.separated = cls.client.execute("result = open('/proc/1/status').read()")["outcome"] == "ok"

    def executed(self, code, **more):
        """The answer of an execution that started as these tests want it."""
        def started_so():
            result = self.client.call("execute_code", {"code": code, **more})
            return body_of(result) if result["_meta"]["org.warder/receipt"]["start"] == self.start else None
        return eventually(started_so, f"an execution that starts {self.start}")

    def test_no_program_escapes(self):
        around = {"host_paths": [str(HERE), str(self.daemon.directory), str(self.daemon.state)],
                  "secret": "WARDER_HOSTILE_SECRET", "init_is_another": os.geteuid() == 0,
                  "counted": self.counted, "memory_bytes": MEMORY,
                  "kernel_entries": [name for name in os.listdir("/proc") if not name.isdigit()]}
        for name, text in PROGRAMS.items():
            with self.subTest(name):
                body = self.executed(f"{ATTACK}\n{text}\nresult = verdict()\n", context_vars=around, timeout_seconds=60)
                if name in ENDED_THERE:
                    self.assertIn(body["outcome"], ("forbidden_call", "signal"), body)
                else:
                    self.assertEqual((body["outcome"], body.get("result")), ("ok", "held"), body)
        self.assertEqual(self.executed("result = 6 * 7")["result"], 42)

    def test_no_message_to_the_daemon_does_more_than_end_its_program(self):
        for code, outcomes in CHANNEL_ATTACKS.items():
            with self.subTest(code[:60]):
                stays = "" if "ok" in outcomes else STAYS
                body = self.executed(f"{CHANNEL}\n{code}{stays}", timeout_seconds=60)
                self.assertIn(body["outcome"], outcomes, body)
        self.assertEqual(self.executed("result = 6 * 7")["result"], 42)


class Cold(EveryStart, unittest.TestCase):
    start = "cold"


class Exec(EveryStart, unittest.TestCase):
    # While a jail that waited is replaced, the next program finds another one.
    pool, start = {"min_idle": 3, "max_idle": 3, "zygotes": False}, "exec"


class Fork(EveryStart, unittest.TestCase):
    pool, start = {"min_idle": 3, "max_idle": 3, "zygotes": True}, "fork"


class Session(EveryStart, unittest.TestCase):
    """The second call of a session, in the interpreter that the first one left."""

    def executed(self, code, **more):
        self.client.execute("left = True", session="s", reset_session=True)
        body = self.client.execute(code, session="s", **more)
        self.assertEqual(body["session"]["call"], 2, body)
        return body


if __name__ == "__main__":
    unittest.main()
