"""`warder dashboard`: the page in a real browser, and who is shown nothing. Programs: $WARDERD, $WARDER, chromium."""
import json
import os
import pathlib
import pwd
import re
import signal
import socket
import stat
import struct
import subprocess
import unittest
import zlib

from approvals_harness import ADD, CAUGHT, ApprovalTest
from browser import PROGRAM, Browser
from bus_harness import Admin, Bus, BusDaemon
from harness import HOLD, PATIENCE, Client, eventually, let_go

WARDER = os.environ["WARDER"]
# A name that would be markup, were it not taken as text.
MARKUP = "<img src=x onerror=alert(1)>"


def pixels(png):
    """Colours of a PNG as Chromium writes them (8 bits, no interlace), by how often they are there."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, counts = 8, b"", {}
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        part = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", part[:10])
            assert depth == 8 and colour in (2, 6)
            size = 3 if colour == 2 else 4
        data += part if kind == b"IDAT" else b""
        at += 12 + length
    raw, before = zlib.decompress(data), bytearray(width * size)
    for y in range(height):
        filtering, line = raw[y * (width * size + 1)], bytearray(raw[y * (width * size + 1) + 1:(y + 1) * (width * size + 1)])
        for x in range(len(line)):
            left, up = (line[x - size] if x >= size else 0), before[x]
            corner = before[x - size] if x >= size else 0
            if filtering == 4:
                guess = left + up - corner
                best = min((left, up, corner), key=lambda value: abs(guess - value))
            line[x] = (line[x] + (0, left, up, (left + up) // 2, best if filtering == 4 else 0)[filtering]) & 255
        before = line
        for x in range(0, len(line), size):
            colour = bytes(line[x:x + 3])
            counts[colour] = counts.get(colour, 0) + 1
    return counts


class Dashboard:
    """The program, running; its address."""

    def __init__(self, bus, *words):
        self.process = subprocess.Popen([WARDER, "dashboard", "--json", "--bus", bus.address, *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        told = json.loads(line) if line else {}
        self.address, self.path, self.tunnel = told.get("address"), told.get("path"), told.get("tunnel")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=PATIENCE), self.process.returncode


def ask(place, request):
    """The answer to some bytes: its status line, headers and body."""
    with socket.socket(socket.AF_INET if isinstance(place, tuple) else socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(place)
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        whole = b""
        while part := client.recv(65536):
            whole += part
    head, body = whole.split(b"\r\n\r\n", 1)
    status, *headers = head.decode().split("\r\n")
    return status, dict(line.lower().split(": ", 1) for line in headers), body


class Shown(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(Bus())
        self.daemon = self.enterContext(BusDaemon(self.bus))

    @unittest.skipUnless(PROGRAM, "there is no chromium")
    def test_a_browser_shows_what_runs_what_ended_and_the_plots(self):
        with Dashboard(self.bus) as dashboard, Client(self.daemon.socket) as client, Browser() as browser:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            browser.open(dashboard.address)
            browser.wait_for("document.querySelectorAll('#executions tbody tr').length == 1", "an execution that ended")
            running = client.begin("tools/call", name="execute_code", arguments={"code": HOLD, "timeout_seconds": 300})
            browser.wait_for("[...document.querySelectorAll('#executions tbody tr')].some(r => r.cells[3].innerText == 'running')",
                             "an execution that runs")
            let_go(self.daemon)
            self.assertFalse(client.answer(running).get("isError"))
            self.assertEqual(client.execute("1 / 0")["outcome"], "error")
            browser.wait_for("[...document.querySelectorAll('#executions td.bad')].some(c => c.innerText == 'error')",
                             "an execution that failed")
            browser.wait_for("[...document.querySelectorAll('#numbers div')].some(d => d.innerText.startsWith('3\\nanswers'))",
                             "three executions are counted")
            tenant = browser.value("[...document.querySelector('#tenants tbody tr').cells].map(c => c.innerText)")
            user = pwd.getpwuid(os.getuid()).pw_name
            self.assertEqual((tenant[0], tenant[5], tenant[6]), (f"{user} uid-{os.getuid()}", "3", "1"))
            browser.wait_for("document.querySelectorAll('#plots path').length >= 6", "the plots have bars and lines")
            colours = pixels(browser.screenshot())
            self.assertGreater(len(colours), 20, "text and lines, not a blank page")
            self.assertLess(max(colours.values()), 0.99 * sum(colours.values()))
            self.assertEqual(browser.complaints, [])
            self.daemon.stop()
            browser.wait_for("!document.getElementById('problem').hidden", "a daemon that has gone is told")
            self.daemon.start()
            browser.wait_for("document.getElementById('problem').hidden", "and that it is there again")
            unanswered = [one for one in browser.complaints if "502 (Bad Gateway)" in one.get("entry", {}).get("text", "")]
            self.assertEqual([one for one in browser.complaints if one not in unanswered], [])

    @unittest.skipUnless(PROGRAM, "there is no chromium")
    def test_what_the_daemon_says_is_text(self):
        state = {"now": 1, "names": {MARKUP: MARKUP}, "approvals_problem": MARKUP,
                 "user": {"uid": 1, "name": MARKUP, "may_act": True, "tunnel": MARKUP},
                 "approvals": [{"Id": MARKUP, "Tenant": MARKUP, "Execution": MARKUP, "Tool": MARKUP, "Rule": MARKUP, "Why": MARKUP,
                                "Arguments": MARKUP, "ExpiresUSec": 1}],
                 "executions": [{"Id": MARKUP, "AskedUSec": 1, "Tenant": MARKUP, "Language": MARKUP, "State": MARKUP, "Outcome": "",
                                           "WallUSec": 1, "CPUUSec": 1, "MemoryBytes": 1, "Tasks": 1}],
                 "tenants": [], "problem": MARKUP,
                 "manager": {"Version": MARKUP, "State": MARKUP, "StartedUSec": 0, "Running": 0, "Waiting": 0, "Frozen": 0,
                             "WaitingJails": 0, "Executions": 0, "Pool": {MARKUP: {}}, "Languages": {}, "Ledger": {}}}
        with Dashboard(self.bus) as dashboard, Browser() as browser:
            browser.open(dashboard.address)
            browser.wait_for("document.querySelectorAll('#plots figure').length > 0", "the page")
            # In one turn of the page, which shows the daemon's own state a second later.
            images, cell, title, shown = browser.value(
                f"show({json.dumps(state)}); open_details({json.dumps(MARKUP)}); [document.querySelectorAll('img').length, "
                "document.querySelector('#executions td').innerText, document.getElementById('details-title').innerText, "
                "document.body.innerText.split('<img').length]")
            self.assertEqual((images, cell, title), (0, MARKUP, MARKUP))
            self.assertGreater(shown, 15, "every text of the daemon is shown as it is")
            self.assertEqual(browser.value("document.querySelectorAll('img').length"), 0)

    def test_only_who_knows_the_key_and_came_directly_is_shown_anything(self):
        with Dashboard(self.bus) as dashboard:
            port, key = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", dashboard.address).groups()
            here, host = ("127.0.0.1", int(port)), f"Host: 127.0.0.1:{port}\r\n"

            def status(path, headers=host, method="GET"):
                return ask(here, f"{method} {path} HTTP/1.1\r\n{headers}\r\n".encode())[0].split(" ", 1)[1]

            self.assertEqual(status(f"/{key}/"), "200 OK")
            self.assertEqual(status(f"/{key}/state.json"), "200 OK")
            found, headers, body = ask(here, f"GET /{key}/ HTTP/1.1\r\n{host}\r\n".encode())
            self.assertIn("default-src 'none'", headers["content-security-policy"])
            self.assertIn("frame-ancestors 'none'", headers["content-security-policy"])
            self.assertEqual((headers["x-content-type-options"], headers["cache-control"]), ("nosniff", "no-store"))
            self.assertNotRegex(body.decode(), r"https?://", "nothing from elsewhere")
            for path in ("/", "/page.js", "/state.json", f"/{key}", f"/{key[:-1]}/", f"/{key}0/", f"/{'0' * 32}/", f"/{key}/../",
                         f"/{key}/none", f"//{key}/", f"x/{key}/"):
                with self.subTest(path):
                    self.assertEqual(status(path), "404 Not Found")
            for headers in ("", "Host: evil.example\r\n", f"Host: localhost:{port}\r\n", f"Host: 127.0.0.1:{port}.evil.example\r\n",
                            host + "Host: evil.example\r\n"):
                with self.subTest(headers):
                    self.assertEqual(status(f"/{key}/state.json", headers), "404 Not Found")
            self.assertEqual(status(f"/{key}/", method="PUT"), "405 Method Not Allowed")
            self.assertEqual(status(f"/{key}/act"), "404 Not Found", "an action is no GET")
            for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1:1"):
                self.assertEqual(status(f"/{key}/state.json", f"{host}Origin: {origin}\r\n"), "404 Not Found", origin)
            self.assertEqual(ask(here, b"\x16\x03\x01 hello\r\n\r\n")[0], "HTTP/1.0 400 Bad Request")
            self.assertEqual(ask(here, b"GET / HTTP/1.1\r\nA: " + b"x" * 9000)[0], "HTTP/1.0 431 Request Header Fields Too Large")
            slow = [self.enterContext(socket.create_connection(here)) for _ in range(10)]  # that say nothing
            self.assertEqual(status(f"/{key}/"), "200 OK")
            del slow

    def test_only_the_page_itself_acts(self):
        with Dashboard(self.bus) as dashboard, Dashboard(self.bus, "--read-only") as reader:
            def post(body=b'{"action": "kill", "id": "e1"}', key=None, of=dashboard, **changes):
                port, own = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", of.address).groups()
                headers = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json",
                           "Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in changes.items()}}
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
                status, _, told = ask(("127.0.0.1", int(port)), f"POST /{key or own}/act HTTP/1.1\r\n{lines}\r\n".encode() + body)
                return status.split(" ", 1)[1], told.decode()

            def own_state():
                port, own = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", dashboard.address).groups()
                return ask(("127.0.0.1", int(port)), f"GET /{own}/state.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())[2]

            eventually(lambda: b'"manager"' in own_state(), "the daemon has answered")
            status, told = post()  # which reaches the daemon
            self.assertEqual(status, "502 Bad Gateway")
            self.assertIn("no execution 'e1'", json.loads(told)["error"])
            for changes, expected in (({"Origin": None}, "403 Forbidden"), ({"Origin": "http://evil.example"}, "404 Not Found"),
                                      ({"Origin": "null"}, "404 Not Found"), ({"Host": "evil.example"}, "404 Not Found"),
                                      ({"Host": "evil.example", "Origin": "http://evil.example"}, "404 Not Found"),
                                      ({"key": "0" * 32}, "404 Not Found"), ({"Content_Type": "text/plain"}, "403 Forbidden"),
                                      ({"Content_Type": "application/x-www-form-urlencoded"}, "403 Forbidden"),
                                      ({"Content_Length": None}, "411 Length Required"), ({"Content_Length": "-1"}, "411 Length Required"),
                                      ({"Content_Length": "99999999999999999999"}, "411 Length Required")):
                with self.subTest(changes):
                    self.assertEqual(post(**changes)[0], expected)
            for body in (b"", b"{", b"[]", b'{"action": "kill"}', b'{"action": "kill", "id": "../e1"}', b'{"action": "kill", "id": 1}',
                         b'{"action": "reload", "id": "e1"}', b'{"action": "deny", "id": "e1", "reason": "a\\u0000b"}'):
                with self.subTest(body):
                    self.assertEqual(post(body)[0], "400 Bad Request")
            self.assertEqual(post(of=reader)[0], "403 Forbidden")
            self.assertEqual(post(b"x" * 9000)[0], "411 Length Required")

    @unittest.skipUnless(PROGRAM, "there is no chromium")
    def test_the_history_was_there_before_the_page_and_is_read_at_the_pointer(self):
        with Client(self.daemon.socket) as client:
            for code in ("result = 1", "1 / 0"):
                client.execute(code)
        admin = self.enterContext(Admin(self.bus))
        eventually(lambda: admin.call("ReadTimeline", "ttu", 0, 0, 1)[2]["of"] >= 2, "the daemon has counted them")
        with Dashboard(self.bus) as dashboard, Browser() as browser:
            browser.open(dashboard.address)
            browser.wait_for("document.querySelector('#plots path.bars.red') !== null", "a bar of what failed before the page was opened")
            texts = browser.value("[...document.querySelectorAll('#plots figure')].map(f => [...f.querySelectorAll('svg text')].map(t => t.textContent))")
            for shown in texts:
                self.assertIn("0", shown)
                self.assertGreaterEqual(len([text for text in shown if re.fullmatch(r"\d\d:\d\d", text)]), 4, shown)
            self.assertIn("newest", browser.value("document.getElementById('reading').textContent"))
            browser.value("""(() => { const svg = document.querySelector('#plots svg'), box = svg.getBoundingClientRect();
                svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.right - 12, clientY: box.top + 20, bubbles: true})); })()""")
            self.assertRegex(browser.value("document.getElementById('reading').textContent"), r"^\d\d:\d\d:\d\d – \d\d:\d\d:\d\d$")
            self.assertEqual(browser.value("document.querySelectorAll('#plots svg line.at').length"), 6, "one line in each plot")
            browser.value("document.querySelectorAll('#ranges button')[2].click()")
            browser.wait_for("document.querySelector('#reading').textContent.includes('1200 s') && document.querySelector('#plots path.bars') !== null",
                             "the day has them, too")
            browser.wait_for("[...document.querySelectorAll('#numbers span')].some(s => s.textContent == 'p99 in 24 h')", "quantiles of the day")
            self.assertEqual(browser.complaints, [])

    @unittest.skipUnless(PROGRAM, "there is no chromium")
    def test_an_execution_opens_and_is_killed_after_a_question(self):
        with Dashboard(self.bus) as dashboard, Client(self.daemon.socket) as client, Browser() as browser:
            running = client.begin_running('print("<b>caf\\u00e9</b> \\x1b[31m", flush=True)\n' + HOLD, timeout_seconds=300)
            browser.open(dashboard.address)
            browser.wait_for("document.querySelector('#executions tbody tr') !== null", "it is listed")
            browser.value("document.querySelector('#executions tbody button').click()")
            browser.wait_for("document.querySelector('#details[open] pre')?.textContent.includes('running')", "its output")
            shown = browser.value("document.querySelector('#details pre').textContent")
            self.assertIn("<b>café</b> \\x1b[31m", shown)
            press = "[...document.querySelectorAll('#details button')].find(b => b.textContent.startsWith('%s'))?.click()"
            browser.value(press % "Kill")
            self.assertIn("now?", browser.value("document.querySelector('#details .actions').innerText"))
            browser.value(press % "No")
            self.assertIn("running", browser.value("document.querySelector('#details dl').innerText"))
            browser.value(press % "Freeze")  # which needs a cgroup
            browser.wait_for("document.querySelector('#details .problem:not([hidden])')?.textContent || "
                             "document.querySelector('#details dl').innerText.includes('frozen')", "frozen, or why it cannot be")
            browser.value(press % "Kill")
            browser.value(press % "Yes")
            self.assertEqual(client.executed(running)["outcome"], "cancelled")
            browser.wait_for("document.querySelector('#details dl').innerText.includes('ended: cancelled')", "it has ended")
            done = client.execute("open('/workspace/<b>made', 'w').write('x'); result = 1")
            browser.wait_for(f"document.querySelector('button[data-id=\"{done['execution_id']}\"]') !== null", "another is listed")
            browser.value(f"document.getElementById('details').close(); document.querySelector('button[data-id=\"{done['execution_id']}\"]').click()")
            browser.wait_for("document.querySelector('#details dl.receipt') !== null", "its receipt")
            browser.wait_for("document.querySelector('#details dl.changed-files')?.innerText.includes('<b>made')", "what it changed")
            # Without cgroups the refusal of the freeze is one.
            self.assertEqual([one for one in browser.complaints if not one.get("entry", {}).get("url", "").endswith("/act")], [])

    def test_what_ended_long_ago_opens_from_the_journal(self):
        with Client(self.daemon.socket) as client:
            identity = client.execute("open('/workspace/made', 'w').write('x'); result = 1")["execution_id"]
        self.daemon.stop()
        self.daemon.start()  # its objects of ended executions are gone
        with Dashboard(self.bus) as dashboard:
            host, _, rest = dashboard.address.removeprefix("http://").partition("/")
            def told(identity):
                request = f"GET /{rest}execution.json?id={identity} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
                status, _, body = ask((host.split(":")[0], int(host.split(":")[1])), request)
                return status, json.loads(body)
            status, body = eventually(lambda: (lambda found: "200" in found[0] and found)(told(identity)), "the record")
            self.assertNotIn("execution", body)
            self.assertEqual((body["record"]["Id"], body["record"]["Files"]["created"]), (identity, ["made"]))
            self.assertIn("502", told("e" + "0" * 16)[0])

    def test_clients_that_come_at_once_and_are_answered_at_once_are_all_answered(self):
        path = self.daemon.directory / "dashboard.sock"
        with Dashboard(self.bus, "--unix", str(path)) as dashboard:
            os.kill(dashboard.process.pid, signal.SIGSTOP)
            status = pathlib.Path(f"/proc/{dashboard.process.pid}/stat")
            eventually(lambda: ") T " in status.read_text(), "it stands still")
            clients = []
            for _ in range(17):  # as many as the socket's queue holds
                client = self.enterContext(socket.socket(socket.AF_UNIX))
                client.settimeout(PATIENCE)
                client.connect(str(path))
                client.sendall(f"GET {dashboard.path}state.json HTTP/1.0\r\n\r\n".encode())
                client.shutdown(socket.SHUT_WR)
                clients.append(client)
            os.kill(dashboard.process.pid, signal.SIGCONT)
            for client in clients:
                self.assertEqual(client.recv(15), b"HTTP/1.0 200 OK")

    def state(self, dashboard):
        status, _, body = ask(dashboard.address, f"GET {dashboard.path}state.json HTTP/1.0\r\n\r\n".encode())
        self.assertEqual(status, "HTTP/1.0 200 OK")
        return json.loads(body)

    def test_a_daemon_that_hangs_does_not_stop_the_page(self):
        path = self.daemon.directory / "dashboard.sock"
        with Dashboard(self.bus, "--unix", str(path)) as dashboard:
            eventually(lambda: "manager" in self.state(dashboard), "the daemon has answered")
            os.kill(self.daemon.process.pid, signal.SIGSTOP)
            try:
                problem = eventually(lambda: self.state(dashboard).get("problem"), "that it hangs is told")
                self.assertIn("does not answer", problem)
            finally:
                os.kill(self.daemon.process.pid, signal.SIGCONT)
            eventually(lambda: "manager" in self.state(dashboard), "it is asked again")

    def test_a_socket_is_its_user_s_own_and_goes_with_it(self):
        path = self.daemon.directory / "dashboard.sock"
        with Dashboard(self.bus, "--unix", str(path)) as dashboard:
            self.assertEqual(dashboard.address, str(path))
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            state = eventually(lambda: self.state(dashboard).get("manager"), "the daemon has answered")
            self.assertEqual(state["State"], "serving")
            for host, expected in (("", "200"), ("Host: localhost:8700\r\n", "200"), ("Host: 127.0.0.1:9\r\n", "200"), ("Host: [::1]:9\r\n", "200"),
                                   ("Host: evil.example:8700\r\n", "404"), ("Host: localhost.evil.example\r\n", "404"),
                                   ("Host: localhost:8700.evil.example\r\n", "404")):
                with self.subTest(host):
                    status, _, _ = ask(str(path), f"GET {dashboard.path}state.json HTTP/1.1\r\n{host}\r\n".encode())
                    self.assertEqual(status.split()[1], expected)
            self.assertEqual(ask(str(path), b"GET /state.json HTTP/1.0\r\n\r\n")[0].split()[1], "404", "a forwarded port is everybody's")
            self.assertRegex(dashboard.tunnel, rf"^ssh -L \d+:{re.escape(str(path))} \S+$")
            refused = subprocess.run([WARDER, "dashboard", "--unix", str(path)], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("exists already", refused.stderr)
            self.assertEqual(dashboard.end()[1], 0)
            self.assertFalse(path.exists())

    def test_wrong_flags_are_named(self):
        for words, told in ((["--port", "x"], "not a port"), (["--port", "70000"], "not a port"), (["--port", "1", "--unix", "a"], "exclude each other"),
                            (["--unix", "/tmp/" + "a" * 200], "too long")):
            with self.subTest(words):
                done = subprocess.run([WARDER, "dashboard", *words], capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(told, done.stderr)


@unittest.skipUnless(PROGRAM, "there is no chromium")
class Decides(ApprovalTest):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        super().setUpClass()

    @classmethod
    def daemon(cls, policies=None):
        return BusDaemon(cls.bus, policies=policies, configuration={"servers": {"near": cls.server()}, "catalog": str(cls.folder / "catalog")})

    def test_calls_that_wait_are_decided_on_the_page(self):
        with Dashboard(self.bus) as dashboard, Client(self.shared.socket) as client, Browser() as browser:
            browser.open(dashboard.address)
            browser.wait_for("document.getElementById('no-approvals')?.textContent == 'No call waits for an approval.'", "what is true")
            first = client.begin_execute(ADD % 100)
            browser.wait_for("document.querySelector('.approval') !== null", "a call waits")
            shown = browser.value("document.querySelector('.approval').innerText")
            for part in ("near.add", '{"a":1,"b":100}', "large sums need a human", "refused in"):
                self.assertIn(part, shown)
            browser.value("document.querySelector('.approval .actions button').click()")
            self.assertEqual(client.executed(first)["result"], [101, 499500])
            browser.wait_for("document.querySelector('.approval') === null", "it waits no more")
            second = client.begin_execute(CAUGHT)
            browser.wait_for("document.querySelector('.approval') !== null", "another call waits")
            browser.value("document.querySelector('.approval input').value = 'not today'")
            browser.value("document.querySelector('.approval button.bad').click()")
            code, rule, message, _ = client.executed(second)["result"]
            self.assertEqual((code, rule), ("denied", "calls.large-sums"))
            self.assertIn("not today", message)
            self.assertEqual(browser.complaints, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
