#!/usr/bin/env python3
"""Calls with arguments, and programs with variables, that are large: read, checked and written beside the loop, and answered
as small ones are."""
import json
import threading
import time
import unittest

from upstream_harness import UpstreamTest, SharedUpstreamTest, structured
from harness import Client, Policies

LISTS = [[]] * 60_000  # 180 kB
# Writes down the arguments of each call.
KEEPER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "k", "version": "1"}},
              "tools/list": {"tools": [{"name": "keep", "inputSchema": {"type": "object"}}]},
              "tools/call": {"content": [{"type": "text", "text": "kept"}]}}.get(asked["method"])
    if asked["method"] == "tools/call":
        with open(sys.argv[1], "w") as file: json.dump(asked["params"], file)
    reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked: print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""


def told(result):
    return json.loads(result["content"][0]["text"])


class Ends(UpstreamTest):
    def test_the_daemon_ends_while_large_calls_are_under_way(self):
        for pause in (0, 0.05, 0.3):
            with self.daemon() as daemon, Client(daemon.socket) as client:
                for _ in range(4):
                    client.begin("tools/call", name="call_tool", arguments={
                        "name": "near__hang", "arguments": {"lists": LISTS * 4}})
                    client.begin_execute("while True: pass", context_vars={"lists": LISTS * 4})
                time.sleep(pause)


class Ruled(UpstreamTest):
    def test_calls_keep_their_order_where_rules_look_at_arguments(self):
        rules = [{"name": "no-secrets", "tools": ["*"], "verdict": "deny",
                  "when": {"properties": {"text": {"pattern": "secret"}}, "required": ["text"]}},
                 {"name": "all", "tools": ["*"], "verdict": "allow"}]
        with Policies(calls={"rules": rules, "otherwise": "deny"}) as policies:
            with self.daemon(policies=policies) as daemon, Client(daemon.socket) as client:
                client.call("call_tool", {"name": "near__add", "arguments": {"a": 1, "b": 2}})  # it is started
                asked = []
                for round_ in range(5):
                    for text in (f"large {round_}" + "." * 300_000, f"small {round_}", f"secret {round_}"):
                        asked.append(client.begin("tools/call", name="call_tool", arguments={
                            "name": "near__note", "arguments": {"text": text, "where": "here",
                                                                "lists": LISTS if text.startswith("large") else []}}))
                refused = [client.answer(request)["result"].get("isError", False) for request in asked]
                self.assertEqual(refused, [False, False, True] * 5)
                lines = [json.loads(line)[0].rstrip(".") for line in (self.notes / "told").read_text().splitlines()]
                self.assertEqual(lines, [f"{kind} {round_}" for round_ in range(5) for kind in ("large", "small")])


class LargeCalls(SharedUpstreamTest):
    @classmethod
    def servers(cls):
        keeper = {"command": "/usr/bin/python3", "args": ["-c", KEEPER, str(cls.notes / "kept")], "jail": "none"}
        return {"near": cls.server(), "old": cls.server("handshake"), "keeper": keeper}

    def begin_call(self, tool, **arguments):
        return self.client.begin("tools/call", name="call_tool", arguments={"name": f"near__{tool}", "arguments": arguments})

    def test_large_arguments_come_to_the_server_as_they_are(self):
        deep = [{"a": [1, -2, 0.5, 1e300, None, True]}] * 5000
        for sent in ({"text": "\u00f6\"\\\u2028" * 50_000, "more": LISTS, "deep": deep}, {}, {"a": []}):
            self.assertFalse(self.client.call("call_tool", {"name": "keeper__keep", "arguments": sent}).get("isError"))
            params = json.loads((self.notes / "kept").read_text())
            self.assertEqual(params["arguments"], sent)
            self.assertEqual(params["name"], "keep")

    def test_servers_of_both_eras_take_large_arguments(self):
        text = "\u00f6\"\\\u2028" * 50_000
        for server in ("near", "old"):
            answer = self.client.call("call_tool", {"name": f"{server}__echo", "arguments": {"text": text, "lists": LISTS}})
            self.assertEqual(structured(answer)["result"], text, server)

    def test_what_does_not_fit_is_told_in_the_same_words_however_large_it_is(self):
        """An agent's call of a server's tool, one of ours, and a call of code's."""
        def of_server(lists):
            return told(self.client.call("call_tool", {"name": "near__add", "arguments": {"a": 1, "b": 2, "c": lists}}))

        def of_ours(lists):
            arguments = {"context_vars": {"a": lists}, "timeout_seconds": "soon", "codes": lists}
            return told(self.client.call("execute_code", arguments))

        def of_code(lists):
            return self.client.execute("import warder\n"
                                       "try: warder.call_tool('near__add', a=1, b=2, c=context_vars['c'])\n"
                                       "except warder.CallError as e: result = [e.code, str(e)]",
                                       context_vars={"c": lists})["result"]

        for ask, words in ((of_server, "the arguments of 'add' do not match its schema"), (of_ours, "missing, but required"),
                           (of_code, "the arguments of 'add' do not match its schema")):
            with self.subTest(words):
                self.assertEqual(ask(LISTS), ask([[]]))
                self.assertIn(words, str(ask(LISTS)))

    def test_calls_of_a_client_come_to_the_server_in_the_order_in_which_it_made_them(self):
        asked = []
        for round_ in range(5):
            for text in (f"large {round_}" + "." * 300_000, f"small {round_}", f"last {round_}"):
                asked.append(self.begin_call("note", text=text, where="here", lists=LISTS if text.startswith("large") else []))
        for request in asked:
            self.assertFalse(self.client.answer(request)["result"].get("isError"))
        lines = [json.loads(line)[0].rstrip(".") for line in (self.notes / "told").read_text().splitlines()]
        self.assertEqual(lines, [f"{kind} {round_}" for round_ in range(5) for kind in ("large", "small", "last")])

    def test_a_caller_that_goes_while_its_large_call_is_under_way_leaves_nothing_behind(self):
        for round_ in range(8):
            with Client(self.shared.socket) as other:
                for number in range(4):
                    other.begin("tools/call", name="call_tool", arguments={
                        "name": "near__echo", "arguments": {"text": "x", "lists": LISTS * 4}})
                    if round_ % 2:
                        other.cancel(other.last_id)
                if round_ % 4 == 3:
                    other.request("tools/list")  # when all of it has been read
        for lists in (LISTS, []):
            answer = self.client.call("call_tool", {"name": "near__echo", "arguments": {"text": "here", "lists": lists}})
            self.assertEqual(structured(answer)["result"], "here")

    def test_a_program_that_ends_while_its_large_call_is_under_way_leaves_nothing_behind(self):
        code = """
import os, threading, warder
for _ in range(8): threading.Thread(target=lambda: warder.call_tool('near__echo', text='x', a='y' * 900_000)).start()
print('running', flush=True)
"""
        for end in ("os._exit(0)", "import time; time.sleep(0.05); os._exit(0)", "while True: pass"):
            body = self.client.execute(code + end, timeout_seconds=1)
            self.assertIn(body["outcome"], ("ok", "exit", "timeout"), body)
        answer = self.client.call("call_tool", {"name": "near__add", "arguments": {"a": 1, "b": 2}})
        self.assertEqual(structured(answer)["result"], {"sum": 3})

    def test_variables_and_code_that_are_large_come_to_the_program(self):
        variables = {"rows": LISTS, "text": "\u00e4\"\n" * 100_000, "small": 7}
        body = self.client.execute("result = [len(rows), len(text), text[:3], small]", context_vars=variables)
        self.assertEqual(body["result"], [60_000, 300_000, "\u00e4\"\n", 7])
        body = self.client.execute("x = '" + "\u00e4y" * 200_000 + "'\nresult = [len(x), a]", context_vars={"a": [1]})
        self.assertEqual(body["result"], [400_000, [1]])

    def test_a_session_keeps_what_was_large_and_its_log_shows_the_beginning(self):
        body = self.client.execute("# Counts\nvalues = rows\nresult = rows", session="big", context_vars={"rows": LISTS})
        self.assertEqual(len(body["result"]), 60_000)
        self.assertEqual(self.client.execute("result = 'x' * 200_000", session="big")["result"], "x" * 200_000)
        self.assertEqual(self.client.execute("len(values)", session="big")["result"], 60_000)
        log = self.client.request("resources/read", uri="session:///big")["contents"][0]["text"]
        tasks = json.loads(log)["tasks"]
        self.assertEqual([task["description"] for task in tasks[:1]], ["Counts"])
        self.assertTrue(tasks[0]["result"].startswith("[[],[],"), tasks[0]["result"][:20])
        self.assertTrue(tasks[1]["result"].startswith("xxxx"), tasks[1]["result"][:20])

    def test_what_goes_to_code_is_counted_whatever_its_size(self):
        def kept_out():
            return told(self.client.call("get_execution_stats"))["context"]["kept_out"]["bytes"]

        def fetched(count):
            before = kept_out()
            code = f"import warder\nresult = len(str(warder.call_tool('near__rows', count={count}, width=100)))"
            self.assertGreater(self.client.execute(code)["result"], 100 * count)
            return kept_out() - before

        few, many = fetched(100), fetched(10_000)
        self.assertGreater(many, 1_000_000)
        self.assertLess(abs(many / few / 100 - 1), 0.2)

    def test_many_calls_at_once_are_all_answered(self):
        code = """
import threading, warder
lengths = []
def ask():
    for _ in range(5): lengths.append(len(warder.call_tool('near__echo', text='x' * 30_000)))
threads = [threading.Thread(target=ask) for _ in range(50)]
for thread in threads: thread.start()
for thread in threads: thread.join()
result = [len(lengths), set(lengths) == {30_000}]
"""
        body = self.client.execute(code, timeout_seconds=60)
        self.assertEqual((body["outcome"], body.get("result")), ("ok", [250, True]), body)

    def test_others_are_answered_while_large_calls_are_made(self):
        stop = threading.Event()

        def ask():
            with Client(self.shared.socket) as other:
                while not stop.is_set():
                    other.call("call_tool", {"name": "near__echo", "arguments": {"text": "x", "a": LISTS}})

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for _ in range(50):
                self.client.request("tools/list")
        finally:
            stop.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
