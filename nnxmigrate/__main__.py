"""Run the program with ``python -m nnxmigrate``."""

import os
import sys

if not getattr(sys.flags, "safe_path", False) and sys.path and os.path.abspath(sys.path[0]) == os.getcwd():
    # What is analysed lies there, and must not stand in for a library; a checkout of this program may be there too.
    if os.path.dirname(os.path.dirname(os.path.abspath(__file__))) != os.getcwd():
        del sys.path[0]

from nnxmigrate.cli import run

run()
