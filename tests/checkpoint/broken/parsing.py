"""A training script that parses its arguments when it is imported."""

import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
arguments = parser.parse_args()


def make(rngs: object) -> None:
    """Never called."""
