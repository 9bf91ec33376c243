"""Skills as the official clients see them: the conformance suite's scenarios of the extension, over HTTP, and the Inspector, which
fetches every file and compares it with its digest."""
import subprocess
import unittest

from conformance import SUITE, Forwarder, results
from harness import NODE, Daemon, inspector

SCENARIOS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory")


class Skills(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        with cls.daemon.connect() as client:
            saved = client.call("save_skill", {"name": "My_own", "code": "def My_own(): pass\n", "description": "A: \"b\""})
            assert not saved.get("isError"), saved

    def test_the_conformance_suite_s_scenarios_pass(self):
        url = Forwarder(self.daemon.socket).url
        for scenario in SCENARIOS:
            with self.subTest(scenario=scenario):
                output = self.daemon.directory / scenario
                done = subprocess.run([NODE, SUITE, "server", "--url", url, "--scenario", scenario, "-o", output],
                                      capture_output=True, text=True, timeout=120)
                checks = [check for found in results(output).values() for check in found]
                self.assertTrue(any(status == "SUCCESS" for _, status in checks), done.stdout + done.stderr)
                self.assertEqual([check for check, status in checks if status == "FAILURE"], [], done.stdout)

    def test_the_inspector_verifies_every_file(self):
        done = inspector("--protocol-era", "modern", "--method", "skills/list", "--verify", "--require-digests",
                         socket=self.daemon.socket)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("my-own", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
