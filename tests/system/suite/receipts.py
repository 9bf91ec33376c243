"""Receipts: what an answer says was applied is what the kernel has, and a jail weaker than its policy is refused."""
import contextlib
import json
import unittest

from suite.warder import LANE, META, CgroupDaemon, DaemonTest, answer, make_cgroup, receipt, wait_until, write_file

SEVEN = {"user", "pid", "mount", "net", "ipc", "uts", "cgroup"}


class Applied(DaemonTest):
    policy = {"limits": {"standard": {"cpus": 0.5, "tasks": 32}}}

    def test_the_cgroup_of_a_running_program_has_what_the_receipt_says(self):
        self.client.send({"jsonrpc": "2.0", "id": "runs", "method": "tools/call", "params": {
            "name": "execute_code", "_meta": META, "arguments": {
                "code": "import os, time\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)",
                "memory_mb": 100, "timeout_seconds": 100}}})
        leaf = self.daemon.wait_for_leaf()
        wait_until("the program runs", lambda: (leaf / "cgroup.procs").read_text().count("\n") >= 2)
        kernel = {name: (leaf / name).read_text().strip()
                  for name in ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max")
                  if (leaf / name).exists()}
        with contextlib.closing(self.daemon.connect()) as other:
            write_file(other, "go")
        while (message := self.client.receive()).get("id") != "runs":
            pass
        self.assertEqual(answer(message["result"])["outcome"], "ok")
        cgroup = receipt(message["result"])["cgroup"]
        self.assertEqual(kernel["memory.max"], str(cgroup["memory_max"]))
        self.assertEqual(cgroup["memory_max"], 100 << 20)
        self.assertEqual(kernel.get("memory.swap.max", "0"), str(cgroup["swap_max"]))
        self.assertEqual(kernel["memory.oom.group"], "1")
        self.assertTrue(cgroup["oom_group"])
        self.assertEqual(kernel["pids.max"], str(cgroup["pids_max"]))
        self.assertEqual(kernel["cpu.max"], f"{int(cgroup['cpus'] * 100000)} 100000")
        self.assertEqual(cgroup["cpus"], 0.5)

    def test_the_receipt_names_all_that_confines_a_jail(self):
        found = receipt(self.client.call("execute_code", {"code": "pass"}))
        self.assertEqual(set(found["namespaces"]), SEVEN)
        self.assertEqual(found["capabilities"], "none")
        self.assertTrue(found["no_new_privileges"])
        self.assertEqual(found["seccomp"]["profile"], "default")
        self.assertEqual(found["root"], "overlay")
        self.assertEqual(found["network"], "none")
        self.assertEqual(len({found["identity"][who] for who in ("init", "runner", "daemon")}), 3)
        self.assertTrue(found["workspace"]["mapped_ids"])  # the state is on ext4
        if LANE == "uml":
            self.assertFalse(found["landlock"])
            self.assertEqual(found["weaker"], ["the kernel has no Landlock"])
        else:
            self.assertGreaterEqual(found["landlock"]["abi"], 2)
            self.assertEqual(found["weaker"], [])

    def test_usage_is_the_cgroups(self):
        found = self.expect("ok", """
import time
end = time.process_time() + 0.5
while time.process_time() < end: pass
held = bytearray(48 << 20)
result = time.process_time()
""", timeout_seconds=100)
        usage = found["usage"]
        self.assertGreaterEqual(usage["cpu_ms"], 450)
        self.assertLess(usage["cpu_ms"], usage["wall_ms"])
        self.assertGreater(usage["memory_peak_bytes"], 48 << 20)
        self.assertGreaterEqual(usage.get("processes_peak", 1), 1)

    def test_the_program_sees_its_cgroup_as_the_root_and_can_change_no_limit(self):
        found = self.expect("ok", "import os\nresult = [open('/proc/self/cgroup').read(), "
                                  "os.path.exists('/sys/fs/cgroup/memory.max')]")
        self.assertEqual(found["result"], ["0::/\n", False])


class Missing(unittest.TestCase):
    """A daemon in a cgroup that no controller was delegated to."""

    def run_with(self, need):
        with CgroupDaemon(make_cgroup(delegated_controllers=False), isolation={"cgroups": need}) as daemon, \
                daemon.connect() as client:
            return client.call("execute_code", {"code": "result = 6 * 7"})

    def test_a_policy_that_requires_cgroups_is_refused_with_rule_and_remedy(self):
        result = self.run_with("required")
        found = answer(result)
        self.assertTrue(result["isError"])
        self.assertEqual((found["outcome"], found["rule"]), ("denied", "isolation.cgroups"), found)
        self.assertIn("controller", json.dumps(found))
        self.assertTrue(found["remedy"])

    def test_a_policy_that_prefers_them_runs_and_says_so(self):
        result = self.run_with("preferred")
        self.assertEqual(answer(result)["result"], 42)
        self.assertFalse(receipt(result)["cgroup"])
        self.assertTrue(any("no cgroup limits" in line for line in receipt(result)["weaker"]), receipt(result))
