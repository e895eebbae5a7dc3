"""Cases of rules about derivatives: of functions of JAX, by differences, and within loops."""

from __future__ import annotations

from tests.lint.tables import Cases

_RULE = """\
@jax.custom_vjp
def matvec(m, v):
    return m @ v
def forward(m, v):
    return matvec(m, v), (m, v)
def backward(kept, g):
    m, v = kept
"""

_SECOND = """\
@jax.custom_vjp
def energy(v):
    return v**3
def forward(v):
    return energy(v), (v,)
@jax.custom_vjp
def backward(kept, dy):
    (v,) = kept
    return (3 * v**2 * dy,)
def again(kept, dy):
    return backward(kept, dy), (kept, dy)
def second(held, ct):
    (v,), dy = held
    return (6 * v * dy * ct[0],), 3 * v**2 * ct[0]
backward.defvjp(again, second)
energy.defvjp(forward, backward)
def hvp(f, at, along):
    return jax.grad(lambda y: jnp.vdot(jax.grad(f)(y), along))(at)
print(hvp(lambda y: energy(y).sum(), x, x))
"""
_PRODUCT = """\
@jax.custom_vjp
def product(a, b):
    return a * b
@jax.custom_vjp
def slopes(kept, g):
    a, b = kept
    return b * g, a * g
def slopes_rule(held, ct):
    (a, b), g = held
    return (g * ct[1], g * ct[0]), b * ct[0] + a * ct[1]
slopes.defvjp(lambda kept, g: (slopes(kept, g), (kept, g)), slopes_rule)
product.defvjp(lambda a, b: (product(a, b), (a, b)), slopes)
print(jax.jacrev(jax.grad(lambda v: product(v, jnp.sin(v)).sum()))(x))
"""

CASES: dict[str, Cases] = {
    "NNX524": Cases(
        bad=(
            _RULE
            + """\
    return jnp.outer(g, v), jnp.zeros_like(v)  # NNX524
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def loss(params, v):
    h = jnp.tanh(matvec(params["a"], v))
    return jnp.sum(matvec(params["b"], h))
print(jax.grad(loss)(weights, x))
""",
            _RULE
            + """\
    nothing = jnp.zeros(v.shape, v.dtype)
    return jnp.outer(g, v), nothing  # NNX524
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def loss(params, v):
    h = jnp.tanh(matvec(params["a"], v))
    return jnp.sum(matvec(params["b"], h))
print(jax.grad(loss)(weights, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), 0.0 * v  # NNX524
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
@jax.jit
def step(params, v, y):
    def loss(p):
        h = jax.nn.relu(matvec(p["a"], v))
        return jnp.mean((matvec(p["b"], h) - y) ** 2)
    return jax.value_and_grad(loss)(params)
print(step(weights, x, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), jnp.zeros_like(v)  # NNX524
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def predict(params, v):
    for w in params:
        v = jnp.tanh(matvec(w, v))
    return v
def loss(params, v, y):
    return jnp.mean((predict(params, v) - y) ** 2)
print(jax.grad(loss)(list(weights.values()), x, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), jnp.zeros_like(v)  # NNX524
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.w = nnx.Param(jax.random.normal(rngs.params(), (3, 3)))
    def __call__(self, v):
        return matvec(self.w[...], v)
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = Layer(rngs), Layer(rngs)
    def __call__(self, v):
        h = jnp.tanh(self.a(v))
        return self.b(h)
print(nnx.grad(lambda net, v: jnp.sum(net(v)))(Net(nnx.Rngs(0)), x))
""",
            """\
def plain(v, scale):
    return v * scale
scaled = jax.custom_vjp(plain)
scaled.defvjp(lambda v, s: (v * s, (v, s)), lambda kept, g: (jnp.zeros_like(kept[0]), (g * kept[0]).sum()))  # NNX524
def loss(p, v):
    h = v @ p["w"]
    return jnp.sum(scaled(h, p["s"]))
print(jax.grad(loss)({"w": jnp.ones((3, 3)), "s": jnp.array(1.0)}, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), None  # NNX524
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def loss(params, v):
    h = jnp.tanh(matvec(params["a"], v))
    return jnp.sum(matvec(params["b"], h))
print(jax.grad(loss)(weights, x))
""",
        ),
        clean=(
            # None for what is no number of the net
            """\
@jax.custom_vjp
def pick(table, places):
    return jnp.take(table, places)
def backward(kept, g):
    shape, places = kept
    return jnp.zeros(shape).at[places].add(g), None
pick.defvjp(lambda table, places: (pick(table, places), (table.shape, places)), backward)
def loss(p, v):
    return pick(p["t"], jnp.argmax(v @ p["w"], keepdims=True)).sum()
print(jax.grad(loss)({"w": jnp.ones((3, 3)), "t": x}, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), m.T @ g
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def loss(params, v):
    h = jnp.tanh(matvec(params["a"], v))
    return jnp.sum(matvec(params["b"], h))
print(jax.grad(loss)(weights, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), jnp.zeros_like(v)
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def loss(params, v):
    return jnp.sum(matvec(params["a"], v))
print(jax.grad(loss)(weights, x))
""",
            _RULE
            + """\
    # no gradient for the input
    return jnp.outer(g, v), jnp.zeros_like(v)
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def loss(params, v):
    h = jnp.tanh(matvec(params["a"], v))
    return jnp.sum(matvec(params["b"], h))
print(jax.grad(loss)(weights, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), jnp.zeros_like(v)
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def loss(params, v):
    h = jax.lax.stop_gradient(jnp.tanh(matvec(params["a"], v)))
    return jnp.sum(matvec(params["b"], h))
print(jax.grad(loss)(weights, x))
""",
            _RULE
            + """\
    return jnp.outer(g, v), jnp.zeros_like(v)
matvec.defvjp(forward, backward)
weights = {"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3))}
def predict(params, v):
    h = jnp.tanh(matvec(params["a"], v))
    return jnp.sum(matvec(params["b"], h))
print(predict(weights, x))
""",
            """\
@jax.custom_vjp
def dot(v, w):
    return v @ w
dot.defvjp(lambda v, w: (v @ w, w), lambda w, g: (g @ w.T, jnp.zeros_like(w)))
def loss(p, v):
    h = jnp.tanh(dot(v, p["a"]))
    return dot(h, p["b"]).sum() + (h * p["c"]).sum()
print(jax.grad(loss)({"a": jnp.ones((3, 3)), "b": jnp.ones((3, 3)), "c": x}, x))
""",
            """\
@jax.custom_vjp
def attend(q, k, bias):
    return jax.nn.softmax(q @ k.T + bias)
def forward(q, k, bias):
    return attend(q, k, bias), (q, k, bias)
def backward(kept, g):
    q, k, bias = kept
    p = jax.nn.softmax(q @ k.T + bias)
    ds = p * (g - (g * p).sum(-1, keepdims=True))
    return ds @ k, ds.T @ q, jnp.zeros_like(bias)
attend.defvjp(forward, backward)
def loss(p, v, bias):
    h = v @ p["w"]
    return (attend(h, h, bias) @ h).sum()
print(jax.grad(loss)({"w": jnp.ones((3, 3))}, jnp.ones((2, 3)), jnp.zeros((2, 2))))
""",
            """\
@jax.custom_vjp
def pick(table, places):
    return jnp.take(table, places.astype(int))
def forward(table, places):
    return pick(table, places), (table, places)
def backward(kept, g):
    table, places = kept
    return jnp.zeros_like(table).at[places.astype(int)].add(g), jnp.zeros_like(places)
pick.defvjp(forward, backward)
def loss(p, v):
    places = jnp.clip(v @ p["w"], 0, 1)
    return pick(p["t"], places).sum()
print(jax.grad(loss)({"w": jnp.ones((3, 3)), "t": x}, x))
""",
        ),
    ),
    "NNX528": Cases(
        bad=(
            _SECOND.replace("(6 * v * dy * ct[0],), 3", "(None,), 3").replace("* ct[0]\n", "* ct[0]  # NNX528\n"),
            _SECOND.replace("(6 * v * dy * ct[0],), 3", "(jnp.zeros_like(v),), 3").replace(
                "* ct[0]\n", "* ct[0]  # NNX528\n"
            ),
            _SECOND.replace("return energy(v), (v,)", "return energy(v), v")
            .replace("(v,) = kept", "v = kept")
            .replace("    v = kept\n    return (3 * v**2 * dy,)", "    return (3 * kept**2 * dy,)")
            .replace("(v,), dy = held", "v, dy = held")
            .replace("(6 * v * dy * ct[0],), 3 * v**2 * ct[0]", "None, 3 * v**2 * ct[0]  # NNX528"),
            _PRODUCT.replace(
                "return (g * ct[1], g * ct[0]), b * ct[0] + a * ct[1]\n",
                "return (None, None), b * ct[0] + a * ct[1]  # NNX528\n",
            ),
        ),
        clean=(
            _SECOND,
            _PRODUCT,
            # only a first derivative is taken, or a linear one again
            _SECOND.replace("(6 * v * dy * ct[0],), 3", "(None,), 3").replace(
                "return jax.grad(lambda y: jnp.vdot(jax.grad(f)(y), along))(at)", "return jax.grad(f)(at) * along"
            ),
            _SECOND.replace(
                "    (v,), dy = held\n", "    # an approximation without curvature\n    (v,), dy = held\n"
            ).replace("(6 * v * dy * ct[0],), 3", "(None,), 3"),
            # what was kept is data, or only says where a slope is
            """\
@jax.custom_vjp
def scaled(v, scale):
    return v * scale
@jax.custom_vjp
def backward(kept, g):
    (scale,) = kept
    return g * scale, None
def second(held, ct):
    (scale,) = held
    return (None,), ct[0] * scale
backward.defvjp(lambda kept, g: (backward(kept, g), kept), second)
scaled.defvjp(lambda v, scale: (scaled(v, scale), (scale,)), backward)
print(jax.grad(lambda v: jnp.sum(jax.grad(lambda u: scaled(u, 2.0 * x).sum())(v) ** 2))(x))
""",
            """\
@jax.custom_vjp
def relu(v):
    return jnp.maximum(v, 0)
@jax.custom_vjp
def backward(kept, g):
    (v,) = kept
    return (jnp.where(v > 0, g, 0.0),)
def second(held, ct):
    (v,) = held
    return (None,), jnp.where(v > 0, ct[0], 0.0)
backward.defvjp(lambda kept, g: (backward(kept, g), kept), second)
relu.defvjp(lambda v: (relu(v), (v,)), backward)
print(jax.jacrev(jax.grad(lambda v: relu(v).sum()))(x))
""",
        ),
    ),
    "NNX964": Cases(
        bad=(
            "def f(v):\n    return jnp.sum(v**3)\nprint(jax.jvp(f, x, jnp.ones(3)))  # NNX964\n",
            "from jax import grad, jvp\n"
            "def hvp(f, at, along):\n    return jvp(grad(f), at, along)[1]  # NNX964\n"
            "print(hvp(lambda v: jnp.sum(v**3), x, jnp.ones(3)))\n",
            "def net(params, t):\n    return jnp.tanh(t * params['w'])\n"
            "params = {'w': jnp.ones(3)}\n"
            "out = jax.jvp(lambda p: net(p, 2.0), params, jax.tree.map(jnp.ones_like, params))  # NNX964\n",
            "class Field:\n    def __init__(self, u):\n        self.u = u\n    def residual(self, t):\n"
            "        _, u_t = jax.jvp(self.u, t, jnp.ones_like(t))  # NNX964\n"
            "        return u_t + self.u(t)\n",
            "def newton(f, at):\n    for _ in range(3):\n"
            "        value, slope = jax.jvp(f, (at,), 1.0)  # NNX964\n        at = at - value / slope\n    return at\n",
            "def along(f, at, direction):\n    direction = direction / jnp.linalg.norm(direction)\n"
            "    return jax.jvp(f, primals=(at,), tangents=direction)[1]  # NNX964\n",
            "def product(residual, theta, v):\n    _, jv = jax.jvp(residual, theta, v)  # NNX964\n"
            "    (back,) = jax.vjp(residual, theta)[1](jv)\n    return back + 0.1 * v\n",
        ),
        clean=(
            "def f(v):\n    return jnp.sum(v**3)\nprint(jax.jvp(f, (x,), (jnp.ones(3),)), jax.jvp(f, [x], [x]))\n",
            "from jax import grad, jvp\n"
            "def hvp(f, primals, tangents):\n    return jvp(grad(f), primals, tangents)[1]\n"
            "print(hvp(lambda v: jnp.sum(v**3), (x,), (jnp.ones(3),)))\n",
            "pair = (x, 2 * x)\nprint(jax.jvp(lambda a, b: a * b, pair, jax.tree.map(jnp.ones_like, pair)))\n"
            "print(jax.jvp(lambda a, b: a * b, pair, tuple(jnp.ones_like(one) for one in pair)))\n",
            "@jax.custom_jvp\ndef sine(v):\n    return jnp.sin(v)\n"
            "@sine.defjvp\ndef rule(primals, tangents):\n    out, dot = jax.jvp(jnp.sin, primals, tangents)\n"
            "    return out, 2 * dot\nprint(jax.grad(sine)(1.0))\n",
            "class Tangent:\n    def __init__(self, f):\n        self.f = f\n    def __call__(self, *args):\n"
            "        return jax.jvp(self.f, args, tuple(jnp.ones_like(one) for one in args))\n"
            "print(Tangent(lambda v: v * 2)(x))\n",
            "def probe(f, primals, key):\n    leaves, tree = jax.tree.flatten(primals)\n"
            "    keys = jax.random.split(key, len(leaves))\n"
            "    along = tree.unflatten([jax.random.normal(k, v.shape) for k, v in zip(keys, leaves, strict=True)])\n"
            "    return jax.jvp(f, primals, along)\nprint(probe(lambda a, b: a + b, (x, x), key))\n",
            "value, back = jax.vjp(jnp.sin, x)\nvalue, forward = jax.linearize(jnp.sin, x)\n"
            "print(back(x), forward(x))\n",
            "try:\n    jax.jvp(jnp.sin, x, x)\nexcept TypeError as error:\n    print(error)\n",
            "def both(f, args, moves):\n    args = args + (x,)\n    return jax.jvp(f, args, moves * 2)\n"
            "print(both(lambda a, b: a * b, (x,), (x,)))\n",
        ),
    ),
    "NNX965": Cases(
        bad=(
            "def make(loss, tx):\n    def train(params, xs):\n        opt_state = tx.init(params)\n"
            "        def step(state, v):\n            p, s = state\n"
            "            grads = jax.grad(loss)(params, v)  # NNX965\n"
            "            updates, s = tx.update(grads, s, p)\n"
            "            return (optax.apply_updates(p, updates), s), None\n"
            "        (params, _), _ = jax.lax.scan(step, (params, opt_state), xs)\n        return params\n"
            "    return train\n",
            "def rnn(w, xs):\n    h0 = jnp.zeros(3)\n    def step(h, v):\n"
            "        new = jnp.tanh(w * h0 + v)  # NNX965\n        return new, new\n"
            "    return jax.lax.scan(step, h0, xs)\n",
            "def descend(f, x0, n):\n    grad_f = jax.grad(f)\n    def body(i, v):\n"
            "        return v - 0.1 * grad_f(x0)  # NNX965\n    return jax.lax.fori_loop(0, n, body, x0)\n",
            "def inner(params, loss, v):\n    def update(p, _):\n        g = jax.grad(loss)(params, v)  # NNX965\n"
            "        p = jax.tree.map(lambda a, b: a - 0.1 * b, p, g)\n        return p, None\n"
            "    return jax.lax.scan(update, params, None, length=3)[0]\n",
            "def orbit(x0, v0, force):\n    def step(carry, _):\n        at, v = carry\n"
            "        v = v + 0.1 * force(at)\n"
            "        at = at + 0.1 * v\n        return (at, v), at\n"
            "    def late(carry, _):\n        x, v = carry\n        v = v + 0.1 * force(x0)  # NNX965\n"
            "        return (x0 + 0.1 * v, v), v\n"
            "    first = jax.lax.scan(step, (x0, v0), None, length=3)\n"
            "    return first, jax.lax.scan(late, (x0, v0), None, length=3)\n",
        ),
        clean=(
            """\
def orbit(init_state, steps):
    def body(state, i):
        state = jax.lax.cond(
            i != 0,
            lambda _: state * 2.0,
            lambda _: init_state,
            operand=None,
        )
        return state, state.sum()
    return jax.lax.scan(body, init_state, jnp.arange(steps))
print(orbit(x, 3))
""",
            "def near(f, x0):\n    def body(i, v):\n        return v - 0.1 * (jax.grad(f)(v) + 0.5 * (v - x0))\n"
            "    return jax.lax.fori_loop(0, 3, body, x0)\nprint(near(jnp.sum, x))\n",
            "def reduced(f, w0, rows):\n    def step(w, row):\n"
            "        g = jax.grad(f)(w, row) - jax.grad(f)(w0, row)\n        return w - 0.1 * g, None\n"
            "    return jax.lax.scan(step, w0, rows)[0]\n"
            "print(reduced(lambda w, r: jnp.sum(w**2 * r), x, jnp.ones((2, 3))))\n",
            "def train(params, xs, loss):\n    def step(params, v):\n        g = jax.grad(loss)(params, v)\n"
            "        return params - 0.1 * g, None\n    return jax.lax.scan(step, params, xs)[0]\n"
            "print(train(x, jnp.ones((2, 3)), lambda p, v: jnp.sum(p * v)))\n",
            "def summed(params, rows, loss):\n    def step(total, row):\n"
            "        g = jax.grad(loss)(params, row)\n        return total + g, None\n"
            "    return jax.lax.scan(step, jnp.zeros_like(params), rows)[0]\n"
            "print(summed(x, jnp.ones((2, 3)), lambda p, v: jnp.sum(p * v)))\n",
            "def swing(x0, v0):\n    def step(carry, _):\n        at, v = carry\n        force = x0 - at\n"
            "        return (at + v, v + force), at\n    return jax.lax.scan(step, (x0, v0), None, length=3)[1]\n"
            "print(swing(x, 2 * x))\n",
            "def best_of(params, tasks, loss):\n    def step(best, task):\n        g = jax.grad(loss)(params, task)\n"
            "        adapted = params - 0.1 * g\n        better = loss(adapted, task) < loss(best, task)\n"
            "        return jnp.where(better, adapted, best), None\n"
            "    return jax.lax.scan(step, params, tasks)[0]\n"
            "print(best_of(x, jnp.ones((2, 3)), lambda p, v: jnp.sum(p * v)))\n",
            # what is drawn anew until it is accepted, and what is the last of several
            "def accepted(x0, key):\n    def body(carry):\n        key, x, n = carry\n"
            "        key, move = jax.random.split(key)\n"
            "        x = x0 + jax.random.normal(move, x0.shape)\n        return key, x, n + 1\n"
            "    return jax.lax.while_loop(lambda c: c[2] < 3, body, (key, x0, 0))[1]\nprint(accepted(x, key))\n",
            "def search(mean0, key):\n    def body(i, carry):\n        mean, best = carry\n"
            "        best = mean + jnp.zeros(mean0.shape)\n        return 0.5 * mean, best\n"
            "    return jax.lax.fori_loop(0, 3, body, (mean0, mean0))\nprint(search(x, key))\n",
            "def attack(image, f):\n    def step(adv, _):\n        adv = adv + 0.1 * jnp.sign(jax.grad(f)(adv))\n"
            "        return jnp.clip(adv, image - 0.2, image + 0.2), None\n"
            "    return jax.lax.scan(step, image, None, length=4)[0]\nprint(attack(x, jnp.sum))\n",
        ),
    ),
    "NNX966": Cases(
        bad=(
            "def f(v):\n    return jnp.sin(v) * v\nh = 1e-9\nprint((f(2.0 + h) - f(2.0)) / h)  # NNX966\n",
            "def numeric(f, params, eps=1e-7):\n    grads = jnp.zeros_like(params)\n"
            "    for i in range(params.shape[0]):\n        plus = f(params.at[i].add(eps))\n"
            "        minus = f(params.at[i].add(-eps))\n"
            "        grads = grads.at[i].set((plus - minus) / (2.0 * eps))  # NNX571 NNX966\n    return grads\n",
            "EPS = 1e-8\ndef slope(energy, v, key):\n    way = jax.random.normal(key, v.shape)\n"
            "    above, below = energy(v + EPS * way), energy(v - EPS * way)\n"
            "    one = energy(v + EPS * way)\n    two = energy(v - EPS * way)\n"
            "    return (one - two) / (2 * EPS), above, below  # NNX966\n",
            "def jacobian(f, v, eps=1e-8):\n    base = f(v)\n    columns = []\n    for i in range(v.size):\n"
            "        step = jnp.zeros_like(v).at[i].set(eps)\n"
            "        columns.append((f(v + step) - base) / eps)  # NNX966\n    return jnp.stack(columns, axis=1)\n",
            "def fd(f, v):\n    eps = 1e-8\n    basis = jnp.eye(v.shape[0])\n"
            "    return jax.vmap(lambda e: (f(v + eps * e) - f(v - eps * e)) / (2 * eps))(basis)  # NNX966\n",
        ),
        clean=(
            "def f(v):\n    return jnp.sin(v) * v\nh = 1e-3\nprint((f(2.0 + h) - f(2.0 - h)) / (2 * h))\n",
            "def f(v):\n    return v**3\nh = 1e-8\nprint((f(2.0 + h) - f(2.0)) / h, jax.grad(f)(2.0))\n",
            "h = 1e-8\nprint((np.sin(2.0 + h) - np.sin(2.0)) / h, (math.sin(2.0 + h) - math.sin(2.0)) / h)\n",
            "eps = 1e-8\nprint((x - x.mean()) / (x.std() + eps), (jnp.sum(x) - jnp.sum(2 * x)) / (jnp.sum(x) + eps))\n",
            "def f(v):\n    return np.sin(v)\nv, h = np.float64(2.0), 1e-8\nprint((f(v + h) - f(v)) / h, jnp.cos(v))\n",
            "def relative(a, b, tiny=1e-8):\n    return (jnp.sum(a + tiny) - jnp.max(b)) / jnp.maximum(tiny, 1)\n"
            "print(relative(x, x))\n",
        ),
    ),
    "NNX671": Cases(
        bad=(
            """\
def loss(z, goal):
    return jnp.mean(jnp.abs(jnp.fft.fft(z) - goal) ** 2)
class Descent:
    def __init__(self, rate):
        self.rate = rate
        self.slope = jax.value_and_grad(loss)
    def run(self, z, goal):
        def body(z, _):
            value, grad = self.slope(z, goal)
            return z - self.rate * grad, value  # NNX671
        return jax.lax.scan(body, z, None, length=3)
begin = jax.random.normal(key, (4,), dtype=jnp.complex64)
Descent(0.1).run(begin + 0.1, jnp.fft.fft(begin))
""",
            """\
def loss(z):
    return jnp.sum(jnp.abs(z - (1.0 + 2.0j)) ** 2)
def descend(z, rate=0.1):
    gradient = jax.jit(jax.grad(loss))
    for _ in range(3):
        z = z - rate * gradient(z)  # NNX671
    return z
print(descend(jnp.zeros(2, dtype=jnp.complex64)))
""",
            """\
def loss(z, goal):
    return jnp.abs(z - goal) ** 2
steps = jax.vmap(jax.grad(loss))
z, goal = jnp.zeros(2, dtype=jnp.complex64), jnp.array([1.0j, 2.0])
for _ in range(3):
    z -= 0.1 * steps(z, goal)  # NNX671
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
z = jnp.zeros(1, dtype=jnp.complex64)
for _ in range(3):
    z = z - 0.1 * jax.grad(loss)(z, target)  # NNX671
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
@jax.jit
def step(z, target, rate):
    value, g = jax.value_and_grad(loss)(z, target)
    return z - rate * g, value  # NNX671
z = jnp.fft.fft(x)
for _ in range(3):
    z, value = step(z, target, 0.1)
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
tx = optax.adam(0.1)
z = jnp.zeros(1, dtype=jnp.complex64)
state = tx.init(z)
for _ in range(3):
    grads = jax.grad(loss)(z, target)
    updates, state = tx.update(grads, state)  # NNX671
    z = optax.apply_updates(z, updates)
""",
            """\
def loss(params, target):
    return jnp.sum(jnp.abs(params["z"] * params["scale"] - target) ** 2)
params = {"z": jnp.ones(1, jnp.complex64), "scale": jnp.ones(())}
for _ in range(3):
    grads = jax.grad(loss)(params, 1.0 + 2.0j)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  # NNX671
""",
            """\
def loss(p, t):
    return jnp.sum(jnp.abs(p["z"] - t) ** 2)
truth = {"z": jnp.array([1.0 + 2.0j, -1.0j], jnp.complex64)}
params = jax.tree.map(jnp.zeros_like, truth)
velocity = jax.tree.map(jnp.zeros_like, truth)
grad_fn = jax.jit(jax.grad(loss))
for _ in range(3):
    grads = grad_fn(params, truth["z"])
    velocity = jax.tree.map(lambda v, g: 0.5 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.05 * v, params, velocity)  # NNX671
""",
            """\
def loss(z, t):
    return jnp.sum(jnp.abs(z - t) ** 2)
def fit(t):
    z, m = jnp.zeros(3, jnp.complex64), jnp.zeros(3, jnp.complex64)
    f = jit(jax.value_and_grad(loss))
    for _ in range(3):
        value, g = f(z, t)
        m = 0.9 * m + 0.1 * g
        z = z - 0.1 * m  # NNX671
    return z
fit(x * 1j)
""",
            """\
def loss(p, t):
    return jnp.sum(jnp.abs(p["z"] - t) ** 2)
truth = {"z": jnp.array([1.0 + 2.0j, -1.0j], jnp.complex64)}
params = jax.tree.map(jnp.zeros_like, truth)
velocity = jax.tree.map(jnp.zeros_like, truth)
grad_fn = jax.jit(jax.grad(loss))
def gather(m, g):
    return 0.9 * m + 0.1 * g
def step(p, m):
    return p - 0.1 * m
class Fit:
    def run(self, p, m, t):
        for _ in range(3):
            g = grad_fn(p, t)
            m = jax.tree.map(gather, m, g)
            p = jax.tree.map(step, p, m)  # NNX671
        return p
Fit().run(params, velocity, truth["z"])
""",
        ),
        clean=(
            """\
def loss(v, goal):
    return jnp.mean(jnp.abs(jnp.fft.fft(v) - goal) ** 2)
def run(v, goal):
    def body(v, _):
        value, grad = jax.value_and_grad(loss)(v, goal)
        return v - 0.1 * grad, value
    return jax.lax.scan(body, v, None, length=3)
begin = jax.random.normal(key, (4,))
run(begin + 0.1, jnp.fft.fft(begin))
""",
            """\
def loss(z):
    return jnp.sum(jnp.abs(z - (1.0 + 2.0j)) ** 2)
def descend(z, rate=0.1):
    gradient = jax.jit(jax.grad(loss))
    for _ in range(3):
        z = z - rate * gradient(z).conj()
    return z
print(descend(jnp.zeros(2, dtype=jnp.complex64)))
""",
            """\
def loss(z):
    return jnp.sum((z - 1.0) ** 2)
def descend(z, rate=0.1):
    gradient = jax.jit(jax.grad(loss))
    for _ in range(3):
        z = z - rate * gradient(z)
    return z
print(descend(jnp.zeros(2)))
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
z = jnp.zeros(1, dtype=jnp.complex64)
for _ in range(3):
    z = z - 0.1 * jnp.conj(jax.grad(loss)(z, target))
print(z)
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
@jax.jit
def step(z, target, rate):
    value, g = jax.value_and_grad(loss)(z, target)
    g = g.conj()
    return z - rate * g, value
z = jnp.fft.fft(x)
for _ in range(3):
    z, value = step(z, target, 0.1)
print(z)
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
z = jnp.zeros(1)
for _ in range(3):
    z = z - 0.1 * jax.grad(loss)(z, target)
print(z)
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
tx = optax.sgd(0.1)
z = jnp.zeros(1, dtype=jnp.complex64)
state = tx.init(z)
for _ in range(3):
    grads = jax.grad(loss)(z, target)
    updates, state = tx.update(jax.tree.map(jnp.conj, grads), state)
    z = optax.apply_updates(z, updates)
print(z)
""",
            """\
z = jnp.ones(2, dtype=jnp.complex64)
newton = jax.grad(lambda w: jnp.sum(w**3), holomorphic=True)
for _ in range(3):
    z = z - newton(z) / (6 * z)
print(z)
""",
            """\
def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)
target = jnp.array([1.0 + 2.0j])
z = jnp.zeros(1, dtype=jnp.complex64)
grads = jax.grad(loss)(z, target)
print(jnp.abs(grads), z - target)
""",
            """\
def loss(w, spectrum):
    return jnp.sum(jnp.abs(w * spectrum - 1.0) ** 2)
w, spectrum = jnp.ones(3), jnp.fft.fft(x)
for _ in range(3):
    w = w - 0.01 * jax.grad(loss)(w, spectrum)
print(w)
""",
            """\
def loss(p, t):
    return jnp.sum(jnp.abs(p["z"] - t) ** 2)
truth = {"z": jnp.array([1.0 + 2.0j, -1.0j], jnp.complex64)}
params = jax.tree.map(jnp.zeros_like, truth)
velocity = jax.tree.map(jnp.zeros_like, truth)
grad_fn = jax.jit(jax.grad(loss))
for _ in range(3):
    grads = grad_fn(params, truth["z"])
    velocity = jax.tree.map(lambda v, g: 0.5 * v + g.conj(), velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.05 * v, params, velocity)
""",
            """\
def loss(p, t):
    return jnp.sum(jnp.abs(p["z"] - t) ** 2)
truth = {"z": jnp.array([1.0 + 2.0j, -1.0j], jnp.complex64)}
params = jax.tree.map(jnp.zeros_like, truth)
velocity = jax.tree.map(jnp.zeros_like, truth)
grad_fn = jax.jit(jax.grad(loss))
for _ in range(3):
    grads = jax.tree.map(jnp.conj, grad_fn(params, truth["z"]))
    velocity = jax.tree.map(lambda v, g: 0.5 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.05 * v, params, velocity)
""",
            """\
def loss(p, t):
    return jnp.sum(jnp.abs(p["z"] - t) ** 2)
truth = {"z": jnp.array([1.0 + 2.0j, -1.0j], jnp.complex64)}
params = jax.tree.map(jnp.zeros_like, truth)
velocity = jax.tree.map(jnp.zeros_like, truth)
grad_fn = jax.jit(jax.grad(loss))
for _ in range(3):
    grads = grad_fn(params, truth["z"])
    velocity = jax.tree.map(lambda v, g: 0.5 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.05 * jnp.conj(v), params, velocity)
""",
            """\
def loss(p, t):
    return jnp.sum(jnp.abs(p["z"] - t) ** 2)
truth = {"z": jnp.array([1.0, 2.0])}
params = jax.tree.map(jnp.zeros_like, truth)
velocity = jax.tree.map(jnp.zeros_like, truth)
grad_fn = jax.jit(jax.grad(loss))
for _ in range(3):
    grads = grad_fn(params, truth["z"])
    velocity = jax.tree.map(lambda v, g: 0.5 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.05 * v, params, velocity)
t = jnp.ones(3) * 1j
""",
        ),
    ),
}
