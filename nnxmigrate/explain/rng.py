"""Errors of Rngs, of layers that hold random streams, and of ``nnx.split_rngs``."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

_SPLIT = r"split_rngs|nnx|flax"

ENTRIES = (
    Entry(
        "rng-stream-missing",
        "the Rngs has no stream of that name",
        (
            Wording(r"No RngStream named '\w+' found in Rngs"),
            Wording(r"No RNG named '\w+' or 'default' found in Rngs"),
        ),
        "From Flax 0.11.0 Dropout, MultiHeadAttention with a dropout rate, RNN and Bidirectional take their "
        "stream when they are built, even with rate 0 and for evaluation; before, they looked it up when "
        "they were called. Otherwise the code asks for a stream that the Rngs was not given.",
        "Give the Rngs the stream: `nnx.Rngs(params=0, dropout=1)`, `carry=2` for recurrent layers, "
        "or a default one, `nnx.Rngs(0)`, which serves every name.",
        "every version; at construction from Flax 0.11.0",
    ),
    Entry(
        "layer-without-rngs",
        "a layer is built without `rngs`",
        (
            Wording(r"__init__\(\) missing 1 required keyword-only argument: 'rngs'", r"nnx|flax"),
            Wording(r"missing \d required (keyword-only|positional) arguments?: .*'rngs'", r"nnx|flax"),
        ),
        "Layers with parameters draw them when they are built, from the Rngs that they are given. In a module of your "
        "own the Rngs has to be handed on to every layer.",
        "Write `nnx.Linear(2, 3, rngs=rngs)`, and hand `rngs` down: `def __init__(self, *, rngs: nnx.Rngs)`.",
        "every version",
    ),
    Entry(
        "dropout-without-rngs",
        "Dropout draws a mask and has no random stream",
        (
            Wording(r"no 'rngs' argument was provided to Dropout"),
            Wording(r"'deterministic' is False, but no"),
        ),
        "The layer was built without `rngs`, and the call, which is not deterministic, was given none either.",
        "Build it with `nnx.Dropout(rate, rngs=rngs)`, or pass `rngs=` in the call; for evaluation call "
        "`model.eval()`, or pass `deterministic=True`.",
        "every version",
    ),
    Entry(
        "rng-fork-splits",
        "Rngs.fork is called with `splits=`",
        (
            Wording(r"fork\(\) got an unexpected keyword argument 'splits'"),
            Wording(r"RngStream\.__call__\(\) got an unexpected keyword argument 'splits?'"),
        ),
        "The keyword is `split`; the official migration guide misspells it. Rngs.fork exists from Flax 0.10.7, "
        "before that `fork` is taken for the name of a stream.",
        "Write `rngs.fork(split=5)`, on 0.12.6 and later `rngs.split(5)`.",
        "every version",
    ),
    Entry(
        "rng-stream-arguments",
        "nnx.RngStream is called with the arguments of another version",
        (Wording(r"RngStream\.__init__\(\) (takes|got|missing)"),),
        "Its arguments are (tag, key, count) up to Flax 0.10.6, (tag, key) in 0.10.7 and (key, *, tag) from 0.11.0.",
        "Use keywords: `nnx.RngStream(tag='params', key=key)` runs from 0.10.7 on.",
        "every version, for the spelling of another",
    ),
    Entry(
        "layer-holds-one-stream",
        "a layer's `rngs` is one RngStream, not an Rngs",
        (
            Wording(r"'RngStream' object has no attribute '\w+'"),
            Wording(r"'RngStream' object is not subscriptable"),
        ),
        "From Flax 0.11.0 Dropout, MultiHeadAttention and RNN keep a fork of the one stream they use, and hand that "
        "to a cell's `initialize_carry`.",
        "Drop the name of the stream: `layer.rngs.key`, `layer.rngs.count`, `layer.rngs()`. In a cell of your own "
        "call `rngs()` if it is an nnx.RngStream.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "layer-arguments-keyword",
        "options of Dropout or RNN are given by position",
        (Wording(r"(Dropout|RNN|Bidirectional)\.__init__\(\) takes (from \d to )?\d positional arguments? but"),),
        "From Flax 0.11.0 all arguments of Dropout after `rate`, and of RNN after `cell`, are keyword-only.",
        "Name them: `nnx.Dropout(0.5, broadcast_dims=(), deterministic=True, rngs=rngs)`, "
        "`nnx.RNN(cell, time_major=True, return_carry=False)`. Keywords run on 0.10 too.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "dropout-dataclass",
        "nnx.Dropout is no longer a dataclass",
        (
            Wording(r"(replace|asdict|astuple)\(\) should be called on dataclass instances", r"Dropout|flax|nnx"),
            Wording(r"must be called with a dataclass type or instance", r"Dropout|flax|nnx"),
        ),
        "From Flax 0.11.0 it is an ordinary Module, so dataclasses.replace, fields and asdict refuse it.",
        "Build a new `nnx.Dropout(rate, rngs=rngs)`, or set `layer.rate`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "layer-rngs-type",
        "a layer got something else than an Rngs or an RngStream as `rngs`",
        (
            Wording(r"rngs must be a Rngs, RngStream or (jax\.Array|None), but got"),
            Wording(r"JAX does not support string indexing; got idx=\('(dropout|params|carry|default)',\)"),
        ),
        "Up to Flax 0.10 any mapping, callable or key served; from 0.11.0 a layer takes an Rngs, an RngStream or None "
        "when it is built, and a key array only when it is called, which 0.10 does not.",
        "Build an Rngs: `nnx.Rngs(dropout=key)`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "rnn-rngs-none",
        "RNN or Bidirectional got `rngs=None`",
        (Wording(r"Expected rngs to be a jax\.Array, int, Rngs, or bool\. Got <class 'NoneType'>"),),
        "From Flax 0.11.0 they fork a stream for the initial carry.",
        "Pass `rngs=rngs`, or leave the argument out.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "rnn-carry-rngs",
        "initialize_carry is called without rngs",
        (Wording(r"RNGs must be provided to initialize the cell carry"),),
        "From Flax 0.11.0 a cell keeps no Rngs of its own.",
        "Write `cell.initialize_carry(shape, rngs=nnx.Rngs(carry=0))`, or build the cell with `keep_rngs=True`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "rnn-cell-rngs",
        "a recurrent cell's `rngs` is None",
        (
            Wording(
                r"'NoneType' object has no attribute '(recurrent_dropout|dropout|carry|params|default|noise)'",
                r"\.rngs\.",
            ),
        ),
        "From Flax 0.11.0 a cell keeps its Rngs only if asked to.",
        "Build the cell with `keep_rngs=True`, or keep `rngs.fork()` in your own subclass.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "reseed-stacked",
        "nnx.reseed meets a stream with one key per layer",
        (Wording(r"Cannot reseed stream at path"),),
        "Layers built under nnx.split_rngs and nnx.vmap hold arrays of keys, which have no single seed.",
        "Write `nnx.reseed(model, policy='match_shape', dropout=1)`; it derives a key for each layer.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "reseed-policy",
        "`policy` is an option of nnx.reseed, not a stream",
        (Wording(r"policy must be 'scalars_only', 'match_shape' or a callable"),),
        "From Flax 0.11.0 nnx.reseed has a keyword of that name, so a stream called `policy` cannot be reseeded.",
        "Give the stream another name.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "split-rngs-kept",
        "streams that are one per layer already are split again",
        (Wording(r"fold_in accepts a single key, but was given a key array of shape"),),
        "From Flax 0.11.0 layers built under nnx.split_rngs keep their own keys, with the extra axis. A "
        "nnx.split_rngs around the forward pass (scan, vmap, pmap or the context manager) then meets key arrays.",
        "Remove that split_rngs, or restrict it to scalar keys, which runs on every version: "
        "`@nnx.split_rngs(splits=N, only=lambda path, x: x.shape == ())`. Needed where a module also keeps a plain "
        "`self.rngs = rngs`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "split-rngs-missing",
        "a mapped module holds streams without the mapped axis",
        (
            Wording(r"axis 0 is out of bounds for array of dimension 0", _SPLIT),
            Wording(
                r"vmap was requested to map its argument along axis \d, which implies that its rank should be at least "
                r"\d, but is only 0",
                _SPLIT,
            ),
            Wording(r"IndexError: tuple index out of range", r"nnx/transforms|nnx\.scan|nnx\.vmap|nnx\.pmap"),
        ),
        "nnx.split_rngs gives the streams of an Rngs back as scalars when it ends. On Flax 0.10 that concerns every "
        "layer, from 0.11.0 only modules that keep the Rngs they were given (`self.rngs = rngs`).",
        "Keep a fork (`self.rngs = rngs.fork()`), or build the stack from `rngs.fork(split=N)` without split_rngs, "
        "which runs on every version; or put nnx.split_rngs around the mapped call.",
        "every version; on 0.10 where code for 0.11 runs",
    ),
    Entry(
        "seed-overflow",
        "a seed does not fit into 32 bits",
        (Wording(r"OverflowError: An overflow was encountered while parsing an argument to a jitted computation"),),
        "JAX integers have 32 bits unless jax_enable_x64 is set; outside of jit jax.random.PRNGKey cuts the seed off "
        "silently.",
        "Use a seed below 2**32.",
        "every version",
    ),
    Entry(
        "key-reused",
        "a random key is used twice",
        (Wording(r"KeyReuseError|Previously-consumed key passed to"),),
        "The second use draws the same numbers as the first.",
        "Split it first, `key, subkey = jax.random.split(key)`, or draw keys from an nnx.Rngs: `rngs.noise()`.",
        "every version, with jax_debug_key_reuse",
    ),
)
