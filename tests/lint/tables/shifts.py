"""Cases of rules about results that are cut or shifted otherwise than they are thought to be."""

from __future__ import annotations

from tests.lint.tables import Cases

_LOSS = """\
def causal_loss(logits, labels):
    logits, labels = logits[:, :-1], labels[:, 1:]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
"""
_BIGRAM = """\
class Bigram(nnx.Module):
    def __init__(self, rngs):
        self.table = nnx.Embed(7, 4, rngs=rngs)
        self.head = nnx.Linear(4, 7, rngs=rngs)
    def __call__(self, tokens):
        return self.head(self.table(tokens))
ids = jnp.tile(jnp.arange(7), (2, 1))
"""

CASES = {
    "NNX703": Cases(
        bad=(
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.wide = nnx.ConvTranspose(8, 4, (4, 4), (2, 2), padding=1, rngs=rngs)  # NNX703
        self.out = nnx.ConvTranspose(4, 3, kernel_size=(4, 4), strides=2, padding=(1, 1), rngs=rngs)  # NNX703
""",
            "up = nnx.ConvTranspose(4, 2, (2, 2), strides=(2, 2), padding=0, rngs=nnx.Rngs(0))  # NNX703\n",
            "up = nnx.ConvTranspose(4, 2, kernel_size=6, strides=2, padding=[(2, 2)], rngs=nnx.Rngs(0))  # NNX703\n",
            """\
KERNEL, STEP = (4, 4), (2, 2)
def upsample(din, dout, rngs, padding=1):
    return nnx.ConvTranspose(din, dout, KERNEL, STEP, padding=padding, rngs=rngs)  # NNX703
def build(rngs):
    return nnx.Sequential(upsample(8, 4, rngs), nnx.relu, upsample(4, 2, rngs, padding=1))
""",
            """\
class AutoEncoder(nnx.Module):
    def __init__(self, width, rngs):
        self.down = nnx.Conv(3, width, kernel_size=(3, 3), strides=(1, 1), padding=0, rngs=rngs)
        self.up = nnx.ConvTranspose(  # NNX703
            width, 3, kernel_size=(3, 3), strides=(1, 1), padding=0, rngs=rngs
        )
""",
            """\
import flax.linen as nn
class Decoder(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.ConvTranspose(3, (4, 4), strides=(2, 2), padding=1)(v)  # NNX703
""",
            """\
def stretch(rngs):
    return nnx.ConvTranspose(2, 2, (4, 3), strides=(2, 1), padding=((1, 1), (1, 1)), rngs=rngs)  # NNX703
""",
        ),
        clean=(
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.wide = nnx.ConvTranspose(8, 4, (4, 4), (2, 2), padding=2, rngs=rngs)
        self.out = nnx.ConvTranspose(4, 3, (4, 4), (2, 2), rngs=rngs)
    def __call__(self, v):
        return self.out(self.wide(v))
assert Decoder(nnx.Rngs(0))(jnp.ones((1, 3, 3, 8))).shape == (1, 12, 12, 3)
""",
            """\
up = nnx.ConvTranspose(4, 2, (2, 2), strides=(2, 2), padding="VALID", rngs=nnx.Rngs(0))
assert up(jnp.ones((1, 3, 3, 4))).shape == (1, 6, 6, 2)
""",
            """\
same = nnx.ConvTranspose(4, 2, (3, 3), strides=(1, 1), padding=1, rngs=nnx.Rngs(0))
assert same(jnp.ones((1, 3, 3, 4))).shape == (1, 3, 3, 2)
""",
            """\
class AutoEncoder(nnx.Module):
    def __init__(self, width, rngs):
        self.down = nnx.Conv(3, width, (5, 5), strides=(2, 2), padding=2, rngs=rngs)
        self.up = nnx.ConvTranspose(width, 3, (5, 5), strides=(2, 2), padding=2, rngs=rngs)
    def __call__(self, v):
        return self.up(self.down(v))
assert AutoEncoder(4, nnx.Rngs(0))(jnp.ones((1, 7, 7, 3))).shape == (1, 7, 7, 3)
""",
            """\
class AutoEncoder(nnx.Module):
    def __init__(self, width, rngs):
        self.down = nnx.Conv(3, width, (4, 4), strides=(2, 2), padding=1, rngs=rngs)
        self.up = nnx.ConvTranspose(width, 3, (4, 4), strides=(2, 2), padding="SAME", rngs=rngs)
    def __call__(self, v):
        return self.up(self.down(v))
assert AutoEncoder(4, nnx.Rngs(0))(jnp.ones((1, 8, 8, 3))).shape == (1, 8, 8, 3)
""",
            """\
def up(padding, rngs):
    return nnx.ConvTranspose(4, 2, (4, 4), strides=(2, 2), padding=padding, rngs=rngs)
up("SAME", nnx.Rngs(0)), up(1, nnx.Rngs(0))
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 4, (3, 3), padding=0, rngs=rngs)
class Narrowing(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.ConvTranspose(4, 3, (3, 3), padding=0, rngs=rngs)
Encoder(nnx.Rngs(0)), Narrowing(nnx.Rngs(0))
""",
            """\
# other kernels, as they are dilated
up = nnx.ConvTranspose(4, 2, (2, 2), (2, 2), padding=0, kernel_dilation=(2, 2), rngs=nnx.Rngs(0))
down = nnx.Conv(4, 2, (4, 4), strides=(2, 2), padding=1, rngs=nnx.Rngs(1))
""",
        ),
    ),
    "NNX705": Cases(
        bad=(
            _LOSS
            + """\
def objective(net, tokens):
    logits = net(tokens)
    return causal_loss(logits[:, :-1], tokens[:, 1:])  # NNX705
""",
            _LOSS
            + """\
@nnx.jit
def step(net, tx, tokens):
    def objective(net):
        targets = tokens[:, 1:]
        logits = net(tokens[:, :-1])
        return causal_loss(labels=targets, logits=logits)  # NNX705
    tx.update(net, nnx.grad(objective)(net))
""",
            """\
class Trainer:
    def loss(self, scores, ids):
        scores = nnx.log_softmax(scores[..., :-1, :])
        return -jnp.take_along_axis(scores, ids[..., 1:, None], axis=-1).mean()
    def evaluate(self, net, batch):
        inputs, targets = batch[:, :-1], batch[:, 1:]
        return self.loss(net(inputs), targets)  # NNX705
""",
            """\
def next_token_loss(tokens, logits):
    wanted = jax.nn.one_hot(tokens[:, 1:], 7)
    return optax.softmax_cross_entropy(logits[:, :-1, :], wanted).mean()
def total(net, tokens):
    return next_token_loss(tokens[:, 1:], net(tokens)[:, :-1])  # NNX705
""",
            """\
def objective(net, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    logits = net(inputs)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], targets[:, 1:])  # NNX705
    return losses.mean()
""",
        ),
        clean=(
            _BIGRAM
            + """\
def objective(net, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    return optax.softmax_cross_entropy_with_integer_labels(net(inputs), targets).mean()
print(objective(Bigram(nnx.Rngs(0)), ids))
""",
            _BIGRAM
            + _LOSS
            + """\
def objective(net, tokens):
    return causal_loss(net(tokens), tokens)
print(objective(Bigram(nnx.Rngs(0)), ids))
""",
            _BIGRAM
            + """\
def loss(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
def objective(net, tokens):
    return loss(net(tokens)[:, :-1], tokens[:, 1:])
print(objective(Bigram(nnx.Rngs(0)), ids))
""",
            # without the first token, which says where the text begins
            _BIGRAM
            + _LOSS
            + """\
def objective(net, tokens):
    text = tokens[:, 1:]
    return causal_loss(net(text), text)
print(objective(Bigram(nnx.Rngs(0)), ids))
""",
            # the loss shifts if it is told to
            _BIGRAM
            + """\
def loss(logits, labels, shift=False):
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
def objective(net, tokens):
    return loss(net(tokens[:, :-1]), tokens[:, 1:])
print(objective(Bigram(nnx.Rngs(0)), ids))
""",
            # differences in time, and no next tokens
            """\
def changes(values, times):
    return (values[:, :-1] - values[:, 1:]) / (times[:, 1:] - times[:, :-1])
v = jnp.arange(12.0).reshape(2, 6)
print(changes(v[:, :-1], v[:, 1:] + 1.0))
""",
            # a text that is cut to its beginning
            _BIGRAM
            + _LOSS
            + """\
def objective(net, tokens):
    return causal_loss(net(tokens)[:, :-1], tokens[:, :-1])
print(objective(Bigram(nnx.Rngs(0)), ids))
""",
        ),
    ),
    "NNX570": Cases(
        bad=(
            """\
def causal_conv(x, w):
    pad = w.shape[0] // 2
    return jax.lax.conv_general_dilated(
        x, w, (1,), [(pad, pad)], dimension_numbers=("NWC", "WIO", "NWC")  # NNX570
    )
""",
            """\
class CausalConv(nnx.Module):
    def __init__(self, size, rngs):
        self.conv = nnx.Conv(3, 3, kernel_size=(size,), padding="SAME", rngs=rngs)  # NNX570
    def __call__(self, v):
        return nnx.relu(self.conv(v))
""",
            """\
def apply_causal(params, x, dilation):
    span = dilation * (params["w"].shape[0] - 1) // 2
    padding = ((span, span),)
    return jax.lax.conv_general_dilated(
        x, params["w"], window_strides=(1,), padding=padding,  # NNX570
        rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC"),
    )
""",
        ),
        clean=(
            """\
def causal_conv(x, w):
    pad = w.shape[0] - 1
    return jax.lax.conv_general_dilated(x, w, (1,), [(pad, 0)], dimension_numbers=("NWC", "WIO", "NWC"))
print(causal_conv(jnp.ones((1, 5, 2)), jnp.ones((3, 2, 2))).shape)
""",
            """\
# the end is cut off
def causal_conv(x, w):
    pad = w.shape[0] - 1
    y = jax.lax.conv_general_dilated(x, w, (1,), [(pad, pad)], dimension_numbers=("NWC", "WIO", "NWC"))
    return y[:, :-pad]
print(causal_conv(jnp.ones((1, 5, 2)), jnp.ones((3, 2, 2))).shape)
""",
            """\
class CausalBlock(nnx.Module):
    def __init__(self, size, rngs):
        self.conv = nnx.Conv(3, 3, kernel_size=(size,), padding="CAUSAL", rngs=rngs)
        self.mix = nnx.Conv(3, 3, kernel_size=(1,), padding="SAME", rngs=rngs)
    def __call__(self, v):
        return self.mix(self.conv(v))
print(CausalBlock(3, nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
            """\
def noncausal_conv(x, w):
    return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
print(noncausal_conv(jnp.ones((1, 5, 2)), jnp.ones((3, 2, 2))).shape)
""",
            """\
# a mask keeps the future out
def causal_conv(x, w):
    mask = (jnp.arange(w.shape[0]) <= w.shape[0] // 2)[:, None, None]
    return jax.lax.conv_general_dilated(x, w * mask, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
print(causal_conv(jnp.ones((1, 5, 2)), jnp.ones((3, 2, 2))).shape)
""",
            """\
# images, whose time is another axis
def causal_video_frame(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
print(causal_video_frame(jnp.ones((1, 5, 5, 2)), jnp.ones((3, 3, 2, 2))).shape)
""",
        ),
    ),
}
