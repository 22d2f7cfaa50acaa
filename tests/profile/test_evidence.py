"""What samples are samples of: time on the CPU, or time in which a thread could have used one."""

import pytest

from dea.contracts.data import Frame, FrameHot
from dea.profile.evidence import hot_fact
from dea.profile.hot import Hot

DATA = FrameHot(
    pid=7,
    scope="cpu",
    frame=Frame(function="f", file="/srv/a.py", line=3, own=True),
    share=0.95,
    self_share=0.9,
    samples=380,
    total_samples=400,
)


@pytest.mark.parametrize(
    ("only_on_cpu", "told"),
    [
        (True, "400 samples of process 7 (on the CPU) in f a.py:3"),
        (False, "400 samples of process 7 (running or ready) in f"),
    ],
)
def test_samples_of_ready_threads_are_not_called_cpu_samples(only_on_cpu: bool, told: str) -> None:
    assert told in hot_fact(Hot(DATA, [], None), "f.txt", only_on_cpu=only_on_cpu).summary
