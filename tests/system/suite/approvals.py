"""A call that waits for an approval, where the kernel can freeze: seen in cgroup.events, thawed with its memory intact."""
import json
import unittest

from suite.warder import META, CgroupDaemon, DaemonTest, answer, wait_until

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": [{"name": "fire", "inputSchema": {"type": "object"}}]},
              "tools/call": {"content": [{"type": "text", "text": "fired"}]}}.get(asked["method"])
    reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked: print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""
CODE = """
import threading, time, warder
count, kept = 0, list(range(100_000))
def spin():
    global count
    while True: count += 1
threading.Thread(target=spin, daemon=True).start()
fired = warder.call_tool("near__fire")
before = count
while count == before: time.sleep(0.01)
result = [fired, sum(kept)]
"""
CALLS = {"rules": [{"name": "careful", "tools": ["near.*"], "verdict": "ask"}]}
CAPABLE = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


def with_server(daemon):
    """That daemon, with a server to call: before it is started."""
    file = daemon.directory / "config.json"
    file.write_text(json.dumps({"servers": {"near": {"command": "/usr/bin/python3", "args": ["-c", SERVER], "jail": "none"}}}))
    file.chmod(0o644)
    daemon.arguments = ["--config", str(file)]
    return daemon


class Approvals(DaemonTest):
    @classmethod
    def setUpClass(cls):
        cls.daemon = with_server(CgroupDaemon(user=cls.user, calls=CALLS))
        cls.enterClassContext(cls.daemon)

    def ask(self, client=None, **more):
        """The answer of execute_code, which may want something first; the request's own texts stay what they are."""
        params = {"name": "execute_code", "arguments": {"code": CODE, "timeout_seconds": 20}, "_meta": CAPABLE, **more}
        return (client or self.client).request("tools/call", **params)

    def decide(self, asked, action):
        responses = {key: {"action": action} for key in asked["inputRequests"]}
        return answer(self.ask(inputResponses=responses, requestState=asked["requestState"]))

    def is_frozen(self, leaf):
        return "frozen 1" in (leaf / "cgroup.events").read_text().splitlines()

    def test_its_jail_is_frozen_while_it_waits_and_goes_on_with_the_answer(self):
        asked = self.ask()
        self.assertEqual(asked["resultType"], "input_required")
        leaf = self.daemon.wait_for_leaf()
        wait_until("its cgroup is frozen", lambda: self.is_frozen(leaf))
        used = lambda: int((leaf / "cpu.stat").read_text().split()[1])
        before = used()
        with self.daemon.connect() as other:
            self.assertEqual(other.execute("sum(range(2_000_000))")["outcome"], "ok")  # time passes
        self.assertEqual(used(), before, "what is frozen computes nothing")
        body = self.decide(asked, "accept")
        self.assertEqual(body.get("result"), ["fired", sum(range(100_000))], body)

    def test_a_refusal_thaws_it_too(self):
        asked = self.ask()
        leaf = self.daemon.wait_for_leaf()
        wait_until("its cgroup is frozen", lambda: self.is_frozen(leaf))
        body = self.decide(asked, "decline")
        self.assertEqual((body["outcome"], "was refused by the client" in body["error"]), ("error", True), body)

    def test_a_client_that_leaves_ends_what_is_frozen(self):
        with self.daemon.connect() as leaving:
            self.ask(leaving)
            leaf = self.daemon.wait_for_leaf()
            wait_until("its cgroup is frozen", lambda: self.is_frozen(leaf))
        wait_until("its cgroup is gone", lambda: not leaf.exists())


class Rootless(Approvals):
    user = "ordinary"


if __name__ == "__main__":
    unittest.main()
