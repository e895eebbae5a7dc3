"""Migrate code and checkpoints of Flax NNX: files, configuration, reports and the command line."""

__version__ = "0.1.0"
