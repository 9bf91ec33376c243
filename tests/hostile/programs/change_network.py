# Changes its network by netlink: interfaces, addresses, routes, neighbours, rules; lists what is there.
import socket
import struct
ACK, CREATE, DUMP = 0x5, 0x405, 0x301


def request(kind, flags, body):
    """The error number of one request, or the messages of a dump."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.settimeout(10)
        s.bind((0, 0))
        s.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        found = []
        while True:
            data = s.recv(65536)
            while data:
                length, answer, _, _, _ = struct.unpack_from("=IHHII", data)
                if answer == 2:  # NLMSG_ERROR
                    return -struct.unpack_from("=i", data, 16)[0]
                if answer == 3:  # NLMSG_DONE
                    return found
                found.append(data[16:length])
                data = data[(length + 3) & ~3:]


def changes(what, kind, body):
    number = request(kind, CREATE | 0x1, body)
    attempt(f"{what}: errno {number}", number != errno.EPERM)


def text(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


link = struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)
lo = socket.if_nametoindex("lo")
for name in (b"dummy", b"veth", b"bridge", b"vlan", b"tun", b"wireguard"):
    changes(f"new {name.decode()}", 16, link + text(18, text(1, name)))  # RTM_NEWLINK, IFLA_LINKINFO, IFLA_INFO_KIND
changes("lo down", 16, struct.pack("=BBHiII", 0, 0, 0, lo, 0, 1))
changes("an address", 20, struct.pack("=BBBBi", 2, 24, 0, 0, lo) + text(2, bytes((10, 0, 0, 1))))
changes("a route", 24, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + text(4, struct.pack("=i", lo)))
changes("a neighbour", 28, struct.pack("=BBHiHBB", 2, 0, 0, lo, 0x80, 0, 0) + text(1, bytes((10, 0, 0, 2))))
changes("a rule", 32, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 0, 0, 1, 0))
changes("a queue", 36, struct.pack("=BBHiIII", 0, 0, 0, lo, 0, 0xFFFFFFFF, 0) + text(1, b"netem\0"))
links = [struct.unpack_from("=BBHi", one)[3] for one in request(18, DUMP, link)]
attempt(f"links {links}", links != [lo])
addresses = {struct.unpack_from("=BBBBi", one)[4] for one in request(22, DUMP, struct.pack("=BBBBi", 0, 0, 0, 0, 0))}
attempt(f"addresses of {addresses}", addresses != {lo})
attempt("another interface", [name for _, name in socket.if_nameindex()] != ["lo"])
