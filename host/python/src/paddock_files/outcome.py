"""Results of tool calls."""

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
    """Result of a tool call. A failure of the tool is a value too."""

    ok: bool
    """Whether the call succeeded."""
    result_json: str
    """The result as JSON, in the dialect's shape. If `ok` is false, the error in the dialect's shape."""
    text: str
    """The result as text for the model."""
    error: ToolError | None = None
    """The failure, if `ok` is false."""
    changes: list[Change] = field(default_factory=list)
    """Changes that the call made, in order."""
    truncated: bool = False
    """Whether a limit cut the result short. The result then says which argument continues it."""
    plan: Plan | None = None
    """The plan to approve, if the call failed because it needs approval."""

    @cached_property
    def result(self) -> Any:
        """Returns `result_json` as a value."""
        return json.loads(self.result_json)

    @classmethod
    def failed(cls, error: ToolError) -> Outcome:
        """Returns the outcome of a call that the host ended, or that did not reach the tool."""
        return cls(ok=False, result_json=compact(plain_error(error)), text=str(error), error=error)

    def to_json(self) -> str:
        """Returns the JSON object that the command line prints."""
        parts = [f'"ok":{"true" if self.ok else "false"}']
        if self.error is not None:
            parts.append(f'"error":{compact(plain_error(self.error))}')
        parts += [f'"result":{self.result_json}', f'"text":{compact(self.text)}']
        # A failed call seldom changes anything. If it did, the output contains the changes.
        if self.ok or self.changes:
            parts.append(f'"changes":{compact([plain_change(change) for change in self.changes])}')
        return "{" + ",".join(parts) + "}"


def plain_error(error: ToolError) -> dict[str, str | None]:
    """Returns an error for JSON, with the same members in every dialect."""
    return {"code": error.code, "message": error.message, "path": error.path, "hint": error.hint}


def plain_change(change: Change) -> dict[str, str | int]:
    """Returns a change for JSON, without fields that do not apply."""
    plain: dict[str, str | int] = {"kind": change.kind, "path": change.path}
    if change.to is not None:
        plain["to"] = change.to
    if change.size is not None:
        plain["size"] = change.size
    return plain


def compact(value: object) -> str:
    """Returns JSON without white space, as the component writes it."""
    return ENCODER.encode(value)


ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
