"""Whose compiled code it is, and what its functions are called."""

import subprocess
from pathlib import Path

import pytest

from dea_linux.elf import address_of, executable_loads
from dea_linux.native_code import (
    interpreters,
    is_interpreter,
    is_own_function,
    is_own_module,
    short_name,
)

EXE = "/usr/bin/kv-server"


@pytest.mark.parametrize(
    ("module", "executable", "own"),
    [
        (EXE, EXE, True),
        ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/bin/postgres", True),
        ("/srv/app/libfast.so", EXE, True),
        ("/srv/app/libfast.so", "/usr/bin/python3.11", True),
        ("/srv/app (deleted)", "/srv/app (deleted)", True),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", EXE, False),
        ("/lib64/ld-linux-x86-64.so.2", EXE, False),
        ("/srv/venv/lib/python3.11/site-packages/numpy/core.so", "/usr/bin/python3", False),
        ("/usr/bin/python3.11", "/usr/bin/python3.11", False),
        ("/usr/bin/perl", "/usr/bin/perl", False),
        ("[kernel.kallsyms]", EXE, False),
        ("[vdso]", EXE, False),
        ("//anon", EXE, False),
        ("", EXE, False),
    ],
)
def test_own_modules(module: str, executable: str, own: bool) -> None:
    assert is_own_module(module, executable) is own


def test_interpreters_by_name() -> None:
    run_others = ["python3.13t", "perl5.36", "node", "java", "bash", "php-fpm8.2", "ruby3.1", "R"]
    assert [name for name in run_others if not is_interpreter(f"/usr/bin/{name}")] == []
    do_not = ["perlin", "nodejs-exporter", "shell", "rediscli", "erlang-app", "javac2"]
    assert [name for name in do_not if is_interpreter(f"/usr/bin/{name}")] == []


@pytest.mark.parametrize(
    ("function", "file", "runtime", "own"),
    [
        ("checksum", "/srv/a.c", "native", True),
        ("checksum", None, "native", True),
        ("_start", None, "native", False),
        ("std::sort", "/usr/include/c++/12/bits/stl_algo.h", "native", False),
        ("sum", "/rustc/59807/library/core/src/iter.rs", "native", False),
        ("parse", "/root/.cargo/registry/src/serde-1.0/src/de.rs", "native", False),
        ("main.main", "/srv/main.go", "go", True),
        ("main.(*T).keep", None, "go", True),
        ("github.com/me/app.Run", None, "go", True),
        ("runtime.mallocgc", None, "go", False),
        ("crypto/sha256.block", "/usr/lib/go-1.19/src/crypto/sha256/x.s", "go", False),
        ("worker.Run", "/srv/app/worker/run.go", "go", True),
    ],
)
def test_own_functions(function: str, file: str | None, runtime: str, own: bool) -> None:
    assert is_own_function(function, file, runtime) is own


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("checksum", "checksum"),
        ("long app::Job::run<long>(long)", "app::Job::run"),
        ("void std::sort<It<int*, std::vector<int> >, Cmp>(It, It, Cmp)", "std::sort"),
        ("(anonymous namespace)::parse(char const*)", "anonymous::parse"),
        ("app::f(int)::{lambda(int)#1}::operator()(int) const", "app::f"),
        ("Matrix::operator<<(std::ostream&)", "Matrix::operator<<"),
        ("<alloc::vec::Vec<T> as Drop>::drop", "<alloc::vec::Vec<T> as Drop>::drop"),
        ("main.(*Server).handle", "main.(*Server).handle"),
    ],
)
def test_short_names(function: str, short: str) -> None:
    assert short_name(function) == short


@pytest.mark.needs("gcc", "readelf")
def test_addresses_of_code_in_a_file(tmp_path: Path) -> None:
    source, program = tmp_path / "a.c", tmp_path / "a"
    source.write_text("int work(int x) { return x * 3; }\nint main(void) { return work(1); }\n")
    # Code that stands elsewhere in the file than in memory.
    flags = ["-no-pie", "-Wl,-z,max-page-size=0x10000", "-Wl,-z,separate-code"]
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    symbols = subprocess.run(
        ["readelf", "-sW", program], capture_output=True, text=True, check=True
    )
    line = next(line for line in symbols.stdout.splitlines() if line.endswith(" work"))
    address = int(line.split()[1], 16)
    loads = executable_loads(program)
    ((offset, loaded, _),) = loads
    assert offset != loaded
    assert address_of(address - loaded + offset, loads) == address
    assert address_of(2**40, loads) is None


def test_a_file_that_is_no_program_has_no_code(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"\x7fELF\x02\x01 but short")
    assert executable_loads(text) == []
    assert executable_loads(tmp_path / "missing") == []


def test_an_interpreter_is_named_by_its_file_not_by_the_script() -> None:
    files = ("/usr/bin/bash", "/usr/bin/bash", "/opt/node (deleted)", "/srv/app/server")
    assert interpreters(files) == "bash, node"
