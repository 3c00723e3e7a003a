"""Conversion between wasmtime's C representation of values and Python's.

`wasmtime.component.Func` asks the component for all types again at every call, and passes bytes one by one, which takes
longer than most calls. So values are made and read here, by the structures that wasmtime-py has of the C API. Their
types are still checked by wasmtime, against the component's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref, string_at
from struct import Struct
from sys import byteorder
from typing import TYPE_CHECKING, Any, NamedTuple

from wasmtime import Store, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Func

if TYPE_CHECKING:
    from .types import Shape

Value = ffi.wasmtime_component_val_t


class Tagged(NamedTuple):
    """A case of a variant, or of a result: `ok` or `err`."""

    tag: str
    payload: Any


def call(function: Func, store: Store, arguments: Sequence[tuple[Shape, Any]], *, has_result: bool = True) -> Any:
    """Calls a function with arguments of these shapes, which have been checked. Fails with `WasmtimeError`."""
    lowered = (Value * len(arguments))()
    result = Value()
    count = 0
    try:
        for count, (shape, value) in enumerate(arguments, 1):
            lower(lowered[count - 1], shape, value)
        results = (byref(result), 1) if has_result else (None, 0)
        error = ffi.wasmtime_component_func_call(byref(function._func), store._context(), lowered, count, *results)
        if error:
            raise WasmtimeError._from_ptr(error)
        if not has_result:
            return None
        try:
            return lift(string_at(byref(result), WIDTH))
        finally:
            ffi.wasmtime_component_val_delete(byref(result))
    finally:
        for index in range(count):
            ffi.wasmtime_component_val_delete(byref(lowered[index]))


def lift(value: bytes) -> Any:
    """Converts a value to Python: a record to a mapping by WIT names, a result or variant to `Tagged`."""
    kind, of = VALUE.unpack(value)
    return LIFTS[kind](of)


def lift_text(of: bytes) -> str:
    size, text = VECTOR.unpack_from(of)
    return string_at(text, size).decode()


def lift_list(of: bytes) -> Any:
    size, items = VECTOR.unpack_from(of)
    laid = string_at(items, size * WIDTH)
    if size and laid[0] == U8:
        return laid[PAYLOAD::WIDTH]
    return [LIFTS[kind](each) for kind, each in VALUE.iter_unpack(laid)]


def lift_record(of: bytes) -> dict[str, Any]:
    size, members = VECTOR.unpack_from(of)
    laid = MEMBER.iter_unpack(string_at(members, size * MEMBER.size))
    return {string_at(name, length).decode(): LIFTS[kind](each) for length, name, kind, each in laid}


def lift_option(of: bytes) -> Any:
    (inner,) = POINTER.unpack_from(of)
    return lift(string_at(inner, WIDTH)) if inner else None


def lift_result(of: bytes) -> Tagged:
    is_ok, inner = RESULT.unpack_from(of)
    return Tagged("ok" if is_ok else "err", lift(string_at(inner, WIDTH)) if inner else None)


def lower(value: Any, shape: Shape, source: Any) -> None:
    """Writes a Python value to `value`, which `wasmtime_component_val_delete` frees."""
    of = value.of
    if isinstance(shape, tuple):
        kind, inner = shape
        if kind == "option":
            value.kind, of.option = OPTION, None
            if source is not None:
                of.option = boxed(inner, source)
        elif kind == "variant":
            value.kind = VARIANT
            lower_text(of.variant.discriminant, source.tag)
            of.variant.val = boxed(inner, source.payload)
        else:
            lower_list(value, inner, source)
    elif shape == "bytes":
        lower_bytes(value, source)
    elif shape in SCALARS:
        value.kind, member = SCALARS[shape]
        setattr(of, member, source)
    elif shape == "string":
        value.kind = STRING
        lower_text(of.string, source)
    else:
        from .types import ENUMS

        if shape in ENUMS:
            value.kind = ENUM
            lower_text(of.enumeration, source)
        else:
            lower_record(value, shape, source)


def lower_text(text: Any, source: str) -> None:
    encoded = source.encode()
    ffi.wasm_byte_vec_new_uninitialized(byref(text), len(encoded))
    ctypes.memmove(text.data, encoded, len(encoded))


def lower_record(value: Any, shape: str, source: dict[str, Any]) -> None:
    from .types import RECORDS

    fields = RECORDS[shape][1]
    record = value.of.record
    ffi.wasmtime_component_valrecord_new_uninit(byref(record), len(fields))
    value.kind = RECORD
    for index, (name, inner) in enumerate(fields):
        member = record.data[index]
        lower_text(member.name, name)
        lower(member.val, inner, source[name])


def lower_list(value: Any, inner: Shape, source: Sequence[Any]) -> None:
    items = value.of.list
    ffi.wasmtime_component_vallist_new_uninit(byref(items), len(source))
    value.kind = LIST
    for index, each in enumerate(source):
        lower(items.data[index], inner, each)


def lower_bytes(value: Any, source: bytes) -> None:
    laid = bytearray(len(source) * WIDTH)
    laid[::WIDTH] = bytes([U8]) * len(source)
    laid[PAYLOAD::WIDTH] = source
    items = value.of.list
    ffi.wasmtime_component_vallist_new_uninit(byref(items), len(source))
    value.kind = LIST
    ctypes.memmove(items.data, (ctypes.c_char * len(laid)).from_buffer(laid), len(laid))


def boxed(shape: Shape, source: Any) -> Any:
    inner = Value()
    lower(inner, shape, source)
    return ffi.wasmtime_component_val_new(byref(inner))


U8 = ffi.WASMTIME_COMPONENT_U8.value
STRING = ffi.WASMTIME_COMPONENT_STRING.value
LIST = ffi.WASMTIME_COMPONENT_LIST.value
RECORD = ffi.WASMTIME_COMPONENT_RECORD.value
VARIANT = ffi.WASMTIME_COMPONENT_VARIANT.value
ENUM = ffi.WASMTIME_COMPONENT_ENUM.value
OPTION = ffi.WASMTIME_COMPONENT_OPTION.value

WIDTH = ctypes.sizeof(Value)
PAYLOAD = Value.of.offset
"""Offset of the payload in a value."""

# Layout of values in memory. Reading it at once takes two thirds of the time of reading field by field.
VALUE = Struct(f"B{PAYLOAD - 1}x{WIDTH - PAYLOAD}s")
VECTOR = Struct("NP")
MEMBER = Struct(f"NP{VALUE.format}")
POINTER = Struct("P")
RESULT = Struct("?P")

SCALARS: dict[str, tuple[int, str]] = {
    "bool": (ffi.WASMTIME_COMPONENT_BOOL.value, "boolean"),
    "u32": (ffi.WASMTIME_COMPONENT_U32.value, "u32"),
    "u64": (ffi.WASMTIME_COMPONENT_U64.value, "u64"),
}

LIFTS: dict[int, Callable[[bytes], Any]] = {
    ffi.WASMTIME_COMPONENT_BOOL.value: lambda of: of[0] != 0,
    ffi.WASMTIME_COMPONENT_U32.value: lambda of: int.from_bytes(of[:4], byteorder),
    ffi.WASMTIME_COMPONENT_U64.value: lambda of: int.from_bytes(of[:8], byteorder),
    STRING: lift_text,
    ENUM: lift_text,
    LIST: lift_list,
    RECORD: lift_record,
    OPTION: lift_option,
    ffi.WASMTIME_COMPONENT_RESULT.value: lift_result,
}
