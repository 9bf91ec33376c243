"""The disk of the state folder is full: told once when it begins and once when it ends, and shown by the doctor, on the
bus and in the metrics meanwhile. The disk is a small tmpfs in a mount namespace of the daemon's own."""
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import tempfile
import unittest

from bus_harness import Admin, Bus, BusDaemon
from harness import HOLD, PATIENCE, ROOT, Client, body_of, eventually

MOUNT = 'mount -t tmpfs -o size=24m,mode=711 tmpfs "$0" && exec "$@"'


def on_small_disk(bus):
    daemon = BusDaemon(bus)
    daemon.state.mkdir()
    daemon.launcher = ("unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT, daemon.state)
    daemon.arguments += ["--metrics", daemon.directory / "metrics.sock"]
    return daemon


@unittest.skipUnless(ROOT, "only root mounts a disk")
class FullDisk(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(Bus())
        self.daemon = self.enterContext(on_small_disk(self.bus))
        self.admin = self.enterContext(Admin(self.bus))
        self.client = self.enterContext(Client(self.daemon.socket))
        state = pathlib.Path(f"/proc/{self.daemon.process.pid}/root{self.daemon.state}")
        self.filling, self.workspace = state / "filling", state / "tenants/uid-0/workspace"
        self.journal = state / "journal"

    def fill(self):
        with open(self.filling, "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError as error:
                    self.assertEqual(os.strerror(error.errno), "No space left on device")

    def lines(self, words):
        return [line for line in self.daemon.log_text().split("\n") if words in line]

    def metric(self, name):
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(PATIENCE)
            asking.connect(str(self.daemon.directory / "metrics.sock"))
            asking.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = asking.makefile().read()
        return int(re.search(rf"(?m)^{name} (\d+)$", text)[1])

    def finding(self):
        (found,) = [one for one in self.admin.call("RunDoctor") if one[0] == "state disk"]
        return [str(word) for word in found[1:]]

    def row_of(self, execution):
        """The outcome of that execution in the journal."""
        self.client.call("get_execution_stats")  # commits what it counts
        copies = self.enterContext(tempfile.TemporaryDirectory())  # SQLite finds no file in another mount namespace
        for file in self.journal.glob("journal.db*"):
            shutil.copy(file, copies)
        database = sqlite3.connect(f"{copies}/journal.db")
        try:
            ((outcome,),) = database.execute("SELECT outcome FROM executions WHERE id=?", (execution,)).fetchall()
            return outcome
        finally:
            database.close()

    def refused(self):
        """The next call that is refused, with the answers before it."""
        answers = []
        while len(answers) < 200:
            answers.append(self.client.call("execute_code", {"code": "result = 1"}))
            if answers[-1].get("isError"):
                return body_of(answers[-1])
        self.fail("a full disk refuses nothing")

    def test_from_its_beginning_to_its_end(self):
        self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")
        self.assertEqual((str(self.admin.get("DiskProblem")), self.metric("warder_state_disk_failing")), ("", 0))
        health, found, _ = self.finding()
        self.assertEqual(health, "good")
        self.assertRegex(found, r"takes writes; \d+ KiB are held back for the journal")
        self.assertGreaterEqual((self.journal / "reserve").stat().st_blocks * 512, 256 << 10, "allocated, not sparse")
        go = self.workspace / "go"
        go.touch()  # before the disk is full: HOLD waits until the file is called so
        go.rename(self.workspace / "not-yet")
        running = self.client.begin_running(HOLD, timeout_seconds=200)
        self.fill()
        # What runs is recorded in the reserve; no other program begins.
        not_run = self.refused()
        self.assertIn("the program did not run, because it cannot be recorded", not_run["error"])
        self.assertEqual(not_run["outcome"], "denied", not_run)
        self.assertNotIn("execution_id", not_run, "nothing is kept of what did not run")
        (self.workspace / "not-yet").rename(go)
        ran = self.client.executed(running)
        self.assertEqual((ran["outcome"], ran["result"]), ("ok", "went on"), ran)
        self.assertEqual(self.row_of(ran["execution_id"]), "ok")

        problem = eventually(lambda: str(self.admin.get("DiskProblem")), "the bus shows it")
        for words in (str(self.daemon.state), "No space left on device"):
            self.assertIn(words, problem)
        self.assertEqual(self.metric("warder_state_disk_failing"), 1)
        self.assertGreater(self.metric("warder_disk_faults_total"), 0)
        health, found, remedy = self.finding()
        self.assertEqual((health, found), ("bad", problem))
        self.assertIn(f"df -h {self.daemon.state}", remedy)
        for _ in range(20):
            self.refused()

        self.assertFalse((self.journal / "reserve").exists(), "it is spent")
        self.filling.unlink()
        eventually(lambda: not self.admin.get("DiskProblem"), "the disk takes writes again")
        self.assertTrue((self.journal / "reserve").exists(), "it is made again")
        self.assertEqual(self.client.execute("result = 2")["outcome"], "ok")
        self.assertEqual((self.finding()[0], self.metric("warder_state_disk_failing")), ("good", 0))
        (began,), (ended,) = self.lines("takes no writes"), self.lines("takes writes again")
        for words in ("error", str(self.daemon.state), "No space left on device", "df -h"):
            self.assertIn(words, began)
        self.assertIn(str(self.daemon.state), ended)
        counted = self.client.call("get_execution_stats")["structuredContent"]["executions"]
        self.assertNotIn("cancelled", str(counted["since_start"]), "what did not run is counted nowhere")

    def test_a_step_of_a_program_that_runs_is_kept_in_the_reserve(self):
        code = """
import os, time, warder
wf = warder.workflow("w")
wf.step("first", lambda: "kept")
print("running", flush=True)
while not os.path.exists("/workspace/go"): time.sleep(0.01)
told = None
try: wf.step("second", lambda: "x" * 200_000)
except warder.CallError as e: told = str(e)
third = None
try: wf.step("third", lambda: 3)
except warder.CallError as e: third = str(e)
print(f"told {told}", flush=True)
while os.path.exists("/workspace/go"): time.sleep(0.01)
result = [told, third]
"""
        self.client.execute("open('/workspace/not-yet', 'w').close()")
        running = self.client.begin_running(code, timeout_seconds=200)
        self.fill()
        (self.workspace / "not-yet").rename(self.workspace / "go")
        self.client.await_progress(f"token-{running}", lambda progress: progress.get("message", "").startswith("told"))
        self.filling.unlink()
        (self.workspace / "go").unlink()
        told = self.client.executed(running)
        self.assertEqual((told["outcome"], told["result"][0]), ("ok", None), told)
        self.assertIn("no step can be recorded now", told["result"][1] or "", "a tenant's steps leave the rest of the reserve")
        again = eventually(lambda: (now := body_of(self.client.call("execute_code", {"code": """
import warder
wf = warder.workflow("w")
ran = []
result = [wf.step("first", lambda: ran.append(1)), len(wf.step("second", lambda: ran.append(2) or "x" * 200_000)), ran]
"""}))) and now.get("success") and now, "the disk takes writes")
        self.assertEqual(again["result"], ["kept", 200_000, []])

    def test_a_disk_that_fills_again_and_again_does_not_fill_the_log(self):
        for rounds in range(1, 4):
            self.fill()
            self.refused()
            eventually(lambda: self.admin.get("DiskProblem"), "the bus shows it")
            self.filling.unlink()
            if rounds < 3:
                eventually(lambda: not self.admin.get("DiskProblem"), "the disk takes writes again")
        self.assertLessEqual(len(self.lines("takes no writes")), 3)
        eventually(lambda: not self.admin.get("DiskProblem"), "it is over, if late")
        self.assertEqual(len(self.lines("takes writes again")), len(self.lines("takes no writes")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
