"""Builds any contract model with random valid fields, from its own field definitions."""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dea.contracts.data import DATA_MODELS, Data
from dea.contracts.evidence import Evidence
from dea.contracts.scrub import SAFE_INTEGER, clean_text

FLOATS = st.floats(-1e15, 1e15)


def clean(min_size: int = 0) -> st.SearchStrategy[str]:
    """Text that leaves DEA as it is."""
    return st.text(min_size=min_size, max_size=12).map(clean_text)


def instances(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Valid instances; optional fields are set in some and left out in others."""
    if model is Evidence:
        return st.sampled_from(list(DATA_MODELS.values())).flatmap(evidence_of)
    fields = {name: _field(info) for name, info in model.model_fields.items()}
    return st.builds(model, **fields)


def evidence_of(model: type[Data]) -> st.SearchStrategy[Evidence]:
    return st.builds(
        Evidence,
        id=clean(1),
        kind=st.just(model.kind),
        summary=clean(1),
        data=instances(model),
        artifact=st.none() | clean(),
        lines=st.none() | st.tuples(st.integers(1, 9), st.integers(9, 99)),
    )


def _field(info: FieldInfo) -> st.SearchStrategy[Any]:
    return _value(info.annotation, info.metadata)


def _value(kind: Any, limits: list[Any]) -> st.SearchStrategy[Any]:
    if get_origin(kind) is Annotated:
        inner, *extra = get_args(kind)
        return _value(inner, [*limits, *(m for e in extra for m in _metadata(e))])
    if get_origin(kind) in (Union, types.UnionType):
        return st.one_of(*(_value(option, limits) for option in get_args(kind)))
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        return st.tuples(*(_value(item, []) for item in get_args(kind)))
    if get_origin(kind) is list:
        least = _limit(limits, "min_length", 0)
        return st.lists(_value(get_args(kind)[0], []), min_size=least, max_size=least + 2)
    if get_origin(kind) is dict:
        return st.dictionaries(clean(), _value(get_args(kind)[1], []), max_size=2)
    return _scalar(kind, limits)


def _scalar(kind: Any, limits: list[Any]) -> st.SearchStrategy[Any]:
    if kind is type(None):
        return st.none()
    if kind is bool:
        return st.booleans()
    if kind is int:
        least = max(_limit(limits, "ge", -SAFE_INTEGER), _limit(limits, "gt", -SAFE_INTEGER) + 1)
        return st.integers(least, _limit(limits, "le", SAFE_INTEGER))
    if kind is float:
        return FLOATS
    if kind is str:
        return clean(_limit(limits, "min_length", 0))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return instances(kind)
    raise NotImplementedError(f"no strategy for {kind}")


def _metadata(extra: Any) -> list[Any]:
    return extra.metadata if isinstance(extra, FieldInfo) else [extra]


def _limit(limits: list[Any], name: str, default: int) -> int:
    return next((getattr(m, name) for m in limits if getattr(m, name, None) is not None), default)
