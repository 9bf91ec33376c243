"""Files of the workspace that a session keeps mapped for writing (mmap). The kernel marks a file's time at the first
write to a clean page only, so that a second order's write to the same page would not be seen by the supervisor, which
looks at times. Written back after each order, the pages are clean again (msync(2)). On a tmpfs the kernel marks no time
at all."""
import ctypes

_MS_SYNC = 4


def write_back(workspace):
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        areas = [_area(line) for line in maps if _is_written(line, workspace)]
    if areas:
        msync = ctypes.CDLL(None).msync
        for start, end in areas:
            msync(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MS_SYNC)


def _is_written(line, workspace):
    """Example: "7f08c1400000-7f08c1402000 rw-s 00000000 fe:00 1234    /workspace/data"."""
    fields = line.split(maxsplit=5)
    return fields[1].startswith("rw-s") and len(fields) == 6 and fields[5].startswith(workspace + "/")


def _area(line):
    return [int(edge, 16) for edge in line.split(" ", 1)[0].split("-")]
