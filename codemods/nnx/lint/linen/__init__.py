"""Rules about modules of Flax Linen."""
