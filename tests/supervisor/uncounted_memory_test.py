"""Memory limits where no cgroup counts: memory that belongs to no process is refused, the rest is watched, however a
program starts. Where a cgroup counts, the same programs end with outcome memory.
"""
import unittest

from harness import body_of
from pool_test import Case, receipt_of

LIMIT_MB = 128
COUNT = """
import ctypes, errno, mmap, os, time
refused = []
def take(what, action, *errors):
    try:
        action()
    except OSError as e:
        if e.errno not in errors: raise
        refused.append(what)
"""
# Each holds 600 MB, and what it holds is of no process.
IN_MEMFDS = COUNT + """
def fill():
    for _ in range(12):
        fd = os.memfd_create("x")
        for _ in range(50): os.write(fd, bytes(1 << 20))
take("memfd", fill, errno.ENOSYS)
time.sleep(2 if not refused else 0)
result = refused
"""
IN_DETACHED_SEGMENTS = COUNT + """
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
def fill():
    for _ in range(30):
        segment = libc.shmget(0, 20 << 20, 0o1600)
        if segment < 0: raise OSError(ctypes.get_errno(), "shmget")
        at = libc.shmat(segment, None, 0)
        ctypes.memset(at, 1, 20 << 20)
        libc.shmdt(ctypes.c_void_p(at))
take("shmget", fill, errno.ENOSYS)
time.sleep(2 if not refused else 0)
result = refused
"""
IN_SHARED_MAPPINGS = COUNT + """
def fill():
    held = mmap.mmap(-1, 600 << 20)
    for at in range(0, len(held), 4096): held[at] = 1
    held.madvise(mmap.MADV_DONTNEED)  # its pages stay; this process does not show them any more
    time.sleep(2)
take("mmap", fill, errno.EPERM)
result = refused
"""
OF_THE_ZERO_DEVICE = COUNT + """
def fill():
    fd = os.open("/dev/zero", os.O_RDWR)
    held = mmap.mmap(fd, 600 << 20)
    for at in range(0, len(held), 4096): held[at] = 1
    held.madvise(mmap.MADV_DONTNEED)
    time.sleep(2)
take("/dev/zero", fill, errno.ENODEV)
result = refused
"""
# The first thread of a process has ended; another holds memory. Several of them: each is below its own limit.
IN_PROCESSES_WITHOUT_A_FIRST_THREAD = """
import ctypes, os, threading, time
for _ in range(6):
    if os.fork() == 0:
        def hold():
            while open("/proc/self/stat").read().rpartition(")")[2].split()[0] != "Z": time.sleep(0.01)
            held = b"x" * (60 << 20)
            time.sleep(5)
            os._exit(0)
        threading.Thread(target=hold).start()
        ctypes.CDLL(None).syscall(60, 0)
for _ in range(6): os.wait()
"""
# Sockets that nobody reads, in several processes: the kernel holds what was sent.
IN_SOCKETS = """
import os, socket, time
block, go = bytes(1 << 16), os.pipe()
for _ in range(4):
    if os.fork() == 0:
        held = []
        try:
            while True:
                held.append(socket.socketpair())
                for end in held[-1]:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                    end.setblocking(False)
                    try:
                        while True: end.send(block)
                    except BlockingIOError: pass
        except OSError: pass
        time.sleep(5)
        os._exit(0)
for _ in range(4): os.wait()
"""
# What programs do with shared memory, and may.
USES = """
import io, multiprocessing, os, tempfile
from multiprocessing import shared_memory
def work(name, total):
    memory = shared_memory.SharedMemory(name)
    memory.buf[0] = 7
    memory.close()
    total.value += 1
memory = shared_memory.SharedMemory(create=True, size=1 << 20)
context = multiprocessing.get_context("fork")
total = context.Value("i", 40)
child = context.Process(target=work, args=(memory.name, total))
child.start()
child.join()
result = [memory.buf[0], total.value, open("/dev/zero", "rb").read(3) == bytes(3)]
memory.close()
memory.unlink()
"""


class UncountedMemory(Case):
    STARTS = ("cold", "exec", "fork")
    LANGUAGES = ["python", "shell"]
    LIMITS = {"standard": {"memory_bytes": LIMIT_MB << 20}}

    def each(self, code, check):
        """Runs the program from each kind of start, and as a session's second call."""
        for start in self.STARTS:
            with self.subTest(start):
                result = self.run_as(start, code)
                check(body_of(result), receipt_of(result))
        with self.subTest("session"):
            client = self.clients["fork"]
            client.execute("1", session="s")
            result = client.call("execute_code", {"code": code, "session": "s"})
            check(body_of(result), receipt_of(result))

    def expect_refused(self, code, what):
        def check(body, receipt):
            if receipt["cgroup"]:
                self.assertEqual(body["outcome"], "memory", body)
            else:
                self.assertEqual((body["outcome"], body["result"]), ("ok", [what]), body)

        self.each(code, check)

    def test_files_in_memory(self):
        self.expect_refused(IN_MEMFDS, "memfd")

    def test_segments_of_system_v(self):
        self.expect_refused(IN_DETACHED_SEGMENTS, "shmget")

    def test_shared_mappings_without_a_file(self):
        self.expect_refused(IN_SHARED_MAPPINGS, "mmap")

    def test_the_device_of_zeros(self):
        self.expect_refused(OF_THE_ZERO_DEVICE, "/dev/zero")

    def test_processes_without_a_first_thread(self):
        self.each(IN_PROCESSES_WITHOUT_A_FIRST_THREAD,
                  lambda body, _: self.assertEqual(body["outcome"], "memory", body))

    def test_sockets_that_nobody_reads(self):
        self.each(IN_SOCKETS, lambda body, _: self.assertEqual(body["outcome"], "memory", body))

    def test_what_programs_may_do_with_shared_memory(self):
        self.each(USES, lambda body, _: self.assertEqual((body["outcome"], body["result"]), ("ok", [7, 41, True]), body))

    def test_the_answer_says_what_to_do_instead(self):
        def check(body, receipt):
            if not receipt["cgroup"]:
                self.assertEqual(body["outcome"], "error", body)
                self.assertIn("map a file in /dev/shm", body["error"])

        self.each("import mmap\nmmap.mmap(-1, 4096)", check)

    def test_shell_code_that_is_too_long_for_an_argument(self):
        code = "echo begun\n" + ": a line like many others\n" * 8000 + "read x <&0; echo ended\n"
        for start in ("cold", "exec"):
            with self.subTest(start):
                body = body_of(self.run_as(start, code, language="shell"))
                self.assertEqual((body["outcome"], body["output"]), ("ok", ["begun", "ended"]), body)


if __name__ == "__main__":
    unittest.main()
