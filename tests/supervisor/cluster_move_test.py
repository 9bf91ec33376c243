"""Workspaces move between three real nodes, under load, and while processes are killed. The judge is the files: each
line and each file that an agent was told to be written is at one home, once, and the former home has none of them.
"""
import collections
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from bus_harness import Bus
from cluster_rig import NATS_SERVER, Rig
from harness import PATIENCE, Client, Policies, body_of, eventually

ACCOUNT = f"uid-{os.geteuid()}"
NODES = ("n1", "n2", "n3")
if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: moving homes of a cluster, because nats-server is missing: apt-get install nats-server ***\n")


class Agent(threading.Thread):
    """Works without a pause in one workspace: appends a line, or writes a file. It leaves a node when it is asked to."""

    def __init__(self, rig, workspace, node, first):
        super().__init__(daemon=True)
        self.rig, self.workspace, self.node, self.next = rig, workspace, node, first
        self.lines, self.files, self.failures, self.is_over = [], {}, [], False

    def run(self):
        client, at = None, None
        while not self.is_over:
            if at != self.node:
                if client:
                    client.close()
                at = self.node
                client = Client(self.rig.daemons[at].socket, timeout=60)
            number, self.next = self.next, self.next + 1
            meta = {"org.warder/workspace": self.workspace}
            try:
                if number % 3:
                    arguments = {"code": f"open('runs', 'a').write('{number}\\n')"}
                    body = body_of(client.request("tools/call", name="execute_code", arguments=arguments, _meta=meta))
                else:
                    arguments = {"filename": f"files/{number}", "content": "x" * number}
                    body = body_of(client.request("tools/call", name="write_workspace_file", arguments=arguments, _meta=meta))
            except Exception as e:  # noqa: BLE001, told by the test
                self.failures.append(repr(e))
                return
            if body.get("success", True) is False or "error" in body:
                self.failures.append(body)
            elif number % 3:
                self.lines.append(number)
            else:
                self.files[number] = number
        client.close()


class Load:
    SILENCES = ("gave no sign of life for", "was silent for", "lost the server")  # in the logs of warderd and of warder-node

    def __init__(self, rig, workspace, nodes):
        self.rig = rig
        self.agents = [Agent(rig, workspace, node, 1 + 10_000 * place) for place, node in enumerate(nodes)]

    def __enter__(self):
        for agent in self.agents:
            agent.start()
        return self

    def __exit__(self, *_):
        for agent in self.agents:
            agent.is_over = True
        for agent in self.agents:
            agent.join(60)

    def done(self):
        return sum(len(agent.lines) + len(agent.files) for agent in self.agents)

    def failures(self):
        """The failed calls. A call that is lost with its connection is told so; on a busy machine a node may be silent for so
        long that the others replace the connection, and then their logs say so."""
        programs = [*self.rig.daemons.values(), *self.rig.nodes.values()]
        was_silent = any(text in program.log_text() for program in programs for text in self.SILENCES)

        def is_excused(failure):
            return isinstance(failure, dict) and failure.get("code") == "unavailable" and "may_have_run" in failure
        return [one for agent in self.agents for one in agent.failures if not (was_silent and is_excused(one))]

    def wait_for(self, more):
        before = self.done()
        eventually(lambda: self.done() >= before + more or self.failures(), f"{more} calls are done")

    def leave(self, node, others):
        """No agent is connected to this node when it returns."""
        for place, agent in enumerate(self.agents):
            if agent.node == node:
                agent.node = others[place % len(others)]
        self.wait_for(2 * len(self.agents))

    def faults(self, folder):
        found = [f"failed: {failure}" for failure in self.failures()]
        found += ["a call has no answer" for agent in self.agents if agent.is_alive()]
        runs = collections.Counter((folder / "runs").read_text().split())
        found += [f"{number} was started {times} times" for number, times in runs.items() if times > 1]
        found += [f"line {number} is lost" for agent in self.agents for number in agent.lines if str(number) not in runs]
        found += [f"file {number} is lost or cut" for agent in self.agents for number, size in agent.files.items()
                  if not (folder / f"files/{number}").exists() or (folder / f"files/{number}").stat().st_size != size]
        return found


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class Moves(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.buses = {name: cls.enterClassContext(Bus()) for name in NODES}
        cls.policies = cls.enterClassContext(Policies(
            cluster={"home": "cluster"}, workspaces=["team-*"], pool={"min_idle": 1, "max_idle": 2},
            quota={"workspace_bytes": 200 << 20, "workspace_files": 20_000}))
        cls.rig = cls.enterClassContext(Rig(cls.policies, *NODES, buses=cls.buses.values()))

    def folder(self, node, workspace=""):
        account = self.rig.daemons[node].state / "tenants" / ACCOUNT
        return (account / "workspaces" / workspace if workspace else account) / "workspace"

    def nodes(self, node, *words, status=0):
        done = subprocess.run([os.environ["WARDER"], "nodes", *words, "--bus", self.buses[node].address],
                              capture_output=True, text=True, timeout=90)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def call(self, node, workspace, code, **more):
        with Client(self.rig.daemons[node].socket, timeout=60) as client:
            meta = {"org.warder/workspace": workspace, **more} if workspace else more
            return client.request("tools/call", name="execute_code", arguments={"code": code}, _meta=meta)

    def home_of(self, workspace, asked="n1"):
        result = self.call(asked, workspace, "pass")
        self.assertTrue(body_of(result)["success"], result)
        return result["_meta"].get("org.warder/node", asked)

    def others(self, *nodes):
        return [name for name in NODES if name not in nodes]

    def make_folders(self, folder):
        """Of a daemon, as it makes them."""
        [tenants] = [parent for parent in folder.parents if parent.name == "tenants"]
        owner = tenants.stat()
        for one in (*reversed(folder.parents), folder):
            if one.is_relative_to(tenants) and not one.exists():
                one.mkdir(mode=0o700)
                os.chown(one, owner.st_uid, owner.st_gid)

    def left_moves(self):
        return [file for name in NODES for file in (self.rig.daemons[name].state / "tenants/.moves").glob("*")]

    def test_moves_under_load_fail_no_call_and_lose_no_file(self):
        home = self.home_of("team-load")
        other = self.others(home)[0]
        with Load(self.rig, "team-load", [home, other, other]) as load:
            load.wait_for(10)
            for _ in range(4):
                target = [name for name in NODES if name != home][_ % 2]
                self.assertIn(f"moved to {target}", self.nodes(home, "move", f"{ACCOUNT}/team-load", target))
                self.assertFalse(self.folder(home, "team-load").exists())
                home = target
                load.wait_for(10)
        self.assertEqual(load.faults(self.folder(home, "team-load")), [], self.rig.logs())
        self.assertEqual(self.home_of("team-load"), home)
        for name in self.others(home):
            self.assertFalse(self.folder(name, "team-load").exists())

    def test_all_that_belongs_to_a_workspace_moves(self):
        home = self.home_of("")
        target, asking = self.others(home)
        with Client(self.rig.daemons[asking].socket, timeout=60) as client:
            client.execute("import os\nos.makedirs('d/e'); open('d/e/f', 'w').write('deep'); os.chmod('d/e/f', 0o640)\n"
                           "os.utime('d/e/f', ns=(10**18 + 5, 10**18 + 5)); os.symlink('d/e/f', 'link'); os.link('d/e/f', 'same')\n"
                           "f = open('sparse', 'wb'); f.truncate(50 << 20); f.seek(25 << 20); f.write(b'middle'); f.close()")
            client.execute("x = 1", session="work")
            saved = body_of(client.call("save_skill", {"name": "doubled", "description": "Doubles a number",
                                                       "code": "def run(n):\n    return 2 * n\n"}))
            self.assertNotIn("error", saved)
            hidden = body_of(client.call("sanitize_pii", {"text": "write to ada@example.org"}))
            token = next(word for word in json.dumps(hidden).replace('"', " ").replace("\\", " ").split() if "EMAIL" in word.upper() and "write" not in word)
            ran = client.request("tools/call", name="execute_code", arguments={"code": "open('once', 'a').write('x')"},
                                 _meta={"org.warder/executionId": "x-once-0123456789"})
            self.assertTrue(body_of(ran)["success"])
            self.nodes(home, "move", ACCOUNT, target)
            again = client.request("tools/call", name="execute_code", arguments={"code": "open('once', 'a').write('x')"},
                                   _meta={"org.warder/executionId": "x-once-0123456789"})
            self.assertEqual(again["_meta"].get("org.warder/node", asking), target)
            self.assertEqual(body_of(again)["execution_id"], body_of(ran)["execution_id"])
            ended = body_of(client.call("execute_code", {"code": "x", "session": "work"}))
            self.assertIn("ended with the daemon", json.dumps(ended))
            self.assertEqual(client.execute("from skills import doubled\nresult = doubled.run(21)")["result"], 42)
            self.assertEqual(client.execute("result = open('once').read()")["result"], "x")
        folder = self.folder(target)
        seen = (folder / "d/e/f").stat()
        self.assertEqual((seen.st_mode & 0o777, seen.st_mtime_ns, seen.st_nlink), (0o640, 10**18 + 5, 2))
        self.assertEqual(os.readlink(folder / "link"), "d/e/f")
        self.assertEqual((folder / "sparse").stat().st_size, 50 << 20)
        self.assertLess((folder / "sparse").stat().st_blocks * 512, 1 << 20)
        self.assertEqual(list(self.folder(home).iterdir()), [])
        self.assertTrue((folder.parent / "vault/log").exists(), token)
        self.assertIn(f"call this command on node {target}", self.nodes(home, "move", ACCOUNT, asking, status=1))

    def test_a_kill_in_the_middle_leaves_one_home_with_all_files(self):
        for number, victim in enumerate(("source warderd", "target warderd", "source node", "target node")):
            with self.subTest(victim):
                workspace = f"team-kill-{number}"
                home = self.home_of(workspace)
                target = self.others(home)[0]
                digest = body_of(self.call(home, workspace, "import os, hashlib\ndata = os.urandom(40 << 20)\nopen('large', 'wb')"
                                           ".write(data)\nresult = hashlib.sha256(data).hexdigest()"))["result"]
                arriving = self.rig.daemons[target].state / "tenants/.moves"
                moving = subprocess.Popen([os.environ["WARDER"], "nodes", "move", f"{ACCOUNT}/{workspace}", target, "--bus",
                                           self.buses[home].address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                eventually(lambda arriving=arriving: any(file.stat().st_size > 1 << 20 for file in arriving.glob("*/packed")),
                           "the transfer has begun")
                node = home if victim.startswith("source") else target
                if victim.endswith("warderd"):
                    self.rig.daemons[node].kill()
                    if node == target:
                        self.assertLess(max(file.stat().st_size for file in arriving.glob("*/packed")), 40 << 20)
                    self.rig.daemons[node].start()
                else:
                    self.rig.nodes[node].stop(signal.SIGKILL)
                    self.rig.nodes[node].start()
                moving.wait(90)
                asking = self.others(home, target)[0]
                def answers(asking=asking, workspace=workspace):
                    body = body_of(self.call(asking, workspace, "import hashlib\nresult = hashlib.sha256(open('large', 'rb').read())"
                                             ".hexdigest()"))
                    return body["success"] and body["result"] == digest
                eventually(answers, "the home has the file")
                homes = [name for name in NODES if self.folder(name, workspace).joinpath("large").exists()]
                self.assertEqual(homes, [self.home_of(workspace, asking)])
                eventually(lambda: self.left_moves() == [], "nothing of the move is left")

    def test_drain_and_upgrade_of_all_nodes_under_load(self):
        home = self.home_of("team-upgrade")
        with Load(self.rig, "team-upgrade", NODES) as load:
            for node in NODES:
                load.wait_for(6)
                load.leave(node, self.others(node))
                told = self.nodes(node, "drain")
                self.assertIn(" 0 stay", told)
                self.assertIn("drained", self.nodes(self.others(node)[0]))
                daemon = self.rig.daemons[node]
                daemon.stop()
                self.rig.nodes[node].stop()
                before = len(daemon.log_text())
                self.rig.nodes[node].start()
                daemon.start()
                eventually(lambda daemon=daemon, before=before: "acts as a home" in daemon.log_text()[before:], f"{node} has its lease")
                self.assertIn(f"{node} gets new homes again; it has 0", self.nodes(node, "undrain"))
                eventually(lambda node=node: all(line.split()[1] != "silent" for line in
                                                 self.nodes(self.others(node)[0]).splitlines()[1:]), f"{node} is heard")
        home = self.home_of("team-upgrade")
        self.assertEqual(load.faults(self.folder(home, "team-upgrade")), [], self.rig.logs())
        self.assertGreater(load.done(), 60)

    def test_what_cannot_move_stays_and_can_be_parked_and_restored(self):
        home = self.home_of("team-park")
        self.call(home, "team-park", "open('kept', 'w').write('parked')")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            told = json.loads(self.nodes(home, "drain", "--park", folder, "--json"))
            self.nodes(home, "undrain")
            [parked] = [one["File"] for one in told["Homes"] if one["Workspace"] == f"{ACCOUNT}/team-park"]
            self.assertEqual(pathlib.Path(parked).parent, pathlib.Path(folder))
            other = self.others(home)[0]
            os.chmod(parked, 0o644)
            self.assertIn("is alive and is the home", self.nodes(other, "restore", parked, status=1))
            self.assertIn("has its files", self.nodes(home, "restore", parked, status=1))
            self.call(home, "team-park", "import os\nos.remove('kept')")
            log = self.folder(home, "team-park").parent / "sessions/left.log"
            log.write_text("")
            self.assertIn("has its sessions or their logs", self.nodes(home, "restore", parked, status=1))
            log.unlink()
            ran = self.call(home, "team-park", "print('after parking')", **{"org.warder/executionId": "x-after-parking-01"})
            self.assertIn("is here, as it was at", self.nodes(home, "restore", parked))
            with Client(self.rig.daemons[home].socket, timeout=60) as client, self.subTest("what was not parked is kept"):
                kept = client.request("resources/read", uri=f"exec:///{body_of(ran)['execution_id']}/stdout",
                                      _meta={"org.warder/workspace": "team-park"})
                self.assertEqual(kept["contents"][0]["text"], "after parking\n")
            again = self.call(home, "team-park", "print('after parking')", **{"org.warder/executionId": "x-after-parking-01"})
            self.assertEqual(body_of(again)["execution_id"], body_of(ran)["execution_id"])
            self.assertEqual(body_of(self.call(other, "team-park", "result = open('kept').read()"))["result"], "parked")

    def test_files_that_cannot_be_put_in_their_place_are_tried_again(self):
        home = self.home_of("team-placed")
        self.call(home, "team-placed", "open('kept', 'w').write('placed')")
        target, third = self.others(home)
        in_the_way = self.folder(target, "team-placed").parent
        self.make_folders(in_the_way.parent)
        in_the_way.write_text("")
        moving = subprocess.Popen([os.environ["WARDER"], "nodes", "move", f"{ACCOUNT}/team-placed", target, "--bus",
                                   self.buses[home].address], stdout=subprocess.DEVNULL)
        eventually(lambda: "its files cannot be put in their place" in self.rig.daemons[target].log_text(), "it is told")
        in_the_way.unlink()
        self.assertEqual(moving.wait(PATIENCE), 0)
        self.assertEqual(body_of(self.call(third, "team-placed", "result = open('kept').read()"))["result"], "placed")

    # A node that was taken over.

    def push(self, first_line, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(str(path))
        connection.sendall(json.dumps(first_line).encode() + b"\n")
        return connection

    def send_hostile(self, target, home, packed, sha256=None, size=None):
        """What the target's warderd answers to this stream."""
        with self.push({"take": home}, self.rig.folder / target / "in.sock") as connection:
            offer = {"bytes": size or len(packed), "sha256": sha256 or hashlib.sha256(packed).hexdigest(), "vault": ""}
            connection.sendall(json.dumps({"snapshot": offer}).encode() + b"\n")
            lines = connection.makefile("rb")
            first = json.loads(lines.readline())
            if "go" not in first:
                return first
            connection.sendall(packed)
            return json.loads(lines.readline())

    def check_places(self, target, third, said):
        """Streams that do not go on hold some of the places for a node, not all. `said`: an order of another node."""
        with contextlib.ExitStack() as open_streams:
            def begin(node, number):
                order = {**said, "node": node, "workspace": f"team-held-{number}"}
                stream = open_streams.enter_context(self.push({"take": order}, self.rig.folder / target / "in.sock"))
                with contextlib.suppress(BrokenPipeError):  # it is refused already
                    stream.sendall(json.dumps({"snapshot": {"bytes": 9, "sha256": "0" * 64, "vault": ""}}).encode() + b"\n")
                return stream, stream.makefile().readline()
            first, answer = begin(said["node"], 1)
            self.assertIn("go", json.loads(answer))
            self.assertIn("go", json.loads(begin(said["node"], 2)[1]))
            self.assertIn(f"2 workspaces of node {said['node']} are arriving", begin(said["node"], 3)[1])
            for number in (4, 5):
                self.assertIn("go", json.loads(begin(third, number)[1]))
            self.assertIn("4 workspaces are arriving", begin("n9", 6)[1])
            first.shutdown(socket.SHUT_RDWR)
            eventually(lambda: "go" in json.loads(begin("n9", 7)[1]), "the place of a stream that ended is free")

    def test_hostile_streams_are_refused(self):
        workspace = "team-hostile"
        home = self.home_of(workspace)
        target, third = self.others(home)
        self.call(home, workspace, "open('own', 'w').write('own')")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            told = json.loads(self.nodes(home, "drain", "--park", folder, "--json"))
            self.nodes(home, "undrain")
            [parked] = [one["File"] for one in told["Homes"] if one["Workspace"] == f"{ACCOUNT}/{workspace}"]
            packed = pathlib.Path(parked).read_bytes()
            label = json.loads(subprocess.run(f"zstd -dcq {parked} | tar -xOf - label.json", shell=True, check=True,
                                              capture_output=True).stdout)
            tree = pathlib.Path(folder) / "tree"
            tree.mkdir()
            (tree / "label.json").write_text(json.dumps(label))
            (tree / "records.jsonl").write_text("")
            (tree / "evil").write_text("evil")
            bad = subprocess.run("tar --format=pax --pax-option=delete=atime,delete=ctime -cf - -P --transform 's,^evil,folder/../../../evil,'"
                                 " label.json records.jsonl evil | zstd -q", shell=True, cwd=tree, check=True, capture_output=True).stdout
        said = {"node": home, "account": ACCOUNT, "workspace": workspace, "epoch": label["epoch"],
                "policy": label["policy"], "policy_hash": label["policy_hash"]}
        self.assertIn("refused", json.dumps(self.send_hostile(target, said, bad)))
        self.assertIn("another digest", json.dumps(self.send_hostile(target, said, packed, sha256="0" * 64)))
        self.assertIn("allows", json.dumps(self.send_hostile(target, said, packed, size=1 << 40)))
        self.assertIn("another workspace", json.dumps(self.send_hostile(target, {**said, "workspace": "team-other"}, packed)))
        self.assertIn("differs", json.dumps(self.send_hostile(target, {**said, "policy_hash": "0" * 64}, packed)))
        self.assertIn("the home is the node", json.dumps(self.send_hostile(target, {**said, "epoch": label["epoch"] + 9}, packed)))
        with self.push({"take": said}, self.rig.folder / target / "in.sock") as first:
            offer = {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest(), "vault": ""}
            first.sendall(json.dumps({"snapshot": offer}).encode() + b"\n")
            self.assertIn("go", json.loads(first.makefile().readline()))
            self.assertIn("arriving already", json.dumps(self.send_hostile(target, said, packed)))
        with self.subTest("files of another time are not replaced"):
            former = self.folder(target, workspace)
            self.make_folders(former)
            (former / "former").write_text("former")
            told = self.nodes(home, "move", f"{ACCOUNT}/{workspace}", target, status=1)
            self.assertIn("has its files of the workspace already", told)
            self.assertEqual((former / "former").read_text(), "former")
            shutil.rmtree(former.parent)
        self.check_places(target, third, said)
        # A node that is not the home is refused by the other node, whatever it says.
        with self.push({"push": {"to": target, "home": {**said, "node": third}}}, self.rig.folder / third / "node.sock") as connection:
            self.assertIn(f"the home is the node {home}", connection.makefile().readline())
        eventually(lambda: self.left_moves() == [], "nothing of them is left")
        self.assertFalse(self.folder(target, workspace).exists())
        self.assertEqual(body_of(self.call(third, workspace, "result = open('own').read()"))["result"], "own")


if __name__ == "__main__":
    unittest.main()
