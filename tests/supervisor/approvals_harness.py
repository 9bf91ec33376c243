"""What the tests of approvals share: rules that ask, and clients of both eras that answer."""
from upstream_harness import UpstreamTest
from harness import Client, Policies, descendants

ASKS = {"elicitation": {}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
RULES = [{"name": "large-sums", "tools": ["near.add"], "verdict": "ask", "why": "large sums need a human",
          "remedy": "keep b below 100", "when": {"properties": {"b": {"minimum": 100}}, "required": ["b"]}},
         {"name": "careful", "tools": ["near.echo"], "verdict": "ask"}]
ADD = "import warder\nkept = list(range(1000))\nresult = [warder.call_tool('near__add', a=1, b=%d)['sum'], sum(kept)]"
CAUGHT = ("import warder\ntry: result = warder.call_tool('near__add', a=1, b=100)\n"
          "except warder.CallError as e: result = [e.code, e.rule, e.message, e.remedy]")


class Modern(Client):
    """A client of 2026-07-28 that can show forms."""

    def ask(self, tool, arguments, capabilities=ASKS, **more):
        """The answer to one request, which may want something first."""
        meta = {CAPABILITIES: capabilities}
        return self.answer(self.begin("tools/call", name=tool, arguments=arguments, _meta=meta, **more))

    def again(self, tool, arguments, asked, action="accept", **more):
        responses = {key: {"action": action, "content": {}} for key in asked["inputRequests"]}
        return self.ask(tool, arguments, inputResponses=responses, requestState=asked["requestState"], **more)


class Legacy(Client):
    """A client of 2025-11-25: asked by requests of the daemon's, which `answers` answers."""

    def __init__(self, path, capabilities=ASKS):
        super().__init__(path)
        self.asked, self.cancelled, self.progress = [], [], []
        self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                   "params": {"protocolVersion": "2025-11-25", "capabilities": capabilities,
                              "clientInfo": {"name": "test", "version": "1"}}})
        self.receive()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def begin_code(self, code, **arguments):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": "tools/call",
                   "params": {"name": "execute_code", "arguments": {"code": code, **arguments}}})
        return self.last_id

    def take(self):
        message = self.receive()
        if message is None:
            raise EOFError("the daemon closed the connection")
        if message.get("method") == "elicitation/create":
            self.asked.append(message)
        elif message.get("method") == "notifications/cancelled":
            self.cancelled.append(message["params"]["requestId"])
        elif message.get("method") == "notifications/progress":
            self.progress.append(message["params"])
        elif "method" not in message:
            self.answers[message.get("id")] = message

    def await_question(self, number=1):
        while len(self.asked) < number:
            self.take()
        return self.asked[number - 1]

    def decide(self, question, action):
        self.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action, "content": {}}})


class ApprovalTest(UpstreamTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.policies = cls.enterClassContext(cls.make_policies())
        cls.shared = cls.enterClassContext(cls.daemon(policies=cls.policies))

    @classmethod
    def make_policies(cls, **calls):
        return Policies(calls={"rules": RULES, "otherwise": "allow", **calls})

    def jails(self):
        """Processes of jails: upstream servers run beside them."""
        return [name for name in descendants(self.shared.process.pid).values() if "jail-ini" in name]

    def approvals_logged(self, daemon=None):
        return [line for line in (daemon or self.shared).log_text().splitlines() if "approval a" in line]
