"""A daemon with upstream servers: upstream_server.py, good and bad, is theirs."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from harness import Client, Daemon, eventually

SERVER = pathlib.Path(__file__).resolve().parent / "upstream_server.py"
SPARE = [f"word-{number}" for number in range(40)]  # a command may be long


def structured(result):
    return result["structuredContent"]


class UpstreamTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-upstream-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.folder.chmod(0o777)
        cls.notes = cls.folder / "notes"
        cls.notes.mkdir()
        cls.notes.chmod(0o777)
        shutil.copy(SERVER, cls.folder)
        (cls.folder / "upstream_server.py").chmod(0o644)
        (cls.folder / "catalog").mkdir()

    def setUp(self):
        for note in self.notes.iterdir():
            note.unlink()

    @classmethod
    def server(cls, era="both", **more):
        return {"command": "/usr/bin/python3", "args": [str(cls.folder / "upstream_server.py"), era, str(cls.notes), *SPARE],
                "jail": "none", **more}

    @classmethod
    def daemon(cls, servers=None, policies=None, **configuration):
        file = pathlib.Path(tempfile.mkdtemp(dir=cls.folder)) / "config.json"
        file.parent.chmod(0o755)  # the daemon, no longer root, reads it at a reload
        file.write_text(json.dumps({"servers": servers if servers is not None else {"near": cls.server()},
                                    "catalog": str(cls.folder / "catalog"), **configuration}))
        return Daemon(policies=policies, arguments=["--config", file])

    def events(self, kind):
        return [name for name in os.listdir(self.notes) if name.startswith(kind + "-")]

    def await_event(self, kind):
        eventually(lambda: self.events(kind), kind)

    def await_stubs(self, client, server="near"):
        """Jails see a server's stubs once it has said what tools it has."""
        look = "import os\nresult = os.listdir('/servers')"
        eventually(lambda: server in client.execute(look)["result"], "stubs")


class SharedUpstreamTest(UpstreamTest):
    """Tests that share one daemon, with `servers`."""

    @classmethod
    def servers(cls):
        return {"near": cls.server()}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = cls.enterClassContext(cls.daemon(cls.servers()))

    def setUp(self):
        super().setUp()
        self.client = self.enterContext(Client(self.shared.socket))
