"""Compiled code: which of it is the user's own, and what to call a function."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

KERNEL, GENERATED = "[kernel]", "[generated]"

_SYSTEM_MODULES = re.compile(
    r"/(?:usr/)?lib(?:32|64|exec|x32)?/|/(?:site|dist)-packages/|/node_modules/|\[|/dev/|/memfd:|//anon"
)
_SYSTEM_SOURCES = re.compile(
    r"/usr/(?:local/)?include/|/usr/lib(?:64)?/|/rustc/|/rust/deps/|.*/rustlib/src/|.*/\.cargo/(?:registry|git)/|.*/go/pkg/mod/"
)
_SYSTEM_FUNCTIONS = re.compile(
    r"_start$|_init$|(?:std|core|alloc|__gnu_cxx)::|<(?:std|core|alloc)::"
)
# runtime.mallocgc, crypto/sha256.block: the standard library's packages have no dot in their path
_GO_LIBRARY = re.compile(r"(?!main\.)[^./]+(?:/[^./]+)*\.[^/]*$")
_GO_SOURCES = re.compile(r".*/go(?:-?[\d.]+)?/src/")
_INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|php|lua|luajit|node|nodejs|deno|bun|java|bash|dash|ash|ksh|zsh|sh|fish"
    r"|gawk|mawk|busybox|tclsh|guile|R|Rscript|octave|julia|beam\.smp|dotnet|mono|erl|ghc|sbcl)"
    r"[\d.]*(?:t|-cgi|-fpm|m)?[\d.]*$"
)


def is_interpreter(executable: str) -> bool:
    """Programs that run other programs: their functions are not the user's code."""
    return _INTERPRETERS.match(_name(executable)) is not None


def interpreters(executables: Iterable[str]) -> str:
    """Their names; a process may call itself otherwise, as a script does."""
    return ", ".join(sorted({_name(file) for file in executables if is_interpreter(file)}))


def _name(executable: str) -> str:
    return PurePosixPath(executable.removesuffix(" (deleted)")).name


def is_own_module(module: str, executable: str) -> bool:
    """The program itself, unless it is an interpreter, or a library from outside the system's folders."""
    module, executable = (text.removesuffix(" (deleted)") for text in (module, executable))
    if not module.startswith("/"):
        return False
    if module == executable:
        return not is_interpreter(executable)
    return _SYSTEM_MODULES.search(module) is None and not is_interpreter(module)


def is_own_function(function: str, file: str | None, runtime: str | None) -> bool:
    """Of an own module: not what a standard library or a header of it brought in."""
    if file is not None and _SYSTEM_SOURCES.match(file):
        return False
    if runtime == "go" and _GO_LIBRARY.match(function):
        return file is not None and _GO_SOURCES.match(file) is None
    return _SYSTEM_FUNCTIONS.match(function) is None


def short_name(function: str) -> str:
    """A C++ function without return type, template arguments and parameters; others as they are."""
    if "<impl" in function or function.startswith("<") or ".(*" in function:
        return function  # Rust and Go, which have no parameters in their names
    function = function.replace("(anonymous namespace)", "anonymous").replace("operator()", "call")
    if "operator" in function:
        return function.split("(", 1)[0]
    plain: list[str] = []
    depth = 0
    for letter in function:
        depth += letter == "<"
        if depth == 0:
            plain.append(letter)
        depth -= letter == ">" and depth > 0
    return "".join(plain).split("(", 1)[0].split(" ")[-1] or function
