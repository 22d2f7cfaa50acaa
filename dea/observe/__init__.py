"""Lets backends look at a target: the only place where observations come about."""

from dea.observe.look import observe
from dea.observe.recorder import Progress, Recorder

__all__ = ["Progress", "Recorder", "observe"]
