"""Files of the workspace that a session keeps mapped for writing (mmap). The kernel marks a file's time at a page's first
write, so that a second order's write to the same page would not be seen by the supervisor, which looks at times. After
each order the session's page table forgets these pages, not their contents (madvise(2)): the next write is a first one
again. On a tmpfs it is not, if the page was read before."""
import _io
import ctypes
import os

_MADV_DONTNEED = 4


def forget_pages(workspace):
    with _io.open("/proc/self/maps", "rb") as maps:
        lines = [line for line in maps.read().split(b"\n") if _is_written(line, os.fsencode(workspace) + b"/")]
    if lines:
        madvise = ctypes.CDLL(None).madvise
        for line in lines:
            start, end = (int(edge, 16) for edge in line.split(b" ", 1)[0].split(b"-"))
            madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)


def _is_written(line, folder):
    """Example: b"7f08c1400000-7f08c1402000 rw-s 00000000 fe:00 1234    /workspace/data"."""
    fields = line.split(maxsplit=5)
    return len(fields) == 6 and fields[1][1:2] == b"w" and fields[1][3:] == b"s" and fields[5].startswith(folder)
