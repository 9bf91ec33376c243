"""The two machines: QEMU without KVM, restored from a snapshot taken after boot; User-mode Linux, booted each time.

Both get the same four disks (a scratch, b root, c input, d output), a console that goes to a file, and a terminal over
which the guest's session says READY, takes its order and copies the command's output. An engine runs in mount, pid, net
and ipc namespaces of its own: it reaches no network, and nothing of it outlives the run.
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
import tty

import cache
import image
from lanes import Lane

TIMED_OUT = 124
READY = b"RIG-READY"
DISK_BYTES = 512 << 20  # of the input and the output disk (sparse): a restored machine knows the size that was saved
KERNEL_ARGUMENTS = "quiet panic=-1 systemd.unit=rig.target systemd.show_status=0 systemd.firstboot=off"


class EngineError(Exception):
    pass


@dataclasses.dataclass
class Engine:
    """What a lane boots from; travels to the isolated process as JSON."""

    kind: str
    memory: int
    root: str
    kernel: str
    initramfs: str
    scratch: str
    snapshot: str  # folder with the saved machine; "" under User-mode Linux


def prepare(lane: Lane, memory: int, more_packages=()) -> Engine:
    """Make everything that is missing: the image (half a minute), the initramfs, the snapshot (ten seconds)."""
    folder = image.image(lane.suite, more_packages)
    engine = Engine(lane.engine, memory, str(folder / "root.ext4"), str(folder / "vmlinuz"),
                    str(image.initramfs(lane.engine, folder)), str(image.scratch_disk()), "")
    if lane.engine == "qemu":
        version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
        name = cache.key(engine, version, pathlib.Path(__file__))
        kind = "larger-snapshot" if more_packages else "snapshot"
        engine.snapshot = str(cache.made(f"{kind}-{lane.suite}-{name}", lambda path: save_machine(engine, path)))
    return engine


def save_machine(engine, path):
    print("rig: booting once, to save the machine", flush=True)
    for name in ("input", "output"):
        (path / name).touch()
        os.truncate(path / name, DISK_BYTES)
    status = isolated("save", engine, path, interactive=False, timeout=300)
    if status != 0:
        console = (path / "console").read_text(errors="replace") if (path / "console").exists() else ""
        raise EngineError(f"the machine could not be saved ({status}); its console ends with:\n{console[-2000:]}")


def run_isolated(engine, work, *, interactive, timeout):
    return isolated("run", engine, work, interactive=interactive, timeout=timeout)


def isolated(action, engine, work, *, interactive, timeout):
    """Run this file in namespaces of its own, as their pid 1; when it or we end, so does all that it started."""
    order = {"action": action, "engine": dataclasses.asdict(engine), "work": str(work), "interactive": interactive,
             "timeout": timeout}
    (pathlib.Path(work) / "order").write_text(json.dumps(order))
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "--pid", "--fork",
               "--kill-child", "--mount-proc", "--net", "--ipc", sys.executable, __file__, str(work)]
    with raw_terminal() if interactive else contextlib.nullcontext():
        return subprocess.run(command, stdin=None if interactive else subprocess.DEVNULL).returncode


@contextlib.contextmanager
def raw_terminal():
    saved = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)


# From here on: inside the namespaces.

class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def dial(path, process, deadline):
    """Connect to a socket that QEMU is about to listen on."""
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
            return connection
        except OSError:
            connection.close()
            if process.poll() is not None:
                raise EngineError(f"qemu ended at once ({process.returncode})")
            deadline.left()
            time.sleep(0.01)


class Qemu:
    """A QEMU process with its monitor and the guest's terminal."""

    def __init__(self, engine, work, deadline, *more):
        drives = [f"{engine.scratch},snapshot=on", f"{engine.root},read-only=on", f"{work}/input,read-only=on",
                  f"{work}/output,cache=unsafe"]
        command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", str(engine.memory),
                   "-nodefaults", "-no-reboot", "-display", "none", "-kernel", engine.kernel, "-initrd",
                   engine.initramfs, "-append",
                   f"console=ttyS0 mitigations=off tsc=reliable rig.disk=vd {KERNEL_ARGUMENTS}",
                   "-serial", f"file:{work}/console",
                   "-qmp", f"unix:{work}/monitor,server=on,wait=off",
                   "-serial", f"unix:{work}/terminal,server=on,wait=off"]
        for drive in drives:
            command += ["-drive", f"format=raw,if=virtio,file={drive}"]
        self.process = subprocess.Popen([*command, *more], stdin=subprocess.DEVNULL)
        self.monitor = dial(work / "monitor", self.process, deadline).makefile("rw")
        self.monitor.readline()  # the greeting
        self.ask("qmp_capabilities")
        self.terminal = dial(work / "terminal", self.process, deadline)

    def ask(self, command, **arguments):
        self.monitor.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.monitor.flush()
        while True:
            line = self.monitor.readline()
            if not line:
                raise EngineError(f"qemu ended during {command}")
            reply = json.loads(line)
            if "error" in reply:
                raise EngineError(f"qemu: {command}: {reply['error']['desc']}")
            if "return" in reply:  # everything else is an event
                return reply["return"]

    def wait_for(self, command, unwanted, deadline):
        """Ask until the answer's status is another one."""
        while (status := self.ask(command).get("status")) in unwanted:
            deadline.left()
            time.sleep(0.01)
        return status


def save(engine, work, deadline):
    machine = Qemu(engine, work, deadline)
    read_until_ready(machine.terminal, deadline)
    time.sleep(0.3)  # the guest's shell goes from printf to read; too early would only make the restored run wait
    machine.ask("stop")
    machine.ask("migrate-set-parameters", **{"max-bandwidth": 10 << 30})
    machine.ask("migrate", uri=f"exec:zstd -1 -q -f -o {work}/state")
    status = machine.wait_for("query-migrate", ("setup", "active", "device", None), deadline)
    machine.ask("quit")
    machine.process.wait()
    if status != "completed":
        raise EngineError(f"saving the machine: {status}")
    return 0


def run_qemu(engine, work, interactive, deadline):
    machine = Qemu(engine, work, deadline, "-incoming", f"exec:zstd -dcq {engine.snapshot}/state")
    machine.wait_for("query-status", ("inmigrate",), deadline)
    machine.ask("cont")
    send_order(machine.terminal, interactive)
    copy_terminal(machine.terminal, machine.process, interactive, deadline)
    return machine.process.wait(deadline.left())


def run_uml(engine, work, interactive, deadline):
    ours, theirs = socket.socketpair()
    nothing = work / "nothing"
    nothing.mkdir()
    subprocess.run(["cp", "--sparse=always", engine.scratch, str(work / "scratch")], check=True)
    command = ["linux.uml", f"mem={engine.memory}M", f"initrd={engine.initramfs}", f"ubda={work}/scratch",
               f"ubdbr={engine.root}", f"ubdcr={work}/input", f"ubdd={work}/output",
               f"hostfs={nothing}",  # or the guest could mount this machine's files
               "rig.disk=ubd", "con=null", "con0=null,fd:1", "ssl=null", f"ssl0=fd:{theirs.fileno()}",
               *KERNEL_ARGUMENTS.split()]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(work), "TMPDIR": "/dev/shm"}
    with open(work / "console", "wb") as console:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, env=environment,
                                   pass_fds=[theirs.fileno()], cwd=work)
    theirs.close()
    read_until_ready(ours, deadline)
    send_order(ours, interactive)
    copy_terminal(ours, process, interactive, deadline)
    return process.wait(deadline.left())


def read_until_ready(terminal, deadline):
    text = b""
    while READY not in text:
        if not select.select([terminal], [], [], deadline.left())[0]:
            continue
        more = terminal.recv(4096)
        if not more:
            raise EngineError("the guest stopped before it was ready")
        text = (text + more)[-4096:]


def send_order(terminal, interactive):
    terminal.sendall(f"{time.time():.3f} {'yes' if interactive else 'no'}\n".encode())


def copy_terminal(terminal, machine, interactive, deadline):
    """Copy the guest's terminal to ours until the machine ends. End of file is not enough to wait for: User-mode
    Linux can leave helpers behind that hold the terminal open."""
    ended = os.pidfd_open(machine.pid)
    sources = [terminal, ended, 0] if interactive else [terminal, ended]
    while True:
        ready = select.select(sources, [], [], deadline.left())[0]
        if 0 in ready:
            typed = os.read(0, 4096)
            terminal.sendall(typed) if typed else sources.remove(0)
        if terminal in ready:
            text = terminal.recv(65536)
            if not text:
                return
            os.write(1, text)
        elif ended in ready:
            return


def main(work):
    order = json.loads((work / "order").read_text())
    engine, deadline = Engine(**order["engine"]), Deadline(order["timeout"])
    try:
        if order["action"] == "save":
            return save(engine, work, deadline)
        run = run_qemu if engine.kind == "qemu" else run_uml
        return run(engine, work, order["interactive"], deadline)
    except (TimeoutError, subprocess.TimeoutExpired):
        return TIMED_OUT
    except EngineError as error:
        print(f"rig: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
