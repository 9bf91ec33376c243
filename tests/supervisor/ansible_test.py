"""The Ansible example: it is well-formed, a second run changes nothing, and what it writes is checked before. Program:
$WARDER."""
import os
import re
import shutil
import subprocess
import unittest

import yaml
from harness import PATIENCE, TOP

FOLDER = TOP / "units/ansible"
PLAY = yaml.safe_load((FOLDER / "site.yml").read_text())[0]
# Modules that find out by themselves whether there is anything to change.
IDEMPOTENT = {"ansible.builtin.copy", "ansible.builtin.template", "ansible.builtin.apt", "ansible.builtin.user",
              "ansible.builtin.systemd", "ansible.builtin.file"}
KEYWORDS = {"name", "register", "changed_when", "check_mode", "notify", "loop", "when"}


def module_of(task):
    (module,) = task.keys() - KEYWORDS
    return module, task[module]


class Example(unittest.TestCase):
    def test_a_second_run_changes_nothing(self):
        for task in PLAY["tasks"]:
            module, _ = module_of(task)
            with self.subTest(task["name"]):
                self.assertTrue(module in IDEMPOTENT or task.get("changed_when") is False, module)

    def test_every_handler_exists_and_is_notified(self):
        notified = {task["notify"] for task in PLAY["tasks"] if "notify" in task}
        self.assertEqual(notified, {handler["name"] for handler in PLAY["handlers"]})

    def test_what_is_written_is_checked_first(self):
        tasks = {task["name"]: (index, module_of(task)[1]) for index, task in enumerate(PLAY["tasks"])}
        self.assertEqual(tasks["Write the configuration"][1]["validate"], "warderd --check --config %s")
        self.assertLess(tasks["Check the policies"][0], tasks["Write the policies"][0])
        for name, (_, arguments) in tasks.items():
            if isinstance(arguments, dict) and "dest" in arguments:
                self.assertRegex(str(arguments["mode"]), "^0644$", name)

    def test_its_policies_pass_the_command_that_checks_them(self):
        (check,) = [module_of(task)[1]["argv"] for task in PLAY["tasks"] if task["name"] == "Check the policies"]
        places = {"/usr/lib/warder/policies": str(TOP / "policies"),
                  "{{ warder_checked.path }}": str(FOLDER / "files/policies"), "warder": os.environ["WARDER"]}
        done = subprocess.run([places.get(word, word) for word in check], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_variable_and_file_exists(self):
        variables = yaml.safe_load((FOLDER / "group_vars/warder.yml").read_text())
        text = (FOLDER / "site.yml").read_text() + (FOLDER / "templates/warderd.json.j2").read_text()
        used = set(re.findall(r"\bwarder_[a-z_]+\b", text)) - {"warder_checked"}
        self.assertEqual(used, variables.keys())
        for task in PLAY["tasks"]:
            module, arguments = module_of(task)
            source = arguments.get("src") if isinstance(arguments, dict) else None
            if source and not arguments.get("remote_src") and source != "warder.deb":
                self.assertTrue((FOLDER / ("templates" if module.endswith("template") else "files") / source).exists(), source)

    @unittest.skipUnless(shutil.which("ansible-playbook"), "needs ansible-playbook (package ansible-core)")
    def test_ansible_takes_it(self):
        done = subprocess.run(["ansible-playbook", "-i", FOLDER / "inventory.ini", "--syntax-check", FOLDER / "site.yml"],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
