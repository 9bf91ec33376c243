# Attaches to init with ptrace: the program ends there.
attempt("ptrace of init returned", False)
libc.ptrace(16, 1, 0, 0)  # PTRACE_ATTACH
ESCAPES.append("ptrace did not end the program")
