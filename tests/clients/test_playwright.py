#!/usr/bin/env python3
"""The shipped skill fill_form with Playwright's own MCP server from npm, which drives Debian's Chromium: the names of
its tools' arguments and the form of its snapshots are Playwright's, not those of a server of ours."""
import http.server
import shutil
import sys
import threading
import time
import unittest
import urllib.parse

from harness import MODULES, NODE, ServersTest

PATIENCE = 280  # seconds; Chromium starts slowly on a busy machine
CHROMIUM = shutil.which("chromium")
PACKAGES = ("@playwright/mcp", "playwright", "playwright-core")
PAGE = """<!doctype html><title>Order</title><h1>New order</h1><form action="/ordered" method="post">
<label>Name * <input name="name" required></label>
<label>E-mail <input name="mail" type="email"></label>
<label>Password <input name="password" type="password"></label>
<label>Quantity <input name="quantity" type="number"></label>
<label>Day <input name="day" type="date"></label>
<label>Volume <input name="volume" type="range" min="0" max="10" value="2"></label>
<label>Country <select name="country"><option>-</option><option>Austria</option><option value="CH">Switzerland</option></select></label>
<label>Extras <select name="extras" multiple><option>Bow</option><option>Card</option><option>Box</option></select></label>
<fieldset><legend>Delivery</legend><label><input type="radio" name="delivery" value="n" checked>Normal</label>
<label><input type="radio" name="delivery" value="x">Express</label></fieldset>
<label><input type="checkbox" name="agree"> I agree</label>
<label><input type="checkbox" name="news" checked> Newsletter</label>
<input name="search" type="search" placeholder="Search term">
<label>Notes <textarea name="notes"></textarea></label>
<button name="send" value="1">Send order</button> <button type="button">Cancel</button></form>"""
FIELDS = {"Name": "Ada Lovelace", "E-mail": "ada@example.org", "Password": "secret", "Quantity": 3, "Day": "2026-02-03", "Volume": 7,
          "Country": "Switzerland", "Extras": ["Bow", "Box"], "Delivery": "Express", "I agree": True, "Newsletter": False,
          "Search term": "hats", "Notes": "two\nlines"}
SENT = {"name": ["Ada Lovelace"], "mail": ["ada@example.org"], "password": ["secret"], "quantity": ["3"], "day": ["2026-02-03"],
        "volume": ["7"], "country": ["CH"], "extras": ["Bow", "Box"], "delivery": ["x"], "agree": ["on"], "search": ["hats"],
        "notes": ["two\r\nlines"], "send": ["1"]}


class Site(http.server.BaseHTTPRequestHandler):
    received = []

    def do_GET(self):
        self.answer(PAGE)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.received.append(urllib.parse.parse_qs(body))
        self.answer("<!doctype html><title>Thanks</title><h1>Thank you</h1><p>Your order is number <b>4711</b>.</p>")

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def await_browser(test):
    until = time.monotonic() + PATIENCE
    while "browser" not in (body := test.client.execute("import os\nresult = os.listdir('/servers')")).get("result", []):
        assert time.monotonic() < until, (body, test.daemon.log_text()[-3000:])
        time.sleep(0.1)  # between looks


class Playwright(ServersTest):
    calls = {"wall_ms": 270_000}

    @classmethod
    def servers(cls):
        # The daemon's user runs the server: it needs copies that every user may read, and a home that it may write.
        for package in PACKAGES:
            shutil.copytree(MODULES / package, cls.folder / "node_modules" / package, symlinks=True)
        shutil.copy2(NODE, cls.folder / "node")
        home = cls.folder / "home"
        home.mkdir()
        home.chmod(0o777)
        return {"browser": {"command": str(cls.folder / "node"), "jail": "none", "start_s": PATIENCE, "env": {"HOME": str(home)}, "args": [
            str(cls.folder / "node_modules/@playwright/mcp/cli.js"), "--headless", "--isolated", "--no-sandbox",
            "--executable-path", CHROMIUM]}}

    @classmethod
    def setUpClass(cls):
        cls.site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=cls.site.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.site.server_close)
        cls.addClassCleanup(cls.site.shutdown)
        super().setUpClass()
        cls.client = cls.enterClassContext(cls.daemon.connect(PATIENCE))

        await_browser(cls)

    def setUp(self):
        Site.received.clear()

    def fill(self, fields, **more):
        arguments = {"url": f"http://127.0.0.1:{self.site.server_port}/", "fields": fields, **more}
        return self.client.execute("from skills import fill_form\nfill_form(**arguments)", context_vars={"arguments": arguments},
                                   timeout_seconds=PATIENCE)

    def test_fields_of_every_kind_are_filled_and_the_form_is_submitted(self):
        body = self.fill(FIELDS, submit="Send order")
        self.assertTrue(body["success"], (body, self.daemon.log_text()[-3000:]))
        self.assertEqual(Site.received, [SENT])
        result = body["result"]
        self.assertEqual((result["title"], result["submitted"], result["filled"]), ("Thanks", True, list(FIELDS)))
        self.assertIn("4711", result["text"])

    def test_without_submit_nothing_is_sent(self):
        body = self.fill({"Name": "Ada"})
        self.assertTrue(body["success"], body)
        self.assertEqual((body["result"]["title"], Site.received), ("Order", []))

    def test_a_wrong_label_is_named_with_the_labels_of_the_page(self):
        error = self.fill({"Surname": "x"}, submit="Send order")["error"]
        self.assertIn("fields['Surname']: the page has no such field; it has \"Name *\", \"E-mail\"", error)
        self.assertEqual(Site.received, [])


class InAJail(ServersTest):
    """The server and its browser in a jail, with the server's own limit of processes. A jail has no network."""
    calls = {"wall_ms": 270_000}

    @classmethod
    def servers(cls):
        home = cls.folder / "jailed"
        for package in PACKAGES:
            shutil.copytree(MODULES / package, home / "node_modules" / package, symlinks=True)
        shutil.copy2(NODE, home / "node")
        return {"browser": {"command": "/workspace/node", "folder": str(home), "start_s": PATIENCE, "memory_mb": 1500, "args": [
            "/workspace/node_modules/@playwright/mcp/cli.js", "--headless", "--isolated", "--no-sandbox",
            "--executable-path", CHROMIUM]}}

    def test_a_page_is_seen(self):
        self.client = self.enterContext(self.daemon.connect(PATIENCE))
        await_browser(self)
        body = self.client.execute(
            "from servers import browser\nbrowser.browser_navigate(url='data:text/html,<title>Order</title><h1>Hats</h1>')\n"
            "browser.browser_snapshot()", timeout_seconds=PATIENCE)
        self.assertTrue(body["success"], (body, self.daemon.log_text()[-3000:]))
        self.assertIn('heading "Hats"', str(body["result"]))


if __name__ == "__main__":
    if not CHROMIUM:
        print("\n*** NOT TESTED: Chromium is missing: apt-get install chromium ***\n", file=sys.stderr)
        sys.exit(77)
    unittest.main(verbosity=2)
