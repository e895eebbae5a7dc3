"""Rewriting hot ``nnx.jit`` loops into forms that take the objects apart once (NNX920, NNX921)."""
