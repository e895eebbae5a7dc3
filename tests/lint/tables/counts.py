"""Means over unequal parts, padding that counts again, variances that cancel, and names that nothing has."""

from __future__ import annotations

from tests.lint.tables import Cases

_POLICY = """\
from jax.ad_checkpoint import checkpoint_name
@partial(jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names('attention_out'))  # NNX685
def block(w, v):
    return jnp.tanh(checkpoint_name(v * w, 'attn_out') * w)
print(jax.grad(lambda w: block(w, x).sum())(2.0))
"""
_OFFLOADED = """\
from jax.ad_checkpoint import checkpoint_name as named
policies = jax.checkpoint_policies
policy = policies.save_and_offload_only_these_names(  # NNX685
    names_which_can_be_saved=['query_projection'], names_which_can_be_offloaded=['key_projection'],
    offload_src='device', offload_dst='pinned_host',
)
def project(w, v):
    return named(v * w, 'query_proj') + named(v / w, 'key_proj')
"""
_MEAN = """\
def evaluate(losses, mask):
    loss = jnp.sum(losses * mask) / jnp.sum(mask)
    return jax.lax.pmean(loss, 'devices')  # NNX686
losses, mask = jnp.arange(6.0).reshape(2, 3), jnp.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
print(jax.vmap(evaluate, axis_name='devices')(losses, mask))
"""
_ROOT = """\
def standardise(v):
    mean = jnp.mean(v, axis=0)
    var = jnp.mean(v**2, axis=0) - mean**2  # NNX687
    return (v - mean) / jnp.sqrt(var + 1e-6)
print(standardise(x))
"""
_HITS = """\
MAX_HITS = 8
def total(energies, inside):
    (hits,) = jnp.nonzero(inside, size=MAX_HITS)
    return energies[hits].sum()  # NNX688
print(total(jnp.arange(1.0, 5.0), jnp.array([True, False, True, False])))
"""


def _right(text: str, *replaced: tuple[str, str]) -> str:
    """Return a program without its mark, and with other parts."""
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return text.replace("  # NNX685", "").replace("  # NNX686", "").replace("  # NNX687", "").replace("  # NNX688", "")


CASES = {
    "NNX685": Cases(
        bad=(
            _POLICY,
            _OFFLOADED,
            _POLICY.replace("'attn_out'", "'attention_output'"),
        ),
        clean=(
            _right(_POLICY, ("attn_out", "attention_out")),
            # one of them is there
            _right(_POLICY, ("'attention_out'", "'attention_out', 'attn_out'")),
            # what a kernel of a library may give
            _right(_POLICY, ("attention_out", "context")),
            # the name comes from an argument
            _right(_POLICY, ("'attn_out'", "name"), ("def block(w, v):", "def block(w, v, name='attention_out'):")),
            _right(
                _POLICY,
                ("from jax", "NAMES = ['attention_out']\nfrom jax"),
                ("checkpoint_name(v * w, 'attn_out')", "checkpoint_name(v * w, NAMES[0])"),
            ),
            # nothing has a name here at all: another project may give them
            _right(_POLICY, ("checkpoint_name(v * w, 'attn_out')", "(v * w)")),
        ),
    ),
    "NNX686": Cases(
        bad=(
            _MEAN,
            """\
@partial(jax.pmap, axis_name='batch')
def metrics(losses, labels):
    valid = (labels > 0).astype(jnp.float32)
    loss = (losses * valid).sum() / jnp.maximum(valid.sum(), 1.0)
    return jax.lax.pmean({'loss': loss}, axis_name='batch')  # NNX686
print(metrics(jnp.ones((1, 3)), jnp.ones((1, 3))))
""",
            """\
@partial(jax.vmap, axis_name='batch')
def metrics(losses, mask):
    total = jnp.sum(jnp.where(mask, losses, 0.0))
    return jax.lax.pmean(total / (mask.sum() + 1e-8), 'batch')  # NNX686
print(metrics(jnp.ones((2, 3)), jnp.ones((2, 3), bool)))
""",
            """\
@partial(jax.vmap, axis_name='batch')
def metrics(losses, mask):
    weight = mask[1:]
    return jax.lax.pmean((losses[1:] * weight).sum() / weight.sum(), 'batch')  # NNX686
print(metrics(jnp.ones((2, 3)), jnp.ones((2, 3))))
""",
        ),
        clean=(
            _right(
                _MEAN,
                (
                    "    loss = jnp.sum(losses * mask) / jnp.sum(mask)\n    return jax.lax.pmean(loss, 'devices')",
                    "    total = jax.lax.psum(jnp.sum(losses * mask), 'devices')\n"
                    "    return total / jax.lax.psum(jnp.sum(mask), 'devices')",
                ),
            ),
            _right(_MEAN, ("/ jnp.sum(mask)", "/ jax.lax.psum(jnp.sum(mask), 'devices')")),
            _right(_MEAN, ("/ jnp.sum(mask)", "/ losses.size")),
            # weights that every device has alike, as far as is known
            _right(_MEAN, ("mask)", "w)"), ("losses, mask =", "losses, w =")),
            _right(_MEAN, ("jax.lax.pmean(loss, 'devices')", "jax.lax.pmax(loss, 'devices')")),
            # of each example its own
            _right(
                _MEAN,
                ("jnp.sum(losses * mask) / jnp.sum(mask)", "jnp.sum(losses * mask, axis=-1) / jnp.sum(mask, axis=-1)"),
            ),
        ),
    ),
    "NNX687": Cases(
        bad=(
            _ROOT,
            """\
def moments(v):
    m = jnp.mean(v)
    return m, jnp.mean(v * v) - m * m  # NNX687
def whiten(v):
    m, s = moments(v)
    return (v - m) / jnp.sqrt(s)
print(whiten(jnp.arange(3.0)))
""",
            """\
class Norm(nnx.Module):
    def __call__(self, v):
        mean = jnp.mean(v, axis=-1, keepdims=True)
        mean_of_squares = jnp.mean(jax.lax.square(v), axis=-1, keepdims=True)
        var = mean_of_squares - jax.lax.square(mean)  # NNX687
        return (v - mean) * jax.lax.rsqrt(var + 1e-5)
print(Norm()(x))
""",
            "def spread(v):\n    return jnp.sqrt(jnp.mean(v**2) - jnp.mean(v) ** 2)  # NNX687\nprint(spread(x))\n",
        ),
        clean=(
            _right(_ROOT, ("jnp.mean(v**2, axis=0) - mean**2", "jnp.mean((v - mean) ** 2, axis=0)")),
            _right(_ROOT, ("jnp.mean(v**2, axis=0) - mean**2", "jnp.maximum(jnp.mean(v**2, axis=0) - mean**2, 0)")),
            _right(_ROOT, ("jnp.sqrt(var + 1e-6)", "jnp.sqrt(jnp.clip(var, 0) + 1e-6)")),
            _right(_ROOT, ("(v - mean) / jnp.sqrt(var + 1e-6)", "mean, var")),
            _right(_ROOT, ("- mean**2", "- 1.0")),
            # with digits enough
            _right(_ROOT, ("def standardise(v):\n", "def standardise(v):\n    v = np.asarray(v, np.float64)\n")),
            # of two arrays
            "def apart(v, w):\n    return jnp.sqrt(jnp.mean(v**2) - jnp.mean(w) ** 2 + 9)\nprint(apart(x, x))\n",
            "def along(v):\n    return jnp.sqrt(jnp.mean(v**2, axis=0) - jnp.mean(v) ** 2 + 9)\nprint(along(x))\n",
        ),
    ),
    "NNX688": Cases(
        bad=(
            _HITS,
            """\
def mean_of(values, mask):
    found = jnp.where(mask, size=len(values))
    chosen = values[found[0]]
    return jnp.mean(chosen * 2.0)  # NNX688
print(mean_of(jnp.arange(1.0, 5.0), jnp.array([True, False, True, False])))
""",
            """\
@partial(jax.jit, static_argnames='max_points')
def spread(values, mask, max_points):
    index = jnp.flatnonzero(mask, size=max_points, fill_value=-1)
    return values[index].std()  # NNX688
print(spread(jnp.arange(1.0, 5.0), jnp.array([True, False, True, False]), 4))
""",
        ),
        clean=(
            _right(
                _HITS,
                (
                    "energies[hits].sum()",
                    "jnp.where(jnp.arange(MAX_HITS) < inside.sum(), energies[hits], 0.0).sum()",
                ),
            ),
            _right(_HITS, ("energies[hits].sum()", "energies.at[hits].get(mode='fill', fill_value=0).sum()")),
            # as many as there are
            _right(_HITS, ("size=MAX_HITS", "size=2")),
            # the padding is taken off again
            _right(_HITS, ("energies[hits].sum()", "energies[hits].sum() - energies[0] * (MAX_HITS - inside.sum())")),
            _right(_HITS, ("energies[hits].sum()", "energies[hits]")),
            _right(_HITS, ("(hits,) = jnp.nonzero(inside, size=MAX_HITS)", "hits = jnp.argsort(-energies)[:MAX_HITS]")),
        ),
    ),
}
