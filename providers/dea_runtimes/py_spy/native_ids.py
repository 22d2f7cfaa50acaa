"""Which thread of the kernel py-spy means, where it does not name it by the id that we see.

Up to Python 3.10 an interpreter does not know the kernel's ids of its threads: each is named by its
pthread handle, the address of a structure of the C library that holds the id somewhere. And in a
container a thread has an id of its own there. In both cases py-spy takes waiting threads for running.
"""

import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dea.profile.clocks import CpuUse
from dea.profile.stacks import Sampled

_HIGHEST_TID = 2**22  # PID_MAX_LIMIT of the kernel; handles are addresses far above
_SEARCHED_BYTES = 2048  # of the structure; glibc has the id at 720, musl at 48

Ids = Iterable[Sequence[int]]  # (pid, what py-spy names the thread by, tid)


def find_native_ids(stacks: Iterable[Sampled]) -> list[list[int]]:
    """`[pid, name, tid]` of each thread that the stacks do not name by its tid."""
    names: dict[int, set[int]] = {}
    for stack in stacks:
        if stack.tid is not None:
            names.setdefault(stack.pid, set()).add(stack.tid)
    return [
        [pid, name, tid]
        for pid, found in names.items()
        for name, tid in native_ids(pid, found).items()
    ]


def native_ids(pid: int, names: Iterable[int]) -> dict[int, int]:
    """The tid of each thread that is named by something else; -1 when it cannot be found out."""
    ours = _tids_by_inner_id(pid)
    names = set(names)
    handles = {name for name in names if name > _HIGHEST_TID}
    if not handles and all(inner == outer for inner, outer in ours.items()):
        return {}
    inner = best_match(_heads(pid, handles), set(ours)) if handles else {}
    return {name: ours.get(inner.get(name, name), -1) for name in names}


def best_match(heads: dict[int, bytes], tids: set[int]) -> dict[int, int]:
    """The ids at that place of the structure where most handles have one, each another."""
    best: dict[int, int] = {}
    for offset in range(0, _SEARCHED_BYTES, 4):
        found = {
            handle: struct.unpack_from("<i", head, offset)[0]
            for handle, head in heads.items()
            if len(head) >= offset + 4
        }
        found = {handle: tid for handle, tid in found.items() if tid in tids}
        if len(set(found.values())) == len(found) > len(best):
            best = found
    return best


def with_native_ids(stacks: Sequence[Sampled], ids: Ids) -> list[Sampled]:
    """The stacks with the ids that we see, None where it is not known."""
    known = {(pid, name): tid for pid, name, tid in ids}
    renamed: list[Sampled] = []
    for stack in stacks:
        tid = known.get((stack.pid, stack.tid or 0), stack.tid)
        renamed.append(replace(stack, tid=None if tid == -1 else tid))
    return renamed


def while_on_cpu(
    stacks: Sequence[Sampled], ids: Ids, uses: Iterable[CpuUse], rate_hz: int
) -> list[Sampled]:
    """The same, with only as many samples of such a thread as it can have had on the CPU.

    Threads that nothing is known of are left out.
    """
    unsure = {(pid, name) for pid, name, _ in ids}
    most = {
        (use.pid, thread.tid): round((thread.share + thread.wait_share) * use.window_s * rate_hz)
        for use in uses
        for thread in use.threads
    }
    renamed = with_native_ids(stacks, ids)
    seen: dict[tuple[int, int | None], int] = {}
    for stack in renamed:
        seen[stack.pid, stack.tid] = seen.get((stack.pid, stack.tid), 0) + stack.samples
    kept: list[Sampled] = []
    for old, new in zip(stacks, renamed, strict=True):
        if (old.pid, old.tid) not in unsure:
            kept.append(new)
        elif new.tid is not None:
            part = min(1.0, most.get((new.pid, new.tid), 0) / seen[new.pid, new.tid])
            kept.append(replace(new, samples=round(new.samples * part)))
    return [stack for stack in kept if stack.samples > 0]


def _tids_by_inner_id(pid: int) -> dict[int, int]:
    """Of each thread the id in its own pid namespace, and that in ours: NSpid, see proc(5)."""
    found: dict[int, int] = {}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for line in (task / "status").read_text(errors="replace").splitlines():
                if line.startswith("NSpid:"):
                    found[int(line.split()[-1])] = int(task.name)
    except OSError:
        return found
    return found


def _heads(pid: int, handles: Iterable[int]) -> dict[int, bytes]:
    """The beginning of each structure; none of a thread that has ended and whose stack is gone."""
    heads: dict[int, bytes] = {}
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for handle in handles:
                try:
                    heads[handle] = os.pread(memory.fileno(), _SEARCHED_BYTES, handle)
                except (OSError, OverflowError):
                    continue
    except OSError:
        return {}
    return heads
