"""Calls of the host under vmap, factors of equations, differential equations, and messages along edges of graphs."""

from __future__ import annotations

from tests.lint.tables import Cases

_HOST = "def host(v):\n    return np.sin(v)\ndef shape_of(v):\n    return jax.ShapeDtypeStruct(v.shape, v.dtype)\n"
_GRAM = "from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular\ngram = jnp.eye(3) + 0.1\n"
_TIMES = "from jax.experimental.ode import odeint\nts = jnp.linspace(0.0, 1.0, 4)\n"
_EDGES = "edges = jnp.array([[0, 1], [2, 1], [1, 0]])\n"

_SHARES = """\
def deposit(places, mass, n):
    left = jnp.floor(places * n).astype(int)
    part = places * n - left
    grid = jnp.zeros(n + 1)
    grid = grid.at[left].add(mass * (1 - part))
    grid = grid.at[left + 1].add(mass * part)
    return grid
print(deposit(jax.random.uniform(key, (20,)), 0.05, 4))
"""
_SLOPE = """\
def slope(u, length):
    n = u.shape[0]
    k = 2 * jnp.pi * jnp.fft.rfftfreq(n, d=length / n)
    return jnp.fft.irfft(1j * k * jnp.fft.rfft(u), n=n)
print(slope(jnp.sin(jnp.arange(8.0)), 8.0))
"""
_GRID = """\
class Grid:
    def __init__(self, n, dx):
        self.kx = 2 * np.pi * np.fft.fftfreq(n, dx)[:, None]
    def laplacian(self, u):
        u_hat = jnp.fft.fft2(u)
        return jnp.fft.ifft2(-(self.kx**2) * u_hat).real
print(Grid(4, 0.5).laplacian(jnp.ones((4, 4))))
"""
_WALK = """\
def walk(key, y, theta, sigma, dt):
    for k in jax.random.split(key, 3):
        y = y - theta * y * dt + sigma * jnp.sqrt(dt) * jax.random.normal(k, y.shape)
    return y
print(walk(key, x, 1.0, 0.5, 0.1))
"""
_PATHS = """\
class Stock:
    def __init__(self, mu, vol, dt):
        self.mu, self.vol, self.dt = mu, vol, dt
    def paths(self, key, start):
        def body(price, now):
            t, z = now
            noise = self.vol * price * self.dt**0.5 * z
            price = price + self.mu * price * self.dt + noise
            return price, price
        return jax.lax.scan(body, start, (jnp.arange(4.0), jax.random.normal(key, (4,))))[1]
print(Stock(0.1, 0.2, 0.01).paths(key, 1.0))
"""
_LEAP = """\
def leapfrog(grad_fn, q, p, eps):
    for _ in range(2):
        grad = grad_fn(q)
        p_half = p - eps / 2 * grad
        q = q + eps * p_half
        p = p_half - eps / 2 * grad_fn(q)
    return q, p
print(leapfrog(jax.grad(lambda q: jnp.sum(q**2)), x, x, 0.1))
"""
_VERLET = """\
def verlet(force, pos, velocity, dt):
    f = force(pos)
    velocity += 0.5 * dt * f
    pos += dt * velocity
    f = force(pos)
    velocity += 0.5 * dt * f
    return pos, velocity
print(verlet(lambda pos: -pos, 1.0, 0.0, 0.1))
"""
_FILTER = """\
class Filter:
    def __init__(self, f, q):
        self.f, self.q = f, q
    def predict(self, mean, cov):
        f = self.f
        mean = f @ mean
        cov = f @ cov @ f.T + self.q
        return mean, cov
print(Filter(jnp.eye(2), jnp.eye(2)).predict(jnp.ones(2), jnp.eye(2)))
"""
_WEIGHTED = """\
def expectation(draws, target, proposal):
    log_w = target(draws) - proposal(draws).sum(-1)
    w = jax.nn.softmax(log_w)
    return w @ draws
def target_logpdf(v):
    return jax.scipy.stats.norm.logpdf(v).sum(-1)
print(expectation(jnp.ones((4, 2)), target_logpdf, jax.scipy.stats.norm.logpdf))
"""
_FILTERED = """\
def resample(key, particles, y):
    log_lik = jax.scipy.stats.norm.logpdf(y, particles, 0.5)
    chosen = jax.random.categorical(key, log_lik, shape=particles.shape)
    return particles[chosen]
print(resample(key, x, 0.5))
"""

CASES = {
    "NNX967": Cases(
        bad=(
            _SLOPE.replace(
                "2 * jnp.pi * jnp.fft.rfftfreq(n, d=length / n)", "jnp.fft.rfftfreq(n, d=length / n)  # NNX967"
            ),
            _GRID.replace("2 * np.pi * np.fft.fftfreq(n, dx)[:, None]", "np.fft.fftfreq(n, dx)[:, None]  # NNX967"),
            """\
def frequencies(n, spacing):
    return jnp.fft.fftfreq(n, spacing)  # NNX967
def derivative(u, k):
    u_hat = jnp.fft.fft(u)
    return jnp.fft.ifft(1j * k * u_hat).real
print(derivative(jnp.ones(4), frequencies(4, 0.25)))
""",
            """\
n, dx = 4, 0.3
one = jnp.fft.fftfreq(n, d=dx)  # NNX967
kx, ky = jnp.meshgrid(one, one, indexing="ij")
field = jnp.fft.fft2(jnp.ones((n, n)))
print(jnp.fft.ifft2(1j * ky * field).real)
""",
        ),
        clean=(
            _SLOPE,
            _GRID,
            _SLOPE.replace("2 * jnp.pi * jnp", "jnp").replace("irfft(1j", "irfft(2j * jnp.pi"),
            _SLOPE.replace("2 * jnp.pi * jnp", "jnp").replace("d=length / n", "d=length / (2 * jnp.pi * n)"),
            _SLOPE.replace("2 * jnp.pi * jnp", "jnp").replace("d=length / n", "d=1 / n"),
            _SLOPE.replace("2 * jnp.pi * jnp", "jnp").replace("return jnp", "return 2 * jnp.pi * jnp"),
            """\
def low_pass(u, dx, width):
    f = jnp.fft.rfftfreq(u.shape[0], dx)
    return jnp.fft.irfft(jnp.exp(-((f * width) ** 2)) * jnp.fft.rfft(u), n=u.shape[0])
print(low_pass(jnp.ones(4), 0.1, 0.2))
""",
            """\
def centre(u, dx):
    f = jnp.fft.rfftfreq(u.shape[0], dx)
    power = jnp.abs(jnp.fft.rfft(u)) ** 2
    return jnp.sum(f * power) / jnp.sum(power)
print(centre(jnp.ones(4), 0.1))
""",
        ),
    ),
    "NNX968": Cases(
        bad=(
            _FILTER.replace("f @ cov @ f.T + self.q", "f * cov * f.T + self.q  # NNX968"),
            _FILTER.replace("f @ cov @ f.T + self.q", "f * cov * jnp.transpose(f) + self.q  # NNX968"),
            _WALK.replace(
                "jnp.sqrt(dt) * jax.random.normal(k, y.shape)", "dt * jax.random.normal(k, y.shape)  # NNX968"
            ),
            _PATHS.replace("self.dt**0.5 * z", "self.dt * z  # NNX968"),
            """\
def brownian(key, n, dt):
    dW = dt * jax.random.normal(key, (n,))  # NNX968
    return jnp.cumsum(dW)
print(brownian(key, 4, 0.1))
""",
            _LEAP.replace("p_half - eps / 2 * grad_fn(q)", "p_half - eps / 2 * grad  # NNX968"),
            _VERLET.replace(
                "    f = force(pos)\n    velocity += 0.5 * dt * f\n    return",
                "    velocity += 0.5 * dt * f  # NNX968\n    return",
            ),
        ),
        clean=(
            _FILTER,
            """\
def scaled(scales, kernel):
    scales = scales[:, None]
    return scales * kernel * scales.T + scales @ scales.T
print(scaled(x, jnp.eye(3)))
""",
            """\
def weighted(w, gram, v):
    return w * gram * w.T, gram @ v
print(weighted(jnp.eye(3), jnp.eye(3), x))
""",
            _WALK,
            _PATHS,
            _LEAP,
            _VERLET,
            """\
def shaken(key, v, force, sigma, dt):
    return v + (force + sigma * jax.random.normal(key, v.shape)) * dt
print(shaken(key, x, x, 0.1, 0.01))
""",
            """\
def scaled(key, v, sigma, dt):
    sigma = sigma / jnp.sqrt(dt)
    return v - v * dt + sigma * dt * jax.random.normal(key, v.shape)
print(scaled(key, x, 0.1, 0.01))
""",
            """\
def falling(pos, velocity, gravity, dt):
    velocity = velocity + 0.5 * dt * gravity
    pos = pos + dt * velocity
    velocity = velocity + 0.5 * dt * gravity
    return pos, velocity
print(falling(x, x, 9.81, 0.1))
""",
            """\
def dragged(pos, velocity, drag, dt):
    force = drag(velocity)
    velocity = velocity - 0.5 * dt * force
    pos = pos + dt * velocity
    velocity = velocity - 0.5 * dt * force
    return pos, velocity
print(dragged(x, x, jnp.abs, 0.1))
""",
        ),
    ),
    "NNX969": Cases(
        bad=(
            _WEIGHTED.replace("jax.nn.softmax(log_w)", "log_w / jnp.sum(log_w)  # NNX969"),
            _WEIGHTED.replace("jax.nn.softmax(log_w)", "log_w / log_w.sum()  # NNX969"),
            _FILTERED.replace(
                "categorical(key, log_lik, shape=particles.shape)", "choice(key, 3, (3,), p=log_lik)  # NNX969"
            ),
            """\
def mean(log_weights, v):
    return jnp.average(v, weights=log_weights)  # NNX969
print(mean(jnp.log(jnp.array([0.5, 0.2, 0.3])), x))
""",
        ),
        clean=(
            _WEIGHTED,
            _FILTERED,
            _WEIGHTED.replace("jax.nn.softmax(log_w)", "jnp.exp(log_w)\n    w = w / jnp.sum(w)"),
            """\
def shares(counts):
    log_counts = jnp.log1p(counts)
    return log_counts / jnp.sum(log_counts)
print(shares(x))
""",
            """\
def recombination(ranks, n):
    weights = jnp.log(n + 0.5) - jnp.log(ranks)
    return weights / jnp.sum(weights)
print(recombination(jnp.arange(1.0, 4.0), 3))
""",
            """\
def nll(log_probs, mask):
    return -jnp.sum(log_probs * mask) / jnp.sum(mask)
print(nll(x, x))
""",
            """\
def resample(key, particles, y):
    w = jax.scipy.stats.norm.pdf(y, particles, 0.5)
    return jax.random.choice(key, particles, (3,), p=w / jnp.sum(w))
print(resample(key, x, 0.5))
""",
        ),
    ),
    "NNX937": Cases(
        bad=(
            """\
class Table:
    def __call__(self, query):
        return jax.pure_callback(np.sinc, jax.ShapeDtypeStruct(query.shape, query.dtype), query)  # NNX937
    def twice(self, query):
        return 2 * self(query)
def response(table):
    def one(point):
        return table.twice(point)
    return jax.vmap(one)
response(Table())(x)
""",
            """\
def host_softmax(v):
    e = np.exp(v - v.max())
    return (e / e.sum()).astype(np.float32)
def softmax(v):
    out = jax.ShapeDtypeStruct(v.shape, jnp.float32)
    return jax.pure_callback(host_softmax, out, v, vmap_method="expand_dims")  # NNX937
print(jax.vmap(softmax)(jnp.ones((3, 4))))
""",
            """\
def normalized(hist, scale):
    hist = np.asarray(hist) + 0.5
    return scale * hist / np.sum(hist)
@jax.jit
def entropies(hists):
    return jax.vmap(lambda h: entropy(h) * 2)(hists)
def entropy(h):
    p = jax.pure_callback(normalized, h, h, 1.0, vmap_method="broadcast_all")  # NNX937
    return -jnp.sum(p * jnp.log(p))
print(entropies(jnp.ones((2, 3))))
""",
            """\
class Host:
    def unit(self, v):
        return v / np.linalg.norm(v)
    def __call__(self, v):
        return jax.pure_callback(self.unit, v, v, vmap_method="expand_dims")  # NNX937
host = Host()
print(jax.vmap(lambda v: host(v))(jnp.ones((3, 4))))
""",
            _HOST
            + """\
class Table:
    def __init__(self, scale):
        self.scale = scale
    def read(self, v):
        return jax.pure_callback(host, shape_of(v), v)  # NNX937
    def energy(self, v):
        return self.scale * self.read(v)
    def all(self, vs):
        return jax.vmap(self.energy)(vs)
""",
            _HOST
            + """\
@jax.jit
def solve(a, b):
    return jax.pure_callback(lambda a, b: np.linalg.solve(a, b), shape_of(b), a, b)  # NNX937
@partial(jax.vmap, in_axes=(None, 0))
def many(a, b):
    return solve(a, b)
""",
            _HOST
            + """\
def rollout(start):
    def step(v, _):
        v = jax.pure_callback(host, shape_of(v), v, vmap_method=None)  # NNX937
        return v, v
    return jax.lax.scan(step, start, None, length=3)[1]
paths = jax.jit(jax.vmap(rollout))
""",
            _HOST
            + """\
def make(function):
    def layer(v):
        return jax.pure_callback(function, shape_of(v), v)  # NNX937
    return layer
def shifted(points, shifts):
    layer = make(host)
    return jax.vmap(lambda s: layer(points + s).sum())(shifts)
""",
        ),
        clean=(
            """\
class Table:
    def __call__(self, query):
        return jax.pure_callback(np.sinc, jax.ShapeDtypeStruct((3,), "float32"), query)
    def scaled(self, query):
        return 2 * query
def response(table):
    def one(point):
        return table.scaled(point)
    return jax.vmap(one)
response(Table())(x), Table()(x)
""",
            """\
def host_softmax(v):
    e = np.exp(v - v.max())
    return (e / e.sum()).astype(np.float32)
def softmax(v):
    out = jax.ShapeDtypeStruct(v.shape, jnp.float32)
    return jax.pure_callback(host_softmax, out, v, vmap_method="sequential")
print(jax.vmap(softmax)(jnp.ones((3, 4))))
""",
            """\
def host_softmax(v):
    e = np.exp(v - v.max())
    return (e / e.sum()).astype(np.float32)
def softmax(v):
    out = jax.ShapeDtypeStruct(v.shape, jnp.float32)
    return jax.pure_callback(host_softmax, out, v, vmap_method="expand_dims")
print(softmax(jnp.ones(4)), jax.vmap(lambda s: s * softmax(jnp.ones(4)))(jnp.ones(3)))
""",
            """\
def host_softmax(v):
    e = np.exp(v - v.max(axis=-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
def softmax(v):
    return jax.pure_callback(host_softmax, v, v, vmap_method="expand_dims")
print(jax.vmap(softmax)(jnp.ones((3, 4))))
""",
            """\
def scaled(v, w):
    return (v * w.sum()).astype(np.float32)
def call(v):
    return jax.pure_callback(scaled, v, v, jnp.ones(5), vmap_method="expand_dims")
print(jax.vmap(call)(jnp.ones((3, 4))))
""",
            """\
def host_softmax(v):
    rows = v.reshape(-1, v.shape[-1])
    out = np.stack([np.exp(row) / np.exp(row).sum() for row in rows])
    return out.reshape(v.shape).astype(np.float32)
def softmax(v):
    return jax.pure_callback(host_softmax, v, v, vmap_method="expand_dims")
print(jax.vmap(softmax)(jnp.ones((3, 4))))
""",
            _HOST
            + """\
def read(v):
    return jax.pure_callback(host, shape_of(v), v, vmap_method="expand_dims")
print(jax.vmap(read)(x))
""",
            _HOST
            + """\
def loss(y, theta):
    return (jax.pure_callback(host, shape_of(theta), theta) - y) ** 2
print(jax.vmap(loss, in_axes=(0, None))(x, x[0]))
""",
            _HOST
            + """\
def loss(ys, theta):
    found = jax.pure_callback(host, shape_of(theta), theta)
    return jax.vmap(lambda y: (found - y) ** 2)(ys)
print(loss(x, x[0]))
""",
            _HOST
            + """\
def read(v):
    return jax.pure_callback(host, shape_of(v), v)
print(jax.lax.map(read, x), read(jax.vmap(jnp.sin)(x)))
""",
            _HOST
            + """\
def share(v):
    size = jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), jnp.float32(v.shape[0]))
    return v / size
print(jax.vmap(share)(jnp.ones((2, 3))))
""",
        ),
    ),
    "NNX531": Cases(
        bad=(
            """\
from jax.scipy.stats import gamma
def log_prior(rate, alpha, beta):
    return gamma.logpdf(rate, alpha, beta)  # NNX531
print(log_prior(x, 2.0, 1.5))
""",
            """\
import jax.scipy.stats as stats
def waiting(times, rate):
    return stats.expon.logpdf(times, rate).sum()  # NNX531
print(waiting(jnp.ones(3), 2.0))
""",
            """\
def scale_prior(sigma):
    return jax.scipy.stats.gamma.logpdf(sigma, 2.0, 0.5)  # NNX531
print(scale_prior(2.0))
""",
            """\
from jax.scipy.stats import gamma
def density(t, shape, tau):
    scale = 1.0 / tau
    return gamma.pdf(t, shape, scale)  # NNX531
""",
            """\
from jax.scipy.stats import uniform
class Flat:
    def __init__(self, low, high):
        self.low, self.high = low, high
    def log_prob(self, x):
        return uniform.logpdf(x, self.low, self.high)  # NNX531
print(Flat(1.0, 3.0).log_prob(x))
""",
            """\
flat = jax.scipy.stats.uniform.pdf(x, -5.0, 5.0)  # NNX531
""",
            """\
from jax.scipy import stats
def log_likelihood(residual, sigma):
    return stats.norm.logpdf(residual, sigma).sum()  # NNX531
print(log_likelihood(x, 0.3))
""",
            """\
def propose(key, mean, cov, n):
    factor = jnp.linalg.cholesky(cov)
    return jax.random.multivariate_normal(key, mean, factor, (n,))  # NNX531
print(propose(key, jnp.zeros(2), jnp.array([[2.0, 1.0], [1.0, 2.0]]), 3))
""",
            """\
from jax.scipy.stats import multivariate_normal
class Gaussian:
    def __init__(self, mean, cov):
        self.mean = mean
        self.tril = jnp.linalg.cholesky(cov)
    def log_prob(self, y):
        return multivariate_normal.logpdf(y, self.mean, self.tril)  # NNX531
""",
        ),
        clean=(
            """\
from jax.scipy.stats import expon, gamma, norm, uniform
def log_prior(rate, alpha, beta, low, high, loc, mu, sigma):
    total = gamma.logpdf(rate, alpha, scale=1 / beta) + gamma.logpdf(rate, alpha, 0.0, 1 / beta)
    total += gamma.logpdf(rate, alpha) + gamma.logpdf(rate, alpha, 0) + gamma.logpdf(rate, alpha, loc)
    total += expon.logpdf(rate) + expon.logpdf(rate, scale=1 / beta) + expon.logpdf(rate, loc)
    total += uniform.logpdf(rate, low, high - low) + uniform.logpdf(rate, 0.0, high)
    return total + norm.logpdf(rate, mu) + norm.logpdf(rate, mu, sigma) + norm.logpdf(rate, 1 / beta)
print(log_prior(1.0, 2.0, 1.5, 0.5, 2.0, 0.0, 1.0, 2.0))
""",
            """\
from jax.scipy.stats import beta, t, uniform
print(beta.logpdf(0.3, 2.0, 3.0), uniform.pdf(0.5, 1.0, 2.0), t.logpdf(0.5, 3.0, 0.0, 2.0))
""",
            """\
def propose(key, mean, cov):
    factor = jnp.linalg.cholesky(cov)
    whole = factor @ factor.T
    return jax.random.multivariate_normal(key, mean, whole), whole - cov
print(propose(key, jnp.zeros(2), jnp.eye(2)))
""",
            """\
class gamma:
    @staticmethod
    def logpdf(x, shape, rate):
        return (shape - 1) * jnp.log(x) - rate * x
def log_prior(x, alpha, beta):
    return gamma.logpdf(x, alpha, beta)
print(log_prior(1.0, 2.0, 3.0))
""",
            """\
def density(stats, x, alpha, beta):
    return stats.gamma.logpdf(x, alpha, beta)
""",
            """\
def log_prior(rate, hyper):
    args = (hyper["alpha"], 0.0)
    return jax.scipy.stats.gamma.logpdf(rate, *args)
print(log_prior(1.0, {"alpha": 2.0}))
""",
            """\
from jax.scipy.stats import norm
def shifted(x, means):
    return norm.logpdf(x, means) + norm.cdf(x, 0.5)
print(shifted(1.0, 2.0))
""",
            """\
from jax.scipy.stats import laplace, uniform
def both(x, a, width):
    return laplace.logpdf(x, a) + uniform.logpdf(x, a, width)
print(both(0.2, 0.0, 1.0))
""",
            """\
from jax.scipy.stats import multivariate_normal
def log_prob(y, mean, tril):
    return multivariate_normal.logpdf(y, mean, tril @ tril.T)
print(log_prob(jnp.ones(2), jnp.zeros(2), jnp.eye(2)))
""",
            """\
from jax.scipy.stats import gamma
print(gamma.logpdf(1.0, 2.0, loc=0.5), gamma.logpdf(1.5, 2.0, 0.5, 2.0))
""",
        ),
    ),
    "NNX938": Cases(
        bad=(
            """\
class Market:
    def __init__(self, cov):
        self.factor = jnp.linalg.cholesky(cov)
    def returns(self, key, n):
        return jax.random.normal(key, (n, 2)) @ self.factor  # NNX938
print(Market(jnp.array([[2.0, 1.0], [1.0, 2.0]])).returns(key, 3))
""",
            """\
cov = jnp.array([[2.0, 1.0], [1.0, 2.0]])
rows = jnp.dot(jax.random.normal(key, (3, 2)), jnp.linalg.cholesky(cov))  # NNX938
first, second = jax.random.split(jax.random.key(1))
one = jax.scipy.linalg.cholesky(cov) @ jax.random.normal(first, (2,))  # NNX938
other = jnp.linalg.cholesky(cov).T @ jax.random.normal(second, (2,))  # NNX938
""",
            """\
def draw(key, mean, cov, n):
    z = jax.random.normal(key, (n, mean.shape[0]))
    factor = jnp.linalg.cholesky(cov)
    return mean + z @ factor  # NNX938
print(draw(key, jnp.zeros(2), jnp.array([[2.0, 1.0], [1.0, 2.0]]), 3))
""",
            _GRAM
            + """\
class Process:
    def __init__(self, gram):
        self.chol = jnp.linalg.cholesky(gram)
    def weights(self, y):
        half = solve_triangular(self.chol, y, lower=True)
        return solve_triangular(self.chol.T, half, lower=True)  # NNX938
""",
            _GRAM
            + """\
def factor(k):
    return jnp.linalg.cholesky(k + 1e-6 * jnp.eye(3))
def weights(k, y):
    chol = factor(k)
    return cho_solve((chol, False), y)  # NNX938
""",
            _GRAM
            + """\
chol = jnp.linalg.cholesky(gram)
def distances(rows):
    return jax.vmap(lambda row: solve_triangular(chol, row, trans=1))(rows)  # NNX938
""",
            _GRAM
            + """\
upper = jax.scipy.linalg.cholesky(gram)
half = jax.scipy.linalg.solve_triangular(upper, x, lower=True)  # NNX938
q, r = jnp.linalg.qr(gram)
y = solve_triangular(r, q.T @ x, lower=True)  # NNX938
c, _ = cho_factor(gram)
z = cho_solve((c, True), x)  # NNX938
""",
            _GRAM
            + """\
def solved(theta, y):
    low = jnp.tril(theta)
    return jax.lax.linalg.triangular_solve(low, y[:, None], left_side=True)  # NNX938
""",
        ),
        clean=(
            """\
cov = jnp.array([[2.0, 1.0], [1.0, 2.0]])
factor = jnp.linalg.cholesky(cov)
noise = jax.random.normal(key, (3, 2))
rows = noise @ factor.T, jnp.matmul(factor, noise.T), noise @ jax.scipy.linalg.cholesky(cov)
first, second = jax.random.split(jax.random.key(1))
one = factor @ jax.random.normal(first, (2,))
mixed = noise @ jnp.tril(cov), jnp.triu(cov) @ jax.random.normal(second, (2,))
""",
            """\
class Prior:
    def __init__(self):
        self.cov = jnp.array([[2.0, 0.0], [0.0, 1.0]])
    def draw(self, k, n):
        return jax.random.normal(k, (n, 2)) @ jnp.linalg.cholesky(self.cov)
print(Prior().draw(key, 3))
""",
            """\
def draw(key, mean, cov, n):
    z = jax.random.normal(key, (n, mean.shape[0]))
    factor = jnp.linalg.cholesky(cov)
    return mean + z @ factor.T
print(draw(key, jnp.zeros(2), jnp.array([[2.0, 1.0], [1.0, 2.0]]), 3))
""",
            """\
def draw(key, mean, cov):
    z = jax.random.normal(key, mean.shape)
    return mean + jnp.linalg.cholesky(cov) @ z
print(draw(key, jnp.zeros(2), jnp.array([[2.0, 1.0], [1.0, 2.0]])))
""",
            """\
def draw(key, mean, cov, n):
    z = jax.random.normal(key, (n, mean.shape[0]))
    return mean + z @ jnp.linalg.cholesky(cov, upper=True)
print(draw(key, jnp.zeros(2), jnp.array([[2.0, 1.0], [1.0, 2.0]]), 3))
""",
            _GRAM
            + """\
chol = jnp.linalg.cholesky(gram)
half = solve_triangular(chol, x, lower=True)
print(solve_triangular(chol.T, half), solve_triangular(chol, half, lower=True, trans=1))
""",
            _GRAM
            + """\
upper = jax.scipy.linalg.cholesky(gram)
print(solve_triangular(upper.T, x, lower=True), solve_triangular(upper, x), cho_solve((upper, False), x))
""",
            _GRAM
            + """\
upper = jnp.linalg.cholesky(gram, upper=True)
low = jax.scipy.linalg.cholesky(gram, lower=True)
print(solve_triangular(upper, x), solve_triangular(low, x, lower=True), cho_solve((low, True), x))
""",
            _GRAM + "print(cho_solve(cho_factor(gram), x))\nc, low = cho_factor(gram, lower=True)\n"
            "print(cho_solve((c, low), x), cho_solve((c, True), x))\n",
            _GRAM + "q, r = jnp.linalg.qr(gram)\nprint(solve_triangular(r, q.T @ x))\n",
            _GRAM
            + """\
def solved(a, y, lower):
    return solve_triangular(a, y, lower=lower)
print(solved(jnp.linalg.cholesky(gram), x, True), solve_triangular(jnp.swapaxes(jnp.tril(gram), -1, -2), x))
""",
        ),
    ),
    "NNX939": Cases(
        bad=(
            """\
from jax.experimental.ode import odeint
def angle(t, theta, damping):
    return -jnp.sin(theta) / damping + t
@partial(jax.jit, static_argnums=0)
def trajectory(rhs, start, ts, damping):
    return odeint(rhs, start, ts, damping)  # NNX939
print(trajectory(angle, jnp.array(0.2), jnp.linspace(0.0, 1.0, 5), 1.5))
""",
            """\
from scipy.integrate import solve_ivp
def passed(rho, t):
    return -1.0 / rho
rho_first, t_last = 2.0, 1.0
print(solve_ivp(passed, (0.0, t_last), [rho_first]).y)  # NNX939
""",
            _TIMES
            + """\
class Base:
    def path(self, start):
        return odeint(self.rate, start, ts)  # NNX939
    def rate(self, t, state):
        "The right side."
        return -state * t
print(Base)
""",
            _TIMES
            + """\
class Decay:
    def rate(self, time, state, k):
        return -k * state
    def path(self, start):
        return odeint(self.rate, start, ts, 0.5)  # NNX939
""",
            _TIMES
            + """\
def oscillator(t, z, mu):
    a, b = z
    return jnp.array([b, mu * (1 - a**2) * b - a])
def path(start):
    return odeint(partial(oscillator, mu=0.3), start, ts)  # NNX939
def again(start):
    return odeint(lambda y, t: oscillator(y, t, 0.3), start, ts)  # NNX939
""",
            _TIMES + "path = odeint(lambda t, y: -y, x, ts)  # NNX939\n",
            _TIMES
            + """\
def make(k):
    @jax.jit
    def rate(t, y):
        return -k * y
    return rate
def path(start, k):
    return odeint(make(k), start, ts)  # NNX939
""",
            "from scipy.integrate import solve_ivp\npath = solve_ivp(lambda y, t: -y, (0, 1), [1.0])  # NNX939\n",
        ),
        clean=(
            """\
from jax.experimental.ode import odeint
def angle(theta, t, damping):
    return -jnp.sin(theta) / damping + t
@partial(jax.jit, static_argnums=0)
def trajectory(rhs, start, ts, damping):
    return odeint(rhs, start, ts, damping)
print(trajectory(angle, jnp.array(0.2), jnp.linspace(0.0, 1.0, 5), 1.5))
""",
            _TIMES
            + """\
def passed(t, rho):
    return -1.0 / rho
rho_start = 2.0
print(odeint(passed, 0.0, jnp.linspace(rho_start, 1.0, 5)))
def time_of(t, speed, k):
    return k * t
speeds = jnp.linspace(0.1, 1.0, 5)
print(odeint(time_of, 0.0, speeds, 0.5))
""",
            """\
from scipy.integrate import solve_ivp
def passed(rho, t):
    return -1.0 / rho
rho_first, rho_last = 2.0, 1.0
print(solve_ivp(passed, (rho_first, rho_last), [0.0]).y)
""",
            _TIMES
            + """\
import abc
class Base(abc.ABC):
    @abc.abstractmethod
    def rate(state, t, control):
        ...
    def path(self, start):
        return odeint(self.rate, start, ts, 0.5)
class Decay(Base):
    rate = staticmethod(lambda state, t, control: -control * state)
print(Decay().path(x))
""",
            _TIMES
            + """\
class Base:
    def rate(state, t, control):
        raise NotImplementedError
    def path(self, start):
        return odeint(self.rate, start, ts, 0.5)
class Decay(Base):
    def __init__(self):
        self.rate = lambda state, t, control: -control * state
print(Decay().path(x))
""",
            _TIMES + "def rate(y, t, k):\n    return -k * y\nprint(odeint(rate, x, ts, 0.5))\n",
            _TIMES + "def rate(t, y, k):\n    return -k * y\nprint(odeint(lambda y, t: rate(t, y, 0.5), x, ts))\n",
            _TIMES + "def rate(state, _t):\n    return -state\nprint(odeint(rate, x, ts))\n",
            _TIMES + "def rate(x, s):\n    return -x + s\nprint(odeint(rate, x, ts))\n",
            "import scipy.integrate\ndef rate(t, y):\n    return -y\n"
            "print(scipy.integrate.odeint(rate, [1.0], [0.0, 1.0], tfirst=True))\n"
            "print(scipy.integrate.solve_ivp(rate, (0.0, 1.0), [1.0]).y)\n",
            "def odeint(func, y, ts):\n    return func(ts[0], y)\nprint(odeint(lambda t, y: -y, x, x))\n",
        ),
    ),
    "NNX940": Cases(
        bad=(
            _SHARES.replace(".at[left].add", ".at[left].set").replace("* (1 - part))\n", "* (1 - part))  # NNX940\n"),
            _SHARES.replace(".at[left + 1].add(mass * part)", ".at[left + 1].set(mass * part)  # NNX940"),
            """\
def layer(v, edges, w):
    src, dst = edges[:, 0], edges[:, 1]
    messages = jnp.tanh(v[src] @ w)
    total = jnp.zeros_like(v)
    return v + total.at[dst].set(messages)  # NNX940
""",
            """\
def conv(v, edge_index):
    row, col = edge_index
    return jnp.zeros(v.shape).at[col].set(v[row])  # NNX940
""",
            """\
from typing import NamedTuple
class Graph(NamedTuple):
    nodes: jax.Array
    senders: jax.Array
    receivers: jax.Array
def gathered(graph, values):
    return jnp.zeros_like(graph.nodes).at[graph.receivers].set(values)  # NNX940
def step(graph, w):
    taken = jnp.take(graph.nodes, graph.senders, axis=0)
    return graph._replace(nodes=gathered(graph, w * taken))
""",
            """\
class Layer:
    def __init__(self, n):
        self.n = n
    def __call__(self, v, e, batch):
        told = jnp.concatenate([v[batch["senders"]], e], axis=-1)
        return jnp.zeros((self.n, told.shape[-1])).at[batch["receivers"], :].set(told)  # NNX940
""",
            "ids = jnp.array([0, 0, 1])\nsums = jnp.zeros(2).at[ids].set(jnp.array([1.0, 2.0, 3.0]))  # NNX940\n",
            "def gathered(lin, nodes, edge_index):\n"
            "    src, dst = edge_index\n"
            "    msgs = lin(nodes)[src]\n"
            "    agg = jnp.zeros((nodes.shape[0], msgs.shape[-1]))\n"
            "    return agg.at[dst].set(msgs)  # NNX940\n"
            "print(gathered(model, jnp.ones((3, 3)), jnp.array([[0, 2], [1, 1]])))\n",
        ),
        clean=(
            _EDGES
            + """\
def layer(v, senders, receivers):
    total = jnp.zeros_like(v).at[receivers].add(v[senders])
    seen = jnp.zeros(v.shape).at[receivers].set(1.0)
    return total * seen + jnp.zeros_like(v).at[receivers].set(v[receivers])
print(layer(x, *edges.T))
""",
            _EDGES
            + """\
def inherited(v, parents, children):
    return jnp.zeros_like(v).at[children].set(v[parents])
print(inherited(x, *edges.T))
""",
            """\
def shifted(v):
    senders = jnp.arange(3)
    receivers = (senders + 1) % 3
    return jnp.zeros_like(v).at[receivers].set(v[senders])
print(shifted(x))
""",
            _SHARES,
            """\
def two_hot(place, n):
    left = jnp.floor(place).astype(int)
    part = place - left
    return jnp.zeros(n).at[left].set(1.0 - part).at[left + 1].set(part)
print(jax.vmap(lambda v: two_hot(v, 5))(jnp.array([0.5, 2.25])), two_hot(0.5, 3))
""",
            """\
def two_hot(places, n):
    left, rows = jnp.floor(places).astype(int), jnp.arange(len(places))
    part = places - left
    return jnp.zeros((len(places), n)).at[rows, left].set(1.0 - part)
print(two_hot(jnp.array([0.5, 2.25]), 5))
""",
            _EDGES
            + """\
def matrix(senders, receivers, weights):
    return jnp.zeros((3, 3)).at[senders, receivers].set(weights)
print(matrix(edges[:, 0], edges[:, 1], x))
""",
            _EDGES
            + """\
def layer(v, senders, receivers):
    sums = jax.ops.segment_sum(v[senders], receivers, 3)
    return jnp.zeros_like(v).at[receivers].set(sums[receivers])
print(layer(x, edges[:, 0], edges[:, 1]))
""",
            "print(jnp.zeros(3).at[jnp.array([0, 1])].set(x[:2]), jnp.zeros(3).at[jnp.array([0, 0])].set(1.0))\n",
            "def gathered(lin, nodes, edge_index):\n"
            "    src, dst = edge_index\n"
            "    msgs = lin(nodes)[src]\n"
            "    agg = jnp.zeros((nodes.shape[0], msgs.shape[-1]))\n"
            "    return agg.at[dst].add(msgs)\n"
            "print(gathered(model, jnp.ones((3, 3)), jnp.array([[0, 2], [1, 1]])))\n",
            "def reached(receivers, n):\n"
            "    seen = jnp.zeros(n)\n"
            "    return seen.at[receivers].set(1.0) + seen.at[receivers].add(1.0)\n"
            "print(reached(jnp.array([1, 1, 0]), 3))\n",
        ),
    ),
    "NNX517": Cases(
        bad=(
            """\
def least_squares(design, y):
    u, s, v = jnp.linalg.svd(design, full_matrices=False)
    return v @ ((u.T @ y) / s)  # NNX517
print(least_squares(jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.ones(2)))
""",
            """\
def factors(design):
    u, s, v = jnp.linalg.svd(design, full_matrices=False)
    return u, jnp.where(s > 1e-6, 1 / s, 0.0), v
def fitted(design, y):
    u, inverse, v = factors(design)
    return jnp.dot(v, inverse * jnp.dot(u.T, y))  # NNX517
print(fitted(jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.ones(2)))
""",
            """\
@jit
def fit(v):
    mean = v.mean(axis=0)
    u, s, w = jnp.linalg.svd(v - mean, full_matrices=False)
    return mean, s, w
def transform(v, mean, w, k):
    return (v - mean) @ w[:, :k]  # NNX517
data = jax.random.normal(key, (9, 4))
mean, s, w = fit(data)
transform(data, mean, w, 2)
""",
            """\
m = jax.random.normal(key, (4, 4))
u, s, v = jnp.linalg.svd(m)
again = (u * s) @ v.T  # NNX517
low = (u[:, :2] * s[:2]) @ v[:, :2].T  # NNX517
other = u @ jnp.diag(s) @ jnp.transpose(v)  # NNX517
turn = v @ u.T  # NNX517
inverse = v @ jnp.diag(1.0 / s) @ u.T  # NNX517
""",
            """\
m = np.random.default_rng(0).normal(size=(4, 4))
result = np.linalg.svd(m)
parts = result[2]
z = np.dot(m, parts[:, :2])  # NNX517
""",
            """\
class PCA:
    def __init__(self, v):
        self.mean = v.mean(0)
        _, _, self.components = jnp.linalg.svd(v - self.mean, full_matrices=False)
    def transform(self, v, k):
        return (v - self.mean) @ self.components[:, :k]  # NNX517
PCA(jax.random.normal(key, (9, 4))).transform(jnp.ones((2, 4)), 2)
""",
        ),
        clean=(
            """\
def least_squares(design, y):
    u, s, vh = jnp.linalg.svd(design, full_matrices=False)
    along = u.T @ y
    return vh.T @ (along / s) + (vh.T / s) @ (u.T @ y) + u @ (s * (vh @ y))
print(least_squares(jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.ones(2)))
""",
            """\
data = jax.random.normal(key, (9, 4))
def transform(v, mean, w, k):
    return (v - mean) @ w[:k].T
u, s, w = jnp.linalg.svd(data - data.mean(0), full_matrices=False)
transform(data, data.mean(0), w, 2)
""",
            """\
m = jax.random.normal(key, (4, 4))
u, s, vh = jnp.linalg.svd(m)
again = (u * s) @ vh
low = (u[:, :2] * s[:2]) @ vh[:2]
few = (u * s) @ vh[:, :2]
z = m @ vh.T[:, :2]
turn = vh.T @ u.T
inverse = vh.T @ jnp.diag(1.0 / s) @ u.T
polar = u @ vh
""",
            """\
m = jax.random.normal(key, (4, 4))
u, s, v = jnp.linalg.svd(m)
v = v.T
z = m @ v[:, :2]
again = (u * s) @ v.T
turn = v @ u.T
""",
            """\
m = np.random.default_rng(0).normal(size=(4, 4))
result = np.linalg.svd(m)
z = m @ result[2][:2].T
""",
            """\
class PCA:
    def __init__(self, v):
        self.mean = v.mean(0)
        _, _, vh = jnp.linalg.svd(v - self.mean, full_matrices=False)
        self.components = vh.T
    def transform(self, v, k):
        return (v - self.mean) @ self.components[:, :k]
    def back(self, z, k):
        return z @ self.components[:, :k].T + self.mean
pca = PCA(jax.random.normal(key, (9, 4)))
pca.back(pca.transform(jnp.ones((2, 4)), 2), 2)
""",
            """\
class V:
    def svd(self, m):
        u, s, vh = jnp.linalg.svd(m)
        return u, s, vh.T
m = jax.random.normal(key, (4, 4))
u, s, v = V().svd(m)
z = m @ v[:, :2]
w, vectors = jnp.linalg.eigh(m @ m.T)
y = m @ vectors[:, :2]
""",
        ),
    ),
    "NNX518": Cases(
        bad=(
            """\
from jax.experimental import checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
checked = jax.jit(checkify.checkify(logarithm))
def train(vs):
    for v in vs:
        err, y = checked(v)  # NNX518
        print(y)
train(batches)
""",
            """\
from jax.experimental import checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
checked = jax.jit(checkify.checkify(logarithm))
_, y = checked(x)  # NNX518
print(y, checked(x)[1])  # NNX518
""",
            """\
from jax.experimental import checkify
@jit
@checkify.checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
def run(v):
    both = logarithm(v)  # NNX518
    return both[1]
print(run(x))
""",
            """\
import jax.experimental.checkify as ck
class Trainer:
    def __init__(self):
        self.step = jit(ck.checkify(self._step, errors=ck.float_checks))
    def _step(self, v):
        return jnp.log(v)
    def train(self, vs):
        for v in vs:
            e, y = self.step(v)  # NNX518
            print(y)
Trainer().train(batches)
""",
        ),
        clean=(
            """\
from jax.experimental import checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
checked = jax.jit(checkify.checkify(logarithm))
for v in batches:
    err, y = checked(v)
    err.throw()
    print(y)
""",
            """\
from jax.experimental import checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
checked = jax.jit(checkify.checkify(logarithm))
err, y = checked(x)
checkify.check_error(err)
print(y)
""",
            """\
from jax.experimental import checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
checked = jax.jit(checkify.checkify(logarithm))
_, _ = checked(x)
checked(x)  # compiles
def run(v):
    return checked(v)
run(x)[0].throw()
""",
            """\
from jax.experimental import checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
checked = jax.jit(checkify.checkify(logarithm))
def run(vs):
    errors = []
    for v in vs:
        err, y = checked(v)
        errors.append(err)
        print(y)
    for one in errors:
        one.throw()
run(batches)
""",
            """\
from jax.experimental import checkify
def logarithm(v):
    checkify.check(jnp.all(v > 0), "positive")
    return jnp.log(v)
checked = jax.jit(checkify.checkify(logarithm))
both = checked(x)
both[0].throw()
print(both[1])
""",
            """\
def pair(v):
    return jnp.sum(v), v
from jax.experimental import checkify
_, y = jax.jit(pair)(x)
print(y, checkify.user_checks)
""",
        ),
    ),
    "NNX573": Cases(
        bad=(
            """\
from jax.scipy.sparse.linalg import cg
def solve(a, b):
    return cg(a, b, tol=1e-6)
def checked(a, b):
    v, info = solve(a, b)
    if info > 0:  # NNX573
        raise RuntimeError("no convergence")
    return v
""",
            """\
import jax.scipy.sparse.linalg as sparse
class Poisson:
    def __init__(self, a):
        self.a = a
    def run(self, b):
        self.v, self.status = sparse.bicgstab(lambda u: self.a @ u, b)
        assert self.status == 0, "no convergence"  # NNX573
        return self.v
Poisson(jnp.eye(3))
""",
            """\
def solve(a, b):
    out = jax.scipy.sparse.linalg.cg(a, b)
    print("converged" if not out[1] else "failed")  # NNX573
    return out[0]
solve(jnp.eye(3), x)
""",
            """\
from jax.scipy.sparse.linalg import cg
def step(u, a):
    u, code = cg(a, u)
    return u, code == 0  # NNX573
step(x, jnp.eye(3))
""",
        ),
        clean=(
            """\
from jax.scipy.sparse.linalg import gmres
def solve(a, b):
    v, info = gmres(a, b)
    if info != 0:
        print("not a number")
    return v
solve(jnp.eye(3), x)
""",
            """\
import scipy.sparse.linalg as sparse
def solve(a, b):
    v, info = sparse.cg(a, b)
    if info != 0:
        raise RuntimeError("no convergence")
    return v
solve(np.eye(3), np.ones(3))
""",
            """\
import scipy.sparse.linalg
def solve(a, b, fast):
    if fast:
        v, info = jax.scipy.sparse.linalg.cg(a, b)
    else:
        v, info = scipy.sparse.linalg.cg(a, b)
    if info is not None and info != 0:
        raise RuntimeError("no convergence")
    return v
solve(np.eye(3), np.ones(3), False)
""",
            """\
def solve(a, b):
    v, _ = jax.scipy.sparse.linalg.cg(a, b)
    if jnp.linalg.norm(a @ v - b) > 1e-3:
        raise RuntimeError("no convergence")
    return v
solve(jnp.eye(3), x)
""",
            """\
def solve(a, b):
    v, info = jax.scipy.sparse.linalg.cg(a, b)
    print(info is None)
    return v
solve(jnp.eye(3), x)
""",
        ),
    ),
    "NNX574": Cases(
        bad=(
            """\
from jax.scipy.optimize import minimize
def fit(v):
    return minimize(lambda w: jnp.sum((w - v) ** 2), jnp.zeros(3), method="Nelder-Mead").x  # NNX574
""",
            """\
from jax.scipy import optimize
class Fit:
    method = "L-BFGS-B"
    def run(self, v):
        res = optimize.minimize(self.cost, jnp.zeros(3), args=(v,), method=self.method)  # NNX574
        return res.x
    def cost(self, w, v):
        return jnp.sum((w - v) ** 2)
fit = Fit()
""",
            """\
def cost(w, v):
    return jnp.sum((w - v) ** 2)
data = jnp.ones(3)
def fit(method="newton-cg"):
    return jax.scipy.optimize.minimize(cost, jnp.zeros(3), (data,), method=method)  # NNX574
""",
            """\
from jax.scipy.optimize import minimize
def cost(w, v):
    return jnp.sum((w - v) ** 2)
data = jnp.ones(3)
def fit():
    return minimize(cost, jnp.zeros(3), args=(data), method="BFGS")  # NNX574
""",
        ),
        clean=(
            """\
from jax.scipy.optimize import minimize
def fit(v, method="bfgs"):
    return minimize(lambda w: jnp.sum((w - v) ** 2), jnp.zeros(3), method=method).x
print(fit(x))
""",
            """\
from scipy.optimize import minimize
def fit(v):
    cost = lambda w: jnp.sum((w - v) ** 2)
    return minimize(cost, np.zeros(3), jac=lambda w: np.asarray(jax.grad(cost)(w), float), method="L-BFGS-B").x
print(fit(x))
""",
            """\
import scipy.optimize
from jax.scipy.optimize import minimize
def fit(v, method):
    cost = lambda w: jnp.sum((w - v) ** 2)
    if method == "BFGS":
        return minimize(cost, jnp.zeros(3), method=method).x
    return scipy.optimize.minimize(lambda w: float(cost(w)), np.zeros(3), method=method).x
print(fit(x, "BFGS"))
""",
            """\
from jax.scipy.optimize import minimize
def fit(v, method):
    return minimize(lambda w: jnp.sum((w - v) ** 2), jnp.zeros(3), method=method).x
print(fit(x, "BFGS"))
""",
            """\
from jax.scipy.optimize import minimize
def fit(v):
    return minimize(lambda w, t: jnp.sum((w - t) ** 2), jnp.zeros(3), args=(v,), method="BFGS").x
print(fit(x))
""",
        ),
    ),
    "NNX600": Cases(
        bad=(
            """\
def spectra(frames):
    out = jnp.zeros((len(frames), 3))
    for i, frame in enumerate(frames):
        out = out.at[i].set(jnp.fft.rfft(frame))  # NNX600
    return out
spectra([jnp.ones(4)])
""",
            """\
class Field:
    def __init__(self, n):
        self.values = jnp.zeros(n, dtype=jnp.float32)
    def wave(self, k):
        return self.values.at[0].add(jnp.exp(1j * k))  # NNX600
Field(3).wave(2.0)
""",
            """\
def waves(ks):
    def body(i, out):
        return out.at[i].set(jnp.sum(jnp.exp(1j * ks * i)))  # NNX600
    return jax.lax.fori_loop(0, 3, body, jnp.zeros_like(jnp.ones(3)))
waves(x)
""",
        ),
        clean=(
            """\
def spectra(frames):
    out = jnp.zeros((len(frames), 3), dtype=jnp.complex64)
    for i, frame in enumerate(frames):
        out = out.at[i].set(jnp.fft.rfft(frame))
    return out
spectra([jnp.ones(4)])
""",
            """\
def powers(frames):
    out = jnp.zeros((len(frames), 3))
    for i, frame in enumerate(frames):
        out = out.at[i].set(jnp.abs(jnp.fft.rfft(frame)) ** 2)
    return out
powers([jnp.ones(4)])
""",
            """\
def filled(v, k):
    out = jnp.zeros_like(v)
    return out.at[0].set(jnp.exp(1j * k))
filled(x + 0j, 2.0)
""",
            """\
def parts(k):
    out = jnp.zeros(2)
    wave = jnp.exp(1j * k)
    return out.at[0].set(wave.real).at[1].set(wave.imag)
parts(2.0)
""",
        ),
    ),
    "NNX626": Cases(
        bad=(
            """\
def sr1(b, s, y):
    r = y - b @ s
    return b + jnp.dot(r, r.T) / (r @ s)  # NNX626
sr1(jnp.eye(3), x, 2 * x)
""",
            """\
def update(h, s, y):
    rho = 1.0 / (y @ s)
    v = jnp.eye(s.shape[0]) - rho * s @ y.T  # NNX626
    return v @ h @ v.T + rho * jnp.outer(s, s)
""",
            """\
def scatter():
    total = jnp.zeros((3, 3))
    for i in range(2):
        d = jnp.arange(3.0) * jnp.ones(3)
        total += d @ d.T  # NNX626
    return total
scatter()
""",
        ),
        clean=(
            """\
def update(h, s, y):
    rho = 1.0 / (y @ s)
    v = jnp.eye(s.shape[0]) - rho * jnp.outer(s, y)
    return v @ h @ v.T + rho * s[:, None] * s[None, :]
update(jnp.eye(3), x, 2 * x)
""",
            """\
def columns(h, s, y):
    rho = 1.0 / (y.T @ s)
    v = jnp.eye(3) - rho * s @ y.T
    return v @ h @ v.T + rho * s @ s.T
columns(jnp.eye(3), x[:, None], 2 * x[:, None])
""",
            """\
def ridge(w):
    return w @ w.T + 0.1
ridge(x)
""",
            """\
def gram(a):
    return jnp.eye(3) * 1e-6 + a @ a.T
gram(jnp.ones((3, 2)))
""",
            """\
def score(q, k):
    return q @ k.T + jnp.zeros(3)
score(x, x)
""",
        ),
    ),
    "NNX519": Cases(
        bad=(
            """\
from numpy.linalg import LinAlgError
def factor(k, jitter):
    return jnp.linalg.cholesky(k + jitter * jnp.eye(k.shape[0]))
def safe(k):
    try:
        return factor(k, 1e-6)
    except LinAlgError:  # NNX519
        return factor(k, 1e-2)
safe(jnp.eye(3))
""",
            """\
def safe_cholesky(k):
    jitter = 0.0
    for _ in range(8):
        try:
            return jnp.linalg.cholesky(k + jitter * jnp.eye(k.shape[0]))
        except np.linalg.LinAlgError:  # NNX519
            jitter = 1e-6 if jitter == 0.0 else jitter * 10
    raise RuntimeError("not positive definite")
safe_cholesky(jnp.eye(3))
""",
            """\
import scipy.linalg
from jax.scipy.linalg import cho_factor, cho_solve
class Process:
    def solve(self, k, v):
        try:
            factor = cho_factor(k)
        except (scipy.linalg.LinAlgError, np.linalg.LinAlgError):  # NNX519
            factor = cho_factor(k + jnp.eye(len(k)))
        return cho_solve(factor, v)
Process().solve(jnp.eye(3), x)
""",
            """\
def inverse(m):
    try:
        return jnp.linalg.inv(m)
    except ZeroDivisionError:  # NNX519
        return jnp.linalg.pinv(m)
inverse(jnp.eye(3))
""",
        ),
        clean=(
            """\
def factor(k):
    try:
        return np.linalg.cholesky(k)
    except np.linalg.LinAlgError:
        return np.eye(len(k))
factor(np.eye(3))
""",
            """\
def factor(k):
    try:
        low = jnp.linalg.cholesky(k)
        if not jnp.isfinite(low).all():
            raise np.linalg.LinAlgError("not positive definite")
        return low
    except np.linalg.LinAlgError:
        return jnp.eye(len(k))
factor(jnp.eye(3))
""",
            """\
def checked(k):
    low = jnp.linalg.cholesky(k)
    if jnp.isnan(low).any():
        raise np.linalg.LinAlgError("not positive definite")
    return low
def factor(k):
    try:
        return checked(k)
    except np.linalg.LinAlgError:
        return jnp.eye(len(k))
factor(jnp.eye(3))
""",
            """\
def factor(k, solver):
    try:
        return solver(jnp.linalg.cholesky(k))
    except np.linalg.LinAlgError:
        return jnp.eye(len(k))
factor(jnp.eye(3), np.linalg.inv)
""",
            """\
def inverse(m):
    try:
        return jnp.linalg.inv(m)
    except ValueError:
        return jnp.linalg.pinv(m)
inverse(jnp.eye(3))
""",
            """\
def mean(m, n):
    try:
        return jnp.linalg.det(m) * (1 / n)
    except ZeroDivisionError:
        return jnp.zeros(())
mean(jnp.eye(3), 0)
""",
        ),
    ),
    "NNX569": Cases(
        bad=(
            """\
def lowpass(u):
    k = jnp.fft.fftshift(jnp.fft.fftfreq(u.shape[0]))
    mask = jnp.abs(k) < 0.1
    return jnp.fft.ifft(jnp.where(mask, jnp.fft.fft(u), 0.0))  # NNX569
""",
            """\
def slope(u, length):
    n = u.shape[0]
    k = 2 * jnp.pi * jnp.fft.fftshift(jnp.fft.fftfreq(n, d=length / n))
    return jnp.fft.ifft(1j * k * jnp.fft.fft(u)).real  # NNX569
""",
            """\
class Solver:
    def __init__(self, n, dx):
        k = 2 * np.pi * np.fft.fftshift(np.fft.fftfreq(n, dx))
        self.kx, self.ky = np.meshgrid(k, k)
        self.k2 = self.kx**2 + self.ky**2
    def laplacian(self, u):
        return jnp.real(jnp.fft.ifft2(-self.k2 * jnp.fft.fft2(u)))  # NNX569
""",
            """\
def lowpass(u, cutoff):
    f = jnp.fft.fftfreq(u.shape[0])
    spectrum = jnp.fft.fftshift(jnp.fft.fft(u))
    gain = jnp.exp(-((f / cutoff) ** 2))
    return jnp.fft.ifft(spectrum * gain)  # NNX569
""",
            """\
from jax.numpy.fft import fft, fftfreq, fftshift, ifft
def wavenumbers(n):
    return fftshift(fftfreq(n))
def hilbert(u):
    hat = fft(u)
    return ifft(-1j * jnp.sin(wavenumbers(len(u))) * hat)  # NNX569
""",
        ),
        clean=(
            """\
def lowpass(u):
    k = jnp.fft.fftshift(jnp.fft.fftfreq(u.shape[0]))
    hat = jnp.fft.fftshift(jnp.fft.fft(u))
    return jnp.fft.ifft(jnp.fft.ifftshift(jnp.where(jnp.abs(k) < 0.1, hat, 0.0)))
print(lowpass(jnp.arange(8.0)))
""",
            """\
def lowpass(u):
    mask = jnp.abs(jnp.fft.fftfreq(u.shape[0])) < 0.1
    return jnp.fft.ifft(jnp.where(mask, jnp.fft.fft(u), 0.0)), jnp.fft.fftshift(mask)
print(lowpass(jnp.arange(8.0)))
""",
            """\
def slope(u, length):
    n = u.shape[0]
    k = 2 * jnp.pi * jnp.fft.fftfreq(n, d=length / n)
    return jnp.fft.ifft(1j * k * jnp.fft.fft(u)).real
print(slope(jnp.sin(jnp.arange(8.0)), 8.0))
""",
            """\
# both are shifted, and the product is turned back
def lowpass(u, cutoff):
    f = jnp.fft.fftshift(jnp.fft.fftfreq(u.shape[0]))
    spectrum = jnp.fft.fftshift(jnp.fft.fft(u))
    return jnp.fft.ifft(jnp.fft.ifftshift(spectrum * jnp.exp(-((f / cutoff) ** 2))))
print(lowpass(jnp.arange(8.0), 0.1))
""",
            """\
# shifted there and back
def hilbert(u):
    f = jnp.fft.ifftshift(jnp.fft.fftshift(jnp.fft.fftfreq(u.shape[0])))
    return jnp.fft.ifft(-1j * jnp.sin(f) * jnp.fft.fft(u))
print(hilbert(jnp.arange(8.0)))
""",
            """\
# for a plot
def power(u):
    f = jnp.fft.fftshift(jnp.fft.fftfreq(u.shape[0]))
    return f, jnp.fft.fftshift(jnp.abs(jnp.fft.fft(u)) ** 2)
print(power(jnp.arange(8.0)))
""",
            """\
# one axis alone is shifted
def half(u):
    k = jnp.fft.fftshift(jnp.fft.fftfreq(u.shape[0]))
    hat = jnp.fft.fftshift(jnp.fft.fft2(u), axes=0)
    return k[:, None] * hat
print(half(jnp.ones((4, 4))))
""",
            """\
# an image whose middle is moved to the corner
def blur(image, kernel):
    return jnp.fft.ifft2(jnp.fft.fft2(image) * jnp.fft.fft2(jnp.fft.ifftshift(kernel))).real
print(blur(jnp.ones((4, 4)), jnp.ones((4, 4))))
""",
        ),
    ),
}
