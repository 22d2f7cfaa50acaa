"""Reads /proc/PID/net/{tcp,tcp6,udp,udp6}: what is left where sock_diag may not be asked (proc(5))."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from dea_linux.sock_diag import STATES, TIMERS, InetSocket

_TABLES = ("tcp", "tcp6", "udp", "udp6")
_MARK = "== "


def collect(pid: int) -> bytes:
    """The four tables as one text, each under a line `== NAME`. Raises OSError when none opens."""
    texts: list[str] = []
    failure: OSError | None = None
    for table in _TABLES:
        try:
            texts.append(f"{_MARK}{table}\n{Path(f'/proc/{pid}/net/{table}').read_text()}")
        except OSError as error:  # tcp6 is missing where IPv6 is off
            failure = error
    if not texts and failure is not None:
        raise failure
    return "".join(texts).encode()


def parse(text: str) -> Iterator[InetSocket]:
    """Sockets of a collected text. Lines that are none (headers, a torn tail) are left out."""
    table = ""
    for line in text.splitlines():
        if line.startswith(_MARK):
            table = line.removeprefix(_MARK)
            continue
        fields = line.split()
        if table in _TABLES and len(fields) >= 10 and fields[0].endswith(":"):
            yield _socket(table, fields)


def _socket(table: str, fields: list[str]) -> InetSocket:
    """`sl local remote st tx:rx tr:when retransmits uid timeout inode ...`, numbers in hex."""
    local_address, local_port = _endpoint(fields[1])
    remote_address, remote_port = _endpoint(fields[2])
    state = int(fields[3], 16)
    sent, received = (int(part, 16) for part in fields[4].split(":"))
    return InetSocket(
        protocol=table[:3],
        family="ipv6" if table.endswith("6") else "ipv4",
        state=STATES.get(state, str(state)),
        local_address=local_address,
        local_port=local_port,
        remote_address=remote_address,
        remote_port=remote_port,
        inode=int(fields[9]),
        uid=int(fields[7]),
        recv_queue=received,
        send_queue=sent,
        timer=TIMERS.get(int(fields[5].split(":")[0], 16), ""),
        unanswered=int(fields[6], 16),
        drops=int(fields[12]) if table.startswith("udp") and len(fields) > 12 else None,
    )


def _endpoint(text: str) -> tuple[str, int]:
    """From `0100007F:1F90`: the address in words of the host's byte order, and the port."""
    address, port = text.split(":")
    words = [int(address[start : start + 8], 16) for start in range(0, len(address), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    if len(words) == 1:
        return socket.inet_ntop(socket.AF_INET, packed), int(port, 16)
    if packed.startswith(bytes(10) + b"\xff\xff"):
        return socket.inet_ntop(socket.AF_INET, packed[12:]), int(port, 16)
    return socket.inet_ntop(socket.AF_INET6, packed), int(port, 16)
