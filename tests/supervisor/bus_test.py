"""The daemon on D-Bus: what it says of itself, what it tells, and what can be done to executions."""
import json
import os
import re
import subprocess
import time
import unittest
import xml.etree.ElementTree as ElementTree

import dbus
from bus_harness import (CLUSTER, EXECUTION, LOG_CONTROL, LOG_PATH, MANAGER, NAME, PATH, PROPERTIES, TENANT, UNITS, Admin, Bus,
                         BusDaemon)
from harness import BUSY, EXAMPLE_CATALOG, HOLD, Client, Policies, eventually, let_go, wait_for_status, workspace_of

WARDER = os.environ["WARDER"]


class OnBus(unittest.TestCase):
    POLICY = {}

    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.policies = cls.enterClassContext(Policies(**cls.POLICY))
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus, policies=cls.policies,
                                                     configuration={"catalog": str(EXAMPLE_CATALOG)}))

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))
        self.admin = self.enterContext(Admin(self.bus))

    def running(self):
        """(id, path) of executions whose code runs."""
        return [(str(e[0]), str(e[1])) for e in self.admin.call("ListExecutions") if e[4] == "running"]

    def begin(self, code=HOLD, **arguments):
        request = self.client.begin_running(code, timeout_seconds=300, **arguments)
        ((identity, path),) = self.running()
        return request, identity, path

    def end_the_one_that_waits(self, waiting):
        """By its id, as the bus lists it; its client hears who ended it."""
        eventually(lambda: self.admin.get("Waiting") == 1, "the second one waits")
        (waits,) = [str(e[0]) for e in self.admin.call("ListExecutions") if e[4] == "waiting"]
        self.admin.call("KillExecution", "s", waits)
        body = self.client.executed(waiting)
        self.assertNotIn("execution_id", body, "nothing is kept of what did not run")
        self.assertIs(body["success"], False)
        self.assertIn("administrator", body["error"])
        self.assertIn("did not run", body["error"])


def interface_of(text, name):
    (found,) = [i for i in ElementTree.fromstring(text).iter("interface") if i.get("name") == name]
    return found


def described(element):
    """Everything that an interface promises; annotations that say nothing new left out."""
    members = {}
    for member in element:
        arguments = [tuple(sorted(a.attrib.items())) for a in member.iter("arg")]
        notes = [tuple(a.attrib.values()) for a in member.iter("annotation")]
        notes = [n for n in notes if n != ("org.freedesktop.DBus.Property.EmitsChangedSignal", "true")]
        # sd-bus writes the direction of a signal's argument, or none.
        arguments = [tuple(p for p in a if not (member.tag == "signal" and p[0] == "direction")) for a in arguments]
        members[member.tag, member.get("name")] = (member.get("type"), member.get("access"), arguments, sorted(notes))
    return members


class Introspection(OnBus):
    def test_says_what_the_installed_files_say(self):
        self.client.execute("result = 1")
        (execution, *_) = self.admin.call("ListExecutions")
        ((_, tenant),) = self.admin.call("ListTenants")
        for name, path in ((MANAGER, PATH), (CLUSTER, PATH), (EXECUTION, execution[1]), (TENANT, tenant)):
            said = self.admin.call("Introspect", path=path, interface="org.freedesktop.DBus.Introspectable")
            written = (UNITS / f"{name}.xml").read_text()
            self.assertEqual(described(interface_of(said, name)), described(interface_of(written, name)), name)

    def test_every_member_in_them_is_described(self):
        for file in UNITS.glob("*.xml"):
            lines = [line.strip() for line in file.read_text().split("\n")]
            members = [n for n, line in enumerate(lines) if re.match("<(interface|method|property|signal) ", line)]
            self.assertGreater(len(members), 4, file)
            for n in members:
                before = lines[n - 1] if "<interface" not in lines[n] else lines[n - 2]
                self.assertTrue(before.endswith("-->"), f"{file.name}: {lines[n]} has no description")

    def test_busctl_shows_the_tree(self):
        self.client.execute("result = 1")
        tree = self.bus.busctl("tree", "--list", NAME).split()
        self.assertIn(PATH, tree)
        self.assertTrue([line for line in tree if line.startswith(f"{PATH}/execution/e")], tree)
        self.assertTrue([line for line in tree if line.startswith(f"{PATH}/tenant/uid_2d")], tree)
        shown = json.loads(self.bus.busctl("--json=short", "get-property", NAME, PATH, MANAGER, "State"))
        self.assertEqual(shown, {"type": "s", "data": "serving"})


class Properties(OnBus):
    def test_count_what_happened(self):
        before = self.admin.all()
        self.client.execute("print('x' * 50); result = 1")
        self.client.execute("1 / 0")
        self.client.execute("sleep 60", language="shell", timeout_seconds=0.2)
        self.client.execute("result = 1", language="shell", memory_mb=1)  # clamped, or ended; counted in any case
        after = self.admin.all()
        grown = {k: after["Outcomes"].get(k, 0) - before["Outcomes"].get(k, 0) for k in ("ok", "error", "timeout")}
        self.assertGreaterEqual(grown["ok"], 1)
        self.assertEqual((grown["error"], grown["timeout"]), (1, 1))
        self.assertEqual(after["Executions"] - before["Executions"], 4)
        self.assertEqual(after["Executions"], sum(after["Outcomes"].values()))
        self.assertEqual(after["Executions"], sum(after["Starts"].values()))
        self.assertEqual(set(after["Languages"]) - {"javascript"}, {"python", "shell"})
        self.assertGreater(after["Ledger"]["printed_bytes"], 50)
        self.assertGreater(after["Ledger"]["returned_bytes"], after["Ledger"]["printed_bytes"])
        self.assertTrue(2 < after["Ledger"]["returned_bytes"] / after["Ledger"]["returned_tokens_estimated"] < 5)
        self.assertGreater(after["CPUUsageUSec"], before["CPUUsageUSec"])
        for times in (after["AnswerUSec"], after["WallUSec"]):
            self.assertEqual(times["of"], after["Executions"])
            self.assertTrue(0 < times["p50"] <= times["p90"] <= times["p99"] <= times["max"], times)

    def test_of_an_execution_while_it_runs_and_after(self):
        request, identity, path = self.begin()
        self.assertEqual(self.admin.get("Running"), 1)
        shown = self.admin.all(path, EXECUTION)
        self.assertEqual((shown["Id"], shown["State"], shown["Language"], shown["Workspace"], shown["Outcome"], shown["Receipt"]),
                         (identity, "running", "python", "direct", "", ""))
        self.assertEqual(shown["Limits"]["WallUSec"], 300_000_000)
        eventually(lambda: 1 << 20 < self.admin.get("MemoryBytes", path, EXECUTION) < 2**63, "its memory is sampled")
        let_go(self.daemon)
        self.assertEqual(self.client.executed(request)["outcome"], "ok")
        (workspace_of(self.daemon) / "go").unlink()
        shown = self.admin.all(path, EXECUTION)
        self.assertEqual((shown["State"], shown["Outcome"]), ("ended", "ok"))
        self.assertEqual(json.loads(shown["Receipt"])["capabilities"], "none")
        self.assertGreaterEqual(shown["EndedUSec"], shown["AskedUSec"])
        self.assertIn(path, self.admin.objects())

    def test_of_a_tenant(self):
        self.client.call("write_workspace_file", {"filename": "kept.txt", "content": "x" * 5000})
        self.client.execute("result = 1")
        ((name, path),) = self.admin.call("ListTenants")
        self.assertEqual(self.admin.call("GetTenant", "s", name), path)
        shown = self.admin.all(path, TENANT)
        self.assertEqual((shown["Name"], shown["Connections"], shown["Policy"]), (name, 1, "default"))
        self.assertGreaterEqual(shown["Executions"], 1)
        self.assertGreaterEqual(shown["WorkspaceBytes"], 5000)
        self.assertGreater(shown["QuotaBytes"], shown["WorkspaceBytes"])
        self.assertEqual(self.admin.error("GetTenant", "s", "nobody")[0], "NotFound")

    def test_changes_are_announced_once_a_second_at_most(self):
        began = time.monotonic()
        for _ in range(12):
            self.client.execute("result = 1", language="shell")
        total = self.admin.get("Executions")
        self.admin.await_signal(lambda member, path, args: member == "PropertiesChanged" and
                                path == PATH and args[1].get("Executions") == total, "the last of them")
        announced = [s for s in self.admin.signals if s[:2] == ("PropertiesChanged", PATH)]
        self.assertLessEqual(len(announced), time.monotonic() - began + 2)
        self.assertFalse([s for s in self.admin.signals if s[0] in ("ExecutionFinished", "InterfacesAdded") and
                          "execution" in str(s[2][:2])], "without Subscribe")

    def test_what_waits_is_counted(self):
        pool = self.admin.get("Pool")
        self.assertEqual(self.admin.get("WaitingJails"), sum(p["waiting"] for p in pool.values()))


class Signals(OnBus):
    def test_tell_a_subscriber_of_real_executions(self):
        self.admin.call("Subscribe")
        self.admin.call("Subscribe")  # again: nothing more
        answer = self.client.execute("result = 1")
        identity = answer["execution_id"]
        _, path, arguments = self.admin.await_member("ExecutionFinished", lambda *args: args[0] == identity)
        self.assertEqual(path, PATH)
        _, execution, tenant, outcome, wall_usec, _, memory = arguments
        self.assertEqual((outcome, execution), ("ok", f"{PATH}/execution/{identity}"))
        self.assertAlmostEqual(wall_usec / 1000, answer["usage"]["wall_ms"], delta=1)
        self.assertEqual(memory, answer["usage"]["memory_peak_bytes"])
        members = [s[0] for s in self.admin.signals if s[0].startswith("Execution") and s[2][0] == identity]
        self.assertIn("ExecutionStarted", members)
        self.assertLess(members.index("ExecutionStarted"), members.index("ExecutionFinished"))
        added = [s for s in self.admin.signals if s[0] == "InterfacesAdded" and s[2][0] == execution]
        self.assertEqual(added[0][2][1][EXECUTION]["Tenant"], tenant)
        self.admin.call("Unsubscribe")
        self.assertEqual(self.admin.error("Unsubscribe")[0], "Invalid")

    def test_say_which_limit_was_reached(self):
        self.admin.call("Subscribe")
        answer = self.client.execute("while True: pass", timeout_seconds=0.2)
        arguments = self.admin.await_member("LimitReached")[2]
        self.assertEqual((arguments[0], arguments[2]), (answer["execution_id"], "timeout"))

    def test_tell_of_a_reload_and_of_one_that_failed(self):
        self.admin.call("Reload")
        self.assertIn("default", self.admin.await_member("PolicyReloaded")[2][0])
        self.policies.write("broken.json", "{")
        name, text = self.admin.error("Reload")
        self.assertEqual(name, "Invalid")
        self.assertIn("broken.json", text)
        self.assertIn("broken.json", self.admin.get("ReloadProblem"))
        if os.getuid() == 0:  # others learn that there is a mistake, and not what the files have
            for asked in (("get-property", NAME, PATH, MANAGER, "ReloadProblem"),
                          ("call", NAME, PATH, "org.freedesktop.DBus.Properties", "GetAll", "s", MANAGER)):
                told = self.bus.busctl(*asked, user=65534)
                self.assertIn("a file has a mistake", told)
                self.assertNotIn("broken.json", told)
        (self.policies.folder / "broken.json").unlink()
        self.admin.call("Reload")
        self.assertEqual(self.admin.get("ReloadProblem"), "")
        good = (self.policies.folder / "seccomp/default.json").read_text()
        self.policies.forbid_answers()
        self.assertIn("the self-test of jails fails under the new policies", self.admin.error("Reload")[1])
        self.assertIn("the self-test of jails fails under the new policies", self.admin.get("ReloadProblem"))
        self.policies.write("seccomp/default.json", good)
        self.admin.call("Reload")
        self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")

    def test_what_searches_taught_is_forgotten_on_request(self):
        def found():
            text = self.client.call("search_tools", {"query": "quuxify the frobnicator"})["content"][0]["text"]
            return [tool["name"] for tool in json.loads(text)["tools"]]
        self.assertEqual(found(), [])
        tool = json.loads(self.client.call("search_tools", {"query": ""})["content"][0]["text"])["tools"][0]["name"]
        self.client.call("get_tool_definition", {"tool_name": tool})
        self.assertEqual(found(), [])  # the last search was another one
        self.client.call("get_tool_definition", {"tool_name": tool})
        self.assertEqual(found(), [tool])
        self.admin.call("ForgetSearches", "s", self.admin.call("ListTenants")[0][0])
        self.assertEqual(found(), [])


class Control(OnBus):
    POLICY = {"admission": {"concurrent_executions": 1, "queued_executions": 4}}

    def test_kill_ends_a_running_execution_as_cancelled(self):
        self.admin.call("Subscribe")
        request, identity, path = self.begin(BUSY)
        self.admin.call("Kill", path=path, interface=EXECUTION)
        body = self.client.executed(request)
        self.assertEqual((body["outcome"], body["success"]), ("cancelled", False))
        self.assertIn("administrator", body["error"])
        finished = self.admin.await_member("ExecutionFinished", lambda *args: args[0] == identity)
        self.assertEqual(finished[2][3], "cancelled")
        name, text = self.admin.error("Kill", path=path, interface=EXECUTION)
        self.assertEqual(name, "Unavailable")
        self.assertIn("ended", text)

    def test_kill_takes_one_that_waits_out_of_the_queue(self):
        request, identity, path = self.begin()
        waiting = self.client.begin_execute("result = 1")
        self.end_the_one_that_waits(waiting)
        self.assertEqual(self.running(), [(identity, path)])
        self.admin.call("KillExecution", "s", identity)
        self.assertEqual(self.client.executed(request)["outcome"], "cancelled")
        self.assertEqual(self.admin.error("KillExecution", "s", "e00")[0], "NotFound")

    def test_kill_of_one_branch_ends_that_branch_and_kill_of_the_call_ends_the_rest(self):
        request = self.client.begin_execute(BUSY, fork=[0, 1, 2], timeout_seconds=300)

        def running(branch):
            return [identity for identity, _ in self.running() if identity.endswith(f"-{branch}")]
        (first,) = eventually(lambda: running(0), "the first branch runs")
        self.admin.call("KillExecution", "s", first)
        eventually(lambda: running(1), "the second branch runs, in the place of the first")
        call = first.removesuffix("-0")
        self.assertIn(call, [str(e[0]) for e in self.admin.call("ListExecutions") if e[4] == "waiting"])
        self.admin.call("KillExecution", "s", call)
        body = self.client.executed(request)
        self.assertEqual([one["outcome"] for one in body["results"]], ["cancelled"] * 3, body)
        self.assertEqual(body["execution_id"], call)
        self.assertIn("did not run", body["results"][2]["error"])
        self.assertNotIn("did not run", body["results"][1]["error"])
        self.assertEqual(self.running(), [])

    def test_kill_of_a_call_that_waits_for_its_first_branch(self):
        _, identity, _ = self.begin()
        self.end_the_one_that_waits(self.client.begin_execute("result = item", fork=[1, 2]))
        self.admin.call("KillExecution", "s", identity)

    def test_a_shorter_time_ends_it_sooner(self):
        request, _, path = self.begin(BUSY)
        limits = dbus.Dictionary({"WallUSec": dbus.UInt64(200_000)}, signature="sv")
        self.admin.call("SetLimits", "a{sv}", limits, path=path, interface=EXECUTION)
        self.assertEqual(self.client.executed(request)["outcome"], "timeout")
        self.assertEqual(self.admin.get("Limits", path, EXECUTION)["WallUSec"], 200_000)

    def test_limits_that_are_none_are_refused(self):
        request, identity, path = self.begin()
        for limits in ({"WallUSec": dbus.UInt64(0)}, {"WallUSec": "soon"}, {"MemoryBytes": dbus.UInt64(5)},
                       {"Tasks": dbus.UInt32(0)}, {"CPUs": float("nan")}, {"CPUs": 1e9}, {"Colour": "blue"}):
            asked = dbus.Dictionary(limits, signature="sv")
            answered = self.admin.error("SetLimits", "a{sv}", asked, path=path, interface=EXECUTION)
            self.assertEqual(answered[0], "Invalid", limits)
            self.assertIn(next(iter(limits)) if "Colour" not in limits else "CPUs", answered[1])
        self.admin.call("KillExecution", "s", identity)
        self.client.executed(request)

    def test_frozen_it_does_nothing_or_the_machine_says_why_it_cannot(self):
        request, identity, path = self.begin()
        try:
            self.admin.call("Freeze", path=path, interface=EXECUTION)
        except dbus.DBusException as e:
            self.assertEqual(e.get_dbus_name(), f"{NAME}.Error.Unavailable")
            self.assertIn("cgroup", e.get_dbus_message())
        else:
            self.assertEqual(self.admin.get("State", path, EXECUTION), "frozen")
            self.admin.call("Thaw", path=path, interface=EXECUTION)
            self.assertEqual(self.admin.get("State", path, EXECUTION), "running")
        self.admin.call("KillExecution", "s", identity)
        self.assertEqual(self.client.executed(request)["outcome"], "cancelled")

    def test_output_can_be_read_while_it_runs_and_later(self):
        request, identity, _ = self.begin(HOLD.replace("result =", 'print("last")\nresult ='))
        read = lambda offset=0: self.admin.call("ReadOutput", "sstu", identity, "stdout", offset, 1000)  # noqa: E731
        text, size, ended = read()
        self.assertEqual((bytes(text), size, ended), (b"running\n", 8, False))
        let_go(self.daemon)
        self.client.executed(request)
        (workspace_of(self.daemon) / "go").unlink()
        text, size, ended = read(8)
        self.assertEqual((bytes(text), size, ended), (b"last\n", 13, True))
        self.assertEqual(bytes(read(1000)[0]), b"")
        self.assertEqual(self.admin.error("ReadOutput", "sstu", identity, "stdin", 0, 10)[0], "NotFound")
        self.assertEqual(self.admin.error("ReadOutput", "sstu", "../journal", "stdout", 0, 10)[0], "NotFound")

    def test_the_log_level_is_systemd_s_affair_too(self):
        for asked, shown in (("debug", "debug"), ("err", "err"), ("info", "info")):
            self.admin.call("Set", "ssv", LOG_CONTROL, "LogLevel", asked, path=LOG_PATH, interface=PROPERTIES)
            self.assertEqual(self.admin.get("LogLevel", LOG_PATH, LOG_CONTROL), shown)
        self.admin.call("SetLogLevel", "s", "info")
        self.assertEqual(self.admin.error("SetLogLevel", "s", "loud")[0], "Invalid")
        self.assertEqual(self.admin.error("Set", "ssv", LOG_CONTROL, "LogLevel", "loud", path=LOG_PATH,
                                          interface=PROPERTIES)[0], "Invalid")
        self.assertEqual(self.admin.get("SyslogIdentifier", LOG_PATH, LOG_CONTROL), "warderd")


class Sessions(OnBus):
    """Programs of a session are executions like others, but what they may use is the session's."""

    POLICY = {"sessions": {"max": 2}}

    def tearDown(self):
        self.client.execute("", session="s", reset_session=True)

    def test_one_that_waits_for_its_turn_can_be_ended_and_the_session_goes_on(self):
        self.client.execute("x = 1", session="s")
        request, _, _ = self.begin(session="s")
        waiting = self.client.begin_execute("x = 2", session="s")
        self.end_the_one_that_waits(waiting)
        let_go(self.daemon)
        self.assertEqual(self.client.executed(request)["outcome"], "ok")
        (workspace_of(self.daemon) / "go").unlink()
        self.assertEqual(self.client.execute("x", session="s")["result"], 1)

    def test_the_one_that_runs_takes_the_session_with_it(self):
        request, identity, _ = self.begin(session="s")
        self.admin.call("KillExecution", "s", identity)
        body = self.client.executed(request)
        self.assertEqual(body["outcome"], "cancelled")
        self.assertIs(body["session"]["ended"], True)
        self.assertEqual(self.client.execute("1", session="s")["session"]["call"], 1)

    def test_only_the_time_of_a_program_can_be_changed(self):
        request, _, path = self.begin(BUSY, session="s")
        change = lambda **limits: dbus.Dictionary(limits, signature="sv")  # noqa: E731
        refused = self.admin.error("SetLimits", "a{sv}", change(Tasks=dbus.UInt32(9)), path=path, interface=EXECUTION)
        self.assertEqual(refused[0], "Unavailable")
        self.assertIn("session", refused[1])
        self.admin.call("SetLimits", "a{sv}", change(WallUSec=dbus.UInt64(200_000)), path=path, interface=EXECUTION)
        self.assertEqual(self.client.executed(request)["outcome"], "timeout")
        self.client.execute("1", session="s")  # is told that it is over

    def test_ending_one_without_a_program_is_counted_as_none(self):
        self.client.execute("x = 1", session="s")
        before = self.admin.get("Executions"), self.admin.get("Refusals")
        body = self.client.execute("", session="s", reset_session=True)
        self.assertEqual((self.admin.get("Executions"), self.admin.get("Refusals")), before)
        self.assertEqual(self.admin.get("Outcome", f"{PATH}/execution/{body['execution_id']}", EXECUTION), "ok")


class Degraded(unittest.TestCase):
    def test_a_daemon_without_a_good_configuration_says_so_until_a_reload_is_good(self):
        with Bus() as bus, Policies() as policies:
            policies.write("broken.json", "{")
            policies.write("second.json", "{")
            with BusDaemon(bus, policies=policies), Admin(bus) as admin:
                self.assertEqual(admin.get("State"), "degraded")
                problem = str(admin.get("ConfigurationProblem"))
                self.assertEqual([("broken.json" in line, "second.json" in line) for line in problem.split("\n")],
                                 [(True, False), (False, True)])
                shown = subprocess.run([WARDER, "status", "--bus", bus.address], capture_output=True, text=True, timeout=60)
                self.assertEqual((shown.returncode, shown.stderr), (1, ""), shown)
                self.assertRegex(shown.stdout, r"(?s)^warderd \S+: degraded, up .*\nconfiguration: .*broken.json.*\n"
                                 r"configuration: .*second.json.*\nremedies: warder doctor\n$")
                said = {str(one[0]): [str(word) for word in one[1:]] for one in admin.call("RunDoctor")}
                self.assertEqual(said["configuration"][0], "bad")
                self.assertIn("executions are denied", said["configuration"][1])
                self.assertIn("broken.json", admin.error("Reload")[1])
                for name in ("broken.json", "second.json"):
                    (policies.folder / name).unlink()
                admin.call("Reload")
                self.assertEqual((admin.get("State"), admin.get("ConfigurationProblem")), ("serving", ""))
                shown = subprocess.run([WARDER, "status", "--json", "--bus", bus.address], capture_output=True, text=True,
                                       timeout=60)
                self.assertEqual((shown.returncode, json.loads(shown.stdout)["problems"]), (0, []), shown)


class Draining(unittest.TestCase):
    def test_ends_the_daemon_after_what_runs(self):
        with Bus() as bus, BusDaemon(bus) as daemon, Client(daemon.socket) as client, Admin(bus) as admin:
            request = client.begin_running(HOLD, timeout_seconds=300)
            admin.call("Drain")
            admin.call("Drain")
            self.assertEqual(admin.get("State"), "draining")
            let_go(daemon)
            self.assertEqual(client.executed(request)["outcome"], "ok")
            self.assertEqual(wait_for_status(daemon.process), 0)
            daemon.process = None


if __name__ == "__main__":
    unittest.main()
