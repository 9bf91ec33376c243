"""What the commands say when no daemon answers: a systemd that this test plays knows why. Nobody waits for long."""
import os
import select
import subprocess
import sys
import time
import unittest

from bus_harness import Bus
from harness import PATIENCE

WARDER = os.environ["WARDER"]
PATIENT = 8  # seconds; without a bound of its own a command waits for 25 s

# Owns systemd's name. StartServiceByName of warderd is the bus's affair: the bus has a service file that starts a program
# which never comes.
SYSTEMD = """
import sys, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
active, sub, result, code, status = sys.argv[2:]
UNIT = {"LoadState": "loaded", "ActiveState": active, "SubState": sub}
SERVICE = {"Result": result, "ExecMainCode": dbus.Int32(int(code)), "ExecMainStatus": dbus.Int32(int(status)),
           "NRestarts": dbus.UInt32(5)}
class Unit(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        print(interface, flush=True)
        return dbus.Dictionary(SERVICE if interface.endswith("Service") else UNIT, signature="sv")
bus = dbus.bus.BusConnection(sys.argv[1])
name = dbus.service.BusName("org.freedesktop.systemd1", bus)
unit = Unit(bus, "/org/freedesktop/systemd1/unit/warder_2eservice")
print("ready", flush=True)
GLib.MainLoop().run()
"""


class BusOfSystemd(Bus):
    """A bus where systemd's name may be owned and called, and where a call to warderd starts a program that hangs."""

    def start(self):
        configuration = self.folder / "bus.conf"
        services = self.folder / "services"
        services.mkdir(exist_ok=True)
        (services / "org.warder.Warder1.service").write_text(
            "[D-BUS Service]\nName=org.warder.Warder1\nExec=/bin/sleep 60\n")
        text = configuration.read_text()
        if "servicedir" not in text:
            text = text.replace("<type>system</type>", f"<servicedir>{services}</servicedir>").replace(
                '<allow own="org.warder.Warder1"/>', '<allow own="*"/><allow send_destination="*"/>')
            configuration.write_text(text)
        return super().start()


class Systemd:
    def __init__(self, bus, *state):
        self.command = [sys.executable, "-c", SYSTEMD, bus.address, *state]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the played systemd did not start")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Unreachable(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(BusOfSystemd())

    def said(self, *words):
        environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address,
                       "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}
        environment.pop("WARDER_BUS", None)
        environment.pop("XDG_RUNTIME_DIR", None)
        began = time.monotonic()
        done = subprocess.run([WARDER, *words], capture_output=True, text=True, timeout=PATIENCE, env=environment)
        self.assertLess(time.monotonic() - began, PATIENT, words)
        self.assertEqual(done.returncode, 125, (words, done.stdout, done.stderr))
        return done.stderr

    def test_a_daemon_that_fails_is_told_by_how_it_ended(self):
        with Systemd(self.bus, "failed", "failed", "exit-code", "1", "64"):
            for words in (["ps"], ["stats"], ["kill", "e1"], ["reload"], ["approvals"]):
                said = self.said(*words)
                self.assertIn(f"warder {words[0]}: warderd fails to start (exit status 64)", said)
                self.assertIn("warderd --check", said)
                self.assertIn("journalctl -u warder", said)
        with Systemd(self.bus, "activating", "auto-restart", "signal", "2", "9"):
            self.assertIn("ended by signal 9", self.said("ps"))

    def test_one_that_is_merely_stopped_is_started_and_not_waited_for_long(self):
        with Systemd(self.bus, "inactive", "dead", "success", "0", "0"):
            said = self.said("ps")
        self.assertIn("warderd is stopped", said)
        self.assertIn("sudo systemctl start warder.socket", said)

    def test_one_that_starts_or_has_left_the_bus_is_told_so(self):
        with Systemd(self.bus, "activating", "start", "success", "0", "0"):
            self.assertIn("warderd is starting", self.said("ps"))
        with Systemd(self.bus, "active", "running", "success", "0", "0"):
            self.assertIn("runs, but is not on this bus", self.said("ps"))

    def test_without_systemd_no_daemon_is_started(self):
        said = self.said("ps")
        self.assertIn("no warderd is on this bus", said)

    def test_run_says_the_services_own_reason(self):
        with Systemd(self.bus, "failed", "failed", "exit-code", "1", "64") as systemd:
            said = self.said("run", "-c", "1", "--socket", "/run/warder/mcp.sock")
            self.assertIn("warder run: warderd fails to start (exit status 64)", said)
            self.assertTrue(select.select([systemd.process.stdout], [], [], 0)[0])  # it was asked
            self.assertIn("connect to warderd at", self.said("run", "-c", "1", "--socket", "/nowhere/mcp.sock"))


if __name__ == "__main__":
    unittest.main()
