"""The attach protocol of HotSpot: one command per connection to the socket .java_pidN.

A virtual machine opens the socket when it finds a file .attach_pidN as it receives SIGQUIT. It
thereby starts a thread "Attach Listener", which stays.
"""

import contextlib
import os
import signal
import socket
import stat
import struct
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea_runtimes.jvm.process import Machine

_LISTENS_WITHIN_S = 5.0
_POLL_S = 0.02
_ANSWERS_WITHIN_S = 10.0
_LARGEST_BYTES = 32 * 2**20
_ARGUMENTS = 3  # that every command has, empty ones too


@dataclass(frozen=True)
class Door:
    """Where a virtual machine takes commands, and as whom it is known there."""

    machine: Machine
    path: Path

    def command(self, *words: str) -> str:
        """The answer. Raises BackendError when there is none in time, or it is a refusal."""
        padded = [*words, *[""] * (1 + _ARGUMENTS - len(words))]
        request = b"".join(word.encode() + b"\0" for word in ("1", *padded))
        try:
            with self._connected() as connection:
                connection.sendall(request)
                answer = _read_all(connection)
        except TimeoutError as error:
            raise BackendError(
                f"could not look: JVM {self.machine.pid} did not answer in {_ANSWERS_WITHIN_S:.0f} s",
                "Its threads may not reach a safepoint, or it gets no CPU; try again or use perf",
            ) from error
        except OSError as error:
            raise BackendError(
                f"could not look: JVM {self.machine.pid} closed the connection ({error.strerror})"
            ) from error
        return self._checked(answer)

    @contextlib.contextmanager
    def _connected(self) -> Generator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWERS_WITHIN_S)
            connection.connect(str(self.path))
            peer, _, _ = struct.unpack("3i", connection.getsockopt(*_PEER))
            if peer not in (self.machine.pid, 0):  # 0: a pid that has no number here
                raise BackendError(f"could not look: {self.path} belongs to process {peer}")
            yield connection

    def _checked(self, answer: bytes) -> str:
        code, _, text = answer.partition(b"\n")
        if not answer:
            raise BackendError(
                f"could not look: JVM {self.machine.pid} takes no commands from this user",
                f"Run dea as the user with uid {self.machine.uid}",
            )
        if code.strip() != b"0":
            said = target_text(text.decode("utf-8", "replace"), 200)
            raise BackendError(f"could not look: JVM {self.machine.pid} refuses: {said}")
        return text.decode("utf-8", "replace")


_PEER = (socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))


def open_door(machine: Machine) -> Door:
    """Ask the virtual machine to listen unless it does. Raises BackendError when it must not be asked."""
    door = Door(machine, machine.temporary / f".java_pid{machine.inner_pid}")
    if not _listens(door):
        machine.require_willing()
        with _token(machine):
            os.kill(machine.pid, signal.SIGQUIT)
            _await_listener(door)
    return door


def _await_listener(door: Door) -> None:
    deadline_s = time.monotonic() + _LISTENS_WITHIN_S
    while not _listens(door):
        if time.monotonic() > deadline_s:
            raise BackendError(
                f"could not look: JVM {door.machine.pid} did not open its attach socket in "
                f"{_LISTENS_WITHIN_S:.0f} s",
                "It may be starved of CPU, no HotSpot JVM, or started with "
                "-XX:+DisableAttachMechanism; perf profiles it without its help",
            )
        time.sleep(_POLL_S)


def _listens(door: Door) -> bool:
    """Whether the socket is there, is of the machine's user, and somebody is behind it."""
    try:
        state = door.path.lstat()
        if not stat.S_ISSOCK(state.st_mode) or state.st_uid not in (door.machine.uid, 0):
            return False
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            connection.connect(str(door.path))
    except (TimeoutError, OSError):
        return False
    return True


@contextlib.contextmanager
def _token(machine: Machine) -> Generator[None]:
    """The file that tells SIGQUIT apart from a user's. It is removed whatever happens."""
    name = f".attach_pid{machine.inner_pid}"
    folder = _made(name, (machine.temporary, Path(f"/proc/{machine.pid}/cwd")), machine)
    try:
        yield
    finally:
        # By the folder's descriptor, since the process may change its directory meanwhile.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        os.close(folder)


def _made(name: str, folders: Sequence[Path], machine: Machine) -> int:
    """Makes the file in the first folder that allows it, as a file of the machine's user."""
    failure: str | None = ""
    for path in folders:
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            failure = error.strerror
            continue
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
            descriptor = os.open(name, flags, 0o600, dir_fd=folder)
        except OSError as error:
            failure = error.strerror
            os.close(folder)
            continue
        with contextlib.suppress(OSError):  # most machines accept a file of root too
            if os.geteuid() != machine.uid:
                os.fchown(descriptor, machine.uid, -1)
        os.close(descriptor)
        return folder
    raise BackendError(
        f"could not look: no file {name} can be made for JVM {machine.pid} ({failure})",
        f"Run dea as root or as the user with uid {machine.uid}",
    )


def _read_all(connection: socket.socket) -> bytes:
    """Up to its end. Raises TimeoutError when it does not come in time altogether."""
    deadline_s = time.monotonic() + _ANSWERS_WITHIN_S
    pieces: list[bytes] = []
    size = 0
    while size < _LARGEST_BYTES:
        connection.settimeout(max(0.01, deadline_s - time.monotonic()))
        piece = connection.recv(1 << 16)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
