# Asks for a BPF map in its first process: the program ends there.
attempt("bpf returned", False)
syscall(321, 0, 0, 0)
ESCAPES.append("bpf did not end the program")
