"""Scenes of README.md, the guide to the tools and the first hour."""
import ast
import json
import pathlib
import re
import subprocess
import sys
import time

import machine
import registry
from scenes import DROP_INS, POLICIES, SCENES, SOCKET, Setting, TOP, scene


# README.md

def demo():
    sys.path.insert(0, str(TOP / ".ci"))
    import demo as module
    return module


@scene("README.md", "data = json.loads")
def filtering(self, block):
    program, answer = block.text.split("\n\n")
    self.write("large_dataset.json", demo().make_dataset())
    self.compare(answer, self.shell(f"warder run -c '{program}'"), is_json=True)


@scene("README.md", ".ci/demo")
def the_demo(self, _):
    """Its last part, with the daemon of the test: what comes before it installs packages and builds."""
    done = subprocess.run(["/usr/bin/python3", "-B", TOP / ".ci/demo.py", "--socket", SOCKET, "--warder", "/usr/bin/warder"],
                          capture_output=True, text=True, timeout=machine.PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    self.demo_printed = done.stdout + done.stderr
    return Setting(replace=[(".ci/demo", "true")])


@scene("README.md", '{\n  "build_ms"')
def the_receipt(self, block):
    shown = json.loads(block.text)
    actual, _ = json.JSONDecoder().raw_decode(self.demo_printed, self.demo_printed.index('\n{\n  "') + 1)
    for key in ("steps_us", "path_us"):
        assert key in actual, key
        del actual[key]
    for key in ("waited_ms", "zygote_age_ms"):  # of a jail that waited, and of a fork
        actual.pop(key, None)
    if not shown["cgroup"] and actual["cgroup"]:  # the page names this difference
        for part in (shown, actual):
            for key in ("cgroup", "weaker"):
                part.pop(key, None)
    vary = [(f'"start":"{shown["start"]}"', '"start":"(?:cold|exec|fork)"'),
            (f'"quota":"{shown["workspace"]["quota"]}"', '"quota":"(?:accounting|kernel)"')]
    for unknown in set(actual) - set(shown):
        raise AssertionError(f"the page lacks {unknown}: {actual[unknown]}")
    self.compare(json.dumps(shown, sort_keys=True), json.dumps(actual, sort_keys=True), is_json=True, vary=vary)


@scene("README.md", '{\n  "mcpServers"')
def client_entry(self, block):
    printed = self.shell("warder config claude-code")
    self.compare(block.text, printed[:printed.rindex("}") + 1], is_json=True)


@scene("README.md", "$ warder run -c 'print")
def from_a_shell(self, _):
    return Setting(user="ada", statuses={"warder run --timeout": 0})


@scene("README.md", "$ sudo warder servers install")
def everything(self, _):
    self.everything = True
    return Setting()


# supervisor/tools/guide.md

@scene("supervisor/tools/guide.md", '{"success":true,"result":[1,2,3]')
def an_answer(self, block):
    answer = self.call("execute_code", code="print('two')\nprint('lines')\nwrite_file('note.txt', 'x')\nresult = [1, 2, 3]")
    self.compare(block.text, answer["content"][0]["text"], is_json=True)
    self.shell("warder run -c 'delete_file(\"note.txt\")'")


@scene("supervisor/tools/guide.md", "wf = warder.workflow")
@scene("supervisor/tools/guide.md", "import warder")
def a_workflow(self, block):
    prelude = ("def fetch():\n    return ['ada', 'ben']\ndef mail(customer):\n"
               "    with open('/workspace/mailed', 'a') as file: file.write(customer + '\\n')\n")
    body = self.execute(prelude + block.text)
    assert body["outcome"] == "ok", body
    assert self.execute("result = read_file('mailed').split()")["result"] == ["ada", "ben"]
    name = re.search(r'workflow\("(\w+)"', block.text)[1]
    self.call("delete_workspace_file", filename=f"workflow:///{name}")


@scene("supervisor/tools/guide.md", '{"success":false,"results"')
def fan_out(self, block):
    code = "if item == 2:\n    raise ValueError('no')\nresult = item * 4"
    answer = self.call("execute_code", code=code, fork=[1, 2])
    self.compare(block.text, answer["content"][0]["text"], is_json=True)


def perform_calls(self, text):
    """Runs text of calls in Python's form: execute_code("..."); returns their answers."""
    answers = []
    for statement in ast.parse(text).body:
        call = statement.value
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        first = {"execute_code": "code", "commit_workspace": "proposal"}[call.func.id]
        arguments[first] = ast.literal_eval(call.args[0])
        if first == "proposal":
            arguments[first] = self.ids.replace(arguments[first])
        answers.append(self.call(call.func.id, **arguments)["content"][0]["text"])
    return answers


@scene("supervisor/tools/guide.md", 'execute_code("import numpy')
def shared_values(self, block):
    self.execute("import numpy as np\nnp.save('/workspace/large.npy', np.arange(7000.0).reshape(1000, 7))")
    made, branches = map(json.loads, perform_calls(self, block.text))
    assert made["outcome"] == "ok", made
    results = [branch["result"] for branch in branches["results"]]
    assert len(results) == 7 and len(set(results)) == 7 and "table" in json.dumps(branches["shared"]), branches
    self.execute("", session="s", reset_session=True)


@scene("supervisor/tools/guide.md", 'execute_code("write_file(')
def staged(self, block):
    self.write("notes.md", "first\n")
    self.write("old.csv", "1\n")
    call, members, commit, answer = block.text.split("\n\n")
    (printed,) = perform_calls(self, call.replace("\\n", "\\\\n"))
    body = json.loads(printed)
    part = json.dumps({key: body[key] for key in ("files", "proposal")})
    shown = "{" + members + "}"
    # Other keys of a proposal are left out on the page.
    self.compare(re.sub(r'("state": "\w+"),', r'\1, ...', shown), part, is_json=True)
    (printed,) = perform_calls(self, commit)
    self.compare(answer[:-2] + "...}...}", printed, is_json=True)


@scene("supervisor/tools/guide.md", "$ cat warderd.json")
def a_files_server(self, block):
    shown = block.commands[0].printed
    folder = pathlib.Path("/srv/files/node_modules/@modelcontextprotocol/server-filesystem/dist")
    folder.mkdir(parents=True)
    (folder / "index.js").write_text(registry.SERVER.replace("TOOLS", json.dumps(registry.TOOLS["filesystem"])))
    data = pathlib.Path("/srv/files/data")
    data.mkdir()
    (data / "notes.txt").write_text("first\nsecond\n")
    policy = json.dumps({"extends": "default", "calls": {"otherwise": "allow"}})
    (POLICIES / "allows.json").write_text(policy)
    (POLICIES / "tenants.json").write_text(json.dumps({"rules": [{"default": True, "policy": "allows"}]}))
    (DROP_INS / "60-files.json").write_text(shown)
    pathlib.Path("/root/warderd.json").write_text(shown)
    self.machine.stop()  # a folder that the daemon does not know needs a restart
    self.machine.start()
    self.shell("warder servers test files")
    return Setting(statuses={"warder run -c 'from servers.files import read_text_file\nread_text_file": 1})


# units/first-hour.md

@scene("units/first-hour.md", ".ci/package")
def the_commands_after_it(self, _):
    # The standard policy again. The doctor says what the test's machine lacks with its status.
    for file in (*POLICIES.iterdir(), *DROP_INS.iterdir()):
        file.unlink()
    self.reload()
    return Setting(statuses={"sudo warder doctor": self.doctor_status()})


def policy_file(name):
    def written(self, block):
        (POLICIES / name).write_text(block.text)
        if "tenants" not in name:
            assert "good" in self.shell("warder policy check"), name
    return written


@scene("units/first-hour.md", '{"rules": [{"user": "ada"')
def tenants(self, block):
    self.tenants = block.text  # it names policies that the next two blocks show


SCENES["units/first-hour.md", '{"extends": "system", "limits": {"standard": {"wall_ms"'] = policy_file("long.json")
SCENES["units/first-hour.md", '{"extends": "system", "limits": {"standard": {"memory_bytes"'] = policy_file("small.json")


@scene("units/first-hour.md", "sudo warder config check                      # every")
def with_the_three_files(self, _):
    (POLICIES / "tenants.json").write_text(self.tenants)
    return Setting()


@scene("units/first-hour.md", "warder approvals")
def a_call_that_waits(self, block):
    code = re.search(r"agent runs `(.*?)`", (TOP / block.page).read_text().replace("\n", " "))[1]
    words = ["runuser", "-u", "ada", "--", "/usr/bin/warder", "run", "-c", f"import warder\nresult = {code}"]
    self.waiting = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + machine.PATIENCE
    while not (listed := json.loads(self.shell("warder approvals --json"))):
        assert time.monotonic() < until and self.waiting.poll() is None, "no call waits"
        time.sleep(0.05)
    for user, count in (("ada", 1), ("ben", 0)):
        assert len(json.loads(self.shell("warder approvals --json", user))) == count, user
    self.shell(f"test {len(listed)} = 1")
    return Setting(replace=[("a1f03", listed[0]["Id"][:5])])


@scene("units/first-hour.md", "sudo warder config check                      # long.json")
def a_mistake(self, _):
    printed = self.waiting.communicate(timeout=machine.PATIENCE)[0]  # of the call that was approved
    assert "good morning" in printed, printed
    good = (POLICIES / "long.json").read_text()
    (POLICIES / "long.json").write_text(good.replace('"system"', '"sytem"'))
    shown = "long.json: extends: there is no valid policy \"sytem\""
    assert shown in (printed := self.shell("warder config check", status=1)), printed
    self.good = good
    return Setting(statuses={"sudo warder config check": 1, "sudo systemctl reload": 1})


@scene("units/first-hour.md", "sudo warder history")
def a_look_back(self, _):
    (POLICIES / "long.json").write_text(self.good)
    self.reload()
    self.shell("warder run -c 'result = 1'", "ada")
    newest = json.loads(self.shell("warder history --json --tenant ada").splitlines()[0])
    return Setting(replace=[("e241", newest["Id"][:8]), ("warder top", "warder top --batch --count 1")])
