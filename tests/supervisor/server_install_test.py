"""warder servers install: programs of folders and archives, copied below /usr, with a daemon on a bus of the test's own."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import stat
import tarfile
import unittest

from harness import ROOT
from server_commands_harness import ServerCommandTest
from upstream_harness import SERVER


def unused_scratch_folders():
    """What killed commands left. One in use is another test's, or of a person."""
    found = set()
    for folder in pathlib.Path("/var/tmp").glob("warder-package-*"):
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            opened = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.add(folder)
            finally:
                os.close(opened)
    return found


@unittest.skipUnless(ROOT, "NOT TESTED: programs are copied below /usr by root")
class Install(ServerCommandTest):
    def test_a_hostile_archive_reaches_nothing_else(self):
        before = unused_scratch_folders()
        self.daemon()
        into = self.folder_below_usr()
        manifest = self.folder / "package.json"
        manifest.write_text(json.dumps({"name": "hostile", "version": "1.0.0", "bin": "server.py"}))
        secret = self.folder / "secret"
        secret.write_text("geheim")
        secret.chmod(0o600)
        archive = self.folder / "server.tgz"
        flags = ["--into", str(into), *self.policy_flags()]

        def pack(*members):
            with tarfile.open(archive, "w:gz") as tar:
                tar.add(SERVER, "package/server.py")
                tar.add(manifest, "package/package.json")
                for name, kind, more in members:
                    member = tarfile.TarInfo(name)
                    member.type, member.mode = kind, 0o6777
                    for key, value in more.items():
                        setattr(member, key, value)
                    tar.addfile(member)

        refused = [("package/../../../../../../../../" + os.fspath(self.folder) + "/escaped", tarfile.REGTYPE, {}, "'..'"),
                   ("package/name", tarfile.LNKTYPE, {"linkname": os.fspath(secret)}, "Cannot hard link"),
                   ("package/disk", tarfile.BLKTYPE, {"devmajor": 8, "devminor": 0}, "Cannot mknod")]
        for *member, why in refused:
            with self.subTest(member=member[0]):
                pack(member)
                self.assertIn(why, self.warder("install", str(archive), flags=flags, status=2).stderr)
                self.assertEqual(os.listdir(into), [])
        pack((f"{self.folder}/escaped", tarfile.REGTYPE, {}),
             ("package/way", tarfile.SYMTYPE, {"linkname": os.fspath(self.folder)}),
             ("package/way/escaped", tarfile.REGTYPE, {}))
        self.assertIn("failed", self.warder("install", str(archive), flags=flags, status=2).stderr)
        pack((f"{self.folder}/escaped", tarfile.REGTYPE, {}), ("package/pipe", tarfile.FIFOTYPE, {}),
             ("package/etc", tarfile.SYMTYPE, {"linkname": "/etc"}), ("package/set-id", tarfile.REGTYPE, {}))
        done = self.warder("install", str(archive), flags=flags)
        self.assertIn("2 links and special files were left out", done.stderr)
        self.assertFalse((self.folder / "escaped").exists())
        (place,) = into.iterdir()
        self.assertEqual(sorted(os.listdir(place / "package")), ["package.json", "server.py", "set-id"])
        for file in (place, place / "package", *(place / "package").iterdir()):
            status = file.lstat()
            self.assertEqual((status.st_mode & 0o7022, status.st_uid), (0, 0), file)
        self.assertEqual(unused_scratch_folders() - before, set())

    def test_install_copies_a_folder_to_where_jails_see_it(self):
        daemon = self.daemon()
        into = self.folder_below_usr()
        (self.folder / "link").symlink_to("/etc/shadow")
        (self.folder / "server.py").chmod(0o4755)
        done = self.warder("install", str(self.folder), status=0,
                           flags=["--into", str(into), "--run", "server.py", "--name", "copied", "--call", "allow",
                                  *self.policy_flags()])
        self.assertIn("copied starts, 17 tools", done.stdout)
        (place,) = into.iterdir()
        self.assertEqual(place.name, f"{self.folder.name}@local")
        self.assertEqual(os.listdir(place), ["server.py"], "links are left out")
        self.assertEqual(stat.S_IMODE((place / "server.py").stat().st_mode), 0o755)
        self.assertEqual(self.listed()["copied"]["Place"], "jail")
        with daemon.connect() as client:
            result = client.call("call_tool", {"name": "copied.add", "arguments": {"a": 20, "b": 22}})
            self.assertEqual(result["structuredContent"]["result"], {"sum": 42})
        again = self.warder("install", str(self.folder), status=2,
                            flags=["--into", str(into), "--run", "server.py", "--name", "copied"])
        self.assertIn("already", again.stderr)

        def install(name, *flags, status=0):
            return self.warder("install", str(self.folder), status=status,
                               flags=["--into", str(into), "--run", "server.py", "--name", name, *flags, *self.policy_flags()])

        def program_of(name):
            return json.loads((self.drop_ins / f"50-server-{name}.json").read_text())["servers"][name]["args"][0]
        self.assertIn(f"the same is already in {place}, ", install("second").stdout)
        self.assertEqual(list(into.iterdir()), [place])
        self.assertEqual(program_of("second"), program_of("copied"))
        with open(self.folder / "server.py", "a") as program:
            program.write("\n# changed\n")
        self.assertIn(f"copied to {place}@third, ", install("third").stdout)
        self.assertEqual(program_of("third"), f"{place}@third/server.py")
        self.assertNotIn("# changed", (place / "server.py").read_text(), "the others keep theirs")
        self.assertIn(f"copied to {place}@second, ", install("second", "--replace").stdout)
        self.assertIn(f"copied to {place}, ", install("copied", "--replace").stdout)
        self.assertIn("# changed", (place / "server.py").read_text())
        with open(self.folder / "server.py", "a") as program:
            program.write("# again\n")
        self.policies.write("own.json", "{")
        failed = install("copied", "--replace", status=1).stderr
        self.assertIn("the former copied is in force again", failed)
        self.assertIn(f"its former program is in {place} again", failed)
        self.assertNotIn("# again", (place / "server.py").read_text())
        self.assertEqual(sorted(into.iterdir()), [place, into / f"{place.name}@second", into / f"{place.name}@third"])

    def test_install_unpacks_a_package_without_its_scripts_and_without_privileges(self):
        before = unused_scratch_folders()
        self.daemon()
        into = self.folder_below_usr()
        package = self.folder / "package"
        package.mkdir()
        shutil.copy(SERVER, package / "server.py")
        (package / "package.json").write_text(json.dumps({
            "name": "@test/server-near", "version": "1.2.3", "bin": "server.py",
            "scripts": {"postinstall": f"touch {into}/ran"}}))
        archive = self.folder / "server.tgz"

        def pack():
            with tarfile.open(archive, "w:gz") as tar:
                tar.add(package, "package")

        pack()
        left = pathlib.Path("/var/tmp/warder-package-kil1ed")  # as a killed command leaves it
        (left / "tree").mkdir(parents=True, exist_ok=True)
        (left / "tree/file").touch()
        flags = ["--into", str(into), *self.policy_flags()]
        done = self.warder("install", str(archive), flags=flags)
        self.assertFalse(left.exists())
        self.assertIn("near starts, 17 tools", done.stdout)
        self.assertEqual(os.listdir(into), ["@test+server-near@1.2.3"], "and not the file that its script would make")
        self.assertEqual((into / "@test+server-near@1.2.3").stat().st_uid, 0)
        (package / "package.json").write_text(json.dumps({
            "name": "@test/server-near", "version": "1.2.4", "bin": "server.py", "dependencies": {"left-pad": "1"}}))
        pack()
        done = self.warder("install", str(archive), flags=[*flags, "--name", "other"], status=2)
        self.assertIn("needs 1 packages that are not in the file", done.stderr)
        self.assertEqual(os.listdir(into), ["@test+server-near@1.2.3"], "nothing half is left")
        self.assertEqual(unused_scratch_folders() - before, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
