#!/usr/bin/env python3
"""What servers ask in the middle of a call, and how far they say that they are: asking.py is the server, in both eras."""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import threading
import unittest

from approvals_harness import ASKS, Legacy, Modern
from upstream_harness import UpstreamTest, structured
from harness import ORDINARY_USER, ROOT, Client, Policies, as_user, eventually
from remote import Handler, Server

HERE = pathlib.Path(__file__).resolve().parent
LARGE = {"size": "large", "count": 2}
CALL = "import warder\nresult = warder.call_tool('old__%s')"


class QuestionsTest(UpstreamTest):
    policy = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(HERE / "asking.py", cls.folder)
        (cls.folder / "asking.py").chmod(0o644)
        cls.policies = cls.enterClassContext(Policies(calls={"otherwise": "allow", **cls.policy}))
        servers = {name: {"command": "/usr/bin/python3", "args": [str(cls.folder / "asking.py"), era], "jail": "none"}
                   for name, era in (("old", "handshake"), ("new", "modern"))}
        servers["shared"] = {**servers["old"], "share": "everybody"}
        cls.shared = cls.enterClassContext(cls.daemon(servers, cls.policies))

    def legacy(self, capabilities=ASKS):
        return self.enterContext(Asked(self.shared.socket, capabilities))

    def modern(self):
        return self.enterContext(Modern(self.shared.socket))

    def ordinary(self):
        """A client that cannot be asked."""
        return self.enterContext(Client(self.shared.socket))

    def audited(self):
        """The questions in the audit chain: server and tool, and what is written about them. Ends the daemon."""
        self.shared.stop()
        try:
            with sqlite3.connect(self.shared.state / "journal/journal.db") as database:
                rows = database.execute("SELECT subject, shape FROM audit WHERE action = 'question' ORDER BY number").fetchall()
            database.close()
        finally:
            self.shared.start()
        return [(subject, json.loads(shape)) for subject, shape in rows]


class Asked(Legacy):
    """A client of 2025-11-25 that calls other servers' tools itself."""

    def begin_call(self, tool, token=None, **arguments):
        self.last_id += 1
        params = {"name": "call_tool", "arguments": {"name": tool, "arguments": arguments}}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": "tools/call", "params": params})
        return self.last_id

    def value(self, request):
        answer = structured(self.answer(request)["result"])
        return answer["result"]["value"] if "result" in answer else answer

    def say(self, question, action, **content):
        result = {"action": action, **({"content": content} if content else {})}
        self.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def await_cancelled(self, question):
        while question["id"] not in self.cancelled:
            self.take()

    def await_progress(self, fits):
        while not any(fits(one) for one in self.progress):
            self.take()


class LegacyServer(QuestionsTest):
    def test_its_question_is_shown_as_its_own_and_the_answer_goes_back_to_it(self):
        client = self.legacy()
        request = client.begin_call("old__ask")
        question = client.await_question()
        params = question["params"]
        self.assertEqual(params["mode"], "form")
        first, *_, asked, looks_like_ours = params["message"].split("\n")
        self.assertIn("MCP server 'old' asks this question for its tool 'ask'", first)
        self.assertEqual((asked, looks_like_ours), ("> Which size?", "> Allow this call?"))
        self.assertEqual(params["requestedSchema"], {
            "type": "object", "required": ["size"], "properties": {
                "size": {"type": "string", "title": "Size\ufffd", "enum": ["small", "large"]},
                "count": {"type": "integer", "minimum": 1, "maximum": 9}}})
        client.say(question, "accept", **LARGE)
        self.assertEqual(client.value(request), {"action": "accept", "content": LARGE})

    def test_no_and_no_answer_are_passed_on(self):
        client = self.legacy()
        for number, action in enumerate(("decline", "cancel"), 1):
            request = client.begin_call("old__ask")
            client.say(client.await_question(number), action)
            self.assertEqual(client.value(request), {"action": action})

    def test_what_does_not_fit_the_form_is_no_answer(self):
        client = self.legacy()
        for number, content in enumerate(({"size": "huge"}, {"count": 1}, {**LARGE, "count": 10}, {**LARGE, "more": 1},
                                          {"size": "large", "count": "2"}), 1):
            request = client.begin_call("old__ask")
            client.say(client.await_question(number), "accept", **content)
            self.assertEqual(client.value(request), {"action": "cancel"}, content)
        request = client.begin_call("old__ask")
        client.send({"jsonrpc": "2.0", "id": client.await_question(6)["id"], "result": {"action": "accept", "content": "large"}})
        self.assertEqual(client.value(request), {"action": "cancel"})

    def test_a_client_that_shows_no_forms_is_not_asked_and_the_server_goes_on(self):
        for capabilities in ({}, {"elicitation": {"url": {}}}):
            client = self.legacy(capabilities)
            for _ in range(2):
                self.assertEqual(client.value(client.begin_call("old__ask")), {"action": "cancel"})
            self.assertEqual(client.asked, [])

    def test_what_is_no_form_is_refused_to_the_server_and_nobody_sees_it(self):
        client = self.legacy()
        self.assertEqual(client.value(client.begin_call("old__foreign")), [{"error": -32602}] * 3)
        self.assertEqual(client.value(client.begin_call("old__page")), {"error": -32602})
        self.assertEqual(client.asked, [])

    def test_a_call_has_so_many_questions(self):
        client = self.legacy()
        request = client.begin_call("old__again")
        for number in range(1, 11):
            client.say(client.await_question(number), "accept", **LARGE)
        self.assertEqual(client.value(request), ["accept"] * 10 + ["cancel"] * 2)
        self.assertEqual(len(client.asked), 10)

    def test_of_two_calls_that_are_open_nobody_knows_which_one_asks(self):
        one, other = self.legacy(), self.legacy()
        self.ordinary().call("call_tool", {"name": "shared__die"})  # nothing else goes on there
        requests = [(client, client.begin_call("shared__gate")) for client in (one, other)]
        for client, request in requests:
            self.assertEqual(client.value(request), {"action": "cancel"})
        self.assertEqual(one.asked + other.asked, [])

    @unittest.skipUnless(ROOT, "only root has clients of several users")
    def test_after_a_call_that_somebody_else_gave_up_nobody_is_asked(self):
        with as_user(ORDINARY_USER, lambda: Asked(self.shared.socket)) as leaving:
            leaving.begin_call("shared__ask")
            leaving.await_question()
        client = self.legacy()
        # It may still go on there, and what is asked next may be its question.
        self.assertEqual(client.value(client.begin_call("shared__ask")), {"action": "cancel"})
        self.ordinary().call("call_tool", {"name": "shared__die"})
        request = client.begin_call("shared__ask")
        client.say(client.await_question(), "accept", **LARGE)
        self.assertEqual(client.value(request)["action"], "accept")

    def test_a_client_that_goes_takes_its_question_along_and_the_server_goes_on(self):
        client = self.legacy()
        told = lambda: client.value(client.begin_call("old__told"))["cancelled"]
        before = told()
        with Asked(self.shared.socket) as leaving:
            leaving.begin_call("old__ask")
            leaving.await_question()
        eventually(lambda: told() > before, "the server is told that nobody waits")
        request = client.begin_call("old__ask")
        client.say(client.await_question(), "decline")
        self.assertEqual(client.value(request), {"action": "decline"})
        (subject, shape), = self.audited()[-2:-1]
        self.assertEqual((subject, shape["verdict"]), ("old.ask", "withdrawn"))

    def test_a_server_that_dies_or_thinks_better_of_it_takes_its_question_back(self):
        client = self.legacy()
        request = client.begin_call("old__regret")
        question = client.await_question()
        self.ordinary().call("call_tool", {"name": "old__let_go"})
        client.await_cancelled(question)
        self.assertEqual(client.value(request), "regretted")
        request = client.begin_call("old__mortal")
        question = client.await_question(2)
        self.ordinary().call("call_tool", {"name": "old__die"})
        client.await_cancelled(question)
        self.assertIn("ended with status 3", client.value(request)["error"])

    def test_a_daemon_that_ends_cancels_what_waits_and_answers(self):
        client = self.legacy()
        request = client.begin_call("old__ask")
        client.await_question()
        ending = threading.Thread(target=self.shared.stop)
        ending.start()
        try:
            self.assertEqual(client.value(request), {"action": "cancel"})
        finally:
            ending.join()
            self.shared.start()

    def test_policies_that_are_loaded_anew_take_questions_back(self):
        client = self.legacy()
        request = client.begin_call("old__ask")
        question = client.await_question()
        os.kill(self.shared.process.pid, signal.SIGHUP)
        client.await_cancelled(question)
        self.assertEqual(client.value(request), {"action": "cancel"})

    def test_time_does_not_run_while_a_person_thinks(self):
        client = self.legacy()
        self.ordinary().call("call_tool", {"name": "short__tell"})  # it runs
        request = client.begin_call("short__ask")
        question = client.await_question()
        second = self.ordinary()
        begun = second.begin("tools/call", name="call_tool", arguments={"name": "brief__hold"})
        self.assertIn("did not answer within 1.0 s", structured(second.answer(begun)["result"])["error"])
        client.say(question, "accept", **LARGE)  # later than the limit of its call
        self.assertEqual(client.value(request)["action"], "accept")

    @classmethod
    def daemon(cls, servers, policies):
        short = {**servers["old"], "timeout_s": 1}
        return super().daemon({**servers, "short": short, "brief": short}, policies)


class AskingHandler(Handler):
    """Over HTTP, in the era of handshakes: a question is an event of its call's reply, its answer a request of its own."""

    def reply(self, status, body=b"", kind="application/json", **headers):
        if "result" in getattr(self, "asked", {}):
            self.server.note(self.asked["id"], self.asked["result"])
            status, body = 202, b""
        super().reply(status, body, kind, **headers)

    def call_ask(self, arguments, _):
        self.begin_stream()
        self.server.note("open")
        self.server.wait_for("open", 2)
        number = f"q{self.asked['id']}"
        schema = {"type": "object", "properties": {"said": {"type": "string"}}}
        self.event({"id": number, "method": "elicitation/create",
                    "params": {"message": f"Is it {arguments['who']}?", "requestedSchema": schema}})
        (answer,) = self.server.wait_for(number)
        self.server.note("answered")
        self.server.wait_for("answered", 2)
        self.event({"id": self.asked["id"], "result": self.value({"value": answer})})


class OverHttp(UpstreamTest):
    def test_of_calls_side_by_side_each_question_goes_to_its_own_client(self):
        with Server("legacy") as server:
            server.RequestHandlerClass = AskingHandler
            server.tools = [{"name": "ask", "inputSchema": {"type": "object"}}]
            with self.daemon({"far": {"url": server.url, "share": "everybody"}}) as daemon:
                clients = {name: self.enterContext(Asked(daemon.socket)) for name in ("ada", "bob")}
                requests = {name: client.begin_call("far__ask", who=name) for name, client in clients.items()}
                for name, client in clients.items():
                    question = client.await_question()
                    self.assertTrue(question["params"]["message"].endswith(f"> Is it {name}?"), question)
                    client.say(question, "accept", said=name.upper())
                for name, client in clients.items():
                    said = {"action": "accept", "content": {"said": name.upper()}}
                    self.assertEqual(client.value(requests[name]), said)


class FromCode(QuestionsTest):
    def test_code_stands_still_while_somebody_is_asked(self):
        client = self.legacy()
        request = client.begin_code(CALL % "ask", timeout_seconds=20)
        question = client.await_question()
        self.assertIn("MCP server 'old' asks", question["params"]["message"])
        client.say(question, "accept", **LARGE)
        body = client.executed(request)
        self.assertEqual(body["result"], {"value": {"action": "accept", "content": LARGE}}, body)

    def test_a_modern_client_is_asked_in_place_of_an_answer(self):
        client = self.modern()
        for server in ("old", "new"):
            arguments = {"code": f"import warder\nresult = warder.call_tool('{server}__ask')['value']"}
            asked = client.ask("execute_code", arguments)["result"]
            self.assertEqual(asked["resultType"], "input_required", asked)
            ((key, form),) = asked["inputRequests"].items()
            self.assertIn(f"MCP server '{server}' asks", form["params"]["message"])
            result = client.ask("execute_code", arguments, inputResponses={key: {"action": "accept", "content": LARGE}},
                                requestState=asked["requestState"])["result"]
            value = json.loads(result["content"][0]["text"])["result"]
            self.assertEqual(value if server == "old" else value["answer"], {"action": "accept", "content": LARGE})

    def test_code_that_is_killed_meanwhile_takes_the_question_along(self):
        client = self.legacy()
        request = client.begin_code(CALL % "ask")
        question = client.await_question()
        client.cancel(request)
        client.await_cancelled(question)
        client.say(question, "accept", **LARGE)  # too late
        request = client.begin_code("result = 1")
        self.assertEqual(client.executed(request)["result"], 1)

    def test_how_far_a_tool_is_is_progress_of_the_execution(self):
        client = self.legacy()
        client.last_id += 1
        request = client.last_id
        client.send({"jsonrpc": "2.0", "id": request, "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": CALL % "hold"}, "_meta": {"progressToken": "t"}}})
        client.await_progress(lambda one: one.get("message") == "old.hold: 1 of 4: one of \ufffd[31mfour")
        self.ordinary().call("call_tool", {"name": "old__let_go"})
        self.assertEqual(client.executed(request)["result"], {"value": "held"})
        values = [one["progress"] for one in client.progress]
        self.assertEqual(values, sorted(set(values)))
        self.assertEqual({one["progressToken"] for one in client.progress}, {"t"})


class ModernServer(QuestionsTest):
    def call(self, client, tool, action="accept", content=LARGE, capabilities=ASKS):
        arguments = {"name": f"new__{tool}"}
        asked = client.ask("call_tool", arguments, capabilities)["result"]
        if asked["resultType"] == "complete":
            return structured(asked)
        ((key, form),) = asked["inputRequests"].items()
        self.assertIn("MCP server 'new' asks", form["params"]["message"])
        answer = {"action": action, **({"content": content} if action == "accept" else {})}
        result = client.ask("call_tool", arguments, capabilities, inputResponses={key: answer}, requestState=asked["requestState"])
        return structured(result["result"])

    def test_a_call_is_repeated_with_what_the_person_says(self):
        client = self.modern()
        for action in ("accept", "decline", "cancel"):
            value = self.call(client, "ask", action)["result"]["value"]
            said = {"action": action, **({"content": LARGE} if action == "accept" else {})}
            self.assertEqual(value, {"answer": said, "state": True})
        self.assertEqual(self.call(client, "ask", content={"size": "huge"})["result"]["value"]["answer"], {"action": "cancel"})

    def test_it_is_told_that_it_may_ask_with_the_calls_of_clients_that_can_be_asked(self):
        client = self.modern()
        told = lambda capabilities: self.call(client, "told", capabilities=capabilities)["result"]["value"]["capabilities"]
        self.assertEqual(told(ASKS), {"elicitation": {"form": {}}})
        self.assertEqual(told({}), {})
        self.assertEqual(self.call(client, "ask", capabilities={})["result"]["value"]["answer"], {"action": "cancel"})

    def test_what_is_no_form_or_no_question_at_all_ends_without_one(self):
        client = self.modern()
        for tool in ("foreign", "page"):
            self.assertEqual(self.call(client, tool)["result"]["value"]["answer"], {"action": "cancel"})
        self.assertIn("asks for 'sampling/createMessage'", self.call(client, "sample")["error"])

    def test_one_that_asks_and_asks_is_given_up(self):
        client, arguments = self.modern(), {"name": "new__again"}
        result = client.ask("call_tool", arguments)["result"]
        for _ in range(10):
            ((key, _),) = result["inputRequests"].items()
            result = client.ask("call_tool", arguments, inputResponses={key: {"action": "accept", "content": LARGE}},
                                requestState=result["requestState"])["result"]
        self.assertIn("asks more questions after 10 answers", structured(result)["error"])

    def test_a_legacy_client_is_asked_by_a_request(self):
        client = self.legacy()
        request = client.begin_call("new__ask")
        client.say(client.await_question(), "accept", **LARGE)
        self.assertEqual(client.value(request), {"answer": {"action": "accept", "content": LARGE}, "state": True})


class Progress(QuestionsTest):
    def test_it_is_that_of_the_clients_own_request_and_only_grows(self):
        client = self.legacy()
        for server in ("old", "new"):
            client.progress.clear()
            self.assertEqual(client.value(client.begin_call(f"{server}__tell", token=f"of {server}")), "told")
            self.assertEqual([(one["progressToken"], one["progress"], one["message"]) for one in client.progress],
                             [(f"of {server}", 1, "first"), (f"of {server}", 2, "second")])

    def test_who_gave_no_token_hears_nothing_and_the_server_is_asked_for_nothing(self):
        client = self.legacy()
        for server in ("old", "new"):
            self.assertEqual(client.value(client.begin_call(f"{server}__tell")), "told")
            self.assertIs(client.value(client.begin_call(f"{server}__told"))["token"], False)
            self.assertIs(client.value(client.begin_call(f"{server}__told", token="t"))["token"], True)
        self.assertEqual(client.progress, [])

    def test_a_flood_of_it_is_thinned_out(self):
        client = self.legacy()
        self.assertEqual(client.value(client.begin_call("old__tell")), "told")
        begun = os.times().elapsed
        self.assertEqual(client.value(client.begin_call("old__flood", token="t")), "flooded")
        seconds = os.times().elapsed - begun
        self.assertGreaterEqual(len(client.progress), 8)
        self.assertLessEqual(len(client.progress), 10 + 4 * seconds)
        self.assertLess(max(len(one["message"]) for one in client.progress), 300)

    def test_a_server_may_want_to_be_asked_again_before_it_begins(self):
        client = self.legacy()
        request = client.begin_call("new__hold", token="t")
        client.await_progress(lambda one: one["progress"] == 1 and one["total"] == 4)
        self.ordinary().call("call_tool", {"name": "new__let_go"})
        self.assertEqual(client.value(request), "held")


class Forbidden(QuestionsTest):
    policy = {"questions": "nobody"}

    def test_no_server_is_told_that_it_may_ask_and_none_gets_an_answer(self):
        client = self.legacy()
        self.assertEqual(client.value(client.begin_call("old__told"))["capabilities"], {})
        self.assertEqual(client.value(client.begin_call("new__told"))["capabilities"], {})
        self.assertEqual(client.value(client.begin_call("old__ask")), {"action": "cancel"})
        self.assertEqual(client.value(client.begin_call("new__ask"))["answer"], {"action": "cancel"})
        self.assertEqual(client.asked, [])


class Tokens(QuestionsTest):
    policy = {"results": "tokenised"}

    def test_a_question_shows_tokens_and_one_whose_choices_would_be_tokens_is_not_asked(self):
        client = self.legacy()
        request = client.begin_call("old__personal")
        question = client.await_question()
        self.assertRegex(question["params"]["message"], r"> Is it \[EMAIL_\w+\]\?$")
        client.say(question, "accept", **LARGE)
        self.assertEqual(client.value(request)["action"], "accept")
        self.assertEqual(client.value(client.begin_call("old__choice")), {"action": "cancel"})

    def test_progress_has_no_words(self):
        client = self.legacy()
        self.assertEqual(client.value(client.begin_call("old__tell", token="t")), "told")
        self.assertEqual([(one["progress"], "message" in one) for one in client.progress], [(1, False), (2, False)])


class Kept(QuestionsTest):
    policy = {"results": "tokenised", "approval": {"by": "tenant", "expires_s": 1}}

    def test_that_it_asked_is_in_the_audit_chain_and_no_word_of_it(self):
        client = self.legacy()
        request = client.begin_call("old__ask")
        client.say(client.await_question(), "accept", **LARGE)
        client.value(request)
        request = client.begin_call("old__ask")
        question = client.await_question(2)
        self.assertEqual(client.value(request), {"action": "cancel"})  # nobody answered in time
        client.await_cancelled(question)
        client.close()
        rows = self.audited()
        self.assertEqual([(subject, shape["verdict"], shape["fields"]) for subject, shape in rows],
                         [("old.ask", "accepted", 2), ("old.ask", "expired", 2)])
        kept = b"".join(file.read_bytes() for file in (self.shared.state / "journal").iterdir()) + self.shared.log.read_bytes()
        for word in (b"Which size", b"large"):
            self.assertNotIn(word, kept)


if __name__ == "__main__":
    unittest.main()
