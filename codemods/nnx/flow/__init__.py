"""Value flow through a project: what a value is, where it comes from, whether two are the same object."""

from codemods.nnx.flow.calls import Callee
from codemods.nnx.flow.flow import Flow

__all__ = ["Callee", "Flow"]
