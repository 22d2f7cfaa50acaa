"""What came out of a session: what was asked, what was found, and where the report is."""

from dataclasses import dataclass
from pathlib import Path

from dea.contracts.finding import Finding
from dea.contracts.session import Session
from dea.errors import SessionError
from dea.store.session import StoredSession


@dataclass(frozen=True)
class Outcome:
    """`symptom` is "" when no cause was asked for, `first` None when nothing was concluded."""

    symptom: str
    first: Finding | None
    report: Path | None

    def found(self) -> str:
        if self.first is None or (self.symptom and self.first.severity == "info"):
            return "no fault" if self.symptom else ""
        return f"{self.first.severity}: {self.first.summary}"


def outcome_of(stored: StoredSession, session: Session) -> Outcome:
    """Of the newest investigation that worked, else of the newest run that concluded something."""
    worked = [run for run in session.runs if run.ok]
    asked = [run for run in worked if run.tool == "investigate"][-1:]
    symptom = ""
    if asked:
        arguments = stored.load_private("arguments").get(asked[0].run_id, {})
        symptom = str(arguments.get("symptom", "?"))
    first: Finding | None = None
    for run in asked or reversed(worked):
        first = first or _first(stored, run.run_id)
    report = stored.folder / "report.md"
    return Outcome(symptom, first, report if report.exists() else None)


def _first(stored: StoredSession, run_id: str) -> Finding | None:
    try:
        return next(iter(stored.result(run_id).findings), None)
    except SessionError:
        return None
