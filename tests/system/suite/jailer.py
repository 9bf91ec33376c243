"""The installed unit with a daemon that was taken over: its jailer believes no order there either, and what the unit itself
stops (units/README.md) is stopped."""
import contextlib
import errno
import os
import pathlib
import select
import subprocess
import sys

from suite.service import InstalledService, connect, show
from suite.warder import JAIL_IDS, answer, receipt

sys.path.insert(0, "/tests/hostile")
from jailer_orders import Orders  # noqa: E402

HOME = pathlib.Path("/root")


def alive(pidfd):
    return not select.select([pidfd], [], [], 0)[0]


def status(pid, field):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return text.split(f"\n{field}:")[1].split("\n")[0].split()


class TakenOver(InstalledService):
    def setUp(self):
        super().setUp()
        self.client = self.enterContext(contextlib.closing(connect()))
        first = self.client.call("execute_code", {"code": "result = 1"})  # there is a workspace
        self.mapped = receipt(first)["workspace"]["mapped_ids"]
        self.daemon = int(show("MainPID"))
        (self.jailer,) = map(int, pathlib.Path(f"/proc/{self.daemon}/task/{self.daemon}/children").read_text().split())
        self.view = pathlib.Path(f"/proc/{self.daemon}/root")  # the unit's own mounts
        self.state = self.view / "var/lib/warder"

    def open(self, path):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        self.addCleanup(os.close, fd)
        return fd

    def inside(self, *command):
        """As root with all capabilities, in the unit's mounts."""
        return subprocess.run(["nsenter", f"--mount=/proc/{self.jailer}/ns/mnt", *command], capture_output=True, text=True)

    def test_no_wrong_order_is_carried_out(self):
        own = self.open(self.state / "tenants/uid-0/workspace")
        sleeper = subprocess.Popen(["sleep", "600"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        processes = {"process 1": 1, "the daemon": self.daemon, "the jailer": self.jailer, "root's": sleeper.pid}
        folders = {"/": self.view, "/etc": self.view / "etc", "the state": self.state,
                   "the journal": self.state / "journal", "the jails' root": self.state / "template/root",
                   "the workspace by another mount": pathlib.Path("/var/lib/warder/tenants/uid-0/workspace")}
        with Orders(self.daemon, self.mapped) as orders:
            for words in (dict(runner_id=0), dict(runner_id=12345), dict(init_id=0), dict(runner_id=JAIL_IDS[-1] + 1)):
                with self.subTest("a build", **words):
                    self.assertEqual(orders.build(**words), (errno.EPERM, None))
            error, jail = orders.build()
            self.assertEqual(error, 0)
            self.addCleanup(jail.close)
            jail.wait_until_built()
            for what, path in folders.items():
                with self.subTest(what):
                    self.assertEqual(orders.attach(jail.pidfd, self.open(path)), errno.EPERM)
            for what, pid in processes.items():
                pidfd = os.pidfd_open(pid)
                self.addCleanup(os.close, pidfd)
                with self.subTest(what):
                    self.assertEqual(orders.attach(pidfd, own), errno.EPERM)
                    if pid != 1:  # should it be believed
                        orders.end(pidfd)
                        self.assertTrue(alive(pidfd), "it was ended")
            self.assertEqual(orders.attach(jail.pidfd, own), 0)
            orders.end(jail.pidfd)
            select.select([jail.pidfd], [], [], 60)
            self.assertFalse(alive(jail.pidfd), "the end of a jail that was asked for")
        self.assertEqual(answer(self.client.call("execute_code", {"code": "result = 6 * 7"}))["result"], 42)

    def test_the_unit_lets_not_even_root_write_outside_its_state(self):
        for folder in ("/", "/etc", "/usr", "/usr/lib/warder", "/var/lib", "/var/log", "/boot"):
            with self.subTest(folder):
                done = self.inside("touch", f"{folder}/of-the-attack")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("Read-only file system", done.stderr)
        self.assertEqual(self.inside("touch", "/var/lib/warder/of-the-attack").returncode, 0)
        (self.state / "of-the-attack").unlink()

    def test_the_unit_hides_homes_other_files_in_tmp_and_devices(self):
        secrets = [HOME / "of-root", pathlib.Path("/tmp/of-somebody")]
        for secret in secrets:
            secret.write_text("secret")
            self.addCleanup(secret.unlink)
            with self.subTest(secret):
                self.assertNotEqual(self.inside("cat", str(secret)).returncode, 0)
        self.assertEqual(self.inside("find", "/dev", "-type", "b").stdout, "")

    def test_capabilities_network_and_system_calls_are_the_units(self):
        ten = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8,
               "SYS_CHROOT": 18, "SYS_ADMIN": 21, "SYS_RESOURCE": 24}
        most = sum(1 << bit for bit in ten.values())
        for pid in (self.daemon, self.jailer):
            with self.subTest(pathlib.Path(f"/proc/{pid}/comm").read_text().strip()):
                self.assertEqual(int(status(pid, "CapBnd")[0], 16) & ~most, 0)
                self.assertEqual((status(pid, "NoNewPrivs"), status(pid, "Seccomp")), (["1"], ["2"]))
                devices = pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
                self.assertEqual([line.split(":")[0].strip() for line in devices], ["lo"])
        self.assertEqual(int(status(self.daemon, "CapEff")[0], 16), 0)
