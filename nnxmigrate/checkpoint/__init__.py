"""Orbax checkpoints of NNX 0.10 programs, made loadable by the migrated programs.

Nothing here imports jax, flax, orbax or tensorstore before it is needed.
"""
