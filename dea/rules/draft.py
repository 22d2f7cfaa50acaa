"""What a rule reads and what it yields."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dea.contracts.data import Data
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Confidence, Severity

D = TypeVar("D", bound=Data)


@dataclass(frozen=True)
class Cited(Generic[D]):
    """A piece of evidence with its data typed, so that a rule can read it and cite it."""

    id: str
    summary: str
    data: D


@dataclass(frozen=True)
class Facts:
    """The evidence that a rule may reason over."""

    evidence: Sequence[Evidence]

    def of(self, model: type[D]) -> Iterator[Cited[D]]:
        """All evidence whose data is of this model, in the order it was found."""
        for evidence in self.evidence:
            if isinstance(evidence.data, model):
                yield Cited(evidence.id, evidence.summary, evidence.data)


@dataclass(frozen=True)
class Draft:
    """A conclusion that has no id yet.

    `weight` ranks causes of one severity: the share (0..1) of the symptom that it explains.
    `next` are tools that would confirm it or tell more.
    """

    severity: Severity
    summary: str
    evidence_ids: Sequence[str]
    confidence: Confidence
    detail: str = ""
    weight: float = 0.0
    next: Sequence[str] = ()


Rule = Callable[[Facts], Iterable[Draft]]

_LOUDNESS: dict[Severity, int] = {"high": 0, "warn": 1, "info": 2}


def ranked(drafts: Iterable[Draft]) -> list[Draft]:
    """The loudest first; among equals the one that explains most."""
    return sorted(drafts, key=lambda draft: (_LOUDNESS[draft.severity], -draft.weight))


def judge(evidence: Sequence[Evidence], rules: Iterable[Rule]) -> list[Draft]:
    """Everything the rules conclude from the evidence, ranked."""
    facts = Facts(evidence)
    return ranked(draft for rule in rules for draft in rule(facts))
