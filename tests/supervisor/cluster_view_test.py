"""What operators see of a cluster: `warder nodes` and org.warder.Warder1.Cluster. First a warderd with a double of
warder-node, which says what a hostile or broken one would; then real nodes and a real nats-server.
"""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import unittest

import dbus
from bus_harness import CLUSTER, NAME, PATH, Admin, Bus, BusDaemon
from cluster_rig import NATS_SERVER, Rig
from harness import ORDINARY_USER, PATIENCE, ROOT, Client, Policies, eventually
from metrics_test import parse, read_unix
from node_double import Cluster

ACCOUNT = f"uid-{os.geteuid()}"
if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: the view of a cluster, because nats-server is missing: apt-get install nats-server ***\n")


def warder(bus, *words):
    return subprocess.run([os.environ["WARDER"], *words, "--bus", bus.address], capture_output=True, text=True, timeout=60)


def node(name, **more):
    return {"name": name, "state": "alive", "drained": False, "labels": {}, "slots": 16, "used": 0, "waiting": 0, "homes": 0,
            "version": "0.1.0", "boot": "b1", "wire_oldest": 1, "wire_newest": 1, "silent_us": 300_000, **more}


class WithoutCluster(unittest.TestCase):
    def test_the_command_says_that_there_is_none(self):
        bus = self.enterContext(Bus())
        self.enterContext(BusDaemon(bus))
        shown = warder(bus, "nodes")
        self.assertEqual(shown.returncode, 1)
        self.assertIn("in no cluster", shown.stderr)
        self.assertIn("warder cluster init", shown.stderr)
        self.assertEqual(Admin(bus).get("State", interface=CLUSTER), "not in a cluster")


class Answers(unittest.TestCase):
    """The answers of a double."""

    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.cluster = cls.enterClassContext(Cluster("n1"))
        cls.double = cls.cluster.nodes["n1"]
        cls.daemon = BusDaemon(cls.bus, configuration=cls.double.config())
        cls.metrics_socket = cls.daemon.socket.parent / "metrics.sock"
        cls.daemon.arguments += ["--metrics", cls.metrics_socket]
        cls.enterClassContext(cls.daemon)
        assert cls.double.connected.wait(PATIENCE)
        cls.admin = Admin(cls.bus)

    def setUp(self):
        self.double.views.clear()
        self.double.tell_lease(3600, 3601)
        eventually(lambda: self.state() == "member", "the lease is there")

    def tearDown(self):
        self.assertEqual(self.double.failures, [])

    def state(self):
        return str(self.admin.get("State", interface=CLUSTER))

    def answer_nodes(self, *pages):
        """Pages of rows; each page's last name is its `next`, but the last page has none."""
        def answer(question):
            number = 0 if not question["after"] else 1 + [rows[-1]["name"] for rows in pages].index(question["after"])
            more = {"next": pages[number][-1]["name"]} if number + 1 < len(pages) else {}
            return {"nodes": {"id": question["id"], "nodes": pages[number], **more}}
        self.double.views["view"] = answer

    def nodes(self):
        return json.loads(warder(self.bus, "nodes", "--json").stdout)

    def test_pages_become_one_list_for_people_and_programs(self):
        self.answer_nodes([node("n1", state="here", labels={"disk": "nvme"}), node("n2", used=3, waiting=1, homes=7)],
                          [node("n3", state="silent", drained=True, silent_us=61_000_000)],
                          [{key: value for key, value in node("n4", state="silent", boot="", version="").items()
                            if key != "silent_us"}, node("n5", state="drained", drained=True)])
        shown = self.nodes()
        self.assertEqual((shown["State"], shown["Self"]), ("member", "n1"))
        self.assertEqual([one["Name"] for one in shown["Nodes"]], ["n1", "n2", "n3", "n4", "n5"])
        self.assertEqual({key: shown["Nodes"][1][key] for key in ("Used", "Slots", "Waiting", "Homes", "SilentUSec")},
                         {"Used": 3, "Slots": 16, "Waiting": 1, "Homes": 7, "SilentUSec": 300_000})
        self.assertEqual(shown["Nodes"][0]["Labels"], {"disk": "nvme"})
        self.assertNotIn("SilentUSec", shown["Nodes"][3])
        table = [line.split() for line in warder(self.bus, "nodes").stdout.splitlines()]
        self.assertEqual(table[1], ["n1", "here", "disk=nvme", "0/16", "0", "0.1.0", "-"])
        self.assertEqual(table[2], ["n2", "alive", "-", "3/16", "7", "0.1.0", "300ms", "ago"])
        self.assertEqual(table[3], ["n3", "silent,", "drained", "-", "0/16", "0", "0.1.0", "1m01s", "ago"])
        self.assertEqual(table[4], ["n4", "silent", "-", "-", "0", "-", "never"])
        self.assertEqual(table[5][:2], ["n5", "drained"])

    def test_a_limit_gives_the_place_to_go_on(self):
        self.answer_nodes([node("n1"), node("n2"), node("n3")], [node("n4")])
        rows, then = self.admin.call("ListNodes", "su", "", dbus.UInt32(2), interface=CLUSTER)
        self.assertEqual(([str(row["Name"]) for row in rows], then), (["n1", "n2"], "n2"))
        rows, then = self.admin.call("ListNodes", "su", "n3", dbus.UInt32(1), interface=CLUSTER)
        self.assertEqual(([str(row["Name"]) for row in rows], then), (["n4"], ""))

    def test_wrong_rows_are_refused_by_the_name_of_the_member(self):
        for member, value in (("name", "N1"), ("state", "well"), ("labels", {"a": "\x1b[31m"}), ("labels", {"a": "b" * 65}),
                              ("used", -1), ("homes", "many"), ("more", 1), ("silent_us", -5)):
            self.answer_nodes([{**node("n1"), member: value}])
            shown = warder(self.bus, "nodes")
            self.assertIn(shown.returncode, (1, 2), (member, shown))
            self.assertIn(member, shown.stderr)
            self.assertNotIn("\x1b", shown.stderr)

    def test_no_answer_is_an_error_after_three_seconds(self):
        self.double.views["view"] = lambda question: {"moved": {}}
        begun = time.monotonic()
        shown = warder(self.bus, "nodes")
        self.assertNotEqual(shown.returncode, 0)
        self.assertIn("warder-node does not answer", shown.stderr)
        self.assertLess(time.monotonic() - begun, 6)

    def test_fenced_is_told(self):
        self.answer_nodes([node("n1", state="here")])
        self.double.tell({"lease": {"node": "n9", "starts_until_us": 0, "runs_until_us": 0}})
        fenced = self.metrics()["fenced_seconds"]["_total"]
        eventually(lambda: self.state() == "fenced", "the lease is over")
        self.assertEqual(self.metrics()["state"][("fenced",)], 1)
        eventually(lambda: self.metrics()["fenced_seconds"]["_total"] > fenced, "the time is counted")
        shown = warder(self.bus, "nodes")
        self.assertEqual(shown.returncode, 0, shown)
        self.assertIn("n9, is fenced", shown.stderr)

    def metrics(self):
        families = parse(read_unix(self.metrics_socket))
        return {name.removeprefix("warder_cluster_"): {tuple(value for _, value in labels) or suffix: value
                                                       for (suffix, labels), value in samples.items()}
                for name, (_, samples) in families.items() if name.startswith("warder_cluster_")}

    STATES = {"here": 1, "alive": 2, "doubted": 0, "silent": 3, "drained": 0, "removed": 1}
    ORDERS = {"opened": 4, "refused_there": 5, "unreachable": 6, "opened_here": 7, "refused_here": 8}
    NUMBERS = {"nodes": STATES, "homes": 9, "connections": 2, "bus_silent_us": 1_500_000, "orders": ORDERS,
               "refused": {"replayed": 3}, "trust_serial": 4, "trust_trouble": "", "bus": "nats://n1"}

    def test_metrics_say_what_warder_node_counts(self):
        states, orders, numbers = self.STATES, self.ORDERS, self.NUMBERS
        self.double.tell({"numbers": numbers})
        eventually(lambda: self.metrics()["homes"] == {"": 9}, "the numbers are there")
        shown = self.metrics()
        self.assertEqual(shown["nodes"], {(name,): count for name, count in states.items()})
        self.assertEqual(shown["orders"], {(name,): count for name, count in orders.items()})
        self.assertEqual((shown["refused"], shown["connections"]), ({("replayed",): 3}, {"": 2}))
        self.assertEqual(shown["state"], {("none",): 0, ("no_warder_node",): 0, ("fenced",): 0, ("member",): 1})
        self.assertGreaterEqual(shown["bus_silent_seconds"][""], 1.5)
        for member, value in (("homes", -1), ("refused", {"a b": 1}), ("refused", {"a": -1}), ("nodes", {}), ("more", 1),
                              ("orders", {**orders, "more": 1}), ("refused", {f"f{chr(97 + i // 26)}{chr(97 + i % 26)}": 1 for i in range(33)})):
            self.double.tell({"numbers": {**numbers, "homes": 77, member: value}})
        self.double.tell({"numbers": {**numbers, "homes": 10}})
        eventually(lambda: self.metrics()["homes"] == {"": 10}, "wrong numbers are not used")

    def test_the_doctor_names_what_differs_between_nodes(self):
        self.answer_nodes([node("n1", state="here"), node("n2", version="0.2.0"), node("n3"), node("n4", state="silent"),
                           node("n5", state="removed", homes=3, boot="", version="")])
        row = {"name": "team", "hash": "a" * 64, "version": "0.1.0", "user_accounts": 0}
        self.double.looks = {"n2": [row, {"end": {"left_out": 0}}],
                             "n3": [{**row, "hash": "b" * 64, "user_accounts": 1}, {"end": {"left_out": 0}}]}
        self.double.tell({"numbers": {**self.NUMBERS, "homes": 11, "bus_silent_us": 0}})
        eventually(lambda: self.metrics()["homes"] == {"": 11}, "the numbers are there")
        found = {str(what): (str(health), str(text), str(remedy)) for what, health, text, remedy in self.admin.call("RunDoctor")
                 if str(what).startswith("cluster")}
        self.assertEqual(found["cluster"][:2], ("good", "the node n1 of 4 has its lease"))
        self.assertEqual((found["cluster nodes"][0], "not heard: n4" in found["cluster nodes"][1]), ("note", True))
        self.assertEqual(found["cluster policies"][0], "bad")
        self.assertIn("missing, or not shared, on n1", found["cluster policies"][1])
        self.assertIn("0.2.0 on n2", found["cluster versions"][1])
        self.assertIn("team on n3 (1)", found["cluster accounts"][1])
        self.assertIn("n5 (3)", found["cluster homes"][1])
        for health, _, remedy in found.values():
            self.assertEqual(health == "good", not remedy)

    def test_homes_are_filtered_and_paged(self):
        asked = []

        def answer(question):
            asked.append({key: question[key] for key in ("account", "node", "after")})
            rows = [{"key": f"acme.w{i}", "account": "acme", "workspace": f"w{i}", "node": "n2", "epoch": i} for i in (1, 2)]
            rows[1].update(account="not a name", key="_Hff.x")  # what another program wrote
            return {"homes": {"id": question["id"], "homes": [] if question["after"] else rows,
                              "next": "" if question["after"] else "_Hff.x"}}

        self.double.views["list_homes"] = answer
        rows, then = self.admin.call("ListHomes", "a{sv}u", dbus.Dictionary({"Node": "n2", "Tenant": "acme"}, signature="sv"),
                                     dbus.UInt32(0), interface=CLUSTER)
        self.assertEqual([(str(r["Tenant"]), str(r["Workspace"]), str(r["Node"]), int(r["Epoch"])) for r in rows],
                         [("acme", "w1", "n2", 1), ("", "", "n2", 2)])
        self.assertEqual(then, "")
        self.assertEqual(asked, [{"account": "acme", "node": "n2", "after": ""}, {"account": "acme", "node": "n2", "after": "_Hff.x"}])
        with self.assertRaisesRegex(dbus.DBusException, "filter"):
            self.admin.call("ListHomes", "a{sv}u", dbus.Dictionary({"Who": "n2"}, signature="sv"), dbus.UInt32(0), interface=CLUSTER)

    def test_the_load_is_told_on_change_and_not_often(self):
        eventually(lambda: self.double.loads, "the load is told at the start")
        before = len(self.double.loads)
        with Client(self.daemon.socket) as client:
            begun = time.monotonic()
            while time.monotonic() < begun + 1.2:
                client.execute("result = 1")
            client.execute("import time; time.sleep(0.6)")
        eventually(lambda: self.double.loads[-1]["running"] == 0, "no execution runs")
        told = self.double.loads[before:]
        self.assertIn(1, [load["running"] for load in told])
        self.assertLess(len(told), 12)  # some hundred executions in two seconds
        self.assertEqual({load["slots"] for load in told}, {128})


    def look(self, order, ask="executions"):
        """The answer of the daemon to a look of another node: the rows, and the last line."""
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(self.double.warderd))
            asking.settimeout(PATIENCE)
            asking.sendall(json.dumps({"look": order}).encode() + b"\n" + json.dumps({"ask": ask}).encode() + b"\n")
            try:
                *rows, end = [json.loads(line) for line in asking.makefile("rb")] or [None]
            except ConnectionResetError:  # it was ended before all bytes were read
                return [], None
            return rows, end

    def test_another_node_sees_the_accounts_of_its_trust_record_only(self):
        with Client(self.daemon.socket) as client:
            request = client.begin_running("import time\nprint('running', flush=True)\ntime.sleep(60)")
            [row], end = self.look({"node": "n2", "accounts": "all"})
            self.assertEqual((row["tenant"], row["state"], row["language"], row["shared"]), (ACCOUNT, "running", "python", False))
            self.assertEqual(end, {"end": {"left_out": 0}})
            self.assertEqual(len(self.look({"node": "n2", "accounts": ["acme", ACCOUNT]})[0]), 1)
            self.assertEqual(self.look({"node": "n2", "accounts": ["acme"]}), ([], {"end": {"left_out": 0}}))
            self.assertEqual(self.look({"node": "n2", "accounts": []}), ([], {"end": {"left_out": 0}}))
            for wrong in ({"node": "N2", "accounts": "all"}, {"node": "n2"}, {"node": "n2", "accounts": "some"},
                          {"node": "n2", "accounts": [7]}, {"node": "n2", "accounts": "all", "more": 1}):
                self.assertEqual(self.look(wrong), ([], None), wrong)
            self.assertEqual(self.look({"node": "n2", "accounts": "all"}, ask="secrets"), ([], None))
            client.cancel(request)

    def test_one_node_does_not_take_the_looks_of_all(self):
        with contextlib.ExitStack() as stack:
            silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(17)]
            for asking in silent:
                asking.settimeout(PATIENCE)
                asking.connect(str(self.double.warderd))
                asking.sendall(json.dumps({"look": {"node": "n2", "accounts": "all"}}).encode() + b"\n")
            ended = select.select(silent, [], [], PATIENCE)[0]
            self.assertEqual([one.recv(1) for one in ended], [b""])  # one of them, long before the others are too late
            silent.remove(*ended)
            self.assertEqual(self.look({"node": "n3", "accounts": "all"}), ([], {"end": {"left_out": 0}}))
            silent[0].close()  # its place is free again
            eventually(lambda: self.look({"node": "n2", "accounts": "all"})[1], "the node looks again")

    def test_ps_names_the_nodes_that_did_not_answer_or_answered_wrongly(self):
        row = {"id": "e1", "tenant": "acme", "language": "python", "workspace": "direct", "state": "running",
               "policy": "team", "principal": "token:ci", "background": False, "shared": True, "age_us": 5_000_000}
        end = {"end": {"left_out": 3}}
        self.double.looks = {"n2": [row, end], "n3": None, "n4": [row], "n5": [{**row, "tenant": "\x1b[2J"}, end],
                             "n6": [row] * 1001 + [end], "n7": [{**row, "id": "x" * 5000}, end]}
        names = sorted(self.double.looks)
        self.answer_nodes([node("n1", state="here"), *map(node, names)],
                          [node("n8", state="silent"), node("n9", state="removed", homes=1)])
        begun = time.monotonic()
        shown = json.loads(warder(self.bus, "ps", "--cluster", "--json").stdout)
        self.assertLess(time.monotonic() - begun, 1.5)
        self.assertEqual([(one["Node"], one["Id"], one["Tenant"]) for one in shown["Executions"]], [("n2", "e1", "acme")])
        self.assertEqual(shown["Unanswered"], ["n3", "n4", "n5", "n6", "n7", "n8"])
        self.assertEqual(shown["LeftOut"], 3)
        table = warder(self.bus, "ps", "--cluster")  # the same look: it is less than a second old, or another one
        self.assertEqual(table.stdout.splitlines()[1].split()[:4], ["n2", "e1", "acme", "python"])
        self.assertIn("did not answer: n3, n4, n5, n6, n7, n8", table.stderr)
        self.assertIn("3 more executions", table.stderr)
        if ROOT:  # another user has no part in them
            said = self.bus.busctl("--json=short", "call", NAME, PATH, CLUSTER, "ListClusterExecutions", user=ORDINARY_USER)
            self.assertEqual(json.loads(said)["data"], [[], [], 0])


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class RealNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.policies = cls.enterClassContext(Policies(cluster={"home": "cluster"}, workspaces=["team-*"],
                                                      pool={"min_idle": 1, "max_idle": 2}))
        cls.rig = cls.enterClassContext(Rig(cls.policies, "n1", "n2", "n3", bus=cls.bus))
        cls.admin = Admin(cls.bus)

    def nodes(self):
        rows, _ = self.admin.call("ListNodes", "su", "", dbus.UInt32(0), interface=CLUSTER)
        return {str(one["Name"]): one for one in rows}

    def test_the_nodes_are_alive_and_homes_are_counted(self):
        eventually(lambda: {name: one["State"] for name, one in self.nodes().items()} ==
                   {"n1": "here", "n2": "alive", "n3": "alive"}, "all nodes are heard")
        with Client(self.rig.daemons["n2"].socket) as client:
            for number in range(6):
                client.request("tools/call", name="execute_code", arguments={"code": "pass"},
                               _meta={"org.warder/workspace": f"team-{number}"})
        homes, _ = self.admin.call("ListHomes", "a{sv}u", dbus.Dictionary({"Tenant": ACCOUNT}, signature="sv"), dbus.UInt32(0),
                                   interface=CLUSTER)
        named = {str(one["Workspace"]): str(one["Node"]) for one in homes}
        self.assertLessEqual({f"team-{number}" for number in range(6)}, set(named))
        shown = self.nodes()
        self.assertEqual({name: one["Homes"] for name, one in shown.items()},
                         {name: list(named.values()).count(name) for name in ("n1", "n2", "n3")})
        self.assertEqual({one["Slots"] for one in shown.values()}, {16})

    def test_metrics_count_requests_over_the_hop(self):
        path = self.rig.daemons["n1"].socket.parent / "metrics.sock"
        with Client(self.rig.daemons["n1"].socket) as client:
            for number in range(12):
                client.request("tools/call", name="execute_code", arguments={"code": "pass"},
                               _meta={"org.warder/workspace": f"team-hop-{number}"})
        families = parse(read_unix(path))
        sent = families["warder_cluster_requests_sent"][1]
        self.assertGreater(sent["_total", (("outcome", "answered"),)], 0)
        self.assertEqual(sent["_total", (("outcome", "lost"),)], 0)
        self.assertGreater(families["warder_cluster_hop_seconds"][1]["_count", ()], 0)
        eventually(lambda: parse(read_unix(path))["warder_cluster_orders"][1]["_total", (("outcome", "opened"),)] > 0,
                   "warder-node tells its numbers")
        self.assertNotIn(ACCOUNT, "".join(str(samples) for name, (_, samples) in families.items() if "cluster" in name))

    def test_a_running_execution_shows_on_the_other_nodes_within_two_seconds(self):
        with Client(self.rig.daemons["n2"].socket) as client:
            result = client.request("tools/call", name="execute_code", arguments={"code": "pass"})
            home = result["_meta"].get("org.warder/node", "n2")
            eventually(lambda: self.nodes()[home]["Used"] == 0, "nothing runs")
            request = client.begin_running("import time\nprint('running', flush=True)\ntime.sleep(60)", timeout_seconds=90)
            begun = time.monotonic()
            eventually(lambda: self.nodes()[home]["Used"] == 1, "the execution shows")
            self.assertLess(time.monotonic() - begun, 2)
            client.cancel(request)
            eventually(lambda: self.nodes()[home]["Used"] == 0, "it is gone")

    def test_the_doctor_finds_equal_policies_and_accounts_of_users(self):
        with Client(self.rig.daemons["n2"].socket):
            found = {str(what): (str(health), str(text)) for what, health, text, _ in self.admin.call("RunDoctor")
                     if str(what).startswith("cluster")}
        self.assertEqual({what: health for what, (health, _) in found.items()},
                         {"cluster": "good", "cluster nodes": "good", "cluster trust": "good", "cluster policies": "good",
                          "cluster versions": "good", "cluster accounts": "note"})
        self.assertIn("default on n2 (1)", found["cluster accounts"][1])

    def test_the_homes_of_a_removed_tenant_are_forgotten(self):
        def homes():
            rows, _ = self.admin.call("ListHomes", "a{sv}u", dbus.Dictionary({"Tenant": ACCOUNT}, signature="sv"), dbus.UInt32(0),
                                      interface=CLUSTER)
            return {str(row["Workspace"]): str(row["Node"]) for row in rows}

        with Client(self.rig.daemons["n1"].socket) as client:
            for number in range(8):
                client.request("tools/call", name="execute_code", arguments={"code": "open('kept', 'w').write('x')"},
                               _meta={"org.warder/workspace": f"team-removed-{number}"})
        eventually(lambda: "n1" in homes().values() and len(homes()) > 7, "homes are recorded")
        elsewhere = {workspace: home for workspace, home in homes().items() if home != "n1"}
        self.assertTrue(elsewhere)
        removed = warder(self.bus, "tenant", "remove", ACCOUNT, "--yes", "--force")
        self.assertEqual(removed.returncode, 0, removed)
        eventually(lambda: homes() == elsewhere, "the homes here are forgotten, the others stay")
        with Client(self.rig.daemons["n2"].socket) as client:  # a forgotten workspace gets a home again
            again = next(f"team-removed-{n}" for n in range(8) if f"team-removed-{n}" not in elsewhere)
            result = client.request("tools/call", name="execute_code", arguments={"code": "import os; result = os.listdir()"},
                                    _meta={"org.warder/workspace": again})
            body = json.loads(result["content"][0]["text"])
            self.assertIs(body["success"], True, body)
            self.assertNotIn("kept", body["result"])

    def test_ps_shows_executions_of_all_nodes_and_a_stopped_node_delays_nobody(self):
        code = "import time\nprint('running', flush=True)\ntime.sleep(60)"
        with Client(self.rig.daemons["n2"].socket) as client:
            request = client.begin_running(code, timeout_seconds=90)

            def shown():
                return json.loads(warder(self.bus, "ps", "--cluster", "--json").stdout)

            eventually(lambda: [one for one in shown()["Executions"] if one["Tenant"] == ACCOUNT], "it is listed")
            self.assertEqual(shown()["Unanswered"], [])
            [one] = shown()["Executions"]
            self.assertIn(one["Node"], self.rig.names)
            stopped = "n3" if one["Node"] != "n3" else "n2"
            self.rig.nodes[stopped].send(signal.SIGSTOP)
            slowest = []

            def unanswered():  # a look is used for a second: the first ones may be of before
                begun = time.monotonic()
                after = shown()
                slowest.append(time.monotonic() - begun)
                return after if after["Unanswered"] else None
            try:
                after = eventually(unanswered, "the stopped node does not answer")
                self.assertLess(max(slowest), 1.5)
                self.assertEqual((len(after["Executions"]), after["Unanswered"]), (1, [stopped]))
                eventually(lambda: self.nodes()[stopped]["State"] == "doubted", "the node is doubted")
            finally:
                self.rig.nodes[stopped].send(signal.SIGCONT)
            eventually(lambda: self.nodes()[stopped]["State"] in ("alive", "here"), "the node is heard again")
            client.cancel(request)


if __name__ == "__main__":
    unittest.main()
