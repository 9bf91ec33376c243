"""A language whose zygote cannot be made is no other's loss: that is tried again, less and less often, and the others
have theirs meanwhile.
"""
import contextlib
import unittest

from harness import Client, Daemon, Policies, body_of, eventually, installed_copy
from pool_test import receipt_of

CODE = {"javascript": "return 1", "python": "result = 1"}
# Copies of a node answer wrong, which its zygote's first one shows.
FILE, SOUND, DAMAGED = ("lib/warder/guest/javascript/answer.js", "text = this.#encoded();",
                        "text = stringify({...this.#message, value: 0});")
POLICY = {"pool": {"min_idle": 1, "max_idle": 2, "zygotes": True}, "languages": list(CODE)}


@contextlib.contextmanager
def warderd_that_cannot_fork_node():
    with installed_copy() as top:
        text = (top / FILE).read_text()
        assert text.count(SOUND) == 1, FILE
        (top / FILE).write_text(text.replace(SOUND, DAMAGED))
        yield top / "sbin/warderd"


class Failing(unittest.TestCase):
    def setUp(self):
        policies = self.enterContext(Policies(**POLICY))
        program = self.enterContext(warderd_that_cannot_fork_node())
        self.daemon = self.enterContext(Daemon(program=program, policies=policies))
        self.client = self.enterContext(Client(self.daemon.socket))

    def start_of(self, language):
        result = self.client.call("execute_code", {"code": CODE[language], "language": language})
        self.assertEqual(body_of(result)["outcome"], "ok", result)
        return receipt_of(result)["start"]

    def test_python_has_its_zygote_while_javascripts_fails_again_and_again(self):
        def forked():
            """Both are asked for all the while, and the failing one first."""
            self.assertNotEqual(self.start_of("javascript"), "fork")
            return self.start_of("python") == "fork"

        eventually(forked, "a fork for python")
        eventually(lambda: "a zygote for javascript code" in self.daemon.log_text(), "the warning")
        eventually(lambda: self.start_of("javascript") == "exec", "a jail that waits for javascript")


if __name__ == "__main__":
    unittest.main()
