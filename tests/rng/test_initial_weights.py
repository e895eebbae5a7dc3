"""NNX217: where one seed gives other initial weights, and how the weights of 0.10 are kept."""

from __future__ import annotations

import pytest

from tests.migration import look, migrate_text, options

HEAD = "from flax import nnx\n\nold = nnx.Dropout(0.5, ())\n\n\n"
LINEAR = "nnx.Linear(2, 2, rngs=rngs)"
DROPOUT = "nnx.Dropout(0.5, rngs=rngs)"
GRU = "nnx.GRUCell(2, 2, rngs=rngs)"


def _net(*lines: str, made: str = "nnx.Rngs(0)") -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"{HEAD}class Net(nnx.Module):\n    def __init__(self, rngs):\n{body}\n\nnet = Net({made})\n"


def _function(*lines: str, rest: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}def make(rngs):\n{body}\n\n{rest}\n"


CHOSEN = options("0.11", select=("NNX217",))


@pytest.mark.parametrize(
    ("text", "layers", "streams"),
    [
        (_net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}"), "Dropout", "dropout=1"),
        (_net(f"self.d = {DROPOUT}; self.a = {LINEAR}"), "Dropout", "dropout=1"),
        (_net(f"self.d = {DROPOUT}", "self.a = nnx.Sequential(old, make(rngs))"), "Dropout", "dropout=1"),
        (_net("for i in range(2):", f"    self.a = {LINEAR}", f"    self.d = {DROPOUT}"), "Dropout", "dropout=1"),
        (
            _net(
                "self.d = nnx.MultiHeadAttention(1, 2, dropout_rate=0.1, rngs=rngs)",
                f"self.r = nnx.RNN({GRU}, rngs=rngs)",
                f"self.a = {LINEAR}",
            ),
            "MultiHeadAttention and RNN",
            "carry=1, dropout=1",
        ),
        (_net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}", made="nnx.Rngs(default=0)"), "Dropout", "dropout=1"),
        (_net(f"self.d = {DROPOUT}", "self.key = rngs()", made="nnx.Rngs(0, params=1)"), "Dropout", "dropout=1"),
        (_net(f"self.d = {DROPOUT}", "self.key = rngs.noise()", made="nnx.Rngs(0, params=1)"), "Dropout", "dropout=1"),
        (
            _net(f"self.d = {DROPOUT}")
            .replace("Net(nnx.Rngs(0))", f"rngs = nnx.Rngs(0)\nnet = Net(rngs)\nhead = {LINEAR}")
            .replace("net = rngs", "rngs"),
            "Dropout",
            "dropout=1",
        ),
        (_net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}", made="nnx.Rngs(\n    0\n)"), "Dropout", "dropout=1"),
        (
            _function(f"return {DROPOUT}", rest="rngs = nnx.Rngs(0)\na, b = make(rngs), make(rngs)"),
            "Dropout",
            "dropout=1",
        ),
    ],
)
def test_found(text: str, layers: str, streams: str) -> None:
    (found,) = look(text, CHOSEN).findings
    assert found.notable
    assert found.message.startswith(f"since Flax 0.11 nnx.{layers} takes a key")
    assert found.help.endswith(f"of its own: {streams}")
    assert migrate_text(text, CHOSEN) == text
    kept = migrate_text(text, CHOSEN, unsafe=True)
    seed = text.rpartition("nnx.Rngs(")[2].partition(")")[0].rstrip()
    assert kept == text.replace(f"nnx.Rngs({seed}", f"nnx.Rngs({seed}, {streams}")
    assert not look(kept, CHOSEN).findings


@pytest.mark.parametrize(
    "text",
    [
        _net(f"self.a = {LINEAR}", f"self.d = {DROPOUT}"),
        _net(f"self.a = {LINEAR}; self.d = {DROPOUT}"),
        _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}", made="nnx.Rngs(0, dropout=1)"),
        _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}", made="nnx.Rngs(params=0, dropout=1)"),
        _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}", made="nnx.Rngs(**{'params': 0})"),
        _net("self.d = nnx.Dropout(0.5, rng_collection='default', rngs=rngs)", f"self.a = {LINEAR}"),
        _net("self.d = nnx.Dropout(0.5, rng_collection=str(1), rngs=rngs)", f"self.a = {LINEAR}"),
        _net("self.d = nnx.MultiHeadAttention(1, 2, dropout_rate=0, rngs=rngs)", f"self.a = {LINEAR}"),
        _net(f"self.d = {DROPOUT}", "self.a = print(max(1, 2))"),
        _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}", made="nnx.Rngs(0, params=1)"),
        _net("for i in range(2):", f"    self.d = {DROPOUT}"),
        _net(f"self.d = {DROPOUT}", f"self.e = {DROPOUT}") + "other = Net(nnx.Rngs(1))\n",
        _net(f"self.d = {DROPOUT}", f"self.f = lambda rngs: {LINEAR}"),
        _function(f"return {DROPOUT}", rest="rngs = nnx.Rngs(0)\na = make(rngs)"),
    ],
)
def test_silent(text: str) -> None:
    assert not look(text, CHOSEN).findings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("seed", True), ("seed + 1", True), ("args.seed", True), ("keys[0]", True), ('args["seed"]', True),
        ("args", False), ("keys", False), ("keys | args", False), ('args["streams"]', False), ("*keys", False),
    ],
)  # fmt: skip
def test_seeds_of_the_caller(given: str, said: bool) -> None:
    text = _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}")
    text = text.replace("net = Net(nnx.Rngs(0))", f"def run(args, seed, keys):\n    return Net(nnx.Rngs({given}))")
    assert [f.code for f in look(text, CHOSEN).findings] == ["NNX217"] * said


@pytest.mark.parametrize(
    ("sign", "said"),
    [
        ("", False),
        ("leaf = nnx.VariableState", True),
        ("leaf = nnx.VariableState(type=nnx.Param, value=1)", True),
        ("leaf = nnx.VariableState(nnx.Param, 1).to_variable()", True),
        ("s = nnx.state(net); net(x); nnx.update(net, s)", True),
    ],
)
def test_only_of_code_in_which_something_else_is_of_0_10(sign: str, said: bool) -> None:
    text = _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}").replace("old = nnx.Dropout(0.5, ())", "")
    assert [f.code for f in look(f"{text}{sign}\n", CHOSEN).findings] == ["NNX217"] * said


def test_only_on_the_way_to_0_11() -> None:
    text = _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}")
    assert not look(text, options("0.12", origin="0.11", select=("NNX217",))).findings


DROPPED = _net(f"self.d = {DROPOUT}", f"self.a = {LINEAR}", made="nnx.Rngs(params=0, dropout=1)")
MAKE = "def make():\n    return Net(nnx.Rngs(0))\n\n\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("other = Net(nnx.Rngs(0))\n", True),
        (f"{MAKE}other = make()\n", True),
        (f"{MAKE}shapes = nnx.eval_shape(make)\nother = make()\n", True),
        (f"{MAKE}shapes = nnx.eval_shape(make)\n", False),
        ("import jax\n\nshapes = jax.eval_shape(lambda: nnx.state(Net(nnx.Rngs(0))))\n", False),
    ],
)
def test_shapes_have_no_weights(text: str, said: bool) -> None:
    assert [f.code for f in look(DROPPED + text, CHOSEN).findings] == ["NNX217"] * said


STACKED = f"""\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.d = {DROPOUT}


class Stack(nnx.Module):
    def __init__(self, rngs):
        self.layers = make(rngs)
        self.head = {LINEAR}


stack = Stack(nnx.Rngs(0))
"""


@pytest.mark.parametrize(
    ("maker", "said"),
    [
        ("@nnx.split_rngs(splits=3)\n@nnx.vmap\ndef make(rngs):\n    return Layer(rngs)\n", False),
        ("make = nnx.split_rngs(splits=3)(nnx.vmap(Layer))\n", False),
        ("@nnx.jit\ndef make(rngs):\n    return Layer(rngs)\n", True),
    ],
)
def test_what_split_rngs_gives_back_is_as_it_was(maker: str, said: bool) -> None:
    """Measured: the key is taken of the split streams, and the weights made after it are those of 0.10."""
    layer, _, rest = STACKED.partition("\n\n\nclass Stack")
    text = f"{HEAD}{layer}\n\n\n{maker}\n\nclass Stack{rest}"
    assert [f.code for f in look(text, CHOSEN).findings if f.code == "NNX217"] == ["NNX217"] * said


BUILT = f"""\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.d = {DROPOUT}
        self.a = {LINEAR}


class Trainer:
    def __init__(self, seed=0):
        self.rngs = nnx.Rngs(seed)
        self.model = self.build(self.rngs)

    def build(self, rngs):
        raise NotImplementedError


class Own(Trainer):
    def build(self, rngs):
        return Net(rngs)


own = Own()
"""
TABLE = "MODELS = {'net': Net}\n\n\ndef build(name, rngs):\n    return MODELS[name](rngs)\n\n\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("", ""), True),
        (("build(self.rngs)", "build(rngs=self.rngs)"), True),
        (("build(self.rngs)", "build()"), False),  # which fails
        (("self.build(self.rngs)", "None"), False),
        (("Net(rngs)", "Net(nnx.Rngs(params=0, dropout=1))"), False),
        (("nnx.Rngs(seed)", "nnx.Rngs(seed, dropout=1)"), False),
        (("class Own(Trainer)", "class Own"), False),
        (("        raise NotImplementedError", "        return None"), True),
        (("own = Own()", f"{TABLE}net = build(input(), nnx.Rngs(0))"), True),
        (
            ("own = Own()", f"{TABLE}net = build(input(), nnx.Rngs(0))".replace("MODELS[name]", "MODELS.get(name)")),
            True,
        ),
    ],
)
def test_made_by_an_overridden_method_or_out_of_a_table(change: tuple[str, str], said: bool) -> None:
    text = HEAD + BUILT.replace(*change)
    assert [f.code for f in look(text, CHOSEN).findings] == ["NNX217"] * said


FORWARDED = "{}\n\n\ndef build({}):\n    return {}\n\n\nnet = build({})\n"


@pytest.mark.parametrize(
    ("params", "made", "given", "said"),
    [
        ("**named", "Net(**named)", "rngs=nnx.Rngs(0)", True),
        ("n, **named", "[Net(**named) for _ in range(n)]", "2, rngs=nnx.Rngs(0)", True),
        ("**named", "build_it(**named)", "rngs=nnx.Rngs(0)", True),
        ("**named", "Net(**named)", "rngs=nnx.Rngs(0, dropout=1)", False),
        ("rngs, **named", "Net(nnx.Rngs(0, dropout=1), **named)", "rngs=nnx.Rngs(0)", False),
        ("**named", "Net(named['rngs'].fork())", "rngs=nnx.Rngs(0, dropout=1)", False),
    ],
)
def test_handed_on_by_keywords(params: str, made: str, given: str, said: bool) -> None:
    net = BUILT.partition("class Trainer")[0] + "def build_it(**more):\n    return Net(**more)"
    text = HEAD + FORWARDED.format(net, params, made, given)
    assert [f.code for f in look(text, CHOSEN).findings] == ["NNX217"] * said


def test_a_table_of_several_classes_says_nothing() -> None:
    plain = f"class Plain(nnx.Module):\n    def __init__(self, rngs):\n        self.a = {LINEAR}\n\n\n"
    text = BUILT.partition("class Trainer")[0] + plain + TABLE.replace("{'net'", "{'plain': Plain, 'net'")
    assert not look(f"{HEAD}{text}net = build('plain', nnx.Rngs(0))\n", CHOSEN).findings
