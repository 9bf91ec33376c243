"""Drives agent programs with a scripted model against a warderd, and checks the results that each gives its model.

  check.py FOLDER CLIENT...    FOLDER/CLIENT/node_modules has the program; clients: claude-code, codex, opencode, gemini

The script is `pass`, two short programs that fail, and a program that draws a picture. .ci/agents sets CLIENTS, WARDER
and WARDERD (../harness.py). Exit status 0: every program passed.
"""
import json
import pathlib
import sys
import tempfile

import programs
from scripted_model import LAST_TEXT, STEPS, ScriptedModel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import NODE, WARDER, Daemon  # noqa: E402
from tokens import tokens_of  # noqa: E402

PASS_TOKENS, FAILURE_TOKENS, REQUEST_TOKENS = 45, 200, 260  # at most; the text of a failed request is long itself
BASE64_OF_PNG = "iVBORw0KGgo"  # the first bytes of every PNG file
HEADING = "Tokens (o200k) that reach the model: the answer to `pass`, (with the program's words around it), a failure, a failed request"
ROW = "{:<12} {:<9} {:>5} {:>7} {:>8} {:>8}  {:<8} {}"


def answer_in(text):
    """Warder's answer within the text that a program made of it, as it stands there; empty without an answer."""
    start = text.find('{"success"')
    return text[start:json.JSONDecoder().raw_decode(text, start)[1]] if start >= 0 else ""


class Check:
    """One run of one program: the results that it gave its model, and the mistakes in them."""

    def __init__(self, program, folder, daemon, tools):
        self.client, self.mistakes, self.costs, self.picture = program.client, [], ["-", "-", "-", "-"], "NO"
        modules = folder / program.client / "node_modules"
        self.version = json.loads((modules / program.package / "package.json").read_text())["version"]
        command = programs.command_of(program, modules, NODE)
        with (tempfile.TemporaryDirectory(prefix="warder-test-agent-", ignore_cleanup_errors=True) as home,
              ScriptedModel(program.form) as model):
            status, self.output = programs.run(program, command, pathlib.Path(home), model.url, WARDER, daemon.socket)
        self.expect(status == 0, f"it ended with status {status}")
        self.expect(LAST_TEXT in self.output, "its output does not have the model's last text")
        self.expect(model.requests, f"it never offered execute_code to its model; refused: {sorted(model.refused)}")
        if model.requests:
            missing = tools - set(program.form.tools(model.requests[0]))
            self.expect(not missing, f"it did not offer {sorted(missing)} to its model")
            results = program.form.results(model.requests[-1])
            if self.expect(len(results) == len(STEPS), f"its model got {len(results)} results, not {len(STEPS)}"):
                self.check_results(*results)

    def expect(self, holds, mistake):
        if not holds:
            self.mistakes.append(mistake)
        return holds

    def check_results(self, passed, failed, request, picture):
        answer = answer_in(passed.text)
        self.costs = tokens_of(answer, passed.text, failed.text, request.text)
        of_pass, _, of_failure, of_request = self.costs
        self.expect(answer and json.loads(answer)["success"], f"`pass` did not succeed: {passed.text}")
        self.expect(of_pass <= PASS_TOKENS, f"`pass` costs {of_pass} tokens, more than {PASS_TOKENS}: {answer}")
        self.expect("ZeroDivisionError" in failed.text, f"the failure does not have the error's name: {failed.text}")
        self.expect("ConnectionError" in request.text, f"the failed request does not have the error's name: {request.text}")
        self.expect(of_request <= REQUEST_TOKENS,
                    f"the failed request costs {of_request} tokens, more than {REQUEST_TOKENS}: {request.text}")
        self.expect(of_failure <= FAILURE_TOKENS,
                    f"the failure costs {of_failure} tokens, more than {FAILURE_TOKENS}: {failed.text}")
        if self.expect(picture.images == ["image/png"], f"the picture is no image part: {picture.text[:2000]}"):
            self.picture = "yes"
        self.expect(BASE64_OF_PNG not in picture.text, "the picture reached the model as text")

    def row(self):
        verdict = "FAILED" if self.mistakes else "passed"
        return ROW.format(self.client, self.version, *self.costs, self.picture, verdict)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, chosen = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    with Daemon() as daemon:
        with daemon.connect() as client:
            tools = {tool["name"] for tool in client.request("tools/list")["tools"]}
        checks = [Check(program, folder, daemon, tools) for program in programs.PROGRAMS if program.client in chosen]
    for check in checks:
        if check.mistakes:
            print(f"\n--- {check.client}: its output ---\n{check.output}\n--- {check.client}: it failed ---")
            print(*check.mistakes, sep="\n")
    print("\n" + HEADING, ROW.format("program", "version", "pass", "(whole)", "failure", "request", "picture", ""), sep="\n")
    print(*(check.row() for check in checks), sep="\n", flush=True)
    return any(check.mistakes for check in checks)


if __name__ == "__main__":
    sys.exit(main())
