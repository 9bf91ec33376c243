"""warder policy check, show and explain, as an administrator calls them. Program: $WARDER, with warder-admin beside it."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import PATIENCE, TOP

WARDER = os.environ["WARDER"]


class Policy(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.vendor, self.own = self.folder / "vendor", self.folder / "own"
        shutil.copytree(TOP / "policies", self.vendor, ignore=shutil.ignore_patterns("*.cc", "*.h", "*.md", "*.txt"))
        self.own.mkdir()

    def write(self, name, document):
        (self.own / name).write_text(document if isinstance(document, str) else json.dumps(document))

    def policy(self, *words, status=0):
        folders = ["--policies", self.vendor, "--policies", self.own]
        done = subprocess.run([WARDER, "policy", *map(str, words), *folders], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def explain(self, *words, status=0):
        return json.loads(self.policy("explain", *words, "--json", status=status).stdout)

    def test_check_names_good_policies(self):
        self.assertEqual(self.policy("check").stdout, "good: default, guardrails, guardrails-strict, strict, system\n")
        shipped = ["default", "guardrails", "guardrails-strict", "strict", "system"]
        self.assertEqual(json.loads(self.policy("check", "--json").stdout),
                         {"good": True, "policies": shipped, "problems": [], "warnings": []})

    def test_the_policies_of_a_users_own_service_ask_for_limits_and_for_no_other_ids(self):
        shutil.copytree(TOP / "policies/user", self.own, dirs_exist_ok=True)
        self.assertIn("user", json.loads(self.policy("check", "--json").stdout)["policies"])
        lines = {line.split(" = ")[0]: line for line in self.policy("show").stdout.splitlines()}
        self.assertRegex(lines["isolation.cgroups"], rf'= "required" +{self.own}/user.json')
        self.assertNotIn('"required"', lines["isolation.identity"])

    def test_explain_tells_the_tenant_of_a_subject_with_its_claim(self):
        none = self.policy("explain", "--subject", "ada", status=1).stdout
        self.assertIn("refused  tenant: no rule fits this client", none)
        self.write("tenants.json", {"rules": [
            {"subject": "ci-*", "tenant": "ci", "policy": "strict"},
            {"subject": "*@example.org", "tenant": "org-{claim}", "policy": "default"}, {"default": True, "policy": "strict"}]})
        for words, tenant, policy, rule in ((["ci-7"], "ci", "strict", "rules[0]"),
                                            (["ada@example.org", "--claim", "acme"], "org-acme", "default", "rules[1]")):
            told = self.explain("--subject", *words, "--language", "python")
            self.assertEqual((told["tenant"], told["policy"]), (tenant, policy))
            self.assertEqual((told["answers"][0]["rule"], told["answers"][0]["file"]), (rule, f"{self.own}/tenants.json"))
        # The rule wants a claim; the rule `default` is for users of this machine.
        for words in (["ada@example.org"], ["eve"]):
            self.assertIn("no rule fits this client", self.policy("explain", "--subject", *words, status=1).stdout)
        self.assertIn("--claim: not 1 to 32", self.policy("explain", "--subject", "a@example.org", "--claim", "../x", status=2).stderr)
        self.assertIn("--claim without --subject", self.policy("explain", "--claim", "x", status=2).stderr)
        self.assertIn("policy strict, tenant ci", self.policy("show", "--subject", "ci-7").stdout)

    def test_check_tells_every_problem_with_file_and_key(self):
        self.write("tenants.json", {"rules": [{"default": True, "policy": "bad"}]})
        self.write("bad.json", {"extends": "default", "limits": {"standard": {"tasks": -1}}, "languages": ["cobol"]})
        done = self.policy("check", status=1)
        for part in (f"{self.own}/bad.json", "limits.standard.tasks", "languages"):
            self.assertIn(part, done.stderr)
        found = json.loads(self.policy("check", "--json", status=1).stdout)
        self.assertFalse(found["good"])
        self.assertEqual(found["problems"], done.stderr.splitlines())
        self.assertIn("bad.json", self.policy("show", status=1).stderr)

    def test_a_key_that_is_there_twice_is_an_error_with_both_lines(self):
        self.write("guardrails.json", '{"extends": "default",\n "calls": {"otherwise": "deny"},\n "calls": {}}')
        (self.folder / "config.yaml").write_text("guardrails: {enabled: true}")
        says = f'{self.own}/guardrails.json: line 3, column 2: the key "calls" is there twice, first in line 2'
        for words in (["check"], ["show"], ["explain", "--language", "python"], ["import", self.folder / "config.yaml"]):
            with self.subTest(words):
                self.assertIn(says, self.policy(*words, status=1).stderr)

    def imported(self, name, text):
        file = self.folder / name
        file.write_text(text)
        policy = json.loads(self.policy("import", file).stdout)
        self.write("imported.json", policy)
        self.policy("check")
        return policy

    def test_guardrails_of_another_tool_become_a_policy_and_explain_names_them(self):
        # The configuration file of a document that Warder implements, as it is printed there.
        policy = self.imported("config.yaml", """\
execution:
  workspace_dir: ./workspace
  servers_dir: ./servers
  skills_dir: ./skills
  sandbox_type: microsandbox
  sandbox_image: python
  allow_network_access: false

guardrails:
  enabled: true
  strict_mode: false
  security_checks: true
  max_execution_time: 300
  max_memory_mb: 512

mcp_servers: []
""")
        self.assertEqual((policy["extends"], policy["limits"]["maximum"]),
                         ("guardrails", {"wall_ms": 300_000, "memory_bytes": 512 << 20}))
        answers = self.explain("--policy", "imported", "--timeout", "301", "--memory", "600", "--tool", "files.read",
                               "--arguments", '{"path": "/etc/shadow"}', status=1)["answers"]
        why = {one["about"]: one["why"] for one in answers}
        self.assertIn("(guardrail max_execution_time: 300 of config.yaml)", why["timeout 301 s"])
        self.assertIn("(guardrail max_memory_mb: 512 of config.yaml)", why["memory 600 MB"])
        self.assertIn('the rule "security-paths"', why["tool files.read"])
        self.assertIn("(guardrail enabled: true of config.yaml)", why["tool files.read"])

    def test_each_guardrail_has_its_effect(self):
        self.imported("strict.yaml", "guardrails: {strict_mode: true}")
        answer = self.explain("--policy", "imported", "--tool", "files.read", "--arguments", "{}")["answers"][0]
        self.assertEqual((answer["answer"], answer["rule"]), ("limited", "calls.otherwise"))
        self.assertIn("(guardrail strict_mode: true of strict.yaml)", answer["why"])
        self.imported("lax.json", json.dumps({"guardrails": {"security_checks": False, "max_execution_time": 0.5}}))
        answers = self.explain("--policy", "imported", "--tool", "files.read", "--arguments", '{"path": "/etc/shadow"}')["answers"]
        self.assertEqual(answers[0]["answer"], "allowed")
        answers = self.explain("--policy", "imported", "--tool", "mail.send", "--arguments", '{"text": "123-45-6789"}', status=1)["answers"]
        self.assertIn("privacy-numbers", answers[0]["why"])
        self.assertIn("(guardrail security_checks: false of lax.json)", answers[0]["why"])
        policy = self.imported("project.env", "MSB_API_KEY=x\n# GUARDRAILS_ENABLED=true\nGUARDRAILS_ENABLED=false\n")
        self.assertEqual(policy["extends"], "default")
        for text, why in (("guardrails: {max_memory: 1}", "guardrails.max_memory: unknown key"), ("guardrails: 7", "has no object"),
                          ("guardrails: {enabled: maybe}", "guardrails.enabled"), ("{", "not YAML"),
                          ("guardrails: {max_execution_time: -1}", "guardrails.max_execution_time: -1")):
            (self.folder / "bad.yaml").write_text(text)
            self.assertIn(why, self.policy("import", self.folder / "bad.yaml", status=2).stderr)

    def test_former_names_of_keys_are_taken_and_reported(self):
        self.write("old.json", {"extends": "default", "pool": {"least": 2, "most": 9}, "sessions": {"most": 3},
                                "named_workspaces": {"most": 5}})
        done = self.policy("check")
        told = [f"{self.own}/old.json: {former} is now named {present}" for former, present in (
            ("pool.least", "pool.min_idle"), ("pool.most", "pool.max_idle"), ("sessions.most", "sessions.max"),
            ("named_workspaces.most", "named_workspaces.max"))]
        self.assertEqual(done.stderr.splitlines(), [f"warning: {one}" for one in told])
        self.assertTrue(done.stdout.startswith("good: "), done.stdout)
        found = json.loads(self.policy("check", "--json").stdout)
        self.assertEqual((found["good"], found["problems"], found["warnings"]), (True, [], told))
        lines = {line.split(" = ")[0]: line for line in self.policy("show", "old").stdout.splitlines()}
        self.assertRegex(lines["pool.max_idle"], rf"= 9 +{self.own}/old.json")
        self.assertRegex(lines["sessions.max"], rf"= 3 +{self.own}/old.json")
        self.assertNotIn("pool.most", lines)

    def test_a_key_under_both_of_its_names_is_refused(self):
        self.write("both.json", {"extends": "default", "pool": {"least": 2, "min_idle": 3}})
        self.write("tenants.json", {"rules": [{"default": True, "policy": "both"}]})
        (problem,) = self.policy("check", status=1).stderr.splitlines()
        self.assertIn(f"{self.own}/both.json: pool.least: ", problem)
        self.assertIn("pool.min_idle", problem)

    def test_show_says_which_file_each_value_is_from(self):
        self.write("mine.json", {"extends": "strict", "limits": {"maximum": {"tasks": 48}}})
        lines = {line.split(" = ")[0]: line for line in self.policy("show", "mine").stdout.splitlines()}
        self.assertIn(f"{self.own}/mine.json", lines["limits.maximum.tasks"])
        self.assertIn(f"{self.vendor}/strict.json", lines["limits.standard.tasks"])
        self.assertIn(f"{self.vendor}/default.json", lines["languages"])
        shown = json.loads(self.policy("show", "mine", "--json").stdout)
        self.assertEqual(shown["document"]["limits"]["maximum"]["tasks"], 48)

    def test_who_asks_decides_and_the_rule_is_named(self):
        self.write("tenants.json", {"rules": [{"uid": 4242, "tenant": "special", "policy": "strict"},
                                              {"unit": "agent-*.service", "tenant": "agents", "policy": "system"}]})
        self.assertEqual(self.policy("show", "--user", 4242).stdout.splitlines()[0], "policy strict, tenant special")
        (tenant,) = self.explain("--user", 4242)["answers"]
        self.assertEqual((tenant["about"], tenant["rule"], tenant["file"]),
                         ("tenant", "rules[0]", f"{self.own}/tenants.json"))
        found = self.explain("--user", 4243, "--unit", "agent-7.service")
        self.assertEqual((found["tenant"], found["policy"], found["answers"][0]["rule"]), ("agents", "system", "rules[1]"))
        (refused,) = self.explain("--user", 4243, "--language", "python", status=1)["answers"]
        self.assertEqual(refused["answer"], "refused")
        self.assertIn("tenants.json", refused["remedy"])
        self.policy("show", "--user", 4243, status=1)

    def test_explain_names_rule_file_and_remedy(self):
        self.write("mine.json", {"extends": "strict", "tools": ["execute_code"], "languages": ["python"]})
        strict, own = f"{self.vendor}/strict.json", f"{self.own}/mine.json"
        for words, answer, rule, file in (
            (["--language", "python"], "allowed", "languages", own),
            (["--language", "shell"], "refused", "languages", own),
            (["--tool", "restore_pii"], "refused", "tools", own),
            (["--tool", "execute_code"], "allowed", "tools", own),
            (["--workspace", "other"], "refused", "workspaces", strict),
            (["--memory", "100"], "allowed", "limits.maximum.memory_bytes", strict),
            (["--memory", "4096"], "limited", "limits.maximum.memory_bytes", strict),
            (["--timeout", "61"], "limited", "limits.maximum.wall_ms", strict),
            (["--save-skill"], "refused", "skills.save", strict),
            (["--restore-pii"], "refused", "pii.restore", f"{self.vendor}/default.json"),
            (["--network"], "refused", "every jail", None),
        ):
            with self.subTest(words):
                (found,) = self.explain("--policy", "mine", *words, status=1 if answer == "refused" else 0)["answers"]
                self.assertEqual((found["answer"], found["rule"], found.get("file")), (answer, rule, file))
                self.assertEqual("remedy" in found, answer != "allowed", found)

    def test_explain_decides_about_hosts_as_the_proxy_does(self):
        self.write("mine.json", {"extends": "default", "egress": {"connections": 4, "bytes_up": 1, "bytes_down": 1, "seconds": 9, "rules": [
            {"name": "api", "host": "api.example.com", "methods": ["GET"], "paths": ["/v1/*"],
             "secret": {"header": "X-Key", "file": "/etc/warder/key"}},
            {"host": "*.pypi.org"}, {"host": "git.example.com", "ports": [8443], "verdict": "ask"}]}})
        for words, answer, rule, part in (
            (["files.pypi.org"], "allowed", "egress.rules[1]", "fits"),
            (["Files.PyPI.org", "--port", "22"], "refused", "egress.rules[1]", "no port 22; its ports: 443"),
            (["pypi.org"], "refused", "egress.rules", "no rule has this host"),
            (["git.example.com", "--port", "8443"], "limited", "egress.rules[2]", "a person decides"),
            (["api.example.com"], "refused", "egress.rules[0]", "ask with http://api.example.com"),
            (["api.example.com", "--method", "GET", "--path", "/v1/x"], "allowed", "egress.rules[0]", "(api) fits"),
            (["api.example.com", "--method", "GET", "--path", "/v1/../x"], "refused", "egress.rules[0]", "another path"),
        ):
            with self.subTest(words):
                (found,) = self.explain("--policy", "mine", "--host", *words, status=1 if answer == "refused" else 0)["answers"]
                self.assertEqual((found["answer"], found["rule"]), (answer, rule), found)
                self.assertIn(part, found["why"])
        (network,) = self.explain("--policy", "mine", "--network")["answers"]
        self.assertEqual((network["answer"], network["rule"]), ("limited", "egress.rules"))
        (none,) = self.explain("--policy", "default", "--host", "a.example.com", status=1)["answers"]
        self.assertIn("no egress rules", none["why"])
        for words in (["--host", "127.1"], ["--host", "a.example.com", "--port", "0"], ["--port", "443"], ["--path", "/"]):
            self.policy("explain", "--policy", "mine", *words, status=2)

    def test_a_whole_request_is_refused_if_any_part_of_it_is(self):
        answers = self.explain("--policy", "strict", "--language", "python", "--memory", "4096", "--save-skill",
                               status=1)["answers"]
        self.assertEqual([one["answer"] for one in answers], ["allowed", "limited", "refused"])
        text = self.policy("explain", "--policy", "strict", "--language", "python", "--save-skill", status=1).stdout
        self.assertRegex(text, r"(?m)^allowed  language python: ")
        self.assertRegex(text, rf"(?m)^refused  skills: .*\n +rule: skills.save, in {self.vendor}/strict.json\n +to change")

    def test_explain_knows_system_calls_and_says_why(self):
        profile = f"{self.vendor}/seccomp/default.json"
        for call, answer, part in (("read", "allowed", "is allowed"), ("mount", "refused", "ends the program"),
                                   ("ptrace", "refused", "EPERM"), ("setxattr", "refused", "EOPNOTSUPP"),
                                   ("unshare", "refused", "EPERM"), ("clone3", "refused", "ENOSYS"),
                                   ("openat", "limited", "some arguments")):
            with self.subTest(call):
                (found,) = self.explain("--policy", "default", "--call", call,
                                        status=1 if answer == "refused" else 0)["answers"]
                self.assertEqual((found["answer"], found["file"]), (answer, profile))
                self.assertIn(part, found["why"])
        answers = self.explain("--policy", "default", "--call", "no_such_call", "--call", "read", status=1)["answers"]
        self.assertIn("no rule of the profile default names it", answers[0]["why"])
        self.assertEqual(answers[1]["answer"], "allowed")

    def test_explain_decides_calls_of_other_servers_as_the_daemon_does(self):
        self.write("mine.json", {"extends": "default", "calls": {"otherwise": "deny", "rules": [
            {"name": "no-dotfiles", "tools": ["files.*"], "verdict": "deny", "why": "hidden files are private",
             "when": {"required": ["path"], "properties": {"path": {"pattern": "(^|/)\\."}}}},
            {"name": "reading", "tools": ["files.read_*"], "verdict": "allow"},
            {"name": "mail", "tools": ["mail.send"], "verdict": "ask"}]}})
        for words, answer, rule, part in (
            (["files.read_file"], "limited", "calls.rules", "--arguments"),
            (["files.read_file", "--arguments", '{"path": "a/.b"}'], "refused", "calls.rules[0]", "are private"),
            (["files.read_file", "--arguments", '{"path": "a/b"}'], "allowed", "calls.rules[1]", "reading"),
            (["mail.send"], "limited", "calls.rules[2]", "a person decides"),
            (["git.push"], "refused", "calls.otherwise", "no rule names it"),
        ):
            with self.subTest(words):
                (found,) = self.explain("--policy", "mine", "--tool", *words,
                                        status=1 if answer == "refused" else 0)["answers"]
                self.assertEqual((found["answer"], found["rule"], found["file"]), (answer, rule, f"{self.own}/mine.json"))
                self.assertIn(part, found["why"])

    def test_what_cannot_be_answered_says_what_can(self):
        for words, status, part in (
            (["show", "nothing"], 1, "known: default"),
            (["show", "--user", "nobody-of-that-name"], 1, "there is no user"),
            (["explain", "--policy", "default"], 2, "no question is given"),
            (["explain", "--memory", "much"], 2, "not a number"),
            (["explain", "--tool", "a.b", "--arguments", "[1]"], 2, "not a JSON object"),
            (["explain", "--arguments", "{}"], 2, "without --tool"),
            (["explain", "--language"], 2, "--language"),
            (["explain", "--language", "python", "--language", "shell"], 2, "--language"),
            (["explain", "weather"], 2, "weather"),
            ([], 2, "policy"),
        ):
            with self.subTest(words):
                self.assertIn(part, self.policy(*words, status=status).stderr)
        done = subprocess.run([WARDER, "policy", "check", "--policies", self.folder / "no"], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no folder with policies", done.stderr)


if __name__ == "__main__":
    unittest.main()
