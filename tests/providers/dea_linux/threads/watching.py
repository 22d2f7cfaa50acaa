"""Watches a program, and reads what was seen of it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from dea.contracts.data import Metric, Part
from dea.contracts.evidence import Fact
from dea_linux.threads.backend import ThreadsSample
from tests.providers.observing import observe

Program = Callable[[str], "subprocess.Popen[bytes]"]


def said(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


async def sample(pid: int, folder: Path, duration_s: float) -> list[Fact]:
    backend = ThreadsSample()
    return list(backend.parse(await observe(backend, [pid], folder, duration_s)).facts)


def threads(facts: list[Fact], name: str = "thread_time") -> list[Metric]:
    metrics = [fact.data for fact in facts if isinstance(fact.data, Metric)]
    return [metric for metric in metrics if metric.name == name]


def main_thread(facts: list[Fact], pid: int, name: str = "thread_time") -> Metric:
    return next(metric for metric in threads(facts, name) if metric.tid == pid)


def share(metric: Metric, *causes: str) -> float:
    return sum(part.share for part in metric.parts if part.cause in causes)


def largest(metric: Metric) -> Part:
    return max(metric.parts, key=lambda part: part.share)
