"""Approval of calls: the decision of a person, and the signature by which the guest verifies it."""

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
"""A decision about a plan: True approves, False or a reason refuses, None leaves it open."""

Approver = Callable[["Plan"], Decision]
"""A function that decides about a plan, on the thread of the call; it may block for any time."""

Grant = NewType("Grant", str)
"""Permission for one call to carry out a plan: `Workspace.grant` makes it, `Workspace.call` takes it."""

AT_ONCE_S = 60.0
"""Validity of a decision of an approver."""


class Refused(str):
    """A refusal, with the reason that the guest reports."""


DecisionForGuest = Optional[Union[Grant, Refused]]


class ApprovalSigner:
    """Signs grants, and accepts each of them once."""

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._open_grants: dict[str, float] = {}
        self._lock = threading.Lock()

    def key(self) -> str:
        """Returns the key in hexadecimal, for the guest."""
        return self._key.hex()

    def grant(self, plan: Plan, seconds: float) -> Grant:
        """Returns a grant for the plan, valid for that time."""
        expires = time.time() + seconds
        validity = f"{int(expires * 1000):x}.{os.urandom(16).hex()}"
        message = f"paddock approval 1\n{validity}\n{plan.digest}"
        grant = Grant(f"{validity}.{hmac.new(self._key, message.encode(), hashlib.sha256).hexdigest()}")
        with self._lock:
            self._open_grants = {known: until for known, until in self._open_grants.items() if until > time.time()}
            self._open_grants[grant] = expires
        return grant

    def take(self, grant: str) -> Grant | Refused:
        """Returns the decision of a grant for the guest. A grant is valid once."""
        with self._lock:
            expires = self._open_grants.pop(grant, None)
        if expires is None:
            return Refused("the approval was used before, or not given here")
        return Grant(grant) if expires > time.time() else Refused("the approval came too late")

    def decided(self, plan: Plan, decision: Decision) -> DecisionForGuest:
        """Returns a decision for the guest, or None if it is still open."""
        if decision is None:
            return None
        if decision is True:
            return self.take(self.grant(plan, AT_ONCE_S))
        return Refused(decision or "")
