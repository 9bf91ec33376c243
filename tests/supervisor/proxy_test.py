"""The configurations of units/proxy/, each run by its program before a warderd of the test's own: TLS, events as they
come, hang-ups that end programs. Only the addresses and the certificate are the test's. The proxy speaks to the Unix
socket, because over TCP warderd wants tokens. Skipped, in capitals, where a proxy is not installed."""
import http.client
import json
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from daemon import TOP, Daemon  # noqa: E402
from harness import await_still  # noqa: E402
from http_test import BEATS, call, events, headers_of  # noqa: E402
from ports import free_port  # noqa: E402


class ProxyCases:
    """The cases of each proxy."""
    program = None

    @classmethod
    def setUpClass(cls):
        if not shutil.which(cls.program):
            print(f"\n*** NOT TESTED: {cls.program} IS NOT INSTALLED ***\n", file=sys.stderr)
            raise unittest.SkipTest(f"{cls.program} is not installed")
        cls.daemon = cls.enterClassContext(Daemon())
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="warder-proxy-")))
        cls.folder.chmod(0o755)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=agents.example", "-keyout", cls.folder / "key", "-out", cls.folder / "cert"], check=True, capture_output=True)
        (cls.folder / "both").write_text((cls.folder / "cert").read_text() + (cls.folder / "key").read_text())
        cls.port = free_port()
        cls.log = open(cls.folder / "log", "wb")
        cls.process = subprocess.Popen(cls.command(), stdout=cls.log, stderr=subprocess.STDOUT)
        cls.addClassCleanup(cls.end)
        until = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", cls.port)).close()
                return
            except OSError:
                if time.monotonic() > until or cls.process.poll() is not None:
                    raise AssertionError((cls.folder / "log").read_text()) from None
                time.sleep(0.05)

    @classmethod
    def end(cls):
        cls.process.terminate()
        cls.process.wait(20)
        cls.log.close()

    def client(self):
        context = ssl.create_default_context(cafile=self.folder / "cert")
        context.check_hostname = False
        client = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        self.addCleanup(client.close)
        return client

    def send(self, client, message, host="agents.example"):
        client.request("POST", "/mcp", json.dumps(message), {**headers_of(message), "Host": host})

    def test_a_program_runs(self):
        client = self.client()
        for _ in range(2):
            self.send(client, call("execute_code", {"code": "result = 6 * 7"}))
            answer = client.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(json.loads(json.loads(answer.read())["result"]["content"][0]["text"])["result"], 42)

    def test_events_come_while_the_program_runs(self):
        client = self.client()
        began = time.monotonic()
        self.send(client, call("execute_code", {"code": "import time\nfor i in range(4):\n  print(i, flush=True)\n  time.sleep(0.4)"}, progressToken=1))
        answer = client.getresponse()
        self.assertTrue(answer.readline().startswith(b"event: message"))
        self.assertLess(time.monotonic() - began, 1.4)
        self.assertIn("result", events(answer.read().decode())[-1])

    def test_a_hang_up_ends_the_program(self):
        for meta in ({}, {"progressToken": 1}):
            with self.subTest(meta):
                client = self.client()
                began = time.time()
                self.send(client, call("execute_code", {"code": BEATS}, **meta))
                until = time.monotonic() + 20
                beat = None
                while beat is None or beat.stat().st_mtime < began:
                    self.assertLess(time.monotonic(), until, "the program does not run")
                    beat = next(self.daemon.state.glob("tenants/*/workspace/beat"), None)
                    time.sleep(0.02)
                client.close()
                # Some sixty beats; by itself the program ends after 10 s.
                await_still(lambda: beat.stat().st_mtime, 0.3, "the program has ended", within=5)  # noqa: B023

    def test_another_host_is_refused(self):
        client = self.client()
        self.send(client, call("execute_code", {"code": "1"}), host="evil.example")
        try:
            self.assertEqual(client.getresponse().status, 421)
        except http.client.RemoteDisconnected:  # nginx's 444
            pass

    def test_pages_of_other_sites_are_refused(self):
        client = self.client()
        message = call("execute_code", {"code": "1"})
        client.request("POST", "/mcp", json.dumps(message), {**headers_of(message), "Host": "agents.example", "Origin": "https://agents.example"})
        self.assertEqual(client.getresponse().status, 403)


class Nginx(ProxyCases, unittest.TestCase):
    program = "nginx"

    @classmethod
    def command(cls):
        text = (TOP / "units/proxy/nginx.conf").read_text()
        text = text.replace("server 127.0.0.1:9470;", f"server unix:{cls.daemon.socket};")
        text = re.sub(r"listen 443 ", f"listen 127.0.0.1:{cls.port} ", text)
        text = re.sub(r"/etc/ssl/certs/\S+;", f"{cls.folder}/cert;", text)
        text = re.sub(r"/etc/ssl/private/\S+;", f"{cls.folder}/key;", text)
        temporary = "".join(f"{name}_temp_path {cls.folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        config = cls.folder / "nginx.conf"
        config.write_text(f"daemon off; master_process off; pid {cls.folder}/pid; error_log stderr;\nevents {{}}\n"
                          f"http {{ access_log off;\n{temporary}{text}}}\n")
        return ["nginx", "-c", config, "-e", "stderr"]


class Haproxy(ProxyCases, unittest.TestCase):
    program = "haproxy"

    @classmethod
    def command(cls):
        text = (TOP / "units/proxy/haproxy.cfg").read_text()
        text = text.replace("server warderd 127.0.0.1:9470", f"server warderd unix@{cls.daemon.socket}")
        text = text.replace("bind :443", f"bind 127.0.0.1:{cls.port}").replace("/etc/ssl/private/agents.example.pem", f"{cls.folder}/both")
        config = cls.folder / "haproxy.cfg"
        config.write_text("global\n    maxconn 100\n" + text)
        return ["haproxy", "-db", "-f", config]


if __name__ == "__main__":
    unittest.main()
