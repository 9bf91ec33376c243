"""The daemon with folders that cannot be read to their end: no right comes back, and no move loses a file.

FAILING_READS is failing_reads.cc, preloaded; it fails only while a file of the test exists.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "supervisor")]

from bus_harness import Bus
from cluster_rig import NATS_SERVER, Rig
from configuration_test import Configured
from harness import ROOT, Client, Daemon, Policies, body_of
from layers_harness import make_wheel

ACCOUNT = f"uid-{os.geteuid()}"
LIMIT = 90  # seconds of one command


class Failing:
    """Environment variables of programs whose reads of one folder fail, and the file that says when."""

    def __init__(self, end, after):
        self.folder = tempfile.TemporaryDirectory(prefix="warder-test-")
        os.chmod(self.folder.name, 0o755)
        self.file = pathlib.Path(self.folder.name, "now")
        # The sanitizer of warderd comes behind the preloaded library, which is not instrumented.
        self.variables = {"LD_PRELOAD": os.environ["FAILING_READS"], "FAIL_IN": end, "FAIL_AFTER": str(after),
                          "FAIL_IF": str(self.file), "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def close(self):
        self.folder.cleanup()

    @contextlib.contextmanager
    def now(self):
        self.file.touch()
        try:
            yield
        finally:
            self.file.unlink()


class StricterPolicies(unittest.TestCase):
    """Two folders: the second one takes the right to run shell away."""

    def setUp(self):
        shipped = self.enterContext(Policies())
        self.stricter = self.enterContext(Policies(languages=["python"]))
        self.failing = Failing(self.stricter.folder.name, 0)
        self.addCleanup(self.failing.close)
        self.daemon = Configured(policies=f"{shipped.folder}:{self.stricter.folder}", environment=self.failing.variables)
        self.addCleanup(self.daemon.remove)

    def expect_no_shell(self):
        with Client(self.daemon.socket) as client:
            denied = client.execute("echo 1", language="shell")
            self.assertEqual(denied["outcome"], "denied", denied)

    def test_a_reload_keeps_the_stricter_file_in_force(self):
        with self.daemon:
            self.expect_no_shell()
            with self.failing.now():
                self.assertIn("the last reload failed", self.daemon.reload())
                self.assertIn(f"cannot list '{self.stricter.folder}': Input/output error", self.daemon.log_text())
                self.expect_no_shell()
                with Client(self.daemon.socket) as client:
                    self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.assertEqual(self.daemon.reload(), "serving")
            self.expect_no_shell()

    def test_a_start_gives_no_right_back(self):
        with self.failing.now(), self.daemon:
            self.assertIn("no executions", self.daemon.status())
            self.expect_no_shell()
            self.assertFalse((self.daemon.state / "last-good").exists())

    def test_a_start_uses_the_last_good_copy(self):
        with self.daemon:
            with self.failing.now():
                self.daemon.again()
                self.assertIn("serving with the last good configuration", self.daemon.status())
                self.expect_no_shell()
            self.assertEqual(self.daemon.reload(), "serving")

    def check(self):
        done = subprocess.run([self.daemon.program, "--check", "--config", str(self.daemon.file), "--policies",
                               os.fspath(self.daemon.policies)], env={**os.environ, **self.failing.variables},
                              capture_output=True, text=True, timeout=LIMIT)
        return done.returncode, done.stdout + done.stderr

    def test_check_says_bad(self):
        status, told = self.check()
        self.assertEqual(status, 0, told)
        with self.failing.now():
            status, told = self.check()
        self.assertEqual(status, 1, told)
        self.assertIn(f"{self.stricter.folder}: cannot list", told)
        self.assertNotIn("good", told)


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing: apt-get install nats-server")
class Move(unittest.TestCase):
    """Of a workspace of which not all files can be listed."""

    FILES = 40

    def setUp(self):
        self.failing = Failing("/workspaces/team-half/workspace", 9)
        self.addCleanup(self.failing.close)
        self.enterContext(unittest.mock.patch.dict(os.environ, self.failing.variables))
        self.buses = {name: self.enterContext(Bus()) for name in ("n1", "n2")}
        policies = self.enterContext(Policies(cluster={"home": "cluster"}, workspaces=["team-*"]))
        self.rig = self.enterContext(Rig(policies, "n1", "n2", buses=self.buses.values()))

    def move(self, home, target):
        done = subprocess.run([os.environ["WARDER"], "nodes", "move", f"{ACCOUNT}/team-half", target, "--bus",
                               self.buses[home].address], capture_output=True, text=True, timeout=LIMIT)
        return done.returncode, done.stdout + done.stderr

    def test_a_move_that_cannot_read_all_files_fails_and_the_source_keeps_them(self):
        with Client(self.rig.daemons["n1"].socket) as client:
            code = f"for i in range({self.FILES}): open(f'file{{i}}', 'w').write(str(i))"
            made = client.request("tools/call", name="execute_code", arguments={"code": code},
                                  _meta={"org.warder/workspace": "team-half"})
        self.assertTrue(body_of(made)["success"], made)
        home = made["_meta"].get("org.warder/node", "n1")
        target = "n2" if home == "n1" else "n1"
        folder = self.rig.daemons[home].state / "tenants" / ACCOUNT / "workspaces/team-half/workspace"
        with self.failing.now():
            status, told = self.move(home, target)
        self.assertNotEqual(status, 0, told)
        self.assertIn("Input/output error", told)
        self.assertEqual(len(list(folder.iterdir())), self.FILES)
        status, told = self.move(home, target)
        self.assertEqual(status, 0, told)
        moved = self.rig.daemons[target].state / "tenants" / ACCOUNT / "workspaces/team-half/workspace"
        self.assertEqual(len(list(moved.iterdir())), self.FILES)


class Commands(unittest.TestCase):
    """Commands that read a folder as a whole, or do nothing."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="warder-test-", dir="/var/tmp")
        self.folder = pathlib.Path(self.enterContext(folder))

    def warder(self, *words, fails_in=None, after=0):
        variables = {}
        if fails_in is not None:
            failing = Failing(str(fails_in), after)
            self.addCleanup(failing.close)
            failing.file.touch()
            variables = failing.variables
        done = subprocess.run([os.environ["WARDER"], *map(str, words)], env={**os.environ, **variables},
                              capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr


@unittest.skipUnless(ROOT, "NOT TESTED: only root makes and restores backups")
class Backup(Commands):
    def setUp(self):
        super().setUp()
        self.daemon = Daemon()
        self.addCleanup(self.daemon.remove)
        self.daemon.start()
        with Client(self.daemon.socket) as client:
            client.execute("for i in range(40): open(f'/workspace/file{i}', 'w').write(str(i))")
        self.daemon.stop()
        self.file = self.folder / "state.tar"
        self.workspace = self.daemon.state / "tenants" / ACCOUNT / "workspace"

    def back_up(self, **failure):
        return self.warder("backup", self.file, "--state", self.daemon.state, **failure)

    def test_of_a_state_that_cannot_be_read_to_its_end_is_not_made(self):
        for folder, after in ((self.daemon.state, 0), (self.daemon.state, 1), (self.daemon.state / "tenants", 0),
                              (self.workspace, 0), (self.workspace, 39)):
            with self.subTest(folder=folder.name, after=after):
                status, told = self.back_up(fails_in=folder, after=after)
                self.assertNotEqual(status, 0, told)
                self.assertIn("Input/output error", told)
                self.assertFalse(self.file.exists(), "an incomplete backup stays")
        status, told = self.back_up()
        self.assertEqual(status, 0, told)

    def test_is_not_restored_to_a_folder_that_cannot_be_read(self):
        status, told = self.back_up()
        self.assertEqual(status, 0, told)
        occupied = self.folder / "occupied"
        occupied.mkdir()
        (occupied / "file").write_text("mine")
        status, told = self.warder("restore", self.file, "--state", occupied, fails_in=occupied)
        self.assertEqual(status, 1, told)
        self.assertIn("is not empty", told)
        self.assertEqual([path.name for path in occupied.iterdir()], ["file"])
        (occupied / "file").unlink()
        status, told = self.warder("restore", self.file, "--state", occupied)
        self.assertEqual(status, 0, told)
        self.assertEqual(len(list((occupied / "tenants" / ACCOUNT / "workspace").iterdir())), 40)


@unittest.skipUnless(ROOT, "NOT TESTED: only root builds layers")
class Layer(Commands):
    def test_of_packages_that_cannot_all_be_listed_is_not_built(self):
        wheels, state = self.folder / "wheels", self.folder / "state"
        for folder in (wheels, state):
            folder.mkdir()
        for name in ("warder_test_one", "warder_test_two"):
            make_wheel(wheels, name, [(f"{name}/__init__.py", "X = 1\n")])
        build = ("layer", "build", "data", "--wheels", wheels, "--state", state, "--json")
        for folder, after in ((wheels, 0), (wheels, 1), ("/work/in", 0), ("/work/in", 1)):
            with self.subTest(folder=folder, after=after):
                status, told = self.warder(*build, fails_in=folder, after=after)
                self.assertEqual(status, 1, told)
                self.assertIn("Input/output error", told)
                status, told = self.warder("layer", "list", "--state", state, "--json")
                self.assertEqual((status, json.loads(told)), (0, []))
        status, told = self.warder(*build)
        self.assertEqual(status, 0, told)
        self.assertEqual(json.loads(told.splitlines()[0])["modules"], ["warder_test_one", "warder_test_two"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
