"""A jailer believes no order: whoever holds the daemon's end of its socket gets jails within the jails' ids, shows them
workspaces, and ends them; nothing else.

Each wrong order differs in one thing from one that is carried out.
"""
import ctypes
import errno
import os
import pathlib
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "supervisor"))

from harness import (HOLD, PATIENCE, ROOT, Client, Daemon, Policies, body_of, descendants, eventually, jailer_of,
                     let_go, parents)
from jailer_orders import (ATTACH, AT_EMPTY_PATH, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, COUNT, DAEMON, FIRST,
                           FIRST_PROJECT, FORK, FORKED, LIMIT, OPEN_TREE, OPEN_TREE_CLONE, PROBE, SEALS, ZYGOTE, Orders,
                           libc, plan, process_in, process_with_pid, syscall)

EPERM, EINVAL = 1, 22
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2


def setUpModule():
    """Mounts of these tests are nobody else's."""
    if ROOT and (libc.unshare(CLONE_NEWNS) < 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) < 0):
        raise OSError(ctypes.get_errno(), "a mount namespace of our own")


def alive(pidfd):
    return not select.select([pidfd], [], [], 0)[0]


@unittest.skipUnless(ROOT, "takes the socket out of the daemon")
class BelievesNoOrder(unittest.TestCase):
    STARTS = {"cold": {"min_idle": 0, "max_idle": 0, "zygotes": False}, "exec": {"min_idle": 1, "max_idle": 1, "zygotes": False},
              "fork": {"min_idle": 1, "max_idle": 1, "zygotes": True}}

    def setUp(self):
        self.start(self.STARTS["cold"])

    def start(self, pool):
        self.daemon = self.enterContext(Daemon(policies=self.enterContext(Policies(pool=pool))))
        self.client = self.enterContext(Client(self.daemon.socket))
        self.client.execute("result = 1")  # there is a workspace
        self.pid = self.daemon.process.pid
        self.state = self.daemon.state
        self.own = self.state / "tenants/uid-0/workspace"
        self.uid = pathlib.Path(f"/proc/{self.pid}").stat().st_uid

    def tearDown(self):
        self.assertEqual(self.client.execute("result = 6 * 7")["result"], 42)  # the daemon and its jailer go on
        self.assertEqual(self.daemon.process.poll(), None)

    def open(self, path, flags=os.O_PATH):
        fd = os.open(path, flags | os.O_CLOEXEC)
        self.addCleanup(os.close, fd)
        return fd

    def folder(self, path, owner=0, mode=0o755):
        pathlib.Path(path).mkdir(parents=True)
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return pathlib.Path(path)

    def built(self, orders, **changes):
        error, jail = orders.build(**changes)
        self.assertEqual(error, 0)
        self.addCleanup(jail.close)
        jail.wait_until_built()
        return jail

    def test_builds(self):
        regular = self.open(__file__, os.O_RDONLY)
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        internet, stream = socket.socket(), socket.socket(socket.AF_UNIX)
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        for one in (internet, stream, datagrams):
            self.addCleanup(one.close)
        root = self.open("/", os.O_RDONLY)
        refused = {
            "somebody else's ids": dict(init_id=12344, runner_id=12345),
            "somebody else's runner": dict(runner_id=12345), "root as runner": dict(runner_id=0),
            "root as init": dict(init_id=0), "another init": dict(init_id=FIRST + 1),
            "init's id as runner": dict(runner_id=FIRST), "the daemon's id as runner": dict(runner_id=DAEMON),
            "the id after the range": dict(runner_id=FIRST + COUNT), "the id before it": dict(runner_id=FIRST - 1),
            "one identity": dict(identity=1), "an unknown identity": dict(identity=2),
            "a plan that can change": dict(plan_fd=plan("/bin/true", seals=0)),
            "a plan that can be written": dict(plan_fd=plan("/bin/true", seals=SEALS & ~8)),
            "a plan that can be unsealed, or sealed more": dict(plan_fd=plan("/bin/true", seals=SEALS & ~1)),
            "a plan that is too short": dict(plan_fd=plan("/bin/true", cut=8)),
            "a plan of a zygote's fork": dict(plan_fd=plan("/bin/true", role=FORKED)),
            "a plan of no known kind": dict(plan_fd=plan("/bin/true", role=77)),
            "a file as plan": dict(replace={0: regular}), "a pipe as plan": dict(replace={0: reading}),
            "a guest over the network": dict(replace={1: internet.fileno()}),
            "a guest of datagrams": dict(replace={1: datagrams.fileno()}),
            "a pipe as guest": dict(replace={1: writing}),
            "a stream as control": dict(replace={2: stream.fileno()}), "a pipe as control": dict(replace={2: writing}),
            "the reading end as output": dict(replace={3: reading}), "a file as errors": dict(replace={4: regular}),
            "a socket as output": dict(replace={3: stream.fileno()}),
            "a cgroup that is none": dict(has_cgroup=1, more=[root]),
        }
        shapeless = {"a descriptor too few": dict(drop=1), "none": dict(drop=5),
                     "one too many": dict(more=[root]), "far too many": dict(more=[root] * 240),
                     "a cgroup without descriptor": dict(has_cgroup=1), "half a flag": dict(has_cgroup=2)}
        with Orders(self.pid) as orders:
            for runner in (FIRST + 1, FIRST + COUNT - 2):  # the edges of what is right
                self.built(orders, runner_id=runner)
            for expected, wrong in ((EPERM, refused), (EINVAL, shapeless)):
                for what, change in wrong.items():
                    with self.subTest(what):
                        self.assertEqual(orders.build(**change), (expected, None))
            for kind in (0, FORK, 7, 2**32 - 1):
                with self.subTest(f"an order of type {kind}"):
                    self.assertEqual(orders.ask(kind, [root]), (EINVAL, []))

    def test_a_plan_names_layers_by_a_hash_and_no_folder(self):
        store = self.state / "layers"
        good, bad = b"\x12" * 32, b"\xab" * 32
        self.folder(store / good.hex() / "tree")
        self.folder(store / bad.hex())
        (store / bad.hex() / "tree").symlink_to("/etc")
        with Orders(self.pid) as orders:
            self.built(orders, plan_fd=plan("/bin/true", layers=[good]))
            for what, error, wrong in (("an unknown one", errno.ENOENT, [b"\0" * 32]), ("a link", errno.ELOOP, [bad]),
                                       ("one twice", errno.ELOOP, [good, good]), ("too many", errno.EINVAL, [good] * 9)):
                with self.subTest(what):
                    made, jail = orders.build(plan_fd=plan("/bin/true", layers=wrong))
                    self.assertEqual(made, 0)
                    self.addCleanup(jail.close)
                    jail.control.settimeout(20)
                    event, step, _, found = struct.unpack_from("<IHHi", jail.control.recv(4096))
                    self.assertEqual((event, found), (1, error), f"step {step}")

    def test_folders_of_an_attach(self):
        work = self.folder(self.daemon.directory / "work")
        mine = self.folder(work / "daemons", self.uid)
        private = self.folder(work / "roots", mode=0o700)
        (private / "secret").write_text("root's")
        moved_out = self.folder(self.state / "tenants/uid-0/moved", self.uid)
        moved = self.open(moved_out)
        moved_out.rename(work / "moved")
        bound = self.folder(self.state / "tenants/uid-0/bound", self.uid)
        self.assertEqual(libc.mount(str(mine).encode(), str(bound).encode(), None, MS_BIND, None), 0)
        self.addCleanup(libc.umount2, str(bound).encode(), MNT_DETACH)
        detached = syscall(OPEN_TREE, self.open(mine), b"", AT_EMPTY_PATH | OPEN_TREE_CLONE)
        self.addCleanup(os.close, detached)
        other_view = syscall(OPEN_TREE, self.open(self.own), b"", AT_EMPTY_PATH | OPEN_TREE_CLONE)
        self.addCleanup(os.close, other_view)
        (self.own / "link").symlink_to(private)
        (self.own / "file").write_text("")
        os.chown(self.own / "file", self.uid, self.uid)
        foreign = self.folder(self.own / "roots")
        socket_path = self.daemon.socket
        wrong = {
            "a folder that only root may enter": self.open(private),
            "a folder of the daemon's elsewhere": self.open(mine),
            "what was moved out": moved, "a bind mount": self.open(bound), "a detached mount": detached,
            "the workspace by another mount": other_view,
            "a symbolic link": self.open(self.own / "link", os.O_PATH | os.O_NOFOLLOW),
            "a file": self.open(self.own / "file"),
            "root's folder in a workspace": self.open(foreign), "a socket": self.open(socket_path),
            "/": self.open("/"), "/etc": self.open("/etc"), "/proc": self.open("/proc"),
            "a process": self.open(f"/proc/{self.pid}"), "the state": self.open(self.state),
            "all tenants": self.open(self.state / "tenants"), "the journal": self.open(self.state / "journal"),
            "servers' records": self.open(self.state / "upstream"), "the template": self.open(self.state / "template"),
            "its root": self.open(self.state / "template/root"),
            "its /etc": self.open(self.state / "template/root/etc"),
            "stubs": self.open(self.state / "template/servers"),
        }
        own = self.open(self.own)
        with Orders(self.pid) as orders:
            jail = self.built(orders)
            for what, folder in wrong.items():
                for owner in (DAEMON, 0):
                    with self.subTest(what, owner=owner):
                        self.assertEqual(orders.attach(jail.pidfd, folder, owner_uid=owner, owner_gid=owner), EPERM)
            for words in (dict(owner_uid=0), dict(owner_gid=0), dict(owner_uid=12345), dict(runner_id=FIRST + 778),
                          dict(runner_id=0), dict(runner_id=DAEMON), dict(map_ids=0)):
                with self.subTest(**words):
                    self.assertEqual(orders.attach(jail.pidfd, own, **words), EPERM)
            for fds in ([], [jail.pidfd], [jail.pidfd, own, own], [own] * 100):
                with self.subTest(descriptors=len(fds)):
                    self.assertEqual(orders.ask(ATTACH, fds, owner_uid=DAEMON, owner_gid=DAEMON, map_ids=1)[0], EINVAL)
            self.assertEqual(orders.attach(jail.pidfd, own, read_only=2), EINVAL)
            self.assertEqual(orders.attach(jail.pidfd, own, staged=2), EINVAL)
            self.assertEqual(orders.attach(jail.pidfd, own, listens=2), EINVAL)
            self.assertEqual(orders.attach(jail.pidfd, own, staged=1), EINVAL)  # without a staging folder
            self.assertEqual(orders.attach(jail.pidfd, own), 0)  # nothing of that has changed the jail
            self.assertEqual(orders.attach(jail.pidfd, own), EPERM)  # once
            self.assertEqual((private / "secret").stat().st_mode & stat.S_ISUID, 0)

    def sleeper(self, user):
        process = subprocess.Popen(["sleep", "600"], user=user, group=user, extra_groups=[])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def not_jails(self, orders, jail):
        """What is no jail's init, by pidfd; and the pidfd of a jail that is dead, whose number is in use again."""
        dead = self.built(orders, runner_id=FIRST + 900)
        orders.end(dead.pidfd)
        eventually(lambda: not os.path.exists(f"/proc/{dead.pid}"), "the end of a jail")
        again = process_with_pid(dead.pid)
        first = process_in(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS)
        for pid in (again, first):
            self.addCleanup(os.waitpid, pid, 0)
            self.addCleanup(os.kill, pid, signal.SIGKILL)
        code = next(pid for pid, (parent, _) in parents().items() if parent == jail.pid)
        found = {"root's": self.sleeper(0), "the daemon's user's": self.sleeper(self.uid),
                 "with the id of inits": self.sleeper(FIRST), "with the id of code": self.sleeper(FIRST + 777),
                 "this test": os.getpid(), "the daemon": self.pid, "the jailer": jailer_of(self.daemon), "process 1": 1,
                 "a jail's code": code, "the first of another pid namespace": first, "with a dead jail's number": again}
        pidfds = {what: os.pidfd_open(pid) for what, pid in found.items()}
        for pidfd in pidfds.values():
            self.addCleanup(os.close, pidfd)
        return pidfds, dead

    def test_processes_of_an_attach_and_of_an_end(self):
        own = self.open(self.own)
        with Orders(self.pid) as orders:
            jail = self.built(orders)
            found, dead = self.not_jails(orders, jail)
            for what, pidfd in found.items():
                with self.subTest(what):
                    self.assertEqual(orders.attach(pidfd, own), EPERM)
                    if what not in ("this test", "process 1"):  # should it be believed
                        orders.end(pidfd)
                    self.assertTrue(alive(pidfd), "it was ended")
            for what, fd in (("a folder", own), ("a file", self.open(__file__, os.O_RDONLY)),
                             ("a dead jail", dead.pidfd),
                             ("/proc/PID", self.open(f"/proc/{jail.pid}", os.O_RDONLY))):
                with self.subTest(what):
                    self.assertNotEqual(orders.attach(fd, own), 0)
                    orders.end(fd)
            orders.end()
            orders.end(jail.pidfd, jail.pidfd)
            self.assertTrue(alive(jail.pidfd))
            home = self.built(orders, plan_fd=plan("/usr/bin/sleep", "600", role=ZYGOTE), runner_id=FIRST + 901)
            self.assertEqual(orders.attach(home.pidfd, own, runner_id=FIRST + 901), EPERM)
            self.assertEqual(orders.attach(jail.pidfd, own), 0)
            orders.end(jail.pidfd)
            eventually(lambda: not alive(jail.pidfd), "the end of a jail that was asked for")

    def test_jails_that_run_are_not_given_another_folder(self):
        for start, pool in self.STARTS.items():
            with self.subTest(start):
                if start != "cold":
                    self.start(pool)
                other = self.open(self.folder(self.state / "tenants/uid-0/workspaces/other/workspace", self.uid))

                def started_so():
                    (self.own / "go").unlink(missing_ok=True)
                    request = self.client.begin_running(HOLD, timeout_seconds=PATIENCE)
                    refused = self.attach_to_all(other)
                    let_go(self.daemon)
                    result = self.client.answer(request)["result"]
                    self.assertEqual(body_of(result)["result"], "went on")
                    return refused if result["_meta"]["org.warder/receipt"]["start"] == start else None
                for error in eventually(started_so, f"an execution that starts {start}"):
                    self.assertEqual(error, EPERM)

    def attach_to_all(self, folder):
        """What is answered for each jail that has its workspace."""
        errors = []
        with Orders(self.pid) as orders:
            for pid in descendants(jailer_of(self.daemon)):
                process = pathlib.Path(f"/proc/{pid}")
                try:
                    mounts = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
                    innermost = (process / "status").read_text().split("NSpid:")[1].split("\n")[0].split()[-1]
                except OSError:  # it is ending; EINVAL: its mount namespace is gone already
                    continue
                if innermost == "1" and any(m[4] == "/workspace" and "/tenants/" in m[3] for m in mounts):
                    runner = int((process / "uid_map").read_text().split()[4])
                    pidfd = os.pidfd_open(pid)
                    errors.append(orders.attach(pidfd, folder, runner_id=runner))
                    os.close(pidfd)
        return errors

    def test_probes_and_projects(self):
        elsewhere = self.folder(self.daemon.directory / "elsewhere", self.uid)
        own, foreign = self.open(self.own, os.O_RDONLY), self.open(elsewhere, os.O_RDONLY)
        project = FIRST_PROJECT + self.own.stat().st_ino
        right = {"runner_id": FIRST + 1, "owner_uid": DAEMON, "owner_gid": DAEMON, "map_ids": 1}
        with Orders(self.pid) as orders:
            self.assertEqual(orders.ask(PROBE, [own], **right)[0], 0)
            for words in (dict(owner_uid=0), dict(owner_gid=0), dict(runner_id=FIRST), dict(runner_id=DAEMON),
                          dict(runner_id=12345), dict(runner_id=FIRST + COUNT), dict(map_ids=0)):
                with self.subTest("probe", **words):
                    self.assertEqual(orders.ask(PROBE, [own], **{**right, **words})[0], EPERM)
            for folder in (foreign, self.open("/"), self.open(self.state / "template/root"), self.open(__file__)):
                self.assertEqual(orders.ask(PROBE, [folder], **right)[0], EPERM)
            self.assertEqual(orders.ask(PROBE, [own, own], **right)[0], EINVAL)
            self.assertEqual(orders.ask(PROBE, [], **right)[0], EINVAL)
            self.assertNotEqual(orders.ask(LIMIT, [own], project=project % 2**32)[0], EPERM)  # the kernel says
            for folder, number in ((foreign, FIRST_PROJECT + elsewhere.stat().st_ino), (own, project + 1), (own, 0),
                                   (own, 77), (own, FIRST_PROJECT), (self.open("/", os.O_RDONLY), project),
                                   (self.open(self.state / "tenants", os.O_RDONLY), project)):
                with self.subTest("project", number=number):
                    self.assertEqual(orders.ask(LIMIT, [folder], project=number % 2**32)[0], EPERM)
            self.assertEqual(orders.ask(LIMIT, [own, own], project=project % 2**32)[0], EINVAL)

    def test_refusals_are_in_the_log_and_do_not_fill_it(self):
        with Orders(self.pid) as orders:
            for _ in range(500):
                self.assertEqual(orders.build(runner_id=12345), (EPERM, None))
        lines = [line for line in self.daemon.log_text().splitlines() if "refused the order" in line]
        self.assertIn("refused the order to build a jail: the runner's host id is not of the jails' range", lines[0])
        self.assertLess(len(lines), 50)


if __name__ == "__main__":
    unittest.main()
