"""A jailer believes no order: whoever holds the daemon's end of its socket gets jails within the jails' ids, shows them
workspaces, and ends them; nothing else.

Each wrong order differs in one thing from one that is carried out.
"""
import ctypes
import errno
import json
import os
import pathlib
import platform
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
from jailer_orders import (ATTACH, AT_EMPTY_PATH, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, COUNT, COUNT_FILES, DAEMON, FIRST,
                           FIRST_PROJECT, FORK, FORKED, JAIL, LIMIT, OPEN_TREE, OPEN_TREE_CLONE, PROBE, SEALS, ZYGOTE, Orders,
                           libc, plan, process_in, process_with_pid, syscall)

EPERM, EINVAL = 1, 22
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2


def setUpModule():
    """Mounts of these tests are nobody else's."""
    if ROOT and (libc.unshare(CLONE_NEWNS) < 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) < 0):
        raise OSError(ctypes.get_errno(), "a mount namespace of our own")


# Prints {place: {attempt: [the expected error, the errno or 0]}}.
FORBIDDEN = r"""
import ctypes, json, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
JAIL = sys.argv[1] == "0"
NAMESPACES = 0x10000000 | 0x20000 | 0x20000000 | 0x40000000 | 0x8000000 | 0x4000000
MISSING = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435, "userfaultfd": 323,
           "keyctl": 250, "add_key": 248, "request_key": 249, "quotactl": 179, "quotactl_fd": 443}
REFUSED = {"bpf": 321, "perf_event_open": 298, "init_module": 175, "finit_module": 313, "delete_module": 176,
           "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163,
           "syslog": 103, "open_by_handle_at": 304, "fanotify_init": 300, "clock_settime": 227, "settimeofday": 164,
           "adjtimex": 159, "clock_adjtime": 305, "setns": 308, "chroot": 161, "fsopen": 430, "fsconfig": 431,
           "fsmount": 432, "fspick": 433, "iopl": 172, "ioperm": 173}
BUILDING = {"mount": 165, "umount2": 166, "pivot_root": 155, "move_mount": 429, "open_tree": 428,
            "mount_setattr": 442, "sethostname": 170, "setdomainname": 171, "unshare": 272}
UNSHARE, SOCKET, SETSOCKOPT, CLONE = 272, 41, 54, 56

def errno_of(*call):
    result = libc.syscall(*[ctypes.c_long(n) for n in call])
    if call[0] == CLONE and result == 0:
        os._exit(0)  # the child, should there be one
    return ctypes.get_errno() if result < 0 else 0

def attempts():
    for name, number in MISSING.items():
        yield name, "ENOSYS", (number, 0, 0, 0, 0, 0)
    for name, number in REFUSED.items():
        yield name, "EPERM", (number, 0, 0, 0, 0, 0)
    if JAIL:
        for name, number in BUILDING.items():
            yield name, "EPERM", (number, 0, 0, 0, 0, 0)
        yield "clone of a jail", "EPERM", (CLONE, NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
    for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x2000000):
        yield f"clone {flag:x}", "EPERM", (CLONE, flag | signal.SIGCHLD, 0, 0, 0, 0)
        if JAIL or flag != 0x2000000:
            yield f"unshare {flag:x}", "EPERM", (UNSHARE, flag)
    for protocol in (4, 6, 9, 12, 16):
        yield f"netlink {protocol}", "EAFNOSUPPORT", (SOCKET, 16, 3, protocol)
    yield "netlink of routes", 0, (SOCKET, 16, 3, 0)
    for family, kind in ((17, 3), (17, 2), (2, 3), (10, 3), (2, 3 | 0x80000)):
        yield f"socket {family} {kind}", "EPERM", (SOCKET, family, kind, 255)
    any_socket = libc.socket(2, 2, 0)
    for level in (0, 41):
        for option in (64, 65, 96, 97, 128, 129):
            yield f"setsockopt {level} {option}", "EPERM", (SETSOCKOPT, any_socket, level, option, 0, 0)
    yield "setsockopt of the lifetime", "EFAULT", (SETSOCKOPT, any_socket, 0, 2, 0, 4)

def all_attempts():
    return {name: [expected, errno_of(*call)] for name, expected, call in attempts()}

found = {"code": all_attempts()}
if not JAIL:
    reading, writing = os.pipe()
    if libc.syscall(CLONE, NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os.write(writing, json.dumps(all_attempts()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as below:
        found["a jail below it"] = json.loads(below.read())
print(json.dumps(found), flush=True)
"""


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
            for kind in (0, FORK, 9, 2**32 - 1):
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

    def priorities(self, pids):
        return {pid: (os.getpriority(os.PRIO_PROCESS, pid), pathlib.Path(f"/proc/{pid}/autogroup").read_text().split()[-1:])
                for pid in pids}

    def test_only_the_code_of_jails_is_lowered(self):
        if not os.path.exists("/proc/self/autogroup"):
            self.skipTest("this kernel makes no autogroups")
        jailer = jailer_of(self.daemon)
        with Orders(self.pid) as orders:
            jail = self.built(orders)
            others = [os.getpid(), self.pid, jailer, jail.pid, 1, self.sleeper(FIRST + 778)]
            pidfds = [os.pidfd_open(pid) for pid in others]
            for pidfd in pidfds:
                self.addCleanup(os.close, pidfd)
            before = self.priorities(others)
            for pidfd in pidfds[:3] + pidfds[4:]:  # not the jail itself
                orders.lower(pidfd)
                orders.lower(pidfd, *pidfds)
            for wrong in (dict(nice=20), dict(session_nice=20), dict(nice=2**32 - 5), dict(session_nice=2**32 - 5)):
                orders.lower(jail.pidfd, *pidfds, **wrong)
            orders.lower()
            orders.lower(*[jail.pidfd] * 66)
            self.assertEqual(self.priorities(others), before)
            self.assertEqual(os.getpriority(os.PRIO_USER, FIRST + 777), 0)
            orders.lower(jail.pidfd, *pidfds)  # right, but for the processes that it names
            self.assertEqual(self.priorities(others), before)
            self.assertEqual(os.getpriority(os.PRIO_USER, FIRST + 777), 19)
            self.assertTrue(alive(jail.pidfd))
            status = pathlib.Path(f"/proc/{jailer}/status").read_text()
            self.assertEqual(status.split("Uid:")[1].split()[:4], ["0"] * 4)
            self.assertEqual(orders.attach(jail.pidfd, self.open(self.own)), 0, "the jailer has its rights again")

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

    def output_of(self, orders, role, runner):
        """What FORBIDDEN says in a jail of the attacker's own plan, whose filter allows everything."""
        jail = self.built(orders, plan_fd=plan("/usr/bin/python3", "-I", "-c", FORBIDDEN, str(role), role=role),
                          runner_id=runner)
        text = b""
        while select.select([jail.out], [], [], PATIENCE)[0] and (part := os.read(jail.out, 65536)):
            text += part
        return json.loads(text)

    @unittest.skipUnless(platform.machine() == "x86_64", "the attack has the numbers of this architecture")
    def test_a_filter_of_inits_own_stands_behind_that_of_the_plan(self):
        """A taken-over daemon chooses the plan, and with it the filter; a zygote's home has none of the plan's."""
        for role, runner in ((JAIL, FIRST + 910), (ZYGOTE, FIRST + 911)):
            with Orders(self.pid) as orders:
                places = self.output_of(orders, role, runner)
            self.assertEqual(set(places), {"code"} if role == JAIL else {"code", "a jail below it"})
            for place, attempts in places.items():
                self.assertGreater(len(attempts), 40)
                for what, (expected, found) in attempts.items():
                    with self.subTest(what, role=role, place=place):
                        self.assertEqual(errno.errorcode.get(found, found), expected)

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

    def test_files_are_counted_of_jails_with_a_workspace_only(self):
        with Orders(self.pid) as orders:
            error, jail = orders.build()
            self.assertEqual(error, 0)
            jail.wait_until_built()
            self.assertEqual(orders.ask(COUNT_FILES, [jail.pidfd])[0], EPERM, "it has no workspace yet")
            for pid in (self.pid, 1, os.getpid()):
                pidfd = os.pidfd_open(pid)
                self.assertEqual(orders.ask(COUNT_FILES, [pidfd])[0], EPERM)
                os.close(pidfd)
            self.assertEqual(orders.ask(COUNT_FILES, [])[0], EINVAL)
            self.assertEqual(orders.ask(COUNT_FILES, [jail.pidfd, jail.pidfd])[0], EINVAL)
            self.assertEqual(orders.attach(jail.pidfd, self.open(self.own)), 0)
            self.assertEqual(orders.ask(COUNT_FILES, [jail.pidfd])[0], 0)
            orders.end(jail.pidfd)
            jail.close()

    def test_refusals_are_in_the_log_and_do_not_fill_it(self):
        with Orders(self.pid) as orders:
            for _ in range(500):
                self.assertEqual(orders.build(runner_id=12345), (EPERM, None))
        lines = [line for line in self.daemon.log_text().splitlines() if "refused the order" in line]
        self.assertIn("refused the order to build a jail: the runner's host id is not of the jails' range", lines[0])
        self.assertLess(len(lines), 50)


if __name__ == "__main__":
    unittest.main()
