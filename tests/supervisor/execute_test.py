"""The answer of execute_code: its shape, the three languages, what goes in, what comes out, what is kept."""
import base64
import json
import re
import struct
import unittest
import zlib

from harness import META, Client, Daemon, Policies, body_of

NAMESPACES = {"user", "pid", "mount", "net", "ipc", "uts", "cgroup"}


def png(width=3, height=2):
    """A picture, written by hand."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class WithDaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def execute(self, code, **arguments):
        return self.client.execute(code, **arguments)

    def value_of(self, code, **arguments):
        body = self.execute(code, **arguments)
        self.assertEqual(body["outcome"], "ok", body)
        return body["result"]


class Shape(WithDaemon):
    def test_success_has_these_keys_in_this_order_and_no_empty_ones(self):
        result = self.client.call("execute_code", {"code": "print('line')\nresult = 6 * 7"})
        self.assertNotIn("structuredContent", result)
        self.assertFalse(result.get("isError", False))
        self.assertEqual([block["type"] for block in result["content"]], ["text"])
        text = result["content"][0]["text"]
        body = json.loads(text)
        self.assertEqual(
            list(body), ["success", "result", "output", "execution_time_ms", "execution_id", "outcome", "usage"]
        )
        self.assertIs(body["success"], True)
        self.assertEqual((body["result"], body["output"], body["outcome"]), (42, ["line"], "ok"))
        self.assertIsInstance(body["execution_time_ms"], int)
        self.assertRegex(body["execution_id"], r"\Ae[0-9a-f]{16}\Z")
        self.assertNotIn("\n", text)
        self.assertEqual(text, json.dumps(body, separators=(",", ":")), "compact")
        usage = body["usage"]
        self.assertLessEqual({"wall_ms", "cpu_ms", "memory_peak_bytes"}, set(usage))
        self.assertGreater(usage["memory_peak_bytes"], 1 << 20)
        self.assertAlmostEqual(usage["wall_ms"], body["execution_time_ms"], delta=0.51)

    def test_failure_has_error_and_traceback_and_says_so_to_the_client(self):
        result = self.client.call("execute_code", {"code": "print('before')\n1 / 0"})
        self.assertIs(result["isError"], True)
        body = body_of(result)
        self.assertLessEqual({"success", "output", "execution_time_ms", "error", "traceback", "outcome"}, set(body))
        self.assertNotIn("result", body)
        self.assertIs(body["success"], False)
        self.assertEqual(body["output"], ["before"])
        self.assertEqual(body["error"], "ZeroDivisionError: division by zero")

    def test_the_receipt_says_what_was_applied(self):
        meta = self.client.call("execute_code", {"code": "pass"})["_meta"]
        receipt = meta["org.warder/receipt"]
        self.assertEqual(set(receipt["namespaces"]), NAMESPACES)
        self.assertEqual(receipt["capabilities"], "none")
        self.assertIs(receipt["no_new_privileges"], True)
        self.assertGreater(receipt["seccomp"]["instructions"], 100)
        self.assertEqual(receipt["network"], "none")
        self.assertIsInstance(receipt["weaker"], list)
        for part in ("cgroup", "landlock"):
            if receipt[part] is False:
                self.assertTrue(
                    any(part in line.lower() for line in receipt["weaker"]), f"{part} lacks, unsaid: {receipt}"
                )

    def test_an_answer_is_short_where_nobody_asks_for_the_receipt_which_is_a_resource(self):
        unasked = {"_meta": {"org.warder/receipt": False}}
        result = self.client.request("tools/call", name="execute_code", arguments={"code": "pass"}, **unasked)
        self.assertNotIn("org.warder/receipt", result.get("_meta", {}))
        body = body_of(result)
        self.assertEqual(list(body), ["success", "result", "output", "execution_time_ms", "execution_id", "outcome"])
        uri = f"exec:///{body['execution_id']}/receipt"
        [contents] = self.client.request("resources/read", uri=uri)["contents"]
        receipt = json.loads(contents["text"])
        self.assertEqual(set(receipt["namespaces"]), NAMESPACES)
        self.assertEqual(body_of(self.client.call("read_workspace_file", {"filename": uri})), receipt)
        busy = self.client.request("tools/call", name="execute_code", **unasked, arguments={
            "code": "import time\nheld = bytearray(70 << 20)\nwhile time.process_time() < 1.2: pass"})
        self.assertEqual(list(body_of(busy)["usage"]), ["cpu_ms", "memory_peak_bytes"])
        missing = self.client.call("read_workspace_file", {"filename": "exec:///e0123456789abcdef/receipt"})
        self.assertIn("no execution 'e0123456789abcdef' is known", missing["content"][0]["text"])

    def test_a_request_that_says_nothing_of_the_receipt_gets_none(self):
        meta = {key: value for key, value in META.items() if key != "org.warder/receipt"}
        self.client.send({"jsonrpc": "2.0", "id": "silent", "method": "tools/call",
                          "params": {"name": "execute_code", "arguments": {"code": "pass"}, "_meta": meta}})
        result = self.client.answer("silent")["result"]
        self.assertTrue(body_of(result)["success"])
        self.assertNotIn("org.warder/receipt", result.get("_meta", {}))

    def test_where_the_policy_says_so_each_answer_has_the_receipt(self):
        with Policies(receipt="answer") as policies, Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            result = client.request("tools/call", name="execute_code", arguments={"code": "pass"},
                                    _meta={"org.warder/receipt": False})
            self.assertEqual(set(result["_meta"]["org.warder/receipt"]["namespaces"]), NAMESPACES)

    def test_a_client_that_doubles_failures_gets_them_once(self):
        for client, code, structured in (("gemini-cli-mcp-client", "1 / 0", {}), ("gemini-cli-mcp-client", "1", None), ("x", "1 / 0", None)):
            with self.subTest(client=client, code=code):
                result = self.client.request("tools/call", name="execute_code", arguments={"code": code},
                                             _meta={"io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"}})
                self.assertEqual(result.get("structuredContent"), structured)
                self.assertEqual(body_of(result)["success"], code == "1")

    def test_every_execution_has_an_id_of_its_own(self):
        ids = {self.execute("pass")["execution_id"] for _ in range(5)}
        self.assertEqual(len(ids), 5)

    def test_arguments_that_do_not_fit_are_named(self):
        for arguments, word in (
            ({}, "code"),
            ({"code": 3}, "code"),
            ({"code": "1", "language": "perl"}, "language"),
            ({"code": "1", "timeout_seconds": "ten"}, "timeout_seconds"),
            ({"code": "1", "timeout_seconds": 0}, "timeout_seconds"),
            ({"code": "1", "memory_mb": -5}, "memory_mb"),
            ({"code": "1", "memory_mb": 1e300}, "memory_mb"),
            ({"code": "1", "context_vars": [1]}, "context_vars"),
            ({"code": "1", "colour": "red"}, "colour"),
        ):
            with self.subTest(str(arguments)):
                result = self.client.call("execute_code", arguments)
                self.assertIs(result["isError"], True)
                self.assertIn(word, result["content"][0]["text"])


class Languages(WithDaemon):
    def test_python(self):
        body = self.execute("import sys\nprint('out')\nprint('err', file=sys.stderr)\nresult = sys.version_info[0]")
        self.assertEqual((body["result"], body["output"], body["stderr"]), (3, ["out"], "err\n"))

    def test_the_last_expression_is_the_result_when_none_is_named(self):
        self.assertEqual(self.value_of("x = 20\nx + 1"), 21)
        self.assertEqual(self.value_of("result = 1\n2"), 1)
        self.assertIsNone(self.value_of("x = 1"))

    def test_javascript(self):
        body = self.execute("console.log('out'); console.error('err'); return {a: [1, 2]};", language="javascript")
        self.assertEqual((body["result"], body["output"], body["stderr"]), ({"a": [1, 2]}, ["out"], "err\n"), body)

    def test_shell(self):
        body = self.execute("echo out; echo err >&2; echo $((6 * 7))", language="shell")
        self.assertEqual((body["output"], body["stderr"], body["outcome"]), (["out", "42"], "err\n", "ok"), body)

    def test_variables_are_set_in_every_language(self):
        given = {"name": "Ada", "count": 3, "items": [1, {"x": None}], "text": 'ünï\u2028 "quoted" $HOME'}
        self.assertEqual(
            self.value_of("result = [name, count, items, text]", context_vars=given), [given[k] for k in given]
        )
        self.assertEqual(
            self.value_of("return [name, count, items, text]", language="javascript", context_vars=given),
            [given[k] for k in given],
        )
        body = self.execute('printf "%s|%s|%s" "$name" "$count" "$text"', language="shell", context_vars=given)
        self.assertEqual("\n".join(body["output"]), "Ada|3|" + given["text"], body)

    def test_a_javascript_error_shows_its_line(self):
        body = self.execute("const f = () => { null.x; };\nf();", language="javascript")
        self.assertEqual(body["outcome"], "error")
        self.assertIn("TypeError", body["error"])
        self.assertNotIn("/warder/", body["traceback"])

    def test_results_become_the_nearest_json(self):
        for code, value in (
            ("{1, 2}", [1, 2]),
            ("(1, 'a')", [1, "a"]),
            ("{1: 'a'}", {"1": "a"}),
            ("b'ab'", "ab"),
            ("float('nan')", "NaN"),
            ("datetime(2026, 1, 2)", "2026-01-02T00:00:00"),
            ("'\\ud800'", "\ufffd"),
            ("None", None),
            ("2 ** 70", 2**70),
            ("True", True),
            ("''", ""),
        ):
            with self.subTest(code):
                body = self.execute(f"result = {code}")
                self.assertEqual(body["outcome"], "ok", body)
                self.assertEqual(body["result"], value, body)
                self.assertIs(type(body["result"]), type(value))

    def test_a_value_without_a_json_form_is_its_text_with_its_type(self):
        body = self.execute("result = lambda: 1")
        self.assertIn("function", body["result"])
        self.assertEqual(body["result_type"], "function")

    def test_a_result_that_is_too_large_is_stored_and_its_beginning_is_in_the_answer(self):
        with Policies(limits={"standard": {"result_bytes": 4096}}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                body = client.execute("result = 'x' * 100_000")
                self.assertEqual((body["outcome"], body["result_begins"]), ("ok", "x" * 2000), body)
                self.assertEqual(body["truncated"]["result"]["bytes"], 100_000)

    def test_a_traceback_shows_the_programs_own_lines_only(self):
        body = self.execute("import json\ndef parse(text):\n    return json.loads(text)\nparse('{')")
        files = set(re.findall(r'File "([^"]*)"', body["traceback"]))
        self.assertEqual(files, {"<execution>"}, body["traceback"])
        self.assertIn("parse('{')", body["traceback"])
        self.assertIn("return json.loads(text)", body["traceback"])

    def test_a_syntax_error_shows_where(self):
        body = self.execute("x = 1\nif x\n  pass")
        self.assertEqual(body["outcome"], "error")
        self.assertIn("SyntaxError", body["error"])
        self.assertIn("line 2", body["traceback"])


class Data(WithDaemon):
    def test_a_large_dataset_is_reduced_beside_it(self):
        records = [{"id": i, "status": "active" if i % 3 else "gone", "price": i % 100} for i in range(60_000)]
        text = json.dumps(records)
        self.assertGreater(len(text), 2_500_000)
        self.assertTrue(self.client.write_file("large.json", text)["structuredContent"]["success"])
        code = """
data = json.loads(read_file("large.json"))
active = filter_by_field(data, "status", "active")
stats = aggregate_stats(active, ["price"])
print(f"{len(data)} records, {len(active)} active")
write_file("summary.json", json.dumps(stats))
result = {"stats": stats, "sample": summarize_list(active, limit=2)}
"""
        result = self.client.call("execute_code", {"code": code})
        self.assertLess(len(json.dumps(result)), len(text) * 0.013, "98.7% of what it read stays outside the context")
        body = body_of(result)
        self.assertEqual(body["output"], ["60000 records, 40000 active"], body)
        active = [r for r in records if r["status"] == "active"]
        self.assertEqual(body["result"]["stats"]["count"], len(active))
        self.assertEqual(body["result"]["stats"]["price_sum"], sum(r["price"] for r in active))
        self.assertEqual(body["files"], {"created": ["summary.json"]})
        read = body_of(self.client.call("read_workspace_file", {"filename": "summary.json"}))
        self.assertEqual(json.loads(read["content"]), body["result"]["stats"])

    def test_files_that_changed_are_told(self):
        for name in ("keep.txt", "change.txt", "delete.txt"):
            self.client.write_file(f"told/{name}", "before")
        body = self.execute(
            "import os\nwrite_file('told/new.txt', 'x')\nwrite_file('told/change.txt', 'longer than before')\n"
            "delete_file('told/delete.txt')\nopen('/tmp/not-told', 'w').close()\n"
            "open(os.path.expanduser('~/not-told'), 'w').close()"
        )
        self.assertEqual(
            body["files"],
            {"created": ["told/new.txt"], "modified": ["told/change.txt"], "deleted": ["told/delete.txt"]},
            body,
        )
        self.assertNotIn("files", self.execute("read_file('told/keep.txt')"))

    def test_files_that_gitignore_leaves_out_are_counted_in_a_short_list_and_in_a_long_one(self):
        self.addCleanup(self.client.call, "delete_workspace_file", {"filename": ".gitignore"})
        for pattern, code, ignored in (("*.log", "write_file('git/b.log', 'x')", 1),
                                       ("out/", "for n in range(60): write_file(f'git/out/{n}', 'x')", 60)):
            with self.subTest(pattern):
                self.client.write_file(".gitignore", pattern)
                self.execute("delete_file('git/a.c')")
                result = self.client.call("execute_code", {"code": code + "\nwrite_file('git/a.c', 'x')"})
                self.assertEqual(body_of(result)["files"], {"created": ["git/a.c"], "ignored": ignored})
                self.assertEqual([block["name"] for block in result["content"][1:]], ["git/a.c"])

    def test_a_program_cannot_leave_its_own_changes_out(self):
        self.addCleanup(self.client.call, "delete_workspace_file", {"filename": ".gitignore"})
        body = self.execute("write_file('quiet.txt', 'x'); write_file('.gitignore', '*')")
        self.assertEqual(body["files"], {"created": [".gitignore", "quiet.txt"]})

    def test_a_gitignore_in_a_folder_does_not_count(self):
        self.client.write_file("inner/.gitignore", "*.log")
        body = self.execute("write_file('inner/b.log', 'x')")
        self.assertEqual(body["files"], {"created": ["inner/b.log"]})

    def test_what_is_printed_to_a_file_is_in_that_file_only(self):
        body = self.execute("with open('printed.txt', 'w') as file: print('to', 'the file', sep='-', file=file)\nprint('here')")
        self.assertEqual((body["output"], body.get("stderr")), (["here"], None), body)
        self.assertEqual(self.value_of("read_file('printed.txt')"), "to-the file\n")

    def test_only_the_workspace_stays(self):
        self.execute("write_file('stays', 'x'); open('/tmp/goes', 'w').close(); open('/home/agent/goes', 'w').close()")
        self.assertEqual(
            self.value_of(
                "import os; [os.path.exists(p) for p in ('/workspace/stays', '/tmp/goes', '/home/agent/goes')]"
            ),
            [True, False, False],
        )

    def test_files_written_in_every_language_are_readable_in_the_others_and_outside(self):
        self.execute("write_file('by-python', 'python')")
        self.execute("require('fs').writeFileSync('/workspace/by-javascript', 'javascript')", language="javascript")
        self.execute("printf shell > /workspace/by-shell", language="shell")
        body = self.execute("cat /workspace/by-python /workspace/by-javascript /workspace/by-shell", language="shell")
        self.assertEqual(body["output"], ["pythonjavascriptshell"], body)
        for name in ("python", "javascript", "shell"):
            read = body_of(self.client.call("read_workspace_file", {"filename": f"by-{name}"}))
            self.assertEqual(read["content"], name)
            self.assertFalse(
                self.client.call("delete_workspace_file", {"filename": f"by-{name}"}).get("isError", False)
            )
        self.assertEqual(self.value_of("[f for f in list_files() if f.startswith('by-')]"), [])

    def test_a_picture_that_was_written_is_shown(self):
        picture = png()
        code = f"import base64; write_file('plot.png', base64.b64decode('{base64.b64encode(picture).decode()}'))"
        result = self.client.call("execute_code", {"code": code})
        self.assertEqual([block["type"] for block in result["content"]], ["text", "image", "resource_link"])
        self.assertEqual(result["content"][1]["mimeType"], "image/png")
        self.assertEqual(base64.b64decode(result["content"][1]["data"]), picture)
        again = self.client.call("execute_code", {"code": "read_file"})
        self.assertEqual([block["type"] for block in again["content"]], ["text"], "not shown when nothing wrote it")

    def test_a_picture_that_is_written_and_answered_is_shown_once(self):
        data = base64.b64encode(png()).decode()
        for code, language in ((f"import base64\nresult = base64.b64decode('{data}')\nwrite_file('once.png', result)", "python"),
                               (f"const result = Buffer.from('{data}', 'base64'); require('fs').writeFileSync('once2.png', result)",
                                "javascript")):
            result = self.client.call("execute_code", {"code": code, "language": language})
            self.assertEqual([block["type"] for block in result["content"]], ["text", "image", "resource_link"], language)

    def test_a_file_that_only_says_it_is_a_picture_is_not_shown(self):
        result = self.client.call("execute_code", {"code": "write_file('fake.png', 'no picture')"})
        self.assertNotIn("image", [block["type"] for block in result["content"]])

    def test_files_that_were_made_are_linked_and_can_be_read_by_their_links(self):
        code = "for i in range(9): write_file(f'linked/a b%{i}.txt', f'file {i}')"
        links = self.client.call("execute_code", {"code": code})["content"][1:]
        self.assertEqual([link["type"] for link in links], ["resource_link"] * 5, "the rest is only named")
        self.assertEqual(links[0]["name"], "linked/a b%0.txt")
        for i, link in enumerate(links):
            (contents,) = self.client.request("resources/read", uri=link["uri"])["contents"]
            self.assertEqual(contents["text"], f"file {i}")
        again = self.client.call("execute_code", {"code": "write_file('linked/a b%0.txt', 'longer than it was')"})
        self.assertEqual([block["type"] for block in again["content"]], ["text"], "it was there before")


class Output(WithDaemon):
    LINES = 20_000

    def test_lines_are_kept_as_they_were(self):
        for code, lines in (
            ("print()", [""]),
            ("print('a\\n\\nb')", ["a", "", "b"]),
            ("import sys; sys.stdout.write('no end')", ["no end"]),
            ("pass", []),
        ):
            self.assertEqual(self.execute(code)["output"], lines, code)

    def test_bytes_that_are_no_text_and_bytes_that_hurt_terminals(self):
        body = self.execute("import os; os.write(1, b'\\xff\\xfe ok \\x00 \\x1b[31m \\xe2\\x80\\xa8\\n')")
        self.assertEqual(len(body["output"]), 1)
        self.assertIn("ok", body["output"][0])
        self.assertIn("\ufffd", body["output"][0])
        raw = self.client.call("execute_code", {"code": "print('\\u2028')"})["content"][0]["text"]
        self.assertNotIn("\u2028", raw, "escaped within the text's JSON")

    def test_a_line_that_is_written_again_is_shown_as_a_terminal_shows_it_and_its_bytes_are_kept(self):
        title = "\x1b]0;title\x07\x1b[31m"
        body = self.execute(f"print({title!r}, end='')\nfor i in range(2001): print(f'\\r{{i}}/2000', end='')")
        uri = f"exec:///{body['execution_id']}/stdout"
        self.assertEqual((body["output"], body.get("notes")), (
            ["2000/2000"], [f"of lines that were written again (\\r) the last text is shown: {uri} has all"]))
        [contents] = self.client.request("resources/read", uri=uri)["contents"]
        self.assertEqual(contents["text"], title + "".join(f"\r{i}/2000" for i in range(2001)))

    def test_what_is_cut_is_said_and_can_be_read_in_full(self):
        body = self.execute(
            f"import sys\nfor i in range({self.LINES}): print(f'line {{i:06}}')\nsys.stderr.write('e' * 50_000)"
        )
        whole = "".join(f"line {i:06}\n" for i in range(self.LINES))
        cut = body["truncated"]
        uri = f"exec:///{body['execution_id']}/stdout"
        self.assertEqual(cut["stdout"], {"bytes": len(whole), "lines": self.LINES, "resource": uri})
        self.assertEqual(cut["stderr"]["bytes"], 50_000)
        self.assertEqual(body["output"][0], "line 000000", "the head")
        self.assertEqual(body["output"][-1], f"line {self.LINES - 1:06}", "and the tail")
        self.assertLess(sum(len(line) + 1 for line in body["output"]), 25_000)

        read = body_of(self.client.call("read_workspace_file", {"filename": uri, "offset": 12 * 1000, "limit": 24}))
        self.assertEqual(
            (read["content"], read["size"], read["more"]), ("line 001000\nline 001001\n", len(whole), True)
        )
        parts, offset = [], 0
        while True:
            part = body_of(self.client.call("read_workspace_file", {"filename": uri, "offset": offset}))
            parts.append(part["content"])
            offset += part["length"]
            if not part["more"]:
                break
        self.assertEqual("".join(parts), whole)
        self.assertEqual(self.client.request("resources/read", uri=uri)["contents"][0]["text"], whole)

    def test_kept_output_that_does_not_exist(self):
        for uri in ("exec:///e0000000000000000/stdout", "exec:///../stdout", "exec:///x/../../stdout", "exec://"):
            with self.subTest(uri), self.assertRaisesRegex(RuntimeError, "-32602"):
                self.client.request("resources/read", uri=uri)
            self.assertIs(self.client.call("read_workspace_file", {"filename": uri})["isError"], True)

    def test_a_megabyte_arrives_whole(self):
        with Policies(limits={"standard": {"output_bytes": 1 << 20}}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                body = client.execute("print('x' * ((1 << 20) - 1))")
                self.assertEqual([len(line) for line in body["output"]], [(1 << 20) - 1])
                self.assertNotIn("truncated", body)


class Limits(WithDaemon):
    def test_what_is_asked_above_the_ceiling_is_clamped_and_said(self):
        body = self.execute("result = 1", timeout_seconds=4000, memory_mb=100_000)
        clamped = {c["name"]: c for c in body["clamped"]}
        self.assertEqual(set(clamped), {"wall_ms", "memory_bytes"}, body)
        self.assertEqual(clamped["wall_ms"]["given"], "300 s")
        self.assertNotIn("clamped", self.execute("result = 1", timeout_seconds=5, memory_mb=100))

    def test_a_shell_program_that_fills_tmp_is_told_where_large_files_belong(self):
        body = self.execute("yes | head -c 80M > /tmp/x", language="shell")
        self.assertNotEqual(body.get("exit_status", 0), 0, body)
        self.assertIn("/tmp, /home/agent and /dev/shm hold 64 MiB each, in memory: write large files to /workspace", body["error"])

    def test_a_language_that_the_policy_does_not_allow_is_denied(self):
        with Policies(languages=["python"]) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                result = client.call("execute_code", {"code": "echo hi", "language": "shell"})
                self.assertIs(result["isError"], True)
                body = body_of(result)
                self.assertEqual((body["outcome"], body["code"], body["rule"]), ("denied", "denied", "languages"), body)
                self.assertTrue(body["remedy"])
                self.assertEqual(client.execute("result = 1")["outcome"], "ok")

    def test_variables_of_the_policy_are_in_the_environment(self):
        with Policies(environment={"REGION": "north"}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("import os; result = os.environ['REGION']")["result"], "north")


if __name__ == "__main__":
    unittest.main(verbosity=2)
