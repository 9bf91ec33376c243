"""Tokens over TCP: made, shown once, used, removed and expired by the real commands and the real daemon; and what one
token's client can do to another's. The rules for the field itself are in tests/supervisor/protocol/streamable_http/."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from configuration_test import Configured  # noqa: E402
from daemon import META  # noqa: E402
from harness import PATIENCE, Client, Policies, eventually  # noqa: E402
from http_test import ask, call, headers_of  # noqa: E402
from ports import free_port  # noqa: E402

WARDER = os.environ["WARDER"]
TOKEN = re.compile(r"^wrd_[A-Za-z0-9_-]{48}$")
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}}
PLAIN = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class TokenTest(unittest.TestCase):
    def setUp(self):
        self.policies = self.enterContext(Policies())
        self.policies.write("own.json", '{"extends": "default", "languages": ["python"]}')
        self.port = free_port()

    def start(self, **more):
        self.daemon = Configured({"http": {"listen": [f"127.0.0.1:{self.port}"]}}, policies=self.policies, **more)
        self.daemon.arguments += ["--metrics", str(self.daemon.directory / "metrics.sock")]
        return self.enterContext(self.daemon)

    def reload(self):
        """What the service manager heard of the reloads of commands comes first."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.daemon.notify.recv(4096, socket.MSG_DONTWAIT)
        self.daemon.reload()

    def warder(self, *words, status=0, **more):
        flags = ["--policies", os.fspath(self.policies)]
        if words[0] == "token":
            flags += ["--config", str(self.daemon.file)]
        if words[:2] in (("token", "add"), ("token", "remove")):
            # No bus in this test: the daemon is found by its state folder, which the configuration names.
            flags += ["--bus", "unix:path=/nonexistent", "--socket", str(self.daemon.socket)]
        done = subprocess.run([WARDER, *words, *flags], capture_output=True, text=True, timeout=2 * PATIENCE, **more)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def configure(self):
        """The state folder is a flag of the daemon: the commands read it in the file."""
        self.daemon.write(http={"listen": [f"127.0.0.1:{self.port}"]}, state=str(self.daemon.state))

    def add(self, name, *words, tenant=None):
        done = self.warder("token", "add", name, "--tenant", tenant or name, *words)
        self.assertRegex(done.stdout.strip(), TOKEN)
        return done.stdout.strip()

    def client(self):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    def ask(self, token, message, client=None):
        return ask(client or self.client(), message, Authorization=f"Bearer {token}")

    def run_code(self, token, code):
        status, answer = self.ask(token, call("execute_code", {"code": code}))
        self.assertEqual(status, 200, answer)
        return json.loads(answer["result"]["content"][0]["text"])

    def status(self, token):
        return self.ask(token, call("execute_code", {"code": "result = 1"}))[0]

    def session(self, token):
        client = self.client()
        headers = {**PLAIN, "Authorization": f"Bearer {token}"}
        client.request("POST", "/mcp", json.dumps(HELLO), headers)
        answer = client.getresponse()
        self.assertEqual(answer.status, 200)
        answer.read()
        return {**headers, "Mcp-Session-Id": answer.getheader("Mcp-Session-Id")}

    def sample(self, name):
        with socket.socket(socket.AF_UNIX) as scrape:
            scrape.connect(str(self.daemon.directory / "metrics.sock"))
            scrape.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            text = b""
            while part := scrape.recv(65536):
                text += part
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.decode().splitlines()
                if line.startswith(name)}


class Tokens(TokenTest):
    def setUp(self):
        super().setUp()
        self.start()
        self.configure()

    def test_a_token_is_shown_once_stored_as_a_hash_and_lets_its_client_in(self):
        token = self.add("ci", "--policy", "own", "--expires", "90d", tenant="builds")
        (file,) = pathlib.Path(f"{self.daemon.file}.d").iterdir()
        self.assertEqual(file.name, "50-token-ci.json")
        self.assertEqual(file.stat().st_mode & 0o137, 0, "only root and the daemon read it")
        self.assertNotIn(token, file.read_text())
        self.assertNotIn(token, self.daemon.log_text())
        self.assertEqual(self.run_code(token, "open('/workspace/a', 'w').write('x'); result = 6 * 7")["result"], 42)
        self.assertEqual(self.run_code(token, "import os; result = os.listdir('/workspace')")["result"], ["a"])
        with self.daemon.connect() as lines:  # a user of the machine is another tenant
            self.assertEqual(lines.execute("import os; result = os.listdir('/workspace')")["result"], [])
        (listed,) = json.loads(self.warder("token", "list", "--json").stdout)
        self.assertEqual((listed["name"], listed["tenant"], listed["policy"], listed["expired"]), ("ci", "builds", "own", False))
        checked = self.warder("token", "check", input=token + "\n")
        self.assertIn("ci: tenant builds", checked.stdout)
        self.assertIn("mistyped", self.warder("token", "check", input=token[:-1] + ("A" if token[-1] != "A" else "B"), status=1).stderr)
        self.assertIn("characters behind wrd_", self.warder("token", "check", input=token[:-2], status=1).stderr)

    def test_names_rules_and_times_are_checked_before_a_token_is_made(self):
        for words, why in ((("add", "ci"), "give --tenant NAME, or add a rule to tenants.json first"),
                           (("add", "CI", "--tenant", "ci"), "is not the name of a token"),
                           (("add", "ci", "--tenant", "../ci"), "tenant"),
                           (("add", "ci", "--policy", "nonsense"), "there is no policy 'nonsense'"),
                           (("add", "ci", "--tenant", "ci", "--expires", "yesterday"), "no time in the future"),
                           (("add", "ci", "--tenant", "ci", "--expires", "2001-01-01"), "no time in the future"),
                           (("add", "ci", "--tenant", "ci", "--expires", "99999999999d"), "no time in the future")):
            with self.subTest(words):
                self.assertIn(why, self.warder("token", *words, status=2).stderr)
        self.assertEqual(list(pathlib.Path(f"{self.daemon.file}.d").glob("*")), [])
        self.policies.write("tenants.json", json.dumps({"rules": [
            {"token": "ci-*", "tenant": "builds", "policy": "own"}, {"default": True, "policy": "default"}]}))
        self.assertIn("gives the token 'ci-1' the tenant 'builds', not 'x'",
                      self.warder("token", "add", "ci-1", "--tenant", "x", status=2).stderr)
        token = self.warder("token", "add", "ci-1").stdout.strip()
        self.assertEqual(self.run_code(token, "result = 1")["result"], 1)
        self.assertIn("already", self.warder("token", "add", "ci-1", status=2).stderr)
        explained = self.warder("policy", "explain", "--token", "ci-1", "--language", "python").stdout
        self.assertIn("builds, under the policy own", explained)
        # The rule goes, and the token lets nobody in.
        self.policies.write("tenants.json", json.dumps({"rules": [{"default": True, "policy": "default"}]}))
        self.reload()
        self.assertEqual(self.status(token), 403)
        done = subprocess.run([WARDER, "config", "check", str(self.daemon.file), "--policies", os.fspath(self.policies)],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertIn("tokens.ci-1: no rule of tenants.json fits", done.stdout + done.stderr)

    def test_a_removed_token_ends_its_streams_and_sessions_and_nobody_elses(self):
        ci, ops = self.add("ci"), self.add("ops")
        sessions = {name: self.session(token) for name, token in (("ci", ci), ("ops", ops))}
        streams = {}
        for name, headers in sessions.items():
            streams[name] = self.client()
            streams[name].request("GET", "/mcp", headers=headers)
            self.assertEqual(streams[name].getresponse().status, 200)
        self.warder("token", "remove", "ci")
        self.assertEqual(self.status(ci), 401)
        streams["ci"].sock.settimeout(PATIENCE)
        while streams["ci"].sock.recv(4096):
            pass  # until the end of the stream
        ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        client = self.client()
        client.request("POST", "/mcp", ping, sessions["ops"])
        self.assertEqual(client.getresponse().status, 200)
        # A new token of the same name is another one.
        again = self.add("ci")
        client = self.client()
        client.request("POST", "/mcp", ping, {**sessions["ci"], "Authorization": f"Bearer {again}"})
        self.assertEqual(client.getresponse().status, 404)
        self.assertEqual(self.status(ci), 401)
        self.assertIn("no token is named 'x'", self.warder("token", "remove", "x", status=1).stderr)

    def test_an_expired_token_is_refused_at_the_next_request_and_its_streams_end(self):
        token = self.add("ci", "--expires", "1m")
        client = self.client()
        self.assertEqual(self.ask(token, call("execute_code", {"code": "1"}), client)[0], 200)
        stream = self.client()
        stream.request("GET", "/mcp", headers=self.session(token))
        self.assertEqual(stream.getresponse().status, 200)
        file = pathlib.Path(f"{self.daemon.file}.d/50-token-ci.json")
        entry = json.loads(file.read_text())
        entry["tokens"]["ci"]["expires"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
        file.write_text(json.dumps(entry))
        self.reload()
        until = time.monotonic() + PATIENCE
        status = 200
        while status == 200:
            self.assertLess(time.monotonic(), until)
            try:
                status = self.ask(token, call("execute_code", {"code": "1"}), client)[0]
            except http.client.RemoteDisconnected:  # it expired while the call ran, and ended it
                client = self.client()
        self.assertEqual(status, 401)
        stream.sock.settimeout(PATIENCE)
        while stream.sock.recv(4096):
            pass  # until the end of the stream
        self.assertIn("its token has expired (ci)", self.daemon.log_text())
        refused = self.sample('warder_http_refused_total{reason="expired"')['warder_http_refused_total{reason="expired"}']
        self.assertIn(refused, (1, 2))  # the end of the connection may overtake the first refusal, which is then repeated
        self.assertIn("(expired)", self.warder("token", "list").stdout)

    def test_failures_are_counted_and_the_log_has_few_lines_and_no_token(self):
        guess = "wrd_" + "A" * 48
        for _ in range(6):
            self.assertEqual(self.status(guess), 401)
        self.assertEqual(self.sample("warder_http_refused_total")['warder_http_refused_total{reason="unknown"}'], 6)
        self.assertEqual(self.daemon.log_text().count("a request from 127.0.0.1 is refused"), 1)
        self.assertNotIn(guess, self.daemon.log_text())

    def test_every_record_shows_the_token_and_no_user(self):
        token = self.add("ci")
        self.run_code(token, "result = 1")
        with self.daemon.connect() as lines:
            lines.execute("result = 2")
        self.daemon.stop()
        entries = [json.loads(line) for line in subprocess.run(
            [WARDER, "audit", "export", str(self.daemon.state)], capture_output=True, text=True, timeout=PATIENCE,
            check=True).stdout.splitlines()]
        calls = {entry["principal"]: entry for entry in entries if entry["subject"] == "execute_code"}
        self.assertEqual(set(calls), {"token:ci", f"uid:{os.geteuid()}"})
        self.assertIsNone(calls["token:ci"]["uid"])
        self.assertIsNone(calls["token:ci"]["pid"])
        self.assertEqual(calls[f"uid:{os.geteuid()}"]["uid"], os.geteuid())
        subprocess.run([WARDER, "audit", "verify", str(self.daemon.state)], timeout=PATIENCE, check=True, capture_output=True)
        history = [json.loads(line) for line in subprocess.run(
            [WARDER, "history", "--json", "--user", "token:ci", "--journal", str(self.daemon.state)], capture_output=True,
            text=True, timeout=PATIENCE, check=True).stdout.splitlines()]
        self.assertEqual([(row["Principal"], row["Tenant"], "UID" in row) for row in history], [("token:ci", "ci", False)])
        self.daemon.start()

    def test_host_and_origin_are_checked_before_the_token_which_is_in_no_query(self):
        token = self.add("ci")
        message = call("execute_code", {"code": "1"})
        for headers in ({"Host": "evil.example"}, {"Host": f"127.0.0.1.evil.example:{self.port}"}, {"Origin": "null"},
                        {"Origin": "http://localhost.evil"}, {"Origin": f"http://127.0.0.1:{self.port}.evil"}):
            client = self.client()
            client.request("POST", "/mcp", json.dumps(message), {**headers_of(message), "Authorization": f"Bearer {token}", **headers})
            self.assertEqual(client.getresponse().status, 403, headers)
        client = self.client()
        client.request("POST", f"/mcp?access_token={token}", json.dumps(message), headers_of(message))
        self.assertEqual(client.getresponse().status, 401, "a token in the query is not looked at")


class Credential(TokenTest):
    def test_a_credential_of_systemd_holds_tokens_too(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        self.start(environment={"CREDENTIALS_DIRECTORY": str(folder)})
        self.configure()
        token = self.add("ci")
        entry = json.loads(pathlib.Path(f"{self.daemon.file}.d/50-token-ci.json").read_text())["tokens"]["ci"]
        self.warder("token", "remove", "ci")
        self.assertEqual(self.status(token), 401)
        self.daemon.stop()
        (folder / "warder.tokens").write_text(json.dumps({"fleet": entry | {"tenant": "fleet"}}))
        self.daemon.start()
        self.assertEqual(self.run_code(token, "result = 1")["result"], 1)
        self.reload()
        self.assertEqual(self.run_code(token, "result = 2")["result"], 2)
        # A token of the files keeps its tenant, whatever the credential says of its name.
        named = self.add("fleet", tenant="builds")
        self.assertEqual(self.run_code(named, "result = 3")["result"], 3)
        self.assertNotIn("tenant fleet python started", self.daemon.log_text().split("reloaded")[-1])
        self.assertIn("token 'fleet' of the credential warder.tokens is not used", self.daemon.log_text())
        self.daemon.stop()
        (folder / "warder.tokens").write_text("nonsense")
        self.daemon.start()
        self.assertIn("its tokens let nobody in", self.daemon.log_text())
        self.assertEqual(self.status(token), 401)


class Provider:
    """An identity provider with Ed25519 keys; openssl(1) signs."""

    def __init__(self, folder):
        self.folder = folder
        self.jwks = folder / "jwks.json"
        self.keys = {}
        self.change()

    def change(self, *kept, kid="one"):
        """A new key of this id; of the others only `kept` stay in the document."""
        key = self.folder / f"{kid}.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
        der = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True, capture_output=True)
        self.keys = {name: self.keys[name] for name in kept} | {kid: base64url(der.stdout[-32:])}
        self.write()

    def write(self):
        keys = [{"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x} for kid, x in self.keys.items()]
        self.jwks.write_text(json.dumps({"keys": keys}))
        self.jwks.chmod(0o644)

    def token(self, header=None, kid="one", **claims):
        claims = {"iss": "https://idp.example", "aud": "https://warder.example/mcp", "sub": "ada", "org": "acme",
                  "exp": int(time.time()) + 300, **claims}
        text = base64url(json.dumps(header or {"alg": "EdDSA", "kid": kid}).encode()) + "." + base64url(json.dumps(claims).encode())
        key = self.folder / f"{kid}.pem"
        message = key.with_suffix(".message")
        message.write_text(text)
        signed = subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", message], check=True,
                                capture_output=True)
        return text + "." + base64url(signed.stdout)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Jwts(TokenTest):
    def setUp(self):
        super().setUp()
        self.policies.write("tenants.json", json.dumps({"rules": [
            {"subject": "ada", "tenant": "org-{claim}", "policy": "default"}, {"default": True, "policy": "default"}]}))
        self.start()
        self.provider = Provider(self.daemon.directory)
        self.jwt = {"issuer": "https://idp.example", "audience": "https://warder.example/mcp", "jwks": str(self.provider.jwks),
                    "tenant_claim": "org"}
        self.daemon.write(http={"listen": [f"127.0.0.1:{self.port}"]}, state=str(self.daemon.state), jwt=self.jwt)
        self.reload()

    def test_a_jwt_has_the_tenant_of_its_claim(self):
        token = self.provider.token()
        self.run_code(token, "open('/workspace/a', 'w').write('x')")
        listing = "import os; result = os.listdir('/workspace')"
        self.assertEqual(self.run_code(token, listing)["result"], ["a"])
        self.assertEqual(self.run_code(self.provider.token(org="other"), listing)["result"], [])
        self.assertEqual(self.status(self.provider.token(org="../x")), 403, "a claim of another form is none")
        self.assertEqual(self.status(self.provider.token(sub="eve")), 403)
        # One connection, two claims: the tenant is that of each request.
        client = self.client()
        for org, files in (("acme", ["a"]), ("other", []), ("acme", ["a"])):
            _, answer = self.ask(self.provider.token(org=org), call("execute_code", {"code": listing}), client)
            self.assertEqual(json.loads(answer["result"]["content"][0]["text"])["result"], files)

    def test_bad_ones_are_refused_alike_and_the_log_says_why(self):
        good = self.provider.token()
        for token in (self.provider.token(aud="https://other.example"), self.provider.token(exp=1), good[:-3] + "AAA",
                      self.provider.token(header={"alg": "none", "kid": "one"}), good.rsplit(".", 1)[0] + "."):
            client = self.client()
            message = call("execute_code", {"code": "1"})
            client.request("POST", "/mcp", json.dumps(message), {**headers_of(message), "Authorization": f"Bearer {token}"})
            answer = client.getresponse()
            self.assertEqual(answer.status, 401)
            self.assertEqual(answer.getheader("WWW-Authenticate"), 'Bearer error="invalid_token", resource_metadata='
                             '"https://warder.example/.well-known/oauth-protected-resource/mcp"')
        self.assertIn("its JWT is not good (it is for another audience)", self.daemon.log_text())
        self.assertEqual(self.sample("warder_http_refused_total")['warder_http_refused_total{reason="bad_jwt"}'], 5)
        self.assertEqual(self.status(good), 200)

    def test_keys_change_with_a_reload_and_a_broken_file_lets_nobody_in(self):
        old = self.provider.token()
        self.assertEqual(self.status(old), 200)
        self.provider.change()
        self.assertEqual(self.status(old), 200, "not reloaded yet")
        self.reload()
        self.assertEqual(self.status(old), 401)
        self.assertEqual(self.status(self.provider.token()), 200)
        self.provider.jwks.write_text("{")
        self.reload()
        self.assertEqual(self.status(self.provider.token()), 401)
        self.assertIn("no JWT is good until a reload reads the file", self.daemon.log_text())

    def test_only_the_runs_of_a_key_that_is_gone_end(self):
        hold = "import os, time\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\nresult = 'went on'"

        def begin(**who):
            _, answer = self.ask(self.provider.token(**who), call("execute_code", {"code": hold, "background": True}))
            return json.loads(answer["result"]["content"][0]["text"])["execution_id"]

        def state(execution, **who):
            message = {"jsonrpc": "2.0", "id": 1, "method": "resources/read",
                       "params": {"uri": f"exec:///{execution}/result", "_meta": META}}
            _, answer = ask(self.client(), message, **{"Mcp-Name": message["params"]["uri"],
                                                       "Authorization": f"Bearer {self.provider.token(**who)}"})
            return json.loads(answer["result"]["contents"][0]["text"])

        first = begin()  # signed with the key one
        self.provider.change("one", kid="two")
        self.reload()
        second, renewed = begin(org="other", kid="two"), begin(org="third")
        self.assertEqual(state(first)["state"], "working", "the document was only extended")
        self.assertEqual(state(renewed, org="third", kid="two")["state"], "working")  # a newer JWT of the same subject
        del self.provider.keys["one"]
        self.provider.write()
        self.reload()
        self.assertEqual(eventually(lambda: (now := state(first, kid="two")) and "outcome" in now and now, first)["outcome"],
                         "cancelled")
        for execution, org in ((second, "other"), (renewed, "third")):
            self.assertEqual(state(execution, org=org, kid="two")["state"], "working")
            (self.daemon.state / f"tenants/org-{org}/workspace/go").touch()
            ended = eventually(lambda: (now := state(execution, org=org, kid="two")) and "outcome" in now and now, execution)
            self.assertEqual(ended["result"], "went on")

    def test_clients_find_the_provider(self):
        for path in ("", "/mcp"):
            client = self.client()
            client.request("GET", "/.well-known/oauth-protected-resource" + path)
            answer = client.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(json.loads(answer.read()), {
                "resource": "https://warder.example/mcp", "authorization_servers": ["https://idp.example"],
                "bearer_methods_supported": ["header"]})
        client.request("GET", "/.well-known/oauth-protected-resource/other")
        self.assertEqual(client.getresponse().status, 401)
        with Client(self.daemon.socket):  # the Unix socket needs none, and tells none
            pass


if __name__ == "__main__":
    unittest.main()
