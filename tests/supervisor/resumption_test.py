#!/usr/bin/env python3
"""Event streams that break off: the daemon, as the client, resumes them, and never sends a call twice."""
import unittest

from remote import Server
from remote_test import RemoteTest


class Resumption(RemoteTest):
    def setUp(self):
        super().setUp()
        self.server = self.enterContext(Server("legacy"))
        self.begin({"far": {"url": self.server.url}})

    def cut(self, **arguments):
        """The answer, and how often the call was sent."""
        before = len(self.server.seen("tools/call"))
        answer = self.call("far__cut", **arguments)
        return answer, len(self.server.seen("tools/call")) - before

    def test_a_stream_that_ends_after_each_event_is_resumed_until_its_answer(self):
        request = self.client.begin("tools/call", "t", name="call_tool", arguments={"name": "far__cut"})
        self.assertEqual(self.client.answer(request)["result"]["structuredContent"], {"result": "whole"})
        self.assertEqual([n["params"]["progress"] for n in self.client.notifications], [1, 2, 3])
        stream = next(iter(self.server.streams))
        self.assertEqual(self.server.seen("resumed"), [f"{stream}:{number}" for number in range(4)])
        self.assertEqual(len(self.server.seen("tools/call")), 1)

    def test_a_stream_that_breaks_is_resumed_in_the_same_way(self):
        answer, calls = self.cut(breaks=True)
        self.assertEqual((answer, calls), ({"result": "whole"}, 1))
        self.assertEqual(len(self.server.seen("resumed")), 4)

    def test_a_server_in_trouble_is_asked_again_and_one_that_has_lost_the_stream_is_not(self):
        self.server.broken = [503, 429, 500]
        answer, calls = self.cut()
        self.assertEqual((answer, calls), ({"result": "whole"}, 1))
        self.server.broken = [400]
        before = len(self.server.seen("resumed"))
        answer, calls = self.cut()
        self.assertRegex(answer["error"], r"server 'far': broke its reply off: does not resume it \(HTTP status 400\); "
                                          "the call may have run")
        self.assertIn("had effects", answer["remedy"])
        self.assertEqual((calls, len(self.server.seen("resumed")) - before), (1, 1))

    def test_the_attempts_are_bounded(self):
        answer, calls = self.cut(silent=True)
        self.assertIn("ended its reply without an answer (8 attempts to resume it); the call may have run", answer["error"])
        self.assertEqual(calls, 1)
        self.assertEqual(len(self.server.seen("resumed")), 3 + 5)  # with events, then in vain

    def test_an_id_that_no_header_can_carry_is_not_sent(self):
        for wrong in ("a\x01b", "a\tb", "x" * 1025, "é", ""):
            with self.subTest(wrong):
                answer, calls = self.cut(id=wrong)
                self.assertIn("ended its reply without an answer; the call may have run", answer["error"])
                self.assertEqual((calls, self.server.seen("resumed")), (1, []))
        self.assertEqual(self.call("far__add", a=1, b=1), {"result": {"sum": 2}})

    def test_a_call_is_not_sent_again_when_a_kept_connection_ends(self):
        self.assertEqual(self.call("far__add", a=1, b=1), {"result": {"sum": 2}})
        before = len(self.server.seen("tools/call"))
        self.assertIn("; the call may have run", self.call("far__vanish")["error"])
        self.assertEqual(len(self.server.seen("tools/call")) - before, 1)
        self.assertEqual(self.call("far__add", a=1, b=1), {"result": {"sum": 2}})


class Modern(RemoteTest):
    def test_the_version_without_resumption_is_not_asked_for_it(self):
        server = self.enterContext(Server("modern"))
        self.begin({"far": {"url": server.url}})
        self.assertIn("ended its reply without an answer; the call may have run", self.call("far__cut")["error"])
        self.assertEqual(server.seen("resumed"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
