"""Names of parameters that people exchange on purpose."""

from __future__ import annotations

from codemods.nnx.patterns import pattern

_LIKE = 0.55  # from what likeness on two names are taken for those of one kind of thing
_NUMBERS = pattern(r"[\d_]+|prime|prev(ious)?|next|new|old|other")
# what stands for two sides of one thing
_SIDES = tuple(
    frozenset(pair)
    for pair in (
        ("src", "dst"), ("source", "target"), ("lhs", "rhs"), ("left", "right"), ("first", "second"), ("row", "col"),
        ("rows", "cols"), ("query", "key"), ("start", "end"), ("start", "stop"), ("lower", "upper"), ("low", "high"),
        ("min", "max"), ("minimum", "maximum"), ("real", "imag"), ("input", "output"), ("inputs", "outputs"),
        ("forward", "backward"), ("positive", "negative"), ("pos", "neg"), ("sender", "receiver"), ("real", "fake"),
        ("senders", "receivers"), ("parent", "child"), ("width", "height"), ("head", "tail"), ("anchor", "positive"),
        ("pred", "target"), ("predictions", "targets"), ("logits", "labels"), ("actual", "expected"), ("true", "pred"),
        ("teacher", "student"), ("primal", "dual"), ("alpha", "beta"), ("mean", "other"), ("image", "text"),
    )
)  # fmt: skip


def alike(name: str, other: str) -> bool:
    """Say whether two names may be those of two of a kind, which a call may exchange: ``x1, x2``, ``src, dst``.

    Args:
        name: a name.
        other: another one.
    """
    one, two = (_NUMBERS.sub("", word.lower()) for word in (name, other))
    if max(len(name), len(other)) < 3 or one == two or not one or not two or one in two or two in one:
        return True
    words = [frozenset(word.lower().split("_")) for word in (name, other)]
    if any(len(side & words[0]) == 1 and side <= words[0] | words[1] for side in _SIDES):
        return True
    from difflib import SequenceMatcher  # dear to import, and seldom asked

    return SequenceMatcher(None, one, two).ratio() >= _LIKE
