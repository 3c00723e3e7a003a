"""Conversion between values of the component's interface and the classes of `types`.

In the interface, a record is a mapping by WIT names; the tables of `types` list its fields. Loading these types takes
longer than a call, and a model's call needs none of them, so they are loaded at their first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._values import Tagged
from .errors import ToolError

if TYPE_CHECKING:
    from .types import Shape

LARGEST = {"u32": 2**32 - 1, "u64": 2**64 - 1}


def lift(shape: Shape, value: Any) -> Any:
    """Converts a value from the component. An error in the place of a result is returned as a value."""
    if value is None:
        return None
    if isinstance(shape, tuple):
        kind, inner = shape
        if kind == "list":
            return [lift(inner, each) for each in value]
        if kind == "result" and isinstance(value, Tagged):
            return lift("error" if value.tag == "err" else inner, value.payload)
        return lift(inner, value)
    if shape == "error":
        return ToolError(**value)
    if isinstance(value, dict):
        from .types import RECORDS

        record_type, fields = RECORDS[shape]
        assert record_type is not None, shape
        return record_type(*[of if type(of := value[name]) in PLAIN else lift(inner, of) for name, inner in fields])
    return value


PLAIN = frozenset((str, int, bool, type(None)))
"""Types that need no conversion. They are the most frequent ones, and checking here saves a call."""


def lower(record: str, values: Sequence[object]) -> dict[str, Any]:
    """Converts values to a record for the component. Raises `ToolError` for values that its types cannot hold."""
    from .types import RECORDS

    return {name: lower_value(name, shape, value) for (name, shape), value in zip(RECORDS[record][1], values)}


def lower_value(name: str, shape: Shape, value: object) -> Any:
    from .types import ENUMS, RECORDS

    if isinstance(shape, tuple):
        kind, inner = shape
        if kind == "option":
            return None if value is None else lower_value(name, inner, value)
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise wrong(name, "a list", value)
        return [lower_value(name, inner, each) for each in value]
    if shape in ENUMS:
        if value not in ENUMS[shape]:
            raise wrong(name, "one of " + ", ".join(f"`{case}`" for case in sorted(ENUMS[shape])), value)
        return value
    if shape in RECORDS:
        record_type, fields = RECORDS[shape]
        if record_type is None or not isinstance(value, record_type):
            raise wrong(name, f"a `{record_type.__name__ if record_type else shape}`", value)
        return lower(shape, [getattr(value, field.replace("-", "_")) for field, _ in fields])
    return lower_scalar(name, shape, value)


def lower_scalar(name: str, shape: str, value: object) -> object:
    if shape in LARGEST:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST[shape]:
            raise wrong(name, f"a whole number from 0 to {LARGEST[shape]}", value)
    elif shape == "bool":
        if not isinstance(value, bool):
            raise wrong(name, "True or False", value)
    else:
        if not isinstance(value, str):
            raise wrong(name, "a text", value)
        check_text(name.replace("-", "_"), value)
    return value


def check_text(name: str, text: str) -> None:
    """Refuses a lone surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        message = f"`{name}` is not Unicode text: there is half of a surrogate pair at {cause.start}"
        raise ToolError("invalid-argument", message) from None


def wrong(name: str, wanted: str, value: object) -> ToolError:
    text = repr(value)
    text = text if len(text) <= 60 else text[:60] + "…"
    return ToolError("invalid-argument", f"`{name.replace('-', '_')}` is {text}, which is not {wanted}")
