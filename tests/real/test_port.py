"""`dea why --symptom port_busy` where two programs want one port, and where nobody does."""

import pytest

from tests.real.catalogue import IDLE_SERVER, PORT_BUSY, Cause, Specimen, faulty
from tests.real.results import Why, assert_names, first, loud
from tests.real.targets import Start


@pytest.mark.parametrize("cause", faulty(PORT_BUSY))
def test_first_finding_names_port_and_holder(cause: Cause, specimen: Start, why: Why) -> None:
    target = specimen(cause.specimen)
    assert_names(first(why(target, "port_busy", port=target.facts["wanted"])), cause, target)


def test_server_on_its_own_port_is_not_blamed(specimen: Start, why: Why) -> None:
    target = specimen(IDLE_SERVER)
    assert not loud(why(target, "port_busy", port=target.facts["port"]))


def test_free_port_is_not_blamed(specimen: Start, why: Why) -> None:
    server = specimen(IDLE_SERVER)
    port = server.facts["port"]
    server.end()  # what listened there is gone, so the port is free
    assert not loud(why(specimen(Specimen("sleeping.sh")), "port_busy", port=port))
