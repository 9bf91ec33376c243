#!/usr/bin/env python3
"""Logins at upstream servers (OAuth): by a person, and by the daemon's own account."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from authorization_server import CLIENT, CLIENT_SECRET, AuthorizationServer
from bus_harness import Admin, Bus, BusDaemon, as_user
from harness import ORDINARY_USER, PATIENCE, ROOT, Client, eventually
from remote import Server

WARDER = os.environ["WARDER"]
REDIRECT = "http://127.0.0.1:47115/callback"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def browse(url):
    """Where the authorization server sends the browser to."""
    try:
        urllib.request.build_opener(NoRedirect).open(url, timeout=PATIENCE)
    except urllib.error.HTTPError as reply:
        return reply.headers["Location"]
    raise AssertionError("no redirect")


class LoginTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-login-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.bus = self.enterContext(Bus())
        self.issuer = self.enterContext(AuthorizationServer())
        self.server = self.issuer.guards(self.enterContext(Server()))

    def begin(self, share="everybody", **oauth):
        entry = {"url": self.server.url, "share": share, "oauth": {"grant": "authorization_code", **oauth}}
        self.daemon = self.enterContext(BusDaemon(self.bus, configuration={"servers": {"far": entry}}))
        self.client = self.enterContext(Client(self.daemon.socket))
        self.admin = self.enterContext(Admin(self.bus))

    def call(self, tool="add", client=None, **arguments):
        arguments = arguments or {"a": 1, "b": 2}
        return (client or self.client).call("call_tool", {"name": f"far.{tool}", "arguments": arguments})["structuredContent"]

    def log_in(self, redirected=None):
        """Over D-Bus, with a browser of the test."""
        identity, url = self.admin.call("BeginLogin", "sssas", "far", "", REDIRECT, [])
        self.admin.call("FinishLogin", "ssss", "far", "", identity, redirected or browse(url))

    def listed(self):
        (server,) = self.admin.call("ListServers")
        return server

    def state_files(self):
        # By find, which goes on when the daemon removes a folder meanwhile.
        found = subprocess.run(["find", self.daemon.state, "-type", "f", "-print0"], capture_output=True, text=True)
        return [pathlib.Path(name) for name in found.stdout.split("\0") if name]

    def assert_no_token_is_seen(self, *texts):
        for token in self.issuer.secrets():
            self.assertNotIn(token, self.daemon.log_text())
            for text in texts:
                self.assertNotIn(token, text)
            for file in self.state_files():
                self.assertNotIn(token.encode(), file.read_bytes(), file)


class ByAPerson(LoginTest):
    def test_a_login_by_the_command_line(self):
        self.begin()
        refused = self.call()
        self.assertIn("nobody has logged in", refused["error"])
        self.assertEqual(self.listed()["Login"], "needed")
        login = subprocess.Popen([WARDER, "servers", "login", "far", "--no-browser", "--bus", self.bus.address],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (login.kill(), login.communicate()))
        url = login.stdout.readline().strip()
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.assertEqual((query["response_type"], query["code_challenge_method"], query["resource"], query["scope"]),
                         ("code", "S256", self.server.url, "files:read"))
        self.assertEqual(self.issuer.registered[0]["redirect_uris"], [query["redirect_uri"]])
        # Somebody else's request to the port, with another state, is not taken.
        for target, status in (("?code=evil&state=other", 400), ("/../x", 404)):
            with self.assertRaises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(query["redirect_uri"] + target, timeout=PATIENCE)
            self.assertEqual(raised.exception.code, status)
        self.assertIn(b"close this page", urllib.request.urlopen(url, timeout=PATIENCE).read())
        out, errors = login.communicate(timeout=PATIENCE)
        self.assertEqual((login.returncode, out), (0, ""), errors)
        self.assertIn("logged in to far", errors)
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())
        self.assertEqual(self.listed()["Login"], "present")
        self.assertEqual(self.call("headers", where="x")["result"]["Authorization"], "Bearer [secret token]")
        (sealed,) = [file for file in self.state_files() if file.name.endswith(".sealed")]
        self.assertEqual(stat.S_IMODE(sealed.stat().st_mode), 0o600)
        self.assert_no_token_is_seen(errors, json.dumps(self.listed(), default=str))
        self.assertTrue(self.issuer.requests[0][0]["code_verifier"])

    def test_by_a_pasted_address_and_out_again(self):
        self.begin()
        login = subprocess.Popen([WARDER, "servers", "login", "far", "--paste", "--scope", "a b", "--bus", self.bus.address],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (login.kill(), login.communicate()))
        url = login.stdout.readline().strip()
        self.assertEqual(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))["scope"], "a b")
        _, errors = login.communicate(browse(url) + "\n", timeout=PATIENCE)
        self.assertEqual(login.returncode, 0, errors)
        self.assertEqual(self.call(), {"result": {"sum": 3}})
        done = subprocess.run([WARDER, "servers", "logout", "far", "--bus", self.bus.address], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "logged out of far\n", ""))
        (revoked,) = self.issuer.revoked
        self.assertEqual(revoked, {"token": self.issuer.issued[-1]["refresh_token"], "token_type_hint": "refresh_token",
                                   "client_id": "registered-1"})
        self.assertEqual([file for file in self.state_files() if file.name.endswith(".sealed")], [])
        self.assertIn("nobody has logged in", self.call()["error"])
        self.assertEqual(tuple(self.admin.call("LogOut", "ss", "far", "")), (False, ""))

    def test_the_issuer_may_be_configured_with_a_slash_at_its_end(self):
        self.begin(issuer=self.issuer.issuer + "/")
        self.log_in()
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())

    def test_a_logout_says_why_tokens_are_not_revoked(self):
        self.begin()
        for wrong, why in (("no revocation", "it has no revocation_endpoint"),
                           ("revocation", "the tokens are not revoked: HTTP status 503"),
                           ("slow revocation", "timed out after 5\\d\\d\\d milliseconds")):
            self.issuer.wrong = wrong
            self.log_in()
            self.assertEqual(self.call(), {"result": {"sum": 3}})
            since = time.monotonic()
            was_there, not_revoked = self.admin.call("LogOut", "ss", "far", "")
            self.assertTrue(was_there, wrong)
            self.assertRegex(str(not_revoked), why)
            self.assertIn("authorization server", str(not_revoked))
            self.assertLess(time.monotonic() - since, 15, wrong)
            self.assertIn("nobody has logged in", self.call()["error"])
            self.assert_no_token_is_seen(str(not_revoked))
        self.issuer.go_on.set()
        self.issuer.wrong = "no revocation"
        self.log_in()
        done = subprocess.run([WARDER, "servers", "logout", "far", "--bus", self.bus.address], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (0, "logged out of far\n"), done.stderr)
        self.assertIn("deleted here, but not revoked", done.stderr)

    def test_a_login_is_for_its_path_alone(self):
        self.begin()
        self.log_in()
        self.assertEqual(self.call(), {"result": {"sum": 3}})
        self.client.close()
        self.daemon.stop()
        file = pathlib.Path(self.bus.folder, "warderd.json")
        settings = json.loads(file.read_text())
        settings["servers"]["far"]["url"] += "2"  # another service at the same origin
        file.write_text(json.dumps(settings))
        asked = len(self.server.seen("tools/call"))
        self.daemon.start()
        client = self.enterContext(Client(self.daemon.socket))
        self.assertIn("nobody has logged in", self.call(client=client)["error"])
        self.assertEqual(len(self.server.seen("tools/call")), asked)

    def test_a_logout_wins_over_a_login_that_is_being_finished(self):
        self.begin()
        identity, url = self.admin.call("BeginLogin", "sssas", "far", "", REDIRECT, [])
        redirected = browse(url)
        self.issuer.go_on, self.issuer.wrong = threading.Event(), "slow"
        self.addCleanup(self.issuer.go_on.set)
        other, refusals = self.enterContext(Admin(self.bus)), []

        def finish():
            try:
                other.call("FinishLogin", "ssss", "far", "", identity, redirected)
            except Exception as refused:  # whatever the bus of this test raises
                refusals.append(str(refused))

        finishing = threading.Thread(target=finish)
        finishing.start()
        eventually(lambda: self.issuer.requests, "the daemon asks for the tokens")
        self.assertEqual(tuple(self.admin.call("LogOut", "ss", "far", "")), (False, ""))
        self.issuer.go_on.set()
        finishing.join(PATIENCE)
        self.assertIn("ended by a logout", "".join(refusals))
        self.assertEqual([file for file in self.state_files() if file.name.endswith(".sealed")], [])
        self.assertIn("nobody has logged in", self.call()["error"])

    def test_tokens_are_renewed_and_survive_a_restart(self):
        self.begin()
        self.log_in()
        self.assertEqual(self.call(), {"result": {"sum": 3}})
        self.issuer.valid.clear()  # refused with 401: renewed once, and the call is sent again
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())
        self.assertEqual([form["grant_type"] for form, _ in self.issuer.requests], ["authorization_code", "refresh_token"])
        self.client.close()
        self.daemon.stop()
        self.daemon.start()
        client = self.enterContext(Client(self.daemon.socket))
        self.assertEqual(self.call(client=client), {"result": {"sum": 3}}, self.daemon.log_text())
        # A refresh token that is no longer good ends the login.
        self.issuer.valid.clear()
        self.issuer.refresh.clear()
        refused = self.call(client=client)
        self.assertIn("its login has ended", refused["error"])
        self.assertEqual(refused["remedy"], "warder servers login far")
        self.assert_no_token_is_seen(json.dumps(refused))

    def test_a_renewal_goes_on_when_its_call_ends_and_the_settings_change(self):
        self.begin()
        self.log_in()
        self.assertEqual(self.call(), {"result": {"sum": 3}})
        self.issuer.go_on, self.issuer.wrong = threading.Event(), "slow"
        self.addCleanup(self.issuer.go_on.set)
        self.issuer.valid.clear()
        leaving = Client(self.daemon.socket)
        leaving.begin("tools/call", name="call_tool", arguments={"name": "far.add", "arguments": {"a": 1, "b": 2}})
        eventually(lambda: len(self.issuer.requests) == 2, "the daemon asks for a new token")
        leaving.close()
        # Other settings: another source of tokens for the same login.
        file = pathlib.Path(self.bus.folder, "warderd.json")
        settings = json.loads(file.read_text())
        settings["servers"]["far"]["headers"] = {"X-Team": "a"}
        file.write_text(json.dumps(settings))
        self.admin.call("Reload")
        request = self.client.begin("tools/call", name="call_tool", arguments={"name": "far.add", "arguments": {"a": 1, "b": 2}})
        self.client.answer(self.client.begin("server/discover"))  # the call is under way
        self.issuer.wrong = None
        self.issuer.go_on.set()
        self.assertEqual(self.client.answer(request)["result"]["structuredContent"], {"result": {"sum": 3}}, self.daemon.log_text())
        grants = [form["grant_type"] for form, _ in self.issuer.requests]
        self.assertEqual(grants, ["authorization_code", "refresh_token"])
        self.assertEqual(self.listed()["Login"], "present")

    def test_a_call_during_the_start_after_a_login_has_its_own_connection(self):
        self.begin(share="tenant")
        held, go_on, guard = threading.Event(), threading.Event(), self.server.guard
        self.addCleanup(go_on.set)

        def hold_first(handler):
            if handler.headers["Mcp-Method"] == "tools/list" and not held.is_set():
                held.set()
                go_on.wait(PATIENCE)
            return guard(handler)

        self.server.guard = hold_first
        finishing = threading.Thread(target=self.log_in)
        finishing.start()
        self.assertTrue(held.wait(PATIENCE))
        # The start after the login is under no tenant's policy, and is not over.
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())
        self.assertTrue(finishing.is_alive())
        go_on.set()
        finishing.join(PATIENCE)
        self.assertEqual(self.listed()["Logins"], 1)

    def test_a_token_that_is_refused_at_once_is_renewed_once(self):
        self.begin()
        self.log_in()
        self.issuer.answer = {}
        asked = len(self.issuer.requests)
        guard = self.server.guard
        self.server.guard = lambda handler: (self.issuer.valid.clear(), guard(handler))[1]
        refused = self.call()
        self.assertEqual(refused["remedy"], "warder servers login far")
        self.assertIn("HTTP status 401", refused["error"])
        self.call()
        self.assertEqual(len(self.issuer.requests) - asked, 1)  # and not again at each call

    def test_a_refused_token_is_no_reason_to_try_an_older_protocol(self):
        self.begin()
        self.issuer.wrong = "step up"  # from the first request on
        posted = []
        self.server.guard = lambda one: (posted.append((one.command, one.headers["Mcp-Method"])), self.issuer.guard(one))[1]
        self.log_in()
        for _ in range(2):  # the second call comes in the pause between two starts
            self.assertIn("warder servers login far --scope 'a b files:write admin'", self.call()["remedy"])
        self.assertIn(("POST", "server/discover"), posted)
        self.assertNotIn(("POST", None), posted)  # initialize has no such header

    def test_a_client_is_known_by_the_url_of_its_metadata(self):
        url = "https://warder.example/client.json"
        self.begin(client_id=url)
        _, refused = self.admin.error("BeginLogin", "sssas", "far", "", REDIRECT, [])
        self.assertIn("reads no metadata of clients", refused)
        self.issuer.more = {"client_id_metadata_document_supported": True}
        self.log_in()
        self.assertEqual(self.issuer.asked[-1]["client_id"], url)
        self.assertEqual(self.issuer.requests[-1][0]["client_id"], url)
        self.assertEqual(self.issuer.registered, [])
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())

    def test_refresh_tokens_are_asked_for_where_the_issuer_has_them(self):
        self.begin()
        for scope, listed, asked in (("files:read", ["files:read", "offline_access"], "files:read offline_access"),
                                     ("files:read", ["files:read"], "files:read"),
                                     ("files:read", None, "files:read"),
                                     ("files:read offline_access", ["files:read"], "files:read"),
                                     ("files:read offline_access", None, "files:read offline_access")):
            with self.subTest(scope=scope, listed=listed):
                self.issuer.scope, self.issuer.more = scope, {"scopes_supported": listed} if listed else {}
                self.log_in()
                self.assertEqual(self.issuer.asked[-1]["scope"], asked)

    def test_more_rights_are_never_asked_for_by_themselves(self):
        self.begin()
        self.log_in()
        self.call()
        asked = len(self.issuer.requests), len(self.issuer.asked)
        self.issuer.wrong = "step up"
        refused = self.call()
        self.assertIn("wants more rights than the login has: the scopes files:write admin", refused["error"])
        # With the scope that the login has: a new login replaces it.
        self.assertEqual(refused["remedy"],
                         "warder servers login far --scope 'files:read files:write admin', if you want to allow it")
        self.assertEqual((len(self.issuer.requests), len(self.issuer.asked)), asked)

    @unittest.skipUnless(ROOT, "needs root, to be somebody else")
    def test_each_tenant_has_its_own_login(self):
        self.begin(share="tenant")
        other = self.enterContext(as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)))
        self.log_in()  # as root's own tenant
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())
        self.assertIn("nobody has logged in", self.call(client=other)["error"])
        begin = ["call", "org.warder.Warder1", "/org/warder/Warder1", "org.warder.Warder1.Manager", "BeginLogin", "sssas", "far"]
        done = self.bus.busctl(*begin, "uid-0", REDIRECT, "0", user=ORDINARY_USER, check=False)
        self.assertIn("has no permission", done.stderr)
        answered = self.bus.busctl("--json=short", *begin, "", REDIRECT, "0", user=ORDINARY_USER)
        identity, url = json.loads(answered)["data"]
        # The login of another owner cannot be finished in one's own name.
        redirected = browse(url)
        kind, _ = self.admin.error("FinishLogin", "ssss", "far", "uid-0", identity, redirected)
        self.assertEqual(kind, "NotFound")
        self.bus.busctl(*[word if word != "BeginLogin" else "FinishLogin" for word in begin[:5]], "ssss", "far", "", identity,
                        redirected, user=ORDINARY_USER)
        self.assertEqual(self.call(client=other), {"result": {"sum": 3}}, self.daemon.log_text())
        self.assertEqual(self.listed()["Logins"], 2)
        used = {headers["Authorization"] for headers in self.server.seen("tools/call")}
        self.assertEqual(len(used), 2)
        # The connection that learned the tools at the end of a login belonged to no tenant.
        self.assertGreaterEqual(len(self.server.seen("tools/list")), 4)
        stranger = ORDINARY_USER - 1
        for words, status, told in (
                ([], 1, f"there are logins of 2 tenants: uid-0, uid-{ORDINARY_USER}"),
                (["--tenant", f"uid-{ORDINARY_USER}"], 0, "far starts, 19 tools"), (["--tenant", f"uid-{stranger}"], 1, "nobody has logged in"),
                (["--tenant", "No/Tenant"], 1, "not the name of a tenant")):
            with self.subTest(words=words):
                done = subprocess.run([WARDER, "servers", "test", "far", *words, "--bus", self.bus.address], capture_output=True,
                                      text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertIn(told, done.stdout + done.stderr)
        theirs = {headers["Authorization"].removeprefix("Bearer ") for headers in self.server.seen("tools/list")[-1:]}
        self.assertLessEqual(theirs, {answer["access_token"] for answer in self.issuer.issued})
        # A name that does not exist, and one that is not the tenant's, look alike to a tenant.
        wrong = []
        for server in ("near", "far"):
            wrong.append(self.bus.busctl(*begin[:-1], server, "uid-0", REDIRECT, "0", user=ORDINARY_USER, check=False).stderr)
        self.assertIn("has no permission", wrong[0])
        self.assertEqual(wrong[0], wrong[1])
        unknown = self.bus.busctl(*begin[:-1], "near", "", REDIRECT, "0", user=ORDINARY_USER, check=False).stderr
        self.assertIn("has no permission", unknown)
        kind, why = self.admin.error("BeginLogin", "sssas", "near", "", REDIRECT, [])
        self.assertEqual((kind, why), ("NotFound", "no server is named 'near'; warder servers list shows the servers"))
        # A tenant's logins go with it, and no other tenant's.
        self.admin.call("RemoveTenant", "sb", f"uid-{ORDINARY_USER}", True)
        sealed = lambda: [file for file in self.state_files() if file.name.endswith(".sealed")]
        eventually(lambda: len(sealed()) == 1, "the login is deleted")
        self.assertEqual(self.listed()["Logins"], 1)
        eventually(lambda: self.issuer.revoked, "their tokens are revoked")
        self.assertEqual([form["token"] for form in self.issuer.revoked], [self.issuer.issued[-1]["refresh_token"]])
        self.assertEqual(self.call(), {"result": {"sum": 3}})
        other = self.enterContext(as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)))
        self.assertIn("nobody has logged in", self.call(client=other)["error"])

    @unittest.skipUnless(ROOT, "needs root, to be somebody else")
    def test_a_shared_login_is_for_administrators(self):
        self.begin()
        done = self.bus.busctl("call", "org.warder.Warder1", "/org/warder/Warder1", "org.warder.Warder1.Manager", "BeginLogin",
                               "sssas", "far", "", REDIRECT, "0", user=ORDINARY_USER, check=False)
        self.assertIn("has no permission", done.stderr)
        unknown = self.bus.busctl("call", "org.warder.Warder1", "/org/warder/Warder1", "org.warder.Warder1.Manager", "BeginLogin",
                                  "sssas", "near", "", REDIRECT, "0", user=ORDINARY_USER, check=False)
        self.assertEqual(unknown.stderr, done.stderr)
        self.assertEqual(self.issuer.registered, [])


class ByTheDaemon(LoginTest):
    def start(self, methods):
        self.issuer.methods = methods
        file = self.folder / "secret"
        file.write_text(CLIENT_SECRET + "\n")
        file.chmod(0o644)
        self.begin(grant="client_credentials", client_id=CLIENT, client_secret=str(file), issuer=self.issuer.issuer,
                   scopes=["one"])

    def test_with_either_way_of_authentication(self):
        self.start(["client_secret_basic"])
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())
        self.assertEqual(self.listed()["Login"], "own account")
        self.issuer.methods = ["client_secret_post"]
        form, authorization = self.issuer.requests[0]
        self.assertEqual((form["scope"], form["resource"]), ("one", self.server.url))
        self.assertTrue(authorization.startswith("Basic "))
        self.assertNotIn("client_secret", form)
        self.assertNotIn(CLIENT_SECRET, self.daemon.log_text())
        self.assertEqual([file for file in self.state_files() if file.name.endswith(".sealed")], [])
        self.assertIn("by itself", self.admin.error("BeginLogin", "sssas", "far", "", REDIRECT, [])[1])
        self.assert_no_token_is_seen()

    def test_with_the_secret_in_the_body(self):
        self.start(["client_secret_post"])
        self.assertEqual(self.call(), {"result": {"sum": 3}}, self.daemon.log_text())
        self.assertEqual(self.issuer.requests[0][0]["client_secret"], CLIENT_SECRET)
        self.assertIsNone(self.issuer.requests[0][1])

    def test_a_wrong_secret_is_said_without_it(self):
        self.issuer.methods = ["client_secret_post"]
        file = self.folder / "secret"
        file.write_text("wrong-s3cret-text")
        self.begin(grant="client_credentials", client_id=CLIENT, client_secret=str(file), issuer=self.issuer.issuer)
        refused = self.call()
        self.assertIn("invalid_client (because of the test)", refused["error"])
        self.assertNotIn("wrong-s3cret-text", json.dumps(refused) + self.daemon.log_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
