"""MCP over HTTP of the installed service: the socket of TCP under systemd, and tokens that an administrator makes."""
import contextlib
import http.client
import json
import subprocess

from suite.service import InstalledService, connect, show, systemctl
from suite.warder import META, PATIENCE

PORT = 9470
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
           "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute_code"}


def warder(*words):
    return subprocess.run(["warder", *words], capture_output=True, text=True, timeout=PATIENCE)


def post(code, token=None):
    """Status, headers and the parsed body of one call over TCP."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=PATIENCE)
    headers = HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "execute_code", "arguments": {"code": code}, "_meta": META}}
    try:
        connection.request("POST", "/mcp", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    if answer.getheader("Content-Type", "").startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data: ")][-1].removeprefix("data: ")
    return answer.status, answer, json.loads(text)


class Http(InstalledService):
    def setUp(self):
        super().setUp()
        systemctl("start", "warder-http.socket")

    def tearDown(self):
        systemctl("stop", "warder-http.socket")
        super().tearDown()

    def test_a_token_lets_its_client_in_until_it_is_removed(self):
        status, answer, _ = post("result = 1")
        self.assertEqual((status, answer.getheader("WWW-Authenticate")), (401, "Bearer"))
        self.assertEqual(show("ActiveState"), "active", "the first connection starts the service")
        made = warder("token", "add", "ci", "--tenant", "builds")
        self.addCleanup(warder, "token", "remove", "ci")
        self.assertEqual(made.returncode, 0, made.stderr)
        token = made.stdout.strip()
        status, _, body = post("result = 6 * 7", token)
        self.assertEqual(status, 200, body)
        result = json.loads(body["result"]["content"][0]["text"])
        self.assertEqual((result["outcome"], result["result"]), ("ok", 42))
        listed = warder("history", "--tenant", "builds")
        self.assertIn("token:ci", listed.stdout + warder("audit", "list", "--json").stdout)
        for text in (warder("token", "list").stdout, subprocess.run(
                ["journalctl", "-u", "warder.service", "-o", "cat"], capture_output=True, text=True).stdout):
            self.assertNotIn(token[4:], text)
        removed = warder("token", "remove", "ci")
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertEqual(post("result = 1", token)[0], 401)

    def test_two_commands_serve_a_running_service_and_its_clients_stay_connected(self):
        systemctl("stop", "warder-http.socket")
        with contextlib.closing(connect()) as client:
            client.request("server/discover")
            self.assertEqual(show("ActiveState"), "active")
            systemctl("enable", "warder-http.socket")
            self.addCleanup(systemctl, "disable", "warder-http.socket")
            systemctl("restart", "warder.service")
            self.assertEqual(show("ActiveState", "warder-http.socket"), "active")
            self.assertEqual(post("result = 1")[0], 401)
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")

    def test_no_other_machine_reaches_the_socket(self):
        listening = subprocess.run(["ss", "-ltnH", f"sport = :{PORT}"], capture_output=True, text=True, check=True)
        self.assertEqual([line.split()[3] for line in listening.stdout.splitlines()], [f"127.0.0.1:{PORT}"])
