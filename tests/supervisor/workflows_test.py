"""Workflows: steps that survive the program's end, kill -9 of the daemon, and mistakes of every kind."""
import json
import pathlib
import tempfile
import unittest

from harness import HOLD, Client, Daemon, Policies, SharedDaemon, body_of, let_go, workspace_of

HERE = pathlib.Path(__file__).resolve().parent
# Writes a line for each time that a step really runs.
HEAD = """
import warder
def effect(name):
    with open("/workspace/effects", "a") as f: f.write(name + "\\n")
    return name.upper()
"""
JS_HEAD = """
const nodeFs = require('fs');
const effect = (name) => { nodeFs.appendFileSync('/workspace/effects', name + '\\n'); return name.toUpperCase(); };
"""


def shown(client, uri):
    answer = client.answer(client.begin("resources/read", uri=uri))
    return json.loads(answer["result"]["contents"][0]["text"]) if "result" in answer else answer["error"]


def delete(client, name):
    return client.call("delete_workspace_file", {"filename": f"workflow:///{name}"})


class Steps(SharedDaemon):
    def setUp(self):
        super().setUp()
        self.effects = workspace_of(self.daemon) / "effects"
        self.effects.unlink(missing_ok=True)
        (workspace_of(self.daemon) / "go").unlink(missing_ok=True)
        self.name = f"w-{self.id().rpartition('.')[2][5:]}"[:64]

    def run_code(self, code, head=HEAD, **more):
        return body_of(self.client.call("execute_code", {"code": head + code.replace("NAME", repr(self.name)), **more}))

    def ran(self):
        """The effects since the last question."""
        lines = self.effects.read_text().split() if self.effects.exists() else []
        self.effects.unlink(missing_ok=True)
        return lines

    def test_finished_steps_are_skipped_and_the_failed_one_runs_again(self):
        code = """
wf = warder.workflow(NAME)
rows = wf.step("fetch", lambda: [effect("fetch"), (1, 2.5), None, {"ä": True}, 2**53])
for i in range(3): wf.step("row", lambda: effect(f"row{i}"))
if not context_vars.get("good"): wf.step("last", lambda: 1 / 0)
result = [rows, wf.step("last", lambda: effect("last"))]
"""
        body = self.run_code(code)
        self.assertIn("StepFailed: step 'last' failed after 1 attempt: ZeroDivisionError", body["error"])
        self.assertEqual(self.ran(), ["fetch", "row0", "row1", "row2"])
        body = self.run_code(code, context_vars={"good": True})
        self.assertEqual(body["result"], [["FETCH", [1, 2.5], None, {"ä": True}, 2**53], "LAST"])
        self.assertEqual(self.ran(), ["last"])
        again = self.run_code(code, context_vars={"good": True})
        self.assertEqual((again["result"], self.ran()), (body["result"], []))
        state = shown(self.client, f"workflow:///{self.name}")
        self.assertEqual([(s["position"], s["name"], s["state"], s["attempts"]) for s in state["steps"]],
                         [(0, "fetch", "finished", 1), (1, "row", "finished", 1), (2, "row", "finished", 1),
                          (3, "row", "finished", 1), (4, "last", "finished", 1)])
        self.assertEqual((state["state"], state["steps_recorded"], state["execution_id"]),
                         ("idle", 5, again["execution_id"]))
        self.assertEqual(shown(self.client, f"workflow:///{self.name}/4"), "LAST")
        listed = self.client.request("resources/list")["resources"]
        self.assertIn(f"workflow:///{self.name}", [one["uri"] for one in listed])

    def test_the_first_run_gives_what_a_later_one_gives(self):
        code = """
wf = warder.workflow(NAME)
result = [repr(wf.step("tuple", lambda: (1, {2: "x"})))]
try: wf.step("broken", lambda: [][1])
except warder.StepFailed as e: result.append(str(e))
result.append(wf.step("after", lambda: effect("after")))
"""
        first = self.run_code(code)
        self.assertEqual(first["result"][0], "[1, {'2': 'x'}]")
        self.assertEqual(first["result"][2], "AFTER")
        self.assertEqual(self.ran(), ["after"])
        second = self.run_code(code)
        self.assertEqual((second["result"][0], second["result"][2], self.ran()), ("[1, {'2': 'x'}]", "AFTER", []))
        self.assertIn("IndexError", first["result"][1])
        self.assertIn("IndexError", second["result"][1])

    def test_retries_wait_longer_each_time_and_a_timeout_ends_an_attempt(self):
        body = self.run_code("""
import time
began = time.monotonic()
tries = []
def sometimes():
    tries.append(time.monotonic() - began)
    if len(tries) < 3: raise OSError("not yet")
    return wf.key
wf = warder.workflow(NAME)
key = wf.step("flaky", sometimes, retries=3, backoff=0.05)
try: wf.step("slow", lambda: time.sleep(60), timeout=0.1)
except warder.StepFailed as e: slow = str(e)
result = [len(tries), tries[2] - tries[1] > tries[1] - tries[0], key, slow, wf.key]
""")
        self.assertEqual(body["result"][:2], [3, True], body)
        self.assertRegex(body["result"][2], r"^[0-9a-f]{32}-0-[0-9a-f]{16}$")
        self.assertIn("StepTimeout: step 'slow' took longer than 0.1 seconds", body["result"][3])
        self.assertIsNone(body["result"][4])
        self.assertEqual([s["attempts"] for s in shown(self.client, f"workflow:///{self.name}")["steps"]], [3, 1])

    def test_in_javascript(self):
        code = """
const wf = warder.workflow(NAME);
const out = [await wf.step('fetch', async ({key, attempt}) => [effect('fetch'), attempt, key])];
let tries = 0;
out.push(await wf.step('flaky', () => { if (++tries < 3) throw new Error('not yet'); return tries; }, {retries: 2, backoff: 0.01}));
try { await wf.step('slow', ({signal}) => new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason))), {timeout: 0.05}); }
catch (e) { out.push(e instanceof warder.StepFailed, e.message); }
out.push(await wf.step('nothing', () => { effect('nothing'); }));
return out;
"""
        body = self.run_code(code, JS_HEAD, language="javascript")
        result = body["result"]
        self.assertEqual((result[0][:2], result[1:3], result[4]), (["FETCH", 1], [3, True], None))
        self.assertIn("StepTimeout", result[3])
        self.assertEqual(self.ran(), ["fetch", "nothing"])
        again = self.run_code(code, JS_HEAD, language="javascript")["result"]
        self.assertEqual((again[:3], again[4], self.ran()), (result[:3], None, []))
        for value, kept in (("[NaN, 10n]", ["NaN", 10]), ("new Map([['a', new Date(0)]])", {"a": "1970-01-01T00:00:00.000Z"}),
                            ("new Set([1])", [1])):
            body = self.run_code(f"return await warder.workflow('kept').step('x', () => {value});", JS_HEAD, language="javascript")
            self.assertEqual(body.get("result"), kept, body)
            self.assertIn("warder: step 'x' returns its value in the form that JSON has for it", body["stderr"])
            delete(self.client, "kept")
        body = self.run_code("""
const wf = warder.workflow('at once');
""".replace("at once", "atonce") + """
const both = await Promise.allSettled([wf.step('a', () => utils.sleep(50)), wf.step('b', () => 1)]);
return both.map((one) => one.status + (one.reason ? ': ' + one.reason.message : ''));
""", JS_HEAD, language="javascript")
        self.assertEqual(body["result"][0], "fulfilled")
        self.assertIn("steps run one after another", body["result"][1])

    def test_changed_code_never_gets_another_steps_value(self):
        self.run_code("wf = warder.workflow(NAME); wf.step('a', lambda: 1); wf.step('b', lambda: 2)")
        body = self.run_code("wf = warder.workflow(NAME); wf.step('b', lambda: effect('b'))")
        self.assertIn("step 0 of workflow", body["error"])
        self.assertIn("is 'b' now, and was 'a' when it was recorded", body["error"])
        self.assertIn(f"delete workflow:///{self.name}", body["error"])
        self.assertEqual(self.ran(), [])
        answer = delete(self.client, self.name)
        self.assertIs(answer["structuredContent"]["success"], True)
        self.assertEqual(self.run_code("result = warder.workflow(NAME).step('b', lambda: effect('b'))")["result"], "B")
        self.assertEqual(self.ran(), ["b"])
        for name in ("none", "../x", "", "a/b"):
            self.assertIs(delete(self.client, name)["isError"], True)

    def test_a_recorded_step_whose_function_reads_other_values_is_refused(self):
        """The corrected list has a new name first: its item must not get the record of another one."""
        code = """
wf = warder.workflow(NAME)
for customer in customers:
    if customer == "bob" and not context_vars.get("good"): wf.step("mail", lambda: 1 / 0)
    wf.step("mail", lambda: effect(customer))
"""
        self.run_code(code, context_vars={"customers": ["ada", "bob"]})
        self.assertEqual(self.ran(), ["ada"])
        body = self.run_code(code, context_vars={"customers": ["cyd", "ada", "bob"], "good": True})
        self.assertIn(f"step 0 'mail' of workflow '{self.name}' was recorded with customer = 'ada', and its function reads "
                      "customer = 'cyd' now", body["error"])
        self.assertIn("give each item's step a name of its own", body["error"])
        self.assertEqual(self.ran(), [])
        corrected = code.replace("effect(customer)", "effect(customer.lower())")  # the text of a function is no value
        self.assertNotIn("error", self.run_code(corrected, context_vars={"customers": ["ada", "bob"], "good": True}))
        self.assertEqual(self.ran(), ["bob"])

    def test_a_declared_loop_whose_first_item_is_new_is_refused(self):
        """The items stand in the document, or in a variable of it."""
        mail = "open('/workspace/effects', 'a').write(name + '\\n')\nif name == 'bob': raise OSError('no')"
        for items, recorded, now in (("context_vars['names']", "name = 'ada'", "name = 'cyd'"),
                                     ("'names'", "names = ['ada', 'bob']", "names = ['cyd', 'ada', 'bob']")):
            with self.subTest(items):
                code = f"""
from skills import workflow
mail = {{"name": "mail", "type": "code_execution", "config": {{"code": {mail!r}}}}}
each = {{"name": "each", "type": "loop", "config": {{"items": {items}, "as": "name", "steps": [mail]}}}}
workflow({{"name": NAME, "variables": {{"names": context_vars["names"]}}, "steps": [each]}})
"""
                self.assertIn("OSError: no", self.run_code(code, context_vars={"names": ["ada", "bob"]})["error"])
                self.assertEqual(self.ran(), ["ada", "bob"])
                body = self.run_code(code, context_vars={"names": ["cyd", "ada", "bob"]})
                self.assertIn(f"was recorded with {recorded}", body["error"])
                self.assertIn(f"and its function reads {now}", body["error"])
                self.assertEqual(self.ran(), [])
                delete(self.client, self.name)

    def test_a_recorded_step_of_javascript_that_reads_other_values_is_refused(self):
        code = """
const wf = warder.workflow(NAME);
const mail = (customer) => effect(prefix + customer);
for (const customer of customers) {
  if (customer === 'bob' && !context_vars.good) throw new Error('no');
  await wf.step('mail', () => mail(customer), {retries: 1});
}
"""
        def run(code, **variables):
            return self.run_code(code, JS_HEAD, language="javascript", context_vars={"prefix": "x-", **variables})
        run(code, customers=["ada", "bob"])
        self.assertEqual(self.ran(), ["x-ada"])
        body = run(code, customers=["cyd", "ada", "bob"], good=True)
        self.assertIn('was recorded with customer = "ada", and its function reads customer = "cyd" now', body["error"])
        body = run(code, customers=["ada", "bob"], good=True, prefix="y-")
        self.assertIn('recorded with prefix = "x-"', body["error"])
        self.assertEqual(self.ran(), [])
        self.assertNotIn("error", run(code.replace("=> effect(", "=> 1 && effect("), customers=["ada", "bob"], good=True))
        self.assertEqual(self.ran(), ["x-bob"])

    def test_a_loop_over_a_set_of_texts_goes_on_in_the_same_order(self):
        code = """
names = {"ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"}
wf = warder.workflow(NAME)
for number, name in enumerate(names):
    if number == 3 and not context_vars.get("good"): raise OSError("broken off")
    wf.step("mail", lambda: effect(name))
"""
        self.run_code(code)
        first = self.ran()
        self.assertEqual(len(first), 3)
        body = self.run_code(code, context_vars={"good": True})
        self.assertNotIn("error", body)
        self.assertEqual(sorted(first + self.ran()), ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"])

    def test_values_that_a_step_names_itself_are_compared(self):
        for language, head, code in (
            ("python", HEAD, "wf = warder.workflow(NAME)\nimport time\nnow = time.time()\n"
             "result = wf.step('a', lambda: [now, effect('a')], inputs={'day': context_vars['day']})[1]"),
            ("javascript", JS_HEAD, "const wf = warder.workflow(NAME); const now = process.hrtime();\n"
             "return (await wf.step('a', () => [now, effect('a')], {inputs: {day: context_vars.day}}))[1]")):
            def run(day):
                return self.run_code(code, head, language=language, context_vars={"day": day})
            self.assertEqual([run(1)["result"], run(1)["result"], self.ran()], ["A", "A", ["a"]], language)
            self.assertIn("was recorded with day = 1, and its function reads day = 2 now", run(2)["error"])
            delete(self.client, self.name)

    def test_values_of_each_kind_are_the_same_in_the_next_run(self):
        """Nothing is refused that did not change: sets, objects of the program, tables, dates, functions and files."""
        code = """
import datetime, functools, numpy as np, pandas as pd
class Order:
    def __init__(self, names): self.names = names
    def send(self, *rest): return effect("-".join(sorted(self.names)))
order, day, file = Order({"b", "a", "c"}), datetime.date(2026, 1, 2), open("/dev/null")
rows, table, array = [{"n": i, "s": {str(i)}} for i in range(9000)], pd.DataFrame({"a": [1, 2], "b": ["x", None]}), np.ones(4)
def rate(x=2.5): return x, day, file
wf = warder.workflow(NAME)
wf.step("method", order.send)
wf.step("partial", functools.partial(order.send, 1, day))
wf.step("all", lambda: effect(str(len([rows, table, array, rate(), np, Order, len]))))
result = 1
"""
        self.assertEqual(self.run_code(code)["result"], 1)
        self.assertEqual(self.ran(), ["a-b-c", "a-b-c", "7"])
        self.assertEqual((self.run_code(code)["result"], self.ran()), (1, []))
        for change, name in (('{"b", "a", "c"}', "self"), ('["x", None]', "table"), ("np.ones(4)", "array"), ("x=2.5", "x"),
                             ("range(9000)", "rows")):
            other = {"self": '{"b", "z"}', "table": '["x", "y"]', "array": "np.zeros(4)", "x": "x=3", "rows": "range(9001)"}[name]
            body = self.run_code(code.replace(change, other))
            self.assertIn(f"its function reads {name} = ", body.get("error", "no error"), name)
        self.assertEqual(self.ran(), [])

    def test_values_that_an_answer_takes_are_kept_in_its_form(self):
        for value, kept in (("{1, 2}", [1, 2]), ("date(2026, 1, 2)", "2026-01-02"), ("[float('nan'), b'x']", ["NaN", "x"]),
                            ("(1, 2)", [1, 2]), ("map(str, [1])", ["1"])):
            code = f"result = warder.workflow(NAME).step('x', lambda: effect('x') and {value})"
            body = self.run_code(code)
            self.assertEqual((body.get("result"), self.ran()), (kept, ["x"]), body)
            self.assertIn("warder: step 'x' returns its value in the form that JSON has for it", body["stderr"])
            self.assertEqual((self.run_code(code)["result"], self.ran()), (kept, []))
            delete(self.client, self.name)

    def test_values_that_are_not_json_are_told_and_the_step_runs_again(self):
        for value, why in (("loop", "contains itself"), ("'x' * (1 << 20)", "1048576 are allowed"), ("later()", "awaited")):
            body = self.run_code(f"""
loop = []; loop.append(loop)
async def later(): pass
warder.workflow('values').step("x", lambda: effect("x") and {value})
""")
            self.assertIn("has run, but its value cannot be kept", body["error"], value)
            self.assertIn(why, body["error"])
            self.assertEqual(self.ran(), ["x"], value)

    def test_a_value_has_up_to_a_megabyte(self):
        for value, count in (('"y" * ((1 << 20) - 2)', (1 << 20) - 2), ("[chr(34)] * 200_000", 200_000),
                             ("chr(1) * 170_000", 170_000), ("chr(0x1F600) * 262_000", 262_000)):
            code = f"value = {value}\nresult = [len(value), warder.workflow({'v%d' % count!r}).step('x', lambda: value) == value]"
            self.assertEqual(self.run_code(code).get("result"), [count, True], value)
            self.assertEqual(self.run_code(code)["result"], [count, True], value)
        code = "const value = '😀'.repeat(262_000); return (await warder.workflow(NAME).step('x', () => value)) === value;"
        for _ in range(2):
            self.assertIs(self.run_code(code, JS_HEAD, language="javascript").get("result"), True)

    def test_a_step_inside_a_step_and_steps_of_two_threads_are_refused(self):
        body = self.run_code("""
wf = warder.workflow(NAME)
def outer():
    try: wf.step("inner", lambda: 1)
    except warder.CallError as e: return str(e)
result = wf.step("outer", outer)
""")
        self.assertIn("another step has not ended", body["result"])
        body = self.run_code("""
import threading, time
wf = warder.workflow("threads")
seen = []
def work(name):
    try: seen.append(wf.step(name, lambda: time.sleep(0.2) or name))
    except warder.CallError as e: seen.append(e.code)
both = [threading.Thread(target=work, args=(name,)) for name in "ab"]
for one in both: one.start()
for one in both: one.join()
result = sorted(map(str, seen))
""")
        self.assertEqual(body["result"][1:], ["invalid"])

    def test_one_execution_holds_a_workflow_and_the_other_is_told(self):
        hold = HEAD + f"warder.workflow({self.name!r}).step('long', lambda: 1)\n" + HOLD
        holding = self.client.begin_running(hold)
        body = self.run_code("warder.workflow(NAME).step('long', lambda: 1)")
        self.assertRegex(body["error"], rf"workflow '{self.name}' is in use by execution e[0-9a-f]+")
        self.assertEqual(shown(self.client, f"workflow:///{self.name}")["state"], "running")
        refused = body_of(delete(self.client, self.name))
        self.assertIn("is in use by execution", refused["error"])
        let_go(self.daemon)
        self.assertTrue(self.client.executed(holding)["success"])
        self.assertEqual(self.run_code("result = warder.workflow(NAME).step('long', lambda: 2)")["result"], 1)

    def test_a_program_that_is_ended_in_a_step_runs_that_step_again(self):
        code = """
wf = warder.workflow(NAME)
wf.step("first", lambda: effect("first"))
keys = open("/workspace/keys", "a")
def second():
    effect("second"); print(wf.key, file=keys, flush=True)
    import os
    while os.path.exists("/workspace/stuck"): pass
wf.step("second", second)
"""
        (workspace_of(self.daemon) / "keys").unlink(missing_ok=True)
        (workspace_of(self.daemon) / "stuck").touch()
        body = self.run_code(code, timeout_seconds=1)
        self.assertEqual((body["outcome"], self.ran()), ("timeout", ["first", "second"]))
        (workspace_of(self.daemon) / "stuck").unlink()
        body = self.run_code(code)
        self.assertEqual((body["outcome"], self.ran()), ("ok", ["second"]))
        keys = (workspace_of(self.daemon) / "keys").read_text().split()
        self.assertEqual((len(keys), len(set(keys))), (2, 1))
        body = self.run_code("import sys; warder.workflow(NAME + 'x').step('s', lambda: sys.exit(3))")
        self.assertEqual(body["outcome"], "exit")
        self.assertEqual(shown(self.client, f"workflow:///{self.name}x")["steps"][0]["error"], "SystemExit: 3")

    def test_names_and_arguments_are_checked(self):
        for code, why in (("warder.workflow('a/b').step('x', lambda: 1)", "'a/b' is not the name of a workflow"),
                          ("warder.workflow('.a').step('x', lambda: 1)", "is not the name of a workflow"),
                          ("warder.workflow(3)", "TypeError"),
                          ("warder.workflow(NAME).step('a\\nb', lambda: 1)", "is not the name of a step"),
                          ("warder.workflow(NAME).step('', lambda: 1)", "is not the name of a step"),
                          ("warder.workflow(NAME).step('x' * 129, lambda: 1)", "use 1 to 128 bytes"),
                          ("warder.workflow(NAME).step('x', effect('x'))", "give a function"),
                          ("warder.workflow(NAME).step('x', lambda: 1, retries=-1)", "retries is a number"),
                          ("warder.workflow(NAME).step('x', lambda: 1, timeout=0)", "timeout is a number"),
                          ("warder.call('step_begin', workflow=NAME, step='x', position=7)", "no step can begin at 7"),
                          ("warder.call('step_begin', workflow=NAME, step='x', position=-1)", "outside"),
                          ("warder.call('step_end', workflow=NAME, step='x', position=0, value='1')", "no step of workflow"),
                          ("warder.call('step_retry', workflow='nope')", "no step of workflow 'nope' runs"),
                          ("warder.call('step_begin', workflow=NAME, step='x', position=0)\n"
                           "warder.call('step_end', workflow=NAME, step='x', position=1, value='1')", "step 1 of workflow"),
                          ("warder.call('step_begin', workflow=NAME, step='x', position=0)\n"
                           "warder.call('step_end', workflow=NAME, step='x', position=0, value='1' * (2 << 20))", "more than 1048576 bytes"),
                          ("warder.call('step_begin', workflow=NAME, step='x', position=0)\n"
                           "for _ in range(3): warder.call('step_value', workflow=NAME, part='1' * 500_000)", "1500000 bytes as JSON"),
                          ("for i in range(17): warder.workflow(f'many{i}').step('x', lambda: 1)", "16 workflows")):
            self.assertIn(why, self.run_code(code)["error"], code)

    def test_in_a_session_the_steps_go_on(self):
        first = self.run_code("wf = warder.workflow(NAME); wf.step('a', lambda: effect('a'))", session="s")
        self.assertTrue(first["success"], first)
        second = self.run_code("result = wf.step('b', lambda: effect('b'))", session="s")
        self.assertEqual((second["result"], self.ran()), ("B", ["a", "b"]))
        self.assertEqual(shown(self.client, f"workflow:///{self.name}")["steps_recorded"], 2)

    def test_in_a_session_of_javascript_the_steps_go_on(self):
        run = lambda code: self.run_code(code, JS_HEAD.replace("const", "var"), language="javascript", session="js")  # noqa: E731
        self.assertTrue(run("var wf = warder.workflow(NAME); await wf.step('a', () => effect('a'));")["success"])
        self.assertEqual(run("return await wf.step('b', () => effect('b'));").get("result"), "B")
        self.assertEqual(self.ran(), ["a", "b"])

    def test_a_staged_execution_has_no_workflow(self):
        body = self.run_code("warder.workflow(NAME).step('a', lambda: 1)", workspace="staged")
        self.assertIn("cannot run in a staged workspace", body["error"])

    def test_a_workflow_belongs_to_its_workspace(self):
        with Policies(workspaces=["*"]) as policies, \
                Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            def run(workspace, code):
                request = client.begin("tools/call", name="execute_code", arguments={"code": HEAD + code},
                                       _meta={"org.warder/workspace": workspace})
                return client.executed(request)
            self.assertEqual(run("one", "result = warder.workflow('w').step('a', lambda: 1)")["result"], 1)
            self.assertEqual(run("two", "result = warder.workflow('w').step('b', lambda: 2)")["result"], 2)
            self.assertEqual(run("one", "result = warder.workflow('w').step('a', lambda: 3)")["result"], 1)
            answer = client.answer(client.begin("resources/read", uri="workflow:///w"))
            self.assertIn("error", answer)


class UpstreamCalls(unittest.TestCase):
    def test_a_call_has_a_key_that_is_the_same_when_the_step_runs_again(self):
        server = {"command": "/usr/bin/python3", "args": [str(HERE / "tracing_server.py"), "modern"], "jail": "none"}
        with Policies() as policies, tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "config.json"
            file.write_text(json.dumps({"servers": {"near": server}}))
            with Daemon(policies=policies, arguments=["--config", file]) as daemon, Client(daemon.socket) as client:
                def run(code, **more):
                    return body_of(client.call("execute_code", {"code": "import warder\n" + code, **more}))
                code = """
key = lambda: warder.call_tool("near__meta").get("org.warder/idempotencyKey")
keys = open("/workspace/keys", "a")
def work():
    for _ in range(2): print(key(), file=keys, flush=True)
    import os
    if not os.path.exists("/workspace/good"): raise OSError("no")
wf = warder.workflow("w")
wf.step("first", lambda: print(key(), file=keys, flush=True))
try: wf.step("work", work, retries=1, backoff=0)
finally: print(key(), file=keys, flush=True)
"""
                run(code)
                (workspace_of(daemon) / "good").touch()
                run(code)
                keys = (workspace_of(daemon) / "keys").read_text().split()
                first, outside = keys[0], {keys[5], keys[8]}
                self.assertEqual((keys[1:3], keys[1:3], outside), (keys[3:5], keys[6:8], {"None"}))
                self.assertEqual((len({first, *keys[1:3]}), len(keys)), (3, 9))
                delete(client, "w")
                run(code)
                after = (workspace_of(daemon) / "keys").read_text().split()[9:]
                self.assertFalse(set(after) & {first, *keys[1:3]}, "the keys of a workflow that was deleted come again")


class Limits(unittest.TestCase):
    def test_steps_bytes_and_workflows_are_bounded_and_nothing_is_lost(self):
        rules = {"workflows": {"max": 2, "steps": 3, "bytes": 8192, "keep_seconds": 60}}
        with Policies(**rules) as policies, Daemon(policies=policies) as daemon, \
                Client(daemon.socket) as client:
            def run(code):
                return body_of(client.call("execute_code", {"code": "import warder\n" + code}))
            body = run("for i in range(10_000_000): warder.workflow('a').step('x', lambda: i) if i == 0 else "
                       "[wf for wf in [warder.workflow('a')] if [wf.step('x', lambda: 1) for _ in range(4)]]")
            self.assertIn("has 3 steps, the most of one workflow (rule: workflows.steps)", body["error"])
            body = run("wf = warder.workflow('b'); wf.step('x', lambda: 'v' * 5000); wf.step('y', lambda: 'v' * 5000)")
            self.assertIn("the step has run, but its value was not kept", body["error"])
            self.assertIn("8192 are allowed (rule: workflows.bytes)", body["error"])
            body = run("wf = warder.workflow('b'); result = [len(wf.step('x', lambda: 1)), wf.step('y', lambda: 2)]")
            self.assertEqual(body["result"], [5000, 2])
            body = run("warder.workflow('c').step('x', lambda: 1)")
            self.assertIn("there are 2 workflows, and the limit is 2", body["error"])
            self.assertIs(delete(client, "b")["structuredContent"]["success"], True)
            self.assertEqual(run("result = warder.workflow('c').step('x', lambda: 1)")["result"], 1)

    def test_values_count_in_the_quota_of_the_workspace(self):
        with Policies(quota={"workspace_bytes": 1 << 20}) as policies, \
                Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            def run(code):
                return body_of(client.call("execute_code", {"code": "import warder\n" + code}))
            self.assertEqual(run("result = len(warder.workflow('w').step('a', lambda: 'v' * 600_000))")["result"], 600_000)
            body = run("wf = warder.workflow('w'); wf.step('a', None or (lambda: 1)); wf.step('b', lambda: 'v' * 600_000)")
            self.assertIn("quota.workspace_bytes", body["error"])
            answer = client.call("write_workspace_file", {"filename": "x", "content": "v" * 600_000})
            self.assertIn("are left in this workspace", body_of(answer)["error"])
            delete(client, "w")
            answer = client.call("write_workspace_file", {"filename": "x", "content": "v" * 600_000})
            self.assertIs(answer["structuredContent"]["success"], True)

    def test_a_policy_without_the_key_has_no_workflows(self):
        with Policies(workflows={"max": 0}) as policies, \
                Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            body = body_of(client.call("execute_code", {"code": "import warder\nwarder.workflow('w').step('a', lambda: 1)"}))
            self.assertIn("the policy allows no workflows (rule: workflows.max)", body["error"])


if __name__ == "__main__":
    unittest.main()
