"""Three warderd, three warder-node and a real nats-server: work goes to its home over the bus, while processes are killed
and stopped. Each program writes its number into a file of the shared workspace. The judge is this file at the home, not
the answers: no number twice, none that was told not to have run, all that were told done.
"""
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time
import unittest

from cluster_rig import NATS_SERVER, Rig
from harness import Client, Policies, body_of, eventually

ACCOUNT = f"uid-{os.geteuid()}"
if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: nodes of a cluster, because nats-server is missing: apt-get install nats-server ***\n")


class Agent(threading.Thread):
    """Calls a node's daemon without a pause; connects again when the daemon has gone."""

    def __init__(self, rig, node, first):
        super().__init__(daemon=True)
        self.rig, self.node, self.next = rig, node, first
        self.told = {}  # number -> "done", "not run", "may have run"
        self.slowest_failure = 0
        self.is_over = False

    def run(self):
        client = None
        while not self.is_over:
            number, self.next = self.next, self.next + 1
            begun = time.monotonic()
            try:
                client = client or Client(self.rig.daemons[self.node].socket, timeout=60)
                body = body_of(client.call("execute_code", {"code": f"open('runs', 'a').write('{number}\\n')"}))
            except (OSError, EOFError, RuntimeError, ValueError):  # the agent's own daemon has gone
                self.told[number] = "may have run"
                client = None
                time.sleep(0.1)
                continue
            if body["success"]:
                self.told[number] = "done"
            else:
                self.told[number] = "may have run" if body.get("may_have_run", True) else "not run"
                self.slowest_failure = max(self.slowest_failure, time.monotonic() - begun)
                time.sleep(0.05)
        if client:
            client.close()


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class Nodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(Policies(cluster={"home": "cluster"}, workspaces=["team-*"],
                                                      pool={"min_idle": 1, "max_idle": 2}))
        cls.rig = cls.enterClassContext(Rig(cls.policies, "n1", "n2", "n3"))
        with Client(cls.rig.daemons["n1"].socket) as client:
            result = client.request("tools/call", name="execute_code", arguments={"code": "pass"})
            cls.home = result["_meta"].get("org.warder/node", "n1")
        cls.others = [name for name in cls.rig.names if name != cls.home]

    def workspace(self, node):
        return self.rig.daemons[node].state / "tenants" / ACCOUNT / "workspace"

    def runs(self):
        file = self.workspace(self.home) / "runs"
        return file.read_text().split() if file.exists() else []

    def test_a_session_and_files_are_one_on_all_nodes(self):
        with Client(self.rig.daemons[self.others[0]].socket) as one, Client(self.rig.daemons[self.others[1]].socket) as two:
            one.execute("x = 41", session="shared")
            self.assertEqual(two.execute("result = x + 1", session="shared")["result"], 42)
            one.write_file("large", "y" * (3 << 20))
            [contents] = two.request("resources/read", uri="workspace:///large")["contents"]
            self.assertEqual(contents["text"], "y" * (3 << 20))
        self.assertFalse(self.workspace(self.others[0]).joinpath("large").exists())

    def test_workspaces_spread_over_the_nodes(self):
        homes = set()
        with Client(self.rig.daemons["n1"].socket) as client:
            for number in range(24):
                result = client.request("tools/call", name="execute_code", arguments={"code": "pass"},
                                        _meta={"org.warder/workspace": f"team-{number}"})
                homes.add(result["_meta"].get("org.warder/node", "n1"))
        self.assertEqual(homes, {"n1", "n2", "n3"})

    def test_a_cancelled_program_ends_at_the_home(self):
        with Client(self.rig.daemons[self.others[0]].socket) as client:
            code = "import time\nwhile True:\n  open('beat', 'w').write(str(time.time_ns())); print('running', flush=True); time.sleep(0.05)"
            client.cancel(client.begin_running(code, timeout_seconds=300))
            beat = self.workspace(self.home) / "beat"
            eventually(lambda: beat.read_text() == (time.sleep(0.4), beat.read_text())[1], "the program has ended")

    def after_fault(self, fault, seconds=3.0):
        """Two agents work at each node while `fault` happens. Returns what each was told."""
        with Client(self.rig.daemons[self.home].socket) as client:
            client.execute("import os\nif os.path.exists('runs'): os.remove('runs')")
        agents = [Agent(self.rig, node, 1_000_000 * number) for number, node in enumerate(self.rig.names * 2)]
        for agent in agents:
            agent.start()
        time.sleep(0.5)
        fault()
        time.sleep(seconds)
        for agent in agents:
            agent.is_over = True
        for agent in agents:
            agent.join(60)
            self.assertFalse(agent.is_alive(), "a call has no answer")
        time.sleep(0.5)  # what was told to have ended must not begin later
        runs = self.runs()
        told = {number: what for agent in agents for number, what in agent.told.items()}
        self.assertEqual(sorted({run for run in runs if runs.count(run) > 1}), [], "started twice")
        done = {str(number) for number, what in told.items() if what == "done"}
        not_run = {str(number) for number, what in told.items() if what == "not run"}
        self.assertEqual(sorted(done - set(runs)), [], "told done, and not kept")
        self.assertEqual(sorted(not_run & set(runs)), [], "told not run, and ran")
        self.assertGreater(len(done), 20)
        works = {node: sum(agent.told[n] == "done" for agent in agents if agent.node == node for n in list(agent.told)[-3:])
                 for node in self.rig.names}
        for node in self.rig.names:
            self.assertGreater(works[node], 0, f"{node} works again: {works}")
        return told

    def test_without_a_fault_all_is_done(self):
        told = self.after_fault(lambda: None, 1.5)
        self.assertEqual(set(told.values()), {"done"})

    def test_the_home_is_killed_and_starts_again(self):
        def fault():
            self.rig.daemons[self.home].kill()
            self.rig.daemons[self.home].start()
        self.after_fault(fault, 4)

    def test_a_node_process_is_killed_and_starts_again(self):
        def fault():
            self.rig.nodes[self.home].stop(signal.SIGKILL)
            self.rig.nodes[self.home].start()
        self.after_fault(fault, 12)  # orders of before the start of a node are refused for some seconds

    def test_a_node_process_stops_for_four_seconds(self):
        def fault():
            self.rig.nodes[self.others[0]].send(signal.SIGSTOP)
            time.sleep(4)
            self.rig.nodes[self.others[0]].send(signal.SIGCONT)
        self.after_fault(fault)

    def test_the_home_stops_for_four_seconds(self):
        def fault():
            self.rig.daemons[self.home].process.send_signal(signal.SIGSTOP)
            time.sleep(4)
            self.rig.daemons[self.home].process.send_signal(signal.SIGCONT)
        self.after_fault(fault)

    def test_nats_is_killed_and_starts_again(self):
        def fault():
            self.rig.bus.stop(signal.SIGKILL)
            time.sleep(0.7)
            self.rig.bus.start()
        self.after_fault(fault, 8)

    def test_nats_stops_for_four_seconds(self):
        def fault():
            self.rig.bus.send(signal.SIGSTOP)
            time.sleep(4)
            self.rig.bus.send(signal.SIGCONT)
        self.after_fault(fault, 8)


if __name__ == "__main__":
    unittest.main()
