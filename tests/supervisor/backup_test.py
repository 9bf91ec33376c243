#!/usr/bin/env python3
"""warder backup and restore: the state comes back as it was, and an archive that no backup wrote is refused whole."""
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from harness import PATIENCE, ROOT, Client, Daemon, eventually

WARDER = os.environ["WARDER"]


def run(*words, status=0):
    done = subprocess.run([WARDER, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL)
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def entries(folder):
    """What a state folder has that must come back: by path, its owner, permissions, and contents or target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if parts[0] in ("journal", "template", "self-test") or path.is_socket():
            continue
        if parts[0] == "tenants" and parts[2:3] == ("staging",):  # proposals name files by inode
            continue
        status = path.lstat()
        what = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (status.st_uid, status.st_gid, status.st_mode, what)
    return found


@unittest.skipUnless(ROOT, "needs root, to give files their owners")
class Backup(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir="/var/tmp")))
        self.file = self.folder / "state.tar"

    def history(self, state):
        return [json.loads(line) for line in run("history", "--journal", state, "--json").stdout.splitlines()]

    def test_what_a_backup_took_while_serving_is_restored(self):
        with Daemon() as daemon:
            with Client(daemon.socket) as client:
                client.execute("import os; open('/workspace/a', 'w').write('x'); os.symlink('/etc/passwd', '/workspace/link'); "
                               "os.link('/workspace/a', '/workspace/b'); os.mkfifo('/workspace/fifo')")
                client.execute("print('printed')")
                staged = client.execute("import os; os.remove('/workspace/b')", workspace="staged")
                self.assertEqual(staged["proposal"]["state"], "open")  # its folder has a device that stands for `b`
                # What was answered is committed within some milliseconds; until then `history` does not show it.
                eventually(lambda: "running" not in str(self.history(daemon.state)), "the end of the last execution")
                said = run("backup", self.file, "--state", daemon.state, "--with-key").stderr
                self.assertNotIn("master.key is not in", said)
                self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
                before = self.history(daemon.state)
            self.assertIn("a daemon uses", run("restore", self.file, "--state", daemon.state, "--force", status=1).stderr)
            daemon.stop()
            wanted = entries(daemon.state)
            self.assertIn("is not empty", run("restore", self.file, "--state", daemon.state, status=1).stderr)
            owner = daemon.state.stat()
            shutil.rmtree(daemon.state)
            daemon.state.mkdir(0o700)
            os.chown(daemon.state, owner.st_uid, owner.st_gid)
            run("restore", self.file, "--state", daemon.state)
            self.assertEqual(entries(daemon.state), wanted)
            self.assertEqual(self.history(daemon.state), before)
            run("audit", "verify", daemon.state)
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = open('/workspace/a').read()")["result"], "x")

    def test_a_forced_restore_keeps_the_former_state_beside_it(self):
        with Daemon() as daemon:
            with Client(daemon.socket) as client:
                client.execute("result = 1")
            said = run("backup", self.file, "--state", daemon.state).stderr
            self.assertIn("master.key is not in the backup", said)
            daemon.stop()
            (daemon.state / "later").write_text("x")
            said = run("restore", self.file, "--state", daemon.state, "--force")
            self.assertIn("no master.key", said.stderr)
            self.assertFalse((daemon.state / "master.key").exists())
            (former,) = daemon.state.parent.glob(daemon.state.name + ".before-restore-*")
            self.assertTrue((former / "later").exists())
            self.assertTrue((former / "master.key").exists())

    def archive(self, *members, form=tarfile.GNU_FORMAT):
        """A file like a backup, with further members: (name, type, further attributes)."""
        self.file.unlink(missing_ok=True)
        with tarfile.open(self.file, "w", format=form) as archive:
            for name, kind, more in [("warder-backup.json", tarfile.REGTYPE, {}), ("journal", tarfile.DIRTYPE, {}),
                                     ("tenants", tarfile.DIRTYPE, {}), *members]:
                info = tarfile.TarInfo(name)
                info.type = kind
                for key, value in more.items():
                    setattr(info, key, value)
                archive.addfile(info, io.BytesIO(b"x" * info.size))
        self.file.chmod(0o600)

    def refused(self, why):
        state = self.folder / "state"
        said = run("restore", self.file, "--state", state, status=2).stderr
        self.assertIn(why, said)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["state.tar"])

    def test_archives_that_no_backup_wrote_are_refused_whole(self):
        file, folder, link = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
        for members, why in (
                ([("/etc/cron.d/x", file, {})], "absolute"),
                ([("tenants/../../x", file, {})], "'..'"),
                ([("..", folder, {})], "'..'"),
                ([("tenants//x", file, {})], "empty"),
                ([("tenants/a/disk", tarfile.BLKTYPE, {})], "kind"),
                ([("tenants/a/null", tarfile.CHRTYPE, {})], "kind"),
                ([("link", link, {"linkname": "/etc"})], "kind"),
                ([("fifo", tarfile.FIFOTYPE, {})], "kind"),
                ([("tenants/l", link, {"linkname": "/etc"}), ("tenants/l/x", file, {})], "leads through"),
                ([("tenants/f", file, {}), ("tenants/f/x", file, {})], "leads through"),
                ([("tenants/h", tarfile.LNKTYPE, {"linkname": "/etc/shadow"})], "unknown file"),
                ([("tenants/h", tarfile.LNKTYPE, {"linkname": "../x"})], "unknown file"),
                ([("tenants/s", file, {"mode": 0o4755})], "run as root"),
                ([("tenants/d", file, {}), ("tenants/d", file, {})], "twice"),
                ([("tenants/d", folder, {}), ("tenants/d", link, {"linkname": "/etc"})], "twice"),
                ([("../" + "x" * 300, file, {})], "'..'"),
                ([("tenants/" + "x" * 9000, file, {})], "too long")):
            with self.subTest(why=why, members=[m[0][:40] for m in members]):
                self.archive(*members)
                self.refused(why)

    def test_archives_of_another_form_or_cut_short_are_refused(self):
        self.archive(("tenants/" + "y" * 200, tarfile.REGTYPE, {}), form=tarfile.PAX_FORMAT)
        self.refused("no archive")
        self.archive(("tenants/folder", tarfile.DIRTYPE, {"size": 512}))
        self.refused("has contents")
        self.archive(("tenants/file", tarfile.REGTYPE, {"size": 100_000}))
        os.truncate(self.file, 20_000)
        self.refused("cut short")
        self.file.write_bytes(b"no archive at all" * 100)
        self.refused("no archive")
        self.file.write_bytes(b"")
        self.refused("is no backup")
        self.archive()
        self.file.chmod(0o622)
        self.assertIn("can be changed by other users",
                      run("restore", self.file, "--state", self.folder / "state", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
