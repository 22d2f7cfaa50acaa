"""How a missing program is installed on this very host."""

import os
import platform
from collections.abc import Iterable

from dea.process.host import find_program

_MANAGERS = {
    "apt-get": "apt-get install -y",
    "dnf": "dnf install -y",
    "apk": "apk add",
    "pacman": "pacman -S --noconfirm",
    "zypper": "zypper install -y",
}
# program -> its package where that has another name; "" stands for all package managers
_PACKAGES = {
    "eu-stack": {"": "elfutils"},
    "perf": {"apt-get": "linux-perf"},
    "node": {"": "nodejs"},
    "ss": {"": "iproute2", "dnf": "iproute"},
}
_FROM_PYPI = frozenset({"py-spy"})


def install_line(programs: Iterable[str]) -> str:
    """One command that installs the programs; "" when there is no package manager we know."""
    wanted = sorted(set(programs))
    lines: list[str] = []
    if pypi := [name for name in wanted if name in _FROM_PYPI]:
        lines.append(f"pip install {' '.join(pypi)}")
    manager = next((name for name in _MANAGERS if find_program(name)), None)
    if manager and (others := [name for name in wanted if name not in _FROM_PYPI]):
        names = " ".join(dict.fromkeys(package_of(name, manager) for name in others))
        lines.append(f"{'' if os.geteuid() == 0 else 'sudo '}{_MANAGERS[manager]} {names}")
    return " && ".join(lines)


def package_of(program: str, manager: str) -> str:
    """The package that holds a program."""
    if program == "perf" and manager == "apt-get" and _is_ubuntu():
        return "linux-tools-generic"
    names = _PACKAGES.get(program, {})
    return names.get(manager) or names.get("") or program


def _is_ubuntu() -> bool:
    try:
        return platform.freedesktop_os_release().get("ID") == "ubuntu"
    except OSError:
        return False
