"""Checks on the live heap that objects lie as the offsets say, before any number is believed."""

from collections.abc import Callable

from dea_runtimes.cpython_heap.reader.census import Census
from dea_runtimes.cpython_heap.reader.code import (
    OWNED_BY_GENERATOR,
    closure,
    code_place,
    frame_code,
    function_place,
    generator_frame,
    is_code,
    tuple_items,
    variables,
)
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.objects import Kind, Objects
from dea_runtimes.cpython_heap.reader.references import ReferenceReader

_TOLERATED_SHARE = 0.05  # objects that were just being made
_ITEMS_CHECKED = 20
_MOST_ENTRIES_COUNTED = 4_000_000


def verify_layout(objects: Objects, census: Census) -> dict[str, int]:
    """How many samples of each sort fitted. Raises TornError when too many did not."""
    checks = _Checks(objects)
    fitted: dict[str, int] = {}
    failed: dict[str, int] = {}
    for counted in census.types.values():
        sort = checks.sort_of(counted.info.address, counted.info.is_heap_type)
        if sort is None:
            continue
        for address in counted.samples:
            result = fitted if _fits(checks.by_sort[sort], address) else failed
            result[sort] = result.get(sort, 0) + 1
    for sort, count in failed.items():
        total = count + fitted.get(sort, 0)
        if count > _TOLERATED_SHARE * total:
            raise TornError(
                f"its objects are not laid out as in CPython 3.{objects.minor}: "
                f"{count} of {total} {sort} do not fit"
            )
    return fitted


def _fits(check: Callable[[int], bool], address: int) -> bool:
    try:
        return check(address)
    except TornError:
        return False


class _Checks:
    """One check for each sort of object."""

    def __init__(self, objects: Objects) -> None:
        self.objects, self.memory, self.offsets = objects, objects.memory, objects.offsets
        self.references = ReferenceReader(objects, _ITEMS_CHECKED)
        self.by_sort: dict[str, Callable[[int], bool]] = {
            "tuples": self.tuple_fits,
            "functions": self.function_fits,
            "generators": self.generator_fits,
            "instances": self.instance_fits,
        }

    def sort_of(self, type_address: int, is_heap_type: bool) -> str | None:
        types = self.objects.types
        if type_address == types["Tuple"]:
            return "tuples"
        if type_address == types["Function"]:
            return "functions"
        if type_address in (types["Gen"], types["Coro"]):
            return "generators"
        return "instances" if is_heap_type else None

    def is_object(self, address: int) -> bool:
        return bool(self.objects.info_of(address).name)

    def tuple_fits(self, address: int) -> bool:
        items = tuple_items(self.objects, address, _ITEMS_CHECKED)
        return all(self.is_object(item) for item in items if item)

    def function_fits(self, address: int) -> bool:
        memory, offsets, objects = self.memory, self.offsets, self.objects
        code = memory.u64(address + offsets["function.code"])
        qualified, _, line = function_place(objects, address)
        name, _, _ = code_place(objects, code)
        names = all(
            variable.isidentifier() or variable[:1] == "." for variable in variables(objects, code)
        )
        cells = closure(objects, address)
        return (
            is_code(objects, code)
            and names
            and line < 1 << 24
            and bool(name and qualified)
            and all(self.is_object(value) for _, value in cells if value)
            and self.is_empty_or(address + offsets["function.closure"], "Tuple")
            and self.free_variables(code) in (None, len(cells))
            and self.is_empty_or(address + offsets["function.defaults"], "Tuple")
            and self.is_empty_or(address + offsets["function.kwdefaults"], "Dict")
            and self.is_empty_or(address + offsets["function.dict"], "Dict")
        )

    def free_variables(self, code: int) -> int | None:
        """How many variables a function closes over; None where the code object does not tell."""
        if "code.free" not in self.offsets:
            return None
        return self.memory.u64(self.memory.u64(code + self.offsets["code.free"]) + 16)

    def is_empty_or(self, field: int, name: str) -> bool:
        value = self.memory.u64(field)
        return not value or self.objects.is_a(value, name)

    def generator_fits(self, address: int) -> bool:
        name = self.objects.text(self.memory.u64(address + self.offsets["generator.qualname"]))
        frame = generator_frame(self.objects, address)
        return bool(name) and (not frame or self.generator_frame_fits(frame))

    def generator_frame_fits(self, frame: int) -> bool:
        owner = self.offsets.get("frame.owner")
        owned = owner is None or self.memory.u8(frame + owner) == OWNED_BY_GENERATOR
        return owned and is_code(self.objects, frame_code(self.objects, frame))

    def instance_fits(self, address: int) -> bool:
        attributes = self.references.attributes(address, self.objects.info_of(address))
        return all(self.is_object(value) for _, value in attributes[:_ITEMS_CHECKED] if value)


def length_fits(objects: Objects, address: int, kind: Kind, length: int) -> bool:
    """Whether a container's own bookkeeping agrees with its length."""
    memory = objects.memory
    try:
        match kind:
            case "list" | "bytearray":
                at, allocated = memory.u64(address + 24), memory.u64(address + 32)
                if kind == "bytearray":
                    at, allocated = allocated, at
                return length <= allocated and bool(memory.u8(at) >= 0)
            case "dict":
                if length > _MOST_ENTRIES_COUNTED:
                    return True
                # One more or less while an item is being put in.
                return abs(len(objects.items(address, 2 * length + 64)) - length) <= 1
            case "set":
                filled, mask = memory.u64(address + 16), memory.u64(address + 32)
                return length <= filled <= mask + 1
            case "ring":
                return length <= memory.u64(address + 48)
            case "buffer":
                return bool(memory.u64(address + 16))
            case "deque":
                left, right = memory.u64(address + 40), memory.u64(address + 48)
                return left <= 64 and right <= 64 and bool(memory.u64(address + 24))
            case _:
                return False
    except TornError:
        return False
