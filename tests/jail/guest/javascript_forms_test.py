"""What the JavaScript runner answers for values without a JSON form: iterables, accessors, promises, hostile objects."""
import json
import unittest

from driver import GuestTest

NEVER = "the code awaits a promise that can never settle"


class FormsTest(GuestTest):
    language = "javascript"

    def check(self, *table):
        """Each row an expression and its value; one execution for all of them."""
        end = self.run_code("return [" + ",\n".join(code for code, _ in table) + "]")
        self.assertIsNone(end.error, end)
        self.assertEqual(end.stderr, "")
        for (code, value), got in zip(table, end.value, strict=True):
            with self.subTest(code=code):
                self.assertEqual(got, value)

    def check_alone(self, *table):
        for code, value in table:
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), value)


class Objects(FormsTest):
    def test_what_can_be_iterated_is_an_array_of_its_members(self):
        self.check(
            ("(function* () { yield 1; yield {a: 2} })()", [1, {"a": 2}]),
            ("{in: (function* () { yield 'x' })()}", {"in": ["x"]}),
            ("'a1b22'.matchAll(/\\d+/g)", [["1"], ["22"]]),
            ("new (class Own { *[Symbol.iterator]() { yield 3 } })()", [3]),
            ("{[Symbol.iterator]: function* () { yield 4 }}", [4]),
            ("[new Map([[1, 2]]).entries(), new Set([1]).values(), [7].entries()]", [[[1, 2]], [1], [[0, 7]]]),
            ("new (class Named { size = 1; *[Symbol.iterator]() { yield 3 } })()", {"size": 1}))

    def test_what_has_names_and_values_is_an_object_or_pairs(self):
        self.check(
            ("new URL('http://x/?a=1&b=2').searchParams", {"a": "1", "b": "2"}),
            ("new URLSearchParams('a=1&a=2')", [["a", "1"], ["a", "2"]]), ("new URLSearchParams('2=x&1=y')", {"2": "x", "1": "y"}),
            ("new Headers({A: 'b'})", {"a": "b"}), ("(() => { const f = new FormData(); f.set('k', 'v'); return f })()", {"k": "v"}))

    def test_what_only_its_accessors_say_is_read(self):
        self.check(
            ("new (class P { #x = 1; get x() { return this.#x } get bad() { throw 1 } m() {} })()", {"x": 1}),
            ("new (class Q extends (class { get low() { return 1 } }) { get high() { return 2 } })()", {"high": 2, "low": 1}),
            ("new Blob(['abc'])", {"size": 3, "type": ""}))
        got = self.value_of("return new Response('x', {status: 201, headers: {a: 'b'}})")
        self.assertEqual((got["status"], got["ok"], got["headers"]["a"], got["bodyUsed"]), (201, True, "b", False))

    def test_what_has_no_members_at_all_is_a_text(self):
        self.check(
            ("new Intl.NumberFormat('en')", "NumberFormat [Intl.NumberFormat] {}"), ("new (class Hidden { #y = 1 })()", "Hidden {}"),
            ("new (class R { #y = 1; toString() { return 'as R' } })()", "as R"), ("{}", {}), ("Object.create(null)", {}),
            ("Object.create({a: 1})", {}))
        end = self.run_code("new (class Hidden { #y = 1 })()")
        self.assertEqual((end.value, end.value_type), ("Hidden {}", "Hidden"))

    def test_boxed_values_are_the_values(self):
        self.check(("[Object('s'), Object(5), Object(1n), Object(true), Object(Symbol('q'))]", ["s", 5, 1, True, "Symbol(q)"]),
                   ("Object.assign(new Number(5), {valueOf: () => 6})", 5))


class Bounds(FormsTest):
    def test_what_has_no_end_is_cut_and_the_agent_is_told(self):
        for code in ("(function* () { for (;;) yield 1 })()", "result = {[Symbol.iterator]: () => ({next: () => ({value: 1})})}"):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.error, end.value), (None, [1] * 10_000))
                self.assertIn("the first 10000 members of a", end.stderr)
        end = self.run_code("(async function* () { for (;;) yield 1 })()")  # cut by its number or by its time
        self.assertEqual(set(end.value), {1})
        self.assertIn("members of a generator that may have more", end.stderr)
        end = self.run_code("(function* () { for (let i = 0; i < 10_000; i++) yield i })()")
        self.assertEqual((len(end.value), end.stderr), (10_000, ""))

    def test_what_is_slow_is_cut_by_its_time(self):
        end = self.run_code("const wait = new Int32Array(new SharedArrayBuffer(4))\n"
                            "result = (function* () { for (;;) { Atomics.wait(wait, 0, 0, 200); yield 1 } })()")
        self.assertGreater(len(end.value), 0)
        self.assertIn("for at most 3 seconds", end.stderr)

    def test_members_that_are_too_large_together_are_an_error(self):
        end = self.run_code("(function* () { for (;;) yield 'x'.repeat(1000) })()", max_message=1_000_000)
        self.assertIn("more than 1000000 bytes", end.error)

    def test_hostile_objects_never_stop_the_report(self):
        self.check_alone(
            ("const a = [1]; a[Symbol.iterator] = function* () { for (;;) yield 1 }\na", [1]),
            ("new (class extends Map { *[Symbol.iterator]() { for (;;) yield [1, 1] } })([[1, 2]])", {"1": 2}),
            ("new (class extends Set { *[Symbol.iterator]() { for (;;) yield 1 } })([3])", [3]),
            ("({[Symbol.iterator]: () => 1})", {}),
            ("Object.defineProperty({a: 1}, 'constructor', {get() { throw 1 }})", {"a": 1}))
        for code, words in (
                ("return new Proxy({}, {ownKeys() { throw {toString() { throw 1 }} }})", "whose text cannot be read"),
                ("return new (class G { *[Symbol.iterator]() { throw new Error('mine') } })()", "Error: mine"),
                ("class X { toJSON() { return {a: new X(), b: new X()} } }\nreturn new X()", "nested more than 60"),
                ("function f() { return new (class { *[Symbol.iterator]() { yield f(); yield f() } })() }\nreturn f()", "nested more than 60"),
                ("return Array.from({length: 1e5}, (_, i) => new Proxy([], {get: (t, k) => k === 'length' ? 4e9 : 1}))", "bytes of JSON")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertIn(words, end.error or "no error")
                self.assertEqual(end.status, 1)

    def test_what_is_nested_too_deep_is_told(self):
        end = self.run_code("let a = 1; for (let i = 0; i < 70; i++) a = [a, i]\na")
        self.assertIn("[Array]", end.value)
        self.assertIn("nested more than 60 deep: the result is a text that shows a part of it", end.stderr)


class Promises(FormsTest):
    def test_promises_in_the_answer_are_awaited(self):
        self.check_alone(
            ("[1, 2].map(async (x) => x * 2)", [2, 4]), ("result = {a: Promise.resolve(1), b: [utils.sleep(5).then(() => 2)]}",
                                                         {"a": 1, "b": [2]}),
            ("result = Promise.resolve([Promise.resolve(5)])", [5]), ("return [Promise.resolve(undefined)]", [None]),
            ("(async function* () { yield 1; await utils.sleep(5); yield 2 })()", [1, 2]),
            ("const list = []; [1, 2].forEach(async (x) => { await utils.sleep(5); list.push(x) })\nresult = list", [1, 2]))

    def test_a_promise_of_the_answer_that_never_settles_is_an_error(self):
        for code in ("new Promise(() => {})", "async function main() { await new Promise(() => {}) }\nmain()",
                     "result = new Promise(() => {})", "[1, new Promise(() => {})]"):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.error, end.value, end.status), (f"Error: {NEVER}", None, 1))

    def test_a_promise_that_is_rejected_is_the_error_of_the_program(self):
        end = self.run_code("[1].map(async () => { throw new RangeError('mine') })")
        self.assertEqual((end.error, end.value), ("RangeError: mine", None))

    def test_a_promise_that_comes_after_the_end_is_a_text_and_the_agent_is_told(self):
        end = self.run_code("setTimeout(() => { result = [Promise.resolve(1)] }, 5)")
        self.assertEqual(end.value, ["Promise { 1 }"])
        self.assertIn("await Promise.all(list)", end.stderr)


class Steps(FormsTest):
    def test_a_step_keeps_what_an_answer_takes_and_tells_another_form(self):
        def answer(call):
            result = {"recorded": 0, "run": "r", "state": "new"} if call["name"] == "step_begin" else {}
            return [{"type": "reply", "id": call["id"], "result": result}]

        for code, text in (("[NaN, 10n]", '["NaN",10]'), ("new Map([['b', new Date(0)], [1, 2]])", '{"b":"1970-01-01T00:00:00.000Z","1":2}'),
                           ("new Set([1])", "[1]"), ("({a: undefined, b: 1})", '{"b":1}')):
            with self.subTest(code=code):
                end = self.run_code(f"return await warder.workflow('w').step('s', () => {code})", answer)
                self.assertEqual([call["arguments"].get("value") for call in end.calls if call["name"] == "step_end"], [text])
                self.assertEqual((end.error, end.value), (None, json.loads(text)))
                self.assertEqual(end.stderr, f"warder: step 's' returns its value in the form that JSON has for it: {text}\n")
        for code in ("[1, 'a', null, {b: 1.5}]", "undefined"):
            self.assertEqual(self.run_code(f"await warder.workflow('w').step('s', () => ({code}))", answer).stderr, "")


class Sessions(FormsTest):
    def test_the_answers_of_a_session_are_the_same(self):
        runner = self.start()
        runner.receive()
        for code, value in (("[1].map(async (x) => x)", [1]), ("result = Promise.resolve(2)", 2), ("1", 1),
                            ("(async function* () { yield 3 })()", [3])):
            runner.send(self.order(code, session=True))
            self.assertEqual(runner.receive().get("value"), value)
        for code in ("new Promise(() => {})", "[new Promise(() => {})]"):
            runner.send(self.order(code, session=True))
            self.assertIn(NEVER, runner.receive()["error"])


if __name__ == "__main__":
    unittest.main()
