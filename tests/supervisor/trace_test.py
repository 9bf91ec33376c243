"""The caller's trace goes with an execution: the program finds it in TRACEPARENT, and only if it is one."""
import unittest

from harness import Client, Daemon

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
CODE = {
    "python": 'import os; result = os.environ.get("TRACEPARENT")',
    "javascript": "result = process.env.TRACEPARENT",
    "shell": 'echo "${TRACEPARENT-none}"',
}
CHILD = 'import subprocess; result = subprocess.run("echo $TRACEPARENT", shell=True, capture_output=True, text=True).stdout'


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))

    def run_code(self, code, trace=None, **arguments):
        meta = {} if trace is None else {"traceparent": trace}
        answer = self.client.executed(self.client.begin("tools/call", name="execute_code", _meta=meta,
                                                        arguments={"code": code, **arguments}))
        self.assertEqual(answer["outcome"], "ok", answer)
        return answer

    def seen(self, language, trace=None, **arguments):
        answer = self.run_code(CODE[language], trace, language=language, **arguments)
        return answer["output"][0] if language == "shell" else answer.get("result")

    def test_programs_of_each_language_find_it(self):
        for language in CODE:
            with self.subTest(language):
                self.assertEqual(self.seen(language, TRACE), TRACE)
                self.assertIn(self.seen(language), (None, "none"))

    def test_programs_that_they_start_find_it(self):
        self.assertEqual(self.run_code(CHILD, TRACE)["result"], TRACE + "\n")

    def test_what_is_no_traceparent_is_ignored(self):
        for wrong in ("", TRACE[:-1], TRACE.upper(), "00-" + "0" * 32 + TRACE[35:], TRACE + "\n", [TRACE], 7, {"a": TRACE}):
            with self.subTest(wrong):
                self.assertIsNone(self.seen("python", wrong))

    def test_in_a_session_each_call_has_its_own(self):
        other = TRACE.replace("4bf9", "0000")
        self.assertEqual([self.seen("python", trace, session="s") for trace in (None, TRACE, other, None)],
                         [None, TRACE, other, None])
        self.assertEqual(self.run_code(CHILD, session="s")["result"], "\n")


if __name__ == "__main__":
    unittest.main()
