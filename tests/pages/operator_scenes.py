"""Scenes of administration, layers, hosts, clusters and CONTRIBUTING.md."""
import json
import pathlib
import re
import signal
import subprocess

import machine
import registry
from daemon import META, Connection
from scenes import DROP_INS, POLICIES, SOCKET, Setting, TOP, scene


# supervisor/programs/cli/administration.md

ADMINISTRATION = "supervisor/programs/cli/administration.md"


def standard(self, **configuration):
    """A machine without settings of the pages before; every tenant has the policy that a checkout has."""
    for file in (*POLICIES.iterdir(), *DROP_INS.iterdir()):
        file.unlink()
    (POLICIES / "tenants.json").write_text('{"rules": [{"default": true, "policy": "default"}]}')
    if configuration:
        (DROP_INS / "60-pages.json").write_text(json.dumps(configuration))
    self.machine.stop()
    self.machine.start()


class Running:
    """An execution that ends when it is killed."""

    def __init__(self, scenes, **arguments):
        self.client = Connection(SOCKET)
        arguments = {"code": "print('running', flush=True)\nwhile True: pass", "timeout_seconds": 300, **arguments}
        self.client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "execute_code", "arguments": arguments, "_meta": {**META, "progressToken": "t"}}})
        while (message := self.client.receive()).get("params", {}).get("message") != "running":
            assert "result" not in message, message

    def end(self):
        with self.client:
            while "result" not in (message := self.client.receive()):
                pass
        return json.loads(message["result"]["content"][0]["text"])


@scene(ADMINISTRATION, "$ warder ps --all")
def four_executions(self, _):
    standard(self)
    self.execute("result = 1")
    self.execute("raise ValueError('no')")
    self.execute("echo one", language="shell")
    running = Running(self, workspace="staged")

    def before(command):
        if command.text.startswith("warder policy explain"):
            assert running.end()["outcome"] == "cancelled"
    return Setting(before=before, statuses={"warder policy explain": 1})


@scene(ADMINISTRATION, "server$ warder dashboard")
def dashboard(self, block):
    (command,) = block.commands
    process = subprocess.Popen(["/usr/bin/" + command.text.split()[0], *command.text.split()[1:]], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    printed = "".join(process.stdout.readline() for _ in command.printed.splitlines())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=machine.PATIENCE)
    return Setting(replace=[(command.text, "cat <<'.'\n" + printed + ".")],
                   vary=[(" server\n", r" \S+\n"), ("8d5c...", "[0-9a-f]+")])


CLUSTER = pathlib.Path("/etc/warder/cluster")


def on_machines(self, *placeholders):
    """Commands of several machines: each has a folder of its own behind /etc/warder/cluster. The request that one prints
    goes where the page shows it."""
    setting = Setting()

    def before(command):
        host = command.host or self.host_of(command.text)
        if host != self.here:
            if CLUSTER.exists():
                CLUSTER.rename(CLUSTER.with_name(f"cluster@{self.here}"))
            other = CLUSTER.with_name(f"cluster@{host}")
            other.mkdir(mode=0o755, exist_ok=True)
            other.rename(CLUSTER)
            self.here = host
        request = re.search(r"warder-join:\S+", self.printed)
        setting.replace = [(placeholder, request.group()) for placeholder in placeholders if request]
    self.host_of = lambda text: "n2" if " join " in text else "n1"
    setting.before = before
    return setting


@scene(ADMINISTRATION, "n1# warder cluster init")
def three_commands(self, _):
    self.here = None
    return on_machines(self, "warder-join:eyJ2IjoxLCJjbHVzdGVyIjoibWFpbiIs...")


def node_row(name, **more):
    return {"name": name, "state": "alive", "drained": False, "labels": {}, "slots": 16, "used": 0, "waiting": 0, "homes": 0,
            "version": "0.1.0", "boot": "b1", "wire_oldest": 1, "wire_newest": 1, "silent_us": 566_000, **more}


def be_a_node(self):
    """A double of warder-node, of which the daemon is the node n1."""
    from node_double import Cluster
    double = self.ends.enter_context(Cluster("n1")).nodes["n1"]
    double.views["drain"] = lambda order: {"answer": order}
    double.views["homes"] = lambda order: {"answer": {"id": order["id"], "homes": []}}
    standard(self, **double.config())
    assert double.connected.wait(machine.PATIENCE)
    return double


@scene(ADMINISTRATION, "$ warder ps --cluster")
def three_nodes(self, _):
    double = be_a_node(self)
    row = {"id": "e799981122334455a", "tenant": "uid-0", "language": "python", "workspace": "direct", "state": "running",
           "policy": "team", "principal": "uid:0", "background": False, "shared": True, "age_us": 3_400_000, "wall_us": 3_300_000,
           "memory_bytes": 3_300_000}
    rows = [row, {**row, "id": "e4ccc51122334455a"}, {"end": {"left_out": 0}}]

    def before(command):
        is_silent = command.text == "warder nodes" or self.printed.startswith("NODE  STATE")
        nodes = [node_row("n1", state="here", homes=2), node_row("n2", homes=3),
                 node_row("n3", homes=2, used=2, **({"state": "silent", "silent_us": 16_000_000} if is_silent else {}))]
        double.views["view"] = lambda question: {"nodes": {"id": question["id"], "nodes": nodes}}
        double.looks = {"n2": [rows[-1]], "n3": None if is_silent else rows}
    self.printed = ""
    # A node that a busy machine lets answer late is named as silent; a look at the nodes serves for a second.
    return Setting(before=before, terminal=True, is_repeated=True)


@scene(ADMINISTRATION, "$ warder nodes drain")
def needs_homes(self, _):
    raise AssertionError("exceptions.txt has these commands")


@scene(ADMINISTRATION, "# warder token add")
def tokens(self, _):
    standard(self)
    return Setting()


@scene(ADMINISTRATION, '"jwt":')
def jwt(self, block):
    jwt_text, tenants_text = re.fullmatch(r"(?s)(.*?)\n(\{.*)", block.text).groups()
    pathlib.Path("/etc/warder/jwks.json").write_text(json.dumps({"keys": [
        {"kty": "OKP", "crv": "Ed25519", "kid": "1", "alg": "EdDSA", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}))
    (POLICIES / "tenants.json").write_text(tenants_text)
    with self.configuration(DROP_INS / "60-jwt.json", '{"http": {"listen": ["127.0.0.1:9470"]}, ' + jwt_text + "}"):
        printed = self.shell("warder config check")
        explained = self.shell("warder policy explain --subject ada --claim acme")
    assert printed.startswith("good: "), printed
    assert "org-acme" in explained and "strict" in explained, explained


@scene(ADMINISTRATION, "npm install --ignore-scripts")
def without_network(self, _):
    standard(self)
    return Setting(replace=[(" D ", " /root/D "), ("FILE.tgz", "/root/FILE.tgz"), ("npm:PACKAGE", "npm:@modelcontextprotocol/server-time"),
                            ("PACKAGE", "@modelcontextprotocol/server-time")])


@scene(ADMINISTRATION, '{"servers": {"wiki"')
def a_login(self, block):
    self.is_good(DROP_INS / "60-wiki.json", block.text)


@scene(ADMINISTRATION, "$ warder doctor")
def what_is_counted(self, _):
    standard(self)
    for code in ["result = 1"] * 4:  # the doctor, which looks twice, runs one each time
        self.execute(code)
    self.execute("raise ValueError('no')")
    self.execute("while True: pass", timeout_seconds=0.5)
    running = Running(self)
    self.shell("warder kill $(warder ps --json | grep -o 'e[0-9a-f]\\{16\\}' | head -1)")
    running.end()
    newest = next(one for one in map(json.loads, self.shell("warder history --json").splitlines()) if one["Outcome"] == "timeout")
    self.ids.bind("ec69f3f37c228c50a", newest["Id"])
    log = f"{self.machine.folder}/log"
    return Setting(statuses={"warder doctor": self.doctor_status()}, environment={"WARDER_LOG": log}, vary=[
        ("Linux 6.18.44-fc-v657 on x86_64", r"Linux \S+ on \S+"), ("2 addresses, 6 routes", r"\d+ addresses, \d+ routes"),
        ("0 neighbours, 5 rules", r"\d+ neighbours, \d+ rules"), ("13 good, 5 to note, 0 bad", r"\d+ good, \d+ to note, \d+ bad"),
        ("Nov 22 10:56:52 vm warderd[6124]", r"\w+ \d+ [\d:]+ \S+ warderd\[\d+\]"), ("504.2 ms", r"\d+\.\d ms")])


@scene(ADMINISTRATION, "# journalctl -u warder -o json")
def heads_of_the_audit_chain(self, _):
    standard(self)
    return Setting(environment={"WARDER_LOG": f"{self.machine.folder}/log"}, vary=[
        ("4120 entries of 5313 calls", r"\d+ entries of \d+ calls"), ("head 07c1", "head [0-9a-f]+"), ("171; 171 are", r"\d+; \d+ are")])


@scene(ADMINISTRATION, "$ warder skill usage")
def usage(self, _):
    program = ("# Sums the orders above a limit\nfrom skills import csv_records\nrows = csv_records(read_file('orders.csv'))\nlimit = 1000\n"
               "large = [row for row in rows if float(row['amount']) > limit and row['region'] == region]\n"
               "result = {'orders': len(large), 'sum': sum(float(row['amount']) for row in large)}")
    standard(self)
    self.orders = program
    words = lambda code: ["runuser", "-u", "ada", "--", "/usr/bin/warder", "run", "--context", "region=north", "-c", code]  # noqa: E731
    self.shell("warder run -c 'write_file(\"orders.csv\", \"amount,region\\n2000,north\\n10,south\\n\")'", "ada")
    for code in [program] * 14 + ["result = sum(range(10)) # 34 bytes"] * 3:
        done = subprocess.run(words(code), capture_output=True, text=True, timeout=machine.PATIENCE)
        assert done.returncode == 0, done.stderr
    return Setting(vary=[("uid-1000", "uid-1501"), ("f571cbcb4fdb", "[0-9a-f]{12}"), ("95fa8daa21a6", "[0-9a-f]{12}"),
                         ("293", str(len(program))), ("34 ", r"34 +")])


@scene(ADMINISTRATION, "$ sudo -u ada warder skill from")
def from_a_run(self, _):
    return Setting(terminal=True)


@scene(ADMINISTRATION, '$ M="org.warder')
def over_d_bus(self, block):
    standard(self)
    for code in ["result = 1"] * 5 + ["raise ValueError('no')"]:
        self.execute(code)
    running = Running(self)
    (listed,) = json.loads(self.shell("warder ps --json"))
    self.ids.bind("e38fdca2048635c6b", listed["Id"])

    def before(command):
        if command.text.endswith("State Outcome"):
            running.end()
    variable = block.commands[0].text
    starts = 'a{st} 3 "cold" 1 "exec" 1 "fork" 4'
    return Setting(before=before, replace=[("busctl get-property $M", variable + "; busctl get-property $M"),
                                           ("busctl call $M", variable + "; busctl call $M")],
                   vary=[(starts, r'a\{st\} \d( "(cold|exec|fork)" \d)+')])


# units/layers.md

@scene("units/layers.md", "apt-get update")
def all_is_installed(self, _):
    standard(self)
    return Setting(statuses={"warder layer build data": 2})


@scene("units/layers.md", '{"extends": "system", "description"')
def a_policy_with_a_layer(self, block):
    from layers_harness import make_wheel
    pathlib.Path("/srv/wheels").mkdir()
    make_wheel("/srv/wheels", "warder_page", [("warder_page.py", "A = 1\n")])
    self.shell("warder layer build data --wheels /srv/wheels")
    (POLICIES / "analysts.json").write_text(block.text)
    assert "good" in self.shell("warder config check")


@scene("units/layers.md", "warder layer build ml")
def other_sources(self, _):
    from layers_harness import make_wheel
    pathlib.Path("/root/package.json").write_text('{"dependencies": {"@modelcontextprotocol/server-memory": "2026.1.0"}}')
    pathlib.Path("/root/requirements.txt").write_text("warder-index\n")
    place = pathlib.Path("/srv/index/simple/warder-index")
    place.mkdir(parents=True)
    wheel = make_wheel(place, "warder_index", [("warder_index.py", "A = 1\n")])
    (place / "index.html").write_text(f'<!doctype html><a href="{wheel.name}">{wheel.name}</a>')
    url, end = registry.serve("/srv/index")
    self.ends.callback(end)
    return Setting(replace=[("https://pypi.org/", url)])


# units/egress.md

@scene("units/egress.md", '{\n  "extends": "system"')
def rules_of_hosts(self, block):
    standard(self)
    secret = pathlib.Path("/etc/warder/secrets/tickets")
    secret.parent.mkdir()
    secret.write_text("Bearer abcdefgh\n")
    self.shell("chgrp warder /etc/warder/secrets/tickets && chmod 640 /etc/warder/secrets/tickets")
    (POLICIES / "mine.json").write_text(block.text)
    self.reload()


@scene("units/egress.md", "warder policy explain --policy mine")
def allowed_hosts(self, block):
    for command in block.commands:
        printed = self.shell(command.text)
        assert printed.startswith("allowed"), printed
    assert "refused" in self.shell(block.commands[0].text.replace("files.pypi.org", "example.org"), status=1)
    return Setting()


@scene("units/egress.md", '{"servers": {"tickets"')
def hosts_of_a_server(self, block):
    self.is_good(DROP_INS / "60-tickets.json", block.text.replace('"tickets-mcp"', '"/usr/bin/node"'))


# units/cluster.md

@scene("units/cluster.md", '{"extends": "system", "cluster"')
def a_shared_policy(self, block):
    self.is_good(POLICIES / "shared.json", block.text)


@scene("units/cluster.md", "warder cluster init", "warder cluster join", "warder cluster add")
def keys(self, block):
    if "init" in block.text:
        self.shell("rm -rf /etc/warder/cluster /etc/warder/cluster@*")
        self.here = None
    setting = on_machines(self, "THE LINE")
    before = setting.before

    def with_the_others(command):
        before(command)
        setting.replace.append((" ...", " --server tls://n2.example:4222 --server tls://n3.example:4222"))
    setting.before = with_the_others
    return setting


@scene("units/cluster.md", '{"cluster": {}}')
def a_member(self, block):
    self.is_good(DROP_INS / "60-cluster.json", block.text)


@scene("units/cluster.md", "warder cluster sign")
def three_rules(self, _):
    files = {"shared.json": '{"extends": "system", "cluster": {"home": "cluster"}}',
             "weather.json": (TOP / "catalog/example/research/web.json").read_text(),
             "fleet-report/SKILL.md": "---\nname: fleet-report\ndescription: Seven\n---\n",
             "fleet-report/scripts/fleet_report.py": "def fleet_report():\n    return 7\n"}
    for name, text in files.items():
        file = pathlib.Path("/root", name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return on_machines(self)


@scene("units/cluster.md", "warder nodes move", "warder nodes drain")
def one_node(self, _):
    """No workspace has a home, so all of them move at once."""
    be_a_node(self)
    return Setting()


@scene("units/cluster.md", "zstd -dc FILE")
def a_parked_file(self, _):
    self.shell("mkdir -p parked/folder/vault parked/folder/workspace && touch parked/folder/workspace/a && "
               "tar -cf - -C parked folder | zstd -qo FILE")
    return Setting()


# .github/CONTRIBUTING.md

@scene(".github/CONTRIBUTING.md", ".ci/install-packages", "cmake --build --preset dev --target jail_tests")
def of_this_build(self, _):
    """With the build at hand. stand_ins/cmake and stand_ins/ctest look whether presets, targets and tests exist; what they
    would build is built already: unit tests by the preset test, everything else also by the preset release."""
    builds = (self.machine.build, TOP / "build/test", TOP / "build/dev")
    program = next((path for path in (build / "tests/jail/jail_tests" for build in builds) if path.exists()), None)
    assert program, "no build has jail_tests: .ci/test --units"
    return Setting(folder=str(TOP), replace=[("build/dev/tests/jail/jail_tests", f"{program} --help")])
