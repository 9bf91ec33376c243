"""URLs of servers, and hosts of this machine."""
import dataclasses
import ipaddress
import re

from .failure import Failure, Kind


@dataclasses.dataclass(frozen=True)
class Url:
    is_secure: bool
    host: str  # without the brackets of an IPv6 address
    port: int
    authority: str  # as a Host field has it
    path: str  # with the query; empty, or begins with a slash


def parse_url(text: str) -> Url:
    """Not a general parser: an unknown form is refused. Raises Failure: invalid."""
    def refused(why: str) -> Failure:
        return Failure(Kind.INVALID, f"the URL {why}", "http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH")
    if len(text) > 8192:
        raise refused("is longer than 8 kB")
    if not re.fullmatch(r"[!-\[\]-~]*", text):
        raise refused("holds a character that must be written as %XX")
    scheme, _, rest = text.partition("://")
    if scheme not in ("http", "https") or "://" not in text:
        raise refused("begins neither with http:// nor with https://")
    authority, path = re.fullmatch(r"([^/?#]*)([^#]*).*", rest).groups()  # type: ignore[union-attr]
    if "@" in authority:
        raise refused("contains a user; write the password into a header")
    parts = re.fullmatch(r"(?:\[([^\]]+)\]|([^\[:]+))(?::(.*))?", authority)
    if not parts:
        raise refused("has no host")
    v6, name, digits = parts.groups()
    port = ("443" if scheme == "https" else "80") if digits is None else digits
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise refused("has no number from 1 to 65535 as its port")
    return Url(scheme == "https", v6 or name, int(port), authority, path)


def is_loopback(host: str) -> bool:
    """`host` has neither port nor brackets."""
    if host in ("localhost", "::1"):
        return True
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False


def is_own_host(field: str, address: str) -> bool:
    """Whether a Host field names this machine, or is `address`."""
    host = field.lower()
    parts = re.fullmatch(r"\[(::1)\](?::[0-9]{1,5})?|([^:\[\]]*)(?::[0-9]{1,5})?", host)
    return bool(parts and is_loopback(parts[1] or parts[2] or "")) or bool(address and host == address)


def is_own_origin(origin: str, host: str, address: str) -> bool:
    """Whether a page of this origin is the server's own. `host`: the request's Host field."""
    return is_own_host(host, address) and origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
