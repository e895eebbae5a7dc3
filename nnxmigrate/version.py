"""The version of this package; what builds, reports and caches name comes from here."""

from __future__ import annotations

__version__ = "0.1.0"
