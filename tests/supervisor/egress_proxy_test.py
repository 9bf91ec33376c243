"""warder-egress alone, with warderd played by the test: requests that reach a host, and refusals. Program: $WARDER_EGRESS."""
import contextlib
import json
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from egress_harness import (PATIENCE, EgressClient, EgressProcess, NameServer, Web, ask, connect, make_certificate, received,
                            split_reply)

SECRET = "Bearer s3cr3t-0123456789"


def hello_for(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory()) if hasattr(cls, "enterClassContext") else None
        if folder is None:
            holder = tempfile.TemporaryDirectory()
            cls.addClassCleanup(holder.cleanup)
            folder = holder.name
        cls.certificate = make_certificate(folder, "api.example.test", "*.wide.test", "other.test")
        cls.names = NameServer()
        cls.plain, cls.tls = Web(), Web(cls.certificate)
        cls.process = EgressProcess("--name-servers", cls.names.address, "--authorities", str(cls.certificate[0]))
        cls.addClassCleanup(cls.process.stop)
        for one in (cls.names, cls.plain, cls.tls):
            cls.addClassCleanup(one.close)

    def setUp(self):
        self.names.answers = {name: ["127.0.0.1"] for name in ("api.example.test", "a.wide.test", "b.wide.test", "other.test", "plain.test")}
        self.names.asked.clear()
        self.plain.seen.clear()
        self.tls.seen.clear()
        self.client = EgressClient(self.process.socket)
        self.addCleanup(self.client.close)

    def open(self, *rules, **more):
        return self.client.open([{"loopback": True, **rule} for rule in rules], **more)

    def tunnel(self, proxy, host="api.example.test", sni=None, port=None):
        """A TLS connection through the proxy."""
        sock = connect(proxy)
        self.addCleanup(sock.close)
        port = port or self.tls.port
        sock.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        reply = b""
        while b"\r\n\r\n" not in reply:
            part = sock.recv(4096)
            if not part:
                break
            reply += part
        self.assertTrue(reply.startswith(b"HTTP/1.1 200 "), reply)
        context = ssl.create_default_context(cafile=str(self.certificate[0]))
        if sni is not None:
            context.check_hostname = False
        return context.wrap_socket(sock, server_hostname=(host if sni is None else sni) or None)

    def refused(self, reply, status, *parts):
        got, headers, body = split_reply(reply)
        self.assertEqual(got, status, reply)
        self.assertEqual(headers["content-type"], "application/json")
        told = json.loads(body)
        for part in parts:
            self.assertIn(part, json.dumps(told))
        return told


class Allowed(Case):
    def test_a_tunnel_carries_tls_and_is_reported_first(self):
        proxy = self.open({"name": "api", "host": "*.wide.test", "ports": [self.tls.port]})
        with self.tunnel(proxy, "a.wide.test") as sock:
            sock.sendall(b"GET /x HTTP/1.1\r\nHost: a.wide.test\r\nConnection: close\r\n\r\n")
            status, _, body = split_reply(received(sock))
        self.assertEqual((status, json.loads(body)["path"]), (200, "/x"))
        entry = self.client.event("request")
        self.assertEqual({key: entry[key] for key in ("method", "host", "port", "verdict", "rule", "address", "cause")},
                         {"method": "CONNECT", "host": "a.wide.test", "port": self.tls.port, "verdict": "allowed",
                          "rule": "egress.rules[0] (api)", "address": "127.0.0.1", "cause": ""})
        totals = self.client.totals(1)
        self.assertEqual((totals["requests"], totals["denied"]), (1, 0))
        self.assertGreater(totals["bytes_up"], 300)
        self.assertGreater(totals["bytes_down"], 500)

    def test_a_connect_of_http_1_0_is_taken(self):
        proxy = self.open({"host": "api.example.test", "ports": [self.tls.port]})
        with connect(proxy) as sock:
            sock.sendall(f"CONNECT api.example.test:{self.tls.port} HTTP/1.0\r\n\r\n".encode())
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200 "))

    def test_plain_requests_one_after_another_are_judged_each(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]})
        first = f"POST http://plain.test:{self.plain.port}/a?b=c HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 5\r\nX-Mine: 1\r\n" \
                "Proxy-Authorization: Basic x\r\nConnection: X-Drop\r\nX-Drop: 1\r\n\r\nhello"
        second = "GET http://other.test/ HTTP/1.1\r\nHost: plain.test\r\n\r\n"
        reply = ask(proxy, (first + second).encode())
        status, headers, body = split_reply(reply)
        self.assertEqual(status, 200)
        told = json.loads(body)
        self.assertEqual((told["method"], told["path"], told["bytes"]), ("POST", "/a?b=c", 5))
        self.assertEqual(told["headers"]["Host"], f"plain.test:{self.plain.port}")
        self.assertEqual(told["headers"]["x-mine"], "1")
        lower = {name.lower() for name in told["headers"]}
        self.assertFalse(lower & {"proxy-authorization", "x-drop"}, lower)
        self.assertIn(b"HTTP/1.1 403 ", reply[reply.index(b"0\r\n\r\n"):])
        self.assertEqual(self.client.event("request")["path"], "/a")  # without the query
        self.assertEqual(self.client.event("request")["verdict"], "denied")
        self.assertEqual(self.names.asked, ["plain.test"])

    def test_a_redirect_is_not_followed(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]})
        status, headers, _ = split_reply(ask(proxy, f"GET http://plain.test:{self.plain.port}/moved HTTP/1.0\r\n\r\n".encode()))
        self.assertEqual((status, headers["location"]), (302, "http://127.0.0.1:1/"))

    def test_a_head_has_its_length_and_no_body(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]})
        request = f"HEAD http://plain.test:{self.plain.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        status, headers, body = split_reply(ask(proxy, request.encode()))
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["content-length"]), 10)

    def test_a_client_that_waits_for_100_continue(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]})
        with connect(proxy) as sock:
            sock.sendall(f"POST http://plain.test:{self.plain.port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                         "Expect: 100-continue\r\nConnection: close\r\n\r\n".encode())
            self.assertEqual(sock.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
            sock.sendall(b"abc")
            status, _, body = split_reply(received(sock))
        self.assertEqual((status, json.loads(body)["bytes"]), (200, 3))

    def test_a_person_decides(self):
        proxy = self.open({"host": "api.example.test", "ports": [self.tls.port], "verdict": "ask"})
        for allow in (True, False):
            with connect(proxy) as sock:
                sock.sendall(f"CONNECT api.example.test:{self.tls.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                asked = self.client.event("ask")
                self.assertEqual((asked["verdict"], asked["host"]), ("ask", "api.example.test"))
                self.client.send({"order": "decide", "question": asked["question"], "allow": allow})
                reply = sock.recv(4096)
            if allow:
                self.assertTrue(reply.startswith(b"HTTP/1.1 200 "), reply)
            else:
                self.refused(reply, 403, "a person refused it")

    def test_curl_goes_through(self):
        proxy = self.open({"host": "api.example.test", "ports": [self.tls.port]}, {"host": "plain.test", "ports": [self.plain.port]})
        environment = {"https_proxy": f"http://127.0.0.1:{proxy}", "http_proxy": f"http://127.0.0.1:{proxy}", "PATH": "/usr/bin:/bin"}
        for url in (f"https://api.example.test:{self.tls.port}/curl", f"http://plain.test:{self.plain.port}/curl"):
            got = subprocess.run(["curl", "-sS", "--cacert", str(self.certificate[0]), url], env=environment, capture_output=True,
                                 timeout=PATIENCE, check=True)
            self.assertEqual(json.loads(got.stdout)["path"], "/curl")


class Secrets(Case):
    def setUp(self):
        super().setUp()
        self.proxy = self.client.open(
            [{"loopback": True, "host": "api.example.test", "ports": [self.tls.port], "methods": ["GET", "POST"],
              "paths": ["/v1/*", "/split*"], "secret": {"header": "X-Key", "file": "/unread"}},
             {"loopback": True, "host": "*.example.test", "ports": [self.tls.port]}], secrets=[SECRET, ""])

    def get(self, path, *headers, method="GET"):
        lines = [f"{method} http://api.example.test{path} HTTP/1.1", "Host: api.example.test", "Connection: close", *headers]
        return ask(self.proxy, ("\r\n".join(lines) + "\r\n\r\n").encode())

    def test_the_host_gets_the_header_over_tls_and_code_sees_it_nowhere(self):
        reply = self.get("/v1/users?x=1", "X-Key: mine", "Accept-Encoding: gzip")
        status, _, body = split_reply(reply)
        self.assertEqual(status, 200)
        _, path, headers, _ = self.tls.seen[0]
        self.assertEqual((path, headers["X-Key"]), ("/v1/users?x=1", SECRET))
        self.assertNotIn("accept-encoding", {name.lower() for name in headers})
        self.assertEqual(json.loads(body)["headers"]["X-Key"], "[secret]")
        self.assertNotIn(b"s3cr3t", reply)

    def test_a_get_with_a_body_stays_a_get(self):
        reply = ask(self.proxy, b"GET http://api.example.test/v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-HTTP-Method-Override: DELETE\r\nX_HTTP_Method_Override: DELETE\r\n"
                    b"Connection: close\r\n\r\nhello")
        self.assertEqual(split_reply(reply)[0], 200)
        method, _, headers, body = self.tls.seen[0]
        self.assertEqual((method, body), ("GET", b"hello"))
        self.assertNotIn("x-http-method-override", {name.lower().replace("_", "-") for name in headers})

    def test_a_secret_in_two_chunks_and_in_a_header_is_hidden(self):
        reply = self.get("/split")
        status, headers, body = split_reply(reply)
        self.assertEqual((status, body, headers["x-echo"]), (200, b"<[secret]>", "[secret]"))
        self.assertNotIn(b"s3cr3t", reply)

    def test_no_way_around_the_rule(self):
        connect_line = f"CONNECT api.example.test:{self.tls.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        told = self.refused(ask(self.proxy, connect_line), 403, "takes no tunnel", "egress.rules[0]")
        self.assertIn("http://api.example.test", told["remedy"])
        self.refused(self.get("/v2/users"), 403, "does not have this path", "/v1/*")
        self.refused(self.get("/v1/../v2"), 403, "another path")
        self.refused(self.get("/v1/users", method="DELETE"), 403, "no method DELETE")
        self.assertEqual(self.tls.seen, [])
        self.assertEqual(self.names.asked, [])


class Refused(Case):
    def test_disguised_names(self):
        proxy = self.open({"host": "*.example.test", "ports": [443]})
        for name in ("127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost",
                     "api.example.test.", "api.example.test%00.evil.test", "api.example.test@evil.test",
                     "api.example.test:443:80", "fe80::1%lo", "-a.example.test", "a..example.test", "*.example.test",
                     "169.254.169.254", "1.2.3.0x4"):
            with self.subTest(name):
                self.refused(ask(proxy, f"CONNECT {name}:443 HTTP/1.1\r\nHost: x\r\n\r\n".encode()), 400)
        for port in ("", "0", "65536", "0443", "+443", "-1", "4 43"):
            with self.subTest(port):
                reply = ask(proxy, f"CONNECT api.example.test:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                self.assertTrue(reply.startswith(b"HTTP/1.1 400 "), reply)
        for port in (22, 25):
            self.refused(ask(proxy, f"CONNECT api.example.test:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()), 403, f"no port {port}")
        self.assertEqual(self.names.asked, [])

    def test_addresses_that_are_not_public(self):
        proxy = self.client.open([{"host": "*.wide.test", "ports": [443]}])
        forced = self.client.open([{"host": "*.wide.test", "ports": [443], "loopback": True}])
        line = b"CONNECT a.wide.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"
        private = self.client.open([{"host": "*.wide.test", "ports": [443], "private": True}])
        for address in ("10.0.0.1", "192.168.1.1", "172.31.0.1", "100.64.0.1"):
            self.names.answers["a.wide.test"] = [address]
            for refusing in (proxy, forced):
                self.refused(ask(refusing, line), 403, address, r'\"private\": true')
        self.names.answers["a.wide.test"] = ["127.0.0.1"]  # a name server must not open the services of this machine
        for refusing in (proxy, private):
            self.refused(ask(refusing, line), 403, "127.0.0.1", r'\"loopback\": true')
        for address in ("169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.1", "168.63.129.16"):
            self.names.answers["a.wide.test"] = [address]
            self.refused(ask(forced, line), 403, address, "no rule can allow it")
        self.names.answers["a.wide.test"] = ["93.184.216.34", "127.0.0.1"]  # one of two
        self.refused(ask(proxy, line), 403, "127.0.0.1")

    def test_a_name_is_asked_once_for_each_request(self):
        """A name server that answers differently the second time (rebinding) is not asked again."""
        proxy = self.open({"host": "*.wide.test", "ports": [self.plain.port]})
        self.names.answers["a.wide.test"] = [["127.0.0.1"], ["169.254.169.254"]]
        status, _, _ = split_reply(ask(proxy, f"GET http://a.wide.test:{self.plain.port}/ HTTP/1.0\r\n\r\n".encode()))
        self.assertEqual((status, self.names.asked), (200, ["a.wide.test"]))

    def test_a_name_that_does_not_exist_and_a_port_without_a_server(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            closed = free.getsockname()[1]
        proxy = self.open({"host": "*.wide.test", "ports": [closed]})
        self.refused(ask(proxy, f"CONNECT none.wide.test:{closed} HTTP/1.1\r\nHost: x\r\n\r\n".encode()), 502, "none.wide.test")
        self.refused(ask(proxy, f"CONNECT a.wide.test:{closed} HTTP/1.1\r\nHost: x\r\n\r\n".encode()), 502, "refused")

    def test_what_is_in_the_tunnel_must_be_tls_for_that_host(self):
        proxy = self.open({"host": "*.wide.test", "ports": [self.tls.port]}, {"host": "api.example.test", "ports": [self.tls.port]})
        for sni in ("b.wide.test", ""):
            with self.assertRaises((ssl.SSLError, OSError)):
                self.tunnel(proxy, "a.wide.test", sni=sni)
            self.client.event("request")
            denied = self.client.event("request")
            self.assertEqual(denied["verdict"], "denied")
            self.assertIn("b.wide.test" if sni else "names no server", denied["cause"])
        for first, cause in ((b"SSH-2.0-x\r\n", "another protocol"), (b"GET / HTTP/1.1\r\n\r\n", "another protocol"), (b"\x16\x03\x01\x00\x00", "valid TLS"),
                             (b"\x16\x03\x01\x40\x00" + b"\x02" * 16384, "valid TLS"),
                             ((b"\x16\x03\x01\x40\x00" + b"\x01\x00\xff\xff" + b"\0" * 16380) * 5, "valid TLS")):
            with connect(proxy) as sock:
                sock.sendall(f"CONNECT api.example.test:{self.tls.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200 "))
                try:
                    sock.sendall(first)
                    self.assertEqual(received(sock), b"")
                except (BrokenPipeError, ConnectionResetError):
                    pass
            self.client.event("request")
            self.assertIn(cause, self.client.event("request")["cause"])
        self.assertEqual(self.tls.seen, [])

    def test_a_hello_in_small_pieces_and_in_two_records_is_read(self):
        proxy = self.open({"host": "api.example.test", "ports": [self.tls.port]})
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=str(self.certificate[0]))
        client = context.wrap_bio(incoming, outgoing, server_hostname="api.example.test")
        with self.assertRaises(ssl.SSLWantReadError):
            client.do_handshake()
        hello = outgoing.read()
        body = hello[5:]
        two = b"".join(b"\x16\x03\x01" + struct.pack(">H", len(part)) + part for part in (body[:50], body[50:]))
        for sent in (hello, two):
            with connect(proxy) as sock:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.sendall(f"CONNECT api.example.test:{self.tls.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200 "))
                for at in range(0, len(sent), 40):
                    sock.sendall(sent[at:at + 40])
                self.assertEqual(sock.recv(1), b"\x16")  # the host's own hello

    def test_requests_that_two_readers_would_split_differently(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]})
        url = f"http://plain.test:{self.plain.port}/"
        for request in (f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
                        f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                        f"POST {url} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
                        f"GET {url} HTTP/1.1\nHost: x\n\n", f"GET {url} HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
                        f"GET {url} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", f"GET {url}\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
                        f"GET {url} HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", f"CONNECT plain.test:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
                        "GET / HTTP/1.1\r\nHost: plain.test\r\n\r\n", "GET https://plain.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
                        "\x05\x01\x00", f"GET {url} HTTP/1.1\r\nHost: x\r\nA: {'b' * 20_000}\r\n\r\n", "BREW x HTTP/1.1\r\nHost: x\r\n\r\n"):
            with self.subTest(request[:80]):
                reply = ask(proxy, request.encode())
                self.assertIn(reply[:12], (b"HTTP/1.1 400", b"HTTP/1.1 431", b"HTTP/1.1 501"), reply)
                self.assertEqual(reply.count(b"Proxy-Status: "), 1)
        self.assertEqual(self.plain.seen, [])


class Bounded(Case):
    def test_bytes_end_with_their_budget(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]}, bytes_down=200_000)
        reply = ask(proxy, f"GET http://plain.test:{self.plain.port}/large/1000000 HTTP/1.0\r\n\r\n".encode())
        self.assertLessEqual(len(reply), 200_000)
        again = ask(proxy, f"GET http://plain.test:{self.plain.port}/ HTTP/1.0\r\n\r\n".encode())
        self.refused(again, 403, "egress.bytes_down")
        self.assertLessEqual(self.client.totals(1)["bytes_down"], 200_000)
        up = self.open({"host": "plain.test", "ports": [self.plain.port]}, bytes_up=1000)
        request = f"POST http://plain.test:{self.plain.port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n" + "x" * 5000
        self.refused(ask(up, request.encode()), 403, "egress.bytes_up")

    def test_connections_beyond_the_bound_wait(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]}, connections=2)
        idle = [connect(proxy) for _ in range(2)]
        request = f"GET http://plain.test:{self.plain.port}/ HTTP/1.0\r\n\r\n".encode()
        with connect(proxy) as third:
            third.sendall(request)
            third.settimeout(0.2)
            with self.assertRaises(TimeoutError):
                third.recv(1)
            idle[0].close()
            third.settimeout(PATIENCE)
            self.assertEqual(split_reply(received(third))[0], 200)
        idle[1].close()

    def test_a_tunnel_ends_with_its_time_at_the_host_too(self):
        with socket.create_server(("127.0.0.1", 0)) as host:
            proxy = self.open({"host": "api.example.test", "ports": [host.getsockname()[1]]}, seconds=1)
            with connect(proxy) as sock:
                sock.sendall(f"CONNECT api.example.test:{host.getsockname()[1]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200 "))
                inside, _ = host.accept()
                sock.sendall(hello_for("api.example.test"))
                inside.settimeout(PATIENCE)
                self.assertTrue(inside.recv(65536))
                sock.shutdown(socket.SHUT_WR)  # and the host ignores that the client has ended
                self.assertEqual(inside.recv(1), b"")
                self.assertEqual(received(sock), b"")
            with inside, self.assertRaises(OSError):
                while True:
                    inside.sendall(b"x")
                    time.sleep(0.02)

    def test_a_connection_ends_with_its_time(self):
        proxy = self.open({"host": "api.example.test", "ports": [self.tls.port]}, seconds=1)
        began = time.monotonic()
        sock = self.tunnel(proxy)
        with sock:
            with self.assertRaises(OSError):
                if not sock.recv(1):
                    raise ConnectionResetError
        self.assertGreater(time.monotonic() - began, 0.5)

    def test_a_large_body_goes_through_whole(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]}, {"host": "api.example.test", "ports": [self.tls.port]})
        reply = ask(proxy, f"GET http://plain.test:{self.plain.port}/large/6553600 HTTP/1.0\r\n\r\n".encode())
        self.assertEqual(len(split_reply(reply)[2]), 6_553_600)
        with self.tunnel(proxy) as sock:
            sock.sendall(b"GET /large/6553600 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertEqual(len(split_reply(received(sock))[2]), 6_553_600)
        too_large = f"POST http://plain.test:{self.plain.port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 17000000\r\n\r\n"
        self.refused(ask(proxy, too_large.encode()), 413, "16 MiB")

    def test_a_closed_jail_has_no_connections(self):
        proxy = self.open({"host": "api.example.test", "ports": [self.tls.port]})
        sock = self.tunnel(proxy)
        totals = self.client.totals(1)
        self.assertEqual(totals["requests"], 1)
        with sock:
            with self.assertRaises(OSError):
                if not sock.recv(1):
                    raise ConnectionResetError
        with self.assertRaises(OSError):
            with connect(proxy) as late:
                if not late.recv(1):
                    raise ConnectionResetError

    def test_many_short_connections(self):
        proxy = self.open({"host": "plain.test", "ports": [self.plain.port]})
        failed = []

        def some():
            for _ in range(25):
                reply = ask(proxy, f"GET http://other.test:{self.plain.port}/ HTTP/1.0\r\n\r\n".encode())
                if not reply.startswith(b"HTTP/1.1 403 "):
                    failed.append(reply)
        threads = [threading.Thread(target=some) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            self.assertEqual(self.client.event("request")["verdict"], "denied")
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.client.totals(1)["denied"], 200)


class Daemons(Case):
    def test_wrong_packets_end_that_daemon_alone(self):
        rule = {"host": "a.test"}
        budgets = {"connections": 1, "bytes_up": 1, "bytes_down": 1, "seconds": 1}
        for packet in (b"no json", b"[]", b"{}", {"order": "other"}, {"order": "close"}, {"order": "close", "jail": -1},
                       {"order": "open", "jail": 1, "egress": {"rules": [rule], **budgets}, "secrets": [""]},  # no listener
                       {"order": "open", "jail": 1, "egress": {"rules": [{"host": "10.0.0.1"}], **budgets}, "secrets": [""]},
                       {"order": "open", "jail": 1, "egress": {"rules": [rule], **budgets}, "secrets": []},
                       b"{\"order\": \"close\"" + b" " * 150_000):
            with self.subTest(packet=packet):
                wrong = EgressClient(self.process.socket)
                wrong.send(packet)
                self.assertEqual(wrong.socket.recv(100), b"")
                wrong.close()
        self.assertEqual(self.client.totals(7), {"event": "closed", "jail": 7, "requests": 0, "denied": 0, "bytes_up": 0, "bytes_down": 0})

    def test_a_daemon_that_goes_takes_its_connections_along(self):
        proxy = self.open({"host": "api.example.test", "ports": [self.tls.port]})
        sock = self.tunnel(proxy)
        self.client.close()
        with sock:
            with self.assertRaises(OSError):
                if not sock.recv(1):
                    raise ConnectionResetError

    def test_the_program_ends_at_sigterm(self):
        one = EgressProcess()
        self.assertEqual(one.stop(), 0)


class Flags(unittest.TestCase):
    def test_what_cannot_be_used_ends_the_start_with_the_name_of_the_flag(self):
        with tempfile.TemporaryDirectory() as folder:
            for words, said in ((("--name-servers", "nonsense"), "--name-servers: 'nonsense'"),
                                (("--name-servers", "127.0.0.1:53,9.9.9.9"), "--name-servers: '9.9.9.9'"),
                                (("--authorities", f"{folder}/none"), f"--authorities: read '{folder}/none': No such file")):
                done = subprocess.run([os.environ["WARDER_EGRESS"], "--socket", f"{folder}/socket", *words],
                                      capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"warder-egress: {said}", done.stderr)


if __name__ == "__main__":
    unittest.main()
