"""Rules about code that saves and restores checkpoints (NNX7xx)."""
