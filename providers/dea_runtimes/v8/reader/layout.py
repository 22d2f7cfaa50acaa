"""How this node lays out V8's objects and frames, as its own symbols tell."""

from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.v8.reader.elf import Binary

# Kinds of functions (class constructors, constructors of typed arrays, ...) after the plain one.
_MORE_FUNCTION_TYPES = 16


@dataclass(frozen=True)
class Layout:
    """Offsets are of the untagged object, in bytes; types are V8's instance types."""

    fp_context: int
    fp_function: int
    map_type: int
    function_shared: int
    shared_name: int
    shared_script: int
    shared_token_offset: int
    script_name: int
    script_source: int
    string_length: int
    string_chars: int
    cons_first: int
    cons_second: int
    sliced_parent: int
    sliced_offset: int
    thin_actual: int
    external_resource: int
    scope_locals: int  # slots before the names of local variables
    function_types: range
    shared_type: int
    scope_type: int
    script_type: int
    first_other_type: int  # types below are strings
    entry_frames: frozenset[int]
    exit_frames: frozenset[int]
    regexp_frame: int | None
    code_type: int
    wrapper_type: int | None  # of what holds a shared info, where there is such a thing
    deoptimization: tuple[int, int, int] | None  # where its count, literals, function stand


def read_layout(binary: Binary, base: int, memory: Memory) -> Layout:
    """Raises CannotLookError when a constant is missing or is not what all of this rests on."""
    reader = _Constants(binary, base, memory)
    for name, expected in (("HeapObjectTag", 1), ("SmiTag", 0), ("SmiShiftSize", 31)):
        if reader.get(name) != expected:
            raise CannotLookError("V8's objects are tagged in a way that is not known here")
    first = reader.get("type_JSFunction__JS_FUNCTION_TYPE")
    last = reader.find("LastJSFunctionType")
    frames = {n: reader.find(f"frametype_{n}") for n in (*_ENTRIES, *_EXITS, "IrregexpFrame")}
    return Layout(
        fp_context=reader.get("off_fp_context"),
        fp_function=reader.get("off_fp_function"),
        map_type=reader.get("class_Map__instance_type__"),
        function_shared=reader.get("class_JSFunction__shared__"),
        shared_name=reader.get("class_SharedFunctionInfo__name_or_scope_info__"),
        shared_script=reader.get(
            "class_SharedFunctionInfo__script_or_debug_info__",
            "class_SharedFunctionInfo__script__",
        ),
        shared_token_offset=reader.get("class_SharedFunctionInfo__raw_function_token_offset__"),
        script_name=reader.get("class_Script__name__"),
        script_source=reader.get("class_Script__source__"),
        string_length=reader.get("class_String__length__"),
        string_chars=reader.get("class_SeqOneByteString__chars__"),
        cons_first=reader.get("class_ConsString__first__"),
        cons_second=reader.get("class_ConsString__second__"),
        sliced_parent=reader.get("class_SlicedString__parent__"),
        sliced_offset=reader.get("class_SlicedString__offset__"),
        thin_actual=reader.get("class_ThinString__actual__"),
        external_resource=reader.get("class_ExternalString__resource__"),
        scope_locals=reader.get("scopeinfo_idx_first_vars"),
        function_types=range(first, (last or first + _MORE_FUNCTION_TYPES) + 1),
        shared_type=reader.get("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"),
        scope_type=reader.get("type_ScopeInfo__SCOPE_INFO_TYPE"),
        script_type=reader.get("type_Script__SCRIPT_TYPE"),
        first_other_type=reader.get("FirstNonstringType"),
        entry_frames=frozenset(n for name in _ENTRIES if (n := frames[name]) is not None),
        exit_frames=frozenset(n for name in _EXITS if (n := frames[name]) is not None),
        regexp_frame=frames["IrregexpFrame"],
        code_type=reader.get("type_Code__CODE_TYPE"),
        wrapper_type=reader.find(
            "type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE"
        ),
        deoptimization=_deoptimization(reader),
    )


def _deoptimization(reader: "_Constants") -> tuple[int, int, int] | None:
    names = ("InlinedFunctionCount", "LiteralArray", "SharedFunctionInfo")
    count, literals, shared = (reader.find(f"DeoptimizationData{name}Index") for name in names)
    if shared is None:
        shared = reader.find("DeoptimizationDataWrappedSharedFunctionInfoIndex")
    if count is None or literals is None or shared is None:
        return None
    return count, literals, shared


_ENTRIES = ("EntryFrame", "ConstructEntryFrame")
_EXITS = ("ExitFrame", "BuiltinExitFrame", "ApiCallbackExitFrame", "ApiAccessorExitFrame")


class _Constants:
    """The constants by name; a name that ends in `__` stands for any type after it."""

    def __init__(self, binary: Binary, base: int, memory: Memory) -> None:
        self._addresses = binary.constants
        self._base = base
        self._memory = memory

    def find(self, name: str) -> int | None:
        names = [name] if name in self._addresses else []
        if name.endswith("__"):
            names = [full for full in self._addresses if full.startswith(name)]
        try:
            values = {self._memory.i32(self._base + self._addresses[full]) for full in names}
        except TornError as error:
            raise CannotLookError(f"V8's constants cannot be read: {error}") from None
        return values.pop() if len(values) == 1 else None

    def get(self, *names: str) -> int:
        for name in names:
            value = self.find(name)
            if value is not None:
                return value
        raise CannotLookError(f"this node does not tell V8's constant {names[0].strip('_')}")
