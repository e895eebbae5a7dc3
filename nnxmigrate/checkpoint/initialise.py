"""The new program's tree: its shapes by abstract evaluation, and the few values that must be computed.

Only leaves that are asked for leave the one compiled function. The constructor's other work is dead code to XLA, which
removes it: no initialiser runs and no parameter is ever allocated.
"""

from __future__ import annotations

import enum
import pathlib
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.rng import proven_streams
from nnxmigrate.checkpoint.target import Layout, Target, TargetLeaf
from nnxmigrate.checkpoint.tree import DICT_KEY, SEQUENCE_KEY, Path


class Made(enum.Enum):
    """What a factory returned."""

    MODEL = enum.auto()  # or any other object that is no optimizer
    OPTIMIZER = enum.auto()  # without its model
    HOLDER = enum.auto()  # an optimizer that holds its model
    PAIR = enum.auto()  # a model and its optimizer, for the tree of one that holds it
    TREE = enum.auto()


class Form(enum.Enum):
    """How a program made what it saved of the tree that its factory returns; what several objects share is in one."""

    PIECES = enum.auto()  # the state of every object in it: {"model": nnx.state(model), "step": step}
    ONE = enum.auto()  # the state of the whole tree: nnx.state((model, optimizer))
    EACH = enum.auto()  # the state of what is below each key: {"actor": nnx.state((model, optimizer))}
    HOLDERS = enum.auto()  # as EACH, but a pair of a model and its optimizer as the optimizer of 0.10 that holds both


@dataclass(frozen=True)
class Held:
    """An NNX object or state in a tree that a program saves.

    Attributes:
        keys: the keys that lead to it, as Python writes them.
        is_object: whether it is an object, whose state is saved.
        only_rng: whether there is nothing but RNG state in it.
        is_pair: whether it is a model and its optimizer, saved as one optimizer that holds the model.
    """

    keys: tuple[str, ...]
    is_object: bool
    only_rng: bool
    is_pair: bool = False


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
        value: the array or number; a ``None`` or an empty container has its place too.
        variable: the name of its Variable's class; empty if it is in none.
        variable_class: that class; None if it is in none.
        tag: of RNG state, the name of its stream in the ``nnx.Rngs`` that made it; empty if unknown.
    """

    path: Path
    key_types: tuple[int, ...]
    value_at: int | None
    rng: bool
    value: Any
    variable: str = ""
    variable_class: type | None = None
    tag: str = ""


#: Flax 0.11 cannot make an optimizer of masked parts, as those of optax.masked and optax.set_to_zero.
_ALONE = "a factory that returns the model without its optimizer will do: the optimizer's state is kept as stored"


class Program:
    """What the new program saves.

    Attributes:
        target: its leaves.
        eager: whether the model was really built, instead of traced.
        made: what the factory returned.
        held: the NNX objects and states in it, if it is a tree.
        keys: the keys of the dict that it saves; none if that is no dict.
        unsharded: whether it was made without the shardings of its Variables, for want of a mesh.
        form: how it makes what it saves of the tree.
        parted: what the factory returned of which a dict of the model and the optimizer was made; else None.
        notes: what the user should know, a line each.
        sizes: what the compiled function needs; None until it ran, and for a model that was really built.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        eager: bool | None = None,
        with_optimizer: bool = False,
        form: Form = Form.PIECES,
        parted: Made | None = None,
    ) -> None:
        """Find out the tree.

        Args:
            make: builds the model, or the optimizer, or the tree that the program saves.
            eager: True to really build it, False to trace it only; None to trace it and build it if that fails.
            with_optimizer: whether a pair of a model and an optimizer stands for the tree of an optimizer of 0.10.
            form: how it makes what it saves of a tree.
            parted: what ``make`` made a dict of the model and the optimizer of; None if it did not.

        Raises:
            CheckpointError: if ``make`` raises an error.
        """
        self._make = self._original = make
        self.parted = parted
        self._in_items: Program | None = None
        self._is_pair = False
        self._with_optimizer = with_optimizer
        self._others: dict[Form, Program | None] = {}
        self.form = form
        self._built: list[NamedLeaf] | None = None
        self._computed: dict[Path, Any] = {}
        self.notes: tuple[str, ...] = ()
        self.sizes: CompiledSizes | None = None
        self.made = Made.MODEL
        self.held: tuple[Held, ...] = ()
        self.keys: tuple[str, ...] = ()
        self.unsharded = False
        self.eager = bool(eager)
        if self.eager:
            self.build()
            return
        try:
            self.target = self._traced_in_any_mesh()
        except (CheckpointError, SystemExit) as error:
            raise _ended(error) from error
        except Exception as error:
            if eager is False:
                raise CheckpointError(f"the model cannot be traced: {_said(error)}") from error
            self.build(f"the model cannot be traced ({_said(error).splitlines()[0]}), so it is really built")

    def build(self, reason: str = "") -> None:
        """Really build the model, for constructors that cannot be traced.

        Args:
            reason: why, for the :attr:`notes`.

        Raises:
            CheckpointError: if the constructor raises an error.
        """
        try:
            self._built = self._leaves()
        except (CheckpointError, SystemExit) as error:
            raise _ended(error) from error
        except Exception as error:
            hint = _ALONE if self._with_optimizer or _in_an_optimizer(error) else ""
            if "No RngStream named" in str(error):
                hint = "--rngs names all streams that the model draws from, such as params=0,dropout=1"
            raise CheckpointError(f"building the model failed: {_said(error)}", hint) from error
        self.eager = True
        self.target = _target_of(self._built)
        if reason:
            self.notes = (*self.notes, reason)

    @property
    def plain(self) -> bool:
        """Whether the program saves the state of a single NNX object, not a tree of several."""
        return self.made in (Made.MODEL, Made.OPTIMIZER, Made.HOLDER)

    @property
    def filters_rng(self) -> bool:
        """Whether a filter leaves all RNG state out of what the program saves, and something everywhere."""
        if self.plain:
            return True
        bare = any(leaf.rng and not leaf.variable for leaf in self.target[Layout.STATE].values())
        return self.form is Form.PIECES and not bare and not any(one.only_rng for one in self.held)

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
        wanted = [leaf.origin for leaf in leaves]
        missing = [path for path in wanted if path not in self._computed]
        if missing:
            self._computed |= self._compute(missing)
        return {path: self._computed[path] for path in wanted}

    def rng_value(self, leaf: TargetLeaf) -> Any:
        """Return the initial value of a leaf of RNG state, computed together with those of all others."""
        rng = [one for one in self.target[Layout.STATE].values() if one.rng and not one.empty]
        return self.initial(rng)[leaf.origin]

    def _compute(self, wanted: list[Path]) -> dict[Path, Any]:
        import numpy

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
        return [path for path, leaf in self.target[Layout.STATE].items() if not leaf.empty]

    def below(self, key: str) -> Target:
        """Return the leaves below a key of the program's tree, by their paths from there."""
        return {
            layout: {
                path[1:]: replace(leaf, path=path[1:], key_types=leaf.key_types[1:])
                for path, leaf in leaves.items()
                if path[0] == key and len(path) > 1
            }
            for layout, leaves in self.target.items()
        }

    def abstract(self, part: str, pure: bool, within: str = "") -> Any:
        """Return the tree that the program gives to ``restore``, without values.

        Args:
            part: ``model`` or ``optimizer`` of a tree that is split into items of these names; empty for all of it.
            pure: whether it goes through ``nnx.to_pure_dict``.
            within: the key below which the tree is that of an item; empty for all of it.
        """
        import jax
        from flax import nnx

        def make() -> Any:
            tree = saved_tree(self._make(), self._with_optimizer, self.form)
            tree = tree[within] if within else tree
            if part:
                tree = tree["model"] if part == "model" else {name: tree[name] for name in tree if name != "model"}
            if not pure:
                return tree
            variables = tuple({nnx.Variable, getattr(nnx, "VariableState", nnx.Variable)})

            def pure_of(one: Any) -> Any:
                if isinstance(one, nnx.State):
                    return nnx.to_pure_dict(one)
                return next(iter(jax.tree.leaves(one)), None) if isinstance(one, variables) else one

            return jax.tree.map(pure_of, tree, is_leaf=lambda one: isinstance(one, (nnx.State, *variables)))

        return make() if self.eager else _abstract(make)

    def names(self, part: str, layout: Layout, within: str = "") -> list[Path]:
        """Return the paths of the leaves of :meth:`abstract`, in their order."""
        target = self.below(within) if within else self.target
        leaves = [path for path, leaf in target[layout].items() if not leaf.empty]
        if part == "model":
            return [path[1:] for path in leaves if path[0] == "model"]
        return [path for path in leaves if path[0] != "model"] if part else leaves

    def in_form(self, form: Form) -> Program | None:
        """Return the program that saves the same tree in another form; None if it cannot."""
        if self.made is not Made.TREE or not any(one.is_object for one in self.held):
            return None
        if form not in self._others:
            try:  # what was traced is traced again, so no parameter is made
                self._others[form] = Program(self._original, self.eager, self._with_optimizer, form, self.parted)
            except CheckpointError:
                self._others[form] = None
        return self._others[form]

    def in_items(self) -> Program | None:
        """Return the program that saves its model and its optimizer apart, as items; None if it has no such two."""
        parted = Made.HOLDER if self.made is Made.HOLDER else Made.PAIR if self._is_pair else None
        if parted and self._in_items is None:
            self._in_items = Program(lambda: _parted(self._original()), self.eager or None, parted=parted)
        return self._in_items

    def _traced_in_any_mesh(self) -> Target:
        """Trace the model; if its Variables have shardings and the factory sets no mesh for them, without shardings."""
        try:
            return self._traced()
        except ValueError as error:
            unsharded = _unsharded(self._make)
            if unsharded is None or "mesh" not in str(error):
                raise
            self._make = unsharded
            self.unsharded = True
            self.notes = ("Variables have shardings but the factory sets no mesh, so the model is made without them",)
            return self._traced()

    def _traced(self) -> Target:
        import jax

        found: list[Target] = []

        def trace() -> None:
            found.append(_target_of(self._leaves()))

        jax.eval_shape(trace)
        return found[-1]

    def _leaves(self) -> list[NamedLeaf]:
        made = self._make()
        _require_state(made)
        self.made = _kind(made, self._with_optimizer)
        self._is_pair = _is_pair(made)
        self.held = tuple(_held(made, self.form)) if self.made is Made.TREE else ()
        self.keys = tuple(map(str, made)) if isinstance(made, dict) else ()
        return list(named_leaves(saved_tree(made, self._with_optimizer, self.form)))


def _kind(made: Any, with_optimizer: bool) -> Made:
    """Say what a factory returned."""
    from flax import nnx

    if isinstance(made, getattr(nnx, "ModelAndOptimizer", ())):
        return Made.HOLDER
    if isinstance(made, nnx.Optimizer):
        return Made.OPTIMIZER
    if isinstance(made, node_type()):
        return Made.MODEL
    return Made.PAIR if with_optimizer and isinstance(made, tuple) and len(made) == 2 else Made.TREE


def _held(made: Any, form: Form) -> Iterator[Held]:
    """Give the NNX objects and states in a tree, or the parts of it that are saved as those of one object."""
    import jax
    from flax import nnx

    kinds = (node_type(), nnx.State)
    if form is Form.ONE:
        yield Held((), True, all(leaf.rng for leaf in named_leaves(nnx.state(made))))
    elif form is not Form.PIECES:
        for key, one in made.items():
            if isinstance(one, nnx.State) or _holds_objects(one):
                state = _state_below(one, form)
                only_rng = all(leaf.rng for leaf in named_leaves(state))
                pair = form is Form.HOLDERS and _is_pair(one)
                yield Held((f"[{key!r}]",), not isinstance(one, nnx.State), only_rng, pair)
    else:
        for keys, one in jax.tree_util.tree_flatten_with_path(made, is_leaf=lambda one: isinstance(one, kinds))[0]:
            if isinstance(one, kinds):
                is_object = not isinstance(one, nnx.State)
                only_rng = all(leaf.rng for leaf in named_leaves(nnx.state(one) if is_object else one))
                yield Held(tuple(jax.tree_util.keystr((key,)) for key in keys), is_object, only_rng)


def _holds_objects(tree: Any) -> bool:
    """Say whether there is an NNX object in a tree."""
    import jax

    node = node_type()
    return any(isinstance(one, node) for one in jax.tree.leaves(tree, is_leaf=lambda one: isinstance(one, node)))


def _is_pair(tree: Any) -> bool:
    """Say whether something is a model and an optimizer that does not hold it."""
    from flax import nnx

    node = node_type()
    if not isinstance(tree, (tuple, list)) or len(tree) != 2 or not all(isinstance(one, node) for one in tree):
        return False
    holders = getattr(nnx, "ModelAndOptimizer", ())
    return isinstance(tree[1], nnx.Optimizer) and not isinstance(tree[1], holders)


def _parted(made: Any) -> dict[str, Any]:
    """Return the model and the optimizer of what a factory returned, which is both."""
    from flax import nnx

    if isinstance(made, nnx.Optimizer):
        return {"model": made.model, "optimizer": nnx.Optimizer(made.model, made.tx, wrt=made.wrt)}
    model, optimizer = made
    return {"model": model, "optimizer": optimizer}


def _state_below(one: Any, form: Form) -> Any:
    """Return what is saved of what stands below a key of a tree."""
    from flax import nnx

    if form is Form.HOLDERS and _is_pair(one):
        return {"model": nnx.state(one[0]), **nnx.state(one[1])}
    return nnx.state(one) if _holds_objects(one) else one


def saved_tree(made: Any, with_optimizer: bool = False, form: Form = Form.PIECES) -> Any:
    """Return what a program saves of ``made``: the state of every NNX object in it, all else as it is.

    Args:
        made: an NNX object, or a tree of NNX objects, states and arrays.
        with_optimizer: whether a pair of a model and an optimizer becomes the tree of an optimizer of 0.10.
        form: how states are made of a tree of objects.

    Raises:
        CheckpointError: if no such states can be made of it.
    """
    import jax
    from flax import nnx

    node = node_type()
    if form is Form.ONE:
        return nnx.state(made)
    if form is not Form.PIECES:
        if not isinstance(made, dict) or not all(isinstance(key, str) for key in made):
            raise CheckpointError("the factory returned no dict")
        return {key: _state_below(one, form) for key, one in made.items()}
    if with_optimizer and isinstance(made, tuple) and len(made) == 2:
        model, optimizer = made
        return {"model": nnx.state(model), **nnx.state(optimizer)}
    return jax.tree.map(
        lambda one: nnx.state(one) if isinstance(one, node) else one, made, is_leaf=lambda one: isinstance(one, node)
    )


def _require_state(made: Any) -> None:
    """Refuse what a factory returned if nothing of it could have been saved.

    Raises:
        CheckpointError: saying what it is and what it should be.
    """
    import jax
    from flax import nnx

    wanted = "name a function that returns the model, the optimizer, or the tree that the program saves"
    if isinstance(made, type):
        raise CheckpointError(f"the factory returned the class {made.__qualname__}, no object of it", wanted)
    kinds = (node_type(), nnx.State, nnx.Variable, jax.Array)
    known = jax.tree.leaves(made, is_leaf=lambda one: isinstance(one, kinds))
    if not any(isinstance(one, kinds) or _is_array(one) for one in known):
        raise CheckpointError(f"the factory returned no NNX module but {_what(made)}", wanted)


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _what(made: Any) -> str:
    kind = type(made)
    if made is None:
        return "None"
    if callable(made) and not isinstance(made, type):
        return f"a function, {getattr(made, '__qualname__', kind.__name__)}"
    return f"{'an' if kind.__name__[:1].lower() in 'aeiou' else 'a'} {kind.__module__}.{kind.__qualname__}"


def _unsharded(make: Callable[[], Any]) -> Callable[[], Any] | None:
    """Return a factory whose Variables are not sharded when they are made; None where Flax does not do that anyway."""
    from flax import config

    if not getattr(config, "flax_always_shard_variable", False):
        return None

    def made() -> Any:
        with config.temp_flip_flag("always_shard_variable", False):
            return make()

    return made


def node_type() -> Any:
    """Return the class of all NNX objects: ``Object`` was its name before Flax 0.11.1."""
    from flax import nnx

    return getattr(nnx, "Pytree", None) or nnx.Object


def named_leaves(tree: Any) -> Iterator[NamedLeaf]:
    """Give the leaves of a tree of states and arrays, with the names under which Orbax stores them.

    Like Orbax, this counts ``None`` and empty containers as leaves.
    """
    import jax
    from flax import nnx

    variables = tuple({nnx.Variable, getattr(nnx, "VariableState", nnx.Variable)})
    flat = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda one: isinstance(one, variables) or is_empty(one))[
        0
    ]
    for keys, leaf in flat:
        path, types = _names(keys)
        if not isinstance(leaf, variables):
            yield NamedLeaf(path, types, None, False, leaf)
            continue
        kind = getattr(leaf, "type", type(leaf))
        rng = issubclass(kind, nnx.RngState)
        tag = str(getattr(leaf, "tag", "")) if rng else ""
        for inner_keys, value in jax.tree_util.tree_flatten_with_path(leaf, is_leaf=is_empty)[0]:
            inner, inner_types = _names(inner_keys)
            yield NamedLeaf((*path, *inner), (*types, *inner_types), len(path), rng, value, kind.__name__, kind, tag)


def is_empty(value: Any) -> bool:
    """Say whether a node of a tree has no leaves below it and is none itself, such as ``None`` and ``{}``."""
    import jax

    if isinstance(value, jax.Array) or jax.tree_util.all_leaves([value]):
        return False
    return not jax.tree_util.tree_leaves(value, is_leaf=lambda one: one is not value)


def _abstract(make: Callable[[], Any]) -> Any:
    """Return what ``make`` returns without values, but for strings, which no array stands for."""
    import jax

    strings: dict[int, str] = {}
    structures: list[Any] = []

    def trace() -> list[Any]:
        leaves, structure = jax.tree.flatten(make())
        strings.update((number, leaf) for number, leaf in enumerate(leaves) if isinstance(leaf, str))
        structures.append(structure)
        return [0 if number in strings else leaf for number, leaf in enumerate(leaves)]

    found = jax.eval_shape(trace)
    return jax.tree.unflatten(structures[-1], [strings.get(number, leaf) for number, leaf in enumerate(found)])


_EMPTY_KINDS: dict[type, str] = {list: "List", tuple: "Tuple", dict: "Dict"}


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
        empty = is_empty(leaf.value)
        kind, shape, dtype, key_impl = array_type(leaf.value)
        if empty:  # of named tuples and other classes Orbax stores a None
            kind = _EMPTY_KINDS.get(type(leaf.value), "None")
        path, types = leaf.path, leaf.key_types
        found = TargetLeaf(
            path,
            types,
            kind,
            shape,
            dtype,
            key_impl,
            rng=leaf.rng,
            origin=path,
            empty=empty,
            variable=leaf.variable,
            variable_class=leaf.variable_class,
            tag=leaf.tag,
        )
        state[path] = found
        if leaf.value_at is not None:
            path = path[: leaf.value_at] + path[leaf.value_at + 1 :]
            types = types[: leaf.value_at] + types[leaf.value_at + 1 :]
        pure[path] = replace(found, path=path, key_types=types)
    bare = {path: leaf for path, leaf in state.items() if not leaf.variable}
    for one in (leaf for stream in proven_streams(bare) for leaf in stream.leaves):
        state[one.path] = pure[one.path] = replace(bare[one.path], rng=True)
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


def _in_an_optimizer(error: BaseException) -> bool:
    """Say whether an optimizer of Flax raised an error while it was made."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(pathlib.PurePath(frame.filename).parts[-3:] == ("nnx", "training", "optimizer.py") for frame in frames)


def _ended(error: CheckpointError | SystemExit) -> CheckpointError:
    if isinstance(error, CheckpointError):
        return error
    return CheckpointError(f"building the model ended the program: SystemExit({error.code})")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
