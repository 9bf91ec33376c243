# Reaches anything beyond its own loopback: by address, by name, by broadcast, by a Unix socket of the host.
import socket
for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "8.8.8.8"), (socket.AF_INET, "169.254.169.254"),
                        (socket.AF_INET, "255.255.255.255"), (socket.AF_INET, "224.0.0.1"), (socket.AF_INET, "172.17.0.1"),
                        (socket.AF_INET6, "2001:db8::1"), (socket.AF_INET6, "ff02::1")):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        refused(f"datagram to {address}", lambda: s.connect((address, 53)))  # sends nothing, asks for a route
names = []
for number in range(1, 50):
    try:
        names.append(socket.if_indextoname(number))
    except OSError:
        pass
attempt(f"interfaces {names}", names != ["lo"])
with socket.socket() as s:
    s.settimeout(1)
    for port in (22, 80, 111, 631, 6379):
        refused(f"the host's loopback port {port}", lambda: s.connect(("127.0.0.1", port)))
for path in ("/run/systemd/notify", "/run/dbus/system_bus_socket", "/var/run/docker.sock", "/run/warder/warder.sock"):
    attempt(f"{path} is there", os.path.exists(path))
with socket.socket() as server, socket.socket() as client:  # loopback itself works: the attempts mean something
    server.bind(("127.0.0.1", 0))
    server.listen()
    client.connect(server.getsockname())
