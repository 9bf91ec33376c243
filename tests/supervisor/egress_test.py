"""Code in jails reaches hosts by name, as its policy says: through warder-egress, beside a real daemon. Programs: $WARDERD,
$WARDER_EGRESS."""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from approvals_harness import Legacy
from egress_harness import EgressProcess, NameServer, Web, make_certificate
from harness import ORDINARY_USER, PATIENCE, ROOT, Daemon, Policies

SECRET = "Bearer s3cr3t-0123456789"
BUDGETS = {"connections": 16, "bytes_up": 1 << 30, "bytes_down": 1 << 30, "seconds": 60}

FETCH = """
import json, ssl, urllib.error, urllib.request
def get(url):
    try:
        with urllib.request.urlopen(url, timeout=20, context=ssl.create_default_context(cafile="/workspace/cert.pem")) as answer:
            return [answer.status, answer.read().decode()]
    except urllib.error.HTTPError as e:
        return [e.code, e.read().decode()]
    except OSError as e:
        return [0, str(e)]
"""


# An upstream server with one tool, which fetches a page.
SERVER = """
import json, sys, urllib.request
def get(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer: return f"{answer.status} {answer.read().decode()}"
    except Exception as e: return f"{type(e).__name__} {e}"
for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if "id" not in asked: continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "get", "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": get(asked["params"]["arguments"]["url"])}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


class Case(unittest.TestCase):
    pool = {"min_idle": 0, "max_idle": 0, "zygotes": False}

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="warder-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        cls.folder.chmod(0o755)
        cls.certificate = make_certificate(cls.folder, "api.example.test", "*.wide.test")
        cls.names = NameServer()
        cls.plain, cls.tls = Web(), Web(cls.certificate)
        cls.egress = EgressProcess("--name-servers", cls.names.address, "--authorities", str(cls.certificate[0]))
        cls.egress.open_to_all()
        cls.addClassCleanup(cls.egress.stop)
        for one in (cls.names, cls.plain, cls.tls):
            cls.addClassCleanup(one.close)
        cls.names.answers = {name: ["127.0.0.1"] for name in ("api.example.test", "a.wide.test", "b.wide.test", "plain.test")}
        secret = cls.folder / "secret"
        secret.write_text(SECRET + "\n")
        secret.chmod(0o644)
        cls.rules = [{"name": "plain", "host": "plain.test", "ports": [cls.plain.port], "loopback": True},
                     {"name": "wide", "host": "*.wide.test", "ports": [cls.tls.port], "loopback": True},
                     {"name": "api", "host": "api.example.test", "ports": [cls.tls.port], "loopback": True,
                      "secret": {"header": "X-Key", "file": str(secret)}}]
        config = cls.folder / "warderd.json"
        place = cls.folder / "server"
        place.mkdir()
        (place / "server.py").write_text(SERVER)
        if ROOT:
            shutil.chown(place, ORDINARY_USER)
        server = {"command": "/usr/bin/python3", "args": ["/workspace/server.py"], "folder": str(place)}
        config.write_text(json.dumps({"egress_socket": cls.egress.socket, "servers": {
            "web": {**server, "egress": {"rules": cls.rules[:1], **BUDGETS}}, "alone": server}}))
        cls.policies = Policies(egress={"rules": cls.rules, **BUDGETS}, pool=cls.pool, calls={"otherwise": "allow"})
        cls.addClassCleanup(cls.policies.__exit__)
        cls.daemon = Daemon(policies=cls.policies, arguments=("--config", config))
        cls.daemon.__enter__()
        cls.addClassCleanup(cls.daemon.__exit__, None)

    def setUp(self):
        self.client = self.enterContext(self.daemon.connect())
        self.client.call("write_workspace_file", {"filename": "cert.pem", "content": self.certificate[0].read_text()})
        self.tls.seen.clear()

    def execute(self, code, **more):
        result = self.client.call("execute_code", {"code": FETCH + code, **more})
        body = json.loads(result["content"][0]["text"])
        body["receipt"] = result["_meta"]["org.warder/receipt"]
        if isinstance(body["receipt"], str):
            body["receipt"] = json.loads(body["receipt"])
        return body


class Programs(Case):
    def test_hosts_of_the_rules_are_reached_and_others_are_refused_with_the_rule(self):
        body = self.execute(f"""
result = [get("https://a.wide.test:{self.tls.port}/x"), get("http://plain.test:{self.plain.port}/y"),
          get("https://c.other.test/"), get("http://other.test/")]
""")
        self.assertTrue(body["success"], body)
        tls, plain, other_tls, other = body["result"]
        self.assertEqual((tls[0], json.loads(tls[1])["path"]), (200, "/x"))
        self.assertEqual((plain[0], json.loads(plain[1])["path"]), (200, "/y"))
        self.assertIn("403", other_tls[1])
        self.assertEqual(other[0], 403)
        self.assertIn("no rule has this host", other[1])
        self.assertEqual((body["egress"]["requests"], body["egress"]["denied"]), (4, 2))
        self.assertGreater(body["egress"]["bytes_down"], 500)
        self.assertEqual(body["receipt"]["network"], "proxy")

    def test_the_description_of_execute_code_names_the_hosts(self):
        tools = {tool["name"]: tool for tool in self.client.request("tools/list")["tools"]}
        self.assertTrue(tools["execute_code"]["description"].endswith(
            "Network, by HTTPS_PROXY: plain.test, *.wide.test, http://api.example.test."), tools["execute_code"]["description"])

    def test_a_secret_is_added_outside_and_never_seen_inside(self):
        body = self.execute(f"""
import os
result = [get("http://api.example.test/v1"), get("https://api.example.test:{self.tls.port}/v1"), str(os.environ)]
""")
        inside, tunnel, environment = body["result"]
        self.assertEqual(inside[0], 200, body)
        self.assertEqual(self.tls.seen[0][2]["X-Key"], SECRET)
        self.assertEqual(json.loads(inside[1])["headers"]["X-Key"], "[secret]")
        self.assertIn("403", tunnel[1])
        self.assertNotIn("s3cr3t", json.dumps(body))

    def test_code_cannot_have_the_port_of_the_proxy_and_reaches_nothing_beside_it(self):
        body = self.execute(f"""
import socket
def tried(work):
    try:
        return work() or "done"
    except OSError as e:
        return type(e).__name__
def bind(**options):
    s = socket.socket()
    for option in options.values(): s.setsockopt(socket.SOL_SOCKET, option, 1)
    s.bind(("127.0.0.1", 3128))
result = [tried(bind), tried(lambda: bind(a=socket.SO_REUSEADDR, b=socket.SO_REUSEPORT)),
          tried(lambda: socket.create_connection(("127.0.0.1", {self.plain.port}), 5)),
          tried(lambda: socket.create_connection(("192.0.2.1", 80), 5))]
""")
        self.assertEqual(body["result"], ["OSError", "OSError", "ConnectionRefusedError", "OSError"])

    def test_other_programs_find_the_proxy_by_the_environment(self):
        done = self.client.execute(f"curl -sS http://plain.test:{self.plain.port}/c; "
                                   f"curl -sS --cacert /workspace/cert.pem https://b.wide.test:{self.tls.port}/t", language="shell")
        self.assertTrue(done["success"], done)
        self.assertIn('"path": "/c"', "".join(done["output"]))
        self.assertIn('"path": "/t"', "".join(done["output"]))

    def test_installers_and_git_find_it_too(self):
        for program, line in (("git", f"git -c http.sslCAInfo=/workspace/cert.pem ls-remote https://b.wide.test:{self.tls.port}/git/x"),
                              ("pip3", f"pip3 download --no-input --disable-pip-version-check --retries 0 -i http://plain.test:{self.plain.port}/simple "
                                       "--trusted-host plain.test nosuchpackage"),
                              ("npm", f"npm view nosuchpackage --registry http://plain.test:{self.plain.port}/npm/ --cache /tmp/npm --fetch-retries 0")):
            if not shutil.which(program, path="/usr/bin"):
                print(f"*** NOT TESTED: {program} through the proxy, because it is not installed in /usr/bin ***")
                continue
            with self.subTest(program):
                self.plain.seen.clear()
                done = self.client.execute(line, language="shell")
                paths = [path for _, path, _, _ in self.tls.seen + self.plain.seen]
                self.assertTrue(any("nosuchpackage" in path or "/git/x" in path for path in paths), done)

    def test_node_finds_it_in_http_https_and_fetch(self):
        code = """
import http from 'http'; import https from 'https'; import fs from 'fs';
const get = (module, url, options = {}) => new Promise((done) => module.get(url, options, (answer) => {
  let text = '';
  answer.on('data', (part) => text += part).on('end', () => done([answer.statusCode, text]));
}).on('error', (error) => done([0, error.message])));
const fetched = async (url, options) => {
  try { const answer = await fetch(url, options); return [answer.status, await answer.text()]; }
  catch (error) { return [0, String(error.cause)]; }
};
result = [await get(http, 'http://plain.test:PLAIN/h'), await get(https, 'https://a.wide.test:TLS/s', {ca: fs.readFileSync('/workspace/cert.pem')}),
  await fetched('http://plain.test:PLAIN/f', {method: 'POST', body: 'abc'}), await get(https, 'https://other.test/'), await fetched('https://other.test/'),
  await fetched('http://other.test/'), await fetched('https://a.wide.test:TLS/')];
""".replace("PLAIN", str(self.plain.port)).replace("TLS", str(self.tls.port))
        for more in ({}, {"session": "node"}):
            body = self.client.execute(code, language="javascript", **more)
            self.assertTrue(body["success"], body)
            plain, tls, posted, *refused, untrusted = body["result"]
            self.assertEqual((plain[0], tls[0], posted[0]), (200, 200, 200), body)
            self.assertEqual((json.loads(posted[1])["method"], json.loads(posted[1])["bytes"]), ("POST", 3))
            for one in refused:
                self.assertIn("no rule has this host", one[1])
            self.assertIn("certificate", untrusted[1])  # of the host itself

    def test_a_session_has_a_network_in_each_call_and_none_between(self):
        first = self.execute(f"result = get('http://plain.test:{self.plain.port}/1')[0]", session="net")
        background = """
import threading, time, urllib.request
seen = []
def later():
    until = time.monotonic() + 20
    while time.monotonic() < until and "refused" not in str(seen):
        try: urllib.request.urlopen("http://plain.test:%d/between", timeout=5)
        except OSError as e: seen.append(str(e).lower())
        time.sleep(0.01)
threading.Thread(target=later).start()
result = "begun"
""" % self.plain.port
        self.assertEqual(self.execute(background, session="net")["result"], "begun")
        until = time.monotonic() + PATIENCE
        while "refused" not in str(seen := self.execute("result = seen", session="net")["result"]).lower():
            self.assertLess(time.monotonic(), until)
        second = self.execute(f"result = get('http://plain.test:{self.plain.port}/2')[0]", session="net")
        self.assertEqual((first["result"], second["result"]), (200, 200))
        self.assertIn("refused", str(seen))

    def test_nothing_stays_after_many_executions(self):
        with open(f"/proc/{self.daemon.process.pid}/status") as status:
            self.assertIn("warderd", status.readline())
        def descriptors():
            return len(os.listdir(f"/proc/{self.egress.process.pid}/fd"))
        self.execute("result = 1")
        before = descriptors()
        for _ in range(20):
            self.execute(f"result = get('http://plain.test:{self.plain.port}/n')[0]")
        until = time.monotonic() + PATIENCE
        while descriptors() > before + 1:
            self.assertLess(time.monotonic(), until, "warder-egress keeps descriptors")
            time.sleep(0.01)

    def test_a_server_in_a_jail_reaches_the_hosts_of_its_own_rules(self):
        body = self.execute(f"""
import warder
result = [warder.call_tool(name, url=url) for name, url in (
    ("web__get", "http://plain.test:{self.plain.port}/of-a-server"), ("web__get", "http://a.wide.test:{self.tls.port}/"),
    ("alone__get", "http://plain.test:{self.plain.port}/"))]
""")
        self.assertTrue(body["success"], body)
        allowed, denied, alone = map(str, body["result"])
        self.assertIn("200 ", allowed)
        self.assertIn("/of-a-server", allowed)
        self.assertIn("HTTP Error 403", denied)
        self.assertNotIn("200 ", alone)
        self.assertNotIn("egress", body)  # the program itself opened no connection

    def test_a_service_that_was_killed_serves_running_programs_again(self):
        fetch = f"result = get('http://plain.test:{self.plain.port}/again')[0]"
        server = f"import warder\nresult = str(warder.call_tool('web__get', url='http://plain.test:{self.plain.port}/again'))"
        self.assertEqual(self.execute(fetch, session="again")["result"], 200)
        self.assertIn("200 ", self.execute(server)["result"])
        self.egress.restart()
        self.egress.open_to_all()
        for code, more in ((fetch, {"session": "again"}), (server, {})):
            until = time.monotonic() + PATIENCE
            while "200" not in str(self.execute(code, **more)["result"]):  # the daemon sees the end of the old one first
                self.assertLess(time.monotonic(), until)

    def test_the_audit_has_each_request(self):
        self.execute(f"result = [get('http://plain.test:{self.plain.port}/audited?secret=1'), get('http://other.test/')]")
        warder = os.environ["WARDER"]
        until = time.monotonic() + PATIENCE
        while True:
            told = subprocess.run([warder, "audit", "export", self.daemon.state], capture_output=True, text=True, timeout=PATIENCE)
            entries = [json.loads(line) for line in told.stdout.splitlines() if '"egress"' in line]
            found = {entry["subject"]: entry for entry in entries}
            if f"egress.plain.test:{self.plain.port}" in found and "egress.other.test:0" in found:
                break
            self.assertLess(time.monotonic(), until, told.stderr + told.stdout)
            time.sleep(0.05)
        denied = found["egress.other.test:0"]
        self.assertEqual((denied["kind"], denied["action"]), ("refusal", "egress"))
        self.assertNotIn("secret=1", told.stdout)


class Warm(Case):
    """Jails that waited, and forks."""
    pool = {"min_idle": 1, "max_idle": 2, "zygotes": True}

    def test_waiting_jails_have_their_network(self):
        starts = set()
        until = time.monotonic() + PATIENCE
        while not {"exec", "fork"} & starts:
            body = self.execute(f"result = get('http://plain.test:{self.plain.port}/w')[0]")
            self.assertEqual(body["result"], 200, body)
            starts.add(body["receipt"]["start"])
            self.assertLess(time.monotonic(), until, starts)


class Asked(Case):
    """A person decides about each request."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rules[0]["verdict"] = "ask"
        cls.policies.change(egress={"rules": cls.rules}, calls={"approval": {"by": "tenant", "expires_s": 20}})
        cls.daemon.stop()
        cls.daemon.start()

    def test_the_person_at_the_client_is_shown_the_request(self):
        code = FETCH + f"result = get('http://plain.test:{self.plain.port}/asked')[0]"
        with contextlib.closing(Legacy(self.daemon.socket)) as client:
            for number, (action, status) in enumerate((("accept", 200), ("decline", 403)), 1):
                request = client.begin_code(code)
                question = client.await_question(number)
                self.assertIn(f"plain.test:{self.plain.port}", json.dumps(question))
                client.decide(question, action)
                self.assertEqual(client.executed(request)["result"], status)


class Without(unittest.TestCase):
    def test_without_the_service_programs_run_and_are_told(self):
        rules = [{"host": "plain.test", "ports": [80]}]
        with Policies(egress={"rules": rules, **BUDGETS}) as policies, tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "warderd.json"
            pathlib.Path(folder).chmod(0o755)
            config.write_text(json.dumps({"egress_socket": f"{folder}/none.sock"}))
            with Daemon(policies=policies, arguments=("--config", config)) as daemon, daemon.connect() as client:
                body = client.execute("import urllib.request\ntry: urllib.request.urlopen('http://plain.test/')\n"
                                      "except OSError as e: result = str(e)")
                self.assertTrue(body["success"], body)
                self.assertRegex(body["result"], "refused|reset|closed")
                self.assertIn("warder-egress", " ".join(body["notes"]))

    def test_a_policy_without_egress_has_no_network(self):
        with Daemon() as daemon, daemon.connect() as client:
            result = client.call("execute_code", {"code": "import os, socket\nresult = ['HTTP_PROXY' in os.environ, socket.socket().connect_ex(('127.0.0.1', 3128))]"})
            body = json.loads(result["content"][0]["text"])
            self.assertEqual(body["result"], [False, 111])
            self.assertNotIn("egress", body)


if __name__ == "__main__":
    unittest.main()
