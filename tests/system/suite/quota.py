"""Quotas of workspaces by the kernel, on a file system with project quotas: the wall behind the daemon's own account."""
import errno
import json
import os
import pathlib
import pwd
import shutil
import struct
import subprocess
import tempfile
import unittest

from suite.warder import CgroupDaemon, answer, receipt, wait_until, write_file

BYTES, FILES = 1 << 20, 100
WALL_KIB, WALL_INODES = (BYTES + FILES * 4096 + (64 << 20)) // 1024, FILES + 3
WRITE = """
import os, sys
os.setresgid(*[int(sys.argv[3])] * 3)
os.setresuid(*[int(sys.argv[2])] * 3)
try:
    with open(sys.argv[1], "wb", 0) as file:
        for _ in range(70): file.write(bytes(1 << 20))
except OSError as e:
    sys.exit(e.errno)
"""


def project_of(folder):
    """The number and whether what is made in it inherits that: lsattr -pd prints both."""
    project, flags, _ = subprocess.run(["lsattr", "-pd", folder], check=True, text=True, capture_output=True).stdout.split()
    return int(project), "P" in flags


class Project(unittest.TestCase):
    def setUp(self):
        self.daemon = self.enterContext(CgroupDaemon(quota={"workspace_bytes": BYTES, "workspace_files": FILES}))
        self.client = self.enterContext(self.daemon.connect())

    def quota_of(self, code):
        return receipt(self.client.call("execute_code", {"code": code}))["workspace"]["quota"]

    def workspace(self):
        return next((self.daemon.state / "tenants").glob("*/workspace"))

    def test_the_kernel_refuses_what_the_account_has_not_seen(self):
        self.assertEqual(self.quota_of("open('a', 'w').write('a')"), "project")
        workspace = self.workspace()
        project, inherits = project_of(workspace)
        self.assertEqual(project, 0x80000000 + workspace.stat().st_ino)
        self.assertTrue(inherits)
        owner = workspace.stat()
        written = subprocess.run(["python3", "-c", WRITE, workspace / "large", str(owner.st_uid), str(owner.st_gid)])
        self.assertEqual(written.returncode, errno.EDQUOT)
        self.assertLessEqual((workspace / "large").stat().st_blocks // 2, WALL_KIB)
        self.assertGreater((workspace / "large").stat().st_blocks // 2, WALL_KIB - 2048)
        (workspace / "large").unlink()
        self.assertEqual(self.quota_of("pass"), "project")

    def test_files_are_replaced_and_renamed_as_anywhere(self):
        write_file(self.client, "folder/a", "one")
        write_file(self.client, "folder/a", "two")
        found = answer(self.client.call("execute_code", {"code": """
import os
os.makedirs("other/below")
os.rename("folder/a", "other/below/b")
os.replace("other/below/b", "c")
os.rename("other", "folder/other")
result = open("c").read()
"""}))
        self.assertEqual((found["outcome"], found.get("result")), ("ok", "two"), found)

    def test_the_account_speaks_first(self):
        found = answer(self.client.call("execute_code", {"code": """
import time
with open("a", "wb", 0) as file:
    for _ in range(3): file.write(bytes(1 << 20))
time.sleep(100)
""", "timeout_seconds": 100}))
        self.assertEqual(found["outcome"], "disk", found)

    def test_a_workspace_with_files_from_elsewhere_has_the_account_alone(self):
        self.assertEqual(self.quota_of("open('a', 'w').write('a')"), "project")
        workspace = self.workspace()
        self.daemon.stop()
        # As a backup is unpacked: new directories, with the files in them.
        old = workspace.rename(workspace.with_name("old"))
        shutil.copytree(old, workspace)
        for path in (workspace, workspace / "a"):
            os.chown(path, old.stat().st_uid, old.stat().st_gid)
        subprocess.run(["chattr", "-P", "-p", "0", workspace], check=True)
        subprocess.run(["chattr", "-p", "0", workspace / "a"], check=True)
        self.daemon.start()
        with self.daemon.connect() as client:
            found = client.call("execute_code", {"code": "import os\nos.rename('a', 'b')"})
            self.assertEqual(answer(found)["outcome"], "ok", answer(found))
            self.assertEqual(receipt(found)["workspace"]["quota"], "accounting")
