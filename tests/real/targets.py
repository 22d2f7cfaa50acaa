"""Starts and ends specimens, and reads from /proc whether they were left as they were found."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.real.catalogue import Specimen

SPECIMENS = Path(__file__).parents[1] / "specimens"
READY_WITHIN_S = 20.0
END_WITHIN_S = 10.0


@dataclass
class Target:
    """A running specimen. `facts` is what it said when it was ready, `peer_...` what its peer said."""

    specimen: Specimen
    process: "subprocess.Popen[bytes]"
    facts: dict[str, str]
    peer: "Target | None"
    log: Path
    ended: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def source(self) -> Path:
        return SPECIMENS / self.specimen.source

    def damage(self) -> Iterator[str]:
        """What is wrong with the specimen, its children and its peer, if anything."""
        if self.ended:
            return
        if self.process.poll() is not None:
            yield f"{self.specimen.source} ended with {self.process.returncode}: {self.said()}"
            return
        for pid in family(self.pid):
            yield from damage_of(pid)
        if self.peer:
            yield from self.peer.damage()

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def end(self) -> None:
        """SIGTERM, and SIGKILL to what does not go, so that a failure here leaves nothing behind."""
        if self.ended:
            return
        self.ended = True
        pids = family(self.pid)
        self.process.terminate()
        self.process.send_signal(signal.SIGCONT)  # in case something left it stopped
        try:
            self.process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_WITHIN_S)
            raise
        finally:
            for pid in set(pids) - {self.pid}:
                wait_gone(pid)
            if self.peer:
                self.peer.end()


Start = Callable[[Specimen], Target]


def start(specimen: Specimen, build: Callable[[Path], Path], folder: Path) -> Target:
    """Runs the specimen until it is ready. `build` makes a program of a C source."""
    peer = start(specimen.peer, build, folder) if specimen.peer else None
    try:
        return _start(specimen, build, folder, peer)
    except BaseException:
        if peer:
            peer.end()
        raise


def _start(
    specimen: Specimen, build: Callable[[Path], Path], folder: Path, peer: Target | None
) -> Target:
    known = {} if peer is None else peer.facts
    args = [arg.format(**known) for arg in specimen.args]
    log = folder / f"{specimen.source}.log"
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0) as ready, log.open("wb") as output:
        try:
            process = subprocess.Popen(
                [*command_of(SPECIMENS / specimen.source, build), *args],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ
                | {"DEA_READY_FD": str(writer), "PYTHON": sys.executable, "TMPDIR": str(folder)},
                pass_fds=[writer],
                process_group=0,
            )
        finally:
            os.close(writer)
        target = Target(specimen, process, {}, peer, log)
        try:
            target.facts = {f"peer_{key}": value for key, value in known.items()}
            target.facts |= read_facts(ready.fileno())
        except BaseException as error:
            error.add_note(target.said())
            process.kill()
            process.wait(END_WITHIN_S)
            raise
    return target


def command_of(source: Path, build: Callable[[Path], Path]) -> list[str]:
    if source.suffix == ".c":
        return [str(build(source))]
    return [sys.executable if source.suffix == ".py" else "bash", str(source)]


def read_facts(fd: int) -> dict[str, str]:
    """Waits for the line `ready key=value ...`."""
    line, until = b"", time.monotonic() + READY_WITHIN_S
    while not line.endswith(b"\n"):
        readable, _, _ = select.select([fd], [], [], max(0.0, until - time.monotonic()))
        chunk = os.read(fd, 4096) if readable else b""
        if not chunk:
            raise AssertionError("ended before it was ready" if readable else "not ready in time")
        line += chunk
    word, *facts = line.decode().split()
    assert word == "ready", line
    return dict(fact.split("=", 1) for fact in facts)


def family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    pids = [pid]
    for parent in pids:  # grows while we walk it
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            pids += map(int, read(children).split())
    return pids


def damage_of(pid: int) -> Iterator[str]:
    """Threads of a process that are stopped or traced."""
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        fields = dict(line.split(":\t", 1) for line in read(status).splitlines() if ":\t" in line)
        if fields.get("TracerPid", "0") != "0":
            yield f"thread {status.parent.name} of {pid} is traced by {fields['TracerPid']}"
        if fields.get("State", "S")[0] in "Tt":
            yield f"thread {status.parent.name} of {pid} is in state {fields['State']}"


def read(path: Path) -> str:
    """A file of /proc; empty when the thread is gone by now."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_gone(pid: int) -> None:
    """Waits for a process that is not our child to end, and ends it when it does not."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([fd], [], [], END_WITHIN_S)[0]:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            raise AssertionError(f"{pid} outlived the specimen that started it")
    finally:
        os.close(fd)
