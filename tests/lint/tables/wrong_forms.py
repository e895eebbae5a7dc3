"""Well-known formulas in their usual wrong forms, each beside the right one."""

from __future__ import annotations

from tests.lint.tables import Cases


def _of(function: str, code: str, *forms: tuple[str, str], given: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the programs whose function gives the wrong forms, and those that give the right ones."""
    call = f"print({function.split('(')[0]}({given}))\n" if given else ""
    wrong = tuple(f"def {function}:\n    return {one}  # {code}\n" for one, _ in forms)
    right = tuple(f"def {function}:\n    return {one}\n{call}" for _, one in forms)
    return wrong, right


def _cases(*parts: tuple[tuple[str, ...], tuple[str, ...]], clean: tuple[str, ...] = ()) -> Cases:
    return Cases(bad=sum((part[0] for part in parts), ()), clean=sum((part[1] for part in parts), clean))


CASES = {
    "NNX550": _cases(
        _of(
            "slope(u, dx)",
            "NNX550",
            ("(jnp.roll(u, -1) - jnp.roll(u, 1)) / dx", "(jnp.roll(u, -1) - jnp.roll(u, 1)) / (2 * dx)"),
            ("(u[2:] - u[:-2]) / dx", "0.5 * (u[2:] - u[:-2]) / dx"),
            given="x, 0.1",
        ),
        _of(
            "carried(u, c, dx)",
            "NNX550",
            ("-c * (jnp.roll(u, -1) - jnp.roll(u, 1)) / dx", "-c * (jnp.roll(u, -1) - jnp.roll(u, 1)) / (2 * dx)"),
            given="x, 1.0, 0.1",
        ),
        _of(
            "curvature(u, dx)",
            "NNX550",
            ("(jnp.roll(u, 1) + jnp.roll(u, -1) - u) / dx**2", "(jnp.roll(u, 1) + jnp.roll(u, -1) - 2 * u) / dx**2"),
            ("(u[2:] + u[:-2] - u[1:-1]) / (dx * dx)", "(u[2:] - 2 * u[1:-1] + u[:-2]) / (dx * dx)"),
            ("(jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)) / dx", "(jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)) / dx**2"),
            ("(u[2:] + u[:-2] - 2 * u[1:-1]) / dx", "(u[2:] + u[:-2] - 2 * u[1:-1]) / dx**2"),
            given="x, 0.1",
        ),
        _of(
            "laplacian(u, h)",
            "NNX550",
            (
                "(jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 2 * u) / h**2",
                "(jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u) / h**2",
            ),
            given="jnp.ones((3, 3)), 0.1",
        ),
        _of(
            "area(y, dx)",
            "NNX550",
            ("dx * (jnp.sum(y) - y[0] - y[-1])", "dx * (jnp.sum(y) - 0.5 * y[0] - 0.5 * y[-1])"),
            ("dx * jnp.sum(y[1:] + y[:-1])", "0.5 * dx * jnp.sum(y[1:] + y[:-1])"),
            given="x, 0.1",
        ),
        _of(
            "integral(y, t)",
            "NNX550",
            ("jnp.sum((t[1:] - t[:-1]) * (y[1:] + y[:-1]))", "jnp.sum((t[1:] - t[:-1]) * (y[1:] + y[:-1]) / 2)"),
            ("jnp.sum(jnp.diff(t) * (y[1:] + y[:-1]))", "0.5 * jnp.sum(jnp.diff(t) * (y[1:] + y[:-1]))"),
            given="x, x",
        ),
        clean=(
            "def smooth(u, width):\n    return (jnp.roll(u, 1) + u + jnp.roll(u, -1)) / width\nprint(smooth(x, 3))\n",
            "def slope(u, two_dx):\n    return (jnp.roll(u, -1) - jnp.roll(u, 1)) / two_dx\nprint(slope(x, 0.2))\n",
            "def slope(u, dx):\n    return 0.5 * ((jnp.roll(u, -1) - jnp.roll(u, 1)) / dx)\nprint(slope(x, 0.2))\n",
        ),
    ),
    "NNX551": _cases(
        (
            (
                """\
def potential_energy(x):
    stretched = 0.5 * (x - 1.0) ** 2
    return stretched.sum()
force_fn = jax.jit(jax.grad(potential_energy))
def verlet(state, dt):
    x, v, old = state
    half = v + 0.5 * dt * old
    x = x + dt * half
    new = force_fn(x)
    v = half + 0.5 * dt * new  # NNX551
    return x, v, new
print(verlet((x, x, x), 0.1))
""",
                """\
def potential_energy(x):
    stretched = 0.5 * (x - 1.0) ** 2
    return stretched.sum()
def kick(x, v, dt, mass):
    acc = jax.grad(potential_energy)(x) / mass
    v += dt * acc  # NNX551
    return x + dt * v, v
print(kick(x, x, 0.1, 2.0))
""",
                """\
def potential_energy(x):
    stretched = 0.5 * (x - 1.0) ** 2
    return stretched.sum()
def hamiltonian(q, p):
    return 0.5 * jnp.sum(p**2) + potential_energy(q)
def leap(q, p, eps):
    energy, slope = jax.value_and_grad(potential_energy)(q)
    p = p + eps * (slope - 0.1 * p)  # NNX551
    p = p + eps * jax.grad(hamiltonian, 0)(q, p)  # NNX551
    return q + eps * jax.grad(hamiltonian, 1)(q, p), p
print(leap(x, x, 0.1))
""",
                """\
class Sim:
    def __init__(self, dt):
        self.dt = dt
        self.force = jax.grad(self.energy)
    def energy(self, x):
        return 0.5 * jnp.sum(x**2)
    def step(self, x, vel):
        vel = vel + self.dt * self.force(x)  # NNX551
        return x + self.dt * vel, vel
print(Sim(0.1).step(x, x))
""",
            ),
            (
                """\
def potential_energy(x):
    stretched = 0.5 * (x - 1.0) ** 2
    return stretched.sum()
def force_fn(x):
    return -jax.grad(potential_energy)(x)
def kick(x, v, dt):
    v = v + 0.5 * dt * force_fn(x)
    v = v - 0.5 * dt * jax.grad(potential_energy)(x)
    v = v + (-dt) * jax.grad(potential_energy)(x)
    v = v + dt * jax.grad(lambda y: -potential_energy(y))(x)
    return x + dt * v, v
print(kick(x, x, 0.1))
""",
                """\
def log_density(q):
    return -0.5 * jnp.sum(q**2)
def neg_energy(q):
    return -jnp.sum(q**4)
def potential(q):
    return log_density(q)
def energy(q):
    turned = -0.5 * q**2
    return jnp.sum(turned)
def leap(q, p, eps):
    for one in (0.5, 1.0):
        p = p + eps * jax.grad(log_density)(q)
        p = p + eps * jax.grad(neg_energy)(q)
        p = p + eps * jax.grad(potential)(q)
        p = p + eps * jax.grad(energy)(q)
        q = q + eps * p
    return q, p
print(leap(x, x, 0.1))
""",
                """\
def potential(r, mu=3.986):
    return mu / jnp.linalg.norm(r)
def potential_energy(r, mu=3.986):
    return mu / jnp.sqrt(jnp.sum(r**2))
def orbit(r, v, dt):
    v = v + dt * jax.grad(potential)(r)
    v = v + dt * jax.grad(potential_energy)(r)
    return r + dt * v, v
print(orbit(x, x, 0.1))
""",
                """\
def potential_energy(x):
    stretched = 0.5 * (x - 1.0) ** 2
    return stretched.sum()
def slide(x, v, step_size):
    for _ in range(3):
        v = v + step_size * jax.grad(potential_energy)(x)
        x = x - v
    return x
def back(x, v):
    dt = -0.1
    return v + dt * jax.grad(potential_energy)(x)
print(slide(x, x, 0.1), back(x, x))
""",
                """\
def kinetic_energy(p):
    return 0.5 * jnp.sum(p**2)
def energy(v):
    return 0.5 * jnp.sum(v**2)
def drift(q, p, v, dt):
    q = q + dt * jax.grad(kinetic_energy)(p)
    return q, v + dt * jax.grad(energy)(v)
print(drift(x, x, x, 0.1))
""",
            ),
        ),
        _of(
            "moved(x, v, acceleration, dt)",
            "NNX551",
            ("x + v * dt + acceleration * dt**2", "x + v * dt + 0.5 * acceleration * dt**2"),
            ("x + dt * v + dt * dt * acceleration", "x + dt * v + dt * dt * acceleration / 2"),
            given="x, x, x, 0.1",
        ),
        _of(
            "potential(r, eps, sigma)",
            "NNX551",
            (
                "4 * eps * ((sigma / r) ** 6 - (sigma / r) ** 12)",
                "4 * eps * ((sigma / r) ** 12 - (sigma / r) ** 6)",
            ),
            given="x, 1.0, 1.0",
        ),
        _of(
            "kinetic_energy(m, v)",
            "NNX551",
            ("m * jnp.sum(v**2)", "0.5 * m * jnp.sum(v**2)"),
            ("jnp.sum(m * v**2, axis=-1)", "jnp.sum(0.5 * m * v**2, axis=-1)"),
            given="1.0, x",
        ),
        _of(
            "euler(y, f, ts, i)",
            "NNX551",
            ("y + f(y, ts[i]) * ts[i]", "y + f(y, ts[i]) * (ts[i + 1] - ts[i])"),
            given="x, lambda y, t: -y, x, 0",
        ),
        _of(
            "waved(u, u_prev, c, dt, lap)",
            "NNX551",
            ("u - u_prev + c**2 * dt**2 * lap", "2 * u - u_prev + c**2 * dt**2 * lap"),
            given="x, x, 1.0, 0.1, x",
        ),
        _of(
            "coulomb_energy(k, q1, q2, r)",
            "NNX551",
            ("k * q1 * q2 / r**2", "k * q1 * q2 / r"),
            given="1.0, 1.0, 2.0, x",
        ),
        _of(
            "spring_force(k, v)",
            "NNX551",
            ("k * v", "-k * v"),
            given="2.0, x",
        ),
        _of(
            "advanced(v, vel, acc, dt)",
            "NNX551",
            ("v + vel * dt + 0.5 * acc * dt", "v + vel * dt + 0.5 * acc * dt**2"),
            given="x, x, x, 0.1",
        ),
        _of(
            "force(eps, sr6, r)",
            "NNX551",
            ("24 * eps * (sr6**2 - sr6) / r", "24 * eps * (2 * sr6**2 - sr6) / r"),
            given="1.0, x, x",
        ),
        clean=(
            "def line(x, v, slope, dt):\n    return x + v * dt + slope * dt**2\nprint(line(x, x, x, 0.1))\n",
            "def momentum(m, v):\n    return m * jnp.sum(v**2)\nprint(momentum(1.0, x))\n",
        ),
    ),
    "NNX552": _cases(
        _of(
            "nll(m, s, v)",
            "NNX552",
            ("jnp.mean(jnp.log(s) + (v - m) ** 2 / (2 * s))", "jnp.mean(jnp.log(s) + (v - m) ** 2 / (2 * s**2))"),
            (
                "-jnp.log(s) - (v - m) ** 2 / (2.0 * s) - 0.5 * jnp.log(2 * jnp.pi)",
                "-0.5 * jnp.log(s) - (v - m) ** 2 / (2.0 * s) - 0.5 * jnp.log(2 * jnp.pi)",
            ),
            given="0.0, 2.0, x",
        ),
        _of(
            "kl(m, s, n, r)",
            "NNX552",
            (
                "jnp.log(r / s) + (s + (m - n) ** 2) / (2 * r**2) - 0.5",
                "jnp.log(r / s) + (s**2 + (m - n) ** 2) / (2 * r**2) - 0.5",
            ),
            given="0.0, 2.0, 1.0, 1.5",
        ),
        _of(
            "kl(mean, log_var)",
            "NNX552",
            (
                "0.5 * jnp.sum(1 + log_var - mean**2 - jnp.exp(log_var), axis=-1)",
                "-0.5 * jnp.sum(1 + log_var - mean**2 - jnp.exp(log_var), axis=-1)",
            ),
            (
                "jnp.mean(jnp.sum(0.5 * (1 + log_var - jnp.square(mean) - jnp.exp(log_var)), axis=-1))",
                "jnp.mean(jnp.sum(0.5 * (jnp.exp(log_var) + jnp.square(mean) - 1 - log_var), axis=-1))",
            ),
            given="x, x",
        ),
        _of(
            "divergence(m, s, n, r)",
            "NNX552",
            (
                "jnp.log(r / s) + (s**2 + (m - n) ** 2) / (2 * r**2)",
                "jnp.log(r / s) + (s**2 + (m - n) ** 2) / (2 * r**2) - 0.5",
            ),
            (
                "jnp.log(s) - jnp.log(r) + 0.5 * (s**2 + (m - n) ** 2) / r**2 - 0.5",
                "jnp.log(r) - jnp.log(s) + 0.5 * (s**2 + (m - n) ** 2) / r**2 - 0.5",
            ),
            given="x, x, x, x",
        ),
        _of(
            "density(v, mu, s)",
            "NNX552",
            (
                "jnp.exp(-((v - mu) ** 2) / s**2) / (s * jnp.sqrt(2 * jnp.pi))",
                "jnp.exp(-((v - mu) ** 2) / (2 * s**2)) / (s * jnp.sqrt(2 * jnp.pi))",
            ),
            (
                "-(((v - mu) / s) ** 2) - jnp.log(s) - 0.5 * jnp.log(2 * jnp.pi)",
                "-0.5 * ((v - mu) / s) ** 2 - jnp.log(s) - 0.5 * jnp.log(2 * jnp.pi)",
            ),
            given="x, 0.0, 1.0",
        ),
        _of(
            "bound(weights)",
            "NNX552",
            (
                "jax.scipy.special.logsumexp(weights) / weights.shape[0]",
                "jax.scipy.special.logsumexp(weights) - jnp.log(weights.shape[0])",
            ),
            given="x",
        ),
        _of(
            "drawn(key, rate)",
            "NNX552",
            ("-jnp.log(jax.random.uniform(key)) * rate", "-jnp.log(jax.random.uniform(key)) / rate"),
            ("jnp.sqrt(2 * jnp.log(jax.random.uniform(key)))", "jnp.sqrt(-2 * jnp.log(jax.random.uniform(key)))"),
            given="key, 2.0",
        ),
        _of(
            "log_density(chol, r)",
            "NNX552",
            (
                "-0.5 * r @ r - 0.5 * jnp.sum(jnp.log(jnp.diag(chol)))",
                "-0.5 * r @ r - jnp.sum(jnp.log(jnp.diag(chol)))",
            ),
            given="jnp.eye(3), x",
        ),
        _of(
            "distance(v, mu, cov)",
            "NNX552",
            ("(v - mu) @ cov @ (v - mu)", "(v - mu) @ jnp.linalg.inv(cov) @ (v - mu)"),
            given="x, 0.0, jnp.eye(3)",
        ),
        _of(
            "rbf_kernel(a, b, length_scale)",
            "NNX552",
            (
                "jnp.exp(0.5 * jnp.sum((a - b) ** 2, -1) / length_scale**2)",
                "jnp.exp(-0.5 * jnp.sum((a - b) ** 2, -1) / length_scale**2)",
            ),
            (
                "jnp.exp(-jnp.sum((a - b) ** 2, -1) / (2 * length_scale))",
                "jnp.exp(-jnp.sum((a - b) ** 2, -1) / (2 * length_scale**2))",
            ),
            given="x, x + 1, 2.0",
        ),
        _of(
            "kl_divergence(p, q)",
            "NNX552",
            ("jnp.sum(p * jnp.log(q / p), axis=-1)", "-jnp.sum(p * jnp.log(q / p), axis=-1)"),
            ("jnp.sum(p * (jnp.log(q) - jnp.log(p)))", "jnp.sum(p * (jnp.log(p) - jnp.log(q)))"),
            given="x, x + 1",
        ),
        _of(
            "mmd(k_xx, k_yy, k_xy)",
            "NNX552",
            ("k_xx.mean() + k_yy.mean() - k_xy.mean()", "k_xx.mean() + k_yy.mean() - 2 * k_xy.mean()"),
            given="x, x, x",
        ),
        _of("ess(w)", "NNX552", ("jnp.sum(w**2)", "1 / jnp.sum(w**2)"), given="x / 6"),
        _of(
            "systematic(key, n)",
            "NNX552",
            (
                "(jnp.arange(n) + jax.random.uniform(key, (n,))) / n",
                "(jnp.arange(n) + jax.random.uniform(key)) / n",
            ),
            given="key, 4",
        ),
        _of(
            "langevin(key, v, score, step)",
            "NNX552",
            (
                "v + step * score(v) + jnp.sqrt(step) * jax.random.normal(key, v.shape)",
                "v + step * score(v) + jnp.sqrt(2 * step) * jax.random.normal(key, v.shape)",
            ),
            given="key, x, lambda v: -v, 0.1",
        ),
        _of(
            "gbm(s, mu, sigma, dt, z)",
            "NNX552",
            (
                "s * jnp.exp(mu * dt + sigma * jnp.sqrt(dt) * z)",
                "s * jnp.exp((mu - 0.5 * sigma**2) * dt + sigma * jnp.sqrt(dt) * z)",
            ),
            given="x, 0.1, 0.2, 0.5, x",
        ),
        _of(
            "d1(s, k, r, sigma, t)",
            "NNX552",
            (
                "(jnp.log(s / k) + (r - 0.5 * sigma**2) * t) / (sigma * jnp.sqrt(t))",
                "(jnp.log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * jnp.sqrt(t))",
            ),
            given="x, 1.0, 0.1, 0.2, 0.5",
        ),
        _of("elbo(log_lik, kl)", "NNX552", ("log_lik + kl", "log_lik - kl"), given="x, x"),
        _of(
            "kl_of_logs(m, q, n, p)",
            "NNX552",
            (
                "0.5 * jnp.sum(p - q + (jnp.exp(q) + (m - n) ** 2) / jnp.exp(q) - 1.0)",
                "0.5 * jnp.sum(p - q + (jnp.exp(q) + (m - n) ** 2) / jnp.exp(p) - 1.0)",
            ),
            given="x, x, x + 1, x",
        ),
        _of(
            "kl_of_deviations(m, s, n, r)",
            "NNX552",
            (
                "jnp.log(r / s) + (s**2 + (m - n) ** 2) / (2 * s**2) - 0.5",
                "jnp.log(r / s) + (s**2 + (m - n) ** 2) / (2 * r**2) - 0.5",
            ),
            given="x, x, x + 1, x",
        ),
        _of(
            "matern(r, amp)",
            "NNX552",
            (
                "amp**2 * (1.0 + r + r**2 / 2.0) * jnp.exp(-r)",
                "amp**2 * (1.0 + r + r**2 / 3.0) * jnp.exp(-r)",
            ),
            given="x, 1.0",
        ),
        _of(
            "momenta(key, inv_mass)",
            "NNX552",
            (
                "jax.random.normal(key, inv_mass.shape) * jnp.sqrt(inv_mass)",
                "jax.random.normal(key, inv_mass.shape) / jnp.sqrt(inv_mass)",
            ),
            given="key, x",
        ),
        _of(
            "evidence(total, logw)",
            "NNX552",
            ("total + jnp.mean(logw)", "total + jax.nn.logsumexp(logw) - jnp.log(3)"),
            given="0.0, x",
        ),
        _of(
            "volume(u)",
            "NNX552",
            ("jnp.log(1 - jnp.tanh(jnp.tanh(u)) ** 2 + 1e-6)", "jnp.log(1 - jnp.tanh(u) ** 2 + 1e-6)"),
            given="x",
        ),
        _of(
            "ula(key, v, step, potential)",
            "NNX552",
            (
                "v - step * jax.grad(potential)(v) + jnp.sqrt(step) * jax.random.normal(key, v.shape)",
                "v - step * jax.grad(potential)(v) + jnp.sqrt(2 * step) * jax.random.normal(key, v.shape)",
            ),
            given="key, x, 0.1, lambda v: (v**2).sum()",
        ),
        _of(
            "ray_weights(alpha)",
            "NNX552",
            ("alpha * jnp.cumprod(1 - alpha)", "alpha * jnp.cumprod(jnp.append(1.0, 1 - alpha))[:-1]"),
            given="x / 6",
        ),
        _of(
            "absorbed(sigma, delta)",
            "NNX552",
            ("1 - jnp.exp(sigma * delta)", "1 - jnp.exp(-sigma * delta)"),
            given="x, 0.1",
        ),
        _of(
            "boltzmann(energy, kT)",
            "NNX552",
            ("jnp.exp(energy / kT)", "jnp.exp(-energy / kT)"),
            given="x, 1.0",
        ),
        _of(
            "discount_factor(r, t)",
            "NNX552",
            ("jnp.exp(r * t)", "jnp.exp(-r * t)"),
            given="0.1, x",
        ),
        _of(
            "log_accept(h_new, h_old)",
            "NNX552",
            ("jnp.minimum(0.0, h_new - h_old)", "jnp.minimum(0.0, h_old - h_new)"),
            given="x, x + 1",
        ),
        _of(
            "kl_turned(m, q, n, p)",
            "NNX552",
            (
                "0.5 * jnp.sum(p - q + (jnp.exp(p) + (m - n) ** 2) / jnp.exp(q) - 1.0)",
                "0.5 * jnp.sum(p - q + (jnp.exp(q) + (m - n) ** 2) / jnp.exp(p) - 1.0)",
            ),
            given="x, x, x + 1, x",
        ),
        _of(
            "iwae_bound(log_w)",
            "NNX552",
            ("jax.nn.logsumexp(log_w, axis=0)", "jax.nn.logsumexp(log_w, axis=0) - jnp.log(3)"),
            given="x",
        ),
        _of(
            "ess(weights)",
            "NNX552",
            ("1.0 / jnp.sum(weights)", "1.0 / jnp.sum(weights**2)"),
            given="x / 6",
        ),
        _of(
            "second(d1, vol, tau)",
            "NNX552",
            ("d1 - vol * tau", "d1 - vol * jnp.sqrt(tau)"),
            given="x, 0.2, 0.5",
        ),
        _of(
            "drift(mu, sigma, dt)",
            "NNX552",
            ("(mu + 0.5 * sigma**2) * dt", "(mu - 0.5 * sigma**2) * dt"),
            given="0.1, x, 0.5",
        ),
        _of(
            "unbiased_mmd(xx, yy, xy)",
            "NNX552",
            ("xx + yy - xy", "xx + yy - 2 * xy"),
            given="x, x, x",
        ),
        _of(
            "rate_constant(prefactor, barrier, r_gas, temp)",
            "NNX552",
            ("prefactor * jnp.exp(barrier / (r_gas * temp))", "prefactor * jnp.exp(-barrier / (r_gas * temp))"),
            given="1.0, x, 8.3, 300.0",
        ),
        _of(
            "spot_later(s, drift, vol, dt, z)",
            "NNX552",
            (
                "s * jnp.exp(drift * dt + vol * jnp.sqrt(dt) * z)",
                "s * jnp.exp((drift - 0.5 * vol**2) * dt + vol * jnp.sqrt(dt) * z)",
            ),
            given="1.0, 0.1, 0.2, 0.5, x",
        ),
        clean=(
            """\
def rbf_kernel(a, b, bandwidth):
    return jnp.exp(-0.5 * jnp.sum((a - b) ** 2) / bandwidth)
print(rbf_kernel(x, x + 1, 2.0))
""",
            """\
def loss(means, std, tar_means, tar_std):
    return -0.5 + (jnp.log(tar_std / std) + (std**2 + (means - tar_means) ** 2) / (2 * tar_std**2)).mean()
print(loss(x, x, x, x))
""",
            """\
def divergence(m1, s1, m2, s2):
    kl = jnp.log(s2 / s1) + (s1**2 + (m1 - m2) ** 2) / (2 * s2**2)
    return kl.sum(-1) - 0.5 * m1.shape[-1]
print(divergence(x, x, x, x))
""",
            """\
def terms(m1, s1, m2, s2):
    return jnp.log(s2 / s1) + (s1**2 + (m1 - m2) ** 2) / (2 * s2**2)
def divergence(m1, s1, m2, s2):
    return jnp.mean(terms(m1, s1, m2, s2) - 0.5)
print(divergence(x, x, x, x))
""",
            "def neg_kl(mean, log_var):\n"
            "    return 0.5 * jnp.sum(1 + log_var - mean**2 - jnp.exp(log_var))\n"
            "print(neg_kl(x, x))\n",
            "def kl(mean, log_var):\n"
            "    return 0.5 * jnp.sum(1 + log_var - mean**2 - jnp.exp(log_var))\n"
            "def loss(error, mean, log_var):\n"
            "    return error - kl(mean, log_var)\n"
            "print(loss(0.0, x, x))\n",
            "def bound(error, mean, log_var):\n"
            "    return error + 0.5 * jnp.sum(1 + log_var - mean**2 - jnp.exp(log_var))\n"
            "print(bound(0.0, x, x))\n",
            "def systematic(key, n):\n    return (jnp.arange(n) + jax.random.uniform(key, (1,))) / n\n"
            "print(systematic(key, 3))\n",
            "def soft(v, beta):\n    return jax.scipy.special.logsumexp(beta * v) / beta\nprint(soft(x, 2.0))\n",
            "def risk(weights, cov):\n    return weights @ cov @ weights\nprint(risk(x, jnp.eye(3)))\n",
            "def entropy(scale):\n    return 0.5 * jnp.sum(jnp.log(jnp.diag(scale)))\nprint(entropy(jnp.eye(3)))\n",
            """\
def stock(spot, mu, sigma, dt, shocks):
    drift = mu - 0.5 * sigma**2
    def step(s, z):
        s = s * jnp.exp(drift * dt + sigma * jnp.sqrt(dt) * z)
        return s, s
    return jax.lax.scan(step, spot, shocks)
print(stock(1.0, 0.1, 0.2, 0.1, x))
""",
            """\
class Asset:
    def __init__(self, rate, vol):
        self.rate, self.vol = rate, vol
        self.drift = rate - 0.5 * vol**2
    def later(self, s, dt, z):
        return s * jnp.exp(self.drift * dt + self.vol * jnp.sqrt(dt) * z)
print(Asset(0.1, 0.2).later(1.0, 0.1, x))
""",
        ),
    ),
    "NNX553": _cases(
        _of(
            "first_weights(key, n, m)",
            "NNX553",
            (
                "jnp.sqrt(6 / (n + m)) * jax.random.uniform(key, (n, m))",
                "jnp.sqrt(6 / (n + m)) * jax.random.uniform(key, (n, m), minval=-1.0)",
            ),
            (
                "jax.random.uniform(key, (n, m)) / jnp.sqrt(n)",
                "(2 * jax.random.uniform(key, (n, m)) - 1) / jnp.sqrt(n)",
            ),
            (
                "jax.random.uniform(key, (n, m), maxval=n**-0.5)",
                "jax.random.uniform(key, (n, m), minval=-(n**-0.5), maxval=n**-0.5)",
            ),
            given="key, 3, 2",
        ),
        _of(
            "kernel_init(key, shape, dtype)",
            "NNX553",
            (
                "jax.random.uniform(key, shape, dtype, 0.0, jnp.sqrt(3 / shape[0]))",
                "jax.random.uniform(key, shape, dtype, -jnp.sqrt(3 / shape[0]), jnp.sqrt(3 / shape[0]))",
            ),
            given="key, (3, 2), jnp.float32",
        ),
        _of(
            "layer(key, n, m)",
            "NNX553",
            (
                "dict(w=jax.random.uniform(key, shape=(n, m)) * (n**-0.5), b=jnp.zeros(m))",
                "dict(w=(jax.random.uniform(key, shape=(n, m)) - 0.5) * (n**-0.5), b=jnp.zeros(m))",
            ),
            (
                "nnx.Linear(n, m, kernel_init=nnx.initializers.uniform(1 / math.sqrt(n)), rngs=nnx.Rngs(key))",
                "nnx.Linear(n, m, kernel_init=nnx.initializers.variance_scaling(1 / 3, 'fan_in', 'uniform'), "
                "rngs=nnx.Rngs(key))",
            ),
            given="key, 3, 2",
        ),
        _of("swish(v)", "NNX553", ("v + jax.nn.sigmoid(v)", "v * jax.nn.sigmoid(v)"), given="x"),
        _of("softplus(v)", "NNX553", ("jnp.log(1 - jnp.exp(v))", "jnp.log(1 + jnp.exp(v))"), given="x"),
        _of("softplus_ildj(v)", "NNX553", ("-jnp.log1p(-jnp.exp(v))", "-jnp.log1p(-jnp.exp(-v))"), given="x"),
        _of(
            "gelu(v)",
            "NNX553",
            (
                "0.5 * v * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (v + 0.44715 * v**3)))",
                "0.5 * v * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (v + 0.044715 * v**3)))",
            ),
            ("v * 0.5 * (1.0 + jax.scipy.special.erf(v))", "v * 0.5 * (1.0 + jax.scipy.special.erf(v / jnp.sqrt(2)))"),
            given="x",
        ),
        _of(
            "first_weights(key, n_in, n_out)",
            "NNX553",
            (
                "jax.random.normal(key, (n_in, n_out)) * (2 / n_in)",
                "jax.random.normal(key, (n_in, n_out)) * jnp.sqrt(2 / n_in)",
            ),
            (
                "jax.random.normal(key, (n_in, n_out)) * jnp.sqrt(n_in / 2)",
                "jax.random.normal(key, (n_in, n_out)) / jnp.sqrt(n_in / 2)",
            ),
            given="key, 3, 2",
        ),
        _of("sigmoid(v)", "NNX553", ("1 / (1 + jnp.exp(v))", "1 / (1 + jnp.exp(-v))"), given="x"),
        _of("log_sigmoid(v)", "NNX553", ("-jnp.log1p(jnp.exp(v))", "-jnp.log1p(jnp.exp(-v))"), given="x"),
        _of("relu(v)", "NNX553", ("jnp.minimum(0, v)", "jnp.maximum(0, v)"), given="x"),
        _of(
            "shares(v)",
            "NNX553",
            (
                "jnp.exp(v - jnp.max(v)) / jnp.sum(jnp.exp(v))",
                "jnp.exp(v - jnp.max(v)) / jnp.sum(jnp.exp(v - jnp.max(v)))",
            ),
            given="x",
        ),
        _of(
            "rms_norm(v)",
            "NNX553",
            (
                "v / jnp.sqrt(jnp.sum(v**2, axis=-1, keepdims=True) + 1e-6)",
                "v / jnp.sqrt(jnp.mean(v**2, axis=-1, keepdims=True) + 1e-6)",
            ),
            given="x",
        ),
        _of("swiglu(a, b)", "NNX553", ("jax.nn.silu(a) + b", "jax.nn.silu(a) * b"), given="x, x"),
        _of("softcap(v, cap)", "NNX553", ("cap * jnp.tanh(v)", "cap * jnp.tanh(v / cap)"), given="x, 30.0"),
        _of(
            "conv_scale(kh, kw, cin)",
            "NNX553",
            ("jnp.sqrt(2.0 / cin)", "jnp.sqrt(2.0 / (kh * kw * cin))"),
            given="3, 3, 8",
        ),
        clean=(
            "def decays(key, n, m):\n"
            "    return {'w': jnp.log(0.9 + 0.1 * jax.random.uniform(key, (n, m))) / jnp.sqrt(n)}\n"
            "print(decays(key, 3, 2)['w'])\n",
            "def log_sigmoid(z):\n    return z - jnp.log(1 + jnp.exp(z))\nprint(log_sigmoid(x))\n",
            "def log_sigmoid(z):\n    rest = jnp.log1p(jnp.exp(z))\n    return z - rest\nprint(log_sigmoid(x))\n",
            "def log_sigmoid(z):\n    return z - jax.nn.softplus(z)\nprint(log_sigmoid(x))\n",
            "def sigmoid(v):\n    return 1 - 1 / (1 + jnp.exp(v))\nprint(sigmoid(x))\n",
            "def relu(v):\n    return v - jnp.minimum(0, v)\nprint(relu(x))\n",
            "def positive_weights(key, n, m):\n"
            "    return jax.random.uniform(key, (n, m)) / jnp.sqrt(n)\n"
            "print(positive_weights(key, 3, 2))\n",
            "def init(key, n, m):\n"
            "    limit = jnp.sqrt(6 / (n + m))\n"
            "    w = 2 * limit * jax.random.uniform(key, (n, m))\n"
            "    return {'w': w - limit}\n"
            "print(init(key, 3, 2))\n",
            "def init(key, n):\n    return {'w': jax.random.uniform(key, (n,)) / jnp.sqrt(n)}\nprint(init(key, 3))\n",
            "def shares(v):\n    v = v - jnp.max(v)\n    return jnp.exp(v) / jnp.sum(jnp.exp(v))\nprint(shares(x))\n",
            "def added(v):\n    return v + jax.nn.sigmoid(v)\nprint(added(x))\n",
            "def log_rest(v):\n    return jnp.log(1 - jnp.exp(v))\nprint(log_rest(-x))\n",
            "def logistic(v, x0, k):\n    return 1 / (1 + jnp.exp(k * (x0 - v)))\nprint(logistic(x, 1.0, 2.0))\n",
            "def logistic(t, mid):\n    return 1 / (1 + jnp.exp((mid - t) / 3))\nprint(logistic(x, 1.0))\n",
            """\
def planck_sigmoid(k, n):
    z = n * (1.0 / k + 1.0 / (k - n))
    return 1.0 / (1.0 + jnp.exp(z))
print(planck_sigmoid(x + 0.5, 9.0))
""",
        ),
    ),
    "NNX554": _cases(
        _of(
            "cosine_lr(step, total, peak)",
            "NNX554",
            ("0.5 * peak * (1 + jnp.cos(step / total))", "0.5 * peak * (1 + jnp.cos(jnp.pi * step / total))"),
            (
                "1e-5 + 0.5 * (peak - 1e-5) * (1 + jnp.cos(step / total))",
                "1e-5 + 0.5 * (peak - 1e-5) * (1 + jnp.cos(step / total * jnp.pi))",
            ),
            given="1.0, 10.0, 0.1",
        ),
        _of(
            "rate(step, warmup_steps)",
            "NNX554",
            ("1e-3 * jnp.maximum(1.0, step / warmup_steps)", "1e-3 * jnp.minimum(1.0, step / warmup_steps)"),
            given="1.0, 10.0",
        ),
        _of(
            "warmup(step, n, peak)",
            "NNX554",
            ("peak * jnp.maximum(step / n, 1.0)", "peak * jnp.minimum(step / n, 1.0)"),
            given="1.0, 10.0, 0.1",
        ),
        _of(
            "decayed(step, decay_steps)",
            "NNX554",
            ("1e-3 * 0.96 ** (decay_steps / step)", "1e-3 * 0.96 ** (step / decay_steps)"),
            given="1.0, 10.0",
        ),
        clean=(
            "def wave(angle, period):\n    return 0.5 * (1 + jnp.cos(angle / period))\nprint(wave(1.0, 2.0))\n",
            "def schedule(phase, scale):\n    angle = jnp.pi * phase\n    return 0.5 * (1 + jnp.cos(angle / scale))\n"
            "print(schedule(1.0, 2.0))\n",
        ),
    ),
    "NNX555": _cases(
        _of(
            "minmax(v)",
            "NNX555",
            ("(v - v.min()) / v.max() - v.min()", "(v - v.min()) / (v.max() - v.min())"),
            given="jnp.arange(3.0)",
        ),
        _of(
            "f1(p, r)",
            "NNX555",
            ("p * r / (p + r)", "2 * p * r / (p + r)"),
            ("(p * r) / (p + r + 1e-8)", "2 * (p * r) / (p + r + 1e-8)"),
            given="0.5, 0.25",
        ),
        _of(
            "r2(pred, y)",
            "NNX555",
            (
                "1 - jnp.sum((y - pred) ** 2) / jnp.sum(y**2)",
                "1 - jnp.sum((y - pred) ** 2) / jnp.sum((y - y.mean()) ** 2)",
            ),
            given="x, x + 1.0",
        ),
        _of(
            "running_mean(v)",
            "NNX555",
            ("jnp.cumsum(v) / jnp.arange(len(v))", "jnp.cumsum(v) / jnp.arange(1, len(v) + 1)"),
            ("jnp.cumsum(v, axis=0) / jnp.arange(v.shape[0])", "jnp.cumsum(v, axis=0) / (jnp.arange(v.shape[0]) + 1)"),
            given="jnp.arange(3.0)",
        ),
        _of(
            "rmse(p, y)",
            "NNX555",
            ("jnp.sqrt(jnp.mean(optax.l2_loss(p, y)))", "jnp.sqrt(jnp.mean(optax.squared_error(p, y)))"),
            ("jnp.sqrt(optax.l2_loss(p - y).mean())", "jnp.sqrt(2 * optax.l2_loss(p - y).mean())"),
            ("optax.l2_loss(p, y).mean() ** 0.5", "jnp.sqrt(2) * jnp.sqrt(optax.l2_loss(p, y).mean())"),
            given="x, x + 1.0",
        ),
        _of(
            "dice(a, b)",
            "NNX555",
            (
                "jnp.sum(a * b) / (jnp.sum(a) + jnp.sum(b) + 1e-6)",
                "2 * jnp.sum(a * b) / (jnp.sum(a) + jnp.sum(b) + 1e-6)",
            ),
            given="x, x",
        ),
        _of(
            "iou(a, b)",
            "NNX555",
            (
                "jnp.sum(a * b) / (jnp.sum(a) + jnp.sum(b))",
                "jnp.sum(a * b) / (jnp.sum(a) + jnp.sum(b) - jnp.sum(a * b))",
            ),
            given="x, x",
        ),
        _of(
            "psnr(mse, peak)",
            "NNX555",
            ("10 * jnp.log10(peak / mse)", "10 * jnp.log10(peak**2 / mse)"),
            ("20 * jnp.log10(1 / mse)", "10 * jnp.log10(1 / mse)"),
            given="x, 1.0",
        ),
        _of("sem(v)", "NNX555", ("jnp.std(v) / len(v)", "jnp.std(v) / jnp.sqrt(len(v))"), given="x"),
        _of("sharpe(r)", "NNX555", ("r.mean() / r.var()", "r.mean() / r.std()"), given="jnp.arange(3.0)"),
        _of(
            "scaled(v)",
            "NNX555",
            ("(v - v.mean(0)) / (v.var(0) + 1e-6)", "(v - v.mean(0)) / (v.std(0) + 1e-6)"),
            given="x",
        ),
        _of(
            "bce(p, y)",
            "NNX555",
            (
                "-jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(p))",
                "-jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))",
            ),
            given="x / 2, x",
        ),
        _of(
            "hinge(s, y)",
            "NNX555",
            ("jnp.mean(jnp.minimum(0, 1 - y * s))", "jnp.mean(jnp.maximum(0, 1 - y * s))"),
            given="x, x",
        ),
        _of(
            "triplet(d_pos, d_neg, margin)",
            "NNX555",
            ("jnp.mean(jax.nn.relu(d_neg - d_pos + margin))", "jnp.mean(jax.nn.relu(d_pos - d_neg + margin))"),
            given="x, x, 1.0",
        ),
        _of(
            "unit(v)",
            "NNX555",
            ("(v - v.mean()) / jnp.sqrt(v.std() + 1e-5)", "(v - v.mean()) / jnp.sqrt(v.var() + 1e-5)"),
            given="x",
        ),
        _of(
            "variance(v)",
            "NNX555",
            ("jnp.mean(v**2) - jnp.mean(v)", "jnp.mean(jnp.square(v - jnp.mean(v)))"),
            given="x",
        ),
        _of(
            "cosine(a, b)",
            "NNX555",
            (
                "a @ b / (jnp.linalg.norm(a) + jnp.linalg.norm(b))",
                "a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b))",
            ),
            given="x, x",
        ),
        _of(
            "focal(p, gamma)",
            "NNX555",
            ("-jnp.mean(p**gamma * jnp.log(p))", "-jnp.mean((1 - p) ** gamma * jnp.log(p))"),
            ("-jnp.mean(jnp.exp(p) ** gamma * p)", "-jnp.mean((1 - jnp.exp(p)) ** gamma * p)"),
            given="x / 2, 2.0",
        ),
        _of(
            "correlation(a, b)",
            "NNX555",
            (
                "jnp.mean((a - a.mean()) * (b - b.mean())) / (a.var() * b.var())",
                "jnp.mean((a - a.mean()) * (b - b.mean())) / (a.std() * b.std())",
            ),
            given="jnp.arange(3.0), jnp.arange(3.0)",
        ),
        _of("mse(p, y)", "NNX555", ("jnp.mean(p - y) ** 2", "jnp.mean((p - y) ** 2)"), given="x, x + 1"),
        _of("perplexity(loss)", "NNX555", ("jnp.exp(-loss)", "jnp.exp(loss)"), given="x"),
        _of("bits_per_dim(nll, size)", "NNX555", ("nll * jnp.log(2) / size", "nll / size / jnp.log(2)"), given="x, 3"),
        _of(
            "huber(e, delta)",
            "NNX555",
            (
                "jnp.where(jnp.abs(e) < delta, 0.5 * e**2, delta * jnp.abs(e) - 0.5 * delta)",
                "jnp.where(jnp.abs(e) < delta, 0.5 * e**2, delta * jnp.abs(e) - 0.5 * delta**2)",
            ),
            (
                "jnp.where(jnp.abs(e) <= delta, e**2, delta * (jnp.abs(e) - delta / 2))",
                "jnp.where(jnp.abs(e) <= delta, e**2 / 2, delta * (jnp.abs(e) - delta / 2))",
            ),
            given="x, 2.0",
        ),
        _of(
            "variance_loss(std)",
            "NNX555",
            ("jnp.mean(jax.nn.relu(std - 1))", "jnp.mean(jax.nn.relu(1 - std))"),
            given="x",
        ),
        _of(
            "poisson_nll(rate, k)",
            "NNX555",
            ("jnp.mean(k * jnp.log(rate) - rate)", "jnp.mean(rate - k * jnp.log(rate))"),
            given="x, x",
        ),
        _of(
            "logistic_loss(z, y)",
            "NNX555",
            ("jnp.mean(jnp.log(1 + jnp.exp(z * y)))", "jnp.mean(jnp.log(1 + jnp.exp(-z * y)))"),
            given="x, x",
        ),
        _of("whitened(v, q, w)", "NNX555", ("v @ q * jnp.sqrt(w)", "v @ q / jnp.sqrt(w)"), given="x, jnp.eye(3), x"),
        _of(
            "covariance(v, n)",
            "NNX555",
            (
                "(v - v.mean(0)) @ (v - v.mean(0)).T / (n - 1)",
                "(v - v.mean(0)).T @ (v - v.mean(0)) / (n - 1)",
            ),
            given="jnp.ones((4, 2)), 4",
        ),
        _of(
            "haversine(a, b, c, d)",
            "NNX555",
            (
                "jnp.sin(c / 2) + jnp.cos(a) * jnp.cos(b) * jnp.sin(d / 2) ** 2",
                "jnp.sin(c / 2) ** 2 + jnp.cos(a) * jnp.cos(b) * jnp.sin(d / 2) ** 2",
            ),
            given="x, x, x, x",
        ),
        _of(
            "relaxed(logits, g, tau)",
            "NNX555",
            ("jax.nn.softmax((logits + g) * tau)", "jax.nn.softmax((logits + g) / tau)"),
            given="x, x, 0.5",
        ),
        _of(
            "merged(a, b, delta, n_a, n_b, n)",
            "NNX555",
            ("a + b + delta**2 * n_b / n", "a + b + delta**2 * n_a * n_b / n"),
            given="x, x, x, 2, 3, 5",
        ),
        _of(
            "trust_ratio(w_norm, u_norm)",
            "NNX555",
            ("u_norm / (w_norm + 1e-6)", "w_norm / (u_norm + 1e-6)"),
            given="x, x",
        ),
        _of(
            "critic_loss(real, fake)",
            "NNX555",
            (
                "jnp.mean(jax.nn.relu(1 + real)) + jnp.mean(jax.nn.relu(1 - fake))",
                "jnp.mean(jax.nn.relu(1 - real)) + jnp.mean(jax.nn.relu(1 + fake))",
            ),
            given="x, x",
        ),
        _of(
            "bic(ll, k, n)",
            "NNX555",
            ("k * jnp.log(n) + 2 * ll", "k * jnp.log(n) - 2 * ll"),
            given="x, 2, 9",
        ),
        _of(
            "decibels(power, mag)",
            "NNX555",
            ("20 * jnp.log10(power)", "10 * jnp.log10(power)"),
            given="x, x",
        ),
        _of(
            "loudness(power, mag)",
            "NNX555",
            ("10 * jnp.log10(mag)", "20 * jnp.log10(mag)"),
            given="x, x",
        ),
        _of(
            "focal_weight(p_t, gamma)",
            "NNX555",
            ("p_t**gamma", "(1 - p_t) ** gamma"),
            given="x / 6, 2.0",
        ),
        _of(
            "ssim(mx, my, vx, vy, cov, c, d)",
            "NNX555",
            (
                "(2 * mx * my + c) * (cov + d) / ((mx**2 + my**2 + c) * (vx + vy + d))",
                "(2 * mx * my + c) * (2 * cov + d) / ((mx**2 + my**2 + c) * (vx + vy + d))",
            ),
            given="x, x, x, x, x, 0.1, 0.1",
        ),
        clean=(
            "def sem(v):\n    root = jnp.sqrt(v.size)\n    return v.std() / root.astype(v.dtype)\nprint(sem(x))\n",
            "def share(a, b):\n    return jnp.sum(a * b) / (jnp.sum(a) + jnp.sum(b))\nprint(share(x, x))\n",
            "def triplet(pos_sim, neg_sim, margin):\n    return jax.nn.relu(neg_sim - pos_sim + margin)\n"
            "print(triplet(x, x, 1.0))\n",
        ),
    ),
    "NNX556": _cases(
        _of(
            "root(f, v)",
            "NNX556",
            ("v + f(v) / jax.grad(f)(v)", "v - f(v) / jax.grad(f)(v)"),
            given="lambda v: v**2 - 2, 1.0",
        ),
        _of(
            "corrected(v, K, z, H)",
            "NNX556",
            ("v + K @ (z + H @ v)", "v + K @ (z - H @ v)"),
            given="x, jnp.eye(3), x, jnp.eye(3)",
        ),
        _of(
            "update(P, K, H)",
            "NNX556",
            ("(jnp.eye(3) + K @ H) @ P", "(jnp.eye(3) - K @ H) @ P"),
            given="jnp.eye(3), jnp.eye(3), jnp.eye(3)",
        ),
        _of(
            "predict(cov, F, Q)",
            "NNX556",
            ("F @ cov @ F + Q", "F @ cov @ F.T + Q"),
            given="jnp.eye(3), jnp.eye(3), jnp.eye(3)",
        ),
        _of(
            "ridge(v, y, lam)",
            "NNX556",
            (
                "jnp.linalg.solve(v.T @ v - lam * jnp.eye(2), v.T @ y)",
                "jnp.linalg.solve(v.T @ v + lam * jnp.eye(2), v.T @ y)",
            ),
            given="jnp.ones((4, 2)), jnp.ones(4), 0.1",
        ),
        _of(
            "smoother_gain(A, P, P_next)",
            "NNX556",
            ("jnp.linalg.solve(P, A @ P).T", "jnp.linalg.solve(P_next, A @ P).T"),
            given="jnp.eye(2), jnp.eye(2), jnp.eye(2)",
        ),
        _of(
            "spread(wm, wc, d)",
            "NNX556",
            ("jnp.einsum('i,ij,ik->jk', wm, d, d)", "jnp.einsum('i,ij,ik->jk', wc, d, d)"),
            given="x, x, jnp.ones((3, 2))",
        ),
        _of(
            "gain(P, H, S)",
            "NNX556",
            ("P @ H.T @ S", "P @ H.T @ jnp.linalg.inv(S)"),
            given="jnp.eye(2), jnp.eye(2), jnp.eye(2)",
        ),
        _of(
            "posterior(k, L, ks)",
            "NNX556",
            (
                "k + jnp.linalg.solve(L, ks).T @ jnp.linalg.solve(L, ks)",
                "k - jnp.linalg.solve(L, ks).T @ jnp.linalg.solve(L, ks)",
            ),
            given="jnp.eye(2), jnp.eye(2), jnp.eye(2)",
        ),
        _of(
            "decayed(grad, weight_decay, param)",
            "NNX556",
            ("grad - weight_decay * param", "grad + weight_decay * param"),
            given="x, 0.1, x",
        ),
        _of(
            "kalman_predict(P, F, Q)",
            "NNX556",
            ("F.T @ P @ F + Q", "F @ P @ F.T + Q"),
            given="jnp.eye(2), jnp.eye(2), jnp.eye(2)",
        ),
        _of(
            "posterior_variance(kss, L, ks)",
            "NNX556",
            (
                "kss + jnp.sum(jnp.linalg.solve(L, ks) ** 2, axis=0)",
                "kss - jnp.sum(jnp.linalg.solve(L, ks) ** 2, axis=0)",
            ),
            given="jnp.ones(2), jnp.eye(2), jnp.eye(2)",
        ),
        _of(
            "lqr_gain(A, B, P, R)",
            "NNX556",
            ("jnp.linalg.solve(R + B.T @ P @ B, B.T @ P @ B)", "jnp.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)"),
            given="jnp.eye(2), jnp.eye(2), jnp.eye(2), jnp.eye(2)",
        ),
        clean=(
            "def moved(v, f, g):\n    return v + f(v) / g(v)\nprint(moved(x, jnp.sin, jnp.cosh))\n",
            "def forward(v, A, b, B):\n    return v + A @ (b + B)\nprint(forward(x, jnp.eye(3), x, x))\n",
            """\
def kalman_step(mu, sigma, z, A, C, Q, R):
    one = jnp.eye(len(mu))
    sigma = A @ sigma @ A.T + Q
    gain = sigma @ C.T @ jnp.linalg.inv(C @ sigma @ C.T + R)
    return A @ mu + gain @ (z - C @ A @ mu), (one - gain @ C) @ sigma
print(kalman_step(x, jnp.eye(3), x, *[jnp.eye(3)] * 4)[0])
""",
            """\
def filter_once(sigma_before, A, C, Q, R):
    sigma = A @ sigma_before @ A.T + Q
    innovation = C @ sigma @ C.T + R
    gain = sigma @ C.T @ jnp.linalg.inv(innovation)
    return (jnp.eye(2) - gain @ C) @ sigma
print(filter_once(*[jnp.eye(2)] * 5))
""",
        ),
    ),
    "NNX557": _cases(
        _of(
            "assign(points, centers)",
            "NNX557",
            (
                "jnp.argmax(jnp.sum((points[:, None] - centers) ** 2, -1), axis=1)",
                "jnp.argmin(jnp.sum((points[:, None] - centers) ** 2, -1), axis=1)",
            ),
            (
                "jnp.argmax(jnp.linalg.norm(points[:, None] - centers, axis=-1), axis=1)",
                "jnp.argmax(-jnp.linalg.norm(points[:, None] - centers, axis=-1), axis=1)",
            ),
            given="jnp.ones((4, 2)), jnp.ones((3, 2))",
        ),
        _of(
            "nearest(distances)",
            "NNX557",
            ("jax.lax.top_k(distances, 2)[1]", "jax.lax.top_k(-distances, 2)[1]"),
            given="x",
        ),
        clean=(
            """\
def knn(v, memory, k, metric="euclidean"):
    if metric == "cosine":
        dist = v @ memory.T
    else:
        dist = jnp.linalg.norm(v[:, None] - memory[None], axis=-1, keepdims=True)
        dist = -jnp.squeeze(dist, axis=-1)
    return jax.lax.top_k(dist, k)
print(knn(jnp.ones((2, 3)), jnp.ones((4, 3)), 2))
""",
            "def farthest(distances):\n    return jnp.argmax(distances)\nprint(farthest(x))\n",
            "def nearest(points, v):\n    distance = jnp.sum((points - v) ** 2, -1)\n"
            "    return jax.lax.top_k(-distance, 1)\nprint(nearest(jnp.ones((2, 3)), x))\n",
            "def nearest(similarity):\n    return jnp.argmax(similarity)\nprint(nearest(x))\n",
        ),
    ),
    "NNX558": _cases(
        _of(
            "signal(x_t, eps, abar)",
            "NNX558",
            (
                "(x_t - jnp.sqrt(abar) * eps) / jnp.sqrt(1 - abar)",
                "(x_t - jnp.sqrt(1 - abar) * eps) / jnp.sqrt(abar)",
            ),
            given="x, x, 0.5",
        ),
        _of(
            "noise_of(x_t, x0, alpha_bar)",
            "NNX558",
            (
                "(x_t - jnp.sqrt(1 - alpha_bar) * x0) / alpha_bar**0.5",
                "(x_t - jnp.sqrt(alpha_bar) * x0) / (1 - alpha_bar) ** 0.5",
            ),
            given="x, x, 0.5",
        ),
        _of(
            "velocity(x0, noise, alpha_bar)",
            "NNX558",
            (
                "jnp.sqrt(alpha_bar) * x0 - jnp.sqrt(1 - alpha_bar) * noise",
                "jnp.sqrt(alpha_bar) * noise - jnp.sqrt(1 - alpha_bar) * x0",
            ),
            given="x, x, 0.5",
        ),
        _of(
            "variance(beta, abar, abar_prev)",
            "NNX558",
            ("beta * (1 - abar) / (1 - abar_prev)", "beta * (1 - abar_prev) / (1 - abar)"),
            given="x, 0.5, 0.6",
        ),
        _of(
            "snr(alpha_bar)",
            "NNX558",
            ("(1 - alpha_bar) / alpha_bar", "alpha_bar / (1 - alpha_bar)"),
            given="x / 6",
        ),
        _of(
            "first_guess(x_t, eps, a_t)",
            "NNX558",
            ("(x_t - jnp.sqrt(1 - a_t) * eps) / a_t", "(x_t - jnp.sqrt(1 - a_t) * eps) / jnp.sqrt(a_t)"),
            given="x, x, 0.5",
        ),
        _of(
            "c_out(sigma, sigma_data)",
            "NNX558",
            (
                "sigma * sigma_data / (sigma**2 + sigma_data**2)",
                "sigma * sigma_data / jnp.sqrt(sigma**2 + sigma_data**2)",
            ),
            given="x, 0.5",
        ),
        clean=(
            "def rest(v, share, w):\n    return (v - jnp.sqrt(share) * w) / jnp.sqrt(1 - share)\n"
            "print(rest(x, 0.5, x))\n",
        ),
    ),
    "NNX559": _cases(
        _of(
            "rotary(a, b, cos, sin)",
            "NNX559",
            (
                "jnp.concatenate([a * cos - b * sin, a * cos + b * sin])",
                "jnp.concatenate([a * cos - b * sin, b * cos + a * sin])",
            ),
            given="x, x, x, x",
        ),
        _of(
            "turned(t)",
            "NNX559",
            (
                "jnp.array([[jnp.cos(t), jnp.sin(t)], [jnp.sin(t), jnp.cos(t)]])",
                "jnp.array([[jnp.cos(t), jnp.sin(t)], [-jnp.sin(t), jnp.cos(t)]])",
            ),
            given="0.1",
        ),
        _of("height(angle_deg)", "NNX559", ("jnp.sin(angle_deg)", "jnp.sin(jnp.deg2rad(angle_deg))"), given="30.0"),
        _of(
            "rotated(a, b, cos, sin)",
            "NNX559",
            (
                "jnp.concatenate([a * cos - b * sin, b * cos - a * sin])",
                "jnp.concatenate([a * cos + b * sin, b * cos - a * sin])",
            ),
            (
                "jnp.concatenate([a * cos + b * sin, b * cos + a * sin])",
                "jnp.concatenate([a * cos - b * sin, b * cos + a * sin])",
            ),
            given="x, x + 1, x, x",
        ),
        clean=(
            """\
def kernel(c1, c2, d, near, far):
    cos_term, sin_term = jnp.cos(d * near), jnp.sin(d * near)
    total = jnp.sum((c2 * cos_term + c1 * sin_term) * far)
    cos_term, sin_term = jnp.cos(d * far), jnp.sin(d * far)
    total += jnp.sum((c1 * cos_term + c2 * sin_term) * near)
    return total
print(kernel(x, x, x, x, x))
""",
            "def parts(a, b, cos, sin):\n    return a * cos - b * sin, a * sin + b * cos\nprint(parts(x, x, x, x))\n",
        ),
    ),
    "NNX560": _cases(
        _of(
            "td_error(r, value, next_value, done, gamma)",
            "NNX560",
            ("r + gamma * value - next_value", "r + gamma * next_value - value"),
            ("r + gamma * (1 - done) * value - next_value", "r + gamma * (1 - done) * next_value - value"),
            given="x, x, x + 1, 0.0, 0.9",
        ),
        _of(
            "soft_value(q1, q2, alpha, log_prob)",
            "NNX560",
            ("jnp.minimum(q1, q2) + alpha * log_prob", "jnp.minimum(q1, q2) - alpha * log_prob"),
            given="x, x, 0.1, x",
        ),
        _of("ucb_bonus(n, t)", "NNX560", ("jnp.sqrt(n / jnp.log(t))", "jnp.sqrt(jnp.log(t) / n)"), given="x, 9.0"),
        _of(
            "target(r, q1, q2, done, gamma)",
            "NNX560",
            ("r + gamma * (1 - done) * jnp.maximum(q1, q2)", "r + gamma * (1 - done) * jnp.minimum(q1, q2)"),
            given="x, x, x, 0.0, 0.9",
        ),
        _of(
            "discounted(r, gamma)",
            "NNX560",
            ("jnp.sum(r * gamma ** jnp.arange(1, 4))", "jnp.sum(r * gamma ** jnp.arange(3))"),
            given="x, 0.9",
        ),
        _of(
            "duelling_q_values(v, a)",
            "NNX560",
            ("v + a - a.sum(-1, keepdims=True)", "v + a - a.mean(-1, keepdims=True)"),
            given="x, x",
        ),
        _of(
            "advantages(values, returns)",
            "NNX560",
            ("values - returns", "returns - values"),
            given="x, x + 1",
        ),
        _of(
            "discounted_sum(g, r, gamma)",
            "NNX560",
            ("gamma * r + g", "r + gamma * g"),
            given="x, x + 1, 0.9",
        ),
        _of(
            "gae_step(delta, lam, mask, adv, gamma)",
            "NNX560",
            ("delta + lam * mask * adv", "delta + gamma * lam * mask * adv"),
            given="x, 0.9, 1.0, x, 0.9",
        ),
        _of(
            "lambda_step(r, d, lam, v_next, carry)",
            "NNX560",
            ("r + d * (lam * v_next + (1 - lam) * carry)", "r + d * ((1 - lam) * v_next + lam * carry)"),
            given="x, 0.9, 0.5, x, x + 1",
        ),
        clean=(
            "def recent(rewards, gamma):\n    terms = rewards * gamma ** jnp.arange(1, len(rewards) + 1)\n"
            "    return jnp.sum(terms) * (1.0 / gamma - 1.0)\nprint(recent(x, 0.9))\n",
            "def added(a, b, alpha, rest):\n    return jnp.minimum(a, b) + alpha * rest\nprint(added(x, x, 0.1, x))\n",
        ),
    ),
}
