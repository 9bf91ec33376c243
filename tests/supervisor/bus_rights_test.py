"""Who may do what over D-Bus, callers that mean no good, and a bus that is not there, or dies."""
import contextlib
import json
import os
import subprocess
import time
import unittest
import urllib.request

import dbus
import dbus.lowlevel
from bus_harness import (EXECUTION, LOG_CONTROL, LOG_PATH, MANAGER, NAME, OBJECTS, PATH, PROPERTIES, TENANT, Admin, Bus,
                         BusDaemon, Listener, Polkit, as_user)
from harness import BUSY, ORDINARY_USER, PATIENCE, ROOT, TOP, Client, Daemon, Policies, eventually

MANAGE, CONFIGURE = f"{NAME}.manage-executions", f"{NAME}.configure"
SEE_ALL, INTROSPECTABLE = f"{NAME}.see-all", "org.freedesktop.DBus.Introspectable"
OTHER_USER = 2  # bin: somebody whom /etc/passwd knows
WARDER = os.environ["WARDER"]


def tenant_label(account):
    return account.replace("-", "_2d")


def path_of_tenant(user):
    return f"{PATH}/tenant/" + tenant_label(f"uid-{user}")


@unittest.skipUnless(ROOT, "needs root, to be somebody else")
class Rights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.policies = cls.enterClassContext(Policies(workspaces=["customer-*"]))
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus, system=True, policies=cls.policies))

    def setUp(self):
        self.client = self.enterContext(as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)))
        self.admin = self.enterContext(Admin(self.bus))

    def begin(self, **meta):
        """An execution of the ordinary user's: its id and path."""
        arguments = {"code": BUSY, "timeout_seconds": 300}
        self.request = self.client.begin("tools/call", "began", name="execute_code", arguments=arguments, _meta=meta)
        self.client.await_progress("began", lambda p: p.get("message") == "running")
        (found,) = [e for e in self.admin.call("ListExecutions") if e[4] == "running"]
        self.assertEqual(found[5], ORDINARY_USER)
        return str(found[0]), str(found[1])

    def call(self, user, member, *words, path=PATH, interface=MANAGER):
        """busctl's exit status and what it says, as that user."""
        done = self.bus.busctl("call", NAME, path, interface, member, *words, user=user, check=False)
        return done.returncode, done.stdout + done.stderr

    def end(self, identity):
        self.admin.call("KillExecution", "s", identity)
        self.assertEqual(self.client.executed(self.request)["outcome"], "cancelled")

    def seen_by(self, user, path):
        """Everything that the bus tells this user about executions and tenants, as one text."""
        tenant = path_of_tenant(ORDINARY_USER)
        reads = [("ListExecutions",), ("ListTenants",), ("GetExecution", "s", path.rsplit("/", 1)[1]),
                 ("GetTenant", "s", f"uid-{ORDINARY_USER}")]
        said = [self.call(user, *words)[1] for words in reads]
        said.append(self.call(user, "GetManagedObjects", interface=OBJECTS)[1])
        for folder in ("execution", "tenant"):
            said.append(self.call(user, "Introspect", path=f"{PATH}/{folder}", interface=INTROSPECTABLE)[1])
        for where, interface in ((path, EXECUTION), (tenant, TENANT)):
            for name in ("", interface, PROPERTIES):
                said.append(self.call(user, "GetAll", "s", name, path=where, interface=PROPERTIES)[1])
            for name in ("Tenant", "Name", "PID"):
                said.append(self.call(user, "Get", "ss", interface, name, path=where, interface=PROPERTIES)[1])
        return said

    def test_a_user_sees_its_own_executions_and_of_others_only_counts(self):
        identity, path = self.begin()
        account = f"uid-{ORDINARY_USER}"
        own, other, root = (self.seen_by(user, path) for user in (ORDINARY_USER, OTHER_USER, None))
        for said in (own, root):
            for text in said[:5]:
                self.assertTrue(identity in text or account in text or tenant_label(account) in text, text)
            self.assertIn(identity, said[5])
            self.assertIn(tenant_label(account), said[6])
            self.assertIn("running", said[7])
        for text in other:
            for secret in (identity, f'"{account}"', tenant_label(account), "running", "python"):
                if "no execution" not in text:  # which repeats what the caller asked for
                    self.assertNotIn(secret, text)
        done = self.bus.busctl("get-property", NAME, PATH, MANAGER, "Running", user=OTHER_USER)
        self.assertEqual(done, "u 1\n")
        self.end(identity)

    def shown_by_dashboard(self, user):
        """The data behind that user's dashboard, when it has asked the daemon."""
        command = [WARDER, "dashboard", "--json", "--bus", self.bus.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, user=user, group=user, extra_groups=[]) as dashboard:
            try:
                address = json.loads(dashboard.stdout.readline())["address"]

                def known():
                    with urllib.request.urlopen(address + "state.json", timeout=PATIENCE) as answer:
                        text = answer.read().decode()
                    return text if "manager" in json.loads(text) else None
                return eventually(known, "the dashboard has asked the daemon")
            finally:
                dashboard.terminate()

    def test_the_commands_and_the_dashboard_show_a_user_its_own_only(self):
        identity, _ = self.begin()

        def shown_to(user):
            def warder(*words):
                return subprocess.run([WARDER, *words, "--bus", self.bus.address], capture_output=True, text=True, user=user,
                                      group=user, extra_groups=[], timeout=PATIENCE, check=True).stdout
            yield from (warder(*words) for words in (["ps", "--all"], ["top", "--batch", "-n", "1"], ["history", "--json"]))
            yield self.shown_by_dashboard(user)
        for text in shown_to(ORDINARY_USER):
            self.assertIn(identity[:6], text)
        for text in shown_to(OTHER_USER):
            self.assertNotIn(identity[:6], text)
            self.assertNotIn(f"uid-{ORDINARY_USER}", text)
        self.end(identity)

    def test_what_a_user_may_not_see_is_answered_like_what_does_not_exist(self):
        identity, path = self.begin()
        nothing = f"{PATH}/execution/e00"
        for member, signature, *words in (["Get", "ss", EXECUTION, "State"], ["GetAll", "s", EXECUTION]):
            said = [self.call(OTHER_USER, member, signature, *words, path=where, interface=PROPERTIES)
                    for where in (path, nothing)]
            self.assertEqual(said[0], said[1])
            self.assertEqual(said[0][0], 1)
        introspected = [self.call(OTHER_USER, "Introspect", path=where, interface=INTROSPECTABLE) for where in (path, nothing)]
        self.assertEqual(introspected[0], introspected[1])
        for known, unknown in ((identity, "e00000000"), ):
            said = [self.call(OTHER_USER, "GetExecution", "s", one)[1].replace(one, "ID") for one in (known, unknown)]
            self.assertEqual(said[0], said[1])
        self.end(identity)

    def test_signals_go_only_to_subscribers_that_may_see_the_tenant(self):
        listeners = {user: self.enterContext(Listener(self.bus, user)) for user in (ORDINARY_USER, OTHER_USER)}
        self.admin.call("Subscribe")
        identity, path = self.begin()
        self.end(identity)
        self.admin.await_member("ExecutionFinished", lambda *args: args[0] == identity)
        heard = {user: one.until_reload(self.admin) for user, one in listeners.items()}
        self.assertTrue({"InterfacesAdded", "ExecutionStarted", "PropertiesChanged", "ExecutionFinished"} <=
                        {line.split()[0] for line in heard[ORDINARY_USER] if identity in line}, heard[ORDINARY_USER])
        self.assertIn("PolicyReloaded", " ".join(heard[OTHER_USER]))
        for line in heard[OTHER_USER]:
            self.assertNotIn(identity, line)
            self.assertNotIn(tenant_label(f"uid-{ORDINARY_USER}"), line)

    def test_operators_see_all_and_act_and_do_not_configure(self):
        identity, path = self.begin()
        with Polkit(self.bus, SEE_ALL, MANAGE) as polkit:
            self.assertIn(identity, self.call(OTHER_USER, "ListExecutions")[1])
            self.assertEqual(polkit.asked()[1:], [SEE_ALL, "0"], "without a dialog")
            status, said = self.call(OTHER_USER, "SetLimits", "a{sv}", "1", "WallUSec", "t", "86400000000", path=path,
                                     interface=EXECUTION)
            self.assertEqual(status, 1, said)
            self.assertIn("more than policy 'default' allows", said)
            status, said = self.call(OTHER_USER, "SetLimits", "a{sv}", "1", "WallUSec", "t", "100000000", path=path,
                                     interface=EXECUTION)
            self.assertEqual(status, 0, said)
            for member, *words in (["Reload"], ["Drain"], ["RunDoctor"], ["ForgetSearches", "s", ""],
                                   ["SetLogLevel", "s", "debug"], ["RemoveTenant", "sb", f"uid-{ORDINARY_USER}", "true"]):
                status, said = self.call(OTHER_USER, member, *words)
                self.assertEqual(status, 1, member)
                self.assertIn(f"polkit does not grant {CONFIGURE}", said)
            self.assertEqual(self.call(OTHER_USER, "Kill", path=path, interface=EXECUTION), (0, ""))
        self.assertEqual(self.client.executed(self.request)["outcome"], "cancelled")

    def test_polkit_is_asked_once_a_connection_and_never_about_root(self):
        identity, _ = self.begin()
        with Polkit(self.bus, SEE_ALL) as polkit:
            for _ in range(3):
                self.admin.call("ListExecutions")
            with Listener(self.bus, OTHER_USER) as one:
                one.read(5)
            self.assertEqual(polkit.asked()[1], SEE_ALL)
            self.assertTrue(polkit.asked_nothing_more())
        self.end(identity)

    def test_a_denial_is_used_for_less_time_than_a_grant(self):
        def asked_again_while_reading(*granted):
            """Whether polkit is asked a second time long before a grant's minute is over."""
            with Polkit(self.bus, *granted) as polkit, Listener(self.bus, OTHER_USER) as one:
                self.assertEqual(polkit.asked()[1], SEE_ALL)
                until = time.monotonic() + 16
                while polkit.asked_nothing_more() and time.monotonic() < until:
                    one.read(1)
                    time.sleep(0.1)  # between looks; what is asked decides
                return not polkit.asked_nothing_more()
        self.assertTrue(asked_again_while_reading())
        self.assertFalse(asked_again_while_reading(SEE_ALL))

    def test_a_stranger_may_not_touch_an_execution_nor_see_its_output(self):
        identity, path = self.begin()
        for member, *words in (["KillExecution", "s", identity], ["ReadOutput", "sstu", identity, "stdout", "0", "10"]):
            status, said = self.call(OTHER_USER, member, *words)
            self.assertEqual(status, 1, said)
            self.assertIn("only root may do this", said)
        for member, *words in (["Kill"], ["Freeze"], ["Thaw"], ["SetLimits", "a{sv}", "0"]):
            status, said = self.call(OTHER_USER, member, *words, path=path, interface=EXECUTION)
            self.assertEqual(status, 1, said)
        self.assertEqual(self.admin.get("State", path, EXECUTION), "running")
        self.end(identity)

    def test_its_own_tenant_may_and_stays_below_its_policy(self):
        identity, path = self.begin()
        status, said = self.call(ORDINARY_USER, "ReadOutput", "sstu", identity, "stdout", "0", "10")
        self.assertEqual((status, said), (0, "aytb 8 114 117 110 110 105 110 103 10 8 false\n"))
        day = "86400000000"
        limits = ["SetLimits", "a{sv}", "1", "WallUSec", "t"]
        status, said = self.call(ORDINARY_USER, *limits, day, path=path, interface=EXECUTION)
        self.assertEqual(status, 1, said)
        self.assertIn("more than policy 'default' allows", said)
        self.assertEqual(self.call(ORDINARY_USER, *limits, "100000000", path=path, interface=EXECUTION), (0, ""))
        self.admin.call("SetLimits", "a{sv}", dbus.Dictionary({"WallUSec": dbus.UInt64(int(day))}, signature="sv"),
                        path=path, interface=EXECUTION)
        self.assertEqual(self.call(ORDINARY_USER, "Kill", path=path, interface=EXECUTION), (0, ""))
        self.assertEqual(self.client.executed(self.request)["outcome"], "cancelled")

    def test_what_works_in_a_named_workspace_is_its_tenant_s_as_well(self):
        identity, path = self.begin(**{"org.warder/workspace": "customer-a"})
        tenants = [name for name, _ in self.admin.call("ListTenants")]
        self.assertIn(self.admin.get("Tenant", path, EXECUTION), tenants)
        ((_, its),) = [one for one in self.admin.call("ListTenants") if one[0] == self.admin.get("Tenant", path, EXECUTION)]
        shown = {str(name): numbers for name, *numbers in self.admin.get("Workspaces", its, TENANT)}
        self.assertEqual(set(shown), {"default", "customer-a"})
        for _, _, most_bytes, most_files in shown.values():
            self.assertGreater(min(most_bytes, most_files), 0)
        status, said = self.call(OTHER_USER, "ReadOutput", "sstu", identity, "stdout", "0", "10")
        self.assertEqual(status, 1, said)
        status, said = self.call(ORDINARY_USER, "ReadOutput", "sstu", identity, "stdout", "0", "10")
        self.assertEqual((status, said), (0, "aytb 8 114 117 110 110 105 110 103 10 8 false\n"))
        self.assertEqual(self.call(ORDINARY_USER, "Kill", path=path, interface=EXECUTION), (0, ""))
        self.assertEqual(self.client.executed(self.request)["outcome"], "cancelled")

    def test_nobody_but_admins_configures(self):
        for member, *words in (["Reload"], ["Drain"], ["RunDoctor"], ["ForgetSearches", "s", ""],
                               ["SetLogLevel", "s", "debug"], ["RemoveTenant", "sb", f"uid-{ORDINARY_USER}", "true"]):
            status, said = self.call(ORDINARY_USER, member, *words)
            self.assertEqual(status, 1, said)
        status, said = self.call(ORDINARY_USER, "Set", "ssv", LOG_CONTROL, "LogLevel", "s", "debug", path=LOG_PATH,
                                 interface=PROPERTIES)
        self.assertEqual(status, 1, said)
        self.assertEqual(self.admin.get("LogLevel", LOG_PATH, LOG_CONTROL), "info")
        self.assertEqual(self.admin.get("State"), "serving")

    def test_polkit_decides_for_the_others(self):
        identity, path = self.begin()
        with Polkit(self.bus, MANAGE) as polkit:
            self.assertEqual(self.call(OTHER_USER, "Kill", path=path, interface=EXECUTION), (0, ""))
            subject, action, _ = polkit.asked()
            self.assertEqual((subject, action), ("system-bus-name", MANAGE))
            status, said = self.call(OTHER_USER, "Reload")
            self.assertEqual(status, 1)
            self.assertIn(CONFIGURE, said)
            self.assertEqual(polkit.asked()[1], CONFIGURE)
        self.assertEqual(self.client.executed(self.request)["outcome"], "cancelled")

    def test_the_answer_names_our_own_error(self):
        program = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from bus_harness import Admin, Bus\n"
            "class Here: connect = lambda self: __import__('dbus').bus.BusConnection(sys.argv[2])\n"
            "print(Admin(Here()).error('Reload')[0])"
        )
        done = subprocess.run(["/usr/bin/python3", "-B", "-c", program, str(TOP / "tests/supervisor"), self.bus.address],
                              capture_output=True, text=True, user=OTHER_USER, group=OTHER_USER, extra_groups=[],
                              timeout=PATIENCE)
        self.assertEqual(done.stdout, "Denied\n", done.stderr)


@unittest.skipUnless(ROOT, "needs root, to be somebody else")
class KeptOutput(unittest.TestCase):
    def test_of_what_ended_long_ago_is_there_for_its_tenant_and_admins_only(self):
        with Bus() as bus, BusDaemon(bus, system=True) as daemon:
            def client():
                return as_user(ORDINARY_USER, lambda: Client(daemon.socket))

            def read(identity, user=None):
                done = bus.busctl("call", NAME, PATH, MANAGER, "ReadOutput", "sstu", identity, "stdout", "0", "2",
                                  user=user, check=False)
                return done.stdout + done.stderr

            with client() as one:
                identity = one.execute("print('kept')")["execution_id"]
            daemon.stop()
            daemon.start()
            with client():
                for user in (None, ORDINARY_USER):
                    self.assertEqual(read(identity, user), "aytb 2 107 101 5 true\n")
                    self.assertIn("no execution 'e00000000'", read("e00000000", user))
                refused = read(identity, OTHER_USER)
                self.assertNotIn("107", refused)
                self.assertEqual(refused.replace(identity, "e00000000"), read("e00000000", OTHER_USER), "whether there is one")


class OutsideTheSystemBus(unittest.TestCase):
    @unittest.skipUnless(ROOT, "needs root, to be somebody else")
    def test_whoever_calls_himself_polkit_grants_nothing(self):
        with Bus() as bus, BusDaemon(bus) as _, Polkit(bus, CONFIGURE):
            done = bus.busctl("call", NAME, PATH, MANAGER, "Reload", user=OTHER_USER, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("has no permission for this call", done.stderr)


class Hostile(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(Bus())
        self.daemon = self.enterContext(BusDaemon(self.bus))
        self.client = self.enterContext(Client(self.daemon.socket))

    def test_a_flood_of_calls_keeps_nobody_from_being_answered(self):
        flood = self.bus.connect()
        for n in range(5000):
            member = [(PROPERTIES, "GetAll"), (MANAGER, "Subscribe"), (MANAGER, "ListExecutions")][n % 3]
            message = dbus.lowlevel.MethodCallMessage(NAME, PATH, *member)
            if n % 3 == 0:
                message.append(MANAGER, signature="s")
            message.set_no_reply(n % 2 == 0)
            flood.send_message(message)
            if n % 500 == 0:
                self.assertEqual(self.client.execute("result = 7")["outcome"], "ok")
        flood.flush()
        with Admin(self.bus) as admin:
            self.assertEqual(admin.get("State"), "serving")
        flood.close()
        self.assertEqual(self.client.execute("result = 7")["result"], 7)

    def test_subscribers_of_one_user_are_bounded_and_forgotten_when_they_go(self):
        def subscribe():
            connection = held.enter_context(contextlib.closing(self.bus.connect()))
            connection.call_blocking(NAME, PATH, MANAGER, "Subscribe", "", (), timeout=PATIENCE)

        with contextlib.ExitStack() as held:
            for _ in range(16):
                subscribe()
            with self.assertRaisesRegex(dbus.DBusException, "16 subscriptions") as refused:
                subscribe()
            self.assertEqual(refused.exception.get_dbus_name(), f"{NAME}.Error.Exhausted")
            self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")

        def one_more():
            with contextlib.suppress(dbus.DBusException):
                with Admin(self.bus) as admin:
                    admin.call("Subscribe")
                    return True

        eventually(one_more, "those that have gone are forgotten")

    def test_calls_that_make_no_sense_are_answered_and_change_nothing(self):
        with Admin(self.bus) as admin:
            for member, signature, *arguments in (["KillExecution", "s", "x" * 100_000], ["KillExecution", "u", 1],
                                                  ["Nothing", ""], ["GetTenant", "s", "../../etc"],
                                                  ["ReadOutput", "sstu", "", "", 2**64 - 1, 2**32 - 1]):
                admin.error(member, signature, *arguments)
            for path in (f"{PATH}/execution", f"{PATH}/execution/none", f"{PATH}/tenant/_2e_2e", f"{PATH}/x/y"):
                admin.error("Kill", path=path, interface=EXECUTION)
            self.assertEqual(admin.get("State"), "serving")


class WithoutABus(unittest.TestCase):
    def test_the_daemon_serves_and_finds_the_bus_when_it_comes(self):
        with Bus() as bus:
            bus.stop()
            with BusDaemon(bus) as daemon, Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 1")["result"], 1)
                eventually(lambda: "D-Bus: not on the bus" in daemon.log_text(), "it says so")
                bus.start()
                eventually(daemon.bus_has_name, "it is found")
                with Admin(bus) as admin:
                    self.assertEqual(admin.get("Executions"), 1)

    def test_a_bus_that_dies_takes_no_execution_with_it_and_is_found_again(self):
        with Bus() as bus, BusDaemon(bus) as daemon, Client(daemon.socket) as client:
            with Admin(bus) as admin:
                admin.call("Subscribe")
                request = client.begin_running(BUSY, timeout_seconds=300)
            bus.stop()
            eventually(lambda: "D-Bus: not on the bus" in daemon.log_text(), "it says so")
            self.assertEqual(client.execute("result = 1")["result"], 1)
            bus.start()
            eventually(daemon.bus_has_name, "it is found again")
            with Admin(bus) as admin:
                (running,) = [e for e in admin.call("ListExecutions") if e[4] == "running"]
                admin.call("KillExecution", "s", running[0])
            self.assertEqual(client.executed(request)["outcome"], "cancelled")

    def test_a_bus_that_dies_during_a_reload_does_not_keep_it_from_being_done(self):
        with Bus() as bus, BusDaemon(bus) as daemon:
            with Admin(bus) as admin:
                message = dbus.lowlevel.MethodCallMessage(NAME, PATH, MANAGER, "Reload")
                admin.connection.send_message(message)
                admin.connection.flush()
                eventually(lambda: "asks for a reload" in daemon.log_text(), "it begins")
            bus.stop()
            eventually(lambda: "D-Bus: not on the bus" in daemon.log_text(), "the bus is missed")
            bus.start()
            eventually(daemon.bus_has_name, "it is found again")
            with Admin(bus) as admin:
                admin.call("Reload")
            self.assertEqual(daemon.log_text().count("policies reloaded"), 2)

    def test_a_name_that_is_taken_is_tried_for_again(self):
        with Bus() as bus:
            other = bus.connect()
            other.request_name(NAME)
            with BusDaemonWithoutWaiting(bus) as daemon:
                eventually(lambda: "D-Bus: not on the bus" in daemon.log_text(), "it says so")
                other.release_name(NAME)
                eventually(lambda: "D-Bus: serving as" in daemon.log_text(), "it has the name")
            other.close()


class BusDaemonWithoutWaiting(BusDaemon):
    def start(self):
        return Daemon.start(self)


if __name__ == "__main__":
    unittest.main()
