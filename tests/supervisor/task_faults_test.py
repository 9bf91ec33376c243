"""Tasks in bad weather: foreign ids, bad params, limits, a cancellation against the end, kill -9, and administrators."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bus_harness import Bus, BusDaemon  # noqa: E402
from harness import HOLD, PATIENCE, Client, Daemon, Policies, body_of, eventually, let_go, workspace_of  # noqa: E402
from http_test import ask, headers_of  # noqa: E402
from http_tokens_test import TokenTest  # noqa: E402
from tasks_test import TASKS, ended, state  # noqa: E402

WARDER = os.environ["WARDER"]
RELATED = "io.modelcontextprotocol/related-task"
HOLD_LONG = HOLD.replace("/workspace/go", "/workspace/never")


class LegacyClient(Client):
    """A client of 2025-11-25."""

    def __init__(self, path):
        super().__init__(path)
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"})

    def begin(self, method, **params):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def ask(self, method, **params):
        return self.answer(self.begin(method, **params))

    def begin_task(self, code, task=None, **arguments):
        answer = self.ask("tools/call", name="execute_code", arguments={"code": code, **arguments}, task=task or {})
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]["task"]["taskId"]

    def status(self, task):
        return self.ask("tasks/get", taskId=task)["result"]["status"]


class ForeignIds(TokenTest):
    def test_the_task_of_another_principal_or_tenant_looks_unknown_in_every_method(self):
        self.start()
        self.configure()
        owner, colleague, stranger = (self.add("owner", tenant="acme"), self.add("colleague", tenant="acme"),
                                      self.add("stranger", tenant="other"))
        session = self.session(owner)
        client = self.client()

        def ask_legacy(headers, method, **params):
            client.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}), headers)
            answer = client.getresponse().read().decode()
            lines = [line[6:] for line in answer.split("\n") if line.startswith("data: {")] or [answer]
            return json.loads(lines[-1])

        call = {"name": "execute_code", "arguments": {"code": HOLD, "timeout_seconds": 300}, "task": {}}
        task = ask_legacy(session, "tools/call", **call)["result"]["task"]["taskId"]
        unknown = "t" + "0" * 32
        for token in (colleague, stranger):
            theirs = self.session(token)
            for method in ("tasks/get", "tasks/result", "tasks/cancel"):
                answer = ask_legacy(theirs, method, taskId=task)
                self.assertEqual(answer["error"]["code"], -32602, (method, answer))
                self.assertEqual(answer, ask_legacy(theirs, method, taskId=unknown), method)
            self.assertEqual(ask_legacy(theirs, "tasks/list")["result"]["tasks"], [])
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                answers = [self.ask_modern(token, method, one) for one in (task, unknown)]
                self.assertEqual(answers[0]["error"]["code"], -32602, (method, answers[0]))
                self.assertEqual(answers[0], answers[1], method)
        self.assertEqual([one["taskId"] for one in ask_legacy(session, "tasks/list")["result"]["tasks"]], [task])
        self.assertEqual(ask_legacy(session, "tasks/get", taskId=task)["result"]["status"], "working")
        self.assertEqual(ask_legacy(session, "tasks/cancel", taskId=task)["result"]["status"], "cancelled")

    def ask_modern(self, token, method, task):
        message = {"jsonrpc": "2.0", "id": 3, "method": method, "params": {
            "taskId": task, "inputResponses": {},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": TASKS}}}
        headers = {**headers_of(message), "Mcp-Name": task, "Authorization": f"Bearer {token}"}
        return ask(self.client(), message, **headers)[1]


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(Policies(admission={"concurrent_executions": 2, "requests_in_flight": 200}))
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies))

    def setUp(self):
        (workspace_of(self.daemon) / "go").unlink(missing_ok=True)
        self.client = self.enterContext(LegacyClient(self.daemon.socket))

    def test_bad_params_are_refused_by_name(self):
        before = self.client.ask("tasks/list")["result"]
        for task in (None, 7, [], {}, True):
            for method in ("tasks/get", "tasks/result", "tasks/cancel"):
                error = self.client.ask(method, taskId=task)["error"]
                self.assertEqual((error["code"], error["message"]), (-32602, "Invalid params: taskId must be a string"), method)
        error = self.client.ask("tasks/get", taskId="t" * (1 << 20))["error"]
        self.assertEqual(error["code"], -32602)
        self.assertIn("tasks/get has more than 64 KiB", error["message"])
        for ttl in (-1, -1e300, "60000", [], {}, False):
            error = self.client.ask("tools/call", name="execute_code", arguments={"code": "result = 1"}, task={"ttl": ttl})["error"]
            self.assertEqual(error["code"], -32602)
            self.assertEqual(error["message"], "Invalid params: task.ttl must be a number of milliseconds, 0 or more")
        error = self.client.ask("tools/call", name="execute_code", arguments={"code": "result = 1"}, task=7)["error"]
        self.assertEqual(error["message"], "Invalid params: task must be an object")
        self.assertEqual(self.client.ask("tasks/list", cursor="x")["error"]["code"], -32602)
        self.assertEqual(self.client.ask("tasks/list")["result"], before)

    def test_a_cancellation_and_the_end_leave_one_outcome(self):
        seen = set()
        for n in range(20):
            task = self.client.begin_task("result = 7")
            if n % 2:  # also ends that come first
                eventually(lambda: self.client.status(task) != "working" or n % 4 == 3, task)
            cancelled = self.client.ask("tasks/cancel", taskId=task)
            result = self.client.ask("tasks/result", taskId=task)
            status = self.client.status(task)
            seen.add(status)
            if status == "cancelled":
                self.assertEqual(cancelled["result"]["status"], "cancelled")
                self.assertEqual(result["error"]["message"], "the task was cancelled")
            else:
                self.assertEqual(status, "completed")
                self.assertEqual(cancelled["error"]["message"], "the task is completed already")
                self.assertEqual(body_of(result["result"])["result"], 7)
                self.assertEqual(result["result"]["_meta"][RELATED], {"taskId": task})
        self.assertEqual(seen, {"cancelled", "completed"})

    def test_limits_are_named_and_nothing_is_lost(self):
        before = len(self.client.ask("tasks/list")["result"]["tasks"])
        running = [self.client.begin_task(HOLD, timeout_seconds=300) for _ in range(64)]
        with self.assertRaises(RuntimeError) as refused:
            self.client.begin_task("result = 1")
        self.assertIn("already has 64 tasks that have not ended; the limit is 64", str(refused.exception))
        self.assertIn("cancel one", str(refused.exception))
        # A background execution is a task, too.
        answer = self.client.ask("tools/call", name="execute_code", arguments={"code": "result = 1", "background": True})
        self.assertIn("the limit is 64", json.dumps(answer))
        listed = [one["taskId"] for one in self.client.ask("tasks/list")["result"]["tasks"]]
        self.assertEqual(len(listed), before + 64)
        self.assertTrue(set(running) <= set(listed))
        let_go(self.daemon)
        for task in running:
            self.assertEqual(body_of(self.client.ask("tasks/result", taskId=task)["result"])["result"], "went on")
        # More than 256: the oldest that have ended are removed, and none that runs.
        (workspace_of(self.daemon) / "go").unlink()
        holding = self.client.begin_task(HOLD, timeout_seconds=300)
        newest = []
        for n in range(256):
            newest.append(self.client.begin_task("result = 1"))
            self.client.ask("tasks/cancel", taskId=newest[-1])
        listed = [one["taskId"] for one in self.client.ask("tasks/list")["result"]["tasks"]]
        self.assertEqual(len(listed), 256)
        self.assertIn(holding, listed)
        self.assertEqual(listed[-255:], newest[-255:])
        self.assertEqual(self.client.ask("tasks/get", taskId=running[0])["error"]["code"], -32602)
        let_go(self.daemon)
        self.assertEqual(body_of(self.client.ask("tasks/result", taskId=holding)["result"])["result"], "went on")


class Killed(unittest.TestCase):
    def test_after_kill_9_a_task_of_2025_11_25_is_interrupted_and_names_itself(self):
        with Daemon() as daemon:
            with LegacyClient(daemon.socket) as client:
                task = client.begin_task(HOLD, timeout_seconds=300)
                self.assertEqual(client.status(task), "working")
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.wait()
            daemon.start()
            with LegacyClient(daemon.socket) as client:
                self.assertEqual(client.status(task), "failed")
                result = client.ask("tasks/result", taskId=task)["result"]
                self.assertIs(result["isError"], True)
                self.assertEqual(body_of(result)["outcome"], "interrupted")
                self.assertIn("may have had effects", body_of(result)["error"])
                self.assertEqual(result["_meta"][RELATED], {"taskId": task})
                self.assertEqual(client.ask("tasks/cancel", taskId=task)["error"]["code"], -32602)


class Administrators(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(Bus())
        self.daemon = BusDaemon(self.bus, system=True, policies=self.enterContext(Policies()))
        self.enterContext(self.daemon)
        self.client = self.enterContext(Client(self.daemon.socket))

    def warder(self, *words, status=0):
        done = subprocess.run([WARDER, *words, "--bus", self.bus.address], capture_output=True, text=True,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done.stdout

    def begin(self):
        execution = body_of(self.client.call("execute_code", {"code": HOLD_LONG, "background": True, "timeout_seconds": 300}))["execution_id"]
        running = lambda: [one for one in json.loads(self.warder("ps", "--json")) if one["State"] == "running"]
        (one,) = eventually(running, "the program runs")
        self.assertEqual(one["Id"], execution)
        return execution

    def test_a_background_execution_is_killed(self):
        execution = self.begin()
        self.warder("kill", execution)
        self.assertEqual(ended(self.client, execution)["outcome"], "cancelled")
        self.assertEqual(json.loads(self.warder("ps", "--json")), [])
        self.warder("kill", execution, status=1)

    def test_a_removed_tenant_has_no_background_executions(self):
        execution = self.begin()
        (tenant,) = [json.loads(line)["Name"] for line in self.warder("tenants", "--json").splitlines()]
        self.warder("tenant", "remove", tenant, "--yes", status=1)
        self.assertEqual(state(self.client, execution)["state"], "working")
        self.warder("tenant", "remove", tenant, "--yes", "--force")
        self.assertEqual(json.loads(self.warder("ps", "--json")), [])
        with Client(self.daemon.socket) as again:
            gone = again.answer(again.begin("resources/read", uri=f"exec:///{execution}/result"))
            self.assertEqual(gone["error"]["message"], "Resource not found")
            self.assertEqual(again.execute("import os; result = os.listdir('/workspace')")["result"], [])

        def rows():
            with sqlite3.connect(f"file:{self.daemon.state}/journal/journal.db?mode=ro", uri=True) as database:
                return database.execute("SELECT * FROM tasks").fetchall()

        eventually(lambda: rows() == [], "its rows are removed")


if __name__ == "__main__":
    unittest.main()
