"""Tells paths that differ only in a number or a random part as one: `/tmp/x-*.log`."""

import functools
import os
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping

_VARYING = re.compile(r"[0-9a-f]{8,}|\d+")  # counters, times, ids, hashes
_FEWEST = 3  # paths that must be alike


def fold(paths: Iterable[str]) -> dict[str, str]:
    """The name under which each path is counted: its own, or a pattern shared with others."""
    left = set(paths)
    found = {path: path for path in left}
    for members in _alike(left, lambda path: _VARYING.sub("*", path)):
        found |= dict.fromkeys(members, _VARYING.sub("*", members[0]))
    left = {path for path, name in found.items() if name == path}
    for position in range(1, 1 + max((path.count("/") for path in left), default=0)):
        for members in _alike(left, functools.partial(_without, position)):
            found |= dict.fromkeys(members, _shared(members, position))
            left.difference_update(members)
    return found


def _alike(paths: Iterable[str], key: Callable[[str], Hashable]) -> list[list[str]]:
    groups: Mapping[Hashable, list[str]] = defaultdict(list)
    for path in sorted(paths):
        groups[key(path)].append(path)
    return [members for members in groups.values() if len(members) >= _FEWEST]


def _without(position: int, path: str) -> tuple[str, ...]:
    """The path's components but for one, and where that one stood."""
    parts = path.split("/")
    if position >= len(parts):
        return (path,)  # alike to none
    extension = os.path.splitext(parts[position])[1] if position == len(parts) - 1 else ""
    return (*parts[:position], "*" + extension, *parts[position + 1 :])


def _shared(members: list[str], position: int) -> str:
    """The pattern of paths that differ in one component, with what is common at its ends."""
    parts = members[0].split("/")
    varying = [path.split("/")[position] for path in members]
    head = os.path.commonprefix(varying)
    tail = os.path.commonprefix([name[len(head) :][::-1] for name in varying])[::-1]
    parts[position] = f"{head}*{tail}"
    return "/".join(parts)
