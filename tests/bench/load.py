"""Many at once: closed loops, arrivals at random, bursts, long rows; and what waiting jails hold. For latency.py."""
import collections
import ctypes
import os
import pathlib
import random
import selectors
import time

_FIRST_USER, _USERS = 23000, 100  # nobody's
_SETRESUID = 117  # on x86-64
_libc = ctypes.CDLL(None, use_errno=True)
_SETTLES = 15  # seconds: a pool follows the demand of the last few


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def _become(user):
    """The calling thread alone; os.seteuid() asks all threads to."""
    if _libc.syscall(_SETRESUID, -1, user, -1) != 0:
        raise OSError(ctypes.get_errno(), "setresuid")


def connect_as(daemon, user):
    """As another user: the daemon asks whose connection it is (SO_PEERCRED, of the moment of connect())."""
    _become(user)
    try:
        return daemon.connect()
    finally:
        _become(0)


class _Connections:
    """Connections that each have at most one request open; the one that was silent longest is asked first."""

    def __init__(self, daemon, count, line, users=()):
        self._line = line
        self._success = getattr(daemon, "success", b'\\"success\\":true')  # the floor has its own
        self._selector = selectors.DefaultSelector()
        self._clients = [connect_as(daemon, user) for user in users] or [daemon.connect() for _ in range(count)]
        self._text = {}
        for client in self._clients:
            self._selector.register(client.socket, selectors.EVENT_READ, client)
        self.idle = collections.deque(self._clients)
        self._since = {}

    def ask(self, since=None):
        """`since`: when the request was due, where it had to wait for a connection."""
        client = self.idle.popleft()
        self._since[client] = since or time.perf_counter()
        client.socket.sendall(self._line)

    def answers(self, patience):
        """Seconds of each answer that comes within `patience` seconds."""
        took = []
        for key, _ in self._selector.select(max(0, patience)):
            client = key.data
            text = self._text.get(client, b"") + client.socket.recv(1 << 16)
            self._text[client] = b"" if text.endswith(b"\n") else text
            if not text.endswith(b"\n"):
                continue
            assert self._success in text, text[:500]
            took.append(time.perf_counter() - self._since[client])
            self.idle.append(client)
        return took

    def close(self):
        for client in self._clients:
            client.close()


def crowd(daemon, clients, line, until, users=()):
    """A closed loop of so many open requests. `until(done)` ends it. Seconds of each answer, in the order they came.

    `users`: each has a connection, and they ask in turn.
    """
    connections = _Connections(daemon, clients, line, users)
    took = []
    for _ in range(clients):
        connections.ask()
    while len(connections.idle) < (len(users) or clients):
        for seconds in connections.answers(60):
            took.append(seconds)
            if not until(len(took)):
                connections.ask()
    connections.close()
    return took


def arrivals(daemon, rate, seconds, line):
    """Requests that come at random, so many a second; one that finds no connection free has waited for it, too."""
    connections = _Connections(daemon, 64, line)
    took, due, start = [], [], time.perf_counter()
    at = start
    while at < start + seconds:
        at += random.expovariate(rate)
        due.append(at)
    while due or len(connections.idle) < 64:
        now = time.perf_counter()
        while due and due[0] <= now and connections.idle:
            connections.ask(due.pop(0))
        took += connections.answers(due[0] - time.perf_counter() if due and connections.idle else 0.1)
    connections.close()
    return took


def bare_parallel(seconds, words):
    """Starts a second, on every processor at once."""
    end, done, running = time.perf_counter() + seconds, 0, 0
    while running or time.perf_counter() < end:
        while running < os.cpu_count() and time.perf_counter() < end:
            os.posix_spawn(words[0], words, os.environ)
            running += 1
        os.wait()
        running, done = running - 1, done + 1
    return done / seconds


def print_rates(daemons, bare_words, wrapped_words, line, seconds):
    bare = bare_parallel(seconds, bare_words)
    wrapped = bare_parallel(seconds, wrapped_words) if os.access(wrapped_words[0], os.X_OK) else 0
    print(f"\non all processors: bare python3 {bare:.0f}/s, bubblewrap + python3 {wrapped:.0f}/s")
    best = 0
    for clients in (1, 2, 4, 8, 100):
        began, used = time.perf_counter(), _cpu_seconds()
        took = crowd(daemons["fork"], clients, line, lambda _: time.perf_counter() - began > seconds)
        rate = len(took) / (time.perf_counter() - began)
        best = max(best, rate)
        print(f"one tenant, closed loop of {clients:3}: {rate:6.0f}/s, {rate / bare:4.1f} x bare; "
              f"p50 {1000 * percentile(took, 0.5):.2f} ms, p99 {1000 * percentile(took, 0.99):.2f} ms; "
              f"{1000 * (_cpu_seconds() - used) / len(took):.2f} ms of all processors an execution")
    for part in (0.1, 0.25, 0.5):
        took = arrivals(daemons["fork"], best * part, seconds, line)
        print(f"one tenant, {best * part:.0f}/s at random, {part:.0%} of the most: p50 {1000 * percentile(took, 0.5):.2f} ms, "
              f"p99 {1000 * percentile(took, 0.99):.2f} ms")
    for name in ("exec", "cold"):
        began = time.perf_counter()
        took = crowd(daemons[name], 2, line, lambda _: time.perf_counter() - began > seconds)
        rate = len(took) / (time.perf_counter() - began)
        print(f"without zygotes ({name}), closed loop of 2: {rate:6.0f}/s, {rate / bare:4.1f} x bare")
    _settle(daemons["fork"])  # the pool is full again
    began = time.perf_counter()
    crowd(daemons["fork"], 100, line, lambda done: True)
    last = time.perf_counter() - began
    print(f"burst of 100: last answer after {1000 * last:.0f} ms; 100 bare starts on all processors take "
          f"{100_000 / bare:.0f} ms: {last * bare / 100:.2f} of that")
    print_tenants(daemons["fork"], line, seconds, bare)


def print_tenants(daemon, line, seconds, bare):
    if os.geteuid() != 0:
        return print("every call another tenant: not measured, for only root can be others")
    users = range(_FIRST_USER, _FIRST_USER + _USERS)
    # Before the first time, each has its workspace; before the second, it is worth a zygote.
    for calls, what in ((1, "new"), (12, "that come again")):
        crowd(daemon, 4, line, lambda done: done >= calls * len(users), users)
        began = time.perf_counter()
        took = crowd(daemon, 4, line, lambda _: time.perf_counter() - began > seconds, users)
        rate = len(took) / (time.perf_counter() - began)
        print(f"every call another tenant, {_USERS} {what}, closed loop of 4: {rate:6.0f}/s, {rate / bare:4.2f} x bare")


def print_row(daemon, line, count):
    began = time.perf_counter()
    crowd(daemon, 1, line, lambda _: time.perf_counter() - began > _SETTLES)
    _settle(daemon)  # the pool is as large as such a row wants it
    before = _holdings(daemon)
    took = crowd(daemon, 1, line, lambda done: done >= count)
    tenth = max(1, len(took) // 10)
    first, last = percentile(took[:tenth], 0.5), percentile(took[-tenth:], 0.5)
    _settle(daemon)  # the last used jails are gone
    print(f"{len(took)} in a row: p50 of the first tenth {1000 * first:.2f} ms, of the last {1000 * last:.2f} ms "
          f"({last / first - 1:+.0%}); the daemon's " + ", ".join(
              f"{name} {before[name]} -> {after}" for name, after in _holdings(daemon).items()))


def print_memory(exec_daemon, fork_daemon):
    for name, daemon in (("exec", exec_daemon), ("fork", fork_daemon)):
        jails = _waiting_jails(daemon, forks=name == "fork")
        held = [sum(map(_private_kib, jail)) / 1024 for jail in jails]
        if held:
            print(f"private memory of a waiting Python jail, {name}: {sum(held) / len(held):.2f} MiB (mean of {len(held)})")


def _cpu_seconds():
    """Of everybody on this machine."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return sum(map(int, words[1:4])) / os.sysconf("SC_CLK_TCK")


def _processes_below(root):
    """pid -> parent of every descendant."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    below = {root: 0}
    grew = True
    while grew:
        more = {pid: parent for pid, parent in parents.items() if parent in below and pid not in below}
        below.update(more)
        grew = bool(more)
    del below[root]
    return below


def _command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _waiting_jails(daemon, forks):
    """(init, runner) of each: a Python without children, whose parent is its jail's init."""
    below = _processes_below(daemon.process.pid)
    parents = set(below.values())
    entry = "zygote.py" if forks else "runner.py"
    return [(parent, pid) for pid, parent in below.items() if pid not in parents and entry in _command(pid)]


def _private_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


def _settle(daemon, still=0.5, patience=30):
    """Until the daemon's processes have been the same for a while."""
    last, since, until = None, time.monotonic(), time.monotonic() + patience
    while time.monotonic() < min(since + still, until):
        now = _processes_below(daemon.process.pid)
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)


def _holdings(daemon):
    pid = daemon.process.pid
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")), "processes": len(_processes_below(pid)),
            "mounts": len(pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()), "KiB": resident}
