"""Python code as models send it: what is run as it was meant, and what is answered with what to do."""
import os
import unittest

from driver import GuestTest, not_found


def absent(module):
    """Code that imports a module which is not there, whatever this machine has."""
    return f"import sys\nsys.modules['{module}'] = None\nimport {module}"


class PythonTest(GuestTest):
    language = "python"


class Meant(PythonTest):
    def test_code_that_was_indented_or_has_invisible_characters_runs_as_it_was_meant_and_that_is_said(self):
        for code, value, words in (
                ("    x = 1\n    if x:\n        x = 2\n    x", 2, None),
                ("\tx = 2\n\tx", 2, None),
                ("    x = \'\'\'\n    a\'\'\'\n    x", "\na", "the indentation that all lines share was removed"),
                ("x = 1\n    y = 1\n    x + y", 2, "the indentation that all lines share was removed behind the first"),
                ("x =\u00a02\nx", 2, "invisible characters outside of strings were replaced by spaces, or removed"),
                ("s = '\u00a0'\nx =\u00a0s\nx", "\u00a0",
                 "invisible characters outside of strings were replaced by spaces, or removed"),
                ("\ufeffx = 2\nx", 2, "invisible characters outside of strings were replaced by spaces, or removed")):
            with self.subTest(code=code):
                end = self.run_code(code)
                said = "" if words is None else f"warder: {words}\n"
                self.assertEqual((end.error, end.value, end.stderr), (None, value, said))

    def test_broken_code_is_no_other_program(self):
        example = 'def f():\n    """\n    >>> 1 + 2\n    3\n    """\n'
        fence = 'a = """\n```python\nprint(1)\n```\n"""\n'
        for code in (example + "print((1)", fence + "print((1)", "```python\n" + fence + "print((1)\n```",
                     "a = '\\\n```python\nprint(1)\n```", "x = 1\n```python\nprint(1)\n```",
                     "x = (1 + 2)\n  + 3", "x = 'a'\n  'b'", "x = 'a'\n  f'b'", "x = f\n  (1)", "x = f\n  [1]",
                     r'import os\n# it"s\nprint(1)', r'print("a\nb"'):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertRegex(end.error or "", "^(SyntaxError|IndentationError): ")
                self.assertEqual((end.stdout, end.stderr), ("", ""))

    def test_lines_keep_their_numbers(self):
        self.assertIn('line 2, in <module>\n    1/0', self.run_code("    x = 1\n    1/0").traceback)

    def test_what_code_loses_or_changes_is_said(self):
        for code, value, words in (
                ("%matplotlib inline\n2", 2, "%matplotlib inline"),
                ("!pip install pandas\n2", 2, "no network"),
                ("%pip install -q pandas\n2", 2, "no network"),
                ("if 1:\n    %matplotlib inline\n    x = 2\nx", 2, "%matplotlib inline"),
                ("x = \u201ca\u201d\nx", "a", "typographic"),
                ("x = 1 \u00d7 2\nx", 2, "typographic"),
                ("s = \'\u00d7\'\n[s, 1 \u2264 2]", ["\u00d7", True], "typographic"),
                ("x = 1\\nx + 1", 2, "\\n instead of line ends"),
                (r"x = 'a\\nb'\nx", "a\nb", "\\n instead of line ends"),
                (r'x = "a\nb"\nx', "a\nb", "\\n instead of line ends"),
                ("%matplotlib inline\nx = '''\n%config a\n'''\nx", "\n%config a\n", "%matplotlib inline"),
                ("x = \u201ca\u201d\n'\u2019'", "\u2019", "typographic"),
                ("if 1 &lt; 2:\n    x = 2\nx", 2, "&lt;"),
                ("{'a': true, 'b': [false, null]}", {"a": True, "b": [False, None]}, "true as True"),
                ("def f():\n    return null\n[f()]", [None], "null as None")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.error, end.value), (None, value))
                self.assertIn(words, end.stderr)
                self.assertEqual(end.stderr.count("\n"), 1)

    def test_names_of_json_are_left_alone_where_they_have_a_meaning(self):
        for code, value in (("true = 5\ntrue", 5), ("'true'", "true"), ("class A:\n    null = 3\nA.null", 3),
                            ("from math import pi as null\nnull > 3", True)):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.value, end.stderr), (value, ""))
        self.assertEqual(self.run_code("true", context_vars={"true": 7}).message, {"type": "result", "value": 7})
        self.assertIn("it is True", self.run_code("exec('true')").error.replace("in Python ", ""))

    def test_a_return_at_the_top_level_is_the_answer_and_the_end(self):
        for code, value, out in (
                ("return 5", 5, ""),
                ("x = 3\nif x > 2:\n    return {'x': x}\nprint('not reached')", {"x": 3}, ""),
                ("for i in range(5):\n    if i == 3:\n        return i", 3, ""),
                ("x = 5\nif x < 2: return 3\nx", 5, ""),
                ("result = 4\nif 1: return\nresult = 5", 4, ""),
                ("result = 4\nreturn 6", 6, ""),
                ("import asyncio\nv = await asyncio.sleep(0, 7)\nreturn v", 7, ""),
                ("import asyncio\nasync def f():\n    return 8\nreturn asyncio.run(f())", 8, ""),
                ("from __future__ import annotations\nx: int = 4\nreturn x", 4, ""),
                ("def g(): return y\ny = 2\nreturn g() + sum(n for n in range(2))", 3, ""),

                ("try:\n    1/0\nexcept ZeroDivisionError as e:\n    text = str(e)\nfinally:\n    print('f')\nreturn text",
                 "division by zero", "f\n"),
                ("import os.path, json as j\nclass A:\n    x = 1\nreturn [os.path.sep, j.loads('1'), A.x]", ["/",
                1, 1], ""),
                ("[y := 3]\nmatch {'a': 1}:\n    case {'a': n, **rest}:\n        pass\ndef f():\n"
                 "    return [y, n, rest]\nreturn f()", [3, 1, {}], ""),
                ("from math import *\nreturn sqrt(4)", 2.0, ""),
                ("x = 2\nfrom math import *\nfor i in range(3):\n    if i:\n        return sqrt(x + x)", 2.0, ""),
                ("async def g():\n    yield 1\nreturn [x async for x in g()]", [1], ""),
                ("if 1: return [name for name in list(globals()) if name[0] == '<']", [], "")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.error, end.value, end.stdout, end.stderr), (None, value, out, ""))
        self.assertEqual(self.run_code("return None").message, {"type": "result"})
        self.assertIn("line 2, in <m", self.run_code("x = 1\nx/0\nreturn 5").traceback)

    def test_code_that_stays_wrong_keeps_its_own_error(self):
        for code, error in (("x = = 3", "SyntaxError: invalid syntax (line 1)"), ("def f(:\n  pass", "SyntaxError: "),
                            ("    x = = 3", "IndentationError: unexpected indent (line 1)"),
                            ("class A:\n    return 5", "SyntaxError: 'return' outside function (line 2)")):
            with self.subTest(code=code):
                self.assertTrue(self.run_code(code).error.startswith(error))


class Told(PythonTest):
    def test_an_error_that_models_often_meet_says_what_to_do(self):
        self.write("sales.csv", "a\n")
        for code, words in (
                ("!ls -la", 'language="shell"'),
                ("x = 1\n!ls", 'language="shell"'),
                ("%%bash\nls", 'language="shell"'),
                ("ls", 'language="shell"'),
                ("ls -la", 'language="shell"'),
                ("cat a.txt | wc -l", 'language="shell"'),
                ("#!/bin/bash\necho hi", 'language="shell"'),
                ("x = 1\n```bash\nls\n```", "leave out the fences"),
                ("const x = 5;\nconsole.log(x)", 'language="javascript"'),
                ("console.log(5)", 'language="javascript"'),
                ("let y = [1].map(x => x + 1);", 'language="javascript"'),
                ("d = {'a': 1}\nprint(f'{d['a']}')", "the other kind"),
                ("x = 5\nawait x", "leave out `await`"),
                ("get_ipython()", "not a notebook"),
                (absent("nest_asyncio"), "leave out nest_asyncio"),
                (absent("psutil"), "use os, resource and shutil"),
                ("JSON.parse('1')", 'language="javascript"'),
                ("input('name? ')", "context_vars"),
                (absent("sklearn"), "not installed, and packages cannot be installed"),
                (absent("polars"), "use csv, sqlite3"),
                (absent("httpx"), "no network"),
                ("import jsn", "did you mean json?"),
                ("open('sale.csv')", "did you mean 'sales.csv'?"),
                ("open('/mnt/data/sales.csv')", "/workspace"),
                ("search_tools('x')", "warder.search_tools"),
                ("datetime.datetime.now()", "datetime.now()"),
                ("import asyncio\nasync def f(): pass\nawait f()\nasyncio.run(f())", "`await`")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertIn(words, end.error)
                self.assertEqual(end.status, 1)

    def test_other_errors_have_no_advice(self):
        for code, error in (("1/0", "ZeroDivisionError: division by zero"),
         ("nothing", "NameError: name 'nothing' is not defined"),
                            ("{}['k']", "KeyError: 'k'"),
                            ("import os\nos.nothing", "AttributeError: module 'os' has no attribute 'nothing'"),
                            ("find = sort\nfind", "NameError: name 'sort' is not defined"),
                            ("raise EOFError('x')", "EOFError: x")):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).error, error)

    def test_a_memory_error_of_any_kind_tells_its_number(self):
        for code in ("bytearray(1 << 62)", "class Own(MemoryError): pass\nraise Own('x')"):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).errno, 12)

    def test_modules_of_the_workspace_leave_no_bytecode(self):
        self.write("mine.py", "x = 2")
        self.assertEqual(self.value_of("import mine\nmine.x"), 2)
        self.assertEqual(os.listdir(self.workspace), ["mine.py"])

    def test_a_name_without_a_tool_does_not_hide_the_error(self):
        self.assertIn("not_found", self.run_code("import warder\nwarder.call('none')", not_found).error)


if __name__ == "__main__":
    unittest.main()
