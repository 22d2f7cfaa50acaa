"""Descriptors of one process that are alike, and how many there were at each look."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dea.contracts.data import Fd
from dea.contracts.data.resources import FdType
from dea.contracts.data.sockets import SocketRole
from dea.contracts.secrets import target_text
from dea.contracts.trend import thin
from dea_linux.files.fold import fold
from dea_linux.files.kinds import kind_of, label_of
from dea_linux.files.peers import Peer
from dea_linux.files.replay import Details, Look

_NUMBERS = 10
_LOOKS = 24  # more than a window has


@dataclass(frozen=True)
class Alike:
    """What descriptors have in common that are counted as one."""

    type: FdType
    name: str
    deleted: bool = False
    state: str | None = None
    role: SocketRole | None = None


@dataclass(frozen=True)
class Namer:
    """Says of each link what it is alike to. Directories are told apart only at the end."""

    folded: Mapping[str, str]
    peers: Mapping[int, Peer]
    directories: frozenset[str]

    def name(self, link: str) -> Alike:
        kind = kind_of(link)
        if kind.type == "socket":
            return self._socket(link)
        if not kind.path:
            return Alike(kind.type, label_of(link))
        type_: FdType = "directory" if link in self.directories else kind.type
        return Alike(type_, self.folded.get(kind.path, kind.path), kind.deleted)

    def _socket(self, link: str) -> Alike:
        inode = link[8:-1]
        peer = self.peers.get(int(inode)) if inode.isdigit() else None
        if peer is None:
            return Alike("socket", "socket that is not connected, or of another family")
        return Alike("socket", peer.name, state=peer.state, role=peer.role)


def namer(pid: int, looks: Sequence[Look], peers: Mapping[int, Peer], details: Details) -> Namer:
    links = {link for look in looks for link in look.links.values()}
    kinds = [kind_of(link) for link in links]
    last = looks[-1].links
    directories = {last[fd] for owner, fd in details.directories if owner == pid and fd in last}
    return Namer(fold(kind.path for kind in kinds if kind.path), peers, frozenset(directories))


def count(look: Look, namer: Namer) -> Counter[Alike]:
    """How many there are of each group. Links are counted first: many are the same."""
    found: Counter[Alike] = Counter()
    for link, times in Counter(look.links.values()).items():
        found[namer.name(link)] += times
    return found


def groups(pid: int, looks: Sequence[Look], namer: Namer, details: Details) -> Iterator[Fd]:
    """Every group that is open at the last look, with its count at each look."""
    counts = [count(look, namer) for look in looks]
    members: dict[Alike, list[int]] = defaultdict(list)
    names = {link: namer.name(link) for link in set(looks[-1].links.values())}
    for fd, link in looks[-1].links.items():
        members[names[link]].append(fd)
    for alike, fds in members.items():
        history = [
            (look.at_s, float(found[alike])) for look, found in zip(looks, counts, strict=True)
        ]
        sizes = [details.sizes[pid, fd] for fd in fds if (pid, fd) in details.sizes]
        yield Fd(
            pid=pid,
            type=alike.type,
            path=target_text(alike.name, 200),
            count=len(fds),
            fds=sorted(fds)[-_NUMBERS:],
            added=int(history[-1][1] - history[0][1]) if len(looks) > 1 else None,
            deleted=alike.deleted,
            size_bytes=sum(sizes) if sizes else None,
            state=alike.state,
            role=alike.role,
            looks=[int(count) for _, count in thin(history, _LOOKS)] if len(looks) > 1 else [],
        )
