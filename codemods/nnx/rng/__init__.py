"""Rules about random streams: what forks them, what splits them, and how they are reached (NNX2xx)."""
