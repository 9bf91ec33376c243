#!/usr/bin/env python3
""".ci/new in a copy of the tree: the files and entries are there, the lints find no fault, and the compiler takes the C++.
What it refuses changes no file."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
LINTS = ("banned_calls", "file_length", "file_names", "fixed_sleeps", "includes", "layering", "readmes", "type_names")


class New(unittest.TestCase):
    """One copy of the tree for all tests: each writes other names. The last one looks at the whole."""
    sources = []

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="warder-test-new-"))
        cls.top = pathlib.Path(folder) / "tree"
        not_copied = shutil.ignore_patterns(".git", "build", "node_modules", "__pycache__")
        shutil.copytree(TOP, cls.top, symlinks=True, ignore=not_copied)

    def new(self, *words):
        return subprocess.run([self.top / ".ci/new", *words], capture_output=True, text=True, timeout=60)

    def written(self, *words):
        """The names of files that were written or changed."""
        done = self.new(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("What remains:\n- the test fails", done.stdout)
        files = set(re.findall(r"^(?:new|changed) +(\S+)$", done.stdout, re.MULTILINE))
        self.sources.extend(file for file in files if file.endswith((".cc", ".h")))
        return files

    def text(self, file):
        return (self.top / file).read_text()

    def assert_fails_first(self, file):
        self.assertRegex(self.text(file), r"FAIL\(\"write|self\.fail\(\"write")

    def test_a_tool(self):
        files = self.written("tool", "pii/count_pii")
        self.assertEqual(files, {
            "supervisor/tools/pii/count_pii.cc", "supervisor/tools/pii/pii_tools.cc", "supervisor/tools/pii/pii_tools.h",
            "supervisor/tools/CMakeLists.txt", "tests/supervisor/tools/pii/count_pii_test.cc",
            "tests/supervisor/tools/CMakeLists.txt"})
        self.assertIn("\n  registry.add(shared_operation(count_pii_definition(), count_pii));\n}\n",
                      self.text("supervisor/tools/pii/pii_tools.cc"))
        self.assertRegex(self.text("supervisor/tools/CMakeLists.txt"), r"pii/count_pii\.cc\s+pii/pii_tools\.cc")
        self.assertRegex(self.text("tests/supervisor/tools/CMakeLists.txt"),
                         r"pii/count_pii_test\.cc\s+pii/pii_tools_test\.cc")
        self.assert_fails_first("tests/supervisor/tools/pii/count_pii_test.cc")

    def test_a_tool_of_each_group(self):
        for group in ("catalog", "workspace"):
            with self.subTest(group):
                self.assertIn(f"supervisor/tools/{group}/{group}_of_others.cc",
                              self.written("tool", f"{group}/{group}_of_others"))
                self.assertRegex(self.text("supervisor/tools/CMakeLists.txt"), rf"{group}/{group}_of_others\.cc\s")
                self.assertIn(f"shared_operation({group}_of_others_definition(), {group}_of_others)",
                              self.text(f"supervisor/tools/{group}/{group.removesuffix('s')}_tools.cc"))

    def test_a_policy_key(self):
        self.assertEqual(self.written("policy-key", "background_executions"), {
            "policies/policy.schema.json", "policies/policy.h", "policies/policy.cc", "tests/policies/CMakeLists.txt",
            "tests/policies/background_executions_test.cc"})
        key = json.loads(self.text("policies/policy.schema.json"))["properties"]["background_executions"]
        self.assertEqual((key["type"], key["minimum"]), ("integer", 0))
        self.assertRegex(self.text("tests/policies/CMakeLists.txt"), r"SOURCES background_executions_test\.cc\s+call_rules_test\.cc")
        self.assert_fails_first("tests/policies/background_executions_test.cc")

    def test_tests_in_cpp(self):
        for words in (("supervisor/executions/fair_turns",), ("supervisor/tools/skills/older_versions",),
                      ("supervisor/cluster/trust/old_keys", "trust_tests")):
            with self.subTest(words):
                self.written("test", *words)
                self.assert_fails_first(f"tests/{words[0]}_test.cc")
        for file, program in (("executions", r"executions_tests\s+SOURCES[^)]*\sfair_turns_test\.cc\s"),
                              ("tools", r"tools_tests\s+SOURCES[^)]*\sskills/older_versions_test\.cc\s"),
                              ("cluster", r"trust_tests\s+SOURCES[^)]*\strust/old_keys_test\.cc\s")):
            self.assertRegex(self.text(f"tests/supervisor/{file}/CMakeLists.txt"), program)

    def test_tests_of_the_daemon(self):
        for name in ("alpha", "night_shift", "zebra"):
            self.assertEqual(self.written("test", f"supervisor/{name}"), {
                f"tests/supervisor/{name}_test.py", "tests/supervisor/CMakeLists.txt", "tests/rooms.txt"})
            self.assert_fails_first(f"tests/supervisor/{name}_test.py")
            compile(self.text(f"tests/supervisor/{name}_test.py"), name, "exec")
        topics = re.search(r"(?s)foreach\(topic\s(.*?)\)", self.text("tests/supervisor/CMakeLists.txt"))[1].split()
        self.assertLessEqual({"alpha", "night_shift", "zebra"}, set(topics))
        rows = [row for row in self.text("tests/rooms.txt").splitlines() if row.startswith("warderd_")]
        self.assertEqual(len([row for row in rows if row.endswith(": supervisor/daemon")]), 3)
        self.assertLess(rows.index("warderd_alpha: supervisor/daemon"), rows.index("warderd_night_shift: supervisor/daemon"))

    def test_what_exists_or_is_no_name_is_refused_and_no_file_changes(self):
        before = {path: path.read_bytes() for path in self.top.rglob("*") if path.is_file() and not path.is_symlink()}
        for words, why in (("tool skills/save_skill", "exists|has an operation"), ("tool pii/SaveAll", "snake_case"),
                           ("tool pii/tokenize_pii", "exists|has an operation"),
                           ("tool execution/run_all", "groups with one"), ("tool rename", "names no folder"),
                           ("test supervisor/queue", "exists"), ("test supervisor/executions/admission", "exists"),
                           ("test supervisor/bad-name", "snake_case"), ("test nowhere/x", "no folder of the product"),
                           ("test supervisor/cluster/old_keys", "name one"), ("policy-key fork", "has fork"),
                           ("policy-key Fork", "snake_case"), ("tool", "new tool"), ("room x/y", "new tool")):
            with self.subTest(words):
                refused = self.new(*words.split())
                self.assertEqual(refused.returncode, 2)
                self.assertRegex(refused.stderr, why)
        after = {path: path.read_bytes() for path in self.top.rglob("*") if path.is_file() and not path.is_symlink()}
        self.assertEqual(before, after)

    def test_zz_all_of_it_passes_the_lints_and_the_compiler(self):  # the last one, by its name
        self.assertGreater(len(self.sources), 8)
        for name in LINTS:
            said = subprocess.run([sys.executable, "-B", self.top / f"tests/lint/{name}.py", self.top],
                                  capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stdout), (0, ""), name)
        said = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *sorted(set(self.sources))], cwd=self.top,
                              capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        for file in ("supervisor/tools/pii/count_pii.cc", "supervisor/tools/pii/pii_tools.cc", "policies/policy.cc",
                     "tests/policies/background_executions_test.cc"):
            said = subprocess.run(["c++", "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", '-DWARDER_SOURCE_DIR="."',
                                   f"-I{self.top}", self.top / file], capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stderr), (0, ""), file)


if __name__ == "__main__":
    unittest.main()
