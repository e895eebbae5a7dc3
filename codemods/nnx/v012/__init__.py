"""Rules on what Flax 0.12 changed."""
