"""Proposals of the installed service: an administrator's commands, restarts, a daemon that is killed in the middle of
commits and undos, and what the doctor says. The state folder is on a disk, as on a real machine."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from suite.service import POLICIES, InstalledService, another_daemon, connect, show, systemctl
from suite.staging import CHANGE, SEE, TREE, act, picture
from suite.warder import META, DISK, PATIENCE, use_disk, wait_until

STATE = pathlib.Path("/var/lib/warder")
WORKSPACE, STAGING = STATE / "tenants/uid-0/workspace", STATE / "tenants/uid-0/staging"
TENANT = ("--tenant", "uid-0")
COUNT = 300  # files of a large commit
FILES = [f"f{number:03}" for number in range(COUNT)]
WRITE_ALL = f"""
import os
for name in {FILES}:
    with open('/workspace/' + name, 'w') as file: file.write(text)
"""


def warder(*words, status=0):
    done = subprocess.run(["warder", *words], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def staging_finding():
    findings = json.loads(subprocess.run(["warder", "doctor", "--json"], capture_output=True, text=True).stdout)["findings"]
    return next(one for one in findings if one["what"] == "staging")


class OnDisk(InstalledService):
    """Its state folder is a folder of the disk for the time of a test."""

    def setUp(self):
        systemctl("stop", "warder.socket", "warder-metrics.socket", "warder.service")
        use_disk()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="service-", dir=DISK))
        owner = STATE.stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        folder.chmod(owner.st_mode & 0o777)
        subprocess.run(["mount", "--bind", folder, STATE], check=True)
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(subprocess.run, ["umount", STATE], check=True)
        super().setUp()
        self.client = self.enterContext(contextlib.closing(connect()))

    def staged(self, code, **more):
        found = self.client.execute(code, workspace="staged", **more)
        self.assertEqual(found["outcome"], "ok", found)
        return found["proposal"]["id"]


class Commands(OnDisk):
    def test_an_administrator_compares_commits_undoes_and_discards(self):
        self.assertEqual(self.client.execute(TREE)["outcome"], "ok")
        before = picture(WORKSPACE, True)
        found = self.client.execute(CHANGE + SEE, workspace="staged")
        proposal = found["proposal"]["id"]
        (listed,) = [line for line in warder("diff").splitlines() if found["execution_id"] in line]
        self.assertIn("open", listed.split())
        self.assertIn("\n+more\n", warder("diff", proposal[:8]))
        warder("commit", proposal[:8])
        self.assertEqual(picture(WORKSPACE), found["result"])
        warder("undo", proposal)
        self.assertEqual(picture(WORKSPACE, True), before)
        proposal = self.staged(CHANGE)
        warder("discard", proposal)
        self.assertFalse((STAGING / proposal).exists())
        proposal = self.staged(CHANGE)
        self.client.execute("open('/workspace/text', 'a').write('other\\n')")
        before = picture(WORKSPACE, True)
        self.assertIn("    text: ", warder("commit", proposal, status=1))
        self.assertEqual(picture(WORKSPACE, True), before)

    def test_a_restart_keeps_open_proposals_and_what_can_be_undone(self):
        self.client.execute(TREE)
        committed, kept = self.staged("open('/workspace/text', 'w').write('new')"), self.staged(CHANGE + SEE)
        self.assertIs(act(self.client, committed)["success"], True)
        self.client.close()
        systemctl("restart", "warder.service")
        self.assertEqual(warder("diff").strip().splitlines()[1:], [], "no client uses the tenant yet")
        states = {one["Id"]: one["State"] for one in map(json.loads, warder("diff", "--json", *TENANT).splitlines())}
        self.assertEqual(states, {committed: "committed", kept: "open"})
        warder("undo", committed, *TENANT)
        self.assertEqual((WORKSPACE / "text").read_text(), "text\n")
        with connect() as client:
            self.assertIs(act(client, kept)["success"], True)
        self.assertEqual((WORKSPACE / "text").read_text(), "text\nmore\n")

    def test_the_doctor_sees_the_disk(self):
        found = staging_finding()
        self.assertEqual(found["health"], "good", found)
        self.assertIn("default", found["found"])


class Killed(OnDisk):
    """kill -9 while files change places. Before the daemon serves again, all are the old ones or all the new ones."""

    def setUp(self):
        super().setUp()
        self.client.execute("text = 'text 0'" + WRITE_ALL)
        self.kills_between = 0

    def texts(self):
        return {(WORKSPACE / name).read_text() for name in FILES}

    def kill_during(self, action, proposal, is_time):
        """Asks for the action, stops the daemon when it is time, looks, and kills it."""
        inode = (WORKSPACE / FILES[COUNT // 2]).stat().st_ino
        daemon = show("MainPID")
        self.client.send({"jsonrpc": "2.0", "id": "background", "method": "tools/call", "params": {
            "name": "commit_workspace", "arguments": {"proposal": proposal, "action": action}, "_meta": META}})
        wait_until("the moment to kill", lambda: is_time(STAGING / proposal, inode))
        os.kill(int(daemon), signal.SIGSTOP)
        wait_until("the daemon stands still", lambda: pathlib.Path(f"/proc/{daemon}/stat").read_text().split(") ")[1][0] == "T")
        self.kills_between += len(self.texts()) > 1
        os.kill(int(daemon), signal.SIGKILL)
        while (message := self.client.receive()) and message.get("id") != "background":
            pass
        another_daemon(daemon)

    def read(self, name):
        return json.loads(self.client.call("read_workspace_file", {"filename": name})["content"][0]["text"])["content"]

    def whole(self):
        """What all files say, read by an agent first: no program has run since."""
        self.assertEqual(self.read(FILES[0]), self.read(FILES[-1]))
        (text,) = self.texts()
        return text

    def state_of(self, proposal):
        states = {one["Id"]: one["State"] for one in map(json.loads, warder("diff", "--json", *TENANT).splitlines())}
        return states.get(proposal)

    def test_no_commit_and_no_undo_leaves_a_mixed_state(self):
        def moved(part):
            name = FILES[int(part * (COUNT - 1))]
            return lambda staging, _: (WORKSPACE / name).read_text() != self.text

        moments = [lambda staging, _: (staging / "old").exists(), lambda staging, _: (staging / "journal.1").exists(),
                   moved(0), moved(0.3), lambda staging, inode: (WORKSPACE / FILES[COUNT // 2]).stat().st_ino != inode, moved(0.9)]
        for number, is_time in enumerate(moments, 1):
            with self.subTest(commit=number):
                self.text, new = self.whole(), f"text {number}"
                proposal = self.staged(f"text = '{new}'" + WRITE_ALL)
                self.kill_during("commit", proposal, is_time)
                if self.whole() == self.text:
                    self.assertEqual(self.state_of(proposal), "open")
                    self.assertIs(act(self.client, proposal)["success"], True)
                self.assertEqual((self.whole(), self.state_of(proposal)), (new, "committed"))
        for part in (0.9, 0.4):  # an undo goes the other way
            with self.subTest(undo=part):
                before, self.text = self.text, new
                self.kill_during("undo", proposal, moved(part))
                self.assertEqual(self.whole(), before)
                self.assertIsNone(self.state_of(proposal), "it is undone")
                proposal = self.staged(f"text = '{new}'" + WRITE_ALL)
                self.assertIs(act(self.client, proposal)["success"], True)
                self.text = before
        self.assertGreater(self.kills_between, 2, "kills that met files of both kinds")

    def test_a_policy_that_stages_no_longer_sees_no_mixed_state_either(self):
        self.text = self.whole()
        proposal = self.staged("text = 'new'" + WRITE_ALL)
        policy = json.loads((POLICIES / "default.json").read_text())
        policy["workspace"] = {**policy["workspace"], "mode": "direct", "choose": False}
        (POLICIES / "default.json").write_text(json.dumps(policy))  # for the next daemon
        self.kill_during("commit", proposal, lambda staging, inode: (WORKSPACE / FILES[COUNT // 2]).stat().st_ino != inode)
        found = self.client.execute("result = sorted({open('/workspace/' + name).read() for name in " + f"{FILES}" + "})")
        self.assertIn(found["result"], (["text 0"], ["new"]), found)


class OnUnfitFolder(InstalledService):
    """The guest's own root: an overlay, which can be no upper layer."""

    def test_the_doctor_names_a_file_system_that_cannot_stage_and_what_would(self):
        with connect() as client:
            self.assertIn("cannot be staged", client.execute("open('/workspace/x', 'w')", workspace="staged")["error"])
            found = staging_finding()
        self.assertEqual(found["health"], "note", found)
        self.assertIn(f"{STATE}/tenants is on overlayfs", found["found"])
        for word in ("ext4", "workspace"):
            self.assertIn(word, found["remedy"])
        policy = json.loads((POLICIES / "default.json").read_text())
        policy["workspace"] = {**policy["workspace"], "mode": "staged"}
        (POLICIES / "default.json").write_text(json.dumps(policy))
        systemctl("reload", "warder.service")
        self.assertEqual(staging_finding()["health"], "bad")
