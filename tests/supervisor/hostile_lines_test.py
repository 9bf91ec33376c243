"""What can come over the socket instead of requests. Every line gets the error of the field's standard or silence;
whoever sent it and everybody else is served on."""
import json
import os
import random
import socket
import unittest

from harness import META, PATIENCE, Client, Daemon

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))

    def tearDown(self):
        with Client(self.daemon.socket) as fresh:
            self.assertEqual(fresh.execute("result = 1")["result"], 1)

    def say(self, line):
        """Sends bytes as a line and returns what is answered before the ping that follows it."""
        self.client.socket.sendall(line + b"\n" + b'{"jsonrpc":"2.0","id":"mark","method":"ping"}\n')
        answers = []
        while (message := self.client.receive()).get("id") != "mark":
            answers.append(message)
        return answers

    def expect(self, line, code, *words):
        (answer,) = self.say(line)
        self.assertEqual(answer["error"]["code"], code, answer)
        for word in words:
            self.assertIn(word, answer["error"]["message"])
        self.assertNotEqual(answer.get("id", 0), None, "an id of null breaks the official clients")
        return answer

    def test_what_is_no_json(self):
        for line in (
            b"garbage",
            b"{",
            b'{"a":}',
            b"\x00\x01\x02",
            b"\xff\xfe\xfd",
            b"GET / HTTP/1.1",
            b'{"jsonrpc":"2.0"',
            b"NaN",
            b"\x80" * 1000,
        ):
            with self.subTest(line[:20]):
                self.assertNotIn("id", self.expect(line, PARSE_ERROR))

    def test_a_number_is_json_of_any_size_and_no_message(self):
        for line in (b"1", b"1e999999", b"-" + b"7" * 4000):
            with self.subTest(line[:20]):
                self.expect(line, INVALID_REQUEST, "must be an object")

    def test_what_is_nested_too_deep(self):
        for line in (b"[" * 100_000, b'{"a":' * 100_000, b"[" * 65 + b"]" * 65):
            with self.subTest(line[:20]):
                self.expect(line, INVALID_REQUEST, "deeper than 64")

    def test_what_is_json_and_no_message(self):
        for line in (
            b"3",
            b'"text"',
            b"null",
            b"true",
            b"{}",
            b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
            b'{"id":1,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":1}',
            b'{"jsonrpc":"2.0","id":1,"method":7}',
            b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":[],"method":"ping"}',
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}',
            b"[]",
            b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        ):
            with self.subTest(line):
                self.expect(line, INVALID_REQUEST)

    def test_what_needs_no_answer(self):
        for line in (
            b"",
            b"\r",
            b"   ",
            b'{"jsonrpc":"2.0","method":"notifications/unheard_of"}',
            b'{"jsonrpc":"2.0","id":9,"result":{}}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
            b'{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}',
        ):
            with self.subTest(line):
                self.assertEqual(self.say(line), [])

    def request(self, method, **params):
        return json.dumps({"jsonrpc": "2.0", "id": 5, "method": method, "params": {"_meta": META, **params}}).encode()

    def test_unknown_methods_tools_and_resources(self):
        self.expect(self.request("no/such"), NO_METHOD, "no/such")
        self.expect(self.request("x" * 100_000), NO_METHOD)
        self.expect(self.request("tools/call", name="no_such_tool"), INVALID_PARAMS, "no_such_tool")
        self.expect(self.request("tools/call"), INVALID_PARAMS)
        self.expect(self.request("tools/call", name=7), INVALID_PARAMS)
        self.expect(self.request("tools/call", name="execute_code", arguments=[1]), INVALID_PARAMS)
        answer = self.expect(self.request("resources/read", uri="workspace:///absent"), INVALID_PARAMS)
        self.assertEqual(answer["error"]["data"]["uri"], "workspace:///absent")
        self.expect(b'{"jsonrpc":"2.0","id":5,"method":"tools/list"}', INVALID_PARAMS, "initialize")

    def test_an_id_that_is_in_use(self):
        self.client.last_id = 70
        running = self.client.begin_running("import time\nprint('running', flush=True)\ntime.sleep(30)")
        again = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": running,
                "method": "tools/call",
                "params": {"_meta": META, "name": "execute_code", "arguments": {"code": "1"}},
            }
        ).encode()
        (answer,) = [a for a in self.say(again) if "error" in a]
        self.assertEqual(answer["error"]["code"], INVALID_REQUEST)
        self.assertNotIn("id", answer, "it would be taken for the answer of the first")

    def test_ids_come_back_as_they_were(self):
        for text in (b'"x"', b"0", b"-7", b"9007199254740993", b'"\\u2028"', b'""'):
            self.client.socket.sendall(b'{"jsonrpc":"2.0","id":' + text + b',"method":"ping"}\n')
            self.assertEqual(self.client.receive()["id"], json.loads(text))

    def test_text_that_is_no_unicode(self):
        line = self.request("tools/call", name="execute_code", arguments={"code": "result = 'HERE'"})
        for odd in (b"\\ud800", b"\xff", b"\\udfff\\ud800"):
            self.client.socket.sendall(line.replace(b"HERE", odd) + b"\n")
            body = json.loads(self.client.receive()["result"]["content"][0]["text"])
            self.assertIn("\ufffd", body["result"])

    def test_windows_line_ends(self):
        self.client.socket.sendall(
            b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\r\n{"jsonrpc":"2.0","id":2,"method":"ping"}\r\n'
        )
        self.assertEqual([self.client.receive()["id"] for _ in range(2)], [1, 2])

    def test_a_line_that_is_too_long(self):
        block = b"x" * (1 << 20)
        self.client.socket.sendall(b'{"jsonrpc":"2.0","id":1,"method":"' + block * 17)
        (answer,) = self.say(block)
        self.assertEqual(answer["error"]["code"], INVALID_REQUEST)
        self.assertIn("16777216", answer["error"]["message"])

    def test_the_longest_line_that_is_allowed(self):
        text = "x" * (15 << 20)
        self.assertEqual(self.client.execute(f"result = len('{text}')")["result"], len(text))

    def test_a_line_that_comes_byte_by_byte(self):
        line = self.request("tools/list") + b"\n"
        for i in range(len(line)):
            self.client.socket.sendall(line[i : i + 1])
            if i == len(line) // 2:  # nobody waits for the slow
                with Client(self.daemon.socket) as other:
                    self.assertEqual(other.execute("result = 2")["result"], 2)
        self.assertIn("tools", self.client.receive()["result"])

    def test_a_line_without_an_end(self):
        with Client(self.daemon.socket) as cut:
            cut.socket.sendall(b'{"jsonrpc":"2.0","id":1,"meth')
            cut.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(cut.receive()["error"]["code"], PARSE_ERROR)
            self.assertIsNone(cut.receive())

    def test_many_lines_at_once_are_answered_in_order(self):
        count = 5000
        lines = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % i for i in range(count))
        self.client.socket.sendall(lines)
        self.assertEqual([self.client.receive()["id"] for _ in range(count)], list(range(count)))

    def test_out_of_band_data_and_descriptors_are_not_kept(self):
        before = os.pipe()
        try:
            with Client(self.daemon.socket) as client:
                socket.send_fds(client.socket, [b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'], [before[1]])
                self.assertEqual(client.receive()["id"], 1)
                os.close(before[1])
                self.assertEqual(os.read(before[0], 1), b"", "the daemon keeps no descriptor that it was sent")
        finally:
            os.close(before[0])

    def test_random_changes_of_good_requests(self):
        chance = random.Random(20260728)
        good = [
            self.request("tools/list"),
            self.request("tools/call", name="list_workspace_files", arguments={"path": "."}),
            self.request("resources/read", uri="workspace:///a"),
            b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}',
        ]
        for _ in range(400):
            line = bytearray(chance.choice(good))
            for _ in range(chance.randint(1, 6)):
                at = chance.randrange(len(line))
                kind = chance.randrange(4)
                if kind == 0:
                    line[at] = chance.randrange(256)
                elif kind == 1:
                    del line[at : at + chance.randint(1, 8)]
                elif kind == 2:
                    line[at:at] = bytes(chance.choice(b'{}[]",:\\0e-') for _ in range(chance.randint(1, 5)))
                else:
                    line[at:at] = line[:at]
                line = line or bytearray(b" ")
            with Client(self.daemon.socket) as client:
                client.socket.settimeout(PATIENCE)
                client.socket.sendall(
                    bytes(line).replace(b"\n", b" ") + b"\n" + b'{"jsonrpc":"2.0","id":"mark","method":"ping"}\n'
                )
                while True:
                    answer = client.receive()
                    self.assertIsNotNone(answer, f"the connection ended after {bytes(line)!r}")
                    first = answer[0] if isinstance(answer, list) else answer
                    if first.get("id") == "mark":
                        break


if __name__ == "__main__":
    unittest.main(verbosity=2)
