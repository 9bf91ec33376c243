"""The Ansible example: it is well-formed, a second run changes nothing, and what it writes is checked before. Program:
$WARDERD."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml
from harness import PATIENCE, TOP

FOLDER = TOP / "units/ansible"
PLAY = yaml.safe_load((FOLDER / "site.yml").read_text())[0]
# Modules that find out by themselves whether there is anything to change.
IDEMPOTENT = {"ansible.builtin.copy", "ansible.builtin.template", "ansible.builtin.apt", "ansible.builtin.user",
              "ansible.builtin.systemd", "ansible.builtin.file", "ansible.builtin.stat", "ansible.builtin.getent",
              "ansible.builtin.meta"}
KEYWORDS = {"name", "register", "changed_when", "failed_when", "check_mode", "notify", "loop", "loop_control", "when"}
BLOCK = {"name", "check_mode", "when", "block", "always"}


def flat(tasks):
    """All tasks in their order, without the blocks around them."""
    for task in tasks:
        if "block" in task:
            assert task.keys() <= BLOCK, task["name"]
            yield from flat(task["block"] + task.get("always", []))
        else:
            yield task


TASKS = list(flat(PLAY["tasks"]))
NAMES = [task["name"] for task in TASKS]


def named(name):
    return TASKS[NAMES.index(name)]


def module_of(task):
    (module,) = task.keys() - KEYWORDS
    return module, task[module]


class Example(unittest.TestCase):
    def test_a_second_run_changes_nothing(self):
        for task in TASKS:
            module, _ = module_of(task)
            with self.subTest(task["name"]):
                # A command that changes something runs only if a state that was read before asks for it.
                asked = re.search("warder_states|getent_group", str(task.get("when", "")) + str(task.get("loop", "")))
                self.assertTrue(module in IDEMPOTENT or task.get("changed_when") is False or asked, module)

    def test_every_handler_exists_and_is_notified(self):
        notified = {task["notify"] for task in TASKS if "notify" in task}
        self.assertEqual(notified, {handler["name"] for handler in PLAY["handlers"]})

    def test_what_is_written_is_checked_first(self):
        check = NAMES.index("Check the configuration and the policies")
        for copied in ("Copy the machine's policies and drop-ins for checking", "Copy the policies for checking",
                       "Copy the configuration for checking"):
            self.assertLess(NAMES.index(copied), check)
        self.assertLess(NAMES.index("Copy the machine's policies and drop-ins for checking"),
                        NAMES.index("Copy the policies for checking"), "the new files replace the machine's")
        for written in ("Write the policies", "Write the configuration"):
            self.assertLess(check, NAMES.index(written))
        for task in TASKS:
            _, arguments = module_of(task)
            if isinstance(arguments, dict) and "dest" in arguments:
                self.assertRegex(str(arguments["mode"]), "^0644$", task["name"])

    def test_the_folder_for_checking_goes_in_any_case(self):
        (block,) = [task for task in PLAY["tasks"] if "block" in task]
        self.assertIs(block["check_mode"], False)
        self.assertEqual([module_of(task)[1] for task in block["always"]],
                         [{"path": "{{ warder_checked.path }}", "state": "absent"}])

    def check(self, drop_in=None, policy=None):
        """What the check of the play says about a machine with these files of its own."""
        with tempfile.TemporaryDirectory() as root:
            machine, checked = pathlib.Path(root) / "warder", pathlib.Path(root) / "checked"
            for folder in (machine / "policies", machine / "warderd.json.d", checked):
                folder.mkdir(parents=True)
            if drop_in:
                (machine / "warderd.json.d/50-own.json").write_text(drop_in)
            if policy:
                (machine / "policies/own.json").write_text(policy)
            places = {"/usr/lib/warder/policies": str(TOP / "policies"), "/etc/warder": str(machine),
                      "{{ warder_checked.path }}": str(checked)}

            def run(name):
                words = module_of(named(name))[1]["argv"]
                for place, path in places.items():
                    words = [word.replace(place, path) for word in words]
                words = [os.environ["WARDERD"] if word == "warderd" else word for word in words]
                return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
            copied = run("Copy the machine's policies and drop-ins for checking")
            self.assertEqual(copied.returncode, 0, copied.stderr)
            shutil.copytree(FOLDER / "files/policies", checked / "policies", dirs_exist_ok=True)
            variables = yaml.safe_load((FOLDER / "group_vars/warder.yml").read_text())
            (checked / "warderd.json").write_text(json.dumps(variables["warder_configuration"]))
            done = run("Check the configuration and the policies")
            return done.returncode, done.stdout + done.stderr

    def test_its_files_pass_the_command_that_checks_them(self):
        status, said = self.check()
        self.assertEqual(status, 0, said)

    def test_files_that_only_the_machine_has_are_checked_too(self):
        for files, named_file in (({"drop_in": '{"log_level": "loud"}'}, "50-own.json"),
                                  ({"policy": '{"extends": "system",}'}, "own.json")):
            status, said = self.check(**files)
            self.assertEqual(status, 1, said)
            self.assertIn(named_file, said)

    def test_a_check_before_the_first_run_ends_before_it_needs_the_package(self):
        end = named("End here if this is a check before the first run")
        self.assertEqual(module_of(end)[1], "end_host")
        self.assertIn("ansible_check_mode", end["when"])
        self.assertEqual([module_of(task)[0].rpartition(".")[2] for task in TASKS[:TASKS.index(end)]],
                         ["copy", "apt", "stat"])
        self.assertEqual(named("Install the package")["when"], "not ansible_check_mode")

    def test_no_account_is_made(self):
        accounts, make = named("Look for the operators' accounts"), named("Make operators")
        self.assertEqual(make["loop"], "{{ %s.results }}" % accounts["register"])
        self.assertEqual(make["when"], "item.ansible_facts.getent_passwd[item.item] is not none")

    def test_sockets_start_after_the_service_and_all_sockets_stopped(self):
        stop, listen = named("Stop Warder if a socket is new or does not listen"), named("Listen")
        self.assertEqual(module_of(stop)[1]["argv"], "{{ ['systemctl', 'stop', 'warder.service'] + warder_sockets }}")
        self.assertEqual(TASKS.index(stop) + 1, TASKS.index(listen))
        self.assertEqual(listen["loop"], "{{ warder_sockets }}")
        # warder.service starts the last two by itself; a client of either must not come before the first one listens.
        self.assertEqual(re.findall(r"'(\S+\.socket)'", PLAY["vars"]["warder_sockets"]),
                         ["warder-metrics-tcp.socket", "warder-metrics.socket", "warder.socket"])

    def test_every_variable_and_file_exists(self):
        variables = yaml.safe_load((FOLDER / "group_vars/warder.yml").read_text())
        text = (FOLDER / "site.yml").read_text() + (FOLDER / "templates/warderd.json.j2").read_text()
        own = {task["register"] for task in TASKS if "register" in task} | PLAY["vars"].keys()
        used = set(re.findall(r"\bwarder_[a-z_]+\b", text)) - own
        self.assertEqual(used, variables.keys())
        for task in TASKS:
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
