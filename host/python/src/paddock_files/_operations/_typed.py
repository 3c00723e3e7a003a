"""The call that every typed operation makes, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from typing import Any


class Typed:
    """The base class of the typed operations."""

    def _typed(
        self, interface: str, function: str, arguments: tuple[str, tuple[object, ...]], result: str, *, changing: bool
    ) -> Any:
        raise NotImplementedError
