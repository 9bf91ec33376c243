"""What the tests of `warder agent` share: a daemon, a server of models, and the program with their addresses."""
import os
import pathlib
import subprocess
import tempfile
import time

from harness import PATIENCE, SharedDaemon
from model_server import ModelServer

WARDER = os.environ["WARDER"]
KEY = "sk-test-0123456789"


class AgentCase(SharedDaemon):
    provider = "openai"

    def setUp(self):
        super().setUp()
        self.model = self.enterContext(ModelServer())
        self.state = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="warder-test-agent-")))
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("LLM_") and name != "CREDENTIALS_DIRECTORY"}
        self.environment = {**kept, "WARDER_SOCKET": str(self.daemon.socket), "XDG_STATE_HOME": str(self.state),
                            "LLM_API_KEY": KEY, "LLM_MODEL": "test-model", "LLM_BASE_URL": self.model.url}

    def start(self, *words, **more):
        return subprocess.Popen([WARDER, "agent", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**self.environment, **more})

    def ended(self, process):
        """(status, output, errors)"""
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        self.assertNotIn(KEY, out + err)
        return process.returncode, out, err

    def agent(self, *words, **more):
        return self.ended(self.start("--provider", self.provider, "--retry-pause", "0.001", *words, **more))

    def await_file(self, file, process):
        """Waits for a file that a jailed program makes; removes it."""
        until = time.monotonic() + PATIENCE
        while not file.exists():
            self.assertIsNone(process.poll(), "the agent has ended")
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        file.unlink()

    def expect_idle(self):
        """No program of a session runs any more."""
        until = time.monotonic() + PATIENCE
        while any(one["state"] == "busy" for one in
                  self.client.call("get_execution_stats")["structuredContent"]["sessions"]):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
