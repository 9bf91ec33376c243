#!/usr/bin/env python3
"""Debian's chromium in a jail, with the switches that it needs where it cannot make a sandbox of its own."""
import shutil
import unittest

from harness import Client, Daemon, Policies, body_of

LIMITS = {"wall_ms": 300_000, "tasks": 512, "memory_bytes": 2 << 30}  # a browser starts some 130 threads
PAGE = "data:text/html,<body style='background:rgb(255,0,0)'><h1>Red</h1>"


@unittest.skipUnless(shutil.which("chromium"), "needs chromium")
class Browser(unittest.TestCase):
    def test_it_makes_a_picture_of_a_page(self):
        with Policies(limits={"standard": LIMITS, "maximum": LIMITS}) as policies, Daemon(policies=policies) as daemon, \
                Client(daemon.socket, 400) as client:
            result = client.call("execute_code", {"language": "shell", "timeout_seconds": 280, "code":
                f'chromium --headless --no-sandbox --disable-gpu --screenshot=page.png --window-size=300,200 "{PAGE}"'})
            self.assertEqual(body_of(result)["files"], {"created": ["page.png"]}, body_of(result))
            self.assertEqual([block["mimeType"] for block in result["content"] if block["type"] == "image"], ["image/png"])
            look = "from PIL import Image\npage = Image.open('page.png')\nresult = [list(page.size), list(page.getpixel((250, 150))[:3])]"
            self.assertEqual(client.execute(look)["result"], [[300, 200], [255, 0, 0]])


if __name__ == "__main__":
    unittest.main()
