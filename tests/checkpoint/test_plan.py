"""RNG streams are recognised by structure and type; every leaf is kept, renamed, dropped, added or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from nnxmigrate.checkpoint.errors import CheckpointError, MisfitError
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.planning import make_plan
from nnxmigrate.checkpoint.rng import find_streams
from nnxmigrate.checkpoint.target import Layout, Target, TargetLeaf
from nnxmigrate.checkpoint.tree import Leaf, Path, StoredTree, array_nbytes
from nnxmigrate.checkpoint.wishes import Wishes, matches, renamer, shared_out

FRY = "threefry2x32"


def leaf(name: str, kind: str) -> Leaf:
    """Return a stored leaf of a kind such as ``float32 2 3``, ``key`` or ``key 5``."""
    dtype, *lengths = kind.split()
    shape = tuple(map(int, lengths))
    path = tuple(name.split("."))
    types = (2,) * len(path)
    if dtype == "key":
        return Leaf(path, types, "jax.Array", (*shape, 2), "uint32", FRY)
    return Leaf(path, types, "jax.Array", shape, dtype)


def stored(leaves: Mapping[str, str]) -> StoredTree:
    found = [leaf(name, kind) for name, kind in leaves.items()]
    return StoredTree({one.path: one for one in found}, {}, True, False, True, True, {}, {}, {})


def target(leaves: Mapping[str, str]) -> Target:
    """Return a target from names as of an ``nnx.State``; a kind that begins with ``rng`` is RNG state."""
    state: dict[Path, TargetLeaf] = {}
    pure: dict[Path, TargetLeaf] = {}
    for name, kind in leaves.items():
        one = leaf(name, kind.removeprefix("rng "))
        values = vars(one) | {"rng": kind.startswith("rng "), "origin": one.path}
        state[one.path] = TargetLeaf(**values)
        bare = one.path[:-1] if one.path[-1] == "value" else one.path
        pure[bare] = TargetLeaf(**(values | {"path": bare, "key_types": one.key_types[: len(bare)]}))
    return {Layout.STATE: state, Layout.PURE: pure}


def outcome(plan: Plan) -> dict[str, str]:
    """Return what happens to every leaf, by its stored or new name."""
    found = {one.leaf.name: f"keep as {one.name}" if one.renamed else "keep" for one in plan.kept}
    found |= {one.name: "drop" for one in plan.dropped}
    found |= {one.name: "add" if one.name not in found else "renew" for one in plan.added}
    found |= {one.name: "missing" for one in plan.missing} | {one.name: "unexpected" for one in plan.unexpected}
    return found | {old.name: "reshaped" for old, _ in plan.reshaped}


@pytest.mark.parametrize(
    ("leaves", "streams"),
    [
        pytest.param({"a.rngs.params.key": "key", "a.rngs.params.count": "uint32"}, ["a.rngs.params"], id="pure"),
        pytest.param({"a.key.value": "key", "a.count.value": "uint32"}, ["a"], id="any name"),
        pytest.param({"key": "key", "count": "uint32"}, [""], id="the root"),
        pytest.param({"a.key.value": "key 5", "a.count.value": "uint32 5"}, ["a"], id="stacked"),
        pytest.param({"a.key": "uint32 4", "a.count": "uint32"}, ["a?"], id="rbg data without a type"),
        pytest.param({"a.key": "uint32 5 2", "a.count": "uint32 5"}, ["a?"], id="stacked data without a type"),
        pytest.param({"a.key.value": "key", "a.b": "uint32"}, [], id="a key without a count"),
        pytest.param({"rngs.key.value": "key"}, [], id="a lone key"),
        pytest.param({"a.key": "key", "a.count": "uint32", "a.x": "float32"}, [], id="a third child"),
        pytest.param({"a.key.kernel": "key", "a.count": "uint32"}, [], id="a key of a module"),
        pytest.param({"a.key.value": "key", "a.key.x": "key", "a.count": "uint32"}, [], id="two children of key"),
        pytest.param({"a.key": "key", "a.count": "int32"}, [], id="a signed count"),
        pytest.param({"a.key": "key 3", "a.count": "uint32"}, [], id="a count of another shape"),
        pytest.param({"a.key": "uint32 3", "a.count": "uint32"}, [], id="three words"),
        pytest.param({"a.key": "float32 2", "a.count": "uint32"}, [], id="floats"),
        pytest.param({"rngs.kernel": "float32 2"}, [], id="only the name"),
    ],
)
def test_streams(leaves: dict[str, str], streams: list[str]) -> None:
    found = find_streams(stored(leaves).leaves)
    assert [".".join(one.path) + ("" if one.certain else "?") for one in found] == streams


OLD = {"d.rngs.params.key.value": "key", "d.rngs.params.count.value": "uint32"}
NEW = {"d.rngs.key.value": "rng key", "d.rngs.count.value": "rng uint32"}
RENEWED = dict.fromkeys(OLD, "drop") | dict.fromkeys(NEW, "add")
W = {"w.value": "float32 2"}


@pytest.mark.parametrize(
    ("old", "new", "wishes", "expected"),
    [
        pytest.param(OLD | W, NEW | W, Wishes(), RENEWED | {"w.value": "keep"}, id="state"),
        pytest.param(
            {"d.rngs.params.key": "key", "d.rngs.params.count": "uint32", "w": "float32 2"},
            NEW | W,
            Wishes(),
            {"d.rngs.params.key": "drop", "d.rngs.params.count": "drop", "w": "keep"}
            | {"d.rngs.key": "add", "d.rngs.count": "add"},
            id="pure",
        ),
        pytest.param(OLD | W, None, Wishes(), dict.fromkeys(OLD, "drop") | {"w.value": "keep"}, id="no model"),
        pytest.param(
            {"a.rngs.key.value": "key", "a.rngs.count.value": "uint32"},
            None,
            Wishes(),
            {"a.rngs.key.value": "keep", "a.rngs.count.value": "keep"},
            id="as 0.11 has it, no model",
        ),
        pytest.param(
            {"noise.a.key": "key", "noise.a.count": "uint32", "data.key": "uint32 2", "data.count": "uint32"},
            None,
            Wishes(),
            dict.fromkeys(("noise.a.key", "noise.a.count", "data.key", "data.count"), "keep"),
            id="the program's own streams and data, no model",
        ),
        pytest.param(
            {"m.rngs.a.key": "key", "m.rngs.a.count": "uint32", "m.w": "int8"},
            None,
            Wishes(),
            {"m.rngs.a.key": "keep", "m.rngs.a.count": "keep", "m.w": "keep"},
            id="an nnx.Rngs beside parameters, no model",
        ),
        pytest.param(
            {"m.rngs.a.key": "key", "m.rngs.a.count": "uint32"}
            | {f"m.{name}.kernel": "int8" for name in ("query", "key", "value", "out")},
            None,
            Wishes(),
            {"m.rngs.a.key": "drop", "m.rngs.a.count": "drop"}
            | {f"m.{name}.kernel": "keep" for name in ("query", "key", "value", "out")},
            id="that of an attention layer, no model",
        ),
        pytest.param(
            OLD | W,
            None,
            Wishes(keep=["d.rngs.*"]),
            dict.fromkeys(OLD, "keep") | {"w.value": "keep"},
            id="kept on purpose",
        ),
        pytest.param(
            {"s.key": "key", "s.count": "uint32"},
            None,
            Wishes(drop=["s"]),
            {"s.key": "drop", "s.count": "drop"},
            id="dropped on purpose",
        ),
        pytest.param({"value": "float32"}, {"value.value": "float32"}, Wishes(), {"value": "keep"}, id="called value"),
        pytest.param(
            {"p.key.value": "uint32 2", "p.count.value": "uint32"},
            {"p.key.value": "uint32 2", "p.count.value": "uint32"},
            Wishes(),
            {"p.key.value": "keep", "p.count.value": "keep"},
            id="the model says it is no stream",
        ),
        pytest.param(
            {"s.key.value": "key", "s.count.value": "uint32"},
            {"s.key.value": "rng key", "s.count.value": "rng uint32"},
            Wishes(),
            {"s.key.value": "keep", "s.count.value": "keep"},
            id="a stream that stays where it is",
        ),
        pytest.param(
            {"s.key.value": "uint32 2", "s.count.value": "uint32"},
            {"s.key.value": "rng key", "s.count.value": "rng uint32"},
            Wishes(),
            {"s.key.value": "keep", "s.count.value": "keep"},
            id="a stream that stays and was saved as numbers",
        ),
        pytest.param(
            {"s.key.value": "key", "s.count.value": "uint32"},
            {"s.key.value": "rng key 5", "s.count.value": "rng uint32 5"},
            Wishes(),
            {"s.key.value": "renew", "s.count.value": "renew"},
            id="a stream that has another shape now",
        ),
        pytest.param(
            {"s.key.value": "float32 3", "s.count.value": "uint32"},
            {"s.key.value": "rng key", "s.count.value": "rng uint32"},
            Wishes(),
            {"s.key.value": "unexpected", "s.count.value": "renew"},
            id="numbers where the model has a key",
        ),
        pytest.param(W, W | {"x.value": "float32"}, Wishes(), {"w.value": "keep", "x.value": "missing"}, id="missing"),
        pytest.param(
            W,
            W | {"x.a.value": "float32"},
            Wishes(allow_missing=["x"]),
            {"w.value": "keep", "x.a.value": "add"},
            id="missing on purpose",
        ),
        pytest.param(W | {"x.value": "int8"}, W, Wishes(), {"w.value": "keep", "x.value": "unexpected"}, id="too much"),
        pytest.param(
            W | {"x.a.value": "int8"}, W, Wishes(drop=["x.*"]), {"w.value": "keep", "x.a.value": "drop"}, id="dropped"
        ),
        pytest.param(W, {"w.value": "float32 3"}, Wishes(), {"w.value": "reshaped"}, id="reshaped"),
        pytest.param(
            {"a.b.value": "int8", "a.c.value": "int8"},
            {"x.b.value": "int8", "y.value": "int8"},
            Wishes(renames={"a": "x", "a.c": "y"}),
            {"a.b.value": "keep as x.b.value", "a.c.value": "keep as y.value"},
            id="the longest rename wins",
        ),
        pytest.param(
            {"a.value": "int8", "b.value": "int8"},
            {"a.value": "int8", "b.value": "int8"},
            Wishes(renames={"a": "b", "b": "a"}),
            {"a.value": "keep as b.value", "b.value": "keep as a.value"},
            id="an exchange",
        ),
        pytest.param(
            {"model.w.value": "int8", "opt_state.0.value": "int8", "step.value": "uint32"},
            {"w.value": "int8"},
            Wishes(),
            {"model.w.value": "keep", "opt_state.0.value": "keep", "step.value": "keep"},
            id="a model within its optimizer",
        ),
        pytest.param(
            {"model.w.value": "int8", "step.value": "uint32"},
            {"w.value": "int8"},
            Wishes(),
            {"model.w.value": "keep", "step.value": "keep"},
            id="a model within an optimizer without state",
        ),
        pytest.param(
            {"model.w.value": "int8", "step.value": "uint32", "ema.w.value": "int8"},
            {"w.value": "int8"},
            Wishes(),
            {"model.w.value": "keep", "step.value": "keep", "ema.w.value": "keep"},
            id="a model within an optimizer of the user's own class",
        ),
    ],
)
def test_plans(old: dict[str, str], new: dict[str, str] | None, wishes: Wishes, expected: dict[str, str]) -> None:
    assert outcome(make_plan(stored(old), None if new is None else target(new), wishes)) == expected


MEMORY = {"m.key.value": "uint32 2", "m.count.value": "uint32"}
RAW = {name: "uint32 2" if kind == "key" else kind for name, kind in OLD.items()}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(OLD | MEMORY, NEW, "unexpected", id="where keys have types"),
        pytest.param({"k.value": "key"} | MEMORY, {"k.value": "key"}, "unexpected", id="where a lone key has a type"),
        pytest.param(RAW | MEMORY, NEW, "unexpected", id="where no key has a type"),
        pytest.param(
            OLD | {f"rngs.{name}": kind for name, kind in MEMORY.items()}, NEW, "unexpected", id="called rngs"
        ),
        pytest.param(
            RAW | {f"b.rngs.{name}": kind for name, kind in MEMORY.items()} | {"b.scale.value": "int8"},
            NEW | {"b.scale.value": "int8"},
            "drop",
            id="called rngs where no key has a type",
        ),
        pytest.param(
            {"k.value": "key", "b.rngs.m.key.value": "uint32 2", "b.rngs.m.count.value": "uint32", "b.w.value": "int8"},
            {"k.value": "key", "b.w.value": "int8"}
            | {"b.rngs.key.value": "rng key", "b.rngs.count.value": "rng uint32"},
            "drop",
            id="a layer of the user's with a stream now",
        ),
        pytest.param(
            {"k.value": "key", "b.rngs.m.key.value": "uint32 2", "b.rngs.m.count.value": "uint32"},
            {"k.value": "key"},
            "drop",
            id="that of a Dropout",
        ),
        pytest.param(
            {
                "n.m.key.value": "uint32 2",
                "n.m.count.value": "uint32",
                "n.o.key.value": "key",
                "n.o.count.value": "uint32",
            },
            {},
            "drop",
            id="in an nnx.Rngs with one that has a type",
        ),
        pytest.param(
            {"k.value": "key"} | MEMORY,
            {"k.value": "key", "m.key.value": "rng key 5", "m.count.value": "rng uint32 5"},
            "renew",
            id="where the model has a stream of another shape",
        ),
    ],
)
def test_a_pair_of_numbers_is_no_stream_without_evidence(
    old: dict[str, str], new: dict[str, str], expected: str
) -> None:
    plan = make_plan(stored(old | W), target(new | W))
    found = outcome(plan)
    assert {found[name] for name, kind in old.items() if kind == "uint32 2" and ".m." in f".{name}"} == {expected}
    streams = {stream.path[-1] for stream in plan.streams}
    assert ("m" in streams) is (expected != "unexpected")


def test_data_that_look_like_a_stream_may_have_been_renamed() -> None:
    new = {name.replace("m.", "n."): kind for name, kind in MEMORY.items()}
    with pytest.raises(MisfitError) as refused:
        make_plan(stored(OLD | MEMORY), target(NEW | new)).require_fit()
    assert refused.value.hint == "perhaps: --rename m=n"
    plan = make_plan(stored(OLD | MEMORY), target(NEW | new), Wishes(renames={"m": "n"}))
    plan.require_fit()
    assert {one.name for one in plan.kept} == new.keys()


def test_numbers_go_on_as_a_stream_only_if_their_values_are_its_key() -> None:
    new = target(NEW | {"z.m.key.value": "rng key", "z.m.count.value": "rng uint32"})
    below = {f"a.{name}": kind for name, kind in MEMORY.items()}
    assert outcome(make_plan(stored(OLD | below), new))["a.m.key.value"] == "unexpected"
    known = make_plan(stored(OLD | below), new, same=lambda leaf, wanted: True)
    assert outcome(known)["a.m.key.value"] == "keep as z.m.key.value"


def test_wishes_are_shared_out_among_several_trees() -> None:
    trees = {
        "one": ([("a", "w"), ("b", "w")], [("a", "w")]),
        "two": ([("c", "w"), ("b", "w")], [("a", "w"), ("d", "w")]),
    }
    given = Wishes(renames={"a": "x", "c": "y"}, drop=["b", "nowhere"], keep=["c.*"], allow_missing=["d"])
    assert shared_out(given, trees) == {
        "one": Wishes(renames={"a": "x"}, drop=["b", "nowhere"], keep=[], allow_missing=[]),
        "two": Wishes(renames={"c": "y"}, drop=["b", "nowhere"], keep=["c.*"], allow_missing=["d"]),
    }


def test_a_stream_of_the_program_s_that_is_lost_is_named() -> None:
    own = {"noise.a.key.value": "key", "noise.a.count.value": "uint32"}
    (note,) = make_plan(stored(OLD | own), target(NEW)).notes
    assert note.startswith(
        "noise.a: an RNG stream that is no layer's, and the model has none there; left out; --rename"
    )
    assert make_plan(stored(OLD | own), target(NEW), Wishes(drop=["noise"])).notes == ()


def test_the_program_s_own_stream_may_have_been_renamed_and_be_none_of_flax_s() -> None:
    own = {"noise.key.value": "key", "noise.count.value": "uint32"}
    new = {name.replace("noise", "seeds"): kind for name, kind in own.items()}
    with pytest.raises(MisfitError) as refused:
        make_plan(stored(OLD | own), target(NEW | new)).require_fit()
    assert refused.value.hint == "perhaps: --rename noise=seeds"


def test_nothing_is_left_of_rng_state_alone() -> None:
    with pytest.raises(MisfitError, match="nothing would be left") as refused:
        make_plan(stored(OLD), None).require_fit()
    assert "--model" in refused.value.hint
    make_plan(stored(OLD), target(NEW)).require_fit()
    with pytest.raises(MisfitError, match="nothing would be left") as refused:
        make_plan(stored(OLD), target({})).require_fit()
    assert "--model" not in refused.value.hint


def test_types_are_reported_and_kept() -> None:
    plan = make_plan(
        stored({"w.value": "float32 2", "k.value": "uint32 2"}), target({"w.value": "bfloat16 2", "k.value": "key"})
    )
    assert plan.problems == 0
    assert plan.notes == (
        "w.value: stored float32[2], model bfloat16[2]; kept as stored",
        "k.value: stored without its key type; marked as key<threefry2x32> as in the model",
    )
    assert [one.key_impl for one in plan.kept] == [None, FRY]


def test_what_fits_already_needs_nothing() -> None:
    new = {name: kind.removeprefix("rng ") for name, kind in NEW.items()}
    assert make_plan(stored(new | W), target(NEW | W)).needless
    assert not make_plan(stored(OLD | W), target(NEW | W)).needless
    assert make_plan(stored(W), None).needless


@pytest.mark.parametrize(
    ("renames", "paths"),
    [
        ({"heads.a.b": "heads.c.d"}, {("heads", "a.b", "w"): ("heads", "c.d", "w")}),
        ({"heads.a.b": "heads.ab"}, {("heads", "a.b", "w"): ("heads", "ab", "w")}),
        ({"heads.a.b.w": "heads.c.d.v"}, {("heads", "a.b", "w"): ("heads", "c.d", "v")}),
        ({"heads.a.b": "new.c.d"}, {("heads", "a.b", "w"): ("new", "c", "d", "w")}),
        ({"e.f": "heads.c.d"}, {("e", "f", "w"): ("heads", "c.d", "w"), ("heads", "a.b", "w"): ("heads", "a.b", "w")}),
        ({"e": "g", "e.f": "h"}, {("e", "f", "w"): ("h", "w"), ("e", "i"): ("g", "i")}),
    ],
)
def test_renames_know_keys_with_dots(renames: dict[str, str], paths: dict[Path, Path]) -> None:
    stored = [("heads", "a.b", "w"), ("e", "f", "w"), ("e", "i")]
    renamed = renamer(renames, stored, [("heads", "c.d", "w"), ("heads", "ab", "w")])
    assert {path: renamed(path) for path in paths} == paths


def test_patterns_are_names_too() -> None:
    assert matches(("heads", "[y]", "w"), ["heads.[y]"])
    assert matches(("heads", "[y]", "w"), ["heads.[[]y]"])
    assert not matches(("heads", "y]", "w"), ["heads.[y]"])


def test_a_refusal_names_leaves_and_guesses_renames() -> None:
    old = {"a.kernel.value": "int8 2", "a.bias.value": "int8"}
    new = {"b.kernel.value": "int8 2", "b.bias.value": "int8"}
    with pytest.raises(MisfitError, match=r"a\.kernel\.value: int8") as caught:
        make_plan(stored(old), target(new)).require_fit()
    assert caught.value.hint == "perhaps: --rename a=b"


def test_no_rename_is_guessed_where_two_would_do() -> None:
    new = {"b.kernel.value": "int8 2", "c.kernel.value": "int8 2"}
    with pytest.raises(MisfitError) as caught:
        make_plan(stored({"a.kernel.value": "int8 2"}), target(new)).require_fit()
    assert "perhaps" not in caught.value.hint


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (Wishes(renames={"x": "y"}), "no such leaf"),
        (Wishes(renames={"v": "w"}), "would both become w.value"),
        (Wishes(drop=["x"]), "no stored leaf matches"),
        (Wishes(keep=["w"]), "no stored RNG stream matches"),
        (Wishes(allow_missing=["x"]), "needs --model"),
        (Wishes(split=True), "can be split"),
    ],
)
def test_wishes_that_cannot_be_met(wishes: Wishes, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        make_plan(stored(W | {"v.value": "int8"}), None, wishes)


@pytest.mark.parametrize("state", [{"opt_state.0.value": "int8"}, {}])
def test_split(state: dict[str, str]) -> None:
    old = {"model.w.value": "int8", **state, "step.value": "uint32"}
    plan = make_plan(stored(old), None, Wishes(split=True))
    assert {part: [one.name for one in plan.part(part).kept] for part in plan.parts} == {
        "model": ["w.value"],
        "optimizer": [*state, "step.value"],
    }


def emptied(*names: str) -> dict[Path, Leaf]:
    """Return places without content."""
    found = [Leaf(tuple(name.split(".")), (2,) * len(name.split(".")), "None") for name in names]
    return {one.path: one for one in found}


def test_places_without_content_are_those_of_the_model() -> None:
    tree = replace(stored(W), empty=emptied("l.bias.value", "o.value"))
    place = TargetLeaf(("o", "value"), (2, 2), "None", empty=True, origin=("o", "value"))
    new = target(W)
    plan = make_plan(tree, {Layout.STATE: {**new[Layout.STATE], place.path: place}, Layout.PURE: {}}, Wishes())
    assert [leaf.name for leaf in plan.emptied] == ["l.bias.value"]
    assert [one.name for one in plan.empty] == ["o.value"]
    assert plan.opened == ()
    assert not plan.needless
    back = make_plan(replace(tree, empty={}), {Layout.STATE: {**new[Layout.STATE], place.path: place}, Layout.PURE: {}})
    assert [leaf.name for leaf in back.opened] == ["o.value"]


def test_places_of_absent_biases_go_without_a_model_too() -> None:
    leaves = {"l.kernel.value": "int8", "n.scale.value": "int8", "t.bias.x": "int8"}
    tree = replace(stored(leaves), empty=emptied("l.bias.value", "n.bias.value", "o.value", "t.kernel.value", "a.b"))
    plan = make_plan(tree, None)
    assert [leaf.name for leaf in plan.emptied] == ["l.bias.value", "n.bias.value", "t.kernel.value"]
    assert [one.name for one in plan.empty] == ["o.value", "a.b"]


def test_no_way_out_loses_what_is_stored() -> None:
    old = {"a.kernel.value": "int8 2", "x.value": "int8"}
    new = {"b.kernel.value": "int8 2", "c.kernel.value": "int8 2"}
    plan = make_plan(stored(old), target(new))
    with pytest.raises(MisfitError) as caught:
        plan.require_fit()
    assert "--allow-missing" not in caught.value.hint
    assert "--drop" not in caught.value.hint
    with pytest.raises(MisfitError) as caught:
        replace(plan, unexpected=(), elsewhere=("rest",)).require_fit()
    assert "stored in rest" in caught.value.hint
    assert "--allow-missing" not in caught.value.hint
    with pytest.raises(MisfitError) as caught:
        replace(plan, missing=()).require_fit()
    assert "the values of a.kernel.value, x.value will be lost" in caught.value.hint


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [((2, 3), "float32", 24), ((), "uint8", 1), ((3,), "bool", 3), ((3,), "int4", 2), ((2,), "float8_e4m3fn", 2)],
)
def test_sizes(shape: tuple[int, ...], dtype: str, size: int) -> None:
    assert array_nbytes(shape, dtype) == size


STREAM = {"key": "key", "count": "uint32"}


def _shared(old: list[str], new: list[str], keys: dict[str, str] | None = None) -> dict[str, str]:
    """Return where stored streams go on, or ``new`` for those that begin anew, by node.

    Args:
        old: nodes of stored streams.
        new: nodes of the new program's streams.
        keys: by node of the new program's streams, the stored ones that have the same key, joined by spaces.
    """
    before = {"linear.kernel.value": "float32 2 3"}
    before |= {f"{node}.{name}.value": kind for node in old for name, kind in STREAM.items()}
    after = {"linear.kernel.value": "float32 2 3"}
    after |= {f"{node}.{name}.value": f"rng {kind}" for node in new for name, kind in STREAM.items()}

    def same(leaf: Leaf, wanted: TargetLeaf) -> bool:
        return ".".join(leaf.path[:-2]) in (keys or {}).get(".".join(wanted.path[:-2]), "").split()

    plan = make_plan(stored(before), target(after), same=same)
    moved = {one.name: one.leaf.name.removesuffix(".count.value") for one in plan.kept if one.renamed}
    return {node: moved.get(f"{node}.count.value", "new") for node in new}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(["adropout.rngs.noise"], {"adropout.rngs": "new", "rngs.noise": "adropout.rngs.noise"}, id="one"),
        pytest.param(
            ["one.adropout.rngs.noise", "two.adropout.rngs.noise"],
            {"one.rngs.noise": "one.adropout.rngs.noise", "two.rngs.noise": "two.adropout.rngs.noise"},
            id="the nearest",
        ),
        pytest.param(["adropout.rngs.dropout"], {"adropout.rngs": "new", "rngs.noise": "new"}, id="another name"),
        pytest.param(
            ["adropout.rngs.dropout", "adropout.rngs.noise"], {"adropout.rngs": "new", "rngs.noise": "new"}, id="fewer"
        ),
        pytest.param(["a.rngs.noise", "b.rngs.noise"], {"rngs.noise": "new"}, id="two stored"),
        pytest.param(["adropout.rngs.noise"], {"one.noise": "new", "two.noise": "new"}, id="two wanted"),
        pytest.param(["zdropout.rngs.noise"], {"rngs.noise": "new"}, id="0.10 would have stored it at its own path"),
        pytest.param(["layers.9.rngs.noise"], {"layers.10.noise": "layers.9.rngs.noise"}, id="numbers in their order"),
    ],
)
def test_a_stream_that_was_stored_with_the_layer_that_shared_it(old: list[str], new: dict[str, str]) -> None:
    assert _shared(old, list(new)) == new


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param("a.rngs.noise a.rngs.params", "rngs.default", "noise, params", id="seeds forgotten"),
        pytest.param("a.rngs.noise b.rngs.x", "rngs.default", "noise or x", id="two that are stored"),
        pytest.param("a.rngs.noise", "rngs.noise", "", id="the same names"),
        pytest.param("z.rngs.noise", "rngs.default", "", id="0.10 would have stored it at its own path"),
        pytest.param("a.rngs.noise", "a.rngs", "", id="a layer's alone"),
    ],
)
def test_streams_of_other_names_are_said_to_begin_anew(old: str, new: str, said: str) -> None:
    before = {f"{node}.{name}.value": kind for node in old.split() for name, kind in STREAM.items()}
    wanted = target({f"{new}.{name}.value": f"rng {kind}" for name, kind in STREAM.items()})
    notes = [note for note in make_plan(stored(before), wanted).notes if "begins anew, with" in note]
    assert len(notes) == bool(said)
    assert all(f"rngs: begins anew, with default; stored are streams of other names, {said}:" in one for one in notes)


@pytest.mark.parametrize(
    ("old", "keys", "found"),
    [
        pytest.param(
            ["enc.drop.rngs.noise", "sub.drop.rngs.noise"],
            {"sub.rngs.noise": "enc.drop.rngs.noise"},
            "enc.drop.rngs.noise",
            id="before the nearest",
        ),
        pytest.param(
            ["enc.drop.rngs.noise", "sub.drop.rngs.noise"],
            {"sub.rngs.noise": "enc.drop.rngs.noise sub.drop.rngs.noise"},
            "sub.drop.rngs.noise",
            id="the nearest of the same seed",
        ),
        pytest.param(
            ["enc.drop.rngs.noise", "enc.last.rngs.noise"],
            {"sub.rngs.noise": "enc.drop.rngs.noise enc.last.rngs.noise"},
            "new",
            id="two of the same seed",
        ),
        pytest.param(
            ["enc.drop.rngs.noise", "enc.drop.rngs.dropout"],
            {"sub.rngs.noise": "enc.drop.rngs.noise"},
            "enc.drop.rngs.noise",
            id="one of several names",
        ),
        pytest.param(
            ["enc.drop.rngs.noise"], {"other.rngs.noise": "enc.drop.rngs.noise"}, "new", id="the key of another"
        ),
    ],
)
def test_the_key_tells_which_stream_it_is(old: list[str], keys: dict[str, str], found: str) -> None:
    assert (
        _shared(old, ["sub.rngs.noise", *(["other.rngs.noise"] if "other.rngs.noise" in keys else [])], keys)[
            "sub.rngs.noise"
        ]
        == found
    )


def test_streams_that_are_taken_leave_the_others_clear() -> None:
    places = {"sub.4.rngs.noise": "sub.4.drop.rngs.noise", "head.rngs.noise": "enc.rngs.noise"}
    same = "sub.4.drop.rngs.noise enc.rngs.noise"
    assert _shared(sorted(places.values()), list(places), dict.fromkeys(places, same)) == places


def test_a_stream_that_cannot_be_told_is_named() -> None:
    both = {f"{node}.{name}.value": kind for node in ("a.rngs.x", "b.rngs.x") for name, kind in STREAM.items()}
    wanted = target({f"rngs.x.{name}.value": f"rng {kind}" for name, kind in STREAM.items()})
    (note,) = make_plan(stored(both), wanted).notes
    assert note == "rngs.x: begins anew; if it is stored as a.rngs.x or b.rngs.x, --rename OLD=NEW says so"
    plan = make_plan(stored(both), wanted, Wishes(renames={"b.rngs": "rngs"}))
    assert {one.leaf.name: one.name for one in plan.kept} == {
        f"b.rngs.x.{name}.value": f"rngs.x.{name}.value" for name in STREAM
    }


@pytest.mark.parametrize("value", ["", ".value"])
@pytest.mark.parametrize("node", ["net", "best.params"])
def test_a_model_below_a_key_is_found_and_what_stands_beside_it_stays(value: str, node: str) -> None:
    layer = {f"drop.rngs.noise.{name}": kind for name, kind in STREAM.items()}
    own = {f"seeds.noise.{name}{value}": kind for name, kind in STREAM.items()}
    tree = {f"{node}.w.kernel": "float32 2", f"{node}.w.bias": "float32"} | {f"{node}.{n}": k for n, k in layer.items()}
    tree = {f"{name}{value}": kind for name, kind in tree.items()} | own | {"step": "int64", "w.kernel": "float32 3"}
    model = target(
        {"w.kernel.value": "float32 2", "w.bias.value": "float32"}
        | {f"drop.rngs.{name}.value": f"rng {kind}" for name, kind in STREAM.items()}
    )
    plan = make_plan(stored(tree), model)
    plan.require_fit()
    assert plan.mount == tuple(node.split("."))
    assert {leaf.name for leaf in plan.dropped} == {f"{node}.{name}{value}" for name in layer}
    assert {leaf.name for leaf in plan.added} == {f"{node}.drop.rngs.{name}{value}" for name in STREAM}
    assert {kept.name for kept in plan.kept} == tree.keys() - {leaf.name for leaf in plan.dropped}
    assert not any(kept.renamed for kept in plan.kept)


def test_a_model_that_is_stored_twice_is_not_guessed() -> None:
    model = target({"w.kernel.value": "float32 2", "w.bias.value": "float32"})
    tree = {f"{node}.w.{name}.value": "float32 2" for node in ("best", "last") for name in ("kernel", "bias")}
    with pytest.raises(MisfitError) as refused:
        make_plan(stored(tree), model).require_fit()
    assert "below best and last" in refused.value.hint
    assert "{'best': model, 'last': model}" in refused.value.hint


@pytest.mark.parametrize("value", ["", ".value"])
def test_of_several_trees_with_the_model_s_names_the_one_with_rng_state_is_the_model(value: str) -> None:
    """Averages and what an optimizer remembers have the names of the parameters."""
    model = target({"w.kernel.value": "float32 2"} | {f"d.rngs.{n}.value": f"rng {kind}" for n, kind in STREAM.items()})
    old = {f"{node}.w.kernel{value}": "float32 2" for node in ("ema", "net", "opt.0.mu", "opt.0.nu")}
    streams = {f"d.rngs.noise.{n}{value}": kind for n, kind in STREAM.items()}
    one = old | {f"net.{name}": kind for name, kind in streams.items()}
    plan = make_plan(stored(one), model)
    plan.require_fit()
    assert plan.mount == ("net",)
    assert {kept.name for kept in plan.kept} == old.keys()
    two = one | {f"ema.{name}": kind for name, kind in streams.items()}
    with pytest.raises(MisfitError) as refused:
        make_plan(stored(two), model).require_fit()
    assert "below ema and net: " in refused.value.hint
    assert "{'ema': model, 'net': model, 'opt': …}" in refused.value.hint


@pytest.mark.parametrize("value", ["", ".value"])
def test_a_model_in_parts_is_said_to_be_one(value: str) -> None:
    model = target({"w.kernel.value": "float32 2", "n.mean.value": "float32", "n.scale.value": "float32"})
    parts = {"params.w.kernel": "float32 2", "params.n.scale": "float32", "rest.n.mean": "float32"}
    with pytest.raises(MisfitError) as refused:
        make_plan(stored({f"{name}{value}": kind for name, kind in parts.items()}), model).require_fit()
    assert "in parts, below params and rest" in refused.value.hint
    other = {**parts, "rest.n.mean": "float32 3"}
    with pytest.raises(MisfitError) as refused:  # another shape is no part
        make_plan(stored({f"{name}{value}": kind for name, kind in other.items()}), model).require_fit()
    assert "in parts" not in refused.value.hint


@pytest.mark.parametrize("value", ["", ".value"])
@pytest.mark.parametrize(("params", "rngs"), [("params", "rngs"), ("0", "2"), ("state.params", "state.rngs")])
def test_rng_state_below_a_key_of_its_own_stays_there(value: str, params: str, rngs: str) -> None:
    """Below another key the program would not find it."""
    model = target({"w.kernel.value": "float32 2"} | {f"d.rngs.{n}.value": f"rng {kind}" for n, kind in STREAM.items()})
    streams = {f"d.rngs.noise.{n}{value}": kind for n, kind in STREAM.items()}
    old = {f"{params}.w.kernel{value}": "float32 2", "step": "int64"}
    with pytest.raises(MisfitError) as refused:
        make_plan(stored(old | {f"{rngs}.{name}": kind for name, kind in streams.items()}), model).require_fit()
    assert f"in parts, below {params} and {rngs}: " in refused.value.hint
    other = old | {f"teacher.{name}": kind for name, kind in streams.items()} | {f"teacher.v.kernel{value}": "float32"}
    plan = make_plan(stored(other), model)  # another model's, which has parameters too
    plan.require_fit()
    assert plan.mount == tuple(params.split("."))
    own = old | {f"{rngs}.noise.{n}{value}": kind for n, kind in STREAM.items()}
    plan = make_plan(stored(own), model)  # an nnx.Rngs of the program's
    assert plan.mount == tuple(params.split("."))
    assert {f"{rngs}.noise.{n}{value}" for n in STREAM} <= {kept.name for kept in plan.kept}


def test_what_an_optimizer_remembers_is_no_part_of_a_model() -> None:
    model = target({"w.kernel.value": "float32 2", "n.mean.value": "float32"})
    old = {f"{node}.w.kernel.value": "float32 2" for node in ("0", "1.0.mu", "1.0.nu")} | {"2.n.mean.value": "float32"}
    with pytest.raises(MisfitError) as refused:
        make_plan(stored(old), model).require_fit()
    assert "in parts, below 0 and 2: " in refused.value.hint


def test_leaves_to_initialise_must_be_the_model_s() -> None:
    new = target(W | {"v.value": "int8"})
    for pattern in ("v", "v.value", "v.*"):
        assert [leaf.name for leaf in make_plan(stored(W), new, Wishes(allow_missing=[pattern])).added] == ["v.value"]
    with pytest.raises(CheckpointError, match="--allow-missing u: no leaf of the model matches"):
        make_plan(stored(W), new, Wishes(allow_missing=["u"]))


@pytest.mark.parametrize("separator", ["/", "."])
@pytest.mark.parametrize("below", ["", "net."])
def test_joined_names_are_refused(separator: str, below: str) -> None:
    names = {("w", "kernel"): "float32 2"} | {("d", "rngs", "x", n): kind for n, kind in STREAM.items()}
    tree = stored({f"{below}{number}": kind for number, kind in enumerate(names.values())})
    paths = [(*below.split(".")[:-1], separator.join(name)) for name in names]
    leaves = {path: replace(leaf, path=path) for path, leaf in zip(paths, tree.leaves.values(), strict=True)}
    with pytest.raises(CheckpointError, match="joined"):
        make_plan(replace(tree, leaves=leaves), None)
    make_plan(replace(tree, leaves={path: leaf for path, leaf in leaves.items() if "rngs" not in path[-1]}), None)


@pytest.mark.parametrize("masked", [True, False])
def test_a_masked_optimizer_is_said_to_need_its_factory(masked: bool) -> None:
    model = target({"a.kernel.value": "float32 2", "a.bias.value": "float32"})
    model = {
        layout: {p: replace(one, variable="Param") for p, one in leaves.items()} for layout, leaves in model.items()
    }
    names = ["kernel"] if masked else ["kernel", "bias"]
    kinds = {"kernel": "float32 2", "bias": "float32"}
    old = {f"model.a.{name}.value": kind for name, kind in kinds.items()} | {"step.value": "uint32"}
    old |= {f"opt_state.inner_state.0.mu.a.{name}.value": kinds[name] for name in names}
    plan = make_plan(stored(old), model)
    plan.require_fit()
    assert any("optax.masked" in note for note in plan.notes) is masked


def test_what_stands_beside_nnx_state_is_not_said_to_be_lost_alone() -> None:
    both = target({"a.w.value": "float32", "b.w.value": "float32"})
    with pytest.raises(MisfitError) as refused:
        make_plan(stored({"a.w.value": "float32", "b.w.value": "float32", "step": "int64"}), both).require_fit()
    assert refused.value.hint.startswith("let the factory return the tree that was saved, with step in it; if ")


def test_streams_of_another_model_are_named() -> None:
    streams = {f"d.rngs.noise.{n}": kind for n, kind in STREAM.items()}
    old = {"gen.g.w": "float32", "disc.c.w": "float32"} | {
        f"{at}.{n}": k for at in ("gen", "disc") for n, k in streams.items()
    }
    new = {"g.w.value": "float32"} | {f"d.rngs.{n}.value": f"rng {kind}" for n, kind in STREAM.items()}
    plan = make_plan(stored(old), target(new))
    plan.require_fit()
    assert any("not below gen are left out too, such as disc.d.rngs.noise" in note for note in plan.notes)
    assert not any("--model" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("old", "new", "told"), [("int32", "int64", False), ("float32", "float64", False), ("uint32", "int64", True)]
)
def test_numbers_of_python_have_no_width(old: str, new: str, told: bool) -> None:
    wanted = target({"w.value": "float32 2", "step": new})
    numbers = {
        layout: {path: replace(one, kind="scalar") if path == ("step",) else one for path, one in leaves.items()}
        for layout, leaves in wanted.items()
    }
    plan = make_plan(stored({"w.value": "float32 2", "step": old}), numbers)
    assert bool(plan.notes) == told
    assert bool(make_plan(stored({"w.value": "float32 2", "step": old}), wanted).notes)
