"""What may flow where: one cheap analysis of a whole project that exact questions start from."""

from codemods.nnx.may.may import May

__all__ = ["May"]
