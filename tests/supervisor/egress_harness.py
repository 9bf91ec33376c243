"""What the tests of egress share: a name server, hosts with and without TLS, and warder-egress with a jail's listener.

All hosts are on loopback, so the rules of the tests have "private". The name server answers from a table.
"""
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

PATIENCE = 20


class NameServer:
    """Answers questions for IPv4 addresses over UDP. `answers`: name -> a list of addresses, or a list of such lists, one for
    each question."""

    def __init__(self):
        self.answers, self.asked = {}, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                question, sender = self.socket.recvfrom(4096)
            except OSError:
                return
            at, labels = 12, []
            while question[at]:
                labels.append(question[at + 1:at + 1 + question[at]].decode().lower())
                at += 1 + question[at]
            kind = struct.unpack(">H", question[at + 1:at + 3])[0]
            name = ".".join(labels)
            found = self.answers.get(name)
            addresses = []
            if kind == 1:
                self.asked.append(name)
                if found and isinstance(found[0], list):
                    found = found.pop(0) if len(found) > 1 else found[0]
                addresses = found or []
            code = 0 if name in self.answers else 3
            answer = question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(addresses), 0, 0) + question[12:at + 5]
            for address in addresses:
                answer += struct.pack(">HHHIH", 0xc00c, 1, 1, 0, 4) + socket.inet_aton(address)
            self.socket.sendto(answer, sender)

    def close(self):
        self.socket.close()


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with the request, as JSON; other answers by path."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path.startswith("/split"):  # the secret in two chunks, with a pause between
            secret = self.headers["X-Key"].encode()
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("X-Echo", self.headers["X-Key"])
            self.end_headers()
            for part in (b"<" + secret[:7], secret[7:] + b">"):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.flush()
                time.sleep(0.05)
            self.wfile.write(b"0\r\n\r\n")
            return
        if self.path.startswith("/large/"):
            size = int(self.path[7:])
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(0, size, 65536):
                    self.wfile.write(b"x" * min(65536, size))
            return
        text = json.dumps({"method": self.command, "path": self.path, "headers": dict(self.headers), "bytes": len(body)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_POST = do_HEAD = do_PUT = do_GET

    def log_message(self, *_):
        pass


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a client that breaks off is part of the tests
        pass


class Web:
    """A host. `certificate`: (certificate, key) files for TLS."""

    def __init__(self, certificate=None):
        self.server = QuietServer(("127.0.0.1", 0), Echo)
        self.server.seen = self.seen = []
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def make_certificate(folder, *names):
    """A certificate that signs itself: (certificate, key)."""
    certificate, key = pathlib.Path(folder) / "cert.pem", pathlib.Path(folder) / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=tests", "-addext", "subjectAltName=" + ",".join("DNS:" + name for name in names),
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


class EgressProcess:
    """warder-egress, with its socket."""

    def __init__(self, *words):
        self.folder = tempfile.mkdtemp(prefix="warder-test-egress-")
        self.socket = os.path.join(self.folder, "egress.sock")
        self.words = words
        self.log = []
        self.start()

    def start(self):
        self.process = subprocess.Popen([os.environ["WARDER_EGRESS"], "--socket", self.socket, *self.words],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + PATIENCE
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError("warder-egress did not start: " + self.process.stderr.read())
            time.sleep(0.01)
        threading.Thread(target=self.read_log, args=[self.process], daemon=True).start()

    def restart(self):
        """kill -9, and a new process at the same socket."""
        self.process.kill()
        self.process.wait()
        os.unlink(self.socket)
        self.start()

    def open_to_all(self):
        """A daemon that root starts becomes another user."""
        os.chmod(self.folder, 0o755)
        os.chmod(self.socket, 0o666)

    def read_log(self, process):
        for line in process.stderr:
            self.log.append(line)

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


class EgressClient:
    """Plays warderd: opens jails, with listeners on this machine's loopback."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.socket.settimeout(PATIENCE)
        self.events = []
        self.jail = 0

    def send(self, packet, descriptors=()):
        socket.send_fds(self.socket, [packet if isinstance(packet, bytes) else json.dumps(packet).encode()], list(descriptors))

    def open(self, rules, secrets=None, listener=None, **budgets):
        """The port of the new jail's proxy."""
        self.jail += 1
        if listener is None:
            listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        listener.setblocking(False)
        egress = {"rules": rules, "connections": 16, "bytes_up": 1 << 30, "bytes_down": 1 << 30, "seconds": 60, **budgets}
        self.send({"order": "open", "jail": self.jail, "egress": egress, "secrets": secrets or [""] * len(rules)},
                  [listener.fileno()])
        port = listener.getsockname()[1]
        listener.close()
        return port

    def event(self, kind, jail=None):
        """The next event of this kind; others stay."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for at, one in enumerate(self.events):
                if one["event"] == kind and jail in (None, one["jail"]):
                    return self.events.pop(at)
            got = self.socket.recv(1 << 18)
            if not got:
                raise AssertionError("warder-egress hung up")
            self.events.append(json.loads(got))
        raise AssertionError(f"no event {kind}; got {self.events}")

    def totals(self, jail):
        self.send({"order": "close", "jail": jail})
        return self.event("closed", jail)

    def close(self):
        self.socket.close()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), PATIENCE)


def received(sock):
    """All bytes until the other side ends."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := sock.recv(65536):
            parts.append(part)
    return b"".join(parts)


def ask(port, request):
    """Sends a request, ends the output, and reads to the end."""
    with connect(port) as sock:
        sock.sendall(request)
        return received(sock)


def split_reply(reply):
    """(status, headers, body) of the first reply."""
    head, _, body = reply.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    headers = {name.lower(): value for name, value in headers.items()}
    if headers.get("transfer-encoding") == "chunked":
        whole = b""
        while True:
            size, _, body = body.partition(b"\r\n")
            length = int(size, 16)
            if not length:
                break
            whole, body = whole + body[:length], body[length + 2:]
        body = whole
    return int(lines[0].split(" ")[1]), headers, body
