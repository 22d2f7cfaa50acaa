"""Which functions V8 compiled into a function: they have no frames of their own."""

import struct
from collections.abc import Iterator

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.v8.reader.objects import Objects, is_object, is_small_int, small_int

_LARGEST_CODE_BYTES = 1 << 16
_PAGE_BYTES = 4096
_CODE_WORDS = range(1, 8)
_MOST = 200
_HEADER = 16  # of an array: its shape and length
_STRONG = ~2  # takes the mark of a weak pointer off
_HEAP = range(1 << 16, 1 << 47)


def inlined_into(objects: Objects, shared: int, pc: int) -> list[int]:
    """Shared infos of what is inlined into the code at `pc`; none where that cannot be told."""
    if objects.layout.deoptimization is None:
        return []
    for code in _codes(objects, pc):
        try:
            return _inlined(objects, code, shared)
        except TornError:
            continue  # it only looked like code, or is compiled anew
    return []


def _codes(objects: Objects, pc: int) -> Iterator[int]:
    """What may describe the instructions at `pc`: they begin with a pointer to that."""
    words = _words_before(objects, pc)
    for number in range(len(words) - 1, 0, -1):
        word = words[number]
        if is_object(word) and is_object(words[number - 1]) and word in _HEAP:
            try:
                if objects.type_of(word) == objects.layout.code_type:
                    yield word
            except TornError:
                continue


def _words_before(objects: Objects, pc: int) -> tuple[int, ...]:
    """As much as is mapped, up to the size of large code."""
    end = pc & ~7
    begin, data = end & ~(_PAGE_BYTES - 1), b""
    try:
        data = objects.memory.read_now(begin, end - begin)
        while len(data) < _LARGEST_CODE_BYTES:
            data = objects.memory.read_now(begin - _PAGE_BYTES, _PAGE_BYTES) + data
            begin -= _PAGE_BYTES
    except TornError:
        pass
    return struct.unpack(f"<{len(data) // 8}Q", data)


def _inlined(objects: Objects, code: int, shared: int) -> list[int]:
    """From what is kept for leaving the code again; it names the function itself, which proves it.

    Raises TornError when there is no such thing.
    """
    count_at, literals_at, shared_at = objects.layout.deoptimization or (0, 0, 0)
    for number in _CODE_WORDS:
        data = objects.word(code, 8 * number)
        if not is_object(data):
            continue
        length = objects.word(data, 8)
        if not is_small_int(length) or small_int(length) <= shared_at:
            continue
        items = objects.memory.u64s(data - 1 + _HEADER, shared_at + 1)
        if is_small_int(items[count_at]) and _unwrapped(objects, items[shared_at]) == shared:
            count = min(small_int(items[count_at]), _MOST)
            literals = items[literals_at]
            if not is_object(literals) or count > small_int(objects.word(literals, 8)):
                raise TornError("inlined functions that are not listed")
            found = objects.memory.u64s(literals - 1 + _HEADER, count)
            return [_unwrapped(objects, word & _STRONG) for word in found]
    raise TornError("code that was not optimized")


def _unwrapped(objects: Objects, word: int) -> int:
    """Newer V8 keeps shared infos in a wrapper there."""
    if is_object(word) and objects.type_of(word) == objects.layout.wrapper_type:
        return objects.word(word, 8)
    return word
