"""Reads V8's objects: tagged words, types and strings. What is not as it must be raises TornError."""

from enum import IntEnum

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.v8.reader.layout import Layout

_REPRESENTATION, _ONE_BYTE, _UNCACHED = 7, 8, 16  # bits of a string's type


_MOST_PIECES = 10_000
_LONGEST_CHARACTERS = 16 << 20


class Kind(IntEnum):
    """How a string holds its characters."""

    SEQUENTIAL, CONS, EXTERNAL, SLICED, THIN = 0, 1, 2, 3, 5


_Piece = tuple[int, int, int]  # a string, and from where and how many characters of it


def is_object(word: int) -> bool:
    """A pointer to an object in the heap: its last two bits say so."""
    return word & 3 == 1


def is_small_int(word: int) -> bool:
    return word & 0xFFFFFFFF == 0


def small_int(word: int) -> int:
    value = word >> 32
    return value - (1 << 32) if value >> 31 else value


class Objects:
    """Objects of a running process. They may move, so each is checked by its type."""

    def __init__(self, memory: Memory, layout: Layout) -> None:
        self.memory = memory
        self.layout = layout

    def word(self, tagged: int, offset: int) -> int:
        return self.memory.u64(tagged - 1 + offset)

    def type_of(self, tagged: int) -> int:
        if not is_object(tagged):
            raise TornError(f"no object: {tagged:#x}")
        shape = self.word(tagged, 0)
        if not is_object(shape):
            raise TornError(f"no object at {tagged:#x}")
        return int.from_bytes(self.memory.read(shape - 1 + self.layout.map_type, 2), "little")

    def is_string(self, word: int) -> bool:
        return is_object(word) and self.type_of(word) < self.layout.first_other_type

    def expect(self, tagged: int, expected: int) -> int:
        found = self.type_of(tagged)
        if found != expected:
            raise TornError(f"object {tagged:#x} is of type {found}, not {expected}")
        return tagged

    def text(self, tagged: int, limit: int = _LONGEST_CHARACTERS) -> str:
        """A string, however it is put together. Raises TornError when it is longer than `limit`."""
        length = self._length(tagged)
        if length > limit:
            raise TornError(f"a string of {length} characters")
        texts: list[str] = []
        todo: list[_Piece] = [(tagged, 0, length)]
        for _ in range(_MOST_PIECES):
            if not todo:
                return "".join(texts)
            piece = todo.pop()
            inner = self._pieces(piece)
            if inner is None:
                texts.append(self._flat(piece))
            else:
                todo += reversed(inner)
        raise TornError("a string of too many pieces")

    def _length(self, tagged: int) -> int:
        if not self.is_string(tagged):
            raise TornError(f"no string at {tagged:#x}")
        return self.memory.i32(tagged - 1 + self.layout.string_length)

    def _pieces(self, piece: _Piece) -> list[_Piece] | None:
        """The strings that it is made of, None when it holds the characters itself."""
        string, start, count = piece
        if start < 0 or count < 0 or start + count > self._length(string):
            raise TornError("a string that does not add up")
        layout = self.layout
        match self.type_of(string) & _REPRESENTATION:
            case Kind.CONS:
                first = self.word(string, layout.cons_first)
                cut = self._length(first)
                before = max(0, min(count, cut - start))
                rest = (self.word(string, layout.cons_second), max(0, start - cut), count - before)
                return [one for one in ((first, start, before), rest) if one[2]]
            case Kind.SLICED:
                offset = small_int(self.word(string, layout.sliced_offset))
                return [(self.word(string, layout.sliced_parent), offset + start, count)]
            case Kind.THIN:
                return [(self.word(string, layout.thin_actual), start, count)]
            case _:
                return None

    def _flat(self, piece: _Piece) -> str:
        string, start, count = piece
        kind = self.type_of(string)
        width = 1 if kind & _ONE_BYTE else 2
        if kind & _REPRESENTATION == Kind.SEQUENTIAL:
            at = string - 1 + self.layout.string_chars
        elif kind & _REPRESENTATION == Kind.EXTERNAL and not kind & _UNCACHED:
            at = self.word(string, self.layout.external_resource + 8)  # its characters
        else:
            raise TornError(f"a string of kind {kind}")
        data = self.memory.read_now(at + start * width, count * width)
        return data.decode("latin-1" if width == 1 else "utf-16-le", "replace")
