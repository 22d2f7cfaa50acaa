"""Reads back what a watch wrote: every look at every process, as it was."""

from collections.abc import Iterator
from dataclasses import dataclass, field

Links = dict[int, str]


@dataclass(frozen=True)
class Look:
    """All descriptors of a process at one moment."""

    at_s: float
    links: Links


@dataclass
class Watched:
    """Looks by process in the order of time; `ends` are first and last line of a process."""

    looks: dict[int, list[Look]] = field(default_factory=dict[int, list[Look]])
    ends: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    bad: list[str] = field(default_factory=list[str])


@dataclass
class Details:
    """Directories as (pid, fd), and the sizes of deleted files."""

    directories: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    sizes: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])


def read_changes(text: str) -> Watched:
    """Lines that are no changes are kept apart as `bad`."""
    watched = Watched()
    links: Links | None = None
    for number, line in enumerate(text.splitlines(), 1):
        mark, _, rest = line.partition(" ")
        try:
            if mark == "@":
                links = _begin_look(watched, rest, number)
            elif links is None:
                raise ValueError("no look has begun")
            elif mark == "+":
                fd, _, link = rest.partition(" ")
                links[int(fd)] = link
            elif mark == "-":
                links.pop(int(rest), None)
            else:
                raise ValueError("unknown mark")
        except ValueError:
            watched.bad.append(line)
            continue
        _extend(watched, number)
    return watched


def _begin_look(watched: Watched, rest: str, number: int) -> Links:
    at, _, pid_text = rest.partition(" ")
    pid = int(pid_text)
    earlier = watched.looks.pop(pid, [])  # put last: the lines that follow belong to it
    links = dict(earlier[-1].links) if earlier else {}
    watched.looks[pid] = [*earlier, Look(float(at), links)]
    watched.ends.setdefault(pid, (number, number))
    return links


def _extend(watched: Watched, number: int) -> None:
    pid = next(reversed(watched.looks))
    watched.ends[pid] = (watched.ends[pid][0], number)


def read_details(text: str) -> Details:
    details = Details()
    for words in _words(text):
        match words:
            case ["dir", pid, fd]:
                details.directories.add((int(pid), int(fd)))
            case ["size", pid, fd, size]:
                details.sizes[int(pid), int(fd)] = int(size)
            case _:
                continue
    return details


def _words(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        words = line.split()
        if all(word.isdigit() for word in words[1:]):
            yield words
