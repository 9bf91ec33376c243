"""Limits that the kernel holds: memory, processes, CPU, disk, output. Each ends as its own outcome; the daemon lives."""
import os
import subprocess
import unittest

from suite.warder import DISK, CgroupDaemon, DaemonTest

MIB = 1 << 20


class Memory(DaemonTest):
    def test_a_memory_bomb_ends_as_memory_at_its_limit(self):
        found = self.expect("memory", "held = []\nwhile True: held.append(bytearray(1 << 20))", memory_mb=64)
        peak = found["usage"]["memory_peak_bytes"]
        self.assertGreater(peak, 56 * MIB)
        self.assertLessEqual(peak, 64 * MIB)
        self.assertIn("64 MB", found["error"])

    def test_what_children_use_counts_and_all_are_killed_together(self):
        self.expect("memory", """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(16 << 20)
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(600)
        os._exit(0)
time.sleep(600)
""", memory_mb=64, timeout_seconds=100)

    def test_files_in_tmp_count_as_memory(self):
        self.expect("memory", """
with open("/tmp/a", "wb") as a, open("/dev/shm/b", "wb") as b:
    for _ in range(60):
        a.write(bytes(1 << 20)); a.flush()
        b.write(bytes(1 << 20)); b.flush()
""", memory_mb=64, timeout_seconds=100)

    def test_a_program_within_its_limit_is_left_alone(self):
        found = self.expect("ok", "held = bytearray(32 << 20)\nresult = len(held)", memory_mb=96)
        self.assertEqual(found["result"], 32 * MIB)
        self.assertGreater(found["usage"]["memory_peak_bytes"], 32 * MIB)
        self.assertLess(found["usage"]["memory_peak_bytes"], 96 * MIB)


class Processes(DaemonTest):
    policy = {"limits": {"standard": {"tasks": 24}}}

    def test_a_program_that_starts_too_many_processes_ends_as_pids(self):
        self.expect("pids", "import os, time\nwhile True:\n  if os.fork() == 0: time.sleep(600)", timeout_seconds=100)

    def test_fork_bombs_end_and_leave_nothing_behind(self):
        # Where every process forks, luck decides whether the first one is refused before the deadline.
        for language, bomb in (("python", "import os\nwhile True: os.fork()"),
                               ("shell", "bomb() { bomb | bomb & }; bomb; wait; sleep 600")):
            found = self.execute(bomb, language=language, timeout_seconds=5)
            self.assertIn(found["outcome"], ("pids", "timeout"), found)
            self.daemon.expect_no_jails()

    def test_threads_count(self):
        self.expect("pids", """
import threading
stop = threading.Event()
for _ in range(64):
    threading.Thread(target=stop.wait, daemon=True).start()
""", timeout_seconds=60)

    def test_as_many_as_allowed_may_run(self):
        found = self.expect("ok", """
import os, time
children = []
for _ in range(16):
    child = os.fork()
    if child == 0:
        time.sleep(600)
    children.append(child)
result = len(children)
""", timeout_seconds=60)
        self.assertEqual(found["result"], 16)


class Cpu(DaemonTest):
    policy = {"limits": {"standard": {"cpus": 0.2}}}

    def test_a_busy_program_gets_its_share_and_no_more(self):
        found = self.expect("timeout", "while True: pass", timeout_seconds=4)
        used, passed = found["usage"]["cpu_ms"], found["usage"]["wall_ms"]
        self.assertGreater(passed, 3900)
        self.assertGreater(used, 0.05 * passed)
        self.assertLess(used, 0.3 * passed)


class CpuTime(DaemonTest):
    policy = {"limits": {"standard": {"cpu_ms": 1500}, "maximum": {"cpu_ms": 1500}}}

    def test_a_busy_program_ends_as_cpu_time(self):
        found = self.expect("cpu_time", "while True: pass", timeout_seconds=100)
        self.assertLess(found["usage"]["wall_ms"], 60000)

    def test_children_share_the_time(self):
        self.expect("cpu_time", "import os\nos.fork(); os.fork()\nwhile True: pass", timeout_seconds=100)

    def test_waiting_costs_nothing(self):
        self.expect("timeout", "import time; time.sleep(600)", timeout_seconds=4)


class Output(DaemonTest):
    policy = {"limits": {"standard": {"output_kept_bytes": 4 * MIB, "output_total_bytes": 4 * MIB}}}

    def test_a_flood_ends_as_output(self):
        found = self.expect("output", "while True: print('x' * 1000)", timeout_seconds=100)
        self.assertIn("truncated", found)

    def test_a_flood_of_a_grandchild_ends_as_output(self):
        self.expect("output", "import os\nif os.fork() == 0:\n  while True: os.write(2, b'y' * 4096)\n"
                              "import time; time.sleep(600)", timeout_seconds=100)


class Disk(DaemonTest):
    policy = {"quota": {"workspace_bytes": 8 * MIB, "workspace_files": 100}}

    def tearDown(self):
        self.execute("import shutil, os\nfor f in os.listdir('/workspace'):\n"
                     "  p = '/workspace/' + f\n  shutil.rmtree(p) if os.path.isdir(p) else os.remove(p)")
        super().tearDown()

    def test_a_workspace_over_its_quota_ends_as_disk(self):
        self.expect("disk", """
import time
for n in range(64):
    with open(f"/workspace/{n}", "wb") as file:
        file.write(bytes(1 << 20))
    time.sleep(0.2)
time.sleep(600)
""", timeout_seconds=100)

    def test_a_full_tmp_ends_as_disk(self):
        self.expect("disk", "with open('/tmp/a', 'wb') as a:\n  while True: a.write(bytes(1 << 20))",
                    memory_mb=400, timeout_seconds=100)


class ProjectQuota(unittest.TestCase):
    """A quota that the administrator set on the workspace's file system, as xfs_quota(8) or setquota(8) would."""

    def test_the_kernels_refusal_ends_as_disk(self):
        with CgroupDaemon() as daemon, daemon.connect() as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            (workspace,) = (daemon.state / "tenants").glob("*/workspace")
            subprocess.run(["chattr", "-R", "+P", "-p", "42", workspace], check=True)
            subprocess.run(["setquota", "-P", "42", "0", "2048", "0", "0", DISK], check=True)
            found = client.execute("with open('/workspace/a', 'wb') as a:\n  while True: a.write(bytes(65536))")
            self.assertEqual(found["outcome"], "disk", found)
            size = os.stat(next(workspace.rglob("a"))).st_size
            self.assertLessEqual(size, 2 * MIB)
            self.assertGreater(size, 1 * MIB)
            self.assertFalse(client.call("delete_workspace_file", {"filename": "a"}).get("isError"))
            self.assertEqual(client.execute("write_file('b', 'fits')")["outcome"], "ok")
