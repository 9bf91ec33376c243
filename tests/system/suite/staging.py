"""Staged executions on a real kernel, as root and as an ordinary user, however their jails start: the workspace stays as
it is, and what a program changed is committed, discarded or undone. Quotas by the kernel; folders that cannot stage."""
import contextlib
import errno
import inspect
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from suite.quota import BYTES, FILES, WALL_KIB, WRITE, project_of
from suite.warder import DISK, CgroupDaemon, DaemonTest, answer, receipt, wait_until

PAUSE = 0.5  # pools are filled while nobody asks
POOLS = {"cold": {"min_idle": 0, "max_idle": 0, "zygotes": False}, "exec": {"min_idle": 1, "max_idle": 2, "zygotes": False},
         "fork": {"min_idle": 1, "max_idle": 2, "zygotes": True}}
CLEAR = """
import os, shutil
for folder, _, _ in os.walk('/workspace'): os.chmod(folder, 0o755)
for name in os.listdir('/workspace'):
    path = '/workspace/' + name
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
"""
TREE = """
import os
os.chdir('/workspace')
for folder in ('gone/deep', 'moved', 'closed'): os.makedirs(folder)
for name in ('text', 'removed', 'linked', 'gone/deep/file', 'moved/file', 'closed/file'):
    with open(name, 'w') as file: file.write(name + '\\n')
os.symlink('text', 'link')
os.link('linked', 'also')
os.chmod('text', 0o640); os.chmod('closed', 0o711)
for folder, folders, files in os.walk('.', topdown=False):
    for name in folders + files: os.utime(os.path.join(folder, name), ns=(10**18 + 7, 10**18 + 7), follow_symlinks=False)
os.utime('.', ns=(10**18 + 9, 10**18 + 9))
"""
CHANGE = """
import os, shutil
os.chdir('/workspace')
with open('text', 'a') as file: file.write('more\\n')
with open('linked', 'a') as file: file.write('more\\n')
os.remove('removed')
shutil.rmtree('gone'); os.mkdir('gone'); open('gone/again', 'w').write('again')
os.rename('moved/file', 'moved/renamed'); shutil.move('moved', 'elsewhere')
os.remove('link'); os.symlink('/etc/shadow', 'link')
os.remove('closed/file'); os.chmod('closed', 0o500)
os.makedirs('new/deep'); open('new/deep/file', 'w').write('new'); os.chmod('new/deep/file', 0o600)
"""


def picture(root, with_times=False):
    """Kind and mode of every entry below a folder, and its contents or target; also runs in jails."""
    import os
    import stat
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            kind = "l" if stat.S_ISLNK(info.st_mode) else oct(info.st_mode)
            text = (os.readlink(path) if kind == "l" else "" if stat.S_ISDIR(info.st_mode) else open(path).read())
            found[os.path.relpath(path, root)] = [kind, text] + ([info.st_mtime_ns, info.st_nlink] if with_times else [])
    if with_times:
        found["."] = os.lstat(root).st_mtime_ns
    return found


SEE = f"{inspect.getsource(picture)}\nresult = picture('/workspace')\n"


def workspace_of(daemon):
    return next((daemon.state / "tenants").glob("*/workspace"))


def staging_of(daemon):
    return workspace_of(daemon).with_name("staging")


def act(client, proposal, action="commit", **more):
    result = client.call("commit_workspace", {"proposal": proposal, "action": action, **more})
    return answer(result) if result.get("isError") else result["structuredContent"]


class StagedLife:
    """A proposal from its jail to its end, for one way to start a jail."""

    start, user = None, None

    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(CgroupDaemon(user=cls.user, pool=POOLS[cls.start]))

    def setUp(self):
        self.client = self.enterContext(contextlib.closing(self.daemon.connect()))
        found = self.client.execute(CLEAR + TREE)
        self.assertEqual(found["outcome"], "ok", found)
        self.workspace = workspace_of(self.daemon)
        self.before = picture(self.workspace, True)

    def staged(self, code):
        """The answer of a staged execution that started in this way. Others leave nothing."""
        def tried():
            result = self.client.call("execute_code", {"code": code, "workspace": "staged"})
            found, how = answer(result), receipt(result)
            self.assertEqual((found["outcome"], how["workspace"]["access"]), ("ok", "staged"), found)
            if how["start"] == self.start:
                return found
            if "proposal" in found:
                act(self.client, found["proposal"]["id"], "discard")
            return time.sleep(PAUSE)
        return wait_until(f"a staged execution that starts {self.start}", tried)

    def assert_as_before(self):
        self.assertEqual(picture(self.workspace, True), self.before)

    def test_a_proposal_leaves_the_workspace_as_it_is_until_it_is_committed_and_an_undo_brings_all_back(self):
        found = self.staged(CHANGE + SEE)
        proposal = found["proposal"]["id"]
        self.assertEqual(found["proposal"]["state"], "open")
        self.assertIn("+more", found["proposal"]["diff"])
        self.assertEqual(found["files"], {
            "created": ["elsewhere/renamed", "gone/again", "new/deep/file"], "modified": ["link", "linked", "text"],
            "deleted": ["closed/file", "gone/deep/file", "moved/file", "removed"]})
        self.assert_as_before()
        done = act(self.client, proposal)
        self.assertIs(done["success"], True, done)
        self.assertEqual(picture(self.workspace), found["result"], "as the program saw it")
        seen = self.client.execute(SEE)
        self.assertEqual(seen["result"], found["result"], "as the next program sees it")
        self.assertEqual({path.lstat().st_uid for path in self.workspace.rglob("*")}, {self.workspace.stat().st_uid})
        self.assertIs(act(self.client, proposal, "undo")["success"], True)
        self.assert_as_before()
        self.assertTrue(os.path.samefile(self.workspace / "linked", self.workspace / "also"))

    def test_a_discarded_proposal_leaves_nothing_and_a_conflict_commits_nothing(self):
        proposal = self.staged(CHANGE)["proposal"]["id"]
        self.assertEqual(act(self.client, proposal, "discard")["proposal"]["state"], "discarded")
        self.assert_as_before()
        self.assertFalse((staging_of(self.daemon) / proposal).exists())
        proposal = self.staged(CHANGE)["proposal"]["id"]
        self.assertEqual(self.client.execute("open('/workspace/text', 'a').write('other\\n')")["outcome"], "ok")
        before = picture(self.workspace, True)
        told = act(self.client, proposal)
        self.assertEqual((told["code"], [one["path"] for one in told["conflicts"]]), ("conflict", ["text"]), told)
        self.assertEqual(picture(self.workspace, True), before)
        self.assertIs(act(self.client, proposal, paths=["linked"])["success"], True)
        self.assertEqual((self.workspace / "linked").read_text(), "linked\nmore\n")

    def test_jails_see_nothing_of_the_layers_and_the_host_nothing_of_their_mounts(self):
        found = self.staged("import os\nresult = [os.listdir('/workspace'), os.listdir('/'), open('/proc/self/mountinfo').read()]\n"
                            "open('/workspace/made', 'w').close()")
        names, top, mounts = found["result"]
        self.assertEqual(sorted(names), ["also", "closed", "gone", "link", "linked", "moved", "removed", "text"])
        self.assertFalse({"l", "u", "w"} & set(top), top)
        self.assertNotIn(str(self.daemon.state), mounts)
        with open("/proc/self/mountinfo") as own:
            self.assertNotIn("staging", own.read())
        act(self.client, found["proposal"]["id"], "discard")


class Cold(StagedLife, unittest.TestCase):
    start = "cold"


class Exec(StagedLife, unittest.TestCase):
    start = "exec"


class Fork(StagedLife, unittest.TestCase):
    start = "fork"


class RootlessCold(StagedLife, unittest.TestCase):
    start, user = "cold", "ordinary"


class RootlessExec(StagedLife, unittest.TestCase):
    start, user = "exec", "ordinary"


class RootlessFork(StagedLife, unittest.TestCase):
    start, user = "fork", "ordinary"


class Automatic(DaemonTest):
    """A policy that stages every execution and commits those that end well."""

    policy = {"workspace": {"mode": "staged", "commit": "auto"}}

    def test_a_good_program_is_committed_at_once_and_all_others_leave_nothing(self):
        found = self.expect("ok", "open('/workspace/good', 'w').write('1')")
        self.assertEqual(found["proposal"]["state"], "committed")
        write = "open('/workspace/bad', 'w').write('1')\n"
        for outcome, code, more in (("error", "1 / 0", {}), ("exit", "import os\nos._exit(3)", {}),
                                    ("memory", "held = []\nwhile True: held.append(bytearray(1 << 20))", {"memory_mb": 64}),
                                    ("timeout", "import time\ntime.sleep(600)", {"timeout_seconds": 3}),
                                    ("signal", "import os\nos.kill(os.getppid(), 9)\nos.kill(os.getpid(), 9)", {})):
            with self.subTest(outcome):
                found = self.execute(write + code, **more)
                self.assertNotEqual(found["outcome"], "ok", found)
                self.assertEqual(found.get("proposal", {}).get("state", "discarded"), "discarded", found)
        self.assertEqual(picture(workspace_of(self.daemon)), {"good": ["0o100644", "1"]})


class Quota(unittest.TestCase):
    """The project of a workspace holds its staging folders, too."""

    def setUp(self):
        self.daemon = self.enterContext(CgroupDaemon(quota={"workspace_bytes": BYTES, "workspace_files": FILES}))
        self.client = self.enterContext(self.daemon.connect())

    def staged(self, code):
        return self.client.execute(code, workspace="staged", timeout_seconds=100)

    def test_staged_files_are_in_the_workspaces_project_and_the_kernel_refuses_what_the_account_has_not_seen(self):
        proposal = self.staged("open('/workspace/a', 'w').write('a')")["proposal"]["id"]
        upper, workspace = staging_of(self.daemon) / proposal / "u", workspace_of(self.daemon)
        self.assertEqual(project_of(upper), project_of(workspace))
        owner = upper.stat()
        written = subprocess.run(["python3", "-c", WRITE, upper / "large", str(owner.st_uid), str(owner.st_gid)])
        self.assertEqual(written.returncode, errno.EDQUOT)
        self.assertLessEqual((upper / "large").stat().st_blocks // 2, WALL_KIB)
        (upper / "large").unlink()
        self.assertIs(act(self.client, proposal)["success"], True)
        self.assertEqual(project_of(workspace)[0], int(subprocess.run(
            ["lsattr", "-p", workspace / "a"], check=True, text=True, capture_output=True).stdout.split()[0]))

    def test_the_account_speaks_first_and_leaves_no_proposal(self):
        self.assertEqual(self.client.execute("open('/workspace/keep', 'w').write('kept')")["outcome"], "ok")
        before = picture(workspace_of(self.daemon), True)
        found = self.staged("import time\nwith open('/workspace/large', 'wb', 0) as file:\n"
                            "    for _ in range(3): file.write(bytes(1 << 20))\ntime.sleep(100)")
        self.assertEqual(found["outcome"], "disk", found)
        self.assertEqual(picture(workspace_of(self.daemon), True), before)
        self.assertNotIn("proposal", found)


class AdministratorsQuota(unittest.TestCase):
    """A project quota that an administrator set, below the account's: only the kernel knows it."""

    def limit(self, kib):
        subprocess.run(["setquota", "-P", "42", "0", str(kib), "0", "0", DISK], check=True)

    def test_a_copy_up_at_the_edge_of_the_quota_ends_as_disk_and_changes_nothing(self):
        with CgroupDaemon() as daemon, daemon.connect() as client:
            self.assertEqual(client.execute("open('/workspace/large', 'w').write('x' * 700_000)")["outcome"], "ok")
            before = picture(workspace_of(daemon), True)
            for top in (workspace_of(daemon), staging_of(daemon)):
                for path in (top, *top.rglob("*")):
                    subprocess.run(["chattr", *(["+P"] if path.is_dir() else []), "-p", "42", path], check=True)
            self.limit(1024)  # the file has room there once, and no second time
            append = "open('/workspace/large', 'a').write('more')"
            found = client.execute(append, workspace="staged")
            self.assertEqual(found["outcome"], "disk", found)
            self.assertEqual(picture(workspace_of(daemon), True), before)
            if "proposal" in found:
                act(client, found["proposal"]["id"], "discard")
            self.limit(0)
            found = client.execute(append, workspace="staged")
            self.assertEqual((found["outcome"], found["files"]), ("ok", {"modified": ["large"]}), found)


class Unfit:
    """A state folder on the guest's root, which is an overlay itself: no upper layer of another one."""

    user = None

    def test_a_staged_execution_is_refused_by_name_and_direct_ones_run(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-state-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, folder)
        folder.chmod(0o711)
        if self.user:
            shutil.chown(folder, self.user, self.user)
        daemon = CgroupDaemon(user=self.user)
        daemon.state = folder / "state"
        with daemon, daemon.connect() as client:
            self.assertEqual(client.execute("open('/workspace/kept', 'w').write('x')")["outcome"], "ok")
            for _ in range(2):
                found = client.execute("open('/workspace/kept', 'w').write('y')", workspace="staged")
                self.assertEqual((found["success"], found["outcome"], found["rule"]), (False, "denied", "workspace.mode"), found)
                self.assertIn("the workspace cannot be staged", found["error"])
                for word in ("ext4", "overlayfs", "direct executions work"):
                    self.assertIn(word, found["remedy"])
            self.assertEqual(client.execute("result = open('/workspace/kept').read()")["result"], "x")


class OnUnfitFolder(Unfit, unittest.TestCase):
    pass


class RootlessOnUnfitFolder(Unfit, unittest.TestCase):
    user = "ordinary"
