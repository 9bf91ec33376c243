"""Where an example is played: a daemon, and the servers that the example names, each in a jail, with what they are asked
and answer noted down."""
import contextlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
POLICIES = HERE.parent.parent / "policies"
CATALOG = HERE.parent.parent / "catalog/example"
sys.path.insert(0, str(HERE.parent / "clients"))
from harness import MODULES, Daemon  # noqa: E402
from tokens import compact, tokens_of  # noqa: E402

from document import Cost, steady_text  # noqa: E402

PATIENCE = 120
PACKAGES = "/workspace/node_modules/@modelcontextprotocol/server-"
NPM = {
    "everything": [PACKAGES + "everything/dist/index.js", "stdio"],
    "files": [PACKAGES + "filesystem/dist/index.js", "/workspace/data"],
    "memory": [PACKAGES + "memory/dist/index.js"],
}
OFFICE = ("calculator", "contacts", "crm", "database", "deploys", "drive", "sheets", "weather")
# Of a tool, what clients put before a model.
SHOWN = ("name", "description", "inputSchema")
def access_logs():
    """Two weeks of a web server's logs: name and text."""
    for day in range(1, 15):
        lines = []
        for n in range(60):
            status = 500 if (n * day) % 29 == 7 else 404 if (n + day) % 17 == 0 else 200
            path, took = f"/shop/item/{n * 13 % 40}", n * 31 % 900 + 20
            lines.append(f"2026-03-{day:02}T{n % 24:02}:{n * 7 % 60:02}:00Z GET {path} {status} {took}ms")
        yield f"access-2026-03-{day:02}.log", "\n".join(lines) + "\n"


def dataset():
    """Records of sensors, of which a quarter is active."""
    return json.dumps([{"id": n, "name": f"sensor-{n}", "status": "active" if n % 4 == 1 else "idle", "value": n * 37 % 1000}
                       for n in range(10_000)])


def scan_results():
    """Findings of a vulnerability scanner."""
    severities = ("low", "medium", "high", "info", "critical", "low", "medium", "info")
    return json.dumps([{"id": f"V-{n}", "host": f"10.0.{n % 20}.{n % 250}", "port": (22, 80, 443, 8080)[n % 4],
                        "severity": severities[n % 8], "title": f"Outdated library {n % 60}",
                        "advice": f"Update to version {n % 9 + 1}.{n % 10} and restart the service."} for n in range(800)])


WORKSPACE_FILES = {"large_dataset.json": dataset, "scan_results.json": scan_results}


class Scene:
    def __init__(self, document):
        self.document = document
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-example-"))

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
            writable = self.build()
            self.daemon = undo.enter_context(Daemon(policies=self.policies()))
            # What is the daemon's user's a server may write: who that is, its state says, before any server starts.
            owner = (self.daemon.state / "tenants").stat()
            for path in writable:
                os.chown(path, owner.st_uid, owner.st_gid)
            self.daemon.stop()
            self.daemon.arguments = ["--config", self.folder / "config.json"]
            self.daemon.start()
            self.client = undo.enter_context(self.daemon.connect(PATIENCE))
            for name in self.document.workspace:
                written = self.client.call("write_workspace_file", {"filename": name, "content": WORKSPACE_FILES[name]()})
                assert not written.get("isError"), written
            self.await_stubs()
            self.undo = undo.pop_all()
        return self

    def __exit__(self, *what):
        return self.undo.__exit__(*what)

    def build(self):
        """A server's jail shows one folder: its program, and what it may write, which is returned."""
        home = self.folder / "home"
        data, records = home / "data", home / "records"
        for path in (home, data, records):
            path.mkdir()
        for script in ("office.py", "record.py"):
            shutil.copy(HERE / script, home)
        if set(NPM) & set(self.document.servers):
            shutil.copytree(MODULES, home / "node_modules", copy_function=link_or_copy, symlinks=True)
        if "files" in self.document.servers:
            for name, text in access_logs():
                (data / name).write_text(text)
            for name in self.document.workspace:
                (data / name).write_text(WORKSPACE_FILES[name]())
        if self.document.has_catalog:
            shutil.copytree(CATALOG, self.folder / "catalog")
        else:
            (self.folder / "catalog").mkdir()  # no other tools than the servers'
        (self.folder / "config.json").write_text(json.dumps({"catalog": str(self.folder / "catalog"), "servers": {
            name: self.server(name, home) for name in self.document.servers}}))
        for path in (self.folder, *self.folder.glob("*"), *home.glob("*.py")):
            path.chmod(0o755)
        self.records = {name: records / name for name in self.document.servers}
        return [records, data, *data.iterdir()]

    def policies(self):
        """The standard policy, without jails that wait: each sees what tools there are when it is asked for."""
        folder = self.folder / "policies"
        shutil.copytree(POLICIES, folder)
        policy = json.loads((folder / "default.json").read_text())
        policy["pool"].update(min_idle=0, max_idle=0, zygotes=False)
        for key, value in self.document.policy.items():
            policy[key] = {**policy.get(key, {}), **value} if isinstance(value, dict) else value
        (folder / "default.json").write_text(json.dumps(policy))
        return folder

    @staticmethod
    def server(name, home):
        program = ["/usr/bin/node", *NPM[name]] if name in NPM else ["/usr/bin/python3", "/workspace/office.py", name]
        return {"command": "/usr/bin/python3", "args": ["/workspace/record.py", f"/workspace/records/{name}"],
                "folder": str(home), "start_s": PATIENCE,
                "env": {"RECORDED": json.dumps(program), "MEMORY_FILE_PATH": "/workspace/data/memory.json"}}

    def await_stubs(self):
        """Until jails see what tools each server has."""
        if not self.document.servers:
            return
        until = time.monotonic() + PATIENCE
        look = "import os\nresult = os.listdir('/servers')"
        while not set(self.document.servers) <= set(self.client.execute(look)["result"]):
            assert time.monotonic() < until, "the servers' tools are not known yet"

    def play_all(self):
        """The answers to the agent's calls."""
        return [self.client.request("tools/call", name=step.tool, arguments=step.arguments, _meta={"org.warder/receipt": False})
                for step in self.document.steps]

    def play_direct(self):
        """The calls that only an agent without code makes."""
        for step in self.document.direct:
            answered = self.client.call("call_tool", {"name": step.tool, "arguments": step.arguments})
            assert not answered.get("isError"), answered

    def cost_of_code(self, results):
        """Of what the agent did here: Warder's tools, each call and what it answered."""
        texts = []
        for step, result in zip(self.document.steps, results):
            texts += [compact({"name": step.tool, "arguments": step.arguments}), *map(steady_text, texts_of(result))]
        return cost(self.client.request("tools/list")["tools"], len(results), texts)

    def cost_of_calls(self):
        """Of the same calls made one by one: every server's tools, each call of a tool and what it answered."""
        tools, calls, texts = self.catalog_tools(), 0, []
        for record in self.records.values():
            asked = {}
            listed = []
            for line in record.read_text().splitlines():
                direction, message = json.loads(line)
                if direction == "asked" and "id" in message:
                    asked[message["id"]] = message
                elif direction == "answered" and "result" in message and message.get("id") in asked:
                    request = asked.pop(message["id"])
                    if request["method"] == "tools/list":
                        listed = [*(listed if request.get("params", {}).get("cursor") else []), *message["result"]["tools"]]
                    elif request["method"] == "tools/call":
                        calls += 1
                        params = {key: request["params"].get(key, {}) for key in ("name", "arguments")}
                        texts += [compact(params), *texts_of(message["result"])]
            tools += listed
        return cost(tools, calls, texts)


    def catalog_tools(self):
        """The definitions in the catalog, which an agent without a search has before it."""
        if not self.document.has_catalog:
            return []
        tools = []
        for file in sorted((self.folder / "catalog").rglob("*.json")):
            read = json.loads(file.read_text())
            for category in read.get("categories", {}).values():
                tools += category["tools"].values()
            tools += [read] if "name" in read else []
        return [{**tool, "inputSchema": tool.get("inputSchema", {"type": "object"})} for tool in tools]


def texts_of(result):
    return [block["text"] for block in result["content"] if block["type"] == "text"]


def cost(tools, calls, texts, instructions=()):
    """`instructions`: other texts that are always before the model."""
    definitions = [compact([{key: tool[key] for key in SHOWN if key in tool} for tool in tools]), *instructions] if tools else []
    counted = tokens_of(*definitions, *texts) if definitions or texts else []
    return Cost(definitions=sum(counted[:len(definitions)]), calls=calls, tokens=sum(counted[len(definitions):]))


def link_or_copy(source, target):
    try:
        pathlib.Path(target).hardlink_to(source)
    except OSError:  # another file system
        shutil.copy2(source, target)
