#!/usr/bin/env python3
"""Real MCP servers from npm, each in a jail of its own, called from code in other jails: what a server of ours believes
about the protocol, these find out."""
import json
import os
import pathlib
import shutil
import time
import unittest

from harness import MODULES, ServersTest

PATIENCE = 120
SERVERS = "/workspace/node_modules/@modelcontextprotocol/server-"
SCRIPT = "/dist/index.js"


def server(name, *arguments, **more):
    return {"command": "/usr/bin/node", "args": [f"{SERVERS}{name}{SCRIPT}", *arguments], "start_s": PATIENCE, **more}


class Servers(ServersTest):
    @classmethod
    def servers(cls):
        # A jail shows one folder: the servers and what they need, and data for them, by links that cost nothing.
        home = cls.folder / "home"
        shutil.copytree(MODULES, home / "node_modules", copy_function=link_or_copy, symlinks=True)
        (home / "data").mkdir()
        (home / "data/notes.txt").write_text("first\nsecond\n")
        for path in (home, home / "data"):
            path.chmod(0o777)
        there = {"folder": str(home)}
        return {
            "files": server("filesystem", "/workspace/data", **there),
            "everything": server("everything", "stdio", **there),
            "memory": server("memory", env={"MEMORY_FILE_PATH": "/workspace/data/memory.json"}, **there),
            "thinking": server("sequential-thinking", **there),
        }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        owner = (cls.daemon.state / "tenants").stat()
        os.chown(cls.folder / "home/data", owner.st_uid, owner.st_gid)  # what is the daemon's a server may write
        cls.client = cls.enterClassContext(cls.daemon.connect(PATIENCE))

    def code(self, code, **more):
        body = self.client.execute(code, timeout_seconds=PATIENCE, **more)
        self.assertTrue(body["success"], (body, self.daemon.log_text()[-3000:]))
        return body["result"]

    def test_filesystem(self):
        text, names, refused = self.code(
            "import warder\ncall = warder.call_tool\n"
            "call('files__write_file', path='/workspace/data/new.txt', content='written')\n"
            "text = call('files__read_text_file', path='/workspace/data/notes.txt')\n"
            "names = call('files__list_directory', path='/workspace/data')\n"
            "try: refused = call('files__read_text_file', path='/etc/passwd')\n"
            "except warder.CallError as e: refused = [e.code, e.message]\n"
            "result = [text, names, refused]")
        self.assertEqual(text, {"content": "first\nsecond\n"})
        self.assertIn("new.txt", json.dumps(names))
        self.assertEqual(refused[0], "tool_error")
        self.assertIn("Access denied", refused[1])
        self.assertEqual((self.folder / "home/data/new.txt").read_text(), "written")

    def test_everything(self):
        found = self.client.call("search_tools", {"query": "echo back the input", "server": "everything"})["structuredContent"]
        self.assertEqual(found["tools"][0]["name"], "echo", found)
        echoed, wrong = self.code(
            "import warder\ntry: wrong = warder.call_tool('everything__get-sum', a='x', b=1)\n"
            "except warder.CallError as e: wrong = [e.code, e.message]\n"
            "result = [warder.call_tool('everything__echo', message='hello'), wrong]")
        self.assertIn("hello", echoed)
        self.assertEqual(wrong[0], "invalid")
        self.assertIn("/a:", wrong[1])
        result = self.client.call("call_tool", {"name": "everything__get-tiny-image"})
        self.assertIn("image", [block["type"] for block in result["content"]])

    def test_memory(self):
        graph = self.code(
            "const m = require('/servers/memory');\n"
            "await m.create_entities({entities: [{name: 'Ada', entityType: 'person', observations: ['wrote programs']}]});\n"
            "return (await m.search_nodes({query: 'programs'})).entities.map((e) => e.name)", language="javascript")
        self.assertEqual(graph, ["Ada"])

    def test_sequential_thinking(self):
        thought = self.code(
            "from servers.thinking import sequentialthinking\n"
            "result = sequentialthinking(thought='first', nextThoughtNeeded=False, thoughtNumber=1, totalThoughts=1)")
        self.assertEqual((thought["thoughtNumber"], thought["thoughtHistoryLength"]), (1, 1))

    def setUp(self):
        until = time.monotonic() + PATIENCE
        while not {"files", "everything", "memory", "thinking"} <= set(
                self.client.execute("import os\nresult = os.listdir('/servers')")["result"]):
            self.assertLess(time.monotonic(), until, self.daemon.log_text()[-3000:])
            time.sleep(0.1)  # between looks


def link_or_copy(source, target):
    try:
        pathlib.Path(target).hardlink_to(source)
    except OSError:  # another file system
        shutil.copy2(source, target)


if __name__ == "__main__":
    unittest.main(verbosity=2)
