"""What a call was about: the file, socket, address or lock that its arguments name."""

import re
from collections.abc import Mapping, Sequence

from dea.contracts.secrets import target_text
from dea_linux.netlink import InetSocket, endpoint

_V4 = re.compile(rb'port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)')
_V6 = re.compile(rb'sin6_port=htons\((\d+)\).*?inet_pton\(AF_INET6, "([^"]+)"')
_UNIX = re.compile(rb'sun_path=(@?"[^"]*")')
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_SOCKET = re.compile(r"^socket:\[(\d+)\]$")
_ADDRESSED = frozenset({"connect", "bind"})


def raw_object(name: str, args: bytes) -> bytes:
    """The object as the line has it; b"" when the call has none. Called for every line.

    The first argument's descriptor (`3</etc/passwd>`: its name), else the first path, or for a
    futex its address.
    """
    if args[:1].isdigit():
        if name == "futex":
            return args[: args.find(b",")]
        opened = args.find(b"<", 0, 12)
        return args[opened + 1 : args.find(b">", opened)] if opened > 0 else b""
    if args[:1] in b'A"' and (quoted := _QUOTED.search(args)):  # AT_FDCWD or a path
        return quoted[1]
    return b""


def address_in(args: bytes) -> str | None:
    """The socket address in an argument list: `127.0.0.1:80`, `[::1]:80`, `/run/x.sock`."""
    if found := _V4.search(args) or _V6.search(args):
        return endpoint(found[2].decode(), int(found[1]))
    if path := _UNIX.search(args):
        return path[1].decode("utf-8", "replace").replace('"', "")
    return None


def takes_address(name: str) -> bool:
    return name in _ADDRESSED


class Names:
    """Turns raw objects into words, with the addresses of sockets that were looked up."""

    def __init__(self, sockets: Sequence[InetSocket], seen: Mapping[int, str]) -> None:
        """`seen`: addresses by inode that the trace itself shows, such as those of connect."""
        self._by_inode = dict(seen)
        self._by_inode |= {sock.inode: _said(sock) for sock in sockets if sock.inode}

    def of(self, raw: bytes) -> str | None:
        text = raw.decode("utf-8", "replace")
        if not text:
            return None
        if found := _SOCKET.match(text):
            return self._by_inode.get(int(found[1]), text)
        return target_text(text, 160)


def _said(sock: InetSocket) -> str:
    if sock.state == "LISTEN":
        return f"listener on {sock.local}"
    return f"{sock.protocol} {sock.remote or sock.local}"


def socket_inode(raw: bytes) -> int | None:
    """The inode of `socket:[123]`."""
    if raw.startswith(b"socket:[") and raw[8:-1].isdigit():
        return int(raw[8:-1])
    return None
