"""A daemon with upstream servers that send expensive data, and the processor times of the daemon's threads.

Compared are the times of the loop's thread and of all other threads of the daemon, so that neither a busy machine nor a
slow build matters.
"""
import contextlib
import itertools
import json
import os
import pathlib
import select
import socket
import tempfile

from upstream_harness import UpstreamTest

# argv: a file with one list of tools in each line, which are the pages of tools/list, and the number of items of each
# result.
SERVER = """
import json, sys
pages = open(sys.argv[1]).read().splitlines()
items = [{"a": 1, "b": 2}] * int(sys.argv[2])
def page_of(params):
    number = int(params.get("cursor", 0))
    return pages[number], f', "nextCursor": "{number + 1}"' if number + 1 < len(pages) else ""
for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    if "id" not in request: continue
    if method == "initialize":
        reply = '"result": %s' % json.dumps({"protocolVersion": "2025-06-18", "capabilities": {},
                                             "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        reply = '"result": {"tools": %s%s}' % page_of(request.get("params", {}))
    elif method == "tools/call":
        reply = '"result": {"content": [], "structuredContent": %s}' % json.dumps({"items": items})
    else:
        reply = '"error": {"code": -32601, "message": "no such method"}'
    print('{"jsonrpc": "2.0", "id": %s, %s}' % (json.dumps(request["id"]), reply), flush=True)
"""
FREE = {"name": "free", "inputSchema": {"type": "object"}}
WORDS = [f"word{number}" for number in range(400)]


def expressions(number, count=500):
    """A tool with as many different expressions, each of which takes long to compile."""
    return {"name": f"t{number}", "inputSchema": {"type": "object", "properties": {
        f"p{i}": {"type": "string", "pattern": "(?:[a-z%d]{1,30}x%d){1,30}" % (i % 10, number * count + i)}
        for i in range(count)}}}


def many_expressions(tools=2000, count=500, pages=20):
    """Pages of the most tools that a server may have. Each tool has 500 other expressions, in few bytes: 15 MB."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    words = ("".join(word) for word in itertools.product(digits, repeat=4))
    texts = ['{"name":"t%d","inputSchema":{"patternProperties":{%s}}}' % (
        number, ",".join('".{99}%s":{}' % word for word in itertools.islice(words, count))) for number in range(tools)]
    step = tools // pages
    return [f"[{','.join(texts[first:first + step])}]" for first in range(0, tools, step)]


def alternatives(count):
    """A tool that compares a value with count * count schemas."""
    return {"name": "nested", "inputSchema": {
        "type": "object", "properties": {"value": {"anyOf": [{"$ref": "#/$defs/a"}] * count}},
        "$defs": {"a": {"anyOf": [{"type": "string"}] * count}}}}


def doublings(levels):
    """A tool that compares a value with 2 ** levels schemas."""
    twice = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)}
    return {"name": "doubled", "inputSchema": {
        "type": "object", "properties": {"value": {"$ref": "#/$defs/d0"}},
        "$defs": {**twice, f"d{levels}": {"maxLength": 99}}}}


class Threads:
    """Processor time of a daemon's threads within a `with`."""

    def __init__(self, daemon):
        self.pid = daemon.process.pid

    def now(self):
        loop, others = 0.0, 0.0
        ticks = os.sysconf("SC_CLK_TCK")
        for thread in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:  # it has ended
                continue
            used = (int(fields[11]) + int(fields[12])) / ticks
            if thread.name == str(self.pid):
                loop += used
            else:
                others += used
        whole = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return loop, (int(whole[11]) + int(whole[12])) / ticks - loop  # ended threads count in the second

    def __enter__(self):
        self.before = self.now()
        return self

    def __exit__(self, *_):
        self.loop, self.others = (after - before for after, before in zip(self.now(), self.before))


class WorkTime:
    """Processor time, since this object was made, of the daemon's threads for work on foreign data.

    These threads have a lower priority than the others. Many of them end with their job: the last look at each counts.
    """

    def __init__(self, daemon):
        self.pid = daemon.process.pid
        self.ticks = {}
        self.before = 0
        self.before = self.used()

    def used(self):
        for thread in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # it has ended
                fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[16]) > 0:
                    self.ticks[thread.name] = int(fields[11]) + int(fields[12])
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK") - self.before


def open_requests(client, sent):
    """The number of the last `sent` requests that have no answer yet. The client has read none of these answers."""
    readable = select.select([client.socket], [], [], 0)[0]
    return sent - (client.socket.recv(1 << 24, socket.MSG_PEEK).count(b"\n") if readable else 0)


class ForeignWorkTest(UpstreamTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "slow_server.py").write_text(SERVER)

    def slow(self, *tools, pages=None, items=4000):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o755)
        (folder / "pages").write_text("\n".join(pages or [json.dumps(tools)]))
        return {"command": "/usr/bin/python3", "jail": "none",
                "args": [str(self.folder / "slow_server.py"), str(folder / "pages"), str(items)]}

    def large_catalog(self, tools=6000):
        """A folder with the definitions of so many tools, each with 30 of 400 words."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o755)
        all_tools = [{"name": f"tool{number}", "inputSchema": {"type": "object"},
                      "description": " ".join(WORDS[(number + 7 * word) % 400] for word in range(30))}
                     for number in range(tools)]
        (folder / "large.json").write_text(json.dumps({"tools": all_tools}))
        return str(folder)

    def expect_beside_the_loop(self, times, least=0.05):
        self.assertGreater(times.others, least, "the case is not slow enough to say anything")
        self.assertLess(times.loop, times.others / 2)

    def call(self, client, tool, arguments, **more):
        return client.call("call_tool", {"name": f"slow__{tool}", "arguments": arguments, **more})

    def begin_call(self, client, tool, arguments, server="slow", **more):
        arguments = {"name": f"{server}__{tool}", "arguments": arguments, **more}
        return client.begin("tools/call", name="call_tool", arguments=arguments)
