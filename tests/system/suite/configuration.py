"""A mistake in a file under the real systemd: reload's exit status, a restart, an upgrade, sockets that stay alive."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import unittest

from suite.service import DROP_IN, POLICIES, InstalledService, connect, show, systemctl
from suite.warder import PATIENCE, wait_until

FILE = pathlib.Path("/etc/warder/warderd.json")
DROP_INS = pathlib.Path("/etc/warder/warderd.json.d")
STATE = pathlib.Path("/var/lib/warder")
BAD = '{"extends": "system",}'
BAD_FILE = POLICIES / "bad.json"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


class Configuration(InstalledService):
    def setUp(self):
        super().setUp()
        self.addCleanup(FILE.unlink, missing_ok=True)
        self.addCleanup(BAD_FILE.unlink, missing_ok=True)
        self.addCleanup((DROP_INS / "20-test.json").unlink, missing_ok=True)

    def expect_alive(self):
        self.assertEqual(show("ActiveState"), "active")
        for unit in ("warder.socket", "warder-metrics.socket"):
            self.assertEqual(show("ActiveState", unit), "active", unit)

    def state(self):
        done = run("busctl", "get-property", "org.warder.Warder1", "/org/warder/Warder1", "org.warder.Warder1.Manager",
                   "State", "ConfigurationProblem")
        return done.stdout

    def outcome(self):
        with contextlib.closing(connect()) as client:
            return client.execute("result = 1")

    def test_a_reload_with_a_mistake_fails_and_names_it(self):
        self.assertEqual(self.outcome()["outcome"], "ok")
        BAD_FILE.write_text(BAD)
        self.assertNotEqual(run("systemctl", "reload", "warder.service").returncode, 0)
        self.assertIn("reload failed", show("StatusText"))
        log = run("journalctl", "-u", "warder.service", "-o", "cat", "--no-pager").stdout
        self.assertIn("bad.json: not JSON: line 1, column 21: a comma before }", log)
        self.assertEqual(self.outcome()["outcome"], "ok")
        BAD_FILE.unlink()
        done = run("systemctl", "reload", "warder.service")
        self.assertEqual((done.returncode, show("StatusText")), (0, "serving"), done.stderr)

    def test_a_reload_of_a_daemon_that_stands_still_waits_and_goes_on_with_it(self):
        self.assertEqual(self.outcome()["outcome"], "ok")
        pid = int(show("MainPID"))
        os.kill(pid, signal.SIGSTOP)
        try:
            reload = subprocess.Popen(["systemctl", "reload", "warder.service"])
            wait_until("the reload has begun", lambda: show("ActiveState") == "reloading")
            self.assertIsNone(reload.poll())
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(reload.wait(PATIENCE), 0)
        self.assertEqual((int(show("MainPID")), show("StatusText")), (pid, "serving"))

    def test_a_reload_of_a_daemon_that_the_watchdog_ends_fails(self):
        DROP_IN.write_text("[Service]\nRestartSec=0\nWatchdogSec=3\nTimeoutAbortSec=2\n")
        systemctl("daemon-reload")
        self.assertEqual(self.outcome()["outcome"], "ok")
        pid = int(show("MainPID"))
        os.kill(pid, signal.SIGSTOP)
        self.assertNotEqual(run("systemctl", "reload", "warder.service").returncode, 0)
        self.assertEqual(self.outcome()["outcome"], "ok")  # of the next daemon
        self.assertNotEqual(int(show("MainPID")), pid)

    def test_a_restart_with_a_mistake_serves_with_the_last_good_copy(self):
        self.assertEqual(self.outcome()["outcome"], "ok")
        copy = STATE / "last-good"
        self.assertEqual((copy.stat().st_uid, copy.stat().st_mode & 0o777), (0, 0o700))
        BAD_FILE.write_text(BAD)
        FILE.write_text('{"sokcet": 1}')
        systemctl("restart", "warder.service")
        self.expect_alive()
        self.assertIn("last good configuration", show("StatusText"))
        self.assertEqual(self.outcome()["outcome"], "ok")
        self.assertIn('"degraded"', self.state())
        self.assertIn("sokcet", self.state())
        doctor = run("warder", "doctor", "--json").stdout
        self.assertIn("the last good copy is in force", doctor)
        metrics = run("warder", "metrics").stdout
        self.assertIn("warder_configuration_ok 0", metrics)
        BAD_FILE.unlink()
        FILE.unlink()
        systemctl("reload", "warder.service")
        self.assertIn('"serving"', self.state())

    def test_a_start_with_a_mistake_and_no_copy_denies_executions_and_keeps_the_sockets(self):
        systemctl("stop", "warder.service")
        subprocess.run(["rm", "-rf", STATE / "last-good"], check=True)
        (POLICIES / "tenants.json").write_text('{"rules": [{"default": true, "policy": "none-such"}]}')
        self.addCleanup((POLICIES / "tenants.json").unlink, missing_ok=True)
        denied = self.outcome()  # the connection starts the service
        self.assertEqual(denied["outcome"], "denied", denied)
        self.assertIn("tenants.json: rules[0].policy", denied["error"])
        self.expect_alive()
        (POLICIES / "tenants.json").unlink()
        systemctl("reload", "warder.service")
        self.assertEqual(self.outcome()["outcome"], "ok")

    def test_a_restart_with_a_key_that_this_machine_cannot_serve_leaves_the_socket(self):
        self.assertEqual(self.outcome()["outcome"], "ok")
        for keys, word in (({"user": "wardr"}, "user: wardr: this machine does not have this user"),
                           ({"state": "/srv/warder"}, "state: /srv/warder: /srv is read-only for the service"),
                           ({"state": "warder"}, "not an absolute path")):
            FILE.write_text(json.dumps(keys))
            checked = run("warder", "config", "check")
            self.assertEqual(checked.returncode, 1, (keys, checked))
            self.assertIn(word, checked.stderr)
            self.assertNotEqual(run("systemctl", "reload", "warder.service").returncode, 0)
            systemctl("restart", "warder.service")
            self.expect_alive()
            self.assertIn("last good configuration", show("StatusText"))
            self.assertIn(word, self.state())
            self.assertEqual(self.outcome()["outcome"], "ok")
        FILE.unlink()
        systemctl("reload", "warder.service")
        self.assertIn('"serving"', self.state())

    def test_an_address_in_the_network_of_the_unit_is_named_and_not_served(self):
        FILE.write_text('{"http": {"listen": ["127.0.0.1:9470"]}}')
        checked = run("warder", "config", "check")
        self.assertEqual(checked.returncode, 1)
        self.assertIn("systemctl enable warder-http.socket", checked.stderr)
        systemctl("restart", "warder.service")
        self.expect_alive()
        self.assertIn("; without ", show("StatusText"))
        self.assertIn('"degraded"', self.state())
        self.assertEqual(self.outcome()["outcome"], "ok")
        self.assertIn("warder_missing_listeners 1", run("warder", "metrics").stdout)
        FILE.unlink()
        systemctl("reload", "warder.service")
        self.assertIn('"serving"', self.state())

    def test_an_unknown_group_and_a_missing_import_stop_nothing(self):
        (POLICIES / "tenants.json").write_text(json.dumps({"rules": [
            {"group": "nosuchgroup", "policy": "system"}, {"default": True, "policy": "system"}]}))
        self.addCleanup((POLICIES / "tenants.json").unlink, missing_ok=True)
        FILE.write_text('{"import": [{"file": "/home/alice/.claude.json"}]}')
        systemctl("restart", "warder.service")
        self.assertEqual(show("StatusText"), "serving")
        self.assertEqual(self.outcome()["outcome"], "ok")

    def test_an_upgrade_with_a_mistake_leaves_service_and_sockets_alive(self):
        self.assertEqual(self.outcome()["outcome"], "ok")
        BAD_FILE.write_text(BAD)
        done = run("dpkg", "--force-confold", "--install", "/packages/warder-later.deb")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.expect_alive()
        self.assertEqual(self.outcome()["outcome"], "ok")
        BAD_FILE.unlink()
        run("dpkg", "--force-confold", "--install", "/packages/warder.deb")

    def test_a_server_needs_no_restart(self):
        self.assertEqual(self.outcome()["outcome"], "ok")
        pid = show("MainPID")
        (DROP_INS / "20-test.json").write_text('{"servers": {"near": {"command": "/usr/bin/true"}}}')
        systemctl("reload", "warder.service")
        wait_until("the new server is tried", lambda: "server 'near': " in run(
            "journalctl", "-o", "cat", "--no-pager", f"_PID={pid}").stdout)
        self.assertEqual(show("MainPID"), pid)

    def test_check_names_every_mistake_and_touches_nothing(self):
        BAD_FILE.write_text(BAD)
        FILE.write_text('{"sokcet": 1}')
        for command in (("warderd", "--check"), ("warder", "config", "check")):
            done = run(*command)
            self.assertEqual(done.returncode, 1)
            self.assertIn("bad.json", done.stderr)
            self.assertIn("sokcet", done.stderr)


if __name__ == "__main__":
    unittest.main()
