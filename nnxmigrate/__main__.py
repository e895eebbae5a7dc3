"""Run the program with ``python -m nnxmigrate``."""

from nnxmigrate.cli import main

main()
