"""Files that are installed with the code."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

HERE = Path(__file__).parent.parent


def test_the_licence_is_installed() -> None:
    installed = distribution("paddock-files")
    assert installed.metadata["License-Expression"] == "Apache-2.0 OR MIT"
    assert installed.read_text("licenses/LICENSE") == (HERE / "../../LICENSE").read_text()
    assert (HERE / "LICENSE").read_text() == (HERE / "../../LICENSE").read_text()
