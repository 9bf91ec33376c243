"""Results, output and files can be had: results in the background, results that are too large for an answer, the middle of
long output, lines by number and by pattern, folders in a list."""
import json
import unittest

from harness import HOLD, Client, Daemon, Policies, SharedDaemon, body_of, eventually, let_go, workspace_of

LARGE = 3_000_000  # characters of a result that has no room in an answer


def read(client, filename, **arguments):
    return body_of(client.call("read_workspace_file", {"filename": filename, **arguments}))


def read_all(client, filename):
    """The whole text, by ranges."""
    text, offset = "", 0
    while True:
        part = read(client, filename, offset=offset, limit=1 << 20)
        text += part["content"]
        offset = part["offset"] + part["length"]
        if not part["more"]:
            return text


class InBackground(SharedDaemon):
    def setUp(self):
        super().setUp()
        (workspace_of(self.daemon) / "go").unlink(missing_ok=True)

    def begin(self, code, **more):
        return self.client.call("execute_code", {"code": code, "background": True, **more})

    def test_read_workspace_file_waits_for_the_result_and_reads_it_as_it_is(self):
        begun = self.begin("import time\ntime.sleep(0.3)\nresult = 6 * 7")
        body = read(self.client, body_of(begun)["result"])
        self.assertEqual((body["success"], body["result"], body["outcome"]), (True, 42, "ok"), body)

    def test_the_answer_has_a_link_to_the_result(self):
        begun = self.begin("result = 1")
        links = [block for block in begun["content"] if block["type"] == "resource_link"]
        self.assertEqual([link["uri"] for link in links], [body_of(begun)["result"]])
        contents = self.client.request("resources/read", uri=links[0]["uri"])["contents"]
        self.assertEqual(len(contents), 1)

    def test_a_fork_in_the_background_too(self):
        body = read(self.client, body_of(self.begin("result = item * 2", fork=[1, 2]))["result"])
        self.assertEqual([one["result"] for one in body["results"]], [2, 4])

    def test_while_it_works_the_state_has_its_last_line(self):
        begun = body_of(self.begin(HOLD))
        eventually(lambda: read(self.client, f"exec:///{begun['execution_id']}/stdout")["content"], "output")
        body = read(self.client, begun["result"])  # after the wait
        self.assertEqual((body["state"], body["last_output"], body["execution_id"]),
                         ("working", "running", begun["execution_id"]))
        self.assertGreaterEqual(body["running_seconds"], 1)
        let_go(self.daemon)
        self.assertEqual(read(self.client, begun["result"])["result"], "went on")

    def test_a_part_of_a_result_can_be_read(self):
        uri = body_of(self.begin("result = ['a' * 50] * 50"))["result"]
        whole = json.dumps(read(self.client, uri), separators=(",", ":"))
        part = read(self.client, uri, offset=1, limit=9)
        self.assertEqual((part["content"], part["size"]), (whole[1:10], len(whole)))
        self.assertEqual(read(self.client, uri, pattern="no such word")["matches"], 0)

    def test_a_large_result_has_a_resource_of_its_own(self):
        body = read(self.client, body_of(self.begin(f"result = 'x' * {LARGE}"))["result"])
        stored = body["truncated"]["result"]
        self.assertEqual((stored["bytes"], stored["form"]), (LARGE, "text"), body)
        self.assertEqual(read_all(self.client, stored["resource"]), "x" * LARGE)

    def test_unknown_ids_are_not_found(self):
        plain = self.client.execute("result = 1")["execution_id"]
        for execution in ("e0123456789abcdef", plain):
            body = read(self.client, f"exec:///{execution}/result")
            self.assertEqual((body["success"], body["code"]), (False, "not_found"), body)

    def test_the_tenant_hears_that_the_next_task_removes_a_result(self):
        first = body_of(self.begin("result = 0"))
        read(self.client, first["result"])
        for _ in range(300):
            last = body_of(self.begin("result = 0"))
            read(self.client, last["result"])
            if "note" in last:
                break
        self.assertIn("removes the oldest result", last.get("note", ""))


class OtherTenants(unittest.TestCase):
    def test_the_results_and_output_of_another_tenant_are_not_found(self):
        with Policies(workspaces=["default", "other"]) as policies, Daemon(policies=policies) as daemon, \
                Client(daemon.socket) as client:
            begun = body_of(client.call("execute_code", {"code": "print('mine'); result = 1", "background": True}))
            read(client, begun["result"])
            large = client.execute(f"result = 'x' * {LARGE}")
            other = {"org.warder/workspace": "other"}
            for uri in (begun["result"], f"exec:///{begun['execution_id']}/stdout",
                        large["truncated"]["result"]["resource"], f"exec:///{large['execution_id']}/value"):
                call = {"name": "read_workspace_file", "arguments": {"filename": uri}}
                mine = client.request("tools/call", **call)
                self.assertFalse(mine.get("isError"), mine)
                theirs = body_of(client.request("tools/call", _meta=other, **call))
                self.assertEqual((theirs["success"], theirs["code"]), (False, "not_found"), theirs)

    def test_a_receipt_is_read_by_its_owner_alone(self):
        with Policies(workspaces=["default", "other"]) as policies, Daemon(policies=policies) as daemon, \
                Client(daemon.socket) as client:
            uri = f"exec:///{client.execute('pass')['execution_id']}/receipt"
            other = {"org.warder/workspace": "other"}
            call = {"name": "read_workspace_file", "arguments": {"filename": uri}}
            mine = body_of(client.request("tools/call", **call))
            self.assertIs(mine["no_new_privileges"], True, mine)
            [contents] = client.request("resources/read", uri=uri)["contents"]
            self.assertEqual(json.loads(contents["text"]), mine)
            theirs = body_of(client.request("tools/call", _meta=other, **call))
            self.assertEqual((theirs.get("success"), theirs.get("code")), (False, "not_found"), theirs)
            with self.assertRaisesRegex(RuntimeError, "-32602"):
                client.request("resources/read", uri=uri, _meta=other)


class LargeResults(SharedDaemon):
    def stored(self, code, **more):
        body = self.client.execute(code, **more)
        self.assertEqual((body["success"], body["outcome"]), (True, "ok"), str(body)[:500])
        self.assertNotIn("result", body)
        self.assertLess(len(json.dumps(body, ensure_ascii=False)), 5000)
        self.assertIn("read_workspace_file", body["notes"][0])
        self.assertEqual(body["truncated"]["result"]["resource"], f"exec:///{body['execution_id']}/result")
        return body

    def test_a_text_is_stored_as_it_is(self):
        for language, code in (("python", f"result = 'line \\u00e9\\n' * {LARGE // 7}"),
                               ("javascript", f"result = 'line \\u00e9\\n'.repeat({LARGE // 7})"),
                               ("typescript", f"const many: number = {LARGE // 7}; result = 'line \\u00e9\\n'.repeat(many)")):
            with self.subTest(language):
                body = self.stored(code, language=language)
                text = "line \u00e9\n" * (LARGE // 7)
                self.assertEqual(body["truncated"]["result"]["form"], "text")
                self.assertTrue(text.startswith(body["result_begins"]) and len(body["result_begins"]) > 1000)
                self.assertEqual(read_all(self.client, body["truncated"]["result"]["resource"]), text)
                lines = read(self.client, body["truncated"]["result"]["resource"], start_line=3, end_line=4)
                self.assertEqual(lines["content"], "line \u00e9\n" * 2)

    def test_other_values_are_stored_as_json(self):
        for language, code in (("python", "result = [{'n': n, 'text': '\\u20ac' * 10} for n in range(60_000)]"),
                               ("javascript", "result = Array.from({length: 60000}, (_, n) => ({n, text: '\\u20ac'.repeat(10)}))")):
            with self.subTest(language):
                body = self.stored(code, language=language)
                self.assertEqual(body["truncated"]["result"]["form"], "json")
                value = json.loads(read_all(self.client, body["truncated"]["result"]["resource"]))
                self.assertEqual(value, [{"n": n, "text": "\u20ac" * 10} for n in range(60_000)])

    def test_characters_outside_the_first_plane_stay_whole(self):
        for language, code in (("python", f"result = 'a' + '\\U0001f600' * {LARGE // 4}"),
                               ("javascript", f"result = 'a' + '\\u{{1f600}}'.repeat({LARGE // 4})")):
            with self.subTest(language):
                uri = self.stored(code, language=language)["truncated"]["result"]["resource"]
                self.assertEqual(read_all(self.client, uri), "a" + "\U0001f600" * (LARGE // 4))

    def test_in_a_session_each_program_has_its_own(self):
        for language, code in (("python", "result = '{}' * 2_000_000"), ("javascript", "result = '{}'.repeat(2000000)")):
            for letter in "ab":
                body = self.stored(code.format(letter), language=language, session=f"s-{language}")
                self.assertEqual(read(self.client, body["truncated"]["result"]["resource"], limit=3)["content"], letter * 3)

    def test_a_branch_has_more_than_its_share(self):
        answer = body_of(self.client.call("execute_code", {"code": "result = str(item) * 600_000", "fork": [1, 2]}))
        self.assertTrue(answer["success"], str(answer)[:500])
        for one, letter in zip(answer["results"], "12"):
            self.assertEqual(one["truncated"]["result"]["form"], "text")
            self.assertEqual(read_all(self.client, one["truncated"]["result"]["resource"]), letter * 600_000)

    def test_the_newest_programs_read_it_as_the_agent_does(self):
        body = self.stored(f"result = 'abc\\n' * {LARGE // 4}")
        uri = body["truncated"]["result"]["resource"]
        again = self.client.execute(f"text = read_file('{uri}')\nresult = [len(text), text[:8]]")
        self.assertEqual(again.get("result"), [LARGE, "abc\nabc\n"], again)
        again = self.client.execute(f"const text = await fs.readFile('{uri}'); result = [text.length, text.slice(0, 8)]",
                                    language="javascript")
        self.assertEqual(again.get("result"), [LARGE, "abc\nabc\n"], again)
        printed = self.client.execute("print('to be read')")["execution_id"]
        self.assertEqual(self.client.execute(f"result = read_file('exec:///{printed}/stdout')")["result"], "to be read\n")

    def test_beyond_64_mib_it_is_refused_in_words(self):
        body = self.client.execute("result = 'x' * (65 << 20)", memory_mb=1500)
        self.assertEqual((body["success"], body["outcome"]), (False, "error"), str(body)[:500])
        self.assertIn("67108864 bytes", body["error"])

    def test_hostile_parts_are_bounded_and_change_no_other_answer(self):
        body = self.client.execute("""
import warder
warder.call("keep_value", part="x" * 100)
errors = []
for part in (None, 5, ["a"]):
    try: warder.call("keep_value", part=part)
    except warder.CallError as e: errors.append(e.code)
try:
    while True: warder.call("keep_value", part="y" * 900_000)
except warder.CallError as e: errors.append(e.code)
result = errors
""", memory_mb=500)
        self.assertEqual(body["result"], ["invalid"] * 3 + ["exhausted"], body)


class LongOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        limits = {"standard": {"output_kept_bytes": 1 << 20, "output_total_bytes": 16 << 20},
                  "maximum": {"output_bytes": 1 << 20}}
        cls.policies = cls.enterClassContext(Policies(limits=limits))
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies))
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def test_its_middle_is_lost_and_the_program_goes_on(self):
        lines = 60_000  # of 80 bytes
        for language, code in (("python", f"for n in range({lines}): print(f'{{n:079}}')\nresult = 'went on'"),
                               ("javascript", f"for (let n = 0; n < {lines}; n++) console.log(String(n).padStart(79, '0'));"
                                              "\nresult = 'went on'")):
            with self.subTest(language):
                body = self.client.execute(code, language=language)
                self.assertEqual((body["outcome"], body.get("result")), ("ok", "went on"), str(body)[:500])
                told = body["truncated"]["stdout"]
                self.assertEqual((told["bytes"], told["lines"]), (lines * 80, lines))
                self.assertGreater(told["left_out"], 3 << 20)
                uri = told["resource"]
                head = read(self.client, uri, limit=160)
                self.assertEqual(head["content"], f"{0:079}\n{1:079}\n")
                self.assertEqual((head["size"], head["left_out"]["bytes"]), (lines * 80, told["left_out"]))
                behind = read(self.client, uri, offset=head["left_out"]["offset"] + 5, limit=10)
                self.assertEqual(behind["offset"], head["left_out"]["offset"] + head["left_out"]["bytes"])
                tail = read(self.client, uri, offset=lines * 80 - 80)
                self.assertEqual(tail["content"], f"{lines - 1:079}\n")
                found = read(self.client, uri, pattern=f"bytes left out|0{lines - 1}$")
                self.assertEqual(found["matches"], 2, found)
                self.assertIn(f"[... {told['left_out']} bytes left out ...]", found["content"])
                self.assertLessEqual(self.stored_bytes(body["execution_id"]), 1 << 20)

    def stored_bytes(self, execution):
        folder = workspace_of(self.daemon).parent / "executions" / execution
        return sum(file.stat().st_size for file in folder.iterdir())

    def test_a_program_reads_the_head_and_the_tail(self):
        printed = self.client.execute("for n in range(40_000): print(f'{n:079}')")["execution_id"]
        body = self.client.execute(f"text = read_file('exec:///{printed}/stdout')\n"
                                   "result = [text[:80], text[-80:], text.count('bytes left out')]")
        self.assertEqual(body["result"], [f"{0:079}\n", f"{39_999:079}\n", 1], body)

    def test_what_the_policy_forbids_ends_the_program(self):
        body = self.client.execute("while True: print('y' * 1000)")
        self.assertEqual(body["outcome"], "output", str(body)[:500])
        self.assertIn("output_total_bytes", body["error"])

    def test_the_head_and_the_tail_are_there_after_a_restart(self):
        printed = self.client.execute("for n in range(40_000): print(f'{n:079}')")
        with Client(self.daemon.socket) as client:
            before = read(client, f"exec:///{printed['execution_id']}/stdout", offset=40_000 * 80 - 80)
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.start()
        type(self).client = self.enterClassContext(Client(self.daemon.socket))
        self.assertEqual(read(self.client, f"exec:///{printed['execution_id']}/stdout", offset=40_000 * 80 - 80), before)


class Lines(SharedDaemon):
    def write(self, name, content):
        self.client.call("write_workspace_file", {"filename": name, "content": content})

    def test_lines_by_number(self):
        self.write("hundred.txt", "".join(f"line {n}\n" for n in range(1, 101)))
        body = read(self.client, "hundred.txt", start_line=10, end_line=12)
        self.assertEqual(body["content"], "line 10\nline 11\nline 12\n")
        self.assertEqual((body["start_line"], body["end_line"], body["more"]), (10, 12, True))
        body = read(self.client, "hundred.txt", start_line=99)
        self.assertEqual((body["content"], body["lines"], body["more"]), ("line 99\nline 100\n", 100, False))
        body = read(self.client, "hundred.txt", start_line=200)
        self.assertEqual((body["content"], body["lines"]), ("", 100))

    def test_lines_that_have_no_room_go_on_at_next_line(self):
        self.write("long.txt", "".join(f"{n:099}\n" for n in range(1, 3001)))
        seen, line = "", 1
        while line:
            body = read(self.client, "long.txt", start_line=line)
            self.assertLessEqual(len(body["content"]), 64 << 10)
            seen += body["content"]
            line = body.get("next_line")
        self.assertEqual(seen, "".join(f"{n:099}\n" for n in range(1, 3001)))

    def test_lines_with_a_pattern(self):
        self.write("code.py", "import os\n\ndef first():\n    pass\n\ndef second(x):\n    return first()\n")
        body = read(self.client, "code.py", pattern=r"def \w+\(")
        self.assertEqual((body["content"], body["matches"]), ("3:def first():\n6:def second(x):\n", 2))
        body = read(self.client, "code.py", pattern="first", start_line=4)
        self.assertEqual(body["content"], "7:    return first()\n")
        self.assertEqual(read(self.client, "code.py", pattern="(?i)IMPORT")["matches"], 1)

    def test_kept_output_has_lines_too(self):
        printed = self.client.execute("for n in range(5000): print('error' if n == 4321 else 'fine', n)")["execution_id"]
        body = read(self.client, f"exec:///{printed}/stdout", pattern="^error")
        self.assertEqual(body["content"], "4322:error 4321\n")

    def test_many_matches_are_bounded_and_go_on(self):
        self.write("many.txt", "match\n" * 1000)
        body = read(self.client, "many.txt", pattern="match")
        self.assertEqual((body["matches"], body["more"], body["next_line"]), (200, True, 201))

    def test_a_line_without_end_is_cut(self):
        self.client.execute("open('/workspace/endless.txt', 'w').write('a' * 3_000_000 + 'b\\nshort\\n')")
        body = read(self.client, "endless.txt", start_line=1, end_line=2)
        self.assertLess(len(body["content"]), 70_000)
        self.assertEqual((body["cut_lines"], body["next_line"]), (1, 2))
        self.assertEqual(read(self.client, "endless.txt", pattern="b$")["matches"], 0)
        self.assertEqual(read(self.client, "endless.txt", pattern="short")["content"], "2:short\n")

    def test_patterns_that_make_other_engines_slow(self):
        self.client.execute("open('/workspace/slow.txt', 'w').write(('a' * 5000 + '\\n') * 2000)")
        body = read(self.client, "slow.txt", pattern="(a+)+b")
        self.assertEqual(body["matches"], 0, body)

    def test_wrong_arguments_are_named(self):
        self.write("a.txt", "a\n")
        for arguments, word in (({"pattern": "("}, "pattern"), ({"start_line": 0}, "start_line"),
                                ({"start_line": 5, "end_line": 4}, "end_line"), ({"pattern": "x" * 1001}, "pattern"),
                                ({"start_line": 1, "offset": 5}, "start_line"), ({"pattern": "a", "limit": 5}, "count bytes"),
                                ({"pattern": "(?=a)"}, "pattern"), ({"pattern": 5}, "pattern")):
            body = read(self.client, "a.txt", **arguments)
            self.assertEqual((body["success"], body["code"]), (False, "invalid"), (arguments, body))
            self.assertIn(word, body["error"] + body.get("remedy", ""))

    def test_the_definition_says_what_counts_bytes(self):
        tools = {tool["name"]: tool for tool in self.client.request("tools/list")["tools"]}
        self.assertIn("offset, limit: bytes", tools["read_workspace_file"]["description"])


class Folders(unittest.TestCase):
    def test_a_workspace_of_folders_does_not_look_empty(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            def listed(**arguments):
                return body_of(client.call("list_workspace_files", arguments))
            client.call("write_workspace_file", {"filename": "src/app/main.py", "content": "x"})
            body = listed(depth=1)
            self.assertEqual((body["files"], body["folders"], body["count"]), ([], ["src"], 0))
            self.assertIn("below this depth", body["note"])
            body = listed(depth=2)
            self.assertEqual((body["files"], body["folders"]), ([], ["src/app"]))
            body = listed(depth=3)
            self.assertEqual((body["files"], body.get("folders"), body.get("note")), (["src/app/main.py"], None, None))
            body = listed(depth=1, subpath="src", details=True)
            self.assertEqual((body["files"], body["folders"], body["entries"]), ([], ["src/app"], []))
            self.assertNotIn("folders", listed())
            client.execute("import os; os.remove('/workspace/src/app/main.py')")
            self.assertEqual(listed()["folders"], ["src", "src/app"])


if __name__ == "__main__":
    unittest.main()
