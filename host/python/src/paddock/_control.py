"""When a call has to end."""

from __future__ import annotations

import math
import time

TICK_S = 0.01
"""How often a running call's deadline is looked at."""


class Control:
    """When one call has to end."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def remaining_s(self) -> float:
        return self.deadline - time.monotonic()

    def ticks(self) -> int:
        """Ticks of the engine's clock that are left, at least one."""
        return max(1, min(math.ceil(self.remaining_s() / TICK_S), 2**62))

    def is_over(self) -> bool:
        return self.remaining_s() <= 0
