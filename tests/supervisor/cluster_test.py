"""Three warderd as nodes of a cluster, with doubles of warder-node (node_double.py): a workspace lies on one node, and
requests at any other reach it. What is lost on the way is told, and no program runs twice. The judge is the workspace at
its home, not the answers alone.
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import tempfile
import time
import unittest

from harness import ORDINARY_USER, PATIENCE, Client, Daemon, Policies, as_user, await_still, body_of, eventually, jailed
from node_double import Cluster, id_range

ACCOUNT = f"uid-{os.geteuid()}"


class Nodes(unittest.TestCase):
    POLICY = {"cluster": {"home": "cluster"}}
    LEASE = 3600  # seconds; a lease is never shortened

    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(Policies(workspaces=["team-*"], **cls.POLICY))
        cls.cluster = cls.enterClassContext(Cluster("n1", "n2", "n3"))
        for node in cls.cluster.nodes.values():
            node.lease_s = cls.LEASE
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="warder-test-")))
        cls.folder.chmod(0o755)
        cls.daemons = {}
        for number, (name, node) in enumerate(cls.cluster.nodes.items()):
            config = cls.folder / f"{name}.json"
            ids = {"id_range": id_range(number)} if id_range(number) else {}
            config.write_text(json.dumps(node.config(**ids)))
            cls.daemons[name] = cls.enterClassContext(Daemon(policies=cls.policies, arguments=("--config", config)))
            assert node.connected.wait(PATIENCE)

    def setUp(self):
        self.cluster.homes.clear()
        self.cluster.is_unreachable = self.cluster.is_frozen = False
        for node in self.cluster.nodes.values():
            node.cut()
            eventually(lambda: not node.carried, "the connections of the test before are ended")  # noqa: B023
            node.opened.clear()
            node.tell_lease(self.LEASE, self.LEASE + 1)
            node.tell({"moved": {}})
        self.client = {name: self.enterContext(Client(daemon.socket)) for name, daemon in self.daemons.items()}

    def tearDown(self):
        for node in self.cluster.nodes.values():
            self.assertEqual(node.failures, [])

    def file_at(self, name, file, workspace=None):
        """A file in the workspace as it lies on the disk of a node; None: it is not there."""
        tenant = self.daemons[name].state / "tenants" / ACCOUNT
        path = (tenant / "workspaces" / workspace if workspace else tenant) / "workspace" / file
        return path.read_text() if path.exists() else None

    def answered_by(self, client, code, **more):
        """The node that ran the code; None: the client's own node."""
        result = client.request("tools/call", name="execute_code", arguments={"code": code}, **more)
        self.assertIs(body_of(result)["success"], True, result)
        return result["_meta"].get("org.warder/node")


class Home(Nodes):
    def test_code_runs_and_files_lie_at_the_home_only(self):
        self.assertEqual(self.answered_by(self.client["n2"], "open('a', 'w').write('from n2')"), "n1")
        self.assertIsNone(self.answered_by(self.client["n1"], "assert open('a').read() == 'from n2'"))
        self.assertEqual(self.file_at("n1", "a"), "from n2")
        self.assertIsNone(self.file_at("n2", "a"))
        [contents] = self.client["n3"].request("resources/read", uri="workspace:///a")["contents"]
        self.assertEqual(contents["text"], "from n2")
        self.client["n3"].write_file("b", "from n3")
        listed = [one["uri"] for one in self.client["n2"].request("resources/list")["resources"]]
        self.assertIn("workspace:///b", listed)
        self.assertEqual(self.file_at("n1", "b"), "from n3")

    def test_each_named_workspace_has_a_home_of_its_own(self):
        self.cluster.homes[ACCOUNT, "team-a"] = "n2"
        meta = {"org.warder/workspace": "team-a"}
        self.assertEqual(self.answered_by(self.client["n1"], "open('w', 'w').write('x')", _meta=meta), "n2")
        self.assertEqual(self.file_at("n2", "w", "team-a"), "x")
        self.assertIsNone(self.file_at("n1", "w", "team-a"))

    def test_the_other_node_is_told_for_whom_it_acts(self):
        self.cluster.nodes["n2"].cut()
        eventually(lambda: body_of(self.client["n2"].call("execute_code", {"code": "pass"}))["success"], "another connection")
        acting = self.cluster.nodes["n2"].opened[-1]
        self.assertRegex(acting.pop("policy_hash"), "^[0-9a-f]{64}$")
        self.assertEqual(acting, {"node": "n2", "principal": f"uid:{os.geteuid()}", "account": ACCOUNT, "policy": "default"})

    def test_progress_comes_and_a_cancelled_program_ends(self):
        request = self.client["n2"].begin_running("import time; open('began', 'w').close(); print('running', flush=True); time.sleep(300)")
        self.client["n2"].cancel(request)
        self.assertEqual(self.client["n2"].execute("result = 1")["result"], 1)
        self.assertEqual(self.file_at("n1", "began"), "")
        eventually(lambda: not [name for name in jailed(self.daemons["n1"]).values() if "python" in name], "the program has ended")

    def test_legacy_clients_are_served_too(self):
        client = self.client["n3"]
        client.send({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
        while client.receive().get("id") != "i":
            pass
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.send({"jsonrpc": "2.0", "id": "c", "method": "tools/call",
                     "params": {"name": "execute_code", "arguments": {"code": "result = 41 + 1"}}})
        while (message := client.receive()).get("id") != "c":
            pass
        self.assertEqual(body_of(message["result"])["result"], 42)
        self.assertNotIn("resultType", message["result"])

    def test_an_answer_of_megabytes_is_whole(self):
        self.client["n1"].execute("open('big', 'w').write('x' * (3 << 20))")
        [contents] = self.client["n2"].request("resources/read", uri="workspace:///big")["contents"]
        self.assertEqual(contents["text"], "x" * (3 << 20))
        self.client["n2"].write_file("sent", "y" * (3 << 20))
        self.assertEqual(self.file_at("n1", "sent"), "y" * (3 << 20))

    def test_mistakes_are_told_as_at_home(self):
        refused = self.client["n2"].call("read_workspace_file", {"filename": "../x"})
        self.assertIs(refused["isError"], True)
        with self.assertRaisesRegex(RuntimeError, "-32602"):
            self.client["n2"].request("resources/read", uri="workspace:///none")
        with self.assertRaisesRegex(RuntimeError, "-32602.*Unknown tool"):
            self.client["n2"].call("no_such_tool", {})

    def test_a_moved_workspace_is_served_at_its_new_home(self):
        self.assertEqual(self.answered_by(self.client["n3"], "pass"), "n1")
        self.cluster.move(ACCOUNT, "", "n2")
        self.assertEqual(self.answered_by(self.client["n3"], "pass"), "n2")

    def test_a_node_that_was_not_told_of_a_move_asks_for_the_home_again(self):
        self.cluster.homes[ACCOUNT, ""] = "n2"
        self.answered_by(self.client["n3"], "pass")
        self.cluster.homes[ACCOUNT, ""] = "n1"
        self.cluster.nodes["n2"].tell({"moved": {}})  # n3 is not told
        eventually(lambda: self.answered_by(self.client["n2"], "pass") == "n1", "n2 knows")
        self.assertEqual(self.answered_by(self.client["n3"], "open('moved', 'w').write('1')"), "n1")
        self.assertIsNone(self.file_at("n2", "moved"))
        self.assertEqual(self.file_at("n1", "moved"), "1")


class Faults(Nodes):
    def failure(self, client, code, **more):
        body = body_of(client.request("tools/call", name="execute_code", arguments={"code": code}, **more))
        self.assertIs(body["success"], False, body)
        return body

    def test_a_node_that_is_not_reached_runs_nothing(self):
        self.cluster.is_unreachable = True
        failed = self.failure(self.client["n2"], "open('never', 'w')")
        self.assertEqual((failed["code"], failed["node"], failed["may_have_run"]), ("unavailable", "n1", False))
        self.assertTrue(failed["remedy"])
        self.assertIsNone(self.file_at("n1", "never"))
        with self.assertRaisesRegex(RuntimeError, "'may_have_run': False"):
            self.client["n2"].request("resources/list")

    def test_a_home_that_nobody_knows(self):
        self.cluster.homes[ACCOUNT, ""] = None
        failed = self.failure(self.client["n2"], "pass")
        self.assertIn("no node of the cluster answers", failed["error"])
        self.assertIs(failed["may_have_run"], False)

    def test_a_connection_that_is_cut_ends_the_program_and_says_so(self):
        code = "import time; n = open('starts', 'a').write('x'); print('running', flush=True); time.sleep(300)"
        request = self.client["n2"].begin_running(code)
        self.cluster.nodes["n2"].cut()
        failed = self.client["n2"].executed(request)
        self.assertIs(failed["success"], False)
        self.assertIs(failed["may_have_run"], True)
        self.assertIn("connection", failed["error"])
        self.assertEqual(failed["code"], "unavailable")
        self.assertIn("new id", failed["remedy"])
        self.assertEqual(self.file_at("n1", "starts"), "x")  # asked again with its id, and not started again

    def test_an_answer_that_is_lost_is_fetched_with_the_id(self):
        gate = self.daemons["n1"].state / "tenants" / ACCOUNT / "workspace" / "gate"
        code = ("import os, time\nopen('once', 'a').write('x'); print('running', flush=True)\n"
                "while not os.path.exists('gate'): time.sleep(0.01)\nresult = 'kept'")
        request = self.client["n2"].begin_running(code, timeout_seconds=60)
        home, double = self.client["n1"], self.cluster.nodes["n2"]
        self.cluster.is_frozen = True  # the answer does not come back
        eventually(double.stands_still, "the double carries no more bytes")
        home.write_file("gate", "")
        self.assertTrue(gate.exists())
        eventually(lambda: double.has_waiting(b"kept"), "the answer waits at the double")
        self.cluster.is_frozen = False
        done = self.client["n2"].executed(request)
        self.assertEqual(done["result"], "kept")
        self.assertEqual(self.file_at("n1", "once"), "x")
        home.call("delete_workspace_file", {"filename": "gate"})

    def test_a_silent_connection_is_given_up_and_told_in_time(self):
        request = self.client["n2"].begin_running("import time; print('running', flush=True); time.sleep(300)")
        self.cluster.is_frozen = True
        self.cluster.is_unreachable = True
        begun = time.monotonic()
        failed = self.client["n2"].executed(request)
        self.assertLess(time.monotonic() - begun, 20)  # 2.5 s where nothing else runs: tests/bench
        self.assertIs(failed["may_have_run"], True)
        self.assertEqual(failed["node"], "n1")
        self.assertTrue(failed["remedy"])

    def test_a_pause_of_either_side_is_no_silence(self):
        """The other node is busy for more than a second; then this daemon is stopped for longer than a node may be silent."""
        def stop():
            daemon = self.daemons["n2"].process
            daemon.send_signal(signal.SIGSTOP)
            time.sleep(2.6)  # the length of the pause: 2.5 s without a byte count as silence
            daemon.send_signal(signal.SIGCONT)

        def freeze():
            self.cluster.is_frozen = True
            time.sleep(1.3)  # the length of the pause: a sign of life comes each second
            self.cluster.is_frozen = False
        code = ("import os, time; print('running', flush=True)\nwhile not os.path.exists('pauses'): time.sleep(0.01)\n"
                "result = 'one connection'")
        request = self.client["n2"].begin_running(code, timeout_seconds=60)
        node = self.cluster.nodes["n2"]
        before = len(node.opened)
        for pause in (freeze, stop):
            pause()
            came = node.came
            eventually(lambda before=came: node.came >= before + 2, "two signs of life after the pause")
        self.client["n1"].write_file("pauses", "")
        self.assertEqual(self.client["n2"].executed(request)["result"], "one connection")
        self.assertEqual(len(node.opened), before)

    def test_a_write_is_not_sent_twice(self):
        self.client["n2"].execute("pass")
        before = len(self.cluster.nodes["n2"].opened)
        self.cluster.is_frozen = True
        double = self.cluster.nodes["n2"]
        eventually(double.stands_still, "the double carries no more bytes")
        request = self.client["n2"].begin("tools/call", name="write_workspace_file", arguments={"filename": "w", "content": "x"})
        eventually(lambda: double.has_waiting(b"write_workspace_file"), "the order waits at the double")
        double.cut()
        failed = json.loads(self.client["n2"].answer(request)["result"]["content"][0]["text"])
        self.assertIs(failed["may_have_run"], True)
        self.assertEqual(len(self.cluster.nodes["n2"].opened), before)

    def test_the_end_of_the_home_is_told(self):
        request = self.client["n2"].begin_running("import time; print('running', flush=True); time.sleep(300)")
        self.daemons["n1"].kill()
        failed = self.client["n2"].executed(request)
        self.assertIs(failed["may_have_run"], True)
        self.daemons["n1"].start()
        self.assertTrue(self.cluster.nodes["n1"].connected.wait(PATIENCE))
        eventually(lambda: body_of(self.client["n2"].call("execute_code", {"code": "pass"}))["success"], "the home is back")


BEAT = """import time
while True:
  open('beat', 'w').write(str(time.monotonic_ns())); print('running', flush=True); time.sleep(0.05)
"""


class Lease(Nodes):
    POLICY = {"cluster": {"home": "cluster"}, "admission": {"concurrent_executions": 2}}
    LEASE = 3

    def setUp(self):
        """A lease is never shortened, so each test has a daemon of its own as home."""
        node = self.cluster.nodes["n1"]
        node.lease_s = self.LEASE
        node.connected.clear()
        self.daemons["n1"].kill()
        self.daemons["n1"].start()
        self.assertTrue(node.connected.wait(PATIENCE))
        super().setUp()

    def test_without_a_lease_nothing_starts_and_what_runs_is_ended(self):
        home, node = self.client["n1"], self.cluster.nodes["n1"]
        node.tell_lease(self.LEASE, self.LEASE + 4)  # programs may go on for four more seconds
        request = home.begin_running(BEAT, timeout_seconds=300)
        fenced = "pass"
        for client in (self.client["n2"], home):
            eventually(lambda: body_of(client.call("execute_code", {"code": fenced})).get("code") == "fenced", "the lease is over")  # noqa: B023
            fenced = "open('late', 'w')"
            body = body_of(client.call("execute_code", {"code": fenced}))
            self.assertEqual((body["success"], body["code"], body["may_have_run"]), (False, "fenced", False))
        self.assertIsNone(self.file_at("n1", "late"))
        with self.assertRaises((EOFError, OSError)):
            home.answer(request)  # the connection is ended with the program
        self.await_still("beat")
        node.tell_lease(3600, 3601)
        with Client(self.daemons["n1"].socket) as again:
            eventually(lambda: body_of(again.call("execute_code", {"code": "pass"}))["success"], "the lease is back")

    def await_still(self, *files):
        for file in files:
            await_still(lambda: self.file_at("n1", file), 0.3, f"{file} has ended")  # noqa: B023  six beats

    def test_what_runs_without_a_client_is_ended_too(self):
        home, node = self.client["n1"], self.cluster.nodes["n1"]
        node.tell_lease(self.LEASE, self.LEASE + 1)
        begun = body_of(home.call("execute_code", {"code": BEAT.replace("beat", "in-background"), "background": True,
                                                   "timeout_seconds": 300}))
        self.assertIn("execution_id", begun)
        home.execute("import threading\ndef beat():\n" + "".join(f"  {line}\n" for line in BEAT.replace("beat", "in-session").splitlines())
                     + "threading.Thread(target=beat, daemon=True).start()", session="left")
        for file in ("in-background", "in-session"):
            eventually(lambda: self.file_at("n1", file), f"{file} runs")  # noqa: B023
        with self.assertRaises((EOFError, OSError)):
            while True:
                home.take()
        self.await_still("in-background", "in-session")
        node.tell_lease(3600, 3601)
        with Client(self.daemons["n1"].socket) as again:
            eventually(lambda: "lost its lease" in str(again.call("execute_code", {"code": "pass", "session": "left"})), "told")
            result = json.loads(again.request("resources/read", uri=f"exec:///{begun['execution_id']}/result")["contents"][0]["text"])
            self.assertIs(result["success"], False)

    def test_what_waits_for_its_place_does_not_start_later(self):
        home, node = self.client["n1"], self.cluster.nodes["n1"]
        node.tell_lease(self.LEASE, self.LEASE + 300)
        running = [home.begin_running(f"import os, time\nprint('running', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)",
                                      timeout_seconds=300) for _ in range(2)]
        waiting = home.begin_execute("open('waited', 'w')")
        self.assertIn("did not run", json.dumps(home.answer(waiting)))
        (self.daemons["n1"].state / "tenants" / ACCOUNT / "workspace/go").touch()
        for request in running:
            self.assertIs(home.executed(request)["success"], True)
        self.assertIsNone(self.file_at("n1", "waited"))
        (self.daemons["n1"].state / "tenants" / ACCOUNT / "workspace/go").unlink()

    def test_a_restart_of_the_node_process_keeps_local_work_going_while_the_lease_lasts(self):
        node = self.cluster.nodes["n1"]
        self.assertIsNone(self.answered_by(self.client["n1"], "pass"))
        node.connected.clear()
        node.lease_s = -3600  # the new warder-node has no lease yet
        node.control.shutdown(2)
        self.assertIsNone(self.answered_by(self.client["n1"], "pass"))
        self.assertTrue(node.connected.wait(PATIENCE))
        self.assertIsNone(self.answered_by(self.client["n1"], "pass"))


class Resumed(Nodes):
    POLICY = {"cluster": {"home": "cluster"}, "workflows": {"resume": 3}}
    CODE = """
import os, time, warder
warder.workflow("long").step("first", lambda: 1)
with open("log", "a") as f: f.write("begun\\n")
while not os.path.exists("go"): time.sleep(0.01)
"""

    def interrupt(self, lease_s, home="n1"):
        node, daemon = self.cluster.nodes["n1"], self.daemons["n1"]
        self.client["n1"].call("execute_code", {"code": self.CODE, "background": True, "timeout_seconds": 120})
        eventually(lambda: self.file_at("n1", "log"), "the program runs")
        daemon.kill()
        node.connected.clear()
        node.lease_s, node.finds = lease_s, 0
        self.cluster.homes[ACCOUNT, ""] = home
        daemon.start()
        self.assertTrue(node.connected.wait(PATIENCE))
        return node

    def tearDown(self):
        self.cluster.nodes["n1"].lease_s = self.LEASE
        self.cluster.homes.clear()
        workspace = self.daemons["n1"].state / "tenants" / ACCOUNT / "workspace"
        (workspace / "go").touch()
        with Client(self.daemons["n1"].socket) as client:
            eventually(lambda: not [one for one in jailed(self.daemons["n1"]).values() if "python" in one], "nothing runs")
            client.close()
        for file in ("go", "log"):
            (workspace / file).unlink()
        super().tearDown()

    def test_a_resumed_run_waits_for_the_lease_of_its_home(self):
        node = self.interrupt(lease_s=-3600)
        for count in (1, 2, 3):
            eventually(lambda: node.finds >= count, "the daemon asks again and again")  # noqa: B023
            node.tell({"moved": {}})
        self.assertEqual(self.file_at("n1", "log"), "begun\n")
        node.tell_lease(3600, 3601)
        eventually(lambda: self.file_at("n1", "log") == "begun\nbegun\n", "it goes on")

    def test_a_resumed_run_of_a_workspace_that_has_moved_is_not_started(self):
        self.interrupt(lease_s=3600, home="n2")
        eventually(lambda: "is not started again: the workspace is at node n2 now" in self.daemons["n1"].log_text(), "it is refused")
        self.assertEqual(self.file_at("n1", "log"), "begun\n")


class Local(Nodes):
    POLICY = {"cluster": {"home": "local"}}
    LEASE = 0

    def test_local_homes_need_no_cluster(self):
        self.cluster.is_unreachable = True
        for name, client in self.client.items():
            client.write_file("mine", name)
            self.assertIsNone(self.answered_by(client, "pass"))
            self.assertEqual(self.file_at(name, "mine"), name)
        self.assertEqual([node.opened for node in self.cluster.nodes.values()], [[], [], []])


class Hostile(Nodes):
    def test_what_is_no_order_is_dropped(self):
        path = str(self.cluster.nodes["n1"].warderd)
        good = {"node": "n2", "principal": "uid:0", "account": ACCOUNT, "policy": "default", "policy_hash": "0" * 64}
        for line in (b"", b"x\n", b"{}\n", b'{"act": 1}\n', b'{"open": {}}\n', b"x" * 20000 + b"\n",
                     *(json.dumps({"act": {**good, key: value}}).encode() + b"\n" for key, value in (
                         ("node", "N2"), ("node", "../n2"), ("account", "../x"), ("account", ""), ("policy", "a/b"),
                         ("principal", ""), ("principal", "x" * 5000), ("more", 1), ("node", None)))):
            with self.subTest(line=line[:80]), socket.socket(socket.AF_UNIX) as one:
                one.settimeout(20)
                one.connect(path)
                one.sendall(line)
                if not line:
                    one.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(one.recv(100), b"")

    def test_another_policy_is_refused(self):
        for policy, why in (("none-such", "no policy 'none-such'"), ("default", "policy 'default' of this node differs")):
            with self.subTest(policy), socket.socket(socket.AF_UNIX) as one:
                one.settimeout(20)
                one.connect(str(self.cluster.nodes["n1"].warderd))
                order = {"act": {"node": "n2", "principal": "uid:0", "account": "other", "policy": policy,
                                 "policy_hash": "0" * 64}}
                one.sendall(json.dumps(order).encode() + b'\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                with one.makefile("rb") as lines:
                    self.assertEqual(lines.readline(), b'{"serving":{}}\n')
                    self.assertIn(why, lines.readline().decode())
        self.assertFalse((self.daemons["n1"].state / "tenants/other").exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root can be two users")
    def test_other_users_may_not_bring_orders(self):
        def attempt():
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(str(self.cluster.nodes["n1"].warderd))
        with self.assertRaises(PermissionError):
            as_user(ORDINARY_USER, attempt)


del Nodes

if __name__ == "__main__":
    unittest.main()
