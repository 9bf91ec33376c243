#!/usr/bin/env python3
"""Messages that are made to be long, or of very many values: each ends whoever made it, or is told, and nobody else."""
import json
import threading
import unittest

from harness import Client, Daemon, body_of

# Past its interpreter, to the daemon itself.
RAW = """
import socket
channel = socket.socket(fileno=3)
def put(text):
    data, size = text.encode(), 65534
    for at in range(0, len(data), size):
        channel.send((b'F' if at + size >= len(data) else b'M') + data[at:at + size])
"""


class LargeMessages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def execute(self, code):
        return self.client.execute(code)

    def test_a_forged_result_beyond_the_limit_ends_its_program(self):
        for value in ("'\"' + 'x' * 1_200_000 + '\"'", "'[' + ','.join(['[]'] * 600_000) + ']'"):
            with self.subTest(value[:12]):
                body = self.execute(RAW + f"put('{{\"type\":\"result\",\"status\":0,\"value\":' + {value} + '}}')")
                self.assertEqual(body["outcome"], "protocol", body)
                self.assertIn("over", body["error"])
        self.assertEqual(self.execute("result = 1")["result"], 1)

    def test_a_result_just_within_the_limit_is_read_whatever_it_is_made_of(self):
        self.assertEqual(len(self.execute("result = 'x' * 1_000_000")["result"]), 1_000_000)
        self.assertEqual(sum(self.execute("result = [1] * 300_000")["result"]), 300_000)

    def test_a_call_of_too_many_values_is_refused_with_a_remedy_and_the_program_goes_on(self):
        body = self.execute("""
import warder
try:
    warder.call_tool("x", rows=[[]] * 200_000)
except warder.CallError as e:
    result = [e.code, str(e)]
""")
        code, said = body["result"]
        self.assertEqual(code, "exhausted")
        self.assertIn("write the arguments to a file of the workspace", said)

    def test_a_flood_of_large_calls_ends_and_others_are_answered_meanwhile(self):
        flood = RAW + """
import threading
def drain():
    while channel.recv(65536): pass
threading.Thread(target=drain, daemon=True).start()
text = '{"type":"call","id":1,"name":"nobody","arguments":[' + ','.join(['[]'] * 300_000) + ']}'
for _ in range(50): put(text)
"""
        bodies = []
        with Client(self.daemon.socket) as other:
            thread = threading.Thread(target=lambda: bodies.append(self.execute(flood)))
            thread.start()
            answered = 0
            while thread.is_alive() or answered == 0:
                other.request("tools/list")
                answered += 1
            thread.join()
        self.assertIn(bodies[0]["outcome"], ("ok", "protocol"), bodies)
        self.assertGreater(answered, 0)

    def test_what_is_never_large_is_refused_where_it_is(self):
        large = "x" * 100_000
        for method, params, said in (
                ("tools/list", {"_meta": {"note": large}}, "_meta has more than 64 KiB"),
                ("tools/call", {"name": "execute_code", "arguments": {"code": ""}, "_meta": {"note": large}}, "_meta has more")):
            with self.subTest(method), self.assertRaisesRegex(RuntimeError, said):
                self.client.request(method, **params)
        with Client(self.daemon.socket) as client:
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": large, "version": "1"}}
            client.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
            self.assertIn("initialize has more than 64 KiB", client.receive()["error"]["message"])
        self.assertEqual(self.execute("result = 1")["result"], 1)

    def test_a_long_array_of_messages_is_answered_as_a_short_one(self):
        """With as much memory charged for each as it takes: what is too much for a user is refused, message by message."""
        with Client(self.daemon.socket) as client:
            client.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
            self.assertEqual(client.receive()["result"]["protocolVersion"], "2025-03-26")
            call = {"jsonrpc": "2.0", "method": "tools/call"}
            for padding in ("", "x" * 100_000):
                code = f"# {padding}\nresult = context_vars['n']"
                client.send([{**call, "id": f"n{n}", "params": {"name": "execute_code", "arguments": {
                    "code": code, "context_vars": {"n": n}}}} for n in range(4)] + [{"jsonrpc": "2.0", "id": "x", "method": 1}])
                answers = {one.get("id"): one for one in client.receive()}
                self.assertEqual([body_of(answers[f"n{n}"]["result"])["result"] for n in range(4)], list(range(4)))
                self.assertIn("method", answers["x"]["error"]["message"])

    def test_a_clients_own_line_may_be_long_and_keeps_its_place(self):
        text = json.dumps(list(range(100_000)))
        self.client.write_file("numbers.json", text)
        body = self.execute("import json\nresult = sum(json.loads(read_file('numbers.json')))")
        self.assertEqual(body["result"], sum(range(100_000)))


if __name__ == "__main__":
    unittest.main()
