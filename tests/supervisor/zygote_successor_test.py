"""A zygote makes so many forks; where no processor is ever idle, its successor is there before that all the same."""
import os
import unittest

from harness import HOLD, Client, Daemon, Policies, body_of, eventually, let_go
from pool_test import receipt_of

MOST_FORKS = 2000  # of one zygote, and when its successor is due, as in jail/pool/pool.cc
SUCCESSOR_DUE = MOST_FORKS * 9 // 10
HOLDS = min((os.cpu_count() or 1) + 2, 50)
AT_ONCE = 4


class UnderLoad(unittest.TestCase):
    def setUp(self):
        # No jail waits: each execution is a fork that it waits for itself, or, without a zygote, starts cold.
        policies = self.enterContext(Policies(
            pool={"min_idle": 0, "max_idle": 0, "zygotes": True}, languages=["python"],
            admission={"concurrent_executions": HOLDS + AT_ONCE}))
        self.daemon = self.enterContext(Daemon(policies=policies))
        self.client = self.enterContext(Client(self.daemon.socket))
        self.forks = 0

    def answered(self, request):
        """How long its zygote had been there; None for an execution that was not forked."""
        result = self.client.answer(request)["result"]
        self.assertEqual(body_of(result)["outcome"], "ok", result)
        receipt = receipt_of(result)
        self.forks += receipt["start"] == "fork"
        return receipt.get("zygote_age_ms")

    def age(self):
        return self.answered(self.client.begin_execute("pass"))

    def fork_until(self, forks):
        asked = []
        while self.forks + len(asked) < forks:
            asked.append(self.client.begin_execute("pass"))
            if len(asked) == AT_ONCE:
                self.assertIsNotNone(self.answered(asked.pop(0)), f"start of the execution after {self.forks} forks")
        for request in asked:
            self.assertIsNotNone(self.answered(request), f"start of the execution after {self.forks} forks")

    def test_no_execution_is_without_a_zygote_when_one_has_made_all_its_forks(self):
        eventually(self.age, "the first fork")
        self.fork_until(SUCCESSOR_DUE - HOLDS - 20)
        held = [self.client.begin_running(HOLD, timeout_seconds=300) for _ in range(HOLDS)]
        before = self.age()

        def after():
            age = self.age()
            self.assertIsNotNone(age, f"start of the execution after {self.forks} forks and {HOLDS} that run")
            return age if age < before else None

        young = eventually(after, "a fork of a younger zygote")
        self.fork_until(MOST_FORKS + 100)
        self.assertGreater(self.age(), young, "one successor is enough")
        let_go(self.daemon)
        for request in held:
            self.assertEqual(self.client.executed(request)["outcome"], "ok")


if __name__ == "__main__":
    unittest.main()
