"""Cases of the rules on what is written into models by hand."""

from __future__ import annotations

from tests.lint.tables import Cases

CASES = {
    "NNX640": Cases(
        bad=(
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
@nnx.jit
def step(net, v, rate):
    grads = nnx.grad(loss_fn)(net, v)
    nnx.update(net, jax.tree.map(lambda g: -rate * g, grads))  # NNX640
step(model, x, 0.1)
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
@nnx.jit
def step(net, v):
    loss, grads = nnx.value_and_grad(loss_fn)(net, v)
    nnx.update(net, grads)  # NNX640
    return loss
loss = step(model, x)
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
tx = optax.adam(0.1)
def run(net, v):
    state = tx.init(nnx.state(net, nnx.Param))
    grads = nnx.grad(loss_fn)(net, v)
    updates, state = tx.update(grads, state, nnx.state(net, nnx.Param))
    nnx.update(net, updates)  # NNX640
    return state
state = run(model, x)
""",
        ),
        clean=(
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
@nnx.jit
def step(net, v, rate):
    params = nnx.state(net, nnx.Param)
    grads = nnx.grad(loss_fn)(net, v)
    nnx.update(net, jax.tree.map(lambda g, p: p - rate * g, grads, params))
step(model, x, 0.1)
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
@nnx.jit
def step(net, v):
    def with_state(net):
        return loss_fn(net, v), nnx.state(net, nnx.Param)
    (loss, state), grads = nnx.value_and_grad(with_state, has_aux=True)(net)
    nnx.update(net, state)
    return loss, grads
loss, grads = step(model, x)
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
tx = optax.adam(0.1)
def run(net, v):
    params = nnx.state(net, nnx.Param)
    state = tx.init(params)
    updates, state = tx.update(nnx.grad(loss_fn)(net, v), state, params)
    nnx.update(net, optax.apply_updates(params, updates))
    return state
state = run(model, x)
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
grad_model = nnx.clone(model)
nnx.update(grad_model, nnx.grad(loss_fn)(model, x))
total = jnp.abs(grad_model.kernel[...]).sum()
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def shrunk(net, rate):
    params = nnx.state(net, nnx.Param)
    nnx.update(net, jax.tree.map(lambda p: (1 - rate) * p, params))
shrunk(model, 0.1)
""",
        ),
    ),
}
