"""What the JavaScript runner promises to the code it runs and to the supervisor."""
import base64
import json
import os
import signal
import subprocess
import unittest

from driver import GUEST, GuestTest, OrderTests, echo, not_found


class JavaScriptTest(GuestTest):
    language = "javascript"


class Warm(unittest.TestCase):
    def test_a_warm_runner_has_drawn_no_random_number(self):
        """The first call of Math.random() fixes a context's numbers: in a zygote, those of all copies."""
        count = """
            let calls = 0;
            const {random} = Math;
            Math.random = () => { calls++; return random(); };
            require(process.argv[1] + '/javascript/life.js').warm(() => {
              require('fs').writeSync(1, String(calls));
              process.reallyExit(0);
            });"""
        drawn = subprocess.run(["/usr/bin/node", "--no-warnings", "--experimental-vm-modules", "-e", count, GUEST],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual((drawn.stdout, drawn.stderr), ("0", ""))


class Reads(JavaScriptTest):
    def test_what_is_read_of_the_workspace_is_told(self):
        self.write("text", "é" * 50_000)
        for code in ("await fs.readFile('text')", "fs.readFileSync('text', 'utf8')", "require('fs').readFileSync('text')",
                     "await require('fs/promises').readFile(process.cwd() + '/text')",
                     "await new Promise((done) => fs.readFile('text', done))",
                     "await new Promise((done) => require('fs').readFile('text', 'utf8', done))"):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).message.get("read_bytes"), 100_000)
        for code in ("fs.readFileSync('/etc/passwd')", "await fs.writeFile('new', 'x')", "fs.existsSync('text')"):
            with self.subTest(code=code):
                self.assertNotIn("read_bytes", self.run_code(code).message)
        self.assertIn("ENOENT", self.run_code("await fs.readFile('none')").error)
        self.assertIn("ERR_INVALID_ARG_TYPE", self.run_code("require('fs').readFile('text')").error)


class Answers(JavaScriptTest):
    def test_the_answer_is_what_is_returned_or_the_variable_result(self):
        for code, value in (
                ("return 1 + 1", 2), ("result = 'undeclared'", "undeclared"), ("let result = [1]", [1]),
                ("const result = {a: 1}", {"a": 1}), ("var result = 5; return", 5), ("result = 1; return 2", 2),
                ("return await Promise.resolve('awaited')", "awaited"), ("return Promise.resolve(3)", 3),
                ("result = 0; setTimeout(() => { result = 'late' }, 20)", "late"),
                ("async function main() { await utils.sleep(20); result = 'floating' }\nmain()", "floating"),
                ("return 7 // a comment at the end", 7), ("return null", None)):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), value)
        for code in ("", "return", "return undefined", "if (true) return\nlet result = 1"):
            with self.subTest(code=code):
                self.assertEqual(self.run_code(code).message, {"type": "result"})

    def test_values_become_json_that_any_parser_reads(self):
        for code, value in (
                ("[1.5, 'a', null, true, undefined]", [1.5, "a", None, True, None]),
                ("({a: undefined, b: 1, '__proto__x': 2, toString: 3})", {"b": 1, "__proto__x": 2, "toString": 3}),
                ("JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}),
                ("[NaN, Infinity, -Infinity]", ["NaN", "Infinity", "-Infinity"]),
                ("[5n, 2n ** 64n]", [5, 2**64]),
                ("new Map([['a', 1], [2, new Set([3])]])", {"a": 1, "2": [3]}),
                ("new Map([[{k: 1}, 2]])", [[{"k": 1}, 2]]),
                ("new Map([[1, 'a'], ['1', 'b']])", [[1, "a"], ["1", "b"]]),
                ("[new Date(0), new Date(NaN)]", ["1970-01-01T00:00:00.000Z", "Invalid Date"]),
                ("[Buffer.from('é'), Buffer.from([255, 0])]", ["é", {"base64": "/wA="}]),
                ("new Uint16Array([1, 2])", [1, 2]), ("new DataView(new Uint8Array([1, 97, 98]).buffer, 1)", "ab"),
                ("[new Error('e'), /x/g]", ["Error: e", "/x/g"]),
                ("({toJSON() { return {via: 'toJSON'} }})", {"via": "toJSON"}),
                ("new (class P { x = 1; #y = 2; m() {} })", {"x": 1}), ("Object('boxed')", "boxed"),
                ("[new URL('http://a/b')]", ["http://a/b"]),
                ("(() => { const s = [1]; return [s, s] })()", [[1], [1]])):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(f"return {code}"), value)

    def test_whole_numbers_of_any_size_come_and_go_with_all_digits(self):
        given = {"id": 1917043659912705297, "small": 2**53 - 1, "large": [10**4000, -2**70], "text": "1917043659912705297"}
        end = self.run_code("return [id + 1n, typeof small, large, text, context_vars, 5n, -(2n ** 64n), -0]", context_vars=given)
        self.assertEqual(end.value, [1917043659912705298, "number", given["large"], given["text"], given, 5, -2**64, 0])
        self.assertEqual(end.stderr, "")

    def test_a_call_s_arguments_and_answer_keep_their_digits(self):
        def answer(call):
            self.assertEqual(call["arguments"], {"n": 2**70, "m": 2**53 + 1})
            return [{"type": "reply", "id": call["id"], "result": {"n": 2**80, "x": 1.5}}]
        end = self.run_code("const a = await warder.call('f', {n: 2n ** 70n, m: BigInt(2 ** 53) + 1n}); return [a.n * 2n, a.x]", answer=answer)
        self.assertEqual(end.value, [2**81, 1.5])

    def test_a_decimal_that_a_number_does_not_hold_is_noted(self):
        order = json.dumps(self.order("return [a, String(b), c, d, s]")).replace(
            '"context_vars": {}', '"context_vars": {"a": 3.14159265358979323846, "b": 1e400, "c": 0.30000000000000004, '
            '"d": -1476811678847019.2, "s": "3.14159265358979323846"}')
        runner = self.start()
        runner.receive()
        runner.send(order.encode())
        end = runner.end()
        self.assertEqual(end.value, [3.141592653589793, "Infinity", 0.30000000000000004, -1476811678847019.2, "3.14159265358979323846"])
        self.assertEqual(end.stderr.splitlines(), [
            "warder: 3.14159265358979323846 is not held by a number: here it is 3.141592653589793; send it as a text to keep its digits",
            "warder: 1e400 is not held by a number: here it is Infinity; send it as a text to keep its digits"])

    def test_of_a_number_in_the_middle_the_even_decimal_is_held_as_in_python(self):
        long = "2.3909286783871251894728743342324027531946870148843453662834690476302057504653930664"  # shown to 60 characters
        for held, other in (("272743151678066.0312", "272743151678066.0313"), ("0.5", "0.6"),
                            ("26791149893542.257812", "26791149893542.257813"), ("1476811678847019.8", "1476811678847019.7"),
                            (long + "062e-15", long + "063e-15")):
            with self.subTest(held=held):
                order = json.dumps(self.order("return 1")).replace('"context_vars": {}', f'"context_vars": {{"a": {held}, "b": {other}}}')
                runner = self.start()
                runner.receive()
                runner.send(order.encode())
                noted = [other if len(other) <= 60 else other[:60] + "..."] if len(held) > 3 else []
                self.assertEqual([line.split()[1] for line in runner.end().stderr.splitlines()], noted)

    def test_what_has_no_json_form_becomes_its_text_and_says_so(self):
        for code, value, kind in (("10n ** 5000n", "1" + "0" * 5000, "bigint"), ("function f() {}", "[Function: f]", "function"),
                                  ("Symbol('s')", "Symbol(s)", "symbol"), ("/x/", "/x/", "RegExp"),
                                  ("new TypeError('t')", "TypeError: t", "TypeError")):
            with self.subTest(code=code):
                end = self.run_code(f"return {code}")
                self.assertEqual((end.value, end.value_type), (value, kind))

    def test_an_answer_that_cannot_be_sent_is_an_error_with_a_remedy(self):
        for code, words in (
                ("const a = {}; a.b = [a]; return a", "contains itself"),
                ("return 'x'.repeat(2e6)", "more than 1000000 bytes"),
                ("return Array(10000).fill('\"'.repeat(90))", "more than 1000000 bytes"),
                ("let x = []; for (let i = 0; i < 1000; i++) x = [x]; return x", "nested more than 60"),
                ("return {get a() { throw new Error('mine') }}", "Error: mine")):
            with self.subTest(code=code):
                end = self.run_code(code, max_message=1_000_000)
                self.assertIn(words, end.error)
                self.assertIn("write it to a file in the workspace", end.error)
                self.assertEqual((end.status, end.value), (1, None))

    def test_a_result_larger_than_a_message_comes_in_parts(self):
        stored = lambda call: [{"type": "reply", "id": call["id"], "result": None}]
        for code, form, whole in (("return 'x\\u20ac\\n'.repeat(9000)", "text", "x\u20ac\n" * 9000),
                                  ("return 'a' + '\\u{1f600}'.repeat(9000)", "text", "a" + "\U0001f600" * 9000),
                                  ("return Array.from({length: 2000}, (_, n) => [n, '\\u20ac'])", "json", [[n, "\u20ac"] for n in range(2000)])):
            with self.subTest(code=code):
                end = self.run_code(code, stored, max_message=10_000, max_kept=100_000)
                self.assertEqual((end.message.get("kept"), end.error, end.status), (form, None, 0))
                self.assertNotIn("value", end.message)
                self.assertEqual({call["name"] for call in end.calls}, {"keep_value"})
                text = "".join(call["arguments"]["part"] for call in end.calls)
                self.assertEqual(json.loads(text) if form == "json" else text, whole)
                self.assertLess(max(len(json.dumps(call)) for call in end.calls), 25_000)
        full = lambda call: [{"type": "reply", "id": call["id"], "error": {"code": "exhausted", "message": "no room"}}]
        end = self.run_code("return 'x'.repeat(50000)", full, max_message=10_000, max_kept=100_000)
        self.assertIn("no room", end.error)
        self.assertEqual(end.status, 1)

    def test_a_large_answer_travels_in_parts(self):
        self.assertEqual(len(self.value_of("return 'é'.repeat(1e6)")), 1_000_000)

    def test_a_png_as_the_answer_is_an_image(self):
        png = b"\x89PNG\r\n\x1a\n" + b"x" * 20
        end = self.run_code(f"return Buffer.from('{base64.b64encode(png).decode()}', 'base64')")
        self.assertEqual(end.message, {"type": "result",
                                       "images": [{"mime": "image/png", "data": base64.b64encode(png).decode()}]})


class Names(JavaScriptTest):
    def test_require_and_import_reach_node_and_the_workspace(self):
        self.write("lib.js", "module.exports = {answer: 42}")
        self.write("lib.mjs", "export const answer = 43")
        self.write("node_modules/pack/index.js", "exports.name = 'pack'")
        self.assertEqual(self.value_of(
            "const fs = require('fs'), path = require('node:path')\n"
            "const {readFile} = await import('node:fs/promises')\n"
            "return [require('./lib').answer, (await import('./lib.mjs')).answer, require('pack').name,"
            " (await import('pack')).default.name, typeof readFile, fs.existsSync('lib.js'), path.basename(__filename),"
            " process.cwd(), __dirname, typeof module.exports, process.argv[1]]"),
            [42, 43, "pack", "pack", "function", True, "execution.js", self.workspace, self.workspace, "object",
             "<execution>"])

    def test_code_may_declare_any_name(self):
        self.assertEqual(self.value_of("const fs = 1, utils = 2, path = 3, callMCPTool = 4\n"
                                       "const context_vars = 5, data = 6\n"
                                       "return [fs, utils, path, callMCPTool, context_vars, data]",
                                       context_vars={"data": 0}), [1, 2, 3, 4, 5, 6])

    def test_context_vars_are_variables(self):
        self.assertEqual(self.value_of("rows.push(3); $x += 1\n"
                                       "return [rows, $x, é, context_vars['not a name'], context_vars.class]",
                                       context_vars={"rows": [1, {"a": None}], "$x": 1, "é": 2, "not a name": 3,
                                                     "class": 4}),
                         [[1, {"a": None}, 3], 2, 2, 3, 4])

    def test_context_vars_may_have_any_name_that_a_variable_can_have(self):
        for name in ("fs", "utils", "callMCPTool", "require", "console", "process", "JSON", "name", "module", "Map",
                     "arguments", "warder", "fetch", "exports", "async", "of", "get", "Buffer", "date", "id"):
            with self.subTest(name=name):
                self.assertEqual(self.value_of(f"{name}.length", context_vars={name: "four"}), 4)
        self.assertEqual(self.value_of("result + 1", context_vars={"result": 1}), 2)
        self.assertEqual(self.value_of("result = 'own'", context_vars={"result": 1}), "own")
        self.assertIsNone(self.value_of("let x", context_vars={"result": 1}), "what was given is no answer")
        self.assertEqual(self.value_of("context_vars.context_vars", context_vars={"context_vars": 5}), 5)

    def test_a_context_variable_that_is_no_name_is_found_in_the_dictionary_and_the_error_says_so(self):
        for name in ("my-var", "my-rows", "class", "2nd"):
            with self.subTest(name=name):
                self.assertIn(f'context_vars["{name}"]', self.run_code(f"{name} + 1", context_vars={name: 1}).error)
                self.assertEqual(self.value_of(f"context_vars['{name}']", context_vars={name: 1}), 1)

    def test_fs_reaches_the_workspace_by_either_spelling(self):
        self.assertEqual(self.value_of(
            "const wrote = await fs.writeFile('a/b.txt', 'één')\n"
            "await fs.writeFile('/workspace/c.txt', 'c'); await fs.appendFile('workspace/c.txt', 'd')\n"
            "const seen = [wrote, await fs.readFile('a/b.txt'), await fs.readFile('/workspace/a/b.txt'),"
            " await fs.readFile(process.cwd() + '/c.txt'), await fs.readdir(), await fs.listFiles('/workspace/a'),"
            " await fs.exists('a'), await fs.exists('none'), (await fs.stat('c.txt')).size,"
            " fs.readFileSync('c.txt', 'utf8'), await new Promise(r => fs.readFile('c.txt', (e, d) => r(String(d))))]\n"
            "await fs.deleteFile('c.txt'); await fs.rename('a/b.txt', 'a/d.txt'); seen.push(await fs.readdir('a'))\n"
            "return seen"),
            [True, "één", "één", "cd", ["a", "c.txt"], ["b.txt"], True, False, 2, "cd", "cd", ["d.txt"]])
        for code, words, number in (("await fs.readFile('../x')", "outside the workspace, '../x'", 13),
                                    ("await fs.readFile('/etc/passwd')", "outside the workspace", 13),
                                    ("await fs.readFile('none')", "ENOENT", 2),
                                    ("await fs.readFile('/skills/none')", "open '/skills/none'", 2),
                                    ("await fs.readFile('skills/none')", "open '/skills/none'", 2)):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertIn(words, end.error)
                self.assertEqual((end.errno, end.status), (number, 1))
        os.mkdir(f"{self.workspace}/skills")
        self.assertIn(f"open '{self.workspace}/skills/none'", self.run_code("await fs.readFile('skills/none')").error)

    def test_utils(self):
        end = self.run_code("const t = Date.now(); await utils.sleep(30)\n"
                            "return [Date.now() - t >= 29, utils.parseJSON('[1]'), utils.parseJSON('{'),"
                            " utils.timestamp().length]")
        self.assertEqual(end.value, [True, [1], None, 24])
        self.assertIn("utils.parseJSON: ", end.stderr)


class Output(JavaScriptTest):
    def test_both_streams_are_written_whole_and_in_order(self):
        end = self.run_code("console.log('a', {b: 1}); process.stdout.write('no newline'); console.error('err');"
                            "require('child_process').execSync('echo sub', {stdio: 'inherit'}); console.log('é')")
        self.assertEqual((end.stdout, end.stderr), ("a { b: 1 }\nno newlinesub\né\n", "err\n"))
        end = self.run_code("for (let i = 0; i < 20000; i++) console.log(i)\n"
                            "console.log('x'.repeat(3e6)); process.exit(0)")
        self.assertEqual(end.stdout, "".join(f"{i}\n" for i in range(20000)) + "x" * 3_000_000 + "\n")

    def test_a_pipe_that_is_read_slowly_gets_all_of_it(self):
        reading, writing = os.pipe()
        runner = self.start(stdout=writing)
        os.close(writing)
        runner.receive()
        runner.send(self.order("console.log('x'.repeat(1e6)); process.exit(0)"))
        with open(reading, "rb") as pipe:
            self.assertEqual(len(pipe.read(1_000_001)), 1_000_001)
            self.assertEqual(runner.end().exit, 0)
            self.assertEqual(pipe.read(), b"")

    def test_programs_started_by_the_code_do_not_get_the_socket(self):
        self.assertEqual(self.value_of("return require('child_process').execSync("
                                       "'test -e /proc/self/fd/3 && echo there || echo gone').toString()"), "gone\n")


class Errors(JavaScriptTest):
    def test_a_traceback_shows_the_agents_own_lines(self):
        self.write("mine.js", "exports.go = (f) => f()\n")
        end = self.run_code("const {go} = require('./mine')\nfunction f(o) {\n  return o.x.y\n}\nawait null\n"
                            "try {\n  go(() => [1].map(() => f({})))\n} catch (e) {\n"
                            "  throw new Error('outer', {cause: e})\n}")
        self.assertEqual(end.error, "Error: outer")
        self.assertEqual(end.traceback, f"""\
Error: outer
    at <execution>:9:9
        throw new Error('outer', {{cause: e}})
[cause]: TypeError: Cannot read properties of undefined (reading 'y')
    at f (<execution>:3:14)
        return o.x.y
    at <execution>:7:26
        go(() => [1].map(() => f({{}})))
    at <execution>:7:16
        go(() => [1].map(() => f({{}})))
    at exports.go ({self.workspace}/mine.js:1:21)
    at <execution>:7:3
        go(() => [1].map(() => f({{}})))""")

    def test_of_causes_without_an_own_line_the_first_is_shown(self):
        library = ("(text) => { const first = new Error('nobody listens'); first.stack = 'Error: nobody listens\\n    at "
                   "connect (/usr/lib/net.js:1:1)'; const second = new Error('pool', {cause: first}); second.stack = "
                   "'Error: pool\\n    at send (/usr/lib/pool.js:1:1)'; throw new Error(text, {cause: second}) }")
        end = self.run_code(f"const get = {library}\nget('it failed')")
        self.assertRegex(end.traceback, r"\AError: it failed\n(    .*\n)+\[cause\]: Error: nobody listens\Z")
        end = self.run_code(f"const get = {library}\nget('it failed: ' + 'a reason, '.repeat(10) + 'nobody listens')")
        self.assertRegex(end.traceback, r"\AError\n(    .*\n)*    .*\Z")
        self.assertNotIn("[cause]", end.traceback)

    def test_every_error_is_told(self):
        for code, error, words in (
                ("x.y", "ReferenceError: x is not defined", "<execution>:1:1"),
                ("let a b", "SyntaxError: Unexpected identifier", "<execution>:1\nlet a b\n      ^"),
                ("\n\nlet a b", "SyntaxError: Unexpected identifier", "<execution>:3\n"),
                ("}", "SyntaxError", ""), ("\nimport x from 'y'", "Error: Cannot find module 'y'", "<execution>:2:1"),
                ("throw 'text'", "Uncaught 'text'", ""), ("throw null", "Uncaught null", ""),
                ("setTimeout(() => {\n  null.x\n}, 1)", "TypeError: Cannot read properties of null", "<execution>:2:8"),
                ("Promise.reject(new RangeError('nobody caught'))", "RangeError: nobody caught", "<execution>:1:16"),
                ("Promise.reject('text')", "Uncaught 'text'", ""),
                ("new (require('events'))().emit('error', new Error('event'))", "Error: event", "<execution>:1"),
                ("function f() { f() }; f()", "RangeError: Maximum call stack size exceeded", "<execution>:1"),
                ("await new Promise(() => {})", "Error: the code awaits a promise that can never settle", ""),
                ("throw new AggregateError([new TypeError('one')], 'all')", "AggregateError: all",
                 "[errors]: TypeError: one"),
                ("throw {get message() { throw 1 }}", "Uncaught", ""),
                ("const e = new Error('m'); Object.defineProperty(e, 'stack', {get() { throw 1 }}); throw e",
                 "Error: m", ""),
                ("throw new Error('x'.repeat(1e7))", "Error: xxx", "Error\n    at <execution>:1:7")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertTrue(end.error.startswith(error), end.error)
                self.assertLess(len(end.error) + len(end.traceback), 40_000)
                self.assertIn(words, end.traceback)
                self.assertNotIn("node:", end.traceback)
                self.assertNotIn("runner.js", end.traceback)
                self.assertEqual(end.status, 1)

    def test_code_may_handle_its_own_errors(self):
        end = self.run_code("process.on('uncaughtException', (e) => console.log('caught', e.message));"
                            "process.on('unhandledRejection', (e) => console.log('rejected', e));"
                            "setTimeout(() => { throw new Error('t') }, 1); Promise.reject(5); result = 1")
        self.assertEqual((end.value, end.stdout, end.error), (1, "rejected 5\ncaught t\n", None))

    def test_process_exit_ends_with_its_status(self):
        for code, status in (("process.exit(3)", 3), ("process.exit()", 0), ("process.exitCode = 4", 4),
                             ("process.exit(-1)", 255),
                             ("setInterval(() => {}, 1000); setTimeout(() => process.exit(5), 10)", 5)):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual((end.exit or 0, end.status, end.error), (status, status, None))
        end = self.run_code("process.on('exit', () => console.log('bye')); result = 1; process.exit(0)")
        self.assertEqual((end.value, end.stdout, end.exit), (1, "bye\n", 0))
        self.assertEqual(self.run_code("process.kill(process.pid, 'SIGKILL')").status, -signal.SIGKILL)

    def test_a_workspace_that_is_not_there_is_told(self):
        self.assertIn("/nonexistent", self.run_code("console.log('ran')", workspace="/nonexistent").error)


def echo_value(call):
    """What the supervisor says when a tool has answered."""
    return [{"type": "reply", "id": call["id"], "result": {"value": call["arguments"]}}]


def tool_failed(call):
    return [{"type": "reply", "id": call["id"],
             "result": {"failure": {"code": 7, "message": "no paper", "data": {"left": 0}}}}]


class Calls(JavaScriptTest):
    def test_what_a_tool_says_when_it_fails_is_kept(self):
        end = self.run_code("try { await callMCPTool('s__t') } catch (e) { return [e.name, e.code, e.message, e.data] }",
                            tool_failed)
        self.assertEqual(end.value, ["CallError", 7, "7: no paper", {"left": 0}])

    def test_the_tool_functions_are_calls(self):
        end = self.run_code("return [await callMCPTool('s__t', {a: 1}), await list_mcp_tools(),"
                            " await get_mcp_tool_details('s__t'),"
                            " await warder.call('any', {b: 'x'.repeat(200000)})]",
                            lambda call: echo_value(call) if call["name"] == "call_tool" else echo(call))
        self.assertEqual([call["name"] for call in end.calls],
                         ["call_tool", "list_tools", "get_tool_definition", "any"])
        self.assertEqual(end.value, [{"name": "s__t", "arguments": {"a": 1}}, {}, {"tool_name": "s__t"},
                                     {"b": "x" * 200_000}])

    def test_an_error_of_the_supervisor_surfaces(self):
        end = self.run_code("await callMCPTool('x', {})", not_found)
        self.assertEqual(end.error, "CallError: not_found: there is no tool 'call_tool'; search first")
        self.assertIn("<execution>:1", end.traceback)
        end = self.run_code("try { await list_mcp_tools() } catch (e) { return [e.name, e.code, e.remedy] }", not_found)
        self.assertEqual(end.value, ["CallError", "not_found", "search first"])

    def test_calls_run_at_once_and_each_gets_its_own_answer(self):
        held = []

        def answer_backwards(call):
            held.append(call)
            return [reply for held_call in reversed(held) for reply in echo(held_call)] if len(held) == 50 else []

        end = self.run_code("let ticks = 0; const timer = setInterval(() => ticks++, 1)\n"
                            "const all = await Promise.all([...Array(50).keys()].map(n => warder.call('echo', {n})))\n"
                            "clearInterval(timer); return all.map(a => a.n)", answer_backwards)
        self.assertEqual(end.value, list(range(50)))

    def test_an_exit_does_not_wait_for_an_answer(self):
        end = self.run_code("callMCPTool('never'); setTimeout(() => process.exit(6), 30)")
        self.assertEqual((end.status, end.exit), (6, 6))

    def test_impossible_arguments_and_lost_channels(self):
        for code, words in (("await warder.call('t', {a: 'x'.repeat(2e6)})", "more than 1000000 bytes"),
                            ("const a = {}; a.a = a; await warder.call('t', a)", "contains itself"),
                            ("await warder.call(5)", "the name of a call is a string")):
            with self.subTest(code=code):
                end = self.run_code(code, echo, max_message=1_000_000)
                self.assertIn(words, end.error)
                self.assertEqual(end.calls, [])
        for reply, words in (({"type": "cancel"}, "cancelled"), (b"not json", "gone")):
            with self.subTest(reply=reply):
                end = self.run_code("await warder.call('x')", lambda call: [reply])
                self.assertIn(f"CallError: {words}", end.error)
        end = self.run_code("await Promise.all([...Array(201)].map(() => warder.call('x')))")
        self.assertIn("200 calls", end.error)


class Protocol(OrderTests, JavaScriptTest):
    def test_ready_names_the_interpreter(self):
        ready = self.start().receive()
        self.assertRegex(ready["interpreter"], r"^Node.js v\d+")
        self.assertGreater(ready["warm_ms"], 0)

    def test_an_order_in_parts_is_put_together(self):
        self.assertEqual(self.value_of("// " + "é" * 200_000 + "\nreturn 'whole'"), "whole")


if __name__ == "__main__":
    unittest.main()
