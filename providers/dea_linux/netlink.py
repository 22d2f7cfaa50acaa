"""Asks the kernel about sockets through NETLINK_SOCK_DIAG: cheap, and exact about queues.

`dump*` does the I/O and returns replies that can be stored; `parse_*` reads such bytes, live or
stored. Requests are those of linux/sock_diag.h, linux/inet_diag.h and linux/unix_diag.h.
"""

import ctypes
import os
import socket
import struct
import threading

from dea_linux.holders import Holders, holders
from dea_linux.netlink_frames import ends, request
from dea_linux.sock_diag import (
    InetSocket,
    TcpInfo,
    UnixSocket,
    endpoint,
    parse_inet,
    parse_unix,
)

__all__ = [
    "ALL_STATES",
    "EXTENSION_INFO",
    "LISTEN_ONLY",
    "Holders",
    "InetSocket",
    "TcpInfo",
    "UnixSocket",
    "dump",
    "dump_inet",
    "dump_unix",
    "endpoint",
    "holders",
    "parse_inet",
    "parse_unix",
]

ALL_STATES = (1 << 14) - 1  # by net/tcp_states.h, bit 13: bound only (since 6.8)
LISTEN_ONLY = 1 << 10
EXTENSION_INFO = 1 << (2 - 1)  # INET_DIAG_INFO: send struct tcp_info along

_NETLINK_SOCK_DIAG = 4
_INET_REQUEST = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2, any socket id
_UNIX_REQUEST = struct.Struct("=BBxxIIIII")  # struct unix_diag_req
_UNIX_SHOW = 0x1 | 0x4 | 0x10 | 0x40  # UDIAG_SHOW_NAME, PEER, RQLEN, UID
_CLONE_NEWNET = 0x40000000
_RECEIVE_BYTES = 1 << 18
_TIMEOUT_S = 5.0
_libc = ctypes.CDLL(None, use_errno=True)


def dump(
    family: int,
    protocol: int,
    states: int = ALL_STATES,
    extensions: int = EXTENSION_INFO,
    netns_pid: int | None = None,
) -> bytes:
    """Raw replies about all sockets of one family and protocol, for `parse_inet`.

    `netns_pid`: look into the network namespace of that process. Raises OSError: ENOENT when the
    kernel lacks the module, EPERM when the namespace may not be entered.
    """
    body = _INET_REQUEST.pack(family, protocol, extensions, states)
    return _ask(request(body, sequence=protocol), netns_pid)


def dump_inet(states: int = ALL_STATES, netns_pid: int | None = None) -> bytes:
    """Raw replies about all TCP and UDP sockets, IPv4 and IPv6. Raises OSError as `dump`."""
    families = (socket.AF_INET, socket.AF_INET6)
    return b"".join(
        dump(family, protocol, states, netns_pid=netns_pid)
        for protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP)
        for family in families
    )


def dump_unix(netns_pid: int | None = None) -> bytes:
    """Raw replies about all AF_UNIX sockets, for `parse_unix`. Raises OSError as `dump`."""
    body = _UNIX_REQUEST.pack(socket.AF_UNIX, 0, 0xFFFFFFFF, 0, _UNIX_SHOW, 0, 0)
    return _ask(request(body, sequence=0), netns_pid)


def _ask(message: bytes, netns_pid: int | None) -> bytes:
    with _open(netns_pid) as link:
        link.settimeout(_TIMEOUT_S)
        link.send(message)
        parts = [link.recv(_RECEIVE_BYTES)]
        while not ends(parts[-1]):
            parts.append(link.recv(_RECEIVE_BYTES))
    return b"".join(parts)


def _open(netns_pid: int | None) -> socket.socket:
    """A netlink socket, which belongs for good to the namespace that it was made in.

    Only the thread that makes it enters the namespace, and then ends.
    """
    if netns_pid is None:
        return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def enter_and_make() -> None:
        try:
            with open(f"/proc/{netns_pid}/ns/net", "rb") as namespace:
                if _libc.setns(namespace.fileno(), _CLONE_NEWNET):
                    code = ctypes.get_errno()
                    raise OSError(code, f"setns: {os.strerror(code)}")
            made.append(_open(None))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter_and_make)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]
