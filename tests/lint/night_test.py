#!/usr/bin/env python3
""".ci/night with planted steps: none that fails stops the others, each ends at its limit, and the table says all of it."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("night", str(TOP / ".ci/night"))
night = importlib.util.module_from_spec(importlib.util.spec_from_loader("night", LOADER))
sys.modules["night"] = night  # dataclasses look there
LOADER.exec_module(night)
GOOD = night.Step("good", "passes", 60, [["true"], ["echo", "said"]])
BAD = night.Step("bad", "fails", 60, [["sh", "-c", "echo why; exit 3"], ["echo", "not reached"]], ["echo", "put back"])


class Night(unittest.TestCase):
    def setUp(self):
        self.logs = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="warder-test-night-"))) / "night"

    def run_steps(self, *steps, words=(), total_s=600):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = night.main(list(steps), list(words), self.logs, total_s)
        return status, said.getvalue()

    def test_all_pass(self):
        status, said = self.run_steps(GOOD)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"good +0 s +60 s  passed\n")
        self.assertIn("said\n", (self.logs / "good.log").read_text())

    def test_a_failed_step_is_shown_and_the_next_ones_run(self):
        status, said = self.run_steps(BAD, GOOD)
        self.assertEqual(status, 1)
        self.assertIn("    why\n", said)
        self.assertRegex(said, r"bad .* FAILED with status 3: sh -c")
        self.assertRegex(said, r"good .* passed")
        log = (self.logs / "bad.log").read_text()
        self.assertNotIn("not reached", log)
        self.assertIn("put back\n", log)

    def test_a_step_ends_at_its_limit_with_what_it_has_started(self):
        file = self.logs / "pid"
        slow = night.Step("slow", "is slow", 1, [["sh", "-c", f"sleep 600 & echo $! >{file}; wait"]])
        begun = time.monotonic()
        status, said = self.run_steps(slow, GOOD)
        self.assertLess(time.monotonic() - begun, 60)
        self.assertEqual(status, 1)
        self.assertRegex(said, r"slow .* ENDED at its limit")
        self.assertRegex(said, r"good .* passed")
        stat = pathlib.Path(f"/proc/{file.read_text().strip()}/stat")
        self.assertTrue(not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z")

    def test_the_whole_night_has_an_end(self):
        slow = night.Step("slow", "is slow", 60, [["sleep", "600"]])
        status, said = self.run_steps(slow, GOOD, total_s=1)
        self.assertEqual(status, 1)
        self.assertRegex(said, r"good .* NOT RUN")

    def test_a_step_that_cannot_run_here_is_skipped_and_a_missing_program_fails(self):
        status, said = self.run_steps(night.Step("agents", "no network", 60, [["sh", "-c", "exit 77"]]))
        self.assertEqual(status, 0)
        self.assertRegex(said, r"agents .* skipped")
        self.assertEqual(self.run_steps(night.Step("gone", "no program", 60, [["/no/such/program"]]))[0], 1)

    def test_steps_are_chosen_by_name(self):
        status, said = self.run_steps(BAD, GOOD, words=["good"])
        self.assertEqual(status, 0)
        self.assertNotIn("bad", said)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(self.run_steps(GOOD, words=["other"])[0], 2)

    def test_the_real_steps_take_90_minutes_at_most_and_their_files_are_there(self):
        self.assertLessEqual(sum(step.limit_s for step in night.STEPS), night.TOTAL_S)
        for step in night.STEPS:
            for word in (word for command in step.commands for word in command):
                if word.startswith((".ci/", "tests/")):
                    self.assertTrue((TOP / word).is_file(), word)
        self.assertIn("at most 90 minutes", self.run_steps(*night.STEPS, words=["--list"], total_s=night.TOTAL_S)[1])


if __name__ == "__main__":
    unittest.main()
