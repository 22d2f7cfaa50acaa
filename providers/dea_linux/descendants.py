"""Who descends from a process."""

from dea_linux import procfs

_LIMIT = 4096


def descendants(pid: int) -> list[int]:
    """All descendants, the nearest first, at most 4096."""
    found: list[int] = []
    queue = [pid]
    while queue and len(found) < _LIMIT:
        born = procfs.children(queue.pop(0))
        found += born
        queue += born
    return found[:_LIMIT]


def is_zombie(pid: int) -> bool:
    """Whether it has ended and its parent has not asked how."""
    return procfs.stat_fields(procfs.read_text(f"/proc/{pid}/stat"))[:1] == ["Z"]
