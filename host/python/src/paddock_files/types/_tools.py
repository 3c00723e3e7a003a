"""The records of the interface `tools`, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from dataclasses import dataclass



@dataclass(frozen=True)
class Annotations:
    """Hints on the behaviour of a tool, as in the Model Context Protocol."""

    title: str
    """Title for display to people."""
    read_only: bool
    """Whether the tool changes nothing."""
    destructive: bool
    """Whether the tool can replace or remove existing content."""
    idempotent: bool
    """Whether a second call with the same arguments changes nothing more."""


@dataclass(frozen=True)
class Tool:
    """One tool of a dialect."""

    name: str
    """The name that `call` takes."""
    description: str
    """Description for the model."""
    input_schema: str
    """JSON Schema (2020-12) of the arguments, which are an object."""
    output_schema: str
    """JSON Schema (2020-12) of the result, which is an object."""
    annotations: Annotations
    """Hints on the behaviour of the tool."""
