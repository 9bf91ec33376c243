# Starts processes and threads until it is refused; the limit counts both.
import threading
children = []
try:
    while len(children) < 2000:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except OSError as e:
    attempt(f"ended with {e!r}", e.errno != errno.EAGAIN)
attempt(f"{len(children)} processes", len(children) >= 100 or not children)
try:
    threading.Thread(target=signal.pause, daemon=True).start()
    attempt("a thread fits where no process does", True)
except RuntimeError:
    attempt("thread", False)
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
