"""Installers in jails reach the hosts that the policy names: a real pip, npm and git, through warder-egress, with an index
on loopback. Programs: $WARDERD, $WARDER_EGRESS."""
import base64
import hashlib
import http.server
import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import threading
import unittest
import zipfile

from egress_harness import EgressProcess, NameServer, QuietServer
from harness import Daemon, Policies, body_of

BUDGETS = {"connections": 16, "bytes_up": 1 << 30, "bytes_down": 1 << 30, "seconds": 60}


def wheel(name):
    """A wheel with one module: name, NAME-1.0-py3-none-any.whl, its bytes."""
    files = {f"{name}.py": "VALUE = 41 + 1\n",
             f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
             f"{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files[f"{name}-1.0.dist-info/RECORD"] = "".join(f"{file},,\n" for file in files)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return packed.getvalue()


def tarball(name):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for file, text in (("package.json", json.dumps({"name": name, "version": "1.0.0", "main": "index.js"})),
                           ("index.js", "module.exports = 42;\n")):
            entry = tarfile.TarInfo(f"package/{file}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    """/simple/: an index of pip; /npm/: a registry of npm; /git/: smart HTTP of git."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        index = self.server.index
        index.seen.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/simple/jpack/":
            self.reply(b'<!doctype html><a href="/files/jpack-1.0-py3-none-any.whl">jpack-1.0-py3-none-any.whl</a>', "text/html")
        elif self.path == "/files/jpack-1.0-py3-none-any.whl":
            self.reply(wheel("jpack"))
        elif self.path.split("?")[0] == "/npm/jleft":
            packed = tarball("jleft")
            sum_of = base64.b64encode(hashlib.sha512(packed).digest()).decode()
            dist = {"tarball": f"http://{self.headers['Host']}/npm/jleft/-/jleft-1.0.0.tgz", "integrity": f"sha512-{sum_of}"}
            version = {"name": "jleft", "version": "1.0.0", "main": "index.js", "dist": dist}
            self.reply(json.dumps({"name": "jleft", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode(),
                       "application/json")
        elif self.path == "/npm/jleft/-/jleft-1.0.0.tgz":
            self.reply(tarball("jleft"))
        elif self.path.startswith("/git/"):
            self.git(index, body)
        else:
            self.reply(b"not here", "text/plain", 404)

    do_POST = do_GET

    def git(self, index, body):
        path, _, query = self.path.removeprefix("/git").partition("?")
        variables = {"PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": str(index.repositories), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                     "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_LENGTH": str(len(body)),
                     "CONTENT_TYPE": self.headers.get("Content-Type", ""), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                     "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "HOME": str(index.repositories)}
        done = subprocess.run(["git", "-c", "safe.directory=*", "http-backend"], input=body, env=variables, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.reply(content, fields.get("Content-Type", "text/plain"), int(fields.get("Status", "200").split()[0]))

    def reply(self, content, kind="application/octet-stream", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Indexes:
    def __init__(self, folder):
        self.seen, self.repositories = [], pathlib.Path(folder) / "repositories"
        work = pathlib.Path(folder) / "work"
        git = ["git", "-c", "user.name=tests", "-c", "user.email=tests@example.com", "-c", "init.defaultBranch=main"]
        for line in (["init", "-q", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "first"],
                     ["clone", "-q", "--bare", work, self.repositories / "x.git"]):
            subprocess.run([*git, *line], check=True, capture_output=True)
        self.server = QuietServer(("127.0.0.1", 0), Index)
        self.server.index = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="warder-test-")))
        cls.folder.chmod(0o755)
        cls.names = NameServer()
        cls.names.answers = {"index.test": ["127.0.0.1"]}
        cls.index = Indexes(cls.folder)
        cls.egress = EgressProcess("--name-servers", cls.names.address)
        cls.egress.open_to_all()
        for close in (cls.egress.stop, cls.names.close, cls.index.close):
            cls.addClassCleanup(close)
        config = cls.folder / "warderd.json"
        config.write_text(json.dumps({"egress_socket": cls.egress.socket}))
        rules = [{"name": "index", "host": "index.test", "ports": [cls.index.port], "loopback": True}]
        cls.policies = cls.enterClassContext(Policies(
            egress={"rules": rules, **BUDGETS}, limits={"standard": {"wall_ms": 120_000}},
            environment={"NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt"},
            pool={"min_idle": 0, "max_idle": 1, "zygotes": True}))
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies, arguments=("--config", config)))
        cls.place = f"http://index.test:{cls.index.port}"

    def setUp(self):
        self.client = self.enterContext(self.daemon.connect())
        self.index.seen.clear()

    def run_shell(self, code):
        body = self.client.execute(code, language="shell")
        self.assertTrue(body["success"], body)
        return body

    def need(self, *files):
        for file in files:
            if not os.path.exists(file):
                self.skipTest(f"*** NOT TESTED: {file} is not installed ***")


class Installers(Case):
    def test_pip_installs_into_a_virtual_environment(self):
        self.need("/usr/bin/pip3", "/usr/share/python-wheels")
        self.run_shell(f"""set -e
python3 -m venv /workspace/venv
/workspace/venv/bin/pip install -q -i {self.place}/simple --trusted-host index.test jpack
/workspace/venv/bin/python -c 'import jpack; print(jpack.VALUE)' > /workspace/value""")
        self.assertEqual(self.client.execute("result = read_file('value')")["result"], "42\n")
        self.assertIn("/simple/jpack/", self.index.seen)

    def test_pip_of_a_session_and_of_a_fork(self):
        self.need("/usr/bin/pip3")
        code = f"""
import subprocess
done = subprocess.run(["pip3", "download", "-q", "-d", "/tmp/got", "-i", "{self.place}/simple", "--trusted-host", "index.test",
                       "--no-deps", "jpack"], capture_output=True, text=True)
result = [done.returncode, done.stderr[-500:]]"""
        for more in ({}, {"session": "pip"}):
            body = self.client.execute(code, **more)
            self.assertEqual(body["result"][0], 0, body)
        branches = body_of(self.client.call("execute_code", {"code": code, "fork": [1, 2]}))["results"]
        self.assertEqual([one["result"][0] for one in branches], [0, 0], branches)

    def test_npm_installs_a_package(self):
        self.need("/usr/bin/npm")
        self.run_shell(f"""set -e
mkdir -p /workspace/app && cd /workspace/app
npm install --registry {self.place}/npm/ --cache /tmp/npm jleft
node -p 'require("jleft")' > /workspace/number""")
        self.assertEqual(self.client.execute("result = read_file('number')")["result"], "42\n")
        self.assertIn("/npm/jleft/-/jleft-1.0.0.tgz", self.index.seen)

    def test_git_clones(self):
        body = self.run_shell(f"cd /workspace && rm -rf x && git clone -q {self.place}/git/x.git x && git -C x log --format=%s")
        self.assertEqual(body["output"], ["first"])

    def test_no_installer_is_told_to_be_offline(self):
        code = "import os\nresult = {name: os.environ.get(name) for name in ('PIP_NO_INDEX', 'UV_OFFLINE', 'NPM_CONFIG_OFFLINE', " \
               "'CARGO_NET_OFFLINE', 'GOPROXY')}"
        self.assertEqual(set(self.client.execute(code)["result"].values()), {None})
        with Daemon() as daemon, daemon.connect() as client:
            self.assertNotIn(None, client.execute(code)["result"].values())

    def test_node_trusts_the_certificates_that_the_policy_names(self):
        body = self.client.execute("result = [process.env.NODE_EXTRA_CA_CERTS, require('tls').rootCertificates.length > 0]",
                                   language="javascript")
        self.assertEqual(body["result"], ["/etc/ssl/certs/ca-certificates.crt", True], body)
        self.assertNotIn("stderr", body)


class Refusals(Case):
    """The cause of a refusal is in what the clients print, and in the answer."""

    def test_the_answer_names_refused_hosts_and_why(self):
        body = self.client.execute("""
import urllib.request
result = []
for url in ("https://other.test/", "https://other.test/again", "http://third.test/x"):
    try: urllib.request.urlopen(url, timeout=20)
    except OSError as e: result.append(str(e))
""")
        self.assertEqual(body["egress"]["denied"], 3, body)
        self.assertEqual(body["egress"]["refused"], [{"host": "other.test:443", "why": "no rule has this host"},
                                                     {"host": "third.test", "why": "no rule has this host"}], body)
        self.assertIn("no rule has this host", body["result"][0])

    def test_hostile_names_are_bounded(self):
        body = self.client.execute("""
import socket
for n in range(40):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT " + b"h%02d." % n + b"x" * 60 + b".test:443 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    answer = s.recv(65536)
    s.close()
result = answer.split(b"\\r\\n")[0].decode()
""")
        self.assertLess(len(body["result"]), 300, body)
        self.assertEqual(len(body["egress"]["refused"]), 5)
        self.assertLess(len(json.dumps(body["egress"])), 2500)

    def test_pip_prints_the_cause(self):
        self.need("/usr/bin/pip3")
        body = self.client.execute("pip3 download -d /tmp/got --retries 0 -i https://other.test/simple jpack; true", language="shell")
        self.assertIn("no rule has this host", json.dumps(body), body)


if __name__ == "__main__":
    unittest.main()
