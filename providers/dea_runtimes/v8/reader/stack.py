"""Finds JavaScript's frames on a stopped or waiting thread's stack, from the copied words alone."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from dea_runtimes.v8.reader.layout import Layout

_FIRST_BYTES, _MORE_BYTES = 1 << 15, 1 << 18
_MOST_FRAMES = 128
_WALKED = 20_000  # frames that are followed to see whether a chain leads to its end
_MARKERS = 64  # a small number where a JavaScript frame has its context: what kind of frame it is
_SAVED_BY_ENTRY = range(16, 136, 8)  # where an entry frame keeps the frame that JavaScript left


class StackCopy:
    """The stack from `bottom` on, copied as far as it was asked for."""

    def __init__(self, read: Callable[[int, int], bytes], bottom: int, top: int) -> None:
        self._read, self.bottom, self.top = read, bottom, top
        self.data = read(bottom, min(_FIRST_BYTES, top - bottom))

    def holds(self, address: int) -> bool:
        return self.bottom <= address < self.top - 16 and address & 7 == 0

    def word(self, address: int) -> int:
        at = address - self.bottom
        while at + 8 > len(self.data):
            more = self._read(
                self.bottom + len(self.data),
                min(_MORE_BYTES, self.top - self.bottom - len(self.data)),
            )
            if not more:
                return 0
            self.data += more
        return int(struct.unpack_from("<Q", self.data, at)[0]) if at >= 0 else 0


@dataclass(frozen=True)
class RawFrame:
    """`function` is a tagged pointer, 0 for frames of another kind, which `marker` tells."""

    function: int
    marker: int
    pc: int  # where it goes on; of the innermost where it is


@dataclass
class Walk:
    """Innermost first. `first` is the innermost frame's address, 0 when there is none."""

    frames: list[RawFrame] = field(default_factory=list[RawFrame])
    first: int = 0
    is_cut: bool = False


class Walker:
    """Follows frame pointers. A chain counts only when it ends where JavaScript was entered."""

    def __init__(self, stack: StackCopy, layout: Layout) -> None:
        self._stack, self._layout = stack, layout

    def walk(self, fp: int, pc: int) -> Walk | None:
        """None when the chain breaks."""
        walk = Walk(first=fp)
        for _ in range(_WALKED):
            kind = self._kind(fp)
            if kind is None:
                return None
            marker, function = kind
            if marker in self._layout.entry_frames:
                outer = self._outer_exit(fp)
                if outer is None:
                    return walk
                fp, pc = outer, 0
                continue
            if len(walk.frames) < _MOST_FRAMES:
                walk.frames.append(RawFrame(function, marker, pc))
            else:
                walk.is_cut = True
            following, pc = self._stack.word(fp), self._stack.word(fp + 8)
            if following <= fp:
                return None
            fp = following
        return None

    def is_exit(self, fp: int) -> bool:
        kind = self._kind(fp)
        return kind is not None and kind[0] in self._layout.exit_frames

    def _kind(self, fp: int) -> tuple[int, int] | None:
        """Its marker, or -1 and its function."""
        if not self._stack.holds(fp):
            return None
        context = self._stack.word(fp + self._layout.fp_context)
        if context & 1 == 0:
            return (context >> 1, 0) if 0 < context >> 1 < _MARKERS else None
        function = self._stack.word(fp + self._layout.fp_function)
        return (-1, function) if context & 3 == 1 and function & 3 == 1 else None

    def _outer_exit(self, entry_fp: int) -> int | None:
        """Where JavaScript had been left when it was entered again, if it had."""
        for offset in _SAVED_BY_ENTRY:
            word = self._stack.word(entry_fp - offset)
            if word > entry_fp and self.is_exit(word):
                return word
        return None
