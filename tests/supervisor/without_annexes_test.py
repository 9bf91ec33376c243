"""A warderd that was built without its annexes serves all the same, and says what it lacks. Programs: $WARDERD, which is
warderd-without-annexes, and $WITH_ANNEXES, the usual one, from the same build."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from harness import TOP, Daemon, Policies, eventually, let_go, workspace_of

ANNEXES = set(re.findall(r"^annex\((\w+) ", (TOP / "CMakeLists.txt").read_text(), re.MULTILINE))
EGRESS = {"rules": [{"host": "api.example.test", "ports": [443]}], "connections": 4, "bytes_up": 1024, "bytes_down": 1024,
          "seconds": 10}


LONG = """
import os, time, warder
wf = warder.workflow("long")
wf.step("first", lambda: open("/workspace/first", "a").write("x"))
def wait():
    open("/workspace/waits", "w").close()
    while not os.path.exists("/workspace/go"): time.sleep(0.01)
    return "went on"
result = wf.step("wait", wait)
"""


def version_of(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()


class WithoutAnnexes(unittest.TestCase):
    def test_the_version_names_the_absent_annexes(self):
        first, second = version_of(os.environ["WARDERD"])
        self.assertRegex(first, r"^warderd \d")
        self.assertEqual(set(second.removeprefix("built without ").split(", ")), ANNEXES)
        self.assertEqual(version_of(os.environ["WITH_ANNEXES"]), [first])

    def test_programs_run_and_files_are_written_and_found(self):
        with Daemon() as daemon, daemon.connect() as client:
            self.assertEqual(client.execute("result = 6 * 7")["result"], 42)
            self.assertEqual(client.execute("console.log('x'); result = 6 * 7", language="javascript")["result"], 42)
            client.call("write_workspace_file", {"filename": "a.txt", "content": "hello"})
            self.assertEqual(client.execute("result = open('/workspace/a.txt').read()")["result"], "hello")
            self.assertIn("built without", daemon.log_text())

    def test_a_policy_with_egress_rules_runs_programs_without_a_network_and_the_answer_says_so(self):
        with Policies(egress=EGRESS) as policies, Daemon(policies=policies) as daemon, daemon.connect() as client:
            answer = client.execute("import socket\ntry: socket.create_connection(('api.example.test', 443), 2)\n"
                                    "except OSError as e: result = 'unreachable'")
            self.assertEqual(answer["result"], "unreachable")
            self.assertTrue(any("built without egress" in note for note in answer["notes"]), answer)

    def test_a_configuration_with_the_key_of_an_absent_annex_denies_programs_and_the_check_names_it(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "warderd.json"
            config.write_text(json.dumps({"cluster": {"socket": f"{folder}/node.sock"}}))
            os.chmod(folder, 0o755)
            checked = subprocess.run([os.environ["WARDERD"], "--config", config, "--policies", TOP / "policies", "--check"],
                                     capture_output=True, text=True, timeout=60)
            self.assertEqual(checked.returncode, 1)
            self.assertIn("cluster: this warderd was built without cluster", checked.stderr)
            with Daemon(arguments=("--config", config)) as daemon, daemon.connect() as client:
                self.assertFalse(client.execute("result = 1")["success"])
                self.assertIn("cluster: this warderd was built without cluster", daemon.log_text())

    def test_an_interrupted_run_waits_for_a_warderd_with_workflows(self):
        with Policies(workflows={"resume": 2}) as policies, Daemon(program=os.environ["WITH_ANNEXES"], policies=policies) as daemon:
            waits = workspace_of(daemon) / "waits"
            with daemon.connect() as client:
                client.call("execute_code", {"code": LONG, "background": True, "timeout_seconds": 120})
                eventually(waits.exists, "the second step")
            waits.unlink()
            daemon.kill()
            daemon.program = os.environ["WARDERD"]
            daemon.start()
            with daemon.connect() as client:
                self.assertEqual(client.execute("result = 1")["result"], 1)
            self.assertIn("1 interrupted executions of workflows are not started again", daemon.log_text())
            self.assertFalse(waits.exists())
            daemon.stop()
            daemon.program = os.environ["WITH_ANNEXES"]
            daemon.start()
            eventually(waits.exists, "the second step of the run that goes on")
            self.assertEqual((workspace_of(daemon) / "first").read_text(), "x")  # its first step did not run again
            let_go(daemon)

    def test_workflows_are_refused_by_name(self):
        with Daemon() as daemon, daemon.connect() as client:
            answer = client.call("delete_workspace_file", {"filename": "workflow:///x"})
            self.assertIn("built without them", json.dumps(answer))
            self.assertNotIn("workflow", client.request("server/discover")["instructions"])

    def test_the_order_of_the_tools_is_the_same(self):
        def order(program):
            with Daemon(program=program) as daemon, daemon.connect() as client:
                return [tool["name"] for tool in client.request("tools/list")["tools"]]
        self.assertEqual(order(os.environ["WARDERD"]), order(os.environ["WITH_ANNEXES"]))
        self.assertEqual(order(os.environ["WARDERD"])[0], "execute_code")


if __name__ == "__main__":
    unittest.main()
