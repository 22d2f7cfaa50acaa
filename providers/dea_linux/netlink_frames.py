"""The framing of netlink: messages, their attributes and their end (linux/netlink.h)."""

import os
import struct
from collections.abc import Iterator

SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST_DUMP = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
HEADER = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence, port id


def frame(body: bytes, sequence: int) -> bytes:
    """A message; as a request it asks for a dump, in which each reply carries its `sequence`."""
    length = HEADER.size + len(body)
    header = HEADER.pack(length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, sequence, 0)
    return header + body + bytes(-length % 4)


def messages(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """(sequence, body) of each complete reply that is about a socket."""
    position = 0
    while position + HEADER.size <= len(raw):
        length, kind, _, sequence, _ = HEADER.unpack_from(raw, position)
        if length < HEADER.size or position + length > len(raw):
            return
        if kind == SOCK_DIAG_BY_FAMILY:
            yield sequence, raw[position + HEADER.size : position + length]
        position += (length + 3) & ~3


def ends(part: bytes) -> bool:
    """Whether the dump ends in this part. Raises OSError when it ends with an error."""
    position = 0
    while position + HEADER.size <= len(part):
        length, kind, *_ = HEADER.unpack_from(part, position)
        if kind in (_NLMSG_ERROR, _NLMSG_DONE):
            status = part[position + HEADER.size : position + HEADER.size + 4]
            code = -struct.unpack("=i", status)[0] if len(status) == 4 else 0
            if code > 0:
                raise OSError(code, f"sock_diag: {os.strerror(code)}")
            return True
        position += max((length + 3) & ~3, HEADER.size)
    return False


def attributes(body: bytes, start: int) -> dict[int, bytes]:
    """Payloads of the struct nlattr list that begins at `start`, by type."""
    found: dict[int, bytes] = {}
    while start + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, start)
        if length < 4:
            break
        found[kind & 0x3FFF] = body[start + 4 : start + length]
        start += (length + 3) & ~3
    return found
