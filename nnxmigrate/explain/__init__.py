"""What an error message of Flax, JAX, Orbax or Optax means for NNX code, and what to do about it."""
