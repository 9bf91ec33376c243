# Opens sockets of every family but Unix and IP, and raw ones of those.
import socket
for family in range(0, 50):
    if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
        continue
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        refused(f"family {family} kind {kind}", lambda: socket.socket(family, kind))
for family in (socket.AF_INET, socket.AF_INET6):
    refused(f"raw socket of {family}", lambda: socket.socket(family, socket.SOCK_RAW, 1))
refused("socketpair of IP", lambda: socket.socketpair(socket.AF_INET, socket.SOCK_STREAM))
