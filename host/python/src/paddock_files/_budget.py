"""Deadlines of calls."""

from __future__ import annotations

import math
import time

TICK_S = 0.01
"""Interval at which the deadline of a running call is checked."""


class CallBudget:
    """The deadline of one call."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def remaining_s(self) -> float:
        return self.deadline - time.monotonic()

    def ticks(self) -> int:
        """Returns the remaining ticks of the engine's clock, at least one."""
        return max(1, min(math.ceil(self.remaining_s() / TICK_S), 2**62))

    def is_over(self) -> bool:
        return self.remaining_s() <= 0
