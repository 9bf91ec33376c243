"""Three servers from npm in an installed service, as an administrator adds them: `warder servers`. Their packages are
fetched outside (tests/system/fetch_servers.py) and handed in below /packages/servers."""
import json
import pathlib
import re
import shutil
import subprocess
import unittest

from suite.service import POLICIES, InstalledService, connect, show, systemctl
from suite.warder import PATIENCE

PACKAGES = pathlib.Path("/packages/servers")
INSTALLED = pathlib.Path("/usr/local/lib/warder/servers")
DROP_INS = pathlib.Path("/etc/warder/warderd.json.d")
SCOPE = "npm:@modelcontextprotocol/server-"


def warder(*words):
    return subprocess.run(["warder", "servers", *words], capture_output=True, text=True, timeout=4 * PATIENCE)


def node_version():
    if not shutil.which("node"):
        return 0
    return int(re.match(r"v(\d+)", subprocess.run(["node", "--version"], capture_output=True, text=True).stdout)[1])


class Servers(InstalledService):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.remove_all)
        systemctl("start", "warder.service")

    def remove_all(self):
        for name in ("everything", "memory", "files"):
            warder("remove", name)
        shutil.rmtree(INSTALLED, ignore_errors=True)
        (POLICIES / "system.json").unlink(missing_ok=True)
        subprocess.run(["systemctl", "reload", "warder.service"])

    def install(self, name, *words):
        done = warder("install", f"{SCOPE}{name}", "--from", str(PACKAGES / f"server-{name}.tgz"), *words)
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        return done.stdout

    @unittest.skipUnless((PACKAGES / "server-everything.tgz").exists(), "NOT TESTED: no packages were handed in")
    @unittest.skipUnless(node_version() >= 20, "NOT TESTED: the servers need Node.js 20")
    def test_three_servers_of_npm_work_without_a_restart(self):
        started = show("ExecMainStartTimestampMonotonic")
        said = self.install("everything")
        self.assertIn("everything starts", said)
        self.assertRegex(said, r"policy system: allows 0 of \d+ tools")
        self.assertIn("allows all", self.install("memory", "--call", "allow", "--env", "MEMORY_FILE_PATH=/workspace/memory.json"))
        self.install("filesystem", "--name", "files", "--call", "allow", "--folder", "workspace", "--", "/workspace")
        self.assertEqual(show("ExecMainStartTimestampMonotonic"), started, "no restart")
        for path in (INSTALLED, *INSTALLED.iterdir()):
            self.assertEqual((path.stat().st_uid, path.stat().st_mode & 0o022), (0, 0), path)
        self.assertEqual((DROP_INS / "50-server-memory.json").stat().st_mode & 0o777, 0o640)
        listed = {one["Name"]: one for one in json.loads(warder("list", "--json").stdout)}
        self.assertEqual({one["Place"] for one in listed.values()}, {"jail"})
        client = self.enterContext(connect())
        client.call("write_workspace_file", {"filename": "note.txt", "content": "hello"})
        body = client.execute(
            "import warder\ncall = warder.call_tool\n"
            "call('memory__create_entities', entities=[{'name': 'Ada', 'entityType': 'person', 'observations': ['x']}])\n"
            "try: refused = call('everything__echo', message='m')\nexcept warder.CallError as e: refused = e.code\n"
            "result = [call('memory__read_graph'), call('files__read_text_file', path='/workspace/note.txt'), refused]",
            timeout_seconds=PATIENCE)
        self.assertTrue(body["success"], body)
        self.assertIn("Ada", json.dumps(body["result"][0]))
        self.assertIn("hello", json.dumps(body["result"][1]))
        self.assertEqual(body["result"][2], "denied")

    def test_a_url_says_what_the_unit_needs(self):
        done = warder("add", "files", "http://127.0.0.1:9/mcp")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("files does not start", done.stderr)
        self.assertIn("PrivateNetwork=no", done.stderr)
        self.assertFalse(pathlib.Path("/etc/systemd/system/warder.service.d/network.conf").exists())
