"""Formulas that are nearly right: losses, noise, derivatives, and times."""

from __future__ import annotations

from tests.lint.tables import Cases

CASES = {
    "NNX782": Cases(
        bad=(
            """\
def mask_of(lengths, longest):
    return (jnp.arange(longest)[None, :] < lengths[:, None]).astype(jnp.float32)
def loss(logits, n, labels, m):
    pad = mask_of(n, 10)
    return optax.ctc_loss(logits, pad, labels, mask_of(m, 4)).mean()  # NNX782 NNX782
""",
            """\
class Loss:
    def mask(self, lengths, longest):
        return jnp.where(lengths[:, None] > jnp.arange(longest), 1.0, 0.0)
    def __call__(self, logits, n, labels, m):
        return optax.ctc_loss(logits, logit_paddings=self.mask(n, 10), labels=labels,  # NNX782
                              label_paddings=1.0 - self.mask(m, 4)).mean()
""",
            """\
from optax import ctc_loss as ctc
def loss(logits, n, labels):
    steps = jnp.arange(logits.shape[1])
    keep = jax.vmap(lambda k: steps < k)(n)
    return ctc(logits, ~keep, labels, (labels != 0).astype(jnp.float32)).mean()  # NNX782
""",
            """\
def loss(logits, lengths, labels):
    mask = np.zeros(logits.shape[:2], np.float32)
    for i, k in enumerate(lengths):
        mask[i, :k] = 1.0
    return optax.ctc_loss(logits, mask, labels, labels == 0).mean()  # NNX782
""",
            """\
def pads(lengths, longest):
    return {"pad": (jax.lax.iota(jnp.int32, longest)[None] < lengths[:, None]).astype(float)}
def loss(logits, lengths, labels):
    return optax.ctc_loss(logits, pads(lengths, 10)["pad"], labels, labels == 0).mean()  # NNX782
""",
            """\
def loss(logits, lengths, labels):
    padded = jnp.logical_not(jnp.arange(10) < lengths[:, None])
    return optax.ctc_loss(logits, 1 - padded, labels, labels < 0).mean()  # NNX782
""",
            """\
import dataclasses
@dataclasses.dataclass
class Batch:
    logits: jax.Array
    paddings: jax.Array
    labels: jax.Array
def collate(logits, lengths, labels):
    return Batch(logits, paddings=(jnp.arange(10) < lengths[:, None]) * 1.0, labels=labels)
def loss(batch):
    return optax.ctc_loss(batch.logits, batch.paddings, batch.labels, batch.labels == 0).mean()  # NNX782
loss(collate(jnp.ones((2, 10, 3)), jnp.array([3, 4]), jnp.ones((2, 3), int)))
""",
        ),
        clean=(
            """\
def loss(logits, lengths, labels):
    mask = np.zeros(logits.shape[:2], np.float32)
    for i, k in enumerate(lengths):
        mask[i, k:] = 1.0
    return optax.ctc_loss_with_forward_probs(logits, mask, labels, labels == 0)[0].mean()
loss(jnp.ones((2, 10, 3)), [4, 5], jnp.ones((2, 3), int))
""",
            """\
def loss(logits, lengths, labels):
    mask = (jnp.arange(10) < lengths[:, None]).astype(jnp.float32)
    losses = optax.ctc_loss(logits, 1.0 - mask, labels, (labels == 0).astype(jnp.float32))
    return (losses * mask.any(1)).sum() / mask.any(1).sum()
loss(jnp.ones((2, 10, 3)), jnp.array([4, 5]), jnp.ones((2, 3), int))
""",
            """\
def mask_of(lengths, longest):
    return (jnp.arange(longest)[None, :] >= lengths[:, None]).astype(jnp.float32)
def loss(logits, n, labels, m):
    pad = mask_of(n, 10)
    return optax.ctc_loss(logits, pad, labels, mask_of(m, 4)).mean()
""",
            """\
def left(logits, n, labels):
    begins = 10 - n
    return optax.ctc_loss(logits, (jnp.arange(10) < begins[:, None]).astype(float), labels, labels == 0).mean()
""",
            """\
def left(logits, n_pad, labels):
    return optax.ctc_loss(logits, (jnp.arange(10) < n_pad[:, None]).astype(float), labels, labels == 0).mean()
""",
            """\
def loss(logits, logit_pad, labels):
    return optax.ctc_loss(logits, logit_pad, labels, 1.0 - (labels > 0)).mean()
""",
            """\
def loss(logits, lengths, labels):
    mask = np.ones(logits.shape[:2], np.float32)
    for i, k in enumerate(lengths):
        mask[i, :k] = 0.0
    return optax.ctc_loss(logits, mask, labels, labels == 0).mean()
""",
            """\
def loss(logits, lengths, labels):
    mask = jnp.arange(10) < lengths[:, None]
    return optax.ctc_loss(logits, jnp.where(mask, 0.0, 1.0), labels, jnp.zeros(labels.shape)).mean()
""",
            """\
def loss(logits, lengths, labels, other):
    return optax.ctc_loss(logits, jnp.zeros(logits.shape[:2]), labels, (other != 0).astype(float)).mean()
""",
        ),
    ),
}
