#!/usr/bin/env python3
"""Real servers that speak Streamable HTTP, called from code in jails: one of before 2026 with its sessions."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import MODULES, NODE, Daemon
from ports import free_port

PATIENCE = 120
EVERYTHING = MODULES / "@modelcontextprotocol/server-everything/dist/index.js"
LISTENS = "listening on port"


class RemoteServers(unittest.TestCase):
    def test_everything(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-remote-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        port = free_port()
        server = subprocess.Popen([NODE, EVERYTHING, "streamableHttp"], env={"PORT": str(port), "PATH": "/usr/bin:/bin"},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stderr.close)
        for line in server.stderr:
            if LISTENS in line:
                break
        config = folder / "config.json"
        config.write_text(json.dumps({"servers": {"everything": {
            "type": "http", "url": f"http://127.0.0.1:{port}/mcp", "start_s": PATIENCE}}}))
        with Daemon(arguments=["--config", config]) as daemon, daemon.connect(PATIENCE) as client:
            body = client.execute(
                "import warder\ntry: wrong = warder.call_tool('everything__get-sum', a='x', b=1)\n"
                "except warder.CallError as e: wrong = [e.code, e.message]\n"
                "result = [warder.call_tool('everything__echo', message='hello'), wrong,\n"
                "          [warder.call_tool('everything__get-sum', a=1, b=n) for n in range(3)]]", timeout_seconds=PATIENCE)
            self.assertTrue(body["success"], (body, daemon.log_text()[-3000:]))
            echoed, wrong, sums = body["result"]
            self.assertIn("hello", echoed)
            self.assertEqual(wrong[0], "invalid")
            self.assertIn("3", sums[2])
            picture = client.call("call_tool", {"name": "everything__get-tiny-image"})
            self.assertIn("image", [block["type"] for block in picture["content"]])
            self.assertIn("by handshake, over HTTP", daemon.log_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
