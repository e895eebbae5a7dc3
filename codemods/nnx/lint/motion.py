"""NNX551: a step along a path, or an energy, with a wrong number or sign."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.energy_force import added_energies
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_STEP = pattern(r"^(self\.)?\w*dt$")
_FORCE = pattern(r"acc|force|grav|^a\d?$|^f\d?$|^g$|grad")
_WRONG = (
    Wrong(
        ("X + V*T + A*T**2", "X + V*T + A*T**2/M"),
        "the path under an acceleration grows by half of it times the square of the time",
        "x + v * dt + 0.5 * a * dt**2",
        (b"dt",),
        named={"T": _STEP, "A": _FORCE},
    ),
    Wrong(
        ("U - P + C**2*T**2*L", "U - P + T**2*C**2*L/D**2", "U - P + R**2*L"),
        "the next state of a wave takes the present one twice",
        "2 * u - u_prev + (c * dt)**2 * laplacian",
        (b"prev",),
        named={"P": pattern(r"prev|old|last"), "L": pattern(r"lap|roll|\[")},
    ),
    Wrong(
        ("K*A*B/R**2", "-K*A*B/R**2"),
        "an energy falls with the distance: its square belongs to the force",
        "k * q1 * q2 / r",
        (b"**",),
        pattern(r"(coulomb|gravit\w*|electro\w*|newton)\w*(energy|potential)|(energy|potential)\w*_(coulomb|gravity)"),
        {"A": pattern(r"^[qm]\w*$"), "B": pattern(r"^[qm]\w*$"), "R": pattern(r"^(r|d|dist\w*|radius)$")},
    ),
    Wrong(
        ("K*X", "K*(X - C)"),
        "a spring pulls back: the force has the other sign than the displacement",
        "-k * x",
        (b"force",),
        pattern(r"spring_force|harmonic_force|hooke|restoring_force"),
        {"K": pattern(r"^(self\.)?(k|spring\w*|stiffness|k_spring)$")},
        plain="X",
        whole=True,
    ),
    Wrong(
        ("Y + T*F(Y, T)", "Y + T*F(T, Y)"),
        "the step is as long as the time that has passed, and not as the step of the time",
        "y + (ts[i + 1] - ts[i]) * f(y, ts[i])",
        (b"[i]",),
        named={"T": pattern(r"^t\w*\[\w+\]$")},
    ),
    Wrong(
        ("X + V*T + 0.5*A*T",),
        "the path under an acceleration grows with the square of the time",
        "x + v * dt + 0.5 * a * dt**2",
        (b"dt",),
        named={"T": _STEP, "A": _FORCE},
    ),
    Wrong(
        ("24*E*(P**2 - P)/R", "24*E*(P**2 - P)/R**2", "24*E*(S**12 - S**6)/R", "24*E*(S**12 - S**6)/R**2"),
        "the repulsive part of the Lennard-Jones force counts twice, since its power is twice as high",
        "24 * eps * (2 * s6**2 - s6) / r",
        (b"24", b"6"),
    ),
    Wrong(
        ("4*E*(S**6 - S**12)", "4*(S**6 - S**12)"),
        "the Lennard-Jones potential with the wrong sign: it attracts where it has to repel",
        "4 * eps * (s**12 - s**6)",
        (b"6", b"12", b"sig"),
    ),
    Wrong(
        ("4*E*(P - P**2)",),
        "the Lennard-Jones potential with the wrong sign: it attracts where it has to repel",
        "4 * eps * (s6**2 - s6)",
        (b"6", b"sig"),
        named={"P": pattern(r"6")},
    ),
    Wrong(
        ("M*sum(V**2)", "sum(M*V**2)", "sum(P**2)/M", "sum(P**2/M)"),
        "the kinetic energy is half of that",
        "0.5 * m * v**2",
        (b"kinetic",),
        pattern(r"kinetic"),
        whole=True,
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)
    for scope, node, energy in added_energies(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"the velocity goes up the gradient of `{energy}`: a force is minus the gradient of the energy",
            "turn the sign: force = -jax.grad(energy)(x)",
        )


_BAD = """\
import jax.numpy as jnp


def verlet(x, v, force, dt):
    a = force(x)
    x = x + v * dt + a * dt**2
    return x, v + 0.5 * (a + force(x)) * dt
"""

RULE = lint_rule(
    "NNX551",
    "motion",
    "a step along a path, a potential or a kinetic energy with a wrong number or sign",
    why="""\
Under an acceleration the path grows by `0.5 * a * dt**2`, and the kinetic energy is `0.5 * m * v**2`. Without the half
energy is not kept, and acceptance tests compare other energies. The potential of Lennard and Jones repels with the
twelfth power and attracts with the sixth. A force is minus the gradient of the energy.
""",
    source="Verlet, 1967; Jones, 1924; measured: energies that drift",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("+ a * dt**2", "+ 0.5 * a * dt**2"),),
)
