"""Executions in the background, and calls that become tasks: with clients that leave, restarts, and other tenants."""
import json
import pathlib
import signal
import tempfile
import unittest

from harness import HOLD, Client, Daemon, SharedDaemon, body_of, eventually, let_go, workspace_of

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def state(client, execution):
    """What the resource of a background execution's result says."""
    contents = client.request("resources/read", uri=f"exec:///{execution}/result")["contents"]
    return json.loads(contents[0]["text"])


def ended(client, execution):
    return eventually(lambda: (now := state(client, execution)) and "success" in now and now, execution)


def ask(client, method, **params):
    """A request of a client that knows tasks: the whole message."""
    capabilities = {"io.modelcontextprotocol/clientCapabilities": TASKS}
    return client.answer(client.begin(method, _meta=capabilities, **params))


def promoting_daemon(test):
    """A daemon under which every call becomes a task."""
    folder = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory(prefix="warder-test-")))
    folder.chmod(0o755)
    (folder / "warderd.json").write_text(json.dumps({"tasks": {"promote_after_ms": 1}}))
    return Daemon(arguments=["--config", folder / "warderd.json"])


class End(unittest.TestCase):
    def test_the_daemon_ends_well_while_calls_become_tasks(self):
        """Their timers may fire when the part that makes tasks has gone."""
        with promoting_daemon(self) as daemon:
            for _ in range(4):
                with Client(daemon.socket) as client:
                    meta = {"io.modelcontextprotocol/clientCapabilities": TASKS}
                    for _ in range(12):
                        client.begin("tools/call", name="execute_code", _meta=meta,
                                     arguments={"code": "import time\ntime.sleep(0.05)"})
                    daemon.stop()  # fails if the status is not 0
                daemon.start()


class Background(SharedDaemon):
    def setUp(self):
        super().setUp()
        (workspace_of(self.daemon) / "go").unlink(missing_ok=True)

    def begin(self, code, client=None, **more):
        result = (client or self.client).call("execute_code", {"code": code, "background": True, **more})
        body = body_of(result)
        self.assertIs(result.get("isError", False), False, body)
        self.assertEqual(body["state"], "working")
        self.assertEqual(body["result"], f"exec:///{body['execution_id']}/result")
        return body["execution_id"]

    def refused(self, uri):
        answer = self.client.answer(self.client.begin("resources/read", uri=uri))
        return answer["error"]

    def test_it_is_answered_at_once_and_its_answer_is_a_resource(self):
        execution = self.begin(HOLD)
        self.assertEqual(state(self.client, execution), {"execution_id": execution, "state": "working"})
        let_go(self.daemon)
        body = ended(self.client, execution)
        self.assertEqual((body["success"], body["result"], body["outcome"], body["execution_id"]),
                         (True, "went on", "ok", execution))
        self.assertEqual(body["output"], ["running"])

    def test_it_goes_on_when_its_client_leaves(self):
        with Client(self.daemon.socket) as client:
            execution = self.begin(HOLD, client)
        self.assertEqual(state(self.client, execution)["state"], "working")
        let_go(self.daemon)
        self.assertEqual(ended(self.client, execution)["result"], "went on")

    def test_a_failure_is_the_answer_too(self):
        body = ended(self.client, self.begin("raise ValueError('no')"))
        self.assertEqual((body["success"], body["outcome"]), (False, "error"))
        self.assertIn("ValueError: no", body["error"])
        body = ended(self.client, self.begin("result = item", fork=[1, 2]))
        self.assertEqual([one["result"] for one in body["results"]], [1, 2])

    def test_it_is_cancelled_by_deleting_it(self):
        started = workspace_of(self.daemon) / "started"
        execution = self.begin("open('/workspace/started', 'w').close()\nimport time\ntime.sleep(600)", timeout_seconds=600)
        eventually(started.exists, "the program runs")
        answer = self.client.call("delete_workspace_file", {"filename": f"exec:///{execution}"})
        self.assertEqual(answer["structuredContent"]["message"], f"Cancelled {execution}")
        self.assertEqual(ended(self.client, execution)["outcome"], "cancelled")
        answer = self.client.call("delete_workspace_file", {"filename": f"exec:///{execution}"})
        self.assertEqual(answer["structuredContent"]["message"], f"Deleted the result of {execution}")
        self.assertEqual(self.refused(f"exec:///{execution}/result")["message"], "Resource not found")

    def test_unknown_ids_are_not_found(self):
        plain = body_of(self.client.call("execute_code", {"code": "result = 1"}))["execution_id"]
        for name in ("e0123456789abcdef", plain):
            self.assertEqual(self.refused(f"exec:///{name}/result")["message"], "Resource not found")
            answer = self.client.call("delete_workspace_file", {"filename": f"exec:///{name}"})
            self.assertIs(answer["isError"], True)
            self.assertEqual(body_of(answer)["code"], "not_found")
            self.assertIn("no background execution", body_of(answer)["error"])

    def test_an_answer_that_is_too_large_is_kept_shortened(self):
        body = ended(self.client, self.begin("result = 'x' * 10_450", fork=list(range(100))))
        self.assertIs(body["success"], True, str(body)[:2000])
        self.assertGreater(body["truncated"]["answer"]["bytes"], 1 << 20)
        self.assertTrue(body["answer_begins"])
        self.assertIn("are kept", body["notes"][0])


class Restarts(unittest.TestCase):
    def test_after_kill_9_a_background_execution_is_interrupted_and_an_ended_one_is_still_there(self):
        with Daemon() as daemon:
            with Client(daemon.socket) as client:
                done = body_of(client.call("execute_code", {"code": "result = 7", "background": True}))["execution_id"]
                ended(client, done)
                running = body_of(client.call("execute_code", {"code": HOLD, "background": True}))["execution_id"]
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.wait()
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(state(client, done)["result"], 7)
                body = state(client, running)
                self.assertEqual((body["success"], body["outcome"], body["may_have_run"]), (False, "interrupted", True))
                self.assertIn("may have had effects", body["error"])

    def test_after_kill_9_a_task_is_completed_with_an_error(self):
        with promoting_daemon(self) as daemon:
            with Client(daemon.socket) as client:
                call = {"name": "execute_code", "arguments": {"code": HOLD}}
                task = ask(client, "tools/call", **call)["result"]
                self.assertEqual((task["resultType"], task["status"]), ("task", "working"))
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.wait()
            daemon.start()
            with Client(daemon.socket) as client:
                now = ask(client, "tasks/get", taskId=task["taskId"])["result"]
                self.assertEqual((now["status"], now["result"]["isError"]), ("completed", True))
                self.assertEqual(body_of(now["result"])["outcome"], "interrupted")


def next_of(client, method):
    """The next notification of this method; lists may change at any time, and are told, too."""
    while (message := client.take()).get("method") != method:
        pass
    return message["params"]


class Notifications(unittest.TestCase):
    def test_a_subscriber_gets_the_end_of_a_task_with_its_result(self):
        capabilities = {"io.modelcontextprotocol/clientCapabilities": TASKS}
        with promoting_daemon(self) as daemon, Client(daemon.socket) as client, Client(daemon.socket) as listener:
            call = {"name": "execute_code", "arguments": {"code": HOLD}}
            task = ask(client, "tools/call", **call)["result"]["taskId"]
            request = listener.begin("subscriptions/listen", notifications={"taskIds": [task, "t1"]}, _meta=capabilities)
            self.assertEqual(listener.take()["params"]["notifications"], {"taskIds": [task]})
            let_go(daemon)
            told = next_of(listener, "notifications/tasks")
            self.assertEqual((told["taskId"], told["status"]), (task, "completed"))
            self.assertEqual(told["_meta"], {"io.modelcontextprotocol/subscriptionId": request})
            self.assertEqual(body_of(told["result"])["result"], "went on")


def begin(client, method, **params):
    """A request of a client of 2025-11-25."""
    client.last_id += 1
    client.send({"jsonrpc": "2.0", "id": client.last_id, "method": method, "params": params})
    return client.last_id


class LegacyTasks(SharedDaemon):
    def setUp(self):
        super().setUp()
        (workspace_of(self.daemon) / "go").unlink(missing_ok=True)
        self.client.answer(begin(self.client, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"}))

    def begin_task(self, code, **params):
        call = {"name": "execute_code", "arguments": {"code": code}, "task": {}, **params}
        return self.client.answer(begin(self.client, "tools/call", **call))["result"]["task"]["taskId"]

    def test_its_client_gets_its_states(self):
        task = self.begin_task(HOLD)
        let_go(self.daemon)
        told = next_of(self.client, "notifications/tasks/status")
        self.assertEqual((told["taskId"], told["status"]), (task, "completed"))

    def test_a_program_that_fails_fails_its_task(self):
        task = self.begin_task("raise ValueError('no')")
        told = next_of(self.client, "notifications/tasks/status")
        self.assertEqual((told["taskId"], told["status"]), (task, "failed"))
        result = self.client.answer(begin(self.client, "tasks/result", taskId=task))["result"]
        self.assertIs(result["isError"], True)
        self.assertIn("ValueError: no", body_of(result)["error"])
        seen = ask(self.client, "tasks/get", taskId=task)["result"]
        self.assertEqual((seen["status"], seen["result"]["isError"]), ("completed", True))

    def test_the_progress_of_its_program_goes_on_after_the_handle(self):
        task = self.begin_task(HOLD, _meta={"progressToken": 7})
        related = {"io.modelcontextprotocol/related-task": {"taskId": task}}
        while (told := next_of(self.client, "notifications/progress"))["message"] != "running":
            self.assertEqual((told["progressToken"], told["_meta"]), (7, related))
        let_go(self.daemon)
        self.assertEqual(next_of(self.client, "notifications/tasks/status")["status"], "completed")


if __name__ == "__main__":
    unittest.main()
