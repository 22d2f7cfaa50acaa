"""What can be observed here, and a fix for the rest."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dea import registry
from dea.backend import Availability, Host, LinuxBackend, Observation, Parsed
from dea.contracts.data import ReadinessData
from dea.process import host, packages
from dea.process.host import read_host
from dea.tools import catalog
from dea.tools.invoke import invoke

pytestmark = pytest.mark.anyio


class Strace(LinuxBackend):
    """A backend whose program the test gives or takes away."""

    name = "strace.trace"
    tool = "dump_stacks"
    programs = ("dea-test-program",)
    install_hint = "build it yourself"
    rank = 1

    async def observe(self, request: Any, instruments: Any) -> dict[str, Any]:
        return {}

    def parse(self, observation: Observation) -> Parsed:
        return Parsed([])


class Forbidden(Strace):
    name = "perf.forbidden"
    tool = "profile_cpu.step"

    def availability(self, host: Host) -> Availability:
        return Availability("no_permission", "perf_event_paranoid is 4", "run as root")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The only programs that this host has."""

    def only(*names: str) -> None:
        for name in names:
            (tmp_path / name).write_text("#!/bin/sh\necho v20.1.0\n")
            (tmp_path / name).chmod(0o755)

    def find(name: str) -> Path | None:
        return tmp_path / name if (tmp_path / name).exists() else None

    for module in (host, packages):
        monkeypatch.setattr(module, "find_program", find)
    monkeypatch.setattr("dea.tools.readiness.find_program", find)
    monkeypatch.setattr(registry, "backends", lambda: (Strace(), Forbidden()))
    return only


async def ready() -> ReadinessData:
    result = await invoke("readiness", {})
    assert result.ok, result.error
    assert result.session_id == ""
    assert result.target.comm == "dea"
    data = result.evidence[0].data
    assert isinstance(data, ReadinessData)
    return data


async def test_a_missing_program_has_its_fix(programs: Callable[..., None]) -> None:
    programs("apt-get")
    data = await ready()
    [strace, forbidden] = data.providers
    assert (strace.status, strace.tools) == ("missing", ["dump_stacks"])
    assert strace.requires[0].to_wire() == {"binary": "dea-test-program", "path": None}
    assert strace.install_hint is not None
    assert strace.install_hint.removeprefix("sudo ") == "apt-get install -y dea-test-program"
    assert (forbidden.status, forbidden.tools) == ("no_permission", ["profile_cpu"])
    reasons = {item.tool: item.reason for item in data.tools_unavailable}
    assert "dea-test-program not found (" in reasons["dump_stacks"]
    assert "perf_event_paranoid is 4" in reasons["profile_cpu"]


async def test_what_was_installed_since_is_seen(programs: Callable[..., None]) -> None:
    assert (await ready()).providers[0].status == "missing"
    programs("dea-test-program", "node")
    data = await ready()
    assert data.providers[0].status == "ready"
    assert data.providers[0].install_hint is None
    assert "dump_stacks" in data.tools_available
    assert data.node == "20.1.0"


async def test_where_nothing_installs_packages_the_backend_knows(
    programs: Callable[..., None],
) -> None:
    data = await ready()
    assert data.providers[0].install_hint == "build it yourself"
    assert data.node == ""


async def test_every_tool_is_available_or_has_a_reason() -> None:
    data = await ready()
    unavailable = [item.tool for item in data.tools_unavailable]
    assert sorted([*data.tools_available, *unavailable]) == sorted(catalog.tools())
    assert set(unavailable) >= {name for name, tool in catalog.tools().items() if tool.missing}
    assert data.is_root is (os.geteuid() == 0)
    assert Path(data.sessions_dir) == Path(os.environ["DEA_HOME"]) / "sessions"


@pytest.mark.parametrize(
    ("manager", "program", "package"),
    [
        ("apt-get", "strace", "strace"),
        ("apt-get", "eu-stack", "elfutils"),
        ("dnf", "perf", "perf"),
        ("dnf", "ss", "iproute"),
    ],
)
async def test_packages_are_named_as_the_distribution_does(
    manager: str, program: str, package: str
) -> None:
    assert packages.package_of(program, manager) == package


@pytest.mark.parametrize(
    ("id_", "package"), [("ubuntu", "linux-tools-generic"), ("debian", "linux-perf")]
)
async def test_perf_is_in_another_package_on_ubuntu(
    id_: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": id_})
    assert packages.package_of("perf", "apt-get") == package


async def test_one_line_installs_all_with_pip_for_what_is_on_pypi(
    programs: Callable[..., None],
) -> None:
    programs("apt-get")
    line = packages.install_line(["strace", "py-spy", "eu-stack", "strace"])
    assert line.replace("sudo ", "") == ("pip install py-spy && apt-get install -y elfutils strace")


async def test_without_rights_the_processes_of_others_are_a_blind_spot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readiness = sys.modules["dea.tools.readiness"]
    here = read_host(())
    for rights, blind in ((frozenset[str](), True), (frozenset({"CAP_SYS_PTRACE"}), False)):
        nobody = replace(here, is_root=False, capabilities=rights)
        monkeypatch.setattr(readiness, "host", partial(replace, nobody))
        said = " ".join((await invoke("readiness", {})).limitations)
        assert ("processes of other users cannot be observed" in said) is blind
