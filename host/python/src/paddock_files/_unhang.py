"""Frees a thread that is blocked in the open of a FIFO which another process has put in the place of a file.

The guest examines a name before it opens it, and opens regular files only. In between, another process can swap in a
FIFO. Wasmtime's own open then blocks without limit, and no deadline ends it. This module opens the other end of the
FIFO for a moment: the open succeeds, and the guest refuses the result. Linux reports the system call in which a thread
waits; on other systems such a call hangs.
"""

from __future__ import annotations

import os
import platform
import stat
import struct
import sys

OPENS = {"x86_64": (257, 437), "aarch64": (56, 437)}.get(platform.machine(), ())
"""The numbers of `openat` and `openat2`."""
AT_FDCWD = 2**32 - 100
LONGEST = 4096
"""Maximum bytes of a path, including the terminating NUL."""


def free_stuck_opens() -> None:
    """Opens the other end of every FIFO in whose open a thread of this process waits."""
    if sys.platform != "linux" or not OPENS:
        return
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                free(thread, memory)
            except (OSError, ValueError, struct.error):
                # The thread has continued in the meantime.
                continue
    finally:
        os.close(memory)


def free(thread: str, memory: int) -> None:
    with open(f"/proc/self/task/{thread}/syscall") as file:
        words = file.read().split()
    if len(words) < 3 or not words[0].isdigit() or int(words[0]) not in OPENS:
        return
    directory, address = int(words[1], 16) & (2**32 - 1), int(words[2], 16)
    path = os.pread(memory, LONGEST, address).split(b"\0")[0]
    within = None if directory == AT_FDCWD else directory
    # This descriptor examines the file without opening it, and then opens exactly that file.
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            os.close(os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    finally:
        os.close(descriptor)
