"""One tool call as it happens: what it observes, concludes and must say about its limits."""

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dea import registry
from dea.backend import Backend, Host, Request
from dea.contracts.artifact import Artifact
from dea.contracts.evidence import Evidence, Fact
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets
from dea.contracts.target import Target
from dea.errors import BackendError, DeaError, SessionError, TargetError, TracedError
from dea.observe import Progress, Recorder, observe
from dea.process.host import read_host
from dea.process.identity import is_same, state
from dea.rules.draft import Draft, Rule, judge, ranked
from dea.store.session import RunSlot, StoredSession
from dea.targets import family
from dea.targets.resolve import refresh

_MOST_PROCESSES = 256  # that are handed to a backend

SubRun = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]


def ourselves() -> Target:
    """The target of results that have no session: DEA itself."""
    return Target(kind="pid", id=str(os.getpid()), pid=os.getpid(), comm="dea", runtime="python")


def host() -> Host:
    """What this host allows, with every program that a backend might use."""
    return read_host(registry.program_names())


def _stopped(pids: Iterable[int]) -> set[int]:
    """Stopped by a signal; what a tracer holds, ours too, is in another state."""
    return {pid for pid in pids if state(pid) == "T"}


@dataclass
class Run:
    """Collects what one tool call finds. Tools read and write it; `invoke` makes the result."""

    tool: str
    report: Progress
    call: SubRun  # runs another tool in the same session, stored as a run of its own
    session: StoredSession | None = None
    slot: RunSlot | None = None
    target: Target = field(default_factory=ourselves)
    evidence: list[Evidence] = field(default_factory=list[Evidence])
    drafts: list[Draft] = field(default_factory=list[Draft])
    limitations: list[str] = field(default_factory=list[str])
    suggested_next: list[str] = field(default_factory=list[str])
    artifacts: list[Artifact] = field(default_factory=list[Artifact])
    order: Callable[[Sequence[Draft]], list[Draft]] = ranked  # an investigation has its own
    looks: Counter[str] = field(default_factory=Counter[str])  # how often each backend looked

    def open(self, session: StoredSession, arguments: dict[str, Any] | None = None) -> None:
        """Make this a run of that session. `arguments` are kept, so that it can be repeated."""
        target = session.read().target
        self.session = session
        self.slot = session.begin_run(self.tool, arguments or {})
        self.target = refresh(target, self.start_ticks().get(target.pid or 0))

    @property
    def id(self) -> str:
        return self.slot.run_id if self.slot else self.tool

    def stored(self) -> tuple[StoredSession, RunSlot]:
        if self.session is None or self.slot is None:
            raise SessionError(f"{self.tool} needs a session", "Attach first")
        return self.session, self.slot

    def start_ticks(self) -> dict[int, int]:
        """When each process of the target had started, by pid, as it was attached to."""
        known = self.stored()[0].load_private("identity")
        return {int(pid): ticks for pid, ticks in known.items() if pid.isdigit()}

    def require_pid(self) -> int:
        """The target's pid. Raises SessionError when the target has none (yet)."""
        if self.target.pid is None:
            raise SessionError(f"the target {self.target.id} has no process", "Attach to a pid")
        return self.target.pid

    async def request(
        self, duration_s: float = 0.0, *, whole_family: bool = False, **options: Any
    ) -> Request:
        """What a backend shall look at: the target, or with its descendants, busiest first."""
        pid = self.require_pid()
        pids: tuple[int, ...] = (pid,)
        if whole_family:
            children = family.descendants(pid)
            if children:
                pids = tuple(w.pid for w in await family.busiest([pid, *children])) or pids
        if len(pids) > _MOST_PROCESSES:
            self.limit(
                f"{_MOST_PROCESSES} of {len(pids)} processes were looked at, the busiest first"
            )
            pids = pids[:_MOST_PROCESSES]
        return Request(self.target, pids, duration_s, options)

    async def observe(
        self, request: Request, *, backends: Sequence[Backend] = ()
    ) -> list[Evidence]:
        """Let the cheapest backend that works look. Raises BackendError when none does."""
        candidates = backends
        if not candidates:
            choice = registry.choose(self.tool, request.target, host())
            candidates = choice.usable
            self.limit(*(f"passed over {reason}" for reason in choice.passed_over))
        failures: list[str] = []
        for backend in candidates:
            try:
                found = await self._observe_with(backend, request)
            except (BackendError, TracedError) as error:
                self._require_target(backend, error)
                failures.append(f"{backend.name}: {error}")
                continue
            self.limit(*(f"tried {failure}" for failure in failures))
            return found
        raise BackendError("; ".join(failures))

    def _require_target(self, backend: Backend, error: DeaError) -> None:
        """Raises TargetError when the reason is that the target has ended meanwhile."""
        pid = self.target.pid
        if pid is not None and not is_same(pid, self.start_ticks().get(pid)):
            raise TargetError(
                f"process {pid} ended while {backend.name} looked at it ({error})",
                "Start it again and attach; or launch it under DEA, as a command",
            )

    async def _observe_with(self, backend: Backend, request: Request) -> list[Evidence]:
        session, slot = self.stored()
        self.looks[backend.name] += 1
        recorder = Recorder(
            session, slot, backend.name, host().programs, self.report, self.looks[backend.name]
        )
        ticks, stopped = self.start_ticks(), _stopped(request.pids)
        try:
            parsed = await observe(backend, request, recorder, ticks)
        finally:
            saved = recorder.artifacts()
            self.artifacts += saved
            self.limit(*(f"{a.path} grew too large and was cut" for a in saved if a.truncated))
        self.limit(*parsed.limitations)
        self._say_stopped(stopped & _stopped(request.pids))
        ended = [pid for pid in request.pids if not is_same(pid, ticks.get(pid))]
        self.limit(*(f"process {pid} ended while it was observed" for pid in ended[:3]))
        return [self.cite(fact, recorder) for fact in parsed.facts]

    def _say_stopped(self, pids: set[int]) -> None:
        self.limit(
            *(
                f"process {pid} is stopped (as SIGSTOP does): nothing in it changes until SIGCONT"
                for pid in sorted(pids)[:3]
            )
        )

    def cite(self, fact: Fact, recorder: Recorder | None = None) -> Evidence:
        """Give a fact its id and its place in the artifacts."""
        artifact = None
        if recorder is not None and fact.file in recorder.saved:
            artifact = str(recorder.saved[fact.file][0].relative_to(recorder.session.folder))
        evidence = Evidence(
            id=f"{self.id}.e{len(self.evidence) + 1}",
            kind=fact.data.kind,
            summary=one_line(fact.summary, 300) or fact.data.kind,
            data=fact.data,
            artifact=artifact,
            lines=fact.lines if artifact else None,
        )
        self.evidence.append(evidence)
        return evidence

    def judge(self, rules: Iterable[Rule]) -> None:
        """Add what the rules conclude from this run's evidence."""
        self.drafts += judge(self.evidence, rules)

    def limit(self, *texts: str) -> None:
        """Say what this result cannot see, each thing once."""
        for text in (one_line(hide_secrets(text), 500) for text in texts):
            if text and text not in self.limitations:
                self.limitations.append(text)

    def findings(self) -> list[Finding]:
        """The drafts as findings, ranked, with ids."""
        return [
            Finding(
                id=f"{self.id}.f{number}",
                severity=draft.severity,
                summary=one_line(draft.summary, 400),
                evidence_ids=list(dict.fromkeys(draft.evidence_ids)),
                confidence=draft.confidence,
                detail=draft.detail or None,
            )
            for number, draft in enumerate(self.conclusions(), 1)
        ]

    def conclusions(self) -> list[Draft]:
        """The drafts in the order in which they are told."""
        return self.order(self.drafts)

    def next_steps(self) -> list[str]:
        """What to run next: what the tool says, then what its findings ask for.

        Not what has run in this session: it would say the same, or fail for the same reason.
        """
        wanted = [*self.suggested_next, *(n for d in self.conclusions() for n in d.next)]
        known = {self.tool, *self._tools_run()}
        return [name for name in dict.fromkeys(wanted) if name not in known][:4]

    def _tools_run(self) -> list[str]:
        try:
            return [run.tool for run in self.session.read().runs] if self.session else []
        except SessionError:
            return []
