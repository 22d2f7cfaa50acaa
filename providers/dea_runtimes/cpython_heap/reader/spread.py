"""Growth spread thinly over many containers: each adds a few items, together they add many."""

from collections import Counter
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.look import Look
from dea_runtimes.cpython_heap.reader.objects import BYTE_KINDS
from dea_runtimes.cpython_heap.reader.steps import Step, StepReader

_LEAST_CONTAINERS = 16
_LEAST_ADDED = 64
_LEAST_NET_SHARE = 0.5  # the rest only goes up and down
_LEAST_SAMPLE_SHARE = 0.3
_SAMPLES = 32


@dataclass(frozen=True)
class Spread:
    """Containers that each grew a little: their types by address, and all their items together."""

    members: dict[int, int]
    before: int
    now: int
    samples: list[int]

    def groups(self, steps: StepReader) -> dict[int, tuple[list[Step], float]]:
        """By type: where most of the samples hang, and which share of them does."""
        found: dict[int, tuple[list[Step], float]] = {}
        ways = {sample: steps.steps(sample) for sample in self.samples}
        keys = Counter((self.members[sample], _key(way)) for sample, way in ways.items() if way)
        for (type_address, key), count in keys.most_common():
            share = count / len(self.samples)
            if share >= _LEAST_SAMPLE_SHARE and type_address not in found:
                way = next(way for way in ways.values() if way and _key(way) == key)
                found[type_address] = way, share
        return found

    def recount(self, look: Look) -> int:
        """How many items the same containers have in a later look."""
        return sum(
            length
            for address, info, length, _ in look.census.containers()
            if self.members.get(address) == info.address
        )


def _key(way: list[Step]) -> str:
    return repr([(step["role"], step["name"], step["of"]) for step in way])


def find_spread(look: Look, before: dict[int, int], least_each: int) -> Spread | None:
    """Containers that each grew by less than `least_each`; None when that comes to little."""
    gross = net = 0
    lengths: dict[int, int] = {}
    members: dict[int, int] = {}
    for address, info, now, alive in look.census.containers():
        added = now - before.get(address, now)
        if not alive or not added or abs(added) >= least_each or info.kind in BYTE_KINDS:
            continue
        net += added
        if added > 0:
            gross += added
            lengths[address] = now
            members[address] = info.address
    if len(members) < _LEAST_CONTAINERS or net < max(_LEAST_ADDED, _LEAST_NET_SHARE * gross):
        return None
    samples = list(members)[:: max(1, len(members) // _SAMPLES)][:_SAMPLES]
    now = sum(lengths.values())
    return Spread(members, now - gross, now, samples)
