"""Jails that lack a protection which every jail must have: the self-test finds it, and no code runs."""
import errno
import json
import signal
import unittest

from harness import TOP, Client, Daemon, Policies, Service


class FailingSelfTest(unittest.TestCase):
    def refuse_clone3(self, policies):
        """With EPERM, of which the C library gives up: a call that is allowed by mistake is refused by init, too."""
        profile = json.loads((TOP / "policies/seccomp/default.json").read_text())
        for rules in profile.values():
            for rule in rules if isinstance(rules, list) else ():
                rule["calls"] = [call for call in rule["calls"] if call != "clone3"]
        profile["missing"] = [rule for rule in profile["missing"] if rule["calls"]]
        profile["deny"].append({"comment": "What no jail may have.", "calls": ["clone3"]})
        policies.write("seccomp/default.json", json.dumps(profile))

    def test_jails_that_do_not_hold_what_is_promised_are_not_used(self):
        with Policies() as policies:
            self.refuse_clone3(policies)
            with Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
                body = client.execute("result = 1")
                self.assertEqual(body["outcome"], "denied", body)
                self.assertIn("protections that a jail on this machine does not have", body["error"])
                self.assertIn("clone3 reads as missing", daemon.log_text())

    def test_nor_are_they_after_a_reload(self):
        with Policies() as policies, Service(policies=policies) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["result"], 1)
            self.refuse_clone3(policies)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.hear("RELOADING=1")
            self.assertIn("failed", daemon.hear("READY=1"))
            self.assertIn("clone3 reads as missing", daemon.log_text())
            clone3 = "import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall(435, 0, 0); result = ctypes.get_errno()"
            self.assertEqual(client.execute(clone3)["result"], errno.ENOSYS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
