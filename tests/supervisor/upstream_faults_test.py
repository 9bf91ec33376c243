#!/usr/bin/env python3
"""Upstream servers that die, hang, flood and lie, results that are too large, and code that only asks: nobody
else notices."""
import time
import unittest

from upstream_harness import SharedUpstreamTest, structured
from harness import PATIENCE, Client

# Asks for more than it may, and reads no answer.
ASK_AND_READ_NOTHING = """
import json, signal, socket
guest = socket.socket(fileno=3)
for number in range(100):
    call = {"type": "call", "id": 1000 + number, "name": "call_tool",
            "arguments": {"name": "near__rows", "arguments": {"count": 1, "width": 1_000_000}}}
    guest.send(b"F" + json.dumps(call).encode())
print("running", flush=True)
signal.pause()
"""


class BadServers(SharedUpstreamTest):
    @classmethod
    def servers(cls):
        return {"other": cls.server(), "dies": cls.server(), "hangs": cls.server(timeout_s=3), "floods": cls.server(),
                "lies": cls.server(), "odd": cls.server("handshake", env={"ODD": "1"}), "missing": {"command": "/nonexistent/server", "jail": "none"},
                "rests": cls.server(idle_s=1)}

    def other_is_well(self):
        self.assertEqual(self.answer_of("other__add", a=1, b=1), {"result": {"sum": 2}})

    def answer_of(self, tool, **arguments):
        return structured(self.client.call("call_tool", {"name": tool, "arguments": arguments}))

    def test_one_that_dies_in_a_call_is_started_again(self):
        error = self.answer_of("dies__die")["error"]
        self.assertIn("server 'dies': ended with status 3; it last wrote: a last word", error)
        self.assertEqual(self.answer_of("dies__echo", text="again"), {"result": "again"})
        self.answer_of("dies__die")
        self.answer_of("dies__die")
        self.other_is_well()

    def test_one_that_hangs_is_given_up_and_replaced(self):
        self.assertIn("did not answer within 3.0 s", self.answer_of("hangs__hang")["error"])
        self.other_is_well()
        self.assertEqual(self.answer_of("hangs__echo", text="again"), {"result": "again"})

    def test_one_that_floods_is_ended_while_others_are_served(self):
        request = self.client.begin("tools/call", name="call_tool", arguments={"name": "floods__flood"})
        self.await_event("flood")
        self.other_is_well()
        self.assertIn("floods", structured(self.client.answer(request)["result"])["error"])

    def test_one_that_lies_is_believed_nothing(self):
        self.assertIn("neither a result nor an error", self.answer_of("lies__lie")["error"])
        self.other_is_well()

    def test_an_answer_that_is_no_json_fails_at_once_and_says_what_came(self):
        for form, words in (("nan", "answered with text that is not JSON: NaN or Infinity, which JSON does not have: {"),
                            ("broken", "answered with text that is not JSON: not JSON: syntax error"),
                            ("long", "answered with text that is not JSON: a number of 5000 bytes; at most 4096 are allowed"),
                            ("lines", "answered with a message over several lines")):
            with self.subTest(form=form):
                error = self.answer_of("odd__odd", form=form)["error"]
                self.assertIn(words, error)
                self.assertIn("the call may have run", error)
        self.other_is_well()

    def test_an_id_that_comes_back_as_a_text_is_the_request_s(self):
        self.assertEqual(self.answer_of("odd__odd", form="text id"), {"result": {"x": 1}})

    def test_numbers_of_any_size_come_as_they_were_sent(self):
        answer = self.client.call("call_tool", {"name": "odd__odd", "arguments": {"form": "huge"}})
        self.assertIn('{"x":[1e400,12345678901234567890123,-0]}', answer["content"][0]["text"])

    def test_infinity_in_one_tool_s_schema_leaves_the_server_usable(self):
        self.answer_of("odd__odd", form="text id")  # its tools are listed then
        found = structured(self.client.call("get_tool_definition", {"tool_name": "odd", "server": "odd"}))
        self.assertIsNone(found["inputSchema"]["properties"]["form"]["default"], found)
        self.assertIn("null is read", self.shared.log_text())

    def test_one_that_cannot_be_started_says_why_and_when_to_try_again(self):
        until = time.monotonic() + PATIENCE
        answer = {"error": ""}
        while "not started again yet" not in answer["error"]:  # each failure makes the pause longer
            self.assertLess(time.monotonic(), until, answer)
            answer = self.answer_of("missing__add")
            self.assertIn("/nonexistent/server", answer["error"])
        self.assertIn("try again in", answer["remedy"])

    def test_an_idle_one_is_ended_and_started_again(self):
        self.answer_of("rests__fail")
        self.await_event("end")
        self.assertEqual(self.answer_of("rests__fail")["error"], "the printer is out of paper")


class Large(SharedUpstreamTest):
    CODE = "import warder\nresult = len(warder.call_tool('near__rows', count=1, width={})[0]['row'])"

    def test_a_result_of_50_MB_stays_in_the_jail(self):
        body = self.client.execute(self.CODE.format(50_000_000))
        self.assertEqual(body.get("result"), 50_000_000, body)

    def test_a_result_that_is_too_large_is_an_error_and_no_end(self):
        body = self.client.execute(self.CODE.format(68_000_000))
        self.assertIn("answered with more than 64 MB", body["error"])
        self.assertEqual(self.client.execute(self.CODE.format(5))["result"], 5)


class Floods(SharedUpstreamTest):
    def test_code_that_asks_and_never_reads_keeps_nobody_waiting_and_no_bytes(self):
        with Client(self.shared.socket) as hostile:
            request = hostile.begin_running(ASK_AND_READ_NOTHING)
            code = "import warder\nresult = warder.call_tool('near__echo', text='well')"
            for _ in range(3):
                self.assertEqual(self.client.execute(code)["result"], "well")
            self.assertEqual(len(self.client.execute(code.replace("echo', text='well'", "rows', count=9, width=100_000"))["result"]), 9)
            hostile.cancel(request)
        self.assertEqual(self.client.execute(code)["result"], "well")


if __name__ == "__main__":
    unittest.main(verbosity=2)
