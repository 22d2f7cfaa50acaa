"""Evidence about processes, cgroups and the host over the window."""

from typing import Any

from dea.contracts.data import Metric, Process
from dea.contracts.evidence import Fact
from dea_linux import procfs
from dea_linux.threads.stored import HOST, PROCESSES, ProcessRecord, Stored
from dea_linux.threads.things import safe

_MOST_PROCESSES = 12
_STATE, _PPID, _MAJOR_FAULTS, _USER, _KERNEL, _CHILD_USER, _CHILD_KERNEL = 0, 1, 9, 11, 12, 13, 14
_THREADS, _RSS = 17, 21


def process_facts(
    stored: Stored, cpu_ns: dict[int, int], runtimes: dict[int, str], peers: set[int]
) -> list[Fact]:
    """The family's processes, the busiest first, and the peers that something waits for."""
    shares = {pid: _cpu_share(stored, stored.processes[pid], cpu_ns) for pid in stored.processes}
    lasting = _lasting(stored)
    pids = [
        pid
        for pid, process in stored.processes.items()
        if pid in lasting and (pid in peers or not process.peer)
    ]
    pids.sort(key=lambda pid: (stored.processes[pid].peer, -shares[pid]))
    lines = {pid: line for line, pid in enumerate(stored.processes, 1)}
    return [
        _process_fact(stored, stored.processes[pid], shares[pid], runtimes.get(pid), lines[pid])
        for pid in pids[:_MOST_PROCESSES]
    ]


def _lasting(stored: Stored) -> set[int]:
    """Processes that were there for most of the window."""
    least_ns = 0.5e9 * float(stored.facts["window_s"])
    return {thread.pid for thread in stored.threads if thread.wall_ns >= least_ns or thread.peer}


def _process_fact(
    stored: Stored, process: ProcessRecord, share: float, runtime: str | None, line: int
) -> Fact:
    after = process.after
    pid = process.pid
    data = Process(
        pid=pid,
        comm=safe(process.name),
        ppid=int(after[_PPID]),
        cmdline=safe(process.raw.get("command_line", "")) or None,
        runtime=runtime,
        state=after[_STATE],
        cpu_share=round(share, 3),
        threads=int(after[_THREADS]),
        children=[p.pid for p in stored.processes.values() if p.after[_PPID] == str(pid)][:16],
    )
    role = "is what the target waits for; it" if process.peer else ""
    summary = f"process {pid} ({data.comm}) {role} used {share:.1%} of a CPU".replace("  ", " ")
    return Fact(data, summary, PROCESSES, (line, line))


def _cpu_share(stored: Stored, process: ProcessRecord, cpu_ns: dict[int, int]) -> float:
    """Of one CPU: exact for the threads that were seen, in ticks for those that ended unseen."""
    window_s = max(float(stored.facts["window_s"]), 0.001)
    ticks = sum(_delta(process, field) for field in (_USER, _KERNEL))
    by_ticks_s = ticks / float(stored.facts["clock_ticks"])
    return max(cpu_ns.get(process.pid, 0) / 1e9, by_ticks_s - 0.04) / window_s


def ended_children_facts(stored: Stored) -> list[Fact]:
    """CPU of children that ended in the window: a shell that runs many short commands shows only so."""
    facts: list[Fact] = []
    window_s = max(float(stored.facts["window_s"]), 0.001)
    for line, process in enumerate(stored.processes.values(), 1):
        ticks = _delta(process, _CHILD_USER) + _delta(process, _CHILD_KERNEL)
        share = ticks / float(stored.facts["clock_ticks"]) / window_s
        if not process.peer and share >= 0.02:
            data = Metric(
                name="ended_children_cpu", value=round(share, 3), unit="cpus", pid=process.pid
            )
            summary = (
                f"children of pid {process.pid} that ended in the window used {share:.1%} of a CPU"
            )
            facts.append(Fact(data, summary, PROCESSES, (line, line)))
    return facts[:4]


def _delta(process: ProcessRecord, field: int) -> int:
    return max(0, int(process.after[field]) - int(process.before[field]))


def host_facts(stored: Stored, family_cpu_ns: int, *, name_neighbours: bool) -> list[Fact]:
    """Whether others want the CPUs, and who."""
    begin, end = stored.host.get("begin", {}), stored.host.get("end", {})
    window_s = max(float(stored.facts["window_s"]), 0.001)
    busy = _busy_share(begin.get("stat", ""), end.get("stat", ""))
    before_us, after_us = (_pressure_us(texts.get("pressure_cpu", "")) for texts in (begin, end))
    pressure = min(1.0, max(0.0, (after_us - before_us) / 1e6 / window_s))
    target = family_cpu_ns / 1e9 / window_s / max(1, int(stored.facts["cpus"]))
    load = (end.get("loadavg", "").split() or ["0"])[0]
    data = Metric(
        name="host_load",
        value=round(pressure, 3),
        unit="share",
        shares={"busy": round(busy, 3), "target": round(target, 3)},
    )
    summary = (
        f"host: {busy:.0%} of {stored.facts['cpus']} CPUs busy, {target:.0%} by the target, load {load}; "
        f"some task waited for a CPU {pressure:.0%} of the time"
    )
    neighbours: list[dict[str, Any]] = stored.host.get("neighbours", [])[:3]
    return [
        Fact(data, summary, HOST, (1, 1)),
        *(_neighbour(raw, window_s, stored) for raw in neighbours if name_neighbours),
    ]


def _neighbour(raw: dict[str, Any], window_s: float, stored: Stored) -> Fact:
    before, after = (procfs.stat_fields(stat) for stat in raw["stat"])
    ticks = sum(int(after[f]) - (int(before[f]) if before else 0) for f in (_USER, _KERNEL))
    share = ticks / float(stored.facts["clock_ticks"]) / window_s
    name = safe(procfs.command_of(raw["stat"][1]))
    data = Process(pid=raw["pid"], comm=name, ppid=int(after[_PPID]), cpu_share=round(share, 3))
    return Fact(
        data, f"another process, {raw['pid']} ({name}), used {share:.1%} of a CPU", HOST, (1, 1)
    )


def _busy_share(before: str, after: str) -> float:
    """Of all CPUs, from the first line of /proc/stat: all but idle and iowait."""
    first, last = ([int(word) for word in text.split()[1:9]] for text in (before, after))
    if len(first) != len(last) or len(first) < 5:
        return 0.0
    deltas = [b - a for a, b in zip(first, last, strict=True)]
    total = sum(deltas)
    return (total - deltas[3] - deltas[4]) / total if total > 0 else 0.0


def _pressure_us(text: str) -> int:
    """The total of the line `some avg10=... total=...`."""
    for line in text.splitlines():
        if line.startswith("some"):
            return int(line.rpartition("total=")[2])
    return 0
