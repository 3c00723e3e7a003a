"""The types are generated from `wit/`, and match the records of the component."""

from __future__ import annotations

import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import wasmtime.component as wasm

from paddock_files import types
from paddock_files._engine import VERSION, runtime

HERE = Path(__file__).parent.parent


def test_they_are_made_from_wit() -> None:
    process = subprocess.run([sys.executable, str(HERE / "generate.py"), "--check"], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_the_component_has_the_records() -> None:
    types_by_name: dict[str, Any] = {}
    component = runtime().component
    for name, item in component.type.exports(runtime().engine).items():
        # Only hosts that run commands need these functions, and this host does not.
        if name.startswith("paddock:files/commands@"):
            continue
        if name.startswith("paddock:files/") and isinstance(item.ty, wasm.ComponentInstanceType):
            types_by_name |= {name: inner.ty for name, inner in item.ty.exports(runtime().engine).items()}
    assert f"paddock:files/files@{VERSION}" in component.type.exports(runtime().engine)
    count = 0
    for name, (record_type, fields) in types.RECORDS.items():
        record = types_by_name[name]
        assert isinstance(record, wasm.RecordType), name
        assert [(field, shape_of(kind)) for field, kind in record.fields] == [
            (field, plain(of)) for field, of in fields
        ], name
        if record_type is not None:
            hints = typing.get_type_hints(record_type, vars(types) | {"ToolError": Exception})
            assert list(hints) == [field.replace("-", "_") for field, _ in fields], name
        count += 1
    for name, cases in types.ENUMS.items():
        assert frozenset(types_by_name[name].names) == cases, name
    assert count > 40


def plain(shape: Any) -> Any:
    """Returns a shape by its kinds alone, in the form in which the component describes types."""
    if isinstance(shape, tuple):
        return shape[0], plain(shape[1])
    if shape in types.ENUMS:
        return "enum"
    return "record" if shape in types.RECORDS or shape == "error" else shape


def shape_of(kind: Any) -> Any:
    match kind:
        case wasm.ListType():
            return "list", shape_of(kind.element)
        case wasm.OptionType():
            return "option", shape_of(kind.payload)
        case wasm.ResultType():
            return "result", shape_of(kind.ok)
        case wasm.RecordType():
            return "record"
        case wasm.EnumType():
            return "enum"
        case _:
            return type(kind).__name__.lower()
