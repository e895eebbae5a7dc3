"""Rules on trees of NNX objects and on JAX's transforms, since every NNX object became a pytree in 0.11."""
