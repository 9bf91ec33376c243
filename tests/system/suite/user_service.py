"""The service for one user: started by that user's service manager, with limits by cgroups; and what a daemon says that
the same user starts by hand in a cgroup that nobody delegated."""
import json
import os
import pathlib
import pwd
import subprocess
import unittest

from suite.service import systemctl
from suite.warder import PATIENCE, PROGRAM, wait_until

USER = pwd.getpwnam("ordinary")
RUNTIME = pathlib.Path(f"/run/user/{USER.pw_uid}")
SOCKET = RUNTIME / "warder/mcp.sock"
DELEGATION = pathlib.Path("/etc/systemd/system/user@.service.d/delegate.conf")


def as_user(*words, check=True):
    environment = {"PATH": os.environ["PATH"], "HOME": USER.pw_dir, "XDG_RUNTIME_DIR": str(RUNTIME)}
    done = subprocess.run(["setpriv", f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}", "--init-groups", *words],
                          capture_output=True, text=True, env=environment, cwd="/", timeout=PATIENCE)
    assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
    return done


class UserService(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        DELEGATION.parent.mkdir(parents=True, exist_ok=True)
        DELEGATION.write_text("[Service]\nDelegate=cpu io memory pids\n")
        cls.addClassCleanup(DELEGATION.unlink)
        systemctl("daemon-reload")
        systemctl("start", f"user@{USER.pw_uid}.service")
        cls.addClassCleanup(systemctl, "stop", f"user@{USER.pw_uid}.service")
        as_user("systemctl", "--user", "enable", "--now", "warder.socket")
        cls.addClassCleanup(as_user, "systemctl", "--user", "disable", "--now", "warder.socket", "warder.service")

    def test_the_socket_is_the_users_alone_and_starts_a_daemon_with_limits(self):
        wait_until("the socket listens", SOCKET.exists)
        status = SOCKET.stat()
        self.assertEqual((status.st_uid, status.st_mode & 0o777), (USER.pw_uid, 0o600))
        done = as_user("warder", "run", "-c", "print(6 * 7)", "--receipt")
        self.assertEqual(done.stdout, "42\n", done.stderr)
        receipt = json.loads(done.stderr)
        self.assertGreater(receipt["cgroup"]["memory_max"], 0)
        self.assertIn("shared", receipt["identity"])
        done = as_user("warder", "run", "--memory", "64", "-c", "held = bytearray(1 << 30)", check=False)
        self.assertEqual(done.returncode, 137, done.stderr)

    def test_another_users_programs_cannot_connect(self):
        wait_until("the socket listens", SOCKET.exists)
        done = subprocess.run(["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "warder", "run", "-c", "1",
                               "--socket", SOCKET], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 125)

    def test_the_units_have_nothing_to_be_complained_about(self):
        done = as_user("systemd-analyze", "--user", "verify", "--man=no", "warder.service", "warder.socket", check=False)
        self.assertEqual([line for line in done.stderr.splitlines() if "warder" in line], [])


class ByHand(unittest.TestCase):
    def test_a_daemon_that_can_run_nothing_says_so_before_it_is_ready(self):
        folder = pathlib.Path(USER.pw_dir) / "by-hand"
        command = ["setpriv", f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}", "--init-groups", PROGRAM,
                   "--socket", folder / "mcp.sock", "--state", folder / "state"]
        as_user("mkdir", "-p", str(folder))
        self.addCleanup(as_user, "rm", "-rf", str(folder))
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd="/") as daemon:
            try:
                lines = []
                while not (lines and lines[-1].endswith("is ready\n")):
                    lines.append(daemon.stderr.readline())
                    self.assertTrue(lines[-1], lines)
                said = "".join(lines)
                self.assertIn("every execution will be refused: policy 'system': ", said)
                self.assertIn("systemctl --user enable --now warder.socket", said)
                done = as_user("warder", "--socket", str(folder / "mcp.sock"), "run", "-c", "1", check=False)
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn("cgroup", done.stderr)
            finally:
                daemon.terminate()


if __name__ == "__main__":
    unittest.main()
