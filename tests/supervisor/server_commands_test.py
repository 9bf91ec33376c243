"""warder servers: list, add, remove, test, import and install, with a daemon on a bus of the test's own."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tarfile
import tempfile
import unittest

from bus_harness import Bus, BusDaemon
from harness import PATIENCE, ROOT, Policies
from upstream_harness import SERVER

WARDER = os.environ["WARDER"]
DENIES = {"otherwise": "deny", "rules": []}


class ServerCommands(unittest.TestCase):
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

    def test_a_server_is_added_tested_listed_and_removed_without_a_restart(self):
        daemon = self.daemon()
        done = self.add_near()
        self.assertIn("near starts, 16 tools: add, die, echo", done.stdout)
        self.assertIn("refuses 16 (calls.otherwise", done.stdout)
        self.assertIn('{"name":"server-near","tools":["near.*"],"verdict":"allow"}', done.stdout)
        file = self.drop_ins / "50-server-near.json"
        self.assertEqual(json.loads(file.read_text())["servers"]["near"]["jail"], "none")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o644)
        near = self.listed()["near"]
        self.assertEqual((near["Kind"], near["Place"], near["State"], near["Problem"]), ("command", "host", "idle", ""))
        self.assertEqual(len(near["Tools"]), 16)
        table = subprocess.run([WARDER, "servers", "list", "--bus", self.bus.address], capture_output=True, text=True).stdout
        self.assertEqual(table.splitlines()[1].split(), ["near", "command", "host", "idle", "16"])
        self.assertIn("near starts", self.warder("test", "near", flags=self.policy_flags()).stdout)
        with daemon.connect() as client:
            refused = client.call("call_tool", {"name": "near.add", "arguments": {"a": 1, "b": 2}})
            self.assertTrue(refused.get("isError"), "a new server is no right to call it")
        self.warder("remove", "near", flags=self.policy_flags())
        self.assertEqual(self.listed(), {})
        self.assertFalse(file.exists())
        self.assertIn("no server is named 'near'", self.warder("remove", "near", status=1).stderr)

    def test_call_allow_writes_the_rule_and_calls_work_at_once(self):
        daemon = self.daemon()
        done = self.add_near("--call", "allow")
        self.assertIn("allows all 16 tools", done.stdout)
        rules = json.loads((self.policies.folder / "default.json").read_text())["calls"]["rules"]
        self.assertEqual(rules[0], {"name": "server-near", "tools": ["near.*"], "verdict": "allow"})
        with daemon.connect() as client:
            result = client.call("call_tool", {"name": "near.add", "arguments": {"a": 1, "b": 2}})
            self.assertEqual(result["structuredContent"]["result"], {"sum": 3})
        self.add_near("--replace", "--call", "deny")
        rules = json.loads((self.policies.folder / "default.json").read_text())["calls"]["rules"]
        self.assertEqual([rule["verdict"] for rule in rules], ["deny"], "the rule is replaced, not repeated")

    def test_a_removed_server_leaves_no_right_to_a_later_one_of_its_name(self):
        daemon = self.daemon()
        self.add_near("--call", "allow")
        done = self.warder("remove", "near", flags=self.policy_flags())
        self.assertIn('the rule "server-near" was removed', done.stdout)
        self.assertEqual(json.loads((self.policies.folder / "default.json").read_text())["calls"]["rules"], [])
        self.assertIn("refuses 16", self.add_near().stdout)
        with daemon.connect() as client:
            refused = client.call("call_tool", {"name": "near.add", "arguments": {"a": 1, "b": 2}})
            self.assertTrue(refused.get("isError"), "the daemon has reloaded the policies, too")

    def test_a_server_that_another_file_gave_the_daemon_is_not_confused(self):
        self.daemon()
        self.add_near()
        other = self.folder / "other.json"
        other.write_text("{}")
        done = subprocess.run([WARDER, "servers", "add", "--bus", self.bus.address, "--config", str(other), "near", "--",
                               "/usr/bin/true"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the daemon has a server 'near' that is not in this configuration", done.stderr)
        self.assertFalse(pathlib.Path(f"{other}.d").exists())

    def test_a_rule_can_be_written_later(self):
        self.daemon()
        self.add_near()
        done = self.warder("test", "near", flags=[*self.policy_flags(), "--config", str(self.config), "--call", "allow"])
        self.assertIn("allows all 16 tools", done.stdout)
        self.assertIn("not allow, ask or deny", self.warder("test", "near", flags=["--call", "maybe"], status=2).stderr)

    def test_the_policies_are_those_of_the_daemons_configuration(self):
        self.config.write_text(json.dumps({"policies": [os.fspath(self.policies)], "state": str(self.folder / "none")}))
        done = self.warder("add", "near", "--", "/usr/bin/true", flags=["--no-test", "--call", "ask"])
        self.assertIn(f'{self.policies.folder}/default.json: the rule "server-near" says: ask', done.stdout)

    def test_a_taken_name_and_a_bad_entry_are_refused_and_change_nothing(self):
        self.daemon()
        self.add_near()
        before = (self.drop_ins / "50-server-near.json").read_text()
        self.assertIn("named 'near' already", self.add_near(status=2).stderr)
        self.add_near("--replace", "--env", "COLOUR=red")
        self.assertNotEqual((self.drop_ins / "50-server-near.json").read_text(), before)
        for name, words, says in (("a__b", ["/usr/bin/true"], "a name is 1 to 48"),
                                  ("../x", ["/usr/bin/true"], "a name is 1 to 48"), ("", ["/usr/bin/true"], "a name is 1 to 48"),
                                  ("x" * 49, ["/usr/bin/true"], "a name is 1 to 48"),
                                  ("u", ["https://h/", "more"], "more words after the URL"),
                                  ("u", ["https://"], "servers.u.url"), ("u", ["ftp://h/"], "not a URL that Warder can use"),
                                  ("f", ["/usr/bin/true"], "neither an absolute path")):
            flags = ["--folder", "relative"] if name == "f" else []
            self.assertIn(says, self.add(name, *words, flags=flags, status=2).stderr)
        self.assertEqual(sorted(os.listdir(self.drop_ins)), ["50-server-near.json"])

    def test_a_server_of_another_file_is_not_replaced_or_removed(self):
        self.drop_ins.mkdir()
        (self.drop_ins / "10-own.json").write_text(json.dumps({"servers": {"own": {"command": "/usr/bin/true"}}}))
        self.daemon()
        self.assertIn("10-own.json", self.add("own", "/usr/bin/true", flags=["--replace"], status=2).stderr)
        self.assertIn("10-own.json", self.warder("remove", "own", status=1).stderr)

    def test_a_server_that_does_not_start_says_why_and_what_helps(self):
        self.daemon()
        done = self.add("far", "/usr/bin/python3", str(self.folder / "server.py"), status=1)
        self.assertIn("far does not start", done.stderr)
        self.assertIn("can't open file", done.stderr)
        self.assertIn("warder servers install FOLDER", done.stderr)
        self.assertEqual(self.listed()["far"]["State"], "failed")
        self.assertIn("can't open file", self.listed()["far"]["Problem"])
        self.assertIn("can't open file", self.warder("test", "far", status=1).stderr)
        self.assertIn("no server named 'nothing'", self.warder("test", "nothing", status=1).stderr)

    def test_variables_are_for_root_and_the_daemon_alone(self):
        self.daemon()
        self.add_near("--env", "API_KEY=geheim-123")
        file = self.drop_ins / "50-server-near.json"
        status = file.stat()
        if ROOT:
            self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid), (0o640, 0))
            self.assertNotEqual(status.st_gid, 0)
        else:
            self.assertEqual(stat.S_IMODE(status.st_mode), 0o600)
        self.assertEqual(self.listed()["near"]["Problem"], "", "the daemon could read it at the reload")

    def test_a_reload_that_fails_takes_nothing(self):
        self.daemon()
        self.policies.write("own.json", "{")
        done = self.add_near(status=1)
        self.assertIn("nothing was added, because the reload failed", done.stderr)
        self.assertEqual(os.listdir(self.drop_ins), [])
        (self.policies.folder / "own.json").unlink()
        self.add_near()
        self.policies.write("own.json", "{")
        self.warder("remove", "near", status=1)
        self.assertEqual(os.listdir(self.drop_ins), ["50-server-near.json"])

    def test_without_a_daemon_the_configuration_is_written_and_listed(self):
        self.config.write_text(json.dumps({"state": str(self.folder / "none")}))
        done = self.add_near("--no-test")
        self.assertIn("no daemon runs", done.stdout)
        done = self.warder("list")
        self.assertIn("near  command  host", done.stdout)
        self.assertIn("as the configuration has them", done.stderr)
        self.assertIn("no warderd is on this bus", self.warder("test", "near", status=125).stderr)

    @unittest.skipUnless(ROOT, "NOT TESTED: another user needs root")
    def test_ordinary_users_see_no_servers_of_the_daemon(self):
        self.daemon()
        self.add_near()
        done = self.bus.busctl("call", "org.warder.Warder1", "/org/warder/Warder1", "org.warder.Warder1.Manager",
                               "ListServers", user=65534, check=False)
        self.assertIn("see all tenants", done.stderr)

    def client_file(self, **servers):
        path = self.folder / "claude.json"
        path.write_text(json.dumps({"numStartups": 3, "mcpServers": servers, "projects": {
            "/home/ada/x": {"mcpServers": {"near project": {"command": "python3", "args": ["-c", "pass"]}}}}}))
        return path

    def test_import_shows_what_works_and_what_does_not_and_adds_after_a_yes(self):
        self.daemon()
        os.environ["TEST_KEY"] = "from the user"
        file = self.client_file(**{
            "good": {"command": "python3", "args": ["-c", "pass", "${TEST_KEY}"], "env": {"A": "${NONE:-else}"}},
            "fetched": {"command": "npx", "args": ["-y", "@scope/server-x", "--flag"]},
            "script": {"command": "python3", "args": [str(self.folder / "server.py")]},
            "old": {"type": "sse", "url": "https://host.example/sse"}})
        done = self.warder("import", str(file), status=1, stdin=subprocess.DEVNULL)
        self.assertIn("nothing was added", done.stderr)
        self.assertFalse(self.drop_ins.exists() and os.listdir(self.drop_ins))
        works, cannot = done.stdout.split("cannot work in a jail:")
        self.assertIn("good: python3", works)
        self.assertIn("near-project", works)
        self.assertIn("of the project /home/ada/x", works)
        self.assertIn("warder servers install npm:@scope/server-x --name fetched -- --flag", cannot)
        self.assertIn(f"warder servers install {self.folder} --run server.py", cannot)
        self.assertIn("it speaks sse", cannot)
        done = self.warder("import", str(file), flags=["--only", "good", "--yes", *self.policy_flags()], status=1)
        self.assertIn("good does not start", done.stderr, "`pass` is no MCP server")
        entry = json.loads((self.drop_ins / "50-server-good.json").read_text())["servers"]["good"]
        self.assertEqual(entry, {"command": "python3", "args": ["-c", "pass", "from the user"], "env": {"A": "else"}})
        self.assertIn("good", self.listed())
        self.assertIn("no server named 'x'", self.warder("import", str(file), flags=["--only", "x"], status=1).stderr)

    @unittest.skipUnless(ROOT, "NOT TESTED: another user's file needs root")
    def test_a_file_of_another_user_gets_no_variables_of_root(self):
        self.daemon()
        file = self.client_file(good={"command": "python3", "args": ["${TEST_SECRET}"]})
        os.chown(file, 65534, 65534)
        done = self.warder("import", str(file), flags=["--only", "good", "--yes"], status=1,
                           env={**os.environ, "TEST_SECRET": "geheim-of-root"})
        self.assertIn("import it as that user", done.stdout)
        self.assertNotIn("geheim-of-root", done.stdout + done.stderr)

    @unittest.skipUnless(ROOT, "NOT TESTED: programs are copied below /usr by root")
    def test_a_hostile_archive_reaches_nothing_else(self):
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
        self.assertEqual([name for name in os.listdir("/var/tmp") if name.startswith("warder-package-")], [])

    @unittest.skipUnless(ROOT, "NOT TESTED: programs are copied below /usr by root")
    def test_install_copies_a_folder_to_where_jails_see_it(self):
        daemon = self.daemon()
        into = self.folder_below_usr()
        (self.folder / "link").symlink_to("/etc/shadow")
        (self.folder / "server.py").chmod(0o4755)
        done = self.warder("install", str(self.folder), status=0,
                           flags=["--into", str(into), "--run", "server.py", "--name", "copied", "--call", "allow",
                                  *self.policy_flags()])
        self.assertIn("copied starts, 16 tools", done.stdout)
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

    @unittest.skipUnless(ROOT, "NOT TESTED: programs are copied below /usr by root")
    def test_install_unpacks_a_package_without_its_scripts_and_without_privileges(self):
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
        flags = ["--into", str(into), *self.policy_flags()]
        done = self.warder("install", str(archive), flags=flags)
        self.assertIn("near starts, 16 tools", done.stdout)
        self.assertEqual(os.listdir(into), ["@test+server-near@1.2.3"], "and not the file that its script would make")
        self.assertEqual((into / "@test+server-near@1.2.3").stat().st_uid, 0)
        (package / "package.json").write_text(json.dumps({
            "name": "@test/server-near", "version": "1.2.4", "bin": "server.py", "dependencies": {"left-pad": "1"}}))
        pack()
        done = self.warder("install", str(archive), flags=[*flags, "--name", "other"], status=2)
        self.assertIn("needs 1 packages that are not in the file", done.stderr)
        self.assertEqual(os.listdir(into), ["@test+server-near@1.2.3"], "nothing half is left")
        self.assertEqual([name for name in os.listdir("/var/tmp") if name.startswith("warder-package-")], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
