#!/usr/bin/env python3
"""The contract of the server whose tools these are: names, parameters and result keys as its clients know them, and for
each defect that its tools had, a test that ours have it not.

Golden: what a client of that server sends, and the keys that it reads. Ours may answer with more.
"""
import json
import pathlib
import re
import shutil
import tempfile
import unittest

from harness import Client, Daemon, Policies

# Tool: its parameters in their order, and which of them are required.
CONTRACT = {
    "execute_code": (["code", "context_vars", "timeout_seconds", "memory_mb"], ["code"]),
    "search_tools": (["query", "category", "detail_level"], ["query"]),
    "get_tool_definition": (["tool_name", "category"], ["tool_name"]),
    "list_tool_categories": ([], []),
    "save_skill": (["name", "code", "description"], ["name", "code"]),
    "load_skill": (["name"], ["name"]),
    "list_skills": ([], []),
    "sanitize_pii": (["text"], ["text"]),
    "restore_pii": (["text"], ["text"]),
    "write_workspace_file": (["filename", "content"], ["filename", "content"]),
    "read_workspace_file": (["filename"], ["filename"]),
    "list_workspace_files": (["subpath"], []),
    "get_execution_stats": ([], []),
}
DEFAULTS = {("execute_code", "timeout_seconds"): 30, ("execute_code", "memory_mb"): 500,
            ("search_tools", "detail_level"): "summary",
            ("save_skill", "description"): "", ("list_workspace_files", "subpath"): "."}
TYPES = {"code": "string", "context_vars": "object", "timeout_seconds": "number", "memory_mb": "number",
         "query": "string", "category": "string", "detail_level": "string", "tool_name": "string", "name": "string",
         "description": "string", "text": "string", "filename": "string", "content": "string", "subpath": "string"}

CATALOG = {
    "version": "1", "description": "d", "last_updated": "2025-12-30", "core_mcps": ["memory"], "total_tools": 85,
    "categories": {
        "security": {"description": "Guards", "tools": {
            "dos_detector": {"name": "dos_detector", "mcp_server": "sec", "description": "Detect floods in access logs",
                             "functions": ["analyze_access_log"], "use_cases": ["find who sends too much"]},
            "shared_name": {"name": "shared_name", "mcp_server": "sec", "description": "of security",
                            "functions": [], "use_cases": []}}},
        "media": {"description": "Pictures", "tools": {
            "shared_name": {"name": "shared_name", "mcp_server": "pix", "description": "of media", "functions": [],
                            "use_cases": []}}}}}


def text_of(result):
    """Every tool of the contract answers with JSON in one text block."""
    assert [block["type"] for block in result["content"]] == ["text"], result
    return json.loads(result["content"][0]["text"])


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.catalog = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-catalog-"))
        cls.addClassCleanup(shutil.rmtree, cls.catalog, ignore_errors=True)
        cls.catalog.chmod(0o755)
        (cls.catalog / "full_catalog.json").write_text(json.dumps(CATALOG))
        cls.policies = cls.enterClassContext(Policies(pii={"restore": "agents"}))
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies, arguments=["--catalog", cls.catalog]))
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def ask(self, tool, **arguments):
        result = self.client.call(tool, arguments)
        self.assertFalse(result.get("isError", False), result)
        return text_of(result)

    def refused(self, tool, **arguments):
        result = self.client.call(tool, arguments)
        self.assertTrue(result.get("isError"), result)
        return text_of(result)

    def execute(self, code, **arguments):
        return self.client.execute(code, **arguments)

    def value_of(self, code, **arguments):
        body = self.execute(code, **arguments)
        self.assertTrue(body["success"], body)
        return body["result"]


class Definitions(Served):
    def test_names_parameters_types_and_defaults(self):
        tools = {tool["name"]: tool for tool in self.client.request("tools/list")["tools"]}
        self.assertLessEqual(set(CONTRACT), set(tools))
        for name, (parameters, required) in CONTRACT.items():
            schema = tools[name]["inputSchema"]
            with self.subTest(tool=name):
                self.assertEqual(list(schema["properties"])[:len(parameters)], parameters)
                self.assertEqual(schema.get("required", []), required)
                for parameter in parameters:
                    self.assertEqual(schema["properties"][parameter]["type"], TYPES[parameter], parameter)
                    if (name, parameter) in DEFAULTS:
                        self.assertEqual(schema["properties"][parameter]["default"], DEFAULTS[name, parameter])

    def test_annotations(self):
        """As a client understands them: what is left out has the specification's default."""
        reads = ("read",)
        expected = {
            "execute_code": ("write", "destructive"),
            "search_tools": reads, "get_tool_definition": reads, "list_tool_categories": reads, "list_skills": reads,
            "load_skill": reads, "list_workspace_files": reads, "read_workspace_file": reads, "get_execution_stats": reads,
            "sanitize_pii": reads, "restore_pii": reads, "save_skill": ("write",),
            "write_workspace_file": ("write", "destructive"),  # what it replaces is lost
            "delete_workspace_file": ("write", "destructive"), "delete_skill": ("write", "destructive"),
            "commit_workspace": ("write", "destructive"),
            "call_tool": ("write", "destructive"),
        }
        for tool in self.client.request("tools/list")["tools"]:
            with self.subTest(tool=tool["name"]):
                hints = tool.get("annotations", {})
                told = ["read"] if hints.get("readOnlyHint", False) else ["write"]
                if told == ["write"]:  # of what only reads, these say nothing
                    told += ["destructive"] * hints.get("destructiveHint", True)
                    told += ["idempotent"] * hints.get("idempotentHint", False)
                self.assertEqual(tuple(told), expected[tool["name"]])
                self.assertEqual(tool.get("_meta", {}).get("anthropic/requiresUserInteraction", False),
                                 tool["name"] == "restore_pii")

    def test_what_its_clients_leave_out_they_send_as_null(self):
        self.assertEqual(self.ask("search_tools", query="floods", category=None)["count"], 1)
        self.assertEqual(self.ask("get_tool_definition", tool_name="dos_detector", category=None)["category"], "security")
        self.assertEqual(self.value_of("result = 1", context_vars=None), 1)


class ExecuteCode(Served):
    def test_keys_of_success_failure_and_timeout(self):
        body = self.execute("print('a', 'b')\nprint(1)\nresult = {'n': 1}")
        self.assertEqual((body["success"], body["result"], body["output"]), (True, {"n": 1}, ["a b", "1"]))
        self.assertIsInstance(body["execution_time_ms"], int)
        body = self.execute("print('before')\nraise KeyError('gone')")
        self.assertEqual((body["success"], body["output"]), (False, ["before"]))
        self.assertEqual(body["error"], "KeyError: 'gone'")
        self.assertIn("raise KeyError('gone')", body["traceback"])
        body = self.execute("print('before', flush=True)\nwhile True: pass", timeout_seconds=1)
        self.assertEqual((body["success"], body["output"], body["outcome"]), (False, ["before"], "timeout"))
        self.assertRegex(body["error"], r"1(\.0)? ?s|1 second|1000 ms")

    def test_values_that_are_no_json_are_their_text(self):
        self.assertEqual(self.value_of("result = date(2025, 12, 30)"), "2025-12-30")
        self.assertIsNone(self.value_of("x = 1"))

    def test_preset_modules_and_the_class_datetime(self):
        self.assertEqual(
            self.value_of("result = [json.loads('1'), re.sub('a', 'b', 'a'), math.floor(1.5), statistics.mean([1, 3]), "
                          "collections.Counter('aa')['a'], datetime(2025, 1, 2).year, (date(2025, 1, 2) + "
                          "timedelta(days=1)).day]"), [1, "b", 1, 2, 2, 2025, 3])

    def test_the_whole_language_is_there(self):
        """`import`, `class`, `exec`, `open`, `hasattr` and most exceptions were not."""
        self.assertEqual(
            self.value_of("import json\nclass A: pass\nexec('y = 5')\ntry: 1 / 0\n"
                          "except ZeroDivisionError: z = hasattr(A(), 'b')\n"
                          "open('/workspace/x', 'w').write('t')\nresult = [y, z, open('x').read(), next(iter([9]))]"),
            [5, False, "t", 9])

    def test_the_two_ways_out_that_were_found_lead_nowhere(self):
        """The server's own files could be read and its user's programs be run."""
        secret = self.daemon.state / "master.key"
        body = self.execute(f"result = json.codecs.builtins.open({str(secret)!r}).read()")
        self.assertIn("No such file", body["error"])
        self.assertEqual(self.value_of("result = json.codecs.builtins.open('/etc/passwd').read().count('\\n')"), 3)
        walk = ("for c in ().__class__.__base__.__subclasses__():\n"
                "    if c.__name__ == '_wrap_close':\n"
                "        result = c.__init__.__globals__['popen']('id -u; cat /proc/1/comm; ls /proc | grep -c ^[0-9]')"
                ".read().split()")
        self.assertLess(int(self.value_of("import os\n" + walk)[-1]), 10, "only the jail's own processes")

    def test_a_limit_cannot_be_caught_and_leaves_nothing_behind(self):
        body = self.execute("import time\nwhile True:\n    try: time.sleep(60)\n    except Exception: pass\n"
                            "    print('went on', flush=True)", timeout_seconds=1)
        self.assertEqual((body["outcome"], body["output"]), ("timeout", []), body)
        self.assertEqual(self.execute("x = bytearray(300 << 20)", memory_mb=60)["success"], False)
        # That limit was the server's own from then on.
        self.assertEqual(self.value_of("result = len(bytearray(200 << 20))"), 200 << 20)

    def test_a_flood_of_output_is_bounded_and_all_of_it_kept(self):
        result = self.client.call("execute_code", {"code": "for i in range(200_000): print(i, 'x' * 90)"})
        self.assertLess(len(json.dumps(result)), 60_000)
        body = text_of(result)
        self.assertEqual(body["truncated"]["stdout"]["lines"], 200_000)
        last = body["truncated"]["stdout"]["bytes"] - 100
        self.assertIn("199999 xxx", self.ask("read_workspace_file", offset=last, filename=(
            body["truncated"]["stdout"]["resource"]))["content"])

    def test_print_is_pythons_own_and_stderr_is_told(self):
        body = self.execute("import sys\nprint('a', 'b', sep='-', end='!\\n')\nprint('e', file=sys.stderr)")
        self.assertEqual((body["output"], body["stderr"]), (["a-b!"], "e\n"))

    def test_one_loop_stalls_nobody(self):
        with Client(self.daemon.socket) as other:
            request = self.client.begin_running("print('running', flush=True)\nwhile True: pass", timeout_seconds=20)
            self.assertEqual(other.execute("result = 2")["result"], 2)
            self.client.cancel(request)

    def test_context_vars_are_data_and_take_no_ones_name(self):
        self.assertEqual(self.value_of("result = rows[1]", context_vars={"rows": [1, "it's \"data\"\n"]}), "it's \"data\"\n")
        for name in ("read_file", "print", "json", "tokenize_pii", "date", "id", "input", "type", "filter", "format", "list",
                     "max", "workspace", "datetime"):
            with self.subTest(name=name):
                self.assertEqual(self.value_of(f"result = {name}", context_vars={name: "mine"}), "mine")
        # What no variable can be called is in the dict alone, and the interpreter's own stays what it is.
        for name in ("__builtins__", "from", "my-var"):
            with self.subTest(name=name):
                self.assertEqual(self.value_of(f"result = [context_vars[{name!r}], len([1, 2])]",
                                               context_vars={name: "mine"}), ["mine", 2])


class Helpers(Served):
    def test_files(self):
        self.assertEqual(
            self.value_of("said = write_file('d/a.txt', 'é')\nresult = [workspace, said, read_file('d/a.txt'), "
                          "list_files('d'), delete_file('d/a.txt'), list_files('d')]"),
            ["/workspace", "Written 2 bytes to d/a.txt", "é", ["d/a.txt"], "Deleted d/a.txt", []])
        for code in ("read_file('../workspace-other/x')", "write_file('../workspace-other/x', '')",
                     "delete_file('../../etc/passwd')"):
            self.assertIn("PermissionError", self.execute(code)["error"])

    def test_personal_data(self):
        self.assertEqual(self.value_of("clean, tokens = tokenize_pii('to a@b.co')\n"
                                       "result = [clean == 'to ' + list(tokens)[0], list(tokens.values()), "
                                       "detokenize_pii(clean), detokenize_pii(clean, tokens)]"),
                         [True, ["a@b.co"], "to a@b.co", "to a@b.co"])

    def test_lists(self):
        self.assertEqual(self.value_of("data = [{'a': 1, 'b': True}, {'a': 3, 'b': False}, {'c': 'x'}]\n"
                                       "result = [filter_by_field(data, 'a', 3), summarize_list(data, 1)]"),
                         [[{"a": 3, "b": False}], {"count": 3, "sample": [{"a": 1, "b": True}]}])

    def test_statistics_count_neither_what_is_missing_nor_what_is_no_number(self):
        """A missing field was 0, and True was 1."""
        stats = self.value_of("result = aggregate_stats([{'a': 1, 'b': True}, {'a': 3, 'b': False}, {'c': 'x'}])")
        self.assertEqual({key: stats[key] for key in ("count", "a_sum", "a_avg", "a_min", "a_max")},
                         {"count": 3, "a_sum": 4, "a_avg": 2, "a_min": 1, "a_max": 3})
        self.assertNotIn("b_sum", stats)

    def test_formatted_output_is_whole_json(self):
        """It was cut in the middle."""
        json.loads(self.value_of("result = format_output([{'k': 'v' * 50}] * 500, 1000)"))


class Discovery(Served):
    def test_keys_of_a_search(self):
        found = self.ask("search_tools", query="dos_detector")
        self.assertLessEqual({"query", "category", "detail_level", "count", "tools"}, set(found))
        self.assertEqual((found["query"], found["detail_level"], found["count"]), ("dos_detector", "summary", 1))
        self.assertLessEqual({"name": "dos_detector", "category": "security", "mcp_server": "sec",
                              "description": "Detect floods in access logs"}.items(), found["tools"][0].items())
        full = self.ask("search_tools", query="dos_detector", detail_level="full")["tools"][0]
        self.assertEqual((full["functions"], full["use_cases"]), (["analyze_access_log"], ["find who sends too much"]))

    def test_words_are_looked_for_not_one_substring_and_levels_are_known_or_refused(self):
        self.assertEqual(self.ask("search_tools", query="who floods my log?")["tools"][0]["name"], "dos_detector")
        self.assertTrue(self.client.call("search_tools", {"query": "x", "detail_level": "everything"})["isError"])
        self.assertEqual(len(self.ask("search_tools", query="", limit=1)["tools"]), 1)

    def test_a_definition_or_what_is_near_never_nothing(self):
        self.assertLessEqual({"name": "dos_detector", "category": "security", "mcp_server": "sec",
                              "functions": ["analyze_access_log"]}.items(),
                             self.ask("get_tool_definition", tool_name="dos_detector").items())
        unknown = self.refused("get_tool_definition", tool_name="dos_detektor")
        self.assertIn("dos_detector", json.dumps(unknown))

    def test_a_category_decides_between_two_of_a_name(self):
        """It was not looked at; the first one won."""
        for category in ("media", "security"):
            self.assertEqual(self.ask("get_tool_definition", tool_name="shared_name", category=category)["description"],
                             f"of {category}")

    def test_categories_are_counted(self):
        """The file's own number, 85, was believed; and nothing was ever read again."""
        told = self.ask("list_tool_categories")
        self.assertEqual(told["total_tools"], 3)
        self.assertEqual(told["categories"]["security"], {"description": "Guards", "tool_count": 2})
        self.assertEqual(told["core_mcps"], ["memory"])
        self.assertEqual(self.ask("get_execution_stats")["tool_registry"],
                         {"categories": ["media", "security"], "total_tools": told["total_tools"]})


class PersonalData(Served):
    def test_keys(self):
        clean = self.ask("sanitize_pii", text="a@b.co, 4111 1111 1111 1111, 10.0.0.1")
        self.assertEqual(list(clean), ["sanitized_text", "pii_found", "pii_types"])
        self.assertEqual((clean["pii_found"], set(clean["pii_types"])), (3, {"EMAIL", "CREDIT_CARD", "IP_ADDRESS"}))
        self.assertEqual(self.ask("restore_pii", text=clean["sanitized_text"]),
                         {"restored_text": "a@b.co, 4111 1111 1111 1111, 10.0.0.1"})

    def test_a_token_is_no_digest_that_others_can_compute(self):
        """It was the first 8 digits of md5."""
        token = self.ask("sanitize_pii", text="078-05-1120")["sanitized_text"]
        self.assertRegex(token, r"\A\[SSN_[a-z0-9]{6}\]\Z")
        with Daemon(policies=self.policies) as other, Client(other.socket) as client:
            self.assertNotEqual(text_of(client.call("sanitize_pii", {"text": "078-05-1120"}))["sanitized_text"], token)

    def test_only_what_is_meant_is_replaced(self):
        text = "10.0.0.1 is in 110.0.0.12; version 1.2.3.4; 999.999.999.999; 4111 1111 1111 1112"
        clean = self.ask("sanitize_pii", text=text)
        self.assertEqual(clean["pii_types"], ["IP_ADDRESS"])
        self.assertEqual(clean["pii_found"], 2)
        self.assertTrue(clean["sanitized_text"].endswith("version 1.2.3.4; 999.999.999.999; 4111 1111 1111 1112"))
        self.assertEqual(self.ask("restore_pii", text=clean["sanitized_text"])["restored_text"], text)

    def test_a_token_that_nobody_made_is_not_restored(self):
        for forged in ("[EMAIL_deadbeef]", "[EMAIL_1]", "[SSN_aaaaaa]"):
            self.assertEqual(self.ask("restore_pii", text=forged)["restored_text"], forged)

    def test_without_the_policys_word_a_model_gets_nothing_back(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            refused = client.call("restore_pii", {"text": "[EMAIL_aaaaaa]"})
            self.assertTrue(refused["isError"])
            self.assertEqual(text_of(refused)["code"], "denied")


class Workspace(Served):
    def test_keys(self):
        wrote = self.ask("write_workspace_file", filename="k/a.txt", content="één")
        self.assertEqual((wrote["success"], wrote["message"]), (True, "Written 5 bytes to k/a.txt"), "bytes, not letters")
        read = self.ask("read_workspace_file", filename="k/a.txt")
        self.assertLessEqual({"success": True, "filename": "k/a.txt", "content": "één", "size": 5}.items(), read.items())
        listed = self.ask("list_workspace_files", subpath="k")
        self.assertLessEqual({"success": True, "path": "k", "files": ["k/a.txt"], "count": 1}.items(), listed.items())
        refused = self.refused("read_workspace_file", filename="none.txt")
        self.assertIs(refused["success"], False)
        self.assertIn("none.txt", refused["error"])

    def test_no_name_leads_outside_not_even_to_a_folder_whose_name_begins_the_same(self):
        beside = self.daemon.state / "tenants" / next((self.daemon.state / "tenants").iterdir()).name / "workspace-b"
        for name in ("../workspace-b/x", "/etc/passwd", "a/../../executions/x", "..", "k/../../x", "a\0b"):
            with self.subTest(name=name):
                self.assertIs(self.refused("write_workspace_file", filename=name, content="x")["success"], False)
                self.assertIs(self.refused("read_workspace_file", filename=name)["success"], False)
        self.assertFalse(beside.exists())

    def test_a_link_in_the_workspace_is_not_followed(self):
        self.value_of("import os\nos.symlink('/etc/passwd', 'link')\nresult = 1")
        self.assertIs(self.refused("read_workspace_file", filename="link")["success"], False)
        self.assertIs(self.refused("write_workspace_file", filename="link", content="x")["success"], False)

    def test_ranges_bytes_and_listings_are_bounded(self):
        self.ask("write_workspace_file", filename="big.txt", content="0123456789" * 10_000)
        part = self.ask("read_workspace_file", filename="big.txt", offset=5, limit=10)
        self.assertEqual((part["content"], part["size"]), ("5678901234", 100_000))
        self.ask("write_workspace_file", filename="bytes", content="/w==", encoding="base64")
        self.assertEqual(self.ask("read_workspace_file", filename="bytes")["encoding"], "base64")
        self.value_of("import os\nos.makedirs('many', exist_ok=True)\n"
                      "for i in range(50): open(f'many/{i}', 'w').close()\nresult = 1")
        listed = self.ask("list_workspace_files", subpath="many", limit=10)
        self.assertEqual((len(listed["files"]), listed["more"]), (10, True))
        missing = self.ask("list_workspace_files", subpath="no-such-folder")
        self.assertEqual((missing["files"], missing["note"]), ([], "there is no folder 'no-such-folder'"))

    def test_the_hosts_paths_are_told_nowhere(self):
        told = json.dumps([self.ask("list_workspace_files"), self.refused("read_workspace_file", filename="nowhere"),
                           self.refused("write_workspace_file", filename="../x", content="")])
        self.assertIsNone(re.search(re.escape(str(self.daemon.state)), told))


if __name__ == "__main__":
    unittest.main(verbosity=2)
