"""A training script that needs something that is not installed here."""

import no_such_dependency.datasets  # type: ignore[import-not-found]  # noqa: F401


def make(rngs: object) -> None:
    """Never called."""
