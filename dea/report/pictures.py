"""Which pictures a report has: flame graphs that runs left, and charts drawn from evidence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from dea.contracts.data import Metric, MetricSeries
from dea.contracts.evidence import Evidence
from dea.contracts.result import ToolResult
from dea.report.budget_svg import budget_svg
from dea.report.markdown import anchor_name
from dea.report.series_svg import series_svg

_SERIES_DRAWN = 9  # evidence that findings cite comes first
_TOLD_FIRST = 3  # pieces of evidence that the first finding rests on
_TIME = {"profile_cpu": "CPU time", "time_budget": "wall clock time"}


@dataclass(frozen=True)
class Picture:
    """`path` is relative to the session's folder; `svg` is set when we draw it ourselves."""

    path: str
    title: str
    shows: Sequence[str]  # ids of the evidence it shows
    svg: str | None = None


def pictures(results: Iterable[ToolResult], evidence: Sequence[Evidence]) -> list[Picture]:
    """Time first, then what burns it, then what grows; the other way round where growth is told."""
    series = list(islice(_series(evidence), _SERIES_DRAWN))
    time = [*_budgets(evidence), *_flame_graphs(results)]
    about_growth = any(isinstance(item.data, MetricSeries) for item in evidence[:_TOLD_FIRST])
    return [*series, *time] if about_growth else [*time, *series]


def _flame_graphs(results: Iterable[ToolResult]) -> Iterator[Picture]:
    """An investigation has those of its steps, which say better what they show."""
    runs: dict[str, ToolResult] = {}
    for result in results:
        for artifact in result.artifacts:
            if artifact.kind == "flamegraph_svg":
                known = runs.get(artifact.path)
                if known is None or known.tool == "investigate":
                    runs[artifact.path] = result
    for path, result in runs.items():
        of = _TIME.get(result.tool)
        yield Picture(
            path, f"Flame graph of {f'{of} ({result.run_id})' if of else result.run_id}", ()
        )


def _series(evidence: Sequence[Evidence]) -> Iterator[Picture]:
    for item in evidence:
        if isinstance(item.data, MetricSeries) and len(set(_values(item.data))) > 1:
            yield _drawn(item.id, item.summary, [item.id], item.data)


def _values(series: MetricSeries) -> list[float]:
    return [value for _, value in series.points]


def _budgets(evidence: Sequence[Evidence]) -> Iterator[Picture]:
    """One picture per run and process."""
    groups: dict[tuple[str, int | None], list[tuple[str, Metric]]] = {}
    for item in evidence:
        if isinstance(item.data, Metric) and item.data.name == "thread_time" and item.data.parts:
            key = (item.id.rpartition(".")[0], item.data.pid)
            groups.setdefault(key, []).append((item.id, item.data))
    for (run_id, pid), members in groups.items():
        title = f"Where the time of each thread of process {pid} went"
        yield _drawn(
            f"{run_id}-{pid}-threads", title, [i for i, _ in members], [m for _, m in members]
        )


def _drawn(
    name: str, title: str, shows: Sequence[str], data: MetricSeries | Sequence[Metric]
) -> Picture:
    svg = series_svg(data) if isinstance(data, MetricSeries) else budget_svg(data)
    return Picture(f"artifacts/report-{anchor_name(name)}.svg", title, shows, svg)
