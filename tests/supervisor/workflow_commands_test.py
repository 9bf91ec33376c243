"""`warder workflow check`, `run`, `show`, and `warder run --workflow`, with a real daemon."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from harness import SharedDaemon, workspace_of

GOOD = """\
name: nightly
description: Reads, chooses, and writes
version: "1.0"
variables:
  limit: 10
guardrails:
  max_execution_time: 20
  max_memory_mb: 200
steps:
  - name: rows
    type: code_execution
    config:
      code: |
        open("/workspace/effects", "a").write("rows\\n")
        result = [{"n": 4}, {"n": 12}, {"n": 30}]
  - name: each
    type: loop
    config:
      items: "[row for row in rows if row['n'] > limit]"
      as: row
      steps:
        - name: double
          type: code_execution
          config: {code: "row['n'] * 2"}
  - name: enough
    type: condition
    config:
      if: sum(each) > 50
      then:
        - name: report
          type: code_execution
          retry: {attempts: 2, backoff_seconds: 0}
          config:
            code: |
              import os
              open("/workspace/effects", "a").write("report\\n")
              if not os.path.exists("/workspace/may"): raise OSError("the printer is off")
              "sum " + str(sum(each))
            save_as: told
      else:
        - {name: nothing, type: code_execution, config: {code: "None"}}
"""
BAD = """\
name: "two words"
steps:
  - name: call
    type: tool_call
    config:
      tol: a__b
  - name: loop
    type: loop
    config: {items: "a b", while: "1", steps: []}
    on_error: explode
"""


class Commands(SharedDaemon):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("effects", "may"):
            (workspace_of(self.daemon) / name).unlink(missing_ok=True)
        self.client.call("delete_workspace_file", {"filename": "workflow:///nightly"})

    def file(self, text, name="nightly.yaml"):
        file = self.folder / name
        file.write_text(text)
        return file

    def warder(self, *words):
        ended = subprocess.run([os.environ["WARDER"], *map(str, words), "--socket", self.daemon.socket],
                               capture_output=True, text=True, timeout=60)
        return ended.returncode, ended.stdout, ended.stderr

    def effects(self):
        file = workspace_of(self.daemon) / "effects"
        return file.read_text().split() if file.exists() else []

    def test_every_mistake_is_told_with_its_place_and_nothing_runs(self):
        bad = self.file(BAD)
        status, out, _ = self.warder("workflow", "check", bad)
        self.assertEqual(status, 1)
        for line in (f"{bad}:1: name: 'two words' is not 1 to 64 of", f"{bad}:6: steps[0].config.tol: not known here",
                     f"{bad}:5: steps[0].config.tool: missing", f"{bad}:9: steps[1].config: give one of items, while and times",
                     f"{bad}:9: steps[1].config.items: not Python: ", f"{bad}:9: steps[1].config.steps: has no step",
                     f"{bad}:10: steps[1].on_error: 'explode' is neither stop nor skip"):
            self.assertIn(line, out)
        self.assertEqual(len(out.splitlines()), 7, out)
        self.assertEqual(self.warder("workflow", "run", bad)[:2], (1, out))
        status, out, _ = self.warder("workflow", "check", bad, "--json")
        self.assertEqual((status, len(json.loads(out))), (1, 7))
        status, _, err = self.warder("workflow", "check", self.file("a: [1\n", "broken.yaml"))
        self.assertEqual(status, 2, err)
        self.assertIn("broken.yaml: line 2: not YAML", err)
        status, _, err = self.warder("workflow", "check", self.folder / "none.yaml")
        self.assertIn("No such file", err)
        self.assertNotEqual(status, 0)
        status, out, _ = self.warder("workflow", "check", self.file(GOOD))
        self.assertEqual((status, out.endswith("no mistake\n"), self.effects()), (0, True, []))

    def test_a_failed_run_goes_on_and_a_finished_one_begins_anew(self):
        file = self.file(GOOD)
        status, _, err = self.warder("workflow", "run", file)
        self.assertEqual(status, 1)
        self.assertIn("the printer is off", err)
        self.assertEqual(self.effects(), ["rows", "report", "report"])
        status, out, _ = self.warder("workflow", "show", file)
        self.assertEqual(status, 0)
        self.assertIn("nightly: idle, 6 steps", out)
        self.assertRegex(out, r"5  failed    \S+Z  report  \(2 attempts\): OSError: the printer is off")
        (workspace_of(self.daemon) / "may").touch()
        status, out, err = self.warder("workflow", "run", file, "--json", "--keep")
        self.assertEqual(status, 0, err)
        result = json.loads(out)["result"]
        self.assertEqual((result["variables"]["told"], result["variables"]["each"], result["variables"]["enough"]),
                         ("sum 84", [24, 60], True))
        self.assertEqual(self.effects(), ["rows", "report", "report", "report"])
        self.assertEqual(self.warder("workflow", "run", file)[0], 0)  # finished already: no step runs
        self.assertEqual(len(self.effects()), 4)
        self.assertNotEqual(self.warder("workflow", "show", "nightly")[0], 0)
        self.assertEqual(self.warder("workflow", "run", file, "--variable", "limit=20")[0], 0)
        self.assertEqual(self.effects()[4:], ["rows", "report"])

    def test_a_failed_run_does_not_go_on_with_another_value_of_a_variable(self):
        file = self.file(GOOD)
        self.assertEqual(self.warder("workflow", "run", file)[0], 1)
        before = self.effects()
        status, _, err = self.warder("workflow", "run", file, "--variable", "limit=20")
        self.assertEqual(status, 1)
        self.assertIn("was recorded with limit = 10, and its function reads limit = 20 now", err)
        self.assertEqual(self.effects(), before)

    def test_json_is_read_too_and_limits_are_the_guardrails(self):
        document = {"name": "slow", "guardrails": {"max_execution_time": 1, "enabled": True},
                    "steps": [{"name": "sleep", "type": "code_execution", "config": {"code": "import time; time.sleep(60)"}}]}
        status, _, err = self.warder("workflow", "run", self.file(json.dumps(document), "slow.json"))
        self.assertEqual(status, 124, err)

    def test_a_program_with_a_workflow_goes_on_until_it_succeeds(self):
        code = """
import os, warder
wf = warder.workflow("by hand")
""".replace("by hand", "by-hand") + """
wf.step("first", lambda: open("/workspace/effects", "a").write("first\\n"))
wf.step("second", lambda: os.stat("/workspace/may") and open("/workspace/effects", "a").write("second\\n"))
"""
        file = self.file(code, "program.py")
        self.assertEqual(self.warder("run", file, "--workflow", "by-hand")[0], 1)
        (workspace_of(self.daemon) / "may").touch()
        self.assertEqual(self.warder("run", file, "--workflow", "by-hand")[0], 0)
        self.assertEqual(self.effects(), ["first", "second"])
        self.assertEqual(self.warder("run", file, "--workflow", "by-hand")[0], 0)
        self.assertEqual(self.effects(), ["first", "second", "first", "second"])
        status, _, err = self.warder("run", "-c", "pass", "--workflow", "other")
        self.assertEqual((status, err), (0, "warder run: the program did not use a workflow named 'other'\n"))


if __name__ == "__main__":
    unittest.main()
