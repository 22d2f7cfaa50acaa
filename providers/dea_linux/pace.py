"""Repeats a look only as often as its cost allows, so that looking stays cheap for the host."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Pace:
    """One kind of look: at most every `every_s`, and for at most `share` of the time."""

    def __init__(self, every_s: float, share: float = 0.02) -> None:
        self._every_s = every_s
        self._share = share
        self._last_s = 0.0
        self._next_s = 0.0
        self.cost_s = 0.0  # of the dearest look so far

    def due(self) -> bool:
        return time.monotonic() >= self._next_s

    def hurry(self, every_s: float) -> None:
        """Let the next look, the last of a window, be due whatever looks cost."""
        self._next_s = min(self._next_s, self._last_s + every_s)

    def look(self, at: Callable[[], T]) -> T:
        """Take the look now, and learn from it when the next is due."""
        began_s = time.monotonic()
        try:
            return at()
        finally:
            took_s = time.monotonic() - began_s
            self.cost_s = max(self.cost_s, took_s)
            self._last_s = began_s
            self._next_s = began_s + max(self._every_s, took_s / self._share)
