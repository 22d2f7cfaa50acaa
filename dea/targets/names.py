"""Finds the one process that a name means."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_in_argv
from dea.errors import TargetError
from dea.process import identity
from dea.targets.family import ancestors

_LISTED = 12
_ENDED = ("Z", "X", None)
_INTERPRETER = re.compile(
    r"(?:python|pypy|node|nodejs|bun|deno|ruby|perl|php|java|bash|dash|sh|zsh|ksh|tclsh|lua|Rscript)"
    r"[\d.]*"
)
# Options whose next word is a value, and those after which the program follows as text.
_TAKES_VALUE = frozenset({"-cp", "-classpath", "--class-path", "-W", "-X", "-r", "--require", "-o"})
_INLINE = frozenset({"-c", "-e", "--eval", "-p", "--print"})
_NAMES_PROGRAM = frozenset({"-m", "-jar"})


def pid_by_name(name: str) -> int:
    """The process of that name, script or command line; of a server and its workers the server.

    DEA itself and whatever started it are left out. Raises TargetError unless exactly one fits.
    """
    ours = {os.getpid(), *ancestors(os.getpid())}
    everybody = [pid for pid in _all_pids() if identity.state(pid) not in _ENDED]
    matches = {pid for pid in everybody if _is_called(pid, name)}
    others = matches - ours
    tops = [pid for pid in sorted(others) if others.isdisjoint(ancestors(pid))]
    shown = one_line(name, 60)
    if len(tops) == 1:
        return tops[0]
    if tops:
        listed = "; ".join(f"{pid} {command_line(pid)[:60]}" for pid in tops[:_LISTED])
        raise TargetError(f"{len(tops)} processes are named {shown!r}", f"Choose a pid: {listed}")
    if matches:
        raise TargetError(
            f"only DEA and what started it are named {shown!r}", "Give the pid if you mean those"
        )
    raise TargetError(
        f"no process is named {shown!r}",
        "See `dea ps`; to launch it as a command: `dea why -- COMMAND`",
    )


def is_running(name: str) -> bool:
    """Whether some process is called so."""
    return any(_is_called(pid, name) for pid in _all_pids())


def command_line(pid: int) -> str:
    """argv as one line, secrets replaced; empty when it cannot be read."""
    return one_line(hide_in_argv([arg for arg in _argv(pid) if arg]), 300)


def names_of(comm: str, argv: Sequence[str]) -> set[str]:
    """What a person may call a process: its name, its program, and the script that it runs."""
    names = {comm}
    if argv:
        program = Path(argv[0]).name
        names.add(program)
        script = _script(argv) if _INTERPRETER.fullmatch(program) else None
        if script:
            names |= {Path(script).name, Path(script).stem, script.rpartition(".")[2]}
    return names - {""}


def _script(argv: Sequence[str]) -> str | None:
    """The first argument that is neither an option nor the value of one."""
    words = iter(argv[1:])
    for word in words:
        if word in _INLINE:
            return None
        if word in _NAMES_PROGRAM:
            return next(words, None)
        if word in _TAKES_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def _is_called(pid: int, name: str) -> bool:
    argv = _argv(pid)
    if " " not in name and "/" not in name:
        return name in names_of(_comm(pid), argv)
    if not argv:
        return False
    lines = (" ".join(argv), " ".join([Path(argv[0]).name, *argv[1:]]))
    return any(f"{line} ".startswith(f"{name} ") for line in lines)


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
    except OSError:
        return ""


def _argv(pid: int) -> list[str]:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [arg.decode("utf-8", "replace") for arg in raw.rstrip(b"\0").split(b"\0")] if raw else []


def _all_pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
