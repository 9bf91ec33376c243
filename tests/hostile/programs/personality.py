# Switches address randomisation off, or takes the personality of another system.
for what, value in (("no randomisation", 0x0040000), ("i386", 8), ("mmap at 0", 0x0100000), ("read implies exec", 0x0400000)):
    refused(f"personality: {what}", lambda: syscall(135, value), errno.EPERM)
attempt("the personality is not plain", syscall(135, 0xFFFFFFFF) != 0)
