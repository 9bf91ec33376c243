"""Orders of one session in the JavaScript runner: what stays between them, what each answers for itself."""
import os
import unittest

from driver import BOUND, echo
from sessions import SessionTest


class Case(SessionTest):
    language = "javascript"


class State(Case):
    def test_every_kind_of_name_stays(self):
        self.value_of("let a = 1, none; const b = [2], {c, d: [e], ...rest} = {c: 3, d: [4], f: 5}\nvar g = 6\n"
                      "function h(x) { return x + a }\nasync function i() { return 'async' }\nclass K { m() { return 'm' } }\n"
                      "import path, {sep} from 'path'\nimport * as os from 'os'\nundeclared = 7\n"
                      "for (var v = 0; v < 3; v++);\nif (true) { var w = 8 }\nexport const x = 9")
        self.assertEqual(self.value_of("[a, none, b, c, e, rest, g, h(1), await i(), new K().m(), sep, path.sep, typeof os.cpus,"
                                       " undeclared, v, w, x, h.name]"),
                         [1, None, [2], 3, 4, {"f": 5}, 6, 2, "async", "m", "/", "/", "function", 7, 3, 8, 9, "h"])

    def test_names_are_declared_anew_and_functions_see_it(self):
        self.value_of("const rate = 1; let n = 1; function f() { return rate + n }; class C {}")
        self.assertEqual(self.value_of("const rate = 10; n++\nf()"), 12)
        self.assertEqual(self.value_of("function f() { return 'new' }\nlet rate, C = 5;\n[f(), rate ?? null, C]"), ["new", None, 5])
        self.assertEqual(self.value_of("var n\nn"), 2, "a `var` without a value keeps it")

    def test_a_constant_is_one_until_it_is_declared_anew(self):
        for code in ("const a = 1\na = 2", "const [b, {c}] = [1, {c: 2}]\n;({c} = {c: 3})", "const d = 1; d++", "const e = 1; [e] = [2]",
                     "const f = 1; function set() { f += 1 }\nset()", "const g = 1; for (g of [2]);", "import path from 'path'\npath = 1",
                     "const h = 1; { let i = 2; h = i }", "const j = {}; ({k: j = 2, ...rest} = {})"):
            with self.subTest(code=code):
                self.assertIn("TypeError: Assignment to constant variable.; declare a variable that changes with `let`", self.ask(code)["error"])
        self.assertEqual(self.value_of("[a, b, c, d, e, f, h]"), [1, 1, 2, 1, 1, 1, 1])
        self.assertIn("<execution 11>:1:14", self.ask("let m = 1; a = 2")["traceback"])
        for code, value in (("const a = 5\na", 5), ("let a = 6; a++; a", 7), ("const a = 8; a", 8), ("var a; a = 9; a", 9)):
            self.assertEqual(self.value_of(code), value)
        self.value_of("const result = 1")
        self.assertEqual(self.value_of("result = 2"), 2)

    def test_a_constant_hides_nothing_that_is_named_alike(self):
        self.value_of("const a = 1, b = {a: 0}")
        self.assertEqual(self.value_of(
            "b.a = 2; { let a = 3; a = 4 }\nfunction f(a) { a = 5; return a }\nconst g = ([a]) => { a++; return a }\n"
            "function h() { for (var a = 0; a < 3; a++); return a }\ntry { throw 1 } catch (a) { a = 6 }\n"
            "for (let a = 0; a < 2; a++);\nclass K { a = 7; set(v) { this.a = v; return this.a } }\n"
            "[a, b.a, f(), g([1]), h(), new K().set(8)]"), [1, 2, 5, 2, 3, 8])

    def test_a_constant_that_was_not_reached_is_none(self):
        self.value_of("let a = 1")
        self.assertIn("TypeError", self.ask("null.x\nconst a = 2, b = 3")["error"])
        self.assertEqual(self.value_of("b = 4; a = 5; [a, b]"), [5, 4])
        self.value_of("const c = 6")
        self.assertEqual(self.value_of("c = 8; c", context_vars={"c": 7}), 8)

    def test_a_function_is_there_before_its_place(self):
        self.assertEqual(self.value_of("const x = early()\nfunction early() { return 'hoisted' }\nx"), "hoisted")

    def test_awaits_and_modules_stay(self):
        self.value_of("const data = await Promise.resolve([1]); const m = new Map([['a', data]])")
        self.assertEqual(self.value_of("data.push(await 2); m.get('a')"), [1, 2])

    def test_an_error_and_an_exit_keep_what_there_is(self):
        self.value_of("let x = 1")
        got = self.ask("x = 2\nnull.y\nlet z = 3")
        self.assertEqual((got["error"][:9], got["status"]), ("TypeError", 1))
        self.assertIn("<execution 2>:2:6", got["traceback"])
        self.assertIn("z is not defined", self.ask("z")["error"])
        got = self.ask("x += 1\nprocess.exit(4)\nx = 0")
        self.assertEqual((got["exit"], got["status"]), (4, 4))
        self.assertIn("SyntaxError", self.ask("let let = = 1")["error"])
        self.assertEqual(self.value_of("x"), 3)

    def test_an_error_in_a_function_of_another_order_shows_its_line(self):
        self.value_of("function deep() {\n  null.x\n}")
        traceback = self.ask("\ndeep()")["traceback"]
        self.assertIn("at deep (<execution>:2:8)\n        null.x", traceback)
        self.assertIn("at <execution 2>:2:1\n        deep()", traceback)

    def test_names_that_node_uses_may_be_taken(self):
        self.value_of("const crypto = require('crypto'); const URL = 'http://x'; function process(x) { return x + 1 }; let JSON5 = 1")
        self.assertEqual(self.value_of("[typeof crypto.createHash, URL, process(1)]"), ["function", "http://x", 2])
        self.assertEqual(self.value_of("const console2 = console, Buffer = 5\nBuffer"), 5)
        self.assertEqual(self.value_of("await callMCPTool('a__b').catch(e => 'failed')", answer=echo), None)

    def test_context_vars_are_variables_of_the_session(self):
        self.assertEqual(self.value_of("rows.length", context_vars={"rows": [1, 2]}), 2)
        self.assertEqual(self.value_of("rows[1]"), 2)
        self.assertEqual(self.value_of("const rows = [5]\nrows[0]", context_vars={"rows": []}), 5)


class Answers(Case):
    def test_result_answers_the_order_that_sets_it(self):
        self.assertEqual(self.value_of("result = 1\n2"), 1)
        self.assertEqual(self.value_of("3"), 3)
        self.assertEqual(self.value_of("const result = 1"), 1)
        self.assertIsNone(self.value_of("let other = 4"))
        self.assertEqual(self.value_of("return 5"), 5)
        self.assertEqual(self.value_of("result"), 1)

    def test_what_is_started_and_not_awaited_is_part_of_an_order(self):
        self.assertEqual(self.value_of("setTimeout(() => { result = 'late' }, 20)"), "late")
        self.assertIn("RangeError: floating", self.ask("setTimeout(() => { throw new RangeError('floating') }, 1)")["error"])
        self.assertIn("a promise that can never settle", self.ask("await new Promise(() => {})")["error"])
        self.assertEqual(self.value_of("1"), 1)

    def test_what_never_ends_does_not_keep_an_answer(self):
        self.assertEqual(self.value_of("let ticks = 0; const timer = setInterval(() => ticks++, 1)\n'started'"), "started")
        self.assertGreater(self.value_of("await utils.sleep(20)\nticks"), 1)
        self.assertEqual(self.value_of("clearInterval(timer)\n'stopped'"), "stopped")

    def test_calls_work_in_every_order(self):
        for n in range(3):
            self.assertEqual(self.value_of(f"await warder.call('x', {{n: {n}}})"), {"n": n})

    def test_calls_that_wait_when_an_order_is_answered_fail(self):
        self.value_of("let told; warder.call('slow').catch(e => { told = e.code })\n0", answer=lambda call: [])
        self.assertEqual(self.value_of("told"), "cancelled")

    def test_a_session_ends_when_nobody_wants_it(self):
        self.value_of("1")
        self.runner.send({"type": "cancel"})
        self.assertEqual(self.runner.process.wait(BOUND), 0)


class ChangedModules(Case):
    def errors(self):
        self.runner.err.seek(0)
        return self.runner.err.read().decode()

    def test_a_module_that_has_changed_is_loaded_again(self):
        self.write("m.js", "exports.V = 1; exports.f = () => 1")
        self.write("user.js", "exports.of = require('./m.js').V")
        self.write("n.mjs", "export const V = 1")
        self.value_of("const m = require('./m.js'), {of} = require('./user'), {f} = m\nconst {V} = await import('./n.mjs')")
        self.assertEqual(self.value_of("[require('./m.js') === m, of, V]"), [True, 1, 1])
        self.write("m.js", "exports.V = 22; exports.f = () => 22")
        self.write("n.mjs", "export const V = 22")
        self.assertEqual(self.value_of("[m.V, f(), require('./m.js').V, require('./user').of, (await import('./n.mjs')).V]"),
                         [1, 1, 22, 22, 22])
        self.assertIn("warder: m.js, or a file that it requires, has changed since it was loaded: load it again; until then m, f are",
                      self.errors())
        self.assertEqual(self.value_of("const m = require('./m.js')\nimport {V as W} from './n.mjs'\n[m.V, W]"), [22, 22])
        self.assertEqual(self.errors().count("load it again"), 1)
        os.unlink(os.path.join(self.workspace, "m.js"))
        self.assertIn("Cannot find module", self.ask("require('./m.js')")["error"])


class TypeScript(Case):
    language = "typescript"

    def test_typed_names_stay(self):
        self.value_of("interface A { x: number }\nlet a: A = {x: 1}\nenum Color { Red, Green }\n"
                      "function f<T>(v: T): T[] { return [v] }\nimport fs from 'fs'\nclass P { constructor(public y: number) {} }")
        self.assertEqual(self.value_of("a = {x: 2} as any\n[a, Color.Green, f<number>(3), typeof fs.statSync, new P(5).y]"),
                         [{"x": 2}, 1, [3], "function", 5])


if __name__ == "__main__":
    unittest.main()
