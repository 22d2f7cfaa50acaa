"""Memory that keeps growing: how fast, what holds it, and what a short look cannot tell."""

from collections.abc import Iterator, Sequence

from dea.contracts.data import MetricSeries
from dea.contracts.finding import Severity
from dea.contracts.quantities import in_bytes, in_time
from dea.rules.draft import Draft, Facts
from dea.rules.growth_sites import site_of
from dea.rules.series import (
    Grown,
    Growth,
    growing,
    latest,
    least_bytes,
    left_bytes,
    longer,
    memory_limit,
    new_clients,
    runtime_of,
)

_MIB = 2**20
_DOUBLED_BYTES = 16 * _MIB
_SOON_S = 600.0
_YOUNG_S = 60.0
_COLLECTED = ("node", "java", "go")  # memory is given back late there, if ever
_NO_GARBAGE_BYTES = 64 * _MIB
_NO_GARBAGE_SHARE = 0.2
_PER_CLIENT_BYTES = 4 * _MIB


def memory_growth(facts: Facts, others: Sequence[Grown] = ()) -> Iterator[Grown]:
    """`others` are counted things that grow: when one does, memory may only follow it."""
    for growth in growing(facts, "anon_bytes"):
        pid = growth.series.pid
        if not _is_material(growth, facts):
            continue
        yield Grown(pid, _anon(growth, facts, [o.draft for o in others if o.pid == pid]))
    for name, what in (("shmem_bytes", "shared memory"), ("file_bytes", "mapped file pages")):
        for growth in growing(facts, name):
            if _is_material(growth, facts):
                yield Grown(growth.series.pid, _not_anon(growth, what))


def _is_material(growth: Growth, facts: Facts) -> bool:
    return growth.amount >= least_bytes(facts, growth.series.pid)


def _anon(growth: Growth, facts: Facts, others: Sequence[Draft]) -> Draft:
    series, site = growth.series, site_of(growth, facts)
    leaks = [draft for draft in others if draft.severity != "info"]
    limit = memory_limit(facts)
    left_s = left_bytes(limit) / series.slope_per_s if limit else None
    severity, doubt = _severity(growth, facts, left_s)
    if severity == "high" and leaks and "high" not in {draft.severity for draft in leaks}:
        severity = "warn"  # what leaks comes first, not what it takes along
    soon = f"; its cgroup's limit is reached in {in_time(left_s)}" if left_s is not None else ""
    return Draft(
        severity,
        f"anonymous memory of process {series.pid} grows {growth.rate()}: "
        f"{in_bytes(series.first)} to {in_bytes(series.last)} in {growth.window_s:.1f} s"
        f"{soon}{site.text}",
        [
            *(growth.cited.id, *site.evidence_ids),
            *((limit.id,) if limit else ()),
            *(cited.id for cited in new_clients(facts, series.pid) if severity == "info"),
        ],
        "inferred" if site.evidence_ids else "observed",
        " ".join(text for text in (site.detail, doubt, _follows(leaks)) if text),
        weight=(0.3 if leaks else 1.0) * max(0.3, site.share),
        next=site.next,
    )


def _severity(growth: Growth, facts: Facts, left_s: float | None) -> tuple[Severity, str]:
    """How loud, and what speaks against a leak."""
    series = growth.series
    runtime = runtime_of(facts, series.pid)
    clients = sum(cited.data.added or 0 for cited in new_clients(facts, series.pid))
    if clients and growth.amount / clients < _PER_CLIENT_BYTES:
        return "info", f"{clients} clients connected meanwhile, which may be all it is for."
    if runtime in _COLLECTED and not _outgrows_garbage(growth, facts):
        return "info", (
            f"In a {runtime} process garbage that is not collected yet looks the same: "
            f"{longer(growth)}, and so would the heap before and after a collection."
        )
    soon = left_s is not None and left_s < _SOON_S
    doubled = series.last >= 2 * series.first and growth.amount >= _DOUBLED_BYTES
    young = series.age_s is not None and series.age_s < _YOUNG_S
    return ("high" if soon or (doubled and not young) else "warn"), (
        f"It is {in_time(series.age_s or 0)} old: a process that still loads looks the same."
        if young
        else ""
    )


def _outgrows_garbage(growth: Growth, facts: Facts) -> bool:
    rss = latest(facts, "rss_bytes", growth.series.pid)
    enough = max(_NO_GARBAGE_BYTES, _NO_GARBAGE_SHARE * rss)
    return growth.amount > enough and growth.never_fell


def _follows(leaks: Sequence[Draft]) -> str:
    return f"It may only follow from this: {leaks[0].summary}." if leaks else ""


def _not_anon(growth: Growth, what: str) -> Draft:
    series: MetricSeries = growth.series
    return Draft(
        "info",
        f"{what} of process {series.pid} grow {growth.rate()}; anonymous memory is counted apart",
        [growth.cited.id],
        "observed",
        "Pages of files and of shared memory count as resident once they are touched, also when "
        "nothing new was allocated.",
        weight=0.2,
    )
