# Reads and writes the memory of init, by system call and by /proc.
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(64)
local, remote = iovec(ctypes.addressof(buffer), 64), iovec(0x400000, 64)
def vector(number):
    return syscall(number, 1, ctypes.c_void_p(ctypes.addressof(local)), 1, ctypes.c_void_p(ctypes.addressof(remote)), 1, 0)
refused("process_vm_readv", lambda: vector(310), errno.EPERM)
refused("process_vm_writev", lambda: vector(311), errno.EPERM)
refused("process_madvise", lambda: syscall(440, 0, 0, 0, 0, 0), errno.EPERM)
refused("kcmp", lambda: syscall(312, 1, os.getpid(), 0, 0, 0), errno.EPERM)
for name in ("mem", "maps", "environ", "fd/4", "root/etc/passwd", "cwd/etc", "exe", "auxv", "stack", "syscall"):
    refused(f"/proc/1/{name}", lambda: open(f"/proc/1/{name}", "rb").read(64))
refused("write /proc/1/mem", lambda: open("/proc/1/mem", "r+b").write(b"x"))
