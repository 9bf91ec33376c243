#!/usr/bin/env python3
"""Calls to MCP servers over HTTP: remote.py is the server, of both eras, good and bad."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import Client, Daemon, eventually
from remote import MODERN, Server

SECRET = "s3cret-and-long-enough"


class RemoteTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-remote-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)

    def begin(self, servers, **configuration):
        file = self.folder / "config.json"
        file.write_text(json.dumps({"servers": servers, **configuration}))
        self.daemon = self.enterContext(Daemon(arguments=["--config", file]))
        self.client = self.enterContext(Client(self.daemon.socket))

    def secret(self, value):
        file = self.folder / "secret"
        file.write_text(value + "\n")
        file.chmod(0o644)
        return str(file)

    def call(self, tool, **arguments):
        return self.client.call("call_tool", {"name": tool, "arguments": arguments})["structuredContent"]


class Modern(RemoteTest):
    def setUp(self):
        super().setUp()
        self.server = self.enterContext(Server())

    def test_a_call_is_one_request_with_the_headers_of_its_version(self):
        secrets = {"Authorization": self.secret(f"Bearer {SECRET}")}
        self.begin({"far": {"type": "http", "url": self.server.url, "headers": {"X-Plain": "seen"}, "secrets": secrets}})
        body = self.client.execute("import warder\nresult = [warder.call_tool('far__add', a=1, b=2), "
                                   "warder.call_tool('far__headers', where='Zürich', more={}), "
                                   "len(warder.call_tool('far__big')['rows'])]")
        self.assertTrue(body["success"], (body, self.daemon.log_text()))
        added, headers, size = body["result"]
        self.assertEqual((added, size), ({"sum": 3}, 3_000_000))
        self.assertEqual([headers[name] for name in (
            "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "X-Plain", "Authorization", "Accept")],
            [MODERN, "tools/call", "headers", "=?base64?WsO8cmljaA==?=", "seen", "Bearer [secret Authorization]",
             "application/json, text/event-stream"])
        self.assertNotIn("Mcp-Session-Id", headers)
        self.assertEqual({asked["Authorization"] for asked in self.server.seen("tools/call")}, {f"Bearer {SECRET}"})
        self.assertNotIn(SECRET, self.daemon.log_text())
        self.assertIn("ready in", self.daemon.log_text())
        # A tool whose annotation is not allowed is not there.
        self.assertIn("no tool 'wrong'", self.call("far__wrong", x=1)["error"])

    def test_progress_cancellation_and_changes(self):
        self.begin({"far": {"url": self.server.url}})
        request = self.client.begin("tools/call", "t", name="call_tool", arguments={"name": "far__progress"})
        self.assertEqual(self.client.answer(request)["result"]["structuredContent"], {"result": "done"})
        self.assertEqual([n["params"]["progress"] for n in self.client.notifications], [1, 2])
        request = self.client.begin("tools/call", name="call_tool", arguments={"name": "far__hang"})
        self.server.wait_for("hangs")
        self.client.cancel(request)
        self.server.wait_for("closed")
        self.assertEqual(self.server.seen("notifications/cancelled"), [])  # closing is what says it
        self.server.wait_for("listening")
        self.call("far__grow")
        self.server.wait_for("tools/list", 2)
        eventually(lambda: "server far: 19 tools" in self.daemon.log_text(), "the tool that is new")

    def test_bad_replies_are_errors_of_that_call_alone(self):
        self.begin({"far": {"url": self.server.url, "timeout_s": 2}})
        for tool, says in (
                ("redirect", "HTTP status 307 to http://127.0.0.1:1/elsewhere"), ("unauthorized", "status 401: invalid_token"),
                ("page", "a reply that is not an MCP answer"), ("strangers", "ended its reply without an answer"),
                ("breaks", "transfer closed"), ("nothing", "HTTP status 202"),
                ("headers_flood", "more than 65536 bytes of headers"), ("drips", "did not answer within 2.0 s"),
                ("comments", "too many messages without a request")):
            with self.subTest(tool):
                self.assertIn(says, self.call(f"far__{tool}").get("error", ""))
                self.assertEqual(self.call("far__add", a=1, b=1), {"result": {"sum": 2}})
        self.assertIn("secrets", self.call("far__unauthorized")["remedy"])
        error = self.call("far__refuse")
        self.assertEqual((error["error"], error["data"]), ("not today", {"again": "tomorrow"}))


class Legacy(RemoteTest):
    def setUp(self):
        super().setUp()
        self.server = self.enterContext(Server("legacy"))

    def test_a_session_is_kept_begun_again_when_it_is_forgotten_and_ended(self):
        self.begin({"far": {"url": self.server.url, "idle_s": 1}})
        headers = self.call("far__headers")["result"]
        self.assertEqual(headers["MCP-Protocol-Version"], "2025-06-18")
        self.assertRegex(headers["Mcp-Session-Id"], r"\A[0-9a-f]{32}\Z")
        self.assertNotIn("Mcp-Method", headers)
        self.call("far__forget")
        self.assertEqual(self.call("far__add", a=1, b=1), {"result": {"sum": 2}}, self.daemon.log_text())
        session = self.server.seen("tools/call")[-1]["Mcp-Session-Id"]
        self.assertNotEqual(session, headers["Mcp-Session-Id"])
        eventually(lambda: session in self.server.seen("delete"), "the end of the session")

    def test_changes_come_by_a_stream_of_their_own_and_cancellations_are_told(self):
        self.begin({"far": {"url": self.server.url}})
        request = self.client.begin("tools/call", name="call_tool", arguments={"name": "far__hang"})
        self.server.wait_for("hangs")
        self.client.cancel(request)
        self.server.wait_for("closed")
        self.server.wait_for("notifications/cancelled")
        self.server.wait_for("listening")
        before = len(self.server.seen("tools/list"))
        self.call("far__grow")
        self.server.wait_for("tools/list", before + 1)
        eventually(lambda: "server far: 19 tools" in self.daemon.log_text(), "the tool that is new")


class Places(RemoteTest):
    def test_a_unix_socket_and_an_import(self):
        path = self.folder / "socket"
        server = self.enterContext(Server(path=path))
        path.chmod(0o777)
        other = self.enterContext(Server("legacy"))
        code = self.folder / "mcp.json"
        code.write_text(json.dumps({"servers": {
            "far": {"type": "http", "url": server.url, "headers": {"Api-Key": SECRET}},
            "other": {"url": other.url}, "old": {"type": "sse", "url": "http://127.0.0.1:1/"}}}))
        self.begin({}, **{"import": [{"file": str(code)}]})
        answer = self.call("far__headers")
        self.assertEqual(answer.get("result", {}).get("Api-Key"), "[secret Api-Key]", (answer, self.daemon.log_text()))
        self.assertEqual(self.call("other__add", a=1, b=1), {"result": {"sum": 2}})
        self.assertIn("server 'old' is skipped", self.daemon.log_text())

    def test_a_certificate_is_checked_and_who_cannot_be_reached_is_named(self):
        certificate = self.folder / "server.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", certificate, "-out",
                        self.folder / "public.pem"], check=True, capture_output=True)
        with open(certificate, "a") as file:
            file.write((self.folder / "public.pem").read_text())
        (self.folder / "public.pem").chmod(0o644)
        server = self.enterContext(Server(certificate=certificate))
        self.begin({"far": {"url": server.url}, "gone": {"url": "http://127.0.0.1:1/"},
                    "known": {"url": server.url, "authorities": str(self.folder / "public.pem")}})
        self.assertRegex(self.call("far__add", a=1, b=1)["error"], "server 'far': .*certificate")
        self.assertEqual(self.call("known__add", a=1, b=1), {"result": {"sum": 2}}, self.daemon.log_text())
        self.assertIn("server 'gone'", self.call("gone__add")["error"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
