# Crashes in order to make the host's crash handler run, or to leave a core file.
import resource
attempt("core files are allowed", resource.getrlimit(resource.RLIMIT_CORE) != (1, 1))
refused("raise the core limit", lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
os.chdir("/tmp")
for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT):
    status = in_child(lambda: os.kill(os.getpid(), number))
    attempt(f"a core was dumped for signal {number}", os.WCOREDUMP(status))
    attempt(f"signal {number} did not end the child", not os.WIFSIGNALED(status))
attempt("a core file was left", any(name.startswith("core") for name in os.listdir(".")))
