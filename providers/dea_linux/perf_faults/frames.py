"""Which calls of a native stack are the user's own, and which of them is the one to name."""

import re
from collections.abc import Sequence

from dea.contracts.data import Frame
from dea.contracts.secrets import target_text
from dea_linux.perf_faults.script import Call

_SYSTEM_OBJECTS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/", "[")
_SYSTEM_SOURCES = re.compile(
    r"^/usr/include/|^/usr/lib/|^/rustc/|/go/src/(?!.*@)|^\./|^\.\./sysdeps"
)
_SYSTEM_FUNCTIONS = re.compile(
    r"^(?:std|core|alloc|__gnu_cxx)::|^<(?:std|core|alloc)::|^operator (?:new|delete)|^_start$"
)
_GO_RUNTIME = re.compile(r"^(?:runtime|internal|sync|syscall|reflect)[./]")
# A wrapper such as xmalloc, zrealloc or mem_alloc says nothing about who wanted the memory.
_ALLOCATES = re.compile(r"alloc|strn?dup|memdup", re.IGNORECASE)


def frame_of(call: Call, runtime: str) -> Frame:
    function = target_text(call.function, 160)
    file = target_text(call.file, 300) if call.file else None
    return Frame(
        function=function,
        file=file,
        line=call.line,
        module=target_text(call.object, 200) or None,
        own=_is_own(call, runtime),
    )


def site_of(stack: Sequence[Frame]) -> int:
    """The innermost own function that is no allocator; the innermost own; the innermost at all."""
    own = [at for at, frame in enumerate(stack) if frame.own]
    wanting = [at for at in own if not _ALLOCATES.search(stack[at].function)]
    return next(iter([*wanting, *own, 0]))


def _is_own(call: Call, runtime: str) -> bool:
    if call.function == "[unknown]" or call.object.startswith(_SYSTEM_OBJECTS):
        return False
    if call.file and _SYSTEM_SOURCES.search(call.file):
        return False
    if runtime == "go" and _GO_RUNTIME.match(call.function):
        return False
    return not _SYSTEM_FUNCTIONS.match(call.function)
