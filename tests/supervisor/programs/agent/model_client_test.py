"""The client of the model's server, against servers that play hostile and broken ones."""
import asyncio
import calendar
import contextlib
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from agent_modules import arguments, only_environment
from agent.failure import Failure, Kind
from agent.http_client import MAX_BODY_BYTES, HttpClient, Reply
from agent.model_client import ModelClient, is_temporary, retry_after
from agent.settings import read_settings
from agent.urls import parse_url

PATIENCE = 20  # seconds; a fault would wait for ever
OK = b"HTTP/1.1 200 OK\r\n"
PLAIN = json.dumps({"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}]}).encode()


def plain(body=PLAIN, fields=b""):
    return OK + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Server:
    """Each connection gets the next list of replies, one for each request, and is closed after the last."""

    def __init__(self, *connections, tls=None, address="127.0.0.1"):
        self.connections, self.tls, self.address, self.requests = list(connections), tls, address, []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, self.address, 0, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def serve(self, reader, writer):
        with contextlib.suppress(OSError, EOFError):
            for reply in self.connections.pop(0):
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:"))
                self.requests.append((head, await reader.readexactly(length)))
                writer.write(reply)
                await writer.drain()
        writer.close()


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        only_environment(self, LLM_API_KEY="secret")
        self.lines = []

    async def post(self, *connections):
        """The reply to one request, whole."""
        async with Server(*connections) as server:
            return await self.whole(HttpClient(parse_url(server.url)))

    async def whole(self, client):
        reply = await client.post("/x", {"A": "b"}, b"{}")
        body = b""
        while part := await reply.read():
            body += part
        return reply, body

    def client(self, url, **flags):
        return ModelClient(read_settings(arguments(base_url=url, retry_pause="0.001", **flags)), self.lines.append)

    async def ask(self, server, **flags):
        return await self.client(server.url, **flags).ask("Be brief.", [], [])


class Http(Case):
    async def test_bodies_with_a_length_in_chunks_and_until_the_end(self):
        for reply in (plain(b"abc"), OK + b"Transfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n", OK + b"\r\nabc",
                      b"HTTP/1.1 100 Continue\r\n\r\n" + plain(b"abc"), b"HTTP/1.0 200\r\n\r\nabc"):
            with self.subTest(reply=reply):
                self.assertEqual((await self.post([reply]))[1], b"abc")

    async def test_replies_without_a_body_leave_the_connection_open(self):
        replies = [b"HTTP/1.1 %d X\r\n%s\r\n" % reply for reply in
                   ((204, b""), (304, b"Content-Length: 9\r\n"), (304, b"Transfer-Encoding: chunked\r\n"))]
        async with Server([*replies, plain(b"abc")]) as server, asyncio.timeout(PATIENCE):
            client = HttpClient(parse_url(server.url))
            self.assertEqual([(await self.whole(client))[1] for _ in range(4)], [b"", b"", b"", b"abc"])

    async def test_bytes_after_a_reply_are_not_the_next_reply(self):
        async with Server([plain(b"one") + plain(b"forged"), plain(b"late")], [plain(b"two"), plain(b"three")]) as server:
            client = HttpClient(parse_url(server.url))
            self.assertEqual([(await self.whole(client))[1] for _ in range(3)], [b"one", b"two", b"three"])
        self.assertEqual(len(server.requests), 3)

    async def test_other_tasks_run_between_parts_that_have_arrived(self):
        async def parts():
            for _ in range(100):
                yield b"x"
        rounds = 0

        async def count():
            nonlocal rounds
            while True:
                rounds += 1
                await asyncio.sleep(0)
        counter = asyncio.create_task(count())
        reply = Reply(200, {}, parts())
        while await reply.read():
            pass
        counter.cancel()
        self.assertGreaterEqual(rounds, 100)

    async def test_a_request_has_its_path_host_and_body(self):
        async with Server([plain()]) as server:
            await self.whole(HttpClient(parse_url(server.url)))
        head, body = server.requests[0]
        self.assertEqual(head.split(b"\r\n")[:4], [b"POST /v1/x HTTP/1.1", b"Host: " + server.url[7:-3].encode(), b"A: b", b"Content-Length: 2"])
        self.assertEqual(body, b"{}")

    async def test_broken_replies_are_unavailable(self):
        for reply in (b"nonsense\r\n\r\n", b"", b"HTTP/1.1 20 OK\r\n\r\n", OK + b"Content-Length: 5\r\n\r\nabc", OK + b"Content-Length: -1\r\n\r\n",
                      OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", OK):
            with self.subTest(reply=reply), self.assertRaises(Failure) as caught:
                await self.post([reply])
            self.assertEqual(caught.exception.kind, Kind.UNAVAILABLE)

    async def test_heads_and_bodies_are_bounded(self):
        for reply, text in ((OK + b"X: " + b"a" * (70 << 10) + b"\r\n\r\n", "bytes of headers"),
                            (OK + b"\r\n" + b"a" * (MAX_BODY_BYTES + 1), "larger than 16777216 bytes")):
            with self.assertRaisesRegex(Failure, text) as caught:
                await self.post([reply])
            self.assertEqual(caught.exception.kind, Kind.OTHER)

    async def test_a_connection_serves_several_requests(self):
        async with Server([plain(b"1"), plain(b"2")]) as server:
            client = HttpClient(parse_url(server.url))
            self.assertEqual([(await self.whole(client))[1] for _ in range(2)], [b"1", b"2"])

    async def test_a_connection_that_was_closed_meanwhile_is_replaced(self):
        async with Server([plain(b"1")], [plain(b"2", b"Connection: close\r\n")], [plain(b"3")]) as server:
            client = HttpClient(parse_url(server.url))
            self.assertEqual([(await self.whole(client))[1] for _ in range(3)], [b"1", b"2", b"3"])

    async def test_a_redirect_is_not_followed_and_no_proxy_is_used(self):
        only_environment(self, http_proxy="http://127.0.0.1:1", HTTP_PROXY="http://127.0.0.1:1")
        reply, _ = await self.post([b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"])
        self.assertEqual((reply.status, reply.headers["location"]), (307, "http://127.0.0.1:1/"))

    async def test_certificates_are_checked(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=a",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key", "-out", folder / "cert"], check=True, capture_output=True)
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(folder / "cert", folder / "key")
        only_environment(self, SSL_CERT_FILE=str(folder / "cert"))  # the system's authorities count
        async with Server([plain()], [plain()], tls=tls) as server:
            with self.assertRaisesRegex(Failure, "the certificate is not valid: self.signed certificate"):
                await self.whole(HttpClient(parse_url(server.url)))
            trusting = ssl.create_default_context(cafile=folder / "cert")
            self.assertEqual((await self.whole(HttpClient(parse_url(server.url), trusting)))[1], PLAIN)
            with self.assertRaisesRegex(Failure, "the certificate is not valid: .*localhost"):
                await self.whole(HttpClient(parse_url(server.url.replace("127.0.0.1", "localhost")), trusting))


class Model(Case):
    async def test_a_reply_that_broke_off_is_asked_for_again(self):
        cut = OK + b'Content-Type: text/event-stream\r\n\r\ndata: {"choices": [{"delta": {"content": "Do"}}]}\n\n'
        async with Server([cut], [plain()]) as server:
            self.assertEqual((await self.ask(server)).text, "Done.")
        self.assertEqual(self.lines, ["the model's reply broke off; asked again in 0.001 s"])
        self.assertEqual(server.requests[0][1], server.requests[1][1])

    async def test_a_whole_stream_counts_although_its_connection_breaks(self):
        stream = b'data: {"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}]}\n\n'
        reply = OK + b"Content-Type: text/event-stream; charset=utf-8\r\nContent-Length: 500\r\n\r\n" + stream
        async with Server([reply]) as server:
            self.assertEqual((await self.ask(server)).text, "Done.")

    async def test_retries_end_after_their_number_and_pauses_grow(self):
        async with Server(*[[b"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy"]] * 4) as server:
            with self.assertRaises(Failure) as caught:
                await self.ask(server, retries="3")
        self.assertEqual(caught.exception.text, "the model's server answers with status 503: busy (asked 4 times)")
        self.assertEqual([line.rpartition(" in ")[2] for line in self.lines], ["0.001 s", "0.002 s", "0.004 s"])

    async def test_a_retry_after_counts_instead_of_the_pause(self):
        async with Server([b"HTTP/1.1 429 X\r\nRetry-After: 0.002\r\nContent-Length: 0\r\n\r\n"], [plain()]) as server:
            await self.ask(server)
        self.assertTrue(self.lines[0].endswith("in 0.002 s"), self.lines)
        async with Server([b"HTTP/1.1 429 X\r\nRetry-After: 601\r\nContent-Length: 0\r\n\r\n"]) as server:
            with self.assertRaisesRegex(Failure, "it asks to wait for 601 s") as caught:
                await self.ask(server)
        self.assertEqual(caught.exception.hint, "resume the run later")

    async def test_a_refusal_names_its_remedy_and_hides_the_key(self):
        for status, hint in ((401, "check the key"), (403, "check the key"), (404, "check --base-url"), (400, "")):
            body = b'{"error": {"message": "no secret\\u001b[2J"}}'
            async with Server([b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body]) as server:
                with self.assertRaises(Failure) as caught:
                    await self.ask(server)
            self.assertEqual(caught.exception.text, f"the model's server answers with status {status}: no [key]\\x1b[2J")
            self.assertEqual(caught.exception.hint[:len(hint) or None], hint)
            self.assertEqual((caught.exception.kind, self.lines), (Kind.OTHER, []))

    async def test_localhost_is_this_machine_and_is_not_looked_up(self):
        names = []  # that were looked up
        sys.addaudithook(lambda event, values: names.append(values[0]) if event == "socket.getaddrinfo" else None)
        has_ipv6 = any(f"{1:032x} " in file.read_text() for file in pathlib.Path("/proc/net").glob("if_inet6"))
        for address in ("127.0.0.1", "::1") if has_ipv6 else ("127.0.0.1",):
            async with Server([plain()], address=address) as server:
                client = self.client(f"http://localhost:{server.port}/v1", retries="0")
                self.assertEqual((await client.ask("", [], [])).text, "Done.")
        with self.assertRaisesRegex(Failure, "Connection refused"):
            await self.client("http://localhost:1", retries="0").ask("", [], [])
        self.assertEqual(names, [])

    async def test_a_host_that_is_no_name_is_not_asked_again(self):
        for host in ("a..b", "a" * 64 + ".example"):
            with self.assertRaisesRegex(Failure, "the name of the host is not valid$") as caught:
                await self.client(f"https://{host}").ask("", [], [])
            self.assertEqual((caught.exception.kind, self.lines), (Kind.INVALID, []))

    async def test_a_server_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(Failure, r"^the model's server at http://127.0.0.1:1: .*\(asked 2 times\)"):
            await self.client("http://127.0.0.1:1", retries="1").ask("", [], [])


class Rules(unittest.TestCase):
    def test_retry_after_is_a_number_of_seconds_or_a_date_and_anything_else_asks_for_no_pause(self):
        self.assertEqual((retry_after("3"), retry_after("0.25"), retry_after("0.0001")), (3, 0.25, 0.001))
        self.assertEqual(retry_after("Thu, 01 Jan 1970 00:00:01 GMT"), 0)  # past
        later = time.gmtime(calendar.timegm(time.gmtime()) + 3600)
        pause = retry_after(time.strftime("%a, %d %b %Y %H:%M:%S GMT", later))
        self.assertTrue(pause and 3590 < pause <= 3600, pause)
        for wrong in ("", "-1", "soon", "1e9", "9999999", "1.2.3", ".", "Thu, 01 Jan 1970 00:00:01", "3 s", "nan"):
            self.assertIsNone(retry_after(wrong), wrong)

    def test_busy_and_failing_servers_are_asked_again(self):
        self.assertEqual([status for status in range(200, 600) if is_temporary(status)], [408, 409, 425, 429, *range(500, 600)])


if __name__ == "__main__":
    unittest.main()
