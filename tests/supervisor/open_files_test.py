"""A daemon that may have few open files (RLIMIT_NOFILE) says so, with what it needs, what it costs and the remedy."""
import pathlib
import signal
import unittest

from harness import Client, Daemon, DaemonFailed, Policies, Service


def under(soft, hard):
    return "prlimit", f"--nofile={soft}:{hard}", "--"


class OpenFiles(unittest.TestCase):
    def refusal(self, limit, **changes):
        policies = self.enterContext(Policies(**changes))
        with self.assertRaises(DaemonFailed) as failed, Daemon(policies=policies, launcher=under(limit, limit)):
            pass
        return str(failed.exception)

    def test_programs_that_are_to_have_more_than_the_daemon(self):
        said = self.refusal(256)
        for words in ("RLIMIT_NOFILE) is 256", "policy 'default' gives programs 1024", "limits.open_files", "LimitNOFILE=65536",
                      "ulimit -Hn"):
            self.assertIn(words, said)
        self.assertNotIn("jail step", said)

    def test_policies_loaded_anew_that_give_programs_more_are_refused(self):
        policies = self.enterContext(Policies(limits={"standard": {"open_files": 256}}))
        with Service(policies=policies, launcher=under(256, 256)) as daemon, Client(daemon.socket) as client:
            policies.change(languages=["shell"], limits={"standard": {"open_files": 1024}})
            daemon.process.send_signal(signal.SIGHUP)
            daemon.hear("RELOADING=1")
            self.assertIn("the last reload failed", daemon.hear("READY=1"))
            for words in ("RLIMIT_NOFILE) is 256", "policy 'default' gives programs 1024", "limits.open_files", "LimitNOFILE=65536"):
                self.assertIn(words, daemon.log_text())
            given = client.execute("import resource; result = resource.getrlimit(7)", language="python")
            self.assertEqual(given["result"], [256, 256])

    def test_fewer_than_any_daemon_needs(self):
        said = self.refusal(64, limits={"standard": {"open_files": 64}})
        for words in ("RLIMIT_NOFILE) is 64", "needs at least 256", "LimitNOFILE=65536"):
            self.assertIn(words, said)

    def test_few_are_served_with_and_told(self):
        with Daemon(launcher=under(1100, 1100)) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            (line,) = [line for line in daemon.log_text().split("\n") if "RLIMIT_NOFILE" in line]
            for words in ("warning", "is 1100", "about 68 executions", "LimitNOFILE=65536"):
                self.assertIn(words, line)

    def test_a_low_soft_limit_is_raised_to_the_hard_one(self):
        with Daemon(launcher=under(256, 8192)) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("import resource; result = resource.getrlimit(7)")["result"], [1024, 1024])
            (limit,) = [line.split()[3:5] for line in pathlib.Path(f"/proc/{daemon.process.pid}/limits").read_text().split("\n")
                        if line.startswith("Max open files")]
            self.assertEqual(limit, ["8192", "8192"])
            self.assertNotIn("RLIMIT_NOFILE", daemon.log_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
