"""The installed service under the real systemd: activation, readiness, identity, reload, drain, watchdog, crash."""
import contextlib
import json
import os
import pathlib
import subprocess
import unittest

from suite.warder import EXECUTION, META, PATIENCE, Connection, answer, receipt, wait_until, write_file

SOCKET = "/run/warder/mcp.sock"
POLICIES = pathlib.Path("/etc/warder/policies")
DROP_IN = pathlib.Path("/run/systemd/system/warder.service.d/test.conf")
VENDOR_POLICIES = pathlib.Path("/usr/lib/warder/policies")
CGROUP = pathlib.Path("/sys/fs/cgroup/warder.slice/warder.service")


def systemctl(*words, check=True):
    return subprocess.run(["systemctl", *words], capture_output=True, text=True, check=check).stdout.strip()


def show(name, unit="warder.service"):
    return systemctl("show", "--value", "--property", name, unit)


def connect():
    return Connection(SOCKET, PATIENCE)


def execute_in_background(client, code):
    client.request("server/discover")  # it serves
    client.send({"jsonrpc": "2.0", "id": "background", "method": "tools/call", "params": {
        "name": "execute_code", "arguments": {"code": code, "timeout_seconds": 100}, "_meta": META}})
    (leaf,) = wait_until("an execution's cgroup", lambda: list((CGROUP / "jails").glob(EXECUTION)))
    wait_until("the program runs", lambda: (leaf / "cgroup.procs").read_text().count("\n") >= 2)


def background_message(client):
    while (message := client.receive()) and message.get("id") != "background":
        pass
    return message


def background_answer(client):
    return answer(background_message(client)["result"])


def another_daemon(first):
    """Waits until a daemon serves that is not the one with this pid."""
    return wait_until("another daemon serves", lambda: show("MainPID") not in ("0", first)
                      and show("StatusText") == "serving")


def initialize(client):
    client.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
    assert client.receive()["id"] == "hello"


def goes_on(client):
    """A call of the handshake era: it needs what `initialize` settled, and so a connection that was kept."""
    client.send({"jsonrpc": "2.0", "id": "later", "method": "tools/call", "params": {
        "name": "execute_code", "arguments": {"code": "result = 'on'"}}})
    while (message := client.receive()) and message.get("id") != "later":
        pass
    return answer(message["result"])["result"] == "on"


class InstalledService(unittest.TestCase):
    """The service as it was installed, stopped before and after each test."""

    def setUp(self):
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        # No jails that wait: these tests count what there is.
        standard = json.loads((VENDOR_POLICIES / "default.json").read_text())
        standard["pool"] = {"min_idle": 0, "max_idle": 0, "zygotes": False, "preload": []}
        POLICIES.mkdir(parents=True, exist_ok=True)
        (POLICIES / "default.json").write_text(json.dumps(standard))
        DROP_IN.write_text("[Service]\nRestartSec=0\nStartLimitBurst=100\n")
        systemctl("daemon-reload")
        systemctl("start", "warder.socket", "warder-metrics.socket")

    def tearDown(self):
        systemctl("stop", "warder.socket", "warder-metrics.socket", "warder.service")
        systemctl("reset-failed", "warder.service", check=False)
        for file in POLICIES.glob("*"):
            file.unlink()
        self.assertFalse(CGROUP.exists(), "a cgroup of the service is left")


class Service(InstalledService):
    def test_a_connection_starts_the_service_and_runs_code_with_all_limits(self):
        self.assertEqual(show("ActiveState"), "inactive")
        with contextlib.closing(connect()) as client:
            result = client.call("execute_code", {"code": "result = 6 * 7"})
        self.assertEqual(answer(result)["result"], 42)
        self.assertTrue(receipt(result)["cgroup"])
        self.assertEqual((show("ActiveState"), show("StatusText")), ("active", "serving"))

    def test_the_daemon_is_user_warder_without_capabilities(self):
        systemctl("start", "warder.service")
        status = dict(line.split(":\t", 1)
                      for line in pathlib.Path(f"/proc/{show('MainPID')}/status").read_text().splitlines() if ":\t" in line)
        warder = subprocess.run(["id", "-u", "warder"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(status["Uid"].split(), [warder] * 4)
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"].strip(), "1")

    def test_a_reload_brings_new_ceilings_and_touches_no_running_program(self):
        with contextlib.closing(connect()) as client, contextlib.closing(connect()) as other:
            execute_in_background(client, "import os, time\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
                                          "os.remove('/workspace/go'); result = 'went on'")
            (POLICIES / "small.json").write_text(json.dumps({
                "extends": "system", "limits": {"standard": {"memory_bytes": 96 << 20},
                                                "maximum": {"memory_bytes": 96 << 20}}}))
            (POLICIES / "tenants.json").write_text(json.dumps({"rules": [{"default": True, "policy": "small"}]}))
            systemctl("reload", "warder.service")
            limit = wait_until("the new ceiling", lambda: (
                lambda found: found["cgroup"]["memory_max"] == 96 << 20 and found)(
                    receipt(other.call("execute_code", {"code": "pass", "memory_mb": 400}))))
            self.assertTrue(limit)
            write_file(other, "go")
            self.assertEqual(background_answer(client)["result"], "went on")

    def test_a_unit_is_a_tenant_where_the_daemon_can_see_it(self):
        (POLICIES / "tenants.json").write_text(json.dumps({"rules": [
            {"unit": "agent-*.service", "tenant": "agents", "policy": "system"}, {"default": True, "policy": "system"}]}))
        ask = "import suite.service; print(suite.service.connect().execute('result = 1')['outcome'])"

        def ask_in(unit):
            rig = [f"--setenv={name}" for name in os.environ if name.startswith("RIG_")]
            done = subprocess.run(["systemd-run", "--quiet", "--wait", "--pipe", f"--unit={unit}", *rig,
                                   "--working-directory=/tests/system", "python3", "-B", "-c", ask],
                                  capture_output=True, text=True)
            return done.stdout + done.stderr

        self.assertIn("depends on the unit of your process", ask_in("agent-a.service"))
        DROP_IN.write_text(DROP_IN.read_text() + "ProtectProc=default\n")
        systemctl("daemon-reload")
        systemctl("restart", "warder.service")
        tenants = pathlib.Path("/var/lib/warder/tenants")
        self.assertEqual(ask_in("other-b.service").strip(), "ok")
        self.assertFalse((tenants / "agents").exists())
        self.assertEqual(ask_in("agent-b.service").strip(), "ok")
        self.assertTrue((tenants / "agents").exists())

    def test_a_reload_of_a_broken_policy_changes_nothing(self):
        with contextlib.closing(connect()) as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            pid = show("MainPID")
            (POLICIES / "broken.json").write_text('{"extends": "system",}')
            with self.assertRaises(subprocess.CalledProcessError):
                systemctl("reload", "warder.service")
            self.assertIn("reload failed", show("StatusText"))
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.assertEqual(show("MainPID"), pid)

    def test_a_stop_waits_for_the_running_call_and_answers_it(self):
        with contextlib.closing(connect()) as client:
            execute_in_background(client, "import time\ntime.sleep(3)\nresult = 'finished'")
            systemctl("stop", "--no-block", "warder.socket", "warder.service")
            self.assertEqual(background_answer(client)["result"], "finished")
        wait_until("the service is stopped", lambda: show("ActiveState") == "inactive")
        self.assertEqual(show("Result"), "success")

    def test_the_watchdog_replaces_a_daemon_that_hangs(self):
        DROP_IN.write_text("[Service]\nRestartSec=0\nWatchdogSec=3\nTimeoutAbortSec=2\n")
        systemctl("daemon-reload")
        with contextlib.closing(connect()) as client:
            initialize(client)
            first = show("MainPID")
            subprocess.run(["kill", "-STOP", first], check=True)
            another_daemon(first)
            self.assertTrue(goes_on(client))

    def test_a_killed_daemon_is_replaced_and_its_jails_are_gone(self):
        with contextlib.closing(connect()) as client:
            execute_in_background(client, "import time; time.sleep(600)")
            first = show("MainPID")
            subprocess.run(["kill", "-KILL", first], check=True)
            self.assertEqual(background_message(client)["error"]["data"]["code"], "interrupted")
            self.assertNotIn(show("MainPID"), ("0", first))
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
        wait_until("no cgroup of a jail is left", lambda: not list((CGROUP / "jails").glob("*/")))

    def test_a_restart_answers_what_runs_and_keeps_the_clients(self):
        with contextlib.closing(connect()) as idle, contextlib.closing(connect()) as busy:
            initialize(idle)
            execute_in_background(busy, "import time\ntime.sleep(3)\nresult = 'finished'")
            first = show("MainPID")
            systemctl("restart", "warder.service")
            self.assertEqual(background_answer(busy)["result"], "finished")
            self.assertNotIn(show("MainPID"), ("0", first))
            self.assertTrue(goes_on(idle))
            self.assertEqual(busy.execute("result = 1")["outcome"], "ok")
            self.assertEqual(show("NFileDescriptorStore"), "4", "two connections")
        wait_until("who left is forgotten", lambda: show("NFileDescriptorStore") == "0")

    def test_a_jail_out_of_memory_does_not_stop_the_service(self):
        with contextlib.closing(connect()) as client:
            bomb = "held = []\nwhile True: held.append(bytearray(1 << 20))"
            self.assertEqual(client.execute(bomb, memory_mb=64)["outcome"], "memory")
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
        self.assertEqual(show("ActiveState"), "active")
