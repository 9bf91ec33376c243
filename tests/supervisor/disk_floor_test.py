"""A disk that tenants share: files without a name count in the quota, the largest writer of a disk that is nearly full
is ended, and other tenants go on. The disk is a small tmpfs in a mount namespace of the daemon's own."""
import concurrent.futures
import json
import os
import pathlib
import tempfile
import unittest

from harness import ROOT, Client, Daemon, Policies, as_user, body_of, eventually
from pool_test import receipt_of

MOUNT = 'mount -t tmpfs -o size=400m,mode=711 tmpfs "$0" && exec "$@"'
FILLER, NEIGHBOUR = 47010, 47011
QUOTA = 32 << 20

# Holds that many MiB in files that no name shows, and waits.
HOLD_UNLINKED = """
import os, signal
held = []
for i in range({files}):
    held.append(open("unlinked", "wb", buffering=0))
    os.unlink("unlinked")
    for _ in range(8): held[-1].write(b"x" * (1 << 20))
print("holds", flush=True)
signal.pause()
"""
HOLD_PREALLOCATED = """
import os, signal
held = []
for i in range({files}):
    held.append(open("unlinked", "wb", buffering=0))
    os.unlink("unlinked")
    os.posix_fallocate(held[-1].fileno(), 0, 8 << 20)
print("holds", flush=True)
signal.pause()
"""
HOLD_MAPPED = """
import ctypes, mmap, os, signal
libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
for i in range({files}):
    with open("mapped", "w+b", buffering=0) as file:
        for _ in range(8): file.write(b"x" * (1 << 20))
        assert libc.mmap(None, 8 << 20, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0) != 2**64 - 1
    os.unlink("mapped")
print("holds", flush=True)
signal.pause()
"""
# In files without a name, each smaller than the largest that the policy allows.
FILL = """
import os, signal
held = []
try:
    while True:
        held.append(open("unlinked", "wb", buffering=0))
        os.unlink("unlinked")
        for _ in range(8): held[-1].write(b"x" * (1 << 20))
except OSError: pass
signal.pause()
"""
FILL_INODES = """
import os, signal
held = []
try:
    for folder in range(1000):
        os.mkdir(str(folder))
        for i in range(1000): os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
except OSError: pass
signal.pause()
"""


# An upstream server whose tool fills the disk with files without a name, and waits once the disk is full.
FILLING_SERVER = """
import json, os, signal, sys
ANSWERS = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
           "tools/list": {"tools": [{"name": "fill", "inputSchema": {"type": "object"}}]}}
held = []
for line in sys.stdin:
    request = json.loads(line)
    try:
        while request["method"] == "tools/call":
            held.append(open("unlinked", "wb", buffering=0))
            os.unlink("unlinked")
            for _ in range(8): held[-1].write(b"x" * (1 << 20))
    except OSError: signal.pause()
    answer = {"error": {"code": -32601, "message": "no such method"}}
    if request["method"] in ANSWERS:
        answer = {"result": ANSWERS[request["method"]]}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""


def small_disk(policies, options=MOUNT, arguments=()):
    daemon = Daemon(policies, arguments=arguments)
    daemon.state.mkdir()
    daemon.launcher = ("unshare", "--mount", "--propagation", "private", "sh", "-c", options, daemon.state)
    return daemon


class OnSmallDisk(unittest.TestCase):
    quota = {"workspace_bytes": QUOTA, "workspace_files": 5000}
    options = MOUNT
    servers = {}

    def setUp(self):
        policies = self.enterContext(Policies(quota=self.quota))
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        (folder / "config.json").write_text(json.dumps({"servers": self.servers}))
        self.daemon = self.enterContext(small_disk(policies, self.options, ["--config", folder / "config.json"]))
        self.filler, self.neighbour = (self.enterContext(as_user(user, lambda: Client(self.daemon.socket)))
                                       for user in (FILLER, NEIGHBOUR))
        self.state = pathlib.Path(f"/proc/{self.daemon.process.pid}/root{self.daemon.state}")
        self.before = self.free()

    def free(self):
        now = os.statvfs(self.state)
        return now.f_bavail * now.f_frsize

    def await_space(self):
        eventually(lambda: self.free() > self.before - (8 << 20), "the space is back")

    def neighbour_writes(self):
        """The outcome of a program. A tmpfs may fill faster than the daemon looks: then "full", and nothing has run."""
        answer = self.neighbour.execute("open('f', 'w').write('x' * 100_000)")
        is_full = answer["outcome"] == "denied" and "the disk of the state folder is full" in answer["error"]
        return "full" if is_full else answer["outcome"]

    def while_it_runs(self, code):
        """The answer to the filler's program, and the outcomes of the neighbour's programs meanwhile."""
        outcomes = set()
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            answer = beside.submit(self.filler.execute, code, timeout_seconds=120)
            while not answer.done():
                outcomes.add(self.neighbour_writes())
            return answer.result(), outcomes


@unittest.skipUnless(ROOT, "only root mounts a disk")
class Unnamed(OnSmallDisk):
    def held_is_found(self, code, **more):
        ended = self.filler.execute(code, timeout_seconds=120, **more)
        self.assertEqual(ended["outcome"], "disk", ended)
        self.assertIn("without a name", ended["error"])
        self.assertEqual(ended["rule"], "quota.workspace_bytes")
        self.await_space()
        self.assertEqual(self.neighbour.execute("result = 1")["outcome"], "ok")
        self.assertEqual(self.filler.execute("result = 1")["outcome"], "ok", "what has ended holds nothing")

    def test_files_that_were_unlinked_count(self):
        self.held_is_found(HOLD_UNLINKED.format(files=8))

    def test_files_that_only_a_mapping_holds_count(self):
        self.held_is_found(HOLD_MAPPED.format(files=8))

    def test_preallocated_files_count(self):
        self.held_is_found(HOLD_PREALLOCATED.format(files=8))

    def test_they_count_in_a_staged_workspace(self):
        self.held_is_found(HOLD_UNLINKED.format(files=8), workspace="staged")
        listed = self.filler.call("list_workspace_files", {})
        self.assertEqual(body_of(listed)["files"], [], listed)

    def test_they_count_in_a_session(self):
        self.held_is_found(HOLD_UNLINKED.format(files=8), session="s")

    def test_a_few_are_allowed_and_a_session_is_charged_until_it_ends(self):
        hold = HOLD_UNLINKED.format(files=2).replace("signal.pause()", "")
        self.assertEqual(self.filler.execute(hold, session="s")["outcome"], "ok")
        full = self.filler.execute("for i in range(3): open(f'f{i}', 'wb').write(b'x' * (8 << 20))\n"
                                   "import signal; signal.pause()", timeout_seconds=120)
        self.assertEqual(full["outcome"], "disk", full)
        self.assertIn("without a name", full["error"])

    def test_files_made_without_a_name_are_not_supported_and_programs_fall_back(self):
        answer = self.filler.execute("""
import ctypes, errno, os, tempfile
libc = ctypes.CDLL(None, use_errno=True)
told = {}
for folder in (".", "/tmp", os.path.expanduser("~")):
    try: os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as e: told[folder] = "unsupported" if e.errno == errno.EOPNOTSUPP else str(e)
for folder in (None, "."):
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"kept"); file.seek(0); told[f"python {folder}"] = file.read().decode()
libc.tmpfile.restype = ctypes.c_void_p
told["glibc"] = bool(libc.tmpfile())
result = sorted(told.values(), key=str)
""")
        self.assertEqual(answer["result"], [True] + ["kept"] * 2 + ["unsupported"] * 3, answer)
        script = self.filler.execute("const fs = require('fs'); const d = fs.mkdtempSync('/tmp/x'); "
                                     "fs.writeFileSync(d + '/a', 'kept'); return fs.readFileSync(d + '/a', 'utf8')",
                                     language="javascript")
        self.assertEqual(script["result"], "kept", script)


@unittest.skipUnless(ROOT, "only root mounts a disk")
class Starts(unittest.TestCase):
    """The largest file of a jail that waits is set before, so it fits into this quota."""

    def test_files_without_a_name_count_in_each_kind_of_start(self):
        for start, pool in (("exec", {"zygotes": False}), ("fork", {"zygotes": True})):
            with self.subTest(start), Policies(quota={"workspace_bytes": 48 << 20, "workspace_files": 5000},
                                               limits={"standard": {"file_bytes": 9 << 20}},
                                               pool={"min_idle": 1, "max_idle": 2, **pool}) as policies, \
                    small_disk(policies) as daemon, Client(daemon.socket) as client:
                def ended():
                    result = client.call("execute_code", {"code": HOLD_UNLINKED.format(files=8), "timeout_seconds": 60})
                    return body_of(result) if receipt_of(result)["start"] == start else None
                body = eventually(ended, f"an execution that starts {start}")
                self.assertEqual((body["outcome"], body["rule"]), ("disk", "quota.workspace_bytes"), body)
                self.assertIn("without a name", body["error"])


@unittest.skipUnless(ROOT, "only root mounts a disk")
class Floor(OnSmallDisk):
    quota = {"workspace_bytes": 1 << 40, "workspace_files": 5_000_000}

    def test_the_largest_writer_ends_and_the_neighbour_goes_on(self):
        answer, outcomes = self.while_it_runs(FILL)
        self.assertEqual(answer["outcome"], "disk", answer)
        self.assertIn("nearly full", answer["error"])
        self.assertIn(outcomes, ({"ok"}, {"full"}, {"ok", "full"}))
        self.await_space()
        eventually(lambda: self.neighbour_writes() == "ok", "the neighbour's programs run")
        self.assertIn("tenant uid-47010 ends", self.daemon.log_text())

    def test_so_does_a_session_that_waits(self):
        hold = FILL.replace("while True:", "for _ in range({files}):").replace("signal.pause()", "")
        held = self.filler.execute(hold.format(files=40), session="s", timeout_seconds=120)
        self.assertEqual(held["outcome"], "ok", held)  # 320 MiB of 400
        added = self.neighbour.execute(hold.format(files=9) + "signal.pause()", timeout_seconds=2)
        self.assertEqual(added["outcome"], "timeout", "it had taken less than the session")
        self.await_space()
        again = self.filler.execute("result = 'held' in globals()", session="s")
        self.assertIn("the disk of all tenants is nearly full", again["error"], again)


@unittest.skipUnless(ROOT, "only root mounts a disk")
class FloorOfServers(OnSmallDisk):
    quota = {"workspace_bytes": 1 << 40, "workspace_files": 5_000_000}
    servers = {"filling": {"command": "/usr/bin/python3", "args": ["-c", FILLING_SERVER]}}

    def test_a_server_that_fills_the_disk_ends_and_the_neighbour_goes_on(self):
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            answer = beside.submit(self.filler.call, "call_tool", {"name": "filling__fill", "arguments": {}})
            outcomes = set()
            while not answer.done():
                outcomes.add(self.neighbour_writes())
        self.assertIn("nearly full", json.dumps(answer.result()))
        self.assertIn(outcomes, ({"ok"}, {"full"}, {"ok", "full"}))
        self.await_space()
        eventually(lambda: self.neighbour_writes() == "ok", "the neighbour's programs run")


@unittest.skipUnless(ROOT, "only root mounts a disk")
class InodeFloor(OnSmallDisk):
    quota = {"workspace_bytes": 1 << 40, "workspace_files": 5_000_000}
    options = MOUNT.replace("size=400m", "size=400m,nr_inodes=100000")

    def test_the_program_that_made_most_files_ends(self):
        answer, outcomes = self.while_it_runs(FILL_INODES)
        self.assertEqual(answer["outcome"], "disk", answer)
        self.assertIn("nearly full", answer["error"])
        self.assertEqual(outcomes, {"ok"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
