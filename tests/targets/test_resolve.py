"""From what a user typed to one process, or to an error that says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dea.errors import TargetError
from dea.process import identity
from dea.targets.family import ancestors, descendants
from dea.targets.resolve import describe, parse_command, refresh, resolve_process
from tests.process.waiting import stop
from tests.targets.conftest import Start, ready


def await_exec(pid: int, comm: str) -> None:
    """A process has its new name a moment after it has its new program."""
    while Path(f"/proc/{pid}/comm").read_text() != f"{comm}\n":
        os.sched_yield()


def test_a_process_by_its_pid(start: Start) -> None:
    process = start("sleep", "600")
    await_exec(process.pid, "sleep")
    target = resolve_process(f" {process.pid} ")
    assert (target.kind, target.id, target.pid) == ("pid", str(process.pid), process.pid)
    assert (target.comm, target.cmdline, target.runtime) == ("sleep", "sleep 600", "native")
    assert target.pids is None


def test_its_descendants_are_listed_nearest_first(start: Start) -> None:
    pid = ready(start("sh", "-c", "(sleep 600 & echo; wait) & wait"))
    pids = describe(pid).pids
    assert pids is not None
    child, grandchild = pids
    assert (identity.parent(child), identity.parent(grandchild)) == (pid, child)
    assert descendants(os.getpid())[0] == pid
    assert ancestors(grandchild)[:3] == [child, pid, os.getpid()]


def test_descendants_without_help_from_the_kernel(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = ready(start("sh", "-c", "(sleep 600 & echo; wait) & wait"))
    listed = descendants(pid)
    monkeypatch.setattr("dea.targets.family._kernel_lists_children", lambda: False)
    assert descendants(pid) == listed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0", "0 is not a pid.*positive"),
        ("-7", "-7 is not a pid"),
        ("999999999999999999", "there is no process 999999999999999999.*dea ps"),
        ("9" * 5000, "no process is named"),
        ("²", "no process is named"),
        ("", "no target was named"),
        ("  ", "no target was named"),
        ("no-such-program", "no process is named 'no-such-program'.*dea why -- COMMAND"),
        ("no such program", "no process is named 'no such program'.*dea why -- COMMAND"),
        ("a\x1b[31m\nb", "no process is named 'a�"),
    ],
)
def test_text_that_means_no_process(text: str, why: str) -> None:
    with pytest.raises(TargetError, match=why):
        resolve_process(text)


def test_a_zombie(start: Start) -> None:
    process = start("true")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(TargetError, match=rf"is a zombie.*dea attach {os.getpid()}"):
        describe(process.pid)


def test_a_thread(start: Start) -> None:
    code = "import threading as t; print(flush=True); t.Thread(target=t.Event().wait).start()"
    pid = ready(start(sys.executable, "-c", code))
    while len(tasks := sorted(map(int, os.listdir(f"/proc/{pid}/task")))) < 2:
        os.sched_yield()
    with pytest.raises(
        TargetError, match=rf"{tasks[1]} is a thread of process {pid}.*attach {pid}"
    ):
        describe(tasks[1])


@pytest.mark.skipif(not Path("/proc/2/stat").exists(), reason="sees no kernel threads")
def test_a_kernel_thread() -> None:
    if "kthreadd" not in Path("/proc/2/stat").read_text():
        pytest.skip("pid 2 is no kernel thread here")
    with pytest.raises(TargetError, match=r"2 \(kthreadd\) is a kernel thread"):
        describe(2)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_process_of_somebody_else(start: Start) -> None:
    process = start("sleep", "600")
    code = (
        "import os, sys; from dea.targets.resolve import describe\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: describe(int(sys.argv[1]))\n"
        "except Exception as error: print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(process.pid)], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == (
        f"process {process.pid} (sleep) belongs to root and may not be read by nobody. "
        "Run dea as root"
    )


def test_names_with_blanks_and_brackets(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "web) S 1 (x"
    program.symlink_to("/bin/sleep")
    pid = start(program, "600").pid
    await_exec(pid, "web) S 1 (x")
    assert resolve_process(str(pid)).comm == "web) S 1 (x"
    assert resolve_process("web) S 1 (x").pid == pid


def test_a_name_that_fits_one_process(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "unlikely_server.py"
    script.write_text("print(flush=True); input()")
    pid = ready(start(sys.executable, "-X", "utf8", script, "--port", "80"))
    for name in ("unlikely_server.py", "unlikely_server", f"{sys.executable} -X utf8 {script}"):
        assert resolve_process(name).pid == pid
    with pytest.raises(TargetError, match="no process is named '--port'"):
        resolve_process("--port")


def test_a_script_is_no_name_of_what_only_reads_it(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "unlikely_log.py"
    script.touch()
    start("tail", "-f", script)
    with pytest.raises(TargetError, match="no process is named"):
        resolve_process("unlikely_log.py")


def test_a_name_that_fits_several_gives_a_list(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "unlikely-name"
    program.symlink_to("/bin/sleep")
    pids = sorted(start(program, str(number)).pid for number in (601, 602))
    with pytest.raises(TargetError) as raised:
        resolve_process("unlikely-name")
    assert str(raised.value).startswith("2 processes are named 'unlikely-name'. Choose a pid: ")
    assert [f"{pid} {tmp_path}"[:40] in str(raised.value) for pid in pids] == [True, True]


def test_a_server_and_its_workers_are_one(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "unlikely_pool.sh"
    script.write_text('(read line; echo) & sh -c "(echo worker; read l)" $0 & echo; wait')
    code = (
        "import os, signal\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0: print(flush=True)\n"
        "signal.pause()\n"
    )
    script = tmp_path / "unlikely_pool.py"
    script.write_text(code)
    master = start(sys.executable, script)
    pid = ready(master)
    assert resolve_process("unlikely_pool.py").pid == pid


def test_a_dead_process_of_that_name_does_not_count(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "unlikely-dead"
    program.symlink_to("/bin/sleep")
    dead, alive = start(program, "600"), start(program, "600")
    dead.kill()
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    assert resolve_process("unlikely-dead").pid == alive.pid


def test_dea_and_what_started_it_are_never_meant(start: Start, tmp_path: Path) -> None:
    code = (
        "from dea.targets.resolve import resolve_process\n"
        "try: print(resolve_process('unlikely-shell').pid)\n"
        "except Exception as error: print(error)"
    )
    shell = tmp_path / "unlikely-shell"
    shell.symlink_to("/bin/sh")
    script = f'{sys.executable} -c "{code}"; true'
    said = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
    assert "only DEA and what started it are named 'unlikely-shell'" in said.stdout
    other = start(shell, "-c", "read line")
    said = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str(other.pid)


def test_secrets_in_arguments_are_hidden(start: Start) -> None:
    script = "sleep 600; true"
    pid = start("sh", "-c", script, "x", "--password", "hunter2", "API_KEY=hun ter2").pid
    assert describe(pid).cmdline == (
        "sh -c 'sleep 600; true' x --password <secret> API_KEY=<secret>"
    )


def test_a_target_that_executes_another_program_is_seen_anew(start: Start) -> None:
    process = start("sh", "-c", "echo; read line; exec sleep 600")
    before = describe(ready(process), "my name")
    ticks = identity.start_ticks(process.pid)
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()
    await_exec(process.pid, "sleep")
    now = refresh(before, ticks)
    assert (now.id, now.pid, now.comm, now.cmdline) == (
        "my name",
        process.pid,
        "sleep",
        "sleep 600",
    )
    assert refresh(before, (ticks or 0) + 1) == before  # that is another process
    process.kill()
    process.wait()
    assert refresh(before, ticks) == before


def test_a_stopped_process_can_be_a_target(start: Start) -> None:
    process = start("sleep", "600")
    stop(process.pid)
    assert describe(process.pid).pid == process.pid


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("python app.py", ["python", "app.py"]),
        ("'my app' \"a b\" c\\ d", ["my app", "a b", "c d"]),
        ("echo $HOME | cat", ["echo", "$HOME", "|", "cat"]),
    ],
)
def test_a_command_is_split_without_a_shell(text: str, argv: list[str]) -> None:
    assert parse_command(text) == argv


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "command is empty"),
        (" \n", "command is empty"),
        ("'' x", "command is empty"),
        ("'x", "cannot parse the command.*No closing quotation.*Close its quotes"),
        ('app --password hunter2 "', "cannot parse .*--password <secret>"),
        ("x\\", "No escaped character"),
    ],
)
def test_a_command_that_is_none(text: str, why: str) -> None:
    with pytest.raises(TargetError, match=why):
        parse_command(text)
