#!/usr/bin/env python3
"""Calls that somebody has to approve, with the official SDKs' clients, in each era: approvals.mjs is the person."""
import shutil
import unittest

from harness import TOP, ServersTest, node


class Approvals(ServersTest):
    calls = {"rules": [{"name": "careful", "tools": ["near.echo"], "verdict": "ask"}]}

    @classmethod
    def servers(cls):
        server = shutil.copy(TOP / "tests/supervisor/upstream_server.py", cls.folder)
        return {"near": {"command": "/usr/bin/python3", "args": [str(server)], "jail": "none"}}

    def answer_as(self, kind):
        client = node("approvals.mjs", kind, socket=self.daemon.socket)
        self.assertEqual(client.wait(120), 0)

    def test_sdk_1(self):
        self.answer_as("v1")

    def test_sdk_2_in_the_legacy_era(self):
        self.answer_as("v2-legacy")

    def test_sdk_2_in_the_modern_era(self):
        self.answer_as("v2-modern")


if __name__ == "__main__":
    unittest.main()
