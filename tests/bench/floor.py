"""The floor under measurement: floor.cc and floor_zygote.py as a process, with the interface of tests/daemon.Daemon."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

_HERE = pathlib.Path(__file__).resolve().parent


class _Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.settimeout(60)

    def ask(self, line):
        """The answer to one line."""
        self.socket.sendall(line)
        text = b""
        while not text.endswith(b"\n"):
            part = self.socket.recv(1 << 16)
            assert part, "the floor ended"
            text += part
        assert Floor.success in text, text
        return text

    def close(self):
        self.socket.close()


class Floor:
    success = b'"success":true'

    def __init__(self, module_folder, waiting):
        self.waiting = waiting
        self.module_folder = str(module_folder)
        self.process = None

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-floor-"))
        words = ["/usr/bin/python3", "-I", "-S", str(_HERE / "floor_zygote.py"), str(self.folder), str(self.waiting),
                 self.module_folder]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
        until = time.monotonic() + 30
        while True:
            try:
                self.connect().close()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    self.__exit__()
                    raise RuntimeError("the floor did not start: run this as root") from None
                time.sleep(0.01)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # the jails are killed with their parent
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self):
        return _Connection(self.folder / "socket")
