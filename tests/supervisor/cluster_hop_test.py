"""What passes between the client of one node and the home of its workspace at another: approvals, skills, and the socket
that systemd passes to the home. The home's warder-node is a double (node_double.py).
"""
import contextlib
import json
import os
import pathlib
import socket
import unittest

from approvals_harness import ADD, CAUGHT, RULES, Legacy, Modern
from harness import PATIENCE, Client, Daemon, Policies, Service, body_of
from node_double import Cluster, id_range
from upstream_harness import UpstreamTest

ACCOUNT = f"uid-{os.geteuid()}"


def ids(number):
    return {"id_range": id_range(number)} if id_range(number) else {}


class Hop(UpstreamTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.policies = cls.enterClassContext(Policies(cluster={"home": "cluster"}, calls={"rules": RULES, "otherwise": "allow"}))
        cls.cluster = cls.enterClassContext(Cluster("n1", "n2"))
        node = cls.cluster.nodes
        cls.home = cls.enterClassContext(cls.daemon(policies=cls.policies, **node["n1"].config(**ids(0))))
        cls.away = cls.enterClassContext(cls.daemon(servers={}, policies=cls.policies, **node["n2"].config(**ids(1))))
        for one in node.values():
            assert one.connected.wait(PATIENCE)
        with Client(cls.home.socket) as client:
            cls.await_stubs(cls(), client)

    def test_an_approval_is_asked_at_the_client_of_the_other_node(self):
        arguments = {"code": ADD % 100}
        with Modern(self.away.socket) as client:
            asked = client.ask("execute_code", arguments)["result"]
            self.assertEqual(asked["resultType"], "input_required")
            [question] = asked["inputRequests"].values()
            self.assertIn("rule: calls.large-sums: large sums need a human", question["params"]["message"])
            done = client.again("execute_code", arguments, asked)["result"]
            self.assertEqual((done["resultType"], done["_meta"]["org.warder/node"]), ("complete", "n1"))
            self.assertEqual(body_of(done)["result"], [101, 499500])

    def test_a_refusal_reaches_the_program_at_the_home(self):
        with Legacy(self.away.socket) as client:
            request = client.begin_code(CAUGHT)
            client.decide(client.await_question(), "decline")
            self.assertEqual(client.executed(request)["result"][:2], ["denied", "calls.large-sums"])

    def test_a_client_that_cannot_be_asked_approves_nothing(self):
        with Client(self.away.socket) as client:
            self.assertEqual(client.execute(CAUGHT)["result"][:2], ["denied", "calls.large-sums"])

    def test_skills_are_those_of_the_home(self):
        with Client(self.away.socket) as away, Client(self.home.socket) as home:
            saved = body_of(away.call("save_skill", {"name": "twice", "code": "def twice(n): return 2 * n\n", "description": "Two times"}))
            self.assertEqual(saved["version"], 1)
            for client in (away, home):
                self.assertEqual(client.execute("from skills.twice import twice\nresult = twice(21)")["result"], 42)
                listed = [one["uri"] for one in client.request("resources/list")["resources"]]
                self.assertIn("skill://twice", " ".join(listed))
        self.assertTrue((self.home.state / "tenants" / ACCOUNT / "skills").exists())
        self.assertFalse((self.away.state / "tenants" / ACCOUNT / "skills/twice").exists())


class Passed(unittest.TestCase):
    def test_the_socket_for_other_nodes_comes_from_systemd(self):
        with contextlib.ExitStack() as ends:
            policies = ends.enter_context(Policies(cluster={"home": "cluster"}))
            cluster = ends.enter_context(Cluster("n1", "n2"))
            folder = cluster.folder
            configurations = {}
            for number, (name, node) in enumerate(cluster.nodes.items()):
                configurations[name] = folder / f"{name}.json"
                configuration = node.config(**ids(number))
                if name == "n1":
                    del configuration["cluster"]["listen"]
                configurations[name].write_text(json.dumps(configuration))
            home = Service(policies=policies, arguments=("--config", configurations["n1"]), environment={"LISTEN_FDNAMES": "mcp:node"})
            for path in (home.socket, cluster.nodes["n1"].warderd):
                one = ends.enter_context(socket.socket(socket.AF_UNIX))
                one.bind(str(path))
                pathlib.Path(path).chmod(0o666)
                one.listen(16)
                home.sockets = (*home.sockets, one)
            ends.enter_context(home)
            away = ends.enter_context(Daemon(policies=policies, arguments=("--config", configurations["n2"])))
            for node in cluster.nodes.values():
                self.assertTrue(node.connected.wait(PATIENCE))
            with Client(away.socket) as client:
                result = client.request("tools/call", name="execute_code", arguments={"code": "result = 42"})
            self.assertEqual((body_of(result)["result"], result["_meta"]["org.warder/node"]), (42, "n1"))


if __name__ == "__main__":
    unittest.main()
