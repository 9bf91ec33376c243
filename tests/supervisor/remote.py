"""MCP servers over HTTP to call from jails: of either era, honest or not. Each runs in threads of the test's process."""
import contextlib
import http.server
import json
import socketserver
import ssl
import threading
import uuid

MODERN = "2026-07-28"
OBJECT = {"type": "object"}
TOOLS = [
    {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}},
    {"name": "headers", "description": "What the request said", "inputSchema": {
        "type": "object", "properties": {"where": {"type": "string", "x-mcp-header": "Region"}, "more": OBJECT}}},
    {"name": "wrong", "inputSchema": {"type": "object", "properties": {"x": {"type": "number", "x-mcp-header": "X"}}}},
    *[{"name": name, "inputSchema": OBJECT} for name in (
        "progress", "hang", "grow", "forget", "refuse", "redirect", "unauthorized", "page", "strangers", "breaks", "drips",
        "comments", "headers_flood", "nothing", "big", "cut", "vanish")],
]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a reply leaves at once, or by flush()

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def reply(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def answer(self, result, **headers):
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": self.asked["id"], "result": result}).encode(), **headers)

    def begin_stream(self, length=None):
        """`length`: said, and then not sent: the client sees the stream break, not end."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        if length:
            self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True

    def event(self, message):
        self.wfile.write(f"event: message\r\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\r\n\r\n".encode())
        self.wfile.flush()

    def wait_for_its_end(self):
        """Until the client closes the reply, which is a reset where it has not read all of it."""
        with contextlib.suppress(ConnectionError):
            self.rfile.read(1)

    def do_DELETE(self):
        if self.server.guard and self.server.guard(self):
            return None
        self.server.note("delete", self.headers["Mcp-Session-Id"])
        self.server.sessions.discard(self.headers["Mcp-Session-Id"])
        self.reply(204)

    def do_GET(self):
        if self.server.guard and self.server.guard(self):
            return None
        if self.server.era == "modern" or self.headers["Mcp-Session-Id"] not in self.server.sessions:
            return self.reply(405)
        if (last := self.headers["Last-Event-ID"]) is not None:
            self.server.note("resumed", last)
            return self.resume(last)
        self.listen({})

    def resume(self, last):
        stream, _, number = last.rpartition(":")
        if self.server.broken:  # attempts to refuse first
            return self.reply(self.server.broken.pop(0))
        if stream not in self.server.streams:
            return self.reply(400)
        self.send_part(stream, int(number) + 1)

    def send_part(self, stream, number):
        """One event of a stream, whose reply then ends, or breaks."""
        how, events = self.server.streams[stream]
        self.begin_stream(100_000 if how.get("breaks") else None)
        name = how.get("id", f"{stream}:{number}")
        if number == 0:
            return self.wfile.write(f"id: {name}\nretry: {how.get('retry', 0)}\ndata:\n\n".encode())
        if number <= len(events):
            self.wfile.write(f"id: {name}\ndata: {json.dumps({'jsonrpc': '2.0', **events[number - 1]})}\n\n".encode())

    def listen(self, meta):
        self.begin_stream()
        self.wfile.write(b": still here\n\n")
        self.wfile.flush()
        self.server.note("listening")
        known = len(self.server.tools)
        while not self.server.closing:
            with self.server.changed:
                self.server.changed.wait_for(lambda: self.server.closing or len(self.server.tools) != known)
            known = len(self.server.tools)
            self.event({"method": "notifications/tools/list_changed", "params": meta})

    def do_POST(self):
        if self.server.guard and self.server.guard(self):
            return None
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked = json.loads(body)
        method, params = self.asked.get("method"), self.asked.get("params", {})
        self.server.note(method, dict(self.headers))
        meta = params.get("_meta", {})
        if self.server.era == "legacy":
            if method == "initialize":
                session = uuid.uuid4().hex
                self.server.sessions.add(session)
                return self.answer({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                    "serverInfo": {"name": "r", "version": "1"}}, Mcp_Session_Id=session)
            if self.headers["Mcp-Session-Id"] not in self.server.sessions:
                error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}}
                return self.reply(404 if self.headers["Mcp-Session-Id"] else 400, json.dumps(error).encode())
            if method == "notifications/initialized":
                self.server.settled.add(self.headers["Mcp-Session-Id"])
            elif self.headers["Mcp-Session-Id"] not in self.server.settled:
                return self.reply(400, b"too early")
        elif method == "server/discover":
            return self.answer({"supportedVersions": [MODERN], "capabilities": {"tools": {"listChanged": True}}})
        elif method == "subscriptions/listen":
            return self.listen({"_meta": {"io.modelcontextprotocol/subscriptionId": self.asked["id"]}})
        elif method == "initialize":
            return self.reply(400)
        if "id" not in self.asked:
            return self.reply(202)
        if method == "tools/list":
            return self.answer({"tools": self.server.tools})
        if method == "tools/call":
            return getattr(self, "call_" + params["name"])(params["arguments"], meta)
        self.reply(404, json.dumps({"jsonrpc": "2.0", "id": self.asked["id"],
                                    "error": {"code": -32601, "message": "no such method"}}).encode())

    def value(self, value):
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}

    def call_add(self, arguments, _):
        self.answer(self.value({"sum": arguments["a"] + arguments["b"]}))

    def call_headers(self, *_):
        self.answer(self.value(dict(self.headers)))

    def call_big(self, *_):
        self.answer(self.value({"rows": "x" * 3_000_000}))

    def call_progress(self, _, meta):
        self.begin_stream()
        for step in (1, 2):
            self.event({"method": "notifications/progress",
                        "params": {"progressToken": meta.get("progressToken"), "progress": step}})
        self.event({"id": self.asked["id"], "result": self.value("done")})

    def call_cut(self, arguments, meta):
        """The answer of a call in parts: the server cuts the stream after every event."""
        events = [{"method": "notifications/progress", "params": {"progressToken": meta.get("progressToken"), "progress": step}}
                  for step in (1, 2, 3)]
        if not arguments.get("silent"):
            events.append({"id": self.asked["id"], "result": self.value("whole")})
        stream = uuid.uuid4().hex
        self.server.streams[stream] = (arguments, events)
        self.send_part(stream, 0)

    def call_vanish(self, *_):
        """The call is taken, and the connection ends without a byte."""
        self.close_connection = True

    def call_hang(self, *_):
        self.begin_stream()
        self.server.note("hangs")
        self.wait_for_its_end()
        self.server.note("closed")

    def call_grow(self, *_):
        with self.server.changed:
            self.server.tools = self.server.tools + [{"name": "grown", "inputSchema": OBJECT}]
            self.server.changed.notify_all()
        self.answer(self.value("grown"))

    def call_forget(self, *_):
        self.server.sessions.clear()
        self.answer(self.value("forgotten"))

    def call_refuse(self, *_):
        error = {"code": -32001, "message": "not today", "data": {"again": "tomorrow"}}
        self.reply(400, json.dumps({"jsonrpc": "2.0", "id": self.asked["id"], "error": error}).encode())

    def call_redirect(self, *_):
        self.reply(307, Location="http://127.0.0.1:1/elsewhere")

    def call_unauthorized(self, *_):
        self.reply(401, b'{"error": "invalid_token"}')

    def call_page(self, *_):
        self.reply(200, b"<html>Welcome!</html>", "text/html")

    def call_strangers(self, *_):
        self.begin_stream()
        for other in range(100, 120):
            self.event({"id": other, "result": self.value("not yours")})
        self.wfile.write(b"data: no message\n\ndata: [1, 2]\n\nnonsense\n\n")

    def call_breaks(self, *_):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"jsonrpc": "2.0",')
        self.close_connection = True

    def call_drips(self, *_):
        self.begin_stream()
        while True:
            self.wfile.write(b":")
            self.wfile.flush()
            threading.Event().wait(0.02)

    def call_comments(self, *_):
        self.begin_stream()
        while True:
            self.wfile.write(b": for nobody\n" * 1000)

    def call_headers_flood(self, *_):
        self.send_response(200)
        while True:
            self.send_header("X-Junk", "x" * 1000)
            self.flush_headers()  # into a buffer that is sent when it is full

    def call_nothing(self, *_):
        self.reply(202)


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """`era`: legacy or modern. What it was asked is in `notes`: (method or event, headers or whatever)."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, era="modern", certificate=None, path=None):
        self.era, self.sessions, self.settled, self.notes = era, set(), set(), []
        self.tools, self.closing = list(TOOLS), False
        self.guard = None  # answers requests first: authorization_server.py
        self.streams, self.broken = {}, []  # for resumption: id: (arguments, events); statuses of the next attempts
        self.changed = threading.Condition()
        if path:
            self.address_family = socketserver.socket.AF_UNIX
        super().__init__(str(path) if path else ("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        scheme = "https" if certificate else "http"
        self.url = f"unix://{path}#/mcp" if path else f"{scheme}://127.0.0.1:{self.server_address[1]}/mcp"

    def handle_error(self, *_):
        pass  # a client that goes away

    def note(self, event, what=None):
        with self.changed:
            self.notes.append((event, what))
            self.changed.notify_all()

    def seen(self, event):
        return [what for name, what in self.notes if name == event]

    def wait_for(self, event, count=1):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.seen(event)) >= count, 60):
                raise AssertionError(f"no {event} among {[name for name, _ in self.notes]}")
        return self.seen(event)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self.shutdown()
        self.server_close()
