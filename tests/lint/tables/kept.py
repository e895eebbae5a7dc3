"""What comes back as something else: checkpoints that are kept, objects that are rebuilt, buffers that are refilled."""

from __future__ import annotations

from tests.lint.tables import Cases

_OCP = "import orbax.checkpoint as ocp\n"
_LINE = (
    "class Line:\n    def __init__(self, slope, offset, name='line'):\n        self.slope = slope\n"
    "        self.offset = offset\n        self.name = name\n"
)
_CLASS = "@jax.tree_util.register_pytree_node_class\n"
_FLATTEN = "    def tree_flatten(self):\n        return (self.slope, self.offset), self.name\n"
_UNFLATTEN = "    @classmethod\n    def tree_unflatten(cls, rest, children):\n"
_SCALE = "class Scale:\n    def __init__(self, raw):\n        self.scale = jax.nn.softplus(raw)\n"
_ROWS = "rows = [np.full((64, 8), i, np.float32) for i in range(4)]\n"
_RING = (
    "class Ring:\n    def __init__(self, slots):\n        self.data = np.zeros((slots, 64, 8), dtype=np.float32)\n"
    "        self.slots, self.count = slots, 0\n"
    "    def write(self, row):\n        slot = self.count % self.slots\n        self.data[slot] = row\n"
    "        self.count += 1\n        return slot\n"
)

CASES: dict[str, Cases] = {
    "NNX774": Cases(
        bad=(
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['val_loss'])  # NNX774\n",
            _OCP
            + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: float(m['eval/mse']), best_mode='max')  # NNX774\n",
            _OCP + "def by_loss(metrics):\n    return metrics.get('loss')\n"
            "options = {'max_to_keep': 2}\n"
            "o = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=by_loss)  # NNX774\n",
            "from operator import itemgetter\nfrom orbax.checkpoint import CheckpointManagerOptions as Options\n"
            "o = Options(best_fn=itemgetter('perplexity'))  # NNX774\n",
            _OCP + "class Trainer:\n    def measure(self, metrics):\n        return metrics['valid']['rmse']\n"
            "    def options(self):\n"
            "        return ocp.CheckpointManagerOptions(best_fn=self.measure)  # NNX774\n",
            _OCP + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: m['accuracy'], best_mode='min')  # NNX774\n",
            _OCP + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: -m['loss'], best_mode='min')  # NNX774\n",
            _OCP + "managers = ocp.checkpoint_managers\n"
            "p = managers.BestN(get_metric_fn=lambda m: m['loss'], n=2)  # NNX774\n",
        ),
        clean=(
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['loss'], best_mode='min')\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: -m['loss'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: float(-m['loss']))\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: 1.0 / m['loss'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['accuracy'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['negative_loss'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['loss_improvement'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['score'])\n",
            _OCP + "def measure(m):\n    if 'acc' in m:\n        return m['acc']\n    return -m['loss']\n"
            "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=measure)\n",
            _OCP
            + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: m['loss'])\nmetrics = {'loss': -float(x.sum())}\n",
            _OCP + "def options(mode):\n"
            "    return ocp.CheckpointManagerOptions(best_fn=lambda m: m['loss'], best_mode=mode)\n"
            "o = options('min')\n",
            _OCP + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: m['loss'])\no.best_mode = 'min'\n",
            _OCP + "p = ocp.checkpoint_managers.BestN(get_metric_fn=lambda m: m['loss'], reverse=True, n=2)\n",
        ),
    ),
}
