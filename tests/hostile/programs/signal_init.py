# Signals init and everything it can see; init, and so the jail, must live.
for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGSTOP, signal.SIGKILL):
    try:
        os.kill(1, number)
    except PermissionError:
        pass
    attempt(f"signal {number} ended init", os.getppid() != 1)
child = os.fork()
if child == 0:
    signal.pause()
try:
    os.kill(-1, signal.SIGKILL)  # everything but init and the caller
except PermissionError:
    os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
attempt("kill(-1) ended init", os.getppid() != 1)
