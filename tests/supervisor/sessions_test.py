"""Stateful Python sessions: what they keep, for whom, for how long, and what is said when they are over."""
import contextlib
import os
import signal
import unittest

from harness import (HOLD, ORDINARY_USER, PATIENCE, ROOT, Client, Daemon, Policies, SharedDaemon, Watch, body_of, eventually, jailed,
                     let_go)

BOMB = "held = []\nwhile True: held.append(bytearray(1 << 20))"


class Case(SharedDaemon):
    """Each test names sessions of its own and ends them."""

    policy = {"sessions": {"max": 6}}

    def tearDown(self):
        with Client(self.daemon.socket) as client:
            for session in self.listed(client):
                client.execute("", session=session["name"], reset_session=True)
            self.assertEqual(self.listed(client), [])

    def listed(self, client=None):
        return (client or self.client).call("get_execution_stats")["structuredContent"]["sessions"]

    def execute(self, code, session="s", client=None, **arguments):
        return (client or self.client).execute(code, session=session, **arguments)

    def value_of(self, code, session="s", **arguments):
        body = self.execute(code, session, **arguments)
        self.assertEqual(body["outcome"], "ok", body)
        return body["result"]

    def refused(self, code, session="s", **arguments):
        """The answer of a call that did not run."""
        result = self.client.call("execute_code", {"code": code, "session": session, **arguments})
        body = body_of(result)
        self.assertIs(result["isError"], True, body)
        self.assertEqual(body["outcome"], "denied", body)
        self.assertTrue(body["remedy"])
        return body

    def expect_gone(self, *words, session="s"):
        """The next call is told, once, that the session is gone and why; the one after it begins anew."""
        body = self.refused("x", session)
        self.assertEqual((body["code"], body["rule"]), ("not_found", "session"))
        for word in words:
            self.assertIn(word, body["error"])
        body = self.execute("'x' in globals()", session)
        self.assertEqual((body["result"], body["session"]), (False, {"name": session, "call": 1}), body)


    def expect_told(self, body, outcome, session="s"):
        """An answer that says that the session ended with it: the next call of that client begins anew."""
        self.assertEqual((body["outcome"], body["session"]["ended"]), (outcome, True), body)
        self.assertIn("variables are lost", body["session"]["remedy"])
        body = self.execute("'x' in globals()", session)
        self.assertEqual((body["result"], body["session"]), (False, {"name": session, "call": 1}), body)


class State(Case):
    def test_variables_stay_from_call_to_call_and_the_answer_says_which_call_it_was(self):
        body = self.execute("x = [1]\nimport base64\ndef f(): return x", session="kept")
        self.assertEqual((body["outcome"], body["session"]), ("ok", {"name": "kept", "call": 1}), body)
        body = self.execute("x.append(2)\nf()", session="kept")
        self.assertEqual((body["result"], body["session"]), ([1, 2], {"name": "kept", "call": 2}), body)
        self.assertEqual(self.value_of("base64.b64encode(b'a').decode()", "kept"), "YQ==")

    def test_calls_without_a_session_and_other_sessions_see_nothing_of_it(self):
        self.value_of("x = 1\nopen('/tmp/mine', 'w').close()", "one")
        look = "import os\n['x' in globals(), os.path.exists('/tmp/mine'), os.getpid()]"
        self.assertEqual(self.value_of(look, "two")[:2], [False, False])
        self.assertEqual(self.client.execute(look)["result"][:2], [False, False])
        self.assertEqual(self.value_of(look, "one")[:2], [True, True])

    def test_a_session_is_the_tenants_not_the_connections(self):
        self.value_of("x = 7")
        self.client.close()
        with Client(self.daemon.socket) as other:
            self.assertEqual(self.execute("x", client=other)["result"], 7)

    def test_each_call_answers_for_itself(self):
        first = self.execute("print('one')\nwrite_file('a.txt', '1')\nresult = 1\n"
                             "used = sum(i * i for i in range(10_000_000))\nheld = bytearray(60 << 20)")
        second = self.execute("print('two')\n_ = write_file('b.txt', '2')")
        self.assertEqual((first["output"], first["result"], first["files"]), (["one"], 1, {"created": ["a.txt"]}))
        self.assertEqual((second["output"], second["files"]), (["two"], {"created": ["b.txt"]}), second)
        self.assertIsNone(second["result"], "the result of the first call is not the second's")
        self.assertNotEqual(first["execution_id"], second["execution_id"])
        # A sum would be more than the first. The first computes so long that the costs of a call are small beside it.
        self.assertLess(second["usage"]["cpu_ms"], first["usage"]["cpu_ms"])
        self.assertGreater(first["usage"]["memory_peak_bytes"], 60 << 20)
        self.assertLess(second["usage"].get("memory_peak_bytes", 0), 30 << 20)  # too short to be sampled, perhaps

    def test_the_workspace_and_context_variables_are_there_in_every_call(self):
        self.value_of("write_file('w.txt', text)", context_vars={"text": "one"})
        self.assertEqual(self.value_of("[read_file('w.txt'), text]", context_vars={"text": "two"}), ["one", "two"])
        self.client.write_file("w.txt", "from outside")
        self.assertEqual(self.value_of("read_file('w.txt')"), "from outside")

    def test_an_exception_and_an_exit_keep_the_session(self):
        self.value_of("x = 1")
        body = self.execute("x = 2\n1 / 0")
        self.assertEqual((body["outcome"], body["session"]), ("error", {"name": "s", "call": 2}), body)
        body = self.execute("x += 1\nraise SystemExit(3)")
        self.assertEqual((body["outcome"], body["exit_status"]), ("exit", 3), body)
        self.assertEqual(self.value_of("x"), 3)

    def test_the_receipt_says_what_happens_between_calls(self):
        self.value_of("1")
        receipt = self.client.call("execute_code", {"code": "2", "session": "s"})["_meta"]["org.warder/receipt"]
        self.assertEqual(receipt["session"]["call"], 2)
        if receipt["cgroup"]:
            self.assertEqual(receipt["session"]["between_calls"], "frozen")
        else:
            self.assertEqual(receipt["session"]["between_calls"], "watched")
            self.assertTrue(any("between calls" in line for line in receipt["weaker"]), receipt["weaker"])


class Others(Case):
    """What an earlier call left running."""

    def test_what_a_thread_prints_between_calls_comes_with_the_next_call(self):
        body = self.execute("import threading\ngo = threading.Event()\n"
                            "def speak():\n    go.wait()\n    print('from the thread', flush=True)\n"
                            "thread = threading.Thread(target=speak)\nthread.start()\nprint('first')")
        self.assertEqual(body["output"], ["first"])
        self.assertEqual(self.execute("go.set()\nthread.join()\nprint('second')")["output"],
                         ["from the thread", "second"])

    def test_a_flood_between_calls_harms_nobody(self):
        self.execute("import os, threading\n"
                     "def flood():\n    while True: os.write(1, b'x' * 4096)\n"
                     "threading.Thread(target=flood, daemon=True).start()")
        self.assertEqual(self.client.execute("result = 1")["result"], 1)
        body = self.execute("1")
        self.assertIn(body["outcome"], ("ok", "output", "denied"), body)

    def test_a_process_that_was_left_behind_ends_with_the_session(self):
        self.value_of("import os, time\npid = os.fork()\nif pid == 0:\n    os.setsid()\n    time.sleep(600)\npid > 0")
        with Watch(jailed(self.daemon)) as watch:
            self.assertGreaterEqual(len(watch.names), 3)
            self.assertEqual(self.value_of("os.kill(pid, 0)\n1"), 1, "it lives on in the session")
            self.execute("", reset_session=True)
            self.assertEqual(watch.survivors(PATIENCE), {})


class Ends(Case):
    def test_a_timeout_ends_it(self):
        self.value_of("x = 1")
        body = self.execute("while True: pass", timeout_seconds=0.3)
        self.assertEqual(body["session"]["call"], 2)
        self.assertEqual(self.listed(), [])
        self.expect_told(body, "timeout")

    def test_another_client_is_still_told_what_ended_it(self):
        self.value_of("x = 1")
        with Client(self.daemon.socket) as other:
            body = self.execute("while True: pass", client=other, timeout_seconds=0.3)
        self.expect_gone("timeout", body["execution_id"], "2 calls")

    def test_a_signal_ends_it(self):
        self.value_of("x = 1")
        body = self.execute("import os\nos.kill(os.getpid(), 11)")
        self.expect_told(body, "signal")

    def test_leaving_by_os_exit_ends_it(self):
        body = self.execute("import os\nx = 1\nos._exit(0)")
        self.expect_told(body, "ok")

    def test_a_cancelled_call_ends_it(self):
        self.value_of("x = 1")
        request = self.client.begin_running(HOLD, session="s")
        with Watch(jailed(self.daemon)) as watch:
            self.client.cancel(request)
            self.assertEqual(watch.survivors(PATIENCE), {})
        self.expect_gone("cancelled")

    def test_a_client_that_vanishes_in_the_middle_of_a_call_ends_it(self):
        self.value_of("x = 1")
        with Client(self.daemon.socket) as other:
            other.begin_running(HOLD, session="s")
            watch = self.enterContext(Watch(jailed(self.daemon)))
        self.assertEqual(watch.survivors(PATIENCE), {})
        self.expect_gone("cancelled")

    def test_its_interpreter_killed_between_calls_is_noticed_and_said(self):
        self.value_of("x = 1")
        runners = [pid for pid, name in jailed(self.daemon).items() if name.startswith("python3")]
        self.assertEqual(len(runners), 1)
        with Watch(jailed(self.daemon)) as watch:
            os.kill(runners[0], signal.SIGKILL)
            self.assertEqual(watch.survivors(PATIENCE), {})
        self.expect_gone("signal 9")

    def test_a_session_that_computes_between_calls_is_stopped_or_ended(self):
        receipt = self.client.call("execute_code", {
            "code": "import threading\ndef spin():\n    while True: pass\nx = 1\n"
                    "threading.Thread(target=spin, daemon=True).start()", "session": "s"})["_meta"]["org.warder/receipt"]
        if receipt["session"]["between_calls"] == "watched":
            eventually(lambda: not self.listed(), "the end of a session that goes on computing")
            self.expect_gone("used CPU time between calls")

    def test_a_reset_begins_anew_and_an_empty_one_only_ends(self):
        self.value_of("x = 1")
        body = self.execute("'x' in globals()", reset_session=True)
        self.assertEqual((body["result"], body["session"]), (False, {"name": "s", "call": 1}), body)
        with Watch(jailed(self.daemon)) as watch:
            body = self.execute("", reset_session=True)
            self.assertEqual((body["success"], body["session"]), (True, {"name": "s", "ended": True}), body)
            self.assertEqual(watch.survivors(PATIENCE), {})
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.execute("", reset_session=True)["session"], {"name": "s", "ended": False})
        self.assertEqual(self.execute("1")["session"]["call"], 1, "a reset is no end that must be told")

    def test_a_reset_after_an_end_needs_no_telling(self):
        self.execute("while True: pass", timeout_seconds=0.2)
        self.assertEqual(self.execute("5", reset_session=True)["session"], {"name": "s", "call": 1})


class Refusals(Case):
    policy = {"sessions": {"max": 2}}

    def test_names_languages_and_lone_resets_that_do_not_fit_are_named(self):
        for arguments, word in (({"session": ""}, "session"), ({"session": "a/b"}, "a/b"), ({"session": ".."}, ".."),
                                ({"session": "x" * 65}, "session"), ({"session": "ä"}, "session"),
                                ({"session": "s", "language": "shell"}, "keeps no variables")):
            with self.subTest(str(arguments)):
                body = self.refused("1", **arguments)
                self.assertEqual(body["code"], "invalid")
                self.assertIn(word, body["error"])
        body = body_of(self.client.call("execute_code", {"code": "1", "reset_session": True}))
        self.assertEqual((body["outcome"], body["code"]), ("denied", "invalid"), body)
        self.assertIs(self.client.call("execute_code", {"code": "1", "session": 5})["isError"], True)

    def test_more_than_the_policy_allows_are_refused_and_the_open_ones_named(self):
        self.value_of("1", "one")
        self.value_of("1", "two")
        body = self.refused("1", "three")
        self.assertEqual((body["code"], body["rule"]), ("exhausted", "sessions.max"))
        self.assertIn("one, two", body["error"])
        self.execute("", "one", reset_session=True)
        self.value_of("1", "three")

    def test_its_memory_is_that_of_its_beginning(self):
        self.value_of("x = 1", memory_mb=200)
        self.assertEqual(self.value_of("x", memory_mb=200), 1)
        body = self.refused("x", memory_mb=300)
        self.assertEqual(body["code"], "invalid")
        self.assertIn("200 MB", body["error"])
        self.assertEqual(self.value_of("x"), 1)

    def test_memory_that_earlier_calls_hold_counts(self):
        self.value_of("held = bytearray(60 << 20)", memory_mb=100)
        body = self.execute("more = bytearray(80 << 20)\nmore[::4096] = b'x' * len(more[::4096])")
        self.assertEqual(body["outcome"], "memory", body)

    def test_calls_of_one_session_wait_for_one_another(self):
        first = self.client.begin_running("seen = ['first']\n" + HOLD, session="s")
        others = [self.client.begin_execute(f"seen.append({n})\nseen", session="s") for n in range(3)]
        self.assertEqual(self.client.execute("result = 1")["result"], 1, "others do not wait")
        self.assertEqual([s["state"] for s in self.listed()], ["running"])
        let_go(self.daemon)
        self.assertEqual(self.client.executed(first)["outcome"], "ok")
        bodies = [self.client.executed(request) for request in others]
        self.assertEqual(sorted(map(len, (body["result"] for body in bodies))), [2, 3, 4], bodies)
        self.client.call("delete_workspace_file", {"filename": "go"})

    def test_calls_take_their_turns_as_they_came(self):
        self.value_of("ran = []")
        with Client(self.daemon.socket) as other:  # its calls come while those of the first end
            requests = []
            for number in range(40):
                requests.append(self.client.begin_execute(f"ran.append({number})", session="s"))
                if number % 4 == 3:
                    other.request("server/discover")
            for request in requests:
                self.assertEqual(self.client.executed(request)["outcome"], "ok")
        self.assertEqual(self.value_of("ran"), list(range(40)))

    def test_who_waits_for_its_turn_hears_so(self):
        first = self.client.begin_running(HOLD, session="s")
        other = self.client.begin_execute("1", "waiting", session="s")
        self.client.await_progress("waiting", lambda p: p.get("message") == "waits for its turn in the session")
        let_go(self.daemon)
        for request in (first, other):
            self.assertEqual(self.client.executed(request)["outcome"], "ok")
        self.client.call("delete_workspace_file", {"filename": "go"})

    def test_who_waits_when_it_ends_is_told(self):
        first = self.client.begin_running(HOLD, session="s")
        other = self.client.begin_execute("1", session="s")
        self.client.execute("result = 1")  # the one above has been read
        self.client.cancel(first)
        body = self.client.executed(other)
        self.assertEqual((body["outcome"], body["code"]), ("denied", "not_found"), body)
        self.assertIn("while this call waited", body["error"])
        self.assertEqual(self.execute("1")["session"]["call"], 1)

    def test_too_many_that_wait_are_refused(self):
        first = self.client.begin_running(HOLD, session="s")
        others = [self.client.begin_execute("1", session="s") for _ in range(1_004)]
        bodies = []
        for request in others[1_000:]:
            bodies.append(self.client.executed(request))
        self.assertEqual({(body["outcome"], body["code"]) for body in bodies}, {("denied", "exhausted")}, bodies)
        let_go(self.daemon)
        for request in [first, *others[:1_000]]:
            self.assertEqual(self.client.executed(request)["outcome"], "ok")
        self.client.call("delete_workspace_file", {"filename": "go"})


class Policy(unittest.TestCase):
    def setUp(self):
        self.stack = self.enterContext(contextlib.ExitStack())

    def start(self, **policy):
        self.policies = self.stack.enter_context(Policies(**policy))
        self.daemon = self.stack.enter_context(Daemon(policies=self.policies))
        return self.stack.enter_context(Client(self.daemon.socket))

    def listed(self, client):
        return client.call("get_execution_stats")["structuredContent"]["sessions"]

    def test_nobody_calling_ends_it(self):
        client = self.start(sessions={"idle_seconds": 1})
        client.execute("x = 1", session="s")
        (session,) = self.listed(client)
        self.assertEqual((session["name"], session["calls"]), ("s", 1))
        self.assertIn(session["state"], ("frozen", "idle"))
        self.assertLessEqual(session["expires_in_seconds"], 1)
        self.assertGreater(session["memory_bytes"], 1 << 20)
        with Watch(jailed(self.daemon)) as watch:
            self.assertEqual(watch.survivors(PATIENCE), {})
        eventually(lambda: not self.listed(client), "the end of an idle session")
        body = client.execute("x", session="s")
        self.assertEqual((body["outcome"], body["code"]), ("denied", "not_found"), body)
        self.assertIn("no call came for 1 s", body["error"])

    def test_a_policy_may_allow_none(self):
        client = self.start(sessions={"max": 0})
        body = client.execute("1", session="s")
        self.assertEqual((body["outcome"], body["code"], body["rule"]), ("denied", "denied", "sessions.max"), body)

    def test_new_policies_end_what_rests_at_once_and_what_runs_after_its_call(self):
        client = self.start()
        client.execute("x = 1", session="rests")
        running = client.begin_running(HOLD, session="runs")
        self.policies.change(sessions={"max": 3})
        os.kill(self.daemon.process.pid, signal.SIGHUP)
        eventually(lambda: [s["name"] for s in self.listed(client)] == ["runs"], "the end of the one that rests")
        let_go(self.daemon)
        body = client.executed(running)
        self.assertEqual((body["outcome"], body["session"]["ended"]), ("ok", True), body)
        self.assertIn("policies were reloaded", client.execute("x", session="rests")["error"])
        self.assertEqual(client.execute("1", session="runs")["session"]["call"], 1, "it was told already")

    def test_a_session_may_begin_in_a_jail_that_waited(self):
        for start in ("exec", "fork"):  # where there is a zygote, its copies may come first for ever
            client = self.start(pool={"min_idle": 1, "max_idle": 2, "zygotes": start == "fork"})

            def begun():
                result = client.call("execute_code", {"code": "x = 1", "session": start, "reset_session": True})
                return result["_meta"]["org.warder/receipt"]["start"] == start
            eventually(begun, f"a session that starts {start}")
            for number in (2, 3):
                body = client.execute("x += 1\nx", session=start)
                self.assertEqual((body["result"], body["session"]["call"]), (number, number), body)
        self.assertEqual(client.execute("'x' in globals()")["result"], False)

    def test_the_daemons_end_ends_them(self):
        client = self.start()
        client.execute("import os, time\nif os.fork() == 0: time.sleep(600)", session="s")
        with Watch(jailed(self.daemon)) as watch:
            self.daemon.kill()
            self.assertEqual(watch.survivors(PATIENCE), {})
        self.daemon.start()

    @unittest.skipUnless(ROOT, "SKIPPED: needs root, to connect as two users")
    def test_tenants_have_sessions_of_their_own(self):
        mine = self.start()
        mine.execute("x = 1", session="s")
        os.seteuid(ORDINARY_USER)  # SO_PEERCRED is of the moment of connect()
        try:
            theirs = self.stack.enter_context(Client(self.daemon.socket))
        finally:
            os.seteuid(0)
        body = theirs.execute("'x' in globals()", session="s")
        self.assertEqual((body["result"], body["session"]["call"]), (False, 1), body)
        self.assertEqual(len(self.listed(theirs)), 1)
        self.assertEqual(mine.execute("x", session="s")["result"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
