#!/usr/bin/env python3
""".ci/affected on small trees: which tests a change chooses, why, and what has to be built for them. Nothing is built."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("affected", str(TOP / ".ci/affected"))
affected = importlib.util.module_from_spec(importlib.util.spec_from_loader("affected", LOADER))
LOADER.exec_module(affected)

FILES = {
    "supervisor/tenants/quota.h": "",
    "supervisor/tenants/quota.cc": '#include "supervisor/tenants/quota.h"\n',
    "supervisor/executions/runs/background.h": '#include "supervisor/tenants/quota.h"\n',
    "supervisor/executions/runs/background.cc": '#include "supervisor/executions/runs/background.h"\n',
    "supervisor/executions/admission.cc": "",
    "supervisor/tools/skills/save_skill.cc": '  #include "supervisor/executions/runs/background.h"\n',
    "supervisor/tools/README.md": "",
    "jail/plan.h": "",
    "jail/guest/python/runner.py": "",
    "policies/default.json": "{}",
    "tests/CMakeLists.txt": "add_subdirectory(x)\n",
    "tests/daemon.py": "",
    "tests/supervisor/harness.py": "import os\nfrom daemon import Daemon\n",
    "tests/supervisor/skills_test.py": "from harness import Client, Daemon\n",
    "tests/supervisor/queue_test.py": "import json\n",
    "tests/supervisor/CMakeLists.txt": "foreach(topic\n    queue skills)\n  add_test(NAME warderd_${topic} COMMAND python3 -B "
                                       "${CMAKE_CURRENT_SOURCE_DIR}/${topic}_test.py)\n  set(E $<TARGET_FILE:warderd>)\n",
    "tests/supervisor/tenants/CMakeLists.txt": "add_unit_tests(tenants_tests SOURCES quota_test.cc LIBRARIES tenants)\n",
    "tests/supervisor/tenants/quota_test.cc": '#include "supervisor/tenants/quota.h"\n#include "tests/temp_directory.h"\n',
    "tests/supervisor/executions/CMakeLists.txt": "add_unit_tests(executions_tests\n  SOURCES admission_test.cc)  # x\n",
    "tests/supervisor/executions/admission_test.cc": '#include "tests/temp_directory.h"\n',
    "tests/supervisor/executions/runs/CMakeLists.txt":
        "add_unit_tests(runs_tests SOURCES background_test.cc LIBRARIES double)\n",
    "tests/supervisor/executions/runs/background_test.cc": '#include "supervisor/executions/runs/background.h"\n',
    "tests/supervisor/tools/CMakeLists.txt": "add_unit_tests(tools_tests SOURCES tools_test.cc LIBRARIES tools)\n"
                                             "add_library(double STATIC double.cc)\n",
    "tests/supervisor/tools/tools_test.cc": "",
    "tests/supervisor/tools/double.cc": "",
    "tests/jail/CMakeLists.txt": "add_unit_tests(jail_tests SOURCES plan_test.cc LIBRARIES jail)\n",
    "tests/jail/plan_test.cc": "",
    "tests/jail/guest/CMakeLists.txt": "foreach(language python python_site)\n  add_test(NAME guest_${language} COMMAND python3 "
                                       "${CMAKE_CURRENT_SOURCE_DIR}/${language}_test.py)\nendforeach()\n",
    "tests/jail/guest/python_test.py": "",
    "tests/fuzz/CMakeLists.txt": "add_fuzzer(orders_fuzz LIBRARIES jail CORPUS corpus/orders)\n",
    "tests/fuzz/orders_fuzz.cc": '#include "jail/plan.h"\n',
    "tests/pages/CMakeLists.txt": "add_test(NAME pages COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/pages_test.py)\n",
    "tests/pages/pages_test.py": "",
    "tests/temp_directory.h": "",
    "tests/lint/layering.py": "",
    "tests/rooms.txt": "# a comment: with a colon\nwarderd_skills: supervisor/tools/skills\nwarderd_queue: supervisor/executions\n"
                       "guest_*: jail/guest/python\norders_fuzz: jail/jailer\npages: units\nlint.*: supervisor\nsystem.*: jail\n",
}


class Affected(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="warder-test-affected-")))
        for name, text in FILES.items():
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_text(text)

    def choice(self, *changed, lists=()):
        return affected.Choice(affected.Tree(self.top), changed, lambda file: file in lists)

    def chosen(self, *changed, lists=()):
        choice = self.choice(*changed, lists=lists)
        self.assertEqual(choice.everything, "")
        return set(choice.tests) - {"lint.*"}

    def test_a_source_chooses_the_tests_of_its_room(self):
        self.assertEqual(self.chosen("supervisor/executions/admission.cc"), {"executions_tests", "runs_tests", "warderd_queue"})
        self.assertEqual(self.chosen("policies/default.json"), set())

    def test_a_header_chooses_the_tests_of_each_room_that_includes_it_also_by_way_of_others(self):
        self.assertEqual(self.chosen("supervisor/tenants/quota.h"),
                         {"tenants_tests", "runs_tests", "tools_tests", "warderd_skills", "warderd_queue"})
        why = self.choice("supervisor/tenants/quota.h").why
        self.assertEqual(why["tenants_tests"], "tests/supervisor/tenants/quota_test.cc includes supervisor/tenants/quota.h")
        self.assertEqual(why["warderd_skills"], "supervisor/tools/skills/save_skill.cc includes supervisor/tenants/quota.h "
                                                "by way of supervisor/executions/runs/background.h")

    def test_a_source_does_not_choose_the_rooms_that_include_its_header(self):
        self.assertEqual(self.chosen("supervisor/tenants/quota.cc"), {"tenants_tests"})

    def test_a_room_without_tests_has_those_of_its_wing(self):
        self.assertEqual(self.chosen("supervisor/tools/skills/save_skill.cc"), {"tools_tests", "warderd_skills"})
        self.assertIn("its wing's", self.choice("supervisor/tools/skills/save_skill.cc").why["tools_tests"])
        self.assertEqual(self.chosen("supervisor/executions/runs/background.cc"), {"runs_tests", "warderd_queue"})

    def test_runners_in_jails_choose_their_tests(self):
        self.assertEqual(self.chosen("jail/guest/python/runner.py"), {"guest_*", "jail_tests"})
        self.assertIn("guest", self.choice("jail/guest/python/runner.py").targets())
        self.assertEqual(self.chosen("jail/guest/python/warder/__init__.py"), {"guest_*", "jail_tests"})

    def test_a_fuzzer_is_chosen_by_what_it_includes(self):
        self.assertEqual(self.chosen("jail/plan.h"), {"jail_tests", "orders_fuzz"})

    def test_a_test_is_chosen_by_its_own_files(self):
        self.assertEqual(self.chosen("tests/supervisor/queue_test.py"), {"warderd_queue"})
        self.assertEqual(self.chosen("tests/daemon.py"), {"warderd_skills"})
        self.assertEqual(self.chosen("tests/temp_directory.h"), {"tenants_tests", "executions_tests"})
        self.assertEqual(self.chosen("tests/supervisor/tools/double.cc"), {"runs_tests"})
        self.assertEqual(self.chosen("tests/supervisor/tenants/samples.json"), {"tenants_tests"})

    def test_a_page_chooses_the_tests_of_pages_and_no_room(self):
        self.assertEqual(self.chosen("supervisor/tools/README.md"), {"pages"})

    def test_what_every_test_uses_chooses_all(self):
        for file in ("supervisor/base/loop.cc", "CMakeLists.txt", "CMakePresets.json", ".ci/test", "tests/CMakeLists.txt",
                     "supervisor/tools/CMakeLists.txt"):
            with self.subTest(file):
                choice = self.choice("supervisor/executions/admission.cc", file)
                self.assertTrue(choice.everything.startswith(file), choice.everything)
                self.assertEqual(choice.ctest_arguments(), ["-LE", "^system$"])

    def test_a_list_of_sources_is_a_change_of_its_room(self):
        file = "supervisor/tools/CMakeLists.txt"
        self.assertEqual(self.chosen(file, lists=(file,)), {"tools_tests", "warderd_skills"})
        self.assertEqual(self.chosen("tests/jail/CMakeLists.txt", lists=("tests/jail/CMakeLists.txt",)), {"jail_tests"})
        differs = affected.differs_in_sources_only
        self.assertTrue(differs("foreach(topic queue)", "foreach(topic queue skills)", {"queue", "skills"}))
        self.assertFalse(differs("foreach(topic queue)", "foreach(topic queue skills)", {"queue"}))
        self.assertTrue(differs("add_library(a STATIC b.cc\n  c.cc)", "add_library(a STATIC b.cc c.cc d/e.cc)"))
        self.assertFalse(differs("add_library(a STATIC b.cc)", "add_library(a STATIC b.cc)\nadd_compile_options(-O2)"))
        self.assertFalse(differs("target_link_libraries(a b)", "target_link_libraries(a b c)"))

    def test_lints_always_run_but_for_those_that_read_other_cpp(self):
        self.assertEqual(self.choice("policies/default.json").left_out,
                         ["lint.coroutine_shapes", "lint.child_symbols", "lint.jailer_program"])
        self.assertEqual(self.choice("jail/plan.h").left_out, [])
        self.assertIn("warder-jailer", self.choice("jail/plan.h").targets())
        self.assertEqual(self.choice("supervisor/executions/admission.cc").left_out,
                         ["lint.child_symbols", "lint.jailer_program"])

    def test_only_what_the_tests_need_is_built(self):
        self.assertEqual(self.choice("supervisor/tenants/quota.cc").targets(), ["tenants_tests"])
        self.assertIn("warderd", self.choice("supervisor/executions/admission.cc").targets())
        self.assertEqual(self.choice("supervisor/tools/README.md").targets(), sorted(affected.DAEMON_TARGETS))

    def test_ctest_gets_the_names_and_patterns(self):
        arguments = self.choice("jail/guest/python/runner.py").ctest_arguments()
        self.assertRegex("guest_python_site", arguments[1])
        self.assertRegex("lint.format", arguments[1])
        self.assertNotRegex("warderd_queue", arguments[1])
        self.assertRegex("lint.coroutine_shapes.self_test", arguments[3])

    def test_each_row_of_the_real_table_is_a_folder_and_each_program_has_sources(self):
        tree = affected.Tree(TOP)
        self.assertEqual([room for _, rooms in tree.rows for room in rooms if not (TOP / room).is_dir()], [])
        self.assertGreater(len(tree.tests), 150)
        for test in tree.tests:
            with self.subTest(test.name):
                self.assertTrue(test.targets)
                if test.kind in ("unit", "fuzz"):
                    self.assertTrue(test.sources)
                    self.assertEqual([one for one in test.sources if one not in tree.files], [])
                elif test.kind == "daemon":
                    self.assertTrue(test.sources, "no test of this name: the row is older than the test's removal")

    def test_it_runs(self):
        said = subprocess.run([TOP / ".ci/affected", "--list", "HEAD"], capture_output=True, text=True, timeout=60)
        if said.returncode == 2 and not (TOP / ".git").exists():
            self.skipTest("no repository of git here")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertTrue(said.stdout.startswith("affected: "), said.stdout)
        unknown = subprocess.run([TOP / ".ci/affected", "--list", "no-such-commit"], capture_output=True, timeout=60)
        self.assertEqual(unknown.returncode, 2)


if __name__ == "__main__":
    unittest.main()
