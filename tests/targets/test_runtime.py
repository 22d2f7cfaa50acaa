"""The runtime is read from what a process executes, whatever it is called."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dea.targets import elf
from dea.targets.runtime import detect_runtime
from tests.targets.conftest import Start, ready

STATIC_PYTHON = Path("/usr/bin/python3")  # Debian's: the interpreter is in the executable itself
SAY_READY = "import time; print('ready', flush=True); time.sleep(600)"


def test_python_that_loads_its_interpreter_as_a_library(start: Start) -> None:
    assert detect_runtime(ready(start(sys.executable, "-c", SAY_READY))) == "python"


def test_python_known_by_another_name(start: Start, tmp_path: Path) -> None:
    link = tmp_path / "gunicorn"
    link.symlink_to(os.path.realpath(sys.executable))
    assert detect_runtime(ready(start(link, "-I", "-c", SAY_READY))) == "python"


@pytest.mark.skipif(not STATIC_PYTHON.exists(), reason=f"needs {STATIC_PYTHON}")
def test_python_in_a_copied_executable_that_was_deleted_since(start: Start, tmp_path: Path) -> None:
    assert detect_runtime(ready(start(STATIC_PYTHON, "-c", SAY_READY))) == "python"
    copy = tmp_path / "my server"
    shutil.copy(STATIC_PYTHON, copy)
    pid = ready(start(copy, "-c", SAY_READY, PYTHONHOME="/usr"))
    copy.unlink()
    assert detect_runtime(pid) == "python"


@pytest.mark.needs("node")
def test_node(start: Start) -> None:
    script = "console.log('ready'); setInterval(() => 0, 1e6)"
    assert detect_runtime(ready(start("node", "-e", script))) == "node"


@pytest.mark.needs("java")
def test_java(start: Start, tmp_path: Path) -> None:
    source = tmp_path / "Main.java"
    source.write_text(
        "class Main { public static void main(String[] a) throws Exception {"
        ' System.out.println("ready"); Thread.sleep(600000); } }'
    )
    try:
        pid = ready(start("java", source))
    except AssertionError:
        pytest.skip("this java cannot run a source file (no compiler)")
    assert detect_runtime(pid) == "java"


@pytest.mark.needs("gcc")
@pytest.mark.parametrize("flags", [(), ("-static",), ("-s",)])
def test_a_compiled_program(start: Start, tmp_path: Path, flags: tuple[str, ...]) -> None:
    source, program = tmp_path / "python3.c", tmp_path / "python3"
    source.write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        'char *text = "_PyRuntime libpython3 libjvm.so";\n'
        "int main(void) { puts(text); fflush(stdout); return sleep(600); }\n"
    )
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    assert detect_runtime(ready(start(program))) == "native"


@pytest.mark.needs("go")
def test_go(start: Start, tmp_path: Path) -> None:
    source, program = tmp_path / "main.go", tmp_path / "server"
    source.write_text(
        'package main\nimport ("fmt"; "time")\n'
        'func main() { fmt.Println("ready"); time.Sleep(600 * time.Second) }\n'
    )
    build = ["go", "build", "-ldflags=-s -w", "-o", str(program), str(source)]
    subprocess.run(build, check=True, env=os.environ | {"GOCACHE": str(tmp_path / "cache")})
    assert detect_runtime(ready(start(program))) == "go"


@pytest.mark.parametrize("program", ["bash", "perl"])
def test_interpreters_that_we_do_not_know_are_what_they_are_to_us(
    start: Start, program: str
) -> None:
    script = {"bash": "echo ready; read line", "perl": "$| = 1; print qq(ready\\n); sleep 600"}
    option = {"bash": "-c", "perl": "-e"}
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    assert detect_runtime(ready(start(program, option[program], script[program]))) == "native"


@pytest.mark.needs("gdb")
def test_a_program_with_python_for_its_plugins_is_not_python(start: Start) -> None:
    pid = ready(start("gdb", "-q", "-nx", "-ex", "echo ready\\n"))
    assert detect_runtime(pid) == "native"


def test_a_process_that_is_gone_or_closed_to_us_is_unknown() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert detect_runtime(process.pid) == "unknown"
    assert detect_runtime(2) in ("unknown", "native")  # a kernel thread, or another in a container


@pytest.mark.parametrize("name", ["libpython3", "_PyRuntime"])
def test_a_symbol_that_is_only_used_is_not_defined(name: str) -> None:
    image = elf.Image(names=b"\0_PyRuntime\0", symbols=bytes(24) + symbol(1, defined_in=0))
    assert not image.defines("_PyRuntime")
    image = elf.Image(names=b"\0_PyRuntime\0", symbols=bytes(24) + symbol(1, defined_in=5))
    assert image.defines("_PyRuntime")
    assert not image.defines("PyRuntime")
    assert not elf.Image(names=b"\0x_PyRuntime\0", symbols=symbol(1, 5)).defines("_PyRuntime")


def symbol(name: int, defined_in: int) -> bytes:
    return name.to_bytes(4, "little") + b"\x12\0" + defined_in.to_bytes(2, "little") + bytes(16)


@pytest.mark.parametrize("size", [0, 3, 40, 64, 70, 200, 5000, 100_000])
def test_a_damaged_executable_is_read_as_far_as_it_goes(tmp_path: Path, size: int) -> None:
    path = tmp_path / "program"
    path.write_bytes(Path("/bin/sh").read_bytes()[:size])
    with path.open("rb") as file:
        try:
            assert elf.read(file).sections >= frozenset()
        except elf.NotElf:
            assert size < 64
