"""Programs as models write them for the JavaScript runner: last expressions, imports, and mistakes that have a remedy."""
import base64
import os
import unittest

from driver import GuestTest, echo

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 20


class JavaScriptTest(GuestTest):
    language = "javascript"

    def check_values(self, *table, **fields):
        for code, value in table:
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code, **fields), value)

    def check_errors(self, *table):
        for code, words in table:
            with self.subTest(code=code):
                self.assertIn(words, self.run_code(code).error or "no error")


class LastExpressions(JavaScriptTest):
    def test_the_value_of_the_last_expression_is_the_answer(self):
        self.check_values(
            ("1 + 1", 2), ("const f = () => 'called'\nf()", "called"), ("[1, 2].map(x => x * 2)", [2, 4]),
            ("await Promise.resolve('awaited')", "awaited"), ("Promise.resolve('not awaited')", "not awaited"),
            ("const p = Promise.resolve(5)\np;  // a comment", 5), ("let x = 1\nx += 4", 5), ("({a: 1})", {"a": 1}),
            ("const a = 1\n{a, b: 2}", {"a": 1, "b": 2}), ("const a = 1\n;[a, 2]", [1, 2]), ("'text';;", "text"),
            ("`a\n${1}`", "a\n1"), ("async () => 1", "[AsyncFunction (anonymous)]"), ("a = 5, 6", 6),
            ("async function main() { return 'main' }\nmain()", "main"), ("(async () => 'own')()", "own"),
            ("if (1 > 0) { 'yes' } else { 'no' }", "yes"), ("try { nothing } catch (e) { e.name }", "ReferenceError"),
            ("for (const x of [1]) x", None), ("console.log(1)", None), ("const x = 5", None), ("null", None))

    def test_what_is_said_to_be_the_answer_comes_before_the_last_expression(self):
        self.check_values(("result = 1\n2", 1), ("const result = [1]\nresult.push(2)", [1, 2]),
                          ("if (true) return 3\n4", 3), ("let result\n5", 5))

    def test_keys_keep_their_order(self):
        end = self.run_code("({z: 1, y: 2, a: {c: 1, b: 2}})")
        self.assertEqual(list(end.value), ["z", "y", "a"])
        self.assertEqual(list(end.value["a"]), ["c", "b"])

    def test_a_last_expression_that_starts_something_is_no_answer(self):
        self.check_values(("setTimeout(() => {}, 1)", None), ("setImmediate(() => {})", None),
                          ("require('http').createServer()", None))
        end = self.run_code("const a = {n: 1}; a.self = a\na")
        self.assertIn("self: [Circular", end.value)
        self.assertIn("contains itself: an object is among its own members: the result is a text", end.stderr)
        self.assertIn("contains itself", self.run_code("const a = {}; a.self = a\nreturn a").error)

    def test_values_of_every_kind(self):
        self.check_values(
            ("new Map([['b', 1], ['a', 2]])", {"b": 1, "a": 2}), ("new Set([3, 1])", [3, 1]), ("10n", 10),
            ("new Map([[1, 2]]).keys()", [1]), ("[5].values()", [5]), ("new Float32Array([0.5])", [0.5]),
            ("new Date(0)", "1970-01-01T00:00:00.000Z"), ("undefined", None), ("[undefined]", [None]),
            ("class P { constructor() { this.x = 1 } }\nnew P()", {"x": 1}), ("({f() {}})", {"f": "[Function: f]"}),
            ("Buffer.from('text')", "text"), ("console.table([{a: 1}])", None))

    def test_bytes_of_a_picture_are_a_picture(self):
        data = base64.b64encode(PNG).decode()
        for code in (f"Buffer.from('{data}', 'base64')", f"new Uint8Array(Buffer.from('{data}', 'base64'))"):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).images, [{"mime": "image/png", "data": data}])

    def test_columns_and_lines_of_errors_are_the_agents(self):
        end = self.run_code("const {sep} = 1\nimport p from 'path'\nawait import('fs'), null.x")
        self.assertIn("<execution>:3:26\n", end.traceback)
        self.assertIn("await import('fs'), null.x", end.traceback)


class Imports(JavaScriptTest):
    def test_imports_work_beside_awaits_and_a_last_expression(self):
        self.write("lib.mjs", "export const answer = 43; export default 'd'")
        self.write("lib.js", "module.exports = {hidden: 1, ...{more: 2}}")
        self.write("data.json", '{"a": 1}')
        self.check_values(
            ("import path from 'path'\npath.sep", "/"), ("import * as path from 'node:path';\npath.sep", "/"),
            ("import {sep, basename as base} from 'path'\n[sep, base('/a/b')]", ["/", "b"]),
            ("import path, {sep} from 'path'\npath.sep === sep", True), ("import 'path'\n1", 1),
            ("import path, * as all from 'path'\nall.default === path", True),
            ("console.log(sep)\nimport {sep} from 'path'", None),
            ("import d, {answer} from './lib.mjs'\nconst x = await Promise.resolve(answer);\n[d, x]", ["d", 43]),
            ("import {hidden, more} from './lib.js'\n[hidden, more]", [1, 2]),
            ("import data from './data.json'\ndata", {"a": 1}),
            ("const {sep} = await import('path')\nsep", "/"), ("(await import('./lib.mjs')).answer", 43),
            ("typeof import.meta.url", "string"), ("import {readFile} from 'fs/promises'\ntypeof readFile", "function"))

    def test_exports_of_a_program_are_what_they_export(self):
        self.check_values(("export const x = 1\nx", 1), ("export default function f() { return 2 }\nf()", 2),
                          ("export default {a: 1}", {"a": 1}), ("const a = 1; export {a}\na", 1),
                          ("export const x = 5, {y} = {y: 2} // z\nexport function f() {}", {"x": 5, "y": 2}),
                          ("const a = 1; export {a as b}", {"b": 1}), ("export const result = 3", 3), ("export function f() {}", None),
                          ("export default function () {}\n3", 3), ("module.exports = {a: 1}", {"a": 1}))

    def test_a_module_that_is_not_there_is_told_with_what_there_is(self):
        self.check_errors(
            ("import absent from 'absent-package'", "'absent-package' is not installed and cannot be: this jail has no network"),
            ("require('absent-package')", "not installed"), ("await import('absent-package')", "not installed"),
            ("import x from 'https://deno.land/x'", "no network"), ("import x from 'npm:chalk'", "no network"),
            ("import {nope} from 'path'", "'path' has no export 'nope'"),
            ("import {basenam} from 'path'", "did you mean 'basename'?"),
            ("import x from './none.js'", "relative to the workspace"))
        self.write("esm.js", "export const a = 1")
        end = self.run_code("import {a} from './esm.js'\na")
        self.assertTrue(end.value == 1 or ".mjs" in end.error, end)  # a newer node finds out what the file is
        self.assertNotIn("Require stack", self.run_code("require('absent-package')").error)

    def test_skills_are_imported_by_every_spelling(self):
        self.write("skills/twice.js", "module.exports = {twice: (n) => 2 * n}")
        self.check_values(("import {twice} from 'skills/twice'\ntwice(2)", 4),
                          ("import * as t from 'skills/twice'\nt.twice(2)", 4),
                          ("import t from './skills/twice.js'\nt.twice(2)", 4),
                          ("(await import('skills/twice')).twice(2)", 4), ("require('skills/twice').twice(2)", 4))


class Mistakes(JavaScriptTest):
    def test_typographic_characters_and_fences_are_told(self):
        self.check_errors(("const s = \u201ca\u201d", "write plain quotes"), ("x = 1 \u00d7 2", "write plain quotes"),
                          ("const x = (\n```js\n1\n```", "leave out the fences"))

    def test_typescript_that_is_called_javascript_runs(self):
        self.check_values(("interface A { x: number }\nconst a: A = {x: 1}\na.x", 1),
                          ("enum Color { Red, Green }\nColor.Green", 1),
                          ("const f = (a: string): string => a + '!'\nreturn f('x')", "x!"))

    def test_another_language_is_told(self):
        self.check_errors(("import json\nprint(json.dumps({}))", 'language="python"'), ("def f(x):\n    return x", 'language="python"'),
                          ("for x in range(3):\n    print(x)", 'language="python"'), ("print('x')", "console.log"),
                          ("ls -la /tmp", 'language="shell"'), ("npm install lodash", 'language="shell"'))

    def test_what_other_engines_have_is_told(self):
        self.check_errors(("await Deno.readTextFile('x')", "Node.js"), ("Bun.file('x')", "Node.js"),
                          ("document.title", "not a browser"), ("const x = prompt('name')", "context_vars"))

    def test_a_return_and_an_exit_at_the_top_are_fine(self):
        self.check_values(("return await Promise.resolve(1)", 1))
        end = self.run_code("console.log('x'); process.exit(0)")
        self.assertEqual((end.status, end.error, end.stdout), (0, None, "x\n"))

    def test_a_failed_fetch_says_why(self):
        end = self.run_code("await fetch('http://127.0.0.1:9/')")
        self.assertRegex(end.error, "fetch failed: .")
        code = "const e = new TypeError('fetch failed'); e.cause = Object.assign(new Error('getaddrinfo EAI_AGAIN a.b'), {code: 'EAI_AGAIN'})\nthrow e"
        self.assertIn("EAI_AGAIN a.b; this jail has no network", self.run_code(code).error)


if __name__ == "__main__":
    unittest.main()
