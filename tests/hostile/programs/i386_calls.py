# Makes system calls of i386 by int 0x80, whose numbers mean other calls: the program ends there.
import mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
attempt("int 0x80 returned", False)
pid = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
ESCAPES.append(f"an i386 call answered {pid}")
