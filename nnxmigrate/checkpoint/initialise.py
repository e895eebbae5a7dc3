"""The new program's tree: its shapes by abstract evaluation, and the few values that must be computed.

Only leaves that are asked for leave the one compiled function. The constructor's other work is dead code to XLA, which
removes it: no initialiser runs and no parameter is ever allocated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.plan import Layout, Target, TargetLeaf
from nnxmigrate.checkpoint.tree import DICT_KEY, SEQUENCE_KEY, Path


@dataclass(frozen=True)
class CompiledSizes:
    """What XLA says about the compiled function, in bytes."""

    output: int
    temporary: int


@dataclass(frozen=True)
class NamedLeaf:
    """A leaf of a live tree, concrete or traced.

    Attributes:
        path: its path as Orbax would store an ``nnx.State``.
        key_types: Orbax's types of the keys of ``path``.
        value_at: position in ``path`` of the key that a pure dict leaves out; None if it leaves out nothing.
        rng: whether it belongs to a Variable of RNG state.
        value: the array or number.
    """

    path: Path
    key_types: tuple[int, ...]
    value_at: int | None
    rng: bool
    value: Any


class Program:
    """What the new program saves.

    Attributes:
        target: its leaves.
        eager: whether the model was really built, instead of traced.
        plain: whether the program saves the state of a single NNX object, not a tree of several.
        notes: what the user should know, a line each.
        sizes: what the compiled function needs; None until it ran, and for a model that was really built.
    """

    def __init__(self, make: Callable[[], Any], eager: bool | None = None, with_optimizer: bool = False) -> None:
        """Find out the tree.

        Args:
            make: builds the model, or the optimizer, or the tree that the program saves.
            eager: True to really build it, False to trace it only; None to trace it and build it if that fails.
            with_optimizer: whether a pair of a model and an optimizer stands for the tree of an optimizer of 0.10.

        Raises:
            CheckpointError: if ``make`` raises an error.
        """
        self._make = make
        self._with_optimizer = with_optimizer
        self._built: list[NamedLeaf] | None = None
        self.notes: tuple[str, ...] = ()
        self.sizes: CompiledSizes | None = None
        self.plain = True
        self.eager = bool(eager)
        if not self.eager:
            try:
                self.target = self._traced()
            except Exception as error:
                if eager is False:
                    raise CheckpointError(f"the model cannot be traced: {_said(error)}") from error
                self.build(f"the model cannot be traced ({_said(error).splitlines()[0]}), so it is really built")
        else:
            self.build()

    def build(self, reason: str = "") -> None:
        """Really build the model, for constructors that cannot be traced.

        Args:
            reason: why, for the :attr:`notes`.

        Raises:
            CheckpointError: if the constructor raises an error.
        """
        try:
            self._built = self._leaves()
        except Exception as error:
            raise CheckpointError(f"building the model failed: {_said(error)}") from error
        self.eager = True
        self.target = _target_of(self._built)
        if reason:
            self.notes = (*self.notes, reason)

    @property
    def may_hide_arrays(self) -> bool:
        """Whether the tree may lack plain array attributes, which Flax 0.12 takes for static while it traces."""
        import flax

        return not self.eager and tuple(int(part) for part in flax.__version__.split(".")[:2]) >= (0, 12)

    def initial(self, leaves: Iterable[TargetLeaf]) -> dict[Path, Any]:
        """Compute the initial values of ``leaves``.

        Returns:
            NumPy arrays, of typed keys their uint32 data, by :attr:`TargetLeaf.origin`.
        """
        import numpy

        wanted = [leaf.origin for leaf in leaves]
        if not wanted:
            return {}
        if self._built is not None:
            held = {leaf.path: leaf.value for leaf in self._built}
            values = [_data(held[path]) for path in wanted]
        else:
            compiled = self.compiled(wanted)
            analysis = compiled.memory_analysis()
            self.sizes = CompiledSizes(analysis.output_size_in_bytes, analysis.temp_size_in_bytes)
            values = compiled()
        return {path: numpy.asarray(_here(value)) for path, value in zip(wanted, values, strict=True)}

    def compiled(self, wanted: Iterable[Path]) -> Any:
        """Return the compiled function that gives the initial values of the leaves at ``wanted``, as a list."""
        import jax

        paths = list(wanted)

        def initial() -> list[Any]:
            held = {leaf.path: leaf.value for leaf in self._leaves()}
            return [_data(held[path]) for path in paths]

        return jax.jit(initial).lower().compile()

    @property
    def paths(self) -> list[Path]:
        """The paths of all leaves as of an ``nnx.State``, in the order of ``jax.tree.leaves``."""
        return list(self.target[Layout.STATE])

    def _traced(self) -> Target:
        import jax

        found: list[Target] = []

        def trace() -> None:
            found.append(_target_of(self._leaves()))

        jax.eval_shape(trace)
        return found[-1]

    def _leaves(self) -> list[NamedLeaf]:
        made = self._make()
        self.plain = isinstance(made, _node_type())
        return list(named_leaves(saved_tree(made, self._with_optimizer)))


def saved_tree(made: Any, with_optimizer: bool = False) -> Any:
    """Return what a program saves of ``made``: the state of every NNX object in it, all else as it is.

    Args:
        made: an NNX object, or a tree of NNX objects, states and arrays.
        with_optimizer: whether a pair of a model and an optimizer becomes the tree of an optimizer of 0.10.
    """
    import jax
    from flax import nnx

    node = _node_type()
    if with_optimizer and isinstance(made, tuple) and len(made) == 2:
        model, optimizer = made
        return {"model": nnx.state(model), **nnx.state(optimizer)}
    return jax.tree.map(
        lambda one: nnx.state(one) if isinstance(one, node) else one, made, is_leaf=lambda one: isinstance(one, node)
    )


def _node_type() -> Any:
    """Return the class of all NNX objects: ``Object`` was its name before Flax 0.11.1."""
    from flax import nnx

    return getattr(nnx, "Pytree", None) or nnx.Object


def named_leaves(tree: Any) -> Iterator[NamedLeaf]:
    """Give the leaves of a tree of states and arrays, with the names under which Orbax stores them."""
    import jax
    from flax import nnx

    variables = tuple({nnx.Variable, getattr(nnx, "VariableState", nnx.Variable)})
    flat = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda one: isinstance(one, variables))[0]
    for keys, leaf in flat:
        path, types = _names(keys)
        if not isinstance(leaf, variables):
            yield NamedLeaf(path, types, None, False, leaf)
            continue
        rng = issubclass(getattr(leaf, "type", type(leaf)), nnx.RngState)
        for inner_keys, value in jax.tree_util.tree_flatten_with_path(leaf)[0]:
            inner, inner_types = _names(inner_keys)
            yield NamedLeaf((*path, *inner), (*types, *inner_types), len(path), rng, value)


def _names(keys: Iterable[Any]) -> tuple[Path, tuple[int, ...]]:
    names, types = [], []
    for key in keys:
        index = getattr(key, "idx", None)
        names.append(str(index if index is not None else getattr(key, "key", getattr(key, "name", key))))
        types.append(DICT_KEY if index is None else SEQUENCE_KEY)
    return tuple(names), tuple(types)


def _target_of(leaves: Iterable[NamedLeaf]) -> Target:
    state: dict[Path, TargetLeaf] = {}
    pure: dict[Path, TargetLeaf] = {}
    for leaf in leaves:
        kind, shape, dtype, key_impl = array_type(leaf.value)
        path, types = leaf.path, leaf.key_types
        found = TargetLeaf(path, types, kind, shape, dtype, key_impl, rng=leaf.rng, origin=path)
        state[path] = found
        if leaf.value_at is not None:
            path = path[: leaf.value_at] + path[leaf.value_at + 1 :]
            types = types[: leaf.value_at] + types[leaf.value_at + 1 :]
        pure[path] = replace(found, path=path, key_types=types)
    return {Layout.STATE: state, Layout.PURE: pure}


def array_type(value: Any) -> tuple[str, tuple[int, ...] | None, str | None, str | None]:
    """Return the kind, the stored shape and dtype and the PRNG implementation of a live leaf, as of a stored one."""
    import jax
    import numpy

    if _is_key(value):
        data = jax.eval_shape(jax.random.key_data, value)
        return "jax.Array", tuple(data.shape), data.dtype.name, str(jax.random.key_impl(value))
    if isinstance(value, jax.Array):
        return "jax.Array", tuple(value.shape), value.dtype.name, None
    if isinstance(value, (numpy.ndarray, numpy.generic, bool, int, float, complex)):
        array = numpy.asarray(value)
        return "np.ndarray" if array.ndim else "scalar", array.shape, array.dtype.name, None
    return type(value).__name__, None, None, None


def _is_key(value: Any) -> bool:
    import jax

    return isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def _data(value: Any) -> Any:
    import jax

    return jax.random.key_data(value) if _is_key(value) else value


def _here(value: Any) -> Any:
    """Return the part of an array that this process holds: all of it, for what is on every device."""
    import jax

    return value.addressable_data(0) if isinstance(value, jax.Array) and not value.is_fully_addressable else value


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
