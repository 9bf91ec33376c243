"""Stateless executions: with `cluster.spread` they run on a node with free slots, and have no files, no session and no
workflow. A node that is full refuses, and the next one is asked; without warder-node they run at the agent's own node.
"""
import contextlib
import signal
import sys
import unittest

from cluster_rig import NATS_SERVER, Rig
from harness import Client, Daemon, Policies, body_of

PLACE = {"org.warder/place": "any"}
if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: stateless executions on nodes, because nats-server is missing: apt-get install nats-server ***\n")


def run(client, code, meta=PLACE, **arguments):
    """The answer, and the node that gave it; None: the client's own."""
    result = client.request("tools/call", name="execute_code", arguments={"code": code, **arguments}, _meta=meta)
    return body_of(result), result.get("_meta", {}).get("org.warder/node")


class OneDaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        policies = cls.enterClassContext(Policies(cluster={"home": "cluster", "spread": "stateless"}, workspaces=["*"],
                                                  workflows={"max": 5, "steps": 10, "bytes": 65536, "keep_seconds": 600}))
        cls.daemon = cls.enterClassContext(Daemon(policies=policies))
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def test_nothing_is_there_and_nothing_stays(self):
        self.client.write_file("secret", "42")
        answer, node = run(self.client, "import os\nresult = os.listdir('/workspace')")
        self.assertEqual((answer["result"], node), ([], None))
        answer, _ = run(self.client, "open('left', 'w').write('1')")
        self.assertIn("Read-only file system", answer["error"])
        answer, _ = run(self.client, "result = sum(numbers)", context_vars={"numbers": [1, 2, 3]})
        self.assertEqual(answer["result"], 6)
        answer, _ = run(self.client, "import warder\nresult = warder.workflow('one').step('a', lambda: 1)")
        self.assertFalse(answer["success"], answer)
        answer, _ = run(self.client, "result = item * 2", fork=[1, 2])
        self.assertTrue(answer["success"], answer)

    def test_what_keeps_something_is_refused(self):
        for name, value in (("session", "s"), ("background", True), ("workspace", "staged")):
            answer, _ = run(self.client, "1", **{name: value})
            self.assertIn(f"{name}: a stateless execution has none", answer["error"])
        answer, _ = run(self.client, "1", {**PLACE, "org.warder/workspace": "team"})
        self.assertIn("a stateless execution has no workspace", answer["error"])
        answer, _ = run(self.client, "1", {"org.warder/place": "moon"})
        self.assertIn('neither "home" nor "any"', answer["error"])
        answer, _ = run(self.client, "1", {**PLACE, "org.warder/executionId": "id-of-the-client-1"})
        self.assertIn("no id of its client", answer["error"])
        answer, _ = run(self.client, "1", {"org.warder/workspace": "stateless"})
        self.assertIn("allows no workspace named", answer["error"])
        answer, _ = run(self.client, "result = 1", {"org.warder/place": "home"})
        self.assertEqual(answer["result"], 1)

    def test_a_policy_without_spread_refuses(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            answer, _ = run(client, "1")
            self.assertIn("allows no stateless executions", answer["error"])


class SmallNodes(Rig):
    """Each takes two executions at the same time, and refuses the third that waits."""

    def make_files(self):
        super().make_files()
        for name in self.names:
            self.change(self.folder / name / "node.json", slots=2)


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class Nodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(Policies(cluster={"home": "cluster", "spread": "stateless"},
                                                      admission={"concurrent_executions": 64, "connections": 64}))
        cls.rig = cls.enterClassContext(SmallNodes(cls.policies, "n1", "n2"))

    def side_by_side(self, count, seconds, code="", meta=PLACE):
        """The nodes of so many calls at n1: each is sent when the one before it runs, and runs for so long, or waits."""
        code = f"import time\n{code}\nprint('running', flush=True); time.sleep({seconds})"
        with contextlib.ExitStack() as stack:
            calls = []
            for _ in range(count):
                client = stack.enter_context(Client(self.rig.daemons["n1"].socket))
                request = client.begin("tools/call", "token", name="execute_code", arguments={"code": code, "timeout_seconds": 60},
                                       _meta=meta)
                client.await_progress("token", lambda p: p.get("message") == "running")
                calls.append((client, request))
            results = [client.answer(request)["result"] for client, request in calls]
        self.assertEqual([body_of(result) for result in results if not body_of(result)["success"]], [])
        return sorted(result.get("_meta", {}).get("org.warder/node", "n1") for result in results)

    def test_what_is_more_than_a_node_takes_runs_at_the_other(self):
        self.assertEqual(self.side_by_side(1, 1), ["n1"])
        self.assertEqual(self.side_by_side(4, 4), ["n1", "n1", "n2", "n2"])
        self.assertEqual(len(set(self.side_by_side(4, 1, meta={}))), 1)  # not declared: all at the home
        with self.subTest("full nodes refuse, and the others run here"):
            places = self.side_by_side(8, 8)
            self.assertEqual(places.count("n2"), 3)
        with self.subTest("files of the other node are not in reach"):
            with Client(self.rig.daemons["n2"].socket) as there:
                there.write_file("there", "1")
                self.assertIn("there", there.execute("import os\nresult = os.listdir()")["result"])
            places = self.side_by_side(3, 4, "import os\nassert os.listdir('/workspace') == []")
            self.assertIn("n2", places)
        with self.subTest("a node that is stopped may have run it; the next call runs here"), contextlib.ExitStack() as stack:
            for _ in range(2):
                busy = stack.enter_context(Client(self.rig.daemons["n1"].socket))
                busy.begin("tools/call", "token", name="execute_code", _meta=PLACE, arguments={
                    "code": "import time; print('running', flush=True); time.sleep(60)"})
                busy.await_progress("token", lambda p: p.get("message") == "running")
            client = stack.enter_context(Client(self.rig.daemons["n1"].socket))
            self.assertEqual(run(client, "1")[1], "n2")
            self.rig.nodes["n2"].send(signal.SIGSTOP)
            lost, _ = run(client, "result = 1")
            self.assertEqual((lost["success"], lost["node"], lost["may_have_run"]), (False, "n2", True))
            self.assertEqual(run(client, "result = 1")[1], None)
            self.rig.nodes["n2"].send(signal.SIGCONT)
        with self.subTest("without warder-node, all run here"):
            self.rig.nodes["n1"].stop()
            self.assertEqual(self.side_by_side(4, 1), ["n1"] * 4)
            self.rig.nodes["n1"].start()


if __name__ == "__main__":
    unittest.main()
