"""A jail is used once: what has answered is ended, whatever it still does, and no second order reaches it."""
import os
import unittest

from harness import HOLD, body_of, eventually
from pool_test import Case, names_below, receipt_of

# After its answer the runner waits for its end, in linger(): the code has put something else there.
SPINS = """
import ctypes, warder
ctypes.CDLL(None).prctl(15, b"spinner", 0, 0, 0)
def spin():
    while True: pass
warder._channel.linger = spin
result = "answered"
"""
# A thread that does not keep node's event loop.
SPINS_IN_A_WORKER = """
process.title = 'spinner';
const {Worker} = require('worker_threads');
const worker = new Worker("require('worker_threads').parentPort.postMessage(0); for (;;);", {eval: true});
await new Promise((resolve) => worker.once('message', resolve));
worker.unref();
return 'answered';
"""
# Answers everything that it is asked afterwards, as a runner would.
ANSWERS_AGAIN = """
import os, warder
def answer_again():
    while os.read(3, 65537):
        os.write(3, b'F{"type":"result","status":0,"value":"from a used jail"}')
warder._channel.linger = answer_again
result = %d
"""


class Used(Case):
    STARTS = ("cold", "exec", "fork")
    LANGUAGES = ["python", "javascript"]

    def end_of(self, start, code, **arguments):
        result = self.run_as(start, code, **arguments)
        self.assertEqual(body_of(result).get("result"), "answered", result)
        # The answer did not wait for the end: the daemon saw that no other process was left.
        self.assertNotIn("exited", receipt_of(result)["path_us"])
        eventually(lambda: "spinner" not in names_below(self.daemons[start]).values(), "the end of what has answered")

    def test_code_that_goes_on_after_its_answer_is_ended(self):
        for start in self.STARTS:
            with self.subTest(start):
                self.end_of(start, SPINS)

    def test_a_thread_of_nodes_that_goes_on_after_the_answer_is_ended(self):
        for start in self.STARTS:
            with self.subTest(start):
                self.end_of(start, SPINS_IN_A_WORKER, language="javascript")

    def test_no_second_order_reaches_a_used_jail(self):
        for start in self.STARTS:
            with self.subTest(start):
                for number in range(20):  # each comes while the last one's jail is being ended
                    body = body_of(self.run_as(start, ANSWERS_AGAIN % number))
                    self.assertEqual((body["outcome"], body.get("result")), ("ok", number))


class WhileAllProcessorsAreBusy(Used):
    """Then a used jail stays for longer, if it is at rest."""
    STARTS = ("cold", "fork")  # nothing is built ahead now
    HOLDS = os.cpu_count() or 1
    ADMISSION = {"concurrent_executions": HOLDS + 1}

    def setUp(self):
        super().setUp()
        for start in self.STARTS:
            for language in self.LANGUAGES:
                self.run_as(start, "1", language=language)  # the zygote is there
            for _ in range(self.HOLDS):
                self.clients[start].begin_running(HOLD, timeout_seconds=300)

    def test_one_at_rest_stays_and_is_ended(self):
        rests = SPINS.replace("while True: pass", "signal.pause()").replace("import ctypes", "import ctypes, signal")
        for start in self.STARTS:
            with self.subTest(start):
                def several():
                    for _ in range(8):
                        self.run_as(start, rests)
                    return list(names_below(self.daemons[start]).values()).count("spinner") >= 3
                eventually(several, "used jails that are there beside one another")
                self.end_of(start, rests)


if __name__ == "__main__":
    unittest.main()
