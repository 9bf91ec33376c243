"""What the Python runner answers for values without a JSON form: iterators, named tuples, rows, coroutines."""
import json
import unittest

from driver import GuestTest


class FormsTest(GuestTest):
    language = "python"

    def check(self, setup, *table):
        """Each row an expression and its value; one execution for all of them."""
        end = self.run_code(setup + "\nresult = [" + ",\n".join(code for code, _ in table) + "]")
        self.assertIsNone(end.error, end)
        self.assertEqual(end.stderr, "")
        for (code, value), got in zip(table, end.value, strict=True):
            with self.subTest(code=code):
                self.assertEqual(got, value)


class Iterators(FormsTest):
    def test_what_yields_members_is_a_list_of_them(self):
        self.check(
            "import csv, io, array\nclass Own:\n    def __iter__(self):\n        yield 3",
            ("map(str, [1])", ["1"]), ("zip([1], 'a')", [[1, "a"]]), ("filter(None, [0, 1])", [1]), ("(i for i in 'ab')", ["a", "b"]),
            ("reversed([1, 2])", [2, 1]), ("enumerate('a')", [[0, "a"]]), ("{'in': map(abs, [-1])}", {"in": [1]}),
            ("csv.DictReader(io.StringIO('a,b\\n1,2\\n'))", [{"a": "1", "b": "2"}]), ("array.array('i', [1])", [1]),
            ("Own()", [3]), ("iter([1, date(2026, 1, 2)])", [1, "2026-01-02"]))

    def test_what_says_itself_what_it_is_stays_a_text(self):
        self.check(
            "import ipaddress\nclass Own:\n    def __iter__(self):\n        yield 3\n    def __repr__(self):\n        return 'own'",
            ("ipaddress.ip_network('10.0.0.0/8')", "10.0.0.0/8"), ("Own()", "own"),
            ("str(open('/etc/passwd'))[:18]", "<_io.TextIOWrapper"))
        self.assertIn("TextIOWrapper", self.value_of("open('/etc/passwd')"))

    def test_what_has_no_end_is_cut_and_the_agent_is_told(self):
        for code, kind in (("import itertools\nitertools.repeat(1)", "repeat"), ("result = iter(lambda: 1, 2)", "callable_iterator")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.error, end.value), (None, [1] * 10_000))
                self.assertIn(f"the first 10000 members of an iterator ({kind}) that may have more", end.stderr)
        end = self.run_code("async def f():\n    while True:\n        yield 1\nf()")  # cut by its number or by its time
        self.assertEqual(set(end.value), {1})
        self.assertIn("members of an async generator that may have more", end.stderr)
        end = self.run_code("map(abs, range(10_000))")
        self.assertEqual((len(end.value), end.stderr), (10_000, ""))

    def test_what_is_slow_is_cut_by_its_time(self):
        for code in ("import time\ndef f():\n    while True:\n        time.sleep(0.2)\n        yield 1\nf()",
                     "import asyncio\nasync def f():\n    yield 1\n    await asyncio.sleep(600)\nf()"):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual(end.value[0], 1)
                self.assertIn("for at most 3 seconds", end.stderr)

    def test_hostile_iterators_never_stop_the_report(self):
        for code, words in (
                ("def f():\n    yield 1\n    1/0\nresult = f()", "ZeroDivisionError"),
                ("def f():\n    while True: yield 'x' * 1000\nf()", "more than 1000000 bytes"),
                ("class D:\n    def __iter__(self): return self\n    def __next__(self): return D()\nresult = D()", "nested more than 60"),
                ("class D:\n    def __iter__(self): return self\n    def __next__(self): return self\nresult = D()", "contains itself"),
                ("class D:\n    def __iter__(self): return 5\nresult = D()", "TypeError"),
                ("def f():\n    raise SystemExit(3)\n    yield\nresult = f()", "")):
            with self.subTest(code=code):
                end = self.run_code(code, max_message=1_000_000)
                self.assertIn(words, end.error or "")
                self.assertNotEqual(end.status, 0)


class Fields(FormsTest):
    def test_named_tuples_and_rows_keep_their_names(self):
        self.check(
            "import os, sqlite3, time\nfrom typing import NamedTuple\nP = collections.namedtuple('P', 'x y')\n"
            "class T(NamedTuple):\n    a: int\nclass Odd(tuple):\n    _fields = ('x',)\n"
            "db = sqlite3.connect(':memory:')\ndb.row_factory = sqlite3.Row\nstatus = os.stat('/')",
            ("P(1, P(2, [3]))", {"x": 1, "y": {"x": 2, "y": [3]}}), ("T(1)", {"a": 1}), ("(1, 2)", [1, 2]), ("Odd((1, 2))", [1, 2]),
            ("db.execute('select 1 as a, 2 as a, 3 as b').fetchone()", {"a": 1, "a.1": 2, "b": 3}),
            ("db.execute('select 1 as a')", [{"a": 1}]), ("time.gmtime(0)", dict(
                tm_year=1970, tm_mon=1, tm_mday=1, tm_hour=0, tm_min=0, tm_sec=0, tm_wday=3, tm_yday=1, tm_isdst=0)))
        status = self.value_of("import os\nos.stat('/etc/passwd')")
        self.assertEqual({"st_mode", "st_size", "st_mtime"} - set(status), set())

    def test_bytes_that_are_text_say_so(self):
        end = self.run_code("b'text'")
        self.assertEqual((end.value, end.value_type), ("text", "bytes"))
        end = self.run_code("bytes([255])")
        self.assertEqual((end.value, end.value_type), ({"base64": "/w=="}, None))


class Coroutines(FormsTest):
    MAIN = "async def main(x=5):\n    return x\n"

    def test_a_coroutine_that_is_the_answer_runs_and_the_agent_is_told(self):
        for code in (self.MAIN + "main()", self.MAIN + "result = main()", "import asyncio\n" + self.MAIN +
                     "await asyncio.sleep(0)\nmain()", self.MAIN + "async def outer():\n    return main()\nouter()",
                     self.MAIN + "if True:\n    return main()"):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.error, end.value), (None, 5))
                self.assertIn("the result was a coroutine, and it was awaited: write `await", end.stderr)
        end = self.run_code(self.MAIN + "[main(1), main(2)]")
        self.assertEqual(end.value, [1, 2])
        self.assertIn("await asyncio.gather(*list)", end.stderr)

    def test_it_runs_in_the_loop_of_the_program(self):
        end = self.run_code("import asyncio\nlock = asyncio.Lock()\nawait lock.acquire()\nasync def main():\n    lock.release()\n"
                            "    async with lock:\n        return id(asyncio.get_running_loop()) == there\n"
                            "there = id(asyncio.get_running_loop())\nmain()")
        self.assertEqual(end.value, True)

    def test_its_error_is_the_error_of_the_program(self):
        end = self.run_code("async def main():\n    raise ValueError('mine')\nresult = main()")
        self.assertEqual((end.error, end.value, end.status), ("ValueError: mine", None, 1))
        self.assertIn('line 2, in main', end.traceback)

    def test_an_async_generator_is_a_list(self):
        self.assertEqual(self.value_of("async def f():\n    yield 1\n    yield 2\nf()"), [1, 2])

    def test_a_coroutine_that_never_ran_is_told(self):
        end = self.run_code(self.MAIN + "{'a': main()}")
        self.assertIn("a coroutine in the result did not run: write `await main(...)`", end.stderr)
        end = self.run_code(self.MAIN + "x = main()")
        self.assertEqual(end.stderr, "<execution>:1: RuntimeWarning: coroutine 'main' was never awaited\n")
        self.assertIn("RuntimeWarning: coroutine 'main' was never awaited", self.run_code(self.MAIN + "main()\n5").stderr)
        self.assertEqual(self.run_code(self.MAIN + "x = main()\nawait x\nx = None").stderr, "")


class Steps(FormsTest):
    def kept(self, code):
        """The value of a step as the supervisor gets it, and the execution's end."""
        def answer(call):
            result = {"recorded": 0, "run": "r", "state": "new"} if call["name"] == "step_begin" else {}
            return [{"type": "reply", "id": call["id"], "result": result}]

        end = self.run_code(f"result = warder.workflow('w').step('s', lambda: {code})", answer)
        values = [call["arguments"].get("value") for call in end.calls if call["name"] == "step_end"]
        return values[0] if values else None, end

    def test_a_step_keeps_what_an_answer_takes_and_tells_another_form(self):
        for code, text in (("{2, 1}", "[1,2]"), ("date(2026, 1, 2)", '"2026-01-02"'), ("[float('nan')]", '["NaN"]'),
                           ("(1,)", "[1]"), ("{1: 'a'}", '{"1":"a"}'), ("collections.namedtuple('P', 'x')(1)", '{"x":1}')):
            with self.subTest(code=code):
                value, end = self.kept(code)
                self.assertEqual((value, end.error), (text, None))
                self.assertEqual(end.value, json.loads(text))
                self.assertEqual(end.stderr, f"warder: step 's' returns its value in the form that JSON has for it: {text}\n")
        for code in ("[1, 'a', None, {'b': 1.5}]", "2**70", "None"):
            self.assertEqual(self.kept(code)[1].stderr, "")

    def test_a_value_that_no_answer_takes_is_an_error(self):
        value, end = self.kept("[loop for loop in [[]] if not loop.append(loop)]")
        self.assertIn("step 's' has run, but its value cannot be kept: it contains itself", end.error)
        self.assertIsNone(value)


class Preset(FormsTest):
    def test_warder_is_bound(self):
        self.assertEqual(self.value_of("warder.__name__"), "warder")
        self.assertEqual(self.value_of("warder", context_vars={"warder": 1}), 1)


if __name__ == "__main__":
    unittest.main()
