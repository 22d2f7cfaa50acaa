"""Which specimens there are, how each is started, and what must be said about it."""

from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from _pytest.mark import ParameterSet


@dataclass(frozen=True)
class Specimen:
    """A program in tests/specimens/ with its arguments.

    A peer is started first, as a process of its own; its facts fill `{port}` and the like in `args`.
    """

    source: str
    args: tuple[str, ...] = ()
    peer: "Specimen | None" = None


@dataclass(frozen=True)
class Cause:
    """What the first finding must name.

    `function` and the line marked HOT in the file `hot` (the specimen's own source, unless given),
    and each regular expression in `names`, where `{pid}` and the like are what the specimen and its
    peer (`{peer_pid}`) said when they were ready.
    """

    specimen: Specimen
    function: str = ""
    hot: str = ""
    names: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def name_of(specimen: Specimen) -> str:
    """A readable test id: `hot_function.c`, `peer_client.py+peer.py-0.5`."""
    own = "-".join([specimen.source, *(arg for arg in specimen.args if "{" not in arg)])
    return own if specimen.peer is None else f"{own}+{name_of(specimen.peer)}"


IDLE_SERVER = Specimen("idle_tcp_server.py")
SLOW_PEER = Specimen("peer.py", ("0.5",))
FAST_PEER = Specimen("peer.py", ("0",))
WITH_FAST_PEER = Specimen("peer_client.py", ("{port}",), FAST_PEER)

PYTHON = ("py-spy",)
PERF = ("perf",)

SLOW = [
    Cause(Specimen("cpu_hot.py"), "checksum", needs=PYTHON),
    Cause(Specimen("n_plus_one.py"), "items_of", needs=PYTHON),
    Cause(Specimen("peer_client.py", ("{port}",), SLOW_PEER), "ask", needs=PYTHON),
    Cause(Specimen("fsync_per_write.py"), "append_record", names=("fsync",), needs=PYTHON),
    Cause(Specimen("lock_contention.py"), "deposit", needs=PYTHON),
    Cause(Specimen("child_works.py"), "checksum", "cpu_hot.py", (r"\b{pid}\b",), PYTHON),
    Cause(Specimen("busy_child.sh"), "checksum", "cpu_hot.py", (r"\b{pid}\b",), PYTHON),
    Cause(Specimen("hot_function.c"), "checksum", needs=PERF),
    Cause(Specimen("mutex_contention.c"), "post_entry", needs=("eu-stack",)),
]

LEAKING = [
    Cause(Specimen("growing_list.py"), "remember", needs=PYTHON),
    Cause(Specimen("growing_fds.py"), names=(r"\bfiles?\b(?! (descriptor|handle))",)),
    Cause(Specimen("growing_sockets.py", ("{port}",), FAST_PEER), names=(r"\bsockets?\b",)),
    Cause(Specimen("growing_threads.py"), names=(r"\bthreads?\b",)),
    Cause(Specimen("heap_growth.c"), "remember", needs=PERF),
]

PORT_BUSY = [
    Cause(
        Specimen("port_retry.py", ("{port}",), Specimen("idle_tcp_server.py", (host,))),
        names=(r"\b{wanted}\b", r"\b{peer_pid}\b"),
    )
    for host in ("127.0.0.1", "0.0.0.0")
]

NOT_SLOW = [
    Specimen("cpu_light.py"),
    Specimen("batched_queries.py"),
    WITH_FAST_PEER,
    Specimen("buffered_writes.py"),
    Specimen("lock_light.py"),
    Specimen("mostly_sleeps.c"),
    Specimen("mutex_light.c"),
    IDLE_SERVER,
    Specimen("idle_asyncio.py"),
    Specimen("idle_pool.py"),
    Specimen("fifo_reader.py", ("{fifo}",), Specimen("fifo_writer.py")),
    Specimen("sleeping.sh"),
]

NOT_LEAKING = [
    Specimen("bounded_list.py"),
    Specimen("warm_up.py"),
    Specimen("sawtooth.py"),
    Specimen("steady_fds.py", ("{port}",), FAST_PEER),
    Specimen("heap_steady.c"),
    Specimen("cpu_light.py"),
    Specimen("idle_pool.py"),
    IDLE_SERVER,
]

EVERY = dict.fromkeys(
    [cause.specimen for cause in SLOW + LEAKING + PORT_BUSY] + NOT_SLOW + NOT_LEAKING
)


def faulty(causes: Iterable[Cause]) -> list[ParameterSet]:
    """The causes as parameters of a test, with the programs that DEA needs to find each."""
    return [_parameter(cause, cause.specimen, *cause.needs) for cause in causes]


def healthy(specimens: Iterable[Specimen]) -> list[ParameterSet]:
    return [_parameter(specimen, specimen) for specimen in specimens]


def _parameter(value: object, specimen: Specimen, *needs: str) -> ParameterSet:
    programs = [*needs, "gcc"] if specimen.source.endswith(".c") else needs
    marks = [pytest.mark.needs(*programs)] if programs else []
    return pytest.param(value, id=name_of(specimen), marks=marks)
