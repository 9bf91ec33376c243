"""Three warderd, three warder-node and a real nats-server: work goes to its home over the bus, while processes are killed
and stopped. Each program writes its number into a file of the shared workspace. The judge is this file at the home, not
the answers: no number twice, none that was told not to have run, all that were told done.
"""
import os
import signal
import sys
import time
import unittest

from cluster_agents import DONE, Work
from cluster_rig import NATS_SERVER, Rig
from harness import Client, Policies, await_still, eventually

# The length of a fault: longer than the 2.5 s after which a node that is silent counts as lost.
STOPPED_S = 4
ACCOUNT = f"uid-{os.geteuid()}"
if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: nodes of a cluster, because nats-server is missing: apt-get install nats-server ***\n")


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

    def reached(self, action):
        """What a client does where a busy machine lets the other node be silent for 2.5 s: it sends the request again."""
        told = []

        def answer():
            try:
                result = action()
            except RuntimeError as refused:  # an error of JSON-RPC
                result = refused.args[0].get("data", {})
                if result.get("code") != "unavailable":
                    raise
            body = result.get("structuredContent", result)
            told.append(body)
            return None if body.get("code") == "unavailable" else result
        try:
            return eventually(answer, "another node answers", after=120)
        except AssertionError:
            raise AssertionError(f"another node did not answer: {told[-3:]}") from None

    def test_a_session_and_files_are_one_on_all_nodes(self):
        with Client(self.rig.daemons[self.others[0]].socket) as one, Client(self.rig.daemons[self.others[1]].socket) as two:
            self.reached(lambda: one.execute("x = 41", session="shared"))
            self.assertEqual(self.reached(lambda: two.execute("result = x + 1", session="shared"))["result"], 42)
            large = {"filename": "large", "content": "y" * (3 << 20)}
            written = self.reached(lambda: one.call("write_workspace_file", large))
            self.assertFalse(written.get("isError"), written)
            [contents] = self.reached(lambda: two.request("resources/read", uri="workspace:///large"))["contents"]
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
            await_still(beat.read_text, 0.4, "the program has ended")  # eight of its beats

    def after_fault(self, fault):
        """Two agents work at each node while `fault` happens, and until each works again. Returns what each was told."""
        work = Work(self.rig, self.home)
        work.begin()
        work.await_answers(4)
        fault()
        work.await_answers(4)
        work.end()
        self.assertEqual(work.faults(ACCOUNT), [])
        self.assertEqual(work.works(), set(self.rig.names))
        told = work.told()
        self.assertGreater(sum(what == DONE for what in told.values()), 20)
        return told

    def test_without_a_fault_all_is_done(self):
        told = self.after_fault(lambda: None)
        self.assertEqual(set(told.values()), {DONE})

    def test_the_home_is_killed_and_starts_again(self):
        def fault():
            self.rig.daemons[self.home].kill()
            self.rig.daemons[self.home].start()
        self.after_fault(fault)

    def test_a_node_process_is_killed_and_starts_again(self):
        def fault():
            self.rig.nodes[self.home].stop(signal.SIGKILL)
            self.rig.nodes[self.home].start()
        self.after_fault(fault)  # orders of before the start of a node are refused for some seconds

    def test_a_node_process_stops_for_four_seconds(self):
        def fault():
            self.rig.nodes[self.others[0]].send(signal.SIGSTOP)
            time.sleep(STOPPED_S)
            self.rig.nodes[self.others[0]].send(signal.SIGCONT)
        self.after_fault(fault)

    def test_the_home_stops_for_four_seconds(self):
        def fault():
            self.rig.daemons[self.home].process.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED_S)
            self.rig.daemons[self.home].process.send_signal(signal.SIGCONT)
        self.after_fault(fault)

    def test_nats_is_killed_and_starts_again(self):
        def fault():
            self.rig.bus.stop(signal.SIGKILL)
            time.sleep(0.7)  # the length of the fault: the nodes have tried to connect again and failed
            self.rig.bus.start()
        self.after_fault(fault)

    def test_nats_stops_for_four_seconds(self):
        def fault():
            self.rig.bus.send(signal.SIGSTOP)
            time.sleep(STOPPED_S)
            self.rig.bus.send(signal.SIGCONT)
        self.after_fault(fault)


if __name__ == "__main__":
    unittest.main()
