"""An ordinary user's machine beside the jail: the same commands in an equal folder, without a jail.

Started as `unshare ... python3 beside.py WORKSPACE USER`; reads one request a line, writes one result a line, as JSON.
It makes a private root in its mount namespace: every top folder of this machine, and beside them /workspace (the folder
WORKSPACE), a home, and a /tmp of its own. Commands run as the user `agent`, uid 1000, with the environment of the
request. USER is `root` if the caller is root, and `mapped` if the caller is an ordinary user in a user namespace.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys

UID = 1000
HOST_NAME = "jail"
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
SYS_PIVOT_ROOT = 155
LIBC = ctypes.CDLL(None, use_errno=True)
PASSWD = "root:x:0:0:root:/root:/bin/bash\nagent:x:1000:1000:agent:/home/agent:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
GROUP = "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"
HOSTS = f"127.0.0.1 localhost {HOST_NAME}\n::1 localhost\n"
OWN_FOLDERS = {"workspace", "home", "tmp"}


def checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None):
    encode = lambda text: None if text is None else str(text).encode()
    checked(LIBC.mount(encode(source), encode(target), encode(kind), flags, encode(data)), f"mount {target}")


def make_root(workspace):
    """Makes the private root and enters it."""
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    held = os.open(workspace, os.O_PATH)  # the path may be below the folders that are hidden
    root = pathlib.Path("/mnt")
    mount("tmpfs", root, "tmpfs", data="mode=0755,size=4m")
    (root / "workspace").mkdir()
    mount(f"/proc/self/fd/{held}", root / "workspace", flags=MS_BIND | MS_NOSUID | MS_NODEV)
    os.close(held)
    for path in sorted(pathlib.Path("/").iterdir()):
        target = root / path.name
        if path.is_symlink():
            target.symlink_to(os.readlink(path))
        elif path.is_dir() and path.name not in OWN_FOLDERS | {"mnt"}:
            target.mkdir()
            if path.name != "proc":
                mount(path, target, flags=MS_BIND | MS_REC)
    mount("proc", root / "proc", "proc")
    for name, mode in (("home", "0755"), ("tmp", "1777")):
        (root / name).mkdir()
        mount("tmpfs", root / name, "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode},size=1g")
    (root / "home/agent").mkdir(mode=0o700)
    os.chown(root / "home/agent", owner(), owner())
    for name, text in (("passwd", PASSWD), ("group", GROUP), ("hosts", HOSTS), ("hostname", HOST_NAME + "\n")):
        file = root / f"tmp/.{name}"
        file.write_text(text)
        file.chmod(0o644)
        if (root / "etc" / name).exists():
            mount(file, root / "etc" / name, flags=MS_BIND)
        file.unlink()
    os.chdir(root)
    checked(LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    checked(LIBC.umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir("/")


def owner():
    return UID if MAPPED is None else 0


def start_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(control, SIOCGIFFLAGS, request)[:18])[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))


def prepare_command():
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o022)


def run(request):
    """Runs one command; every process of it has ended when this returns."""
    as_user = {"user": UID, "group": UID, "extra_groups": []} if MAPPED is None else {}
    words = request["words"] if MAPPED is None else [*MAPPED, *request["words"]]
    with open("/tmp/.stdout", "w+b") as out, open("/tmp/.stderr", "w+b") as error:
        for file in (out, error):
            os.fchown(file.fileno(), owner(), owner())
            os.unlink(file.name)
        read, write = os.pipe()
        errors_read, errors_write = os.pipe()
        process = subprocess.Popen(words, cwd="/workspace", env=request["environment"], stdin=subprocess.DEVNULL,
                                   stdout=write, stderr=errors_write, preexec_fn=prepare_command, **as_user)
        os.close(write)
        os.close(errors_write)
        copies = [subprocess.Popen(["cat"], stdin=source, stdout=target) for source, target in ((read, out), (errors_read, error))]
        os.close(read)
        os.close(errors_read)
        try:
            status = process.wait(request["timeout_s"])
        except subprocess.TimeoutExpired:
            status = None
        end_all_but(copies)
        process.wait()
        for copy in copies:
            copy.wait()
        out.seek(0)
        error.seek(0)
        return {"status": status, "output": out.read().decode(errors="replace"), "errors": error.read().decode(errors="replace")}


def end_all_but(copies):
    """Kills what a command left behind: this process is the first of its pid namespace."""
    spared = {os.getpid(), *(copy.pid for copy in copies)}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in spared:
            try:
                os.kill(int(entry), signal.SIGKILL)
            except ProcessLookupError:
                pass


def clear_folder(path):
    subprocess.run(["find", path, "-mindepth", "1", "-delete"], check=False)


def reap():
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def main():
    workspace, user = sys.argv[1:]
    global MAPPED
    MAPPED = None if user == "root" else ["unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"]
    make_root(workspace)
    socket.sethostname(HOST_NAME)
    start_loopback()
    for line in sys.stdin:
        result = run(json.loads(line))
        reap()
        for folder in ("/tmp", "/home/agent"):
            clear_folder(folder)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
