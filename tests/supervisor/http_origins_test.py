"""Web pages of other origins (`http.origins`) in a real browser: it asks first, and only pages of named origins may use
the daemon and read its answers. Programs: $WARDERD, $WARDER, chromium."""
import functools
import http.server
import pathlib
import tempfile
import threading
import unittest

from browser import PROGRAM, Browser
from http_tokens_test import TokenTest

ASK = """
(async () => {
  const answer = await fetch(ADDRESS, {method: 'POST',
    headers: {'Authorization': 'Bearer TOKEN', 'Content-Type': 'application/json',
              'Accept': 'application/json, text/event-stream'},
    body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'initialize', params: {protocolVersion: '2025-11-25',
      capabilities: {}, clientInfo: {name: 'page', version: '0'}}})});
  const session = answer.headers.get('Mcp-Session-Id');
  const ended = session && await fetch(ADDRESS, {method: 'DELETE',
    headers: {'Authorization': 'Bearer TOKEN', 'Mcp-Session-Id': session}});
  window.seen = [answer.status, (session ?? '').length, ended?.status, (await answer.text()).includes('serverInfo')];
})().catch((error) => { window.seen = [String(error)]; });
0"""


class Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(PROGRAM, "needs chromium")
class Origins(TokenTest):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="warder-test-")))
        (folder / "page.html").write_text("<!doctype html><title>page</title>")
        self.sites = []
        for _ in range(2):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=folder))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            # The daemon is at 127.0.0.1: a page of localhost is of another origin, and none of its own host.
            self.sites.append(f"http://localhost:{server.server_address[1]}")

    def test_a_page_of_a_named_origin_uses_the_server_and_another_page_does_not(self):
        self.start()
        self.daemon.stop()
        self.daemon.write(http={"listen": [f"127.0.0.1:{self.port}"], "origins": [self.sites[0]]},
                          state=str(self.daemon.state))
        self.daemon.start()
        token = self.add("page")
        ask = ASK.replace("ADDRESS", f"'http://127.0.0.1:{self.port}/mcp'")
        with Browser() as browser:
            for site, secret, expected in ((self.sites[0], token, [200, 32, 204, True]),
                                           (self.sites[0], "wrd_" + "x" * 48, [401, 0, None, False]),
                                           (self.sites[1], token, ["TypeError: Failed to fetch"])):
                browser.open(f"{site}/page.html")
                browser.wait_for(f"location.href.startsWith('{site}') && document.title == 'page'", "the page")
                browser.value(ask.replace("TOKEN", secret))
                self.assertEqual(browser.wait_for("window.seen", "an answer"), expected, site)


if __name__ == "__main__":
    unittest.main(verbosity=2)
