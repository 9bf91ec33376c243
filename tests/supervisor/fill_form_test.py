#!/usr/bin/env python3
"""The shipped skill `fill_form`, with pages in a headless Chromium that an MCP server of the tests drives."""
import http.server
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import unittest
import urllib.parse

from browser import PROGRAM
from harness import Client, Daemon, eventually

HERE = pathlib.Path(__file__).resolve().parent
# The browser's own module needs these two of the tests' harness, which its server does not have.
HARNESS = "PATIENCE = 30\nROOT = True\n"
ORDER = """<!doctype html><title>Order</title><h1>New order</h1>
<form action="/ordered" method="post">
<label>Name * <input name="name" required></label>
<label>E-mail <input name="mail" type="email"></label>
<label>Password <input name="password" type="password"></label>
<label>Quantity <input name="quantity" type="number"></label>
<label>Country <select name="country"><option>-</option><option>Austria</option><option value="CH">Switzerland</option></select></label>
<label>Extras <select name="extras" multiple><option>Bow</option><option>Card</option><option>Box</option></select></label>
<fieldset><legend>Delivery</legend><label><input type="radio" name="delivery" value="n" checked>Normal</label>
<label><input type="radio" name="delivery" value="x">Express</label>
<label><input type="radio" name="delivery" value="d" disabled>Drone</label></fieldset>
<label><input type="checkbox" name="agree" onclick="document.forms[0].send.disabled = !this.checked"> I agree</label>
<label><input type="checkbox" name="news" checked> Newsletter</label>
<label>Notes <textarea name="notes"></textarea></label>
<label>Customer number <input name="customer" value="17" readonly></label>
<label>Invoice <input name="invoice" type="file"></label>
<button name="send" disabled>Send order</button> <button type="button">Cancel</button></form>"""
# Text in the first field makes new fields of all, and clears the second one once.
MOVING = """<!doctype html><title>Moving</title><form action="/ordered" method="post">
<div id="all"><label>City <input name="city"></label><label>Street <input name="street" value="old"></label></div>
<button>Save</button></form><script>
const all = document.getElementById('all');
let moved = false;
all.addEventListener('input', (e) => {
  if (moved || e.target.name !== 'city') return;
  moved = true;
  all.innerHTML = `<p>Streets of ${e.target.value}</p><label>City <input name="city" value="${e.target.value}"></label>` +
    '<label>Street <input name="street"></label>';
});</script>"""
VANISHING = MOVING.replace("<label>Street <input name=\"street\"></label>'", "'")
STUBBORN = """<!doctype html><title>Stubborn</title><form><label>Code <input name="code"></label><label>Other <input></label>
<button>Save</button></form><script>
document.forms[0].code.addEventListener('change', (e) => { e.target.value = '000'; });</script>"""
PAGES = {"/order": ORDER, "/moving": MOVING, "/vanishing": VANISHING, "/stubborn": STUBBORN,
         "/empty": "<!doctype html><title>Empty</title><p>No form here</p>"}


class Site(http.server.BaseHTTPRequestHandler):
    received = []

    def do_GET(self):
        self.answer(PAGES.get(self.path, ""), 200 if self.path in PAGES else 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = urllib.parse.parse_qs(body)
        self.received.append(fields)
        if int(fields.get("quantity", ["0"])[0] or 0) > 10:
            self.answer("<!doctype html><title>Order</title><h1>New order</h1><div role=alert>At most 10 can be ordered</div>")
        else:
            self.answer("<!doctype html><title>Thanks</title><h1>Thank you</h1><p>Your order is number <b>4711</b>.</p>")

    def answer(self, text, status=200):
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@unittest.skipUnless(PROGRAM, "Chromium is missing: apt-get install chromium")
class FillForm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=cls.site.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.site.server_close)
        cls.addClassCleanup(cls.site.shutdown)
        cls.at = f"http://127.0.0.1:{cls.site.server_port}"
        folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-forms-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name in ("browser.py", "browser_server.py"):
            shutil.copy(HERE / name, folder)
        (folder / "harness.py").write_text(HARNESS)
        (folder / "catalog").mkdir()
        server = {"command": "/usr/bin/python3", "args": ["-B", str(folder / "browser_server.py")], "jail": "none"}
        basic = {**server, "args": [*server["args"], "basic"]}
        (folder / "config.json").write_text(json.dumps({"catalog": str(folder / "catalog"),
                                                        "servers": {"browser": server, "basic": basic}}))
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
        cls.daemon = cls.enterClassContext(Daemon(arguments=["--config", folder / "config.json"]))
        with Client(cls.daemon.socket) as client:
            eventually(lambda: {"browser", "basic"} <= set(client.execute("import os\nresult = os.listdir('/servers')")["result"]),
                       "stubs of the servers")

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))
        Site.received.clear()

    def run_skill(self, page, fields, **more):
        arguments = {"url": page if "://" in page else self.at + page, "fields": fields, **more}
        return self.client.execute("from skills import fill_form\nfill_form(**arguments)", context_vars={"arguments": arguments},
                                   timeout_seconds=60)

    def filled(self, page, fields, **more):
        body = self.run_skill(page, fields, **more)
        self.assertTrue(body["success"], body)
        return body["result"]

    def refused(self, page, fields, **more):
        body = self.run_skill(page, fields, **more)
        self.assertFalse(body["success"], body)
        self.assertEqual(Site.received, [])
        return body["error"]

    FIELDS = {"Name": "Ada Lovelace", "e-mail": "ada@example.org", "Password": "secret", "Quantity": 3, "Country": "Switzerland",
              "Extras": ["Bow", "Box"], "Delivery": "Express", "I agree": True, "Newsletter": False,
              "Notes": "two\nlines"}
    SENT = {"name": ["Ada Lovelace"], "mail": ["ada@example.org"], "password": ["secret"], "quantity": ["3"], "country": ["CH"],
            "extras": ["Bow", "Box"], "delivery": ["x"], "agree": ["on"], "notes": ["two\r\nlines"], "customer": ["17"],
            "send": [""], "invoice": [""]}

    def test_a_form_is_filled_and_submitted_and_the_page_s_words_come_back(self):
        for server in ("browser", "basic"):
            with self.subTest(server=server):
                told = self.filled("/order", self.FIELDS, submit="Send order", server=server)
                (sent,) = Site.received
                self.assertEqual(sent, {key: value for key, value in self.SENT.items() if key in sent})
                self.assertEqual(set(self.SENT) - set(sent), {"send", "invoice"} - set(sent))
                self.assertEqual((told["url"], told["title"], told["submitted"], told["filled"], told["alerts"]),
                                 (f"{self.at}/ordered", "Thanks", True, list(self.FIELDS), []))
                self.assertIn("Thank you", told["text"])
                self.assertIn("4711", told["text"])
                Site.received.clear()

    def test_without_submit_nothing_is_sent(self):
        told = self.filled("/order", {"Name": "Ada"})
        self.assertEqual((told["title"], told["submitted"], Site.received), ("Order", False, []))

    def test_what_the_page_says_against_it_comes_back(self):
        told = self.filled("/order", {"Name": "Ada", "Quantity": 11, "I agree": True}, submit="Send order")
        self.assertEqual((told["alerts"], told["title"]), (["At most 10 can be ordered"], "Order"))
        self.assertIn("At most 10 can be ordered", told["text"])

    def test_all_mistakes_are_told_before_the_first_field_is_filled(self):
        error = self.refused("/order", {
            "Name": "Ada", "Surname": "x", "I agree": "yes", "E-mail": True, "Quantity": "many", "Country": "Atlantis",
            "Delivery": "Balloon", "Customer number": "18", "Invoice": "/workspace/invoice.pdf", "Notes": ["a"]}, submit="Send")
        self.assertTrue(error.startswith("skills.fill_form.FormError: no field was filled: "), error)
        for words in ('fields[\'Surname\']: the page has no such field; it has "Name *", "E-mail"', "this is a checkbox, which takes "
                      "true or false, not 'yes'", "fields['E-mail']: this is a textbox, which takes no true or false",
                      "fields['Quantity']: this is a field for a number, not for 'many'",
                      'fields[\'Country\']: "Atlantis" is not one of its options: "-", "Austria", "Switzerland"',
                      "fields['Delivery']: 'Balloon' is not one of its choices: \"Normal\", \"Express\", \"Drone\"",
                      "fields['Customer number']: the field cannot be changed",
                      "a file to upload cannot be given from a jail", "fields['Notes']: this is a textbox, which takes one value",
                      'submit: "Send" is no button of the page; it has'):
            self.assertIn(words, error)
        self.assertNotIn("fields['Name']", error)
        self.assertIn("the choice \"Drone\" is disabled", self.refused("/order", {"Delivery": "Drone"}))
        self.assertIn("is disabled, though all fields are filled", self.refused("/order", {"Name": "Ada"}, submit="Send order"))
        self.assertIn("submit: name one of the page's buttons", self.refused("/order", {"Name": "Ada", "I agree": True}, submit=True))
        self.assertIn("it has no field with a label", self.refused("/empty", {"Name": "Ada"}))

    def test_arguments_are_checked_before_a_page_is_opened(self):
        for fields in ({}, [], {"": "x"}, {"a": None}, {"a": {"b": 1}}, {"a": []}, {"a": [1]}):
            self.assertIn("the page was not opened", self.refused("http://127.0.0.1:1/", fields))
        for more in ({"url": "file:///etc/passwd"}, {"url": "javascript://x/%0a1"}, {"url": "http://x:port/"}, {"url": "http://"}, {"server": "a b"}, {"submit": 3}):
            arguments = {"page": more.pop("url", "http://127.0.0.1:1/"), "fields": {"a": "b"}, **more}
            self.assertIn("the page was not opened", self.refused(**arguments))

    def test_a_page_that_changes_is_filled_as_it_is_then(self):
        for server in ("browser", "basic"):
            with self.subTest(server=server):
                self.filled("/moving", {"City": "Wien", "Street": "Ring 1"}, submit=True, server=server)
                self.assertEqual(Site.received, [{"city": ["Wien"], "street": ["Ring 1"]}])
                Site.received.clear()

    def test_a_field_that_vanishes_or_keeps_another_value_is_told_with_what_was_filled(self):
        error = self.refused("/vanishing", {"City": "Wien", "Street": "Ring 1"}, submit=True)
        self.assertIn("the page changed while it was filled: fields['Street']: the page has no such field", error)
        self.assertIn("the form was not submitted", error)
        error = self.refused("/stubborn", {"Code": "123", "Other": "x"}, submit=True)
        self.assertIn("the page did not take the values of Code; filled so far: Other; the form was not submitted", error)

    def test_errors_of_the_server_say_what_had_happened(self):
        error = self.refused("http://127.0.0.1:1/", {"Name": "Ada"})
        self.assertIn("browser_navigate failed (Error: page.goto: net::ERR_", error)
        self.assertIn("no field was filled", error)
        error = self.run_skill("/order", {"Name": "Ada"}, server="absent")["error"]
        self.assertIn("absent", error)


if __name__ == "__main__":
    if not PROGRAM:
        print("SKIPPED: Chromium is missing: apt-get install chromium", file=sys.stderr)
    unittest.main()
