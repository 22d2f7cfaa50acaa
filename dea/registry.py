"""Finds backends, and says which can observe a target here and why the others cannot."""

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import ModuleType

from dea.backend import Availability, Backend, Host
from dea.contracts.target import Target
from dea.errors import BackendError


@dataclass(frozen=True)
class Choice:
    """Backends that can serve, the cheapest first, and why each other was passed over."""

    usable: Sequence[Backend]
    passed_over: Sequence[str]


@dataclass(frozen=True)
class Installed:
    """All backends by tool and cost, and what cannot be used."""

    backends: tuple[Backend, ...]
    broken: tuple[str, ...]


def backends() -> tuple[Backend, ...]:
    """Every backend of every installed provider: the `BACKENDS` of each of its folders."""
    return installed().backends


def broken() -> tuple[str, ...]:
    """Providers and backends that are installed but cannot be used, each with the reason."""
    return installed().broken


def program_names() -> tuple[str, ...]:
    """Every external program that some backend uses."""
    return tuple(sorted({name for backend in backends() for name in backend.programs}))


def choose(tool: str, target: Target, host: Host) -> Choice:
    """Backends of one tool for one target. Raises BackendError when none can run."""
    usable: list[Backend] = []
    passed_over = list(broken())
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


@functools.cache
def installed() -> Installed:
    """One provider that is broken, or of a third party, must not take the others with it."""
    by_name: dict[str, Backend] = {}
    broken: list[str] = []
    for provider in sorted({point.value for point in entry_points(group="dea.providers")}):
        for module in _folders(provider, broken):
            for backend in getattr(module, "BACKENDS", ()):
                if by_name.setdefault(backend.name, backend) is not backend:
                    broken.append(f"{module.__name__}: there are two backends {backend.name}")
    order = sorted(by_name.values(), key=lambda backend: (backend.tool, backend.rank, backend.name))
    return Installed(tuple(order), tuple(broken))


def _folders(provider: str, broken: list[str]) -> Iterator[ModuleType]:
    package = _import(provider, broken)
    if package is None:
        return
    for folder in pkgutil.iter_modules(package.__path__, f"{provider}."):
        if folder.ispkg and (module := _import(folder.name, broken)) is not None:
            yield module


def _import(name: str, broken: list[str]) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 (whatever the code of a third party may raise)
        broken.append(f"{name} cannot be imported: {type(error).__name__}: {error}")
        return None
