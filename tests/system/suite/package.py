"""The Debian package: what an installation brings, an upgrade under connected clients, a purge. The last module: it removes
what the others use."""
import contextlib
import pathlib
import pwd
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
        for file in ("man/man1/warder.1.gz", "man/man8/warderd.8.gz", "man/man5/org.warder.Warder1.5.gz",
                     "man/man5/warderd.json.5.gz", "man/man5/warder-policy.5.gz",
                     "bash-completion/completions/warder"):
            self.assertIn(f"/usr/share/{file}\n", listed)
        self.assertEqual(pwd.getpwnam("warder").pw_shell, "/usr/sbin/nologin")
        self.assertIn("/etc/default/warder", dpkg("--status", "warder"))
        changed = [line for line in dpkg("--verify", "warder").splitlines()
                   if "/usr/share/doc/" not in line and "/usr/share/man" not in line]
        self.assertEqual(changed, [], "all but the documents, which the guest's image leaves out")

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

    def test_3_a_removal_keeps_what_agents_and_administrators_made(self):
        dpkg("--remove", "warder")
        self.assertTrue(pathlib.Path("/var/lib/warder/tenants").is_dir())
        self.assertTrue(CONFIGURATION.exists())
        self.assertFalse(pathlib.Path("/run/warder/mcp.sock").exists())
        self.assertEqual(jailed_processes(), {})

    def test_4_a_purge_leaves_nothing_but_the_user(self):
        dpkg("--purge", "warder")
        left = [path for path in ("/var/lib/warder", "/etc/warder", "/run/warder", "/usr/lib/warder", "/etc/default/warder",
                                  "/usr/sbin/warderd", "/usr/bin/warder", "/usr/lib/systemd/system/warder.service",
                                  "/etc/systemd/system/sockets.target.wants/warder.socket")
                if pathlib.Path(path).is_symlink() or pathlib.Path(path).exists()]
        self.assertEqual(left, [])
        systemctl("daemon-reload")
        wait_until("systemd knows nothing of it", lambda: show("LoadState") == "not-found")
        self.assertTrue(pwd.getpwnam("warder"))
