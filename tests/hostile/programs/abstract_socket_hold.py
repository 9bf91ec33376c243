# Listens on an abstract Unix socket; its other half, in a second jail, must not find it.
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind("\0warder-hostile")
server.listen()
shm = libc.shmget(0x57a4de4, 4096, 0o1666)
semaphore = libc.semget(0x57a4de4, 1, 0o1666)
attempt("System V objects could not be made", counted and (shm < 0 or semaphore < 0))
with open("/dev/shm/warder-hostile", "w") as file:
    file.write("x")
print("holding", flush=True)
while not os.path.exists("/workspace/found"):
    time.sleep(0.01)
server.setblocking(False)
refused("somebody came", server.accept, errno.EAGAIN)
