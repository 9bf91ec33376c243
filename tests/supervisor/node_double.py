"""Doubles of warder-node, without a network: each has the socket that its warderd connects to, and brings the
connections of other nodes straight to the socket `listen` of their warderd. A test says where homes are, how long leases
last, and what is lost: a connection may be cut, or carry nothing more, in one direction or both.

Lines of supervisor/cluster/link/node_messages.h; anything else that a warderd sends raises in the test (Double.failures).
"""
import contextlib
import json
import os
import pathlib
import select
import socket
import tempfile
import threading
import time

FOREVER = 3600


def boot_us():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6)


class Cluster:
    """Some nodes on this machine. `homes`: (account, workspace) -> the name of a node; else the first node."""

    def __init__(self, *names):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-cluster-"))
        self.folder.chmod(0o755)
        self.homes = {}
        self.is_unreachable = False  # the doubles do not reach each other
        self.is_frozen = False       # carried connections stay open and carry nothing
        self.nodes = {name: NodeDouble(self, name) for name in names}
        self.first = names[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.close()
        for file in self.folder.iterdir():
            file.unlink()
        self.folder.rmdir()

    def home(self, account, workspace):
        return self.homes.get((account, workspace), self.first)

    def move(self, account, workspace, node):
        self.homes[account, workspace] = node
        for one in self.nodes.values():
            one.tell({"moved": {}})


class NodeDouble:
    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.socket = cluster.folder / f"{name}.sock"    # of this double
        self.warderd = cluster.folder / f"{name}-in.sock"  # of its warderd, for the key "listen"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.socket))
        self.socket.chmod(0o666)
        self.listener.listen(100)
        self.control = None
        self.carried = []     # pairs of sockets
        self.still = set()    # of these, the pairs whose bytes are not carried now
        self.came = 0         # parts of bytes from other nodes
        self.finds = 0        # questions for homes
        self.opened = []      # the member "for" of each connection
        self.failures = []
        self.loads = []       # that warderd told
        self.looks = {}       # the name of another node -> the lines of its answer to a look; None: it is silent
        self.views = {}       # kind of a question about the cluster -> a function of its content, which gives the answer
        self.lease_s = FOREVER
        self.is_closed = False
        self.connected = threading.Event()
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def close(self):
        self.is_closed = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
        if self.control:
            with contextlib.suppress(OSError):
                self.control.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)

    def config(self, **more):
        return {"cluster": {"socket": str(self.socket), "listen": str(self.warderd)}, **more}

    def accept(self):
        while not self.is_closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with client, client.makefile("rb") as lines:
                message = json.loads(lines.readline())
                if "hello" in message:
                    self.be_control(client, lines)
                elif "open" in message:
                    self.carry(client, message["open"])
                elif "rules" in message:
                    client.sendall(b'{"end": {}}\n')
                elif "look" in message:
                    self.answer_look(client, lines, message["look"]["node"])
                else:
                    self.failures.append(message)
        except (OSError, ValueError) as e:
            if not self.is_closed:
                self.failures.append(repr(e))

    def tell(self, message):
        if self.control:
            with contextlib.suppress(OSError):
                self.control.sendall(json.dumps(message).encode() + b"\n")

    def tell_lease(self, starts_s, runs_s):
        now = boot_us()
        self.tell({"lease": {"node": self.name, "starts_until_us": max(0, now + int(starts_s * 1e6)),
                             "runs_until_us": max(0, now + int(runs_s * 1e6))}})

    def be_control(self, client, lines):
        self.control = client
        self.tell_lease(self.lease_s, self.lease_s + 1)
        self.connected.set()
        for line in lines:
            message = json.loads(line)
            if "load" in message:
                self.loads.append(message["load"])
                continue
            if "find" not in message:
                [(kind, content)] = message.items()
                self.tell(self.views[kind](content))
                continue
            find = message["find"]
            self.finds += 1
            home = self.cluster.home(find["account"], find["workspace"])
            if home is None:
                self.tell({"failed": {"id": find["id"], "why": "no node of the cluster answers", "remedy": "ask the administrator"}})
            else:
                self.tell({"found": {"id": find["id"], "node": home, "epoch": 1, "here": home == self.name}})

    def answer_look(self, client, lines, node):
        answer = self.looks[node]
        client.sendall(json.dumps({"opened": {"boot": "double"}}).encode() + b"\n")
        lines.readline()
        if answer is None:
            client.recv(1)  # until warderd gives up
        else:
            client.sendall(b"".join(json.dumps(row).encode() + b"\n" for row in answer))

    def carry(self, client, order):
        self.opened.append(order["for"])
        with socket.socket(socket.AF_UNIX) as far:
            try:
                if self.cluster.is_unreachable:
                    raise OSError("the node does not answer")
                far.connect(str(self.cluster.nodes[order["node"]].warderd))
                far.sendall(json.dumps({"act": order["for"]}).encode() + b"\n")
                if not far.makefile("rb", 0).readline().startswith(b'{"serving"'):
                    raise OSError("warderd of the node does not answer")
            except OSError as e:
                client.sendall(json.dumps({"refused": {"why": str(e), "remedy": "ask the administrator"}}).encode() + b"\n")
                return
            client.sendall(json.dumps({"opened": {"boot": "double"}}).encode() + b"\n")
            pair = (client, far)
            self.carried.append(pair)
            try:
                self.copy(*pair)
            finally:
                self.carried.remove(pair)

    def copy(self, client, far):
        """Carries bytes both ways, until one side ends."""
        client.settimeout(60)
        far.settimeout(60)
        while True:
            readable = []
            if not self.cluster.is_frozen:
                self.still.discard((client, far))
                readable = select.select([client, far], [], [], 0.05)[0]
            else:
                self.still.add((client, far))
                time.sleep(0.02)
                if client.fileno() < 0 or select.select([client], [], [], 0)[0] and not peek(client):
                    return
            for one in readable:
                try:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    (far if one is client else client).sendall(data)
                    self.came += one is far
                except OSError:
                    return

    def stands_still(self):
        """Whether a frozen double has carried its last bytes."""
        return all(pair in self.still for pair in list(self.carried))

    def has_waiting(self, part):
        """Whether `part` is among the bytes that came and are not carried yet."""
        ends = [one for pair in list(self.carried) for one in pair if one.fileno() >= 0]
        return any(part in peek(one, 1 << 20) for one in select.select(ends, [], [], 0)[0])

    def cut(self):
        """Ends all carried connections, as the loss of the other node does."""
        for pair in list(self.carried):
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


def peek(connected, count=1):
    try:
        return connected.recv(count, socket.MSG_PEEK)
    except OSError:
        return b""


def id_range(number):
    """Ids for the jails of one of several daemons on this machine."""
    return {"first": 1_879_048_192 + number * 65_536, "count": 65_536} if os.geteuid() == 0 else None
