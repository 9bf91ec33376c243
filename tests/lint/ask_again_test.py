#!/usr/bin/env python3
""".ci/ask-again with a real ctest on small trees of tests: a test that passes the second time is listed with its first
failure, right before ctest's closing lines; a test that fails twice fails the run."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
# Fails once: the first run leaves a file. Its output is that of unittest, with a second failure behind the first.
RACE = """
touch=$1/ran
if [ -e "$touch" ]; then echo fine; exit 0; fi
touch "$touch"
cat <<'END'
..F
======================================================================
FAIL: test_of_a_race (__main__.Case)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "case.py", line 7, in test_of_a_race
AssertionError: 2507 not less than 2500

======================================================================
FAIL: test_behind_it (__main__.Case)
END
exit 1
"""
PRESETS = {"version": 6, "cmakeMinimumRequired": {"major": 3, "minor": 25, "patch": 0},
           "configurePresets": [{"name": name, "generator": "Ninja", "binaryDir": f"${{sourceDir}}/build/{name}"}
                                for name in ("one", "two")],
           "testPresets": [{"name": name, "configurePreset": name} for name in ("one", "two")]}
PAGE = """# Asked again

| test | date | first failure | suspected cause |
|---|---|---|---|
| `known_race` | 2026-11-24 | `2507 not less than 2500` | a bound in milliseconds |
"""


class AskAgain(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-ask-again-"))
        self.addCleanup(shutil.rmtree, self.top)
        (self.top / ".ci").mkdir()
        shutil.copy(TOP / ".ci/ask-again", self.top / ".ci")
        (self.top / "CMakePresets.json").write_text(json.dumps(PRESETS))
        (self.top / "tests").mkdir()
        (self.top / "tests/asked-again.md").write_text(PAGE)

    def plant(self, preset, **scripts):
        build = self.top / "build" / preset
        build.mkdir(parents=True)
        lines = []
        for name, script in scripts.items():
            state = build / f"state_{name}"
            state.mkdir()
            (build / f"{name}.sh").write_text(script)
            lines.append(f'add_test({name} "/bin/sh" "{build}/{name}.sh" "{state}")')
        (build / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")

    def ask(self, *words):
        done = subprocess.run([self.top / ".ci/ask-again", *words], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout

    def run_preset(self, preset):
        return self.ask(preset, "ctest", "--preset", preset)

    def closing(self, text):
        """What stands before the closing lines of the last ctest, and those lines."""
        at = text.rindex("% tests passed")
        at = text.rindex("\n", 0, at) + 1
        return text[:at], text[at:]

    def test_nothing_is_said_when_all_pass(self):
        self.plant("one", good="exit 0")
        status, text = self.run_preset("one")
        self.assertEqual(status, 0, text)
        self.assertIn("100% tests passed", text)
        self.assertNotIn(":::", text)

    def test_a_race_is_listed_with_its_first_failure_before_the_closing_lines(self):
        self.plant("one", good="exit 0", new_race=RACE, known_race=RACE)
        status, text = self.run_preset("one")
        self.assertEqual(status, 0, text)
        before, closing = self.closing(text)
        self.assertTrue(closing.startswith("100% tests passed, 0 tests failed out of 2\n"), closing)
        self.assertNotIn(":::", closing)
        told = before[before.index("::: 2 asked again, alone, after"):]
        for words in ("::: new_race (one): NEW, tests/asked-again.md does not have it",
                      "::: known_race (one): known since 2026-11-24; suspected: a bound in milliseconds",
                      "    FAIL: test_of_a_race (__main__.Case)", "    AssertionError: 2507 not less than 2500"):
            self.assertIn(words, told)
        self.assertNotIn("test_behind_it", told, "it is a later failure")
        first = self.top / "build/one/Testing/Temporary/FirstTest.log"
        self.assertIn("2507 not less than 2500", first.read_text(), "the second run replaced only LastTest.log")

    def test_the_list_of_earlier_presets_stands_before_the_last_closing_lines(self):
        self.plant("one", new_race=RACE)
        self.plant("two", good="exit 0")
        self.assertEqual(self.run_preset("one")[0], 0)
        status, text = self.run_preset("two")
        self.assertEqual(status, 0, text)
        before, closing = self.closing(text)
        self.assertIn("::: new_race (one): NEW", before)
        self.assertTrue(closing.startswith("100% tests passed, 0 tests failed out of 1\n"), closing)
        self.assertEqual(self.ask("--forget"), (0, ""))
        self.assertNotIn(":::", self.run_preset("two")[1])

    def test_a_fault_fails_twice(self):
        self.plant("one", good="exit 0", fault="echo it is broken; exit 3")
        status, text = self.run_preset("one")
        self.assertNotEqual(status, 0)
        before, closing = self.closing(text)
        self.assertIn("::: fault (one): NEW", before)
        self.assertIn("    it is broken", before)
        self.assertIn("fault (Failed)", closing)

    def test_a_build_that_fails_is_not_asked_again(self):
        self.plant("one", race=RACE)
        self.assertEqual(self.run_preset("one")[0], 0)  # leaves its list of failed tests behind
        status, text = self.ask("one", "sh", "-c", "echo no such file; exit 5")
        self.assertEqual((status, text), (5, "no such file\n"))

    def test_the_page_of_this_tree_can_be_read(self):
        """Every row has its four parts, a date among them: one that has not would be taken for a new one."""
        rows = [line for line in (TOP / "tests/asked-again.md").read_text().split("\n") if line.startswith("| `")]
        for row in rows:
            with self.subTest(row):
                self.assertRegex(row, r"\A\| `[\w.]+` \| 20\d\d-\d\d-\d\d \| [^|]+ \| [^|]+ \|\Z")


if __name__ == "__main__":
    unittest.main(verbosity=2)
