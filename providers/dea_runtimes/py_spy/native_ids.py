"""Which thread of the kernel a pthread handle belongs to.

Up to Python 3.10 an interpreter does not know the kernel's ids of its threads, so py-spy names each
by its pthread handle: the address of a structure of the C library that holds the id somewhere.
"""

import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dea.profile.clocks import CpuUse
from dea.profile.stacks import Sampled

_HIGHEST_TID = 2**22  # PID_MAX_LIMIT of the kernel; handles are addresses far above
_SEARCHED_BYTES = 2048  # of the structure; glibc has the id at 720, musl at 48


def native_ids(pid: int, handles: Iterable[int]) -> dict[int, int]:
    """The tid of each handle that could be found out."""
    try:
        tids = {int(name) for name in os.listdir(f"/proc/{pid}/task")}
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            heads = {handle: _head(memory.fileno(), handle) for handle in handles}
    except OSError:
        return {}
    return best_match({handle: head for handle, head in heads.items() if head}, tids)


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


def _head(memory: int, handle: int) -> bytes:
    """Empty when the thread has ended and its stack is gone."""
    try:
        return os.pread(memory, _SEARCHED_BYTES, handle)
    except (OSError, OverflowError):
        return b""


def is_handle(tid: int | None) -> bool:
    return tid is not None and tid > _HIGHEST_TID


def find_native_ids(stacks: Iterable[Sampled]) -> list[list[int]]:
    """`[pid, handle, tid]` of each thread that the stacks name by its handle."""
    handles: dict[int, set[int]] = {}
    for stack in stacks:
        if stack.tid is not None and is_handle(stack.tid):
            handles.setdefault(stack.pid, set()).add(stack.tid)
    return [
        [pid, handle, tid]
        for pid, found in handles.items()
        for handle, tid in native_ids(pid, found).items()
    ]


def with_native_ids(stacks: Sequence[Sampled], ids: Iterable[Sequence[int]]) -> list[Sampled]:
    """The stacks with the kernel's ids, None where it is not known."""
    known = {(pid, handle): tid for pid, handle, tid in ids}
    return [
        replace(stack, tid=known.get((stack.pid, stack.tid or 0)))
        if is_handle(stack.tid)
        else stack
        for stack in stacks
    ]


def while_on_cpu(
    stacks: Sequence[Sampled], ids: Iterable[Sequence[int]], uses: Iterable[CpuUse], rate_hz: int
) -> list[Sampled]:
    """The same, with only as many samples of a thread as it can have had on the CPU.

    Without the kernel's id py-spy cannot tell whether a thread runs, and takes most for running.
    Threads that nothing is known of are left out.
    """
    most = {
        (use.pid, thread.tid): round((thread.share + thread.wait_share) * use.window_s * rate_hz)
        for use in uses
        for thread in use.threads
    }
    seen: dict[tuple[int, int | None], int] = {}
    renamed = with_native_ids(stacks, ids)
    for stack in renamed:
        seen[stack.pid, stack.tid] = seen.get((stack.pid, stack.tid), 0) + stack.samples
    kept: list[Sampled] = []
    for old, new in zip(stacks, renamed, strict=True):
        if not is_handle(old.tid):
            kept.append(new)
        elif new.tid is not None:
            part = min(1.0, most.get((new.pid, new.tid), 0) / seen[new.pid, new.tid])
            kept.append(replace(new, samples=round(new.samples * part)))
    return [stack for stack in kept if stack.samples > 0]
