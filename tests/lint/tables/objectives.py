"""What a loss and its optimizer do to which weights, and weights that come from PyTorch."""

from __future__ import annotations

import re

from tests.lint.tables import Cases

_EPOCHS = """\
def fit(step, parts, epochs):
    total = 0.0
    for epoch in range(epochs):
        for v in parts:
            total += step(v)
        print(epoch, total / len(parts))
fit(jnp.sum, [x, x], 2)
"""
_ANEW = _EPOCHS.replace(
    "    total = 0.0\n    for epoch in range(epochs):\n",
    """\
    for epoch in range(epochs):
        total = 0.0
""",
)
_GAN = """\
def critic_loss(critic, generator, real, z):
    fake = critic(generator(z))
    return jnp.mean(nnx.softplus(-critic(real))) + jnp.mean(nnx.softplus(fake))
def generator_loss(generator, critic, z):
    return jnp.mean(nnx.softplus(-critic(generator(z))))
critic, generator = nnx.Linear(3, 1, rngs=nnx.Rngs(1)), nnx.Linear(2, 3, rngs=nnx.Rngs(2))
real, z = jnp.ones((4, 3)), jax.random.normal(key, (4, 2))
print(nnx.grad(critic_loss)(critic, generator, real, z), nnx.grad(generator_loss)(generator, critic, z))
"""
_OF_CRITIC = "jnp.mean(nnx.softplus(-critic(real))) + jnp.mean(nnx.softplus(fake))"
_JUDGED = "    fake = critic(generator(z))\n"
_TOLD = "    fake = critic(generator(z))  # NNX954\n"
_OF_MAKER = "jnp.mean(nnx.softplus(-critic(generator(z))))"
_WASSERSTEIN = _GAN.replace(_OF_CRITIC, "fake.mean() - critic(real).mean()").replace(
    _OF_MAKER, "-critic(generator(z)).mean()"
)
_LABELLED = (
    _GAN.replace(
        "def critic_loss",
        """\
def bce(logits, labels):
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean()
def critic_loss""",
    )
    .replace(_OF_CRITIC, "bce(critic(real), jnp.full((4, 1), 0.9)) + bce(fake, jnp.zeros_like(fake))")
    .replace(_OF_MAKER, "bce(critic(generator(z)), jnp.ones((4, 1)))")
)
_SQUARES = _GAN.replace(_OF_CRITIC, "0.5 * (jnp.mean((critic(real) - 1) ** 2) + jnp.mean(fake**2))").replace(
    _OF_MAKER, "0.5 * jnp.mean((critic(generator(z)) - 1) ** 2)"
)
_PROBE = """\
class Body(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 4, rngs=rngs)
    def __call__(self, v):
        return nnx.relu(self.first(v))
class Probe(nnx.Module):
    def __init__(self, rngs):
        self.body = Body(rngs)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(jax.lax.stop_gradient(self.body(v)))
probe = Probe(nnx.Rngs(0))
"""
_NAMED = _PROBE.replace(
    "        return self.head(jax.lax.stop_gradient(self.body(v)))\n",
    """\
        h = self.body(v)
        h = jax.lax.stop_gradient(h)
        return self.head(h)
""",
)
_GIVEN = _PROBE.replace(
    "(self, rngs):\n        self.body = Body(rngs)", "(self, body, rngs):\n        self.body = body"
)
_STEP = """\
@nnx.jit
def step(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
step(probe, opt, x)
"""

_AGENT = """\
class Agent(nnx.Module):
    def __init__(self, rngs):
        self.trunk = nnx.Linear(3, 4, rngs=rngs)
        self.actor = nnx.Linear(4, 2, rngs=rngs)
        self.critic = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.trunk(obs))
        return self.actor(h), self.critic(h)
agent = Agent(nnx.Rngs(0))
obs, actions, returns = jnp.ones((5, 3)), jnp.zeros(5, int), jnp.arange(5.0)
"""
_LOSS = """\
def loss_fn(net, obs, actions, returns):
    logits, values = net(obs)
    values = values.squeeze(-1)
    logp = jnp.take_along_axis(nnx.log_softmax(logits), actions[:, None], 1)[:, 0]
    advantages = returns - values
    policy = -jnp.mean(logp * advantages)
    return policy + 0.5 * jnp.mean((returns - values) ** 2)
"""
_GRAD = "grads = nnx.grad(loss_fn)(agent, obs, actions, returns)\n"
_LEARNING = _AGENT + _LOSS.replace("returns - values\n", "returns - values  # NNX734\n", 1)
_TWO_NETS = """\
def loss_fn(policy, critic, obs, actions, returns):
    advantage = returns - critic(obs)[:, 0]
    logp = jax.nn.log_softmax(policy(obs))[jnp.arange(5), actions]
    return -(logp * advantage).mean()
nets = nnx.Linear(3, 2, rngs=nnx.Rngs(1)), nnx.Linear(3, 1, rngs=nnx.Rngs(2))
"""
_CHOSEN = next(line for line in _LOSS.splitlines(keepends=True) if line.startswith("    logp ="))
_METHODS = _AGENT.replace(
    "    def __call__(self, obs):\n",
    """\
    def policy(self, obs):
        return nnx.log_softmax(self.actor(nnx.tanh(self.trunk(obs))))
    def value(self, obs):
        return self.critic(nnx.tanh(self.trunk(obs)))[..., 0]
    def __call__(self, obs):
""",
)

_OF_PARAMS = """\
def q_net(params, obs):
    return jnp.tanh(obs @ params["hidden"]) @ params["out"]
def td_loss(params, obs, actions, rewards, next_obs, gamma):
    chosen = q_net(params, obs)[jnp.arange(2), actions]
    best = q_net(params, next_obs).max(-1)
    target = rewards + gamma * best
    return jnp.mean((chosen - target) ** 2)
params = {"hidden": jnp.ones((3, 4)), "out": jnp.ones((4, 2))}
step = jnp.ones((2, 3)), jnp.zeros(2, int), jnp.ones(2), jnp.zeros((2, 3)), 0.9
"""
_BY_PARAMS = "grads = jax.grad(td_loss)(params, *step)\n"
_OF_MODULE = """\
q = nnx.Linear(3, 2, rngs=nnx.Rngs(1))
old = nnx.clone(q)
s, s_next, r, done = jnp.ones((2, 3)), jnp.zeros((2, 3)), jnp.ones(2), jnp.zeros(2)
def loss_fn(net):
    value = net(s).max(-1)
    later = jnp.max(net(s_next), axis=-1)
    target = r + 0.99 * (1 - done) * later
    return optax.huber_loss(value, target).mean()
"""
_BY_MODULE = "grads = nnx.grad(loss_fn)(q)\n"


def _target(text: str) -> str:
    """Return a program whose target is marked."""
    return re.sub(r"(?m)^(    target = .*)$", r"\1  # NNX778", text)


# a critic of states and actions
_OF_ACTIONS = """\
class Critic(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(5, 1, rngs=rngs)
    def __call__(self, s, a):
        return self.fc(jnp.concatenate([s, a], axis=-1))[:, 0]
def update(critic, old, actor, critic_opt, s, a, r, s2):
    def critic_loss(c):
        target = r + 0.99 * c(s2, actor(s2))
        return ((c(s, a) - target) ** 2).mean()
    critic_opt.update(critic, nnx.grad(critic_loss)(critic))
"""
_BY_ACTIONS = """\
critic, old, actor = Critic(nnx.Rngs(0)), Critic(nnx.Rngs(1)), nnx.Linear(3, 2, rngs=nnx.Rngs(2))
critic_opt = nnx.Optimizer(critic, optax.sgd(0.1), wrt=nnx.Param)
update(critic, old, actor, critic_opt, jnp.ones((4, 3)), jnp.ones((4, 2)), jnp.ones(4), jnp.zeros((4, 3)))
"""

CASES = {
    "NNX778": Cases(
        bad=(
            _target(_OF_PARAMS) + _BY_PARAMS,
            _target(_OF_MODULE) + _BY_MODULE,
            # the smaller of two critics, less the entropy
            _target(
                _OF_PARAMS.replace(
                    "best = q_net(params, next_obs).max(-1)",
                    "best = jnp.minimum(q_net(params, next_obs), 1.0).max(-1) - 0.1 * rewards",
                )
            )
            + _BY_PARAMS,
            # by name, in a squared error of its own
            _target(_OF_MODULE.replace("optax.huber_loss(value, target)", "jnp.square(target - value)")) + _BY_MODULE,
            # the error of one step, without a name for the target
            _AGENT
            + """\
def td_loss(net, obs, next_obs, rewards):
    value, later = net(obs)[1][:, 0], net(next_obs)[1][:, 0]
    delta = rewards + 0.9 * later - value  # NNX778
    return (delta**2).mean()
grads = nnx.grad(td_loss)(agent, obs, obs, returns)
""",
            _OF_ACTIONS.replace("actor(s2))\n", "actor(s2))  # NNX778\n") + _BY_ACTIONS,
            # by a function of its own, and one that the loss is given
            _OF_PARAMS.replace("    best = q_net(params, next_obs).max(-1)\n", "").replace(
                "rewards + gamma * best", "target_of(params, next_obs, rewards, gamma)"
            )
            + """\
def target_of(params, next_obs, rewards, gamma):
    return rewards + gamma * q_net(params, next_obs).max(-1)  # NNX778
"""
            + _BY_PARAMS,
            """\
def td_loss(params, values, states, rewards, next_states):
    return jnp.mean((rewards + 0.9 * values(params, next_states) - values(params, states)) ** 2)  # NNX778
grads = jax.grad(td_loss)(jnp.ones(4), lambda table, places: table[places], jnp.arange(3), jnp.ones(3), jnp.arange(3))
""",
        ),
        clean=(
            _OF_PARAMS.replace("rewards + gamma * best", "jax.lax.stop_gradient(rewards + gamma * best)") + _BY_PARAMS,
            # the parameters of a target network
            _OF_PARAMS.replace("td_loss(params, obs", "td_loss(params, frozen, obs").replace(
                "best = q_net(params", "best = q_net(frozen"
            )
            + "grads = jax.grad(td_loss)(params, params, *step)\n",
            _OF_MODULE.replace("net(s_next)", "old(s_next)") + _BY_MODULE,
            _OF_MODULE.replace("net(s_next)", "jax.lax.stop_gradient(net(s_next))") + _BY_MODULE,
            _OF_ACTIONS.replace("c(s2", "old(s2") + _BY_ACTIONS,
            _OF_ACTIONS.replace("c(s2, actor(s2))", "jax.lax.stop_gradient(c(s2, actor(s2)))") + _BY_ACTIONS,
            # what is no target: the value of one state with a bonus, and a sum that nothing is compared with
            _OF_MODULE.replace("net(s_next)", "net(s)") + _BY_MODULE,
            _OF_MODULE.replace("optax.huber_loss(value, target)", "(target + value)") + _BY_MODULE,
            # the residual gradient, which is meant
            _OF_PARAMS.replace("td_loss", "residual_loss") + _BY_PARAMS.replace("td_loss", "residual_loss"),
            # the error of one step as a number, and a target that is computed before
            """\
def value(params, states):
    return params[states]
def moved(params, states, rewards, next_states):
    delta = rewards + 0.9 * value(params, next_states) - value(params, states)
    slope = jax.grad(lambda params: value(params, states).sum())(params)
    return params + 0.1 * delta.mean() * slope
print(moved(jnp.ones(4), jnp.arange(3), jnp.ones(3), jnp.arange(3)))
""",
            """\
def value(params, states):
    return params[states]
def target_of(params, next_states, rewards):
    return rewards + 0.9 * value(params, next_states)
def moved(params, states, rewards, next_states):
    target = target_of(params, next_states, rewards)
    return jax.grad(lambda params: jnp.mean((value(params, states) - target) ** 2))(params)
print(moved(jnp.ones(4), jnp.arange(3), jnp.ones(3), jnp.arange(3)))
""",
        ),
    ),
    "NNX734": Cases(
        bad=(
            """\
def net(params, obs):
    h = jnp.tanh(obs @ params["torso"])
    return h @ params["pi"], h @ params["v"]
def terms(params, obs, actions, returns):
    logits, values = net(params, obs)
    logp = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(logp, actions[:, None], axis=1)[:, 0]
    advantage = returns - values  # NNX734
    return -jnp.mean(chosen * advantage), jnp.mean((returns - values) ** 2)
def loss(params, obs, actions, returns):
    policy, value = terms(params, obs, actions, returns)
    return policy + 0.5 * value
params = {"torso": jnp.ones((3, 4)), "pi": jnp.ones((4, 2)), "v": jnp.ones(4)}
print(jax.grad(loss)(params, jnp.ones((5, 3)), jnp.zeros(5, int), jnp.ones(5))["v"])
""",
            """\
def loss(params, actions, rewards):
    logp = jax.nn.log_softmax(params["logits"])[actions]
    advantage = rewards - params["value"]  # NNX734
    return -jnp.mean(logp * advantage)
grads = jax.grad(loss)
""",
            _LEARNING + _GRAD,
            # the proximal objective, with advantages that are normalized
            _LEARNING.replace(
                "    policy = -jnp.mean(logp * advantages)\n",
                """\
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = jnp.exp(logp - returns)
    policy = -jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages).mean()
""",
            )
            + _GRAD,
            # through a function that adds the losses up, with the error of one step
            _AGENT
            + """\
def both(net, obs, actions, rewards):
    logits, value = net(obs)
    value = value[:, 0]
    delta = rewards + 0.9 * net(obs + 1)[1][:, 0] - value  # NNX734
    nll = optax.softmax_cross_entropy_with_integer_labels(logits, actions)
    return (nll * delta).mean(), (delta ** 2).mean()
def total(net, obs, actions, rewards):
    actor, critic = both(net, obs, actions, rewards)
    return actor + critic
loss, grads = nnx.value_and_grad(total)(agent, obs, actions, returns)
""",
            # parameters as a tree
            _AGENT
            + """\
graphdef, params = nnx.split(agent)
def loss_fn(params):
    net = nnx.merge(graphdef, params)
    h = net.trunk(obs)
    baseline = net.critic(h)[:, 0]
    return -(nnx.log_softmax(net.actor(h))[jnp.arange(5), actions] * (returns - baseline)).mean()  # NNX734
grads = jax.grad(loss_fn)(params)
""",
            _TWO_NETS.replace("[:, 0]\n", "[:, 0]  # NNX734\n", 1)
            + "grads = nnx.grad(loss_fn, argnums=(0, 1))(*nets, obs, actions, returns)\n".replace(
                "obs,", "jnp.ones((5, 3)),"
            ).replace("actions, returns", "jnp.zeros(5, int), jnp.ones(5)"),
            # chosen by the action under a name of its own, from methods, by ones, and by an inner function
            _LEARNING.replace(_CHOSEN, _CHOSEN.replace("logp =", "chosen =")).replace("logp *", "chosen *") + _GRAD,
            _LEARNING.replace(
                _CHOSEN, "    taken: jax.Array = nnx.log_softmax(logits)[jnp.arange(5), actions]\n"
            ).replace("logp *", "taken *")
            + _GRAD,
            _LEARNING.replace(
                _CHOSEN, "    taken = (nnx.log_softmax(logits) * nnx.one_hot(actions, 2)).sum(-1)\n"
            ).replace("logp *", "taken *")
            + _GRAD,
            _LEARNING.replace(
                _CHOSEN, "    taken = jnp.sum(nnx.one_hot(actions, 2) * nnx.log_softmax(logits), axis=-1)\n"
            ).replace("logp *", "taken *")
            + _GRAD,
            _METHODS
            + """\
def loss_fn(net, obs, actions, returns):
    values = net.value(obs)
    chosen = jnp.take_along_axis(net.policy(obs), actions[:, None], axis=-1)[:, 0]
    weight = returns - values  # NNX734
    return -(chosen * weight).mean() + jnp.square(returns - values).mean()
"""
            + _GRAD,
            _METHODS
            + """\
def loss_fn(net, obs, actions, returns):
    pick = jax.vmap(lambda row, action: row[action])
    chosen = pick(net.policy(obs), actions)
    return -jnp.mean((returns - net.value(obs)) * chosen)  # NNX734
"""
            + _GRAD,
        ),
        clean=(
            """\
def net(params, obs):
    h = jnp.tanh(obs @ params["torso"])
    return h @ params["pi"], h @ params["v"]
def terms(params, obs, actions, returns):
    logits, values = net(params, obs)
    logp = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(logp, actions[:, None], axis=1)[:, 0]
    advantage = jax.lax.stop_gradient(returns - values)
    return -jnp.mean(chosen * advantage), jnp.mean((returns - values) ** 2)
def loss(params, obs, actions, returns):
    policy, value = terms(params, obs, actions, returns)
    return policy + 0.5 * value
params = {"torso": jnp.ones((3, 4)), "pi": jnp.ones((4, 2)), "v": jnp.ones(4)}
print(jax.grad(loss)(params, jnp.ones((5, 3)), jnp.zeros(5, int), jnp.ones(5))["v"])
""",
            """\
def loss(params, actions, rewards):
    logp = jax.nn.log_softmax(params["logits"])[actions]
    advantage = rewards - jax.lax.stop_gradient(params["value"])
    return -jnp.mean(logp * advantage)
grads = jax.grad(loss)
""",
            """\
def loss(params, actions, rewards, batch):
    logp = jax.nn.log_softmax(params["logits"])[actions]
    advantage = rewards - batch["value"]
    return -jnp.mean(logp * advantage)
grads = jax.grad(loss)
""",
            _METHODS
            + """\
def loss_fn(net, obs, actions, returns):
    values = net.value(obs)
    chosen = jnp.take_along_axis(net.policy(obs), actions[:, None], axis=-1)[:, 0]
    weight = jax.lax.stop_gradient(returns - values)
    return -(chosen * weight).mean() + jnp.square(returns - values).mean()
"""
            + _GRAD,
            # what is weighed is no log-probability: the share of each example, and a bound of the critic's error
            _METHODS
            + """\
def loss_fn(net, obs, actions, returns):
    shares = nnx.softmax(returns)[jnp.arange(5)]
    errors = returns - net.value(obs)
    return (shares * errors * jnp.sign(jax.lax.stop_gradient(errors))).mean()
"""
            + _GRAD,
            _METHODS
            + """\
def loss_fn(net, obs, actions, returns):
    taken = net.policy(obs)[jnp.arange(5), actions]
    return -(taken * returns).mean() + ((returns - net.value(obs)) ** 2).mean()
"""
            + _GRAD,
            _AGENT + _LOSS.replace("returns - values\n", "returns - jax.lax.stop_gradient(values)\n", 1) + _GRAD,
            _AGENT + _LOSS.replace("returns - values\n", "jax.lax.stop_gradient(returns - values)\n", 1) + _GRAD,
            _AGENT + _LOSS.replace("logp * advantages", "logp * jax.lax.stop_gradient(advantages)") + _GRAD,
            _AGENT
            + _LOSS.replace("    policy =", "    advantages = jax.lax.stop_gradient(advantages)\n    policy =", 1)
            + _GRAD,
            # values of before, and of a model of which no derivative is taken
            _AGENT
            + """\
def loss_fn(net, obs, actions, returns, old_values):
    logits, values = net(obs)
    logp = nnx.log_softmax(logits)[jnp.arange(5), actions]
    advantages = returns - old_values
    return -jnp.mean(logp * advantages) + jnp.mean((returns - values[:, 0]) ** 2)
grads = nnx.grad(loss_fn)(agent, obs, actions, returns, agent(obs)[1][:, 0])
""",
            _TWO_NETS + "grads = nnx.grad(loss_fn)(*nets, jnp.ones((5, 3)), jnp.zeros(5, int), jnp.ones(5))\n",
            _AGENT
            + """\
def loss_fn(net, obs):
    value = agent(obs)[1][:, 0]
    advantage = returns - value
    return -(nnx.log_softmax(net(obs)[0])[:, 0] * advantage).mean()
grads = nnx.grad(loss_fn)(nnx.clone(agent), obs)
""",
            # no derivative at all
            _AGENT + _LOSS + "print(loss_fn(agent, obs, actions, returns))\n",
            # the method gives numbers
            _AGENT.replace("self.critic(h)\n", "jax.lax.stop_gradient(self.critic(h))\n") + _LOSS + _GRAD,
            # only the policy is trained
            _AGENT
            + _LOSS
            + """\
actor = nnx.All(nnx.Param, nnx.PathContains("actor"))
grads = nnx.grad(loss_fn, argnums=nnx.DiffState(0, actor))(agent, obs, actions, returns)
""",
            # a divergence of two distributions is no advantage
            _AGENT
            + """\
def loss_fn(net, obs, targets):
    logp = nnx.log_softmax(net(obs)[0])
    p = jnp.exp(targets)
    return (p * (targets - logp)).sum(-1).mean() + (logp * (targets - logp)).mean()
grads = nnx.grad(loss_fn)(agent, obs, jnp.zeros((5, 2)))
""",
        ),
    ),
    "NNX733": Cases(
        bad=(
            """\
class Probe(nnx.Module):
    def __init__(self, freeze, rngs):
        self.body = nnx.Linear(3, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)
        self.freeze = freeze
    def __call__(self, v):
        h = self.body(v)
        if self.freeze:
            h = jax.lax.stop_gradient(h)
        return self.head(h)
probe = Probe(True, nnx.Rngs(0))
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)  # NNX733
opt.update(probe, nnx.grad(lambda m: m(x).sum())(probe))
""",
            _PROBE + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)  # NNX733\n" + _STEP,
            _NAMED
            + """\
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.05))
opt = nnx.Optimizer(probe, tx, wrt=nnx.Param)  # NNX733
"""
            + _STEP,
            _GIVEN.replace("Probe(nnx", "Probe(Body(nnx.Rngs(1)), nnx")
            + """\
def built(net, decay=0.1):
    tx = optax.chain(optax.add_decayed_weights(decay), optax.sgd(0.1))
    return nnx.Optimizer(net, tx, wrt=nnx.Param)  # NNX733
opt = built(probe)
"""
            + _STEP,
            _PROBE.replace("jax.lax.stop_gradient(self.body(v))", "v")
            + """\
from jax.lax import stop_gradient
def loss(net, v):
    return net.head(stop_gradient(net.body(v))).sum()
opt = nnx.ModelAndOptimizer(probe, optax.lion(1e-3), wrt=nnx.Param)  # NNX733
opt.update(nnx.grad(loss)(probe, x))
print(probe.body.first.kernel[...])
""",
        ),
        clean=(
            """\
class Probe(nnx.Module):
    def __init__(self, freeze, rngs):
        self.body = nnx.Linear(3, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)
        self.freeze = freeze
    def __call__(self, v):
        h = self.body(v)
        if self.freeze:
            h = jax.lax.stop_gradient(h)
        return self.head(h)
probe = Probe(False, nnx.Rngs(0))
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)
opt.update(probe, nnx.grad(lambda m: m(x).sum())(probe))
""",
            """\
class Probe(nnx.Module):
    def __init__(self, freeze, rngs):
        self.body = nnx.Linear(3, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)
        self.freeze = freeze
    def __call__(self, v):
        h = self.body(v)
        if self.freeze:
            h = jax.lax.stop_gradient(h)
        return self.head(h)
probe = Probe(True, nnx.Rngs(0))
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)
probe.freeze = False
opt.update(probe, nnx.grad(lambda m: m(x).sum())(probe))
""",
            """\
class Probe(nnx.Module):
    def __init__(self, freeze, rngs):
        self.body = nnx.Linear(3, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)
        self.freeze = freeze
    def __call__(self, v):
        h = self.body(v)
        if self.freeze:
            h = jax.lax.stop_gradient(h)
        else:
            h = 2 * h
        return self.head(h)
probe = Probe(x.sum() > 99, nnx.Rngs(0))
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)
opt.update(probe, nnx.grad(lambda m: m(x).sum())(probe))
""",
            _PROBE + "opt = nnx.Optimizer(probe, optax.adam(1e-3), wrt=nnx.Param)\n" + _STEP,
            _PROBE + "opt = nnx.Optimizer(probe, optax.adamw(1e-3, weight_decay=0.0), wrt=nnx.Param)\n" + _STEP,
            _PROBE
            + """\
mask = lambda params: jax.tree.map(lambda p: p.shape == (4, 2), params)
opt = nnx.Optimizer(probe, optax.adamw(1e-3, mask=mask), wrt=nnx.Param)
"""
            + _STEP,
            _PROBE
            + """\
head = nnx.All(nnx.Param, nnx.PathContains("head"))
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=head)
grads = nnx.grad(lambda m: m(x).sum(), argnums=nnx.DiffState(0, head))(probe)
opt.update(probe, grads)
""",
            _PROBE
            + """\
opt = nnx.Optimizer(probe.head, optax.adamw(1e-3), wrt=nnx.Param)
grads = nnx.grad(lambda m: m(probe.body(x)).sum())(probe.head)
opt.update(probe.head, grads)
""",
            # the gradient reaches the part another way
            _PROBE.replace("(self.body(v)))\n", "(self.body(v))) + self.body(v).sum()\n")
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP,
            _NAMED.replace("self.head(h)", "self.head(h) + g.sum()").replace(
                "        h = jax.lax", "        g = h\n        h = jax.lax"
            )
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP,
            # only for a while
            _NAMED.replace("        h = jax.lax", "        if v.ndim > 1:\n            h = jax.lax")
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP,
            # the part is trained by another loss
            _GIVEN.replace("probe = Probe(nnx", "body = Body(nnx.Rngs(1))\nprobe = Probe(body, nnx")
            + """\
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)
other = nnx.Optimizer(body, optax.adamw(1e-3), wrt=nnx.Param)
other.update(body, nnx.grad(lambda m: m(x).sum())(body))
"""
            + _STEP,
            # moved by an average of the other part
            _PROBE.replace("(self.body(v)))\n", "(self.body(v)) + self.online(v))\n").replace(
                "        self.head", "        self.online = Body(rngs)\n        self.head"
            )
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP
            + """\
mean = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, nnx.state(probe.body), nnx.state(probe.online))
nnx.update(probe.body, mean)
""",
        ),
    ),
    "NNX958": Cases(
        bad=(
            """\
def advantages(rewards, values, next_values, terminated, truncated):
    done = jnp.logical_or(terminated, truncated)
    def step(adv, given):
        r, v, nv, term, d = given
        delta = r + 0.99 * nv * (1.0 - d) - v  # NNX958
        adv = delta + 0.95 * (1.0 - d) * adv
        return adv, adv
    given = (rewards, values, next_values, terminated.astype(float), done.astype(float))
    return jax.lax.scan(step, 0.0, given, reverse=True)[1]
""",
            """\
def advantages(rewards, values, next_values, terminated, truncated, gamma, lam):
    done = jnp.logical_or(terminated, truncated)
    def body(acc, t):
        delta = rewards[t] + gamma * next_values[t] * (1 - done[t]) - values[t]  # NNX958
        acc = delta + gamma * lam * (1 - done[t]) * acc
        return acc, acc
    return jax.lax.scan(body, jnp.zeros(()), jnp.arange(3), reverse=True)[1]
print(advantages(x, x, x, jnp.zeros(3, bool), jnp.zeros(3, bool), 0.9, 0.8))
""",
            """\
def advantages(rewards, values, next_values, terminated, truncated, gamma, lam):
    done = terminated | truncated
    def body(acc, step):
        r, v, later, d = step
        delta = r + gamma * later * (1.0 - d) - v  # NNX958
        acc = delta + gamma * lam * (1.0 - d) * acc
        return acc, acc
    return jax.lax.scan(body, 0.0, (rewards, values, next_values, done * 1.0), reverse=True)[1]
""",
            """\
def advantages(rewards, values, next_values, terminated, truncated, gamma, lam):
    done = terminated | truncated
    found, acc = [], 0.0
    for t in reversed(range(3)):
        going = 1.0 - done[t]
        delta = rewards[t] + gamma * next_values[t] * going - values[t]  # NNX958
        acc = delta + gamma * lam * going * acc
        found.append(acc)
    return found
""",
            """\
def q_target(params, q, r, next_obs, terminated, truncated, gamma=0.99):
    done = terminated | truncated
    not_done = 1.0 - done.astype(jnp.float32)
    return r + gamma * not_done * q(params, next_obs).max(-1)  # NNX958
""",
            """\
def learn(env, agent, q, alpha, gamma):
    obs, _ = env.reset()
    while True:
        action = agent(obs)
        next_obs, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        target = reward + gamma * jnp.max(q[next_obs]) * (1 - done)  # NNX958
        q = q.at[obs, action].add(alpha * (target - q[obs, action]))
        obs = next_obs
        if done:
            break
    return q
""",
            """\
def deltas(tr, values, next_values, gamma):
    ends = jnp.logical_or(tr.terminations, tr.truncations)
    return tr.rewards + gamma * next_values * jnp.logical_not(ends) - values  # NNX958
""",
            "def target(value, rewards, next_obs, terminations, truncations, gamma):\n"
            "    dones = jnp.maximum(terminations, truncations)\n"
            "    later = value(next_obs).max(axis=-1)\n"
            "    return rewards + jnp.where(dones, 0.0, gamma * later)  # NNX958\n",
        ),
        clean=(
            """\
def advantages(rewards, values, next_values, terminated, truncated):
    done = jnp.logical_or(terminated, truncated)
    def step(adv, given):
        r, v, nv, term, d = given
        delta = r + 0.99 * nv * (1.0 - term) - v
        adv = delta + 0.95 * (1.0 - d) * adv
        return adv, adv
    given = (rewards, values, next_values, terminated.astype(float), done.astype(float))
    return jax.lax.scan(step, 0.0, given, reverse=True)[1]
assert advantages(x, x, x, x > 1, x > 0).shape == (3,)
""",
            """\
def advantages(rewards, values, next_values, terminated, truncated, gamma, lam):
    done = jnp.logical_or(terminated, truncated)
    def body(acc, t):
        delta = rewards[t] + gamma * next_values[t] * (1 - terminated[t]) - values[t]
        acc = delta + gamma * lam * (1 - done[t]) * acc
        return acc, acc
    return jax.lax.scan(body, jnp.zeros(()), jnp.arange(3), reverse=True)[1]
print(advantages(x, x, x, jnp.zeros(3, bool), jnp.zeros(3, bool), 0.9, 0.8))
""",
            """\
def advantages(rewards, values, next_values, terminated, truncated, gamma, lam):
    done = jnp.logical_or(terminated, truncated)
    def body(acc, t):
        delta = rewards[t] + gamma * values[t + 1] * (1 - done[t]) - values[t]
        acc = delta + gamma * lam * (1 - done[t]) * acc
        return acc, acc
    return jax.lax.scan(body, jnp.zeros(()), jnp.arange(3), reverse=True)[1]
print(advantages(x, jnp.ones(4), x, jnp.zeros(3, bool), jnp.zeros(3, bool), 0.9, 0.8))
""",
            """\
def advantages(rewards, values, last_value, terminated, truncated, gamma, lam):
    done = jnp.logical_or(terminated, truncated)
    def body(carry, step):
        acc, later = carry
        r, v, d = step
        delta = r + gamma * later * (1.0 - d) - v
        acc = delta + gamma * lam * (1.0 - d) * acc
        return (acc, v), acc
    return jax.lax.scan(body, (jnp.zeros(()), last_value), (rewards, values, done), reverse=True)[1]
print(advantages(x, x, x[0], jnp.zeros(3, bool), jnp.zeros(3, bool), 0.9, 0.8))
""",
            """\
def advantages(rewards, values, last, terminated, truncated, gamma, lam):
    done = terminated | truncated
    later = jnp.append(values[1:], last)
    def body(acc, step):
        r, v, nv, d = step
        delta = r + gamma * nv * (1.0 - d) - v
        acc = delta + gamma * lam * (1.0 - d) * acc
        return acc, acc
    return jax.lax.scan(body, 0.0, (rewards, values, later, done * 1.0), reverse=True)[1]
print(advantages(x, x, x[0], jnp.zeros(3, bool), jnp.zeros(3, bool), 0.9, 0.8))
""",
            """\
def q_target(params, q, r, next_obs, terminated, truncated, gamma=0.99):
    done = terminated
    not_done = 1.0 - done.astype(jnp.float32)
    return r + gamma * not_done * q(params, next_obs).max(-1)
print(q_target(x, lambda p, o: jnp.stack([o, o], -1), jnp.ones(3), jnp.ones(3), jnp.zeros(3, bool), jnp.zeros(3, bool)))
""",
            """\
def learn(env, agent, q, alpha, gamma):
    obs, _ = env.reset()
    while True:
        action = agent(obs)
        next_obs, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        target = reward + gamma * jnp.max(q[next_obs]) * (1 - terminated)
        q = q.at[obs, action].add(alpha * (target - q[obs, action]))
        obs = next_obs
        if done:
            break
    return q
""",
            """\
def gae(rewards, values, next_values, terminated, truncated, gamma, lam):
    done = jnp.logical_or(terminated, truncated)
    def body(acc, inp):
        r, v, nv, term, d = inp
        delta = r + gamma * nv * (1.0 - term) - v
        acc = delta + gamma * lam * (1.0 - d) * acc
        return acc, acc
    return jax.lax.scan(body, 0.0, (rewards, values, next_values, terminated * 1.0, done * 1.0), reverse=True)[1]
print(gae(jnp.ones(3), jnp.ones(3), jnp.ones(3), jnp.zeros(3, bool), jnp.zeros(3, bool), 0.9, 0.8))
""",
            """\
def returns(rewards, terminated, truncated, gamma):
    done = terminated | truncated
    total = 0.0
    for r, d in zip(rewards[::-1], done[::-1]):
        total = r + gamma * (1 - d) * total
    return total
print(returns(jnp.ones(3), jnp.zeros(3, bool), jnp.zeros(3, bool), 0.9))
""",
            "def target(value, rewards, next_obs, terminations, truncations, gamma):\n"
            "    dones = jnp.maximum(terminations, truncations)\n"
            "    later = value(next_obs).max(axis=-1)\n"
            "    return rewards + jnp.where(terminations, 0.0, gamma * later), dones\n"
            "print(target(model, jnp.ones(2), jnp.ones((2, 3)), jnp.zeros(2, bool), jnp.ones(2, bool), 0.9))\n",
        ),
    ),
    "NNX959": Cases(
        bad=(
            """\
PAD = 0
def batch(texts, length):
    return np.array([ids + [PAD] * (length - len(ids)) for ids in texts])
def loss_fn(model, tokens):
    logits = model(tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()  # NNX959
def right(predicted, tokens):
    real = tokens[:, 1:] != PAD
    return ((predicted == tokens[:, 1:]) & real).sum() / real.sum()
""",
            """\
PAD_ID = 0
def batch(tokens, lengths):
    return np.where(np.arange(tokens.shape[1]) < lengths[:, None], tokens, PAD_ID)
def loss_fn(model, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits=model(inputs), labels=targets)
    return jnp.mean(losses)  # NNX959
def right(predicted, tokens):
    real = tokens[:, 1:] != PAD_ID
    return ((predicted == tokens[:, 1:]) & real).sum() / real.sum()
""",
            """\
class Config:
    pad_token_id = 0
def batch(cfg, rows, length):
    return np.stack([np.pad(row, (0, length - len(row)), constant_values=cfg.pad_token_id) for row in rows])
def train_step(model, opt, tokens):
    def loss(model):
        targets = tokens[:, 1:]
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(model(tokens[:, :-1]), targets))  # NNX959
    opt.update(model, nnx.grad(loss)(model))
def right(cfg, predicted, tokens):
    return (predicted == tokens)[tokens != cfg.pad_token_id].mean()
""",
            "PAD = 0\n"
            "def fill(ids, length):\n"
            "    return ids + [PAD] * (length - len(ids))\n"
            "def real(tokens):\n"
            "    return tokens != PAD\n"
            "def nll(net, tokens):\n"
            "    logp = jax.nn.log_softmax(net(tokens[:, :-1]))\n"
            "    losses = -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1)\n"
            "    return losses.mean()  # NNX959\n",
        ),
        clean=(
            """\
PAD = 0
def batch(texts, length):
    return np.array([ids + [PAD] * (length - len(ids)) for ids in texts])
def loss_fn(model, tokens):
    logits = model(tokens[:, :-1])
    mask = tokens[:, 1:] != PAD
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    return jnp.sum(losses * mask) / jnp.sum(mask)
tokens = batch([[1, 2, 3], [2, 3]], 4)
print(loss_fn(lambda t: jax.nn.one_hot(t, 5), jnp.asarray(tokens)).shape)
""",
            """\
PAD = 0
def batch(texts, length):
    return np.array([ids + [PAD] * (length - len(ids)) for ids in texts])
def loss_fn(model, tokens):
    mask = tokens[:, 1:] != PAD
    losses = optax.softmax_cross_entropy_with_integer_labels(model(tokens[:, :-1]), tokens[:, 1:])
    return jnp.mean(losses, where=mask)
tokens = batch([[1, 2, 3], [2, 3]], 4)
print(loss_fn(lambda t: jax.nn.one_hot(t, 5), jnp.asarray(tokens)).shape)
""",
            """\
def loss_fn(model, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(model(tokens[:, :-1]), tokens[:, 1:]).mean()
print(loss_fn(lambda t: jax.nn.one_hot(t, 5), jnp.array([[1, 2, 3], [2, 3, 4]])).shape)
""",
            """\
PAD = 0
def batch(texts, length):
    return np.array([ids + [PAD] * (length - len(ids)) for ids in texts])
def loss_fn(model, tokens, labels):
    seen = (tokens != PAD)[..., None]
    return optax.softmax_cross_entropy_with_integer_labels(model(tokens, seen), labels).mean()
pooled = lambda t, s: (jax.nn.one_hot(t, 5) * s).sum(1)
print(loss_fn(pooled, jnp.array([[1, 2, 3], [2, 3, 0]]), jnp.array([1, 2])).shape)
""",
            "PAD = 0\n"
            "def fill(ids, length):\n"
            "    return ids + [PAD] * (length - len(ids))\n"
            "def real(tokens):\n"
            "    return tokens != PAD\n"
            "def nll(net, tokens):\n"
            "    logp = jax.nn.log_softmax(net(tokens[:, :-1]))\n"
            "    losses = -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1)[..., 0]\n"
            "    return (losses * real(tokens[:, 1:])).sum() / real(tokens[:, 1:]).sum()\n"
            "print(nll(lambda t: jax.nn.one_hot(t, 4), jnp.array([fill([1, 2], 3)])))\n",
        ),
    ),
    "NNX954": Cases(
        bad=(
            # the same label, or sign, for what is real and for fakes
            """\
def loss_fn(disc, real, fake):
    scores = disc(jnp.concatenate([real, fake]))  # NNX954
    labels = jnp.concatenate([jnp.ones((4, 1)), jnp.ones((4, 1))])
    return optax.sigmoid_binary_cross_entropy(scores, labels).mean()
disc = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
print(nnx.grad(loss_fn)(disc, jnp.ones((4, 3)), jnp.zeros((4, 3))))
""",
            _GAN.replace("nnx.softplus(fake)", "nnx.softplus(-fake)").replace(_JUDGED, _TOLD),
            _WASSERSTEIN.replace("return fake.mean()", "return -fake.mean()").replace(_JUDGED, _TOLD),
            _LABELLED.replace("zeros_like(fake)", "ones_like(fake)").replace(_JUDGED, _TOLD),
            _SQUARES.replace("mean(fake**2)", "mean((fake - 1) ** 2)").replace(_JUDGED, _TOLD),
            """\
def loss_fn(disc, real, fake):
    on_real, on_fake = disc(real), disc(fake)  # NNX954
    real_loss = optax.sigmoid_binary_cross_entropy(on_real, jnp.zeros(on_real.shape)).mean()
    fake_loss = optax.sigmoid_binary_cross_entropy(on_fake, jnp.zeros(on_fake.shape)).mean()
    return (real_loss + fake_loss) / 2
disc = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
print(nnx.grad(loss_fn)(disc, jnp.ones((4, 3)), jnp.zeros((4, 3))))
""",
            _GAN.replace(f"{_OF_MAKER}\n", "jnp.mean(nnx.softplus(critic(generator(z))))  # NNX954\n"),
            _WASSERSTEIN.replace("-critic(generator(z)).mean()\n", "critic(generator(z)).mean()  # NNX954\n"),
            _LABELLED.replace("jnp.ones((4, 1)))\n", "jnp.zeros((4, 1)))  # NNX954\n"),
            _SQUARES.replace("(critic(generator(z)) - 1) ** 2)\n", "critic(generator(z)) ** 2)  # NNX954\n"),
            # closures, of which one gives the fakes, too
            """\
def step(critic, generator, real, z):
    def of_critic(critic):
        fake = jax.lax.stop_gradient(generator(z))
        return jnp.mean(nnx.relu(1.0 - critic(real))) + jnp.mean(nnx.relu(1.0 + critic(fake)))
    def of_generator(generator):
        fake = generator(z)
        return critic(fake).mean(), fake  # NNX954
    return nnx.grad(of_critic)(critic), nnx.grad(of_generator, has_aux=True)(generator)
critic, generator = nnx.Linear(3, 1, rngs=nnx.Rngs(1)), nnx.Linear(2, 3, rngs=nnx.Rngs(2))
print(step(critic, generator, jnp.ones((4, 3)), jnp.ones((4, 2))))
""",
        ),
        clean=(
            # other labels for fakes, labels that callers give, and residuals at two sets of points
            """\
def loss_fn(disc, real, fake):
    scores = disc(jnp.concatenate([real, fake]))
    labels = jnp.concatenate([jnp.ones((4, 1)), jnp.zeros((4, 1))])
    return optax.sigmoid_binary_cross_entropy(scores, labels).mean()
disc = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
print(nnx.grad(loss_fn)(disc, jnp.ones((4, 3)), jnp.zeros((4, 3))))
""",
            # pairs of images, and a penalty on all scores
            """\
def loss_fn(disc, image, fake):
    scores = disc(jnp.concatenate([image, fake], axis=-1))
    return optax.sigmoid_binary_cross_entropy(scores, jnp.zeros_like(scores)).mean()
disc = nnx.Linear(6, 1, rngs=nnx.Rngs(1))
print(nnx.grad(loss_fn)(disc, jnp.ones((4, 3)), jnp.zeros((4, 3))))
""",
            """\
def loss_fn(critic, real, fake):
    drift = jnp.mean(critic(jnp.concatenate([real, fake])) ** 2)
    return critic(fake).mean() - critic(real).mean() + 1e-3 * drift
critic = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
print(nnx.grad(loss_fn)(critic, jnp.ones((4, 3)), jnp.zeros((4, 3))))
""",
            """\
def loss_fn(disc, real, fake):
    on_real, on_fake = disc(real), disc(fake)
    real_loss = optax.sigmoid_binary_cross_entropy(on_real, jnp.full(on_real.shape, 0.9)).mean()
    fake_loss = optax.sigmoid_binary_cross_entropy(on_fake, jnp.full(on_fake.shape, 0.1)).mean()
    return (real_loss + fake_loss) / 2
disc = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
print(nnx.grad(loss_fn)(disc, jnp.ones((4, 3)), jnp.zeros((4, 3))))
""",
            """\
def loss_fn(disc, real, fake, label):
    on_real, on_fake = disc(real), disc(fake)
    losses = optax.sigmoid_binary_cross_entropy
    return losses(on_real, jnp.ones_like(on_real)).mean() + losses(on_fake, jnp.full_like(on_fake, label)).mean()
disc = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
print(nnx.grad(loss_fn)(disc, jnp.ones((4, 3)), jnp.zeros((4, 3)), 0.0))
""",
            """\
def residuals(generator_net, samples, edge):
    inside, outside = generator_net(samples), generator_net(edge)
    return jnp.mean(inside**2) + jnp.mean(outside**2)
print(nnx.grad(residuals)(nnx.Linear(3, 1, rngs=nnx.Rngs(1)), jnp.ones((4, 3)), jnp.zeros((4, 3))))
""",
            """\
def adversarial(generator, critic, z, other):
    first, second = critic(generator(z)), critic(generator(other))
    return jnp.mean(nnx.softplus(-first)) + jnp.mean(nnx.softplus(-second))
critic, generator = nnx.Linear(3, 1, rngs=nnx.Rngs(1)), nnx.Linear(2, 3, rngs=nnx.Rngs(2))
print(nnx.grad(adversarial)(generator, critic, jnp.ones((4, 2)), jnp.zeros((4, 2))))
""",
            """\
def only_fakes(critic, generator, z, other):
    fakes = critic(generator(z)), critic(generator(other))
    return jnp.mean(nnx.softplus(fakes[0])) + jnp.mean(nnx.softplus(critic(generator(z + other))))
critic, generator = nnx.Linear(3, 1, rngs=nnx.Rngs(1)), nnx.Linear(2, 3, rngs=nnx.Rngs(2))
print(nnx.grad(only_fakes)(critic, generator, jnp.ones((4, 2)), jnp.zeros((4, 2))))
""",
            _GAN,
            _WASSERSTEIN,
            _LABELLED,
            _SQUARES,
            # the labels the other way round, and the game itself
            _LABELLED.replace("0.9", "0.1")
            .replace("zeros_like", "ones_like")
            .replace("jnp.ones((4, 1))", "jnp.zeros((4, 1))"),
            _LABELLED.replace(
                "return bce(critic(generator(z)), jnp.ones", "return -bce(critic(generator(z)), jnp.zeros"
            ),
            # an actor that follows what it is told, and features that are matched
            """\
def critic_loss(critic, actor, seen, wanted):
    values = critic(seen)
    made = critic(actor(seen))
    return jnp.mean((values - wanted) ** 2) + 0.1 * (jnp.mean(made) - jnp.mean(values))
def actor_loss(actor, critic, seen):
    return -jnp.mean(critic(actor(seen)))
critic, actor = nnx.Linear(3, 1, rngs=nnx.Rngs(1)), nnx.Linear(3, 3, rngs=nnx.Rngs(2))
seen = jnp.ones((4, 3))
print(nnx.grad(critic_loss)(critic, actor, seen, jnp.ones((4, 1))), nnx.grad(actor_loss)(actor, critic, seen))
""",
            _WASSERSTEIN.replace(
                "-critic(generator(z)).mean()", "((critic(generator(z)) - critic(z @ jnp.ones((2, 3)))) ** 2).mean()"
            ),
            # a critic whose gradient is followed upwards
            _WASSERSTEIN.replace("fake.mean() - critic(real).mean()", "critic(real).mean() - fake.mean()")
            + "print(jax.tree.map(lambda g: -g, nnx.grad(critic_loss)(critic, generator, real, z)))\n",
        ),
    ),
    "NNX955": Cases(
        bad=(
            _EPOCHS.replace("len(parts))\n", "len(parts))  # NNX955\n"),
            # under other names, out of a helper, in a script
            """\
correct, n = 0, len(batches)
for epoch in range(2):
    for v in batches:
        correct = correct + (v > 0).mean()
    accuracy = float(correct) / n  # NNX955
    print(accuracy)
""",
            """\
class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs
    def fit(self, parts):
        running_loss, losses = 0.0, []
        for _ in range(self.epochs):
            for i, v in enumerate(parts):
                running_loss += v.sum()
            losses.append(running_loss / (i + 1))  # NNX955
        return losses
print(Trainer(2).fit(batches))
""",
            """\
def fit(parts, num_epochs):
    hits = 0
    for epoch in range(num_epochs):
        seen = 0
        for v in parts:
            hits += (v > 0).sum()
            seen += len(v)
        print(f"accuracy {hits / seen:.3f}")  # NNX955
fit(batches, 2)
""",
        ),
        clean=(
            _ANEW,
            _EPOCHS.replace("len(parts))\n", "len(parts))\n        total = 0.0\n"),
            _EPOCHS.replace("total / len(parts)", "total / ((epoch + 1) * len(parts))"),
            # a mean of all so far, of which both run on
            _EPOCHS.replace("total = 0.0", "total, count = 0.0, 0")
            .replace("total += step(v)", "total += step(v)\n            count += 1")
            .replace("total / len(parts)", "total / count"),
            # steps that are counted
            _EPOCHS.replace("total += step(v)", "total += 1"),
            _EPOCHS.replace("total += step(v)", "total += len(v)"),
            # parts of one whole
            _EPOCHS.replace("epochs", "shards").replace("epoch", "shard").replace("len(parts)", "100"),
        ),
    ),
    "NNX526": Cases(
        bad=(
            """\
def loss(params, fake):
    return jnp.mean(fake**2)  # NNX526
def graded(params, fake):
    value, grads = jax.value_and_grad(loss)(params, fake)
    return value, grads
def step(params, state, tx, fake):
    value, grads = graded(params, fake)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state
""",
            """\
def loss(params, fake):
    return jnp.mean(fake**2)  # NNX526
graded = jit(jax.value_and_grad(loss))
def step(params, state, tx, fake):
    value, grads = graded(params, fake)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state
""",
            """\
def step(state, batch):
    def loss_fn(params):
        logits = state.apply_fn({"params": state.params}, batch["x"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()  # NNX526
    value, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), value
""",
            """\
tx = optax.adam(1e-3)
def generator(g, z):
    return z @ g["w"]
def critic(d, v):
    return jnp.tanh(v @ d["w"]).mean()
def step(g_params, d_params, state, z):
    fake = generator(g_params, z)
    grads = jax.grad(lambda p: -critic(d_params, fake))(g_params)  # NNX526
    updates, state = tx.update(grads, state)
    return optax.apply_updates(g_params, updates), state
""",
            """\
def forward(params, v, w):
    return v @ w
def loss(params, v, w):
    return jnp.mean(forward(params, v, w) ** 2)  # NNX526
@jit
def step(params, v, w):
    value, grads = jax.value_and_grad(loss)(params, v, w)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
""",
            """\
def embed(params, v):
    return v @ params["w"]
def loss(params, z, v, wanted):
    z_new = embed(params, v)
    return jnp.mean((z - wanted) ** 2), z  # NNX526
def step(params, opt_state, tx, z, v, wanted):
    grads, aux = jax.grad(loss, has_aux=True)(params, z, v, wanted)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state
""",
            """\
class Trainer:
    def __init__(self, params, tx):
        self.params, self.tx, self.state = params, tx, tx.init(params)
    def loss(self, params, v):
        return jnp.mean((v @ self.params["w"]) ** 2)  # NNX526
    def step(self, v):
        value, grads = jax.value_and_grad(self.loss)(self.params, v)
        updates, self.state = self.tx.update(grads, self.state)
        self.params = optax.apply_updates(self.params, updates)
        return value
""",
            """\
def loss(actor, critic, v, action):
    return -(v @ critic["v"] + action @ critic["a"]).mean()  # NNX526
def step(actor, critic, v):
    action = v @ actor["w"]
    (g_actor, g_critic) = jax.grad(loss, argnums=(0, 1))(actor, critic, v, action)
    actor = jax.tree.map(lambda p, g: p - 0.1 * g, actor, g_actor)
    return actor, jax.tree.map(lambda p, g: p - 0.1 * g, critic, g_critic)
""",
        ),
        clean=(
            """\
def loss(params, fake):
    return jnp.mean(fake**2)
def graded(params, fake):
    value, grads = jax.value_and_grad(loss)(params, fake)
    return value, grads
value, grads = graded(x, x)
print(value, grads)
""",
            """\
class Base:
    def loss(self, params, batch):
        return jnp.zeros(())
    def step(self, params, batch):
        value, grads = jax.value_and_grad(self.loss)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
print(Base().step(x, x))
""",
            """\
def generator(g, z):
    return z @ g["w"]
def critic(d, v):
    return jnp.tanh(v @ d["w"]).mean()
def step(g_params, d_params, z):
    grads = jax.grad(lambda p: -critic(d_params, generator(p, z)))(g_params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, g_params, grads)
w = {"w": jnp.ones((3, 3))}
print(step(w, w, x))
""",
            """\
def d_loss(d_params, real, fake):
    return jnp.mean(fake @ d_params) - jnp.mean(real @ d_params)
def step(d_params, g_params, z):
    fake = z * g_params
    grads = jax.grad(lambda p, f: d_loss(p, z, f))(d_params, fake)
    return d_params - 0.1 * grads
print(step(x, 2.0, x))
""",
            """\
def value(params, v):  # of another project's form: the weights do not matter
    return jnp.sum(v**2)
print(jax.value_and_grad(value)(x, x)[0], jax.grad(value)(x, x))
""",
            """\
def penalty(_params, v):
    return jnp.sum(v**2)
def step(params, v):
    value, grads = jax.value_and_grad(penalty)(params, v)
    return params - 0.1 * grads, value
print(step(x, x))
""",
            """\
class Objective:
    def loss(self, params, v):
        raise NotImplementedError
class Squared(Objective):
    def loss(self, params, v):
        return jnp.sum((params * v) ** 2)
def step(objective, params, v):
    grads = jax.grad(objective.loss)(params, v)
    return params - 0.1 * grads
print(step(Squared(), x, x))
""",
            """\
def loss(params, v):
    def inner(w):
        return jnp.sum(w * params)
    return inner(v)
def kept(params, v):
    have = locals()
    return jnp.sum(have["params"] * v)
def step(params, v):
    params = params - 0.1 * jax.grad(loss)(params, v)
    grads = jax.grad(kept)(params, v)
    return params - 0.1 * grads
print(step(x, x))
""",
            """\
def stub(params, v):
    return 0.0
def step(params, v):
    grads = jax.grad(stub)(params, v)
    return params - 0.1 * grads
print(step(x, x))
""",
            """\
def loss(params, batch):
    v, wanted = batch
    predicted = jnp.dot(params, v)
    return (predicted - wanted) ** 2
def step(params, opt_state, tx, batch):
    grads = jax.grad(loss)(params, batch)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state
tx = optax.sgd(0.1)
print(step(x, tx.init(x), tx, (x, 1.0)))
""",
        ),
    ),
}
