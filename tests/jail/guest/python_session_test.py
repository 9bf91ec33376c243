"""Orders of one session in the Python runner: what stays between them, what each answers for itself."""
import threading
import unittest

from driver import BOUND
from sessions import SessionTest


class Case(SessionTest):
    language = "python"


class State(Case):
    def test_names_modules_functions_and_files_stay(self):
        self.value_of("import base64 as b\nx = [1]\ndef f(): return x\nfile = open('log', 'w')\nfile.write('one ')")
        self.assertEqual(self.read("log"), "one ", "what was left open is flushed")
        self.assertEqual(self.value_of("x.append(2)\nfile.write('two')\n[f(), b.b64encode(b'a')]"), [[1, 2], "YQ=="])
        self.assertEqual(self.read("log"), "one two")

    def test_an_exception_and_an_exit_keep_what_there_is(self):
        self.value_of("x = 1")
        got = self.ask("x = 2\n1 / 0")
        self.assertEqual((got["error"], got["status"]), ("ZeroDivisionError: division by zero", 1))
        got = self.ask("import sys\nx += 1\nsys.exit(4)")
        self.assertEqual((got["exit"], got["status"]), (4, 4))
        self.assertEqual(self.value_of("x"), 3)

    def test_a_first_order_that_is_no_python_prepares_nothing_and_harms_nothing(self):
        self.assertIn("SyntaxError", self.ask("x = = 1")["error"])
        self.assertEqual(self.value_of("math.floor(1.5), list_files()"), [1, []])

    def test_a_helper_that_was_replaced_stays_replaced(self):
        self.value_of("def read_file(name): return 'mine'")
        self.assertEqual(self.value_of("read_file('x')"), "mine")


class Answers(Case):
    def test_result_answers_only_the_order_that_set_it(self):
        self.assertEqual(self.value_of("result = 5"), 5)
        self.assertEqual(self.value_of("result + 1"), 6)
        self.assertIsNone(self.value_of("y = result"))
        self.assertEqual(self.value_of("result = 5"), 5, "the same value, set again")
        self.assertEqual(self.value_of("def f():\n    global result\n    result = [7]\nf()"), [7])
        self.assertEqual(self.value_of("def g():\n    result = 8\n[result for result in 'ab']"), ["a", "b"])
        self.assertEqual(self.value_of("result += [8]"), [7, 8])

    def test_an_assignment_that_is_not_reached_answers_no_older_result(self):
        self.value_of("result = 5\ndef read(): return result")
        for code in ("if False: result = 9", "for result in []: pass", "def f(): global result; result = 1",
                     "try: result = 1 / 0\nexcept ZeroDivisionError: pass"):
            self.assertIsNone(self.value_of(code), code)
        got = self.ask("result = 1 / 0")
        self.assertIn("ZeroDivisionError", got["error"])
        self.assertNotIn("value", got)
        self.assertEqual(self.value_of("model = 1\na, (result, *b) = 1, (5, 6)"), 5, "the same value, set again")
        self.assertIsNone(self.value_of("if 'result' not in globals(): result = []"))
        self.assertEqual(self.value_of("y = read() + result\nresult = y"), 10)
        self.assertEqual(self.value_of("del result\n'result' in globals()"), False)
        self.assertIn("NameError", self.ask("result")["error"])

    def test_a_value_of_a_last_expression_is_not_answered_twice(self):
        self.assertEqual(self.value_of("3"), 3)
        self.assertIsNone(self.value_of("pass"))

    def test_context_variables_are_each_orders_own(self):
        self.assertEqual(self.value_of("a", context_vars={"a": 1}), 1)
        self.assertEqual(self.value_of("[a, context_vars]", context_vars={"a": 2}), [2, {"a": 2}])
        self.assertEqual(self.value_of("[a, context_vars]"), [2, {}])
        self.value_of("own = 1")
        self.assertEqual(self.value_of("own", context_vars={"own": 2}), 2)
        self.assertEqual(self.ask("read_file", context_vars={"read_file": 1})["value"], 1)

    def test_a_return_answers_the_order_that_it_ends(self):
        self.assertEqual(self.ask("result = 1\nx = 2")["value"], 1)
        self.assertEqual(self.ask("    if x == 2:\n        return x")["value"], 2)
        self.assertNotIn("value", self.ask("if x == 3: return x"))
        self.assertEqual(self.ask("[true, result]")["value"], [True, 1])

    def test_a_traceback_shows_the_lines_of_the_orders_they_are_from(self):
        self.value_of("def f(x):\n    return 1 / x  # of the first")
        trace = self.ask("# nothing\n\nf(0)  # of the second")["traceback"]
        self.assertIn("1 / x  # of the first", trace)
        self.assertIn('File "<execution 2>", line 3', trace)
        self.assertIn("f(0)  # of the second", trace)
        self.assertIn("SyntaxError: invalid syntax (line 1)", self.ask("a b")["error"])

    def test_an_answer_that_is_too_large_is_an_error_of_that_order(self):
        self.assertIn("cannot be returned", self.ask("x = 'x' * 5000\nx", max_message=4096)["error"])
        self.assertEqual(self.value_of("len(x)", max_message=4096), 5000)


class Loops(Case):
    def test_what_belongs_to_the_event_loop_lives_in_the_next_order(self):
        self.value_of("import asyncio\nqueue, lock = asyncio.Queue(), asyncio.Lock()\nseen = []\n"
                      "async def work():\n    while True:\n        seen.append(await queue.get())\n        queue.task_done()\n"
                      "task = asyncio.create_task(work())\nawait lock.acquire()\nserver = await asyncio.start_server(print, '127.0.0.1', 0)\n"
                      "await asyncio.sleep(0)")
        self.value_of("await queue.put(1)\nawait queue.join()\nlock.release()")
        self.assertEqual(self.value_of("async with lock:\n    pass\nserver.close()\nawait server.wait_closed()\n[seen, task.done()]"),
                         [[1], False])
        self.assertIn("ValueError", self.ask("await asyncio.sleep(0)\nraise ValueError")["error"])
        self.assertEqual(self.ask("await asyncio.sleep(0)\nraise SystemExit(3)")["exit"], 3)
        self.assertEqual(self.value_of("async def main():\n    return asyncio.get_running_loop() is loop\n"
                                       "loop = asyncio.get_event_loop()\nmain()"), True)
        self.assertEqual(self.value_of("async def alone():\n    return 5\nasyncio.run(alone())"), 5)
        self.assertEqual(self.value_of("await queue.put(2)\nawait queue.join()\nseen"), [1, 2])
        self.value_of("loop.close()")
        self.assertEqual(self.value_of("await asyncio.sleep(0, 6)"), 6)


class ChangedModules(Case):
    def errors(self):
        self.runner.err.seek(0)
        return self.runner.err.read().decode()

    def test_a_module_that_has_changed_is_imported_again(self):
        self.write("m.py", "V = 1\nstate = []\ndef f(): return V\nclass C: pass\n")
        self.write("user.py", "from m import f\ndef g(): return f()\n")
        self.write("same.py", "state = []\n")
        self.value_of("import m, user, same\nfrom m import f, C\nc = C()\nsame.state.append(1)")
        self.assertEqual(self.value_of("import m\nm.state.append(1)\nimport m\nm.state"), [1])
        self.write("m.py", "V = 22\nstate = []\ndef f(): return V\nclass C: pass\n")
        self.assertEqual(self.value_of("old = [m.V, f()]\nimport m, user, same\n[old, m.V, user.g(), f(), same.state]"),
                         [[1, 1], 22, 22, 1, [1]])
        self.assertIn("warder: the file of the module m, or of one that it uses, has changed since it was imported: import it again; "
                      "until then f, C, c are of the old file", self.errors())
        self.assertEqual(self.value_of("from m import f\n[f(), m.V]"), [22, 22])
        self.assertEqual(self.errors().count("import it again"), 1)

    def test_a_module_that_the_code_itself_changes_is_imported_again(self):
        self.write("m.py", "V = 1\n")
        self.assertEqual(self.value_of("import m\nwrite_file('m.py', 'V = 22')\nm.V"), 1)
        self.assertEqual(self.value_of("from m import V\nV"), 22)
        self.value_of("write_file('pack/__init__.py', ''); write_file('pack/part.py', 'V = 1')\nimport pack.part")
        self.value_of("write_file('pack/__init__.py', 'W = 2')")
        self.assertEqual(self.value_of("import pack.part\n[pack.W, pack.part.V]"), [2, 1])
        self.value_of("delete_file('m.py')")
        self.assertIn("ModuleNotFoundError", self.ask("import m")["error"])


class Others(Case):
    """Threads and processes that an order leaves behind."""

    def test_a_thread_goes_on_and_the_answer_does_not_wait_for_it(self):
        self.value_of("import threading\ngo = threading.Event()\nseen = []\n"
                      "def wait():\n    go.wait()\n    seen.append('went on')\n"
                      "thread = threading.Thread(target=wait)\nthread.start()")
        self.assertEqual(self.value_of("go.set()\nthread.join()\nseen"), ["went on"])

    def test_a_threads_call_fails_when_its_order_is_answered_and_the_next_order_is_read(self):
        silent = lambda call: []
        self.runner.send(self.order(
            "import threading, warder\nends = []\n"
            "def ask():\n    try:\n        warder.call('slow')\n    except warder.CallError as e:\n"
            "        ends.append(e.code)\n"
            "thread = threading.Thread(target=ask)\nthread.start()\nwhile not warder._channel._calls: pass", session=True))
        self.assertEqual([self.runner.receive()["type"] for _ in range(2)], ["call", "result"])
        # Its thread may be the one that reads: the next order reaches the session all the same.
        self.assertEqual(self.ask("thread.join(5)\nends", silent)["value"], ["cancelled"])

    def test_calls_are_answered_in_every_order(self):
        for number in range(3):
            self.assertEqual(self.value_of(f"import warder\nwarder.call('echo', n={number})"), {"n": number})

    def test_a_thread_that_calls_between_orders_is_answered_and_orders_arrive(self):
        self.value_of("import threading, warder\nanswers, failed = [], []\ngo = threading.Event()\n"
                      "def later():\n    go.wait()\n    for i in range(20):\n"
                      "        try: answers.append(warder.call('n', i=i)['i'])\n"
                      "        except warder.CallError: failed.append(i)\n"
                      "thread = threading.Thread(target=later)\nthread.start()")
        self.value_of("go.set()")
        answered, failed = self.value_of("thread.join(10)\n[answers, failed]")
        self.assertEqual(sorted(answered + failed), list(range(20)))
        # Calls under way are abandoned before the answer is sent, and after it once more.
        self.assertLessEqual(len(failed), 2, "those that were under way when their order was answered")

    def test_a_forked_child_reports_nothing(self):
        self.assertEqual(self.value_of("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nbool(pid)"), True)
        self.assertEqual(self.value_of("1"), 1)

    def test_an_alarm_that_fires_between_orders_does_not_end_the_session(self):
        self.value_of("import signal\nfired = []\ndef ring(*_):\n    fired.append(1)\n    raise ValueError\n"
                      "signal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.05)")
        done = threading.Event()
        done.wait(0.3)  # the alarm; if it comes later, the order below is what it interrupts
        got = self.ask("fired")
        self.assertTrue(got.get("value") == [1] or "ValueError" in got.get("error", ""), got)
        self.assertEqual(self.value_of("7"), 7)


class Ends(Case):
    def test_closing_the_socket_ends_it(self):
        self.value_of("import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()")
        self.runner.socket.close()
        self.assertEqual(self.runner.process.wait(BOUND), 0)

    def test_what_is_no_order_ends_it(self):
        self.value_of("1")
        self.runner.socket.send(b"F{")
        self.assertIsNone(self.runner.receive())
        self.assertNotEqual(self.runner.process.wait(BOUND), None)

    def test_without_the_word_session_there_is_one_order(self):
        self.runner.send(self.order("x = 1"))
        self.assertEqual(self.runner.end().status, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
