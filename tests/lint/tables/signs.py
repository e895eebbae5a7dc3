"""Formulas with a minus that is missing, a square in the wrong place, or a count that begins too early."""

from __future__ import annotations

from tests.lint.tables import Cases

_ADAM = """\
def adam(p, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    return p - 0.1 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-8), m, v  # NNX667
p, m, v = jnp.ones(3), jnp.zeros(3), jnp.zeros(3)
for step in range(3):
    p, m, v = adam(p, jax.grad(lambda p: jnp.sum(p**2))(p), m, v, step)
print(p)
"""
_RIGHT_ADAM = _ADAM.replace("  # NNX667", "").replace("m, v, step)", "m, v, step + 1)")
_RMS = """\
class Norm(nnx.Module):
    def __init__(self, d):
        self.scale = nnx.Param(jnp.ones(d))
        self.eps = 1e-6
    def __call__(self, x):
        inverse = jax.lax.rsqrt(jnp.square(jnp.mean(x, -1, keepdims=True)) + self.eps)  # NNX668
        return x * inverse * self.scale[...]
print(Norm(4)(jnp.array([1.0, -1.0, 2.0, 3.0])))
"""
_RIGHT_RMS = _RMS.replace("  # NNX668", "")
_GUMBEL = """\
def sample(key, logits):
    u = jax.random.uniform(key, logits.shape, minval=1e-6, maxval=1.0)
    noise = jnp.log(-jnp.log(u))
    return jax.nn.softmax((logits + noise) / 0.5)  # NNX669
print(sample(jax.random.key(0), jnp.zeros(3)))
"""
_RIGHT_GUMBEL = _GUMBEL.replace("  # NNX669", "")
_LOSS = """\
def loss_fn(w, x, labels):
    log_probs = jax.nn.log_softmax(x @ w)
    return jnp.mean(jnp.sum(jax.nn.one_hot(labels, 3) * log_probs, axis=-1))  # NNX698
w, x, labels = jnp.zeros((4, 3)), jnp.ones((2, 4)), jnp.array([0, 2])
w = w - 0.1 * jax.grad(loss_fn)(w, x, labels)
print(w)
"""
_RIGHT_LOSS = _LOSS.replace("  # NNX698", "")

_KEPT = """\
@jax.jit
def loss_of(w, batch):
    return jnp.mean((w * batch) ** 2)
def train(w):
    best_loss, best = 0.0, None
    for batch in batches:
        loss = loss_of(w, batch)
        if loss < best_loss:  # NNX699
            best_loss, best = loss, w
    return best
print(train(x) is None)
"""
_RIGHT_KEPT = _KEPT.replace("  # NNX699", "")

CASES = {
    "NNX667": Cases(
        bad=(
            """\
def adam(params, grads, state):
    count = state["count"] + 1
    m = 0.9 * state["m"] + 0.1 * grads
    v = 0.99 * state["v"] + 0.01 * grads**2
    m_hat = m / (1 - 0.9 ** state["count"])  # NNX667
    v_hat = v / (1 - 0.99**count)
    return params - m_hat / (jnp.sqrt(v_hat) + 1e-8), {"count": count, "m": m, "v": v}
""",
            _ADAM,
            """\
def update(params, grads, m, v, t):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    hat = jax.tree.map(lambda m: m / (1.0 - jnp.power(0.9, t)), m)  # NNX667
    return jax.tree.map(lambda p, h: p - 0.1 * h, params, hat), m, v
params = {"w": jnp.ones(2)}
m = jax.tree.map(jnp.zeros_like, params)
for t, _ in enumerate(range(3)):
    params, m, _ = update(params, jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params), m, m, t)
print(params)
""",
            """\
def body(t, carry):
    p, m = carry
    m = 0.9 * m + 0.1 * p
    return p - 0.1 * m / (1 - 0.9**t), m  # NNX667
print(jax.lax.fori_loop(0, 5, body, (jnp.ones(2), jnp.zeros(2))))
""",
            """\
average = 0.0
for n in range(4):
    average = 0.9 * average + 0.1 * jnp.float32(n)
    print(average / (1 - jnp.float32(0.9) ** n))  # NNX667
""",
        ),
        clean=(
            """\
def adam(params, grads, state):
    count = state["count"] + 1
    m = 0.9 * state["m"] + 0.1 * grads
    v = 0.99 * state["v"] + 0.01 * grads**2
    m_hat = m / (1 - 0.9**count)
    v_hat = v / (1 - 0.99**count)
    return params - m_hat / (jnp.sqrt(v_hat) + 1e-8), {"count": count, "m": m, "v": v}
print(adam(x, x, {"count": 0, "m": 0 * x, "v": 0 * x})[0])
""",
            _RIGHT_ADAM,
            _RIGHT_ADAM.replace("range(3)", "range(1, 4)").replace("step + 1", "step"),
            _RIGHT_ADAM.replace("range(3)", "range(3)")
            .replace("    m, v = ", "    t = t + 1\n    m, v = ")
            .replace("step + 1", "step"),
            """\
def body(t, carry):
    p, m = carry
    m = 0.9 * m + 0.1 * p
    return p - 0.1 * m / (1 - 0.9**t), m
print(jax.lax.fori_loop(1, 6, body, (jnp.ones(2), jnp.zeros(2))))
""",
            """\
average = 0.0
for n in range(4):
    average = 0.9 * average + 0.1 * jnp.float32(n)
    if n > 0:
        print(average / (1 - jnp.float32(0.9) ** n))
""",
            """\
average = 0.0
for n in range(4):
    average = 0.9 * average + 0.1 * jnp.float32(n)
    print(average / jnp.where(n > 0, 1 - jnp.float32(0.9) ** n, 1.0))
""",
            """\
for n in range(4):
    print((1 - 0.9**n) / (1 - 0.9), 1 - 0.9**n)
""",
            """\
for n, t in enumerate(range(2), 1):
    print(jnp.float32(1.0) / (1 - 0.9**n))
""",
        ),
    ),
    "NNX668": Cases(
        bad=(
            """\
def global_norm(grads):
    return sum(jnp.linalg.norm(g) for g in jax.tree.leaves(grads))  # NNX668
""",
            """\
def clipped(grads, limit):
    grad_norm = sum([jnp.linalg.norm(g.ravel()) for g in jax.tree_util.tree_leaves(grads)])  # NNX668
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, limit / grad_norm), grads)
""",
            """\
def l2(params):
    return sum(jnp.sum(p) ** 2 for p in jax.tree.leaves(params))  # NNX668
print(l2({"w": jnp.ones(3)}))
""",
            """\
def norm(grads):
    return jnp.sqrt(sum([jnp.square(g.sum()) for g in jax.tree_util.tree_leaves(grads)]))  # NNX668
print(norm({"w": jnp.ones(3)}))
""",
            _RMS,
            """\
def rms_norm(x, scale, eps=1e-6):
    rms = jnp.sqrt(x.mean(axis=-1, keepdims=True) ** 2 + eps)  # NNX668
    return x / rms * scale
print(rms_norm(jnp.array([1.0, -1.0, 2.0, 3.0]), 1.0))
""",
            """\
def rmse(y, target):
    return jnp.sqrt(jnp.mean(y - target) ** 2)  # NNX668
print(rmse(jnp.array([1.0, -1.0, 3.0]), jnp.zeros(3)))
""",
            """\
def rmse(y, target):
    error = y - target
    off = jnp.mean(error)
    return jnp.sqrt(jnp.square(off))  # NNX668
print(rmse(jnp.array([1.0, -1.0, 3.0]), jnp.zeros(3)))
""",
            """\
def scaled(g):
    return g / jnp.sqrt(jnp.mean(g) ** 2 + 1e-8)  # NNX668
print(scaled(jnp.array([1.0, -1.0, 3.0])))
""",
        ),
        clean=(
            """\
# a penalty on groups of weights
def penalty(params):
    return sum(jnp.linalg.norm(p) for p in jax.tree.leaves(params))
print(penalty({"a": jnp.ones(3), "b": jnp.ones(2)}))
""",
            """\
def global_norm(grads):
    return jnp.sqrt(sum(jnp.linalg.norm(g) ** 2 for g in jax.tree.leaves(grads)))
print(global_norm({"a": jnp.ones(3), "b": jnp.ones(2)}))
""",
            """\
def global_norm(grads):
    return jnp.linalg.norm(jnp.array([jnp.linalg.norm(g) for g in jax.tree.leaves(grads)]))
print(global_norm({"a": jnp.ones(3), "b": jnp.ones(2)}))
""",
            """\
def l2(params):
    return sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
print(l2({"w": jnp.ones(3)}))
""",
            """\
def total(params):
    return sum(jnp.sum(p) for p in jax.tree.leaves(params)) ** 2
print(total({"w": jnp.ones(3)}))
""",
            _RIGHT_RMS.replace(
                "jnp.square(jnp.mean(x, -1, keepdims=True))", "jnp.mean(jnp.square(x), -1, keepdims=True)"
            ),
            """\
def rms_norm(x, scale, eps=1e-6):
    return x / jnp.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * scale
print(rms_norm(jnp.array([1.0, -1.0, 2.0, 3.0]), 1.0))
""",
            """\
def rmse(y, target):
    return jnp.sqrt(jnp.mean((y - target) ** 2))
print(rmse(jnp.array([1.0, -1.0, 3.0]), jnp.zeros(3)))
""",
            """\
def length(x, y):
    return jnp.sqrt(jnp.mean(x) ** 2 + jnp.mean(y) ** 2)
print(length(jnp.ones(2), jnp.ones(2)))
""",
            """\
def smooth_size(x, eps=1e-6):
    return jnp.sqrt(jnp.mean(x) ** 2 + eps)
print(smooth_size(jnp.ones(2)))
""",
            """\
def noise_to_signal(x, y):
    return y / jnp.sqrt(jnp.mean(x) ** 2 + 1e-6)
print(noise_to_signal(jnp.ones(2), jnp.ones(2)))
""",
            """\
def bias(y, target):
    return jnp.mean(y - target) ** 2
print(bias(jnp.ones(2), jnp.zeros(2)))
""",
        ),
    ),
    "NNX669": Cases(
        bad=(
            _GUMBEL,
            """\
def sample(key, logits):
    u = jax.random.uniform(key, logits.shape)
    return jnp.argmax(logits - jnp.log(jnp.log(u)), axis=-1)  # NNX669
print(sample(jax.random.key(0), jnp.zeros(3)))
""",
            """\
def chosen(key, logits):
    u = jax.random.uniform(key, logits.shape)
    noise = jnp.log(-jnp.log(u + 1e-9))
    return jax.lax.top_k(logits + noise, 2)[1]  # NNX669
print(chosen(jax.random.key(0), jnp.zeros(3)))
""",
            """\
u = jax.random.uniform(jax.random.key(0), (4,))
below = jnp.log(u)
noise = -jnp.log(below)  # NNX669
print(noise)
""",
        ),
        clean=(
            _RIGHT_GUMBEL.replace("noise = jnp", "noise = -jnp"),
            _RIGHT_GUMBEL.replace("logits + noise", "logits - noise"),
            """\
def sample(key, logits):
    u = jax.random.uniform(key, logits.shape, minval=1e-6, maxval=1.0)
    return jnp.argmin(jnp.log(-jnp.log(u)) - logits, axis=-1)
print(sample(jax.random.key(0), jnp.zeros(3)))
""",
            """\
def weibull(key, scale, shape):
    u = jax.random.uniform(key, (3,), minval=1e-6, maxval=1.0)
    return jnp.exp(jnp.log(scale) + jnp.log(-jnp.log(u)) / shape)
print(weibull(jax.random.key(0), 1.0, 2.0))
""",
            """\
u = jax.random.uniform(jax.random.key(0), (4,), minval=3.0, maxval=10.0)
print(jnp.log(jnp.log(u)))
""",
            """\
x = jnp.array([3.0, 4.0])
print(jnp.log(jnp.log(x)))
""",
        ),
    ),
    "NNX698": Cases(
        bad=(
            """\
class Mixture:
    def __init__(self, mean):
        self.mean = mean
    def mean_log_prob(self, v):
        return jax.scipy.stats.norm.logpdf(v, self.mean)
def loss(mean, v):
    return jnp.mean(Mixture(mean).mean_log_prob(v))  # NNX698
grads = jax.grad(loss)(0.0, x)
""",
            _LOSS,
            """\
def loss_fn(model, x, labels):
    logp = jax.nn.log_softmax(model(x), axis=-1)
    return jnp.take_along_axis(logp, labels[:, None], axis=-1).mean()  # NNX698
@nnx.jit
def step(model, optimizer, x, labels):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, labels)
    optimizer.update(model, grads)
    return loss
step(model, optimizer, jnp.ones((2, 3)), jnp.array([0, 1]))
""",
            """\
def train_loss(w, batch):
    logp = jax.nn.log_softmax(batch["x"] @ w)
    picked = logp[jnp.arange(2), batch["label"]]
    loss = jnp.sum(picked) / 2
    return loss, logp  # NNX698
w = jnp.zeros((4, 3))
grads, _ = jax.grad(train_loss, has_aux=True)(w, {"x": jnp.ones((2, 4)), "label": jnp.array([0, 1])})
print(w - 0.1 * grads)
""",
        ),
        clean=(
            """\
class Mixture:
    def __init__(self, mean):
        self.mean = mean
    def mean_log_prob(self, v):
        return jax.scipy.stats.norm.logpdf(v, self.mean)
def loss(mean, v):
    return -jnp.mean(Mixture(mean).mean_log_prob(v))
print(jax.grad(loss)(0.0, x))
""",
            _RIGHT_LOSS.replace("return jnp", "return -jnp"),
            _RIGHT_LOSS.replace("w - 0.1", "w + 0.1").replace("loss_fn", "criterion"),
            _RIGHT_LOSS.replace("jax.grad(loss_fn)", "jax.grad(lambda *a: -loss_fn(*a))"),
            _RIGHT_LOSS.replace("loss_fn", "log_likelihood"),
            _RIGHT_LOSS.replace("jax.nn.one_hot(labels, 3) * log_probs", "jnp.exp(log_probs) * log_probs"),
            """\
def loss_fn(w, x, labels):
    log_probs = jax.nn.log_softmax(x @ w)
    return 1.0 - jnp.mean(jnp.sum(jax.nn.one_hot(labels, 3) * log_probs, axis=-1))
print(jax.grad(loss_fn)(jnp.zeros((4, 3)), jnp.ones((2, 4)), jnp.array([0, 2])))
""",
            """\
def cross_entropy_loss(w, x, labels):
    log_probs = jax.nn.log_softmax(x @ w)
    return -jnp.mean(jnp.take_along_axis(log_probs, labels[:, None], axis=-1))
print(jax.grad(cross_entropy_loss)(jnp.zeros((4, 3)), jnp.ones((2, 4)), jnp.array([0, 2])))
""",
        ),
    ),
    "NNX699": Cases(
        bad=(
            _KEPT.replace("best_loss, best = 0.0", 'best_loss, best = -float("inf")').replace(
                "loss < best", "loss > best"
            ),
            _KEPT.replace("best_loss, best = 0.0", "best_acc, best = jnp.inf")
            .replace("loss < best_loss", "acc < best_acc")
            .replace("best_loss, best = loss", "best_acc, best = acc")
            .replace("loss = loss_of(w, batch)", "acc = loss_of(w, batch)"),
            _KEPT,
            """\
def search(scores):
    best, where = jnp.inf, None
    for n, score in enumerate(scores):
        if score > best:  # NNX699
            best, where = score, n
    return where
print(search([1.0, 3.0]))
""",
            """\
best_acc = 1.0
for epoch in range(3):
    acc = float(jnp.mean(model(x) > 0))
    if best_acc < acc:  # NNX699
        best_acc = acc
print(best_acc)
""",
            """\
errors = iter([3.0, 2.0, 1.0])
lowest, waited = -np.inf, 0
while waited < 3:
    error = next(errors)
    if error < lowest and waited < 2:  # NNX699
        lowest, waited = error, 0
    else:
        waited += 1
print(lowest)
""",
        ),
        clean=(
            _RIGHT_KEPT.replace("best_loss, best = 0.0", 'best_loss, best = float("inf")'),
            _RIGHT_KEPT.replace("best_loss, best = 0.0", 'worst_loss, best = -float("inf")')
            .replace("loss < best_loss", "loss > worst_loss")
            .replace("best_loss, best = loss", "worst_loss, best = loss"),
            _RIGHT_KEPT.replace("best_loss, best = 0.0", "best_gain, best = -jnp.inf")
            .replace("loss < best_loss", "gain > best_gain")
            .replace("best_loss, best = loss", "best_gain, best = gain")
            .replace("loss = loss_of(w, batch)", "gain = loss_of(w, batch)"),
            _RIGHT_KEPT.replace("= 0.0, None", '= float("inf"), None'),
            _RIGHT_KEPT.replace("= 0.0, None", "= 1e9, None"),
            _RIGHT_KEPT.replace("batches:", "batches:  # of an energy"),
            """\
def search(scores):
    best, where = -jnp.inf, None
    for n, score in enumerate(scores):
        if score > best:
            best, where = score, n
    return where
print(search([1.0, 3.0]))
""",
            """\
best_acc = 0.0
for epoch in range(3):
    acc = float(jnp.mean(model(x) > 0))
    if acc > best_acc:
        best_acc = acc
print(best_acc)
""",
            """\
best_loss = 0.0
for epoch in range(3):
    loss = float(jnp.mean(model(x) ** 2))
    if epoch == 0 or loss < best_loss:
        best_loss = loss
print(best_loss)
""",
            """\
def lowest(values):
    best = 0.0
    best = values[0]
    for value in values:
        if value < best:
            best = value
    return best
print(lowest([1.0, 3.0]))
""",
        ),
    ),
    "NNX650": Cases(
        bad=(
            """\
def spectrum(x, dt):
    power = jnp.abs(jnp.fft.rfft(x)) ** 2
    return jnp.fft.fftfreq(x.shape[0], dt), power  # NNX650
print(spectrum(jnp.ones(8), 0.1))
""",
            """\
def peak(x, dt):
    amplitudes = jnp.abs(jnp.fft.fft(x))
    frequencies = jnp.fft.rfftfreq(x.shape[-1], dt)  # NNX650
    return frequencies, amplitudes
print(peak(jnp.ones(8), 0.1))
""",
            """\
def smooth(x, dt):
    frequencies = np.fft.fftfreq(len(x), dt)  # NNX650
    return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(-(frequencies**2)), len(x))
try:
    smooth(jnp.ones(8), 0.1)
except TypeError:
    pass
""",
        ),
        clean=(
            """\
def spectrum(x, dt):
    power = jnp.abs(jnp.fft.rfft(x)) ** 2
    return jnp.fft.rfftfreq(x.shape[0], dt), power
print(spectrum(jnp.ones(8), 0.1))
""",
            """\
def peak(x, dt):
    amplitudes = jnp.abs(jnp.fft.fft(x))
    return jnp.fft.fftfreq(x.shape[-1], dt), amplitudes
print(peak(jnp.ones(8), 0.1))
""",
            """\
def spectrum(x, dt):
    n = x.shape[0] // 2 + 1
    return jnp.abs(jnp.fft.fftfreq(x.shape[0], dt)[:n]), jnp.fft.rfft(x)
print(spectrum(jnp.ones(8), 0.1))
""",
            """\
def spectrum2(x, dt):
    ky = jnp.fft.fftfreq(x.shape[0], dt)
    kx = jnp.fft.rfftfreq(x.shape[1], dt)
    return ky[:, None] ** 2 + kx**2, jnp.fft.rfft2(x)
print(spectrum2(jnp.ones((4, 4)), 0.1))
""",
            """\
def both(x, dt):
    whole = jnp.fft.fft(x)
    return jnp.fft.fftfreq(x.shape[0], dt), whole, jnp.fft.rfft(x)
print(both(jnp.ones(8), 0.1))
""",
            """\
def half(x, dt):
    frequencies = jnp.fft.fftfreq(x.shape[0], dt)
    kept = frequencies[: x.shape[0] // 2]
    return kept, jnp.fft.rfft(x)[: x.shape[0] // 2]
print(half(jnp.ones(8), 0.1))
""",
        ),
    ),
    "NNX704": Cases(
        bad=(
            """\
def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h / 2 * k3)  # NNX704
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
print(rk4(lambda t, y: -y, x, 0.0, 0.1))
""",
            """\
def rk2(f, y, t, dt):
    k1 = f(y, t)
    k2 = f(y + dt * k1, t + 0.5 * dt)  # NNX704
    return y + dt * k2
print(rk2(lambda y, t: -y, x, 0.0, 0.1))
""",
            """\
def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4)  # NNX704
print(rk4(lambda y: -y, x, 0.1))
""",
            """\
def step(f, y, dt):
    k_1 = f(y)
    k_2 = f(y + 0.5 * dt * k_1)
    k_3 = f(y + 0.5 * dt * k_2)
    k_4 = f(y + dt * k_3)
    return y + (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4) * dt  # NNX704
print(step(lambda y: -y, x, 0.1))
""",
            """\
class Solver:
    def __init__(self, f, h):
        self.f, self.h = f, h
    def step(self, t, y):
        k1 = self.f(t, y)
        k2 = self.f(t, y + self.h * k1 / 2)
        k3 = self.f(t, y + self.h * k2 / 2)
        k4 = self.f(t, y + self.h * k3)
        return t + self.h, y + self.h * (k1 + k2 * 2 + k3 * 2 + k4)  # NNX704
print(Solver(lambda t, y: -y, 0.1).step(0.0, x))
""",
            """\
def step(f, t, y, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + k2 + k3 + k4)  # NNX704
""",
            """\
def step(y, h, k1, k2, k3, k4):
    return y + h * (k1 + 2 * k2 + k3 + k4) / 6.0  # NNX704
""",
        ),
        clean=(
            """\
def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
print(rk4(lambda t, y: -y, x, 0.0, 0.1))
""",
            """\
def rk2(f, y, t, dt):
    k1 = f(y, t)
    k2 = f(y + 0.5 * dt * k1, t + 0.5 * dt)
    return y + dt * k2
print(rk2(lambda y, t: -y, x, 0.0, 0.1))
""",
            """\
def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
print(rk4(lambda y: -y, x, 0.1))
""",
            """\
def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
print(rk4(lambda y: -y, x, 0.1))
""",
            """\
def rk4(f, y, h):
    k1 = h * f(y)
    k2 = h * f(y + k1 / 2)
    k3 = h * f(y + k2 / 2)
    k4 = h * f(y + k3)
    return y + (k1 + 2 * k2 + 2 * k3 + k4) / 6.0
print(rk4(lambda y: -y, x, 0.1))
""",
            """\
def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    sixth = h / 6
    return y + sixth * (k1 + 2 * k2 + 2 * k3 + k4)
print(rk4(lambda y: -y, x, 0.1))
""",
            """\
def smooth(a, b, c, d, w):
    return a + w * (a + 2 * b + 2 * c + d)
print(smooth(1.0, 2.0, 3.0, 4.0, 0.1))
""",
            """\
def slopes(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return h * (k1 + 2 * k2 + 2 * k3 + k4)
print(x + slopes(lambda y: -y, x, 0.1) / 6)
""",
            """\
def step(y, h, k1, k2, k3, k4):
    classic = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    other = y + h / 8 * (k1 + 3 * k2 + 3 * k3 + k4)
    third = y + h / 6 * (k1 + 4 * k2 + k3)
    mean = y + h / 4 * (k1 + k2 + k3 + k4)
    return classic, other, third, mean, y + h * 1.5 * (k1 + k2 + k3 + k4) / 6
print(step(x, 0.1, x, x, x, x))
""",
        ),
    ),
    "NNX651": Cases(
        bad=(
            """\
def interval(draws):
    low = jnp.percentile(draws, 0.025)  # NNX651
    return low, jnp.percentile(draws, 0.975)
print(interval(jnp.arange(100.0)))
""",
            """\
bounds = jnp.percentile(jnp.arange(100.0), jnp.array([0.05, 0.5, 0.95]))  # NNX651
print(bounds)
""",
            """\
print(jnp.quantile(jnp.arange(100.0), jnp.array([2.5, 97.5])))  # NNX651
""",
            """\
def threshold(errors, q=0.9):
    return np.percentile(errors, q=0.9)  # NNX651
print(threshold(np.arange(100.0)))
""",
        ),
        clean=(
            """\
def interval(draws):
    return jnp.quantile(draws, 0.025), jnp.quantile(draws, 0.975)
print(interval(jnp.arange(100.0)))
""",
            """\
def stretched(image):
    low, high = np.percentile(image, 0.5), np.percentile(image, 99.5)
    return (image - low) / (high - low)
print(stretched(np.arange(100.0)))
""",
            """\
print(jnp.percentile(jnp.arange(100.0), jnp.array([0.1, 50.0, 99.9])))
""",
            """\
print(jnp.percentile(jnp.arange(100.0), 0), jnp.percentile(jnp.arange(100.0), 1))
""",
            """\
def threshold(errors, q):
    return np.percentile(errors, q)
print(threshold(np.arange(100.0), 90))
""",
        ),
    ),
    "NNX652": Cases(
        bad=(
            """\
def slope(u, length, n):
    x = jnp.linspace(0.0, length, n)
    k = 2 * jnp.pi * jnp.fft.fftfreq(n, d=length / n)  # NNX652
    return jnp.fft.ifft(1j * k * jnp.fft.fft(u(x))).real
print(slope(jnp.sin, 6.0, 16))
""",
            """\
def waves(n):
    x = jnp.linspace(0, 2 * jnp.pi, n)
    k = jnp.fft.rfftfreq(n, 1.0 / n)  # NNX652
    return jnp.fft.irfft(1j * k * jnp.fft.rfft(jnp.sin(x)), n=n)
print(waves(16))
""",
            """\
class Grid:
    def __init__(self, length, n):
        self.length, self.n = length, n
        self.x = jnp.linspace(0.0, self.length, self.n)
    @property
    def dx(self):
        return self.length / self.n  # NNX652
    def frequencies(self):
        return jnp.fft.fftfreq(self.n, self.length / self.n)  # NNX652
print(Grid(1.0, 4).dx)
""",
            """\
LENGTH, N = 2.0, 64
DX = LENGTH / N  # NNX652
def points():
    return jnp.linspace(0.0, LENGTH, N)
print(points()[1], DX)
""",
            """\
def derivative(f, length, n):
    grid = jnp.linspace(0.0, length, n)
    dx = length / n  # NNX652
    return (f(grid)[2:] - f(grid)[:-2]) / (2 * dx)
print(derivative(jnp.sin, 3.0, 16))
""",
            """\
class Grid:
    def __init__(self, low, high, n):
        self.points = np.linspace(low, high, num=n)
        h = (high - low) / n  # NNX652
        self.h = h
print(Grid(0.0, 1.0, 5).h)
""",
            """\
L, N = 2.0, 64
z = jnp.linspace(-L / 2, L / 2, N)
dz = L / N  # NNX652
print(jnp.sum(z**2) * dz)
""",
        ),
        clean=(
            """\
class Grid:
    def __init__(self, length, n):
        self.length, self.n = length, n
        self.x = jnp.linspace(0.0, self.length, self.n, endpoint=False)
        self.edges = jnp.linspace(0.0, self.length, self.n + 1)
        self.dx = self.length / self.n
    def frequencies(self):
        return jnp.fft.fftfreq(self.n, self.length / self.n)
print(Grid(1.0, 4).frequencies())
""",
            """\
def spectrum(signal, rate, n):
    t = jnp.linspace(0.0, 1.0, n)
    return t, jnp.fft.rfftfreq(n, d=1 / rate), jnp.fft.fftfreq(n, d=t[1] - t[0])
print(spectrum(None, 100.0, 8))
""",
            """\
class Cells:
    def __init__(self, length, n):
        self.length, self.n = length, n
        self.dx = self.length / self.n
    def centres(self):
        return (jnp.arange(self.n) + 0.5) * self.dx
    def shown(self):
        return jnp.linspace(0.0, self.length, self.n)
print(Cells(1.0, 4).centres())
""",
            """\
def grid(bounds, n):
    x = jnp.linspace(*bounds, num=n)
    return x
print(grid((0.0, 1.0), 5), jnp.linspace(start=0.0, stop=1.0, num=len(x)))
n = 4
spots = jnp.linspace(start=0.0, stop=1.0, num=n)
""",
            """\
def derivative(f, length, n):
    grid = jnp.linspace(0.0, length, n)
    dx = length / (n - 1)
    return (f(grid)[2:] - f(grid)[:-2]) / (2 * dx)
print(derivative(jnp.sin, 3.0, 16))
""",
            """\
def periodic(f, length, n):
    grid = jnp.linspace(0.0, length, n, endpoint=False)
    dx = length / n
    return (jnp.roll(f(grid), -1) - f(grid)) / dx
print(periodic(jnp.sin, 3.0, 16))
""",
            """\
def faces(length, n):
    edges = jnp.linspace(0.0, length, n + 1)
    dx = length / n
    return edges, dx
print(faces(1.0, 4))
""",
            """\
def mean_of(low, high, n):
    points = jnp.linspace(low, high, n)
    share = (high - low) / n
    return points.sum() * share
print(mean_of(0.0, 1.0, 4))
""",
            """\
def cells(length, n):
    dx = length / n
    return jnp.linspace(dx / 2, length - dx / 2, n)
print(cells(1.0, 4))
""",
        ),
    ),
    "NNX653": Cases(
        bad=(
            """\
def best(scores, k):
    order = jnp.argsort(scores, axis=-1)[::-1]  # NNX653
    return order[:, :k]
print(best(jnp.ones((3, 5)), 2))
""",
            """\
distances = jnp.ones((4, 6))
farthest = jnp.argsort(distances, axis=1)[::-1]  # NNX653
print(farthest)
""",
            """\
def largest(values):
    return jnp.sort(values)[::-1][..., :2]  # NNX653
print(largest(jnp.ones((3, 5))))
""",
        ),
        clean=(
            """\
def best(scores, k):
    order = jnp.argsort(scores, axis=-1)[..., ::-1]
    return order[:, :k]
print(best(jnp.ones((3, 5)), 2))
""",
            """\
def best(scores, k):
    return jnp.argsort(scores)[::-1][:k]
print(best(jnp.ones(5), 2))
""",
            """\
scores = jnp.arange(6.0)
print(jnp.argsort(scores, axis=-1)[::-1])
""",
            """\
def columns(scores):
    return jnp.sort(scores, axis=0)[::-1]
print(columns(jnp.ones((3, 5))))
""",
        ),
    ),
    "NNX654": Cases(
        bad=(
            """\
def within(logits, share):
    probabilities = jax.nn.softmax(jnp.zeros((4, 10)) + logits, axis=-1)
    sums = jnp.cumsum(probabilities)  # NNX654
    return jnp.argmax(sums > share), sums[:, -1]
try:
    within(jnp.zeros(10), 0.9)
except IndexError:
    pass
""",
            """\
table = jnp.ones((5, 3))
rows = jnp.take(table, jnp.array([0, 2]))  # NNX654
print(rows.shape[0])
try:
    print(rows.mean(1))
except ValueError:
    pass
""",
            """\
images = jnp.zeros((2, 4, 4))
twice = jnp.repeat(images, 2)  # NNX654
try:
    print(jnp.mean(twice, axis=(0, 1)))
except ValueError:
    pass
""",
        ),
        clean=(
            """\
def within(logits, share):
    probabilities = jax.nn.softmax(jnp.zeros((4, 10)) + logits, axis=-1)
    sums = jnp.cumsum(probabilities, axis=-1)
    return sums[:, -1] > share
print(within(jnp.zeros(10), 0.9))
""",
            """\
table = jnp.ones((5, 3))
print(jnp.take(table, jnp.array([0, 2]), axis=0).mean(1))
""",
            """\
grid = jnp.ones((5, 3))
print(jnp.cumsum(grid)[-1], jnp.cumsum(grid).max())
""",
            """\
def sums(x):
    total = jnp.cumsum(x)
    return total[None, :]
print(sums(jnp.ones(3)))
""",
            """\
print(jnp.take(jnp.ones((5, 3)), jnp.array([[0, 2]])).mean(1))
""",
        ),
    ),
    "NNX655": Cases(
        bad=(
            """\
def places(logits, k):
    indices, values = jax.lax.top_k(logits, k)  # NNX655
    return indices, values
print(places(x, 2))
""",
            """\
def sampled(key, logits):
    topk_idx, topk_probs = jax.lax.top_k(jax.nn.softmax(logits), 2)  # NNX655
    return topk_idx.astype(int)[jax.random.categorical(key, topk_probs)]
print(sampled(key, x))
""",
            """\
idx, dist = jax.lax.approx_min_k(jnp.ones((2, 5)), 3)  # NNX655
print(idx.shape, dist.shape)
""",
        ),
        clean=(
            """\
def places(logits, k):
    values, indices = jax.lax.top_k(logits, k)
    return indices, values
print(places(x, 2))
""",
            """\
first, second = jax.lax.top_k(x, 2)
print(first, second)
""",
            """\
i, rest = jax.lax.top_k(x, 2)
print(i, rest)
""",
            """\
indices = jax.lax.top_k(x, 2)[1]
print(indices)
""",
        ),
    ),
    "NNX656": Cases(
        bad=(
            """\
schedule = optax.exponential_decay(1e-3, 0.96, 1000)  # NNX656
print(schedule(1))
""",
            """\
STEPS, RATE = 1000, 0.96
schedule = optax.exponential_decay(1e-3, RATE, STEPS)  # NNX656
print(schedule(1))
""",
            """\
def tx(decay_rate, steps=500):
    return optax.adam(optax.exponential_decay(init_value=1e-3, transition_steps=0.9, decay_rate=steps))  # NNX656
print(len(tx(0.9)))
""",
        ),
        clean=(
            """\
schedule = optax.exponential_decay(1e-3, 1000, 0.96)
print(schedule(1))
""",
            """\
schedule = optax.exponential_decay(1e-3, decay_rate=0.96, transition_steps=1000)
print(schedule(1))
""",
            """\
schedule = optax.exponential_decay(1e-3, 1, 0.96)
print(schedule(1))
""",
            """\
schedule = optax.exponential_decay(1e-3, 0.5, 0.99)
print(schedule(1))
""",
        ),
    ),
    "NNX657": Cases(
        bad=(
            """\
queries, keys = jnp.ones((8, 5, 4)), jnp.ones((8, 4, 5))
print(jnp.dot(queries, keys).shape)  # NNX657
""",
            """\
def scores(scale):
    return jnp.dot(jnp.ones((8, 5, 4)), jnp.zeros((8, 4, 3))) * scale  # NNX657
print(scores(3).shape)
""",
            """\
blocks = jax.random.normal(key, (6, 2, 2))
print(jnp.dot(blocks, jnp.ones((6, 2, 2))).shape)  # NNX657
""",
        ),
        clean=(
            """\
queries, keys = jnp.ones((8, 5, 4)), jnp.ones((8, 4, 5))
print((queries @ keys).shape)
""",
            """\
print(jnp.dot(jnp.ones((8, 5, 4)), jnp.ones((4, 3))).shape)
""",
            """\
print(jnp.dot(jnp.ones((8, 5, 4)), jnp.ones((3, 4, 2))).shape)
""",
            """\
print(jnp.matmul(jnp.ones((8, 5, 4)), jnp.ones((8, 4, 2))).shape)
""",
        ),
    ),
    "NNX658": Cases(
        bad=(
            """\
def scaled(x_train, x_test):
    x_train = (x_train - x_train.mean(0)) / x_train.std(0)
    x_test = (x_test - x_test.mean(0)) / x_test.std(0)  # NNX658
    return x_train, x_test
print(scaled(jnp.arange(6.0).reshape(3, 2), jnp.arange(6.0).reshape(3, 2)))
""",
            """\
train_x, val_x = np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)
train_x = (train_x - np.mean(train_x, axis=0)) / (np.std(train_x, axis=0) + 1e-8)
val_x = (val_x - np.mean(val_x, axis=0)) / (np.std(val_x, axis=0) + 1e-8)  # NNX658
print(train_x, val_x)
""",
            """\
def prepared(train, test):
    mean, std = train.mean(), train.std()
    other, wide = test.mean(), test.std()
    m = train.mean()
    s = train.std()
    left = (train - m) / s
    n = test.mean()
    t = test.std()
    return left, (test - n) / t, mean, std, other, wide  # NNX658
print(prepared(jnp.arange(4.0), jnp.arange(3.0)))
""",
        ),
        clean=(
            """\
def scaled(x_train, x_test):
    mean, std = x_train.mean(0), x_train.std(0)
    return (x_train - mean) / std, (x_test - mean) / std
print(scaled(jnp.arange(6.0).reshape(3, 2), jnp.arange(6.0).reshape(3, 2)))
""",
            """\
def each(first, second):
    first = (first - first.mean(0)) / first.std(0)
    second = (second - second.mean(0)) / second.std(0)
    return first, second
print(each(jnp.arange(6.0).reshape(3, 2), jnp.arange(6.0).reshape(3, 2)))
""",
            """\
def normalized(test):
    return (test - test.mean()) / test.std()
print(normalized(jnp.arange(3.0)))
""",
            """\
def scaled(train_x, test_y):
    train_x = (train_x - train_x.mean(0)) / train_x.std(0)
    test_y = (test_y - test_y.mean(0)) / test_y.std(0)
    return train_x, test_y
print(scaled(jnp.arange(6.0).reshape(3, 2), jnp.arange(6.0).reshape(3, 2)))
""",
        ),
    ),
    "NNX659": Cases(
        bad=(
            """\
def loss(p, y):
    return -jnp.mean(y * jnp.log(p) - (1 - y) * jnp.log(1 - p))  # NNX659
print(loss(jnp.array([0.5]), jnp.array([1.0])))
""",
            """\
def bce(y_hat, y, eps=1e-7):
    return -(y * jnp.log(y_hat + eps) - (1 - y) * jnp.log(1 - y_hat + eps)).mean()  # NNX659
print(bce(jnp.array([0.5]), jnp.array([1.0])))
""",
            """\
def log_likelihood(p, labels):
    return jnp.sum(jnp.log(p) * labels - (1.0 - labels) * jnp.log(1.0 - p))  # NNX659
print(log_likelihood(jnp.array([0.5]), jnp.array([1.0])))
""",
        ),
        clean=(
            """\
def loss(p, y):
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
print(loss(jnp.array([0.5]), jnp.array([1.0])))
""",
            """\
def loss(p, y):
    return jnp.mean(-y * jnp.log(p) - (1 - y) * jnp.log(1 - p))
print(loss(jnp.array([0.5]), jnp.array([1.0])))
""",
            """\
def log_odds(p, q):
    return jnp.log(p) - jnp.log(1 - p) + q
print(log_odds(jnp.array([0.5]), 1.0))
""",
            """\
def difference(p, q, w):
    return w * jnp.log(p) - (1 - w) * jnp.log(q)
print(difference(jnp.array([0.5]), jnp.array([0.2]), 0.3))
""",
        ),
    ),
    "NNX695": Cases(
        bad=(
            """\
def pooled(hidden, mask):
    return jnp.sum(hidden * mask[..., None], axis=1) / jnp.sum(mask)  # NNX695
print(pooled(jnp.ones((2, 3, 4)), jnp.ones((2, 3))))
""",
            """\
def pooled(hidden, attention_mask):
    total = (hidden * attention_mask[:, :, None]).sum(axis=1)
    return total / jnp.maximum(attention_mask.sum(), 1)  # NNX695
print(pooled(jnp.ones((2, 3, 4)), jnp.ones((2, 3))))
""",
            """\
class Pool(nnx.Module):
    def __call__(self, tokens, mask):
        kept = tokens * mask[..., None]
        return kept.sum(1) / (jnp.sum(mask) + 1e-6)  # NNX695
print(Pool()(jnp.ones((2, 3, 4)), jnp.ones((2, 3))))
""",
        ),
        clean=(
            """\
def pooled(hidden, mask):
    return jnp.sum(hidden * mask[..., None], axis=1) / jnp.sum(mask, axis=1, keepdims=True)
print(pooled(jnp.ones((2, 3, 4)), jnp.ones((2, 3))))
""",
            """\
def loss(errors, mask):
    return jnp.sum(errors * mask) / jnp.sum(mask)
print(loss(jnp.ones((2, 3)), jnp.ones((2, 3))))
""",
            """\
def pooled(hidden, mask):
    return jnp.sum(hidden * mask[..., None], axis=1).sum(0) / jnp.sum(mask)
print(pooled(jnp.ones((2, 3, 4)), jnp.ones((2, 3))))
""",
            """\
def pooled(hidden, mask):
    return jnp.sum(hidden * mask[:, None], axis=0) / jnp.sum(mask)
print(pooled(jnp.ones((3, 4)), jnp.ones(3)))
""",
        ),
    ),
    "NNX681": Cases(
        bad=(
            """\
from flax import linen as nn
class Mixer(nn.Module):
    def setup(self):
        self.norm = nn.LayerNorm()
    def mixed(self, x):
        return x + nn.Dense(x.shape[-1])(x)  # NNX681
    def __call__(self, x):
        return self.mixed(self.norm(x))
Mixer().init(key, x)
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)
class Stack(nn.Module):
    depth: int
    def __call__(self, x):
        for _ in range(self.depth):
            x = Block()(x)  # NNX681
        return x
Stack(2).init(key, x)
""",
            """\
from flax import linen as nn

class Block(nn.Module):
    def setup(self):
        self.norm = nn.LayerNorm()
    def __call__(self, y):
        return y + nn.Dense(3)(self.norm(y))  # NNX681
Block().apply({}, x)
""",
            """\
from flax import linen as nn

class Net(nn.Module):
    features: int = 4
    def __call__(self, y):
        h = nn.relu(nn.Dense(self.features)(y))  # NNX681
        return nn.Dense(1)(h)
Net().init(key, x)
""",
            """\
import flax.linen as fl
class Net(fl.Module):
    def __call__(self, y, train=False):
        layer = fl.BatchNorm(use_running_average=not train)  # NNX681
        return layer(y)
Net().init(key, x)
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Mixer(nn.Module):
    def setup(self):
        self.out = self.made(3)
    def made(self, size):
        return nn.Dense(size)
    def __call__(self, x):
        return self.out(x)
print(jax.tree.map(jnp.shape, Mixer().init(key, x)))
""",
            """\
from flax import linen as nn
class Mixer(nn.Module):
    def mixed(self, x):
        return x + nn.Dense(x.shape[-1])(x)
    @nn.compact
    def __call__(self, x):
        return self.mixed(x)
print(jax.tree.map(jnp.shape, Mixer().init(key, x)))
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)
class Trainer:
    def __call__(self, x):
        return Block().init(key, x)
print(jax.tree.map(jnp.shape, Trainer()(x)))
""",
            """\
from flax import linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, y):
        return y + nn.Dense(3)(y)
print(Block().init_with_output(key, x)[0].shape)
""",
            """\
from flax import linen as nn

class Block(nn.Module):
    def setup(self):
        self.out = nn.Dense(3)
    def __call__(self, y):
        return y + self.out(y)
print(Block().init_with_output(key, x)[0].shape)
""",
            """\
from flax import linen as nn

class Base(nn.Module):
    def __call__(self, y):
        return nn.Dense(3)(y)
class Block(Base):
    @nn.compact
    def __call__(self, y):
        return super().__call__(y)
print(Block().init_with_output(key, x)[0].shape)
""",
            """\
from flax import linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, y):
        return self.inner(y)
    def inner(self, y):
        return nn.Dense(3)(y)
print(Block().init_with_output(key, x)[0].shape)
""",
            """\
from flax import linen as nn

class Wrapper:
    def __call__(self, y):
        return nn.Dense(3).init_with_output(key, y)[0]
print(Wrapper()(x).shape)
""",
        ),
    ),
    "NNX682": Cases(
        bad=(
            """\
class Block(nnx.Module):
    def __init__(self, dim):
        rngs = nnx.Rngs(0)  # NNX682
        self.layer = nnx.Linear(dim, dim, rngs=rngs)
class Stack(nnx.Module):
    def __init__(self, dim, depth):
        self.blocks = nnx.Sequential(*[Block(dim) for _ in range(depth)])
print(len(Stack(3, 2).blocks.layers))
""",
            """\
class Head(nnx.Module):
    def __init__(self, dim):
        self.layer = nnx.Linear(dim, dim, rngs=nnx.Rngs(params=42))  # NNX682
class Twin(nnx.Module):
    def __init__(self, dim):
        self.first = Head(dim)
        self.second = Head(dim)
print(Twin(3).first.layer.kernel.shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, dim):
        self.layer = nnx.Linear(dim, dim, rngs=nnx.Rngs(7))  # NNX682
class Stack(nnx.Module):
    def __init__(self, dim, depth):
        self.names = []
        for i in range(depth):
            setattr(self, f"block{i}", Block(dim))
print(Stack(3, 2).block1.layer.kernel.shape)
""",
        ),
        clean=(
            """\
class Block(nnx.Module):
    def __init__(self, dim, rngs):
        self.layer = nnx.Linear(dim, dim, rngs=rngs)
class Stack(nnx.Module):
    def __init__(self, dim, depth, rngs):
        self.blocks = nnx.Sequential(*[Block(dim, rngs) for _ in range(depth)])
print(len(Stack(3, 2, nnx.Rngs(0)).blocks.layers))
""",
            """\
class Block(nnx.Module):
    def __init__(self, dim, rngs=None):
        rngs = rngs if rngs is not None else nnx.Rngs(0)
        self.layer = nnx.Linear(dim, dim, rngs=rngs)
class Stack(nnx.Module):
    def __init__(self, dim, depth, rngs):
        self.blocks = nnx.Sequential(*[Block(dim, rngs) for _ in range(depth)])
print(len(Stack(3, 2, nnx.Rngs(0)).blocks.layers))
""",
            """\
class Net(nnx.Module):
    def __init__(self, dim):
        rngs = nnx.Rngs(0)
        self.layer = nnx.Linear(dim, dim, rngs=rngs)
class Trainer(nnx.Module):
    def __init__(self, dim):
        self.net = Net(dim)
print(Trainer(3).net.layer.kernel.shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, dim, number):
        self.layer = nnx.Linear(dim, dim, rngs=nnx.Rngs(number))
class Stack(nnx.Module):
    def __init__(self, dim, depth):
        self.blocks = nnx.Sequential(*[Block(dim, n) for n in range(depth)])
print(len(Stack(3, 2).blocks.layers))
""",
        ),
    ),
}
