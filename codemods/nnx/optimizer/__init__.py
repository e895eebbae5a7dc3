"""Optimizers: ``nnx.Optimizer`` needs ``wrt`` and no longer holds the model since Flax 0.11."""
