"""From a function's shared info to its name, script and line, checked against the source."""

import re
from bisect import bisect_right
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.v8.reader.objects import Objects, is_object, is_small_int, small_int
from dea_runtimes.v8.reader.target import Target

TOP_LEVEL = "(top level)"
_LONGEST_NAME = 500
_SLOTS_AFTER_LOCALS = 12
_INLINED_LOCALS = 75  # of more local variables, a table holds the names
_SCRIPTS_KEPT = 64
_ARROW = re.compile(r"[\w$\\]+\s*=>")
_METHOD = re.compile(r"[\w$#.]+$")


@dataclass(frozen=True)
class Function:
    """`file` is what the script is called, empty for V8's own; `line` is where it begins."""

    name: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True)
class _Scope:
    name: str
    inferred: str
    positions: tuple[int, int]


@dataclass(frozen=True)
class Script:
    """Its source, None where that cannot be read."""

    file: str
    source: str | None
    line_starts: list[int]

    def line_at(self, position: int) -> int:
        return bisect_right(self.line_starts, position)


class Functions:
    """Looks functions up; what was found is kept by the address of the shared info."""

    def __init__(self, target: Target) -> None:
        self.objects = self._objects = Objects(target.memory, target.layout)
        self._scripts: dict[int, Script] = {}

    def read(self, shared: int) -> Function:
        """Raises TornError when anything on the way is not what it must be."""
        objects, layout = self._objects, self._objects.layout
        objects.expect(shared, layout.shared_type)
        named = objects.word(shared, layout.shared_name)
        if not is_object(named):
            return Function("")  # one of V8's own without a name
        if objects.is_string(named):
            return Function(objects.text(named, _LONGEST_NAME))
        scope = self._scope(objects.expect(named, layout.scope_type))
        script = self._script(objects.word(shared, layout.shared_script))
        raw = objects.memory.read(shared - 1 + layout.shared_token_offset, 2)
        return _placed(scope, script, int.from_bytes(raw, "little"))

    def _scope(self, scope: int) -> _Scope:
        """The slots after those of local variables hold name, slot, inferred name, positions."""
        objects, layout = self._objects, self._objects.layout
        count = small_int(objects.word(scope, 8 * 3))
        if not 0 <= count < 100_000:
            raise TornError(f"a scope of {count} variables")
        names = count if count < _INLINED_LOCALS else 1
        fixed = 1 + layout.scope_locals
        slots = objects.memory.u64s(scope - 1 + 8 * (fixed + names + count), _SLOTS_AFTER_LOCALS)
        for number in range(4):
            name, place, inferred = slots[number : number + 3]
            if (name == 0 or _is_string(objects, name)) and is_small_int(place):
                if not is_object(inferred):
                    continue
                pair = slots[number + 3 : number + 5]
                if layout.scope_locals > 3:  # since V8 12.9 or so the positions come first
                    pair = objects.memory.u64s(scope - 1 + 8 * 4, 2)
                if not all(map(is_small_int, pair)):
                    continue
                return _Scope(
                    name=objects.text(name, _LONGEST_NAME) if name else "",
                    inferred=_string_or_nothing(objects, inferred),
                    positions=(small_int(pair[0]), small_int(pair[1])),
                )
        raise TornError("a scope without a function's name")

    def _script(self, script: int) -> Script:
        objects, layout = self._objects, self._objects.layout
        found = objects.type_of(script)
        if found != layout.script_type:
            raise TornError(f"no script, but an object of type {found}")
        known = self._scripts.get(script)
        if known is None:
            name = objects.word(script, layout.script_name)
            try:
                source = objects.text(objects.word(script, layout.script_source))
            except TornError:
                source = None
            starts = [0, *(m.end() for m in re.finditer(r"\r\n|[\n\r\u2028\u2029]", source or ""))]
            known = Script(_string_or_nothing(objects, name), source, starts)
            if len(self._scripts) >= _SCRIPTS_KEPT:
                self._scripts.clear()
            self._scripts[script] = known
        return known


def _is_string(objects: Objects, word: int) -> bool:
    return is_object(word) and objects.is_string(word)


def _string_or_nothing(objects: Objects, word: int) -> str:
    return objects.text(word, _LONGEST_NAME) if _is_string(objects, word) else ""


def _placed(scope: _Scope, script: Script, token_offset: int) -> Function:
    start, end = scope.positions
    source = script.source
    if source is None:
        return Function(_told(scope), script.file)
    if not 0 <= start <= end <= len(source):
        raise TornError("a function that is not within its script")
    whole = start == 0 and end == len(source)
    if not whole and not _is_function(source[start:end]):
        raise TornError("no function begins there in the source")
    name = _told(scope) or (TOP_LEVEL if whole else "")
    # 0xFFFF: too far away to be told
    token = start if token_offset == 0xFFFF else max(0, start - token_offset)
    return Function(name, script.file, script.line_at(token))


def _is_function(text: str) -> bool:
    """Parameters in parentheses, one parameter and an arrow, a class, or a static block of one."""
    return text.startswith(("(", "class", "{", "async")) or _ARROW.match(text) is not None


def _told(scope: _Scope) -> str:
    """`Cart.add` rather than `add` when V8 worked out whose it is."""
    if scope.name and scope.inferred.endswith("." + scope.name) and _METHOD.match(scope.inferred):
        return scope.inferred
    return scope.name or scope.inferred
