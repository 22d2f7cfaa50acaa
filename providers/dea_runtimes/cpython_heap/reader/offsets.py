"""Where the fields of CPython's structures lie, by minor version.

Read from the debug information of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0 and 3.14.8 on
x86-64. From 3.13 on CPython publishes some of them, and those win. Nothing here is believed before
`verify` has seen it fit the live heap.
"""

from dea_runtimes.cpython_heap.reader.failures import CannotLookError
from dea_runtimes.cpython_heap.reader.memory import Memory

Offsets = dict[str, int]

VERSIONS = (8, 9, 10, 11, 12, 13, 14)
_COOKIE = b"xdebugpy"
# `-`: this version has no such field.
_TABLE = """
runtime.interpreters     32   32   32   40   40  632  808
interpreter.next          0    0    0    0    0 7264 7272
interpreter.threads       8    8    8   16   72 7344 7344
interpreter.modules      56  856  856  888  944 7656 7688
interpreter.generations   -  640  640  672  136 7424 7432
runtime.generations     368    -    -    -    -    -    -
thread.frame             24   24   24    -    -   72   72
thread.cframe             -    -   48   56   56    -    -
thread.native_id          -    -    -  160  144  160  160
cframe.current            -    -    -    8    0    -    -
frame.back               24   24   24   48    8    8    8
frame.code               32   32   32   32    0    0    0
frame.locals            360  360  352   72   72   72   80
frame.stack              64   64   64    -    -    -    -
frame.owner               -    -    -   69   70   70   74
generator.frame          16   16   16   80   72   72   72
generator.state           -    -    -   75   67   67   67
generator.qualname       56   56   48   40   32   32   32
code.filename           104  104  104  112  112  112  112
code.name               112  112  112  120  120  120  120
code.qualname             -    -    -  128  128  128  128
code.first_line          40   40   40   72   68   68   68
code.variables           72   72   72   96   96   96   96
code.cells               88   88   88    -    -    -    -
code.free                80   80   80    -    -    -    -
function.code            16   16   48   48   48   48   48
function.closure         48   48   72   72   72   72   72
function.defaults        32   32   56   56   56   56   56
function.kwdefaults      40   40   64   64   64   64   64
function.dict            72   72   88   88   88   88   88
function.qualname       104  104   40   40   40   40   40
heaptype.keys           872  864  872  872  880  880  880
tuple.items              24   24   24   24   24   24   32
str.ascii                48   48   48   48   40   40   40
str.data                 72   72   72   72   56   56   56
values.items              0    0    0    0    0    8    8
"""
# Which 64-bit word of _Py_DebugOffsets holds what.
_FREE_THREADED = 2
_PUBLISHED = {
    13: {
        "runtime.interpreters": 5,
        "interpreter.next": 8,
        "interpreter.threads": 9,
        "interpreter.gc": 10,
        "interpreter.modules": 11,
        "thread.frame": 23,
        "thread.native_id": 25,
        "frame.back": 29,
        "frame.code": 30,
        "frame.locals": 32,
        "frame.owner": 33,
        "code.filename": 35,
        "code.name": 36,
        "code.qualname": 37,
        "code.first_line": 39,
        "code.variables": 41,
        "tuple.items": 51,
        "str.ascii": 70,
    },
    14: {
        "runtime.interpreters": 5,
        "interpreter.next": 8,
        "interpreter.threads": 9,
        "interpreter.gc": 11,
        "interpreter.modules": 12,
    },
}


def offsets_of(minor: int) -> Offsets:
    """The table's column for CPython 3.`minor`."""
    if minor not in VERSIONS:
        raise CannotLookError(
            f"it runs CPython 3.{minor}, and only 3.{VERSIONS[0]} to 3.{VERSIONS[-1]} are known"
        )
    rows = (line.split() for line in _TABLE.strip().splitlines())
    column = VERSIONS.index(minor) + 1
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def published(memory: Memory, runtime: int, minor: int) -> Offsets:
    """What _Py_DebugOffsets says (3.13 and later); empty when it is not there."""
    if minor not in _PUBLISHED or memory.read(runtime, 8) != _COOKIE:
        return {}
    places = _PUBLISHED[minor]
    words = memory.u64s(runtime, max(places.values()) + 1)
    if words[_FREE_THREADED]:
        raise CannotLookError("it is a free-threaded build, which has no lists of its objects")
    found = {name: words[place] for name, place in places.items()}
    found["interpreter.generations"] = found.pop("interpreter.gc") + 24
    return found
