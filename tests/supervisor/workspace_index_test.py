"""The index of a workspace, judged from outside: the lists of changed files in answers against what is on disk, after
random work inside of jails and outside of them, by programs side by side, and through mappings that a session keeps."""
import os
import random
import threading
import unittest

from harness import Client, Daemon, Policies

# What a program may do to files, at random. RANDOM is its seed.
PROGRAM = """
import mmap, os, random, shutil
dice = random.Random({seed})
os.chdir("/workspace")
def name():
    return "/".join([dice.choice("abc") for _ in range(dice.randrange(4))] + [dice.choice("abcde")])
for _ in range({steps}):
    one, other = name(), name()
    kind = dice.randrange(12)
    try:
        if kind < 4:
            open(one, "w").write("x" * dice.randrange(9000))
        elif kind == 4:
            os.makedirs(one)
        elif kind == 5:
            os.rename(one, other)
        elif kind == 6:
            os.remove(one)
        elif kind == 7 and dice.randrange(4) == 0:
            shutil.rmtree(one)
        elif kind == 8:
            os.link(one, other)
        elif kind == 9:
            os.truncate(one, dice.randrange(50_000))
        elif kind == 10:
            with open(one, "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
                view[len(view) // 2] ^= 1
        else:
            os.symlink("no/such/file", one)
    except (OSError, ValueError):
        pass
"""


def files_of(top):
    """{path: what shows that it was written}, of everything that is no folder."""
    found = {}
    for folder, folders, names in os.walk(top):
        for name in names + [one for one in folders if os.path.islink(os.path.join(folder, one))]:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            found[os.path.relpath(path, top)] = (info.st_ino, info.st_size, info.st_mtime_ns)
    return found


def told(body, key):
    files = body.get("files", {})
    assert "omitted" not in files and files.get("complete", True), files
    return set(files.get(key, ()))


class Index(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(Policies(quota={"workspace_files": 50_000}))
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies))

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))
        self.execute("import shutil, os\nfor one in os.listdir('/workspace'):\n    path = '/workspace/' + one\n"
                            "    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)")
        self.top = next(self.daemon.state.glob("tenants/*/workspace"))
        self.assertEqual(files_of(self.top), {})

    def execute(self, code, **arguments):
        body = self.client.execute(code, **arguments)
        self.assertTrue(body["success"], body)
        return body

    def check(self, body, before, after):
        self.assertEqual(told(body, "created"), set(after) - set(before))
        self.assertEqual(told(body, "deleted"), set(before) - set(after))
        written = {path for path in set(before) & set(after) if before[path] != after[path]}
        self.assertLessEqual(written, told(body, "modified"))
        self.assertLessEqual(told(body, "modified"), set(before) & set(after))

    def test_files_are_what_a_walk_finds_after_random_work_inside_and_outside(self):
        for seed in range(40):
            before = files_of(self.top)
            body = self.execute(PROGRAM.format(seed=seed, steps=60))
            with self.subTest(seed=seed):
                self.check(body, before, files_of(self.top))
            # Outside, between executions: nobody's answer has it, and the next one begins with it.
            dice = random.Random(seed)
            folder = self.top / dice.choice("abc") / "outside"
            if folder.parent.is_dir() and not folder.parent.is_symlink():
                folder.mkdir(exist_ok=True)
                (folder / str(seed)).write_text("x")
                for path in (folder, folder / str(seed)):
                    os.chown(path, *self.owner())
                if dice.randrange(2):
                    folder.rename(self.top / f"moved-{seed}")

    def owner(self):
        info = os.stat(self.top)
        return info.st_uid, info.st_gid

    def test_every_change_in_a_large_workspace_is_told(self):
        self.execute("import os\nfor i in range(12000):\n"
                     "    os.makedirs(f'/workspace/{i // 500}', exist_ok=True)\n"
                     "    open(f'/workspace/{i // 500}/{i}', 'w').close()")
        body = self.execute("import os\nfor i in range(10):\n    open(f'/workspace/{i}/new', 'w').close()\n"
                            "os.remove('/workspace/23/11999')\nopen('/workspace/20/10001', 'w').write('x')")
        self.assertEqual(body["files"], {"created": sorted(f"{i}/new" for i in range(10)), "deleted": ["23/11999"],
                                         "modified": ["20/10001"]})

    def test_what_changed_while_another_program_ran_is_told_apart(self):
        self.execute("open('/workspace/old', 'w').close()")
        first = """
import os, time
open('/workspace/first-alone', 'w').close()
while not os.path.exists('/workspace/second-runs'): time.sleep(0.01)
open('/workspace/first-with-second', 'w').close()
"""
        second = """
import os, time
open('/workspace/second-runs', 'w').close()
while not os.path.exists('/workspace/first-has-ended'): time.sleep(0.01)
os.remove('/workspace/old')
"""
        answers = {}
        with Client(self.daemon.socket) as other:
            def run():
                answers["second"] = other.execute(second)

            def watch():
                while not (self.top / "first-alone").exists():
                    pass
                thread.start()
            thread, watcher = threading.Thread(target=run), threading.Thread(target=watch)
            watcher.start()
            answers["first"] = self.execute(first)
            watcher.join()
            (self.top / "first-has-ended").touch()
            thread.join()
        self.assertEqual(answers["first"]["files"], {"created": ["first-alone"]})
        self.assertEqual(answers["first"]["changed_meanwhile"], {"created": ["first-with-second", "second-runs"]})
        self.assertIn("changed_meanwhile", answers["first"]["notes"][0])
        self.assertEqual(answers["second"]["changed_meanwhile"], {"created": ["first-with-second", "second-runs"]})
        self.assertEqual(answers["second"]["files"], {"created": ["first-has-ended"], "deleted": ["old"]})

    def test_a_mapping_that_a_session_keeps_is_seen_in_the_call_that_writes(self):
        self.execute("open('/workspace/mapped', 'w').write('x' * 8192)")
        opened = self.execute("import mmap\nfile = open('/workspace/mapped', 'r+b')\nview = mmap.mmap(file.fileno(), 0)\n"
                              "file.close()", session="s")
        self.assertNotIn("files", opened)
        self.assertNotIn("files", self.execute("pass", session="s"))
        for value in (65, 66):  # the second write, too, which is to the same page
            self.assertEqual(self.execute(f"view[0] = {value}", session="s")["files"], {"modified": ["mapped"]})
        self.assertNotIn("files", self.execute("pass", session="s"))

    def test_compiled_modules_do_not_fill_the_list(self):
        body = self.execute("import sys\nsys.dont_write_bytecode = False\nopen('/workspace/module.py', 'w').write('x = 1')\n"
                            "sys.path.insert(0, '/workspace')\nimport module, os\nresult = os.listdir('/workspace')")
        self.assertEqual(body["files"], {"created": ["module.py"]})

    def test_the_quota_ends_a_program_by_what_the_index_counts(self):
        with Policies(quota={"workspace_files": 300}) as policies, Daemon(policies=policies) as daemon, \
                Client(daemon.socket) as client:
            client.execute("pass")
            body = client.execute("for i in range(200_000):\n    open(f'/workspace/{i}', 'w').close()")
            self.assertEqual(body["outcome"], "disk", body)
            self.assertLess(len(os.listdir(next(daemon.state.glob("tenants/*/workspace")))), 200_000)

    def test_the_quota_holds_while_a_program_floods_the_index(self):
        """One process changes a file without an end, another one writes more than the quota allows."""
        with Policies(quota={"workspace_files": 300}) as policies, Daemon(policies=policies) as daemon, \
                Client(daemon.socket) as client:
            body = client.execute("""
import os
open('/workspace/flooded', 'w').close()
if os.fork() == 0:
    while True:
        os.chmod('/workspace/flooded', 0o600)
        os.chmod('/workspace/flooded', 0o644)
for i in range(200_000):
    open(f'/workspace/{i}', 'w').close()
while True: pass
""", timeout_seconds=60)
            self.assertEqual(body["outcome"], "disk", body)


if __name__ == "__main__":
    unittest.main()
