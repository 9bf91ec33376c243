"""A machine of the test's own: its processes see this one, with Warder installed, and change nothing of it.

A mount namespace with layers over LAYERED and empty folders at EMPTY; a network namespace with lo; a process namespace. The
build's programs are where the package puts them; the users are warder, ada and ben; a bus is at the system's place. Some
programs stand in for those of a real machine: see stand_ins/.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(TOP / "tests/supervisor"), str(TOP / "tests")]

LAYERED, EMPTY = ("etc", "usr", "var", "root", "home"), ("run", "srv", "mnt")
ENTERED = "WARDER_PAGES_MACHINE"
PATIENCE = 120
USERS = {"warder": 990, "ada": 1501, "ben": 1502}
GROUPS = {"warder": 990, "warder-operator": 991, "ada": 1501, "ben": 1502}
CONFIGURATION = pathlib.Path("/etc/warder/warderd.json")


def is_possible():
    return os.geteuid() == 0 and TOP.parts[1] not in EMPTY


def build_folder():
    return pathlib.Path(os.environ["WARDERD"]).resolve().parent.parent


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def enter():
    """Begins this program again in namespaces of its own; needs root. Returns within them."""
    if os.geteuid() != 0 or os.environ.get(ENTERED):
        return
    folder = tempfile.mkdtemp(prefix="warder-pages-")
    # A process namespace, too: whatever ends the test ends all that it began.
    words = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
             sys.executable, "-B", *sys.argv]
    process = subprocess.Popen(words, env={**os.environ, ENTERED: folder}, preexec_fn=end_with_parent)
    status = process.wait()
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **more)


def mount_all(folder):
    run("mount", "-t", "tmpfs", "-o", "mode=755", "none", folder)
    for name in LAYERED:
        for part in ("upper", "work"):
            (folder / name / part).mkdir(parents=True)
            (folder / name / part).chmod(0o755)
        run("mount", "-t", "overlay", "-o", f"lowerdir=/{name},upperdir={folder}/{name}/upper,workdir={folder}/{name}/work",
            "none", f"/{name}")
    for name in EMPTY:
        run("mount", "-t", "tmpfs", "-o", "mode=755", "none", f"/{name}")
    run("ip", "link", "set", "lo", "up") if shutil.which("ip") else set_lo_up()


def set_lo_up():
    import fcntl
    import struct
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def install(build):
    """What the package installs, from a build tree."""
    for file, place in {"supervisor/warderd": "sbin", "supervisor/programs/cli/warder": "bin", "supervisor/programs/cli/warder-admin": "lib/warder",
                        "supervisor/egress/warder-egress": "lib/warder", "supervisor/cluster/node/warder-node": "lib/warder",
                        "jail/init/warder-jail-init": "lib/warder", "jail/jailer/warder-jailer": "lib/warder"}.items():
        target = pathlib.Path("/usr", place)
        target.mkdir(parents=True, exist_ok=True)
        if (build / file).exists():
            shutil.copy(build / file, target)
    lib = pathlib.Path("/usr/lib/warder")
    shutil.copytree(build / "guest", lib / "guest")
    shutil.copytree(TOP / "jail/guest/python/bundle", lib / "bundle")
    shutil.copytree(TOP / "skills/shared", lib / "skills")
    (lib / "policies").mkdir()
    for file in TOP.glob("policies/*.json"):
        shutil.copy(file, lib / "policies")
    system = json.loads((lib / "policies/system.json").read_text())
    system.setdefault("isolation", {})["cgroups"] = "preferred"  # a machine for tests may have none
    (lib / "policies/system.json").write_text(json.dumps(system))
    shutil.copy(TOP / "supervisor/daemon/configuration/warderd.schema.json", lib / "policies")
    shutil.copytree(TOP / "policies/seccomp", lib / "policies/seccomp")
    for path in [lib, *lib.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) and path.suffix != ".json" else 0o644)


def add_users():
    for file in ("passwd", "shadow", "group"):
        path = pathlib.Path("/etc", file)
        path.write_text("".join(line + "\n" for line in path.read_text().splitlines() if line.split(":")[0] not in GROUPS))
    with open("/etc/passwd", "a") as passwd, open("/etc/shadow", "a") as shadow, open("/etc/group", "a") as group:
        for name, number in GROUPS.items():
            group.write(f"{name}:x:{number}:\n")
        for name, number in USERS.items():
            passwd.write(f"{name}:x:{number}:{number}::/home/{name}:/bin/bash\n")
            shadow.write(f"{name}:*:20000:0:99999:7:::\n")
            home = pathlib.Path("/home", name)
            home.mkdir(exist_ok=True)
            os.chown(home, number, number)


class Machine:
    def __init__(self, build):
        self.folder = pathlib.Path(os.environ[ENTERED])
        self.build = build
        self.daemon = None
        self.processes = contextlib.ExitStack()

    def __enter__(self):
        self.folder.chmod(0o755)
        state = self.folder.with_name(self.folder.name + "-state")  # overlays cannot stand on the layer over /var
        state.mkdir()
        self.processes.callback(shutil.rmtree, state, ignore_errors=True)
        mount_all(self.folder)
        install(self.build)
        add_users()
        for folder in ("/var/lib/warder", "/etc/warder/policies", "/etc/warder/warderd.json.d", "/run/warder", "/run/dbus"):
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", state, "/var/lib/warder")
        os.chown("/var/lib/warder", USERS["warder"], GROUPS["warder"])
        CONFIGURATION.write_text("{}\n")
        self.start_bus()
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.processes.close()

    def start_bus(self):
        from bus_harness import CONFIGURATION as BUS, NAME, UNITS
        (self.folder / "bus.conf").write_text(BUS.format(socket="/run/dbus/system_bus_socket", policy=UNITS / f"{NAME}.conf"))
        with open(self.folder / "bus.log", "wb") as log:
            bus = subprocess.Popen(["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile",
                                    "--nosyslog", "--print-address=1"], stdout=subprocess.PIPE, stderr=log)
        bus.stdout.readline()
        self.processes.callback(lambda: (bus.kill(), bus.wait(), bus.stdout.close()))

    def start(self):
        """The daemon, by the command of units/warder.service; what passes its sockets is left out."""
        name = f"\0warder-pages-{os.getpid()}-{time.monotonic_ns()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, open(self.folder / "log", "ab") as log:
            notify.bind(name)
            notify.settimeout(PATIENCE)
            self.daemon = subprocess.Popen(["/usr/sbin/warderd", "--bus", "system", "--metrics", "/run/warder/metrics.sock"],
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                           env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": "@" + name[1:]})
            pathlib.Path("/run/warderd.pid").write_text(str(self.daemon.pid))  # for stand_ins/systemctl
            try:
                while b"READY=1" not in notify.recv(4096).split(b"\n"):
                    pass
            except TimeoutError:
                raise AssertionError(f"warderd is not ready: {self.log()}") from None
        until = time.monotonic() + PATIENCE
        while subprocess.run(["busctl", "status", "org.warder.Warder1"], capture_output=True).returncode != 0:
            if time.monotonic() > until:
                raise AssertionError(f"warderd is not on the bus: {self.log()}")
            time.sleep(0.05)

    def stop(self):
        if not self.daemon:
            return
        self.daemon.send_signal(signal.SIGTERM)
        try:
            status = self.daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            status = self.daemon.wait()
        self.daemon = None
        if status != 0 or "ERROR: AddressSanitizer" in self.log() or "runtime error:" in self.log():
            raise AssertionError(f"warderd ended with {status}: {self.log()}")

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-6000:]

    def shell(self, command, user="root", folder="/root", environment=None, **more):
        """Lets bash run a command as a person would type it; returns its status, and all that it printed."""
        account = pwd.getpwnam(user)
        home = account.pw_dir
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=5 * PATIENCE, user=account.pw_uid,
            group=account.pw_gid, extra_groups=[], cwd=folder if user == "root" else home,
            env={"PATH": f"{HERE}/stand_ins:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "WARDER_BUILD": str(self.build), "LANG": "C.UTF-8", "USER": user,
                 "COLUMNS": "200", **(environment or {})}, **more)
        return done.returncode, done.stdout
