# Opens sockets of every family but Unix and IP, raw ones of those, and netlink ones of every protocol but the routes'.
import socket
for family in range(0, 50):
    if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
        continue
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        for protocol in range(1 if family == socket.AF_NETLINK else 0, 24):
            refused(f"family {family} kind {kind} protocol {protocol}", lambda: socket.socket(family, kind, protocol),
                    errno.EAFNOSUPPORT)
for family in (socket.AF_INET, socket.AF_INET6):
    refused(f"raw socket of {family}", lambda: socket.socket(family, socket.SOCK_RAW, 1))
refused("socketpair of IP", lambda: socket.socketpair(socket.AF_INET, socket.SOCK_STREAM), errno.EOPNOTSUPP)
