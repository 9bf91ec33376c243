"""The message catalog for journalctl -x: it explains each MESSAGE_ID of the sources, and no other, with fields that the
daemon logs. Multi-line errors become entries of one line."""
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import PATIENCE, TOP, Daemon, Policies, eventually

CATALOG = TOP / "units/warder.catalog"
HEADERS = ("Subject", "Defined-By", "Documentation")


def sources():
    for folder in ("supervisor", "jail", "policies"):
        for file in sorted((TOP / folder).rglob("*")):
            if file.suffix in (".h", ".cc"):
                yield file.read_text()


def entries():
    """{id: (headers, text)} of the catalog, read as systemd reads it."""
    found, identity = {}, None
    for line in CATALOG.read_text().split("\n"):
        if line.startswith("-- "):
            identity = line[3:]
            assert identity not in found, identity
            found[identity] = ({}, [])
        elif identity is None:
            assert not line or line.startswith("#"), line
        elif not found[identity][1] and (match := re.fullmatch(r"([A-Z][A-Za-z-]+): (.+)", line)):
            found[identity][0][match[1]] = match[2]
        else:
            found[identity][1].append(line)
    return {name: (headers, "\n".join(lines).strip()) for name, (headers, lines) in found.items()}


class Catalog(unittest.TestCase):
    def test_each_id_that_is_logged_has_an_entry_and_no_other(self):
        ids = {name for text in sources() for name in re.findall(r'k\w+Id\[\] = "([0-9a-f]{32})"', text)}
        used = {name for text in sources() for name in re.findall(r"(?:log_fields|log_problem)\([^;]*?(k\w+Id)\b", text)}
        declared = {name for text in sources() for name in re.findall(r"(k\w+Id)\[\] = ", text)}
        self.assertGreater(len(ids), 5)
        self.assertEqual(used, declared, "declared and never logged, or the other way round")
        self.assertEqual(entries().keys(), ids)

    def test_each_entry_says_what_happened_and_names_fields_that_exist(self):
        fields = {name for text in sources() for name in re.findall(r'"(WARDER_[A-Z_]+)"', text)}
        for identity, (headers, text) in entries().items():
            with self.subTest(identity):
                self.assertEqual(tuple(headers), HEADERS)
                self.assertGreater(len(text), 50)
                self.assertLessEqual(set(re.findall(r"@(\w+)@", text)), fields)
                self.assertRegex(identity, "^[0-9a-f]{32}$")

    @unittest.skipUnless(shutil.which("journalctl"), "needs journalctl")
    def test_systemd_takes_the_file(self):
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root) / "usr/lib/systemd/catalog"
            folder.mkdir(parents=True)
            (pathlib.Path(root) / "var/lib/systemd/catalog").mkdir(parents=True)
            shutil.copy(CATALOG, folder)
            done = subprocess.run(["journalctl", f"--root={root}", "--update-catalog"], capture_output=True, text=True,
                                  timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            listed = subprocess.run(["journalctl", f"--root={root}", "--list-catalog"], capture_output=True, text=True,
                                    timeout=PATIENCE).stdout
            self.assertEqual({line.split(" ")[0] for line in listed.splitlines()}, entries().keys())


class Lines(unittest.TestCase):
    def test_every_mistake_of_a_failed_reload_is_a_line_of_its_own(self):
        with Policies() as policies, Daemon(policies=policies) as daemon:
            policies.write("broken.json", '{"extends": "nothing"}')
            policies.write("worse.json", '{"languages": 7, "limits": {"memory_bytes": "much"}}')
            policies.write("tenants.json", '{"rules": [{"uid": 1, "policy": "broken"}, {"default": true, "policy": "worse"}]}')
            daemon.process.send_signal(signal.SIGHUP)
            def lines():
                return [line for line in daemon.log_text().splitlines() if "the former configuration stays in force" in line]
            eventually(lambda: len(lines()) >= 3, "each mistake")
            for name in ("broken.json", "worse.json"):
                self.assertTrue([line for line in lines() if name in line], lines())
            self.assertNotIn("\\x0a", daemon.log_text())


if __name__ == "__main__":
    unittest.main()
