# Uses the socket to the supervisor for what it is not: to connect, to bind, to pass on, to another process.
import socket
guest = socket.socket(fileno=3)
refused("connect", lambda: guest.connect("/run/warder/warder.sock"))
refused("accept", guest.accept)
attempt("the peer is shown", guest.getpeername() not in ("", b""))
peer = guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
attempt(f"the peer's pid is shown: {peer!r}", int.from_bytes(peer[:4], "little", signed=True) > 0)
guest.detach()
