"""The configuration as an administrator has it: files, drop-ins, --check, --reload, and starts with a mistake in a file."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import PATIENCE, ROOT, Client, Policies, Service, eventually
from upstream_harness import SERVER

WARDERD, WARDER = os.environ["WARDERD"], os.environ["WARDER"]
BAD_POLICY = '{"extends": "default",\n "languages": ["python"], "languages": ["shell"]}'
MISTAKE = 'own.json: line 2, column 27: the key "languages" is there twice, first in line 2'


class Configured(Service):
    """A daemon with a configuration file and drop-ins of its own, under a service manager that hears its status."""

    def __init__(self, configuration=None, **more):
        super().__init__(**more)
        self.file = self.directory / "warderd.json"
        self.arguments += ["--config", str(self.file)]
        self.write(**(configuration or {}))

    def write(self, name=None, text=None, **keys):
        """The main file, or a drop-in of that name."""
        path = self.file if name is None else pathlib.Path(f"{self.file}.d", name)
        path.parent.mkdir(mode=0o755, exist_ok=True)
        path.write_text(json.dumps(keys) if text is None else text)
        path.chmod(0o644)
        return path

    def status(self):
        """As the newest READY=1 told it."""
        (ready,) = [message for message in self.heard if "READY=1" in message][-1:]
        return [line for line in ready.split("\n") if line.startswith("STATUS=")][0][len("STATUS="):]

    def reload(self):
        self.process.send_signal(signal.SIGHUP)
        self.hear("RELOADING=1")
        self.hear("READY=1")
        return self.status()

    def begin_to_ask(self, *words):
        """warderd with the flags of this daemon."""
        return subprocess.Popen([WARDERD, *words, "--config", str(self.file), "--socket", str(self.socket), "--state",
                                 str(self.state), "--policies", os.fspath(self.policies)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def ask(self, *words):
        process = self.begin_to_ask(*words)
        said = process.communicate(timeout=2 * PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, *said)

    def again(self):
        """Stopped, and started with the files as they are now."""
        self.stop()
        self.heard = []
        return self.start()


class Starts(unittest.TestCase):
    def setUp(self):
        self.policies = self.enterContext(Policies())

    def started(self, **configuration):
        return self.enterContext(Configured(configuration, policies=self.policies))

    def test_a_bad_policy_without_a_last_good_copy_denies_executions_and_names_the_mistake(self):
        self.policies.write("own.json", BAD_POLICY)
        daemon = self.started()
        self.assertIn("serving, but no executions: the configuration has a mistake", daemon.status())
        self.assertIn(MISTAKE, daemon.status())
        with Client(daemon.socket) as client:
            self.assertEqual([tool["name"] for tool in client.request("tools/list")["tools"]], ["execute_code"])
            denied = client.execute("result = 1")
            self.assertEqual((denied["outcome"], denied["rule"]), ("denied", "configuration"), denied)
            self.assertIn(f"{self.policies.folder}/{MISTAKE}", denied["error"])
            self.assertIn("warder config check", denied["remedy"])
            self.assertFalse((daemon.state / "last-good").exists(), "a bad start stores nothing")
            self.assertIn("no executions", daemon.reload())
            self.assertIn("the reload failed", daemon.log_text())
            self.assertEqual(client.execute("result = 1")["outcome"], "denied")
            (self.policies.folder / "own.json").unlink()
            self.assertEqual(daemon.reload(), "serving")
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.assertGreater(len(client.request("tools/list")["tools"]), 5)

    def test_a_bad_policy_starts_with_the_last_good_copy(self):
        self.policies.change(languages=["shell"])
        daemon = self.started()
        self.assertEqual(daemon.status(), "serving")
        copy = daemon.state / "last-good"
        self.assertEqual((copy.stat().st_uid, copy.stat().st_mode & 0o7777), (os.geteuid(), 0o700))
        self.policies.change(languages=["python"])
        self.policies.write("own.json", BAD_POLICY)
        self.policies.write("second.json", "{")
        daemon.again()
        self.assertIn(f"serving with the last good configuration, because of a mistake: {self.policies.folder}/",
                      daemon.status())
        self.assertIn("(and 1 more)", daemon.status())
        self.assertIn(f"{self.policies.folder}/{MISTAKE}", daemon.log_text())
        lines = [line for line in daemon.log_text().splitlines() if "own.json" in line or "second.json" in line]
        self.assertEqual(len(lines), 2, "one line for each mistake")
        with Client(daemon.socket) as client:
            self.assertEqual(client.execute("echo 1", language="shell")["outcome"], "ok")
            self.assertEqual(client.execute("result = 1", language="python")["outcome"], "denied")
            self.assertIn("failed", daemon.reload())
            for name in ("own.json", "second.json"):
                (self.policies.folder / name).unlink()
            self.assertEqual(daemon.reload(), "serving")
            self.assertEqual(client.execute("result = 1", language="python")["outcome"], "ok")

    def test_the_daemon_cannot_write_the_last_good_copy(self):
        daemon = self.started()
        if not ROOT:
            self.skipTest("NOT TESTED: an ordinary user's daemon has no other user")
        identity = os.stat(f"/proc/{daemon.process.pid}")
        done = subprocess.run(["touch", daemon.state / "last-good/policies/0/own.json"], user=identity.st_uid,
                              group=identity.st_gid, capture_output=True, text=True)
        self.assertIn("Permission denied", done.stderr)
        done = subprocess.run(["mv", daemon.state / "last-good", daemon.state / "x"], user=identity.st_uid,
                              group=identity.st_gid, capture_output=True, text=True)
        self.assertIn("Permission denied", done.stderr)

    def test_a_mistake_in_the_configuration_starts_with_the_copy_of_all_files(self):
        daemon = self.started(log_level="debug")
        daemon.write("50-own.json", sokcet="/run/x")
        self.policies.change(languages=["shell"])
        daemon.again()
        self.assertIn("50-own.json: sokcet: unknown key", daemon.status())
        with Client(daemon.socket) as client:
            self.assertEqual(client.execute("result = 1", language="python")["outcome"], "ok", "the policies of then, too")
        pathlib.Path(f"{daemon.file}.d/50-own.json").unlink()
        self.assertEqual(daemon.again().status(), "serving")

    def test_files_that_cannot_be_used_do_not_keep_it_from_serving(self):
        for name, text in (("no JSON", "socket = /run/x"), ("a list", "[]"), ("cut off", '{"bus": "o'),
                           ("a wrong type", '{"servers": 3}'), ("a bad server", '{"servers": {"a": {}}}'),
                           ("root", '{"user": "root"}' if ROOT else '{"user": 3}')):
            with self.subTest(name), Configured(policies=self.policies) as daemon:
                shutil.rmtree(daemon.state / "last-good")
                daemon.write(text=text)
                self.assertIn("serving, but no executions", daemon.again().status())
                with Client(daemon.socket) as client:
                    self.assertIn(str(daemon.file), client.execute("result = 1")["error"])

    def test_an_unknown_user_and_group_skip_their_rule_alone(self):
        self.policies.write("tenants.json", json.dumps({"rules": [
            {"group": "no-such-group", "policy": "default"}, {"user": "no-such-user", "policy": "default"},
            {"default": True, "policy": "default"}]}))
        daemon = self.started()
        self.assertEqual(daemon.status(), "serving")
        for word in ('rules[0].group: this machine has no group "no-such-group"; the rule is skipped', "rules[1].user"):
            self.assertIn(word, daemon.log_text())
        with Client(daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")

    def test_a_missing_import_is_skipped(self):
        daemon = self.started(**{"import": [{"file": "/absent/claude.json"}]})
        self.assertEqual(daemon.status(), "serving")
        self.assertIn("import[0] is skipped: open /absent/claude.json: No such file", daemon.log_text())
        with Client(daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")

    def test_drop_ins_are_heeded(self):
        daemon = Configured({"log_level": "debug"}, policies=self.policies)
        daemon.write("10-level.json", log_level="info")
        daemon.write("20-level.json", log_level="error")
        with daemon:
            self.assertEqual(daemon.log_text(), "")


class Checks(unittest.TestCase):
    def setUp(self):
        self.policies = self.enterContext(Policies())
        self.daemon = Configured({"user": "daemon"} if ROOT else {}, policies=self.policies)
        self.addCleanup(self.daemon.remove)

    def test_a_good_configuration_passes_and_nothing_is_touched(self):
        before = sorted(map(str, self.daemon.directory.rglob("*")))
        done = self.daemon.ask("--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"good: {self.daemon.file}; policies default", done.stdout)
        self.assertEqual(sorted(map(str, self.daemon.directory.rglob("*"))), before)

    def test_every_mistake_and_warning_is_a_line(self):
        self.daemon.write(sokcet=1, bus="nowhere", **{"import": [{"file": "/absent"}]})
        self.policies.write("own.json", BAD_POLICY)
        self.policies.write("tenants.json", '{"rules": [{"user": "no-such-user", "policy": "default"}]}')
        done = self.daemon.ask("--check")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        lines = done.stderr.splitlines()
        for word in (f"{self.daemon.file}: sokcet: unknown key", f"{self.daemon.file}: bus: nowhere", MISTAKE):
            self.assertEqual(len([line for line in lines if word in line]), 1, done.stderr)
        self.assertIn(f"warning: {self.daemon.file}: import[0] is skipped", done.stderr)
        admin = self.admin()
        self.assertEqual((admin.returncode, admin.stdout), (1, ""))
        for line in lines:
            self.assertIn(line, admin.stderr)

    def test_headers_of_traces_that_are_missing_are_a_warning(self):
        self.daemon.write(traces={"url": "http://a", "headers": "/absent"})
        done = self.daemon.ask("--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "warning: .*traces: .*/absent.*; no spans are exported")

    def admin(self, *words):
        return subprocess.run([WARDER, "config", "check", str(self.daemon.file), "--policies", os.fspath(self.policies), *words],
                              capture_output=True, text=True, timeout=PATIENCE)

    def test_warder_config_check_says_the_same_and_the_clients_entry_is_still_printed(self):
        done = self.admin("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["good"], told["problems"], told["policies"]), (True, [], ["default"]))
        self.assertEqual(told["files"], [str(self.daemon.file)])
        entry = subprocess.run([WARDER, "config", "claude-code"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertIn("mcpServers", json.loads(entry.stdout))

    @unittest.skipUnless(ROOT, "an ordinary user is one already")
    def test_any_user_may_check_what_they_can_read(self):
        self.daemon.directory.chmod(0o755)
        built = pathlib.Path(WARDERD)
        if not all(os.stat(parent).st_mode & 0o001 for parent in built.resolve().parents):
            self.skipTest("NOT TESTED: other users cannot reach this build")
        done = subprocess.run([WARDERD, "--check", "--config", str(self.daemon.file), "--policies",
                               os.fspath(self.policies), "--state", "/tmp/warder-of-nobody"], user=65534, group=65534, extra_groups=[], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)


class Reloads(unittest.TestCase):
    def setUp(self):
        self.policies = self.enterContext(Policies())
        self.daemon = self.enterContext(Configured(policies=self.policies))
        self.client = self.enterContext(Client(self.daemon.socket))

    def test_says_the_truth_and_waits(self):
        self.policies.change(languages=["shell"])
        done = self.daemon.ask("--reload")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.client.execute("result = 1", language="python")["outcome"], "denied", "it was waited for")
        self.policies.change(languages=["python"])
        self.policies.write("own.json", BAD_POLICY)
        self.policies.write("second.json", "{")
        done = self.daemon.ask("--reload")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
        self.assertIn(MISTAKE, done.stderr)
        self.assertEqual(self.client.execute("result = 1", language="python")["outcome"], "denied", "nothing was taken")

    def test_stores_the_last_good_copy(self):
        self.policies.change(languages=["shell"])
        self.assertEqual(self.daemon.ask("--reload").returncode, 0)
        self.policies.write("own.json", BAD_POLICY)
        self.policies.change(languages=["python"])
        self.assertEqual(self.daemon.ask("--reload").returncode, 1)
        self.daemon.again()
        with Client(self.daemon.socket) as client:
            self.assertEqual(client.execute("echo 1", language="shell")["outcome"], "ok")
            self.assertEqual(client.execute("result = 1", language="python")["outcome"], "denied")

    def test_with_other_flags_stores_no_copy_of_other_policies(self):
        def kept():
            return (self.daemon.state / "last-good/policies/0/default.json").read_text()
        before = kept()
        with Policies(languages=["shell"]) as other:
            done = subprocess.run([WARDERD, "--reload", "--config", str(self.daemon.file), "--socket", str(self.daemon.socket),
                                   "--state", str(self.daemon.state), "--policies", os.fspath(other)], capture_output=True,
                                  text=True, timeout=2 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the last good copy of the configuration was not stored: the daemon reads the policies in "
                      f"{self.policies.folder}, and this command would use {other.folder}", done.stderr)
        self.assertEqual(kept(), before)

    def test_names_what_takes_effect_at_a_restart_only(self):
        self.assertEqual(self.daemon.ask("--reload").returncode, 0)
        self.assertNotIn("reload: waiting jails", self.daemon.log_text(), "the level is info")
        self.daemon.write("10.json", socket="/run/elsewhere.sock", journal={"durability": "durable"}, log_level="debug",
                          egress_socket="/run/elsewhere-egress.sock", cluster={})
        done = self.daemon.ask("--reload")
        self.assertEqual(done.returncode, 0, done.stderr)
        for key in ("socket", "journal", "egress_socket", "cluster"):
            self.assertIn(f"10.json: {key}: takes effect at the next restart", done.stderr)
        self.assertNotIn("log_level", done.stderr)
        self.assertIn("reload: waiting jails", self.daemon.log_text(), "the level now is debug")

    @contextlib.contextmanager
    def asked_while_it_stands_still(self):
        """warderd --reload, begun while the daemon is stopped; the daemon has the request. Afterwards it goes on."""
        daemon, request = self.daemon.process.pid, self.daemon.state / "reload.request"
        before = request.read_text() if request.exists() else None
        os.kill(daemon, signal.SIGSTOP)
        try:
            asker = self.daemon.begin_to_ask("--reload")
            eventually(lambda: request.exists() and request.read_text() != before, "the request")
            yield asker
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(daemon, signal.SIGCONT)

    def test_waits_for_a_daemon_that_stands_still(self):
        self.policies.change(languages=["shell"])
        with self.asked_while_it_stands_still() as asker:
            self.assertIsNone(asker.poll())
        said = asker.communicate(timeout=PATIENCE)[1]
        self.assertEqual((asker.returncode, said), (0, ""))
        self.assertEqual(self.client.execute("result = 1", language="python")["outcome"], "denied")

    def test_a_request_outlives_its_asker(self):
        self.policies.change(languages=["shell"])
        with self.asked_while_it_stands_still() as asker:
            asker.kill()  # as systemd does after its time-out
            asker.communicate()
        eventually(lambda: self.client.execute("result = 1", language="python")["outcome"] == "denied", "the daemon reloads")

    def test_learns_that_the_daemon_ends_instead(self):
        with self.asked_while_it_stands_still() as asker:
            self.daemon.process.kill()
            said = asker.communicate(timeout=PATIENCE)[1]
            self.assertEqual(asker.returncode, 1)
            self.assertIn("the daemon ended before it had reloaded", said)
            self.assertIn("reads the files at its start", said)
            self.daemon.process.wait()
            self.daemon.process = None

    def test_of_no_daemon_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([WARDERD, "--reload", "--state", folder, "--socket", f"{folder}/s", "--policies",
                                   os.fspath(self.policies)], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no warderd runs with the state folder", done.stderr)


class Servers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder.chmod(0o755)
        (self.folder / "notes").mkdir()
        (self.folder / "notes").chmod(0o777)
        shutil.copy(SERVER, self.folder)
        (self.folder / SERVER.name).chmod(0o644)
        self.policies = self.enterContext(Policies())
        self.daemon = self.enterContext(Configured({"servers": {"one": self.server()}}, policies=self.policies))
        self.client = self.enterContext(Client(self.daemon.socket))

    def server(self, **more):
        return {"command": "/usr/bin/python3", "args": [str(self.folder / SERVER.name), "both", str(self.folder / "notes")],
                "jail": "none", **more}

    def add(self, server):
        return self.client.call("call_tool", {"server": server, "name": "add", "arguments": {"a": 1, "b": 2}})

    def await_server(self, server):
        eventually(lambda: not self.add(server).get("isError"), f"server {server} answers")

    def test_are_added_changed_and_removed_without_a_restart(self):
        self.await_server("one")
        self.assertTrue(self.add("two")["isError"])
        self.daemon.write("20-two.json", servers={"two": self.server()})
        self.assertEqual(self.daemon.reload(), "serving")
        self.await_server("two")
        self.await_server("one")
        pid = self.daemon.process.pid
        self.daemon.write("20-two.json", servers={"two": self.server(timeout_s=7)})
        self.assertEqual(self.daemon.reload(), "serving")
        self.assertIn("upstream server two: its settings changed", self.daemon.log_text())
        self.assertNotIn("upstream server one: its settings changed", self.daemon.log_text())
        self.await_server("two")
        pathlib.Path(f"{self.daemon.file}.d/20-two.json").unlink()
        self.assertEqual(self.daemon.reload(), "serving")
        self.assertIn("upstream server two: removed", self.daemon.log_text())
        self.assertTrue(self.add("two")["isError"])
        self.await_server("one")
        self.assertEqual(self.daemon.process.pid, pid)

    def test_the_first_one_is_started_to_learn_its_tools(self):
        with Configured({}, policies=self.policies) as daemon:
            daemon.write("10-first.json", servers={"first": self.server()})
            self.assertEqual(daemon.reload(), "serving")
            eventually(lambda: "upstream server first: ready" in daemon.log_text(), "the server is started")

    def test_of_a_failed_reload_stay(self):
        self.await_server("one")
        self.daemon.write(servers={"two": self.server()})
        self.policies.write("own.json", BAD_POLICY)
        self.assertIn("failed", self.daemon.reload())
        self.await_server("one")
        self.assertTrue(self.add("two")["isError"])

    def test_with_a_new_folder_in_a_jail_wait_for_a_restart(self):
        self.daemon.write("20.json", servers={"two": {"command": "/usr/bin/python3", "folder": str(self.folder)}})
        done = self.daemon.ask("--reload")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"servers.two: its folder {self.folder} can be shown to jails only after a restart", done.stderr)
        self.assertTrue(self.add("two")["isError"])

    @unittest.skipUnless(ROOT, "only root's daemon reads files that its user may not read")
    def test_of_an_import_that_only_root_reads_stay_at_a_reload(self):
        client_file = self.folder / "claude.json"
        client_file.write_text(json.dumps({"mcpServers": {"mine": {
            "command": "/usr/bin/python3", "args": [str(self.folder / SERVER.name), "both", str(self.folder / "notes")]}}}))
        client_file.chmod(0o600)
        self.daemon.write(**{"import": [{"file": str(client_file), "jail": "none"}]})
        self.daemon.again()
        with Client(self.daemon.socket) as self.client:
            self.await_server("mine")
            done = self.daemon.ask("--reload")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"may not read {client_file}: its servers stay", done.stderr)
            self.await_server("mine")


if __name__ == "__main__":
    unittest.main(verbosity=2)
