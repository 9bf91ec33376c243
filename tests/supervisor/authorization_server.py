"""An authorization server for tests, and the guard that makes a remote.Server want its tokens. `wrong` names what it does
wrong; a test sets it before it logs in."""
import base64
import hashlib
import http.server
import json
import socketserver
import threading
import urllib.parse
import uuid

CLIENT, CLIENT_SECRET = "warder-client", "cl1ent:s3cret+of/warder"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def reply(self, value, status=200, **headers):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server = self.server
        where = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(where.query))
        if where.path == "/.well-known/oauth-authorization-server":
            return self.metadata()
        if where.path != "/authorize":
            return self.reply({}, 404)
        server.asked.append(query)
        code = uuid.uuid4().hex
        server.codes[code] = query
        back = {"code": code, "state": query["state"], "iss": server.issuer}
        if server.wrong == "state":
            back["state"] = "x" * 43
        if server.wrong == "iss":
            back["iss"] = "https://evil.example"
        if server.wrong == "no iss":
            del back["iss"]
        if server.wrong == "error":
            back = {"error": "access_denied", "error_description": "not today", "state": query["state"]}
        if server.wrong == "no code":
            del back["code"]
        self.reply({}, 302, Location=query["redirect_uri"] + "?" + urllib.parse.urlencode(back))

    def metadata(self):
        server = self.server
        document = {"issuer": server.issuer, "authorization_endpoint": server.issuer + "/authorize",
                    "token_endpoint": server.issuer + "/token", "registration_endpoint": server.issuer + "/register",
                    "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": True,
                    "token_endpoint_auth_methods_supported": server.methods}
        document.update(server.more)
        wrong = server.wrong
        if wrong != "no revocation":
            document["revocation_endpoint"] = server.issuer + "/revoke"
        if wrong == "issuer":
            document["issuer"] = "https://evil.example"
        if wrong == "http":
            document["token_endpoint"] = "http://evil.example/token"
        if wrong == "plain":
            document["code_challenge_methods_supported"] = ["plain"]
        if wrong == "no registration":
            del document["registration_endpoint"]
        if wrong == "fragment":
            document["authorization_endpoint"] += "#x"
        if wrong == "redirect":
            return self.reply({}, 302, Location="http://127.0.0.1:1/elsewhere")
        if wrong == "huge":
            document["filler"] = "x" * (10 << 20)
        if wrong == "deep":
            return self.reply(b"[" * 100_000)
        if wrong == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * 65536)
            except OSError:
                self.close_connection = True
            return None
        return self.reply(document)

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/register":
            server.registered.append(json.loads(body))
            return self.reply({"client_id": f"registered-{len(server.registered)}", "token_endpoint_auth_method": "none"}, 201)
        form = dict(urllib.parse.parse_qsl(body))
        if self.path == "/revoke":
            return self.revoke(form)
        server.requests.append((form, self.headers["Authorization"]))
        if server.wrong == "slow":
            server.go_on.wait(60)
        refusal = self.refusal(form)
        if refusal:
            return self.reply({"error": refusal, "error_description": "because of the test"}, 400)
        answer = {"access_token": f"access-{uuid.uuid4().hex}", "token_type": "Bearer", "expires_in": server.life}
        if form["grant_type"] != "client_credentials" and server.refreshes:
            answer["refresh_token"] = f"refresh-{uuid.uuid4().hex}"
            server.refresh.add(answer["refresh_token"])
        answer.update(server.answer)
        server.valid.add(answer["access_token"])
        server.issued.append(answer)
        return self.reply(answer)

    def revoke(self, form):
        server = self.server
        server.revoked.append(form)
        if server.wrong == "slow revocation":
            server.go_on.wait(60)
        if server.wrong == "revocation":
            return self.reply({}, 503)
        server.refresh.discard(form["token"])
        return self.reply({})

    def refusal(self, form):
        server, kind = self.server, form["grant_type"]
        if form.get("resource") != server.resource:
            return "invalid_target"
        if kind == "client_credentials":
            pair = f"{urllib.parse.quote_plus(CLIENT)}:{urllib.parse.quote_plus(CLIENT_SECRET)}"
            basic = "Basic " + base64.b64encode(pair.encode()).decode()
            good = self.headers["Authorization"] == basic if "client_secret_basic" in server.methods else (
                (form.get("client_id"), form.get("client_secret")) == (CLIENT, CLIENT_SECRET))
            return None if good else "invalid_client"
        if kind == "refresh_token":
            if form["refresh_token"] not in server.refresh:
                return "invalid_grant"
            server.refresh.discard(form["refresh_token"])  # rotation: good for one use
            return None
        asked = server.codes.pop(form.get("code"), None)
        if not asked or asked["redirect_uri"] != form["redirect_uri"] or asked["client_id"] != form["client_id"]:
            return "invalid_grant"
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        return None if challenge == asked["code_challenge"] else "invalid_grant"


class AuthorizationServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        self.wrong, self.life, self.refreshes = None, 3600, True
        self.methods = ["client_secret_basic", "none"]
        self.answer = {}  # replaces members of a token's reply
        self.more = {}  # members of the metadata
        self.codes, self.valid, self.refresh = {}, set(), set()
        self.asked, self.registered, self.requests, self.issued, self.revoked = [], [], [], [], []
        self.go_on = threading.Event()  # ends what is slow
        self.resource = self.resource_metadata = None
        self.scope = "files:read"  # in the challenge
        super().__init__(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        pass

    def guards(self, server):
        """That server wants tokens from here."""
        self.resource = server.url
        server.guard = self.guard
        return server

    def guard(self, handler):
        """Whether the request was answered here."""
        if handler.path.startswith("/.well-known/"):
            known = {"resource": self.resource, "authorization_servers": [self.issuer], "scopes_supported": ["a", "b"]}
            if self.wrong == "resource":
                known["resource"] = "https://evil.example/mcp"
            if self.wrong == "http issuer":
                known["authorization_servers"] = ["http://evil.example"]
            handler.reply(200 if handler.path.endswith("/oauth-protected-resource/mcp") else 404, json.dumps(known).encode())
            return True
        token = (handler.headers["Authorization"] or "").removeprefix("Bearer ")
        if token in self.valid and self.wrong != "step up":
            return False
        if length := int(handler.headers["Content-Length"] or 0):
            handler.rfile.read(length)
        place = handler.server.url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp"
        if self.wrong == "other place":
            place = self.issuer + "/.well-known/oauth-protected-resource/mcp"
        if self.wrong == "step up":
            handler.reply(403, b"{}", WWW_Authenticate='Bearer error="insufficient_scope", scope="files:write admin"')
        else:
            handler.reply(401, b'{"error": "invalid_token"}',
                          WWW_Authenticate=f'Bearer resource_metadata="{place}", scope="{self.scope}"')
        return True

    def secrets(self):
        """Every token that was given out."""
        return [value for answer in self.issued for key, value in answer.items() if key.endswith("_token")]

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
