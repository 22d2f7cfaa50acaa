"""Java's monitors and locks, as many dumps show them."""

import pytest

from dea.contracts.data import Frame, LockWait
from dea.rules.draft import judge
from dea.rules.monitors import RULES
from tests.providers.observing import as_evidence

PLACE = Frame(function="Stock.add", file="Stock.java", line=4, own=True)
LOCK = LockWait(
    pid=7,
    lock="java monitor app.Stock@0x1",
    waiters=[11, 12, 13],
    share=0.8,
    owner_thread="worker-3",
    owner_state="receive",
    owner_place=PLACE,
    place=PLACE,
)


def test_the_lock_the_place_and_the_owner_are_named() -> None:
    (draft,) = judge(as_evidence(LOCK), RULES)
    assert draft.severity == "high"
    assert draft.summary == (
        "3 threads of process 7 wait 80% of the time for java monitor app.Stock@0x1 at Stock.add "
        "Stock.java:4, held most often by worker-3 at Stock.add Stock.java:4, which mostly waits for "
        "data from a socket meanwhile"
    )


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ({"share": 0.4}, "warn"),
        ({"share": 0.15}, "info"),
        ({"waiters": [11]}, "info"),
        ({"owner_state": "accept"}, "info"),  # workers take turns at taking clients
    ],
)
def test_what_holds_up_little_is_not_loud(change: dict[str, object], severity: str) -> None:
    (draft,) = judge(as_evidence(LOCK.model_copy(update=change)), RULES)
    assert draft.severity == severity


@pytest.mark.parametrize(
    "change",
    [
        {"share": 0.05},
        {"owner_tid": 14},  # told by the rule over locks with a proven owner
        {"lock": "pthread mutex 0x1"},
    ],
)
def test_what_others_tell_or_is_nothing_is_left_out(change: dict[str, object]) -> None:
    assert judge(as_evidence(LOCK.model_copy(update=change)), RULES) == []
