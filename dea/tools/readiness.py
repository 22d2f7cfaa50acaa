"""What can be observed on this host, and the fix for each thing that is missing."""

import platform
import sys
from collections.abc import Iterator
from typing import Any, Literal, cast

from dea import __version__, registry
from dea.backend import Backend, Host
from dea.contracts.arguments import NoArguments
from dea.contracts.data import ReadinessData
from dea.contracts.evidence import Fact
from dea.contracts.readiness import (
    Permissions,
    ProviderReadiness,
    RequiredProgram,
    UnavailableTool,
)
from dea.contracts.scrub import one_line
from dea.errors import BackendError
from dea.process.host import find_program
from dea.process.packages import install_line
from dea.process.runner import run_program
from dea.store import home
from dea.tools import catalog
from dea.tools.run import Run, host
from dea.tools.tool import Tool

Os = Literal["linux", "darwin", "win32"]
_NODE_LIMIT_S = 5.0


async def readiness(arguments: NoArguments, run: Run) -> None:
    here = host()
    tools = catalog.tools()
    providers = [_provider(backend, here, tools) for backend in registry.backends()]
    unavailable = list(_unavailable(tools, providers))
    missing = {item.tool for item in unavailable}
    data = ReadinessData(
        os=cast(Os, sys.platform),
        arch=here.arch,
        kernel=here.kernel,
        node=await _node_version(),
        dea_version=__version__,
        is_root=here.is_root,
        has_sudo_noninteractive=here.is_root,
        permissions=_permissions(here),
        providers=providers,
        tools_available=[name for name in tools if name not in missing],
        tools_unavailable=unavailable,
        sessions_dir=str(home.sessions_folder()),
    )
    run.cite(Fact(data, _summary(data)))
    if not here.may_trace_others():
        run.limit("processes of other users cannot be observed without root or CAP_SYS_PTRACE")
    if not here.is_root:
        run.limit("DEA never runs sudo, so whether sudo works without a password was not tried")
    run.suggested_next.append("attach" if data.tools_available else "readiness")


def _provider(backend: Backend, here: Host, tools: dict[str, Tool[Any]]) -> ProviderReadiness:
    """A backend may serve a step of a tool ("snapshot_memory.sites") or of an investigation."""
    state = backend.availability(here)
    serves = backend.tool.partition(".")[0]
    missing = [name for name in backend.programs if name not in here.programs]
    remedy = (install_line(missing) if missing else "") or state.remedy
    notes = [f"for {', '.join(sorted(backend.runtimes))} targets"] if backend.runtimes else []
    return ProviderReadiness(
        name=backend.name,
        tools=[serves if serves in tools else "investigate"],
        status=state.status,
        requires=[_required(name, here) for name in backend.programs],
        install_hint=(remedy or None) if state.status != "ready" else None,
        notes=[*notes, *([state.reason] if state.reason else [])],
    )


def _required(name: str, here: Host) -> RequiredProgram:
    path = here.programs.get(name)
    return RequiredProgram(binary=name, path=str(path) if path else None)


def _unavailable(
    tools: dict[str, Tool[Any]], providers: list[ProviderReadiness]
) -> Iterator[UnavailableTool]:
    """Tools that cannot work yet, and those that have backends of which none can run."""
    for name, tool in tools.items():
        serving = [provider for provider in providers if name in provider.tools]
        if tool.missing:
            yield UnavailableTool(tool=name, reason=tool.missing)
        elif serving and name != "investigate" and all(p.status != "ready" for p in serving):
            yield UnavailableTool(tool=name, reason="; ".join(map(_why_not, serving)))


def _why_not(provider: ProviderReadiness) -> str:
    reason = provider.notes[-1] if provider.notes else provider.status
    fix = f" ({provider.install_hint})" if provider.install_hint else ""
    return f"{provider.name}: {reason}{fix}"


def _permissions(here: Host) -> Permissions:
    return Permissions(
        ptrace_scope=here.ptrace_scope,
        capabilities=sorted(here.capabilities),
        sip_enabled=None,
        developer_mode=None,
        perf_event_paranoid=here.perf_event_paranoid,
    )


async def _node_version() -> str:
    node = find_program("node")
    if node is None:
        return ""
    try:
        result = await run_program([str(node), "--version"], timeout_s=_NODE_LIMIT_S)
    except BackendError:
        return ""
    return one_line(result.stdout.decode("utf-8", "replace"), 40).removeprefix("v")


def _summary(data: ReadinessData) -> str:
    ready = sum(provider.status == "ready" for provider in data.providers)
    return (
        f"{ready} of {len(data.providers)} backends and {len(data.tools_available)} of "
        f"{len(data.tools_available) + len(data.tools_unavailable)} tools can work on this "
        f"{platform.system()} host{' as root' if data.is_root else ', not as root'}"
    )


TOOL = Tool(
    name="readiness",
    title="What can be observed here",
    description=(
        "Which tools and backends can work on this host, and what to install or allow for the "
        "rest. Call it when a tool says that it cannot observe, or before relying on one."
    ),
    arguments=NoArguments,
    run=readiness,
)
