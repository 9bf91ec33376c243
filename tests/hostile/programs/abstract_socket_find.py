# Looks for what a first jail holds: an abstract socket, System V objects, a file in /dev/shm.
import socket
client = socket.socket(socket.AF_UNIX)
refused("the socket of another jail", lambda: client.connect("\0warder-hostile"))
attempt("System V memory of another jail", libc.shmget(0x57a4de4, 4096, 0) >= 0)
attempt("System V semaphores of another jail", libc.semget(0x57a4de4, 1, 0) >= 0)
attempt("shared memory file of another jail", os.path.exists("/dev/shm/warder-hostile"))
if os.path.isdir("/workspace"):
    open("/workspace/found", "w").close()
