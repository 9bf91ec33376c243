"""Manual pages and completion say what --help says: all are made of one declaration. Programs: $WARDER, $WARDERD; what
the build made of them: $DOCUMENTS."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from bus_harness import UNITS, Bus, BusDaemon
from harness import BUSY, PATIENCE, TOP, Client, Policies

WARDER, WARDERD = os.environ["WARDER"], os.environ["WARDERD"]
WARDER_EGRESS, WARDER_NODE = os.environ["WARDER_EGRESS"], os.environ["WARDER_NODE"]
DOCUMENTS = pathlib.Path(os.environ["DOCUMENTS"])


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


def flags_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def commands_in(text):
    """The names under "Subcommands:" of a --help."""
    return re.findall(r"(?m)^  ([a-z][a-z-]*)", text.split("Subcommands:\n", 1)[1]) if "Subcommands:\n" in text else []


def helps(*path):
    """(words, --help) of a command and of all below it."""
    text = output_of(*path, "--help")
    found = [(path, text)]
    for command in commands_in(text):
        found += helps(*path, command)
    return found


def manual(name):
    """As a reader sees it, without what roff wants."""
    return re.sub(r"\\f.", "", (DOCUMENTS / name).read_text().replace("\\-", "-"))


def completed(*words):
    """What bash offers for the last word, as if the others were typed."""
    script = ('source "$1"; program=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warder "$program"; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return output_of("bash", "-euc", script, "-", DOCUMENTS / "warder.bash", WARDER, *words).splitlines()


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.helps = helps(WARDER)

    def test_every_command_and_flag_of_help_is_in_the_manual(self):
        self.assertGreater(len(self.helps), 12)
        for name, pages in (("warder.1", self.helps), ("warderd.8", helps(WARDERD)),
                            ("warder-egress.8", helps(WARDER_EGRESS)), ("warder-node.8", helps(WARDER_NODE))):
            text = manual(name)
            for path, page in pages:
                title = " ".join([pathlib.Path(path[0]).name, *path[1:]])
                self.assertIn(title, text)
                self.assertEqual(flags_in(page) - flags_in(text), set(), title)

    def test_the_commands_of_both_programs_are_one_list(self):
        top = commands_in(self.helps[0][1])
        others = commands_in(output_of(pathlib.Path(WARDER).with_name("warder-admin"), "--help"))
        self.assertGreater(len(others), 10)
        for name in ("mcp", "run", "config", *others):
            self.assertIn(name, top)
        self.assertEqual(len(top), len(set(top)))

    def test_every_command_and_flag_of_help_is_completed(self):
        for path, page in self.helps:
            words = ["warder", *path[1:]]
            own = flags_in(page) - {"--socket"} if len(path) > 1 else flags_in(page)
            self.assertLessEqual(own, set(completed(*words, "--")), words)
            self.assertLessEqual(set(commands_in(page)), set(completed(*words, "")), words)

    def test_values_are_completed(self):
        self.assertEqual(completed("warder", "run", "--language", "py"), ["python"])
        self.assertEqual(completed("warder", "top", "-s", "c"), ["cpu"])
        self.assertEqual(completed("warder", "policy", "explain", "--language", "sh"), ["shell"])
        self.assertEqual(completed("warder", "run", "--timeout", ""), [""])
        self.assertEqual(completed("warder", "policy", "c"), ["check"])
        folder = str(DOCUMENTS)
        self.assertEqual(completed("warder", "doctor", "--policies", folder[:-1]), [folder])
        self.assertIn("cursor", completed("warder", "config", "c"))

    def test_names_of_policies_are_completed_and_never_run(self):
        with Policies() as policies, tempfile.TemporaryDirectory() as empty:
            policies.write("careful.json", json.dumps({"extends": "default"}))
            words = ("--policies", str(policies.folder), "--policies", f"$(touch {empty}/pwned)")
            self.assertEqual(completed("warder", "policy", "show", *words[:2], "c"), ["careful"])
            self.assertEqual(completed("warder", "policy", "explain", *words[:2], "--policy", ""), ["careful", "default"])
            completed("warder", "policy", "show", *words, "")
            self.assertEqual(list(pathlib.Path(empty).iterdir()), [])

    def test_every_member_on_d_bus_is_in_its_manual(self):
        text = manual("org.warder.Warder1.5")
        for file in UNITS.glob("*.xml"):
            interface = ElementTree.parse(file).find("interface")
            self.assertIn(f"\n.SH {interface.get('name')}\n", text)
            for member in interface:
                words = [f"{a.get('type')} {a.get('name')}" for a in member.iter("arg")]
                self.assertRegex(text, rf"\n\.TP\n{member.get('name')}[ (].*{'.*'.join(map(re.escape, words))}.*\n\S+ ")

    def test_every_key_of_the_files_is_in_their_manuals(self):
        def paths(schema, whole, prefix):
            schema = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
            for key, value in schema.get("properties", {}).items():
                yield prefix + key
                yield from paths(value, whole, prefix + key + ".")
            if isinstance(schema.get("items"), dict):
                yield from paths(schema["items"], whole, prefix[:-1] + "[].")
            if isinstance(schema.get("additionalProperties"), dict):
                yield from paths(schema["additionalProperties"], whole, prefix + "NAME.")

        for page, file in (("warderd.json.5", "supervisor/daemon/configuration/warderd.schema.json"),
                           ("warder-policy.5", "policies/policy.schema.json")):
            schema = json.loads((TOP / file).read_text())
            text = manual(page)
            keys = list(paths(schema, schema, ""))
            self.assertGreater(len(keys), 30)
            for key in keys:
                self.assertRegex(text, rf"\n\.TP\n{re.escape(key)}[ \n]", page)

    def test_the_page_of_warder_node_has_every_key_of_its_configuration(self):
        source = (TOP / "supervisor/cluster/node/node_settings.cc").read_text()
        keys = set(re.findall(r'\bin\.\w+\("(\w+)"', source)) - {"test_lease_divisor"}
        self.assertGreater(len(keys), 9)
        text = manual("warder-node.8")
        for key in keys:
            self.assertRegex(text, rf"\b{key}\b")

    def test_the_manual_is_clean(self):
        for name in ("warder.1", "warderd.8", "warder-egress.8", "warder-node.8", "org.warder.Warder1.5", "warderd.json.5", "warder-policy.5"):
            for line in (DOCUMENTS / name).read_text().splitlines():
                self.assertNotRegex(line, r"^'|(?<!\\)\\(?![fe&\"-])|^\.(?!TH|SH|SS|TP|PP|nf|fi|\\\")", name)
            shown = subprocess.run(["groff", "-man", "-Tascii", "-ww", DOCUMENTS / name], capture_output=True, text=True,
                                   timeout=PATIENCE)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), name)


class Ids(unittest.TestCase):
    """Of a daemon that runs, and of none."""

    def ids(self, command, bus):
        """What is offered where an id is asked for; flags left out."""
        return [word for word in completed("warder", command, "--bus", bus.address, "") if word[:1] not in ("-", "")]

    def test_of_executions_are_completed_as_they_run_and_end(self):
        with Bus() as bus, BusDaemon(bus) as daemon, Client(daemon.socket) as client:
            ended = client.execute("result = 1")["execution_id"]
            request = client.begin_running(BUSY, timeout_seconds=300)
            (running,) = self.ids("kill", bus)
            self.assertEqual(set(self.ids("logs", bus)), {running, ended})
            self.assertEqual(completed("warder", "kill", "--bus", bus.address, running[:4]), [running])
            self.assertEqual(self.ids("approve", bus), [])
            subprocess.run([WARDER, "kill", "--bus", bus.address, running], check=True, timeout=PATIENCE)
            self.assertEqual(client.executed(request)["outcome"], "cancelled")
            self.assertEqual(self.ids("kill", bus), [])

    def test_are_none_without_a_daemon_or_a_bus_and_nothing_is_said(self):
        with Bus() as bus:
            for command in ("kill", "logs", "approve", "deny"):
                self.assertEqual(self.ids(command, bus), [])
            bus.stop()
            self.assertEqual(self.ids("kill", bus), [])
            done = subprocess.run([WARDER, "complete", "executions", f"warder --bus {bus.address}"], capture_output=True,
                                  timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_are_not_waited_for_long(self):
        with Bus() as bus, BusDaemon(bus) as daemon:
            os.kill(daemon.process.pid, signal.SIGSTOP)
            try:
                self.assertEqual(self.ids("kill", bus), [])
            finally:
                os.kill(daemon.process.pid, signal.SIGCONT)


if __name__ == "__main__":
    unittest.main()
