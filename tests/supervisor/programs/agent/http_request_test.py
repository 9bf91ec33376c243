"""Requests to --listen, from bytes: what is read, what is refused, and with which status."""
import asyncio
import unittest

import agent_modules  # noqa: F401
from agent.http_request import MAX_BODY_BYTES, MAX_CHUNKS, MAX_HEAD_BYTES, Refused, read_body, read_head

HOST = b"Host: localhost\r\n"


def head(*fields, line=b"POST /task HTTP/1.1"):
    return b"\r\n".join([line, *(fields or (b"Host: localhost",)), b"", b""])


class Requests(unittest.IsolatedAsyncioTestCase):
    async def read(self, data):
        reader = asyncio.StreamReader(limit=MAX_HEAD_BYTES)
        reader.feed_data(data)
        reader.feed_eof()
        request = await read_head(reader)
        return request, await read_body(reader, request)

    async def refused(self, data):
        with self.assertRaises(Refused) as caught:
            await self.read(data)
        return caught.exception.status

    async def test_a_request_with_a_length(self):
        request, body = await self.read(head(b"Host: localhost:80", b"X-A:  b \t", b"Content-Length: 5", line=b"POST /a?b HTTP/1.1") + b"12345rest")
        self.assertEqual((request.method, request.path, request.target, body), ("POST", "/a", "/a?b", b"12345"))
        self.assertEqual(request.fields, [("host", "localhost:80"), ("x-a", "b"), ("content-length", "5")])

    async def test_a_request_in_chunks(self):
        _, body = await self.read(head(b"Host: a", b"Transfer-Encoding: chunked") + b"3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n")
        self.assertEqual(body, b"abc0123456789")

    async def test_a_repeated_field_has_no_value(self):
        request, _ = await self.read(head(b"Host: a", b"Origin: x", b"origin: y"))
        self.assertEqual((request.field("origin"), request.count("origin"), request.field("absent")), (None, 2, None))

    async def test_a_client_may_wait_for_100_continue(self):
        self.assertTrue((await self.read(head(b"Host: a", b"Expect: 100-Continue")))[0].expects_continue)
        self.assertEqual(await self.refused(head(b"Host: a", b"Expect: 200-ok")), 417)
        self.assertEqual(await self.refused(head(b"Host: a", b"Expect: 100-continue", b"Expect: 100-continue")), 400)
        self.assertEqual(await self.refused(head(b"Host: a", b"Expect: 100-continue", line=b"GET / HTTP/1.0")), 417)

    async def test_a_head_that_readers_understand_differently_is_refused(self):
        for data in (b"nonsense\r\n\r\n", b"\r\n\r\n", b"POST /task HTTP/1.1\n" + HOST + b"\r\n", head(b"Host: a", b" folded"),
                     head(b"Host: a", b"\tfolded"), head(b"Host: a", b"X: a\rb"), head(b"Host: a", b"X: a\0b"), head(b"Host: a", b"X y: 1"),
                     head(b"Host: a", b"X : 1"), head(b"Host: a", b": 1"), head(b"Host: a", b"X"), head(line=b"POST  /task HTTP/1.1"),
                     head(line=b"POST /task HTTP/2.0"), head(line=b"POST /task"), head(line=b" POST /task HTTP/1.1")):
            with self.subTest(data=data):
                self.assertEqual(await self.refused(data), 400)

    async def test_targets_and_methods(self):
        for line, status in ((b"BREW / HTTP/1.1", 501), (b"get / HTTP/1.1", 501), (b"CONNECT a:1 HTTP/1.1", 501), (b"GET http://a/ HTTP/1.1", 400),
                             (b"GET /#a HTTP/1.1", 400), (b"GET /\xff HTTP/1.1", 400), (b"OPTIONS * HTTP/1.1", 400)):
            with self.subTest(line=line):
                self.assertEqual(await self.refused(head(line=line)), status)

    async def test_one_host_field_is_needed_and_holds_a_host(self):
        for fields in ((b"X: y",), (b"Host: a", b"Host: a"), (b"Host: a/b",), (b"Host: a b",), (b"Host: " + b"a" * 256,)):
            self.assertEqual(await self.refused(head(*fields)), 400)
        self.assertTrue((await self.read(head(b"X: y", line=b"GET / HTTP/1.0")))[0].is_http_1_0)

    async def test_the_length_of_a_body_is_certain_and_bounded(self):
        for fields, status in (((b"Content-Length: 1", b"Content-Length: 1"), 400), ((b"Content-Length: 1", b"Transfer-Encoding: chunked"), 400),
                               ((b"Content-Length: +1",), 400), ((b"Content-Length: 1, 1",), 400), ((b"Content-Length:  1",), 400),
                               ((b"Content-Length: 1 ",), 400), ((b"Content-Length: 1234567890123456",), 400), ((b"Content-Length:",), 400),
                               ((b"Content-Length: %d" % (MAX_BODY_BYTES + 1),), 413), ((b"Transfer-Encoding: gzip, chunked",), 501)):
            with self.subTest(fields=fields):
                self.assertEqual(await self.refused(head(b"Host: a", *fields) + b"1"), status)
        self.assertEqual(await self.refused(head(b"Host: a", b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0")), 400)

    async def test_chunks_are_strict_and_bounded(self):
        for chunks, status in ((b"1;x=y\r\na\r\n0\r\n\r\n", 400), (b"g\r\n", 400), (b"\r\n", 400), (b"1\na", 400), (b"1\r\nab", 400),
                               (b"0\r\nX: y\r\n\r\n", 400), (b"-1\r\n", 400), (b"0000000000000001\r\n", 400), (b"200001\r\n", 413),
                               (b"1\r\na\n0\r\n\r\n", 400), (b"1\n\r\na\r\n", 400), (b"0\n\r\n", 400), (b"0" * (MAX_HEAD_BYTES + 1), 400),
                               (b"1\r\na\r\n" * (MAX_CHUNKS + 1), 413)):
            with self.subTest(chunks=chunks[:32]):
                self.assertEqual(await self.refused(head(b"Host: a", b"Transfer-Encoding: chunked") + chunks), status)

    async def test_a_body_may_have_many_chunks(self):
        _, body = await self.read(head(b"Host: a", b"Transfer-Encoding: chunked") + b"1\r\na\r\n" * MAX_CHUNKS + b"0\r\n\r\n")
        self.assertEqual(body, b"a" * MAX_CHUNKS)

    async def test_a_head_is_bounded_in_bytes_and_fields(self):
        self.assertEqual(await self.refused(head(b"Host: a", b"X: " + b"a" * MAX_HEAD_BYTES)), 431)
        self.assertEqual(await self.refused(head(b"Host: a", *[b"X: " + b"a" * 1000] * 33)), 431)
        self.assertEqual(await self.refused(head(b"Host: a", *[b"X: a"] * 100)), 431)
        self.assertEqual(len((await self.read(head(b"Host: a", *[b"X: a"] * 99)))[0].fields), 100)

    async def test_a_client_that_leaves_early_gets_no_answer(self):
        for data in (b"", b"POST /ta", head()[:-1], head(b"Host: a", b"Content-Length: 5") + b"1234"):
            with self.assertRaises(EOFError):
                await self.read(data)


if __name__ == "__main__":
    unittest.main()
