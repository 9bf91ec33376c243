"""What the Python runner promises to the supervisor, and to the processes and threads of its code."""
import json
import threading
import unittest

from driver import GuestTest, OrderTests, echo, not_found


class PythonTest(GuestTest):
    language = "python"


class Processes(PythonTest):
    def test_multiprocessing_works_by_fork_and_by_spawn(self):
        code = ("import multiprocessing\n"
                "def work(n):\n    return json.loads(str(n * factor))\n"
                "if __name__ == '__main__':\n"
                "    with multiprocessing.get_context('{}').Pool(2) as pool:\n"
                "        result = pool.map(work, [1, 2, 3])\n")
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                self.assertEqual(self.value_of(code.format(method), context_vars={"factor": 10}), [10, 20, 30])

    def test_a_forked_child_never_speaks_for_the_execution(self):
        end = self.run_code("import os, warder\npid = os.fork()\nif pid == 0:\n    try:\n        warder.call('x')\n"
                            "    except warder.CallError as e:\n        print(e.code)\n    result = 'child'\n"
                            "else:\n    os.waitpid(pid, 0)\n    result = 'parent'")
        self.assertEqual((end.value, end.stdout, end.calls), ("parent", "not_available\n", []))

    def test_a_child_forked_behind_pythons_back_reports_nothing_either(self):
        end = self.run_code("import ctypes, os\nlibc = ctypes.CDLL(None)\npid = libc.fork()\n"
                            "if pid:\n    os.waitpid(pid, 0)\nresult = 'parent' if pid else 'child'")
        self.assertEqual((end.value, end.status), ("parent", 0))

    def test_programs_started_by_the_code_do_not_get_the_socket(self):
        self.assertEqual(self.value_of("import os\nos.set_blocking(0, True)\n"
                                       "[os.system('test -e /proc/self/fd/3') != 0, "
                                       "os.popen('test -e /proc/self/fd/3 || echo gone').read()]"), [True, "gone\n"])


class Calls(PythonTest):
    def test_a_call_returns_its_answer_or_raises_its_error(self):
        self.assertEqual(self.run_code("import warder\nwarder.call('tool', name='n', value=[1, None])", echo).value,
                         {"name": "n", "value": [1, None]})
        end = self.run_code("import warder\ntry:\n    warder.call('tool')\nexcept warder.CallError as e:\n"
                            "    result = [e.code, e.message, e.rule, e.remedy, str(e)]", not_found)
        self.assertEqual(end.value, ["not_found", "there is no tool 'tool'", None, "search first",
                                     "not_found: there is no tool 'tool'; search first"])
        end = self.run_code("import warder\nwarder.call('tool')", not_found)
        self.assertEqual(end.error, "warder.CallError: not_found: there is no tool 'tool'; search first")
        self.assertEqual(end.traceback.count("  File "), 1)

    def test_threads_call_at_once_and_each_gets_its_own_answer(self):
        held = []

        def answer_backwards(call):
            held.append(call)
            return [reply for held_call in reversed(held) for reply in echo(held_call)] if len(held) == 20 else []

        end = self.run_code("import warder\nfrom concurrent.futures import ThreadPoolExecutor\n"
                            "with ThreadPoolExecutor(20) as pool:\n"
                            "    result = list(pool.map(lambda n: warder.call('echo', n=n)['n'], range(20)))",
                            answer_backwards)
        self.assertEqual(end.value, list(range(20)))

    def test_many_calls_by_many_threads(self):
        end = self.run_code("import warder, threading\nwrong = []\n"
                            "def work(t):\n    for n in range(100):\n"
                            "        if warder.call('echo', n=n, t=t) != {'n': n, 't': t}: wrong.append(n)\n"
                            "threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]\n"
                            "[t.start() for t in threads]; [t.join() for t in threads]\nresult = wrong", echo)
        self.assertEqual((end.value, len(end.calls)), ([], 800))

    def test_an_interrupted_reader_hands_its_turn_on(self):
        def answer(call):  # later than the interruption, when nobody but the interrupted one was reading
            if call["name"] == "follow":
                threading.Timer(1, lambda: self.runner.send(echo(call)[0])).start()
            return []

        end = self.run_code(
            "import warder, threading, signal, time, _thread\n"
            "got = []\n"
            "def follow():\n    got.append(warder.call('follow'))\n"
            "def later():\n"
            "    thread.start(); time.sleep(0.1); signal.pthread_kill(main, signal.SIGUSR1)\n"
            "def interrupt(*_):\n    raise TimeoutError\n"
            "signal.signal(signal.SIGUSR1, interrupt)\nmain = threading.get_ident()\n"
            "thread = threading.Thread(target=follow)\nthreading.Timer(0.1, later).start()\n"
            "try:\n    warder.call('never')\nexcept TimeoutError:\n    got.append('interrupted')\n"
            "thread.join()\nresult = got", answer)
        self.assertEqual(end.value, ["interrupted", {}], end)

    def test_large_and_impossible_arguments(self):
        end = self.run_code("import warder\nlen(warder.call('echo', text='x' * 300_000)['text'])", echo)
        self.assertEqual(end.value, 300_000)
        for code, words in (("warder.call('t', a='x' * 2_000_000)", "more than 1000000 bytes"),
                            ("a = []\na.append(a)\nwarder.call('t', a=a)", "contains itself"),
                            ("warder.call(5)", "the name of a call is a str")):
            with self.subTest(code=code):
                end = self.run_code("import warder\n" + code, echo, max_message=1_000_000)
                self.assertIn(words, end.error)
                self.assertEqual(end.calls, [])

    def test_a_cancelled_or_abandoned_call_raises(self):
        for reply, words in (({"type": "cancel"}, "cancelled"), (b"not json", "gone"), ({"type": "run"}, None)):
            with self.subTest(reply=reply):
                follow_up = (lambda call: [reply]) if words else (lambda call: [reply, *echo(call)])
                end = self.run_code("import warder\nwarder.call('x')", follow_up)
                self.assertEqual(end.error is not None and end.error.split(": ")[1], words or False)
        runner = self.start()
        runner.receive()
        runner.send(self.order("import warder\ntry:\n    warder.call('x')\nexcept warder.CallError as e:\n"
                               "    print(e.code)"))
        self.assertEqual(runner.receive()["type"], "call")
        runner.socket.close()
        runner.process.wait(30)
        runner.out.seek(0)
        self.assertEqual(runner.out.read(), b"gone\n")


class Protocol(OrderTests, PythonTest):
    two_texts = "not one JSON object"

    def test_ready_names_the_interpreter(self):
        ready = self.start().receive()
        self.assertRegex(ready["interpreter"], r"^Python 3\.\d+")
        self.assertGreater(ready["warm_ms"], 0)

    def test_an_order_in_parts_is_put_together(self):
        code = "# " + "é" * 200_000 + "\nresult = 'whole'"
        self.assertEqual(self.value_of(code), "whole")
        runner = self.start()
        runner.receive()
        data = json.dumps(self.order("result = 1")).encode()
        for at in range(0, len(data), 7):
            runner.socket.send(b"M" + data[at:at + 7])
        runner.socket.send(b"F")
        self.assertEqual(runner.end().value, 1)

    def test_only_a_number_that_a_float_may_not_hold_is_read_digit_by_digit(self):
        """It costs a millisecond of a first program. Every tenth id of an execution has digits that look like 1e400."""
        code = ("import sys\nchannel = sys.modules['warder._channel']\nread = []\nexactly = channel._exactly\n"
                "channel._exactly = lambda text: read.append(text) or exactly(text)\n"
                "for text in texts: channel.decode(('{\"type\":\"run\",\"a\":' + text + '}').encode())\nresult = read")
        ids = ['"e12e345678901e400"', '"a1E400"', '["1e+400", "9e-999"]', '{"1e400":1}', '[1e22,-2E-30,1234.5678]', "12345",
               f'"{" ab1e400" * 19}"']
        numbers = ["1e400", "[-1E+400]", "[1, 2e-400]", '{"a": \t12.5e100}', "3.14159265358979323846", "0.30000000000000004",
                   '"ab1e400", "b":1e400', f'"{" ab1e400" * 21}"']
        read = self.value_of(code, context_vars={"texts": ids + numbers})
        self.assertEqual(read, [f'{{"type":"run","a":{text}}}' for text in numbers])

    def test_the_code_has_the_first_word_about_the_environment(self):
        self.assertEqual(self.value_of("import sys\n[sys.flags.isolated, sys.dont_write_bytecode, "
                                       "sorted(m for m in sys.modules if 'guest' in m or 'runner' in m)]"),
                         [1, True, []])  # no bytecode: it would lie in the workspace


if __name__ == "__main__":
    unittest.main()
