"""Which Flax a project was written for, and which it shall run on."""
