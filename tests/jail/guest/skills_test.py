"""Skills as the runners find them: what they ask of the supervisor, and that nobody pays who asks nothing."""
import os
import unittest

from driver import GuestTest

STORE = {"add": ("python", "def add(a, b):\n    return a + b\n"), "twice": ("javascript", "module.exports = (n) => 2 * n")}


def store(call):
    """The supervisor's side, for the skills above."""
    name = call["arguments"].get("name")
    if call["name"] != "load_skill" or name not in STORE:
        return [{"type": "reply", "id": call["id"], "error": {"code": "not_found", "message": "no"}}]
    language, code = STORE[name]
    return [{"type": "reply", "id": call["id"],
             "result": {"name": name, "code": code, "metadata": {"language": language}}}]


class Python(GuestTest):
    language = "python"

    def test_who_mentions_no_skill_asks_for_nothing_and_loads_nothing(self):
        end = self.run_code("import sys, tempfile, zlib\n[m for m in sys.modules if 'skills' in m]", answer=store)
        self.assertEqual((end.value, end.calls), ([], []))

    def test_a_skill_is_asked_for_once(self):
        end = self.run_code("from skills import add\nimport skills.add\nfrom skills.add import add as plus\n"
                            "[add(1, 2), plus(3, 4), skills.add.__name__, add.__file__]", answer=store)
        self.assertEqual(end.value, [3, 7, "skills.add", "/skills/add.py"])
        self.assertEqual([call["arguments"] for call in end.calls], [{"name": "add"}])

    def test_a_skill_holds_its_own_names_only(self):
        end = self.run_code("from skills import add\n[name for name in vars(add) if not name.startswith('__')]",
                            answer=store)
        self.assertEqual(end.value, ["add"])

    def test_help_shows_what_a_skill_says_of_itself_and_else_its_description(self):
        def describe(call):
            if call["name"] != "load_skill":
                return [{"type": "reply", "id": call["id"], "error": {"code": "not_found", "message": "no"}}]
            name = call["arguments"]["name"]
            code = {"plain": "def plain(a): return a", "told": "'''Of the module.'''\ndef told(a): 'Of the function.'"}[name]
            metadata = {"language": "python", "description": "Answers what it gets."}
            return [{"type": "reply", "id": call["id"], "result": {"name": name, "code": code, "metadata": metadata}}]

        end = self.run_code("from skills import plain, told\nhelp(plain.plain)\nhelp(told)", answer=describe)
        for words in ("plain(a)\n    Answers what it gets.", "Of the module.", "Of the function."):
            self.assertIn(words, end.stdout)

    def test_what_can_be_called_says_what_it_has_else(self):
        STORE["many"] = ("python", "def one(): pass\ndef two(): pass\n")
        end = self.run_code("from skills import many\nmany()", answer=store)
        self.assertEqual(end.error, "TypeError: the skill 'many' defines no function of this name; it defines one, two")

    def test_names_with_dots_are_no_skills(self):
        end = self.run_code("import skills.add.more", answer=store)
        self.assertIn("'skills.add' is not a package", end.error)

    def test_a_package_of_the_workspace_hides_the_skills(self):
        self.write("skills.py", "own = 5")
        end = self.run_code("import skills\nskills.own", answer=store)
        self.assertEqual((end.value, end.calls), (5, []))

    def test_a_supervisor_that_refuses_is_heard(self):
        def refuse(call):
            return [{"type": "reply", "id": call["id"], "error": {"code": "denied", "message": "never", "rule": "r"}}]

        end = self.run_code("from skills import add", answer=refuse)
        self.assertEqual(end.error, "warder.CallError: denied: never (rule: r)")


class JavaScript(GuestTest):
    language = "javascript"

    def test_who_mentions_no_skill_asks_for_nothing_and_loads_nothing(self):
        end = self.run_code("require('zlib'); return Object.keys(require.cache).filter((m) => m.endsWith('/skills.js')).length",
                            answer=store)
        self.assertEqual((end.value, end.calls), (0, []))

    def test_a_skill_is_asked_for_once(self):
        end = self.run_code("return [require('skills/twice')(1), require('/skills/twice.js')(2), "
                            "require('skills/twice') === require('/skills/twice')]", answer=store)
        self.assertEqual(end.value, [2, 4, True])
        self.assertEqual([call["arguments"] for call in end.calls], [{"name": "twice"}])

    def test_a_folder_of_the_workspace_comes_first(self):
        os.mkdir(f"{self.workspace}/skills")
        self.write("skills/twice.js", "module.exports = 'own'")
        end = self.run_code("return require('skills/twice')", answer=store)
        self.assertEqual((end.value, end.calls), ("own", []))

    def test_modules_of_the_workspace_find_skills_and_other_names_are_node_s(self):
        self.write("lib.js", "module.exports = require('skills/twice')(21)")
        self.assertEqual(self.run_code("return require('./lib.js')", answer=store).value, 42)
        self.assertIn("Cannot find module 'skillset'", self.run_code("require('skillset')").error)
        self.assertIn("Cannot find module 'skills/../x'", self.run_code("require('skills/../x')").error)

    def test_a_supervisor_that_is_gone_is_told(self):
        runner = self.start()
        runner.receive()
        runner.send(self.order("try { require('skills/twice') } catch (e) { return e.code }"))
        self.assertEqual(runner.receive()["type"], "call")
        runner.socket.close()
        self.assertEqual(runner.process.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
