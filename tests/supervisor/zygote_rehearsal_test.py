"""A fork that is to wait rehearses an execution; one that an execution waits for has no time for that.

Both leave nothing behind but numbers that only grow: what a process has read and written, and what node has begun.
"""
import os
import unittest

from harness import Client, Daemon, Policies, body_of, eventually
from pool_test import receipt_of

BEGUN = {
    "python": """
text = open("/proc/self/io").read()
result = int(text.split("syscw: ")[1].split()[0])
""",
    "javascript": "return new (require('async_hooks').AsyncResource)('test').asyncId();",
}
# Enough for the one that finds its code there before it looks whether it should rehearse.
FORKS = 12


@unittest.skipUnless(os.path.exists("/proc/self/io"), "this kernel does not count what a process writes")
class Rehearsal(unittest.TestCase):
    def begun(self, language, is_wanted):
        """What those had begun by then that waited, or that were waited for."""
        pool = {"min_idle": 0, "max_idle": 0} if is_wanted else {"min_idle": 1, "max_idle": 2}
        with (Policies(pool={**pool, "zygotes": True}, languages=[language]) as policies,
              Daemon(policies=policies) as daemon, Client(daemon.socket) as client):
            def fork():
                result = client.call("execute_code", {"code": BEGUN[language], "language": language})
                receipt, body = receipt_of(result), body_of(result)
                self.assertEqual(body["outcome"], "ok", body)
                fits = receipt["start"] == "fork" and (receipt["waited_ms"] == 0) == is_wanted
                return body["result"] if fits else None
            return {eventually(fork, "a fork that fits") for _ in range(FORKS)}

    def test_a_fork_rehearses_unless_an_execution_waits_for_it(self):
        for language in BEGUN:
            with self.subTest(language):
                wanted, stock = (self.begun(language, is_wanted) for is_wanted in (True, False))
                self.assertLess(max(wanted), min(stock))


if __name__ == "__main__":
    unittest.main()
