"""Which functions V8 compiled into a function: they have no frames of their own."""

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.v8.reader.objects import Objects, is_object, is_small_int, small_int

_FUNCTION_WORDS = range(3, 8)  # of a function, one of which leads to its code
_CODE_WORDS = range(1, 8)
_LARGEST_CODE_BYTES = 1 << 20
_MOST = 200
_HEADER = 16  # of an array: its shape and length
_STRONG = ~2  # takes the mark of a weak pointer off


def inlined_into(objects: Objects, function: int, shared: int, pc: int) -> list[int]:
    """Shared infos of what is inlined into the code at `pc`; none where that cannot be told."""
    indexes = objects.layout.deoptimization
    if indexes is None:
        return []
    try:
        code = _code(objects, function, shared, pc)
        return _inlined(objects, code, shared, *indexes) if code else []
    except TornError:
        return []  # it has moved, or is compiled anew


def _code(objects: Objects, function: int, shared: int, pc: int) -> int:
    """The function's code when the address lies in it, else 0."""
    if objects.word(function, objects.layout.function_shared) != shared:
        return 0
    for number in _FUNCTION_WORDS:
        word = objects.word(function, 8 * number)
        if is_object(word) and objects.type_of(word) == objects.layout.code_type:
            starts = [objects.word(word, 8 * n) for n in _CODE_WORDS]
            inside = any(not w & 1 and 0 <= pc - w < _LARGEST_CODE_BYTES for w in starts)
            return word if inside else 0
    return 0


def _inlined(
    objects: Objects, code: int, shared: int, count_at: int, literals_at: int, shared_at: int
) -> list[int]:
    """From what is kept for leaving the code again; it names the function itself, which proves it."""
    for number in _CODE_WORDS:
        data = objects.word(code, 8 * number)
        if not is_object(data):
            continue
        length = objects.word(data, 8)
        if not is_small_int(length) or small_int(length) <= shared_at:
            continue
        items = objects.memory.u64s(data - 1 + _HEADER, shared_at + 1)
        if items[shared_at] == shared and is_small_int(items[count_at]):
            count = min(small_int(items[count_at]), _MOST)
            literals = items[literals_at]
            if not is_object(literals) or count > small_int(objects.word(literals, 8)):
                return []
            found = objects.memory.u64s(literals - 1 + _HEADER, count)
            return [word & _STRONG for word in found]
    return []
