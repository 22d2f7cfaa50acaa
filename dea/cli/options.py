"""Command line parameters made from the pydantic model of a tool's arguments."""

import enum
import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import annotated_types
import typer
from pydantic.fields import FieldInfo

from dea.contracts.arguments import Arguments

Parameter = inspect.Parameter


def parameters_of(model: type[Arguments], *, without: frozenset[str]) -> list[Parameter]:
    """One parameter per field: words that must be given are positional, the rest are options."""
    return [
        _parameter(name, field) for name, field in model.model_fields.items() if name not in without
    ]


def arguments_from(model: type[Arguments], values: Mapping[str, Any]) -> dict[str, Any]:
    """The tool's arguments from what the command line gave; what was left out stays out."""
    given = {name: _plain(value) for name, value in values.items() if name in model.model_fields}
    return {
        name: value
        for name, value in given.items()
        if value is not None and not (value is False and model.model_fields[name].default is None)
    }


def keyword(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    """A parameter of a command; without a default it must be given."""
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameter(name: str, field: FieldInfo) -> Parameter:
    kind = _without_none(field.annotation)
    flag = f"--{name.replace('_', '-')}"
    text = (field.description or _HELP.get(name, "")).replace("[", "\\[")
    default = Parameter.empty if field.is_required() else field.default
    if kind is str and field.is_required():
        return keyword(name, Annotated[str, typer.Argument(metavar=name.upper(), help=text)])
    if kind is bool:
        both = f"{flag}/--no-{flag[2:]}" if default else flag
        return keyword(name, Annotated[bool, typer.Option(both, help=text)], bool(default))
    if get_origin(kind) is list:
        choices = "|".join(get_args(get_args(kind)[0]))
        info = typer.Option(flag, help=text, metavar=choices)
        return keyword(name, Annotated[list[str], info], default)
    low, high = _bounds(field)
    info = typer.Option(flag, help=text, min=low, max=high)
    annotation = _choice(name, kind) if get_origin(kind) is Literal else kind
    return keyword(
        name, Annotated[annotation if default is not None else annotation | None, info], default
    )


_HELP = {
    "duration_s": "How many seconds to observe",
    "categories": "Kinds of system calls, separated by commas",
    "consent": "Allow steps that change the target, such as opening a debug port",
    "limit": "How many at most",
    "symptom": "What is wrong",
}


def _without_none(annotation: Any) -> Any:
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if type(None) in get_args(annotation) and len(kinds) == 1 else annotation


def _bounds(field: FieldInfo) -> tuple[Any, Any]:
    low = next((m.ge for m in field.metadata if isinstance(m, annotated_types.Ge)), None)
    high = next((m.le for m in field.metadata if isinstance(m, annotated_types.Le)), None)
    return low, high


def _choice(name: str, literal: Any) -> Any:
    """An enum, which every version of typer takes for a choice."""
    values = [str(value) for value in get_args(literal)]
    return enum.StrEnum(name.title(), [(value, value) for value in values])


def _plain(value: Any) -> Any:
    """Strings and numbers only; lists also when their items were separated by commas."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list | tuple):
        return ",".join(map(str, cast("Sequence[object]", value))).split(",")
    return value
