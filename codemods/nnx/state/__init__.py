"""Rules on states: what ``nnx.state``, ``nnx.split`` and ``nnx.merge`` share with the model since 0.11."""
