"""The CPU time that a look at a target takes of DEA itself, so that a result can state it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

COST = "own_cpu_s"


@dataclass
class OwnCost:
    """Adds up what runs in worker threads; nothing else may run in such a thread meanwhile."""

    cpu_s: float = 0.0

    def of(self, look: Callable[..., T], *arguments: Any) -> T:
        began_s = time.thread_time()
        try:
            return look(*arguments)
        finally:
            self.cpu_s += time.thread_time() - began_s

    def noted(self) -> dict[str, float]:
        """What to store among the facts of an observation."""
        return {COST: round(self.cpu_s, 4)}


def said(facts: Mapping[str, Any], what: str) -> list[str]:
    """`watching memory cost 0.4% of a CPU`; nothing where it was not measured or nothing was watched."""
    cpu_s, window_s = facts.get(COST), facts.get("window_s")
    if cpu_s is None or not window_s or window_s < 0.5:
        return []
    share = f"{cpu_s / window_s:.1%}" if cpu_s >= 0.001 * window_s else "less than 0.1%"
    return [f"watching {what} cost {share} of a CPU"]
