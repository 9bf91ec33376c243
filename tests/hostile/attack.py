"""What every hostile program finds before its own lines: raw system calls, and words to say what happened.

A program makes attempts; each is refused() or escapes. verdict() is "held", or "ESCAPED: ..." with all that worked. A
program that attempted nothing, or was wrong about itself, has not held.
"""
import ctypes
import errno
import os
import platform
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ESCAPES = []
ATTEMPTS = 0


def attempt(what, escaped):
    """Counts one attempt whose success the program has seen itself."""
    global ATTEMPTS
    ATTEMPTS += 1
    if escaped:
        ESCAPES.append(what)


def refused(what, action, *errors):
    """The action must fail, with one of these errors where any are given."""
    try:
        answer = action()
    except (OSError, ValueError, PermissionError) as e:
        number = getattr(e, "errno", None)
        attempt(f"{what}: refused, but with {e!r}", bool(errors) and number not in errors)
        return
    attempt(f"{what}: {answer!r}", True)


def syscall(number, *arguments):
    """A raw system call; OSError as the os module raises it."""
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *(a if isinstance(a, (bytes, ctypes._SimpleCData, ctypes.Array))
                                                   or a is None or hasattr(a, "contents") else ctypes.c_long(a)
                                                   for a in arguments))
    if answer == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def in_child(action):
    """Runs the action in a child; its wait status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


def killed(what, action):
    """The action must end its process with SIGSYS."""
    status = in_child(action)
    attempt(f"{what}: ended with wait status {status:#x} instead of SIGSYS",
            not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS))


def verdict():
    if ESCAPES:
        return "ESCAPED: " + "; ".join(ESCAPES)
    return "held" if ATTEMPTS else "ESCAPED: no attempt was made"
