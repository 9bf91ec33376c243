"""Orders as a daemon that was taken over would send them: whoever holds its end of the jailer's socket.

The struct layouts are those of jail/orders.h and jail/plan.h. Needs root: the socket is taken out of the daemon, which
stands still meanwhile.
"""
import array
import contextlib
import ctypes
import fcntl
import itertools
import os
import pathlib
import signal
import socket
import struct

BUILD, ATTACH, END, PROBE, FORK, LIMIT, LOWER, COUNT_FILES = 1, 2, 3, 4, 5, 6, 7, 8
FIRST, COUNT = 0x70000000, 65536  # the default range of host ids
DAEMON = FIRST + COUNT - 1        # where the daemon's user does not exist
FIRST_PROJECT = 0x80000000
JAIL, FORKED, ZYGOTE = 0, 1, 2
SEALS = 1 | 2 | 4 | 8  # F_SEAL_SEAL, SHRINK, GROW, WRITE
F_ADD_SEALS = 1033
PIDFD_GETFD, CLONE3, OPEN_TREE = 438, 435, 428
CLONE_PIDFD = 0x1000
OPEN_TREE_CLONE, AT_EMPTY_PATH = 1, 0x1000
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000

OURS = 2**63  # token; the daemon counts from 1
numbers = itertools.count(1)
libc = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    answer = libc.syscall(number, *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def plan(*command, role=JAIL, seals=SEALS, cut=0, layers=()):
    """A plan (version 7) of a jail with an overlay root whose filter allows everything."""
    head = struct.pack("<IIIIIIIIQQII", 7, role, 0, 0, 0, 0, 0, 1, 300 << 20, 32 << 20, 4096, 0) + bytes(16 * 24)
    allow = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)
    words = [word.encode() + b"\0" for word in command]
    offsets = [sum(map(len, words[:i])) for i in range(len(words))]
    body = struct.pack("<II", 0, 1) + allow.ljust(8 * 4096, b"\0") + struct.pack("<II", len(words), 0)
    body += struct.pack("<64I", *offsets, *[0] * (64 - len(words))) + bytes(256) + b"".join(words).ljust(16384, b"\0")
    whole = head + body
    whole += struct.pack("<II", len(layers), 0) + b"".join(layers[:8]).ljust(8 * 32, b"\0")
    whole += bytes(-len(whole) % 8)
    fd = os.memfd_create("plan", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, whole[:len(whole) - cut])
    if seals:
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd


class Jail:
    """What a build gave: a pidfd of its init, our ends of its sockets and of its output."""

    def __init__(self, pidfd, guest, control, out):
        self.pidfd, self.guest, self.control, self.out = pidfd, guest, control, out
        self.pid = pid_of(pidfd)

    def wait_until_built(self):
        self.control.settimeout(20)
        event, step, _, error = struct.unpack_from("<IHHi", self.control.recv(4096))
        assert event == 2, f"the jail was not built: step {step}, errno {error}"

    def close(self):
        os.close(self.pidfd)
        os.close(self.out)
        self.guest.close()
        self.control.close()


def pid_of(pidfd):
    with open(f"/proc/self/fdinfo/{pidfd}") as info:
        return next(int(line.split()[1]) for line in info if line.startswith("Pid:"))


class Orders:
    """The daemon's end of the jailer's socket, while the daemon stands still."""

    def __init__(self, pid, mapped=True):
        """`mapped`: workspaces are mounted with mapped ids, so that code has an id of its own."""
        self.pid = pid
        self.socket = None
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        self.uid, self.gid = (int(status.split(f"{ids}:")[1].split()[0]) for ids in ("Uid", "Gid"))
        self.runner = FIRST + 777 if mapped else self.uid
        self.mapped = mapped
        self.others = []  # answers to what the daemon had asked before it stood still: given back
        self.leaves = None  # where cgroups are that jails are born in
        for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            if line.startswith("0::") and line.strip().endswith("/supervisor"):
                self.leaves = "/sys/fs/cgroup" + line.strip()[3:].removesuffix("supervisor") + "jails"

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)
        try:
            self.socket = self.take(self.pid, 0)
            self.socket.setblocking(True)
            self.socket.settimeout(20)
        except BaseException:
            os.kill(self.pid, signal.SIGCONT)
            raise
        return self

    def __exit__(self, *_):
        if self.others:
            children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            with self.take(int(children[0]), None) as jailers_end:
                for data, fds in self.others:
                    socket.send_fds(jailers_end, [data], fds)
                    for fd in fds:
                        os.close(fd)
        # The description is the daemon's own, too, which wants it non-blocking.
        self.socket.setblocking(False)
        self.socket.close()
        os.kill(self.pid, signal.SIGCONT)

    @staticmethod
    def take(pid, maker):
        """The packet socket whose pair that user made. Root made only one: the daemon was not yet what it is."""
        pidfd = os.pidfd_open(pid)
        try:
            for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
                with contextlib.suppress(OSError):
                    if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                        continue
                    found = socket.socket(fileno=syscall(PIDFD_GETFD, pidfd, int(name), 0))
                    if found.family == socket.AF_UNIX and found.type == socket.SOCK_SEQPACKET:
                        made_by = struct.unpack("iII", found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                        if maker in (None, made_by[1]):
                            return found
                    found.close()
        finally:
            os.close(pidfd)
        raise AssertionError("the daemon has no socket to a jailer")

    def send(self, kind, fds, **words):
        names = ("identity", "init_id", "runner_id", "wanted", "crowded", "owner_uid", "owner_gid", "map_ids",
                 "read_only", "staged", "listens", "project")
        message = struct.pack("<IIQ12IQQII", kind, words.get("has_cgroup", 0), OURS, *[words.get(n, 0) for n in names],
                              words.get("bytes", 0), words.get("inodes", 0), words.get("nice", 0), words.get("session_nice", 0))
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([message], rights)

    def ask(self, kind, fds, **words):
        """(errno, descriptors)"""
        self.send(kind, fds, **words)
        while True:
            data, fds, _, _ = socket.recv_fds(self.socket, 64, 4)
            token, error = struct.unpack_from("<Qi", data)
            if token == OURS:
                return error, fds
            self.others.append((data, fds))

    def build(self, plan_fd=None, replace=None, drop=0, more=(), **words):
        """A build that is right but for what the caller changes. (errno, the Jail)"""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control, its_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        out, its_out = os.pipe()
        own_plan = plan("/usr/bin/sleep", "600") if plan_fd is None else plan_fd
        fds = [own_plan, theirs.fileno(), its_control.fileno(), its_out, its_out]
        for place, fd in (replace or {}).items():
            fds[place] = fd
        fds = fds[:len(fds) - drop]
        leaf = self.make_leaf()
        if leaf is not None and "has_cgroup" not in words:
            fds.append(leaf)
            words["has_cgroup"] = 1
        right = {"identity": 0, "init_id": FIRST, "runner_id": self.runner}
        error, got = self.ask(BUILD, fds + list(more), **{**right, **words})
        for fd in (own_plan, its_out, leaf):
            if fd is not None:
                os.close(fd)
        theirs.close()
        its_control.close()
        if got:
            return error, Jail(got[0], ours, control, out)
        ours.close()
        control.close()
        os.close(out)
        return error, None

    def make_leaf(self):
        """A new cgroup as the daemon makes one for each jail; None where there are none. Gone with the daemon's."""
        if self.leaves is None:
            return None
        path = f"{self.leaves}/attack-{next(numbers)}"
        os.mkdir(path)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def attach(self, pidfd, directory, **words):
        right = {"runner_id": self.runner, "owner_uid": self.uid, "owner_gid": self.gid, "map_ids": int(self.mapped)}
        return self.ask(ATTACH, [pidfd, directory], **{**right, **words})[0]

    def lower(self, *pidfds, nice=19, session_nice=19):
        """There is no answer, as for end()."""
        self.send(LOWER, list(pidfds), nice=nice, session_nice=session_nice)
        self.ask(FORK, [])

    def end(self, *pidfds):
        """There is no answer; the next order's says that it was seen to."""
        self.send(END, list(pidfds))
        self.ask(FORK, [])


def clone_idle(*arguments):
    """A child of ours that does nothing (clone3)."""
    buffer = ctypes.create_string_buffer(struct.pack(f"<{len(arguments)}Q", *arguments))
    made = syscall(CLONE3, buffer, 8 * len(arguments))
    if made == 0:
        libc.pause()
        libc._exit(0)
    return made


def process_with_pid(pid):
    """A child of ours that does nothing, with this very number."""
    tid = ctypes.c_int(pid)
    return clone_idle(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tid), 1, 0)


def process_in(flags):
    """A child of ours in new namespaces, the first process of its pid namespace where that is new."""
    return clone_idle(flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
