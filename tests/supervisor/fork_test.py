"""fork: one call of execute_code, its code once for each item, in jails of their own, with one answer for all."""
import json
import time
import unittest

from harness import META, ORDINARY_USER, ROOT, HOLD, Client, Daemon, Policies, SharedDaemon, as_user, body_of, eventually, let_go

MARK = "open(f'/workspace/ran-{item}', 'w').close()\nresult = item"


class Fork(SharedDaemon):
    def fork(self, code, items, **more):
        return self.client.execute(code, fork=items, **more)

    def refused(self, **arguments):
        result = self.client.call("execute_code", {"code": "open('/workspace/ran', 'w')", **arguments})
        self.assertIs(result["isError"], True, result)
        return body_of(result)

    def test_the_code_runs_once_for_each_item_and_the_results_are_in_their_order(self):
        code = "import time\ntime.sleep(0.3 if item == 0 else 0)\nresult = {'item': item, 'twice': item * times}"
        result = self.client.call("execute_code", {"code": code, "fork": [0, 1, 2, "x"], "context_vars": {"times": 2}})
        body = body_of(result)
        self.assertIs(result.get("isError", False), False)
        self.assertIs(body["success"], True, body)
        self.assertEqual([one["result"] for one in body["results"]],
                         [{"item": 0, "twice": 0}, {"item": 1, "twice": 2}, {"item": 2, "twice": 4}, {"item": "x", "twice": "xx"}])
        call = body["execution_id"]
        self.assertEqual([one["execution_id"] for one in body["results"]], [f"{call}-{n}" for n in range(4)])
        for one in body["results"]:
            self.assertEqual(one["outcome"], "ok")
            self.assertGreater(one["usage"]["wall_ms"], 0)
            for needless in ("success", "output", "execution_time_ms", "error", "notes"):
                self.assertNotIn(needless, one)
        self.assertNotIn("failed", body)
        receipts = result["_meta"]["org.warder/receipts"]
        self.assertEqual([receipt["no_new_privileges"] for receipt in receipts], [True] * 4)

    def test_numbers_of_the_items_keep_their_digits(self):
        items = ["12345678901234567890123", "3.14159265358979323846", "[1e400,-0]"]
        request = {"jsonrpc": "2.0", "id": "digits", "method": "tools/call", "params": {
            "name": "execute_code", "_meta": META,
            "arguments": {"code": 'echo "$item"', "language": "shell", "fork": "ITEMS"}}}
        self.client.socket.sendall(json.dumps(request).replace('"ITEMS"', f"[{','.join(items)}]").encode() + b"\n")
        body = self.client.executed("digits")
        self.assertEqual([one["output"] for one in body["results"]], [[item] for item in items])

    def test_branches_are_executions_of_their_own_in_the_journal(self):
        body = self.fork("print('printed', item)", ["a", "b"])
        for n, one in enumerate(body["results"]):
            account = self.client.request("resources/read", uri=f"exec:///{one['execution_id']}/stats")
            account = json.loads(account["contents"][0]["text"])
            self.assertEqual((account["execution_id"], account["outcome"]), (one["execution_id"], "ok"))
            self.assertEqual(one["output"], [f"printed {'ab'[n]}"])

    def test_one_failed_branch_does_not_fail_the_others(self):
        code = ("import os, signal, sys\n"
                "if item == 1: raise ValueError('no one')\n"
                "if item == 2: os._exit(7)\n"
                "if item == 3: os.kill(os.getppid(), signal.SIGKILL)\n"
                "if item == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
                "result = item")
        result = self.client.call("execute_code", {"code": code, "fork": [0, 1, 2, 3, 4, 5]})
        body = body_of(result)
        outcomes = [one["outcome"] for one in body["results"]]
        self.assertEqual(outcomes[:3] + outcomes[4:], ["ok", "error", "exit", "signal", "ok"], body)
        self.assertEqual((body["success"], body["failed"][:2]), (False, [1, 2]))
        self.assertIn("ValueError: no one", body["results"][1]["error"])
        self.assertEqual(body["results"][2]["exit_status"], 7)
        self.assertEqual(body["results"][5]["result"], 5)
        self.assertIs(result.get("isError", False), False, "some succeeded")
        result = self.client.call("execute_code", {"code": "1/0", "fork": [1, 2]})
        self.assertIs(result["isError"], True, "none succeeded")
        self.assertEqual(body_of(result)["failed"], [0, 1])

    def test_every_language_has_the_item(self):
        for language, code in (("javascript", "return item.n + 1"), ("typescript", "const n: number = item.n; return n + 1"),
                               ("shell", "echo \"$item\"")):
            with self.subTest(language=language):
                body = self.fork(code, [{"n": 1}, {"n": 2}], language=language)
                self.assertIs(body["success"], True, body)
                said = [one.get("result", None) or one.get("output") for one in body["results"]]
                self.assertEqual(said, [['{"n":1}'], ['{"n":2}']] if language == "shell" else [2, 3])

    def test_lists_that_cannot_be_run_are_refused(self):
        body = self.refused(fork=list(range(10_000)))
        self.assertEqual((body["code"], body["rule"], body["outcome"]), ("invalid", "admission.fork", "denied"))
        for word in ("fork", "10000", "100"):
            self.assertIn(word, body["error"])
        self.assertIn("100", body["remedy"])
        self.assertIn("no item", self.refused(fork=[])["error"])
        body = self.refused(fork=[1], context_vars={"item": 2})
        self.assertIn("item", body["error"])
        for wrong in ("text", {"a": 1}, 5):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(Exception, "fork"):
                body = self.refused(fork=wrong)
                raise Exception(body["error"])
        files = self.client.call("list_workspace_files")["structuredContent"]["files"]
        self.assertNotIn("ran", files)

    def test_items_are_data_however_deep_and_large(self):
        deep = 0
        for _ in range(40):
            deep = [deep]
        large = "x" * (2 << 20)
        body = self.fork("n = 0\nif isinstance(item, list):\n  while item: item = item[0]; n += 1\n"
                         "result = n or (item if len(item) < 99 else len(item))", [deep, large, "\"},{"])
        self.assertEqual([one.get("result") for one in body["results"]], [40, 2 << 20, "\"},{"], body)

    def test_branches_share_one_answer(self):
        body = self.fork("print('y' * 50_000)\nresult = 'z' * item", [10, 2_000_000, 20], timeout_seconds=60)
        small, large, _ = body["results"]
        self.assertEqual(small["result"], "z" * 10)
        self.assertLess(sum(len(line) for line in small["output"]), 20_000 / 3 + 200)
        self.assertEqual(small["truncated"]["stdout"]["bytes"], 50_001)
        text = self.client.request("resources/read", uri=small["truncated"]["stdout"]["resource"])
        self.assertIn("y" * 1000, text["contents"][0]["text"])
        self.assertEqual(large["outcome"], "ok")
        self.assertIn(f"exec:///{large['execution_id']}/result", json.dumps(large))
        body = self.fork("import sys\nsys.stderr.write('e' * 9000)\nraise ValueError('v' * 100_000)", list(range(100)))
        self.assertLess(len(json.dumps(body)), 1_500_000)

    def test_changed_files_are_each_branchs_or_told_as_changed_meanwhile(self):
        body = self.fork("open(f'/workspace/of-{item}', 'w').write('x')", ["p", "q", "r"])
        for n, one in enumerate(body["results"]):
            told = json.dumps([one.get("files"), one.get("changed_meanwhile")])
            self.assertIn(f"of-{'pqr'[n]}", told)

    def test_the_seconds_are_for_all_branches_together(self):
        begun = time.monotonic()
        body = self.fork("import time\ntime.sleep(1.2)\nresult = item", list(range(40)), timeout_seconds=3)
        self.assertLess(time.monotonic() - begun, 20)
        outcomes = [one["outcome"] for one in body["results"]]
        self.assertEqual(set(outcomes), {"ok", "timeout"}, outcomes)
        self.assertEqual(outcomes[0], "ok")
        last = body["results"][-1]
        self.assertIn("did not run", last["error"])
        self.assertNotIn("execution_id", last)
        self.assertIs(body["success"], False)


SETUP = """
import json as j
big = memoryview(bytearray(4 << 20))
calls = []
factor = 3
class Point:
    unit = factor
    def __init__(self, x): self.x = x
    def scaled(self): return self.x * times(self.unit)
def times(n): return n * factor
point = Point(2)
unnamed = open('/dev/null')
"""


class ForkOfASession(SharedDaemon):
    policy = {"sessions": {"max": 20}, "admission": {"concurrent_executions": 3}}

    def setUp(self):
        super().setUp()
        self.session = self.id().rpartition(".")[2][:60]

    def run_in_session(self, code, **more):
        body = self.client.execute(code, session=self.session, **more)
        self.assertIs(body["success"], True, body)
        return body

    def fork(self, code, items, **more):
        return self.client.execute(code, session=self.session, fork=items, **more)

    def refused(self, code, items=(1, 2), **more):
        body = self.fork("open('/workspace/branch-ran', 'w')\n" + code, list(items), **more)
        self.assertIs(body["success"], False, body)
        self.assertNotIn("results", body)
        self.assertTrue(body["remedy"])
        files = self.client.call("list_workspace_files")["structuredContent"]["files"]
        self.assertNotIn("branch-ran", files, "no branch began")
        return body

    def test_branches_have_the_named_values_and_reach_neither_session_nor_sibling(self):
        self.run_in_session(SETUP)
        body = self.fork("big[0] = item\ncalls.append(item)\npoint.x += item\n"
                         "result = [big[0], calls, point.scaled(), isinstance(point, Point), times(item), j.dumps({})]", [1, 2, 3])
        self.assertIs(body["success"], True, body)
        self.assertEqual([one["result"] for one in body["results"]],
                         [[n, [n], (2 + n) * 9, True, 3 * n, "{}"] for n in (1, 2, 3)])
        self.assertEqual(set(body["shared"]["names"]), {"big", "calls", "point", "Point", "times", "j", "factor"})
        self.assertGreaterEqual(body["shared"]["bytes"], 4 << 20)
        self.assertEqual(body["session"], {"name": self.session, "call": 1})
        after = self.run_in_session("result = [big[0], calls, point.x, unnamed.closed]")
        self.assertEqual((after["result"], after["session"]["call"]), ([0, [], 2, False], 2))

    def test_context_variables_and_the_item_go_before_values_of_the_session(self):
        self.run_in_session("item = lambda: 1\nx = [lambda: 2, open('/dev/null')]\ny = 5\nresult = open('/dev/null') and 0")
        body = self.fork("result = [item, x, y]", [7], context_vars={"x": 8})
        self.assertEqual(body["results"][0].get("result"), [7, 8, 5], body)
        self.assertEqual(body["shared"]["names"], ["y"])

    def test_numpys_arrays_are_mapped_and_not_copied(self):
        code = self.client.execute("import numpy")
        if not code["success"]:
            self.skipTest("needs python3-numpy")
        self.run_in_session("import numpy as np\na = np.arange(12_500_000, dtype='f8')", memory_mb=400)
        body = self.fork("s = float(a.sum())\nresult = s\nprivate = 0\n"
                         "for line in open('/proc/self/smaps_rollup'):\n"
                         "    if line.startswith('Anonymous:'): private = int(line.split()[1])\n"
                         "result = [s, private < 60_000]", list(range(4)))
        self.assertEqual([one.get("result") for one in body["results"]], [[78124993750000.0, True]] * 4, body)
        for one in body["results"]:
            self.assertLess(one["usage"].get("memory_peak_bytes", 0), 90 << 20)

    def test_what_cannot_be_shared_is_refused_by_its_name_and_the_session_goes_on(self):
        self.run_in_session("import threading\nlock = threading.Lock()\nf = open('/dev/null')\nn = 1\n"
                            "class Bad:\n  def __reduce__(self): raise KeyError('no pickle')\nbad = Bad()\ngen = (i for i in [])")
        self.run_in_session("def use(): return lock")
        for name in ("lock", "f", "bad", "gen"):
            with self.subTest(name=name):
                body = self.refused(f"print({name}, n)")
                self.assertIn(f"'{name}'", body["error"])
                self.assertEqual((body["code"], body["outcome"]), ("invalid", "denied"))
        self.assertIn("'lock'", self.refused("use()")["error"])
        self.assertIn("compiled", self.refused("def (")["error"])
        self.assertEqual(self.run_in_session("result = n")["result"], 1)

    def test_sessions_that_cannot_share(self):
        body = self.refused("result = 1")
        self.assertEqual((body["code"], body["rule"]), ("not_found", "session"))
        self.assertEqual(self.client.execute("x = 1", session="node", language="javascript")["outcome"], "ok")
        body = self.client.execute("return x", session="node", language="javascript", fork=[1])
        self.assertIn("Python", body["error"])
        self.assertTrue(body["remedy"])
        self.run_in_session("x = 1")
        self.assertIn("reset_session", self.refused("result = x", reset_session=True)["error"])
        self.assertEqual(self.run_in_session("result = x")["result"], 1)

    def test_what_a_pickle_does_is_its_own_branchs_affair(self):
        self.run_in_session("""
import os, signal
def wake(n):
    if item == 1:
        while True: pass
    if item == 2: os.kill(os.getppid(), signal.SIGKILL)
    if item == 3: os._exit(9)
    if item == 4: raise ValueError('woke badly')
    return [n]
class Sleeper:
    def __reduce__(self): return (wake, (6,))
s = Sleeper()
""")
        # The endless one comes last: on a busy machine it would leave the others no time.
        body = self.fork("result = s", [0, 2, 3, 4, 5, 1], timeout_seconds=4)
        outcomes = [one["outcome"] for one in body["results"]]
        self.assertEqual((outcomes[0], *outcomes[2:]), ("ok", "exit", "error", "ok", "timeout"), body)
        self.assertEqual(body["results"][4]["result"], [6])
        self.assertIn("woke badly", body["results"][3]["error"])
        self.assertEqual(self.run_in_session("result = type(s).__name__")["result"], "Sleeper")

    def test_a_session_without_room_for_the_copy_is_told_how_much(self):
        self.run_in_session("import time\nbig = memoryview(bytearray(70 << 20))", memory_mb=100)
        body = self.refused("result = big[0]")
        self.assertRegex(body["error"], r"take 734\d{5} bytes, and the session has room for \d+")
        self.assertEqual(self.run_in_session("result = len(big)")["result"], 70 << 20)

    def test_shared_pages_do_not_count_for_branches_but_copies_do(self):
        self.run_in_session("big = memoryview(bytearray(b'1') * (120 << 20))", memory_mb=400)
        body = self.fork("import time\nif item: own = bytes(big)\n"
                         "s = sum(big[n] for n in range(0, len(big), 4096))\ntime.sleep(0.3)\nresult = s", [0, 1], memory_mb=64)
        self.assertEqual([one["outcome"] for one in body["results"]], ["ok", "memory"], body)
        self.assertEqual(body["results"][0]["result"], 49 * (120 << 8))

    def test_a_session_cannot_resize_its_values_and_keeps_no_memory_uncounted(self):
        attack = """
import os, threading, time, warder._share as share
said, kept = [], []
original = share.answer
def answer(order, channel, module, sources):
    fd = os.dup(order['descriptor'])
    for attempt in (lambda: os.ftruncate(fd, 0), lambda: os.ftruncate(fd, 1 << 40)):
        try: attempt(); said.append('resized')
        except OSError as e: said.append(e.errno)
    if keep: kept.append(fd)
    else: os.close(fd)
    original(order, channel, module, sources)
def write():
    for _ in range(600):
        try: os.pwrite(kept[0], b'evil', 9000)
        except IndexError: pass
        except OSError as e: return said.append(e.errno)
        time.sleep(0.005)
share.answer = answer
keep = False
x = 'fine'
"""
        self.run_in_session(attack)
        body = self.fork("result = x", [1, 2])
        self.assertEqual([one["result"] for one in body["results"]], ["fine"] * 2)
        self.assertIn(self.run_in_session("result = said")["result"], ([1, 1], [1, 27]))  # EPERM, EFBIG
        self.run_in_session("keep = True\nthreading.Thread(target=write, daemon=True).start()")
        body = self.fork("result = x", [1, 2])
        if body.get("results"):  # a cgroup counts what it keeps; it writes no more
            self.assertEqual([one["result"] for one in body["results"]], ["fine"] * 2)
            self.assertIn(1, self.run_in_session("time.sleep(0.1)\nresult = said[4:]")["result"])
            return
        self.assertIn("kept the file", body["error"])
        self.assertEqual(self.run_in_session("result = 'x' in globals()")["result"], False)

    def test_a_session_that_keeps_the_values_mapped_for_writing_is_refused(self):
        self.run_in_session("import warder._share as share\nkept = []\n"
                            "share._Writer._close = lambda self: kept.append(self._window)\nx = [1]")
        body = self.refused("result = x")
        self.assertRegex(body["error"], "mapped for writing|kept the file")

    def test_a_session_that_writes_nonsense_harms_only_its_own_branches(self):
        self.run_in_session("import os, warder._share as share\n"
                            "def nonsense(self, header): os.pwrite(self._fd, kind, 0)\n"
                            "share._Writer.write_header = nonsense\nx = 1")
        for kind in ("b''", "b'warder 1' + b'\\xff' * 40", "b'warder 1' + (1 << 62).to_bytes(8, 'little') * 5"):
            with self.subTest(kind=kind):
                self.run_in_session(f"kind = {kind}")
                body = self.fork("result = x", [1, 2])
                self.assertEqual([one["outcome"] for one in body["results"]], ["error"] * 2, body)
                self.assertIn("damaged", body["results"][0]["error"])

    def test_a_cancelled_call_leaves_the_session_as_it_was(self):
        self.run_in_session("x = 5")
        request = self.client.begin_execute("open(f'/workspace/s-{item}', 'w').close()\nimport time\ntime.sleep(300 + x)",
                                            session=self.session, fork=[1, 2, 3, 4], timeout_seconds=300)
        with Client(self.daemon.socket) as helper:
            eventually(lambda: "s-1" in helper.call("list_workspace_files")["structuredContent"]["files"], "a branch runs")
        self.client.cancel(request)
        self.assertEqual(self.run_in_session("result = x")["result"], 5)


class ForkUnderAdmission(unittest.TestCase):
    def start(self, **admission):
        policies = self.enterContext(Policies(admission=admission))
        self.daemon = self.enterContext(Daemon(policies=policies))
        self.client = self.enterContext(Client(self.daemon.socket))

    def files(self):
        with Client(self.daemon.socket) as helper:
            return set(helper.call("list_workspace_files")["structuredContent"]["files"])

    def test_one_place_is_enough_and_a_full_queue_is_no_failure(self):
        self.start(concurrent_executions=1, queued_executions=1)
        body = self.client.execute(MARK, fork=list(range(6)), timeout_seconds=60)
        self.assertIs(body["success"], True, body)
        self.assertEqual([one["result"] for one in body["results"]], list(range(6)))

    def test_other_calls_of_the_connection_have_their_turns(self):
        self.start(concurrent_executions=1)
        fork = self.client.begin_execute("import time\ntime.sleep(0.2)", fork=list(range(20)), timeout_seconds=120)
        plain = self.client.begin_execute("result = 'plain'")
        self.assertEqual(self.client.executed(plain)["result"], "plain")
        self.assertNotIn(fork, self.client.answers)
        self.client.cancel(fork)

    def test_a_cancelled_call_ends_all_branches(self):
        self.start(concurrent_executions=2)
        request = self.client.begin_execute(MARK + "\nimport time\ntime.sleep(300)", fork=list(range(5)), timeout_seconds=300)
        eventually(lambda: {"ran-0", "ran-1"} <= self.files(), "two branches run")
        self.client.cancel(request)
        body = self.client.execute("result = 'free'")  # both places are free again
        self.assertEqual(body["result"], "free")
        self.assertEqual({name for name in self.files() if name.startswith("ran")}, {"ran-0", "ran-1"})
        self.assertNotIn(request, self.client.answers)

    def test_a_policy_may_allow_fewer_branches_or_none(self):
        self.start(fork=0)
        body = self.client.execute("result = item", fork=[1])
        self.assertEqual((body["code"], body["rule"]), ("denied", "admission.fork"), body)

    def test_two_tenants_fork_at_once(self):
        self.start(concurrent_executions=3)
        with (as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)) if ROOT else Client(self.daemon.socket)) as other:
            mine = self.client.begin_execute("result = ['mine', item]", fork=list(range(12)))
            theirs = other.begin_execute("result = ['theirs', item]", fork=list(range(12)))
            self.assertEqual([one["result"] for one in self.client.executed(mine)["results"]], [["mine", n] for n in range(12)])
            self.assertEqual([one["result"] for one in other.executed(theirs)["results"]],
                             [["theirs", n] for n in range(12)])

    def test_a_draining_daemon_ends_the_running_branches_and_begins_no_more(self):
        self.start(concurrent_executions=2)
        request = self.client.begin_execute(MARK + HOLD, fork=list(range(6)), timeout_seconds=60)
        eventually(lambda: {"ran-0", "ran-1"} <= self.files(), "two branches run")
        self.daemon.process.terminate()
        eventually(lambda: "the daemon ends after the running calls" in self.daemon.log_text(), "the daemon drains")
        self.assertIsNone(self.daemon.process.poll(), "it waits for what runs")
        let_go(self.daemon)
        body = self.client.executed(request)
        self.assertEqual([one["outcome"] for one in body["results"]], ["ok", "ok"] + ["denied"] * 4, body)
        self.assertEqual([one["result"] for one in body["results"][:2]], ["went on"] * 2)
        self.assertIn("restart", body["results"][5]["error"] + body["results"][5].get("remedy", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
