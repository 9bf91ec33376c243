"""More calls of execute_code than may run: they wait for their turn, and what is refused or taken back did not run."""
import json
import os
import signal
import subprocess
import threading
import time
import unittest

from harness import BUSY, HOLD, META, PATIENCE, Client, Daemon, Policies, body_of, let_go

PLACES = 8  # of the standard policy
MARK = "open(f'/workspace/ran-{n}', 'w').close()\nresult = n"


class WithFullPlaces(unittest.TestCase):
    def setUp(self):
        self.daemon = self.enterContext(Daemon())
        self.client = self.enterContext(Client(self.daemon.socket))

    def fill(self, places=PLACES):
        self.holders = [self.client.begin_running(HOLD, timeout_seconds=300) for _ in range(places)]

    def ask(self, method, **params):
        """Answered at once; what else is answered meanwhile is kept."""
        return self.client.answer(self.client.begin(method, **params))["result"]

    def files(self):
        with Client(self.daemon.socket) as helper:
            return set(helper.call("list_workspace_files")["structuredContent"]["files"])

    def test_a_hundred_calls_of_one_connection_all_run_in_the_order_they_came(self):
        requests = [self.client.begin_execute("result = n", context_vars={"n": n}) for n in range(100)]
        for n, request in enumerate(requests):
            self.assertEqual(self.client.executed(request)["result"], n)
        first = self.client.order.index(requests[0])
        self.assertGreater(self.client.order.index(requests[99]), first + 50)

    def test_a_thousand_wait_while_everything_else_is_answered(self):
        self.fill()
        waiting = [self.client.begin_execute(MARK, context_vars={"n": n}) for n in range(1000)]
        for method in ("server/discover", "tools/list", "resources/list", "prompts/list"):
            self.ask(method)
        self.assertIs(self.ask("tools/call", name="list_workspace_files", arguments={}).get("isError", False), False)
        self.assertFalse(set(waiting) & set(self.client.answers), "none is refused")
        for request in waiting[5:]:
            self.client.cancel(request)
        self.ask("server/discover")  # all of that was heard
        let_go(self.daemon)
        for n in range(5):
            self.assertEqual(self.client.executed(waiting[n])["result"], n)
        following = self.client.begin_execute("result = 'next'")
        self.assertEqual(self.client.executed(following)["result"], "next", "whoever was cancelled is out")
        self.assertEqual(self.files(), {"go", *(f"ran-{n}" for n in range(5))})
        self.assertFalse(set(waiting[5:]) & set(self.client.answers), "a cancelled call has no answer")

    def test_more_than_can_wait_are_refused_and_did_not_run(self):
        self.fill()
        requests = []
        sender = threading.Thread(target=lambda: requests.extend(
            self.client.begin_execute(MARK, context_vars={"n": n}) for n in range(10_000)))
        sender.start()
        refused = 0
        while refused < 8500:
            message = self.client.take()
            if "method" in message:
                continue
            if "error" in message:
                self.assertEqual(message["error"]["data"]["code"], "exhausted", message)
                self.assertIn("did not run", message["error"]["message"])
            else:
                body = body_of(message["result"])
                self.assertEqual((body["success"], body["code"], body["rule"]),
                                 (False, "exhausted", "admission.queued_executions"), body)
                self.assertIn("did not run", body["error"])
                self.assertNotIn("execution_id", body, "nothing is kept of it")
            refused += 1
        sender.join()
        with Client(self.daemon.socket) as other:  # a quarter of the queue is for other connections
            waits = other.begin_execute("result = 'fair'")
            self.client.close()
            self.assertEqual(other.executed(waits)["result"], "fair")
        self.assertEqual({name for name in self.files() if name.startswith("ran-")}, set())

    def test_one_call_does_not_wait_for_the_hundreds_of_another_connection(self):
        self.fill()
        many = [self.client.begin_execute("result = 1") for _ in range(300)]
        with Client(self.daemon.socket) as other:
            single = other.begin_execute("result = 2")
            other.request("server/discover")
            let_go(self.daemon)
            self.assertEqual(other.executed(single)["result"], 2)
        self.ask("server/discover")
        done = len(set(many) & set(self.client.answers))
        self.assertLess(done, 150, "it had its turn among the first")

    def test_the_clock_starts_with_the_program(self):
        self.fill(PLACES - 1)
        last = self.client.begin_running(BUSY, timeout_seconds=3)
        waiting = self.client.begin_execute("result = 'in time'", timeout_seconds=1)
        self.assertEqual(self.client.executed(last)["outcome"], "timeout")  # the other has waited longer than it may run
        self.assertEqual(self.client.executed(waiting)["result"], "in time")

    def test_whoever_waits_when_the_daemon_ends_did_not_run(self):
        self.fill()
        waiting = [self.client.begin_execute(MARK, context_vars={"n": n}) for n in range(20)]
        self.ask("server/discover")
        self.daemon.process.send_signal(signal.SIGTERM)
        for request in waiting:
            result = self.client.answer(request)["result"]
            body = body_of(result)
            self.assertEqual((body["success"], body["code"]), (False, "unavailable"), body)
            self.assertIn("did not run", body["error"])
            self.assertEqual(result["_meta"]["org.warder/not-run"], "draining")
        for holder in self.holders:
            self.client.cancel(holder)


class Sessions(unittest.TestCase):
    def test_a_hundred_calls_of_one_session_run_one_after_the_other(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            requests = [client.begin_execute("x = globals().get('x', 0) + 1\nx", session="s") for _ in range(100)]
            self.assertEqual([client.executed(request)["result"] for request in requests], list(range(1, 101)))


class SmallPolicies(unittest.TestCase):
    def test_one_connection_runs_as_many_at_a_time_as_its_policy_says_and_the_rest_waits(self):
        with Policies(admission={"requests_in_flight": 2}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client, Client(daemon.socket) as other:
                for _ in range(2):
                    client.begin_running(HOLD, timeout_seconds=300)
                waiting = client.begin_execute("result = 3")
                self.assertEqual(other.execute("result = 4")["result"], 4)
                self.assertNotIn(waiting, client.answers)
                other.write_file("go")
                self.assertEqual(client.executed(waiting)["result"], 3)


class RefusedProxy(unittest.TestCase):
    def holder_of_the_only_place(self, daemon):
        while True:  # until whoever looked whether the daemon serves has left
            holder = Client(daemon.socket)
            try:
                holder.request("server/discover")
                return holder
            except RuntimeError:
                holder.close()

    def test_its_requests_are_said_not_to_have_run_and_work_when_a_place_is_free(self):
        with Policies(admission={"connections": 1}) as policies, Daemon(policies=policies) as daemon:
            holder = self.holder_of_the_only_place(daemon)
            proxy = subprocess.Popen([os.environ["WARDER"], "mcp", "--socket", str(daemon.socket)], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

            def send(request, method, **params):
                message = {"jsonrpc": "2.0", "id": request, "method": method, "params": {"_meta": META, **params}}
                proxy.stdin.write(json.dumps(message) + "\n")
                proxy.stdin.flush()

            def call(request):
                send(request, "tools/call", name="execute_code", arguments={"code": "result = 'ran'"})

            try:
                send(1, "tools/list")  # in one go
                call(2)
                call(3)
                answers = {answer["id"]: answer for answer in (json.loads(proxy.stdout.readline()) for _ in range(3))}
                self.assertTrue(answers[1]["result"]["tools"])
                for request in (2, 3):
                    body = body_of(answers[request]["result"])
                    self.assertIn("the call did not run", body["error"])
                    self.assertIn("1 connections, which is the maximum", body["error"])
                    self.assertTrue(body["remedy"])
                holder.close()
                for request in range(4, 100):  # it tries again at least once a second
                    call(request)
                    body = body_of(json.loads(proxy.stdout.readline())["result"])
                    if body["success"]:
                        break
                    time.sleep(0.1)
                self.assertEqual(body["result"], "ran")
            finally:
                proxy.stdin.close()
                proxy.wait(PATIENCE)
                proxy.stdout.close()


if __name__ == "__main__":
    unittest.main()
