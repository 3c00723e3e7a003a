"""The records of the interface `tools`, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from dataclasses import dataclass



@dataclass(frozen=True)
class Annotations:
    """Hints on what a tool does, as in the Model Context Protocol."""

    title: str
    """A title for people."""
    read_only: bool
    """The tool changes nothing."""
    destructive: bool
    """The tool can replace or remove what is there."""
    idempotent: bool
    """A second call with the same arguments changes nothing more."""


@dataclass(frozen=True)
class Tool:
    """One tool of a dialect."""

    name: str
    """The name that `call` takes."""
    description: str
    """What it does, for the model."""
    input_schema: str
    """JSON Schema (2020-12) of the arguments, an object."""
    output_schema: str
    """JSON Schema (2020-12) of the result, an object."""
    annotations: Annotations
    """What it does to files."""
