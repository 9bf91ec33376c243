"""Two users of one daemon, each with the workspace of their own; needs root, to become them."""
import os
import shutil
import subprocess
import sys
import unittest

from harness import Daemon, WARDER

ALICE, BOB = 61001, 61002


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Tenants(unittest.TestCase):
    def run_as(self, user, daemon, code):
        warder = shutil.copy(WARDER, daemon.directory)  # the build tree may be closed to other users
        return subprocess.run([warder, "run", "--socket", daemon.socket, "-c", code], user=user, group=user,
                              extra_groups=[], capture_output=True, text=True, timeout=60, cwd="/")

    def test_neither_sees_the_others_files(self):
        with Daemon() as daemon:
            daemon.socket.chmod(0o666)  # as an administrator lets everybody in: SocketMode= of warder.socket
            wrote = self.run_as(ALICE, daemon, "open('/workspace/mine', 'w').write('alice'); print('written')")
            self.assertEqual((wrote.returncode, wrote.stdout), (0, "written\n"), wrote.stderr)
            look = "import os; print(os.listdir('/workspace'))"
            self.assertEqual(self.run_as(BOB, daemon, look).stdout, "[]\n")
            self.assertEqual(self.run_as(ALICE, daemon, look).stdout, "['mine']\n")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("SKIPPED-NEEDS root")
        sys.exit(77)
    unittest.main(verbosity=2)
