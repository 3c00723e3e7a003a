"""How a call ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .errors import ToolError

if TYPE_CHECKING:
    from .types import Change, Plan


@dataclass(frozen=True)
class Outcome:
    """How a call ended: a failure of the tool is a value too."""

    ok: bool
    """Whether the tool did what was asked."""
    result_json: str
    """The result as JSON, in the dialect's shape; where `ok` is false, the error as the dialect tells it."""
    text: str
    """The result as text for the model."""
    error: ToolError | None = None
    """Why it failed, where `ok` is false."""
    changes: list[Change] = field(default_factory=list)
    """What it changed, in the order in which it was done."""
    truncated: bool = False
    """Whether a limit cut the result short; the result says what continues it."""
    plan: Plan | None = None
    """What a person would have to approve, where that is why it failed."""

    @cached_property
    def result(self) -> Any:
        """`result_json` as a value."""
        return json.loads(self.result_json)

    @classmethod
    def failed(cls, error: ToolError) -> Outcome:
        """The outcome of a call that the host ended, or that never got to the tool."""
        shown = {"code": error.code, "message": error.message, "path": error.path, "hint": error.hint}
        return cls(ok=False, result_json=compact(shown), text=str(error), error=error)

    def to_json(self) -> str:
        """The one JSON object that the command line prints."""
        parts = [f'"ok":{"true" if self.ok else "false"}']
        if self.ok:
            parts += [f'"result":{self.result_json}', f'"text":{compact(self.text)}']
        else:
            parts.append(f'"error":{self.result_json}')
        # A failed call seldom changes anything; where it did, that has to be said.
        if self.ok or self.changes:
            parts.append(f'"changes":{compact([shown_change(change) for change in self.changes])}')
        return "{" + ",".join(parts) + "}"


def shown_change(change: Change) -> dict[str, str | int]:
    """A change as JSON has it: without what does not apply."""
    shown: dict[str, str | int] = {"kind": change.kind, "path": change.path}
    if change.to is not None:
        shown["to"] = change.to
    if change.size is not None:
        shown["size"] = change.size
    return shown


def compact(value: object) -> str:
    """JSON without white space, as the component writes it."""
    return ENCODER.encode(value)


ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
