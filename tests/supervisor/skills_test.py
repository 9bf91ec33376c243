#!/usr/bin/env python3
"""Skills from end to end: the tools, the code in the jails, the protocol's extension, prompts, and what tenants see."""
import base64
import hashlib
import json
import os
import re
import unittest

from harness import ORDINARY_USER, ROOT, TOP, Client, Daemon, Policies

SHARED = sorted((TOP / "skills/shared").iterdir())
EXAMPLE = re.compile(r"## Example\n\n```(\w+)\n(.*?)```\n\nanswers\n\n```json\n(.*?)```", re.DOTALL)


def answer(result):
    text = json.loads(result["content"][0]["text"])
    assert result["structuredContent"] == text
    return text


class WithDaemon(unittest.TestCase):
    policies = {}

    def setUp(self):
        self.policy = self.enterContext(Policies(**self.policies))
        self.daemon = self.enterContext(Daemon(policies=self.policy))
        self.client = self.enterContext(Client(self.daemon.socket))

    def ok(self, tool, **arguments):
        result = self.client.call(tool, arguments)
        self.assertFalse(result.get("isError", False), result)
        return answer(result)

    def refused(self, tool, **arguments):
        result = self.client.call(tool, arguments)
        self.assertIs(result.get("isError"), True, result)
        told = answer(result)
        self.assertIs(told["success"], False)
        return told

    def value_of(self, code, **more):
        body = self.client.execute(code, **more)
        self.assertEqual(body["outcome"], "ok", body)
        return body["result"]

    def names(self, client=None, **arguments):
        found = answer((client or self.client).call("list_skills", arguments))
        return [skill["name"] for skill in found["skills"] if not skill.get("shared")]


class Found(WithDaemon):
    def test_a_search_for_tools_finds_skills_too_and_says_how_to_import_them(self):
        self.ok("save_skill", name="invoice_totals", code="def invoice_totals(rows): return sum(rows)\n",
                description="Adds up invoices")
        self.ok("save_skill", name="shout", code="module.exports = (t) => t.toUpperCase()", language="javascript",
                description="Invoices in capitals")
        found = self.ok("search_tools", query="adds up invoices")
        (totals,) = [tool for tool in found["tools"] if tool["name"] == "invoice_totals"]
        self.assertEqual(totals, {"name": "invoice_totals", "kind": "skill", "category": "skills",
                                  "description": "Adds up invoices", "mcp_server": None,
                                  "import": "from skills import invoice_totals"})
        self.assertEqual(found["count"], len(found["tools"]))
        self.assertEqual(self.value_of(f"{totals['import']}\ninvoice_totals([1, 2])"), 3)
        script = self.ok("search_tools", query="shout", detail_level="brief")["tools"][0]
        self.assertEqual(script, {"name": "shout", "kind": "skill", "mcp_server": None,
                                  "import": "const shout = require('skills/shout')"})
        self.assertEqual(self.value_of(f"{script['import']}; return shout('x')", language="javascript"), "X")
        full = self.ok("search_tools", query="group_by", detail_level="full")["tools"][0]
        self.assertEqual((full["name"], full["uri"]), ("group_by", "skill://group-by"))

    def test_skills_keep_to_filters_and_places(self):
        def skills(**arguments):
            return [tool["name"] for tool in self.ok("search_tools", **arguments)["tools"] if "kind" in tool]

        names = ["invoice_a", "invoice_b", "invoice_c"]
        for name in names:
            self.ok("save_skill", name=name, code="x = 1", description="Invoices")
        self.assertEqual(skills(query="invoices"), names)
        for none in ({"query": "invoices", "server": "memory"}, {"query": "invoices", "tags": ["x"]}, {"query": ""},
                     {"query": "invoices", "category": "security"}, {"query": "send an e-mail to the invoices"}):
            self.assertEqual(skills(**none), [], none)
        self.assertEqual(skills(query="invoices", category="skills", limit=2), names[:2])
        self.assertIn("2 of 3", self.ok("search_tools", query="invoices", category="skills", limit=2)["hint"])
        self.assertEqual(len(skills(query="", category="skills", limit=50)), len(SHARED) + len(names))
        self.assertEqual(self.value_of("import warder\n[t['name'] for t in warder.call('search_tools', query='invoices')['tools']]"),
                         names)


class Tools(WithDaemon):
    def test_the_keys_are_those_that_clients_know(self):
        saved = self.ok("save_skill", name="double", code="def double(n): return 2 * n\n", description="Twice as much")
        self.assertEqual((saved["success"], saved["message"]), (True, "Skill 'double' saved successfully"))
        loaded = self.ok("load_skill", name="double")
        self.assertLessEqual({"name", "code", "metadata"}, set(loaded))
        self.assertEqual(loaded["code"], "def double(n): return 2 * n\n")
        self.assertLessEqual({"name", "description", "created", "code_hash"}, set(loaded["metadata"]))
        self.assertEqual(loaded["metadata"]["code_hash"], hashlib.sha256(loaded["code"].encode()).hexdigest())
        listed = self.ok("list_skills")
        self.assertEqual(listed["count"], len(listed["skills"]))
        self.assertEqual(listed["count"], 1 + len(SHARED))
        self.assertIn({key: loaded["metadata"][key] for key in ("name", "description", "created", "code_hash")},
                      [{key: skill[key] for key in ("name", "description", "created", "code_hash")}
                       for skill in listed["skills"]])
        self.assertIn("Skill not found: none", self.refused("load_skill", name="none")["error"])

    def test_names_that_are_none_are_refused(self):
        for name in ("", "../x", "a/b", "1x", "a-b", "a b", "é", "x" * 65, "_", ".x", "a\n", "__init__", "__doc__"):
            with self.subTest(name=name):
                told = self.refused("save_skill", name=name, code="pass")
                self.assertEqual(told["error"], "Invalid skill name. Use alphanumeric and underscores only.")
                self.refused("load_skill", name=name)
        self.assertEqual(self.names(), [])

    def test_code_that_does_not_compile_is_refused_with_its_line(self):
        for language, code, line, words in (
                ("python", "x = 1\ndef f(:\n  pass", "line 2", "invalid syntax"),
                ("python", "if True:\nx = 1", "line 2", "indented block"),
                ("python", "(" * 300 + ")" * 300, "", "nested parentheses"),
                ("javascript", "const a = 1;\nconst = 2;", "line 2", "Unexpected token"),
                ("javascript", "export const a = 1;", "line 1", "module.exports"),
                ("javascript", "}); process.exit(0); ({", "line 1", "Unexpected token")):
            with self.subTest(code=code[:40]):
                told = self.refused("save_skill", name="bad", code=code, language=language)
                self.assertIn(line, told["error"])
                self.assertIn(words, told["error"])
                self.assertEqual(told["rule"], "skills.compile")
        self.assertIn("keyword of Python", self.refused("save_skill", name="class", code="pass")["error"])
        self.assertEqual(self.names(), [])

    def test_what_is_compiled_does_not_run(self):
        self.ok("save_skill", name="loud", code="open('/workspace/ran', 'w').write('x')")
        self.ok("save_skill", name="loud_js", code="require('fs').writeFileSync('/workspace/ran', 'x')",
                language="javascript")
        self.assertEqual(self.ok("list_workspace_files")["files"], [])

    def test_versions_are_kept_and_the_same_again_is_none(self):
        for number in (1, 2, 3):
            self.assertEqual(self.ok("save_skill", name="v", code=f"v = {number}")["version"], number)
        self.assertEqual(self.ok("save_skill", name="v", code="v = 3")["version"], 3)
        self.assertEqual(self.ok("load_skill", name="v", version=1)["code"], "v = 1")
        self.assertEqual(self.ok("load_skill", name="v")["metadata"]["versions"], [1, 2, 3])
        self.assertIn("no version 9", self.refused("load_skill", name="v", version=9)["error"])
        self.assertIn("'v'", self.refused("save_skill", name="V", code="v = 4")["error"])
        self.daemon.stop()
        self.daemon.start()
        with Client(self.daemon.socket) as client:
            self.assertEqual(answer(client.call("load_skill", {"name": "v", "version": 2}))["code"], "v = 2")

    def test_skills_are_searched_and_deleted(self):
        self.ok("save_skill", name="invoice_sum", code="pass", description="Adds up invoices")
        self.ok("save_skill", name="greet", code="pass", description="Says hello")
        self.assertEqual(self.names(query="invoices"), ["invoice_sum"])
        self.assertEqual(self.ok("list_skills", query="csv delimiter")["skills"][0]["name"], "csv_records")
        few = self.ok("list_skills", limit=2)
        self.assertEqual((few["count"], few["total"]), (2, 2 + len(SHARED)))
        self.ok("delete_skill", name="greet")
        self.assertEqual(self.names(), ["invoice_sum"])
        self.assertEqual(self.refused("delete_skill", name="greet")["code"], "not_found")

    def test_what_everybody_shares_is_nobody_s_to_change(self):
        for told in (self.refused("save_skill", name="csv_records", code="pass"),
                     self.refused("delete_skill", name="csv_records")):
            self.assertEqual((told["code"], told["rule"]), ("denied", "skills.shared"))

    def test_arguments_that_nobody_knows_are_told(self):
        for tool, arguments, word in (("save_skill", {"name": "x"}, "code"), ("load_skill", {"nam": "x"}, "name"),
                                      ("save_skill", {"name": "x", "code": "pass", "language": "perl"}, "language"),
                                      ("list_skills", {"limit": 0}, "limit")):
            result = self.client.call(tool, arguments)
            self.assertTrue(result["isError"])
            self.assertIn(word, json.dumps(result))


class Limits(WithDaemon):
    policies = {"skills": {"save": True, "bytes": 20000, "count": 3}}

    def test_bytes_and_count_are_the_policy_s(self):
        self.assertEqual(self.refused("save_skill", name="a", code="#" + "x" * 20000)["rule"], "skills.bytes")
        for name in "abc":
            self.ok("save_skill", name=name, code="pass")
        self.assertEqual(self.refused("save_skill", name="d", code="pass")["rule"], "skills.count")
        self.ok("save_skill", name="c", code="pass  # again")

    def test_one_execution_cannot_begin_many_checks_at_once(self):
        body = self.client.execute("""
import threading
errors = []
def save(n):
    try: save_skill(f"s{n}", "pass")
    except Exception as e: errors.append(str(e))
threads = [threading.Thread(target=save, args=(n,)) for n in range(12)]
for t in threads: t.start()
for t in threads: t.join()
result = len(errors)
""", timeout_seconds=120)
        self.assertEqual(body.get("result"), 9, body)
        self.assertEqual(len(self.names()), 3)


class NoSaving(WithDaemon):
    policies = {"skills": {"save": False}}

    def test_who_may_not_save_may_load(self):
        for tool, arguments in (("save_skill", {"name": "x", "code": "pass"}), ("delete_skill", {"name": "x"})):
            self.assertEqual(self.refused(tool, **arguments)["rule"], "skills.save")
        self.assertIn("skills.save", self.client.execute("save_skill('x', 'pass')")["error"])
        self.assertEqual(self.value_of("from skills import group_by\ngroup_by([{'a': 1}], 'a')"), [{"a": 1, "count": 1}])


class InTheJail(WithDaemon):
    def test_the_example_of_the_tool_s_documentation_works(self):
        """As agents have learnt it: saved by the tool or by code, loaded and executed in a later execution."""
        code = "def filter_high_risk(vulns): return [v for v in vulns if v['severity'] in ['high', 'critical']]"
        self.ok("save_skill", name="filter_high_risk", code=code, description="Filter vulnerabilities to high/critical only")
        rows = [{"id": 1, "severity": "low"}, {"id": 2, "severity": "high"}, {"id": 3, "severity": "critical"}]
        self.client.write_file("scan_results.json", json.dumps(rows))
        self.assertEqual(self.value_of("""
skill = load_skill("filter_high_risk")
exec(skill)
vulns = json.loads(read_file("scan_results.json"))
result = filter_high_risk(vulns)
"""), rows[1:])
        self.assertEqual(self.value_of("""
from skills import filter_high_risk
result = [filter_high_risk(json.loads(read_file("scan_results.json"))), filter_high_risk.filter_high_risk([])]
"""), [rows[1:], []])

    def test_code_saves_loads_and_lists(self):
        self.assertEqual(self.value_of('save_skill("add", "def add(a, b): return a + b", "Adds")'),
                         "Skill 'add' saved successfully")
        self.assertEqual(self.names(), ["add"])
        self.assertEqual(self.value_of("import skills\nfrom skills.add import add\n[add(1, 2), skills.add(3, 4)]"), [3, 7])
        self.assertEqual(self.value_of("[s['description'] for s in list_skills() if s['name'] == 'add']"), ["Adds"])
        body = self.client.execute("save_skill('bad', 'def f(:')")
        self.assertRegex(body["error"], r"\AValueError: the skill does not compile: line 1: ")
        body = self.client.execute("load_skill('none')")
        self.assertEqual(body["error"], "FileNotFoundError: Skill not found: none")
        for name in ("../x", "../../x", "/etc/passwd", "a/b", "x\\n"):
            body = self.client.execute(f"save_skill({name!r}, 'x = 1')")
            self.assertIn("Invalid skill name", body["error"], body)
            body = self.client.execute(f"load_skill({name!r})")
            self.assertEqual(body["outcome"], "error", body)
            self.assertNotIn("root:", json.dumps(body))
            for call in (f"save_skill({json.dumps(name)}, 'x')", f"load_skill({json.dumps(name)})"):
                body = self.client.execute(f"return await {call}", language="javascript")
                self.assertEqual(body["outcome"], "error", body)

    def test_a_skill_finds_what_code_finds_and_its_errors_show_its_lines(self):
        self.ok("save_skill", name="uses", code="def uses(name):\n    return json.loads(read_file(name))\n")
        self.client.write_file("a.json", "[1]")
        self.assertEqual(self.value_of("from skills import uses\nuses('a.json')"), [1])
        body = self.client.execute("from skills import uses\nuses('b.json')")
        self.assertIn("FileNotFoundError", body["error"])
        self.assertIn('File "/skills/uses.py", line 2', body["traceback"])
        self.assertIn("return json.loads(read_file(name))", body["traceback"])

    def test_imports_that_fail_say_why(self):
        self.ok("save_skill", name="js_only", code="module.exports = 1", language="javascript")
        for code, words in (("from skills import none", "ModuleNotFoundError: there is no skill 'none'"),
                            ("import skills.none", "there is no skill 'none'"),
                            ("from skills import js_only", "is javascript"),
                            ("from skills import table_profile\ntable_profile.x", "AttributeError")):
            with self.subTest(code=code):
                self.assertIn(words, self.client.execute(code)["error"])
        self.assertEqual(self.value_of("try:\n    import skills.none\nexcept ImportError:\n    result = 'none'"), "none")

    def test_a_skill_imports_another(self):
        self.ok("save_skill", name="outer", code="from skills import inner\ndef outer(): return inner() + 1")
        self.ok("save_skill", name="inner", code="def inner(): return 41")
        self.assertEqual(self.value_of("from skills import outer\nouter()"), 42)

    def test_files_of_the_workspace_come_first(self):
        self.ok("save_skill", name="mine", code="where = 'store'")
        self.client.write_file("skills/mine.py", "where = 'workspace'")
        self.assertEqual(self.value_of("from skills import mine, csv_records\n[mine.where, callable(csv_records)]"),
                         ["workspace", True])
        self.client.write_file("skills/__init__.py", "own = 1")
        self.assertEqual(self.value_of("import skills\nskills.own"), 1)

    def test_javascript_requires_saves_and_loads(self):
        saved = """
const told = await save_skill('twice', 'module.exports = (n) => 2 * n', 'Twice');
return [told, await load_skill('twice'), (await list_skills()).filter((s) => s.name === 'twice').length];
"""
        self.assertEqual(self.value_of(saved, language="javascript"),
                         ["Skill 'twice' saved successfully", "module.exports = (n) => 2 * n", 1])
        code = "return [require('skills/twice')(4), require('/skills/twice.js')(5), require('/skills/twice')(6)]"
        self.assertEqual(self.value_of(code, language="javascript"), [8, 10, 12])
        for code, words in (("require('skills/none')", "there is no skill 'none'"),
                            ("require('skills/csv_records')", "is python"),
                            ("await load_skill('none')", "not_found: Skill not found: none")):
            with self.subTest(code=code):
                self.assertIn(words, self.client.execute(code, language="javascript")["error"])

    def test_javascript_keeps_files_below_skills(self):
        """As agents have learnt it: fs.writeFile('/skills/x.js')."""
        wrote = """
await fs.writeFile('/skills/sales_summary.js', `
  module.exports = async function summarizeSales(data) {
    return data.reduce((acc, sale) => { acc.total += sale.amount; acc.count += 1; return acc; }, { total: 0, count: 0 });
  };
`);
return (await fs.readFile('/skills/sales_summary.js')).includes('summarizeSales');
"""
        self.assertIs(self.value_of(wrote, language="javascript"), True)
        code = "return await require('/skills/sales_summary.js')([{amount: 2}, {amount: 3}])"
        self.assertEqual(self.value_of(code, language="javascript"), {"total": 5, "count": 2})
        bad = self.client.execute("await fs.writeFile('/skills/bad.js', '(')", language="javascript")
        self.assertIn("does not compile", bad["error"])

    def test_require_waits_beside_calls_that_are_under_way(self):
        code = """
const before = [list_skills(), list_skills()];
const flatten = require('skills/flatten_object');
const after = list_skills();
return [(await Promise.all([...before, after])).map((s) => s.length > 9), flatten({a: {b: 1}})];
"""
        self.assertEqual(self.value_of(code, language="javascript"), [[True, True, True], {"a.b": 1}])

    def test_the_shared_skills_are_files_of_the_jail_read_only(self):
        self.assertEqual(self.value_of("import os\nsorted(os.listdir('/skills'))"), [path.name for path in SHARED])
        self.assertEqual(self.value_of("open('/skills/csv-records/SKILL.md').read()"),
                         (TOP / "skills/shared/csv-records/SKILL.md").read_text())
        self.assertIn("Error", self.client.execute("open('/skills/x', 'w')")["error"])
        listing = self.client.execute("ls /skills/csv-records", language="shell")
        self.assertEqual(listing["output"], ["SKILL.md", "scripts"])

    def test_processes_that_code_starts_find_the_shared_skills(self):
        code = """
import multiprocessing
def work(n):
    from skills import group_by
    return group_by([{"n": n}], "n")[0]["n"]
if __name__ == "__main__":
    with multiprocessing.get_context("{}").Pool(2) as pool:
        result = pool.map(work, [1, 2])
"""
        for method in ("fork", "spawn"):
            with self.subTest(method=method):
                self.assertEqual(self.value_of(code.replace("{}", method)), [1, 2])

    def test_code_that_asks_oddly_is_told(self):
        for call in ("save_skill", "load_skill", "delete_skill", "list_skills"):
            for arguments in ("name=[1]", "nothing=1", "name='x' * 10000", "name={'a': {'b': 1}}"):
                with self.subTest(call=call, arguments=arguments):
                    body = self.client.execute(f"import warder\nwarder.call('{call}', {arguments})")
                    self.assertRegex(body["error"], r"CallError: (invalid|not_found): ")


class Shipped(WithDaemon):
    def test_the_example_of_each_runs_in_a_jail_and_answers_what_it_says(self):
        self.assertGreaterEqual(len(SHARED), 10)
        for path in SHARED:
            with self.subTest(skill=path.name):
                language, code, expected = EXAMPLE.search((path / "SKILL.md").read_text()).groups()
                self.assertIn(path.name.replace("-", "_"), code)
                self.assertEqual(self.value_of(code, language=language), json.loads(expected))


class Extension(WithDaemon):
    def test_the_extension_is_offered_in_both_eras(self):
        found = self.client.request("server/discover")["capabilities"]
        self.assertEqual(found["extensions"]["io.modelcontextprotocol/skills"], {"directoryRead": True})
        self.assertIs(found["prompts"]["listChanged"], True)
        self.assertIs(found["resources"]["listChanged"], True)

    def test_entries_are_whole_and_their_digests_those_of_the_files(self):
        self.ok("save_skill", name="My_tool", code="def My_tool(): pass\n", description='Say "hi": it')
        result = self.client.request("skills/list")
        self.assertEqual((result["cacheScope"], type(result["ttlMs"])), ("private", int))
        skills = {skill["uri"]: skill for skill in result["skills"]}
        self.assertEqual(len(skills), 1 + len(SHARED))
        self.assertEqual(skills["skill://my-tool/SKILL.md"]["frontmatter"]["description"], 'Say "hi": it')
        for uri, skill in skills.items():
            self.assertEqual(uri.split("/")[-2], skill["frontmatter"]["name"])
            self.assertEqual(skill["resources"][0]["uri"], uri)
            for file in skill["resources"]:
                contents = self.client.request("resources/read", uri=file["uri"])["contents"][0]
                data = contents["text"].encode() if "text" in contents else base64.b64decode(contents["blob"])
                self.assertEqual(file["digest"], "sha256:" + hashlib.sha256(data).hexdigest())
                self.assertEqual(file["size"], len(data))
            got = self.client.request("skills/get", uri=uri)
            self.assertEqual(got["skill"], skill)
            self.assertEqual((got["cacheScope"], "cursor" in got), ("private", False))
        self.assertEqual([skill["uri"] for skill in result["skills"]], sorted(skills))

    def test_folders_are_listed(self):
        def listed(uri):
            return self.client.request("resources/directory/read", uri=uri)["resources"]

        self.assertEqual([(one["name"], one["mimeType"]) for one in listed("skill://csv-records")],
                         [("SKILL.md", "text/markdown"), ("scripts", "inode/directory")])
        (script,) = listed("skill://csv-records/scripts")
        self.assertEqual(script["uri"], "skill://csv-records/scripts/csv_records.py")

    def test_what_is_not_there_is_an_invalid_parameter(self):
        for method, uris in (("skills/get", ("skill://none/SKILL.md", "skill://csv-records", "x", "", None, 5,
                                             "skill://csv-records/scripts/csv_records.py", "skill://CSV-records/SKILL.md")),
                             ("resources/read", ("skill://none/SKILL.md", "skill://csv-records/../x",
                                                 "skill://csv-records/none", "skill://csv-records")),
                             ("resources/directory/read", ("skill://none", "skill://csv-records/SKILL.md", "skill://",
                                                           "skill://csv-records/"))):
            for uri in uris:
                with self.subTest(method=method, uri=uri), self.assertRaisesRegex(RuntimeError, "-32602"):
                    self.client.request(method, uri=uri)
        with self.assertRaisesRegex(RuntimeError, "-32602"):
            self.client.request("skills/list", cursor="../x")

    def test_each_skill_is_a_prompt(self):
        self.ok("save_skill", name="my_tool", code="def my_tool(): pass\n", description="Does it")
        prompts = {prompt["name"]: prompt for prompt in self.client.request("prompts/list")["prompts"]}
        self.assertEqual(prompts["my_tool"]["description"], "Does it")
        self.assertIn("csv_records", prompts)
        got = self.client.request("prompts/get", name="my_tool", arguments={"task": "count sheep"})
        (message,) = got["messages"]
        self.assertEqual(message["role"], "user")
        self.assertIn("from skills import my_tool", message["content"]["text"])
        self.assertIn("count sheep", message["content"]["text"])
        with self.assertRaisesRegex(RuntimeError, "-32602"):
            self.client.request("prompts/get", name="none")

    def test_clients_hear_of_changes(self):
        legacy = self.enterContext(Client(self.daemon.socket))
        legacy.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
        self.assertIs(legacy.receive()["result"]["capabilities"]["prompts"]["listChanged"], True)
        modern = self.enterContext(Client(self.daemon.socket))
        listening = modern.begin("subscriptions/listen", notifications={"promptsListChanged": True, "toolsListChanged": True})
        acknowledged = modern.receive()
        self.assertEqual(acknowledged["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(acknowledged["params"]["notifications"], {"promptsListChanged": True, "toolsListChanged": True})

        self.ok("save_skill", name="x", code="pass")
        self.assertEqual({legacy.receive()["method"] for _ in range(2)},
                         {"notifications/resources/list_changed", "notifications/prompts/list_changed"})
        heard = modern.receive()
        self.assertEqual(heard["method"], "notifications/prompts/list_changed")
        self.assertEqual(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening)

        self.ok("save_skill", name="x", code="pass")  # the same: nothing has changed
        self.ok("delete_skill", name="x")
        self.assertEqual(modern.receive()["method"], "notifications/prompts/list_changed")
        modern.cancel(listening)
        self.ok("save_skill", name="y", code="pass")
        self.assertEqual(modern.request("prompts/list")["prompts"][-1]["name"], "y")
        self.assertEqual(modern.notifications, [])

    def test_a_client_that_listens_does_not_hold_up_the_end(self):
        listener = self.enterContext(Client(self.daemon.socket))
        listening = listener.begin("subscriptions/listen", notifications={"promptsListChanged": True})
        listener.receive()
        self.daemon.process.terminate()
        self.assertEqual(listener.answer(listening)["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening)
        self.assertEqual(self.daemon.process.wait(30), 0)
        self.daemon.process = None


@unittest.skipUnless(ROOT, "needs root, to be two users")
class Tenants(WithDaemon):
    def connect_as_another(self):
        self.daemon.socket.chmod(0o666)
        os.seteuid(ORDINARY_USER)  # SO_PEERCRED is of the moment of connect()
        try:
            return self.enterContext(Client(self.daemon.socket))
        finally:
            os.seteuid(0)

    def test_nobody_sees_the_skills_of_another(self):
        other = self.connect_as_another()
        listening = other.begin("subscriptions/listen", notifications={"promptsListChanged": True,
                                                                       "resourcesListChanged": True})
        other.receive()
        self.ok("save_skill", name="secret", code="key = 'mine'", description="Mine")
        self.assertNotIn("secret", json.dumps(other.answer(other.begin("prompts/list"))))
        self.assertEqual(other.notifications, [])
        other.cancel(listening)
        self.assertEqual(self.names(other), [])
        self.assertTrue(other.call("load_skill", {"name": "secret"})["isError"])
        self.assertTrue(other.call("delete_skill", {"name": "secret"})["isError"])
        self.assertIn("there is no skill", other.execute("from skills import secret")["error"])
        self.assertNotIn("secret", json.dumps(other.request("skills/list")))
        self.assertNotIn("skill", [tool.get("kind") for tool in
                                   answer(other.call("search_tools", {"query": "secret"}))["tools"]])
        self.assertNotIn("secret", json.dumps(other.request("resources/list")))
        for method, params in (("skills/get", {"uri": "skill://secret/SKILL.md"}),
                               ("resources/read", {"uri": "skill://secret/scripts/secret.py"}),
                               ("prompts/get", {"name": "secret"})):
            with self.assertRaises(RuntimeError):
                other.request(method, **params)
        self.assertEqual(answer(other.call("save_skill", {"name": "secret", "code": "key = 'other'"}))["version"], 1)
        self.assertEqual(self.ok("load_skill", name="secret")["code"], "key = 'mine'")
        self.assertEqual(self.value_of("from skills import secret\nsecret.key"), "mine")
        self.assertEqual(other.execute("from skills import secret\nsecret.key")["result"], "other")


if __name__ == "__main__":
    unittest.main(verbosity=2)
