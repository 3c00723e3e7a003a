"""The other paths that mounts give to a directory, on Linux: bind mounts and further mounts of one file system."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from ._directory import Directory
from ._resolve import Location, join, names_of, resolve


class MountEntry(NamedTuple):
    """One line of `/proc/self/mountinfo`."""

    number: int
    device: str
    source: str
    """The path, within the file system, of the directory or file that is mounted."""
    point: str
    """The mount point."""
    kind: str
    """The type of the file system."""


class MountTable:
    """The mounts of this process when the table was read. Empty on systems other than Linux."""

    def __init__(self, entries: Iterable[MountEntry]) -> None:
        self._entries = tuple(entries)

    @classmethod
    def read(cls) -> MountTable:
        """Reads the table. Raises `OSError` if it exists and cannot be parsed."""
        try:
            with open("/proc/self/mountinfo", "rb") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return cls(())
        try:
            return cls(parse(line) for line in lines)
        except ValueError:
            raise OSError(errno.EINVAL, "`/proc/self/mountinfo` has an unknown form") from None

    def points_of(self, *kinds: str) -> list[str]:
        """Returns the mount points of file systems of these types."""
        return [entry.point for entry in self._entries if entry.kind in kinds and visible(entry)]

    def aliases(self, location: Location) -> list[Location]:
        """Returns `location` and every other path that a mount gives it."""
        locations = [location]
        same, path = self._same_file_system(location)
        for entry in same:
            rest = relative(path, entry.source)
            if rest is None or join(entry.point, rest) == location.directory_path:
                continue
            other = resolve(join(entry.point, rest))
            # Another mount may cover this one.
            if other.failure is None and other.location.directory.identity == location.directory.identity:
                locations.append(Location(other.location.steps, location.names))
        return locations

    def parts(self, location: Location) -> list[Location]:
        """Returns the further mount points of entries in the directory at `location`."""
        same, path = self._same_file_system(location)
        path = join(path, location.names)
        points = [visible(entry) for entry in same if relative(entry.source, path)]
        return [point for point in points if point is not None]

    def _same_file_system(self, location: Location) -> tuple[list[MountEntry], str]:
        """Returns the mounts of a directory's file system, and the path of the directory in that file system."""
        number = mount_number(location.directory) if self._entries else None
        for entry in self._entries:
            below = relative(location.directory_path, entry.point) if entry.number == number else None
            if below is not None:
                return [each for each in self._entries if each.device == entry.device], join(entry.source, below)
        return [], ""


def visible(entry: MountEntry) -> Location | None:
    """Returns the path of an entry below a mount, unless another mount covers it."""
    point = resolve(entry.point)
    if point.failure is None and mount_number(point.location.directory) != entry.number:
        return None
    return point.location


def parse(line: bytes) -> MountEntry:
    """Parses a line of the table. Raises `ValueError` for a malformed line."""
    before, after = line.split(b" - ", 1)
    number, _, device, source, point, *_ = before.split(b" ")
    kind = after.split(b" ")[0]
    return MountEntry(int(number), device.decode(), unescaped(source), unescaped(point), kind.decode())


def unescaped(field: bytes) -> str:
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8) & 0xFF]), field))


def mount_number(directory: Directory) -> int | None:
    try:
        with open(f"/proc/self/fdinfo/{directory.descriptor}") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return int(fields["mnt_id"])
    except (OSError, KeyError, ValueError):
        return None


def relative(path: str, top: str) -> tuple[str, ...] | None:
    """Returns the names from `top` to `path`, if `path` is at or below `top`."""
    names, above = tuple(names_of(path)), tuple(names_of(top))
    return names[len(above) :] if names[: len(above)] == above else None
