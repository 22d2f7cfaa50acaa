"""What the virtual machine itself uses of the CPU: its compiler, and a collector without own threads."""

from collections.abc import Iterator, Sequence

from dea.contracts.data import Metric
from dea.contracts.evidence import Fact
from dea.profile.clocks import CpuUse
from dea_runtimes.jvm.frames import is_collector

_WORTH = 0.05  # of the process's CPU time
_COMPILERS = ("C1 Compiler", "C2 Compiler", "JVMCI")
_SERIAL_COLLECTOR = "VM Thread"


def machine_facts(uses: Sequence[CpuUse], file: str) -> Iterator[Fact]:
    """Metrics `jit_share` and, of the serial collector, `gc_share`: parts of the CPU time."""
    for use in uses:
        if use.share <= 0:
            continue
        yield from _fact(use, "jit_share", _share(use, _COMPILERS), "compiling (JIT)", file)
        if not any(is_collector(thread.name) for thread in use.threads):
            collecting = _share(use, (_SERIAL_COLLECTOR,))
            yield from _fact(use, "gc_share", collecting, "in the VM Thread, which collects", file)


def _share(use: CpuUse, names: tuple[str, ...]) -> float:
    return sum(t.share for t in use.threads if t.name.startswith(names)) / use.share


def _fact(use: CpuUse, name: str, share: float, doing: str, file: str) -> Iterator[Fact]:
    if share >= _WORTH:
        data = Metric(name=name, value=round(share, 4), unit="", pid=use.pid, runtime="java")
        yield Fact(data, f"{share:.0%} of the CPU time of java process {use.pid} was {doing}", file)
