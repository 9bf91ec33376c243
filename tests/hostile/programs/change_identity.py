# Becomes another user or group, or regains a capability.
for what, action in {
        "setuid 0": lambda: os.setuid(0), "setgid 0": lambda: os.setgid(0),
        "setresuid": lambda: os.setresuid(0, 0, 0), "setreuid": lambda: os.setreuid(0, 0), "seteuid": lambda: os.seteuid(0),
        "setresgid": lambda: os.setresgid(0, 0, 0), "setgroups": lambda: os.setgroups([0]),
        "setuid of nobody": lambda: os.setuid(65534), "securebits": lambda: prctl(28, 0),
        "keep capabilities": lambda: prctl(8, 1), "ambient": lambda: prctl(47, 2, 21),
        "new privileges": lambda: prctl(38, 0)}.items():
    def prctl(*arguments):
        return syscall(157, *arguments, *([0] * (5 - len(arguments))))
    refused(what, action)
class Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
header = Header(0x20080522, 0)
every = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
refused("capset", lambda: syscall(126, ctypes.c_void_p(ctypes.addressof(header)), ctypes.c_void_p(ctypes.addressof(every))))
syscall(122 + 0, 1000)  # setfsuid to itself answers the id before
attempt("setfsuid", syscall(122, 0) != 1000 or syscall(122, 1000) != 1000)
status = open("/proc/self/status").read()
for line in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
    value = status.split(line + ":\t")[1].split("\n")[0]
    attempt(f"{line} is {value}", int(value, 16) != 0)
attempt("privileges may be gained by exec", "NoNewPrivs:\t1" not in status)
attempt("/usr honours set-id files", not os.statvfs("/usr").f_flag & os.ST_NOSUID)
attempt("an id changed", os.getresuid() != (1000, 1000, 1000) or os.getresgid() != (1000, 1000, 1000))
