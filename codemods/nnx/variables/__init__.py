"""Rules on Variables: ``VariableState`` is gone since Flax 0.11, states hold Variables."""
