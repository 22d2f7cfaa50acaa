"""What a descriptor is, from what its link in /proc/PID/fd says (proc(5))."""

import os
from dataclasses import dataclass

from dea.contracts.data.resources import FdType

_DELETED = " (deleted)"
_BY_PREFIX: tuple[tuple[str, FdType], ...] = (
    ("socket:", "socket"),
    ("pipe:", "pipe"),
    ("anon_inode:[eventpoll]", "epoll"),
    ("anon_inode:[eventfd", "eventfd"),
    ("anon_inode:inotify", "inotify"),
    ("/memfd:", "memfd"),
    ("/dev/shm/", "file"),
    ("/dev/mqueue/", "other"),
    ("/dev/hugepages/", "file"),
    ("/dev/", "device"),
    ("/", "file"),
)


@dataclass(frozen=True)
class Kind:
    """`path` is set for what has one: its name without the mark of a deleted file."""

    type: FdType
    path: str = ""
    deleted: bool = False


def kind_of(link: str) -> Kind:
    """Of a directory too it says "file": the link does not tell."""
    found = _type_of(link)
    if not link.startswith("/"):
        return Kind(found)
    deleted = link.endswith(_DELETED) and found == "file"
    return Kind(found, os.path.normpath(link.removesuffix(_DELETED)), deleted)


def _type_of(link: str) -> FdType:
    for prefix, type_ in _BY_PREFIX:
        if link.startswith(prefix):
            return type_
    return "other"


def label_of(link: str) -> str:
    """What is said of a descriptor without a path: "pipe", "anon_inode:[timerfd]"."""
    return link.partition(":")[0] if link.startswith(("socket:", "pipe:")) else link
