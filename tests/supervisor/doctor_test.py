"""warder doctor, as an administrator calls it: without a daemon, and with one on a bus of the test's own."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from bus_harness import MANAGER, NAME, PATH, Admin, Bus, BusDaemon
from collector import Collector
from gi.repository import GLib
from harness import PATIENCE, ROOT, TOP, Client, Policies, eventually
from zygote_failing_test import POLICY, warderd_that_cannot_fork_node

WARDER = os.environ["WARDER"]
POLICIES = ("--policies", str(TOP / "policies"))


class Doctor(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def doctor(self, *words, policies=POLICIES):
        return subprocess.run([WARDER, "doctor", *map(str, words), *policies], capture_output=True, text=True,
                              timeout=PATIENCE, cwd=self.home, env={**os.environ, "HOME": str(self.home)})

    def look(self, *words, **more):
        """What it finds, by name, without a daemon unless one is named."""
        words = words or ("--socket", self.home / "none", "--bus", "unix:path=/nowhere")
        done = self.doctor("--json", *words, **more)
        answer = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if answer["good"] else 1)
        self.assertEqual(answer["good"], all(one["health"] != "bad" for one in answer["findings"]))
        return {one["what"]: one for one in answer["findings"]}

    def test_each_finding_that_is_not_good_has_a_remedy(self):
        found = self.look()
        for what in ("kernel", "cgroups", "delegation", "user namespaces", "AppArmor", "seccomp", "Landlock", "/proc",
                     "/usr", "python", "javascript", "shell", "user", "policies", "quotas", "daemon", "D-Bus"):
            self.assertIn(what, found)
        for finding in found.values():
            self.assertEqual("remedy" in finding, finding["health"] != "good", finding)
        self.assertEqual(found["python"]["health"], "good")
        if found["quotas"]["health"] != "good":  # this machine's disk has no project quotas
            self.assertEqual(found["quotas"]["health"], "bad")
            for words in ("tune2fs -O project,quota", "prjquota", "pquota"):
                self.assertIn(words, found["quotas"]["remedy"])

    def test_without_a_daemon_the_remedy_starts_it(self):
        found = self.look()
        self.assertEqual((found["daemon"]["health"], found["D-Bus"]["health"]), ("bad", "note"))
        self.assertIn("warderd --socket", found["daemon"]["remedy"])
        self.assertNotIn("execution", found)

    def test_with_a_daemon_a_program_runs_and_its_receipt_is_told(self):
        with Bus() as bus, Policies() as policies, BusDaemon(bus, policies=policies) as daemon:
            found = self.look("--socket", daemon.socket, "--bus", bus.address)
            self.assertEqual(found["daemon"]["health"], "good")
            self.assertIn("a program ran", found["execution"]["found"])
            self.assertRegex(found["jail network"]["found"], "jails have the interface lo and nothing else: 1 link, ")
            self.assertRegex(found["D-Bus"]["found"], r"^warderd \d.* is serving$")
            policies.write("bad.json", "{")
            with Admin(bus) as admin:
                admin.error("Reload")
            found = self.look("--socket", daemon.socket, "--bus", bus.address)
            self.assertEqual(found["D-Bus"]["health"], "note")
            self.assertIn("bad.json", found["D-Bus"]["found"])

    def test_a_daemon_says_the_same_of_itself_over_d_bus(self):
        with Bus() as bus, Policies() as policies, BusDaemon(bus, policies=policies) as daemon, Admin(bus) as admin:
            said = {str(what): (str(health), str(found), str(remedy))
                    for what, health, found, remedy in admin.call("RunDoctor")}
            seen = self.look("--socket", daemon.socket, "--bus", bus.address)
            self.assertEqual(set(said), set(seen))
            for what in ("kernel", "cgroups", "seccomp", "Landlock", "/proc", "/usr", "python", "javascript", "shell",
                         "daemon", "execution", "D-Bus"):  # a pool changes meanwhile
                one = seen[what]
                self.assertEqual(said[what], (one["health"], one["found"], one.get("remedy", "")), what)
            for what, (health, _, remedy) in said.items():
                self.assertEqual(bool(remedy), health != "good", what)
            self.assertEqual(admin.get("Executions"), 1, "its own program is not in the record, that of warder doctor is")
            policies.write("bad.json", "{")
            said = {str(one[0]): one for one in admin.call("RunDoctor")}
            self.assertEqual(said["policies"][1], "bad")
            self.assertIn("bad.json", said["policies"][2])
            self.assertEqual(said["D-Bus"][1], "good", "nothing was reloaded")

    def test_a_daemon_says_what_it_cannot_build_ahead(self):
        with warderd_that_cannot_fork_node() as program, Bus() as bus, Policies(**POLICY) as policies, \
                BusDaemon(bus, program=program, policies=policies) as daemon, Client(daemon.socket) as client:
            def pool():
                client.execute("1", language="javascript")
                return self.look("--socket", daemon.socket, "--bus", bus.address)["pool"]
            eventually(lambda: pool()["health"] == "note", "a zygote that cannot be")
            self.assertIn("a zygote for javascript code: the first fork did not run its program correctly", pool()["found"])
            self.assertNotIn("python", pool()["found"])

    def test_a_daemon_says_whether_its_spans_arrive(self):
        self.home.chmod(0o755)
        with Bus() as bus, Collector(self.home / "collector.sock") as collector, \
                BusDaemon(bus, configuration={"traces": collector.url}) as daemon, Client(daemon.socket) as client:
            def traces():
                found = self.look("--socket", daemon.socket, "--bus", bus.address)["traces"]
                return found["health"], found["found"]
            client.execute("1")
            collector.wait_for_span()
            eventually(lambda: traces()[0] == "good" and " 0 spans" not in traces()[1], "spans that arrived")
            collector.always = (400, {}, "")
            client.execute("1")
            eventually(lambda: traces()[0] == "note" and "HTTP status 400" in traces()[1], "a collector that refuses")

    @unittest.skipUnless(ROOT, "only root makes a network namespace for the daemon")
    def test_a_daemon_without_a_network_says_that_no_span_leaves(self):
        with Bus() as bus:
            daemon = BusDaemon(bus, configuration={"traces": "http://127.0.0.1:4318"}, launcher=("unshare", "-n"))
            self.addCleanup(daemon.remove)
            daemon.launch()  # it does not reach a socket of ours that has no file to say that it is ready
            self.addCleanup(daemon.stop)
            found = eventually(lambda: self.look("--socket", daemon.socket, "--bus", bus.address).get("traces"), "a finding")
            self.assertEqual(found["health"], "note")
            self.assertIn("only the network interface lo", found["found"])
            self.assertIn("PrivateNetwork=no", found["remedy"])

    def test_a_daemon_looks_once_at_a_time_and_answers_others_meanwhile(self):
        busy = f"{NAME}.Error.Exhausted"
        with Bus() as bus, BusDaemon(bus) as daemon, Admin(bus) as admin, Client(daemon.socket) as client:
            def ask_thrice():
                answers = []

                def all_answered():
                    GLib.MainContext.default().iteration(False)
                    return len(answers) == 3

                for _ in range(3):
                    admin.connection.call_async(NAME, PATH, MANAGER, "RunDoctor", "", (), lambda found: answers.append("found"),
                                                lambda error: answers.append(error.get_dbus_name()), timeout=PATIENCE)
                self.assertEqual(client.execute("result = 1")["outcome"], "ok")
                eventually(all_answered, "the three answers")
                self.assertIn("found", answers)
                self.assertLessEqual(set(answers), {"found", busy})
                return answers
            # A look may have ended before the next question comes, on a busy machine; not in each of five rounds.
            self.assertTrue(any(busy in ask_thrice() for _ in range(5)))
            admin.call("RunDoctor")

    def test_bad_policies_are_bad(self):
        (self.home / "bad.json").write_text("{")
        found = self.look(policies=(*POLICIES, "--policies", str(self.home)))
        self.assertEqual(found["policies"]["health"], "bad")
        self.assertIn("bad.json", found["policies"]["found"])

    def test_clients_are_judged_by_their_configuration(self):
        def client(name, text):
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text if isinstance(text, str) else json.dumps(text))
        client(".cursor/mcp.json", {"mcpServers": {"warder": {"command": WARDER, "args": ["mcp"]}}})
        client(".gemini/settings.json", {"mcpServers": {"warder": {"command": "/nowhere/warder"}}})
        client(".claude.json", {"mcpServers": {"other": {"command": "true"}}, "projects": {"/a": 1}})
        client(".codex/config.toml", '[mcp_servers.warder]\ncommand = "warder"\n')
        client(".config/Code/User/mcp.json", "[" * 1000)
        client(".config/zed/settings.json", '// mine\n{"context_servers": {"warder": {"command": "warder"}}}')
        client(".codeium/windsurf/mcp_config.json", {"mcpServers": {"warder": {"command": WARDER}}})
        client(".config/opencode/opencode.json", {"mcp": {"warder": {"type": "local", "command": [WARDER, "mcp"]}}})
        client(".config/amp/settings.json", {"amp.mcpServers": {"warder": {"command": WARDER, "args": ["mcp"]}}})
        client(".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
               {"mcpServers": {}})
        found = self.look()
        self.assertEqual({what: found[what]["health"] for what in ("cursor", "gemini", "claude-code", "codex", "vscode")},
                         {"cursor": "good", "gemini": "bad", "claude-code": "note", "codex": "good", "vscode": "note"})
        self.assertEqual({what: found[what]["health"] for what in ("zed", "windsurf", "opencode", "amp", "cline")},
                         {"zed": "good", "windsurf": "good", "opencode": "good", "amp": "good", "cline": "note"})
        client("opencode.json", {"mcp": {"servers": {"warder": {"type": "local", "command": ["/nowhere/warder"]}}}})
        self.assertEqual(self.look()["opencode"]["health"], "bad")
        self.assertNotIn("goose", found)
        self.assertEqual(found["claude-code"]["remedy"], "warder config claude-code")
        client(".claude.json", {"projects": {"/a": {"mcpServers": {"jails": {"command": WARDER}}}}})
        self.assertEqual(self.look()["claude-code"]["health"], "good")
        client(".mcp.json", {"mcpServers": {"warder": {}}})
        self.assertEqual(self.look()["claude-code"]["found"], ".mcp.json: the entry has no command")

    def test_as_text_for_people(self):
        text = self.doctor("--socket", self.home / "none", "--bus", "unix:path=/nowhere").stdout
        self.assertRegex(text, r"(?m)^good +kernel +Linux ")
        self.assertRegex(text, r"(?m)^bad +daemon .*\n +-> .*warderd --socket")
        self.assertRegex(text.splitlines()[-1], r"^\d+ good, \d+ to note, \d+ bad$")
        self.assertEqual(self.doctor("--colour").returncode, 2)


if __name__ == "__main__":
    unittest.main()
