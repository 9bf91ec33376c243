"""The daemon is killed with -9 under load, and comes back: the client's session goes on through the same proxy."""
import json
import subprocess
import unittest

from harness import Daemon, inspector, node


class Restart(unittest.TestCase):
    def check(self, kind):
        with Daemon() as daemon:
            client = node("under_load.mjs", kind, socket=daemon.socket, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            try:
                self.assertEqual(client.stdout.readline(), "loaded\n")
                daemon.kill()
                daemon.start()
                client.stdin.write("restarted\n")
                client.stdin.flush()
                summary = json.loads(client.stdout.readline())
                self.assertEqual(client.wait(60), 0)
            finally:
                client.kill()
                client.communicate()
        self.assertEqual(summary["unexpected"], [])
        self.assertGreater(summary["interrupted"], 0, "calls ran when it was killed")
        self.assertGreaterEqual(summary["after"], 12)
        self.assertGreater(summary["listed"], 0)

    def test_legacy_session_survives(self):
        self.check("v1")

    def test_modern_session_survives(self):
        self.check("v2-modern")

    def test_a_client_without_a_daemon_is_told_what_to_do(self):
        call = inspector("--method", "tools/call", "--tool-name", "execute_code", "--tool-args-json", '{"code":"1"}',
                         socket="/nonexistent/warder.sock")
        self.assertEqual(call.returncode, 5, call.stderr)  # a tool error, not "connection closed"
        self.assertIn("--socket /nonexistent/warder.sock", call.stdout + call.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
