"""A registry of npm on loopback, with stand-ins for the servers that the pages install: their names, tools and words."""
import base64
import functools
import hashlib
import http.server
import io
import json
import pathlib
import tarfile
import threading

SERVER = pathlib.Path(__file__).with_name("server.js").read_text()
SCOPE = "@modelcontextprotocol"
EVERYTHING = ("echo get-annotated-message get-env get-resource-links get-resource-reference get-structured-content get-sum "
              "get-tiny-image gzip-file-as-resource toggle-simulated-logging toggle-subscriber-updates "
              "trigger-long-running-operation trigger-elicitation-request trigger-sampling-request").split()
TOOLS = {"everything": EVERYTHING, "memory": ["create_entities", "read_graph"],
         "filesystem": ["list_directory", "read_text_file"], "time": ["get_current_time"]}


def package(name):
    files = {"package.json": json.dumps({"name": f"{SCOPE}/server-{name}", "version": "2026.1.0", "bin": {f"mcp-server-{name}":
                                         "dist/index.js"}}),
             "dist/index.js": "#!/usr/bin/env node\n" + SERVER.replace("TOOLS", json.dumps(TOOLS[name]))}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size, member.mode = len(text.encode()), 0o755 if path.endswith(".js") else 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, packages, *arguments):
        self.packages = packages
        super().__init__(*arguments)

    def do_GET(self):  # noqa: N802
        path = self.path.replace("%2f", "/").replace("%40", "@")
        name = path.removesuffix(".tgz").rsplit("server-", 1)[-1]
        packed = self.packages.get(name)
        if not packed:
            return self.send_error(404)
        if path.endswith(".tgz"):
            return self.answer(packed, "application/octet-stream")
        full = f"{SCOPE}/server-{name}"
        version = {"name": full, "version": "2026.1.0", "bin": {f"mcp-server-{name}": "dist/index.js"}, "dist": {
            "tarball": f"http://{self.headers['Host']}/{full}.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()}}
        self.answer(json.dumps({"name": full, "dist-tags": {"latest": "2026.1.0"}, "versions": {"2026.1.0": version}}).encode(),
                    "application/json")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def start():
    """Its address, and what ends it."""
    return begin(functools.partial(Handler, {name: package(name) for name in TOOLS}))


def begin(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def end():
        server.shutdown()
        server.server_close()
    return f"http://127.0.0.1:{server.server_address[1]}/", end


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    """The files of a folder over HTTP: the address, and what ends it."""
    return begin(functools.partial(Files, directory=folder))
