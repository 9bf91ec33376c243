#!/usr/bin/env python3
"""`warder skill from` and `warder skill usage`, the resource exec:///<id>/code, and ListCodeUse over D-Bus."""
import hashlib
import json
import os
import subprocess
import unittest

from bus_harness import Admin, Bus, BusDaemon, as_user
from harness import ORDINARY_USER, PATIENCE, ROOT, Client, Policies, body_of

WARDER = os.environ["WARDER"]

# name: code, arguments of the run, arguments of the skill's call. The skill must answer what the program answered.
PROGRAMS = {
    "sum_large": ("# Sums the amounts above a limit\nlimit = 10\nlarge = [row for row in rows if row['amount'] > limit]\n"
                  "sum(row['amount'] for row in large)\n",
                  {"rows": [{"amount": 5}, {"amount": 12}, {"amount": 30}]}, "rows=[{'amount': 5}, {'amount': 12}, {'amount': 30}]"),
    "filter_high": ("LEVELS = ['high', 'critical']\n\n# Only the bad ones\ndef filter_high(vulns):\n"
                    "    return [v for v in vulns if v['severity'] in LEVELS]\n\n"
                    "result = filter_high([{'severity': 'low'}, {'severity': 'high'}])\n",
                    {}, "[{'severity': 'low'}, {'severity': 'high'}]"),
    "regions": ('import json\nfrom collections import defaultdict\n\n\ndef total(rows):\n    """Adds\n    amounts"""\n'
                "    return sum(row['n'] for row in rows)\n\n\nNOTE = '''kept\n  as it is'''\nby = defaultdict(int)\n"
                "for row in json.loads(text):\n    by[row['r']] += row['n']\n    if row['n'] > 1:\n        note = '''a\n  b'''\n"
                "result = {'by': by, 'total': total(json.loads(text)), 'note': note, 'NOTE': NOTE, 'ok': true}\n",
                {"text": '[{"r": "x", "n": 1}, {"r": "y", "n": 4}]'}, "text='[{\"r\": \"x\", \"n\": 1}, {\"r\": \"y\", \"n\": 4}]'"),
    "ticks": ("counter = 0\ndef tick():\n    global counter\n    counter += 1\ntick(); tick()\ncounter", {}, ""),
    "early": ("for n in range(100):\n    if n * n > limit:\n        return n\n", {"limit": 50}, "limit=50"),
    "guarded": ("def main():\n    return [1, 2]\n\nif __name__ == '__main__':\n    result = main()\n", {}, ""),
    "fenced": ("```python\nx = 2\nx ** power\n```", {"power": 5}, "power=5"),
    "whole": ("result = None\nif context_vars['a']:\n    result = context_vars['a'] * 2", {"a": 4}, "context_vars={'a': 4}"),
    "shadowed": ("date = '2024'\ndef f():\n    return date + more\nf()", {"more": "!"}, "more='!'"),
    "matched": ("match {'k': [1, 2]}:\n    case {'k': [first, *others]}:\n        result = [first, others]", {}, ""),
}
REFUSED = {
    "try:\n    from math import *\nexcept ImportError:\n    pass\nsqrt(4)": "line 2: `from math import *` in a block",
    "x = (yield)": "line 1: a `yield` outside of a function",
    "-" * 90_000 + "1": "nested too deeply",
    "x = = 1": "is not Python",
    "import json": "the code has no work for a function",
    "# nothing": "the code has no work for a function",
}


class SkillTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus, policies=cls.enterClassContext(Policies())))

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))

    def run_code(self, code, **more):
        return body_of(self.client.call("execute_code", {"code": code, **more}))

    def warder(self, *words, over="--socket", user=None):
        where = self.daemon.socket if over == "--socket" else self.bus.address
        ended = subprocess.run([WARDER, *words, over, where], capture_output=True, text=True, timeout=PATIENCE,
                               user=user, group=user, extra_groups=[] if user else None)
        return ended.returncode, ended.stdout, ended.stderr

    def skill_from(self, execution, name, *more, status=0):
        got, out, err = self.warder("skill", "from", execution, "--name", name, *more)
        self.assertEqual(got, status, out + err)
        return out, err

    def read_code(self, execution, client=None):
        client = client or self.client
        return client.answer(client.begin("resources/read", uri=f"exec:///{execution}/code"))

    def versions(self, name):
        return body_of(self.client.call("load_skill", {"name": name}))["metadata"]["versions"]


class From(SkillTest):
    def test_a_skill_answers_what_its_program_answered(self):
        for name, (code, variables, call) in PROGRAMS.items():
            with self.subTest(name=name):
                ran = self.run_code(code, context_vars=variables)
                self.assertTrue(ran["success"], ran)
                out, err = self.skill_from(ran["execution_id"], name)
                again = self.run_code(f"from skills import {name}\n[{name}({call}), {name}({call})]")
                self.assertEqual(again.get("result"), [ran["result"], ran["result"]], (again, out, err))

    def test_what_is_saved_is_printed_with_its_use(self):
        ran = self.run_code(PROGRAMS["sum_large"][0], context_vars=PROGRAMS["sum_large"][1])
        out, err = self.skill_from(ran["execution_id"], "printed", "--parameter", "limit", "--dry-run")
        self.assertEqual(out, 'def printed(rows, limit=10):\n    large = [row for row in rows if row[\'amount\'] > limit]\n'
                              "    return sum(row['amount'] for row in large)\n")
        self.assertEqual(body_of(self.client.call("load_skill", {"name": "printed"}))["code"], "not_found")
        again, err = self.skill_from(ran["execution_id"], "printed", "--parameter", "limit", "--description", "Adds up")
        self.assertEqual(again, out)
        self.assertEqual(err, "saved as version 1 of the skill 'printed': Adds up\nuse it in code:\n"
                              "from skills import printed\nprinted(rows, limit=10)\n")
        loaded = body_of(self.client.call("load_skill", {"name": "printed"}))
        self.assertEqual((loaded["code"], loaded["metadata"]["description"]), (out, "Adds up"))
        out, err = self.skill_from(ran["execution_id"], "told", "--json")
        told = json.loads(out)
        self.assertEqual((told["name"], told["description"], told["parameters"], told["version"], told["language"], err),
                         ("told", "Sums the amounts above a limit", ["rows"], 1, "python", ""))

    def test_a_skill_is_replaced_only_if_that_is_asked_for(self):
        first = self.run_code("def twice(n):\n    return 2 * n\ntwice(4)")["execution_id"]
        _, err = self.skill_from(first, "twice")
        self.assertIn("left out, because it only ran the function: line 3\n", err)
        second = self.run_code("def twice(n):\n    return n + n\n")["execution_id"]
        _, err = self.skill_from(second, "twice", status=1)
        self.assertIn("there is a skill 'twice' already, version 1", err)
        self.assertIn("--replace", err)
        self.assertEqual(self.versions("twice"), [1])
        self.skill_from(second, "twice", "--replace")
        self.assertEqual(self.versions("twice"), [1, 2])
        _, err = self.skill_from(first, "group_by", status=1)
        self.assertIn("shipped with Warder", err)

    def test_a_function_of_another_name_and_several(self):
        ran = self.run_code("def double(n):\n    return 2 * n\n")["execution_id"]
        self.skill_from(ran, "alias")
        self.assertEqual(self.run_code("from skills import alias\nalias(3)")["result"], 6)
        ran = self.run_code("def one():\n    return 1\ndef two():\n    return one() + 1\n")["execution_id"]
        _, err = self.skill_from(ran, "several")
        self.assertIn("module with one, two", err)
        self.assertEqual(self.run_code("from skills import several\nseveral.two()")["result"], 2)

    def test_programs_that_await_and_sessions_and_forks(self):
        ran = self.run_code("import asyncio\nawait asyncio.sleep(0)\nbase + 1", context_vars={"base": 1})
        _, err = self.skill_from(ran["execution_id"], "waits")
        self.assertIn("await waits(base)", err)
        self.assertEqual(self.run_code("from skills import waits\nawait waits(4)")["result"], 5)
        self.run_code("rows = [1, 2, 3]", session="s")
        ran = self.run_code("sum(rows)", session="s")
        self.skill_from(ran["execution_id"], "summed")
        self.assertEqual(self.run_code("from skills import summed\nsummed([4, 5])")["result"], 9)
        ran = self.run_code("item * 3", fork=[1, 2])
        self.skill_from(ran["results"][1]["execution_id"], "threefold")
        self.assertEqual(self.run_code("from skills import threefold\nthreefold(5)")["result"], 15)

    def test_javascript(self):
        ran = self.run_code("const names = ['a', 'b'];\nreturn names.map((n) => n + suffix);", language="javascript",
                            context_vars={"suffix": "!"})
        self.assertEqual(ran["result"], ["a!", "b!"])
        _, err = self.skill_from(ran["execution_id"], "shout", "--parameter", "suffix")
        self.assertIn("const shout = require('skills/shout');\nawait shout({suffix})", err)
        code = "const shout = require('skills/shout');\nreturn await shout({suffix: '?'});"
        self.assertEqual(self.run_code(code, language="javascript")["result"], ["a?", "b?"])
        ran = self.run_code("module.exports = (n) => n + 1;", language="javascript")
        self.skill_from(ran["execution_id"], "next_one")
        self.assertEqual(self.run_code("return require('skills/next_one')(1)", language="javascript")["result"], 2)
        ran = self.run_code("import fs from 'fs';\nreturn 1;", language="javascript")
        _, err = self.skill_from(ran["execution_id"], "imports", status=1)
        self.assertIn("cannot stand in a function", err)

    def test_what_cannot_become_a_skill_is_refused_and_nothing_is_saved(self):
        for code, why in REFUSED.items():
            with self.subTest(code=code):
                _, err = self.skill_from(self.run_code(code)["execution_id"], "refused", status=1)
                self.assertIn(why, err)
        _, err = self.skill_from(self.run_code("echo 1", language="shell")["execution_id"], "refused", status=1)
        self.assertIn("the program is shell; skills are Python or JavaScript", err)
        ran = self.run_code("x = 1\nx + y", context_vars={"y": 2})["execution_id"]
        for name, words in (("a-b", "Invalid skill name"), ("", "Invalid skill name"), ("x" * 65, "Invalid skill name"),
                            ("../x", "Invalid skill name")):
            self.assertIn(words, self.skill_from(ran, name, status=2)[1])
        self.assertIn("no word of Python", self.skill_from(ran, "class", status=1)[1])
        self.assertIn("does not set it once", self.skill_from(
            self.run_code("x = [1]\nx.append(2)")["execution_id"], "refused", "--parameter", "x", status=1)[1])
        self.assertIn("is not a name for a parameter", self.skill_from(ran, "refused", "--parameter", "a b", status=1)[1])
        self.assertIn("is not there for this user", self.skill_from("e0123456789abcdef", "refused", status=1)[1])
        self.assertIn("not an execution id", self.skill_from("../../x", "refused", status=2)[1])
        self.assertEqual(self.warder("skill", "from", ran)[0], 2)
        self.assertEqual(self.warder("skill", "from", "--name", "x")[0], 2)
        self.assertEqual(subprocess.run([WARDER, "skill", "from", ran, "--name", "x", "--socket", "/nonexistent"],
                                        capture_output=True, timeout=PATIENCE).returncode, 125)
        self.assertEqual(body_of(self.client.call("load_skill", {"name": "refused"}))["code"], "not_found")

    def test_text_of_a_program_cannot_control_a_terminal(self):
        ran = self.run_code("x = '\x1b[31m'\nx * n", context_vars={"n": 2})["execution_id"]
        ended = subprocess.run(["script", "-qec", f"{WARDER} skill from {ran} --name red --socket {self.daemon.socket}", "/dev/null"],
                               capture_output=True, timeout=PATIENCE)
        self.assertIn(rb"\x1b[31m", ended.stdout)
        self.assertNotIn(b"\x1b", ended.stdout)


class Code(SkillTest):
    def test_the_code_of_an_execution_is_a_resource_of_its_tenant(self):
        ran = self.run_code("result = 'Grüße'")["execution_id"]
        (contents,) = self.read_code(ran)["result"]["contents"]
        self.assertEqual(json.loads(contents["text"]), {
            "execution_id": ran, "language": "python", "code": "result = 'Grüße'",
            "code_hash": hashlib.sha256("result = 'Grüße'".encode()).hexdigest()})
        for bad in ("e0", "..", "", "E1", "x" * 100):
            self.assertIn("error", self.read_code(bad), bad)
        long = self.run_code("#" * (300 << 10))["execution_id"]
        self.assertIn("error", self.read_code(long))

    @unittest.skipUnless(ROOT, "another user's client needs root")
    def test_another_tenant_reads_no_code(self):
        ran = self.run_code("result = 'mine'")["execution_id"]
        other = as_user(ORDINARY_USER, lambda: self.enterContext(Client(self.daemon.socket)))
        self.assertIn("error", self.read_code(ran, other))
        theirs = body_of(other.call("execute_code", {"code": "result = 'theirs'"}))["execution_id"]
        self.assertIn("result", self.read_code(theirs, other))
        self.assertIn("error", self.read_code(theirs))  # root is a tenant, too


class Usage(SkillTest):
    def used(self, tenant="", most=0):
        with Admin(self.bus) as admin:
            return admin.call("ListCodeUse", "su", tenant, most)

    def test_programs_that_ran_twice_and_skills_are_counted_without_code(self):
        code = "from skills import group_by\nsecret = 'not on the bus'\nresult = group_by([{'k': 1}], 'k')"
        ids = [self.run_code(code)["execution_id"] for _ in range(3)]
        self.run_code("once = 1")
        self.run_code("from skills import group_by\nraise ValueError")
        programs, skills = self.used()
        (program,) = [one for one in programs if one["LastExecution"] == ids[-1]]
        self.assertEqual(program["Hash"], hashlib.sha256(code.encode()).hexdigest())
        self.assertEqual((program["Runs"], program["Succeeded"], program["Bytes"], program["Language"], bool(program["IsReadable"])),
                         (3, 3, len(code), "python", True))
        self.assertGreater(program["MeanWallUSec"], 0)
        self.assertEqual([one for one in programs if one["Runs"] < 2], [])
        (skill,) = [one for one in skills if one["Skill"] == "group_by"]
        self.assertEqual((skill["Runs"], skill["Succeeded"], bool(skill["IsShared"])), (4, 3, True))
        self.assertNotIn("not on the bus", str(programs) + str(skills))
        self.assertEqual(len(self.used(most=1)[0]), 1)
        status, out, err = self.warder("skill", "usage", over="--bus")
        self.assertEqual(status, 0, err)
        self.assertIn(program["Hash"][:12], out)
        self.assertRegex(out, rf"group_by +shipped +4 +3 .* {skill['LastExecution']}")
        status, out, _ = self.warder("skill", "usage", "--json", "--limit", "1", over="--bus")
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([list(line) for line in lines], [["program"], ["skill"]])
        self.assertEqual(self.warder("skill", "usage", "--limit", "0", over="--bus")[0], 2)
        self.assertEqual(self.warder("skill", "usage", "--tenant", "no/name", over="--bus")[0], 2)

    @unittest.skipUnless(ROOT, "another user needs root")
    def test_a_user_sees_its_own_use_only(self):
        other = as_user(ORDINARY_USER, lambda: self.enterContext(Client(self.daemon.socket)))
        for _ in range(2):
            body_of(other.call("execute_code", {"code": "result = 'theirs'"}))
            self.run_code("result = 'mine'")
        tenant = f"uid-{ORDINARY_USER}"
        self.assertEqual({str(one["Tenant"]) for one in self.used(tenant)[0]}, {tenant})
        self.assertIn("uid-0", {str(one["Tenant"]) for one in self.used()[0]})
        status, out, err = self.warder("skill", "usage", "--json", over="--bus", user=ORDINARY_USER)
        self.assertEqual(status, 0, err)
        self.assertEqual({json.loads(line)["program"]["Tenant"] for line in out.splitlines()}, {tenant})
        self.assertEqual(self.warder("skill", "usage", "--tenant", "uid-0", over="--bus", user=ORDINARY_USER)[0], 1)


if __name__ == "__main__":
    unittest.main()
