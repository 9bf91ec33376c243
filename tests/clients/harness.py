"""What the tests of this folder share: where things are, how a client is started, when to skip.

CTest sets CLIENTS (the folder install.py filled), WARDER (the proxy) and WARDERD (the daemon).
"""
import hashlib
import json
import os
import pathlib
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Connection, Daemon  # noqa: E402,F401
from ports import free_port  # noqa: E402

CLIENTS = pathlib.Path(os.environ["CLIENTS"])
WARDER = os.environ["WARDER"]
MODULES = CLIENTS / "node_modules"
NODE = str(MODULES / f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}/bin/node")

if not (CLIENTS / "installed").is_dir():
    print("\n*** NOT TESTED: the clients could not be installed (see clients_install) ***\n", file=sys.stderr)
    sys.exit(77)


class ServersTest(unittest.TestCase):
    """A daemon that calls other servers' tools, for all tests of the class."""
    calls = {}  # what the default policy's `calls` say instead

    @classmethod
    def servers(cls):
        """Those configured, by name. What they need is put into cls.folder."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-clients-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.folder.chmod(0o755)
        policies = cls.folder / "policies"
        shutil.copytree(TOP / "policies", policies)
        policy = json.loads((policies / "default.json").read_text())
        policy["calls"].update(cls.calls)
        (policies / "default.json").write_text(json.dumps(policy))
        (cls.folder / "catalog").mkdir()
        config = cls.folder / "config.json"
        config.write_text(json.dumps({"servers": cls.servers(), "catalog": str(cls.folder / "catalog")}))
        cls.daemon = cls.enterClassContext(Daemon(policies=policies, arguments=["--config", config]))


class HttpDaemon(Daemon):
    """A daemon on a TCP port, with one token."""

    def __init__(self):
        port = free_port()
        self.token = "wrd_" + secrets.token_urlsafe(36)
        self.url = f"http://127.0.0.1:{port}/mcp"
        super().__init__(arguments=["--http", f"127.0.0.1:{port}"])
        config = self.directory / "warderd.json"
        digest = hashlib.blake2b(self.token.encode(), digest_size=32).hexdigest()
        config.write_text(json.dumps({"tokens": {"agents": {"hash": f"blake2b:{digest}", "tenant": "agents"}}}))
        config.chmod(0o644)
        self.arguments += ["--config", str(config)]


def node(script, *arguments, socket, **options):
    """Starts one of our scripts as a client of the daemon on `socket`, by way of `warder mcp`."""
    environment = {**os.environ, "WARDER": WARDER, "WARDER_SOCKET": str(socket)}
    command = [NODE, "--no-warnings", CLIENTS / script, *arguments]
    return subprocess.Popen(command, env=environment, text=True, **options)


def inspector(*arguments, socket=None, http=None, timeout=60):
    """Runs the Inspector's command line on `warder mcp`, or on an HttpDaemon; the finished process."""
    launcher = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    target = [WARDER, "mcp", "--socket", socket]
    if http:
        target = ["--server-url", http.url, "--transport", "http", "--header", f"Authorization: Bearer {http.token}"]
    command = [NODE, launcher, "--cli", *target, *arguments, "--format", "json"]
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, "HOME": str(CLIENTS)})


def answer_of(result):
    """What execute_code answered, from a tools/call result."""
    return json.loads(result["content"][0]["text"])
