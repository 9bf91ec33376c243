#!/usr/bin/env python3
"""Calls that somebody has to approve, asked about through the client in both eras, and what happens without an answer."""
import json
import os
import select
import sqlite3
import threading
import time
import unittest

from approvals_harness import ADD, CAUGHT, ApprovalTest, Legacy, Modern
from upstream_harness import structured
from harness import eventually, let_go


class ModernClient(ApprovalTest):
    def setUp(self):
        super().setUp()
        self.client = self.enterContext(Modern(self.shared.socket))

    def begin(self, code, **more):
        self.arguments = {"code": code, **more}
        return self.client.ask("execute_code", self.arguments)["result"]

    def finish(self, asked, action="accept", client=None):
        result = (client or self.client).again("execute_code", self.arguments, asked, action)["result"]
        self.assertEqual(result["resultType"], "complete", result)
        return json.loads(result["content"][0]["text"])

    def test_it_is_asked_in_place_of_an_answer_and_the_code_goes_on_where_it_was(self):
        asked = self.begin(ADD % 100)
        self.assertEqual(asked["resultType"], "input_required")
        ((key, request),) = asked["inputRequests"].items()
        self.assertEqual((request["method"], request["params"]["mode"]), ("elicitation/create", "form"))
        self.assertEqual(request["params"]["requestedSchema"], {"type": "object", "properties": {}})
        text = request["params"]["message"]
        for shown in ("tool: near.add", 'arguments: {"a":1,"b":100}', "rule: calls.large-sums: large sums need a human",
                      "execution e", "tenant: uid-"):
            self.assertIn(shown, text)
        self.assertEqual(self.finish(asked)["result"], [101, 499500])
        self.assertEqual(self.begin(ADD % 99)["resultType"], "complete")  # no rule asks

    def test_whoever_says_no_or_goes_away_is_told_to_the_code(self):
        who = f"the client of user {os.geteuid()}"
        for action, cause in (("decline", f"was refused by {who}"),
                              ("cancel", f"needs an approval, and {who} dismissed the question")):
            body = self.finish(self.begin(CAUGHT), action)
            self.assertEqual(body["result"], ["denied", "calls.large-sums", f"near.add {cause}: large sums need a human",
                                              "keep b below 100"])

    def test_an_answer_that_is_none_is_asked_for_again(self):
        asked = self.begin(ADD % 100)
        (key,) = asked["inputRequests"]
        for responses in ({}, {key: {"action": "maybe"}}, {key: True}, [], {"another": {"action": "accept"}}):
            told = self.client.ask("execute_code", self.arguments, inputResponses=responses,
                                   requestState=asked["requestState"])["result"]
            self.assertEqual((told["resultType"], list(told["inputRequests"])), ("input_required", [key]))
            self.assertNotEqual(told["requestState"], asked["requestState"])
            asked = told
        self.assertEqual(self.finish(asked)["result"][0], 101)

    def test_a_state_is_good_once_for_that_request_on_any_connection(self):
        asked = self.begin(ADD % 100)

        def refused(client, arguments, state, tool="execute_code"):
            error = client.again(tool, arguments, {**asked, "requestState": state})["error"]
            self.assertEqual(error["code"], -32602, error)

        state = asked["requestState"]
        refused(self.client, self.arguments, state[:-1] + ("0" if state[-1] != "0" else "1"))
        refused(self.client, self.arguments, 7)
        refused(self.client, {"code": "other code"}, state)
        refused(self.client, self.arguments, state, "call_tool")
        with Modern(self.shared.socket) as other:
            self.assertEqual(self.finish(asked, client=other)["result"][0], 101)
        refused(self.client, self.arguments, state)

    def test_calls_side_by_side_are_asked_about_side_by_side_or_one_after_the_other(self):
        asked = self.begin("import warder\nfrom concurrent.futures import ThreadPoolExecutor\n"
                           "with ThreadPoolExecutor(3) as pool:\n"
                           "    result = list(pool.map(lambda i: warder.call_tool('near__echo', text=str(i)), range(3)))")
        questions = 0
        while asked["resultType"] == "input_required":
            questions += len(asked["inputRequests"])
            asked = self.client.again("execute_code", self.arguments, asked)["result"]
        self.assertEqual(questions, 3)
        self.assertEqual(json.loads(asked["content"][0]["text"])["result"], [0, 1, 2])

    def test_a_direct_call_is_asked_about_too(self):
        arguments = {"name": "near__echo", "arguments": {"text": "x\u202e\u0007y" + "z" * 15_000}}
        asked = self.client.ask("call_tool", arguments)["result"]
        ((_, request),) = asked["inputRequests"].items()
        text = request["params"]["message"]
        self.assertIn(r'{"text":"x\u202e\u0007yzzz', text)  # nothing that would deceive the eye
        self.assertIn("z" * 15_000, text)  # the whole
        self.assertIn("the agent, directly", text)
        answer = self.client.again("call_tool", arguments, asked)["result"]
        self.assertEqual(len(structured(answer)["result"]), 15_004)

    def test_a_call_that_cannot_be_shown_whole_is_refused_and_nobody_is_asked(self):
        hidden = {"text": "echo ok #" + " " * 20_000 + "rm -rf /srv; echo done"}
        told = self.client.ask("call_tool", {"name": "near__echo", "arguments": hidden})["result"]
        self.assertNotIn("inputRequests", told)
        refused = structured(told)
        self.assertIs(told["isError"], True, told)
        self.assertEqual(refused["code"], "invalid", refused)
        self.assertIn("16000 characters", refused["error"])
        self.assertIn("name of a file", refused["remedy"])

    def test_a_client_that_shows_no_forms_is_not_asked(self):
        for capabilities in ({}, {"elicitation": {"url": {}}}, {"elicitation": None}):
            result = self.client.ask("execute_code", {"code": CAUGHT}, capabilities)["result"]
            body = json.loads(result["content"][0]["text"])
            self.assertIn("no person can be asked here", body["result"][2])

    def test_a_client_that_goes_takes_its_question_along(self):
        with Modern(self.shared.socket) as leaving:
            leaving.ask("execute_code", {"code": ADD % 100})
            (asked,) = [line for line in self.approvals_logged() if "waits for" in line][-1:]
        identity = asked.split("approval ")[1].split(":")[0]
        # A client may come back on another connection within 60 s (ConversationLimits::parked).
        eventually(lambda: any(f"{identity}: withdrawn" in line for line in self.approvals_logged()), "it is taken back", after=60)
        eventually(lambda: not self.jails(), "its jail ends")

    def test_what_is_approved_is_in_the_audit_chain_with_who_did_it(self):
        self.finish(self.begin(ADD % 100))
        self.finish(self.begin(CAUGHT), "decline")
        self.client.close()
        self.shared.stop()
        try:
            with sqlite3.connect(self.shared.state / "journal/journal.db") as database:
                rows = database.execute("SELECT action, subject, shape FROM audit WHERE last_ms=0 "  # no counts of repeats
                                        "ORDER BY number DESC LIMIT 20").fetchall()
            database.close()
        finally:
            self.shared.start()
        entries = [(action, subject, json.loads(shape)) for action, subject, shape in rows if action != "tools/call"]
        (refused_call, refusal, call, approval) = entries[:4]
        self.assertEqual(approval[:2], ("approval", "near.add"))
        who = f"the client of user {os.geteuid()}"
        self.assertEqual((approval[2]["verdict"], approval[2]["by"], approval[2]["rule"]),
                         ("approved", who, "calls.large-sums"))
        self.assertEqual((call[0], call[2]["approved"], call[2]["verdict"]), ("nested call", who, "ok"))
        self.assertEqual((refusal[0], refusal[2]["verdict"]), ("approval", "denied"))
        self.assertEqual(refused_call[2]["verdict"], "denied")


class LegacyClient(ApprovalTest):
    def setUp(self):
        super().setUp()
        self.client = self.enterContext(Legacy(self.shared.socket))

    def test_it_is_asked_by_a_request_of_ours(self):
        request = self.client.begin_code(ADD % 100)
        question = self.client.await_question()
        self.assertIn("tool: near.add", question["params"]["message"])
        self.client.decide(question, "accept")
        self.assertEqual(self.client.executed(request)["result"], [101, 499500])
        request = self.client.begin_code(CAUGHT)
        self.client.decide(self.client.await_question(2), "decline")
        self.assertIn("was refused by the client", self.client.executed(request)["result"][2])

    def test_replies_to_what_was_not_asked_approve_nothing(self):
        request = self.client.begin_code(CAUGHT)
        question = self.client.await_question()
        accept = {"action": "accept", "content": {}}
        for forged in ("warder-asks-0", "warder-asks-999", question["id"] + " ", 1, None, ["warder-asks-1"], "x" * 2000):
            self.client.send({"jsonrpc": "2.0", "id": forged, "result": accept})
        self.client.send([{"jsonrpc": "2.0", "id": question["id"], "result": accept}])  # no batches in this version
        self.client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": question["id"]}})
        self.client.decide(question, "decline")
        self.client.decide(question, "accept")  # too late
        self.assertIn("was refused by the client", self.client.executed(request)["result"][2])

    def test_an_answer_that_is_an_error_or_makes_no_sense_approves_nothing(self):
        replies = ({"error": {"code": -32601, "message": "no"}}, {"result": {"action": "ok"}}, {"result": "accept"},
                   {"result": {"content": {"action": "accept"}}}, {"error": None, "result": {"action": "accept"}})
        for number, reply in enumerate(replies, 1):
            request = self.client.begin_code(CAUGHT)
            question = self.client.await_question(number)
            self.client.send({"jsonrpc": "2.0", "id": question["id"], **reply})
            self.assertIn("no person can be asked here", self.client.executed(request)["result"][2])

    def test_a_cancelled_call_takes_its_question_back(self):
        request = self.client.begin_code(ADD % 100)
        question = self.client.await_question()
        self.client.cancel(request)
        while question["id"] not in self.client.cancelled:
            self.client.take()
        self.client.decide(question, "accept")  # too late
        eventually(lambda: not self.jails(), "its jail ends")
        request = self.client.begin_code("result = 1")
        self.assertEqual(self.client.executed(request)["result"], 1)

    def test_time_does_not_run_while_it_waits(self):
        begun = time.monotonic()
        request = self.client.begin_code(ADD % 100)
        self.client.decide(self.client.await_question(), "accept")
        self.assertEqual(self.client.executed(request).get("result"), [101, 499500])
        limit = min(max(2, 10 * (time.monotonic() - begun)), 200)  # seconds; much more than the program needs on this machine
        request = self.client.begin_code(ADD % 100, timeout_seconds=limit)
        question = self.client.await_question(2)
        said = select.select([self.client.socket], [], [], limit + 0.5)[0]  # more than it has
        self.assertEqual(said, [], "neither an end nor a cancelled question")
        self.client.decide(question, "accept")
        body = self.client.executed(request)
        self.assertEqual(body.get("result"), [101, 499500], body)
        self.assertLess(body["execution_time_ms"], 1000 * limit)

    def test_what_computes_while_nothing_can_freeze_it_uses_its_time_up(self):
        if "cgroups none" not in self.shared.log_text():
            self.skipTest("its cgroup is frozen here")
        request = self.client.begin_code(
            "import threading, warder\ndef spin():\n    while True: pass\n"
            "threading.Thread(target=spin, daemon=True).start()\nwarder.call_tool('near__add', a=1, b=100)", timeout_seconds=1)
        question = self.client.await_question()
        self.assertEqual(self.client.executed(request)["outcome"], "timeout")
        while question["id"] not in self.client.cancelled:
            self.client.take()

    def test_a_program_that_ends_meanwhile_waits_for_nobody(self):
        if "cgroups none" not in self.shared.log_text():
            self.skipTest("it stands still here, and does not end")
        request = self.client.begin_code(
            "import os, threading, time, warder\n"
            "threading.Thread(target=lambda: warder.call_tool('near__add', a=1, b=100), daemon=True).start()\n"
            "while not os.path.exists('/workspace/go'): time.sleep(0.01)\nresult = 'done'")
        self.client.await_question()
        let_go(self.shared)
        self.assertEqual(self.client.executed(request)["result"], "done")

    def test_a_half_closed_connection_cannot_answer(self):
        request = self.client.begin_code(CAUGHT)
        self.client.await_question()
        self.client.socket.shutdown(1)
        self.assertIn("no person can be asked here", self.client.executed(request)["result"][2])


class Ends(ApprovalTest):
    @classmethod
    def make_policies(cls):
        return super().make_policies(approval={"by": "tenant", "expires_s": 1})

    def test_without_an_answer_it_is_refused_in_time(self):
        with Legacy(self.shared.socket) as client:
            request = client.begin_code(CAUGHT)
            question = client.await_question()
            self.assertEqual(client.executed(request)["result"], [
                "denied", "calls.large-sums",
                "near.add needs an approval, and no person approved it within 1 s: large sums need a human",
                "keep b below 100"])
            self.assertIn(question["id"], client.cancelled)

    def test_a_modern_client_that_asks_late_gets_what_came_of_it(self):
        with Modern(self.shared.socket) as client:
            asked = client.ask("execute_code", {"code": CAUGHT})["result"]
            expired = lambda: any(": expired" in line for line in self.approvals_logged()[-1:])
            eventually(expired, "it expires")
            result = client.again("execute_code", {"code": CAUGHT}, asked)["result"]
            self.assertEqual(result["resultType"], "complete")
            self.assertIn("no person approved it within 1 s", json.loads(result["content"][0]["text"])["result"][2])


class Restart(ApprovalTest):
    def test_a_daemon_that_ends_refuses_what_waits_and_answers(self):
        with Legacy(self.shared.socket) as client:
            request = client.begin_code(CAUGHT)
            client.await_question()
            ending = threading.Thread(target=self.shared.stop)
            ending.start()
            try:
                text = client.executed(request)["result"][2]
            finally:
                ending.join()
                self.shared.start()
            self.assertIn("the question was withdrawn (warderd is ending", text)
            self.assertTrue(any(line.endswith(": withdrawn") for line in self.approvals_logged()))

    def test_a_modern_client_that_has_not_come_back_asks_again(self):
        with Modern(self.shared.socket) as client:
            asked = client.ask("execute_code", {"code": CAUGHT})["result"]
            self.shared.stop()
            self.assertIsNone(client.receive())
            self.shared.start()
        with Modern(self.shared.socket) as client:
            error = client.again("execute_code", {"code": CAUGHT}, asked)["error"]
            self.assertIn("call again without requestState", error["data"]["remedy"])

    def test_a_killed_one_leaves_nothing_that_waits(self):
        client = self.enterContext(Legacy(self.shared.socket))
        client.begin_code(ADD % 100)
        client.await_question()
        self.shared.kill()
        self.shared.start()
        with Legacy(self.shared.socket) as again:
            request = again.begin_code(ADD % 100)
            again.decide(again.await_question(), "accept")
            self.assertEqual(again.executed(request)["result"][0], 101)


if __name__ == "__main__":
    unittest.main()
