"""Policies loaded anew that fail the self-test of jails, or a host that fails it now: the daemon serves on and says why."""
import contextlib
import itertools
import json
import pathlib
import signal
import subprocess
import unittest

from harness import Client, Policies, Service

REFUSED = "the self-test of jails fails under the new policies"
UNFIT = "the self-test of jails fails on this machine"


def limit_descriptors(pid, soft):
    """As the daemon's own user: the test may lack the right to limit others' processes."""
    owner = pathlib.Path(f"/proc/{pid}").stat()
    subprocess.run(["prlimit", f"--pid={pid}", f"--nofile={soft}:"], user=owner.st_uid, group=owner.st_gid, check=True)


@contextlib.contextmanager
def few_free_descriptors(pid, free=4):
    """The daemon can read its policies, and make no jail."""
    used = {int(entry.name) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
    limit = next(n for n in itertools.count() if len(set(range(n)) - used) == free)
    (before,) = [line.split()[3] for line in pathlib.Path(f"/proc/{pid}/limits").read_text().split("\n")
                 if line.startswith("Max open files")]
    limit_descriptors(pid, limit)
    try:
        yield
    finally:
        limit_descriptors(pid, before)


class Reload(unittest.TestCase):
    def setUp(self):
        self.policies = self.enterContext(Policies())
        self.daemon = self.enterContext(Service(policies=self.policies))
        self.client = self.enterContext(Client(self.daemon.socket))

    def reload(self):
        self.daemon.process.send_signal(signal.SIGHUP)
        self.daemon.hear("RELOADING=1")
        return self.daemon.hear("READY=1")

    def test_policies_under_which_no_jail_works_are_not_taken(self):
        good = (self.policies.folder / "seccomp/default.json").read_text()
        session = self.client.execute("n = 7", session="kept")
        self.assertEqual(session["outcome"], "ok", session)
        self.policies.forbid_answers()
        self.policies.change(languages=["shell"])
        self.assertIn("STATUS=serving; the last reload failed, see the log", self.reload())
        self.assertIsNone(self.daemon.process.poll())
        self.assertIn(f"the reload failed, the former configuration stays in force: {REFUSED}", self.daemon.log_text())
        again = self.client.execute("result = n", session="kept", language="python")
        self.assertEqual((again["outcome"], again["result"]), ("ok", 7), "neither language nor session were touched")
        self.policies.write("seccomp/default.json", good)
        self.assertIn("STATUS=serving", self.reload().split("\n"))
        self.assertEqual(self.client.execute("result = 1", language="python")["outcome"], "denied")
        self.assertEqual(self.client.execute("echo 1", language="shell")["outcome"], "ok")

    def test_where_no_jail_works_any_more_all_else_is_served(self):
        self.client.write_file("kept.txt", "text")
        with few_free_descriptors(self.daemon.process.pid):
            self.assertIn("STATUS=serving, but no executions", self.reload())
        self.assertIsNone(self.daemon.process.poll())
        self.assertIn(UNFIT, self.daemon.log_text())
        denied = self.client.execute("result = 1")
        self.assertEqual(denied["outcome"], "denied", denied)
        self.assertIn(UNFIT, denied["error"])
        self.client.request("server/discover")
        read = self.client.call("read_workspace_file", {"filename": "kept.txt"})
        self.assertEqual(json.loads(read["content"][0]["text"])["content"], "text")
        self.assertIn("STATUS=serving", self.reload().split("\n"))
        self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")


if __name__ == "__main__":
    unittest.main(verbosity=2)
