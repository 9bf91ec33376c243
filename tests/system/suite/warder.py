"""Daemons of the suite's own, each in a delegated cgroup; what the tests ask the kernel about them."""
import contextlib
import itertools
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, "/tests")
from daemon import META, Connection, Daemon  # noqa: E402, F401  (tests/daemon.py)

LANE = os.environ["RIG_LANE"]
CGROUP = pathlib.Path(os.environ["RIG_CGROUP"])
DISK = pathlib.Path("/disk")  # ext4 with project quota: ids can be mapped there, unlike on the guest's overlay root
PROGRAM = "/usr/sbin/warderd"
POLICIES = pathlib.Path("/usr/lib/warder/policies")
PATIENCE = 120  # seconds; emulation is slow, and a bound is only there to end a test that hangs
EXECUTION = "e[0-9a-f]*/"  # names of executions' cgroups
JAIL_IDS = range(0x70000000, 0x70000000 + 65536)  # host ids of jails (jail/id_range.h)

numbers = itertools.count(1)


def use_disk():
    if not DISK.is_mount():
        DISK.mkdir(exist_ok=True)
        subprocess.run(["mount", "-o", "prjquota", os.environ["RIG_DISK"], DISK], check=True)
        DISK.chmod(0o755)
    tempfile.tempdir = str(DISK)


def wait_until(what, happened, seconds=PATIENCE):
    """Until happened() is true; it is asked again and again because not all of /proc can be polled."""
    until = time.monotonic() + seconds
    while not (found := happened()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.005)
    return found


def make_cgroup(delegated_controllers=True):
    """An empty cgroup: with all controllers, or one that was given none."""
    path = CGROUP / f"daemon-{next(numbers)}"
    path.mkdir()
    if delegated_controllers:
        return path
    (path / "bare").mkdir()  # its parent enables nothing for it
    return path / "bare"


def make_policies(**changes):
    """A folder with the shipped policies, and "test" for everybody: the default policy with changes.

    No jails that wait unless they are asked for: most tests count what there is.
    """
    changes.setdefault("pool", {"min_idle": 0, "max_idle": 0, "zygotes": False})
    folder = pathlib.Path(tempfile.mkdtemp(prefix="policies-"))
    shutil.copytree(POLICIES, folder, dirs_exist_ok=True)
    folder.chmod(0o755)
    (folder / "test.json").write_text(json.dumps({"extends": "default", **changes}))
    (folder / "tenants.json").write_text(json.dumps({"rules": [{"default": True, "policy": "test"}]}))
    return folder


class CgroupDaemon(Daemon):
    """A warderd that starts in a cgroup, as root or as a user."""

    def __init__(self, cgroup=None, user=None, **policy):
        use_disk()
        self.cgroup = cgroup or make_cgroup()
        # A second start goes where systemd's DelegateSubgroup= would put it: the cgroup above has children by then.
        own = f'own={self.cgroup}; [ ! -d $own/supervisor ] || own=$own/supervisor'
        place = ["sh", "-c", f'{own}; echo 0 >$own/cgroup.procs && exec "$@"', "-"]
        if user:
            shutil.chown(self.cgroup, user, user)
            for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
                shutil.chown(self.cgroup / name, user, user)
            place += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        self.user = user
        super().__init__(program=PROGRAM, policies=make_policies(**policy), patience=PATIENCE, launcher=place)
        if user:
            shutil.chown(self.directory, user, user)

    def connect(self, timeout=PATIENCE):
        """As root, or as the daemon's user: a user's daemon serves nobody else. The kernel notes who connects."""
        os.seteuid(pwd.getpwnam(self.user).pw_uid if self.user else 0)
        try:
            return super().connect(timeout)
        finally:
            os.seteuid(0)

    def remove(self):
        super().remove()
        shutil.rmtree(self.policies, ignore_errors=True)

    def leaves(self):
        return [path for path in (self.cgroup / "jails").glob("*/") if path.is_dir()]

    def wait_for_leaf(self):
        """The cgroup of the one execution that runs. Not that of the jail that the daemon tried out at its start."""
        return wait_until("an execution's cgroup", lambda: list((self.cgroup / "jails").glob(EXECUTION)))[0]

    def expect_no_jails(self):
        """Promise: nothing of an execution outlives its answer by more than a moment, 300 ms where all are busy. Emulated
        beside other work: ten seconds.
        """
        wait_until("no cgroup of a jail is left", lambda: not self.leaves(), 10)
        wait_until(f"no process of a jail is left: {jailed_processes()}", lambda: not jailed_processes(), 10)


def jailed_processes():
    """Processes that run under an id of the jails' range: pid and command."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid in JAIL_IDS:
                found[int(entry.name)] = (entry / "comm").read_text().strip()
    return found


def write_file(client, name, content=""):
    result = client.call("write_workspace_file", {"filename": name, "content": content})
    assert not result.get("isError"), result


def receipt(result):
    return result["_meta"]["org.warder/receipt"]


def answer(result):
    return json.loads(result["content"][0]["text"])


class DaemonTest(unittest.TestCase):
    """Tests that share one daemon with the policy of the class."""

    policy = {}
    user = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = CgroupDaemon(user=cls.user, **cls.policy)
        cls.enterClassContext(cls.daemon)

    def setUp(self):
        self.client = self.enterContext(contextlib.closing(self.daemon.connect()))

    def tearDown(self):
        self.assertEqual(self.execute("result = 1")["outcome"], "ok", "the daemon serves on")
        self.daemon.expect_no_jails()

    def execute(self, code, **arguments):
        return self.client.execute(code, **arguments)

    def expect(self, outcome, code, **arguments):
        found = self.execute(code, **arguments)
        self.assertEqual(found["outcome"], outcome, found)
        return found
