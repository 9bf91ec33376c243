"""Ports of 127.0.0.1 for servers that must be told one."""
import socket

_held = []  # until this process ends


def free_port():
    """A port that the kernel gives to nobody else: it stays bound here, without listening. A server that sets
    SO_REUSEADDR, as warderd, nats-server and Node.js do, listens there all the same, and again after a restart."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _held.append(holder)
    return holder.getsockname()[1]
