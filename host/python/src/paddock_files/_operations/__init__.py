"""The typed operations, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from ._changes import Changes
from ._reads import Reads
from ._searches import Searches


class Operations(Reads, Changes, Searches):
    """A method for each operation of `wit/files.wit` and `wit/search.wit`.

    Each method raises `ToolError` if the tool fails, with the error codes that it lists, and blocks the calling
    thread until the tool returns.
    """
