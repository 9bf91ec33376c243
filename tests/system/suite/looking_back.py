"""The installed service, as administrators look back at it: history, audit, backup and restore, and a tenant that leaves."""
import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

from suite.service import InstalledService, connect, show, systemctl
from suite.warder import PATIENCE, wait_until

STATE = pathlib.Path("/var/lib/warder")


def warder(*words, user=None, status=0):
    become = ["runuser", "-u", user, "--"] if user else []
    done = subprocess.run([*become, "warder", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL)
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def lines_of(*words, **more):
    return [json.loads(line) for line in warder(*words, **more).stdout.splitlines()]


@contextlib.contextmanager
def machine_clock_ahead(seconds):
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
    try:
        yield
    finally:
        systemctl("stop", "warder.socket", "warder.service")
        time.clock_settime(time.CLOCK_REALTIME, time.time() - seconds)


class LookingBack(InstalledService):
    def setUp(self):
        super().setUp()
        with connect() as client:
            self.identity = client.execute("open('/workspace/made', 'w').write('x'); result = 1")["execution_id"]

    def test_root_sees_all_with_the_daemon_and_without_it(self):
        (newest,) = lines_of("history", "--limit", "1", "--json")
        self.assertEqual((newest["Id"], newest["Outcome"], newest["UID"]), (self.identity, "ok", 0))
        self.assertIn("made", json.dumps(lines_of("show", self.identity[:12], "--json")[0]["Files"]))
        systemctl("stop", "warder.socket", "warder.service")
        before = (STATE / "journal/journal.db").stat()
        (again,) = lines_of("history", "--limit", "1", "--json")
        self.assertEqual(again, newest)
        after = (STATE / "journal/journal.db").stat()
        self.assertEqual((after.st_uid, after.st_mtime_ns), (before.st_uid, before.st_mtime_ns))
        for file in (STATE / "journal").iterdir():
            self.assertEqual(file.stat().st_uid, before.st_uid, file)  # the daemon can open all of them
        systemctl("start", "warder.socket")

    def test_another_user_sees_nothing_of_root(self):
        self.assertEqual(lines_of("history", "--json", user="daemon"), [])
        warder("show", self.identity, user="daemon", status=1)
        warder("tenant", "remove", "uid-0", "--yes", user="daemon", status=1)
        warder("audit", "list", user="daemon", status=125)

    def test_the_audit_is_exported_whole(self):
        numbers = [line["number"] for line in lines_of("audit", "export")]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertIn("whole", warder("audit", "verify").stdout)

    def test_a_backup_comes_back_with_its_owners(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, folder)
        warder("backup", folder / "state.tar", "--with-key")
        warder("restore", folder / "state.tar", "--force", status=1)  # the daemon runs
        systemctl("stop", "warder.socket", "warder.service")
        made_anew = {"template", "self-test"}  # by each start
        owners = {path.name: path.stat().st_uid for path in STATE.iterdir() if path.name not in made_anew}
        warder("restore", folder / "state.tar", "--force")
        for former in STATE.parent.glob("warder.before-restore-*"):
            self.addCleanup(shutil.rmtree, former)
        self.assertEqual({path.name: path.stat().st_uid for path in STATE.iterdir()}, owners)
        systemctl("start", "warder.socket")
        with connect() as client:
            self.assertEqual(client.execute("result = open('/workspace/made').read()")["result"], "x")
        self.assertIn(self.identity, [row["Id"] for row in lines_of("history", "--json")])
        self.assertEqual(show("ActiveState"), "active")

    def test_a_start_with_the_machines_clock_400_days_ahead_removes_nothing(self):
        audit = [line["number"] for line in lines_of("audit", "export")]
        systemctl("stop", "warder.socket", "warder.service")
        with machine_clock_ahead(400 * 86_400):
            systemctl("start", "warder.socket")
            with connect() as client:
                self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            doctor = subprocess.run(["warder", "doctor"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertRegex(doctor.stdout, "clock.*no data is removed")
        systemctl("start", "warder.socket")
        self.assertIn(self.identity, [row["Id"] for row in lines_of("history", "--json")])
        self.assertEqual([line["number"] for line in lines_of("audit", "export")][:len(audit)], audit)
        self.assertIn("whole", warder("audit", "verify").stdout)

    def test_a_tenant_is_exported_and_removed(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, folder)
        warder("tenant", "export", "uid-0", folder / "uid-0.tar")
        warder("tenant", "remove", "uid-0", "--yes")
        wait_until("the files are deleted", lambda: not list((STATE / "tenants").glob("*uid-0*")))
        self.assertEqual(lines_of("history", "--tenant", "uid-0", "--json"), [])
        self.assertIn("tenant removed", [line["action"] for line in lines_of("audit", "list", "--json")])
