"""NNX696: layers that ``setup`` of a Linen module makes, and that are asked for outside of the module."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import classes_of, has_linen, is_plain, method_around, modules_of
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Param


def _check(context: Context) -> Iterator[Finding]:
    made = context.shared(_of_setup) if has_linen(context) else {}
    for module in context.asked.modules if made else ():
        for event in module.attributes:
            if event.context != "load" or event.node.attr not in made or isinstance(event.base, Param):
                continue
            if in_test(event.scope) or method_around(context, event.scope) is not None:
                continue
            if context.bodies.guarded(event.node, event.scope):
                continue
            owners = classes_of(context, modules_of(context, event.base, event.scope))
            if owners and all(owner in made[event.node.attr] for owner in owners):
                yield _found(event, owners[0])


def _found(event: AttrEvent, owner: ClassFacts) -> Finding:
    name = event.node.attr
    return finding(
        RULE.code,
        event.scope,
        event.node,
        f"`{name}` is made in setup of {owner.name}, which runs within `init` and `apply` alone: here there is none",
        f"model.apply(variables, x, method=lambda model, x: model.{name}(x)), or a method of the class that calls it",
    )


def _of_setup(context: Context) -> dict[str, set[ClassFacts]]:
    """Return the attributes that only ``setup`` makes, with the classes whose modules have them by nothing else."""
    found: dict[str, set[ClassFacts]] = {}
    for cls in context.project.classes():
        if not is_plain(context, cls):
            continue
        parents = context.flow.classes.mro(cls)[0]
        if any("__getattr__" in one.methods for one in parents):
            continue
        stores = [(name, method) for one in parents for name, made in one.stores.items() for method, _ in made]
        for name in {name for name, method in stores if method.name == "setup"}:
            other = any(method.name != "setup" for stored, method in stores if stored == name)
            if not other and not any(name in one.fields or name in one.methods for one in parents):
                found.setdefault(name, set()).add(cls)
    return found


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)

    def __call__(self, x):
        return self.decoder(self.encoder(x))


model = Autoencoder()
variables = model.init(jax.random.key(0), jnp.ones((1, 3)))
params = variables["params"]
print(model.decoder.apply({"params": params["decoder"]}, jnp.ones((1, 2))))
"""

RULE = lint_rule(
    "NNX696",
    "linen-outside-setup",
    "a layer that setup makes, asked for outside of the module",
    why="""\
What `setup` assigns to a Linen module is there within `init` and `apply` alone, which run it: `model.decoder` raises an
AttributeError anywhere else. Let `apply` run a function or a method that uses the layer, or bind the module to its
variables first: `model.bind(variables).decoder`.
""",
    source="discussion 665 and issue 667 of google/flax; measured on Flax 0.10.7, 0.11.2 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            'model.decoder.apply({"params": params["decoder"]}, jnp.ones((1, 2)))',
            "model.apply(variables, jnp.ones((1, 2)), method=lambda model, z: model.decoder(z))",
        ),
    ),
)
