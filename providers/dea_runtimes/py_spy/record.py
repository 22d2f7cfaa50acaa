"""Samples Python stacks for a while: of the threads on the CPU, or of all threads."""

import re
from typing import Any, ClassVar

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.contracts.target import Runtime
from dea.profile.clocks import read_clocks
from dea.profile.family import read_family
from dea_runtimes.py_spy import record_parser
from dea_runtimes.py_spy.hot import hot_of_processes, hot_of_threads
from dea_runtimes.py_spy.native_ids import find_native_ids
from dea_runtimes.py_spy.raw_parser import read_raw
from dea_runtimes.py_spy.refusal import refusal
from dea_runtimes.py_spy.source import read_functions, to_json

INSTALL_HINT = "pip install py-spy (it is a dependency of dea-diagnostics)"
_GRACE_S = 20.0  # to read the interpreter's symbols before, and to write the file after
_FOLLOWED = 40  # processes; of more only the busiest is sampled
_SAMPLES_PER_S = 800  # over all processes, to keep our own CPU use small
_SLOWEST_HZ = 10
_ERRORS = re.compile(r"Errors: (\d+)")


class _Sampler(LinuxBackend):
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"python"})
    rank: ClassVar[int] = 10
    programs: ClassVar[tuple[str, ...]] = ("py-spy",)
    install_hint: ClassVar[str] = INSTALL_HINT

    async def _sample(
        self, request: Request, instruments: Instruments, rate_hz: int, *flags: str
    ) -> dict[str, Any]:
        """Sample without pausing the target, and note the CPU clocks around it."""
        duration_s = max(1, round(request.duration_s))
        root, pids = _scope(request)
        rate_hz = max(_SLOWEST_HZ, min(rate_hz, _SAMPLES_PER_S // len(pids)))
        family = read_family(pids)
        argv = ["py-spy", "record", "-p", str(root), "-d", str(duration_s), "-r", str(rate_hz)]
        argv += ["--nonblocking", "-t", "-f", "raw", "--full-filenames", *flags]
        argv += ["-s"] if len(pids) > 1 else []
        out = instruments.path(record_parser.STACKS, "folded_stacks")
        instruments.save(record_parser.BEFORE, read_clocks(pids))
        result = await instruments.run(
            [*argv, "-o", str(out)], timeout_s=duration_s + _GRACE_S, writes=out
        )
        instruments.save(record_parser.AFTER, read_clocks(pids))
        if result.returncode != 0:
            raise refusal(result, root)
        errors = _ERRORS.search(result.stderr)
        return {
            "target_pid": request.target.pid or request.pid,
            "root_pid": root,
            "family": family,
            "rate_hz": rate_hz,
            "errors": int(errors[1]) if errors else 0,
            "left_out": len(request.pids) - len(pids),
        }


class Record(_Sampler):
    """The functions and lines that burn CPU."""

    name: ClassVar[str] = "py_spy.record"
    tool: ClassVar[str] = "profile_cpu"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        facts = await self._sample(request, instruments, 100)
        stacks = read_raw(_text(instruments), facts["root_pid"]).stacks
        facts["native_ids"] = find_native_ids(stacks)
        functions = read_functions(hot_of_processes(stacks))
        instruments.save(record_parser.FUNCTIONS, to_json(functions), "json")
        return facts

    def parse(self, observation: Observation) -> Parsed:
        return record_parser.parse_cpu(observation)


class Wall(_Sampler):
    """Where each thread is, waiting or not."""

    name: ClassVar[str] = "py_spy.wall"
    tool: ClassVar[str] = "time_budget.stacks"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        facts = await self._sample(request, instruments, 50, "--idle")
        stacks = read_raw(_text(instruments), facts["root_pid"]).stacks
        facts["native_ids"] = find_native_ids(stacks)
        functions = read_functions(hot_of_threads(stacks))
        instruments.save(record_parser.FUNCTIONS, to_json(functions), "json")
        return facts

    def parse(self, observation: Observation) -> Parsed:
        return record_parser.parse_wall(observation)


def _scope(request: Request) -> tuple[int, tuple[int, ...]]:
    """The process that py-spy starts from, and those that it then follows."""
    if 1 < len(request.pids) <= _FOLLOWED:
        return request.target.pid or request.pid, request.pids
    return request.pid, request.pids[:1]


def _text(instruments: Instruments) -> str:
    return instruments.path(record_parser.STACKS, "folded_stacks").read_text(errors="replace")
