"""Programs that are not the one whose checkpoint it is."""

import jax.numpy as jnp
import models  # type: ignore[import-not-found]
from flax import nnx

number = 3


class Renamed(nnx.Module):  # type: ignore[misc]
    """``linear`` is called ``fc`` now."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        old = models.Mlp(rngs)
        self.fc, self.norm, self.dropout, self.out = old.linear, old.norm, old.dropout, old.out


class Wider(models.Mlp):  # type: ignore[misc]
    """The first layer has twice as many features."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.linear = nnx.Linear(2, 8, rngs=rngs)


class Shorter(nnx.Module):  # type: ignore[misc]
    """The last layer is gone."""

    def __init__(self, *, rngs: nnx.Rngs) -> None:
        old = models.Mlp(rngs)
        self.linear, self.norm, self.dropout = old.linear, old.norm, old.dropout


class Longer(models.Mlp):  # type: ignore[misc]
    """There is one more layer."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.extra = nnx.Linear(3, 2, rngs=rngs)


class Half(models.Mlp):  # type: ignore[misc]
    """A layer has another type."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.linear = nnx.Linear(2, 4, param_dtype=jnp.bfloat16, rngs=rngs)


def failing(rngs: nnx.Rngs) -> nnx.Module:
    """Fail for the user's own reasons."""
    raise ZeroDivisionError("on purpose")


def needs_more(width: int, rngs: nnx.Rngs) -> nnx.Module:
    """Ask for something that the command cannot know."""
    return nnx.Linear(width, width, rngs=rngs)


def without_rngs() -> nnx.Module:
    """Make the streams itself."""
    model: nnx.Module = models.Mlp(models.new_rngs())
    return model


def returns_nothing(rngs: nnx.Rngs) -> None:
    """Forget the return."""
    models.Mlp(rngs)


def returns_class(rngs: nnx.Rngs) -> type:
    """Return the class instead of an object."""
    found: type = models.Mlp
    return found


def returns_settings(rngs: nnx.Rngs) -> dict[str, int]:
    """Return something else."""
    return {"layers": 3}


def leaves(rngs: nnx.Rngs) -> None:
    """End the program."""
    raise SystemExit(3)
