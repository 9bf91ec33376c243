"""Orders of one session: what the tests of each language's sessions begin with."""
from driver import BOUND, GuestTest, echo


class SessionTest(GuestTest):
    """A test with one runner, which is warm."""

    def setUp(self):
        super().setUp()
        self.runner = self.start()
        self.assertEqual(self.runner.receive()["type"], "ready")

    def tearDown(self):
        self.runner.socket.close()
        self.runner.process.wait(BOUND)

    def ask(self, code, answer=echo, **fields):
        """One order to its result."""
        self.runner.send(self.order(code, session=True, **fields))
        while (got := self.runner.receive())["type"] == "call":
            for reply in answer(got):
                self.runner.send(reply)
        self.assertEqual(got["type"], "result")
        return got

    def value_of(self, code, **fields):
        got = self.ask(code, **fields)
        self.assertNotIn("error", got)
        self.assertEqual(got["status"], 0)
        return got.get("value")
