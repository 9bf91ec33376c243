"""`warder servers` for tests: a bus of the test's own, a configuration, policies that deny all calls, and a server."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from bus_harness import Bus, BusDaemon
from harness import PATIENCE, Policies
from upstream_harness import SERVER

WARDER = os.environ["WARDER"]
DENIES = {"otherwise": "deny", "rules": []}


class ServerCommandTest(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(Bus())
        self.policies = self.enterContext(Policies(calls=DENIES))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-servers-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        shutil.copy(SERVER, self.folder / "server.py")
        (self.folder / "server.py").chmod(0o644)
        self.config = self.bus.folder / "warderd.json"
        self.drop_ins = pathlib.Path(f"{self.config}.d")

    def daemon(self):
        daemon = self.enterContext(BusDaemon(self.bus, policies=self.policies))
        self.config.chmod(0o644)
        return daemon

    def warder(self, command, *words, status=0, flags=(), user=None, **more):
        given = [*flags, "--config", str(self.config)] if command in ("add", "remove", "import", "install", "list") else [*flags]
        done = subprocess.run([WARDER, "servers", command, "--bus", self.bus.address, *given, *words], capture_output=True,
                              text=True, timeout=2 * PATIENCE, user=user, group=user,
                              extra_groups=[] if user else None, **more)
        self.assertEqual(done.returncode, status, (command, words, done.stdout, done.stderr))
        return done

    def folder_below_usr(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir="/usr/local/lib", prefix="warder-test-"))
        self.addCleanup(shutil.rmtree, folder)
        folder.chmod(0o755)
        return folder

    def policy_flags(self):
        return ["--policies", os.fspath(self.policies)]

    def add(self, name, *command, flags=(), **more):
        return self.warder("add", name, "--", *command, flags=[*self.policy_flags(), *flags], **more)

    def add_near(self, *flags, **more):
        return self.add("near", "/usr/bin/python3", str(self.folder / "server.py"), flags=["--no-jail", *flags], **more)

    def listed(self):
        done = subprocess.run([WARDER, "servers", "list", "--json", "--bus", self.bus.address], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {server["Name"]: server for server in json.loads(done.stdout)}
