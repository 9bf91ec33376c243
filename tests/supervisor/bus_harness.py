"""A message bus of a test's own, as the system bus is configured, and what speaks over it.

The bus's policy is the one that is installed (units/dbus/org.warder.Warder1.conf); who may own names is the test's affair.
"""
import json
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dbus
import dbus.mainloop.glib
from gi.repository import GLib
from harness import PATIENCE, ROOT, TOP, Daemon, as_user, eventually  # noqa: F401

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)

NAME, PATH = "org.warder.Warder1", "/org/warder/Warder1"
MANAGER, EXECUTION, TENANT, CLUSTER = f"{NAME}.Manager", f"{NAME}.Execution", f"{NAME}.Tenant", f"{NAME}.Cluster"
PROPERTIES, OBJECTS = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager"
LOG_PATH, LOG_CONTROL = "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1"
UNITS = TOP / "units/dbus"

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/>
    <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/><allow receive_type="method_return"/>
    <allow receive_type="error"/><allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
  </policy>
  <include>{policy}</include>
  <policy context="mandatory">
    <allow own="org.warder.Warder1"/>
    <allow own="org.freedesktop.PolicyKit1"/>
    <allow send_destination="org.freedesktop.PolicyKit1"/>
  </policy>
</busconfig>
"""


class Bus:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-bus-"))
        self.folder.chmod(0o755)
        self.socket = self.folder / "bus"
        self.address = f"unix:path={self.socket}"
        configuration = CONFIGURATION.format(socket=self.socket, policy=UNITS / f"{NAME}.conf")
        (self.folder / "bus.conf").write_text(configuration)
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        self.socket.unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile", "--nosyslog",
                 "--print-address=1"], stdout=subprocess.PIPE, stderr=log)
        if not self.process.stdout.readline():
            raise RuntimeError((self.folder / "log").read_text())
        return self

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def connect(self):
        connection = dbus.bus.BusConnection(self.address)
        connection.set_exit_on_disconnect(False)
        return connection

    def busctl(self, *words, user=None, check=True):
        """What busctl prints."""
        done = subprocess.run(["busctl", f"--address={self.address}", *words], capture_output=True, text=True,
                              timeout=PATIENCE, user=user, group=user, extra_groups=[] if user else None)
        if check and done.returncode != 0:
            raise AssertionError(f"busctl {words}: {done.stderr}")
        return done.stdout if check else done


class BusDaemon(Daemon):
    """A daemon on a bus: started when it answers there."""

    def __init__(self, bus, system=False, configuration=None, **more):
        self.bus = bus
        where = "system" if system else bus.address
        environment = {"DBUS_SYSTEM_BUS_ADDRESS": bus.address, **more.pop("environment", {})}
        # A bus daemon takes nobody who is not in /etc/passwd.
        file = bus.folder / "warderd.json"
        file.write_text(json.dumps({**({"user": "daemon"} if ROOT else {}), **(configuration or {})}))
        arguments = ["--config", file]
        super().__init__(bus=where, environment=environment, arguments=arguments, **more)

    def start(self):
        super().start()
        if self.bus.process:
            try:
                eventually(lambda: self.bus_has_name(), "the daemon is on the bus")
            except AssertionError as error:
                self.fail(str(error))
        return self

    def bus_has_name(self):
        connection = self.bus.connect()
        try:
            return connection.name_has_owner(NAME)
        finally:
            connection.close()


class Admin:
    """Somebody on the bus: calls, properties, and the signals that came."""

    def __init__(self, bus):
        self.connection = bus.connect()
        self.signals = []  # (member, path, arguments), in the order they came
        self.connection.add_signal_receiver(self.take, sender_keyword="sender", member_keyword="member",
                                            path_keyword="path", interface_keyword="interface")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def take(self, *arguments, sender, member, path, interface):
        if interface != "org.freedesktop.DBus":
            self.signals.append((str(member), str(path), arguments))

    def call(self, member, signature="", *arguments, path=PATH, interface=MANAGER):
        return self.connection.call_blocking(NAME, path, interface, member, signature, arguments, timeout=PATIENCE)

    def get(self, name, path=PATH, interface=MANAGER):
        return self.call("Get", "ss", interface, name, path=path, interface=PROPERTIES)

    def all(self, path=PATH, interface=MANAGER):
        return self.call("GetAll", "s", interface, path=path, interface=PROPERTIES)

    def objects(self):
        return self.call("GetManagedObjects", interface=OBJECTS)

    def error(self, member, signature="", *arguments, **where):
        """The error that a call must answer: its name without our prefix, and its text."""
        try:
            answered = self.call(member, signature, *arguments, **where)
        except dbus.DBusException as e:
            return e.get_dbus_name().removeprefix(f"{NAME}.Error."), e.get_dbus_message()
        raise AssertionError(f"{member} was answered: {answered}")

    def await_signal(self, fits, what="a signal"):
        """The first signal that fits, whenever it came."""
        context, until, looked_at = GLib.MainContext.default(), time.monotonic() + PATIENCE, 0
        wake = GLib.timeout_add(50, lambda: True)  # an iteration must end, so that time can be looked at
        try:
            while True:
                while looked_at < len(self.signals):
                    if fits(*self.signals[looked_at]):
                        return self.signals[looked_at]
                    looked_at += 1
                if time.monotonic() > until:
                    raise AssertionError(f"not within {PATIENCE} s: {what}; came: {self.signals}")
                context.iteration(True)
        finally:
            GLib.source_remove(wake)

    def await_member(self, member, fits=lambda *_: True):
        return self.await_signal(lambda name, path, args: name == member and fits(*args), member)

    def drain(self):
        """Takes what has come by now: everything that was sent before the answer to this call."""
        self.call("Ping", interface="org.freedesktop.DBus.Peer")
        context = GLib.MainContext.default()
        while context.iteration(False):
            pass
        return self.signals


class Listener:
    """A subscriber of another user: a process of its own, which writes each signal of warderd's as a line."""

    PROGRAM = """
import sys, dbus, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(sys.argv[1])
where = ("org.warder.Warder1", "/org/warder/Warder1", "org.warder.Warder1.Manager")
def heard(*values, member, path, interface, sender):
    if interface != "org.freedesktop.DBus":
        print(member, path, repr(values), flush=True)
# Also for what is sent to others: rules of a match do not hold it back from a bus that would tell everybody.
bus.add_signal_receiver(heard, member_keyword="member", path_keyword="path", interface_keyword="interface",
                        sender_keyword="sender")
bus.call_blocking(*where, "Subscribe", "", ())
print("subscribed", flush=True)
def order(source, condition):
    for _ in range(int(sys.stdin.readline() or 0)):
        bus.call_blocking(*where, "ListExecutions", "", ())
    print("read", flush=True)
    return True
GLib.io_add_watch(sys.stdin, GLib.IO_IN, order)
GLib.MainLoop().run()
"""

    def __init__(self, bus, user):
        self.command = ["/usr/bin/python3", "-c", self.PROGRAM, bus.address]
        self.user = user

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        user=self.user, group=self.user, extra_groups=[])
        if self.process.stdout.readline() != "subscribed\n":
            raise RuntimeError("the listener did not subscribe")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def read(self, times):
        """Has it call ListExecutions so many times."""
        print(times, file=self.process.stdin, flush=True)
        while self.process.stdout.readline() not in ("read\n", ""):
            pass

    def until_reload(self, admin):
        """The lines that it wrote, up to the signal of a reload, which everybody receives."""
        admin.call("Reload")
        lines = []
        for line in iter(self.process.stdout.readline, ""):
            lines.append(line)
            if line.startswith("PolicyReloaded"):
                break
        return lines


class Polkit:
    """Plays polkit on the bus: grants the actions it was told, to everybody. A process of its own."""

    PROGRAM = """
import sys, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
class Authority(dbus.service.Object):
    @dbus.service.method("org.freedesktop.PolicyKit1.Authority", "(sa{sv})sa{ss}us", "(bba{ss})")
    def CheckAuthorization(self, subject, action, details, flags, cancellation):
        print(subject[0], action, flags, flush=True)
        return (action in sys.argv[2:], False, dbus.Dictionary({}, signature="ss"))
bus = dbus.bus.BusConnection(sys.argv[1])
name = dbus.service.BusName("org.freedesktop.PolicyKit1", bus)
authority = Authority(bus, "/org/freedesktop/PolicyKit1/Authority")
print("ready", flush=True)
GLib.MainLoop().run()
"""

    def __init__(self, bus, *granted):
        self.command = [sys.executable, "-c", self.PROGRAM, bus.address, *granted]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, bufsize=0)  # select() sees all there is
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError("the played polkit did not start")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()

    def asked_nothing_more(self):
        return not select.select([self.process.stdout], [], [], 0)[0]

    def asked(self):
        """The next question: kind of subject, action, flags."""
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise AssertionError(f"not within {PATIENCE} s: a question to polkit")
        return self.process.stdout.readline().decode().split()
