"""The Debian package: what an installation brings, an upgrade under connected clients, a purge. The last module: it removes
what the others use."""
import contextlib
import pathlib
import pwd
import sqlite3
import subprocess
import unittest

from suite.service import connect, goes_on, initialize, show, systemctl
from suite.warder import jailed_processes, wait_until

CONFIGURATION = pathlib.Path("/etc/default/warder")


def dpkg(*words):
    done = subprocess.run(["dpkg", "--force-confold", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Package(unittest.TestCase):
    def test_1_what_is_installed_and_enabled(self):
        dpkg("--install", "/packages/warder.deb")
        self.assertEqual(systemctl("is-enabled", "warder.socket"), "enabled")
        self.assertEqual(show("ActiveState", "warder.socket"), "active")
        self.assertEqual(systemctl("is-enabled", "warder-metrics.socket"), "enabled")
        listed = dpkg("--listfiles", "warder")
        for file in ("man/man1/warder.1.gz", "man/man8/warderd.8.gz",
                     "man/man5/org.warder.Warder1.5.gz",
                     "man/man5/warderd.json.5.gz", "man/man5/warder-policy.5.gz",
                     "bash-completion/completions/warder"):
            self.assertIn(f"/usr/share/{file}\n", listed)
        self.assertIn("/usr/share/doc/warder/examples/catalog/full_catalog.json\n", listed)
        self.assertNotIn("/usr/lib/warder/catalog", listed, "definitions of tools that nobody can call")
        self.assertEqual(pwd.getpwnam("warder").pw_shell, "/usr/sbin/nologin")
        self.assertIn("/etc/default/warder", dpkg("--status", "warder"))
        changed = [line for line in dpkg("--verify", "warder").splitlines()
                   if "/usr/share/doc/" not in line and "/usr/share/man" not in line]
        self.assertEqual(changed, [], "all but the documents, which the guest's image leaves out")

    def test_1a_bytecode_is_the_installed_pythons(self):
        modules = pathlib.Path("/usr/lib/warder/guest/python/warder")
        tag, magic = subprocess.run(
            ["/usr/bin/python3", "-c", "import importlib.util as u, sys; print(sys.implementation.cache_tag, u.MAGIC_NUMBER.hex())"],
            capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(sorted(file.name for file in (modules / "__pycache__").iterdir()),
                         sorted(f"{file.stem}.{tag}.pyc" for file in modules.glob("*.py")))
        self.assertEqual((modules.parent / "runner.bundle").read_bytes()[:4].hex(), magic)
        self.assertNotIn(".pyc", dpkg("--listfiles", "warder"))

    def test_1b_another_python_gets_bytecode_of_its_own(self):
        bundle = pathlib.Path("/usr/lib/warder/guest/python/runner.bundle")
        before = bundle.read_bytes()
        bundle.write_bytes(b"of another version")
        subprocess.run(["/usr/share/python3/runtime.d/warder.rtupdate", "rtupdate", "python3.1", "python3.2"], check=True)
        self.assertEqual(bundle.read_bytes(), before)

    def test_2_an_upgrade_keeps_clients_and_configuration(self):
        CONFIGURATION.write_text("WARDERD_OPTIONS='--log-level debug'\n")
        with contextlib.closing(connect()) as client:
            initialize(client)
            self.assertTrue(goes_on(client))
            first = show("MainPID")
            dpkg("--install", "/packages/warder-later.deb")
            self.assertTrue(goes_on(client))
            self.assertNotIn(show("MainPID"), ("0", first))
        self.assertEqual(CONFIGURATION.read_text(), "WARDERD_OPTIONS='--log-level debug'\n")
        self.assertIn("+later", dpkg("--status", "warder"))

    def test_2a_an_earlier_version_serves_again_with_a_new_history(self):
        journal = pathlib.Path("/var/lib/warder/journal/journal.db")
        systemctl("stop", "warder.service")
        with contextlib.closing(sqlite3.connect(journal)) as database:  # as a later version would have left it
            database.execute("UPDATE parts SET version = version + 1")
            database.commit()
        dpkg("--install", "/packages/warder.deb")
        self.assertNotIn("+later", dpkg("--status", "warder"))
        with contextlib.closing(connect()) as client:
            initialize(client)
            self.assertTrue(goes_on(client))
        aside = [file for file in journal.parent.glob("journal.db.set-aside-*") if not file.name.endswith(("-wal", "-shm"))]
        self.assertEqual(len(aside), 1)

    def test_3_a_removal_keeps_what_agents_and_administrators_made(self):
        dpkg("--remove", "warder")
        self.assertTrue(pathlib.Path("/var/lib/warder/tenants").is_dir())
        self.assertTrue(CONFIGURATION.exists())
        self.assertFalse(pathlib.Path("/run/warder/mcp.sock").exists())
        self.assertEqual(jailed_processes(), {})

    def test_4_a_purge_leaves_nothing_but_the_user(self):
        cache = pathlib.Path("/var/cache/apparmor/0a1b2c3d.0")  # as apparmor_parser --write-cache leaves it
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "warderd").write_bytes(b"")
        dpkg("--purge", "warder")
        self.assertFalse((cache / "warderd").exists())
        left = [path for path in ("/var/lib/warder", "/etc/warder", "/run/warder", "/usr/lib/warder", "/etc/default/warder",
                                  "/etc/apparmor.d/warderd", "/usr/share/python3/runtime.d/warder.rtupdate",
                                  "/usr/sbin/warderd", "/usr/bin/warder", "/usr/lib/systemd/system/warder.service",
                                  "/etc/systemd/system/sockets.target.wants/warder.socket")
                if pathlib.Path(path).is_symlink() or pathlib.Path(path).exists()]
        self.assertEqual(left, [])
        systemctl("daemon-reload")
        wait_until("systemd knows nothing of it", lambda: show("LoadState") == "not-found")
        self.assertTrue(pwd.getpwnam("warder"))
