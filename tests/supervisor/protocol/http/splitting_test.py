"""RequestParser and Node.js must split the bytes of a connection into the same requests (request smuggling).

A proxy before the daemon and the daemon must agree where a request ends. Node's HTTP server (llhttp) stands for the
proxy. Whatever RequestParser accepts, Node must have read as the same request: the same method, target and body, at the
same place. RequestParser may refuse more than Node; it may not accept what Node refuses.
SEED and COUNT choose other generated requests: SEED=7 COUNT=100000 python3 splitting_test.py
"""
import base64
import json
import os
import pathlib
import random
import subprocess
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SEED, COUNT = int(os.environ.get("SEED", "20261126")), int(os.environ.get("COUNT", "20000"))

H = b"Host: localhost\r\n"
POST = b"POST /mcp HTTP/1.1\r\n" + H
NEXT = b"GET /next HTTP/1.1\r\n" + H + b"\r\n"
CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"

TABLE = {
    "a length": POST + b"Content-Length: 5\r\n\r\nhello" + NEXT,
    "chunks": POST + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS + NEXT,
    "chunks, in capitals": POST + b"TRANSFER-ENCODING: CHUNKED\r\n\r\n" + CHUNKS + NEXT,
    "chunks, with space around": POST + b"Transfer-Encoding: \t chunked \t \r\n\r\n" + CHUNKS + NEXT,
    "a size with zeros": POST + b"Transfer-Encoding: chunked\r\n\r\n000005\r\nhello\r\n000\r\n\r\n" + NEXT,
    "a size in capitals": POST + b"Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n" + NEXT,
    "length and chunks": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS + NEXT,
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + CHUNKS + NEXT,
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello" + NEXT,
    "a list of lengths": POST + b"Content-Length: 5,5\r\n\r\nhello" + NEXT,
    "a length with a sign": POST + b"Content-Length: +5\r\n\r\nhello" + NEXT,
    "a length with space": POST + b"Content-Length: 5 \r\n\r\nhello" + NEXT,
    "a length with a form feed": POST + b"Content-Length: 5\x0c\r\n\r\nhello" + NEXT,
    "an encoding of another name": POST + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS + NEXT,
    "identity": POST + b"Transfer-Encoding: identity\r\n\r\n" + NEXT,
    "identity and length": POST + b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello" + NEXT,
    "chunked first": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS + NEXT,
    "chunked last": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS + NEXT,
    "chunked with a vertical tab": POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n" + CHUNKS + NEXT,
    "encoding with a space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS + NEXT,
    "a folded encoding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + CHUNKS + NEXT,
    "an encoding after LF": POST + b"X: a\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS + NEXT,
    "an encoding after CR": POST + b"X: a\rTransfer-Encoding: chunked\r\n\r\n" + CHUNKS + NEXT,
    "a head that ends with LF LF": POST.replace(b"\r\n", b"\n") + b"\n" + NEXT,
    "a head that ends with CR LF LF": POST + b"\n" + NEXT,
    "empty lines before": b"\r\n\r\n" + NEXT,
    "a body of empty lines": POST + b"Content-Length: 4\r\n\r\n\r\n\r\n" + NEXT,
    "bytes after a GET": NEXT + b"hello" + NEXT,
    "a GET with a length": b"GET /a HTTP/1.1\r\n" + H + b"Content-Length: 5\r\n\r\nhello" + NEXT,
    "a HEAD with a length": b"HEAD /a HTTP/1.1\r\n" + H + b"Content-Length: 5\r\n\r\nhello" + NEXT,
    "a DELETE with chunks": b"DELETE /a HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS + NEXT,
    "HTTP/1.0 with chunks": b"POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS + NEXT,
    "HTTP/1.0 with a length": b"POST /a HTTP/1.0\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello" + NEXT,
    "close": b"GET /a HTTP/1.1\r\n" + H + b"Connection: close\r\n\r\n",
    "an upgrade": b"GET /a HTTP/1.1\r\n" + H + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + NEXT,
    "CONNECT": b"CONNECT localhost:80 HTTP/1.1\r\n" + H + b"\r\n" + NEXT,
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a chunk with an extension": POST + b"Transfer-Encoding: chunked\r\n\r\n5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n" + NEXT,
    "a chunk size with a prefix": POST + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n" + NEXT,
    "a chunk size with space": POST + b"Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n" + NEXT,
    "a chunk size that overflows": POST + b"Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
    "a chunk line that ends with LF": POST + b"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n" + NEXT,
    "chunk data that ends with LF": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n" + NEXT,
    "chunk data that goes on": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n" + NEXT,
    "a trailer": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\r\n\r\n" + NEXT,
    "an empty trailer line with LF": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\n" + NEXT,
    "two hosts": POST + H + b"\r\n" + NEXT,
    "no host": b"GET / HTTP/1.1\r\n\r\n" + NEXT,
    "expect": POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello" + NEXT,
    "a field of a dot": POST + b".: a\r\n\r\n" + NEXT,
    "a field name with a space": POST + b"Content Length: 5\r\n\r\nhello" + NEXT,
    "a field name with a NUL": POST + b"Content-Length\0: 5\r\n\r\nhello" + NEXT,
    "a value beyond ASCII": POST + b"X: \xc3\xa9\xff\r\n\r\n" + NEXT,
    "a length in digits beyond ASCII": POST + "Content-Length: ٥\r\n\r\n".encode() + NEXT,
}

# What generated requests are made of.
WORDS = [b"GET", b"POST", b"DELETE", b"HEAD", b"PUT", b"get", b"CONNECT", b" ", b"  ", b"\t", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0",
         b"/mcp", b"/", b"*", b"http://localhost/", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.", b":", b": ", b" :", b",", b";", b"=", b'"',
         b"Host", b"host", H, b"Content-Length", b"content-length", b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length: 10\r\n",
         b"Transfer-Encoding", b"Transfer-Encoding: chunked\r\n", b"chunked", b"identity", b"gzip", b"Connection: close\r\n", b"Connection: keep-alive\r\n",
         b"Connection: upgrade\r\n", b"Upgrade: websocket\r\n", b"Expect: 100-continue\r\n", b"Trailer: X\r\n", b"X: a\r\n", b" folded\r\n",
         b"0", b"5", b"a", b"A", b"0x5", b"+5", b"-1", b"00", b"ffffffffffffffff", b"5\r\nhello\r\n", b"0\r\n\r\n", b"0\r\n", b"hello", b";a=b",
         b"\x0b", b"\x0c", b"\x7f", b"\x80", b"\xff", NEXT, POST, CHUNKS]


def generated(chance):
    """A sequence of valid requests with some changes: words put in, cut out, written over or doubled."""
    bytes_ = bytearray()
    for _ in range(chance.randint(1, 3)):
        fields = [H] + chance.sample([b"X: a\r\n", b"Accept: */*\r\n", b"Connection: keep-alive\r\n", b"Y:b\r\n"], chance.randint(0, 2))
        kind = chance.randrange(3)
        body = b""
        if kind == 1:
            body = bytes(chance.choices(b"ab\r\n05", k=chance.randint(0, 12)))
            fields.append(b"Content-Length: %d\r\n" % len(body))
        elif kind == 2:
            fields.append(b"Transfer-Encoding: chunked\r\n")
            for _ in range(chance.randint(0, 3)):
                part = bytes(chance.choices(b"ab\r\n05", k=chance.randint(1, 12)))
                body += b"%x\r\n" % len(part) + part + b"\r\n"
            body += b"0\r\n\r\n"
        chance.shuffle(fields)
        method = chance.choice([b"POST", b"GET", b"DELETE"])
        bytes_ += method + b" /" + bytes(chance.choices(b"abc", k=2)) + b" HTTP/1.1\r\n" + b"".join(fields) + b"\r\n" + body
    for _ in range(chance.randint(0, 3)):
        place = chance.randrange(len(bytes_) + 1)
        word = chance.choice(WORDS)
        way = chance.randrange(4)
        if way == 0:
            bytes_[place:place] = word
        elif way == 1:
            del bytes_[place:place + chance.randint(1, 8)]
        elif way == 2:
            bytes_[place:place + len(word)] = word
        else:
            end = min(len(bytes_), place + chance.randint(1, 40))
            bytes_[place:place] = bytes_[place:end]
    return bytes(bytes_)


def run(command, inputs):
    lines = "".join(base64.b64encode(one).decode() + "\n" for one in inputs)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def difference(ours, node):
    """Why the two readings do not fit together; None: they do."""
    if ours["requests"] != node["requests"][:len(ours["requests"])]:
        return "split differently"
    if ours["state"] not in ("refused", "closed") and len(node["requests"]) > len(ours["requests"]):
        return "RequestParser waits where Node has read a request"
    return None


class SplittingTest(unittest.TestCase):
    def compare(self, named):
        ours = run([os.environ["SPLITTER"]], named.values())
        node = run([os.environ.get("NODE", "node"), str(HERE / "node_splitter.cjs")], named.values())
        self.assertEqual((len(ours), len(node)), (len(named), len(named)))
        accepted = 0
        for (name, bytes_), mine, other in zip(named.items(), ours, node):
            why = difference(mine, other)
            accepted += bool(mine["requests"])
            self.assertIsNone(why, f"{name}: {bytes_!r}: {mine} but Node: {other}")
        return accepted

    def test_hostile_requests(self):
        accepted = self.compare(TABLE)
        self.assertGreater(accepted, 10)

    def test_generated_requests(self):
        chance = random.Random(SEED)
        inputs = {f"seed {SEED}, request {i}": generated(chance) for i in range(COUNT)}
        accepted = self.compare(inputs)
        print(f"{COUNT} generated byte streams; in {accepted} of them RequestParser accepted a request")
        self.assertGreater(accepted, COUNT // 3)


if __name__ == "__main__":
    unittest.main()
