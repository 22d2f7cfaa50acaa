"""What every dump of native stacks makes of its threads."""

import pytest

from dea.profile import states
from dea_linux import native_stacks
from dea_linux.native_stacks import NativeFrame, NativeThread, pictures


def test_the_states_of_many_threads_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(text: str) -> dict[int, str]:
        read.append(text)
        return states.parse_states(text)

    monkeypatch.setattr(native_stacks, "parse_states", counted)
    text = "".join(f"{tid} {tid} (worker {tid}) S 1\n" for tid in range(1, 101))
    threads = [NativeThread(tid, tid, tid, [NativeFrame("work")]) for tid in range(1, 101)]
    found = pictures(1, threads, text, {"family": [], "runtime": "native"})
    assert len(read) == 1
    assert [picture.stack.thread for picture in found[-1:]] == ["worker 100"]
    assert {picture.stack.state for picture in found} == {"S"}
