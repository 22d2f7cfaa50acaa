"""`dea why --symptom slow` on programs that are slow for one known reason, and on healthy ones."""

import pytest

from tests.real.catalogue import NOT_SLOW, SLOW, Cause, Specimen, faulty, healthy
from tests.real.results import Why, assert_names, first, loud
from tests.real.targets import Start


@pytest.mark.parametrize("cause", faulty(SLOW))
def test_first_finding_names_the_cause(cause: Cause, specimen: Start, why: Why) -> None:
    target = specimen(cause.specimen)
    assert_names(first(why(target, "slow", duration=4)), cause, target)


@pytest.mark.parametrize("which", healthy(NOT_SLOW))
def test_healthy_program_is_not_blamed(which: Specimen, specimen: Start, why: Why) -> None:
    assert not loud(why(specimen(which), "slow", duration=3))
