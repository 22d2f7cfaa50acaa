"""Finds backends, and says which can observe a target here and why the others cannot."""

import functools
import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points

from dea.backend import Availability, Backend, Host
from dea.contracts.target import Target
from dea.errors import BackendError


@dataclass(frozen=True)
class Choice:
    """Backends that can serve, the cheapest first, and why each other was passed over."""

    usable: Sequence[Backend]
    passed_over: Sequence[str]


@functools.cache
def backends() -> tuple[Backend, ...]:
    """Every backend of every installed provider: the `BACKENDS` of each of its folders."""
    found: list[Backend] = []
    for point in entry_points(group="dea.providers"):
        package = importlib.import_module(point.value)
        for folder in pkgutil.iter_modules(package.__path__, f"{point.value}."):
            if folder.ispkg:
                found += getattr(importlib.import_module(folder.name), "BACKENDS", ())
    return tuple(sorted(found, key=lambda backend: (backend.tool, backend.rank, backend.name)))


def program_names() -> tuple[str, ...]:
    """Every external program that some backend uses."""
    return tuple(sorted({name for backend in backends() for name in backend.programs}))


def choose(tool: str, target: Target, host: Host) -> Choice:
    """Backends of one tool for one target. Raises BackendError when none can run."""
    usable: list[Backend] = []
    passed_over: list[str] = []
    for backend in backends():
        if backend.tool != tool:
            continue
        state = _fit(backend, target, host)
        if state.status == "ready":
            usable.append(backend)
        elif state.status != "not_implemented":
            remedy = f" ({state.remedy})" if state.remedy else ""
            passed_over.append(f"{backend.name}: {state.reason}{remedy}")
    if not usable:
        reasons = "; ".join(passed_over) or "no backend serves it yet"
        raise BackendError(
            f"{tool} cannot observe a {target.runtime or 'unknown'} target here: {reasons}",
            "See `dea doctor`",
        )
    return Choice(usable, passed_over)


def _fit(backend: Backend, target: Target, host: Host) -> Availability:
    """`not_implemented` stands for a backend that is meant for other runtimes."""
    if backend.runtimes and target.runtime not in backend.runtimes:
        return Availability("not_implemented", "for other runtimes")
    return backend.availability(host)
