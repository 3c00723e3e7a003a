"""The policy: the settings that the host applies, and the policy of the guest.

The component defines names, types and meaning of the settings. This module checks only the settings that hosts apply
themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from .errors import PolicyError
from .outcome import compact

if TYPE_CHECKING:
    from ._mounts import Access, Root

PolicyLike = Union[Mapping[str, Any], str]
"""A policy as a mapping, or as JSON."""

RESERVED = ("backend", "roots", "host", "narrowed")
"""Names next to the settings in the policy of the guest."""


@dataclass(frozen=True)
class Policy:
    """A policy, and the settings in it that the host applies."""

    settings: dict[str, Any] = field(default_factory=dict)
    mode: str = "restricted"
    read_only: bool = False
    allowed_directories: list[tuple[str, Access]] = field(default_factory=list)
    max_time_ms: int = 30_000
    max_memory_bytes: int = 256 * 1024 * 1024

    @classmethod
    def parse(cls, policy: PolicyLike | None, *, read_only: bool = False) -> Policy:
        """Reads a policy. Raises `PolicyError` if a setting that the host applies is invalid."""
        settings = mapping(policy)
        if read_only:
            settings["read_only"] = True
        for name in RESERVED:
            if name in settings:
                raise PolicyError(f"wrong policy: unknown field `{name}`")
        if settings.get("enable_audit_logging"):
            cause = "this host keeps no audit; leave it out, or run the tools by the `paddock` binary"
            raise PolicyError(f"wrong policy: `enable_audit_logging`: {cause}")
        limits = settings.get("limits", {})
        if not isinstance(limits, dict):
            raise PolicyError("wrong policy: `limits` is a table of settings")
        check(settings, limits)
        return cls(
            settings,
            mode=settings.get("mode", cls.mode),
            read_only=settings.get("read_only") is True,
            allowed_directories=[allowed(each) for each in listed(settings, "allowed_directories")],
            max_time_ms=number(limits, "max_time_ms", cls.max_time_ms),
            max_memory_bytes=number(limits, "max_memory_bytes", cls.max_memory_bytes),
        )


def mapping(policy: PolicyLike | None) -> dict[str, Any]:
    """Returns a copy of a policy's settings."""
    try:
        # The conversion to JSON refuses values that the guest cannot get.
        text = policy if isinstance(policy, str) else json.dumps(policy or {}, allow_nan=False)
        settings = json.loads(text)
    except (TypeError, ValueError) as cause:
        raise PolicyError(f"cannot read the policy: {cause}") from None
    if not isinstance(settings, dict):
        raise PolicyError("cannot read the policy: it is a table of settings")
    return settings


def check(settings: dict[str, Any], limits: dict[str, Any]) -> None:
    """Refuses contradictory settings and settings without effect, as every host does."""
    for name in ("allowed_extensions", "blocked_extensions"):
        for extension in listed(settings, name):
            if not is_extension(extension):
                raise PolicyError(f"wrong policy: `{name}`: `{extension}` is not an extension; write it like `.md`")
    allowed = {str(extension).lower() for extension in listed(settings, "allowed_extensions")}
    for extension in listed(settings, "blocked_extensions"):
        if extension.lower() in allowed:
            cause = f"`{extension}` is in `allowed_extensions` too"
            raise PolicyError(f"wrong policy: `blocked_extensions`: {cause}")
    for path in listed(settings, "blocked_directories"):
        if not names_something(path):
            cause = f"`{path}` names nothing below the top of a root"
            raise PolicyError(f"wrong policy: `blocked_directories`: {cause}")
    for name in ("max_lines", "max_line_chars", "max_result_bytes", "max_files", "max_entries", "max_time_ms"):
        if number(limits, name, 1) == 0:
            raise PolicyError(f"wrong policy: `limits.{name}`: must be at least 1")
    for name in ("max_line_chars", "max_result_bytes"):
        if number(limits, name, 1) >= 2**32:
            raise PolicyError(f"wrong policy: `limits.{name}`: must be at most {2**32 - 1}")


def is_extension(text: object) -> bool:
    """Returns whether the text is a dot with a name, or empty, which stands for files without an extension."""
    if not isinstance(text, str):
        return False
    return text == "" or (text.startswith(".") and len(text) > 1 and not any(odd in text for odd in "/\\\0"))


def names_something(path: object) -> bool:
    """Returns whether a blocked path contains a name, and no part that a resolved path never has."""
    if not isinstance(path, str):
        return False
    names = [name for name in path.split("/") if name not in ("", ".")]
    return bool(names) and ".." not in names and not any(odd in path for odd in "\\\0")


def listed(settings: dict[str, Any], name: str) -> list[Any]:
    values = settings.get(name, [])
    if not isinstance(values, list):
        raise PolicyError(f"wrong policy: `{name}` is a list")
    return values


def number(limits: dict[str, Any], name: str, default: int) -> int:
    value = limits.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise PolicyError(f"wrong policy: `limits.{name}` is a whole number, not {value!r}")
    return value


def allowed(directory: object) -> tuple[str, Access]:
    """Returns the path and the access of a further root."""
    access: object = "read-write"
    if isinstance(directory, dict):
        access = directory.get("access", access)
        directory = directory.get("path")
    if not isinstance(directory, str) or access not in ("read-only", "read-write"):
        cause = 'an entry is a path, or {"path": …, "access": "read-only" or "read-write"}'
        raise PolicyError(f"wrong policy: `allowed_directories`: {cause}")
    return directory, "read-only" if access == "read-only" else "read-write"


def environment(
    policy: Policy, backend: str, roots: list[Root], host: dict[str, Any], blocked: Iterable[str] = ()
) -> str:
    """Returns `PADDOCK_POLICY` for the guest: the settings, and the values that describe the host.

    `blocked` are further paths of blocked directories: the guest compares paths, and does not know the links of the
    host.
    """
    settings = dict(policy.settings)
    known = blocked_directories(policy)
    if more := [path for path in dict.fromkeys(blocked) if path not in known]:
        settings["blocked_directories"] = [*known, *more]
    settings["backend"] = backend
    settings["roots"] = [
        {
            "guest": root.guest,
            "host": root.host,
            "aliases": list(root.aliases),
            "id": f"{root.directory.identity[1]}:{root.host}",
            "access": root.access,
        }
        for root in roots
    ]
    settings["host"] = {**host, "name_case": "snake_case"}
    return compact(settings)


def blocked_directories(policy: Policy) -> list[str]:
    return listed(policy.settings, "blocked_directories")
