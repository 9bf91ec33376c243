"""MCP over HTTP, as warderd serves it: on the Unix socket beside JSON lines, and on TCP, where nobody is let in without
a token. The protocol's cases are in tests/supervisor/protocol/streamable_http; here programs run, end, and survive."""
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from daemon import META, TOP, Daemon  # noqa: E402
from harness import await_still, eventually  # noqa: E402
from ports import free_port  # noqa: E402
from unix_http import UnixHttp  # noqa: E402

BEATS = """
import time
for i in range(2000):
    open('/workspace/beat', 'w').write(str(i))
    time.sleep(0.005)
"""


def headers_of(message, **more):
    """The headers of a modern request."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": message["method"], **more}
    if "name" in message["params"]:
        headers["Mcp-Name"] = message["params"]["name"]
    return headers


def call(tool, arguments, id=1, **meta):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": {**META, **meta}}}


def send(connection, message, **headers):
    connection.request("POST", "/mcp", json.dumps(message), headers_of(message, **headers))


def ask(connection, message, **headers):
    """The status and the parsed body of the answer."""
    send(connection, message, **headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def events(text):
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]


class HttpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.daemon = cls.enterClassContext(Daemon(arguments=["--http", f"127.0.0.1:{cls.port}"]))

    def client(self, timeout=60):
        client = UnixHttp(self.daemon.socket, timeout)
        self.addCleanup(client.close)
        return client

    def beats(self):
        """What the program has written to its file, as long as it runs."""
        with self.daemon.connect() as lines:
            return lines.request("tools/call", name="read_workspace_file", arguments={"filename": "beat"})["content"][0]["text"]

    def test_programs_run_in_both_eras(self):
        client = self.client()
        status, answer = ask(client, call("execute_code", {"code": "result = 6 * 7"}))
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(answer["result"]["content"][0]["text"])["result"], 42)
        self.assertTrue(answer["result"]["_meta"]["org.warder/receipt"])
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                 "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}}
        plain = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        client.request("POST", "/mcp", json.dumps(hello), plain)
        answer = client.getresponse()
        session = {**plain, "Mcp-Session-Id": answer.getheader("Mcp-Session-Id")}
        self.assertIn("Run code", json.loads(answer.read())["result"]["instructions"])
        run = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
               "params": {"name": "execute_code", "arguments": {"code": "import time; time.sleep(0.2); result = 7"}}}
        client.request("POST", "/mcp", json.dumps(run), session)
        answer = client.getresponse()
        self.assertEqual(answer.getheader("Content-Type"), "text/event-stream")
        self.assertEqual(json.loads(events(answer.read().decode())[-1]["result"]["content"][0]["text"])["result"], 7)

    def test_progress_comes_while_the_program_runs(self):
        client = self.client()
        code = "import time\nfor i in range(4):\n  print(i, flush=True)\n  time.sleep(0.3)"
        began = time.monotonic()
        send(client, call("execute_code", {"code": code}, progressToken=1))
        answer = client.getresponse()
        first = answer.readline()
        self.assertLess(time.monotonic() - began, 1.1)
        self.assertTrue(first.startswith(b"event: message"), first)
        all_events = events(answer.read().decode())
        self.assertGreater(len(all_events), 1)
        self.assertIn("result", all_events[-1])

    def test_a_hang_up_ends_the_program(self):
        for kind in ("waiting for JSON", "events"):
            with self.subTest(kind):
                meta = {"progressToken": 1} if kind == "events" else {}
                client = self.client()
                send(client, call("execute_code", {"code": BEATS}, **meta))
                until = time.monotonic() + 20
                first = self.beats()
                while self.beats() == first:
                    self.assertLess(time.monotonic(), until, "the program does not run")
                    time.sleep(0.02)
                client.sock.shutdown(socket.SHUT_RDWR)
                client.close()
                # Some fifty beats; by itself the program ends after 10 s.
                await_still(self.beats, 0.25, "the program has ended", within=5)

    def test_tcp_lets_nobody_in_without_a_token(self):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        message = call("execute_code", {"code": "1"})
        for headers, challenge in (({}, "Bearer"), ({"Authorization": "Bearer wrd_" + "a" * 64}, 'Bearer error="invalid_token"'),
                                   ({"Authorization": "Basic dTpw"}, "Bearer")):
            client.request("POST", "/mcp", json.dumps(message), {**headers_of(message), **headers})
            answer = client.getresponse()
            self.assertEqual((answer.status, answer.getheader("WWW-Authenticate")), (401, challenge))
            self.assertNotIn("result", json.loads(answer.read()))
            client.close()
        with socket.create_connection(("127.0.0.1", self.port)) as lines:  # and it takes no JSON lines
            lines.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            self.assertTrue(lines.recv(4096).startswith(b"HTTP/1.1 400 "))

    def test_ten_thousand_connections_keep_nobody_out(self):
        waiting = []
        try:
            for _ in range(10_000):
                one = socket.socket()
                one.settimeout(10)
                one.connect(("127.0.0.1", self.port))
                waiting.append(one)
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            message = call("execute_code", {"code": "1"})
            client.request("POST", "/mcp", json.dumps(message), headers_of(message))
            self.assertEqual(client.getresponse().status, 401)
            with self.daemon.connect() as lines:
                self.assertEqual(lines.execute("result = 1")["result"], 1)
            status, _ = ask(self.client(), call("execute_code", {"code": "1"}))
            self.assertEqual(status, 200)
        finally:
            for one in waiting:
                one.close()

    def test_lines_and_http_share_the_limits_of_their_user(self):
        client = self.client()
        with self.daemon.connect() as lines:
            lines.call("write_workspace_file", {"filename": "shared", "content": "from lines"})
        _, answer = ask(client, call("read_workspace_file", {"filename": "shared"}))
        self.assertIn("from lines", answer["result"]["content"][0]["text"])

    def test_a_restart_forgets_sessions_and_says_so(self):
        with Daemon() as daemon:
            client = UnixHttp(daemon.socket)
            plain = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
            client.request("POST", "/mcp", json.dumps(hello), plain)
            answer = client.getresponse()
            session = answer.getheader("Mcp-Session-Id")
            answer.read()
            daemon.stop()
            daemon.start()
            client.close()
            client.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}), {**plain, "Mcp-Session-Id": session})
            self.assertEqual(client.getresponse().status, 404)

    def test_the_end_waits_for_running_calls_and_not_for_streams(self):
        with Daemon() as daemon:
            running, listening = UnixHttp(daemon.socket), UnixHttp(daemon.socket)
            self.addCleanup(running.close)
            self.addCleanup(listening.close)
            listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {"toolsListChanged": True}, "_meta": META}}
            send(listening, listen)
            self.assertTrue(listening.getresponse().readline())
            send(running, call("execute_code", {"code": "open('began', 'w').close()\nimport time; time.sleep(1); result = 'whole'"}))
            eventually(lambda: list(daemon.state.glob("tenants/*/workspace/began")), "the program runs")
            ended = threading.Thread(target=daemon.stop)
            ended.start()
            answer = json.loads(running.getresponse().read())
            self.assertEqual(json.loads(answer["result"]["content"][0]["text"])["result"], "whole")
            ended.join(30)
            self.assertFalse(ended.is_alive())
            daemon.start()

    def test_curl_and_a_browser_page(self):
        message = call("execute_code", {"code": "result = 3"})
        words = [word for name, value in headers_of(message).items() for word in ("-H", f"{name}: {value}")]
        for more, status in ([], "200"), (["-H", "Origin: http://evil.example"], "403"), (["-H", "Host: evil.example"], "403"):
            done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", str(self.daemon.socket), *words, *more,
                                   "-d", json.dumps(message), "http://localhost/mcp"], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stdout, status, more)


class ConfigurationTest(unittest.TestCase):
    def test_addresses(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "warderd.json"
            def check(http):
                config.write_text(json.dumps({"http": http}))
                done = subprocess.run([os.environ["WARDERD"], "--check", "--config", config, "--state", folder, "--policies", TOP / "policies"], capture_output=True, text=True)
                return done.returncode, done.stderr
            self.assertEqual(check({"listen": ["127.0.0.1:9470", "[::1]:9470"], "hosts": ["a.example"], "origins": ["https://a.example"]})[0], 0)
            self.assertEqual(check({"listen": ["0.0.0.0:9470"], "public": True})[0], 0)
            for wrong, why in (({"listen": ["0.0.0.0:9470"]}, "can be reached from other machines"), ({"listen": ["localhost:1"]}, "is not an address"),
                               ({"listen": "127.0.0.1:1"}, "http.listen"), ({"tokens": "x"}, "unknown key")):
                status, said = check(wrong)
                self.assertEqual(status, 1, wrong)
                self.assertIn(why, said)


if __name__ == "__main__":
    unittest.main()
