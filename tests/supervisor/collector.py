"""A collector of OpenTelemetry's for tests, which can also refuse, hang, flood and go away.

On a Unix socket or on loopback; keeps every request. What it answers is scripted: see `replies`.
"""
import json
import os
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

PATIENCE = 60


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "a client"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind, *more = self.server.take(self.path, dict(self.headers), body)
        if kind == "hang":
            self.server.closing.wait(PATIENCE)
            self.close_connection = True
        elif kind == "drop":
            self.close_connection = True
        elif kind == "flood":
            self.send_response(200)
            self.end_headers()
            try:
                while not self.server.closing.is_set():
                    self.wfile.write(b" " * 65536)
            except OSError:
                self.close_connection = True
        else:
            status, headers, text = kind, *more
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": len(text), **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(text.encode())


TAKEN = (200, {}, "{}")


class Collector(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """`replies`: what the next requests get, then `always`: (status, headers, body), ("hang",), ("drop",), ("flood",)."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, path=None):
        self.replies, self.always, self.requests = [], TAKEN, []
        self.changed, self.closing = threading.Condition(), threading.Event()
        if path:
            self.address_family = socket.AF_UNIX
        super().__init__(str(path) if path else ("127.0.0.1", 0), Handler)
        if path:
            os.chmod(path, 0o666)  # a daemon that root starts becomes another user
        self.url = f"unix://{path}" if path else f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        pass  # a client that goes away

    def take(self, path, headers, body):
        with self.changed:
            reply = self.replies.pop(0) if self.replies else self.always
            self.requests.append((path, headers, body, reply))
            self.changed.notify_all()
            return reply

    def bodies(self):
        return [body for _, _, body, _ in list(self.requests)]

    def spans(self):
        """Those that were taken, as they came."""
        taken = [json.loads(body) for _, _, body, reply in list(self.requests) if reply == TAKEN]
        return [span for body in taken for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]]

    def wait(self, holds, what):
        with self.changed:
            if not self.changed.wait_for(holds, PATIENCE):
                raise AssertionError(f"not after {PATIENCE} s: {what}; it was sent {self.bodies()}")

    def wait_for_requests(self, count):
        self.wait(lambda: len(self.requests) >= count, f"{count} requests")

    def wait_for_span(self, name="tools/call execute_code", **attributes):
        """The first with that name and these attributes; `_` in their names stands for a dot."""
        def fits(span):
            have = attributes_of(span)
            return span["name"] == name and all(have.get(key.replace("_", ".")) == value for key, value in attributes.items())
        self.wait(lambda: any(fits(span) for span in self.spans()), f"{name} with {attributes}")
        return next(span for span in self.spans() if fits(span))

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.shutdown()
        self.server_close()


def attributes_of(span):
    read = {"stringValue": str, "intValue": int, "doubleValue": float}
    found = {}
    for attribute in span["attributes"]:
        ((kind, value),) = attribute["value"].items()
        assert isinstance(value, float if kind == "doubleValue" else str) or value == 0, span  # 64-bit numbers are texts
        assert attribute["key"] not in found, span
        found[attribute["key"]] = read[kind](value)
    return found
