"""Whatever happens in a tool, its caller gets a result, and the session keeps it."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dea.contracts.arguments import InSession
from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.contracts.target import Target
from dea.errors import BackendError, StoreError
from dea.rules.draft import Draft
from dea.store import home
from dea.store.session import StoredSession
from dea.tools import catalog
from dea.tools import invoke as invoke_module
from dea.tools.invoke import invoke
from dea.tools.run import Run
from dea.tools.tool import Tool

pytestmark = pytest.mark.anyio

Work = Callable[[Run], Awaitable[None]]
Install = Callable[[Work], None]


@pytest.fixture
def session() -> StoredSession:
    return home.create(Target(kind="pid", id="me", pid=os.getpid()))


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a tool of one's own in the place of container_info."""

    def put(work: Work) -> None:
        async def run(_arguments: InSession, run: Run) -> None:
            await work(run)

        tool = Tool("container_info", "Test", "For tests", InSession, run)
        monkeypatch.setattr(catalog, "tools", lambda: {**real, "container_info": tool})

    real = catalog.tools()
    return put


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("nope", {}, "no tool 'nope'. There are: readiness, attach"),
        ("", {}, "no tool ''"),
        ("trace_syscalls", {}, "session_id: Field required. It takes: session_id, duration_s"),
        ("trace_syscalls", {"session_id": ""}, "session_id: String should have at least 1"),
        ("trace_syscalls", {"session_id": 7}, "session_id: Input should be a valid string"),
        ("trace_syscalls", {"session_id": "x", "duration_s": 61}, "duration_s: .*less than or"),
        ("trace_syscalls", {"session_id": "x", "duration_s": 0}, "duration_s: .*greater than"),
        ("trace_syscalls", {"session_id": "x", "duration_s": "10"}, "duration_s: .*valid integer"),
        ("trace_syscalls", {"session_id": "x", "duration_s": 1.5}, "duration_s: .*valid integer"),
        ("trace_syscalls", {"session_id": "x", "duration_s": True}, "duration_s: .*valid integer"),
        ("trace_syscalls", {"session_id": "x", "categories": ["xx"]}, "categories.0: .*'network'"),
        ("trace_syscalls", {"session_id": "x", "secs": 1}, "secs: Extra inputs are not permitted"),
        ("snapshot_memory", {"session_id": "x", "heap": 1}, "heap: Input should be a valid bool"),
        ("list_processes", {"limit": 501}, "limit: .*less than or equal to 500"),
        ("investigate", {"session_id": "x", "symptom": "tired"}, "symptom: .*'slow'"),
        ("readiness", {"x": 1}, "x: Extra inputs.*It takes: none"),
        ("attach", {"target": "1", "kind": "planet"}, "kind: Input should be 'pid'"),
        ("dump_stacks", {"session_id": "x"}, "no session 'x'.*there are none yet"),
    ],
)
async def test_a_call_that_does_not_fit_is_refused_by_name(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    result = await invoke(tool, arguments)
    assert not result.ok
    assert result.error is not None
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(result.error)
    assert (result.session_id, result.run_id, result.target.comm) == ("", None, "dea")
    assert home.names() == []


async def test_a_refusal_does_not_repeat_what_was_given() -> None:
    result = await invoke("attach", {"target": {"password": "hunter2"}, "api_key": "hunter2"})
    assert "hunter2" not in str(result.to_wire())


@pytest.mark.parametrize("arguments", [None, [], "x", 7])
async def test_arguments_that_are_no_object(arguments: Any) -> None:
    result = await invoke("dump_stacks", arguments)
    assert (result.error or "").startswith("dump_stacks: arguments: Input should be a valid dict")


async def test_a_result_is_stored_as_it_is_given(session: StoredSession, install: Install) -> None:
    async def work(run: Run) -> None:
        evidence = run.cite(Fact(Note(text="t"), "seen"))
        run.drafts.append(Draft("warn", "so it is", [evidence.id], "inferred", next=["report"]))
        run.limit("sampled")

    install(work)
    result = await invoke("container_info", {"session_id": session.id[:-2]})
    assert result.ok
    assert result.run_id == "container_info#1"
    assert result.findings[0].evidence_ids == ["container_info#1.e1"]
    assert result.suggested_next == ["report"]
    assert result.started_at is not None
    assert session.result("container_info#1") == result
    assert session.read().runs[0].ok


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BackendError("no luck", "Try again"), "no luck. Try again"),
        (OSError(28, "No space left on device", "/x"), "container_info: No space left on device"),
        (ValueError("--token abcdefgh\nx"), "internal error in container_info: ValueError: --tok"),
        (ExceptionGroup("g", [KeyError("k"), BackendError("this one")]), "this one"),
        (ExceptionGroup("g", [KeyError("k")]), "internal error in container_info: KeyError: 'k'"),
        (RecursionError("x" * 5000), "internal error in container_info: RecursionError: xxx"),
    ],
)
async def test_an_error_is_a_result_and_is_stored(
    session: StoredSession,
    install: Install,
    error: Exception,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def work(run: Run) -> None:
        run.cite(Fact(Note(text="t"), "seen before it broke"))
        raise error

    install(work)
    result = await invoke("container_info", {"session_id": session.id})
    assert not result.ok
    assert result.error is not None
    assert result.error.startswith(said)
    assert "abcdefgh" not in result.error
    assert len(result.error) <= 1000
    assert [evidence.summary for evidence in result.evidence] == ["seen before it broke"]
    assert session.result("container_info#1") == result
    assert not session.read().runs[0].ok
    assert ("Traceback" in capsys.readouterr().err) == ("internal" in said)


@pytest.mark.parametrize(
    ("evidence_ids", "said"), [(["nope#1.e1"], "cites unknown evidence"), ([], "evidence_ids")]
)
async def test_a_conclusion_without_evidence_never_leaves(
    session: StoredSession, install: Install, evidence_ids: list[str], said: str
) -> None:
    async def work(run: Run) -> None:
        run.drafts.append(Draft("high", "trust me", evidence_ids, "observed"))

    install(work)
    result = await invoke("container_info", {"session_id": session.id})
    assert not result.ok
    assert said in (result.error or "")
    assert result.findings == []
    assert session.result("container_info#1") == result


async def test_a_cancelled_run_is_stored(session: StoredSession, install: Install) -> None:
    async def work(run: Run) -> None:
        run.cite(Fact(Note(text="t"), "seen"))
        scope.cancel()
        await anyio.sleep_forever()

    install(work)
    with anyio.CancelScope() as scope:
        await invoke("container_info", {"session_id": session.id})
    assert scope.cancelled_caught
    stored = session.result("container_info#1")
    assert not stored.ok
    assert stored.error == "cancelled before it was done"
    assert len(stored.evidence) == 1
    assert session.interrupted() == []


async def test_a_disk_that_is_full_does_not_lose_the_result(
    session: StoredSession, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(run: Run) -> None:
        run.cite(Fact(Note(text="t"), "seen"))

    def full(*_: object) -> None:
        raise StoreError("cannot write x: No space left on device", "Free some space")

    install(work)
    monkeypatch.setattr(StoredSession, "end_run", full)
    result = await invoke("container_info", {"session_id": session.id})
    assert result.ok
    assert result.limitations == [
        "this result was not stored: cannot write x: No space left on device. Free some space"
    ]


async def test_a_damaged_session_is_an_error_that_names_it(session: StoredSession) -> None:
    (session.folder / "session.json").write_text("{")
    result = await invoke("dump_stacks", {"session_id": session.id})
    assert (result.error or "").startswith(f"session {session.id} is unreadable")


async def test_a_detached_session_is_only_read(session: StoredSession, install: Install) -> None:
    async def work(_run: Run) -> None:
        raise AssertionError("must not run")

    install(work)
    assert (await invoke("detach", {"session_id": session.id})).ok
    runs = session.read().runs
    result = await invoke("container_info", {"session_id": session.id})
    assert (result.ok, result.session_id, result.target.id) == (False, session.id, "me")
    assert (result.error or "").startswith(f"session {session.id} is detached, so container_info")
    assert "Attach to me again" in (result.error or "")
    assert session.read().runs == runs
    assert (await invoke("report", {"session_id": session.id})).ok
    assert (await invoke("detach", {"session_id": session.id})).ok


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, str]]:
    monkeypatch.setattr(invoke_module, "_TICK_S", 0.001)
    return []


async def test_progress_ticks_for_as_long_as_it_takes(
    session: StoredSession, install: Install, ticks: list[tuple[float, str]]
) -> None:
    first, second = anyio.Event(), anyio.Event()

    async def progress(fraction: float, message: str) -> None:
        ticks.append((fraction, message))
        (second if message == "half way" else first).set()

    async def work(run: Run) -> None:
        await first.wait()
        await run.report(0.5, "half\nway")
        await second.wait()

    install(work)
    with anyio.fail_after(20):
        assert (await invoke("container_info", {"session_id": session.id}, progress)).ok
    assert ticks[0] == (0.0, "container_info runs")
    assert ticks[-1] == (0.5, "half way")


async def test_a_caller_who_is_gone_does_not_break_the_run(
    session: StoredSession, install: Install, ticks: list[tuple[float, str]]
) -> None:
    told = anyio.Event()

    async def progress(_fraction: float, _message: str) -> None:
        told.set()
        raise anyio.BrokenResourceError

    async def work(_run: Run) -> None:
        await told.wait()
        await anyio.lowlevel.checkpoint()

    install(work)
    with anyio.fail_after(20):
        result = await invoke("container_info", {"session_id": session.id}, progress)
    assert result.ok
    assert session.result("container_info#1").ok


async def test_runs_side_by_side_in_one_session_do_not_mix(
    session: StoredSession, install: Install
) -> None:
    async def work(run: Run) -> None:
        await anyio.lowlevel.checkpoint()
        run.cite(Fact(Note(text=run.id), run.id))

    install(work)
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(invoke, "container_info", {"session_id": session.id})
    results = session.results()
    assert [r.run_id for r in results] == [f"container_info#{n}" for n in range(1, 11)]
    assert all(r.evidence[0].id == f"{r.run_id}.e1" for r in results)


async def test_what_ran_in_the_session_is_not_suggested_again(
    session: StoredSession, install: Install
) -> None:
    async def work(run: Run) -> None:
        await run.call("inspect_files", {"session_id": session.id, "window_s": 0})
        run.suggested_next += ["inspect_files", "dump_stacks"]

    install(work)
    result = await invoke("container_info", {"session_id": session.id})
    assert result.suggested_next == ["dump_stacks"]
