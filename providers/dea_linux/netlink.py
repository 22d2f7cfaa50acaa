"""Asks the kernel about sockets through NETLINK_SOCK_DIAG: cheap, and exact about queues.

`dump*` does the I/O and returns replies that can be stored; `parse_*` reads such bytes, live or
stored. Requests are those of linux/sock_diag.h, linux/inet_diag.h and linux/unix_diag.h.
"""

import ctypes
import os
import socket
import struct
import threading
from collections.abc import Callable
from typing import TypeVar

from dea_linux.holders import Holders, holders
from dea_linux.netlink_frames import ends, frame
from dea_linux.sock_diag import (
    InetSocket,
    TcpInfo,
    UnixSocket,
    endpoint,
    keep_inet,
    keep_unix,
    parse_inet,
    parse_unix,
)

__all__ = [
    "ALL_STATES",
    "EXTENSIONS",
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
    "in_netns",
    "keep_inet",
    "keep_unix",
    "netns_of",
    "parse_inet",
    "parse_unix",
]

ALL_STATES = (1 << 14) - 1  # by net/tcp_states.h, bit 13: bound only (since 6.8)
LISTEN_ONLY = 1 << 10
# INET_DIAG_INFO, INET_DIAG_SKMEMINFO: send struct tcp_info and the memory counters along
EXTENSIONS = 1 << (2 - 1) | 1 << (7 - 1)

_NETLINK_SOCK_DIAG = 4
_INET_REQUEST = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2, any socket id
_UNIX_REQUEST = struct.Struct("=BBxxIIIII")  # struct unix_diag_req
_UNIX_SHOW = 0x1 | 0x4 | 0x10 | 0x40  # UDIAG_SHOW_NAME, PEER, RQLEN, UID
_CLONE_NEWNET = 0x40000000
_RECEIVE_BYTES = 1 << 18
_TIMEOUT_S = 5.0
T = TypeVar("T")
_libc = ctypes.CDLL(None, use_errno=True)


def dump(
    family: int,
    protocol: int,
    states: int = ALL_STATES,
    extensions: int = EXTENSIONS,
    netns_pid: int | None = None,
) -> bytes:
    """Raw replies about all sockets of one family and protocol, for `parse_inet`.

    `netns_pid`: look into the network namespace of that process. Raises OSError: ENOENT when the
    kernel lacks the module, EPERM when the namespace may not be entered.
    """
    body = _INET_REQUEST.pack(family, protocol, extensions, states)
    return _ask(frame(body, sequence=protocol), netns_pid)


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
    return _ask(frame(body, sequence=0), netns_pid)


def _ask(message: bytes, netns_pid: int | None) -> bytes:
    with _open(netns_pid) as link:
        link.settimeout(_TIMEOUT_S)
        link.send(message)
        parts = [link.recv(_RECEIVE_BYTES)]
        while not ends(parts[-1]):
            parts.append(link.recv(_RECEIVE_BYTES))
    return b"".join(parts)


def _open(netns_pid: int | None) -> socket.socket:
    """A netlink socket; it belongs for good to the namespace that it was made in."""

    def make() -> socket.socket:
        return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)

    return make() if netns_pid is None else in_netns(netns_pid, make)


def netns_of(pid: int | str = "self") -> int | None:
    """Inode of a process's network namespace, None when it may not be read or has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def in_netns(pid: int, action: Callable[[], T]) -> T:
    """What `action` returns in the network namespace of a process.

    Only a thread made for it enters the namespace, and then ends. Raises OSError, with EPERM when
    the namespace may not be entered (that needs CAP_SYS_ADMIN).
    """
    done: list[T] = []
    failed: list[OSError] = []

    def enter_and_act() -> None:
        try:
            with open(f"/proc/{pid}/ns/net", "rb") as namespace:
                if _libc.setns(namespace.fileno(), _CLONE_NEWNET):
                    code = ctypes.get_errno()
                    raise OSError(code, f"setns: {os.strerror(code)}")
            done.append(action())
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter_and_act)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
