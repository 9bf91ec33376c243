"""The socket of --listen, and the token of its clients over TCP."""
import contextlib
import os
import re
import socket
import stat

from .failure import Failure, Kind, os_failure
from .settings import is_word, read_secret_file
from .texts import printable
from .urls import is_loopback

WAITING_CLIENTS = 64
MIN_TOKEN_BYTES = 16
UNIX_PREFIX = "unix:"


def open_task_socket(where: str) -> tuple[socket.socket, str]:
    """The socket, and the address of a TCP socket, "127.0.0.1:3000". `where`: "unix:PATH", whose socket gets the mode
    0600, or "ADDRESS:PORT" of a loopback address. Raises Failure: invalid, unavailable."""
    if where.startswith(UNIX_PREFIX):
        return _listen_on_path(where.removeprefix(UNIX_PREFIX)), ""
    hint = "give unix:PATH, or a port of this machine: 127.0.0.1:3000"
    parts = re.fullmatch(r"(\[::1\]|[^:]*):([0-9]{1,5})", where)
    if not parts or not 1 <= int(parts[2]) <= 65535:
        raise Failure(Kind.INVALID, f"--listen: '{printable(where, 64)}' has no port from 1 to 65535", hint)
    host, port = parts[1].strip("[]"), int(parts[2])
    if host == "localhost" or not is_loopback(host):
        raise Failure(Kind.INVALID, f"--listen: '{printable(where, 64)}' is not a loopback address", hint)
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    address = f"{parts[1]}:{port}"
    try:
        listening.bind((host, port))
        listening.listen(WAITING_CLIENTS)
    except OSError as error:
        raise os_failure(error, f"--listen: bind {address}", Kind.UNAVAILABLE,
                         "stop the process that listens there, or choose another port") from None
    return listening, address


def _listen_on_path(path: str) -> socket.socket:
    if not 1 <= len(os.fsencode(path)) <= 107:
        raise Failure(Kind.INVALID, "--listen: the path has not 1 to 107 bytes",
                      "for example unix:/run/agent/tasks.sock")
    _remove_stale_socket(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # the mode of the file decides who may connect
    try:
        listening.bind(path)
        listening.listen(WAITING_CLIENTS)
    except OSError as error:
        raise os_failure(error, f"--listen: bind '{path}'", Kind.UNAVAILABLE) from None
    finally:
        os.umask(before)
    return listening


def _remove_stale_socket(path: str) -> None:
    """Removes the socket of a server that has ended."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise Failure(Kind.UNAVAILABLE, f"--listen: '{path}' exists and is not a socket", "choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            with contextlib.suppress(OSError):
                os.unlink(path)
            return
        except OSError:
            pass
    raise Failure(Kind.UNAVAILABLE, f"--listen: another process listens on '{path}'",
                  "stop that process, or choose another path")


def read_task_token(path: str) -> str:
    """Raises Failure: invalid; also for a file that other users may read."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise os_failure(error, f"--token-file: '{path}'", Kind.INVALID) from None
    if mode & 0o077:
        raise Failure(Kind.INVALID, f"--token-file: other users may read '{path}'", f"chmod 600 {path}")
    token = read_secret_file(path, "--token-file")
    if not is_word(token) or len(token) < MIN_TOKEN_BYTES:
        raise Failure(Kind.INVALID, f"--token-file: '{path}' has no token of at least 16 visible characters",
                      "openssl rand -hex 32 makes one")
    return token
