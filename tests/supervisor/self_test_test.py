"""Jails that lack a protection which every jail must have: the self-test finds it, and no code runs."""
import json
import signal
import unittest

from harness import TOP, Client, Daemon, Policies, Service


class FailingSelfTest(unittest.TestCase):
    def allow_keyrings(self, policies):
        profile = json.loads((TOP / "policies/seccomp/default.json").read_text())
        for rules in profile.values():
            for rule in rules if isinstance(rules, list) else ():
                rule["calls"] = [call for call in rule["calls"] if call != "keyctl"]
        profile["allow"].append({"comment": "What no jail may have.", "calls": ["keyctl"]})
        policies.write("seccomp/default.json", json.dumps(profile))

    def test_jails_that_do_not_hold_what_is_promised_are_not_used(self):
        with Policies() as policies:
            self.allow_keyrings(policies)
            with Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
                body = client.execute("result = 1")
                self.assertEqual(body["outcome"], "denied", body)
                self.assertIn("protections that a jail on this machine does not have", body["error"])
                self.assertIn("no keyrings", daemon.log_text())

    def test_nor_are_they_after_a_reload(self):
        with Policies() as policies, Service(policies=policies) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["result"], 1)
            self.allow_keyrings(policies)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.hear("RELOADING=1")
            self.assertIn("failed", daemon.hear("READY=1"))
            self.assertIn("no keyrings", daemon.log_text())
            add_key = "import ctypes; result = ctypes.CDLL(None).syscall(250, 0, -3, 0)"  # keyctl: the session's own
            self.assertEqual(client.execute(add_key)["result"], -1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
