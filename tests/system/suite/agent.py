"""The package warder-agent: `warder agent` without it, and with it. Runs of the agent: tests/supervisor/agent_test.py."""
import pathlib
import subprocess
import unittest

from suite.package import dpkg

PACKAGE = pathlib.Path("/packages/warder-agent.deb")


def agent(*words):
    return subprocess.run(["warder", "agent", *words], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/root", "LLM_BASE_URL": "http://127.0.0.1:1", "LLM_MODEL": "none"})


class InstalledAgent(unittest.TestCase):
    def test_the_program_is_named_until_its_package_is_installed(self):
        if not PACKAGE.exists():
            self.skipTest("*** NOT TESTED: warder agent: no package warder-agent beside that of warder ***")
        done = agent("run", "x")
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("install warder-agent", done.stderr)
        dpkg("--install", str(PACKAGE))
        self.addCleanup(dpkg, "--purge", "warder-agent")
        done = agent("--retries", "0", "run", "x")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("the model's server at http://127.0.0.1:1: Connection refused", done.stderr)
        changed = [line for line in dpkg("--verify", "warder-agent").splitlines() if "/usr/share/doc/" not in line]
        self.assertEqual(changed, [])


if __name__ == "__main__":
    unittest.main()
