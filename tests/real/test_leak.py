"""`dea why --symptom leak` on programs that grow, and on healthy ones that only look like it."""

import pytest

from tests.real.catalogue import LEAKING, NOT_LEAKING, Cause, Specimen, faulty, healthy
from tests.real.results import Why, assert_names, first, loud
from tests.real.targets import Start


@pytest.mark.parametrize("cause", faulty(LEAKING))
def test_first_finding_names_what_grows(cause: Cause, specimen: Start, why: Why) -> None:
    target = specimen(cause.specimen)
    assert_names(first(why(target, "leak", duration=5)), cause, target)


@pytest.mark.parametrize("which", healthy(NOT_LEAKING))
def test_healthy_program_is_not_blamed(which: Specimen, specimen: Start, why: Why) -> None:
    assert not loud(why(specimen(which), "leak", duration=5))
