"""How much of what is copied the system can keep in its cache."""

from __future__ import annotations

import os


def available() -> int:
    """Return how many bytes of memory can be had without taking them from anybody; 0 where the system does not say."""
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
