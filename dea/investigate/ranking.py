"""Orders causes as an engineer would tell them: the root first, then what only waits for it."""

from collections.abc import Mapping, Sequence

from dea.contracts.evidence import Evidence
from dea.investigate.deadlocked import proven_first
from dea.rules.draft import Draft, ranked

_REMARKS_KEPT = 3


def tell(drafts: Sequence[Draft], evidence: Sequence[Evidence]) -> list[Draft]:
    """Proven deadlocks; ranked causes, each preceded by the cause of what it waits for; some remarks."""
    pids = {item.id: pid for item in evidence if (pid := getattr(item.data, "pid", None))}
    ordered = proven_first(_root_first(_distinct(ranked(drafts)), pids), evidence)
    loud = [draft for draft in ordered if draft.severity != "info"]
    remarks = [draft for draft in ordered if draft.severity == "info"]
    return [*loud, *remarks[:_REMARKS_KEPT]]


def _distinct(drafts: Sequence[Draft]) -> list[Draft]:
    """Each conclusion once: two families of rules may read the same evidence alike."""
    return list({draft.summary: draft for draft in reversed(drafts)}.values())[::-1]


def _root_first(drafts: Sequence[Draft], pids: Mapping[str, int]) -> list[Draft]:
    """A loud cause that cites another process comes after the loud cause about that process."""
    told: list[Draft] = []

    def add(draft: Draft, waiting: tuple[Draft, ...]) -> None:
        if draft in told or draft in waiting:
            return
        others = _cited_pids(draft, pids)[1:]
        for root in drafts:
            loud = "info" not in (root.severity, draft.severity)
            if loud and root is not draft and _cited_pids(root, pids)[:1] in [[o] for o in others]:
                add(root, (*waiting, draft))
        told.append(draft)

    for draft in drafts:
        add(draft, ())
    return told


def _cited_pids(draft: Draft, pids: Mapping[str, int]) -> list[int]:
    """The processes that its evidence is about; the first is the one it speaks of."""
    return list(dict.fromkeys(pids[cited] for cited in draft.evidence_ids if cited in pids))
