"""Files of the workspace that a session keeps mapped for writing (mmap). The kernel marks a file's time at the first
write to a clean page only, so that a second order's write to the same page would not be seen by the supervisor, which
looks at times. Written back after each order, the pages are clean again (msync(2)). On a tmpfs the kernel marks no time
at all."""
import _io
import ctypes
import os

_MS_SYNC = 4


def write_back(workspace):
    """Raises OSError, with the file's name, if the kernel could not write one."""
    with _io.open("/proc/self/maps", "rb") as maps:
        lines = [line for line in maps.read().split(b"\n") if _is_written(line, os.fsencode(workspace) + b"/")]
    if lines:
        msync = ctypes.CDLL(None, use_errno=True).msync
        for line in lines:
            start, end = (int(edge, 16) for edge in line.split(b" ", 1)[0].split(b"-"))
            if msync(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MS_SYNC) < 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), os.fsdecode(line.split(maxsplit=5)[5]))


def _is_written(line, folder):
    """Example: b"7f08c1400000-7f08c1402000 rw-s 00000000 fe:00 1234    /workspace/data"."""
    fields = line.split(maxsplit=5)
    return len(fields) == 6 and fields[1][1:2] == b"w" and fields[1][3:] == b"s" and fields[5].startswith(folder)
