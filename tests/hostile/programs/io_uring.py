# Makes an io_uring, whose operations no filter sees.
buffer = ctypes.create_string_buffer(120)
for what, number in (("io_uring_setup", 425), ("io_uring_enter", 426), ("io_uring_register", 427)):
    refused(what, lambda: syscall(number, 8, ctypes.c_void_p(ctypes.addressof(buffer)), 0, 0, 0, 0), errno.ENOSYS)
refused("io_setup", lambda: syscall(206, 8, ctypes.c_void_p(ctypes.addressof(buffer))), errno.ENOSYS)
