"""Cases of rules about optimizers for parts of a model."""

from __future__ import annotations

from tests.lint.tables import Cases

_AGENT = """\
class Agent(nnx.Module):
    def __init__(self, rngs):
        self.actor = nnx.Linear(3, 2, rngs=rngs)
        self.critic = nnx.Linear(5, 1, rngs=rngs)
def critic_loss(agent, obs):
    return (agent.critic(jnp.concatenate([obs, jnp.zeros((4, 2))], -1)) ** 2).mean()
def actor_loss(agent, obs):
    return -agent.critic(jnp.concatenate([obs, agent.actor(obs)], -1)).mean()
def update_critic(agent, opt, obs):
    only = nnx.DiffState(0, nnx.All(nnx.Param, nnx.PathContains("critic")))
    opt.update(agent, nnx.grad(critic_loss, argnums=only)(agent, obs))
def update_actor(agent, opt, obs):
    grads = nnx.grad(actor_loss)(agent, obs)
    opt.update(agent, grads)
"""
_RUN = """\
@nnx.jit
def train(agent, critic_opt, actor_opt):
    for obs in (jnp.ones((4, 3)), jnp.zeros((4, 3))):
        update_critic(agent, critic_opt, obs)
        update_actor(agent, actor_opt, obs)
agent = Agent(nnx.Rngs(0))
critic_opt = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.All(nnx.Param, nnx.PathContains("critic")))
actor_opt = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.Param)  # NNX795
train(agent, critic_opt, actor_opt)
"""
_CLEAN = _RUN.replace("  # NNX795", "")
_ONLY_ACTOR = _AGENT.replace("nnx.grad(actor_loss)", "nnx.grad(actor_loss, argnums=nnx.DiffState(0, ACTOR))")

_PUPIL = """\
class Pupil(nnx.Module):
    def __init__(self, rngs):
        self.teacher = nnx.Linear(3, 3, rngs=rngs)
        self.student = nnx.Linear(3, 3, rngs=rngs)
    def compared(self, v):
        wanted = nnx.softmax(self.teacher(v))
        return -(wanted * nnx.log_softmax(self.student(v))).sum()
    def __call__(self, v):
        return self.compared(v)
ONLY = nnx.DiffState(0, nnx.PathContains("student"))
"""
_DISTILLED = """\
pupil = Pupil(nnx.Rngs(0))
opt = nnx.Optimizer(pupil, optax.adam(1e-3), wrt=nnx.Param)  # NNX795
@nnx.jit
def learn(pupil, opt):
    opt.update(pupil, nnx.grad(lambda m: m(x))(pupil))
learn(pupil, opt)
"""
_TAUGHT = _DISTILLED.replace("  # NNX795", "")

CASES = {
    "NNX795": Cases(
        bad=(
            """\
class GAN(nnx.Module):
    def __init__(self, rngs):
        self.generator = nnx.Linear(8, 4, rngs=rngs)
        self.discriminator = nnx.Linear(4, 1, rngs=rngs)
def g_loss(gan, z):
    return jax.nn.softplus(-gan.discriminator(gan.generator(z))).mean()
def d_loss(gan, z, real):
    fake = jax.lax.stop_gradient(gan.generator(z))
    return jax.nn.softplus(gan.discriminator(fake)).mean() + jax.nn.softplus(-gan.discriminator(real)).mean()
@nnx.jit
def step(gan, g_opt, d_opt, z, real):
    gl, gg = nnx.value_and_grad(g_loss)(gan, z)
    g_opt.update(gan, gg)
    dl, dg = nnx.value_and_grad(d_loss)(gan, z, real)
    d_opt.update(gan, dg)
    return gl, dl
gan = GAN(nnx.Rngs(3))
g_opt = nnx.Optimizer(gan, optax.adam(1e-4), wrt=nnx.Param)  # NNX795
d_opt = nnx.Optimizer(gan, optax.adam(1e-4), wrt=nnx.Param)
step(gan, g_opt, d_opt, jnp.ones((2, 8)), jnp.ones((2, 4)))
""",
            _AGENT + _RUN,
            # filters with names, and a function as the other one
            "ALL = nnx.Param\n"
            + _AGENT.replace(
                "nnx.grad(actor_loss)", "nnx.value_and_grad(actor_loss, argnums=nnx.DiffState(0, ALL))"
            ).replace("    grads = ", "    _, grads = ")
            + _RUN.replace("wrt=nnx.Param)", "wrt=ALL)"),
            # attributes of a trainer
            _AGENT
            + """\
class Trainer:
    def __init__(self):
        self.agent = Agent(nnx.Rngs(0))
        self.opt_critic = nnx.Optimizer(self.agent, optax.adam(1e-3), wrt=nnx.PathContains("critic"))
        self.opt_actor = nnx.Optimizer(self.agent, optax.adam(1e-3), wrt=nnx.Param)  # NNX795
    def step(self, obs):
        update_critic(self.agent, self.opt_critic, obs)
        update_actor(self.agent, self.opt_actor, obs)
""",
            # the filter of the other one does not say it either
            _AGENT.replace("nnx.grad(critic_loss, argnums=only)", "nnx.grad(critic_loss)")
            + _RUN.replace('nnx.All(nnx.Param, nnx.PathContains("critic"))', "nnx.Param"),
            _PUPIL + _DISTILLED,
            _PUPIL.replace("return self.compared(v)", "return ((self.teacher(v) - self.student(v)) ** 2).mean()")
            + _DISTILLED.replace("lambda m: m(x)", "lambda m: m(x), argnums=nnx.DiffState(0, nnx.Param)"),
            # the loss calls the parts
            _PUPIL + _DISTILLED.replace("lambda m: m(x)", "lambda m: ((m.student(x) - m.teacher(x)) ** 2).mean()"),
            _PUPIL.replace("teacher", "ref_model").replace("student", "policy") + _DISTILLED,
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.head(nnx.relu(self.body(v)))
net = Net(nnx.Rngs(0))
of_head = nnx.All(nnx.Param, nnx.PathContains("head"))
slow = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)  # NNX795
fast = nnx.Optimizer(net, optax.sgd(0.01), wrt=of_head)
@nnx.jit
def learn(net, slow, fast, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    slow.update(net, grads)
    fast.update(net, nnx.filter_state(grads, of_head))
learn(net, slow, fast, x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.head(nnx.relu(self.body(v)))
net = Net(nnx.Rngs(0))
class Trainer:
    def __init__(self, model):
        self.model = model
        self.rest = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.All(nnx.Param, nnx.PathContains("body")))  # NNX795
        self.tuned = nnx.Optimizer(
            model, optax.sgd(0.01), wrt=nnx.All(nnx.PathContains("body"), nnx.Param, nnx.PathContains("kernel"))
        )
    def learn(self, v):
        loss, grads = nnx.value_and_grad(lambda m: m(v).sum())(self.model)
        self.rest.update(self.model, grads=nnx.filter_state(grads, nnx.PathContains("body")))
        self.tuned.update(self.model, grads=nnx.filter_state(grads, nnx.PathContains("kernel")))
Trainer(net).learn(x)
""",
            """\
class Gate(nnx.Param): ...
class Gated(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.gate = Gate(jnp.ones(3))
    def __call__(self, v):
        return self.fc(v) * self.gate[...]
gated = Gated(nnx.Rngs(0))
weights_opt = nnx.Optimizer(gated, optax.adam(1e-3), wrt=nnx.Param)  # NNX795
gates_opt = nnx.Optimizer(gated, optax.adam(1e-2), wrt=Gate)
v = x
grads = nnx.grad(lambda m: m(v).sum())(gated)
weights_opt.update(gated, grads)
gates_opt.update(gated, nnx.filter_state(grads, Gate))
""",
            """\
class Agent(nnx.Module):
    def __init__(self, rngs):
        self.online = nnx.Linear(3, 2, rngs=rngs)
        self.target = nnx.clone(self.online)
    def td(self, v, w):
        return jnp.mean((self.online(v)[:, 0] - 0.9 * self.target(w).max(-1)) ** 2)
agent = Agent(nnx.Rngs(0))
opt = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.Param)  # NNX795
@nnx.jit
def learn(agent, opt, v, w):
    opt.update(agent, nnx.grad(lambda a: a.td(v, w))(agent))
learn(agent, opt, jnp.ones((4, 3)), jnp.ones((4, 3)))
""",
            """\
class Agent(nnx.Module):
    def __init__(self, rngs):
        self.online = nnx.Linear(3, 2, rngs=rngs)
        self.target_net = nnx.Linear(3, 2, rngs=rngs)
    def td(self, v, w):
        return jnp.mean((self.online(v)[:, 0] - 0.9 * self.target_net(w).max(-1)) ** 2)
agent = Agent(nnx.Rngs(0))
opt = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.Param)  # NNX795
@nnx.jit
def learn(agent, opt, v, w):
    opt.update(agent, nnx.grad(lambda a: a.td(v, w))(agent))
learn(agent, opt, jnp.ones((4, 3)), jnp.ones((4, 3)))
nnx.update(agent.target_net, nnx.clone(nnx.state(agent.online)))
""",
        ),
        clean=(
            """\
class GAN(nnx.Module):
    def __init__(self, rngs):
        self.generator = nnx.Linear(8, 4, rngs=rngs)
        self.discriminator = nnx.Linear(4, 1, rngs=rngs)
def g_loss(generator, discriminator, z):
    return jax.nn.softplus(-discriminator(generator(z))).mean()
def d_loss(discriminator, fake, real):
    return jax.nn.softplus(discriminator(fake)).mean() + jax.nn.softplus(-discriminator(real)).mean()
@nnx.jit
def step(gan, g_opt, d_opt, z, real):
    gl, gg = nnx.value_and_grad(g_loss)(gan.generator, gan.discriminator, z)
    g_opt.update(gan.generator, gg)
    dl, dg = nnx.value_and_grad(d_loss)(gan.discriminator, gan.generator(z), real)
    d_opt.update(gan.discriminator, dg)
    return gl, dl
gan = GAN(nnx.Rngs(3))
g_opt = nnx.Optimizer(gan.generator, optax.adam(1e-4), wrt=nnx.Param)
d_opt = nnx.Optimizer(gan.discriminator, optax.adam(1e-4), wrt=nnx.Param)
print(step(gan, g_opt, d_opt, jnp.ones((2, 8)), jnp.ones((2, 4))))
""",
            _PUPIL
            + _TAUGHT.replace("nnx.grad(lambda m: m(x))", "nnx.grad(lambda m: m(x), argnums=ONLY)").replace(
                "wrt=nnx.Param", 'wrt=nnx.PathContains("student")'
            ),
            # its gradient is stopped
            _PUPIL.replace("nnx.softmax(self.teacher(v))", "jax.lax.stop_gradient(nnx.softmax(self.teacher(v)))")
            + _TAUGHT,
            # it learns from labels, too
            _PUPIL.replace(
                "        wanted",
                "        labels = jnp.array([1.0, 0.0, 0.0])\n"
                "        own = optax.softmax_cross_entropy(self.teacher(v), labels)\n        wanted",
            ).replace("-(wanted", "own - (wanted")
            + _TAUGHT,
            # two that learn from each other
            _PUPIL.replace("teacher", "first").replace("student", "second") + _TAUGHT,
            # an optimizer of the part that learns
            _PUPIL
            + """\
pupil = Pupil(nnx.Rngs(0))
student = pupil.student
opt = nnx.Optimizer(student, optax.adam(1e-3), wrt=nnx.Param)
@nnx.jit
def learn(student, teacher, opt):
    opt.update(student, nnx.grad(lambda m: ((m(x) - teacher(x)) ** 2).mean())(student))
learn(student, pupil.teacher, opt)
""",
            'ACTOR = nnx.All(nnx.Param, nnx.PathContains("actor"))\n'
            + _ONLY_ACTOR
            + _CLEAN.replace("wrt=nnx.Param)", "wrt=ACTOR)"),
            # the loss stops at the critic
            _AGENT.replace(
                "-agent.critic(jnp.concatenate([obs, agent.actor(obs)], -1)).mean()",
                "(jax.lax.stop_gradient(agent.critic(jnp.zeros((4, 5)))) * agent.actor(obs)).mean()",
            )
            + _CLEAN,
            # under another name
            "sg = jax.lax.stop_gradient\n"
            + _AGENT.replace(
                "-agent.critic(jnp.concatenate([obs, agent.actor(obs)], -1)).mean()",
                "(sg(agent.critic(jnp.zeros((4, 5)))) * agent.actor(obs)).mean()",
            )
            + _CLEAN,
            # the loss of the actor alone
            _AGENT.replace(
                "-agent.critic(jnp.concatenate([obs, agent.actor(obs)], -1)).mean()", "agent.actor(obs).mean()"
            )
            + _CLEAN,
            # one part first, then everything
            _AGENT + _CLEAN.replace("actor_opt", "joint_opt"),
            # an optimizer of the part itself
            _AGENT.replace(
                "    grads = nnx.grad(actor_loss)(agent, obs)\n    opt.update(agent, grads)",
                """\
    def loss(actor):
        return -agent.critic(jnp.concatenate([obs, actor(obs)], -1)).mean()
    opt.update(agent.actor, nnx.grad(loss)(agent.actor))""",
            )
            + _CLEAN.replace(
                "nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.Param)",
                "nnx.Optimizer(agent.actor, optax.adam(1e-3), wrt=nnx.Param)",
            ),
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.head(nnx.relu(self.body(v)))
net = Net(nnx.Rngs(0))
of_head = nnx.All(nnx.Param, nnx.PathContains("head"))
of_body = nnx.All(nnx.Param, nnx.Not(nnx.PathContains("head")))
slow = nnx.Optimizer(net, optax.sgd(0.1), wrt=of_body)
fast = nnx.Optimizer(net, optax.sgd(0.01), wrt=of_head)
@nnx.jit
def learn(net, slow, fast, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    slow.update(net, nnx.filter_state(grads, of_body))
    fast.update(net, nnx.filter_state(grads, of_head))
learn(net, slow, fast, x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.head(nnx.relu(self.body(v)))
net = Net(nnx.Rngs(0))
of_head = nnx.All(nnx.Param, nnx.PathContains("head"))
whole = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
warm = nnx.Optimizer(net, optax.sgd(0.01), wrt=of_head)
def learn(i, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    if i < 1:
        warm.update(net, nnx.filter_state(grads, of_head))
    else:
        whole.update(net, grads)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.head(nnx.relu(self.body(v)))
net = Net(nnx.Rngs(0))
first = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.All(nnx.Param, nnx.PathContains("body")))
second = nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.All(nnx.Param, nnx.PathContains("head")))
grads = nnx.grad(lambda m: m(x).sum())(net)
first.update(net, nnx.filter_state(grads, nnx.PathContains("body")))
second.update(net, nnx.filter_state(grads, nnx.PathContains("head")))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.head(nnx.relu(self.body(v)))
net = Net(nnx.Rngs(0))
other = Net(nnx.Rngs(1))
first = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
second = nnx.Optimizer(other, optax.sgd(0.01), wrt=nnx.All(nnx.Param, nnx.PathContains("head")))
v = x
first.update(net, nnx.grad(lambda m: m(v).sum())(net))
grads = nnx.grad(lambda m: m(v).sum())(other)
second.update(other, nnx.filter_state(grads, nnx.PathContains("head")))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.head(nnx.relu(self.body(v)))
net = Net(nnx.Rngs(0))
of_head = nnx.All(nnx.Param, nnx.PathContains("head"))
whole = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
probe = nnx.Optimizer(net, optax.sgd(0.01), wrt=of_head)
v = x
grads = nnx.grad(lambda m: m.body(v).sum())(net)
whole.update(net, grads)
grads = nnx.grad(lambda m: m(v).sum(), argnums=nnx.DiffState(0, of_head))(net)
probe.update(net, grads)
""",
            """\
class Agent(nnx.Module):
    def __init__(self, rngs):
        self.online = nnx.Linear(3, 2, rngs=rngs)
        self.target = nnx.clone(self.online)
    def td(self, v, w):
        return jnp.mean((self.online(v)[:, 0] - 0.9 * jax.lax.stop_gradient(self.target(w).max(-1))) ** 2)
agent = Agent(nnx.Rngs(0))
opt = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.Param)
@nnx.jit
def learn(agent, opt, v, w):
    opt.update(agent, nnx.grad(lambda a: a.td(v, w))(agent))
learn(agent, opt, jnp.ones((4, 3)), jnp.ones((4, 3)))
""",
            """\
class Towers(nnx.Module):
    def __init__(self, rngs):
        self.source_encoder = nnx.Linear(3, 2, rngs=rngs)
        self.target_encoder = nnx.Linear(3, 2, rngs=rngs)
    def td(self, v, w):
        return jnp.mean((self.source_encoder(v) - self.target_encoder(w)) ** 2)
agent = Towers(nnx.Rngs(0))
opt = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.Param)
@nnx.jit
def learn(agent, opt, v, w):
    opt.update(agent, nnx.grad(lambda a: a.td(v, w))(agent))
learn(agent, opt, jnp.ones((4, 3)), jnp.ones((4, 3)))
""",
        ),
    ),
}
