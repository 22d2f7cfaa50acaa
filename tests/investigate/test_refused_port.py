"""Which port a command was refused, from what it printed."""

import pytest

from dea.investigate.refused_port import refusal_in


@pytest.mark.parametrize(
    ("lines", "port"),
    [
        (["Error: listen EADDRINUSE: address already in use :::8080"], 8080),
        (["OSError: [Errno 98] Address already in use"], None),
        (["    s.bind(('127.0.0.1',18081))", "OSError: [Errno 98] Address already in use"], 18081),
        (["bind() to 0.0.0.0:80 failed (98: Address already in use)"], 80),
    ],
)
def test_port(lines: list[str], port: int | None) -> None:
    refusal = refusal_in(["starting on 1234", *lines])
    assert refusal is not None
    assert refusal.port == port
    assert refusal.number == len(lines) + 1


def test_no_complaint_is_no_refusal() -> None:
    assert refusal_in(["listening on port 8080"]) is None
