"""The one definition of a tool that server, CLI and reference read."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dea.contracts.arguments import Arguments
from dea.tools.run import Run

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True)
class Tool(Generic[A]):
    """`description` tells an agent when to use it; `run` adds what it finds to its Run.

    `observes`: it looks at the target, so the session must still be attached.
    `read_only`: it changes neither the target nor anything else but DEA's own sessions.
    `missing`: why it cannot do its work on any host yet; "" for all others.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    run: Callable[[A, Run], Awaitable[None]]
    observes: bool = True
    read_only: bool = True
    idempotent: bool = True
    destructive: bool = False
    missing: str = ""
