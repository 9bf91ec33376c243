"""What the Python runner promises to the code it runs: answers, names, helpers, output, errors."""
import json
import os
import signal
import unittest

from driver import GuestTest


class PythonTest(GuestTest):
    language = "python"


class Reads(PythonTest):
    def test_what_is_read_of_the_workspace_is_told(self):
        self.write("text", "é" * 50_000)
        for code in ("len(read_file('text'))", "open('text').read()[:1]", "sum(1 for _ in open('text', 'rb'))",
                     "import pathlib; len(pathlib.Path('text').read_bytes())", "import pathlib; len(open(pathlib.Path('text').absolute(), newline='').readlines())",
                     "with open(f'{workspace}/text', 'rb') as f: f.seek(90_000), f.seek(0), f.read()", "import json\nopen(mode='r', file='text').read(); 1"):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).message.get("read_bytes"), 100_000)
        self.assertIn("LookupError", self.run_code("open('text', encoding='none')").error)
        self.assertIn("binary mode", self.run_code("open('text', 'rb', encoding='utf-8')").error)
        self.assertIn("invalid mode", self.run_code("open('text', 'rr')").error)
        self.assertEqual(self.value_of("f = open('text')\n[f.mode, f.name, f.encoding]"), ["r", "text", "UTF-8"])
        for code in ("open('/etc/passwd').read(); 1", "open('new', 'w').write('x')", "open('text').close()",
                     "import os; os.read(os.open('text', 0), 10)"):
            with self.subTest(code=code):
                self.assertNotIn("read_bytes", self.run_code(code).message)

    def test_a_file_that_nobody_has_any_more_is_closed_at_once(self):
        self.write("text", "x")
        self.assertEqual(self.value_of("import os\nbefore = len(os.listdir('/proc/self/fd'))\n"
                                       "for _ in range(9): open('text').read()\n"
                                       "len(os.listdir('/proc/self/fd')) - before"), 0)


class Answers(PythonTest):
    def test_the_answer_is_the_global_result_or_the_last_expression(self):
        for code, value in (
                ("result = 1 + 1", 2),
                ("1 + 1", 2),
                ("x = 5\nx * 2", 10),
                ("result = 'said'\n'not this'", "said"),
                ("'text'", "text"),
                ("def f():\n    return 3\nf()", 3),
                ("from __future__ import annotations\n7", 7),
                ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "awaited"),
                ("import asyncio\nresult = []\nasync def f():\n    for i in range(3):\n        yield i\n"
                 "async for i in f():\n    result.append(i)", [0, 1, 2]),
                ("import asyncio\nasync def main():\n    return 9\nresult = asyncio.run(main())", 9)):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), value)

    def test_no_answer_is_no_value_and_an_assigned_none_is_null(self):
        for code in ("pass", "", "x = 1", "print()", "if True:\n    5"):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).message, {"type": "result"})
        self.assertEqual(self.run_code("result = None").message, {"type": "result", "value": None})

    def test_values_become_json_that_any_parser_reads(self):
        for code, value in (
                ("(1, 'a', None, True)", [1, "a", None, True]),
                ("{3, 1, 2}", [1, 2, 3]),
                ("frozenset()", []),
                ("[float('nan'), float('inf'), -float('inf'), 1.5]", ["NaN", "Infinity", "-Infinity", 1.5]),
                ("{1: 'a', None: 'b', True: 'c', (1, 2): 'd', 1.5: 'e'}",
                 {"1": "c", "null": "b", "(1, 2)": "d", "1.5": "e"}),
                ("{1: 'number', '1': 'text'}", {"1": "number", "1 (str)": "text"}),
                ("[2**63 - 1, -2**63, 2**64 - 1]", [2**63 - 1, -2**63, 2**64 - 1]),
                ("[2**64, -10**4000]", [2**64, -10**4000]),
                ("[10**5000]", ["1" + "0" * 5000]),
                ("[date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), timedelta(hours=1)]",
                 ["2026-01-02", "2026-01-02T03:04:00", "1:00:00"]),
                ("from decimal import Decimal\n[Decimal('12.30')]", ["12.30"]),
                ("from pathlib import Path\n[Path('a/b')]", ["a/b"]),
                ("from fractions import Fraction\n[Fraction(1, 3)]", ["1/3"]),
                ("['text'.encode(), bytes([255, 0])]", ["text", {"base64": "/wA="}]),
                ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: list\n"
                 "P(1, [P(2, [])])", {"x": 1, "y": [{"x": 2, "y": []}]}),
                ("import enum\nclass C(enum.Enum):\n    RED = 'r'\nclass N(enum.IntEnum):\n    ONE = 1\n"
                 "[C.RED, N.ONE]", ["r", 1]),
                ("collections.Counter('aab')", {"a": 2, "b": 1}),
                ("collections.OrderedDict(a=collections.deque([1]))", {"a": [1]}),
                ("{'a': 1}.keys()", ["a"]),
                ("range(3)", [0, 1, 2]),
                ("class S(str):\n    def __str__(self):\n        return 'other'\nS('kept')", "kept"),
                ("'\\ud800 and \\U0001F600'", "\ufffd and \U0001F600"),
                ("shared = [1]\n[shared, shared]", [[1], [1]])):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), value)

    def test_what_has_no_json_form_becomes_its_text_and_says_so(self):
        for code, value, kind in (
                ("class Thing:\n    def __str__(self):\n        return 'a thing'\nThing()", "a thing", "Thing"),
                ("1 + 2j", "(1+2j)", "complex"),
                ("10**4500", "1" + "0" * 4500, "int"),
                ("class Bad:\n    def __str__(self):\n        1/0\nBad()",
                 "<Bad: its str() raised ZeroDivisionError>", "Bad")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.value, end.value_type), (value, kind))
        self.assertIsNone(self.run_code("[1 + 2j]").value_type)

    def test_an_answer_that_cannot_be_sent_is_an_error_with_a_remedy(self):
        deep = "x = []\nfor _ in range({}):\n    x = [x]\nresult = x"
        for code, words in (
                ("a = []\na.append(a)\nresult = a", "contains itself"),
                ("a = {}\na['b'] = [a]\nresult = a", "contains itself"),
                ("result = 'x' * 2_000_000", "more than 1000000 bytes"),
                ("result = ['\"' * 90 for _ in range(10_000)]", "at most 1000000"),
                ("result = list(range(2_000_000))", "more than 1000000 bytes"),
                (deep.format(1000), "nested more than 60"),
                ("result = 1 << 400_000", "400001 bits"),
                ("class M(dict):\n    def items(self):\n        1/0\n    def values(self):\n        1/0\n"
                 "result = M({1: 2})", "ZeroDivisionError")):
            with self.subTest(code=code):
                end = self.run_code(code, max_message=1_000_000)
                self.assertIn(words, end.error)
                self.assertIn("write it to a file in the workspace", end.error)
                self.assertEqual(end.status, 1)
                self.assertNotIn("value", end.message)
        self.assertIsNone(self.run_code(deep.format(58)).error)

    def test_a_result_larger_than_a_message_comes_in_parts(self):
        stored = lambda call: [{"type": "reply", "id": call["id"], "result": None}]
        for code, form, whole in (("result = 'x\\u20ac\\n' * 9000", "text", "x\u20ac\n" * 9000),
                                  ("result = [[n, '\\U0001f600'] for n in range(2000)]", "json", [[n, "\U0001f600"] for n in range(2000)])):
            with self.subTest(code=code):
                end = self.run_code(code, stored, max_message=10_000, max_kept=100_000)
                self.assertEqual((end.message.get("kept"), end.error, end.status), (form, None, 0))
                self.assertNotIn("value", end.message)
                self.assertEqual({call["name"] for call in end.calls}, {"keep_value"})
                text = "".join(call["arguments"]["part"] for call in end.calls)
                self.assertEqual(json.loads(text) if form == "json" else text, whole)
                self.assertLess(max(len(json.dumps(call)) for call in end.calls), 25_000)
        full = lambda call: [{"type": "reply", "id": call["id"], "error": {"code": "exhausted", "message": "no room"}}]
        end = self.run_code("result = 'x' * 50_000", full, max_message=10_000, max_kept=100_000)
        self.assertIn("no room", end.error)
        self.assertEqual(end.status, 1)

    def test_a_large_answer_travels_in_parts(self):
        value = self.value_of("result = [str(i) * 10 for i in range(50_000)]")
        self.assertEqual(value, [str(i) * 10 for i in range(50_000)])


class Names(PythonTest):
    def test_the_preset_names_are_bound(self):
        self.assertEqual(
            self.value_of("result = [json.dumps([1]), re.sub('a', 'b', 'a'), math.floor(1.5), statistics.mean([1, 3]),"
                          " collections.Counter('a')['a'], datetime(2026, 1, 1).year, date(2026, 1, 1).day,"
                          " timedelta(days=1).days, workspace, __name__, __file__, __doc__]"),
            ["[1]", "b", 1, 2, 1, 2026, 1, 1, self.workspace, "__main__", "<execution>", None])

    def test_the_preset_names_are_bound_when_the_order_came_before_the_runner_was_warm(self):
        for code, value in (("[json.dumps([1]), [m.__name__ for m in (re, math)]]", ["[1]", ["re", "math"]]),
                            ("eval('json.dumps([1])')", "[1]"),
                            ("def f():\n    return statistics.mean([1, 3])\nf()", 2),
                            ("sorted(eval('dir(json)'))[-1]", "scanner")):
            with self.subTest(code=code):
                runner = self.start()
                runner.send(self.order(code))
                self.assertEqual(runner.receive()["type"], "ready")
                self.assertEqual(runner.end().value, value)

    def test_context_vars_are_data(self):
        context = {"rows": [1, {"a": None}], "name": "é", "not a name": 5}
        self.assertEqual(self.value_of("[rows, name, context_vars['not a name'], sorted(context_vars)[1]]",
                                       context_vars=context), [[1, {"a": None}], "é", 5, "not a name"])

    def test_context_vars_stand_over_whatever_has_their_names(self):
        for name in ("json", "read_file", "workspace", "print", "datetime", "date", "ValueError", "id", "type", "input",
                     "list", "len", "filter", "format", "max", "match", "result", "context_vars", "_x", "é"):
            with self.subTest(name=name):
                end = self.run_code(f"[{name}]", context_vars={name: 1})
                self.assertEqual((end.message, end.stderr), ({"type": "result", "value": [1]}, ""))

    def test_a_context_var_that_code_cannot_spell_is_in_the_dict_and_the_answer_says_so(self):
        for name in ("my-var", "class", "None", "2nd", "__builtins__", "__name__", ""):
            with self.subTest(name=name):
                end = self.run_code("[context_vars[name] for name in context_vars]", context_vars={name: 1})
                self.assertEqual(end.value, [1])
                self.assertIn(f"context_vars[{name!r}]", end.stderr)

    def test_a_context_var_result_is_the_answer_of_code_that_has_no_other(self):
        for code, value in (("x = 1", 9), ("5", 5), ("result = 4", 4), ("result = 4\n5", 4), ("result += 1", 10)):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code, context_vars={"result": 9}), value)

    def test_the_workspace_is_the_last_place_modules_come_from(self):
        self.write("json.py", "raise SystemExit('shadowed')")
        self.write("traceback.py", "raise SystemExit('shadowed')")
        self.write("warder.py", "raise SystemExit('shadowed')")
        self.write("mine.py", "answer = 42")
        self.assertEqual(
            self.value_of("import sys, json, traceback, warder, mine\nimport os\n"
                          "[mine.answer, sys.path[-1] == workspace, any(p.endswith('/python') for p in sys.path),"
                          " os.getcwd()]"),
            [42, True, False, self.workspace])

    def test_the_helpers_modules_of_the_runner_shadow_no_module_of_the_agent(self):
        for name in ("channel", "helpers", "images", "runner", "values", "execution"):
            self.write(f"{name}.py", f"name = '{name}'")
        self.assertEqual(self.value_of("import channel, helpers, images, runner, values, execution\n"
                                       "[m.name for m in (channel, helpers, images, runner, values, execution)]"),
                         ["channel", "helpers", "images", "runner", "values", "execution"])

    def test_code_is_a_main_module(self):
        self.assertEqual(self.value_of("import sys, pickle\nclass C: pass\n"
                                       "[sys.modules['__main__'].C is C, pickle.loads(pickle.dumps(C)) is C, sys.argv,"
                                       " __name__ == '__main__']"), [True, True, ["<execution>"], True])

    def test_the_code_can_read_its_own_source(self):
        self.assertEqual(self.value_of("import inspect\ndef f():\n    return 1\ninspect.getsource(f)"),
                         "def f():\n    return 1\n")


class Helpers(PythonTest):
    def test_files(self):
        self.write("in/a.txt", "één\n")
        os.symlink("a.txt", os.path.join(self.workspace, "in/link"))
        self.assertEqual(
            self.value_of("[read_file('in/a.txt'), write_file('new/deep/b.txt', 'één'),"
                          " write_file('c.bin', b'\\xff'),"
                          " list_files(), list_files('new'), list_files('in/a.txt'), delete_file('in/link'),"
                          " list_files('in'), read_file(workspace + '/new/deep/b.txt'), list_files('no/such')]"),
            ["één\n", "Written 5 bytes to new/deep/b.txt", "Written 1 bytes to c.bin",
             ["c.bin", "in/a.txt", "in/link", "new/deep/b.txt"], ["new/deep/b.txt"], ["in/a.txt"], "Deleted in/link",
             ["in/a.txt"], "één", []])

    def test_files_refuse_with_a_reason(self):
        outside = self.workspace + "-sibling"
        os.mkdir(outside)
        self.addCleanup(os.rmdir, outside)
        os.symlink("/etc", os.path.join(self.workspace, "etc"))
        self.write("binary", b"\xff\xfe")
        for code, kind, words, errno in (
                ("read_file('no')", "FileNotFoundError", "no such file in the workspace: 'no'", 2),
                ("delete_file('no')", "FileNotFoundError", "no such file in the workspace: 'no'", 2),
                ("read_file('../x')", "PermissionError", "outside the workspace: '../x'", 13),
                ("write_file('../x', '')", "PermissionError", "outside the workspace", 13),
                (f"write_file('../{os.path.basename(outside)}/x', '')", "PermissionError", "outside", 13),
                ("delete_file('/etc/passwd')", "PermissionError", "outside the workspace", 13),
                ("read_file('etc/passwd')", "PermissionError", "outside the workspace", 13),
                ("list_files('..')", "PermissionError", "outside the workspace", 13),
                ("write_file('x', {})", "TypeError", "not dict: json.dumps() makes text", None),
                ("read_file(3)", "TypeError", "not int", None),
                ("read_file('binary')", "UnicodeDecodeError", "", None)):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertTrue(end.error.startswith(kind + ":"), end.error)
                self.assertIn(words, end.error)
                self.assertEqual(end.errno, errno)
                self.assertEqual(end.traceback.count("  File "), 1, end.traceback)
        self.assertIn("open('binary', 'rb')", end.traceback)

    def test_statistics_count_only_numbers(self):
        self.assertEqual(
            self.value_of("aggregate_stats([{'a': 1, 'b': True, 'n': 'x'}, {'a': 3}, {'b': False}, {'late': 0.5}])"),
            {"count": 4, "a_sum": 4, "a_avg": 2, "a_min": 1, "a_max": 3, "a_count": 2,
             "late_sum": 0.5, "late_avg": 0.5, "late_min": 0.5, "late_max": 0.5, "late_count": 1})
        for code, value in (
                ("aggregate_stats([])", {"count": 0}),
                ("aggregate_stats([{'a': 0.1}] * 10)['a_sum']", 1.0),
                ("aggregate_stats([{'a': float('nan')}, {'a': 2}])['a_avg']", 2),
                ("aggregate_stats([{'a': 1, 'b': 2}], ['b'])", 
                 {"count": 1, "b_sum": 2, "b_avg": 2, "b_min": 2, "b_max": 2}),
                ("aggregate_stats([{'a': 'x'}], ['a', 'none'])", {"count": 1}),
                ("aggregate_stats(['text', {'a': 1}])['a_sum']", 1)):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), value)

    def test_lists(self):
        for code, value in (
                ("filter_by_field([{'s': 1, 'k': 'a'}, {'s': 2}, {}, 'text'], 's', 1)", [{"s": 1, "k": "a"}]),
                ("summarize_list(list(range(100)), limit=3)", {"count": 100, "sample": [0, 1, 2]}),
                ("summarize_list(i for i in range(20))", {"count": 20, "sample": list(range(10))})):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), value)

    def test_format_output_is_whole_json_within_its_size(self):
        for code in ("list(range(100_000))", "'x' * 100_000", "{'key%d' % i: i for i in range(10_000)}",
                     "[{'id': i, 'text': 'y' * 500} for i in range(1000)]", "[[[[[['z' * 90] * 90] * 90]]]]",
                     "{'a': {'b': {'c': {'d': {'e': ['x' * 1000] * 30}}}}}"):
            for size in (5000, 300, 120):
                with self.subTest(code=code, size=size):
                    text = self.value_of(f"format_output({code}, {size})")
                    self.assertLessEqual(len(text), size)
                    self.assertRegex(json.dumps(json.loads(text)), r"\d+ more (keys|items|char)|\.\.\. an? .* of \d+")
        self.assertEqual(self.value_of("format_output({'é': (1, 2)})"), '{\n  "é": [\n    1,\n    2\n  ]\n}')
        rows = json.loads(self.value_of("format_output([{'id': i} for i in range(1000)], 1000)"))
        self.assertGreater(len(rows), 20)
        self.assertEqual(rows[-1], f"... {1000 - len(rows) + 1} more items")


class Output(PythonTest):
    def test_print_is_pythons_own(self):
        end = self.run_code("import sys, os\nprint(1, 2, sep='-', end='!')\nprint('err', file=sys.stderr)\n"
                            "sys.stdout.write('w')\nos.write(1, b'')\nprint('é', flush=True)\nos.system('echo sub')\n"
                            "print('unended', end='')")
        self.assertEqual((end.stdout, end.stderr), ("1-2!wé\nsub\nunended", "err\n"))

    def test_a_line_is_out_as_soon_as_it_is_printed(self):
        end = self.run_code("import os, signal\nprint('line')\nos.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual((end.stdout, end.status, end.message), ("line\n", -signal.SIGKILL, None))

    def test_a_flood_arrives_whole(self):
        end = self.run_code("for i in range(100_000):\n    print(i)")
        self.assertEqual(end.stdout, "".join(f"{i}\n" for i in range(100_000)))

    def test_files_left_open_are_completed(self):
        self.assertEqual(self.value_of(
            "f = open('a', 'w'); f.write('left')\n"
            "import gzip; g = gzip.open('b.gz', 'wt'); g.write('zipped')\n"
            "import zipfile; z = zipfile.ZipFile('c.zip', 'w'); z.writestr('m', 'member')\n"
            "class Holder: pass\nh = Holder(); h.me = h; h.file = open('d', 'w'); h.file.write('in a cycle')\n"
            "result = 1"), 1)
        import gzip
        import zipfile
        self.assertEqual(self.read("a"), "left")
        self.assertEqual(self.read("d"), "in a cycle")
        self.assertEqual(gzip.open(f"{self.workspace}/b.gz", "rt").read(), "zipped")
        self.assertEqual(zipfile.ZipFile(f"{self.workspace}/c.zip").read("m"), b"member")

    def test_what_cannot_be_completed_at_the_end_is_an_error(self):
        end = self.run_code("f = open('/dev/full', 'w')\nf.write('x')\nresult = 1")
        self.assertIn("No space left", end.error)
        self.assertEqual((end.errno, end.status, end.value), (28, 1, 1))

    def test_atexit_and_threads_end_before_the_answer(self):
        end = self.run_code("import atexit, threading, time\natexit.register(print, 'at exit')\nresult = []\n"
                            "def work():\n    time.sleep(0.1); result.append('joined'); print('thread')\n"
                            "threading.Thread(target=work).start()\n"
                            "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()")
        self.assertEqual((end.value, end.stdout), (["joined"], "thread\nat exit\n"))


class Errors(PythonTest):
    def test_a_traceback_shows_the_agents_own_lines(self):
        self.write("mine.py", "def go(x):\n    return int(x)\n")
        end = self.run_code("import mine, json\ndef f():\n    json.loads('{')\ntry:\n    f()\nexcept Exception as e:\n"
                            "    raise KeyError('k') from e")
        self.assertEqual(end.error, "KeyError: 'k'")
        self.assertEqual(end.status, 1)
        self.assertEqual(end.traceback, """\
Traceback (most recent call last):
  File "<execution>", line 5, in <module>
    f()
  File "<execution>", line 3, in f
    json.loads('{')
json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<execution>", line 7, in <module>
    raise KeyError('k') from e
KeyError
""")
        self.assertEqual(self.run_code("int('x')").traceback,
                         "  File \"<execution>\", line 1, in <module>\n    int('x')\n")
        self.assertEqual(self.run_code("a b").traceback,
                         "  File \"<execution>\", line 1\n    a b\n      ^\nSyntaxError: invalid syntax\n")
        self.assertNotIn("_execution.py", self.run_code("import os\nos.chdir('/')\n1/0").traceback)
        end = self.run_code("import mine\nmine.go('x')")
        self.assertIn(f'File "{self.workspace}/mine.py", line 2, in go\n    return int(x)\n', end.traceback)

    def test_of_a_library_exceptions_the_last_one_is_shown_and_the_first_cause(self):
        library = ("class Refused(Exception): pass\ndef connect():\n    raise OSError(5, 'nobody listens')\n"
                   "def send():\n    try: connect()\n    except OSError as e: raise Refused('pool') from e\n"
                   "def get(words):\n    try: send()\n    except Refused as e: raise ValueError(words) from e\n")
        code = f"exec(compile({library!r}, '/usr/lib/library.py', 'exec'))\nget("
        end = self.run_code(code + "'it failed')")
        self.assertEqual(end.traceback, """\
OSError: [Errno 5] nobody listens

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<execution>", line 2, in <module>
    get('it failed')
ValueError
""")
        text = "it failed: " + 10 * "a reason, " + "[Errno 5] nobody listens"
        end = self.run_code(code + "words)", context_vars={"words": text})
        self.assertEqual(end.error, f"ValueError: {text}")
        self.assertEqual(end.traceback, '  File "<execution>", line 2, in <module>\n'
                                        "    get(words)\n")

    def test_every_exception_is_told(self):
        for code, error, words in (
                ("1/0", "ZeroDivisionError: division by zero", "1/0\n    ~^~"),
                ("x = (", "SyntaxError: '(' was never closed (line 1)", "    x = (\n        ^"),
                ("a b", "SyntaxError: invalid syntax (line 1)", "a b"),
                ("\x00", "ValueError: source code string cannot contain null bytes", ""),
                ("def f():\n\tif 1:\n        x", "TabError", ""),
                ("raise KeyboardInterrupt", "KeyboardInterrupt", "line 1"),
                ("raise BaseException('base')", "BaseException: base", ""),
                ("class E(Exception): pass\nraise E", "E", ""),
                ("class E(Exception):\n    def __str__(self):\n        1/0\nraise E",
                 "E: <its str() raised ZeroDivisionError>", ""),
                ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded", "Previous line repeated"),
                ("import sys\nsys.setrecursionlimit(60)\n1/0", "ZeroDivisionError: division by zero", ""),
                ("raise ExceptionGroup('both', [ValueError(1), TypeError(2)])",
                 "ExceptionGroup: both (2 sub-exceptions)", "TypeError: 2"),
                ("e = ValueError('v')\ne.add_note('look here')\nraise e", "ValueError: v", "look here"),
                ("import asyncio\nawait asyncio.sleep(0)\n1/0", "ZeroDivisionError: division by zero", "line 3"),
                ("exec('1/0')", "ZeroDivisionError: division by zero", 'File "<string>", line 1'),
                ("x = bytearray(1 << 62)", "MemoryError", ""),
                ("import builtins\ndel builtins.len\n1/0", "ZeroDivisionError", ""),
                ("import sys\nsys.stdout = sys.stderr = None\n1/0", "ZeroDivisionError", ""),
                ("raise ValueError('x' * 10_000_000)", "ValueError: xxx", "line 1, in <module>\n"),
                ("def f(n): g(n)\ndef g(n): f(n)\nf(1)", "RecursionError", "left out")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertTrue(end.error.startswith(error), end.error)
                self.assertLess(len(end.error) + len(end.traceback or ""), 40_000)
                self.assertIn(words, end.traceback or "")
                self.assertEqual(end.status, 1)

    def test_running_out_of_memory_is_told(self):
        end = self.run_code("import resource\nresource.setrlimit(resource.RLIMIT_AS, (120 << 20,) * 2)\n"
                            "kept = []\nwhile True:\n    kept.append(bytearray(4096))")
        self.assertTrue(end.error.startswith("MemoryError"), end)
        self.assertIn("line 5", end.traceback)

    def test_an_oserror_tells_its_number(self):
        for code, number in (("open('/nonexistent')", 2), ("raise OSError(28, '')", 28), ("raise OSError('x')", None)):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).errno, number)

    def test_sys_exit_ends_with_its_status(self):
        for code, status, stderr in (("exit()", 0, ""), ("import sys; sys.exit(3)", 3, ""), ("raise SystemExit", 0, ""),
                                     ("import sys; sys.exit('why')", 1, "why\n"), ("import sys; sys.exit(-1)", 255, ""),
                                     ("import sys; sys.exit(True)", 1, ""),
                                     ("import asyncio, sys\nawait asyncio.sleep(0)\nsys.exit(4)", 4, "")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.exit, end.status, end.stderr, end.error), (status, status, stderr, None))
        self.assertEqual(self.run_code("result = 5\nexit(0)").value, 5)
        end = self.run_code("import os; os._exit(9)")
        self.assertEqual((end.message, end.status), (None, 9))

    def test_a_crash_in_c_names_the_line(self):
        end = self.run_code("import ctypes\n\nctypes.string_at(0)")
        self.assertEqual((end.message, end.status), (None, -signal.SIGSEGV))
        self.assertIn('File "<execution>", line 3', end.stderr)

    def test_a_workspace_that_is_not_there_is_told(self):
        end = self.run_code("print('ran')", workspace="/nonexistent")
        self.assertIn("/nonexistent", end.error)
        self.assertEqual(end.stdout, "")


if __name__ == "__main__":
    unittest.main()
