"""An ordinary user's daemon, in a cgroup that was delegated to that user: the same limits, and what is weaker is said."""
from suite.warder import DaemonTest, receipt


class Rootless(DaemonTest):
    user = "ordinary"

    def test_a_program_runs_in_all_namespaces_with_cgroup_limits(self):
        found = receipt(self.client.call("execute_code", {"code": "pass", "memory_mb": 100}))
        self.assertEqual(len(found["namespaces"]), 7)
        self.assertEqual(found["cgroup"]["memory_max"], 100 << 20)
        self.assertEqual(found["capabilities"], "none")

    def test_what_is_weaker_is_said(self):
        found = receipt(self.client.call("execute_code", {"code": "pass"}))
        self.assertIn("shared", found["identity"])
        self.assertTrue(any("one host id" in line for line in found["weaker"]), found["weaker"])

    def test_a_memory_bomb_ends_as_memory(self):
        self.expect("memory", "held = []\nwhile True: held.append(bytearray(1 << 20))", memory_mb=64)

    def test_a_program_that_starts_too_many_processes_ends_as_pids(self):
        self.expect("pids", "import os, time\nwhile True:\n  if os.fork() == 0: time.sleep(600)", timeout_seconds=100)

    def test_the_deadline_ends_a_stopped_program(self):
        self.expect("timeout", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", timeout_seconds=3)

    def test_files_of_the_workspace_belong_to_the_user(self):
        self.expect("ok", "write_file('mine', 'x')")
        (file,) = (self.daemon.state / "tenants").glob("*/workspace/**/mine")
        self.assertEqual(file.owner(), "ordinary")
