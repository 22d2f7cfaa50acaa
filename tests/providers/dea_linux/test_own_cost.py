"""What a look costs DEA is measured where it runs and said in the result."""

import time

from dea_linux import own_cost
from dea_linux.own_cost import OwnCost


def test_only_cpu_time_of_the_looks_counts() -> None:
    cost = OwnCost()

    def burn(cpu_s: float) -> str:
        until_s = time.thread_time() + cpu_s
        while time.thread_time() < until_s:
            pass
        return "seen"

    assert cost.of(burn, 0.02) == "seen"
    burn(0.2)
    assert 0.02 <= cost.noted()[own_cost.COST] < 0.2


def test_it_is_said_as_a_share_of_one_cpu() -> None:
    assert own_cost.said({"own_cpu_s": 0.04, "window_s": 10}, "memory") == [
        "watching memory cost 0.4% of a CPU"
    ]
    assert own_cost.said({"own_cpu_s": 0.0, "window_s": 10}, "memory") == [
        "watching memory cost less than 0.1% of a CPU"
    ]


def test_what_was_not_measured_is_not_said() -> None:
    assert own_cost.said({"window_s": 10}, "memory") == []
    assert own_cost.said({"own_cpu_s": 0.04, "window_s": 0.1}, "memory") == []
