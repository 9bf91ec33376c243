"""The official Inspector's command line, in every era, through `warder mcp`, and over HTTP with a token."""
import json
import unittest

from harness import Daemon, HttpDaemon, answer_of, inspector

ERAS = ("legacy", "modern", "auto")
PROGRAMS = {"python": "print(6*7)", "javascript": "console.log(6*7)", "shell": "echo $((6*7))"}


class Inspector(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())

    def ok(self, *arguments):
        done = inspector(*arguments, socket=self.daemon.socket)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shown = json.loads(done.stdout)
        return shown.get("result", shown)

    def test_schemas_are_portable(self):
        """--strict: exit status 6 when a schema would be refused by some model's API."""
        for era in ERAS:
            with self.subTest(era=era):
                tools = self.ok("--protocol-era", era, "--method", "tools/list", "--strict")["tools"]
                self.assertIn("execute_code", [tool["name"] for tool in tools])

    def test_a_program_runs(self):
        for era in ERAS:
            for language, code in PROGRAMS.items():
                with self.subTest(era=era, language=language):
                    arguments = json.dumps({"language": language, "code": code})
                    result = self.ok("--protocol-era", era, "--method", "tools/call", "--tool-name", "execute_code",
                                     "--tool-args-json", arguments)
                    self.assertEqual(answer_of(result)["output"], ["42"])

    def test_a_failing_program_is_a_tool_error(self):
        done = inspector("--method", "tools/call", "--tool-name", "execute_code", "--tool-args-json",
                         json.dumps({"code": "raise KeyError('k')"}), socket=self.daemon.socket)
        self.assertEqual(done.returncode, 5)
        self.assertIn("KeyError", done.stdout + done.stderr)

    def test_it_bears_a_load(self):
        done = inspector("--protocol-era", "modern", "--method", "tools/call", "--tool-name", "list_workspace_files",
                         "--tool-args-json", "{}", "--load", "--load-requests", "500", "--load-concurrency", "8",
                         socket=self.daemon.socket)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout)


class OverHttp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(HttpDaemon())

    def test_a_program_runs_with_a_token(self):
        for era in ERAS:
            with self.subTest(era=era):
                done = inspector("--protocol-era", era, "--method", "tools/call", "--tool-name", "execute_code",
                                 "--tool-args-json", json.dumps({"code": "print(6*7)"}), http=self.daemon)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                shown = json.loads(done.stdout)
                self.assertEqual(answer_of(shown.get("result", shown))["output"], ["42"])

    def test_without_its_token_it_is_refused(self):
        good, self.daemon.token = self.daemon.token, "wrd_" + "A" * 48
        try:
            done = inspector("--method", "tools/list", http=self.daemon)
        finally:
            self.daemon.token = good
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("execute_code", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
