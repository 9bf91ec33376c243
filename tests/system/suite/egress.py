"""Hosts by name under systemd: warder-egress begins with the first execution that needs it, as another user, and the daemon
has no network."""
import contextlib
import http.server
import json
import pathlib
import subprocess
import threading
import unittest

from suite.package import dpkg
from suite.service import POLICIES, InstalledService, connect, show, systemctl

HOSTS = pathlib.Path("/etc/hosts")
NAME = "plain.warder.test"
GET = """
import urllib.error, urllib.request
def get(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer: return [answer.status, answer.read().decode()]
    except urllib.error.HTTPError as e: return [e.code, e.read().decode()]
"""


PACKAGE = pathlib.Path("/packages/warder-egress.deb")


def setUpModule():
    if not PACKAGE.exists():
        raise unittest.SkipTest("*** NOT TESTED: hosts by name: no package warder-egress beside that of warder ***")
    dpkg("--install", str(PACKAGE))
    unittest.addModuleCleanup(dpkg, "--purge", "warder-egress")


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"path": self.path, "key": self.headers.get("X-Key")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class InstalledUnits(unittest.TestCase):
    def test_the_units_have_nothing_to_be_complained_about(self):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "warder-egress.service", "warder-egress.socket"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "warder" in line]), (0, []))

    def test_the_installation_opens_the_socket_and_brings_the_manual_page(self):
        self.assertEqual(systemctl("is-enabled", "warder-egress.socket"), "enabled")
        self.assertEqual(show("ActiveState", "warder-egress.socket"), "active")
        self.assertIn("/usr/share/man/man8/warder-egress.8.gz\n", dpkg("--listfiles", "warder-egress"))


class Egress(InstalledService):
    def setUp(self):
        super().setUp()
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.port = web.server_address[1]
        before = HOSTS.read_text() if HOSTS.exists() else ""
        self.addCleanup(HOSTS.write_text, before)
        HOSTS.write_text(f"{before}\n127.0.0.1 {NAME}\n")
        policy = json.loads((POLICIES / "default.json").read_text())
        policy["egress"] = {"rules": [{"host": NAME, "ports": [self.port], "loopback": True}], "connections": 4,
                            "bytes_up": 1 << 20, "bytes_down": 1 << 20, "seconds": 60}
        (POLICIES / "default.json").write_text(json.dumps(policy))
        systemctl("start", "warder-egress.socket")

    def tearDown(self):
        systemctl("stop", "warder-egress.socket", "warder-egress.service")
        systemctl("start", "warder-egress.socket")
        super().tearDown()

    def test_code_reaches_the_host_of_a_rule_and_the_daemon_none(self):
        self.assertEqual(show("ActiveState", "warder-egress.service"), "inactive")
        code = GET + f"result = [get('http://{NAME}:{self.port}/a'), get('http://other.warder.test/')]"
        with contextlib.closing(connect()) as client:
            answer = client.execute(code)
            self.assertTrue(answer["success"], answer)
            (status, text), (refused, why) = answer["result"]
            self.assertEqual((status, json.loads(text)["path"], refused), (200, "/a", 403), answer)
            self.assertIn("no rule has this host", why)
            self.assertEqual((answer["egress"]["requests"], answer["egress"]["denied"]), (2, 1))
            self.assertEqual(show("ActiveState", "warder-egress.service"), "active")
            self.assertEqual(show("PrivateNetwork"), "yes")
            pid = show("MainPID", "warder-egress.service")
            status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
            self.assertNotIn("0", status["Uid"].split())
            for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                self.assertEqual(int(status[kind], 16), 0, kind)
            systemctl("kill", "-s", "KILL", "warder-egress.service")
            again = client.execute(code)  # the service begins again
            if not again.get("egress"):  # the daemon saw the end of the old one only now
                again = client.execute(code)
            self.assertEqual(again["result"][0][0], 200, again)


if __name__ == "__main__":
    import unittest
    unittest.main()
