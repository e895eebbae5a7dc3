"""How much of what is copied the system can keep in its cache."""

from __future__ import annotations

import math
import os

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available() -> int:
    """Return how many bytes of memory can be had without taking them from anybody; 0 where the system does not say.

    In a container it is at most what that may have.
    """
    return int(min(_free(), *(_limit(path) for path in _LIMITS)))


def _limit(path: str) -> float:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):  # none, or "max"
        return math.inf


def _free() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass  # not Linux, or a container that hides it
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
