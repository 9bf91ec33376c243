# Loads code into the kernel, or stops the machine. The reboot's magic is wrong: even a kernel that listened would not.
killed("bpf", lambda: syscall(321, 0, 0, 0))
killed("init_module", lambda: syscall(175, 0, 0, 0))
killed("finit_module", lambda: syscall(313, -1, 0, 0))
killed("delete_module", lambda: syscall(176, 0, 0))
killed("kexec_load", lambda: syscall(246, 0, 0, 0, 0))
killed("kexec_file_load", lambda: syscall(320, -1, -1, 0, 0, 0))
killed("reboot", lambda: syscall(169, 1, 2, 3, 0))
killed("swapon", lambda: syscall(167, 0, 0))
