"""The guest itself: what the other tests rely on is there, so that a failure of theirs is not the guest's."""
import ctypes
import os
import pathlib
import subprocess
import unittest

CGROUP = pathlib.Path(os.environ["RIG_CGROUP"])
DISK = os.environ["RIG_DISK"]
LANE = os.environ["RIG_LANE"]
SYS_CLONE3, SYS_LANDLOCK_CREATE_RULESET = 435, 444
CLONE_INTO_CGROUP = 1 << 33
LANDLOCK_VERSION = 1
libc = ctypes.CDLL(None, use_errno=True)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


class Guest(unittest.TestCase):
    def test_systemd_runs_the_system(self):
        self.assertEqual(run("systemctl", "is-system-running").stdout.strip(), "running")

    def test_the_controllers_that_jails_need_are_delegated(self):
        enabled = (CGROUP / "cgroup.subtree_control").read_text().split()
        self.assertLessEqual({"cpu", "io", "memory", "pids"}, set(enabled))

    def test_a_process_can_be_born_in_a_cgroup(self):
        leaf = CGROUP / "born-here"
        leaf.mkdir()
        directory = os.open(leaf, os.O_RDONLY | os.O_DIRECTORY)
        # struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        # set_tid_size, cgroup
        arguments = (ctypes.c_uint64 * 11)(CLONE_INTO_CGROUP, 0, 0, 0, 17, 0, 0, 0, 0, 0, directory)
        child = libc.syscall(SYS_CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
        if child == 0:
            os._exit(0 if "/born-here" in pathlib.Path("/proc/self/cgroup").read_text() else 1)
        self.assertGreater(child, 0, os.strerror(ctypes.get_errno()))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        os.close(directory)
        leaf.rmdir()

    def test_landlock_is_there_but_under_user_mode_linux(self):
        version = libc.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION)
        if LANE == "uml":
            self.assertEqual(version, -1)
        else:
            self.assertGreaterEqual(version, 2)  # Linux 6.1

    def test_an_ordinary_user_can_mount_an_overlay_in_a_namespace_of_their_own(self):
        script = ("mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work && mount -t overlay -o "
                  "userxattr,lowerdir=/usr,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt && test -d /mnt/bin")
        done = run("runuser", "-u", "ordinary", "--", "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_scratch_disk_holds_a_project_to_its_quota(self):
        # Root may exceed any quota, so another user writes.
        script = ("mount -o prjquota $RIG_DISK /mnt && mkdir -m 777 /mnt/project && chattr -p 7 +P /mnt/project && "
                  "setquota -P 7 0 1024 0 0 /mnt && "
                  "! runuser -u ordinary -- sh -c 'head -c 2M /dev/zero >/mnt/project/file'; status=$?; "
                  "stat -c %s /mnt/project/file; umount /mnt; exit $status")
        done = run("sh", "-c", script)
        directory = 4096
        self.assertEqual((done.returncode, done.stdout), (0, f"{(1 << 20) - directory}\n"), done.stderr)
        self.assertIn("quota exceeded", done.stderr.lower())

    def test_the_languages_of_jails_are_there(self):
        for program in ("/usr/bin/python3", "/usr/bin/node", "/bin/sh", "/bin/bash"):
            self.assertTrue(os.access(program, os.X_OK), program)
