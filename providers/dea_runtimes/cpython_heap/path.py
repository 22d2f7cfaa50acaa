"""Says in words where an object hangs, from the steps that lead to it."""

from collections.abc import Sequence
from typing import Any

from dea.contracts.secrets import target_text
from dea_runtimes.cpython_heap.reader.places import is_own

Step = dict[str, Any]

# Roles that tell a reader nothing: a bound method's object, what a decorator wraps, a closure's cell.
_SILENT = frozenset(("self", "wrapped", "cell"))
# A class or function is at home in its module; that the module holds it is no news.
_SELF_EVIDENT = frozenset(("class attribute", "default", "cache"))
_MOST_CHARACTERS = 200


def clean(text: object, cap: int = 120) -> str:
    """Text from the target as one short line without secrets."""
    return target_text(str(text), cap)


def path_of(steps: Sequence[Step]) -> str:
    """`attribute items of shop.Cart, held by module global shop.CARTS`; empty without steps."""
    told = [step for step in steps if step.get("role") not in _SILENT]
    named = [step for step in told if step.get("role") != "item"]
    if not named:
        return ""
    last, root = named[-1], named[0]
    text = _phrase(last)
    if told[-1] is not last:
        text = f"inside {text}"
    if last is not root and last.get("role") not in _SELF_EVIDENT:
        text += f", held by {_phrase(root)}"
    return clean(text, _MOST_CHARACTERS)


def is_own_path(steps: Sequence[Step]) -> bool:
    """Whether some name on the way is of the user's own code."""
    return any(is_own(str(step.get("file", ""))) for step in steps)


def _phrase(step: Step) -> str:
    name, of = step.get("name", ""), step.get("of", "")
    match step.get("role"):
        case "global":
            return f"module global {of}.{name}"
        case "class attribute":
            return f"attribute {name} of class {of}"
        case "attribute":
            return f"attribute {name} of {of}"
        case "closure":
            return f"closure variable {name} of {_place(step)}"
        case "local":
            return f"variable {name} of {_place(step)}"
        case "default":
            return f"default argument of {_place(step)}"
        case "cache":
            return f"lru_cache of {_place(step)}"
        case _:
            return f"{name} of {of}"


def _place(step: Step) -> str:
    """`handler app.py:33`."""
    function = str(step.get("of", "")).replace("<locals>.", "")
    file = str(step.get("file", "")).rpartition("/")[2]
    return f"{function} {file}:{step.get('line', 0)}" if file else function
