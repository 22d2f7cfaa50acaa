"""Runs the plan for one symptom and ranks the causes that its evidence supports."""

import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import anyio

from dea import registry
from dea.backend import Request
from dea.contracts.arguments import Investigate, Symptom
from dea.contracts.data import Data
from dea.contracts.evidence import Evidence, Fact
from dea.contracts.session import Session
from dea.errors import BackendError, DeaError, TargetError
from dea.investigate.crash import investigate_crash
from dea.investigate.hang import investigate_hang
from dea.investigate.inquiry import Inquiry
from dea.investigate.leak import investigate_leak
from dea.investigate.port_busy import investigate_port_busy
from dea.investigate.ranking import tell
from dea.investigate.slow import investigate_slow
from dea.process.identity import is_same
from dea.process.launch import look
from dea.rules.draft import Rule, judge
from dea.tools.run import Run, host
from dea.tools.tool import Tool

PLANS: dict[Symptom, Callable[[Inquiry], Awaitable[None]]] = {
    "slow": investigate_slow,
    "leak": investigate_leak,
    "hang": investigate_hang,
    "crash": investigate_crash,
    "port_busy": investigate_port_busy,
}
_OUTPUT_KEPT_BYTES = 256 * 1024
_POLL_S = 0.05


async def investigate(arguments: Investigate, run: Run) -> None:
    inquiry = RunInquiry(run, arguments)
    run.order = lambda drafts: tell(drafts, run.evidence)
    await PLANS[arguments.symptom](inquiry)
    if inquiry.failures and inquiry.steps == len(inquiry.failures):
        raise BackendError("no step could look: " + "; ".join(inquiry.failures))
    _keep_cited_first(run)


def _keep_cited_first(run: Run) -> None:
    """Order evidence by the causes that cite it: an agent reads from the top."""
    cited = [evidence_id for finding in run.findings() for evidence_id in finding.evidence_ids]
    order = {evidence_id: place for place, evidence_id in reversed(list(enumerate(cited)))}
    run.evidence.sort(key=lambda evidence: order.get(evidence.id, len(cited)))


@dataclass
class RunInquiry:
    """An inquiry on top of one run: each step is a run of its own in the same session."""

    run: Run
    arguments: Investigate

    def __post_init__(self) -> None:
        self.target = self.run.target
        self.port = self.arguments.port
        self.duration_s = self.arguments.duration_s
        self.consent = bool(self.arguments.consent)
        self.steps = 0
        self.failures: list[str] = []

    @property
    def evidence(self) -> list[Evidence]:
        return self.run.evidence

    def session(self) -> Session:
        return self.run.stored()[0].read()

    def output(self, stream: str) -> list[str]:
        path = self.run.stored()[0].artifacts / f"{stream}.log"
        try:
            with path.open("rb") as file:
                return file.read(_OUTPUT_KEPT_BYTES).decode("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []

    async def wait_for_exit(self, limit_s: float) -> int | None:
        status = self.run.stored()[0].folder / "launched.json"
        with anyio.move_on_after(limit_s):
            while (state := look(status)) is not None and state.exit_code is None:
                await anyio.sleep(_POLL_S)
        state = look(status)
        return None if state is None else state.exit_code

    async def step(self, tool: str, **arguments: Any) -> bool:
        self.steps += 1
        await self.run.report(0.5, f"{tool} runs")
        result = await self.run.call(tool, {"session_id": self.arguments.session_id, **arguments})
        if not result.ok:
            self.failures.append(f"{tool}: {result.error}")
            self.limit(f"{tool} could not look: {result.error}")
        self.run.evidence += result.evidence
        self.run.artifacts += result.artifacts
        self.limit(*result.limitations)
        return result.ok

    async def side_by_side(self, *steps: tuple[str, dict[str, Any]]) -> None:
        async with anyio.create_task_group() as group:
            for tool, arguments in steps:
                group.start_soon(self._step, tool, arguments)

    async def _step(self, tool: str, arguments: dict[str, Any]) -> None:
        await self.step(tool, **arguments)

    async def observe(self, serving: str, duration_s: float = 0.0, **options: Any) -> bool:
        self.steps += 1
        try:
            try:
                await self._look(serving, duration_s, options)
            except TargetError:  # it ended just now; what is left of it can be seen all the same
                await self._look(serving, duration_s, options)
        except DeaError as error:
            self.failures.append(f"{serving}: {error}")
            self.limit(f"{serving} could not look: {error}")
            return False
        return True

    async def _look(self, serving: str, duration_s: float, options: dict[str, Any]) -> None:
        request = await self._request(duration_s, options)
        choice = registry.choose(serving, request.target, host())
        await self.run.observe(request, backends=choice.usable)

    async def _request(self, duration_s: float, options: dict[str, Any]) -> Request:
        """The target and its descendants; when it has ended, ourselves stand for "nobody"."""
        pid, nobody = self.run.target.pid, os.getpid()
        if pid is None or pid == nobody or not is_same(pid, self.run.start_ticks().get(pid)):
            return Request(self.run.target, (nobody,), duration_s, options)
        return await self.run.request(duration_s, whole_family=True, **options)

    def cite(
        self, data: Data, summary: str, log: str = "", lines: tuple[int, int] = (1, 1)
    ) -> None:
        evidence = self.run.cite(Fact(data, summary))
        if log:
            place = {"artifact": f"artifacts/{log}.log", "lines": lines}
            self.run.evidence[-1] = evidence.model_copy(update=place)

    def judge(self, *families: Iterable[Rule]) -> None:
        for rules in families:
            self.run.drafts += judge(self.run.evidence, rules)

    def limit(self, *texts: str) -> None:
        self.run.limit(*texts)

    def suggest(self, *tools: str) -> None:
        self.run.suggested_next += tools


TOOL = Tool(
    name="investigate",
    title="Find the cause of a symptom",
    description=(
        "Start here after attach. Runs the whole plan for a symptom (slow, leak, hang, crash, "
        "port_busy) side by side and returns ranked causes, each citing its evidence. Takes about "
        "10 s. Competing or missing causes: follow suggested_next."
    ),
    arguments=Investigate,
    run=investigate,
)
