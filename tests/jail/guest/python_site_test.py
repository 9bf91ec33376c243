"""The runner is started with -S: what `site` does is there when the code needs it, as if it had been done at the start."""
import json
import os
import shutil
import subprocess
import unittest
from unittest import mock

import driver
from driver import GUEST, GuestTest

# A module of the distribution's own packages, and one that names it: what a bare interpreter finds, a jailed one finds.
INSTALLED = "/usr/lib/python3/dist-packages"


def bare(expression):
    """What `python3 -I` answers to an expression, as JSON would show it."""
    code = f"import json\nprint(json.dumps({expression}))"
    done = subprocess.run(["/usr/bin/python3", "-I", "-c", code], stdout=subprocess.PIPE, check=True, timeout=30)
    return json.loads(done.stdout)


def an_installed_module():
    """The name of a plain module that is not Python's own; None where there is none."""
    names = sorted(name[:-3] for name in os.listdir(INSTALLED) if name.endswith(".py")) \
        if os.path.isdir(INSTALLED) else []
    return names[0] if names else None


class SiteTest(GuestTest):
    language = "python"

    def cold(self, code, **fields):
        """The answer to an order that was there before the runner."""
        runner = self.start()
        runner.send(self.order(code, **fields))
        self.assertEqual(runner.receive()["type"], "ready")
        end = runner.end()
        self.assertIsNone(end.error, end)
        return end.value

    def same(self, code, **fields):
        """The answer, which has to be the same whether the runner was warm or not."""
        value = self.cold(code, **fields)
        self.assertEqual(value, self.value_of(code, **fields))
        return value


class Names(SiteTest):
    def test_what_site_adds_to_builtins_is_there(self):
        names = "[type(n).__name__ for n in (exit, quit, help)]"
        self.assertEqual(self.same(names), bare(names))
        for name in ("copyright", "credits", "license"):
            self.assertEqual(self.same(f"repr({name})"), bare(f"repr({name})"))

    def test_exit_ends_the_execution_with_its_status(self):
        for code in ("exit(3)", "quit(3)"):
            runner = self.start()
            runner.send(self.order(code))
            runner.receive()
            end = runner.end()
            self.assertEqual((end.exit, end.status), (3, 3))

    def test_a_context_variable_stands_over_one_of_these_names(self):
        for name in ("exit", "license"):
            runner = self.start()
            runner.send(self.order(name, context_vars={name: 1}))
            runner.receive()
            self.assertEqual(runner.end().value, 1)


class Places(SiteTest):
    def test_sys_path_is_that_of_a_bare_interpreter_and_then_the_workspace(self):
        expected = bare("__import__('sys').path") + [self.workspace]
        for code in ("import sys\nsys.path", "from sys import path\npath", "import sys, site\nvars(sys)['path']",
                     "import sys, pkgutil\nvars(sys)['path']", "import sys\nrepr(license)\nvars(sys)['path']"):
            with self.subTest(code=code):
                self.assertEqual(self.same(code), expected)

    def test_a_missing_module_is_looked_for_everywhere_and_named(self):
        code = ("import sys\ntry:\n    import no_such_module_at_all\nexcept ModuleNotFoundError as e:\n"
                "    result = [e.name, vars(sys)['path']]")
        self.assertEqual(self.same(code), ["no_such_module_at_all", bare("__import__('sys').path") + [self.workspace]])

    def test_modules_come_from_the_places_in_their_order(self):
        self.write("json.py", "raise SystemExit('shadowed')")
        self.write("mine.py", "answer = 42")
        self.assertEqual(self.same("import mine, json\n[mine.answer, json.loads('1')]"), [42, 1])

    def test_an_installed_module_is_found_and_is_not_shadowed_by_the_workspace(self):
        name = an_installed_module()
        if name is None:
            self.skipTest(f"no plain module is installed in {INSTALLED}")
        self.write(f"{name}.py", "raise SystemExit('shadowed')")
        self.assertEqual(self.same(f"import {name}\n{name}.__file__"), f"{INSTALLED}/{name}.py")
        self.assertEqual(self.same(f"import importlib.util\nimportlib.util.find_spec('{name}').origin"),
                         f"{INSTALLED}/{name}.py")

    def test_places_that_the_code_adds_keep_their_rank(self):
        code = ("places = vars(__import__('sys'))['path']\nplaces.insert(0, workspace + '/early')\n"
                "places.append(workspace + '/late')\nimport queue, deep\n[queue.name, deep.name]")
        self.write("early/queue.py", "name = 'early'")
        self.write("late/deep.py", "name = 'late'")
        self.write("deep.py", "name = 'workspace'")
        self.assertEqual(self.same(code), ["early", "workspace"])

    def test_what_is_installed_can_be_listed(self):
        names = "sorted({d.metadata['Name'] for d in __import__('importlib.metadata').metadata.distributions()})"
        self.assertEqual(self.same(names), bare(names))
        modules = "len([m for m in __import__('pkgutil').iter_modules()])"
        self.assertEqual(self.same(modules), bare(modules))

    def test_what_packages_put_in_the_place_of_pythons_own_is_taken(self):
        code = "import warnings\nwarnings.simplefilter('ignore')\nimport distutils\ndistutils.__file__"
        self.assertEqual(self.same(code), bare("(__import__('warnings').simplefilter('ignore'), "
                                               "__import__('distutils').__file__)[1]"))

    def test_threads_that_import_at_once_all_find_what_they_want(self):
        for at in range(8):
            self.write(f"mine{at}.py", f"answer = {at}")
        code = ("import threading, sys\nsys.setswitchinterval(1e-6)\nfound = []\nstart = threading.Barrier(8)\n"
                "def work(at):\n    start.wait()\n    at % 2 or repr(license)\n"
                "    found.append(__import__(f'mine{at}').answer)\n"
                "threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]\n"
                "for t in threads: t.start()\nfor t in threads: t.join()\nsorted(found)")
        self.assertEqual(self.same(code), list(range(8)))

    def test_processes_of_multiprocessing_find_the_same(self):
        code = ("import multiprocessing\n"
                "def look(_):\n    import sys\n    return [exit.name, sys.path[-1], {!r} in sys.path]\n"
                "if __name__ == '__main__':\n"
                "    with multiprocessing.get_context('{}').Pool(1) as pool:\n"
                "        result = pool.map(look, [1])[0]\n")
        there = INSTALLED in bare("__import__('sys').path")
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                self.assertEqual(self.same(code.format(INSTALLED, method)), ["exit", self.workspace, there])


class Traces(SiteTest):
    def test_nothing_of_the_runners_own_loading_is_left(self):
        self.assertEqual(self.cold("import sys\n[getattr(f, '__name__', type(f).__name__) for f in sys.meta_path]"),
                         ["Watch", "BuiltinImporter", "FrozenImporter", "_Finder", "PathFinder"])

    def test_the_package_is_where_its_files_are(self):
        code = "import warder\nfrom warder import _trace\n[warder.__file__, warder.__spec__.origin, _trace.__file__]"
        here = f"{GUEST}/python/warder"
        self.assertEqual(self.same(code), [f"{here}/__init__.py", f"{here}/__init__.py", f"{here}/_trace.py"])

    def test_a_bundle_made_by_another_python_is_not_used(self):
        shutil.copytree(f"{GUEST}/python", f"{self.workspace}/guest")
        self.write("guest/runner.bundle", b"\0\0\r\nno code objects of this Python")
        command = [word.replace(f"{GUEST}/python", f"{self.workspace}/guest") for word in driver.COMMANDS["python"]]
        with mock.patch.dict(driver.COMMANDS, python=command):
            code = "import sys, warder\n[warder.__file__, any(place.endswith('/guest') for place in sys.path)]"
            self.assertEqual(self.same(code), [f"{self.workspace}/guest/warder/__init__.py", False])


if __name__ == "__main__":
    unittest.main()
