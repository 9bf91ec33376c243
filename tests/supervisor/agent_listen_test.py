"""warder agent --listen: tasks of other programs over HTTP, on a Unix socket and on TCP. Programs: $WARDER, with
warder-agent beside it, and $WARDERD."""
import contextlib
import http.client
import json
import signal
import socket
import stat
import threading
import unittest

from agent_harness import AgentCase
from harness import PATIENCE
from model_server import run, status, text
from ports import free_port
from unix_http import UnixHttp

TOKEN = "token-0123456789abcdef"
KEY = "org.warder/workspace"
WAITS = "open('/workspace/begun', 'w').close()\nwhile True: pass"


class Case(AgentCase):
    policy = {"workspaces": ["customer-*"], "named_workspaces": {"max": 8}}

    def listen(self, where, *words):
        process = self.start("--listen", where, "--retry-pause", "0.001", *words)
        self.addCleanup(self.end, process)
        line = process.stderr.readline()
        self.assertIn("listens on", line, process.stderr.read() if not line else "")
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(process.stderr))
        self.reader.start()
        return process

    def end(self, process):
        process.kill()
        process.wait()
        self.reader.join()
        process.stdout.close()
        process.stderr.close()

    def ask(self, method, path, body=None, headers=None, expect=200):
        if isinstance(body, dict):
            body = json.dumps(body)
        given = {"Content-Type": "application/json"} if body is not None else {}
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, body, {**given, **(headers or {})})
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        self.assertEqual(reply.status, expect, answer)
        return answer

    def files_of(self, user):
        resources = self.client.request("resources/list", _meta={KEY: user})["resources"]
        return {one["uri"] for one in resources if one["uri"].startswith("workspace:")}


class OnUnixSocket(Case):
    def setUp(self):
        super().setUp()
        self.path = self.state / "tasks.sock"
        self.process = self.listen(f"unix:{self.path}", "--tasks", "2")

    def connection(self):
        return UnixHttp(self.path, PATIENCE)

    def test_a_task_in_the_workspace_of_its_user(self):
        self.model.script = [run("write_file('report', 'x')\nprint('written')"), text("It is written.")]
        answer = self.ask("POST", "/task", {"userId": "customer-a", "task": "Write a report"})
        self.assertEqual(answer["result"].strip(), "It is written.")
        self.assertEqual((answer["output"], answer["error"], answer["ended"]), ("written\n", None, "done"))
        self.assertEqual(self.files_of("customer-a"), {"workspace:///report"})
        self.assertEqual(self.files_of("customer-b"), set())
        log = json.loads(self.client.request("resources/read", uri=f"session:///{answer['session']}",
                                             _meta={KEY: "customer-a"})["contents"][0]["text"])
        self.assertEqual(log["description"], "Write a report")

    def test_a_user_that_the_policy_does_not_allow(self):
        answer = self.ask("POST", "/task", {"userId": "stranger", "task": "x"}, expect=403)
        self.assertIn("stranger", answer["error"])
        self.assertEqual(self.model.requests, [])

    def test_health(self):
        answer = self.ask("GET", "/health")
        self.assertEqual(answer["status"], "ok")
        self.assertRegex(answer["timestamp"], r"^\d{4}-\d\d-\d\dT")

    def test_a_run_without_an_answer(self):
        self.model.always = status(400)
        answer = self.ask("POST", "/task", {"userId": "customer-a", "task": "x"})
        self.assertEqual((answer["result"], answer["ended"]), (None, "failed"))
        self.assertIn("status 400", answer["error"])

    def test_background_tasks(self):
        go = threading.Event()

        def late(handler):
            go.wait(PATIENCE)
            handler.stream(text("It is done."))
        self.model.script = [late]
        begun = self.ask("POST", "/task", {"userId": "customer-a", "task": "x", "background": True}, expect=202)
        self.assertEqual(self.ask("GET", f"/task/{begun['id']}"),
                         {"id": begun["id"], "state": "running", "session": begun["session"]})
        go.set()
        while (answer := self.ask("GET", f"/task/{begun['id']}"))["state"] == "running":
            pass
        self.assertEqual((answer["state"], answer["result"].strip()), ("ended", "It is done."))
        self.ask("GET", "/task/0123", expect=404)

    def test_too_many_tasks(self):
        go = threading.Event()
        self.model.always = lambda handler: (go.wait(PATIENCE), handler.stream(text("Done.")))
        order = {"userId": "customer-a", "task": "x", "background": True}
        ids = [self.ask("POST", "/task", order, expect=202)["id"] for _ in range(2)]
        self.assertIn("2 tasks run already", self.ask("POST", "/task", order, expect=503)["error"])
        self.ask("GET", "/health")
        go.set()
        for ident in ids:
            while self.ask("GET", f"/task/{ident}")["state"] == "running":
                pass
        self.model.always = text("Done.")
        self.ask("POST", "/task", {"userId": "customer-a", "task": "x"})

    def test_a_client_that_leaves_ends_its_task(self):
        self.model.script = [run(WAITS, timeout_seconds=300)]
        connection = self.connection()
        connection.request("POST", "/task", json.dumps({"userId": "customer-c", "task": "x"}),
                           {"Content-Type": "application/json"})
        while "workspace:///begun" not in self.files_of("customer-c"):
            self.assertIsNone(self.process.poll())
        connection.close()
        self.expect_ended_runs(1)

    def expect_ended_runs(self, count):
        """The transcripts say how their runs ended."""
        folder = self.state / "warder/agent"
        while True:
            ends = [line for file in folder.glob("*.jsonl") for line in map(json.loads, file.read_text().splitlines())
                    if line["kind"] == "end"]
            if len(ends) == count:
                self.assertEqual({end["how"] for end in ends}, {"cancelled"})
                return
            self.assertIsNone(self.process.poll())

    def test_sigterm_ends_the_tasks(self):
        self.model.script = [run(WAITS, timeout_seconds=300)]
        self.ask("POST", "/task", {"userId": "customer-d", "task": "x", "background": True}, expect=202)
        while "workspace:///begun" not in self.files_of("customer-d"):
            self.assertIsNone(self.process.poll())
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertFalse(self.path.exists())
        (file,) = (self.state / "warder/agent").glob("*.jsonl")
        self.assertEqual(json.loads(file.read_text().splitlines()[-1])["how"], "cancelled")

    def test_sigterm_answers_the_clients_that_wait(self):
        self.model.script = [run(WAITS, timeout_seconds=300)]
        with contextlib.closing(self.connection()) as connection:
            connection.request("POST", "/task", json.dumps({"userId": "customer-e", "task": "x"}),
                               {"Content-Type": "application/json"})
            while "workspace:///begun" not in self.files_of("customer-e"):
                self.assertIsNone(self.process.poll())
            self.process.send_signal(signal.SIGTERM)
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        self.assertEqual((reply.status, answer["ended"]), (200, "cancelled"))
        self.assertEqual(answer["error"], "the server of tasks has ended")
        self.assertEqual(self.process.wait(PATIENCE), 0)

    def test_bad_bodies(self):
        good = {"userId": "customer-a", "task": "x"}
        for body, said in (("", "not JSON"), ("[]", "object"), ("{", "not JSON"), ({"task": "x"}, "userId"),
                           ({"userId": "customer-a"}, "task"), ({**good, "userId": 7}, "userId"),
                           ({**good, "userId": ""}, "userId: is empty"), ({**good, "task": " \n"}, "task: is empty"),
                           ({**good, "task": ["x"]}, "task"), ({**good, "background": "yes"}, "background"),
                           ({**good, "policy": "none"}, "policy"), ({**good, "userId": "u" * 200}, "userId"),
                           ({**good, "task": "x" * (1 << 20) + "x"}, "task"), ("[" * 10_000, "")):
            with self.subTest(body=str(body)[:60]):
                self.assertIn(said, self.ask("POST", "/task", body, expect=400)["error"])
        self.assertEqual(self.model.requests, [])

    def test_bad_requests(self):
        body = '{"userId": "customer-a", "task": "x"}'
        self.ask("POST", "/task", "x" * (3 << 20), expect=413)
        self.ask("POST", "/task", body, {"Content-Type": "text/plain"}, expect=415)
        self.ask("POST", "/task", body, {"Origin": "https://evil.example"}, expect=403)
        self.ask("POST", "/task", body, {"Host": "evil.example"}, expect=403)
        self.ask("GET", "/task", expect=405)
        self.ask("POST", "/health", "{}", expect=405)
        self.ask("GET", "/", expect=404)
        for raw, code in ((b"nonsense\r\n\r\n", b"400"),
                          (b"POST /task HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n{}", b"400")):
            with self.subTest(raw=raw[:20]), socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                client.connect(str(self.path))
                client.sendall(raw)
                self.assertEqual(client.recv(4096).split(b" ")[1], code)
        self.assertEqual(self.model.requests, [])
        self.ask("GET", "/health")

    def test_many_silent_clients(self):
        silent = []
        for _ in range(100):
            client = socket.socket(socket.AF_UNIX)
            client.connect(str(self.path))
            silent.append(client)
        for client in silent[:40]:  # the server drops clients beyond its bound
            client.close()
        while True:
            try:
                self.ask("GET", "/health")
                break
            except OSError:
                self.assertIsNone(self.process.poll())
        for client in silent:
            client.close()

    def test_the_socket_is_for_its_user(self):
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        code, _, err = self.agent("--listen", f"unix:{self.path}")
        self.assertEqual(code, 125)
        self.assertIn("another process listens", err)
        self.process.kill()
        self.process.wait()
        self.assertTrue(self.path.exists())
        other = self.start("--listen", f"unix:{self.path}")  # the socket of a killed server is replaced
        self.assertIn("listens on", other.stderr.readline())
        other.terminate()
        self.ended(other)


class OnTcp(Case):
    def setUp(self):
        super().setUp()
        self.token = self.state / "token"
        self.token.write_text(TOKEN + "\n")
        self.token.chmod(0o600)
        self.port = free_port()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def test_tasks_need_the_token(self):
        self.listen(f"127.0.0.1:{self.port}", "--token-file", str(self.token))
        order = {"userId": "customer-a", "task": "x"}
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN},
                      {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": f"Basic {TOKEN}"}):
            with self.subTest(given=given):
                self.ask("POST", "/task", order, given, expect=401)
                self.ask("GET", "/task/0", headers=given, expect=401)
        self.assertEqual(self.model.requests, [])
        self.ask("GET", "/health")
        good = {"Authorization": f"Bearer {TOKEN}"}
        self.ask("POST", "/task", order, {**good, "Host": "evil.example"}, expect=403)
        self.ask("POST", "/task", order, {**good, "Origin": "http://evil.example"}, expect=403)
        self.model.script = [text("Done.")]
        self.assertEqual(self.ask("POST", "/task", order, good)["result"].strip(), "Done.")
        self.assertNotIn(TOKEN, "".join(self.log))

    def test_mistakes(self):
        where = f"127.0.0.1:{self.port}"

        def refuse(said, *words, code=2):
            ended, _, err = self.agent(*words)
            self.assertEqual(ended, code, err)
            self.assertIn(said, err)
        refuse("clients over TCP need a token", "--listen", where)
        refuse("is not a loopback address", "--listen", f"0.0.0.0:{self.port}", "--token-file", str(self.token))
        refuse("has no port", "--listen", "tasks", "--token-file", str(self.token))
        refuse("No such file", "--listen", where, "--token-file", "/nothing")
        refuse("leave out --listen or run", "--listen", where, "run", "x")
        refuse("a command is missing: run, or --listen")
        refuse("exists and is not a socket", "--listen", f"unix:{self.token}", code=125)
        refuse("not 1 to 107 bytes", "--listen", "unix:" + "x" * 200)
        self.token.write_text("short")
        refuse("at least 16", "--listen", where, "--token-file", str(self.token))
        self.token.chmod(0o644)
        refuse("other users may read", "--listen", where, "--token-file", str(self.token))


if __name__ == "__main__":
    unittest.main()
