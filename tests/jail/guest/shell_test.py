"""What the shell runner promises to the code it becomes and to the supervisor."""
import json
import signal
import unittest

from driver import GUEST, GuestTest, OrderTests, echo, not_found

STREAMS = ["0", "1", "2", "200"]


class ShellTest(GuestTest):
    language = "shell"


class Calls(ShellTest):
    def run_calls(self, code, answer):
        return self.run_code(code, answer, environment={"PATH": f"/usr/bin:/bin:{GUEST}/shell"})

    def test_tools_are_called_by_words(self):
        def answer(call):
            return [{"type": "reply", "id": call["id"], "result": {"value": call}}]

        end = self.run_calls("warder call near__add a:=1 'text=two words' '{\"list\": [1]}' --select x.y --select z\n"
                             "echo '{\"n\": null}' | warder call near__echo -", answer)
        self.assertEqual((end.stderr, end.status), ("", 0))
        first, second = (json.loads(line) for line in end.stdout.splitlines())
        self.assertEqual((first["name"], first["arguments"]), ("call_tool", {
            "name": "near__add", "arguments": {"a": 1, "text": "two words", "list": [1]}, "select": ["x.y", "z"]}))
        self.assertEqual(second["arguments"], {"name": "near__echo", "arguments": {"n": None}})

    def test_a_text_is_printed_as_it_is_and_large_values_come_whole(self):
        text = "grün\n" * 100_000

        def answer(call):
            return [{"type": "reply", "id": call["id"], "result": {"value": text}}]

        self.assertEqual(self.run_calls("warder call near__read", answer).stdout, text + "\n")

    def test_tools_are_found_and_described(self):
        end = self.run_calls("warder search send a mail; warder describe mail__send", echo)
        self.assertEqual([json.loads(line) for line in end.stdout.splitlines()],
                         [{"query": "send a mail"}, {"tool_name": "mail__send"}])

    def test_failures_are_statuses_and_say_why(self):
        def answer(call):
            failure = {"code": "tool_error", "message": "no paper", "data": {"paper": 0}}
            return [{"type": "reply", "id": call["id"], "result": {"failure": failure}}]

        end = self.run_calls("warder call near__print", answer)
        self.assertEqual((end.stdout, end.stderr, end.status), ("", "tool_error: no paper\n{\"paper\":0}\n", 1))
        end = self.run_calls("warder call near__print", not_found)
        self.assertEqual((end.stderr, end.status), ("not_found: there is no tool 'call_tool'; search first\n", 1))
        for words in ("", "call", "call t --select", "call t words", "call t a:=x", "call t =x", "call t '{'", "cook"):
            with self.subTest(words=words):
                end = self.run_calls(f"warder {words}", not_found)
                self.assertEqual((end.status, end.calls), (2, []))
                self.assertIn("warder call SERVER__TOOL", end.stderr)

    def test_numbers_of_a_call_and_of_its_answer_keep_their_digits(self):
        def answer(call):
            return [{"type": "reply", "id": call["id"], "result": {"value": call["arguments"]["arguments"]}}]

        end = self.run_calls("warder call t n:=12345678901234567890123 m:=-9007199254740993", answer)
        self.assertEqual(end.calls[0]["arguments"]["arguments"], {"n": 12345678901234567890123, "m": -9007199254740993})
        self.assertEqual(end.stdout, '{"n":12345678901234567890123,"m":-9007199254740993}\n')

    def test_calls_side_by_side_each_get_their_own_answer(self):
        def answer(call):
            return [{"type": "reply", "id": call["id"], "result": {"value": call["arguments"]["arguments"]["n"]}}]

        end = self.run_calls("for n in 1 2 3 4 5 6; do warder call t n=$n > $n & done; wait; cat 1 2 3 4 5 6", answer)
        self.assertEqual(end.stdout.split(), list("123456"))

    def test_the_answer_to_a_caller_that_was_ended_is_nobody_elses(self):
        asked = []

        def answer(call):
            asked.append(call)
            if len(asked) == 1:
                self.write("asked", "")
                return []
            return [{"type": "reply", "id": one["id"], "result": {"value": one["arguments"]["name"]}} for one in asked]

        end = self.run_calls("warder call first & until test -e asked; do sleep 0.01; done\n"
                             "kill -KILL $!; wait; warder call second", answer)
        self.assertEqual(end.stdout, "second\n")

    def test_without_a_supervisor_there_is_no_call(self):
        end = self.run_calls("exec 200>&-; warder call t", echo)
        self.assertEqual((end.stdout, end.status), ("", 76))


class Execution(ShellTest):
    def test_the_runner_becomes_the_shell(self):
        end = self.run_code("echo out; echo err >&2; pwd; echo $0; exit 3")
        self.assertEqual((end.stdout, end.stderr, end.status, end.message),
                         (f"out\n{self.workspace}\nexecution\n", "err\n", 3, None))
        self.assertEqual(self.run_code("true").status, 0)
        self.assertEqual(self.run_code("kill -TERM $$").status, -signal.SIGTERM)
        self.assertEqual(self.run_code("").status, 0)

    def test_nothing_but_the_three_streams_and_the_socket_of_warder_is_inherited(self):
        self.assertEqual(self.run_code("ls /proc/$$/fd; true").stdout.split(), STREAMS)
        self.assertEqual(self.run_code("cat; echo ended").stdout, "ended\n")

    def test_errors_name_the_line(self):
        end = self.run_code("true\n\nno_such_program\nexit 5")
        self.assertIn("execution: line 3: no_such_program", end.stderr)
        self.assertEqual(end.status, 5)
        end = self.run_code("if true; then\n")
        self.assertIn("syntax error: unexpected end of file", end.stderr)
        self.assertEqual(end.status, 2)

    def test_code_of_any_size_runs(self):
        for size in (120_000, 131_072, 2_000_000):
            with self.subTest(size=size):
                code = "# " + "x" * size + "\nexport LC_ALL=C\necho whole $#\nno_such_program\nexit 4"
                end = self.run_code(code)
                self.assertEqual((end.stdout, end.status), ("whole 0\n", 4))
                self.assertIn("line 4: no_such_program", end.stderr)

    def test_code_cannot_change_a_long_code_of_its_own(self):
        end = self.run_code("# " + "x" * 200_000 + "\necho more >> $0\necho ended")
        self.assertEqual(end.stdout, "ended\n")
        self.assertIn("Operation not permitted", end.stderr)

    def test_startup_files_are_not_read(self):
        self.write(".bashrc", "echo startup")
        self.write(".profile", "echo startup")
        self.assertEqual(self.run_code("echo only", environment={"HOME": self.workspace}).stdout, "only\n")


class Variables(ShellTest):
    def test_context_vars_are_exported(self):
        end = self.run_code('echo "$name|$count|$flag|$rows|$none|$_x1|$lines"; env | grep -c ^name=',
                            context_vars={"name": "é $HOME `id`", "count": 5, "flag": True, "rows": [1, {"a": "b"}],
                                          "none": None, "_x1": "u", "lines": "a\nb"})
        self.assertEqual(end.stdout, 'é $HOME `id`|5|true|[1,{"a":"b"}]|null|u|a\nb\n1\n')

    def test_numbers_keep_their_digits(self):
        rows = "[1234567890123456789,3.14159265358979323846,1e400,-0]"
        order = json.dumps(self.order('echo "$id|$rows"')).replace(
            '"context_vars": {}', f'"context_vars": {{"id": 12345678901234567890123, "rows": {rows}}}')
        runner = self.start()
        runner.receive()
        runner.send(order.encode())
        self.assertEqual(runner.end().stdout, f"12345678901234567890123|{rows}\n")

    def test_names_with_a_meaning_are_refused_before_anything_runs(self):
        for name in ("PATH", "LD_PRELOAD", "IFS", "BASH_ENV", "ENV", "BASH_FUNC_ls%%", "HOME", "WARDER_X", "a b",
                     "1a", "", "a=b", "é", "PS4", "UID", "GLIBC_TUNABLES"):
            with self.subTest(name=name):
                end = self.run_code("echo ran", context_vars={name: "x"})
                self.assertIn(f"'{name}'", end.error)
                self.assertEqual((end.stdout, end.status), ("", 1))

    def test_what_no_environment_can_hold_is_refused(self):
        for variables, words in (({"a": "x\0y"}, "'a' contains a NUL"), ({"a": "x" * 131_072}, "'a' is longer than"),
                                 ({f"a{i}": "x" * 100_000 for i in range(100)}, "larger than an environment"),
                                 ([1], "not an object")):
            with self.subTest(words=words):
                end = self.run_code("echo ran", context_vars=variables)
                self.assertIn(words, end.error)
                self.assertEqual((end.stdout, end.status), ("", 1))


class Protocol(OrderTests, ShellTest):
    def test_ready_names_the_interpreter(self):
        ready = self.start().receive()
        self.assertIn(ready["interpreter"], ("/bin/bash", "/bin/sh"))
        self.assertGreaterEqual(ready["warm_ms"], 0)

    def test_every_name_of_the_language_means_this(self):
        for language in ("shell", "bash", "sh"):
            self.assertEqual(self.run_code("echo ran", language=language).stdout, "ran\n")

    def test_an_order_in_parts_is_put_together(self):
        runner = self.start()
        runner.receive()
        data = json.dumps(self.order("echo whole")).encode()
        for at in range(0, len(data), 5):
            runner.socket.send(b"M" + data[at:at + 5])
        runner.socket.send(b"F")
        self.assertEqual(runner.end().stdout, "whole\n")

    def test_an_order_that_cannot_run_is_told(self):
        end = self.run_code("echo ran", workspace="/nonexistent")
        self.assertIn("/nonexistent", end.error)
        self.assertEqual((end.errno, end.status, end.stdout), (2, 1, ""))
        self.assertIn("NUL", self.run_code("echo \0").error)


if __name__ == "__main__":
    unittest.main()
