"""Policies, tool definitions and skills that the authority signs on one machine come into force on all nodes, over a real
nats-server. A policy that a daemon cannot use changes nothing. What a node has once, it has after a restart without NATS.
"""
import json
import os
import signal
import sys
import unittest

from cluster_rig import NATS_SERVER, Rig, warder
from harness import Client, Policies, body_of, eventually

if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: rules of a cluster, because nats-server is missing: apt-get install nats-server ***\n")


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(Policies())
        cls.rig = cls.enterClassContext(Rig(cls.policies, "n1", "n2"))

    def sign(self, name, content, *words):
        """Signs on the machine of n1, and returns how many lines each daemon has logged before."""
        file = self.rig.folder / f"{name}.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        before = {node: len(daemon.log_text()) for node, daemon in self.rig.daemons.items()}
        warder("cluster", "sign", name, *words, *(() if content is None else ("--file", file)),
               "--folder", self.rig.folder / "n1")
        return before

    def wait_for(self, line, before):
        for node, daemon in self.rig.daemons.items():
            eventually(lambda daemon=daemon, node=node: line in daemon.log_text()[before[node]:], f"{node} logs: {line}")

    def reload(self, *nodes):
        for node in nodes:
            daemon = self.rig.daemons[node]
            before = len(daemon.log_text())
            daemon.process.send_signal(signal.SIGHUP)
            eventually(lambda daemon=daemon, before=before: "policies reloaded" in daemon.log_text()[before:], f"{node} has reloaded")

    def policy_file(self, node, name):
        return self.rig.daemons[node].state / f"cluster/policies/{name}.json"

    def tools(self, node):
        with Client(self.rig.daemons[node].socket) as client:
            return {tool["name"] for tool in client.request("tools/list")["tools"]}

    def await_tools(self, node, tools):
        """The line that reload() waits for may be that of a rule that came at the same time."""
        eventually(lambda: self.tools(node) == set(tools), f"{node} lists {tools}")

    def test_a_policy_comes_into_force_on_all_nodes(self):
        few = ["execute_code", "list_workspace_files"]
        before = self.sign("fleet", {"extends": "default", "tools": few[:1]})
        self.wait_for("the cluster's policies are in force", before)
        self.policies.write("tenants.json", json.dumps({"rules": [{"uid": os.geteuid(), "policy": "fleet"}]}))
        self.reload("n1", "n2")
        for node in ("n1", "n2"):
            self.await_tools(node, ["execute_code"])
        # A newer one replaces it, without a word of the administrators of the machines.
        before = self.sign("fleet", {"extends": "default", "tools": few})
        self.wait_for("the cluster's policies are in force", before)
        self.assertEqual([self.tools(node) for node in ("n1", "n2")], [set(few)] * 2)

        with self.subTest("a policy that cannot be used changes nothing"):
            before = self.sign("broken", {"limits": {"standard": {"cpus": "many"}}})
            self.wait_for("the cluster's policies are refused", before)
            before = self.sign("other", {"extends": "default", "tools": few})
            self.wait_for("the cluster's policy 'other' is in force", before)
            self.assertFalse(self.policy_file("n2", "broken").exists())
            self.assertEqual(self.tools("n2"), set(few))
            self.sign("broken", None, "--withdraw")

        with self.subTest("this machine's own policy of the same name comes first"):
            self.policies.write("fleet.json", json.dumps({"extends": "default", "tools": ["get_execution_stats"]}))
            self.reload("n2")
            self.await_tools("n2", ["get_execution_stats"])
            (self.policies.folder / "fleet.json").unlink()
            self.reload("n2")
            self.await_tools("n2", few)

        with self.subTest("a node starts with its last good copy, without NATS"):
            self.rig.bus.stop()
            self.rig.daemons["n2"].stop()
            self.rig.daemons["n2"].start()
            self.assertEqual(self.tools("n2"), set(few))
            self.rig.bus.start()

        with self.subTest("a policy that is withdrawn is gone"):
            (self.policies.folder / "tenants.json").unlink()
            self.reload("n1", "n2")
            self.sign("fleet", None, "--withdraw")
            for node in ("n1", "n2"):
                eventually(lambda node=node: not self.policy_file(node, "fleet").exists(), f"{node} has no such policy")

    def test_definitions_are_found_on_all_nodes(self):
        self.sign("weather", {"tools": [{"name": "forecast_of_snow", "description": "How much snow falls tomorrow.",
                                         "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}}}]},
                  "--catalog")

        def finds(node):
            with Client(self.rig.daemons[node].socket) as client:
                return "forecast_of_snow" in json.dumps(client.call("search_tools", {"query": "snow tomorrow"}))
        for node in ("n1", "n2"):
            eventually(lambda node=node: finds(node), f"{node} finds the tool")

    def test_a_skill_is_shared_by_all_nodes(self):
        folder = self.rig.folder / "fleet-report"
        (folder / "scripts").mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\nname: fleet-report\ndescription: What the fleet did\n---\n# Manual\n")
        log_text_before = {node: len(daemon.log_text()) for node, daemon in self.rig.daemons.items()}

        def sign(code, *words):
            (folder / "scripts/fleet_report.py").write_text(f"def fleet_report():\n    return {code}\n")
            warder("cluster", "sign", "fleet-report", "--skill", *(words or ("--file", folder)), "--folder", self.rig.folder / "n1")

        def listed(node):
            with Client(self.rig.daemons[node].socket) as client:
                return [one["name"] for one in body_of(client.call("list_skills", {"query": "fleet"}))["skills"]]

        def ran(node):
            with Client(self.rig.daemons[node].socket) as client:
                return client.execute("from skills import fleet_report\nresult = fleet_report()").get("result")
        sign(1)
        for node in ("n1", "n2"):
            eventually(lambda node=node: listed(node) == ["fleet_report"], f"{node} has the skill")
            self.assertEqual(ran(node), 1)
        sign(2)
        for node in ("n1", "n2"):
            eventually(lambda node=node: ran(node) == 2, f"{node} has the new version")

        with self.subTest("no tenant can save a skill of this name"):
            with Client(self.rig.daemons["n2"].socket) as client:
                answer = client.call("save_skill", {"name": "fleet_report", "code": "x = 1", "description": "d"})
            self.assertIn("shared skill of all tenants", json.dumps(answer))

        with self.subTest("a shipped skill of the same name comes first"):
            other = self.rig.folder / "csv-records"
            other.mkdir()
            (other / "SKILL.md").write_text("---\nname: csv-records\ndescription: Not the shipped one\n---\n")
            warder("cluster", "sign", "csv-records", "--skill", "--file", other, "--folder", self.rig.folder / "n1")
            self.wait_for("the cluster's skill 'csv-records' is not used", log_text_before)
            with Client(self.rig.daemons["n2"].socket) as client:
                self.assertNotIn("Not the shipped one", json.dumps(client.call("list_skills", {"query": "csv"})))

        with self.subTest("a node starts with its last good copy, without NATS and without warder-node"):
            self.rig.bus.stop()
            self.rig.nodes["n2"].stop()
            self.rig.daemons["n2"].stop()
            self.rig.daemons["n2"].start()
            eventually(lambda: listed("n2") == ["fleet_report"], "n2 has the skill")
            self.assertEqual(ran("n2"), 2)
            self.rig.bus.start()
            self.rig.nodes["n2"].start()

        with self.subTest("a skill that is withdrawn is gone"):
            sign(3, "--withdraw")
            for node in ("n1", "n2"):
                eventually(lambda node=node: listed(node) == [], f"{node} has no such skill")


if __name__ == "__main__":
    unittest.main()
