"""The installed service on the system bus, as busctl and polkit have it: what administrators do to what runs."""
import json
import pathlib
import subprocess

from suite.service import CGROUP, InstalledService, background_answer, connect, execute_in_background, systemctl
from suite.warder import EXECUTION, PATIENCE, wait_until

NAME, PATH = "org.warder.Warder1", "/org/warder/Warder1"
COUNTING = """
import os, time
held = list(range(100_000))
number = 0
while not os.path.exists("/workspace/go"):
    number += 1
    with open("/workspace/.count", "w") as file: file.write(str(number))
    os.replace("/workspace/.count", "/workspace/count")
    time.sleep(0.01)
result = sum(held) == sum(range(100_000))
"""


def busctl(*words, user=None):
    become = ["runuser", "-u", user, "--"] if user else []
    return subprocess.run([*become, "busctl", "--system", "--json=short", *words], capture_output=True, text=True,
                          timeout=PATIENCE)


class Administration(InstalledService):
    def setUp(self):
        super().setUp()
        self.client = self.enterContext(connect())
        for name in ("go", "count"):
            self.client.call("delete_workspace_file", {"filename": name})

    def begin(self, code=COUNTING):
        """An execution that runs: its object's path and its cgroup."""
        execute_in_background(self.client, code)
        (leaf,) = (CGROUP / "jails").glob(EXECUTION)
        path = f"{PATH}/execution/{leaf.name}"
        wait_until("it runs", lambda: self.property(path, "State") == "running")
        return path, leaf

    def call(self, path, member, *arguments, interface="Execution", user=None):
        return busctl("call", NAME, path, f"{NAME}.{interface}", member, *arguments, user=user)

    def read(self, path, name, user):
        return busctl("get-property", NAME, path, f"{NAME}.Execution", name, user=user)

    def property(self, path, name, interface="Execution", user=None):
        done = busctl("get-property", NAME, path, f"{NAME}.{interface}", name, user=user)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["data"]

    def let_go(self):
        with connect() as other:
            other.call("write_workspace_file", {"filename": "go", "content": ""})

    def count(self):
        (file,) = pathlib.Path("/var/lib/warder/tenants").glob("*/workspace/count")
        return int(file.read_text())

    def test_frozen_it_stands_still_and_goes_on_with_its_memory(self):
        path, leaf = self.begin()
        wait_until("it counts", lambda: list(pathlib.Path("/var/lib/warder/tenants").glob("*/workspace/count")))
        self.assertEqual(self.call(path, "Freeze").returncode, 0)
        self.assertEqual(self.property(path, "State"), "frozen")
        self.assertIn("frozen 1", (leaf / "cgroup.events").read_text())
        before = self.count()
        with connect() as other:
            self.assertEqual(other.execute("sum(range(2_000_000))")["outcome"], "ok")  # time passes
        self.assertEqual(self.count(), before)
        self.assertEqual(self.property(PATH, "Frozen", "Manager"), 1)
        self.assertEqual(self.call(path, "Thaw").returncode, 0)
        self.assertEqual(self.property(path, "State"), "running")
        wait_until("it counts on", lambda: self.count() > before)
        self.let_go()
        found = background_answer(self.client)
        self.assertEqual((found["outcome"], found["result"]), ("ok", True), found)

    def test_limits_are_changed_while_it_runs(self):
        path, leaf = self.begin()
        done = self.call(path, "SetLimits", "a{sv}", "3", "MemoryBytes", "t", str(200 << 20), "Tasks", "u", "20", "CPUs", "d", "0.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((leaf / "memory.max").read_text(), f"{200 << 20}\n")
        self.assertEqual((leaf / "cpu.max").read_text(), "50000 100000\n")
        self.assertEqual((leaf / "pids.max").read_text(), "21\n")  # process 1 is ours
        self.let_go()
        self.assertEqual(background_answer(self.client)["outcome"], "ok")

    def test_killed_it_is_cancelled(self):
        path, _ = self.begin()
        self.assertEqual(self.call(path, "Kill").returncode, 0)
        self.assertEqual(background_answer(self.client)["outcome"], "cancelled")
        self.assertEqual(self.property(path, "Outcome"), "cancelled")

    def test_an_operator_sees_and_ends_all_executions_and_does_not_reload(self):
        self.assertEqual(systemctl("start", "polkit.service"), "")
        path, _ = self.begin()
        for group, sees in (("", False), ("warder-operator", True)):
            subprocess.run(["usermod", "-G", group, "ordinary"], check=True)
            self.addCleanup(subprocess.run, ["usermod", "-G", "", "ordinary"])
            # polkit reads groups afresh for each question; each busctl is another name on the bus.
            wait_until(f"sees: {sees}", lambda: (self.read(path, "State", "ordinary").returncode == 0) == sees)
            listed = busctl("call", NAME, PATH, f"{NAME}.Manager", "ListExecutions", user="ordinary").stdout
            self.assertEqual(path in listed, sees, listed)
        self.assertNotEqual(self.call(PATH, "Reload", interface="Manager", user="ordinary").returncode, 0)
        done = self.call(path, "Kill", user="ordinary")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(background_answer(self.client)["outcome"], "cancelled")

    def test_polkit_refuses_an_ordinary_user_who_sees_only_numbers(self):
        self.assertEqual(systemctl("start", "polkit.service"), "")
        path, leaf = self.begin()
        self.assertEqual(self.property(PATH, "Running", "Manager", user="ordinary"), 1)
        self.assertNotEqual(self.read(path, "State", "ordinary").returncode, 0)
        for member, interface, where in (("Kill", "Execution", path), ("Freeze", "Execution", path), ("Reload", "Manager", PATH),
                                         ("Drain", "Manager", PATH)):
            with self.subTest(member):
                done = self.call(where, member, interface=interface, user="ordinary")
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, "(?i)authenti|access denied|not authorized|polkit does not grant")
        self.assertEqual(self.property(path, "State"), "running")
        self.let_go()
        self.assertEqual(background_answer(self.client)["outcome"], "ok")
