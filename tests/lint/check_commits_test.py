#!/usr/bin/env python3
""".ci/check-commits with planted messages, and with commits, merges and clones in repositories of the test's own."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = TOP / ".ci/check-commits"
LONG = "jail: " + "a" * 67  # 73 characters
GOOD = [
    "jail: the cgroup is killed at the deadline\n",
    "tenants, logins: a failed read is not an absent file\n",
    "tests/lint: a commit's message has a form\n\nThe reason\n\nin two parts.\n",
    LONG[:-1] + "\n",
    "jail: a long address is not broken\n\nhttps://example.com/" + "a" * 100 + "\n",
]
# A message, and a part of each finding in their order.
BAD = [
    (LONG + "\n", ["the subject has 73 characters"]),
    ("kill the cgroup\n", ["does not begin with its folder"]),
    ("kill the cgroup: at the deadline\n", ["does not begin with its folder"]),
    ("jail:no blank\n", ["does not begin with its folder"]),
    ("jail: the cgroup is killed.\n", ["ends with a full stop"]),
    ("jail: the cgroup is killed\nat the deadline\n", ["the second line is not blank"]),
    ("jail: the cgroup is killed\n\n" + "word " * 21 + "\n", ["line 3 has 10"]),
    ("Kill it " + "a" * 80 + ".\nnow\n", ["89 characters", "its folder", "a full stop", "the second line"]),
]
# No file of this machine's user or administrator decides, and no hook calls git with other folders.
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
               "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
               "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
               "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}


class CheckCommits(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-commits-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.here = self.folder

    def run_program(self, *words):
        done = subprocess.run(words, cwd=self.here, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def check(self, *words):
        return self.run_program(PROGRAM, *words)

    def check_message(self, text):
        (self.folder / "message").write_text(text)
        return self.check("--message", self.folder / "message")

    def git(self, *words):
        status, text = self.run_program("git", *words)
        self.assertEqual(status, 0, text)
        return text.strip()

    def make_repository(self):
        if not shutil.which("git"):
            self.skipTest("needs git")
        self.here = self.folder / "repository"
        self.here.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def commit(self, message):
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def test_good_messages_have_no_finding(self):
        for message in GOOD:
            with self.subTest(message):
                self.assertEqual(self.check_message(message), (0, ""))

    def test_each_fault_of_a_message_is_one_line(self):
        for message, parts in BAD:
            with self.subTest(message):
                status, text = self.check_message(message)
                self.assertEqual(status, 1, text)
                lines = text.splitlines()
                self.assertEqual(len(lines), len(parts), text)
                for part, line in zip(parts, lines):
                    self.assertIn(part, line)

    def test_what_git_cuts_off_a_written_message_is_not_checked(self):
        comment = "# Please enter the commit message " + "a " * 60
        cut = "# ------------------------ >8 ------------------------\ndiff --git " + "a " * 60
        self.assertEqual(self.check_message(f"\n{GOOD[0]}{comment}\n{cut}\n"), (0, ""))
        self.assertEqual(self.check_message("fixup! jail: the cgroup is killed.\n"), (0, ""))
        self.assertEqual(self.check_message(comment + "\n"), (0, ""), "git itself refuses an empty message")

    def test_a_range_names_each_commit_with_a_fault_oldest_first(self):
        self.make_repository()
        first = self.commit("no folder")
        self.commit("jail: good")
        last = self.commit("jail: a full stop.")
        status, text = self.check("HEAD")
        self.assertEqual(status, 1)
        lines = text.splitlines()
        self.assertEqual([line.split()[0] for line in lines], [first[:12], last[:12]], text)
        self.assertIn('"no folder": the subject does not begin', lines[0])
        self.assertEqual(self.check("HEAD~2..HEAD~1"), (0, ""))

    def test_without_a_range_the_last_commit_or_those_since_origin_main_are_checked(self):
        self.make_repository()
        base = self.commit("no folder")
        self.commit("still no folder")
        self.commit("jail: good")
        self.assertEqual(self.check(), (0, ""), "the last one, because there is no origin/main")
        self.git("update-ref", "refs/remotes/origin/main", base)
        status, text = self.check()
        self.assertEqual((status, len(text.splitlines())), (1, 1), text)
        self.assertIn('"still no folder"', text)
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.check(), (0, ""), "the last one, because origin/main has it")

    def test_merges_are_left_out_also_in_a_clone_of_one_commit(self):
        self.make_repository()
        self.commit("jail: good")
        self.git("checkout", "--quiet", "-b", "other")
        self.commit("policies: good")
        self.git("checkout", "--quiet", "main")
        self.commit("tests: good")
        self.git("merge", "--quiet", "--no-ff", "--message", "Merge branch 'other' into main.", "other")
        self.assertEqual(self.check("HEAD"), (0, ""))
        origin, self.here = self.here, self.folder
        self.git("clone", "--quiet", "--depth", "1", f"file://{origin}", "clone")
        self.here = self.folder / "clone"
        self.assertEqual(self.git("rev-list", "--count", "HEAD"), "1")
        self.assertEqual(self.check(), (0, ""))
        self.commit("no folder")
        self.assertEqual(self.check()[0], 1, "a commit upon it is checked")

    def test_the_hook_refuses_a_commit(self):
        self.make_repository()
        shutil.copytree(TOP / ".ci", self.here / ".ci")
        self.git("config", "core.hooksPath", ".ci")
        status, text = self.run_program("git", "commit", "--allow-empty", "--message", "no folder")
        self.assertEqual(status, 1, text)
        self.assertIn("commit message: the subject does not begin with its folder", text)
        self.commit("jail: good")
        self.git("checkout", "--quiet", "-b", "other")
        self.commit("policies: good")
        self.git("checkout", "--quiet", "main")
        self.commit("tests: good")
        self.git("merge", "--quiet", "--no-ff", "--message", "Merge branch 'other'", "other")

    def test_a_failure_of_git_and_wrong_words_are_no_success(self):
        if not shutil.which("git"):
            self.skipTest("needs git")
        status, text = self.check()
        self.assertEqual(status, 2)
        self.assertIn("check-commits: git rev-parse", text)
        self.assertEqual(self.check("--all")[0], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
