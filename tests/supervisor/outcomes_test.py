"""Every outcome of an execution, each brought about by a real program through MCP; and nothing is left of any."""
import json
import time
import unittest

from harness import BUSY, NO_POOL, Client, Daemon, Policies, Watch, body_of, eventually, jailed


class Outcomes(unittest.TestCase):
    POOL = NO_POOL

    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(
            Policies(
                pool=cls.POOL,
                limits={
                    "standard": {
                        "wall_ms": 20_000,
                        "tasks": 24,
                        "output_kept_bytes": 1 << 20,
                        "output_total_bytes": 1 << 20,
                        "memory_bytes": 256 << 20,
                        "file_bytes": 8 << 20,
                        "tmp_bytes": 4 << 20,
                    }
                }
            )
        )
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies))
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def tearDown(self):
        # All that remains of a jail is gone with its answer or a moment later.
        with Watch(jailed(self.daemon)) as watch:
            self.assertEqual(watch.survivors(5), {})

    def expect(self, outcome, code, *words, **arguments):
        result = self.client.call("execute_code", {"code": code, **arguments})
        body = body_of(result)
        self.assertEqual(body["outcome"], outcome, body)
        self.assertEqual(body["success"], outcome == "ok", body)
        self.assertEqual(bool(result.get("isError")), outcome != "ok")
        if outcome != "ok":
            self.assertTrue(body["error"], body)
        for word in words:
            self.assertIn(word, body["error"])
        return body

    def test_ok(self):
        self.expect("ok", "result = 1")
        self.expect("ok", "return 1", language="javascript")
        self.expect("ok", "true", language="shell")
        self.expect("ok", "import sys; sys.exit(0)")

    def test_error(self):
        self.expect("error", "raise KeyError('gone')", "KeyError: 'gone'")
        self.expect("error", "throw new Error('gone')", "Error: gone", language="javascript")
        self.expect("error", "open('/workspace/absent')", "FileNotFoundError")

    def test_exit(self):
        for language, code in (
            ("python", "import sys; sys.exit(7)"),
            ("python", "import os; os._exit(7)"),
            ("javascript", "process.exit(7)"),
            ("shell", "exit 7"),
        ):
            body = self.expect("exit", code, "7", language=language)
            self.assertEqual(body["exit_status"], 7)

    def test_signal(self):
        for code, number in (
            ("import os; os.kill(os.getpid(), 11)", 11),
            ("import os; os.abort()", 6),
            ("import os; os.kill(os.getpid(), 9)", 9),
        ):
            self.assertEqual(self.expect("signal", code, "signal")["signal"], number)
        self.assertEqual(self.expect("signal", "kill -TERM $$", "15", language="shell")["signal"], 15)

    def test_timeout(self):
        body = self.expect(
            "timeout", "print('so far')\nwhile True: pass", "0.3 seconds", "timeout_seconds", timeout_seconds=0.3
        )
        self.assertEqual(body["output"], ["so far"])
        self.assertGreaterEqual(body["usage"]["wall_ms"], 300)
        self.expect("timeout", "for (;;) {}", timeout_seconds=0.3, language="javascript")
        self.expect("timeout", "while :; do :; done", timeout_seconds=0.3, language="shell")

    def test_timeout_of_those_who_resist(self):
        for code in (
            "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
            "import signal; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 15)]; signal.pause()",
            "import os\nif os.fork() == 0:\n  os.setsid()\n  while True: pass\nos.wait()",
        ):
            self.expect("timeout", code, timeout_seconds=0.3)

    def test_timeout_of_a_loop_that_never_comes_back_to_the_interpreter(self):
        body = self.expect("timeout", "print('so far', flush=True)\nimport re\nre.match('(a+)+$', 'a' * 40 + 'b')",
                           timeout_seconds=0.5)
        self.assertEqual(body["output"], ["so far"])
        self.expect("timeout", "/(a+)+$/.test('a'.repeat(60) + 'b')", timeout_seconds=0.5, language="javascript")

    def test_a_grandchild_that_holds_the_output_open_holds_nothing_up(self):
        body = self.expect(
            "ok",
            "import os\nprint('parent')\nif os.fork() == 0:\n"
            "  os.setsid()\n  import time; time.sleep(600)\nresult = 'done'",
            timeout_seconds=200,
        )
        self.assertEqual((body["result"], body["output"]), ("done", ["parent"]))
        self.assertLess(body["usage"]["wall_ms"], 100_000, "it waited for its limit")

    def test_cpu_time(self):
        # Counted for the whole jail where it has a cgroup, for each process (RLIMIT_CPU, whole seconds) elsewhere.
        with Policies(limits={"standard": {"cpu_ms": 1000}}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                body = client.execute("while True: pass")
                self.assertEqual(body["outcome"], "cpu_time", body)
                self.assertIn("1 seconds of CPU", body["error"])
                self.assertEqual(client.execute("import time; time.sleep(1.5); result = 'slept'")["outcome"], "ok")

    def test_memory(self):
        self.expect("memory", "data = []\nwhile True: data.append(bytearray(8 << 20))", "256 MB", "memory_mb")
        self.expect("memory", "x = bytearray(1 << 40)")
        self.expect("memory", "data = bytearray(200 << 20)", "64 MB", memory_mb=64)

    def test_pids(self):
        self.expect("pids", "import os, time\nwhile True:\n  if os.fork() == 0:\n    time.sleep(600)", "24 processes")

    def test_output(self):
        self.expect("output", "while True: print('x' * 1000)", "1048576 bytes")
        self.expect("output", "yes >&2", "1048576 bytes", language="shell")

    def test_disk(self):
        self.expect("disk", "open('/workspace/large', 'wb').write(bytes(9 << 20))")
        self.expect("disk", "open('/tmp/large', 'wb').write(bytes(5 << 20))")
        self.expect(
            "disk", "head -c 9000000 /dev/zero > /workspace/large; exec sh -c 'kill -XFSZ $$'", language="shell"
        )
        self.expect("ok", "import os; os.unlink('/workspace/large')")

    def test_forbidden_call(self):
        for call in (
            "libc.pivot_root(b'/', b'/')",
            "libc.mount(b'a', b'/tmp', b'tmpfs', 0, None)",
            "libc.umount2(b'/tmp', 0)",
        ):
            self.expect("forbidden_call", f"import ctypes\nlibc = ctypes.CDLL(None)\n{call}\nresult = 'went on'")

    def test_denied(self):
        with Policies(languages=["python"]) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("1", language="shell")["outcome"], "denied")

    def test_protocol(self):
        for message in (
            "no message",
            "F",
            "Fno json",
            'F{"type": "unheard of"}',
            'F{"type": "result", "images": [{"mime": "x"}]}',
            "F" + "[" * 1000,
            'F{"type": "call"}',
            'F{"type": "ready"}',
        ):
            self.expect(
                "protocol", f"import os, time\nos.write(3, {message.encode()!r})\ntime.sleep(600)", "descriptor 3"
            )

    def test_a_program_that_closes_the_channel_is_told_apart_by_its_end(self):
        body = self.expect("exit", "import os; os.close(3); os._exit(4)")
        self.assertEqual(body["exit_status"], 4)

    def test_internal_only_when_a_jail_vanishes_from_under_us(self):
        # signals_test kills a jail's init. Nothing a program can do gives this outcome: what it tries ends otherwise.
        for code in ("import os; os.kill(1, 9)", "import os; os.kill(-1, 9)", "import os; os.kill(os.getppid(), 9)"):
            body = self.client.execute(code, timeout_seconds=5)
            self.assertNotEqual(body["outcome"], "internal", f"{code}: {body}")

    def test_cancelled(self):
        # Nothing is sent for a request that was cancelled: what it came to stands in the daemon's log.
        running = self.client.begin_running(BUSY)
        with Watch(jailed(self.daemon)) as watch:
            self.assertTrue(watch.names)
            self.client.cancel(running)
            self.assertEqual(watch.survivors(10), {})
        self.client.request("server/discover")
        self.assertNotIn(running, self.client.answers)


class WorkspaceQuota(unittest.TestCase):
    def test_a_full_workspace_refuses_writes_until_something_is_deleted(self):
        quota = {"workspace_bytes": 4 << 20, "workspace_files": 100}
        with Policies(quota=quota) as policies, Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            body = client.execute(
                "import time\nfor i in range(64):\n  write_file(f'part-{i}', bytes(1 << 20))\ntime.sleep(60)"
            )
            self.assertEqual(body["outcome"], "disk", body)
            self.assertFalse(body["success"])
            self.assertGreater(len(body["files"]["created"]), 0)  # a long list has forty names and a count
            parts = body_of(client.call("list_workspace_files"))["files"]
            refused = client.call("write_workspace_file", {"filename": "more", "content": "x" * (1 << 20)})
            self.assertIs(refused["isError"], True, refused)
            error = refused["structuredContent"]
            self.assertEqual(error["code"] if "code" in error else error["error"]["code"], "exhausted", refused)
            for name in parts:
                self.assertFalse(client.call("delete_workspace_file", {"filename": name}).get("isError"))
            client.write_file("more", "x" * (1 << 20))
            answer = client.call("execute_code", {"code": "result = len(read_file('more'))"})
            self.assertEqual(json.loads(answer["content"][0]["text"])["result"], 1 << 20)
            receipt = answer["_meta"]["org.warder/receipt"]
            self.assertEqual(receipt["workspace"]["quota"], "accounting")

    def test_what_is_written_between_two_looks_is_judged_and_room_can_be_made(self):
        quota = {"workspace_bytes": 1 << 20, "workspace_files": 64}
        floods = {"quota.workspace_bytes": "for i in range(9): write_file(f'part-{i}', bytes(200 << 10))",
                  "quota.workspace_files": "for i in range(100): write_file(f'f-{i}', '')"}
        with Policies(quota=quota) as policies, Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            for session in ({}, {"session": "s"}):
                for rule, flood in floods.items():
                    with self.subTest(rule=rule, session=session):
                        body = client.execute(flood, **session)
                        self.assertEqual((body["success"], body["outcome"], body["rule"]), (False, "disk", rule), body)
                        self.assertRegex(body["error"], r"the workspace holds \d+ .*, \d+ are allowed")
                        for language, code in (("python", "write_file('of-python', 'xyz')"), ("shell", "echo x >of-shell"),
                                               ("javascript", "await fs.writeFile('of-node', 'xyz')")):
                            body = client.execute(code, language=language)
                            self.assertEqual((body["outcome"], body.get("rule")), ("disk", rule), body)
                        refused = client.execute("result = 1", session="another")
                        self.assertEqual((refused["outcome"], refused["rule"]), ("denied", rule), refused)
                        self.assertIn("without a session", refused["remedy"])
                        body = client.execute("for name in list_files(): delete_file(name)\nresult = list_files()")
                        self.assertEqual((body["outcome"], body.get("result")), ("ok", []), body)

    def test_where_too_much_is_for_anything_to_run_all_can_be_deleted(self):
        flood = ("import os\nos.makedirs('/workspace/a/b/c', exist_ok=True)\n"
                 "for name in (b'\\xff', b'a\\nb', b'.deleted'): open(b'/workspace/' + name, 'w').close()\n"
                 "for i in range(400): open(f'/workspace/{i}', 'w').close()")
        with Policies(quota={"workspace_files": 64}) as policies, Daemon(policies=policies) as daemon, \
                Client(daemon.socket) as client:
            def flooded():
                """The flood may be ended before it has made twice as many files as there may be."""
                body = client.execute(flood)
                self.assertIn(body["outcome"], ("disk", "denied"), body)
                return body if body["outcome"] == "denied" else None
            refused = eventually(flooded, "so many files that nothing runs")
            self.assertEqual(refused["rule"], "quota.workspace_files", refused)
            self.assertIn("delete_workspace_file", refused["remedy"])
            self.assertIs(client.call("delete_workspace_file", {"filename": "."})["isError"], True)
            deleted = client.call("delete_workspace_file", {"filename": ".", "recursive": True})
            self.assertFalse(deleted.get("isError"), deleted)
            self.assertEqual(client.execute("import os\nresult = os.listdir('/workspace')")["result"], [])

    def test_a_full_workspace_leaves_the_file_that_was_there(self):
        quota = {"workspace_bytes": 1 << 20, "workspace_files": 100}
        write = {"python": "write_file('keep', 'y' * (1200 << 10))",
                 "javascript": "await fs.writeFile('keep', 'y'.repeat(1200 << 10))"}
        with Policies(quota=quota) as policies, Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            client.write_file("large", "x" * (300 << 10))
            client.write_file("keep", "precious")
            for language, code in write.items():
                body = client.execute(code, language=language)
                self.assertEqual((body["outcome"], body["rule"]), ("disk", "quota.workspace_bytes"), body)
                self.assertIn(f"{(1 << 20) - (300 << 10) - 8} of {1 << 20} bytes", body["error"])
                self.assertNotIn("files", body)
                self.assertEqual(client.execute("result = read_file('keep'), list_files()")["result"],
                                 ["precious", ["keep", "large"]])
            # In its place it may be written on, beyond what is left of the quota.
            body = client.execute("with open('large', 'r+b') as f: f.seek(290 << 10); result = f.write(bytes(10 << 10))")
            self.assertEqual((body["outcome"], body.get("result")), ("ok", 10 << 10), body)

    def test_what_is_in_a_folder_that_was_closed_counts(self):
        with Policies(quota={"workspace_bytes": 1 << 20, "workspace_files": 100}) as policies, \
                Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            hidden = "import os\nos.mkdir('dark'); os.chmod('dark', 0o333)\n"
            self.assertEqual(client.execute(hidden)["outcome"], "ok")
            body = client.execute(hidden.replace("dark", "night") +
                                  "for i in 'ab': open(f'night/{i}', 'wb').write(bytes(900 << 10))")
            self.assertEqual((body["outcome"], body["rule"]), ("disk", "quota.workspace_bytes"), body)

    def test_a_workspace_that_was_closed_to_its_owner_is_opened_again(self):
        with Policies() as policies, Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("import os\nos.chmod('/workspace', 0)")["outcome"], "ok")
            client.write_file("a", "b")
            self.assertEqual(client.execute("result = list_files()")["result"], ["a"])

    def test_many_small_files_count_too(self):
        quota = {"workspace_bytes": 64 << 20, "workspace_files": 50}
        with Policies(quota=quota) as policies, Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            body = client.execute("import time\nfor i in range(200): write_file(f'f{i}', '')\ntime.sleep(60)")
            self.assertEqual(body["outcome"], "disk", body)
            refused = client.call("write_workspace_file", {"filename": "one-more", "content": ""})
            self.assertIs(refused["isError"], True)


class WarmOutcomes(Outcomes):
    """The same, in jails that waited; such ones are left when an execution has ended, so none are counted."""

    POOL = {"min_idle": 2, "max_idle": 4, "zygotes": True}

    def tearDown(self):
        self.assertEqual(self.client.execute("result = 1")["outcome"], "ok")

    def test_cancelled(self):
        running = self.client.begin_running(BUSY)
        with Watch(jailed(self.daemon)) as watch:
            self.client.cancel(running)
            # Its init and its runner, among those that wait.
            until = time.monotonic() + 10
            while len(watch.survivors(0.1)) > len(watch.names) - 2:
                self.assertLess(time.monotonic(), until, "the cancelled jail lives on")
        self.client.request("server/discover")
        self.assertNotIn(running, self.client.answers)


if __name__ == "__main__":
    unittest.main(verbosity=2)
