"""Habits of other libraries: what belongs to PyTorch, Keras or Linen, on objects of NNX."""

from __future__ import annotations

from tests.lint.tables import Cases

_NET = (
    "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
    "    def __call__(self, x):\n        return self.fc(x)\n"
)

CASES: dict[str, Cases] = {
    "NNX720": Cases(
        bad=(
            "optimizer.zero_grad()  # NNX720\nmodel(x).sum().backward()  # NNX720\noptimizer.step()  # NNX720\n",
            _NET + "net = Net(nnx.Rngs(0))\nprint(sum(p.size for p in net.parameters()))  # NNX720\n",
            _NET + "def fresh():\n    return Net(nnx.Rngs(0))\nnet = fresh().to('cpu')  # NNX720\n",
            "model.weight = nnx.Param(jnp.ones((3, 3)))  # NNX720\n",
            "model.kernel.data  # NNX720\n",
            "model.train(False)  # NNX720\n",
            "model.train(mode=False)  # NNX720\n",
            "y = jnp.ones((2, 3)).mean(dim=0)  # NNX720\n",
            "y = (2 * nnx.relu(model(x))).unsqueeze(0)  # NNX720\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
            "        self.register_buffer('mask', jnp.ones(3))  # NNX720\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
            "    def __call__(self, x):\n        return self.fc.forward(x)  # NNX720\n",
            "y = model(x)\nprint(y.view(1, -1), y.reshape(1, -1))  # NNX720\n",
        ),
        clean=(
            "loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)\nprint(optimizer.step, loss)\n",
            "model.eval()\nprint(model(x).reshape(1, -1)[..., None].size)\nmodel.train()\n",
            "model.kernel = nnx.Param(jnp.ones((3, 3)))\nprint(model.kernel[...])\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.weight = nnx.Param(jnp.ones(3))\n"
            "    def parameters(self):\n        return nnx.state(self, nnx.Param)\n"
            "    def forward(self, x):\n        return self.weight * x\n"
            "net = Net(nnx.Rngs(0))\nprint(net.forward(x), net.parameters(), net.weight)\n",
            "class Mode(nnx.Module):\n    def train(self, mode=True):\n        print(mode)\n        return self\n"
            "Mode().train(False)\n",
            "class Tensor:\n    def __init__(self, x):\n        self.x = x\n"
            "    def detach(self):\n        return self\n"
            "    def numpy(self):\n        return np.asarray(self.x)\n"
            "t = Tensor(model(x))\nprint(t.detach().numpy())\n",
            "def host(tensor):\n    return tensor.detach().cpu().numpy()\n",
            "try:\n    y = model(x).numpy()\nexcept AttributeError:\n    y = np.asarray(model(x))\n",
            "y = model(x).view(jnp.int32)\nprint(model(x).mean(axis=0, keepdims=True))\n",
            "class Flexible(nnx.Module):\n    def __getattr__(self, name):\n        return lambda *_: None\n"
            "Flexible().cuda()\n",
            "class Holder:\n    model = None\n    def fit(self, x):\n        return x\n"
            "holder = Holder()\nholder.model = model\nprint(holder.fit(x))\n",
            "class Box(dict):\n    grad = data = 3\nbox = Box()\nprint(box.grad, box.data)\n",
            "sizes = {'to': 1}\nprint(sizes, str(model(x)).lower())\n",
        ),
    ),
}
