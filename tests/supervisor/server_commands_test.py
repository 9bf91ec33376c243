"""warder servers: list, add, remove, test and import, with a daemon on a bus of the test's own."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

from bus_harness import BusDaemon
from harness import ORDINARY_USER, PATIENCE, ROOT, Daemon
from server_commands_harness import WARDER, ServerCommandTest


class ServerCommands(ServerCommandTest):
    def test_a_server_is_added_tested_listed_and_removed_without_a_restart(self):
        daemon = self.daemon()
        done = self.add_near()
        self.assertIn("near starts, 17 tools: add, die, echo", done.stdout)
        self.assertIn("refuses 17 (calls.otherwise", done.stdout)
        self.assertIn('{"name":"server-near","tools":["near.*"],"verdict":"allow"}', done.stdout)
        file = self.drop_ins / "50-server-near.json"
        self.assertEqual(json.loads(file.read_text())["servers"]["near"]["jail"], "none")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o644)
        near = self.listed()["near"]
        self.assertEqual((near["Kind"], near["Place"], near["State"], near["Problem"]), ("command", "host", "idle", ""))
        self.assertEqual(len(near["Tools"]), 17)
        table = subprocess.run([WARDER, "servers", "list", "--bus", self.bus.address], capture_output=True, text=True).stdout
        self.assertEqual(table.splitlines()[1].split(), ["near", "command", "host", "idle", "-", "17"])
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
        self.assertIn("allows all 17 tools", done.stdout)
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
        self.assertIn("refuses 17", self.add_near().stdout)
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
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"the daemon reads the configuration {self.config}, and this command would use {other}", done.stderr)
        self.assertIn(f"--config {self.config}", done.stderr)
        self.assertFalse(pathlib.Path(f"{other}.d").exists())
        elsewhere = self.folder / "policies"
        elsewhere.mkdir()
        shutil.copy(self.policies.folder / "default.json", elsewhere)
        shutil.copytree(self.policies.folder / "seccomp", elsewhere / "seccomp")
        done = self.warder("add", "second", "--", "/usr/bin/true", flags=["--policies", str(elsewhere), "--call", "allow"],
                           status=2)
        self.assertIn(f"the daemon reads the policies in {self.policies.folder}, and this command would use {elsewhere}",
                      done.stderr)
        self.assertEqual(os.listdir(self.drop_ins), ["50-server-near.json"], "nothing was written before that was known")

    @unittest.skipUnless(ROOT, "NOT TESTED: root reads what the daemon's user cannot")
    def test_a_rule_that_the_daemon_cannot_reload_is_not_left_in_the_file(self):
        self.daemon()
        self.add_near()
        file = self.policies.folder / "default.json"
        file.chmod(0o600)
        before = json.loads(file.read_text())
        done = self.warder("test", "near", flags=[*self.policy_flags(), "--call", "allow"], status=1)
        self.assertIn("its rule was not written: the reload with the rule failed", done.stderr)
        self.assertNotIn("says: allow", done.stdout)
        self.assertEqual(json.loads(file.read_text()), before)

    def test_a_rule_can_be_written_later(self):
        self.daemon()
        self.add_near()
        done = self.warder("test", "near", flags=[*self.policy_flags(), "--config", str(self.config), "--call", "allow"])
        self.assertIn("allows all 17 tools", done.stdout)
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

    def test_a_file_with_a_key_twice_is_neither_replaced_nor_removed(self):
        self.config.write_text(json.dumps({"policies": [os.fspath(self.policies)], "state": str(self.folder / "none")}))
        self.drop_ins.mkdir()
        file = self.drop_ins / "50-server-near.json"
        text = '{"servers": {\n "near": {"command": "/usr/bin/true"},\n "near": {"command": "/usr/bin/false"}}}\n'
        file.write_text(text)
        says = f'{file}: line 3, column 2: the key "near" is there twice, first in line 2'
        self.assertIn(says, self.warder("remove", "near", status=1).stderr)
        self.assertIn(says, self.add("near", "/usr/bin/true", flags=["--replace", "--no-test"], status=2).stderr)
        self.assertEqual(file.read_text(), text)

    def test_a_file_with_a_second_server_is_not_removed(self):
        self.config.write_text(json.dumps({"policies": [os.fspath(self.policies)], "state": str(self.folder / "none")}))
        self.drop_ins.mkdir()
        file = self.drop_ins / "50-server-near.json"
        file.write_text(json.dumps({"servers": {name: {"command": "/usr/bin/true"} for name in ("near", "far")}}))
        refused = self.warder("remove", "near", status=1).stderr
        self.assertIn(f"{file} also has the server 'far'", refused)
        self.assertIn(f"rm {file}", refused)
        self.assertTrue(file.exists())

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
        before = (self.drop_ins / "50-server-near.json").read_text()
        self.policies.write("own.json", "{")
        self.warder("remove", "near", status=1)
        self.assertEqual(os.listdir(self.drop_ins), ["50-server-near.json"])
        done = self.add("near", "/usr/bin/true", flags=["--replace"], status=1)
        self.assertIn("the former near is in force again, because the reload failed", done.stderr)
        self.assertEqual((self.drop_ins / "50-server-near.json").read_text(), before)
        self.assertEqual(len(self.listed()["near"]["Tools"]), 17, "the daemon still has the former one")

    def test_the_last_good_copy_is_of_what_the_daemon_runs(self):
        daemon = BusDaemon(self.bus, policies=self.policies)
        self.config.write_text(json.dumps({**json.loads(self.config.read_text()), "state": os.fspath(daemon.state),
                                           "policies": [os.fspath(self.policies)]}))
        self.enterContext(daemon)
        self.config.chmod(0o644)

        def kept():
            return json.loads((daemon.state / "last-good/configuration.json").read_text())["configuration"].get("servers", {})
        self.assertNotIn("not stored", self.add_near().stderr)
        self.assertEqual(list(kept()), ["near"] if ROOT else [])
        done = self.warder("remove", "near", flags=["--policies", str(self.folder)])
        self.assertEqual(self.listed(), {})
        if ROOT:
            self.assertIn("the last good copy of the configuration was not stored: the daemon reads the policies in "
                          f"{self.policies.folder}, and this command would use {self.folder}", done.stderr)
            self.assertEqual(list(kept()), ["near"], "the daemon does not run what this command has read")
        self.assertNotIn("not stored", self.add_near("--replace").stderr)

    def test_a_program_that_does_not_exist_is_refused_before_anything_is_written(self):
        self.daemon()
        own = self.folder / "tool"
        own.write_text("#!/bin/sh\n")
        for words, flags, says, helps in (
                (["/usr/bin/no-such-program"], [], "the program /usr/bin/no-such-program does not exist",
                 "warder servers install FOLDER"),
                (["no-such-program"], [], "is in no folder of the jail's PATH, /usr/local/bin:/usr/bin:/bin:/warder/bin",
                 "install it below /usr"),
                ([str(own)], [], f"a jail does not show the program {own}", "--no-jail"),
                (["/usr/share"], [], "/usr/share is not a file that can be executed", "name the program"),
                ([str(own)], ["--no-jail"], f"{own} is not a file that can be executed", "chmod 755"),
                (["/no/program"], ["--no-jail"], "the program /no/program does not exist", "absolute path"),
                (["no-such-program"], ["--no-jail"], "is in no folder of PATH", "absolute path"),
                (["sh"], ["--env", "PATH=/usr/share:/usr/lib"], "the jail's PATH, /usr/share:/usr/lib", "install it")):
            with self.subTest(words=words, flags=flags):
                done = self.add("far", *words, flags=flags, status=2)
                self.assertIn(says, done.stderr)
                self.assertIn(helps, done.stderr)
        self.assertFalse(self.drop_ins.exists() and os.listdir(self.drop_ins))
        own.chmod(0o755)
        for words, flags in ((["sh", "-c", "exit 1"], []), (["python", "-c", "pass"], []), (["/bin/sh", "-c", "exit"], []),
                             (["/workspace/made/later"], []), (["tool"], ["--env", f"PATH=/nowhere:{self.folder}"]),
                             ([str(own)], ["--no-jail"])):
            with self.subTest(words=words, flags=flags):
                self.add("far", *words, flags=["--replace", "--no-test", *flags])

    def policy_folder(self):
        """A second folder of policies, behind the shipped one."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder, prefix="policies-"))
        folder.chmod(0o755)
        return folder

    def test_a_copy_of_a_shipped_policy_is_told_with_the_way_back(self):
        own = self.policy_folder()
        self.config.write_text(json.dumps({"policies": [os.fspath(self.policies), str(own)], "state": str(self.folder / "none")}))
        done = self.warder("add", "near", "--", "/usr/bin/true", flags=["--no-test", "--call", "ask"])
        self.assertIn(f'{own}/default.json: the rule "server-near" says: ask', done.stdout)
        self.assertIn(f"this file is a new copy of {self.policies.folder}/default.json, which is not read any more", done.stdout)
        self.assertIn(f"rm {own}/default.json && warder reload", done.stdout)
        done = self.warder("add", "other", "--", "/usr/bin/true", flags=["--no-test", "--call", "ask"])
        self.assertIn(f'{own}/default.json: the rule "server-other" says: ask', done.stdout)
        self.assertNotIn("new copy", done.stdout)
        done = self.warder("remove", "near")
        self.assertIn(f'{own}/default.json: the rule "server-near" was removed', done.stdout)
        self.assertTrue((own / "default.json").exists())
        done = self.warder("remove", "other")
        self.assertIn(f"{own}/default.json: removed: it had no other change to {self.policies.folder}/default.json, "
                      "which is read again", done.stdout)
        self.assertFalse((own / "default.json").exists())

    def test_a_copy_with_another_change_stays(self):
        own = self.policy_folder()
        self.config.write_text(json.dumps({"policies": [os.fspath(self.policies), str(own)], "state": str(self.folder / "none")}))
        self.warder("add", "near", "--", "/usr/bin/true", flags=["--no-test", "--call", "ask"])
        policy = json.loads((own / "default.json").read_text())
        policy["sessions"]["max"] = 1
        (own / "default.json").write_text(json.dumps(policy))
        self.assertIn('the rule "server-near" was removed', self.warder("remove", "near").stdout)
        self.assertEqual(json.loads((own / "default.json").read_text())["sessions"]["max"], 1)

    def test_a_daemon_on_no_bus_is_reloaded_by_a_signal_and_says_which_file_it_reads(self):
        daemon = Daemon(policies=self.policies, arguments=["--config", self.config])
        where = {"state": os.fspath(daemon.state), "socket": os.fspath(daemon.socket)}
        self.config.write_text(json.dumps({**where, **({"user": "daemon"} if ROOT else {})}))
        self.config.chmod(0o644)
        self.enterContext(daemon)
        done = self.add_near()
        self.assertNotIn("no daemon runs", done.stdout)
        own = self.config
        self.config = self.folder / "other.json"
        self.config.write_text(json.dumps(where))
        done = self.add("other", "/usr/bin/true", status=2)
        self.assertIn("nothing was added, because the reload failed: "
                      f"the daemon reads the configuration {own}, and this command would use {self.config}", done.stderr)
        self.assertEqual(os.listdir(f"{self.config}.d"), [])

    def test_a_rule_is_written_with_the_mode_of_its_file_or_not_at_all(self):
        file = self.policies.folder / "default.json"
        file.chmod(0o640)
        if ROOT:
            os.chown(file, 0, ORDINARY_USER)
        self.config.write_text(json.dumps({"policies": [os.fspath(self.policies)], "state": str(self.folder / "none")}))

        def mode():
            status = file.stat()
            return stat.S_IMODE(status.st_mode), status.st_gid
        before = mode()
        self.warder("add", "near", "--", "/usr/bin/true", flags=["--no-test", "--call", "ask"])
        self.assertIn("server-near", file.read_text())
        self.assertEqual(mode(), before)
        policy = json.loads(file.read_text())
        policy["calls"]["rules"] = [{"name": f"rule-{n}", "tools": ["x.*"], "verdict": "deny"} for n in range(200)]
        file.write_text(json.dumps(policy))
        done = self.warder("add", "far", "--", "/usr/bin/true", flags=["--no-test", "--call", "ask"], status=1)
        self.assertIn("far is there, but its rule was not written", done.stderr)
        self.assertIn("more than 200 rules", done.stderr)
        self.assertEqual(json.loads(file.read_text()), policy)
        self.assertEqual(mode(), before)
        own = self.policy_folder()
        self.config.write_text(json.dumps({"policies": [os.fspath(self.policies), str(own)], "state": str(self.folder / "none")}))
        self.warder("add", "third", "--", "/usr/bin/true", flags=["--no-test", "--call", "ask"], status=1)
        self.assertEqual(os.listdir(own), [], "a copy with a mistake does not stay")

    @unittest.skipUnless(ROOT, "NOT TESTED: a unit is changed by root")
    def test_a_network_that_was_opened_for_a_refused_server_is_closed_again(self):
        self.daemon()
        # In a mount namespace of its own: units, and a systemctl that writes down what it is asked.
        (self.folder / "systemctl").write_text(f'#!/bin/sh\necho "$@" >> {self.folder}/asked\n')
        (self.folder / "systemctl").chmod(0o755)
        unit = "/etc/systemd/system/warder.service.d/network.conf"
        enter = (f"mount -t tmpfs none /etc/systemd && mount -t tmpfs none /run && mkdir -p /run/systemd/system && "
                 f'PATH={self.folder}:$PATH; "$@"; status=$?; cat {unit} 2>&1; exit $status')

        def add(*flags):
            return subprocess.run(["unshare", "-m", "sh", "-c", enter, "sh", WARDER, "servers", "add", "--bus", self.bus.address,
                                   "--config", str(self.config), *self.policy_flags(), *flags, "--open-network", "far",
                                   "http://127.0.0.1:1/"], capture_output=True, text=True, timeout=2 * PATIENCE)

        def asked():
            log = self.folder / "asked"
            lines = log.read_text().splitlines() if log.exists() else []
            log.unlink(missing_ok=True)
            return lines
        applied = ["daemon-reload", "try-restart warder.service"]
        self.policies.write("own.json", "{")
        done = add()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("was removed again: the service has no network, as before", done.stderr)
        self.assertIn("No such file", done.stdout, "of cat")
        self.assertEqual(asked(), 2 * applied)
        (self.policies.folder / "own.json").unlink()
        done = add("--no-test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[Service]", done.stdout, "the drop-in is there")
        self.assertEqual(asked(), applied)
        done = add()
        self.assertEqual(done.returncode, 2, "the name is taken")
        self.assertEqual(asked(), [], "found before the unit is changed")

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
