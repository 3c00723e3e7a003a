"""Calls that a person is asked about first: who decides, and the signature that the guest believes."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NewType, Optional, Union

if TYPE_CHECKING:
    from .types import Plan

Decision = Union[bool, str, None]
"""What somebody says to a plan: True, it may be done; False or a reason, it may not; None, neither yet."""

Approver = Callable[["Plan"], Decision]
"""Asks somebody, on the thread of the call; it may wait for the answer as long as that takes."""

Grant = NewType("Grant", str)
"""Leave for one call to do what a plan says: `Workspace.grant` gives it, `Workspace.call` takes it."""

AT_ONCE_S = 60.0
"""How long what was just decided is good for."""


class Refused(str):
    """What the guest is told where a call may not be made: the reason."""


Said = Optional[Union[Grant, Refused]]


class Desk:
    """Signs grants, and takes each back once."""

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._given: dict[str, float] = {}
        self._lock = threading.Lock()

    def key(self) -> str:
        """The key in hexadecimal, for the guest."""
        return self._key.hex()

    def grant(self, plan: Plan, seconds: float) -> Grant:
        """Leave to do what the plan says, for that long."""
        expires = time.time() + seconds
        said = f"{int(expires * 1000):x}.{os.urandom(16).hex()}"
        message = f"paddock approval 1\n{said}\n{plan.digest}"
        grant = Grant(f"{said}.{hmac.new(self._key, message.encode(), hashlib.sha256).hexdigest()}")
        with self._lock:
            self._given = {known: until for known, until in self._given.items() if until > time.time()}
            self._given[grant] = expires
        return grant

    def take(self, grant: str) -> Grant | Refused:
        """What the guest is told of a grant, which is good once."""
        with self._lock:
            expires = self._given.pop(grant, None)
        if expires is None:
            return Refused("the approval was used before, or not given here")
        return Grant(grant) if expires > time.time() else Refused("the approval came too late")

    def decided(self, plan: Plan, decision: Decision) -> Said:
        """What the guest is told of a decision, if there is one."""
        if decision is None:
            return None
        if decision is True:
            return self.take(self.grant(plan, AT_ONCE_S))
        return Refused(decision or "")
